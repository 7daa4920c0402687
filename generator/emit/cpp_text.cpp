#include "generator/emit/cpp_text.hpp"

#include <fmt/format.h>

#include "generator/base/languages.hpp"

namespace kgen {
namespace {

constexpr Dim::Signs cpp_signs = {" * ", " / ", "kgen::floor_divide", "kgen::lesser", "kgen::greater"};

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    if (!text.empty()) text += ", ";
    text += item;
  }
  return text;
}

}  // namespace

std::string cpp_text(const Dim& dim) { return dim.text(cpp_signs); }

std::string view_type(const TensorType& type, std::size_t rank, bool writable) {
  return fmt::format("kgen::View<{}{}, {}>", writable ? "" : "const ", cpp_element(type), rank);
}

std::string flattened_type(const std::string& view, const std::vector<int>& runs) {
  return runs.empty() ? view : fmt::format("kgen::Flattened<{}, {}>", view, fmt::join(runs, ", "));
}

std::string lines_type(const TensorType& type, std::size_t rank, int axis) {
  return fmt::format("kgen::Lines<const {}, {}, {}>", cpp_element(type), rank, axis);
}

std::string shape_text(const StubParameter& parameter) {
  std::vector<std::string> extents;
  for (std::size_t axis = 0; axis < parameter.type.shape.size(); ++axis) {
    const bool varies = axis < parameter.varies.size() && parameter.varies[axis];
    extents.push_back(varies ? "*" : parameter.type.shape[axis].text());
  }
  return fmt::format("[{}]", joined(extents));
}

std::string type_text(const StubParameter& parameter) {
  const StructType* structure = parameter.type.structure;
  return (structure ? structure->name : std::string(info(parameter.type.dtype).name)) + shape_text(parameter);
}

std::string braced(const std::vector<std::string>& items) { return "{" + joined(items) + "}"; }

void write_list(Writer& writer, const std::string& head, const std::vector<std::string>& items, const std::string& tail,
                const std::string& comment) {
  const std::size_t room = line_width - writer.indentation();
  const std::string whole = head + joined(items) + tail;
  if (!comment.empty()) {
    if (whole.size() + 2 + comment.size() <= room) return writer.raw_line(whole + "  " + comment);
    writer.raw_line(comment);
  }
  if (whole.size() <= room || items.empty()) return writer.raw_line(whole);

  // Aligned after the opening bracket, as long as that leaves half of the line.
  const bool aligned = head.size() <= room / 2;
  const std::string indent(aligned ? head.size() : 4, ' ');
  if (!aligned) writer.raw_line(head);
  std::string line = aligned ? head : indent;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : tail);
    const bool first = line.size() == indent.size();
    if (!first && line.size() + 1 + item.size() > room) {
      writer.raw_line(line);
      line = indent + item;
    } else {
      line += (first ? "" : " ") + item;
    }
  }
  writer.raw_line(line);
}

void write_initializer(Writer& writer, const std::string& head, const std::vector<std::string>& items,
                       const std::string& tail) {
  const std::string whole = head + joined(items) + tail;
  if (whole.size() + writer.indentation() <= line_width) return writer.raw_line(whole);
  writer.raw_line(head);
  for (const std::string& item : items) writer.raw_line(fmt::format("    {},", item));
  writer.raw_line(tail);
}

void write_comment(Writer& writer, std::string_view content) {
  const std::string shown = comment_text(content);
  std::string_view text = shown;
  const std::size_t room = line_width - writer.indentation() - 3;
  while (text.size() > room) {
    const std::size_t at = text.rfind(' ', room);
    if (at == std::string_view::npos || at == 0) break;
    writer.line("// {}", text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  writer.line("// {}", text);
}

}  // namespace kgen

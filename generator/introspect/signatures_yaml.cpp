#include "generator/introspect/signatures_yaml.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "generator/base/hash.hpp"
#include "generator/base/languages.hpp"
#include "generator/base/writer.hpp"

namespace kgen {
namespace {

constexpr std::string_view heading =
    R"(# Written by `kgen introspect`: what the declarations of kernels say. The planner knows nothing else of them.
#
# headers      what this was read from, each with a hash of its content. Where one differs, kgen reads the headers anew.
# at           line:column of the declaration, in the kernel's header.
# elementwise  a functor: `kgen::Add::apply(a, b)` on kgen::Vec or scalars. Attributes are its members, in order:
#              `kgen::Clamp{0.0, 6.0}.apply(x)`. One of type `dtype` is a template argument: `kgen::Cast<kgen::bf16>`.
#              accepts: line: the operand is memory, which the functor reads anywhere along one axis (kgen::Line).
# reduction    a functor for `row.reduce(kgen::Sum{}, x)`; with several results it returns them as one struct.
# structured   a function: `kgen::name(operands..., attributes..., results..., stream)`. An optional operand that is left
#              out is simply not passed. accepts: view (memory only), source (takes a prologue), sink (takes an epilogue).
#              element: what the epilogue sees; without it, what the sources load. joint: one sink takes so many results.
#              several: a call takes up to so many of this operand at once (kgen::several), each with a sink for its results.
#              memory: where this holds, the kernel is much faster on memory, and the operand takes no prologue.
#              evaluations: how often the kernel asks for each element; the first counts whose condition holds, else once.
#              rows: epilogues may use numbers of each row; how often the kernel makes them. The first counts that may hold.
#              statistics: where this may hold, a row program may make numbers of each row of what the sink stores.
# opaque       such a function that neither a prologue nor an epilogue may be fused into.
# attributes   of type kgen::Index<N> and kgen::Numbers<N> are lists of N, without <N> of any length; those with values are words.
# parameters   numbers that it is a template of, in order, which rules of tuning give. names: what C++ calls their values.
#              tuned: where this holds, `kgen tune` may try them. layout: where `known` holds, how this operand lies.
# types        a class (any, number, float, integer, signed) or a list of dtypes. A result without types has its operands'.
)";

// "[1, 2]"
std::string list_text(const std::vector<std::string>& items) { return fmt::format("[{}]", fmt::join(items, ", ")); }

std::string words_text(const std::vector<std::string>& words) {
  std::vector<std::string> items;
  for (const std::string& word : words) items.push_back(yaml_name(word));
  return list_text(items);
}

// The name of the class that these dtypes are, or their list.
std::string types_text(const std::vector<DType>& dtypes) {
  for (const std::string_view name : dtype_classes()) {
    if (dtypes_of_class(name) == dtypes) return std::string(name);
  }
  std::vector<std::string> names;
  for (const DType each : dtypes) names.emplace_back(info(each).name);
  return list_text(names);
}

std::string place_text(const SourceLocation& where) { return fmt::format("{}:{}", where.line, where.column); }

std::string evaluations_text(const std::vector<Evaluations>& evaluations) {
  std::vector<std::string> items;
  for (const Evaluations& each : evaluations) {
    const std::string when = each.when.text.empty() ? "" : ", when: " + yaml_string(each.when.text);
    items.push_back(fmt::format("{{times: {}{}}}", yaml_string(each.times.text), when));
  }
  return list_text(items);
}

std::string operand_text(const KernelOperand& operand, bool of_function) {
  std::string text = fmt::format("{{name: {}", yaml_name(operand.name));
  if (operand.rank >= 0) text += fmt::format(", rank: {}", operand.rank);
  if (!operand.dtypes.empty()) text += ", types: " + types_text(operand.dtypes);
  if (of_function || operand.accepts == Accepts::line) {
    text += fmt::format(", accepts: {}", name_of(operand.accepts));
  }
  if (!operand.structure.empty()) text += fmt::format(", struct: {}", yaml_string(operand.structure));
  if (operand.element) text += fmt::format(", element: {}", info(*operand.element).name);
  if (operand.optional) text += ", optional: true";
  if (operand.joint > 1) text += fmt::format(", joint: {}", operand.joint);
  if (operand.several > 1) text += fmt::format(", several: {}", operand.several);
  if (!operand.memory.text.empty()) text += fmt::format(", memory: {}", yaml_string(operand.memory.text));
  if (!operand.evaluations.empty()) text += ", evaluations: " + evaluations_text(operand.evaluations);
  if (!operand.rows.empty()) text += ", rows: " + evaluations_text(operand.rows);
  if (!operand.statistics.text.empty()) text += fmt::format(", statistics: {}", yaml_string(operand.statistics.text));
  return text + fmt::format(", at: {}}}", place_text(operand.where));
}

// A list under `key`, an item on each line; nothing for none.
template <class Item, class Text>
void write_list(Writer& writer, std::string_view key, const std::vector<Item>& items, Text&& text) {
  if (items.empty()) return;
  writer.line("  {}:", key);
  for (const Item& each : items) writer.line("  - {}", text(each));
}

void write_kernel(Writer& writer, const KernelSignature& kernel) {
  const bool is_function = kernel.kind == KernelKind::structured || kernel.kind == KernelKind::opaque;
  const auto operand = [&](const KernelOperand& each) { return operand_text(each, is_function); };
  writer.line("- kernel: {}", yaml_name(kernel.name));
  writer.line("  header: {}", yaml_name(kernel.header));
  writer.line("  at: {}", place_text(kernel.where));
  writer.line("  operator: {}", yaml_name(kernel.op));
  if (!kernel.when.empty()) writer.line("  when: {}", yaml_string(kernel.when.text));
  writer.line("  kind: {}", name_of(kernel.kind));
  write_list(writer, "operands", kernel.operands, operand);
  std::vector<KernelOperand> parameters = kernel.results;
  std::erase_if(parameters, [](const KernelOperand& each) { return each.joint == 0; });
  write_list(writer, "results", parameters, operand);
  write_list(writer, "attributes", kernel.attributes, [](const KernelAttribute& each) {
    const std::string values = each.values.empty() ? "" : ", values: " + words_text(each.values);
    return fmt::format("{{name: {}, type: {}{}, at: {}}}", yaml_name(each.name), yaml_name(each.type), values,
                       place_text(each.where));
  });
  write_list(writer, "parameters", kernel.parameters, [](const KernelParameter& each) {
    const auto when = [](const Expression& condition) {
      return condition.text.empty() ? "always" : yaml_string(condition.text);
    };
    std::string text = fmt::format("{{name: {}, values: [{}]", yaml_name(each.name), fmt::join(each.values, ", "));
    if (!each.names.empty()) text += ", names: " + words_text(each.names);
    text += fmt::format(", default: {}", each.default_value);
    if (each.tuned) text += ", tuned: " + when(each.tuned_when);
    if (!each.layout_of.empty())
      text += fmt::format(", layout: {}, known: {}", yaml_name(each.layout_of), when(each.layout_when));
    return text + fmt::format(", at: {}}}", place_text(each.where));
  });
  if (!kernel.doc.empty()) writer.line("  doc: {}", yaml_string(kernel.doc));
}

}  // namespace

std::string signatures_yaml(const KernelLibrary& library) {
  Writer writer;
  writer.append(heading);
  writer.line("headers:{}", library.headers.empty() ? " {}" : "");
  for (const HeaderFile& each : library.headers) writer.line("  {}: {}", yaml_name(each.name), yaml_string(hash_text(each.hash)));
  writer.line("kernels:{}", library.kernels.empty() ? " []" : "");
  for (const KernelSignature& each : library.kernels) write_kernel(writer, each);
  return writer.take();
}

}  // namespace kgen

#include "generator/emit/structs.hpp"

#include <map>
#include <set>
#include <string>

#include "generator/base/languages.hpp"
#include "generator/emit/cpp_text.hpp"

namespace kgen {

std::vector<const StructType*> structs_of(const Plan& plan) {
  std::map<std::string, const StructType*> by_name;
  for (const StubProgram& stub : plan.stubs) {
    for (const StubParameter& parameter : stub.parameters) {
      if (const StructType* structure = parameter.type.structure) by_name.emplace(structure->name, structure);
    }
  }
  std::vector<const StructType*> structs;
  for (const auto& [name, structure] : by_name) structs.push_back(structure);
  return structs;
}

void write_struct_headers(Writer& writer, const std::vector<const StructType*>& structs) {
  std::set<std::string> headers;
  for (const StructType* structure : structs) headers.insert(structure->header);
  for (const std::string& header : headers) writer.line("#include \"{}\"", header);
}

void write_structs(Writer& writer, const std::vector<const StructType*>& structs) {
  if (structs.empty()) return;
  write_struct_headers(writer, structs);
  writer.line();
  writer.line(
      "// The memory of structs was laid out as they are declared. Where one of these fails, correct the declaration.");
  for (const StructType* structure : structs) {
    const std::string at(structure->where.known() ? file_name(*structure->where.text) : "");
    const std::string& name = structure->name;
    const auto claim = [&](const std::string& what, const std::string& claimed) {
      write_list(writer, "static_assert(", {what, cpp_string(claimed + (at.empty() ? "" : ": " + at))}, ");");
    };
    claim(fmt::format("sizeof({}) == {}", name, structure->bytes),
          fmt::format("{} has {} bytes", name, structure->bytes));
    claim(fmt::format("alignof({}) == {}", name, structure->alignment),
          fmt::format("{} is aligned to {} bytes", name, structure->alignment));
    claim(fmt::format("std::is_trivially_copyable_v<{}>", name), fmt::format("{} is copied as bytes", name));
  }
}

}  // namespace kgen

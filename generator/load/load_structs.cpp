#include "generator/load/load_structs.hpp"

#include <fmt/format.h>

#include "generator/load/fields.hpp"

namespace kgen {
namespace {

constexpr std::int64_t most_alignment = 64;  // at which every value in memory begins

// "fractal::Region"
bool validate_qualified_name(Yaml value, Diagnostics& diagnostics) {
  const auto text = read_text(value, "the name of a struct", diagnostics);
  if (!text) return false;
  if (is_qualified_name(*text) && !dtype_from_name(*text)) return true;
  diagnostics.error(value.where(), fmt::format("'{}' cannot name a struct", *text))
      .advise("write its qualified C++ name, such as fractal::Region");
  return false;
}

// {struct: fractal::Region, header: fractal.hpp, bytes: 32, alignment: 8}
void read_struct(Yaml entry, Structs& structs, Diagnostics& diagnostics) {
  if (!validate_keys(entry, {"struct", "header", "bytes", "alignment", "doc"}, "a struct", diagnostics)) return;
  const Yaml name = require_key(entry, "struct", "a struct", diagnostics);
  const Yaml header = require_key(entry, "header", "a struct", diagnostics);
  const Yaml bytes = require_key(entry, "bytes", "a struct", diagnostics);
  const Yaml alignment = require_key(entry, "alignment", "a struct", diagnostics);
  if (!name || !header || !bytes || !alignment || !validate_qualified_name(name, diagnostics)) return;
  StructType made;
  made.name = name.text();
  made.where = name.where();
  made.header = read_text(header, "'header'", diagnostics).value_or("");
  if (header.is_scalar()) validate_header_name(made.header, header.where(), diagnostics);
  made.bytes = read_integer(bytes, "'bytes'", diagnostics).value_or(1);
  made.alignment = read_integer(alignment, "'alignment'", diagnostics).value_or(1);
  const bool is_alignment =
      made.alignment >= 1 && made.alignment <= most_alignment && (made.alignment & (made.alignment - 1)) == 0;
  if (!is_alignment) {
    diagnostics.error(alignment.where(), fmt::format("{} is no alignment that kgen can give", made.alignment))
        .note(
            fmt::format("values begin at multiples of {} bytes: it must be a power of two up to that", most_alignment));
  } else if (made.bytes < 1 || made.bytes % made.alignment != 0) {
    diagnostics
        .error(bytes.where(),
               fmt::format("a struct with alignment {} cannot have {} bytes", made.alignment, made.bytes))
        .note("sizeof is a multiple of alignof, and at least 1")
        .advise(fmt::format("write what the compiler says of sizeof({0}) and alignof({0})", made.name));
  }
  const auto [place, is_new] = structs.emplace(made.name, made);
  if (is_new) return;
  diagnostics.error(name.where(), fmt::format("the struct '{}' is declared twice", made.name))
      .note(place->second.where, "it was first declared here");
}

}  // namespace

void load_structs(Yaml value, Structs& structs, Diagnostics& diagnostics) {
  if (!value.is_sequence()) {
    report_mismatch(value, "'structs'", "a list of structs", diagnostics);
    return;
  }
  for (const Yaml entry : value.items()) read_struct(entry, structs, diagnostics);
}

const StructType* find_struct(const Structs& structs, std::string_view name) {
  const auto found = structs.find(name);
  return found == structs.end() ? nullptr : &found->second;
}

}  // namespace kgen

// Single values of a YAML file, read as what they are meant to be. Each reader reports what does not fit, at its place,
// and then returns nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/load/yaml.hpp"
#include "generator/model/dtype.hpp"
#include "generator/model/enum_names.hpp"
#include "generator/model/number.hpp"

namespace kgen {

// What a person sees there: "'relu'", "a list", "a mapping" or "nothing".
std::string describe(Yaml value);

// Reports "`what` must be `expected`, not ...".
Diagnostic& report_mismatch(Yaml value, std::string_view what, std::string_view expected, Diagnostics& diagnostics);

// Adds to a message about the unknown `name` the nearest of `candidates`, or all of them where they are few.
// `plural` says what they are: "operators".
void note_candidates(Diagnostic& diagnostic, std::string_view name, const std::vector<std::string>& candidates,
                     std::string_view plural);

// True where `value` is a mapping with no other keys than `allowed`. `what` completes "unknown key 'k' in ...".
bool validate_keys(Yaml value, std::initializer_list<std::string_view> allowed, std::string_view what,
                   Diagnostics& diagnostics);

// The value of a key that must be there; else reports "`what` needs the key `key`".
Yaml require_key(Yaml mapping, std::string_view key, std::string_view what, Diagnostics& diagnostics);

// Any scalar, as text.
std::optional<std::string_view> read_text(Yaml value, std::string_view what, Diagnostics& diagnostics);
// true or false.
std::optional<bool> read_boolean(Yaml value, std::string_view what, Diagnostics& diagnostics);
// Sets `flag` where the mapping has the key.
void read_flag(Yaml mapping, std::string_view key, bool& flag, Diagnostics& diagnostics);
std::optional<std::int64_t> read_integer(Yaml value, std::string_view what, Diagnostics& diagnostics);
// A decimal number; also .inf, -.inf and .nan, as YAML writes them.
std::optional<Number> read_number(Yaml value, std::string_view what, Diagnostics& diagnostics);
std::optional<DType> read_dtype(Yaml value, Diagnostics& diagnostics);
// What a type variable may be: a class (any, number, float, integer, signed), one dtype, or a list of dtypes.
std::optional<std::vector<DType>> read_dtypes(Yaml value, Diagnostics& diagnostics);
// One of `choices`, as its index.
std::optional<std::size_t> read_choice(Yaml value, std::string_view what, const std::vector<std::string>& choices,
                                       Diagnostics& diagnostics);
// The same for the names of an enumeration.
template <class Enum>
std::optional<Enum> read_enumerator(Yaml value, std::string_view what, Diagnostics& diagnostics) {
  const auto choice = read_choice(value, what, {names_of<Enum>.begin(), names_of<Enum>.end()}, diagnostics);
  return choice ? std::optional(static_cast<Enum>(*choice)) : std::nullopt;
}
// A list of scalars, as handles.
std::optional<std::vector<Yaml>> read_list(Yaml value, std::string_view what, Diagnostics& diagnostics);

// The number that a text is; nothing where it is none.
std::optional<Number> number_from_text(std::string_view text);
std::optional<std::int64_t> integer_from_text(std::string_view text);
// Whether it is an integer, of any length.
bool is_integer_text(std::string_view text);

std::vector<std::string> dtype_names();
void report_unknown_dtype(SourceLocation where, std::string_view name, Diagnostics& diagnostics);

// True where the text is [A-Za-z_][A-Za-z0-9_]*.
bool is_identifier(std::string_view text);
// Identifiers with "::" between them.
bool is_qualified_name(std::string_view text);
// Whether #include "..." can name the header: the text between the quotes has no escapes. Else reports why not.
bool validate_header_name(std::string_view header, SourceLocation where, Diagnostics& diagnostics);
// True where `value` may name a thing of emitted C++: an identifier and no word that C++ reserves. `what` says what
// it names: "a value".
bool validate_name(Yaml value, std::string_view what, Diagnostics& diagnostics);

}  // namespace kgen

#include "generator/load/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "generator/base/characters.hpp"
#include "generator/base/cpp_names.hpp"

namespace kgen {
namespace {

constexpr std::size_t most_listed = 30;  // candidates that are named when none is near

// What other programs call the dtypes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 30> dtype_aliases = {
    {{"double", "f64"},
     {"float", "f32"},
     {"half", "f16"},
     {"float64", "f64"},
     {"float32", "f32"},
     {"float16", "f16"},
     {"bfloat16", "bf16"},
     {"fp16", "f16"},
     {"fp32", "f32"},
     {"float8_e4m3fn", "f8e4m3"},
     {"float8_e5m2", "f8e5m2"},
     {"float8_e4m3fnuz", "f8e4m3fnuz"},
     {"float8_e5m2fnuz", "f8e5m2fnuz"},
     {"float8_e8m0fnu", "f8e8m0"},
     {"float4_e2m1fn", "f4e2m1"},
     {"int4", "i4"},
     {"uint4", "u4"},
     {"int2", "i2"},
     {"uint2", "u2"},
     {"f8e4m3fn", "f8e4m3"},
     {"f8e8m0fnu", "f8e8m0"},
     {"int8", "i8"},
     {"int16", "i16"},
     {"int32", "i32"},
     {"int64", "i64"},
     {"uint8", "u8"},
     {"uint16", "u16"},
     {"uint32", "u32"},
     {"uint64", "u64"},
     {"boolean", "bool"}}};

}  // namespace

std::string describe(Yaml value) {
  switch (value.kind()) {
    case Yaml::Kind::empty:
      return "nothing";
    case Yaml::Kind::scalar:
      return fmt::format("'{}'", value.text());
    case Yaml::Kind::sequence:
      return "a list";
    case Yaml::Kind::mapping:
      return "a mapping";
  }
  return "";
}

Diagnostic& report_mismatch(Yaml value, std::string_view what, std::string_view expected, Diagnostics& diagnostics) {
  return diagnostics.error(value.where(), fmt::format("{} must be {}, not {}", what, expected, describe(value)));
}

void note_candidates(Diagnostic& diagnostic, std::string_view name, const std::vector<std::string>& candidates,
                     std::string_view plural) {
  const std::vector<std::string> near = nearest_names(name, candidates);
  if (!near.empty()) {
    diagnostic.note(nearest_text(near));
  } else if (candidates.empty()) {
    diagnostic.note(fmt::format("there are no {}", plural));
  } else if (candidates.size() <= most_listed) {
    diagnostic.note(fmt::format("known {}: {}", plural, quoted_list(candidates)));
  }
}

bool validate_keys(Yaml value, std::initializer_list<std::string_view> allowed, std::string_view what,
                   Diagnostics& diagnostics) {
  if (!value.is_mapping()) {
    report_mismatch(value, what, "a mapping", diagnostics);
    return false;
  }
  bool known = true;
  for (const Yaml::Entry entry : value.entries()) {
    if (std::find(allowed.begin(), allowed.end(), entry.name()) != allowed.end()) continue;
    known = false;
    if (is_hopeless(diagnostics)) break;
    const std::vector<std::string> names(allowed.begin(), allowed.end());
    Diagnostic& diagnostic =
        diagnostics.error(entry.key.where(), fmt::format("unknown key '{}' in {}", entry.name(), what));
    const std::vector<std::string> near = nearest_names(entry.name(), names, 1);
    if (!near.empty()) diagnostic.advise(fmt::format("did you mean '{}'?", near[0]));
    diagnostic.note(fmt::format("known keys: {}", quoted_list(names)));
  }
  return known;
}

Yaml require_key(Yaml mapping, std::string_view key, std::string_view what, Diagnostics& diagnostics) {
  const Yaml found = mapping.find(key);
  if (!found) diagnostics.error(mapping.where(), fmt::format("{} needs the key '{}'", what, key));
  return found;
}

std::optional<std::string_view> read_text(Yaml value, std::string_view what, Diagnostics& diagnostics) {
  if (value.is_scalar()) return value.text();
  report_mismatch(value, what, "text", diagnostics);
  return std::nullopt;
}

std::optional<bool> read_boolean(Yaml value, std::string_view what, Diagnostics& diagnostics) {
  if (value.is_scalar() && value.is_plain() && value.text() == "true") return true;
  if (value.is_scalar() && value.is_plain() && value.text() == "false") return false;
  report_mismatch(value, what, "true or false", diagnostics);
  return std::nullopt;
}

void read_flag(Yaml mapping, std::string_view key, bool& flag, Diagnostics& diagnostics) {
  if (const Yaml value = mapping.find(key)) {
    flag = read_boolean(value, fmt::format("'{}'", key), diagnostics).value_or(flag);
  }
}

std::optional<std::int64_t> read_integer(Yaml value, std::string_view what, Diagnostics& diagnostics) {
  if (value.is_scalar() && value.is_plain()) {
    if (const auto integer = integer_from_text(value.text())) return integer;
    if (is_integer_text(value.text())) {
      diagnostics.error(value.where(), fmt::format("{} is too long for an integer: '{}'", what, value.text()))
          .note(fmt::format("integers are from {} to {}", std::numeric_limits<std::int64_t>::min(),
                            std::numeric_limits<std::int64_t>::max()));
      return std::nullopt;
    }
  }
  report_mismatch(value, what, "an integer", diagnostics);
  return std::nullopt;
}

std::optional<Number> read_number(Yaml value, std::string_view what, Diagnostics& diagnostics) {
  if (value.is_scalar() && value.is_plain()) {
    if (const auto number = number_from_text(value.text())) return number;
  }
  report_mismatch(value, what, "a number", diagnostics);
  return std::nullopt;
}

std::optional<DType> read_dtype(Yaml value, Diagnostics& diagnostics) {
  const auto text = read_text(value, "a dtype", diagnostics);
  if (!text) return std::nullopt;
  const auto dtype = dtype_from_name(*text);
  if (!dtype) {
    report_unknown_dtype(value.where(), *text, diagnostics);
  }
  return dtype;
}

std::optional<std::vector<DType>> read_dtypes(Yaml value, Diagnostics& diagnostics) {
  std::vector<DType> dtypes;
  if (value.is_sequence()) {
    for (const Yaml item : value.items()) {
      const auto dtype = read_dtype(item, diagnostics);
      if (!dtype) return std::nullopt;
      dtypes.push_back(*dtype);
    }
    return dtypes;
  }
  const auto name = read_text(value, "a class of dtypes", diagnostics);
  if (!name) return std::nullopt;
  if (const auto dtype = dtype_from_name(*name)) return std::vector{*dtype};
  dtypes = dtypes_of_class(*name);
  if (!dtypes.empty()) return dtypes;
  const std::vector<std::string> classes(dtype_classes().begin(), dtype_classes().end());
  diagnostics.error(value.where(), fmt::format("unknown class of dtypes '{}'", *name))
      .note(fmt::format("the classes are {}", quoted_list(classes)))
      .advise("or write the dtypes: [f32, bf16]");
  return std::nullopt;
}

std::optional<std::size_t> read_choice(Yaml value, std::string_view what, const std::vector<std::string>& choices,
                                       Diagnostics& diagnostics) {
  const auto text = read_text(value, what, diagnostics);
  if (!text) return std::nullopt;
  const auto found = std::find(choices.begin(), choices.end(), *text);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  Diagnostic& diagnostic = diagnostics.error(value.where(), fmt::format("{} cannot be '{}'", what, *text));
  diagnostic.note(fmt::format("the choices are {}", quoted_list(choices)));
  const std::vector<std::string> near = nearest_names(*text, choices, 1);
  if (!near.empty()) diagnostic.advise(fmt::format("did you mean '{}'?", near[0]));
  return std::nullopt;
}

std::optional<std::vector<Yaml>> read_list(Yaml value, std::string_view what, Diagnostics& diagnostics) {
  if (!value.is_sequence()) {
    report_mismatch(value, what, "a list", diagnostics);
    return std::nullopt;
  }
  std::vector<Yaml> items;
  for (const Yaml item : value.items()) {
    if (!item.is_scalar()) {
      report_mismatch(item, fmt::format("each item of {}", what), "a single word", diagnostics);
      return std::nullopt;
    }
    items.push_back(item);
  }
  return items;
}

std::optional<Number> number_from_text(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto with_sign = [&](const Number& magnitude) { return negative ? -magnitude : magnitude; };
  if (text == ".inf") return with_sign(std::numeric_limits<double>::infinity());
  if (text == ".nan") return Number(std::numeric_limits<double>::quiet_NaN());
  // from_chars also takes "nan".
  if (text.empty() || !(is_digit(text[0]) || text[0] == '.')) return std::nullopt;
  const char* const last = text.data() + text.size();
  std::uint64_t whole = 0;
  if (const auto [end, error] = std::from_chars(text.data(), last, whole); error == std::errc() && end == last) {
    return with_sign(whole);
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return with_sign(value);
}

bool is_integer_text(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::optional<std::int64_t> integer_from_text(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && is_digit(text[1])) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void report_unknown_dtype(SourceLocation where, std::string_view name, Diagnostics& diagnostics) {
  Diagnostic& diagnostic = diagnostics.error(where, fmt::format("unknown dtype '{}'", name));
  const auto alias =
      std::find_if(dtype_aliases.begin(), dtype_aliases.end(), [&](const auto& each) { return each.first == name; });
  if (alias != dtype_aliases.end()) diagnostic.advise(fmt::format("write {}", alias->second));
  diagnostic.note(fmt::format("the dtypes are {}", quoted_list(dtype_names())));
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const DTypeInfo& each : dtype_table()) names.emplace_back(each.name);
  return names;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && begins_name(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return begins_name(c) || is_digit(c); });
}

bool is_qualified_name(std::string_view text) {
  for (std::size_t colons = text.find("::"); colons != text.npos; colons = text.find("::")) {
    if (!is_identifier(text.substr(0, colons))) return false;
    text.remove_prefix(colons + 2);
  }
  return is_identifier(text);
}

bool validate_header_name(std::string_view header, SourceLocation where, Diagnostics& diagnostics) {
  const bool good = std::none_of(header.begin(), header.end(), [](char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (good) return true;
  diagnostics.error(where, fmt::format("#include cannot name the header '{}'", header))
      .advise("give the file a name without quotes, backslashes and line ends");
  return false;
}

bool validate_name(Yaml value, std::string_view what, Diagnostics& diagnostics) {
  if (!value.is_scalar()) {
    report_mismatch(value, fmt::format("the name of {}", what), "a word", diagnostics);
    return false;
  }
  if (!is_identifier(value.text())) {
    diagnostics.error(value.where(), fmt::format("'{}' cannot name {}", value.text(), what))
        .note("a name is a letter or '_', then letters, digits or '_'");
    return false;
  }
  if (const std::string_view reason = reason_not_in_cpp(value.text()); !reason.empty()) {
    diagnostics.error(value.where(), fmt::format("'{}' cannot name {}: {}", value.text(), what, reason))
        .advise(value.text().starts_with('_') ? "begin it with a letter" : fmt::format("write '{}_', say", value.text()));
    return false;
  }
  return true;
}

}  // namespace kgen

// What YAML and messages call enumerators. The one table of an enumeration stands behind it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace kgen {

// Specialised for each enumeration that has names, in its order.
template <class Enum>
inline constexpr auto names_of = nullptr;

template <class Enum>
constexpr std::string_view name_of(Enum enumerator) {
  return names_of<Enum>[static_cast<std::size_t>(enumerator)];
}

// Nothing for what is no name.
template <class Enum>
constexpr std::optional<Enum> enumerator_named(std::string_view name) {
  const auto& names = names_of<Enum>;
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt : std::optional(static_cast<Enum>(found - names.begin()));
}

}  // namespace kgen

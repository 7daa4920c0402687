// What YAML and messages call enumerators. The one table of an enumeration stands behind it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace kgen {

// Specialised for each enumeration that has names, in its order.
template <class Enum>
inline constexpr auto names_of = nullptr;

template <class Enum>
constexpr std::string_view name_of(Enum enumerator) {
  return names_of<Enum>[static_cast<std::size_t>(enumerator)];
}

}  // namespace kgen

#include "generator/pass/graph/attributes.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <type_traits>

namespace kgen {

bool same_attribute(const AttributeValue& a, const AttributeValue& b) {
  const auto* number = std::get_if<Number>(&a);
  const auto* other = std::get_if<Number>(&b);
  if (number && other) return same_bits(*number, *other);
  const auto* list = std::get_if<std::vector<Number>>(&a);
  const auto* others = std::get_if<std::vector<Number>>(&b);
  if (!list || !others) return a == b;
  return std::equal(list->begin(), list->end(), others->begin(), others->end(),
                    [](const Number& one, const Number& another) { return same_bits(one, another); });
}

bool same_attributes(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& left, const auto& right) {
    return left.first == right.first && same_attribute(left.second, right.second);
  });
}

// The finalizer of SplitMix64.
std::size_t mix(std::size_t hash, std::uint64_t number) {
  std::uint64_t x = hash + 0x9e3779b97f4a7c15u + number;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::uint64_t hash_of(const Number& number) { return std::bit_cast<std::uint64_t>(number.real()); }
std::uint64_t hash_of(const std::string& text) { return std::hash<std::string>{}(text); }
std::uint64_t hash_of(DType dtype) { return static_cast<std::uint64_t>(dtype); }

std::uint64_t hash_of(const Dim& dim) { return static_cast<std::uint64_t>(dim.constant()); }

std::uint64_t hash_of(const Shape& shape) {
  std::size_t hash = shape.size();
  for (const Dim& each : shape) hash = mix(hash, hash_of(each));
  return hash;
}

std::uint64_t hash_of(const std::vector<Number>& numbers) {
  std::size_t hash = numbers.size();
  for (const Number& each : numbers) hash = mix(hash, hash_of(each));
  return hash;
}

std::uint64_t hash_of(const AttributeValue& value) {
  return std::visit(
      [](const auto& each) -> std::uint64_t {
        using Each = std::remove_cvref_t<decltype(each)>;
        if constexpr (std::is_integral_v<Each>) {
          return static_cast<std::uint64_t>(each);
        } else {
          return hash_of(each);
        }
      },
      value);
}

}  // namespace kgen

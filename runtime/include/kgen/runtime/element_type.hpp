// Element types at run time: the C++ type, the name in graphs and the DLPack code of each.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "kgen/types.hpp"

namespace kgen {

enum class ElementType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3,
  f8e5m2,
  f8e4m3fnuz,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i2,
  i4,
  i8,
  i16,
  i32,
  i64,
  u2,
  u4,
  u8,
  u16,
  u32,
  u64,
  boolean
};

struct ElementTypeInfo {
  const char* name;  // in graphs: "bf16"
  int bits;          // of fewer than 8, several elements lie in a byte
  DLDataType dlpack;
  std::string_view safetensors;  // "BF16"; "": none, its bytes are stored

  int alignment() const { return bits < 8 ? 1 : bits / 8; }  // in bytes
};
const ElementTypeInfo& element_type_info(ElementType type);

// The bytes of so many elements; whole ones.
std::int64_t bytes_of_elements(ElementType type, std::int64_t count);

// True where a tensor of `dtype` may be passed for `type`: the same code and bits and one lane, or u8 for the 8-bit
// types that DLPack 0.6 has no code for.
bool accepts(ElementType type, DLDataType dtype);

// The ElementType of a C++ type: element_type<const float>() is ElementType::f32.
template <class T>
consteval ElementType element_type() {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, double>) return ElementType::f64;
  if constexpr (std::is_same_v<Plain, float>) return ElementType::f32;
  if constexpr (std::is_same_v<Plain, f16>) return ElementType::f16;
  if constexpr (std::is_same_v<Plain, bf16>) return ElementType::bf16;
  if constexpr (std::is_same_v<Plain, f8e4m3>) return ElementType::f8e4m3;
  if constexpr (std::is_same_v<Plain, f8e5m2>) return ElementType::f8e5m2;
  if constexpr (std::is_same_v<Plain, f8e4m3fnuz>) return ElementType::f8e4m3fnuz;
  if constexpr (std::is_same_v<Plain, f8e5m2fnuz>) return ElementType::f8e5m2fnuz;
  if constexpr (std::is_same_v<Plain, f8e8m0>) return ElementType::f8e8m0;
  if constexpr (std::is_same_v<Plain, f4e2m1>) return ElementType::f4e2m1;
  if constexpr (std::is_same_v<Plain, i2>) return ElementType::i2;
  if constexpr (std::is_same_v<Plain, i4>) return ElementType::i4;
  if constexpr (std::is_same_v<Plain, std::int8_t>) return ElementType::i8;
  if constexpr (std::is_same_v<Plain, std::int16_t>) return ElementType::i16;
  if constexpr (std::is_same_v<Plain, std::int32_t>) return ElementType::i32;
  if constexpr (std::is_same_v<Plain, std::int64_t>) return ElementType::i64;
  if constexpr (std::is_same_v<Plain, u2>) return ElementType::u2;
  if constexpr (std::is_same_v<Plain, u4>) return ElementType::u4;
  if constexpr (std::is_same_v<Plain, std::uint8_t>) return ElementType::u8;
  if constexpr (std::is_same_v<Plain, std::uint16_t>) return ElementType::u16;
  if constexpr (std::is_same_v<Plain, std::uint32_t>) return ElementType::u32;
  if constexpr (std::is_same_v<Plain, std::uint64_t>) return ElementType::u64;
  if constexpr (std::is_same_v<Plain, bool>) return ElementType::boolean;
}

// Calls `function` with a value of the C++ type of `type`, as in with_element_type(type, [&](auto zero) { ... }).
template <class Function>
decltype(auto) with_element_type(ElementType type, Function&& function) {
  switch (type) {
    case ElementType::f64:
      return function(double{});
    case ElementType::f32:
      return function(float{});
    case ElementType::f16:
      return function(f16{});
    case ElementType::bf16:
      return function(bf16{});
    case ElementType::f8e4m3:
      return function(f8e4m3{});
    case ElementType::f8e5m2:
      return function(f8e5m2{});
    case ElementType::f8e4m3fnuz:
      return function(f8e4m3fnuz{});
    case ElementType::f8e5m2fnuz:
      return function(f8e5m2fnuz{});
    case ElementType::f8e8m0:
      return function(f8e8m0{});
    case ElementType::f4e2m1:
      return function(f4e2m1{});
    case ElementType::i2:
      return function(i2{});
    case ElementType::i4:
      return function(i4{});
    case ElementType::i8:
      return function(std::int8_t{});
    case ElementType::i16:
      return function(std::int16_t{});
    case ElementType::i32:
      return function(std::int32_t{});
    case ElementType::i64:
      return function(std::int64_t{});
    case ElementType::u2:
      return function(u2{});
    case ElementType::u4:
      return function(u4{});
    case ElementType::u8:
      return function(std::uint8_t{});
    case ElementType::u16:
      return function(std::uint16_t{});
    case ElementType::u32:
      return function(std::uint32_t{});
    case ElementType::u64:
      return function(std::uint64_t{});
    case ElementType::boolean:
      break;
  }
  return function(bool{});
}

}  // namespace kgen

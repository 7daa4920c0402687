// Element types, and what each is called in graphs, in C++ and in DLPack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/source.hpp"

namespace kgen {

enum class DType : std::uint8_t {
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

struct DTypeInfo {
  DType dtype;
  std::string_view name;     // in YAML: "bf16", "bool"
  std::string_view cpp;      // in emitted source: "kgen::bf16", "bool", "std::int64_t"
  int bits;  // of an element in memory; of fewer than 8, several lie in a byte, the first in its lowest bits
  bool floating;
  bool stored_only = false;  // moved and converted, but no operator computes on it
};

// In the order of the enumeration.
const std::vector<DTypeInfo>& dtype_table();
const DTypeInfo& info(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
bool is_packed(DType dtype);
// "any", "number", "float", "integer", "signed": names that stand for several dtypes. Those that
// are only stored are in the first alone.
const std::vector<std::string_view>& dtype_classes();
// In the order of the table; none where there is no such class.
std::vector<DType> dtypes_of_class(std::string_view name);
// The type arithmetic is done in: f32 for floats of 32 bits or fewer, f64 for f64, that of 8 bits for integers of
// fewer, and the type itself for other integers and bool.
DType compute_dtype(DType dtype);

// An element type that only kernels know: a C++ struct that is copied as bytes. Its values lie in memory between opaque
// kernels; no other operator takes them.
struct StructType {
  std::string name;            // qualified C++: "fractal::Region"
  std::string header;          // "fractal.hpp"
  std::int64_t bytes = 0;      // sizeof
  std::int64_t alignment = 1;  // alignof
  SourceLocation where;
};

}  // namespace kgen

#include "generator/model/dtype.hpp"

namespace kgen {

const std::vector<DTypeInfo>& dtype_table() {
  static const std::vector<DTypeInfo> table = {
      {DType::f64, "f64", "double", 64, true},
      {DType::f32, "f32", "float", 32, true},
      {DType::f16, "f16", "kgen::f16", 16, true},
      {DType::bf16, "bf16", "kgen::bf16", 16, true},
      {DType::f8e4m3, "f8e4m3", "kgen::f8e4m3", 8, true},
      {DType::f8e5m2, "f8e5m2", "kgen::f8e5m2", 8, true},
      {DType::f8e4m3fnuz, "f8e4m3fnuz", "kgen::f8e4m3fnuz", 8, true},
      {DType::f8e5m2fnuz, "f8e5m2fnuz", "kgen::f8e5m2fnuz", 8, true},
      {DType::f8e8m0, "f8e8m0", "kgen::f8e8m0", 8, true, true},
      {DType::f4e2m1, "f4e2m1", "kgen::f4e2m1", 4, true, true},
      {DType::i2, "i2", "kgen::i2", 2, false, true},
      {DType::i4, "i4", "kgen::i4", 4, false, true},
      {DType::i8, "i8", "std::int8_t", 8, false},
      {DType::i16, "i16", "std::int16_t", 16, false},
      {DType::i32, "i32", "std::int32_t", 32, false},
      {DType::i64, "i64", "std::int64_t", 64, false},
      {DType::u2, "u2", "kgen::u2", 2, false, true},
      {DType::u4, "u4", "kgen::u4", 4, false, true},
      {DType::u8, "u8", "std::uint8_t", 8, false},
      {DType::u16, "u16", "std::uint16_t", 16, false},
      {DType::u32, "u32", "std::uint32_t", 32, false},
      {DType::u64, "u64", "std::uint64_t", 64, false},
      {DType::boolean, "bool", "bool", 8, false},
  };
  return table;
}

const DTypeInfo& info(DType dtype) { return dtype_table()[static_cast<std::size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& entry : dtype_table()) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

bool is_packed(DType dtype) { return info(dtype).bits < 8; }

const std::vector<std::string_view>& dtype_classes() {
  static const std::vector<std::string_view> classes = {"any", "number", "float", "integer", "signed"};
  return classes;
}

std::vector<DType> dtypes_of_class(std::string_view name) {
  const auto holds = [&](const DTypeInfo& type) {
    const bool number = type.dtype != DType::boolean && !type.stored_only;
    if (name == "number") return number;
    if (name == "float") return number && type.floating;
    if (name == "integer") return number && !type.floating;
    if (name == "signed") return number && (type.floating || type.name[0] == 'i');
    return name == "any";
  };
  std::vector<DType> dtypes;
  for (const DTypeInfo& each : dtype_table()) {
    if (holds(each)) dtypes.push_back(each.dtype);
  }
  return dtypes;
}

DType compute_dtype(DType dtype) {
  if (is_packed(dtype) && !info(dtype).floating) return info(dtype).name[0] == 'i' ? DType::i8 : DType::u8;
  if (dtype == DType::f64 || !info(dtype).floating) return dtype;
  return DType::f32;
}

}  // namespace kgen

#include "kgen/runtime/element_type.hpp"

#include "kgen_runtime.h"

namespace kgen {

const ElementTypeInfo& element_type_info(ElementType type) {
  static constexpr ElementTypeInfo table[] = {
      {"f64", 8, {kDLFloat, 64, 1}, "F64"},
      {"f32", 4, {kDLFloat, 32, 1}, "F32"},
      {"f16", 2, {kDLFloat, 16, 1}, "F16"},
      {"bf16", 2, {kDLBfloat, 16, 1}, "BF16"},
      {"f8e4m3", 1, {KGEN_DL_FLOAT8_E4M3FN, 8, 1}, "F8_E4M3"},
      {"f8e5m2", 1, {KGEN_DL_FLOAT8_E5M2, 8, 1}, "F8_E5M2"},
      {"i8", 1, {kDLInt, 8, 1}, "I8"},
      {"i16", 2, {kDLInt, 16, 1}, "I16"},
      {"i32", 4, {kDLInt, 32, 1}, "I32"},
      {"i64", 8, {kDLInt, 64, 1}, "I64"},
      {"u8", 1, {kDLUInt, 8, 1}, "U8"},
      {"u16", 2, {kDLUInt, 16, 1}, "U16"},
      {"u32", 4, {kDLUInt, 32, 1}, "U32"},
      {"u64", 8, {kDLUInt, 64, 1}, "U64"},
      {"bool", 1, {KGEN_DL_BOOL, 8, 1}, "BOOL"},
  };
  return table[static_cast<std::size_t>(type)];
}

bool accepts(ElementType type, DLDataType dtype) {
  const auto equals = [dtype](const DLDataType& other) {
    return dtype.code == other.code && dtype.bits == other.bits && dtype.lanes == other.lanes;
  };
  const bool lacks_old_code =
      type == ElementType::boolean || type == ElementType::f8e4m3 || type == ElementType::f8e5m2;
  return equals(element_type_info(type).dlpack) ||
         (lacks_old_code && equals(element_type_info(ElementType::u8).dlpack));
}

}  // namespace kgen

#include "kgen/runtime/element_type.hpp"

#include "kgen_runtime.h"

namespace kgen {

const ElementTypeInfo& element_type_info(ElementType type) {
  static constexpr ElementTypeInfo table[] = {
      {"f64", 64, {kDLFloat, 64, 1}, "F64"},
      {"f32", 32, {kDLFloat, 32, 1}, "F32"},
      {"f16", 16, {kDLFloat, 16, 1}, "F16"},
      {"bf16", 16, {kDLBfloat, 16, 1}, "BF16"},
      {"f8e4m3", 8, {KGEN_DL_FLOAT8_E4M3FN, 8, 1}, "F8_E4M3"},
      {"f8e5m2", 8, {KGEN_DL_FLOAT8_E5M2, 8, 1}, "F8_E5M2"},
      {"f8e4m3fnuz", 8, {KGEN_DL_FLOAT8_E4M3FNUZ, 8, 1}, "F8_E4M3FNUZ"},
      {"f8e5m2fnuz", 8, {KGEN_DL_FLOAT8_E5M2FNUZ, 8, 1}, "F8_E5M2FNUZ"},
      {"f8e8m0", 8, {KGEN_DL_FLOAT8_E8M0FNU, 8, 1}, "F8_E8M0"},
      {"f4e2m1", 4, {KGEN_DL_FLOAT4_E2M1FN, 4, 1}, "F4"},
      {"i2", 2, {kDLInt, 2, 1}, ""},
      {"i4", 4, {kDLInt, 4, 1}, ""},
      {"i8", 8, {kDLInt, 8, 1}, "I8"},
      {"i16", 16, {kDLInt, 16, 1}, "I16"},
      {"i32", 32, {kDLInt, 32, 1}, "I32"},
      {"i64", 64, {kDLInt, 64, 1}, "I64"},
      {"u2", 2, {kDLUInt, 2, 1}, ""},
      {"u4", 4, {kDLUInt, 4, 1}, ""},
      {"u8", 8, {kDLUInt, 8, 1}, "U8"},
      {"u16", 16, {kDLUInt, 16, 1}, "U16"},
      {"u32", 32, {kDLUInt, 32, 1}, "U32"},
      {"u64", 64, {kDLUInt, 64, 1}, "U64"},
      {"bool", 8, {KGEN_DL_BOOL, 8, 1}, "BOOL"},
  };
  return table[static_cast<std::size_t>(type)];
}

std::int64_t bytes_of_elements(ElementType type, std::int64_t count) {
  const int bits = element_type_info(type).bits;
  return bits < 8 ? count / (8 / bits) + (count % (8 / bits) != 0 ? 1 : 0) : count * (bits / 8);
}

bool accepts(ElementType type, DLDataType dtype) {
  const auto equals = [dtype](const DLDataType& other) {
    return dtype.code == other.code && dtype.bits == other.bits && dtype.lanes == other.lanes;
  };
  const ElementTypeInfo& info = element_type_info(type);
  const bool lacks_old_code =
      info.bits == 8 && (info.dlpack.code == KGEN_DL_BOOL || info.dlpack.code >= KGEN_DL_FLOAT8_E4M3FN);
  return equals(element_type_info(type).dlpack) ||
         (lacks_old_code && equals(element_type_info(ElementType::u8).dlpack));
}

}  // namespace kgen

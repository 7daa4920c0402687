// What registers.hpp is for on 64-bit Arm: NEON's registers of 16 bytes, or SVE's, of the length that
// -msve-vector-bits= says. KGEN_LANES is defined where a multiply-add takes one lane of a register for all.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "kgen/platform.hpp"

#if defined(KGEN_SVE)
#include <arm_sve.h>
#endif

namespace kgen::cpu {

#define KGEN_REGISTERS 1
#define KGEN_FUSED 1
#define KGEN_ROUNDS 1
// lesser() and greater() give NaN where either operand is NaN.
#define KGEN_KEEPS_NAN 1

KGEN_FN float square_root(float x) { return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0); }
KGEN_FN double square_root(double x) { return vget_lane_f64(vsqrt_f64(vdup_n_f64(x)), 0); }

// 4, 8 or 16 bytes, each as an integer of 32 bits. gcc 12 took each out of its register by itself.
#define KGEN_WIDENS_BYTES 1
template <int Count, bool Signed>
KGEN_FN void widen_bytes(void* to, const void* from) {
  constexpr int step = Count < 8 ? Count : 8;
  for (int i = 0; i < Count; i += step) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, static_cast<const char*>(from) + i, step);
    int32x4_t lanes[2];
    if constexpr (Signed) {
      const int16x8_t halves = vmovl_s8(vcreate_s8(bytes));
      lanes[0] = vmovl_s16(vget_low_s16(halves)), lanes[1] = vmovl_high_s16(halves);
    } else {
      const uint16x8_t halves = vmovl_u8(vcreate_u8(bytes));
      lanes[0] = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(halves)));
      lanes[1] = vreinterpretq_s32_u32(vmovl_high_u16(halves));
    }
    std::memcpy(static_cast<char*>(to) + 4 * i, lanes, 4 * step);
  }
}

#if defined(KGEN_SVE)

using Floats = float __attribute__((vector_size(register_bytes)));
using Doubles = double __attribute__((vector_size(register_bytes)));
KGEN_FN Floats square_root(Floats x) { return svsqrt_f32_x(svptrue_b32(), x); }
KGEN_FN Doubles square_root(Doubles x) { return svsqrt_f64_x(svptrue_b64(), x); }
KGEN_FN Floats lesser(Floats a, Floats b) { return svmin_f32_x(svptrue_b32(), a, b); }
KGEN_FN Doubles lesser(Doubles a, Doubles b) { return svmin_f64_x(svptrue_b64(), a, b); }
KGEN_FN Floats greater(Floats a, Floats b) { return svmax_f32_x(svptrue_b32(), a, b); }
KGEN_FN Doubles greater(Doubles a, Doubles b) { return svmax_f64_x(svptrue_b64(), a, b); }
KGEN_FN Floats fused(Floats a, Floats b, Floats c) { return svmla_f32_x(svptrue_b32(), c, a, b); }
KGEN_FN Doubles fused(Doubles a, Doubles b, Doubles c) { return svmla_f64_x(svptrue_b64(), c, a, b); }
template <Rounding Direction>
KGEN_FN Floats rounded(Floats x) {
  if constexpr (Direction == Rounding::down) return svrintm_f32_x(svptrue_b32(), x);
  if constexpr (Direction == Rounding::up) return svrintp_f32_x(svptrue_b32(), x);
  if constexpr (Direction == Rounding::to_zero) return svrintz_f32_x(svptrue_b32(), x);
  return svrintn_f32_x(svptrue_b32(), x);
}
template <Rounding Direction>
KGEN_FN Doubles rounded(Doubles x) {
  if constexpr (Direction == Rounding::down) return svrintm_f64_x(svptrue_b64(), x);
  if constexpr (Direction == Rounding::up) return svrintp_f64_x(svptrue_b64(), x);
  if constexpr (Direction == Rounding::to_zero) return svrintz_f64_x(svptrue_b64(), x);
  return svrintn_f64_x(svptrue_b64(), x);
}

#else

using Floats = float32x4_t;
using Doubles = float64x2_t;
KGEN_FN Floats square_root(Floats x) { return vsqrtq_f32(x); }
KGEN_FN Doubles square_root(Doubles x) { return vsqrtq_f64(x); }
KGEN_FN Floats lesser(Floats a, Floats b) { return vminq_f32(a, b); }
KGEN_FN Doubles lesser(Doubles a, Doubles b) { return vminq_f64(a, b); }
KGEN_FN Floats greater(Floats a, Floats b) { return vmaxq_f32(a, b); }
KGEN_FN Doubles greater(Doubles a, Doubles b) { return vmaxq_f64(a, b); }
KGEN_FN Floats fused(Floats a, Floats b, Floats c) { return vfmaq_f32(c, a, b); }
KGEN_FN Doubles fused(Doubles a, Doubles b, Doubles c) { return vfmaq_f64(c, a, b); }
template <Rounding Direction>
KGEN_FN Floats rounded(Floats x) {
  if constexpr (Direction == Rounding::down) return vrndmq_f32(x);
  if constexpr (Direction == Rounding::up) return vrndpq_f32(x);
  if constexpr (Direction == Rounding::to_zero) return vrndq_f32(x);
  return vrndnq_f32(x);
}
template <Rounding Direction>
KGEN_FN Doubles rounded(Doubles x) {
  if constexpr (Direction == Rounding::down) return vrndmq_f64(x);
  if constexpr (Direction == Rounding::up) return vrndpq_f64(x);
  if constexpr (Direction == Rounding::to_zero) return vrndq_f64(x);
  return vrndnq_f64(x);
}

// a[Lane] * b + c.
#define KGEN_LANES 1
template <int Lane>
KGEN_FN Floats fused_lane(Floats a, Floats b, Floats c) {
  return vfmaq_laneq_f32(c, b, a, Lane);
}
template <int Lane>
KGEN_FN Doubles fused_lane(Doubles a, Doubles b, Doubles c) {
  return vfmaq_laneq_f64(c, b, a, Lane);
}

#endif

}  // namespace kgen::cpu

// Matrices of bf16 as pairs of neighbours along the depth, for the instruction that adds the products of two pairs to
// each sum (AVX512_BF16: 64 operations where a multiply-add of floats does 32). A pair is 32 bits, so that panels of
// pairs are panels like others, of half the depth. It adds the product of the upper halves first: there the earlier k
// stands, and every sum has the bits that multiply-adds in the order of k give it (2 million drawn ones agree), but
// that what is smaller than 2^-126 counts as 0. Arm's (FEAT_BF16: twice the operations of a multiply-add, too) adds the two
// products first, and rounds each sum to odd: within twice the error of multiply-adds.
#pragma once

#include "kgen/cpu/caches.hpp"
#include "kgen/cpu/panels.hpp"
#include "kgen/cpu/registers.hpp"

namespace kgen {
namespace cpu {

// Two bf16, the one of the earlier k in the upper half: 32 bits of a type that no matrix has.
using Pair = char32_t;

#if defined(__AVX512BF16__) && defined(KGEN_AVX512) && defined(KGEN_REGISTERS)
#define KGEN_PAIRS 1
inline constexpr bool has_pairs = true;
#elif defined(__aarch64__) && defined(KGEN_REGISTERS) && defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define KGEN_PAIRS 1
inline constexpr bool has_pairs = true;
#else
inline constexpr bool has_pairs = false;
#endif

}  // namespace cpu

#if defined(KGEN_PAIRS)
// Where Vec is, since panels.hpp calls it of whatever panels hold.
KGEN_FN Vec<float, lanes_of<float>> multiply_add(const Vec<cpu::Pair, lanes_of<float>>& a,
                                                 const Vec<cpu::Pair, lanes_of<float>>& b,
                                                 const Vec<float, lanes_of<float>>& sum) {
  Vec<float, lanes_of<float>> result;
#if defined(KGEN_AVX512)
  __m512bh left, right;
  std::memcpy(&left, &a, sizeof(left));
  std::memcpy(&right, &b, sizeof(right));
  result.data = _mm512_dpbf16_ps(sum.data, left, right);
#elif defined(KGEN_SVE)
  typedef __bf16 Halves __attribute__((vector_size(register_bytes)));
  result.data = svbfdot_f32(sum.data, (Halves)a.data, (Halves)b.data);
#else
  result.data = vbfdotq_f32(sum.data, (bfloat16x8_t)a.data, (bfloat16x8_t)b.data);
#endif
  return result;
}
#if defined(KGEN_LANES)
template <int Lane>
KGEN_FN Vec<float, 4> multiply_lane(const Vec<cpu::Pair, 4>& a, const Vec<cpu::Pair, 4>& b, const Vec<float, 4>& sum) {
  Vec<float, 4> result;
  result.data = vbfdotq_laneq_f32(sum.data, (bfloat16x8_t)b.data, (bfloat16x8_t)a.data, Lane);
  return result;
}
#endif
#endif

namespace cpu {

// Whether the instruction pays. Processors that have tiles of pairs (tile_products.hpp) take two cycles for one, and half
// a cycle for a multiply-add: an Emerald Rapids, one thread, 128x2048x2048 by pairs 13.9 ms, by floats 7.3.
inline bool pairs_pay() {
#if defined(__x86_64__)
  static const bool has_slow_ones = (ProcessorAnswer(7, 0).d >> 22 & 1) != 0;  // AMX_BF16
  return !has_slow_ones;
#else
  return true;
#endif
}

// Whether products of elements of these operands may be those of pairs.
template <class S>
inline constexpr bool is_bf16_memory = false;
template <class T, int R>
inline constexpr bool is_bf16_memory<View<T, R>> = std::is_same_v<std::remove_const_t<T>, bf16>;

// The elements of depth K as pairs; behind an odd one stands 0.
constexpr std::int64_t pairs_of(std::int64_t K) { return (K + 1) / 2; }

KGEN_FN Pair pair_of(bf16 first, bf16 second) {
  return static_cast<Pair>(std::uint32_t{first.bits} << 16 | second.bits);
}

// panel[p * Width + j] = the pair p of column j, for `pairs` of two rows `row_stride` apart, p from pairs.begin, and j
// < count; 0 for other j, and for pairs behind K.
template <int Width>
void pack_pairs_along_width(Pair* panel, const bf16* source, std::int64_t row_stride, std::int64_t K, Range pairs,
                            std::int64_t count) {
  for (std::int64_t p = pairs.begin; p < pairs.end; ++p, panel += Width) {
    const bf16 *first = source + 2 * p * row_stride, *second = first + row_stride;
    if (count == Width && 2 * p + 1 < K) {
      for (int j = 0; j < Width; ++j) panel[j] = pair_of(first[j], second[j]);
    } else {
      for (std::int64_t j = 0; j < Width; ++j) {
        panel[j] = j < count && 2 * p < K ? pair_of(first[j], 2 * p + 1 < K ? second[j] : bf16(0.0f)) : Pair(0);
      }
    }
  }
}
// The same where neighbours along the depth lie together, and columns are `column_stride` apart.
template <int Width>
void pack_pairs_along_depth(Pair* panel, const bf16* source, std::int64_t column_stride, std::int64_t K, Range pairs,
                            std::int64_t count) {
  constexpr std::int64_t staged = 128;
  alignas(64) Pair rows[Width * staged];
  for (std::int64_t p = pairs.begin; p < pairs.end; p += staged, panel += Width * staged) {
    const std::int64_t end = std::min(pairs.end, p + staged), whole = std::min(end, K / 2);
    for (std::int64_t j = 0; j < count; ++j) {
      const bf16* from = source + j * column_stride;
      for (std::int64_t i = p; i < whole; ++i) rows[j * staged + i - p] = pair_of(from[2 * i], from[2 * i + 1]);
      for (std::int64_t i = std::max(p, whole); i < end; ++i) {
        rows[j * staged + i - p] = 2 * i < K ? pair_of(from[2 * i], bf16(0.0f)) : Pair(0);
      }
    }
    transpose_rows<Width>(panel, rows, staged, end - p, count);
  }
}

// A matrix in memory whose neighbours along `Depth`, one of its axes, or along the other one, lie together.
template <class V>
bool lies_in_lines(const V& view) {
  return view.stride(0) == 1 || view.stride(1) == 1;
}

// Panels of pairs: of rows of the left operand [M, K], or of columns of the right one [K, N] shown as [N, K].
// `panel_elements`: from one panel to the next.
template <int Width, class V>
void pack_pairs(Pair* panels, std::int64_t panel_elements, const V& rows, Range pairs, Range which) {
  const std::int64_t K = rows.extent(1);
  for (std::int64_t i = which.begin; i < which.end; i += Width, panels += panel_elements) {
    const std::int64_t count = std::min<std::int64_t>(Width, which.end - i);
    const bf16* from = rows.data() + i * rows.stride(0);
    if (rows.stride(1) == 1) {
      pack_pairs_along_depth<Width>(panels, from, rows.stride(0), K, pairs, count);
    } else {
      pack_pairs_along_width<Width>(panels, from, rows.stride(1), K, pairs, count);
    }
  }
}

}  // namespace cpu
}  // namespace kgen

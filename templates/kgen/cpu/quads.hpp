// Bytes as fours of neighbours along the depth, for the instructions that add the products of four pairs of bytes to each
// sum (AVX512_VNNI, AVX_VNNI, Arm's dot products: 64 multiply-adds in a register of 64 bytes, where one of i32 does 16
// and takes twice as long). A four is 32 bits, so that panels of fours are panels like others, of a quarter of the depth.
//
// These instructions multiply u8 by i8, or Arm's first ones i8 by i8: every operand is brought to that by turning its
// upmost bit, which adds or subtracts 128, and what was added is taken from the sums behind (integer_matmul.hpp). All is
// exact, also where sums wrap.
#pragma once

#include "kgen/cpu/panels.hpp"
#include "kgen/cpu/registers.hpp"

namespace kgen {
namespace cpu {

// Four bytes, the one of the earliest k in the lowest bits: 32 bits of a type that no matrix has.
using Quad = wchar_t;
static_assert(sizeof(Quad) == 4);

// The sums, 32 bits of another such type, where bytes on the right are narrow: from -64 to 64, as quantisers make weights
// for processors without such instructions. Two products of u8 by those fit into 16 bits, which AVX2 has an instruction
// for (pmaddubsw).
using NarrowSum = char32_t;
static_assert(sizeof(NarrowSum) == 4);
inline constexpr int most_narrow = 64;

// Whether narrow ones are the quicker ones.
#if defined(KGEN_REGISTERS) && defined(__AVX2__) && !defined(__AVX512VNNI__) && !defined(__AVXVNNI__)
inline constexpr bool has_narrow_quads = true;
#else
inline constexpr bool has_narrow_quads = false;
#endif

// W sums, in a register.
template <int W>
using QuadLanes = typename kgen::detail::Storage<std::int32_t, W, kgen::detail::Form::native>::type;

// Whether the left operand's bytes are i8 as well: of NEON's and SVE's first instructions both are of one kind.
#if defined(KGEN_LANES) && defined(__ARM_FEATURE_DOTPROD) && !defined(__ARM_FEATURE_MATMUL_INT8)
inline constexpr bool left_is_signed = true;
#else
inline constexpr bool left_is_signed = false;
#endif

// sum + the sum of the four products of the bytes of `left`, of u8, or i8, and `right`, of i8.
template <int W>
KGEN_FN QuadLanes<W> add_quads(QuadLanes<W> left, QuadLanes<W> right, QuadLanes<W> sum) {
#if defined(KGEN_REGISTERS) && defined(__AVX512VNNI__) && defined(KGEN_AVX512)
  if constexpr (W == 16) return (QuadLanes<W>)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)left, (__m512i)right);
#elif defined(KGEN_REGISTERS) && defined(__AVXVNNI__) && defined(__AVX2__)
  if constexpr (W == 8) return (QuadLanes<W>)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)left, (__m256i)right);
#elif defined(KGEN_SVE) && defined(__ARM_FEATURE_SVE_MATMUL_INT8)
  typedef std::int8_t Signed __attribute__((vector_size(register_bytes)));
  typedef std::uint8_t Unsigned __attribute__((vector_size(register_bytes)));
  if constexpr (4 * W == register_bytes) return svusdot_s32(sum, (Unsigned)left, (Signed)right);
#elif defined(KGEN_LANES) && defined(__ARM_FEATURE_MATMUL_INT8)
  if constexpr (W == 4) return vusdotq_s32(sum, (uint8x16_t)left, (int8x16_t)right);
#elif defined(KGEN_LANES) && defined(__ARM_FEATURE_DOTPROD)
  if constexpr (W == 4) return vdotq_s32(sum, (int8x16_t)left, (int8x16_t)right);
#endif
  // Without them, halves of 16 bits: the even bytes, then the odd ones.
  typedef std::int16_t Halves __attribute__((vector_size(4 * W)));
  const auto halves = [](QuadLanes<W> bytes) KGEN_LAMBDA {
    if constexpr (left_is_signed) return (QuadLanes<W>)((Halves)bytes << 8 >> 8);
    return bytes & 0x00ff00ff;
  };
  const QuadLanes<W> low = halves(left), high = halves((QuadLanes<W>)((Halves)left >> 8));
  const Halves right_low = (Halves)right << 8 >> 8, right_high = (Halves)right >> 8;
#if defined(__x86_64__) && defined(KGEN_REGISTERS)
  // pmaddwd: two products of 16 bits and their sum in an instruction.
  if constexpr (W == 4) {
    return sum + (QuadLanes<W>)_mm_madd_epi16((__m128i)low, (__m128i)right_low) +
           (QuadLanes<W>)_mm_madd_epi16((__m128i)high, (__m128i)right_high);
  }
#if defined(__AVX2__)
  if constexpr (W == 8) {
    return sum + (QuadLanes<W>)_mm256_madd_epi16((__m256i)low, (__m256i)right_low) +
           (QuadLanes<W>)_mm256_madd_epi16((__m256i)high, (__m256i)right_high);
  }
#endif
#if defined(KGEN_AVX512)
  if constexpr (W == 16) {
    return sum + (QuadLanes<W>)_mm512_madd_epi16((__m512i)low, (__m512i)right_low) +
           (QuadLanes<W>)_mm512_madd_epi16((__m512i)high, (__m512i)right_high);
  }
#endif
#endif
  const auto products = [](QuadLanes<W> a, Halves b) KGEN_LAMBDA {
    const QuadLanes<W> pairs = (QuadLanes<W>)b;
    return (a << 16 >> 16) * (pairs << 16 >> 16) + (a >> 16) * (pairs >> 16);
  };
  return sum + products(low, right_low) + products(high, right_high);
}

// The same of narrow fours on the right.
template <int W>
KGEN_FN QuadLanes<W> add_narrow_quads(QuadLanes<W> left, QuadLanes<W> right, QuadLanes<W> sum) {
#if defined(KGEN_REGISTERS) && defined(__AVX2__)
#if defined(KGEN_AVX512)
  if constexpr (W == 16) {
    const __m512i pairs = _mm512_maddubs_epi16((__m512i)left, (__m512i)right);
    return sum + (QuadLanes<W>)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
  }
#endif
  if constexpr (W == 8) {
    const __m256i pairs = _mm256_maddubs_epi16((__m256i)left, (__m256i)right);
    return sum + (QuadLanes<W>)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
  if constexpr (W == 4) {
    const __m128i pairs = _mm_maddubs_epi16((__m128i)left, (__m128i)right);
    return sum + (QuadLanes<W>)_mm_madd_epi16(pairs, _mm_set1_epi16(1));
  }
#endif
  return add_quads<W>(left, right, sum);
}

}  // namespace cpu

// Where Vec is, since panels.hpp calls it of whatever panels hold.
template <int W>
KGEN_FN Vec<std::int32_t, W> multiply_add(const Vec<cpu::Quad, W>& left, const Vec<cpu::Quad, W>& right,
                                          const Vec<std::int32_t, W>& sum) {
  cpu::QuadLanes<W> a, b;
  std::memcpy(&a, &left, sizeof(a));
  std::memcpy(&b, &right, sizeof(b));
  Vec<std::int32_t, W> result;
  result.data = cpu::add_quads<W>(a, b, sum.data);
  return result;
}
template <int W>
KGEN_FN Vec<cpu::NarrowSum, W> multiply_add(const Vec<cpu::Quad, W>& left, const Vec<cpu::Quad, W>& right,
                                            const Vec<cpu::NarrowSum, W>& sum) {
  cpu::QuadLanes<W> a, b, added;
  std::memcpy(&a, &left, sizeof(a));
  std::memcpy(&b, &right, sizeof(b));
  std::memcpy(&added, &sum, sizeof(added));
  added = cpu::add_narrow_quads<W>(a, b, added);
  Vec<cpu::NarrowSum, W> result;
  std::memcpy(&result, &added, sizeof(result));
  return result;
}

#if defined(KGEN_LANES) && (defined(__ARM_FEATURE_DOTPROD) || defined(__ARM_FEATURE_MATMUL_INT8))
template <int Lane>
KGEN_FN Vec<std::int32_t, 4> multiply_lane(const Vec<cpu::Quad, 4>& left, const Vec<cpu::Quad, 4>& right,
                                           const Vec<std::int32_t, 4>& sum) {
  Vec<std::int32_t, 4> result;
#if defined(__ARM_FEATURE_MATMUL_INT8)
  result.data = vsudotq_laneq_s32(sum.data, (int8x16_t)right.data, (uint8x16_t)left.data, Lane);
#else
  result.data = vdotq_laneq_s32(sum.data, (int8x16_t)right.data, (int8x16_t)left.data, Lane);
#endif
  return result;
}
#endif

namespace cpu {

// The elements of depth K as fours; behind the last stand zeros.
constexpr std::int64_t quads_of(std::int64_t K) { return (K + 3) / 4; }

// What an operand's bytes have their upmost bit turned by, to be u8 on the left and i8 on the right, and what that adds.
template <class Byte>
inline constexpr std::uint8_t turned_on_left = std::is_signed_v<Byte> == left_is_signed ? 0 : 0x80;
template <class Byte>
inline constexpr std::int32_t added_on_left = left_is_signed ? -turned_on_left<Byte> : turned_on_left<Byte>;
template <class Byte>
inline constexpr std::uint8_t turned_on_right = std::is_signed_v<Byte> ? 0 : 0x80;

// The bytes `depth` of row `row` of a source, each with these bits turned, and zeros up to a whole four.
template <class Byte, class S>
void copy_bytes(std::uint8_t* to, const S& source, std::int64_t row, Range depth, std::uint8_t turned) {
  const auto take = [&]<int W>(std::int64_t k, const Vec<Byte, W>& lanes) KGEN_LAMBDA {
    store_lanes(to + k - depth.begin, bit_cast<std::uint8_t>(lanes) ^ Vec<std::uint8_t, W>(turned));
  };
  if constexpr (is_view<S>) {  // four times as many bytes as floats in a register
    const auto load = [&]<int W>(std::int64_t k) KGEN_LAMBDA { take(k, source.template load<W>(Index<2>{row, k})); };
    for_each_lane<4>(depth.begin, depth.end, load);
  } else {
    for_each_of_row<Byte>(source, row, depth, take);
  }
  const std::int64_t count = depth.end - depth.begin;
  std::memset(to + count, 0, static_cast<std::size_t>(4 * quads_of(count) - count));
}

// panel[q * Width + i] = the four number q of row first + i, for fours of `depth` and i < count.
template <int Width, class Byte, class S>
void pack_quads_along_depth(Quad* panel, const S& source, Range depth, std::int64_t first, std::int64_t count,
                            std::uint8_t turned) {
  constexpr std::int64_t staged = 64;
  alignas(64) Quad rows[Width * staged];
  const std::int64_t K = source.shape()[1];
  for (std::int64_t q = depth.begin; q < depth.end; q += staged, panel += Width * staged) {
    const std::int64_t end = std::min(depth.end, q + staged);
    for (std::int64_t i = 0; i < count; ++i) {
      copy_bytes<Byte>(reinterpret_cast<std::uint8_t*>(rows + i * staged), source, first + i,
                       Range{4 * q, std::min(K, 4 * end)}, turned);
    }
    transpose_rows<Width>(panel, rows, staged, end - q, count);
  }
}

// Panels of fours of rows of the left operand, `elements` apart.
template <int Width, class S>
void pack_quads(Quad* panels, std::int64_t elements, const S& source, Range depth, Range rows) {
  using Byte = source_lane_t<S, 2>;
  for (std::int64_t i = rows.begin; i < rows.end; i += Width, panels += elements) {
    pack_quads_along_depth<Width, Byte>(panels, source, depth, i, std::min<std::int64_t>(Width, rows.end - i),
                                        turned_on_left<Byte>);
  }
}

// panel[q * Width + j] = the four number q of column first + j, for fours of `depth` and j < count; 0 for other j.
template <int Width, class Byte, class S>
void pack_quads_along_width(Quad* panel, const S& source, Range depth, std::int64_t first, std::int64_t count,
                            std::uint8_t turned) {
  const std::int64_t K = source.shape()[0];
  for (std::int64_t q = depth.begin; q < depth.end; ++q, panel += Width) {
    alignas(64) std::uint8_t rows[4][Width] = {};
    for (int i = 0; i < 4 && 4 * q + i < K; ++i) {
      const auto step = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
        const auto lanes = bit_cast<std::uint8_t>(source.template load<W>(Index<2>{4 * q + i, first + j}));
        store_lanes(rows[i] + j, lanes ^ Vec<std::uint8_t, W>(turned));
      };
      for_each_lane(0, count, step);
    }
    auto* to = reinterpret_cast<std::uint8_t*>(panel);
#pragma GCC unroll 16
    for (int j = 0; j < Width; ++j) {
      for (int i = 0; i < 4; ++i) to[4 * j + i] = rows[i][j];
    }
  }
}

// Adds to each of `Width` sums the bytes, as i8, of its column of a panel.
template <int Width>
void add_columns(std::int32_t* sums, const Quad* panel, std::int64_t quads) {
  constexpr int lanes = std::min(Width, lanes_of<std::int32_t>);
  const Vec<Quad, lanes> ones(static_cast<Quad>(0x01010101));
  for (int j = 0; j < Width; j += lanes) {
    Vec<std::int32_t, lanes> sum = load_lanes<lanes>(sums + j);
    for (std::int64_t q = 0; q < quads; ++q) sum = multiply_add(ones, load_lanes<lanes>(panel + q * Width + j), sum);
    store_lanes(sums + j, sum);
  }
}

}  // namespace cpu
}  // namespace kgen

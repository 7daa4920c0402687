// Products of bytes on a GPU (kgen/integer_matmul.hpp): without zero points by its tensor cores, with them the product of
// i32 that they stand for.
#pragma once

#include "kgen/elementwise.hpp"
#include "kgen/gpu/byte_matmul.hpp"
#include "kgen/gpu/matmul.hpp"

namespace kgen::gpu {

// A matrix of bytes, less what stands for 0 in each row (Axis 0) or column.
template <int Axis, class S, class Zero>
struct Steps {
  S source;
  Zero zero;

  KGEN_FN Index<2> shape() const { return source.shape(); }
  template <int W>
  KGEN_FN Vec<std::int32_t, W> load(Index<2> at) const {
    std::int32_t lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      const Index<2> each{at[0], at[1] + i};
      const Index<2 - Axis> zero_at = [&] {
        if constexpr (Axis == 0) return Index<2>{each[0], 0};
        else return Index<1>{each[1]};
      }();
      lanes[i] = convert<std::int32_t>(source.template load<1>(each)).data - zero.template at<1>(zero_at).data;
    }
    return load_lanes<W>(lanes);
  }
};

template <int TileM, int TileN, class A, class B, class AZero, class BZero, class C>
void integer_matmul(const A& a, const B& b, const AZero& a_zero, const BZero& b_zero, const C& c, Stream stream) {
  if constexpr (AZero::is_none && BZero::is_none) {
    byte_matmul(a, b, c, stream);
  } else {
    matmul<TileM, TileN, 23>(Steps<0, A, AZero>{a, a_zero}, Steps<1, B, BZero>{b, b_zero}, c, stream);
  }
}

// ---- packed

// The byte of panels at a position.
template <class B, class Zero>
struct PackedByte {
  B b;  // [K, N]
  Zero zero;
  View<std::int8_t, 3> panels;
  int turned;  // what i8 is less than b's bytes

  template <int W>
  KGEN_FN void operator()(Index<3> at) const {
    for (int i = 0; i < W; ++i, ++at[2]) panels.store(at, Vec<std::int32_t, 1>(byte(at)));
  }

 private:
  KGEN_FN std::int32_t element(std::int64_t k, std::int64_t n) const {
    return convert<std::int32_t>(b.template load<1>(Index<2>{k, n})).data - turned;
  }
  KGEN_FN std::int32_t byte(const Index<3>& at) const {
    const std::int64_t K = b.shape()[0], quads = (K + 3) / 4, column = 16 * at[0] + at[2] / 4, k = 4 * at[1] + at[2] % 4;
    if (column >= b.shape()[1]) return 0;
    if (at[1] < quads) return k < K ? element(k, column) : 0;
    std::int32_t behind = 0;
    if (at[1] > quads) {
      behind = zero.template at<1>(Index<1>{column}).data - turned;
    } else {
      for (std::int64_t each = 0; each < K; ++each) behind += element(each, column);
    }
    return static_cast<std::int8_t>(behind >> (8 * (at[2] % 4)));
  }
};

template <class B, class Zero>
void pack_bytes(const B& b, const Zero& zero, const View<std::int8_t, 3>& panels, Stream stream) {
  constexpr int turned = std::is_signed_v<source_lane_t<B, 2>> ? 0 : 128;
  kgen::elementwise(panels.shape(), PackedByte<B, Zero>{b, zero, panels, turned}, stream);
}

// The matrix that panels hold, less its zero points.
template <class V>
struct PackedSteps {
  V panels;
  Index<2> extents;  // [K, N]

  KGEN_FN Index<2> shape() const { return extents; }
  template <int W>
  KGEN_FN Vec<std::int32_t, W> load(Index<2> at) const {
    std::int32_t lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      const std::int64_t column = at[1] + i, panel = column / 16, place = column % 16 * 4;
      std::int32_t zero = 0;
      for (int part = 3; part >= 0; --part) {
        zero = static_cast<std::int32_t>(static_cast<std::uint32_t>(zero) << 8) |
               (byte(Index<3>{panel, panels.extent(1) - 1, place + part}) & 255);
      }
      lanes[i] = byte(Index<3>{panel, at[0] / 4, place + at[0] % 4}) - zero;
    }
    return load_lanes<W>(lanes);
  }

 private:
  KGEN_FN std::int32_t byte(const Index<3>& at) const {
    return convert<std::int32_t>(panels.template load<1>(at)).data;
  }
};

template <int TileM, int TileN, class A, class Zero, class P, class C>
void packed_integer_matmul(const A& a, const Zero& a_zero, const P& panels, std::int64_t padding, const C& c,
                           Stream stream) {
  const std::int64_t columns = panels.extent(0) * 16 - padding;
  const PackedSteps<P> right{panels, {a.shape()[1], columns < 0 ? 0 : columns}};
  matmul<TileM, TileN, 23>(Steps<0, A, Zero>{a, a_zero}, right, c, stream);
}

}  // namespace kgen::gpu

// Numbers that look like chance, each of which follows from its place, a seed and a draw: no order of work, number of
// threads or target changes them.
#pragma once

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/math.hpp"
#include "kgen/view.hpp"

namespace kgen {

// 128 bits.
struct RandomBits {
  std::uint32_t words[4];

  // The 53 highest of two neighbouring words.
  KGEN_FN std::int64_t wide(int first) const {
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(words[first]) << 32 | words[first + 1]) >> 11);
  }
};

// Philox4x32-10 of the counter (place, draw), the lower words of each first, and the key `seed`: Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
KGEN_FN RandomBits philox(std::uint64_t place, std::uint64_t draw, std::uint64_t seed) {
  const auto low = [](std::uint64_t v) KGEN_LAMBDA { return static_cast<std::uint32_t>(v); };
  const auto high = [](std::uint64_t v) KGEN_LAMBDA { return static_cast<std::uint32_t>(v >> 32); };
  RandomBits bits{{low(place), high(place), low(draw), high(draw)}};
  std::uint32_t key[2] = {low(seed), high(seed)};
  KGEN_UNROLL
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * bits.words[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * bits.words[2];
    bits = {{high(second) ^ bits.words[1] ^ key[0], low(second), high(first) ^ bits.words[3] ^ key[1], low(first)}};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return bits;
}

// From 0 to 1, 1 left out: a multiple of 2^-24 (f64: 2^-53).
struct UniformNumbers {
  template <std::floating_point T, int W>
  static KGEN_FN Vec<T, W> of(const RandomBits (&bits)[W]) {
    T lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      if constexpr (sizeof(T) == 8) {
        lanes[i] = static_cast<T>(bits[i].wide(0)) * T(0x1p-53);
      } else {
        lanes[i] = static_cast<T>(bits[i].words[0] >> 8) * T(0x1p-24);
      }
    }
    return load_lanes<W>(lanes);
  }
};

// With mean 0 and variance 1: the radius and the angle of a point in the plane by two numbers from 0 to 1, of which the
// first is not 0. Box and Muller, "A note on the generation of random normal deviates", 1958.
struct NormalNumbers {
  template <std::floating_point T, int W>
  static KGEN_FN Vec<T, W> of(const RandomBits (&bits)[W]) {
    constexpr T turn = T(6.283185307179586476925);
    T radii[W], angles[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      if constexpr (sizeof(T) == 8) {
        radii[i] = static_cast<T>(bits[i].wide(0) + 1) * T(0x1p-53);
        angles[i] = static_cast<T>(bits[i].wide(2)) * (turn * T(0x1p-53));
      } else {
        radii[i] = (static_cast<T>(bits[i].words[0]) + 1) * T(0x1p-32);
        angles[i] = static_cast<T>(bits[i].words[1] >> 8) * (turn * T(0x1p-24));
      }
    }
    return sqrt(Vec<T, W>(-2) * log(load_lanes<W>(radii))) * cos(load_lanes<W>(angles));
  }
};

// The only draw, where none is named.
struct FirstDraw {
  KGEN_FN std::uint64_t number() const { return 0; }
};

// The draw that a number in memory names.
struct NamedDraw {
  View<const std::int64_t, 0> draw;

  KGEN_FN std::uint64_t number() const { return static_cast<std::uint64_t>(draw.load<1>(Index<0>{}).data); }
};

// A source of numbers for each place of a shape, in row-major order.
template <class Numbers, class T, int R, class Draw>
struct RandomSource {
  Index<R> extents;
  std::int64_t seed;
  Draw draw;

  KGEN_FN Index<R> shape() const { return extents; }
  template <int W>
  KGEN_FN Vec<T, W> load(Index<R> at) const {
    std::int64_t place = 0;
    KGEN_UNROLL
    for (int axis = 0; axis < R; ++axis) place = place * extents[axis] + at[axis];
    RandomBits bits[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      bits[i] = philox(static_cast<std::uint64_t>(place + i), draw.number(), static_cast<std::uint64_t>(seed));
    }
    return Numbers::template of<T>(bits);
  }
};

namespace detail {
template <class Numbers, class X, class Draw, class Out>
void draw_numbers(const X& x, const Draw& draw, std::int64_t seed, const Out& out, Stream stream) {
  constexpr int R = source_rank<X>;
  const RandomSource<Numbers, source_lane_t<X, R>, R, Draw> source{x.shape(), seed, draw};
  copy(source.shape(), source, out, stream);
}
}  // namespace detail

// A number from 0 to 1, 1 left out, for each element of x, of which only the shape counts: the highest bits of
// philox(place in row-major order, draw, seed), which all targets have alike.
template <AnySource X, SinkLike<X> Out>
    KGEN_KERNEL(random_uniform)
    void random_uniform(const X& x, const View<const std::int64_t, 0>& draw, std::int64_t seed, const Out& out,
                        Stream stream = {}) requires OneOf < source_lane_t<X, source_rank<X>>,
double, float > { detail::draw_numbers<UniformNumbers>(x, NamedDraw{draw}, seed, out, stream); }

// Draw 0.
template <AnySource X, SinkLike<X> Out>
    KGEN_KERNEL(random_uniform)
    void random_uniform(const X& x, std::int64_t seed, const Out& out,
                        Stream stream = {}) requires OneOf < source_lane_t<X, source_rank<X>>,
double, float > { detail::draw_numbers<UniformNumbers>(x, FirstDraw{}, seed, out, stream); }

// The same with mean 0 and variance 1, normally distributed. Targets agree as far as their logarithms and cosines do.
template <AnySource X, SinkLike<X> Out>
    KGEN_KERNEL(random_normal)
    void random_normal(const X& x, const View<const std::int64_t, 0>& draw, std::int64_t seed, const Out& out,
                       Stream stream = {}) requires OneOf < source_lane_t<X, source_rank<X>>,
double, float > { detail::draw_numbers<NormalNumbers>(x, NamedDraw{draw}, seed, out, stream); }

// Draw 0.
template <AnySource X, SinkLike<X> Out>
    KGEN_KERNEL(random_normal)
    void random_normal(const X& x, std::int64_t seed, const Out& out,
                       Stream stream = {}) requires OneOf < source_lane_t<X, source_rank<X>>,
double, float > { detail::draw_numbers<NormalNumbers>(x, FirstDraw{}, seed, out, stream); }

}  // namespace kgen

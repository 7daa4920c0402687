// Convolutions of bytes beside the plain formula: with zero points of filters and without, bytes of 8 bits and narrow ones.
#if !defined(KGEN_GPU)
#include "kgen/integer_convolution.hpp"

#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

template <class T, int R>
Tensor<T, R> random_bytes(std::mt19937& generator, Index<R> shape, int least, int greatest) {
  Tensor<T, R> tensor(shape);
  std::uniform_int_distribution<int> distribution(least, greatest);
  for (T& element : tensor.elements) element = static_cast<T>(distribution(generator));
  return tensor;
}

struct Sizes {
  Index<4> image;  // [N, H, W, C]
  Index<2> taps;
  std::int64_t filters;
  Index<2> strides;
  Index<4> pads;
  Index<2> dilations;
};

template <class A, class B>
void check(const Sizes& sizes, bool has_zeros, int greatest, Stream stream = {}) {
  std::mt19937 generator(7);
  const std::int64_t C = sizes.image[3], O = sizes.filters, panels = (O + 15) / 16;
  const int least_a = std::numeric_limits<A>::min(), most_a = std::numeric_limits<A>::max();
  const int least_b = std::is_signed_v<B> ? -greatest : 128 - greatest, most_b = least_b + 2 * greatest - (greatest == 128);
  const Index<4> shape{sizes.taps[0], sizes.taps[1], C, O};
  const auto x = random_bytes<A>(generator, sizes.image, least_a, most_a);
  const auto filters = random_bytes<B>(generator, shape, least_b, most_b);
  const auto x_zero = random_bytes<A>(generator, Index<1>{1}, least_a, most_a);
  const int no_zero = std::is_signed_v<B> ? 0 : 128;
  const auto zeros = random_bytes<B>(generator, Index<1>{O}, has_zeros ? least_b : no_zero, has_zeros ? most_b : no_zero);
  Tensor<std::int8_t, 3> packed(Index<3>{panels, shape[0] * shape[1] * ((C + 3) / 4) + 2, 64});
  pack_filter_bytes(filters.view(), zeros.view(), packed.view(), stream);
  Index<4> result{sizes.image[0], 0, 0, O};
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t padded = sizes.image[axis + 1] + sizes.pads[axis] + sizes.pads[axis + 2];
    result[axis + 1] = (padded - sizes.dilations[axis] * (sizes.taps[axis] - 1) - 1) / sizes.strides[axis] + 1;
  }
  Tensor<std::int32_t, 4> found(result);
  const Tensor<std::int8_t, 3>& constant = packed;
  packed_integer_conv2d(x.view(), constant.view(), x_zero.view(), sizes.taps, sizes.strides, sizes.pads, sizes.dilations,
                        panels * 16 - O, found.view(), stream);
  std::size_t next = 0;
  for_each_position(result, [&](Index<4> at) {
    std::int32_t sum = 0;
    for_each_position(Index<3>{shape[0], shape[1], C}, [&](Index<3> tap) {
      const std::int64_t row = at[1] * sizes.strides[0] + tap[0] * sizes.dilations[0] - sizes.pads[0];
      const std::int64_t column = at[2] * sizes.strides[1] + tap[1] * sizes.dilations[1] - sizes.pads[1];
      if (row < 0 || column < 0 || row >= sizes.image[1] || column >= sizes.image[2]) return;
      const int left = element(x.view(), Index<4>{at[0], row, column, tap[2]}) - x_zero.elements[0];
      const int right = element(filters.view(), Index<4>{tap[0], tap[1], tap[2], at[3]}) -
                        zeros.elements[static_cast<std::size_t>(at[3])];
      sum += left * right;
    });
    REQUIRE(found.elements[next++] == sum);
  });
}

}  // namespace

TEST_CASE("packed_integer_conv2d: sums of bytes, whatever the sizes") {
  const Sizes all[] = {
      {{1, 5, 6, 3}, {3, 3}, 8, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{2, 9, 7, 16}, {3, 2}, 33, {2, 1}, {0, 1, 2, 0}, {1, 2}},
      {{1, 4, 4, 70}, {1, 1}, 17, {2, 2}, {0, 0, 0, 0}, {1, 1}},
      {{1, 12, 13, 5}, {5, 4}, 1, {1, 3}, {2, 2, 2, 2}, {2, 1}},
      {{1, 3, 3, 2048}, {2, 2}, 16, {1, 1}, {1, 1, 1, 1}, {1, 1}},
  };
  for (const Sizes& sizes : all) {
    for (const bool has_zeros : {false, true}) {
      for (const int greatest : {64, 65, 128}) {  // up to 64 they are narrow (cpu/quads.hpp)
        check<std::uint8_t, std::int8_t>(sizes, has_zeros, greatest);
        check<std::int8_t, std::int8_t>(sizes, has_zeros, greatest);
        check<std::uint8_t, std::uint8_t>(sizes, has_zeros, greatest);
      }
    }
  }
}
#endif

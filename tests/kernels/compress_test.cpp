// Results with a count: positions of true elements and chosen lines, of no, some and all elements, and of many.
#include "kgen/compress.hpp"

#include <memory>

#include "kgen/ops/comparison.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

std::unique_ptr<bool[]> truths_of(std::int64_t count, std::uint32_t one_in, std::uint32_t seed) {
  auto truths = std::make_unique<bool[]>(static_cast<std::size_t>(count));
  std::mt19937 generator(seed);
  for (std::int64_t i = 0; i < count; ++i) truths[static_cast<std::size_t>(i)] = one_in != 0 && generator() % one_in == 0;
  return truths;
}

template <int R>
void check_places(const View<const bool, R>& x) {
  const std::int64_t elements = element_count(x.shape());
  Tensor<std::int64_t, 2> indices(Index<2>{R, elements});
  std::int64_t count = -7;
  true_indices(x, indices.view(), View<std::int64_t, 0>(&count, Index<0>{}));
  std::int64_t found = 0;
  for_each_position(x.shape(), [&](Index<R> at) {
    if (element(x, at) == 0) return;
    for (int axis = 0; axis < R; ++axis) {
      REQUIRE(indices.elements[static_cast<std::size_t>(axis * elements + found)] == at[axis]);
    }
    ++found;
  });
  REQUIRE(count == found);
  for (; found < elements; ++found) {
    for (int axis = 0; axis < R; ++axis) {
      REQUIRE(indices.elements[static_cast<std::size_t>(axis * elements + found)] == 0);
    }
  }
}

struct Positive {  // a prologue
  View<const float, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Greater::apply(x.load<W>(at), 0.0f);
  }
};

}  // namespace

TEST_CASE("true_indices: no, some and all elements, of every rank") {
  for (const std::uint32_t one_in : {0u, 1u, 2u, 7u}) {
    for (const Index<3>& shape : {Index<3>{1, 1, 1}, {3, 5, 7}, {2, 33, 9}, {0, 3, 4}, {4, 0, 2}, {17, 1, 40}}) {
      const auto truths = truths_of(element_count(shape), one_in, 3);
      const View<const bool, 3> x(truths.get(), shape);
      check_places(x);
      check_places(x.permute<2, 0, 1>().flip<1>());
      check_places(x.reshape(Index<1>{element_count(shape)}));
    }
    const auto one = truths_of(1, one_in, 5);
    check_places(View<const bool, 0>(one.get(), Index<0>{}));
  }
}

TEST_CASE("true_indices: long lines, which several threads or blocks share") {
  for (const std::uint32_t one_in : {1u, 3u, 1000u}) {
    const auto truths = truths_of(70001, one_in, 9);
    check_places(View<const bool, 1>(truths.get(), {70001}));
    check_places(View<const bool, 2>(truths.get(), {7, 10000}));
  }
}

TEST_CASE("true_indices: with a prologue") {
  auto x = random_tensor<float>(Index<2>{9, 31}, 1);
  x.elements[5] = not_a_number;
  Tensor<std::int64_t, 2> indices(Index<2>{2, 9 * 31});
  std::int64_t count = 0;
  true_indices(Positive{x.view()}, indices.view(), View<std::int64_t, 0>(&count, Index<0>{}));
  std::int64_t found = 0;
  for_each_position(x.shape, [&](Index<2> at) {
    if (!(element(x.view(), at) > 0)) return;
    REQUIRE(element(indices.view(), Index<2>{0, found}) == at[0]);
    REQUIRE(element(indices.view(), Index<2>{1, found++}) == at[1]);
  });
  CHECK(count == found);
}

TEST_CASE_TEMPLATE("counted_lines: every axis, and none, some and all places", T,
                   KGEN_TYPES((float, bf16), double, std::int8_t, std::int64_t)) {
  const auto x = random_tensor<T>(Index<3>{6, 7, 9}, 2, -90, 90);
  for (int axis = 0; axis < 3; ++axis) {
    for (const std::int64_t places : {0, 1, 5, 20}) {
      std::vector<std::int64_t> chosen(static_cast<std::size_t>(places) + 1);
      for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = static_cast<std::int64_t>(i * 5) % x.shape[axis];
      for (const std::int64_t count : {std::int64_t{0}, places / 2, places}) {
        for (const auto& source : {x.view(), x.view().template flip<1>()}) {
          Index<3> shape = x.shape;
          shape[axis] = places;
          Tensor<T, 3> out(shape);
          counted_lines(source, View<const std::int64_t, 1>(chosen.data(), {places}),
                        View<const std::int64_t, 0>(&count, Index<0>{}), axis - 3, out.view());
          for_each_position(shape, [&](Index<3> at) {
            const std::int64_t line = at[axis];
            Index<3> from = at;
            from[axis] = chosen[static_cast<std::size_t>(line)];
            REQUIRE(element(out.view(), at) == (line < count ? element(source, from) : 0));
          });
        }
      }
    }
  }
}

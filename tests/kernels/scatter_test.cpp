// Scattered updates against a plain loop: every axis, strides, fewer indices than elements, what meets, what is
// outside.
#include "kgen/scatter.hpp"

#include "kgen/ops/activation.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

constexpr ScatterReduction reductions[] = {ScatterReduction::none, ScatterReduction::add, ScatterReduction::mul,
                                           ScatterReduction::max, ScatterReduction::min};

double combined(ScatterReduction reduction, double old, double update) {
  switch (reduction) {
    case ScatterReduction::add:
      return old + update;
    case ScatterReduction::mul:
      return old * update;
    case ScatterReduction::max:
      return std::max(old, update);
    case ScatterReduction::min:
      return std::min(old, update);
    default:
      return update;
  }
}

// Indices from -extent - 1 to extent: some of them outside.
template <class I, int R>
Tensor<I, R> random_indices(Index<R> shape, std::int64_t extent, std::uint32_t seed) {
  Tensor<I, R> result(shape);
  std::mt19937 generator(seed);
  std::uniform_int_distribution<std::int64_t> distribution(-extent - 1, extent);
  for (I& each : result.elements) each = static_cast<I>(distribution(generator));
  return result;
}

// What the updates, in order, make of x. Small whole numbers, so that it is exact in every type.
template <int R, class X, class I, class U>
std::vector<double> expected(const X& x, const I& indices, const U& updates, Index<R> shape, int axis,
                             ScatterReduction reduction) {
  const Tensor<float, R> result(x.shape());
  const View<const float, R> places = result.view();
  std::vector<double> values(static_cast<std::size_t>(element_count(x.shape())));
  const auto number = [&](const Index<R>& at) {
    std::int64_t offset = 0;
    for (int i = 0; i < R; ++i) offset += at[i] * places.stride(i);
    return static_cast<std::size_t>(offset);
  };
  for_each_position(x.shape(), [&](Index<R> at) { values[number(at)] = element(x, at); });
  for_each_position(shape, [&](Index<R> at) {
    Index<R> to = at, from = at;
    for (int i = 0; i < R; ++i) from[i] = updates.extent(i) == 1 ? 0 : at[i];
    to[axis] = static_cast<std::int64_t>(element(indices, at));
    if (to[axis] < 0) to[axis] += x.extent(axis);
    if (to[axis] < 0 || to[axis] >= x.extent(axis)) return;
    values[number(to)] = combined(reduction, values[number(to)], element(updates, from));
  });
  return values;
}

template <class T, class I, int R>
void check(const View<const T, R>& x, const View<const I, R>& indices, const View<const T, R>& updates, int axis) {
  for (const ScatterReduction reduction : reductions) {
    Tensor<T, R> out(x.shape());
    scatter(x, indices, updates, axis - R, reduction, out.view());
    const std::vector<double> wanted = expected<R>(x, indices, updates, indices.shape(), axis, reduction);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      INFO("axis ", axis, ", reduction ", static_cast<int>(reduction), ", element ", i);
      REQUIRE(static_cast<double>(compute_t<T>(out.elements[i])) == wanted[i]);
    }
  }
}

// Whole numbers from -2 to 2, and few products of them, are exact in each type.
template <class T, int R>
Tensor<T, R> small_numbers(Index<R> shape, std::uint32_t seed) {
  Tensor<T, R> result(shape);
  std::mt19937 generator(seed);
  for (T& each : result.elements) each = static_cast<T>(static_cast<float>(generator() % 4));
  return result;
}

}  // namespace

TEST_CASE_TEMPLATE("scatter: every axis and reduction", T, KGEN_TYPES((bf16, std::int64_t), float, double, f16, std::int8_t)) {
  constexpr Index<3> shapes[] = {{1, 1, 1}, {4, 7, 5}, {3, 9, 33}, {0, 3, 4}, {3, 4, 0}};
  for (const Index<3>& shape : shapes) {
    for (int axis = 0; axis < 3; ++axis) {
      Index<3> counts = shape;
      for (int i = 0; i < 3; ++i)
        counts[i] = i == axis ? std::min<std::int64_t>(counts[i], 4)
                              : std::max<std::int64_t>(counts[i] - 1, std::min<std::int64_t>(counts[i], 1));
      const auto x = small_numbers<T>(shape, 1), updates = small_numbers<T>(counts, 2);
      check<T, std::int64_t, 3>(x.view(), random_indices<std::int64_t>(counts, shape[axis], 3).view(), updates.view(),
                                axis);
      check<T, std::int32_t, 3>(x.view(), random_indices<std::int32_t>(counts, shape[axis], 4).view(), updates.view(),
                                axis);
    }
  }
}

TEST_CASE("scatter: transposed and broadcast operands") {
  const auto x = small_numbers<float>(Index<2>{9, 40}, 1), updates = small_numbers<float>(Index<2>{1, 40}, 2);
  const auto indices = random_indices<std::int64_t>(Index<2>{6, 1}, 9, 3);
  check<float, std::int64_t, 2>(x.view(), indices.view().broadcast_to(Index<2>{6, 40}),
                                updates.view().broadcast_to(Index<2>{6, 40}), 0);
  const auto turned = small_numbers<float>(Index<2>{40, 9}, 1);
  check<float, std::int64_t, 2>(turned.view().permute<1, 0>(), indices.view().broadcast_to(Index<2>{6, 40}),
                                updates.view().broadcast_to(Index<2>{6, 40}), 0);
  Tensor<float, 2> out(x.shape);  // the same by itself
  scatter(View<const float, 2>(x.view()), View<const std::int64_t, 2>(indices.view()),
          View<const float, 2>(updates.view()), 0, ScatterReduction::none, out.view());
  const std::vector<double> wanted = expected<2>(
      View<const float, 2>(x.view()), View<const std::int64_t, 2>(indices.view()).broadcast_to(Index<2>{6, 40}),
      View<const float, 2>(updates.view()), Index<2>{6, 40}, 0, ScatterReduction::none);
  for (std::size_t i = 0; i < wanted.size(); ++i) REQUIRE(out.elements[i] == wanted[i]);
}

TEST_CASE("scatter: of bool, `or` and `and`") {
  const bool x[] = {false, false, true, true}, updates[] = {false, true, false, true};
  const std::int32_t indices[] = {0, 1, 2, 3};
  const auto result = [&](ScatterReduction reduction) {
    bool out[4] = {};
    scatter(View<const bool, 1>(x, {4}), View<const std::int32_t, 1>(indices, {4}), View<const bool, 1>(updates, {4}),
            0, reduction, View<bool, 1>(out, {4}));
    return std::vector<bool>(out, out + 4);
  };
  CHECK(result(ScatterReduction::none) == std::vector<bool>{false, true, false, true});
  CHECK(result(ScatterReduction::add) == std::vector<bool>{false, true, true, true});
  CHECK(result(ScatterReduction::min) == std::vector<bool>{false, false, false, true});
}

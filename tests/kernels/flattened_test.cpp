// Flattened: lanes of axes walked as one are where the plain formula finds them, whatever the strides.
#include "kgen/flattened.hpp"

#include "kgen/matmul.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// W lanes at each multiple of W, and what is left one by one, as kernels walk a line.
template <int W, int R, class Step>
void walk(const Index<R>& shape, const Step& step) {
  Index<R> lines = shape;
  lines[R - 1] = shape[R - 1] == 0 ? 0 : 1;
  for_each_position(lines, [&](Index<R> at) {
    for (; at[R - 1] + W <= shape[R - 1]; at[R - 1] += W) step.template operator()<W>(at);
    for (; at[R - 1] < shape[R - 1]; ++at[R - 1]) step.template operator()<1>(at);
  });
}

// The position among the View's axes, by the plain formula.
template <int... Runs, int R, int K>
Index<R> unflattened(const Index<R>& extents, const Index<K>& at) {
  constexpr int runs[] = {Runs...};
  Index<R> result{};
  int axis = R - 1;
  for (int k = K - 1; k >= 0; --k) {
    std::int64_t left = at[k];
    for (int i = 0; i < runs[k]; ++i, --axis) {
      result[axis] = left % extents[axis];
      left /= extents[axis];
    }
    REQUIRE(left == 0);
  }
  return result;
}

template <int W, int... Runs, class T, int R>
void check_loads(const View<T, R>& view) {
  const Flattened<View<const T, R>, Runs...> flat = View<const T, R>(view);
  walk<W>(flat.shape(), [&]<int Lanes>(Index<sizeof...(Runs)> at) {
    const auto lanes = flat.template load<Lanes>(at);
    for (int i = 0; i < Lanes; ++i, ++at[sizeof...(Runs) - 1]) {
      REQUIRE(static_cast<double>(lanes[i]) == element(view, unflattened<Runs...>(view.shape(), at)));
    }
  });
}

// Stores the number of each position, and finds it there and nothing elsewhere.
template <int W, int... Runs, class T, int R>
void check_stores(Tensor<T, R>& memory, const View<T, R>& view) {
  std::fill(memory.elements.begin(), memory.elements.end(), poison<T>());
  const Flattened<View<T, R>, Runs...> flat = view;
  constexpr int K = sizeof...(Runs);
  walk<W>(flat.shape(), [&]<int Lanes>(Index<K> at) {
    float values[Lanes];
    for (int i = 0; i < Lanes; ++i, ++at[K - 1]) values[i] = static_cast<float>(flatten(at, flat.shape()));
    at[K - 1] -= Lanes;
    flat.store(at, load_lanes<Lanes>(values));
  });
  std::int64_t written = 0;
  for (const T& each : memory.elements) written += each == poison<T>() ? 0 : 1;
  CHECK(written == element_count(view.shape()));
  for_each_position(flat.shape(), [&](Index<K> at) {
    const auto expected = static_cast<T>(static_cast<float>(flatten(at, flat.shape())));
    REQUIRE(element(view, unflattened<Runs...>(view.shape(), at)) == static_cast<double>(expected));
  });
}

}  // namespace

TEST_CASE_TEMPLATE("flattened: dense, in slices, with steps, of odd extents", T, KGEN_TYPES((bf16), float, double)) {
  for (const Index<4> extents : {Index<4>{2, 3, 5, 8}, {3, 2, 4, 7}, {1, 5, 1, 16}, {2, 2, 9, 1}, {2, 3, 3, 2}}) {
    Tensor<T, 4> memory = random_tensor<T>(Index<4>{extents[0], extents[1] + 2, extents[2] + 1, 2 * extents[3]}, 1);
    const auto in_slice = memory.view().template slice<1>(1, extents[1]).template slice<2>(0, extents[2]);
    const auto runs = [&](const View<T, 4>& view) {
      Tensor<T, 4>& m = memory;
      check_loads<8, 2, 2>(view);
      check_stores<8, 2, 2>(m, view);
      check_loads<4, 3, 1>(view);
      check_stores<4, 3, 1>(m, view);
      check_loads<4, 1, 3>(view);
      check_stores<4, 1, 3>(m, view);
      check_loads<1, 4>(view);
      check_stores<8, 4>(m, view);
      check_stores<8, 1, 2, 1>(m, view);
    };
    runs(in_slice.template slice<3>(0, extents[3]));
    runs(in_slice.template slice<3>(1, extents[3]));
    runs(in_slice.template slice<3>(0, extents[3], 2));
    runs(in_slice.template slice<3>(0, extents[3]).template flip<2>());
  }
}

TEST_CASE("flattened: what repeats along an axis") {
  const auto scale = random_tensor<float>(Index<1>{7}, 1);
  check_loads<8, 2, 2>(scale.view().broadcast_to(Index<4>{2, 3, 5, 7}));
  const auto of_head = random_tensor<float>(Index<2>{5, 1}, 2);
  check_loads<8, 2, 2>(of_head.view().broadcast_to(Index<4>{2, 3, 5, 7}));
  check_loads<4, 2, 2>(of_head.view().broadcast_to(Index<4>{2, 3, 5, 12}));
  const auto of_token = random_tensor<float>(Index<3>{3, 1, 1}, 3);
  check_loads<4, 2, 2>(of_token.view().broadcast_to(Index<4>{2, 3, 5, 6}));
}

TEST_CASE("flattened: shapes of no elements") {
  float none = 0;
  for (const Index<4> extents : {Index<4>{0, 3, 5, 8}, {2, 0, 5, 8}, {2, 3, 0, 8}, {2, 3, 5, 0}}) {
    const Flattened<View<float, 4>, 2, 2> flat = View<float, 4>(&none, extents, Index<4>{1, 2, 3, 1});
    CHECK(flat.shape() == Index<2>{extents[0] * extents[1], extents[2] * extents[3]});
  }
}

TEST_CASE("flattened: positions beyond 2^31") {
  // One element, repeated: only the quotients can go wrong, and they would lead outside.
  const float line[] = {10, 11, 12, 13};
  constexpr std::int64_t many = std::int64_t{1} << 33;
  const Flattened<View<const float, 2>, 2> tall = View<const float, 2>(line, Index<2>{many, 4}, Index<2>{0, 1});
  for (const std::int64_t at : {std::int64_t{0}, many, 4 * many - 4}) {
    CHECK(tall.load<1>(Index<1>{at + 3}).data == 13.0f);
    CHECK(tall.load<4>(Index<1>{at})[2] == 12.0f);
  }
  const Flattened<View<const float, 2>, 2> wide = View<const float, 2>(line, Index<2>{4, many}, Index<2>{1, 0});
  CHECK(wide.load<1>(Index<1>{2 * many + 5}).data == 12.0f);
  CHECK(wide.load<4>(Index<1>{3 * many - 2})[1] == 12.0f);
  CHECK(wide.load<4>(Index<1>{3 * many - 2})[2] == 13.0f);
}

namespace {

// A bias of the whole line, a scale of each head, and a place in a cache.
struct IntoCache {
  View<const float, 2> bias;
  Flattened<View<const float, 3>, 1, 2> scale;
  Flattened<View<float, 4>, 2, 2> cache;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> c) const {
    cache.store(at, Mul::apply(Add::apply(c, bias.load<W>(at)), scale.load<W>(at)));
  }
};
struct FromHeads {
  Flattened<View<const float, 4>, 2, 2> heads;
  KGEN_FN Index<2> shape() const { return heads.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Add::apply(heads.load<W>(at), 1.0f);
  }
};

}  // namespace

TEST_CASE("flattened: in the prologue and the epilogue of a kernel") {
  for (const std::int64_t width : {8, 7, 16, 3, 1}) {
    for (const std::int64_t tokens : {1, 5}) {
      constexpr std::int64_t B = 2, G = 3, N = 5;
      const std::int64_t K = G * width;
      const auto heads = random_tensor<float>(Index<4>{B, tokens + 2, G, width}, 1);
      const auto weight = random_tensor<float>(Index<2>{K, N * width}, 2);
      const auto bias = random_tensor<float>(Index<1>{N * width}, 3);
      const auto scale = random_tensor<float>(Index<1>{width}, 4);
      Tensor<float, 4> cache(Index<4>{B, tokens + 3, N + 1, width});
      const auto x = heads.view().slice<1>(1, tokens);
      const auto y = cache.view().slice<1>(2, tokens).slice<2>(0, N);
      const IntoCache epilogue{bias.view().broadcast_to(Index<2>{B * tokens, N * width}),
                               scale.view().broadcast_to(Index<3>{B * tokens, N, width}), y};
      matmul(FromHeads{x}, weight.view(), epilogue);
      for_each_position(y.shape(), [&](Index<4> at) {
        double sum = 0;
        for (std::int64_t k = 0; k < K; ++k) {
          sum += (element(x, Index<4>{at[0], at[1], k / width, k % width}) + 1) *
                 element(weight.view(), Index<2>{k, at[2] * width + at[3]});
        }
        sum = (sum + element(bias.view(), Index<1>{at[2] * width + at[3]})) * element(scale.view(), Index<1>{at[3]});
        REQUIRE(std::abs(element(y, at) - sum) < 1e-4);
      });
      std::int64_t untouched = 0;
      for (const float each : cache.elements) untouched += each == poison<float>() ? 1 : 0;
      CHECK(untouched == element_count(cache.shape) - element_count(y.shape()));
    }
  }
}

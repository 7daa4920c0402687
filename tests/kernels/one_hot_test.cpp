// Indices as rows of truth values: every depth, negative indices and those beyond, strides, prologue and epilogue.
#include "kgen/one_hot.hpp"

#include <memory>

#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/comparison.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// From two below the least that counts from the end to one above the last.
template <class T, int R>
Tensor<T, R> indices_of(const Index<R>& shape, std::int64_t depth) {
  Tensor<T, R> indices(shape);
  for (std::size_t i = 0; i < indices.elements.size(); ++i) {
    indices.elements[i] = static_cast<T>(static_cast<std::int64_t>(i * 7) % (2 * depth + 4) - depth - 2);
  }
  return indices;
}

bool is_named(double index, std::int64_t place, std::int64_t depth) {
  return index == static_cast<double>(place) || index == static_cast<double>(place - depth);
}

template <class T, int R>
void check(const View<const T, R>& indices, std::int64_t depth) {
  const Index<R + 1> shape = join(indices.shape(), Index<1>{depth});
  const auto out = std::make_unique<bool[]>(static_cast<std::size_t>(element_count(shape)));
  const View<bool, R + 1> result(out.get(), shape);
  one_hot(indices, depth, result);
  for_each_position(shape, [&](Index<R + 1> at) {
    INFO("depth ", depth);
    REQUIRE(element(result, at) == is_named(element(indices, first_axes<R>(at)), at[R], depth));
  });
}

struct Doubled {  // a prologue
  View<const std::int32_t, 1> x;
  KGEN_FN Index<1> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<1> at) const {
    return Mul::apply(x.load<W>(at), 2);
  }
};

struct Chosen {  // an epilogue
  View<const float, 2> on;
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<bool, W> lanes) const {
    y.store(at, Where::apply(lanes, on.load<W>(at), -1.0f));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("one_hot: every depth and rank", T, std::int32_t, std::int64_t) {
  for (const std::int64_t depth : {1, 2, 7, 16, 33, 130, 0}) {
    check<T, 0>(indices_of<T>(Index<0>{}, depth).view(), depth);
    check<T, 1>(indices_of<T>(Index<1>{67}, depth).view(), depth);
    check<T, 2>(indices_of<T>(Index<2>{5, 9}, depth).view(), depth);
    const auto box = indices_of<T>(Index<3>{2, 3, 7}, depth);
    check<T, 3>(box.view().template permute<2, 0, 1>().template flip<1>(), depth);
    check<T, 2>(indices_of<T>(Index<2>{0, 9}, depth).view(), depth);
  }
}

TEST_CASE("one_hot: with a prologue and an epilogue") {
  const auto indices = indices_of<std::int32_t>(Index<1>{21}, 19);
  const auto on = random_tensor<float>(Index<2>{21, 19}, 1);
  Tensor<float, 2> y(on.shape);
  one_hot(Doubled{indices.view()}, 19, Chosen{on.view(), y.view()});
  for_each_position(y.shape, [&](Index<2> at) {
    const bool named = is_named(2 * element(indices.view(), Index<1>{at[0]}), at[1], 19);
    REQUIRE(element(y.view(), at) == (named ? element(on.view(), at) : -1));
  });
}

// Products of groups of rows against a reference in double: groups without rows and with all of them, rows in no group,
// ends that are no ends, odd sizes, strides, prologues, epilogues, several right operands.
#include "kgen/grouped_matmul.hpp"

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"
#if defined(KGEN_SIMT)
#include "shared_batches.hpp"
#endif

using namespace kgen;
using namespace kgen::testing;

namespace {

// The group of a row: the first whose end is beyond it; as many as there are where none is.
template <class I>
std::int64_t group_of(const std::vector<I>& ends, std::int64_t row) {
  std::int64_t group = 0;
  while (group < static_cast<std::int64_t>(ends.size()) && ends[static_cast<std::size_t>(group)] <= row) ++group;
  return group;
}

// The exact element, and the sum of the magnitudes of its terms.
struct Exact {
  double value = 0, magnitude = 0;
};
template <class T, class I>
Exact exact(const View<const T, 2>& a, const View<const T, 3>& b, const std::vector<I>& ends, Index<2> at) {
  Exact sum;
  const std::int64_t group = group_of(ends, at[0]);
  for (std::int64_t k = 0; k < a.extent(1) && group < b.extent(0); ++k) {
    const double term = element(a, Index<2>{at[0], k}) * element(b, Index<3>{group, k, at[1]});
    sum.value += term;
    sum.magnitude += std::abs(term);
  }
  return sum;
}

template <class I>
View<const I, 1> view_of(const std::vector<I>& ends) {
  return {ends.data(), Index<1>{static_cast<std::int64_t>(ends.size())}};
}

template <class T, class I>
void check(View<const T, 2> a, View<const T, 3> b, const std::vector<I>& ends, double tolerance, Stream stream = {}) {
  Tensor<compute_t<T>, 2> c(Index<2>{a.extent(0), b.extent(2)});
  grouped_matmul(a, b, view_of(ends), c.view(), stream);
  for_each_position(c.shape, [&](Index<2> at) {
    const Exact expected = exact(a, b, ends, at);
    INFO("M ", at[0], " of ", c.shape[0], ", N ", at[1], " of ", c.shape[1], ", K ", a.extent(1));
    REQUIRE(std::abs(element(c.view(), at) - expected.value) <= tolerance * expected.magnitude);
  });
}

struct Scaled {
  View<const float, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Mul::apply(x.load<W>(at), Vec<float, W>(2.0f));
  }
};
struct Halved {
  View<const float, 3> x;
  KGEN_FN Index<3> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<3> at) const {
    return Mul::apply(x.load<W>(at), Vec<float, W>(0.5f));
  }
};
struct Biased {
  View<const float, 2> bias;
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> lanes) const {
    y.store(at, Relu::apply(Add::apply(lanes, bias.load<W>(at))));
  }
};
struct Gate {
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> gate, Vec<float, W> up) const {
    y.store(at, Mul::apply(gate, up));
  }
};

}  // namespace

TEST_CASE("grouped_matmul: groups without rows, with one, with all; rows in no group") {
  const auto a = random_tensor<float>(Index<2>{137, 45}, 1);
  const auto b = random_tensor<float>(Index<3>{5, 45, 71}, 2);
  for (const std::vector<std::int64_t>& ends : {std::vector<std::int64_t>{0, 1, 64, 64, 137},
                                                {137, 137, 137, 137, 137},
                                                {0, 0, 0, 0, 137},
                                                {3, 20, 21, 90, 130},
                                                {0, 0, 0, 0, 0},
                                                {27, 54, 81, 108, 135}}) {
    check<float>(a.view(), b.view(), ends, 1e-5);
    check<float>(a.view(), b.view(), ends, 1e-5, Stream{1});
    const std::vector<std::int32_t> narrow(ends.begin(), ends.end());
    check<float>(a.view(), b.view(), narrow, 1e-5);
  }
}

TEST_CASE("grouped_matmul: ends that fall, or are below 0 or beyond the rows, touch no other memory") {
  const auto a = random_tensor<float>(Index<2>{20, 8}, 1);
  const auto b = random_tensor<float>(Index<3>{4, 8, 9}, 2);
  check<float>(a.view(), b.view(), std::vector<std::int64_t>{7, 3, 12, 99}, 1e-5);
  check<float>(a.view(), b.view(), std::vector<std::int64_t>{-5, -1, 12, 11}, 1e-5);
}

TEST_CASE("grouped_matmul: no rows, no columns, no depth, no groups") {
  const auto a = random_tensor<float>(Index<2>{6, 8}, 1);
  const auto b = random_tensor<float>(Index<3>{2, 8, 9}, 2);
  const std::vector<std::int64_t> ends{2, 6}, none{0, 0};
  check<float>(a.view().slice<0>(0, 0), b.view(), none, 0);
  check<float>(a.view(), b.view().slice<2>(0, 0), ends, 0);
  check<float>(a.view().slice<1>(0, 0), b.view().slice<1>(0, 0), ends, 0);
  check<float>(a.view(), b.view().slice<0>(0, 0), std::vector<std::int64_t>{}, 0);
}

TEST_CASE_TEMPLATE("grouped_matmul: types, and matrices that lie across", T,
                   KGEN_TYPES((float, bf16), double, f16, f8e4m3, f8e5m2)) {
  const auto a = random_tensor<T>(Index<2>{40, 30}, 1);
  const auto b = random_tensor<T>(Index<3>{3, 30, 24}, 2), across = random_tensor<T>(Index<3>{3, 24, 30}, 3);
  const std::vector<std::int64_t> ends{11, 11, 38};
  check<T>(a.view(), b.view(), ends, 1e-5);
  check<T>(a.view(), across.view().template permute<0, 2, 1>(), ends, 1e-5);
}

TEST_CASE("grouped_matmul: integers wrap") {
  const auto a = random_tensor<std::int32_t>(Index<2>{9, 7}, 1);
  const auto b = random_tensor<std::int32_t>(Index<3>{2, 7, 5}, 2);
  Tensor<std::int32_t, 2> c(Index<2>{9, 5});
  const std::vector<std::int32_t> ends{4, 9};
  grouped_matmul(a.view(), b.view(), view_of(ends), c.view());
  for_each_position(c.shape, [&](Index<2> at) {
    std::uint32_t sum = 0;
    for (std::int64_t k = 0; k < 7; ++k) {
      sum += static_cast<std::uint32_t>(a.view().load<1>({at[0], k}).data) *
             static_cast<std::uint32_t>(b.view().load<1>({group_of(ends, at[0]), k, at[1]}).data);
    }
    CHECK(static_cast<std::uint32_t>(c.view().load<1>(at).data) == sum);
  });
}

TEST_CASE("grouped_matmul: prologues, an epilogue, and several products, one pair of them joint") {
  const auto a = random_tensor<float>(Index<2>{70, 33}, 1), bias = random_tensor<float>(Index<2>{1, 20}, 5);
  const auto b = random_tensor<float>(Index<3>{4, 33, 20}, 2), up = random_tensor<float>(Index<3>{4, 33, 20}, 3);
  const auto other = random_tensor<float>(Index<3>{4, 33, 7}, 4);
  const std::vector<std::int64_t> ends{30, 30, 41, 66};
  const View<const float, 2> left = a.view();
  const auto value = [&](const Tensor<float, 3>& right, Index<2> at) {
    return exact<float>(left, right.view(), ends, at).value;
  };
  const Index<2> shape{70, 20};

  Tensor<float, 2> y(shape);
  grouped_matmul(Scaled{left}, Halved{b.view()}, view_of(ends), Biased{bias.view().broadcast_to(shape), y.view()});
  for_each_position(shape, [&](Index<2> at) {
    const double expected = std::max(0.0, value(b, at) + element(bias.view(), Index<2>{0, at[1]}));
    REQUIRE(std::abs(element(y.view(), at) - expected) <= 1e-4);
  });

  Tensor<float, 2> gated(shape), z(Index<2>{70, 7});
  grouped_matmul(left, several(b.view(), up.view(), other.view()), view_of(ends),
                 several(joint<2>(Gate{gated.view()}), z.view()));
  for_each_position(shape, [&](Index<2> at) {
    REQUIRE(std::abs(element(gated.view(), at) - value(b, at) * value(up, at)) <=
            1e-4 * (1 + std::abs(value(b, at) * value(up, at))));
  });
  for_each_position(z.shape, [&](Index<2> at) { REQUIRE(std::abs(element(z.view(), at) - value(other, at)) <= 1e-4); });
}

// Memory that is read in lines: elements found by index, in loops and in rows, against the plain formula.
#include "kgen/ops/lookup.hpp"

#include "kgen/elementwise.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

template <class T, class I, int R, int Axis>
struct GatherEach {
  Lines<const T, R, Axis> x;
  View<const I, R> indices;
  View<T, R> y;
  template <int W>
  KGEN_FN void operator()(Index<R> at) const {
    y.store(at, Gather::apply(x.template load<W>(at), indices.template load<W>(at)));
  }
};

// total = the sum of the elements that the row's own indices choose, and chosen = the one that `best` chooses.
template <class T, int Axis>
struct GatherRows {
  Lines<const T, 2, Axis> x;
  View<const std::int64_t, 2> indices;
  Lines<const T, 2, 1> table;
  View<const std::int32_t, 2> best;
  View<float, 2> doubled, total, chosen;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto gathered = row.map(Gather{}, row.load(x), row.load(indices));
    row.store(doubled, row.map(Add{}, gathered, gathered));
    row.store_scalar(total, row.reduce(Sum{}, gathered));
    row.store_scalar(chosen, row.map(Gather{}, row.load_scalar(table), row.load_scalar(best)));
  }
};

// Rows of two axes: what the indices choose from lines along an axis of x, and its sum.
template <int Axis>
struct GatherBoxes {
  Lines<const float, 3, Axis> x;
  View<const std::int64_t, 3> indices;
  View<float, 3> y, total;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto gathered = row.map(Gather{}, row.load(x), row.load(indices));
    row.store(y, gathered);
    row.store_scalar(total, row.reduce(Sum{}, gathered));
  }
};

// A whole line of a table for each row, and its sum.
struct EmbedRows {
  Lines<const bf16, 2, 0> table;
  View<const std::int64_t, 2> tokens;
  View<float, 2> y, total;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto embedded = row.keep(row.map(Gather{}, row.load(table), row.load_scalar(tokens)));
    row.store(y, embedded);
    row.store_scalar(total, row.reduce(Sum{}, embedded));
  }
};

// x where `index` stands at `axis` of `at`; NaN, 0 or false beyond it.
template <class T, int R>
double looked_up(const View<const T, R>& x, Index<R> at, int axis, std::int64_t index) {
  if (index < 0) index += x.extent(axis);
  for (int other = 0; other < R; ++other) at[other] = x.extent(other) == 1 ? 0 : at[other];
  at[axis] = index;
  if (index >= 0 && index < x.extent(axis)) return element(x, at);
  return std::is_integral_v<T> ? 0 : std::numeric_limits<double>::quiet_NaN();
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Indices from -extent - 1 to extent, so that some are beyond both ends.
template <class I, int R>
Tensor<I, R> random_indices(Index<R> shape, std::int64_t extent, std::uint32_t seed) {
  Tensor<I, R> indices(shape);
  std::mt19937 generator(seed);
  std::uniform_int_distribution<std::int64_t> distribution(-extent - 1, extent);
  for (I& each : indices.elements) each = static_cast<I>(distribution(generator));
  return indices;
}

template <int Axis, class T, class I, int R>
void check_gather(const View<const T, R>& x, const View<const I, R>& indices) {
  Tensor<T, R> y(indices.shape());
  elementwise(y.shape, GatherEach<T, I, R, Axis>{x, indices, y.view()});
  for_each_position(y.shape, [&](Index<R> at) {
    const double expected = looked_up(x, at, Axis, static_cast<std::int64_t>(element(indices, at)));
    REQUIRE(same(element(y.view(), at), expected));
  });
}

}  // namespace

TEST_CASE_TEMPLATE("gather along each axis", T, KGEN_TYPES((bf16, std::int64_t), float, double, std::int8_t)) {
  for (const std::int64_t width : {1, 3, 16, 37, 64, 200}) {
    for (const std::int64_t extent : {0, 1, 5, 130}) {
      const auto seed = static_cast<std::uint32_t>(width * 1000 + extent);
      const auto tall = random_tensor<T>(Index<2>{extent, width}, seed, -99, 99);
      const auto wide = random_tensor<T>(Index<2>{7, extent}, seed, -99, 99);
      const auto indices = random_indices<std::int64_t>(Index<2>{7, width}, extent, seed);
      const auto narrow = random_indices<std::int32_t>(Index<2>{7, width}, extent, seed);
      check_gather<0>(tall.view(), indices.view());
      check_gather<0>(tall.view(), narrow.view());
      check_gather<1>(wide.view(), indices.view());
      check_gather<1>(wide.view(), narrow.view());
    }
  }
}

TEST_CASE("gather: whole rows of a table, at any distance and alignment") {
  for (const std::int64_t width : {1, 8, 24, 64, 129}) {
    const auto table = random_tensor<bf16>(Index<2>{40, width + 3}, 1);
    const View<const bf16, 2> whole = table.view();
    const auto tokens = random_indices<std::int64_t>(Index<2>{33, 1}, 40, 2);
    const View<const std::int64_t, 2> each = tokens.view().broadcast_to(Index<2>{33, width});
    check_gather<0>(whole.slice<1>(0, width), each);
    check_gather<0>(whole.slice<1>(3, width), each);
    check_gather<0>(whole.slice<1>(1, width).flip<1>(), each);
    check_gather<0>(whole.slice<1>(2, 1), each);  // one column, which repeats
    check_gather<0>(whole.slice<0>(0, 20, 2).slice<1>(0, width), each);
  }
}

#if !defined(KGEN_GPU)
TEST_CASE("gather: whole rows of a table in memory, asked for ahead") {
  for (const std::int64_t width : {1, 8, 24, 129, 700, 5000}) {
    const std::int64_t extent = cpu::caches().second / (static_cast<std::int64_t>(sizeof(float)) * width) + 2;
    const auto table = random_tensor<float>(Index<2>{extent, width}, 1);
    const View<const float, 2> whole = table.view();
    const auto tokens = random_indices<std::int64_t>(Index<2>{50, 1}, extent, 2);
    const auto narrow = random_indices<std::int32_t>(Index<2>{50, 1}, extent, 3);
    check_gather<0>(whole, tokens.view().broadcast_to(Index<2>{50, width}));
    check_gather<0>(whole, narrow.view().broadcast_to(Index<2>{50, width}));
    check_gather<0>(whole.flip<0>(), tokens.view().broadcast_to(Index<2>{50, width}));
    const auto square = random_indices<std::int64_t>(Index<3>{7, 6, 1}, extent, 4);
    check_gather<0>(whole.unsqueeze<1>(), square.view().broadcast_to(Index<3>{7, 6, width}));
    check_gather<1>(whole.unsqueeze<0>(), square.view().broadcast_to(Index<3>{7, 6, width}));
  }
}
#endif

TEST_CASE("gather: three axes, transposed and broadcast") {
  const auto x = random_tensor<float>(Index<3>{4, 9, 21}, 3);
  const View<const float, 3> view = x.view();
  const auto indices = random_indices<std::int64_t>(Index<3>{4, 6, 21}, 9, 4);
  check_gather<1>(view, indices.view());
  check_gather<1>(view.slice<0>(2, 1), indices.view());
  check_gather<1>(view.slice<2>(5, 1), indices.view());
  const auto turned = random_indices<std::int64_t>(Index<3>{9, 21, 8}, 4, 5);
  check_gather<2>(view.permute<1, 2, 0>(), turned.view());
  const auto reversed = random_indices<std::int64_t>(Index<3>{5, 9, 4}, 21, 6);
  check_gather<0>(view.permute<2, 1, 0>(), reversed.view());
}

TEST_CASE("gather: bool") {
  const bool values[] = {true, false, true};
  const std::int64_t indices[] = {-1, 0, 1, 2, 3, -4};
  bool results[] = {false, false, true, false, true, true};
  const View<const bool, 1> x(values, {3});
  const View<const std::int64_t, 1> chosen(indices, {6});
  elementwise(Index<1>{6}, GatherEach<bool, std::int64_t, 1, 0>{x, chosen, View<bool, 1>(results, {6})});
  const bool expected[] = {true, true, false, true, false, false};
  for (int i = 0; i < 6; ++i) CHECK(results[i] == expected[i]);
}

TEST_CASE("gather in rows, short, long and shared by threads") {
  for (const Index<2> shape : {Index<2>{5, 1}, {6, 7}, {7, 64}, {3, 300}, {2, 4096}, {1, 70001}, {0, 5}, {4, 0}}) {
    for (int threads : {1, 2}) {
      const auto along = random_tensor<float>(Index<2>{shape[0], 50}, 1);
      const auto across = random_tensor<float>(Index<2>{9, shape[1]}, 2);
      const auto indices = random_indices<std::int64_t>(shape, 49, 3);
      const auto best = random_indices<std::int32_t>(Index<2>{shape[0], 1}, 50, 4);
      const auto check = [&]<int Axis>(const Tensor<float, 2>& x) {
        const auto& read = x;
        Tensor<float, 2> doubled(shape), total(Index<2>{shape[0], 1}), chosen(Index<2>{shape[0], 1});
        const GatherRows<float, Axis> body{read.view(),    indices.view(), along.view(), best.view(),
                                           doubled.view(), total.view(),   chosen.view()};
        rows<1>(shape, body, Stream{threads});
        for (std::int64_t i = 0; i < shape[0]; ++i) {
          double sum = 0, magnitude = 0;
          for (std::int64_t j = 0; j < shape[1]; ++j) {
            const auto index = static_cast<std::int64_t>(element(indices.view(), Index<2>{i, j}));
            const double expected = looked_up(read.view(), Index<2>{i, j}, Axis, index);
            REQUIRE(same(element(doubled.view(), Index<2>{i, j}), 2 * expected));
            sum += expected;
            magnitude += std::abs(expected);
          }
          const double got = element(total.view(), Index<2>{i, 0});
          REQUIRE((std::isnan(sum) ? std::isnan(got) : std::abs(got - sum) <= 1e-5 * magnitude));
          const auto index = static_cast<std::int64_t>(element(best.view(), Index<2>{i, 0}));
          REQUIRE(same(element(chosen.view(), Index<2>{i, 0}), looked_up(along.view(), Index<2>{i, 0}, 1, index)));
        }
      };
      check.template operator()<1>(along);
      check.template operator()<0>(across);
    }
  }
}

TEST_CASE("gather in rows: a line of a table for each") {
  for (const std::int64_t width : {1, 8, 40, 1024, 9000}) {
    const auto table = random_tensor<bf16>(Index<2>{30, width}, 7);
    const auto tokens = random_indices<std::int64_t>(Index<2>{12, 1}, 30, 8);
    Tensor<float, 2> y(Index<2>{12, width}), total(Index<2>{12, 1});
    rows<1>(y.shape, EmbedRows{table.view(), tokens.view(), y.view(), total.view()});
    for_each_position(y.shape, [&](Index<2> at) {
      const auto token = static_cast<std::int64_t>(element(tokens.view(), Index<2>{at[0], 0}));
      REQUIRE(same(element(y.view(), at), looked_up(table.view(), at, 0, token)));
    });
  }
}

TEST_CASE("gather: rows and lines without elements") {
  const auto check = [&]<int Axis>(std::integral_constant<int, Axis>, Index<3> shape, std::int64_t extent) {
    INFO(shape[0], " ", shape[1], " ", shape[2], " along ", Axis, " of ", extent);
    Index<3> source = shape;
    source[Axis] = extent;
    const auto x = random_tensor<float>(source, 1);
    const auto indices = random_indices<std::int64_t>(shape, std::max<std::int64_t>(extent, 1) - 1, 2);
    Tensor<float, 3> y(shape), total(Index<3>{shape[0], 1, 1});
    rows<2>(shape, GatherBoxes<Axis>{x.view(), indices.view(), y.view(), total.view()});
    const View<const float, 3> read = x.view();
    for_each_position(shape, [&](Index<3> at) {
      const auto index = static_cast<std::int64_t>(element(indices.view(), at));
      REQUIRE(same(element(y.view(), at), looked_up(read, at, Axis, index)));
    });
    for (const float sum : total.elements) CHECK((element_count(shape) > 0 || sum == 0));
    check_gather<Axis>(read, indices.view());
  };
  for (const Index<3> shape : {Index<3>{3, 4, 0}, {3, 0, 4}, {0, 4, 5}, {3, 0, 0}, {3, 4, 5}}) {
    for (const std::int64_t extent : {0, 1, 7}) {
      check(std::integral_constant<int, 0>(), shape, extent);
      check(std::integral_constant<int, 1>(), shape, extent);
      check(std::integral_constant<int, 2>(), shape, extent);
    }
  }
}

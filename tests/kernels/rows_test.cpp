// Row programs against references in double: each reduction, several axes, keep, several results, NaN and infinity.
#include "row_programs.hpp"

using namespace kgen;
using namespace kgen::testing;

TEST_CASE_TEMPLATE("reductions over rows of every length", T, KGEN_TYPES((bf16), float, double)) {
  const double tolerance = sizeof(compute_t<T>) == 8 ? 1e-13 : 2e-5;
  for (std::int64_t length : {1, 2, 7, 16, 33, 64, 100, 257, 20000}) {
    const auto x = random_tensor<T>(Index<2>{5, length}, static_cast<std::uint32_t>(length));
    using U = compute_t<T>;
    check_reduction<Sum, 1, U>(x.view(), sum, tolerance * std::sqrt(static_cast<double>(length)));
    check_reduction<Mean, 1, U>(x.view(), mean, tolerance);
    check_reduction<Max, 1, U>(x.view(), greatest, 0);
    check_reduction<Min, 1, U>(x.view(), least, 0);
  }
  const auto small = random_tensor<T>(Index<2>{4, 50}, 1, 0.9f, 1.1f);
  check_reduction<Prod, 1, compute_t<T>>(small.view(), product, tolerance);
}

TEST_CASE("sums and products of integers wrap to their type, in registers as in memory; a wider one converts first") {
  Tensor<std::int8_t, 2> x(Index<2>{3, 1000});
  for (auto& element : x.elements) element = 100;
  const auto& read = x;
  const auto low_byte = [](double total) { return double(static_cast<std::int8_t>(static_cast<std::int64_t>(total))); };
  const auto wrapped_sum = [&](const std::vector<double>& v) { return low_byte(sum(v)); };
  check_reduction<Sum, 1, std::int64_t>(read.view(), wrapped_sum, 0);
  check_reduction<Converted<std::int64_t, Sum>, 1, std::int64_t>(read.view(), sum, 0);
  check_reduction<Max, 1, std::int8_t>(read.view(), greatest, 0);
  check_reduction<Min, 1, std::int64_t>(read.view(), least, 0);
  const auto some = random_tensor<std::int32_t>(Index<2>{3, 9}, 3, -9, 9);
  check_reduction<Prod, 1, std::int64_t>(
      some.view(),
      [](const std::vector<double>& v) {
        return double(static_cast<std::int32_t>(static_cast<std::int64_t>(product(v))));
      },
      0);
  check_reduction<Converted<std::int64_t, Prod>, 1, std::int64_t>(some.view(), product, 0);
  const auto none = random_tensor<std::int32_t>(Index<2>{2, 0}, 3);
  Tensor<std::int64_t, 2> least_integer(Index<2>{2, 1});
  rows<1>(none.shape, ReduceRow<Max, std::int32_t, std::int64_t, 2>{none.view(), least_integer.view()});
  CHECK(least_integer.elements[1] == std::numeric_limits<std::int32_t>::lowest());
}

TEST_CASE_TEMPLATE("where the greatest and the least stand, the first of equals", T, KGEN_TYPES((bf16, int), float, double)) {
  for (std::int64_t length : {0, 1, 2, 7, 16, 33, 100, 257, 20000}) {
    // Few different values, so that most are met more than once.
    const auto x = random_tensor<T>(Index<2>{5, length}, static_cast<std::uint32_t>(length), -4, 4);
    Tensor<T, 2> whole(x.shape), equal(x.shape), last(x.shape);
    for (std::size_t i = 0; i < x.elements.size(); ++i) {
      whole.elements[i] = static_cast<T>(std::round(static_cast<double>(x.elements[i])));
      equal.elements[i] = static_cast<T>(3);
      const bool ends_row = (static_cast<std::int64_t>(i) + 1) % length == 0;
      last.elements[i] = static_cast<T>(ends_row ? 9 : 3);
    }
    for (const auto* tensor : {&x, static_cast<const Tensor<T, 2>*>(&whole), static_cast<const Tensor<T, 2>*>(&equal),
                               static_cast<const Tensor<T, 2>*>(&last)}) {
      check_reduction<ArgMax, 1, std::int64_t>(tensor->view(), place_of_greatest, 0);
      check_reduction<ArgMin, 1, std::int64_t>(tensor->view(), place_of_least, 0);
    }
  }
}

TEST_CASE("where the greatest stands: NaN, infinity, several axes, rows that threads share") {
  for (std::int64_t length : {5, 16, 70, 1031}) {
    for (float special : {not_a_number, infinity, -infinity}) {
      for (std::int64_t position = 0; position < length; position += 1 + length / 9) {
        auto x = random_tensor<float>(Index<2>{3, length}, 5);
        x.elements[static_cast<std::size_t>(position)] = special;
        x.elements[static_cast<std::size_t>(length - 1)] = special;
        for (std::int64_t i = length; i < 2 * length; ++i) x.elements[static_cast<std::size_t>(i)] = special;
        const auto& read = x;
        check_reduction<ArgMax, 1, std::int64_t>(read.view(), place_of_greatest, 0);
        check_reduction<ArgMin, 1, std::int64_t>(read.view(), place_of_least, 0);
      }
    }
  }
  auto box = random_tensor<float>(Index<4>{3, 4, 5, 19}, 11, -3, 3);
  for (float& each : box.elements) each = std::round(each);
  const View<const float, 4> view(box.elements.data(), box.shape);
  check_reduction<ArgMax, 2, std::int64_t>(view, place_of_greatest, 0);
  check_reduction<ArgMin, 4, std::int64_t>(view, place_of_least, 0);
  check_reduction<ArgMax, 2, std::int64_t>(view.permute<2, 3, 0, 1>(), place_of_greatest, 0);
  check_reduction<ArgMin, 1, std::int64_t>(view.permute<0, 1, 3, 2>(), place_of_least, 0);
  check_reduction<ArgMax, 3, std::int64_t>(view.slice<3>(1, 6, 3).flip<2>(), place_of_greatest, 0);
  auto line = random_tensor<float>(Index<2>{1, 300000}, 6, -2, 2);
  for (float& each : line.elements) each = std::round(each * 100);
  const View<const float, 2> shared(line.elements.data(), line.shape);
  for (int threads : {1, 2, 3}) check_reduction<ArgMax, 1, std::int64_t>(shared, place_of_greatest, 0, Stream{threads});
  const View<const float, 3> planes(line.elements.data(), Index<3>{1, 500, 600});
  for (int threads : {1, 2}) check_reduction<ArgMin, 2, std::int64_t>(planes, place_of_least, 0, Stream{threads});
}

TEST_CASE("all and any") {
  for (std::int64_t length : {0, 1, 15, 16, 40, 200}) {
    for (std::int64_t position = -1; position < length; position += 7) {
      // std::vector<bool> has no memory to view.
      std::vector<std::uint8_t> some(static_cast<std::size_t>(length), 0), most(static_cast<std::size_t>(length), 1);
      if (position >= 0) some[static_cast<std::size_t>(position)] = 1, most[static_cast<std::size_t>(position)] = 0;
      bool any = false, all = false;
      const Index<2> shape{1, length}, one{1, 1};
      const View<const bool, 2> some_view(reinterpret_cast<const bool*>(some.data()), shape);
      const View<const bool, 2> most_view(reinterpret_cast<const bool*>(most.data()), shape);
      rows<1>(shape, ReduceRow<Any, bool, bool, 2>{some_view, View<bool, 2>(&any, one)});
      rows<1>(shape, ReduceRow<All, bool, bool, 2>{most_view, View<bool, 2>(&all, one)});
      CHECK(any == (position >= 0));
      CHECK(all == (position < 0));
    }
  }
}

TEST_CASE("rows of several axes, permuted, strided and broadcast") {
  const auto x = random_tensor<float>(Index<4>{3, 4, 5, 19}, 11);
  check_reduction<Sum, 1, float>(x.view(), sum, 1e-5);
  check_reduction<Sum, 2, float>(x.view(), sum, 1e-5);
  check_reduction<Mean, 3, float>(x.view(), mean, 1e-5);
  check_reduction<Max, 4, float>(x.view(), greatest, 0);
  const View<const float, 4> view = x.view();
  check_reduction<Sum, 2, float>(view.permute<2, 3, 0, 1>(), sum, 1e-5);
  check_reduction<Sum, 2, float>(view.slice<3>(1, 6, 3).flip<2>(), sum, 1e-5);
  check_reduction<Sum, 2, float>(view.slice<2>(2, 1).broadcast_to(x.shape), sum, 1e-5);
  check_reduction<Mean, 1, float>(view.slice<3>(2, 1).broadcast_to(x.shape), mean, 1e-5);
}

TEST_CASE("NaN and infinity") {
  for (std::int64_t length : {5, 16, 70}) {
    for (float special : {not_a_number, infinity, -infinity}) {
      for (std::int64_t position = 0; position < length; position += 3) {
        auto x = random_tensor<float>(Index<2>{2, length}, 5);
        x.elements[static_cast<std::size_t>(position)] = special;
        const auto& read = x;
        check_reduction<Sum, 1, float>(read.view(), sum, 1e-5);
        check_reduction<Max, 1, float>(read.view(), greatest, 0);
        check_reduction<Min, 1, float>(read.view(), least, 0);
        Tensor<float, 2> maximum(Index<2>{2, 1}), total(Index<2>{2, 1});
        rows<1>(x.shape, StatisticsRow{read.view(), maximum.view(), total.view()});
        if (special == -infinity) {
          CHECK(std::isfinite(total.elements[0]));
        } else {
          CHECK(std::isnan(total.elements[0]));
          CHECK((maximum.elements[0] == special || std::isnan(special)));
          CHECK(std::isnan(maximum.elements[0]) == std::isnan(special));
        }
        CHECK(std::isfinite(total.elements[1]));
      }
    }
  }
}

// Lines of a length that the compiler knows: dense ones, each longer than the last by no whole register, and others.
template <std::int64_t Length>
void check_known_length() {
  INFO("length ", Length);
  const Index<2> shape{37, Length};
  const auto x = random_tensor<float>(shape, 3);
  const auto weight = random_tensor<float>(Index<2>{1, Length}, 4), gate = random_tensor<float>(Index<2>{37, 1}, 5);
  const auto every_other = random_tensor<float>(Index<2>{37, 2 * Length}, 6);
  for (const View<const float, 2>& from : {x.view(), every_other.view().template slice<1>(0, Length, 2)}) {
    Tensor<float, 2> softmax(shape), sum(shape);
    Tensor<bf16, 2> norm(shape);
    rows<1, Length>(shape, Softmax{from, softmax.view()});
    rows<1, Length>(shape,
                    AddNorm{from, x.view(), weight.view().broadcast_to(shape), gate.view(), sum.view(), norm.view()});
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      std::vector<double> line, sums, squares;
      for (std::int64_t j = 0; j < Length; ++j) {
        line.push_back(element(from, Index<2>{i, j}));
        sums.push_back(line.back() + element(x.view(), Index<2>{i, j}));
        squares.push_back(sums.back() * sums.back());
      }
      const double scale = element(gate.view(), Index<2>{i, 0}) / std::sqrt(mean(squares) + 1e-5);
      for (std::int64_t j = 0; j < Length; ++j) {
        const auto place = static_cast<std::size_t>(j);
        const double expected = sums[place] * scale * element(weight.view(), Index<2>{0, j});
        const Index<2> at{i, j};
        const double probability = std::exp(line[place] - greatest(line)) / exponentials(line);
        REQUIRE(element(softmax.view(), at) == doctest::Approx(probability).epsilon(1e-5));
        REQUIRE(element(sum.view(), at) == doctest::Approx(sums[place]).epsilon(1e-6));
        REQUIRE(std::abs(element(norm.view(), at) - expected) <= 0.005 * std::max(1.0, std::abs(expected)));
      }
    }
  }
}

TEST_CASE("lines of known length, dense and not") {
  check_known_length<1>();
  check_known_length<7>();
  check_known_length<16>();
  check_known_length<24>();
  check_known_length<49>();
  check_known_length<100>();
  check_known_length<256>();
  check_known_length<257>();
}

TEST_CASE("rows of nothing give the identity, and no rows nothing") {
  const Tensor<float, 2> x(Index<2>{3, 0});
  check_reduction<Sum, 1, float>(
      x.view(), [](auto&) { return 0.0; }, 0);
  check_reduction<Prod, 1, float>(
      x.view(), [](auto&) { return 1.0; }, 0);
  check_reduction<Max, 1, float>(
      x.view(), [](auto&) { return -infinity; }, 0);
  check_reduction<Min, 1, float>(
      x.view(), [](auto&) { return infinity; }, 0);
  check_reduction<Mean, 1, float>(
      x.view(), [](auto&) { return not_a_number; }, 0);
  Tensor<float, 2> mean_result(Index<2>{3, 1}), variance_result(Index<2>{3, 1});
  rows<1>(x.shape, MeanVarianceRow<float>{x.view(), mean_result.view(), variance_result.view()});
  CHECK(std::isnan(mean_result.elements[2]));
  CHECK(std::isnan(variance_result.elements[2]));
  Tensor<float, 2> maximum(Index<2>{3, 1}), total(Index<2>{3, 1});
  rows<1>(x.shape, StatisticsRow{x.view(), maximum.view(), total.view()});
  CHECK(maximum.elements[0] == -infinity);
  CHECK(total.elements[0] == 0.0f);
  const Tensor<float, 2> none(Index<2>{0, 7});
  check_reduction<Sum, 1, float>(none.view(), sum, 0);
}

TEST_CASE("softmax, by keep and in one pass, short, long and shared by threads") {
  for (const Index<2> shape : {Index<2>{4, 1}, {3, 5}, {7, 64}, {5, 300}, {1, 100003}, {3, 70001}}) {
    for (int threads : {0, 1, 2, 3}) {
      check_softmax<Softmax>(shape, Stream{threads});
      check_softmax<OnlineSoftmax>(shape, Stream{threads});
    }
  }
  Tensor<float, 2> hidden(Index<2>{1, 40}), y(Index<2>{1, 1}), total(Index<2>{1, 1});
  for (float& element : hidden.elements) element = -infinity;
  rows<1>(hidden.shape, StatisticsRow{hidden.view(), y.view(), total.view()});
  CHECK(y.elements[0] == -infinity);
  CHECK(total.elements[0] == 0.0f);
}

TEST_CASE("mean and variance do not cancel") {
  for (std::int64_t length : {1, 3, 50, 1000, 100000}) {
    for (int threads : {1, 2}) {
      auto x = random_tensor<float>(Index<2>{2, length}, 9, 1000, 1001);
      Tensor<float, 2> mean_result(Index<2>{2, 1}), variance_result(Index<2>{2, 1});
      rows<1>(x.shape, MeanVarianceRow<float>{x.view(), mean_result.view(), variance_result.view()}, Stream{threads});
      for (std::int64_t i = 0; i < 2; ++i) {
        std::vector<double> values;
        for (std::int64_t j = 0; j < length; ++j) values.push_back(element(x.view(), Index<2>{i, j}));
        CHECK(std::abs(mean_result.elements[static_cast<std::size_t>(i)] - mean(values)) < 3e-4);
        CHECK(std::abs(variance_result.elements[static_cast<std::size_t>(i)] - variance(values)) <
              1e-3 * variance(values) + 1e-9);
      }
    }
  }
}

TEST_CASE_TEMPLATE("mean and variance of what is large or infinite are NumPy's", T, KGEN_TYPES((float), double)) {
  constexpr T large = std::is_same_v<T, float> ? T(1e30) : T(1e300), most = std::numeric_limits<T>::max();
  constexpr T infinite = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  // The first and the last element of a row of ones, what its mean is, and its variance. Two are their own mean.
  struct Case {
    T first, last, mean, variance;
  };
  for (const std::int64_t length : {2, 3, 7, 64, 300, 5000, 70001}) {
    const T n = static_cast<T>(length);
    const Case cases[] = {{large, 1, large / n, infinite},
                          {1, large, large / n, infinite},
                          {large, -large, 0, infinite},
                          {most, -most, 0, infinite},
                          {most, most, most / n * 2, infinite},
                          {infinite, 1, infinite, nan},
                          {1, infinite, infinite, nan},
                          {-infinite, -infinite, -infinite, nan},
                          {infinite, -infinite, nan, nan},
                          {1, nan, nan, nan},
                          {1, 1, 1, 0}};
    for (const Case& c : cases) {
      for (int threads : {1, 2}) {
        Tensor<T, 2> x(Index<2>{2, length}), mean_result(Index<2>{2, 1}), variance_result(Index<2>{2, 1});
        std::fill(x.elements.begin(), x.elements.end(), T(1));
        x.elements[static_cast<std::size_t>(length)] = c.first;
        x.elements.back() = c.last;
        const Tensor<T, 2>& read = x;
        rows<1>(x.shape, MeanVarianceRow<T>{read.view(), mean_result.view(), variance_result.view()}, Stream{threads});
        INFO(length, " elements from ", c.first, " to ", c.last);
        CHECK(mean_result.elements[0] == 1);
        CHECK(variance_result.elements[0] == 0);
        const T mean_got = mean_result.elements[1], variance_got = variance_result.elements[1];
        INFO("mean ", mean_got, " variance ", variance_got);
        if (std::isnan(c.mean) || std::isinf(c.mean)) {
          CHECK((mean_got == c.mean || (std::isnan(c.mean) && std::isnan(mean_got))));
        } else {  // of opposites, what is left of the largest
          const bool exact = length == 2 || c.first != -c.last;
          CHECK(std::abs(mean_got / 2 - c.mean / 2) <=
                (exact ? std::abs(c.mean) : std::abs(c.first)) * T(1e-5) + T(1e-5));
        }
        // Two that are equal have none, however large they are.
        const T expected = length == 2 && c.first == c.last && !std::isinf(c.first) ? T(0) : c.variance;
        CHECK((variance_got == expected || (std::isnan(expected) && std::isnan(variance_got))));
      }
    }
  }
}

TEST_CASE("a long sum keeps its accuracy") {
  const auto x = random_tensor<float>(Index<2>{1, 1 << 22}, 2, 0, 1);
  check_reduction<Sum, 1, float>(x.view(), sum, 3e-7, Stream{1});
  check_reduction<Sum, 1, float>(x.view(), sum, 3e-7, Stream{2});
}

TEST_CASE("two results, values kept, scalars loaded, a result narrower than the computation") {
  for (const Index<2> shape : {Index<2>{9, 37}, {1, 70000}}) {
    const auto x = random_tensor<float>(shape, 1), residual = random_tensor<float>(shape, 2);
    const auto weight = random_tensor<float>(Index<1>{shape[1]}, 3);
    const auto gate = random_tensor<float>(Index<2>{shape[0], 1}, 4);
    Tensor<float, 2> h(shape);
    Tensor<bf16, 2> y(shape);
    rows<1>(shape,
            AddNorm{x.view(), residual.view(), weight.view().broadcast_to(shape), gate.view(), h.view(), y.view()},
            Stream{2});
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      double squares = 0;
      for (std::int64_t j = 0; j < shape[1]; ++j) {
        squares += std::pow(element(x.view(), Index<2>{i, j}) + element(residual.view(), Index<2>{i, j}), 2);
      }
      const double scale =
          element(gate.view(), Index<2>{i, 0}) / std::sqrt(squares / static_cast<double>(shape[1]) + 1e-5);
      for (std::int64_t j = 0; j < shape[1]; ++j) {
        const double sum = element(x.view(), Index<2>{i, j}) + element(residual.view(), Index<2>{i, j});
        const double expected = sum * scale * element(weight.view(), Index<1>{j});
        REQUIRE(std::abs(element(h.view(), Index<2>{i, j}) - sum) <= 1e-6);
        REQUIRE(std::abs(element(y.view(), Index<2>{i, j}) - expected) <= 0.0042 * std::abs(expected) + 1e-6);
      }
    }
  }
}

#if !defined(KGEN_SIMT) || !defined(KGEN_FEW_TYPES)  // the executor's loads double with each use: minutes to compile
TEST_CASE("expressions that use others twice stay small") {
  const auto x = random_tensor<float>(Index<2>{3, 41}, 6);
  Tensor<float, 2> y(x.shape);
  rows<1>(x.shape, Deep{x.view(), y.view()});
  for_each_position(x.shape, [&](Index<2> at) {
    const double b = 2 * std::pow(element(x.view(), at), 2), d = b * b - b, expected = 16 * d * d;
    REQUIRE(std::abs(element(y.view(), at) - expected) <= 1e-4 * std::abs(expected) + 1e-4);
  });
}
#endif

TEST_CASE_TEMPLATE("reductions of columns, as many as make whole vectors, and others", T,
                   KGEN_TYPES((bf16), float, double)) {
  using U = compute_t<T>;
  const double tolerance = sizeof(U) == 8 ? 1e-13 : 2e-5;
  for (const Index<2> shape :
       {Index<2>{1, 64}, {7, 16}, {300, 15}, {257, 100}, {5000, 21}, {0, 40}, {9, 0}, {3, 1000}}) {
    const auto x = random_tensor<T>(shape, 4, -1, 1);
    const auto columns = x.view().template permute<1, 0>();
    for (int threads : {1, 3}) {
      check_reduction<Sum, 1, U, true>(columns, sum, tolerance * std::sqrt(1.0 + static_cast<double>(shape[0])),
                                       Stream{threads});
      if (shape[0] > 0) check_reduction<Mean, 1, U, true>(columns, mean, tolerance, Stream{threads});
      check_reduction<Max, 1, U, true>(columns, greatest, 0, Stream{threads});
      check_reduction<ArgMin, 1, std::int64_t, true>(columns, place_of_least, 0, Stream{threads});
    }
  }
}

TEST_CASE("rows across memory: several axes, axes between, NaN, results of several, values kept") {
  auto box = random_tensor<float>(Index<4>{3, 5, 19, 37}, 11);
  const View<const float, 4> view(box.elements.data(), box.shape);
  for (int threads : {1, 2}) {
    check_reduction<Sum, 2, float, true>(view.permute<0, 3, 1, 2>(), sum, 1e-5, Stream{threads});
    check_reduction<Sum, 1, float, true>(view.permute<0, 1, 3, 2>(), sum, 1e-5, Stream{threads});
    check_reduction<Max, 3, float, true>(view.permute<3, 0, 1, 2>(), greatest, 0, Stream{threads});
    check_reduction<Sum, 1, float, true>(view.permute<1, 3, 2, 0>(), sum, 1e-5, Stream{threads});
    check_reduction<ArgMax, 2, std::int64_t, true>(view.permute<0, 3, 1, 2>(), place_of_greatest, 0, Stream{threads});
    check_reduction<Sum, 2, float, true>(view.slice<3>(1, 18, 2).permute<0, 3, 1, 2>(), sum, 1e-5, Stream{threads});
    check_reduction<Sum, 2, float, true>(view, sum, 1e-5, Stream{threads});  // which lies along the rows
  }
  const Index<2> shape{90, 83};  // rows that are columns of memory, one of them with a NaN
  auto x = random_tensor<float>(Index<2>{shape[1], shape[0]}, 3, -10, 10);
  x.elements[static_cast<std::size_t>(4 * shape[0] + 70)] = not_a_number;
  Tensor<float, 2> y(shape), turned(x.shape), maximum(Index<2>{shape[0], 1}), total(maximum.shape),
      alone(maximum.shape), alone_total(maximum.shape);
  const auto columns = std::as_const(x).view().permute<1, 0>();
  rows<1>(shape, OnlineSoftmax{columns, y.view()});
  const auto agree = [&](auto program) {
    rows_across<1>(shape, program);
    for_each_position(shape, [&](Index<2> at) {
      const float one = y.elements[flatten(at, shape)], other = turned.elements[at[1] * shape[0] + at[0]];
      REQUIRE((std::abs(one - other) <= 3e-6f * one + 1e-12f || (std::isnan(one) && std::isnan(other))));
    });
    CHECK(std::isnan(turned.elements[70]));
    CHECK(!std::isnan(turned.elements[71]));
  };
  agree(OnlineSoftmax{columns, turned.view().permute<1, 0>()});
  agree(Softmax{columns, turned.view().permute<1, 0>()});
  rows_across<1>(shape, StatisticsRow{columns, maximum.view(), total.view()});
  rows<1>(shape, StatisticsRow{columns, alone.view(), alone_total.view()});
  for (std::size_t i = 0; i < maximum.elements.size(); ++i) {
    CHECK((maximum.elements[i] == alone.elements[i] || i == 70));
    CHECK((std::abs(total.elements[i] - alone_total.elements[i]) <= 1e-5f * total.elements[i] || i == 70));
  }
  const auto long_columns = random_tensor<float>(Index<2>{40000, 20}, 9, 5, 6);
  for (int threads : {1, 3}) {
    Tensor<float, 2> center(Index<2>{20, 1}), spread(Index<2>{20, 1});
    rows_across<1>(Index<2>{20, 40000},
                   MeanVarianceRow<float>{long_columns.view().permute<1, 0>(), center.view(), spread.view()},
                   Stream{threads});
    std::vector<double> column;
    for (std::size_t i = 0; i < 40000; ++i) column.push_back(long_columns.elements[i * 20 + 19]);
    CHECK(std::abs(center.elements[19] - mean(column)) <= 1e-5);
    CHECK(std::abs(spread.elements[19] - variance(column)) <= 1e-5);
  }
}

TEST_CASE("a bool of each row chooses for all of it, in registers as in memory") {
  for (std::size_t length : {3, 70, 20000}) {
    const auto x = random_tensor<float>(Index<2>{4, static_cast<std::int64_t>(length)}, 2);
    const bool masked[] = {true, false, false, true};
    auto y = x;
    rows<1>(x.shape, MaskedRows{{masked, {4, 1}}, y.view()});
    for (std::size_t i = 0; i < y.elements.size(); ++i)
      REQUIRE(y.elements[i] == (masked[i / length] ? 0 : x.elements[i]));
  }
}

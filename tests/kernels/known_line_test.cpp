// Lines of a length that the compiler knows, in whole registers and a last piece that overlaps them: every reduction,
// what is kept, what is written where it was read, and that nothing else is written.
#include <numeric>

#include "kgen/ops/lookup.hpp"
#include "row_programs.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// One result of each line for every kind of reduction: of one pass and of two, of lanes and of structs, numbering or
// not.
template <class T>
struct Reductions {
  using U = compute_t<T>;
  View<const T, 2> x;
  View<U, 2> sum, greatest, least, mean, variance, maximum, exponentials;
  View<std::int64_t, 2> greatest_at, least_at;
  View<std::uint8_t, 2> all, any;

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto line = row.load(x);
    row.store_scalar(sum, row.reduce(Sum{}, line));
    row.store_scalar(greatest, row.reduce(Max{}, line));
    row.store_scalar(least, row.reduce(Min{}, line));
    row.store_scalar(greatest_at, row.reduce(ArgMax{}, line));
    row.store_scalar(least_at, row.reduce(ArgMin{}, line));
    const auto [center, spread] = row.reduce(MeanVariance{}, line);
    row.store_scalar(mean, center);
    row.store_scalar(variance, spread);
    const auto [m, total] = row.reduce(SoftmaxStatistics{}, line);
    row.store_scalar(maximum, m);
    row.store_scalar(exponentials, total);
    row.store_scalar(all, row.reduce(All{}, row.map(Greater{}, line, U(-1.9))));
    row.store_scalar(any, row.reduce(Any{}, row.map(Greater{}, line, U(1.9))));
  }
};

struct GatherRow {
  Lines<const float, 2, 0> table;
  View<const std::int32_t, 2> indices;
  View<float, 2> y;

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    row.store(y, row.map(Gather{}, row.load(table), row.load(indices)));
  }
};

struct Double {
  View<const float, 2> x;
  View<float, 2> y;

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    row.store(y, row.map(Mul{}, row.load(x), 2.0f));
  }
};

// Elements of 4 bits, of which lines begin within a byte: as they are, and turned over.
struct Packed {
  View<const u4, 2> x;
  View<u4, 2> same, turned;

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto line = row.keep(row.load(x));
    row.store(same, line);
    row.store(turned, row.map(Sub{}, std::uint8_t{15}, line));
  }
};

// x becomes what is kept of it, less its mean; half of that goes to y.
template <class T>
struct InPlace {
  View<T, 2> x, y;

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto line = row.load(View<const T, 2>(x));
    const auto centred = row.keep(row.map(Sub{}, line, row.reduce(Mean{}, line)));
    row.store(y, row.map(Mul{}, centred, compute_t<T>(0.5)));
    row.store(x, row.map(Add{}, line, centred));
  }
};

// The sum of 40 rows that are kept, all at once: x times 1, 2, ... 40.
template <class T>
struct KeepsMany {
  View<const T, 2> x;
  View<T, 2> y;

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    add(row, row.load(x), std::make_integer_sequence<int, 40>{});
  }
  template <class Row, class Line, int... I>
  KGEN_FN void add(Row& row, const Line& line, std::integer_sequence<int, I...>) const {
    add_kept(row, row.keep(row.map(Mul{}, line, T(I + 1)))...);
  }
  template <class Row, class First, class... Rest>
  KGEN_FN void add_kept(Row& row, const First& first, const Rest&... rest) const {
    if constexpr (sizeof...(Rest) == 0) {
      row.store(y, first);
    } else {
      add_next(row, first, rest...);
    }
  }
  template <class Row, class First, class Second, class... Rest>
  KGEN_FN void add_next(Row& row, const First& first, const Second& second, const Rest&... rest) const {
    add_kept(row, row.map(Add{}, first, second), rest...);
  }
};

bool same(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

// By compute(shape, program).
template <class T>
void check_reductions(const Tensor<T, 2>& x, void (*compute)(const Index<2>&, const Reductions<T>&)) {
  using U = compute_t<T>;
  const std::int64_t length = x.shape[1];
  const double tolerance = sizeof(U) == 8 ? 1e-13 : 2e-5;
  const Index<2> one{x.shape[0], 1};
  Tensor<U, 2> total(one), high(one), low(one), center(one), spread(one), maximum(one), exponential(one);
  Tensor<std::int64_t, 2> high_at(one), low_at(one);
  Tensor<std::uint8_t, 2> all(one), any(one);
  const Index<2> shape = x.shape;
  const Reductions<T> program{x.view(),
                              total.view().broadcast_to(shape),
                              high.view().broadcast_to(shape),
                              low.view().broadcast_to(shape),
                              center.view().broadcast_to(shape),
                              spread.view().broadcast_to(shape),
                              maximum.view().broadcast_to(shape),
                              exponential.view().broadcast_to(shape),
                              high_at.view().broadcast_to(shape),
                              low_at.view().broadcast_to(shape),
                              all.view().broadcast_to(shape),
                              any.view().broadcast_to(shape)};
  compute(shape, program);
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    std::vector<double> v;
    for (std::int64_t j = 0; j < length; ++j) v.push_back(element(x.view(), Index<2>{i, j}));
    const auto row = static_cast<std::size_t>(i);
    INFO("length ", length, " row ", i);
    CHECK(same(total.elements[row], sum(v), tolerance * std::sqrt(double(length))));
    CHECK(same(high.elements[row], greatest(v), 0));
    CHECK(same(low.elements[row], least(v), 0));
    CHECK(high_at.elements[row] == place_of_greatest(v));
    CHECK(low_at.elements[row] == place_of_least(v));
    bool every = true, some = false;
    for (double value : v) every = every && value > U(-1.9), some = some || value > U(1.9);
    CHECK((all.elements[row] != 0) == every);
    CHECK((any.elements[row] != 0) == some);
    if (!std::isfinite(sum(v))) continue;  // of which rows_test says what these are
    CHECK(same(center.elements[row], mean(v), tolerance));
    CHECK(same(spread.elements[row], variance(v), 10 * tolerance));
    CHECK(same(maximum.elements[row], greatest(v), 0));
    CHECK(same(exponential.elements[row], exponentials(v), tolerance));
  }
}

// The same of x less its mean, and of half of that: all but the first and the last line.
template <class T>
void check_in_place(Tensor<T, 2> x, void (*compute)(const Index<2>&, const InPlace<T>&)) {
  const std::int64_t length = x.shape[1];
  const auto before = x;
  Tensor<T, 2> y(x.shape);
  compute(x.shape, InPlace<T>{x.view(), y.view()});
  const double tolerance = sizeof(T) == 2 ? 0.01 : 1e-5;
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    const bool computed = i > 0 && i + 1 < x.shape[0];
    std::vector<double> v;
    for (std::int64_t j = 0; j < length; ++j) v.push_back(element(before.view(), Index<2>{i, j}));
    for (std::int64_t j = 0; j < length; ++j) {
      const Index<2> at{i, j};
      const double value = v[static_cast<std::size_t>(j)], centred = value - mean(v);
      INFO("length ", length, " at ", i, ", ", j);
      REQUIRE(same(element(x.view(), at), computed ? value + centred : value, computed ? tolerance : 0));
      REQUIRE(same(element(y.view(), at), computed ? centred / 2 : double(poison<T>()), computed ? tolerance : 0));
    }
  }
}

template <class T>
void check_line(std::int64_t length, void (*reduce)(const Index<2>&, const Reductions<T>&),
                void (*in_place)(const Index<2>&, const InPlace<T>&)) {
  const auto x = random_tensor<T>(Index<2>{11, length}, static_cast<std::uint32_t>(length));
  check_reductions<T>(x, reduce);
  for (float special : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (std::int64_t j = 0; j < length; j += 1 + length / 11) {
      auto some = x;
      some.elements[static_cast<std::size_t>(length + j)] = static_cast<T>(special);
      some.elements[static_cast<std::size_t>(3 * length - 1 - j)] = static_cast<T>(-special);
      check_reductions<T>(some, reduce);
    }
  }
  check_in_place<T>(x, in_place);
}

template <class T, std::int64_t... Lengths>
void check_lines() {
  (check_line<T>(
       Lengths,
       [](const Index<2>& shape, const Reductions<T>& program) {
         cpu::own_lines<Lengths>(shape, program, cpu::Range{0, shape[0]});
       },
       [](const Index<2>& shape, const InPlace<T>& program) {
         cpu::own_lines<Lengths>(shape, program, cpu::Range{1, shape[0] - 1});
       }),
   ...);
}

}  // namespace

TEST_CASE("lines of known length: reductions, NaN and infinity anywhere, and what is written where it is read") {
  check_lines<float, 1, 3, 7, 15, 16, 17, 31, 100>();
#if !defined(KGEN_FEW_TYPES)
  check_lines<float, 2, 5, 12, 24, 25, 33, 49, 256>();
#endif
}
TEST_CASE("lines of known length, of bf16 and f64") {
  check_lines<bf16, 3, 23, 40>();
  check_lines<double, 3, 23>();
#if !defined(KGEN_FEW_TYPES)
  check_lines<bf16, 11>();
  check_lines<double, 11, 40>();
#endif
}

TEST_CASE("lines of a known length of 4 bits, as check mode stores them") {
  constexpr std::int64_t length = 13;
  const Index<2> shape{5, length};
  const auto bytes = static_cast<std::size_t>(bytes_of_elements<u4>(element_count(shape)));
  std::vector<std::uint8_t> x(bytes), same(bytes + 1, 0xa5), turned(bytes + 1, 0xa5);
  for (std::size_t i = 0; i < bytes; ++i) x[i] = static_cast<std::uint8_t>(i * 37 + 11);
  const auto view = [&]<class T>(std::type_identity<T>, auto& memory) {
    return View<T, 2>(reinterpret_cast<T*>(memory.data()), shape);
  };
  const auto from = view(std::type_identity<const u4>{}, x);
  const auto to = view(std::type_identity<u4>{}, same), over = view(std::type_identity<u4>{}, turned);
  cpu::own_lines<length>(shape, Packed{from, to, over}, cpu::Range{0, shape[0]});
  for_each_position(shape, [&](Index<2> at) {
    CHECK(to.load<1>(at).data == from.load<1>(at).data);
    CHECK(over.load<1>(at).data == 15 - from.load<1>(at).data);
  });
  CHECK(same.back() == 0xa5);
  CHECK(turned.back() == 0xa5);
}

TEST_CASE("more kept rows than a thread has lines for") {
  constexpr std::int64_t length = 24;
  for (bool knows_length : {true, false}) {
    const auto x = random_tensor<float>(Index<2>{9, length}, 5);
    Tensor<float, 2> y(x.shape);
    const KeepsMany<float> program{x.view(), y.view()};
    if (knows_length) {
      rows<1, length>(y.shape, program);
    } else {
      rows<1>(y.shape, program);
    }
    for (std::size_t i = 0; i < x.elements.size(); ++i) CHECK(same(y.elements[i], 820.0 * x.elements[i], 1e-4));
  }
}

TEST_CASE("lines of a known length by an index each: nothing beside the line is read") {
  constexpr std::int64_t length = 21;
  const auto table = random_tensor<float>(Index<2>{5, length}, 2);
  Tensor<std::int32_t, 2> indices(Index<2>{4, length});
  for (std::size_t i = 0; i < indices.elements.size(); ++i) indices.elements[i] = static_cast<std::int32_t>(i * 7 % 5);
  Tensor<float, 2> y(indices.shape);
  rows<1, length>(y.shape, GatherRow{Lines<const float, 2, 0>(table.view()), indices.view(), y.view()});
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < length; ++j) {
      const auto index = indices.elements[static_cast<std::size_t>(i * length + j)];
      CHECK(element(y.view(), Index<2>{i, j}) == element(table.view(), Index<2>{index, j}));
    }
  }
}

TEST_CASE("lines of a known length: the last first where a result begins a little behind an operand") {
  constexpr std::int64_t length = 24, count = 300;
  struct Case {
    std::int64_t bytes;
    bool backwards;
  };
  for (const auto [bytes, backwards] : {Case{0, false}, {4, true}, {96, true}, {1024, true}, {2048, false},
                                        {3000, false}, {4000, false}}) {
    // The result, as far behind the operand as that, and some pages.
    const std::int64_t behind = (8 * 4096 + bytes) / 4;
    std::vector<float> memory(static_cast<std::size_t>(behind + count * length), -1);
    std::iota(memory.begin(), memory.begin() + count * length, 0.0f);
    const Index<2> shape{count, length};
    const Double program{View<const float, 2>(memory.data(), shape), View<float, 2>(memory.data() + behind, shape)};
    CHECK(cpu::goes_backwards(program) == backwards);
    rows<1, length>(shape, program);
    for (std::int64_t i = 0; i < count * length; ++i) {
      REQUIRE(memory[static_cast<std::size_t>(behind + i)] == 2.0f * static_cast<float>(i));
    }
  }

  // What one thread writes a line behind what it reads is read first.
  std::vector<float> memory((count + 1) * length, 1);
  const Index<2> shape{count, length};
  rows<1, length>(shape,
                  Double{View<const float, 2>(memory.data(), shape), View<float, 2>(memory.data() + length, shape)},
                  Stream{1});
  for (std::size_t i = 0; i < memory.size(); ++i) REQUIRE(memory[i] == (i < length ? 1 : 2));

  // Lines of another pitch, at any distance, have no say.
  const View<const float, 2> sparse(memory.data(), Index<2>{count / 2, length}, Index<2>{2 * length, 1});
  CHECK(!cpu::goes_backwards(Double{sparse, View<float, 2>(memory.data() + length, Index<2>{count / 2, length})}));
}

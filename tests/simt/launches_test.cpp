// What launches choose: kernels by layout and length, boxes, divisions.
#include "launches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "kgen/cumsum.hpp"
#include "kgen/elementwise.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "shared_products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

TEST_CASE("launches: vectors where lines allow them, the rest of each line one by one") {
  TestDevice device;
  for (const std::int64_t columns : {64, 63, 66}) {
    const auto x = random_tensor<bf16>(Index<2>{5, 80}, 1);
    const auto bias = random_tensor<bf16>(Index<1>{columns}, 2);
    Tensor<bf16, 2> y(Index<2>{5, 80});  // lines of 80 elements, of which some are used
    check_scale(x.view().slice<1>(0, columns), bias.view().broadcast_to(Index<2>{5, columns}),
                y.view().slice<1>(0, columns));
    CHECK(device.take() == (columns == 64 ? "elementwise x1" : "elementwise x1, elementwise x1"));
  }
  // Dense lines of 63 are not aligned.
  const auto x = random_tensor<float>(Index<2>{5, 63}, 1);
  Tensor<float, 2> y(x.shape);
  check_scale(x.view(), x.view(), y.view());
  CHECK(device.take() == "elementwise x2");
  const auto line = random_tensor<float>(Index<1>{100003}, 1);
  Tensor<float, 1> result(line.shape);
  check_scale(line.view(), line.view(), result.view());
  CHECK(device.take() == "elementwise x98, elementwise x1");
  check_scale(line.view().slice<0>(1, 100000), line.view().slice<0>(0, 100000), result.view().slice<0>(3, 100000));
  CHECK(device.take() == "elementwise x391");
  // Beyond the caches: without and with a column that repeats.
  const auto large = random_tensor<float>(Index<2>{3000, 1024}, 1);
  Tensor<float, 2> large_result(large.shape);
  check_scale(large.view(), large.view().select<0>(7).unsqueeze<0>().broadcast_to(large.shape), large_result.view());
  CHECK(device.take() == "elementwise x3000");
  const auto more = random_tensor<float>(large.shape, 2);
  check_scale(large.view(), more.view(), large_result.view());
  CHECK(device.take() == "elementwise x3000");
}

TEST_CASE("launches: results in their operands' place, scalars, columns that repeat") {
  TestDevice device;
  auto x = random_tensor<float>(Index<2>{30, 64}, 1);
  const auto column = random_tensor<float>(Index<2>{30, 1}, 2);
  check_scale(read(x.view()), read(x.view()), x.view());
  check_scale(read(x.view()), column.view().broadcast_to(x.shape), x.view());
  Tensor<float, 0> one(Index<0>{}), two(Index<0>{});
  one.elements[0] = 3;
  check_scale(read(one.view()), read(one.view()), two.view());
  CHECK(device.take() == "elementwise x2, elementwise x2, elementwise x1");
}

TEST_CASE_TEMPLATE("launches: tiles where operands and results run along different axes", T, float, bf16, double) {
  TestDevice device;
  simt::device().shared_bytes = 227 * 1024;
  for (const Index<2> shape : {Index<2>{64, 64}, {128, 192}, {70, 65}, {3, 200}, {130, 5}}) {
    const auto x = random_tensor<T>(Index<2>{shape[1], shape[0]}, 1), z = random_tensor<T>(shape, 2);
    Tensor<T, 2> y(shape), y_t(x.shape);
    const auto x_t = x.view().template permute<1, 0>();
    check_scale(x_t, z.view(), y.view());
    check_scale(x_t, x_t, y.view());
    check_scale(z.view(), x_t, y_t.view().template permute<1, 0>());
    check_scale(x_t, x_t, y_t.view().template permute<1, 0>());
    for (const simt::Launch& launch : device.launches) CHECK(launch.name == "kernel: elementwise in tiles");
    device.launches.clear();
  }
  // Tiles of any two of three axes, of a part of the memory.
  const auto x = random_tensor<T>(Index<3>{40, 9, 70}, 1);
  Tensor<T, 3> y(Index<3>{70, 9, 40});
  check_scale(x.view().template permute<2, 1, 0>(), x.view().template permute<2, 1, 0>(), y.view());
  const auto part = x.view().template permute<2, 1, 0>().template slice<0>(3, 60).template slice<2>(1, 35);
  check_scale(part, part, y.view().template slice<0>(0, 60).template slice<2>(2, 35));
  // No room to stage anything.
  simt::device().shared_bytes = 1024;
  check_scale(x.view().template permute<2, 1, 0>(), x.view().template permute<2, 1, 0>(), y.view());
}

TEST_CASE("launches: rows by their length") {
  TestDevice device;
  const auto check = [&](std::int64_t count, std::int64_t length, const std::string& expected) {
    INFO(count, " rows of ", length);
    const auto x = random_tensor<float>(Index<2>{count, length}, 1);
    const auto weight = random_tensor<float>(Index<1>{length}, 2);
    check_norm(x.view(), weight.view().broadcast_to(x.shape));
    CHECK(device.take() == expected);
  };
  check(9, 256, "rows, a wave each x2");
  check(9, 7, "rows, a wave each x2");
  check(9, 129, "rows, from memory x9");
  check(9, 516, "rows, a block each x9");
  check(9, 4096, "rows, a block each x9");
  check(9, 4100, "rows, from memory x9");
  check(5, 65540, "rows, from memory x5");
  check(200, 600, "rows, a block each x200");
  // Several blocks for each row: once for each reduction, and once to store.
  check(1, 100000, "rows, from memory x6, rows, from memory x6, rows, from memory x6, rows, from memory x6");
  check(3, 50001, "rows, from memory x6, rows, from memory x6, rows, from memory x6, rows, from memory x6");
}

TEST_CASE("launches: rows of a length that their caller knows") {
  TestDevice device;
  const auto check = [&]<std::int64_t Length>(std::integral_constant<std::int64_t, Length>,
                                              const std::string& expected) {
    INFO("rows of ", Length);
    const auto x = random_tensor<float>(Index<2>{9, Length}, 1);
    const auto weight = random_tensor<float>(Index<1>{Length}, 2);
    check_norm<Length>(x.view(), weight.view().broadcast_to(x.shape));
    const std::string threads = std::to_string(device.launches.back().threads);
    CHECK(device.take() + " of " + threads == expected);
  };
  const auto length = []<std::int64_t L>() { return std::integral_constant<std::int64_t, L>{}; };
  check(length.operator()<8>(), "rows, a wave each x1 of 256");  // 4 lanes each
  check(length.operator()<7>(), "rows, a wave each x2 of 256");
  check(length.operator()<128>(), "rows, a wave each x1 of 256");  // 16 lanes each
  check(length.operator()<512>(), "rows, a wave each x2 of 256");
  check(length.operator()<129>(), "rows, from memory x9 of 128");
  check(length.operator()<768>(), "rows, a block each x9 of 64");
  check(length.operator()<1100>(), "rows, a block each x9 of 128");  // some threads hold less than others
  check(length.operator()<5120>(), "rows, a block each x9 of 320");  // no power of two
  check(length.operator()<8192>(), "rows, a block each x9 of 512");
  const bool clusters = gpu::most_cluster_blocks > 1;
  check(length.operator()<16384>(), clusters ? "rows, a cluster each x18 of 512" : "rows, from memory x9 of 512");
  check(length.operator()<20000>(), clusters ? "rows, a cluster each x36 of 320" : "rows, from memory x9 of 512");
  check(length.operator()<65536>(), clusters ? "rows, a cluster each x72 of 512" : "rows, from memory x9 of 512");
  check(length.operator()<65540>(), "rows, from memory x9 of 512");
  const auto x = random_tensor<float>(Index<2>{9, 64}, 1);
  CHECK_THROWS_WITH_AS(norm<128>(x.view(), x.view()), doctest::Contains("rows of 64 elements, where its stub says 128"),
                       LaunchError);
}

// What a row adds repeats along the first axis.
struct AddMask {
  View<const float, 3> x, mask;
  View<float, 3> y;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    row.store(y, row.map(Add{}, row.load(x), row.load(mask)));
  }
};

TEST_CASE("launches: blocks take rows along the axis that an operand repeats on first") {
  const auto x = random_tensor<float>(Index<3>{3, 5, 640}, 1);
  const auto mask = random_tensor<float>(Index<2>{5, 640}, 2);
  Tensor<float, 3> y(x.shape);
  const AddMask program{x.view(), mask.view().unsqueeze<0>().broadcast_to(x.shape), y.view()};
  const auto order = gpu::order_rows<1>(program, x.shape);
  CHECK(order.count() == 15);
  for (const std::uint32_t number : {0u, 1u, 2u, 3u, 14u}) CHECK(order(number) == Index<2>{number % 3, number / 3});
  const auto plain = gpu::order_rows<1>(AddMask{x.view(), x.view(), y.view()}, x.shape);
  CHECK(plain(7) == Index<2>{1, 2});
  rows<1, 640>(x.shape, program);
  for_each_position(x.shape, [&](Index<3> at) {
    const double sum = element(x.view(), at) + element(mask.view(), Index<2>{at[1], at[2]});
    REQUIRE(element(y.view(), at) == static_cast<float>(sum));
  });
}

// One result of everything, a View of the operand's shape.
struct Total {
  View<const float, 1> x;
  View<float, 1> y;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    row.store_scalar(y, row.reduce(Sum{}, row.load(x)));
  }
};

TEST_CASE("launches: a sum of everything is read as vectors by as many blocks as there are two stretches for") {
  TestDevice device;
  simt::device().multiprocessors = 2;
  const auto check = [&](View<const float, 1> x, const std::string& expected) {
    INFO(x.extent(0), " elements, stride ", x.stride(0));
    Tensor<float, 0> y(Index<0>{});
    rows<1>(x.shape(), Total{x, y.view().broadcast_to(x.shape())});
    CHECK(device.take() == expected);
    double sum = 0;
    for (std::int64_t i = 0; i < x.extent(0); ++i) sum += element(x, Index<1>{i});
    CHECK(y.elements[0] == doctest::Approx(sum).epsilon(1e-5));
  };
  const auto memory = random_tensor<float>(Index<1>{2'000'000}, 1);
  const View<const float, 1> x = memory.view();
  const std::string vectors = "x15", single = "x61", last = ", rows, from memory x1";
  check(x.slice<0>(0, 1'000'000), "rows, from memory " + vectors + last);
  // A stretch that is not whole, of whole ones of fewer pieces, and of single pieces.
  check(x.slice<0>(4, 1'000'000 + 4 * (8192 - 1)), "rows, from memory " + vectors + last);
  check(x.slice<0>(0, 32 * 8192), "rows, from memory x4" + last);
  check(x.slice<0>(0, 32 * 8192 - 4), "rows, from memory x4" + last);
  // What the rows read are no vectors.
  check(x.slice<0>(1, 1'000'000), "rows, from memory " + single + last);
  check(x.slice<0>(0, 1'000'000, 2), "rows, from memory " + single + last);
  check(x.slice<0>(0, 1'000'001), "rows, from memory " + single + last);
}

// 64 * x, as an expression that is too large to be computed twice, and its distance from the row's sum of such.
struct FromSum {
  View<const float, 2> x;
  View<float, 2> y;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto twice = [&](const auto& a) { return row.map(Add{}, a, a); };
    const auto times_64 = twice(twice(twice(twice(twice(twice(row.load(x)))))));
    row.store(y, row.map(Sub{}, times_64, row.reduce(Sum{}, times_64)));
  }
};

void check_from_sum(const Tensor<float, 2>& x) {
  Tensor<float, 2> y(x.shape);
  rows<1>(x.shape, FromSum{x.view(), y.view()});
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < x.shape[1]; ++j) sum += 64.0 * element(x.view(), Index<2>{i, j});
    for (std::int64_t j = 0; j < x.shape[1]; ++j) {
      const double expected = 64.0 * element(x.view(), Index<2>{i, j}) - sum;
      REQUIRE(std::abs(element(y.view(), Index<2>{i, j}) - expected) < 2e-6 * static_cast<double>(x.shape[1]));
    }
  }
}

TEST_CASE("launches: what long rows keep is in shared memory, or in a workspace for as many blocks as run") {
  TestDevice device;
  const auto x = random_tensor<float>(Index<2>{70, 9001}, 1);
  for (const std::size_t kilobytes : {100, 16}) {
    simt::device().shared_bytes = kilobytes * 1024;
    check_from_sum(x);
    CHECK(device.launches.back().shared_bytes / 1000 == ((kilobytes == 100 ? 36004 : 0) + 1024 + 16) / 1000);
    CHECK(device.take() == (kilobytes == 100 ? "rows, from memory x70" : "rows, from memory x16"));
  }
}

TEST_CASE("launches: blocks that share a row keep nothing of it") {
  TestDevice device;
  simt::device().multiprocessors = 4;
  check_from_sum(random_tensor<float>(Index<2>{1, 100'000}, 1));
  CHECK(device.take() == "rows, from memory x6, rows, from memory x6");
  check_from_sum(random_tensor<float>(Index<2>{2, 100'000}, 2));
  CHECK(device.take() == "rows, from memory x8, rows, from memory x8");
}

TEST_CASE("launches: rows that lie across memory") {
  TestDevice device;
  for (const Index<2> shape : {Index<2>{64, 40}, {33, 7}, {5, 1000}, {100, 20000}}) {
    const auto x = random_tensor<float>(Index<2>{shape[1], shape[0]}, 1);
    const auto x_t = x.view().permute<1, 0>();
    const auto weight = random_tensor<float>(Index<2>{shape[1], 1}, 2);
    check_norm(x_t, weight.view().permute<1, 0>().broadcast_to(shape));
    CHECK(device.launches.front().name == "kernel: rows, from memory");
    CHECK(device.launches.front().threads == 256);
    device.launches.clear();
  }
}

TEST_CASE("launches: the same bits in every order of the threads") {
  TestDevice device;
  for (const Index<2> shape : {Index<2>{3, 300}, {3, 129}, {2, 5000}, {1, 70000}}) {
    const auto x = random_tensor<float>(shape, 1);
    const auto x_t = random_tensor<float>(Index<2>{shape[1], shape[0] + 40}, 1);
    const auto run = [&](simt::Order order) {
      simt::device().order = order;
      return std::pair(norm(x.view(), x.view()), norm(x_t.view().permute<1, 0>(), x_t.view().permute<1, 0>()));
    };
    const auto expected = run(simt::Order::forward);
    CHECK((run(simt::Order::reverse) == expected));
    CHECK((run(simt::Order::shuffled) == expected));
  }
}

TEST_CASE("launches: few lines of a running sum are cut into stretches") {
  TestDevice device;
  const auto sum = [&](Index<2> shape, int axis) {
    const auto x = random_tensor<float>(shape, 1);
    Tensor<float, 2> y(shape);
    cumsum(x.view(), axis, false, false, y.view());
    return device.take();
  };
  CHECK(sum({600, 200}, 1) == "scan along lines x600");
  CHECK(sum({2, 10000}, 1) == "scan along lines x6, scan along lines x6");
  CHECK(sum({600, 100}, 1) == "scan across lines x3");
  CHECK(sum({200, 300}, 0) == "scan across lines x2");
  CHECK(sum({1000, 300}, 0) == "scan across lines x8, scan across lines x8");
}

TEST_CASE("launches: boxes of fewer than 2^30 vectors make up any shape") {
  const auto check = [](const auto& shape, int width) {
    constexpr int R = sizeof(shape) / sizeof(std::int64_t);
    std::int64_t covered = 0;
    int boxes = 0;
    constexpr std::int64_t most = (std::int64_t{1} << 30) - 1;
    gpu::for_each_box(Index<R>{}, shape, width, most, [&](const Index<R>& origin, const Index<R>& part) {
      Index<R> vectors = part;
      vectors[R - 1] /= width;
      REQUIRE(part[R - 1] % width == 0);
      REQUIRE(element_count(vectors) <= most);
      for (int axis = 0; axis < R; ++axis) REQUIRE(origin[axis] + part[axis] <= shape[axis]);
      covered += element_count(part);
      ++boxes;
    });
    CHECK(covered == element_count(shape));
    return boxes;
  };
  CHECK(check(Index<1>{std::int64_t{1} << 33}, 4) == 3);
  CHECK(check(Index<2>{std::int64_t{1} << 20, 1 << 14}, 8) == 3);
  CHECK(check(Index<3>{2, std::int64_t{1} << 31, 6}, 1) == 26);
  CHECK(check(Index<3>{3, 5, 8}, 8) == 1);
}

TEST_CASE("launches: division by multiplication is exact") {
  std::mt19937 generator(1);
  const auto check = [](std::uint32_t divisor, std::uint32_t n) {
    std::uint32_t rest = n;
    const std::uint32_t quotient = Divider(divisor).split(rest);
    REQUIRE(quotient == n / divisor);
    REQUIRE(rest == n % divisor);
  };
  constexpr std::uint32_t most = (1u << 31) - 1;
  for (int i = 0; i < 200000; ++i) {
    const std::uint32_t divisor = 1 + static_cast<std::uint32_t>(generator()) % (i % 2 == 0 ? 1000 : most);
    for (const std::uint32_t n : {static_cast<std::uint32_t>(generator()) & most, divisor - 1, most, most / divisor * divisor}) check(divisor, n);
  }
  for (std::uint32_t divisor : {1u, 2u, 3u, 7u, 1u << 30, most}) {
    for (std::uint32_t n : {0u, 1u, divisor, most}) check(divisor, n);
  }
}

// y = a + b + c.
template <class From, class To>
struct AddThree {
  View<const From, 2> a, b, c;
  View<To, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at) const {
    y.store(at, Add::apply(Add::apply(a.template load<W>(at), b.template load<W>(at)), c.template load<W>(at)));
  }
};

// The grid that adds two operands of this shape and a third that repeats over `repeated` of its lines, 1 for none.
template <class From, class To>
std::string grid_of_add_three(Index<2> shape, std::int64_t repeated = 1) {
  TestDevice device;
  const auto a = random_tensor<From>(shape, 1), b = random_tensor<From>(shape, 2);
  const auto c = random_tensor<From>(Index<2>{shape[0] / repeated, shape[1]}, 3);
  Tensor<To, 2> y(shape);
  elementwise(shape, AddThree<From, To>{a.view(), b.view(), c.view().broadcast_to(shape), y.view()});
  for_each_position(shape, [&](Index<2> at) {
    const float sum = static_cast<float>(element(a.view(), at)) + static_cast<float>(element(b.view(), at));
    const double total = sum + static_cast<float>(element(c.view(), {at[0] / repeated, at[1]}));
    REQUIRE(element(y.view(), at) == doctest::Approx(total).epsilon(std::is_same_v<To, float> ? 1e-6 : 0.01));
  });
  const std::string threads = std::to_string(device.launches.front().threads);
  return device.take() + " of " + threads;
}

TEST_CASE("launches: vectors of elementwise kernels are as wide as types, alignment and operands let them be") {
  // Of three operands that are read in full each thread takes 8 bytes, else 16.
  CHECK(grid_of_add_three<float, float>({64, 256}) == "elementwise x16 of 512");
  CHECK(grid_of_add_three<float, float>({64, 256}, 64) == "elementwise x16 of 256");
  CHECK(grid_of_add_three<bf16, bf16>({64, 256}) == "elementwise x8 of 512");
  CHECK(grid_of_add_three<bf16, bf16>({64, 256}, 64) == "elementwise x8 of 256");
  // 16 bytes of a result that is narrower than the operands, or of these where its lines do not begin at such.
  CHECK(grid_of_add_three<float, bf16>({64, 64}, 64) == "elementwise x2 of 256");
  CHECK(grid_of_add_three<float, bf16>({64, 100}, 64) == "elementwise x7 of 256");
  CHECK(grid_of_add_three<float, bf16>({64, 102}, 64) == "elementwise x26 of 256");
}

TEST_CASE("launches: the fields of functors, and what they say") {
  struct Two {
    View<const bf16, 2> x;
    View<float, 1> y;
  };
  struct Mixed {
    View<const std::int8_t, 2> x;
    float factor;
    View<const double, 2> z;
  };
  CHECK(field_count<Two>() == 2);
  CHECK(field_count<Mixed>() == 3);
  CHECK(field_count<View<float, 2>>() == 0);  // no aggregate
  CHECK(gpu::vector_width<Two>() == 8);
  CHECK(gpu::vector_width<Mixed>() == 4);  // 32 bytes of z
  CHECK(gpu::vector_width<AddThree<float, bf16>>() == 4);
  CHECK(gpu::vector_width<AddThree<float, bf16>>(32, true) == 8);
  CHECK(gpu::vector_width<View<const float, 2>>() == 4);
  alignas(16) float memory[64] = {};
  const View<float, 2> view(memory, Index<2>{4, 16});
  CHECK(gpu::has_vectors(view, 4));
  CHECK_FALSE(gpu::has_vectors(view.slice<1>(1, 8), 4));
  CHECK(gpu::has_vectors(view.slice<1>(4, 8), 4));
  CHECK_FALSE(gpu::has_vectors(view.slice<1>(0, 8, 2), 4));
  CHECK_FALSE(gpu::has_vectors(View<float, 2>(memory, Index<2>{4, 15}), 4));
  const Scale<float, 2> apart{view.slice<0>(0, 2), view.slice<0>(0, 2), view.slice<0>(2, 2)};
  const Scale<float, 2> in_place{view.slice<0>(0, 2), view.slice<0>(2, 2), view.slice<0>(1, 2)};
  CHECK_FALSE(gpu::is_in_place(apart));
  CHECK(gpu::is_in_place(in_place));
}

// A prologue and an epilogue behind what a kernel is launched with, as convolutions hold them, beside other fields.
struct Held {
  View<const bf16, 2> bias;
  Flattened<View<bf16, 3>, 2, 1> out;
};
struct Holds {
  Scale<bf16, 2> functor;
  Index<2> extents;
  float factors[3];
  struct {
    Held held;
    int count;
  } inner;
};

TEST_CASE("launches: the Views of functors within functors, and what stands before them") {
  CHECK(field_count<Holds>() == 4);
  CHECK(field_count<Index<3>>() == 1);
  CHECK(field_count<std::array<int, 2>>() == 0);
  alignas(16) bf16 memory[512] = {};
  const View<bf16, 2> view(memory, Index<2>{8, 16});
  const View<bf16, 3> cache = View<bf16, 3>(memory, Index<3>{4, 8, 16}).slice<1>(0, 4);
  const Holds holds{{view, view, view}, {1, 2}, {1, 2, 3}, {{view.slice<1>(1, 15), cache}, 7}};
  int views = 0;
  for_each_view(holds, [&](const auto&) { ++views; });
  CHECK(views == 5);
  views = 0;
  for_each_own_view(holds, [&](const auto&) { ++views; });
  CHECK(views == 0);
  const Holds adapted = gpu::with_access(holds, 8);
  CHECK(adapted.functor.x.access().vectors);
  CHECK_FALSE(adapted.inner.held.bias.access().vectors);
  CHECK(adapted.inner.held.out.view.access().vectors);
  CHECK(adapted.factors[2] == 3);
  CHECK(gpu::is_in_place(holds));
  const Held apart{view, View<bf16, 3>(memory + 128, Index<3>{2, 4, 16})};
  CHECK_FALSE(gpu::is_in_place(apart));
  CHECK(gpu::is_in_place(Held{view, View<bf16, 3>(memory + 120, Index<3>{2, 4, 16})}));
  CHECK(gpu::known<gpu::Lanes::vectors>(apart).out.view.access().vectors);
}

TEST_CASE("launches: a kernel that cannot be launched says whose it is") {
  TestDevice device;
  simt::device().shared_bytes = 16;
  const auto x = random_tensor<float>(Index<2>{70, 90}, 1);
  Tensor<float, 2> y(Index<2>{70, 70});
  Stream stream;
  stream.stub = "stub_y";
  CHECK_THROWS_WITH_AS(matmul(x.view(), x.view().permute<1, 0>(), y.view(), stream),
                       "stub_y: matmul: 8320 bytes of shared memory, of 16", simt::Error);
}

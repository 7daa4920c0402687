// Packing and products with a packed operand: the layout itself, and results that are those of matmul to the last bit.
#include "kgen/packed_matmul.hpp"

#include "kgen/matmul.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"
#if defined(KGEN_SIMT)
#include "shared_products.hpp"
#endif

using namespace kgen;
using namespace kgen::testing;

namespace {

template <class T>
Tensor<T, 3> packed(const View<const T, 2>& b, Stream stream = {}) {
  Tensor<T, 3> panels(Index<3>{(b.extent(1) + 15) / 16, b.extent(0), 16});
  pack_columns(b, panels.view(), stream);
  return panels;
}

std::int64_t padding_of(std::int64_t columns) { return (columns + 15) / 16 * 16 - columns; }

template <class T>
const T& constant(T& tensor) {
  return tensor;
}

template <int R, class T>
void require_same(const Tensor<T, R>& found, const Tensor<T, R>& expected) {
  REQUIRE(found.elements.size() == expected.elements.size());
  REQUIRE(std::memcmp(found.elements.data(), expected.elements.data(), sizeof(T) * found.elements.size()) == 0);
}

template <int R, class T>
void require_near(const Tensor<T, R>& found, const Tensor<T, R>& expected, double tolerance) {
  REQUIRE(found.elements.size() == expected.elements.size());
  for (std::size_t i = 0; i < found.elements.size(); ++i) {
    REQUIRE(std::abs(static_cast<double>(found.elements[i]) - static_cast<double>(expected.elements[i])) <= tolerance);
  }
}

// Whether matmul may sum so many rows in another order: up to 8 of f32 on a GPU, of bf16 where there are tiles.
template <class T>
bool may_reorder([[maybe_unused]] std::int64_t rows) {
#if defined(KGEN_SIMT)
  return std::is_same_v<T, float> && rows <= 8;
#else
  return cpu::has_tiles<cpu::Pair> && std::is_same_v<T, bf16>;
#endif
}

// matmul reads a matrix that lies along its columns by dot products, where there are few rows: in another order.
template <class T, class A>
void check(const A& a, const View<const T, 2>& b, const View<const T, 2>& dense_b, Stream stream = {}) {
  const Index<2> shape{a.shape()[0], b.extent(1)};
  const auto panels = packed<T>(b, stream);
  Tensor<compute_t<T>, 2> found(shape), expected(shape);
  packed_matmul(a, panels.view(), padding_of(shape[1]), found.view(), stream);
  matmul(a, dense_b, expected.view(), stream);
  INFO("M ", shape[0], " N ", shape[1], " K ", b.extent(0));
  if (may_reorder<T>(shape[0])) {
    require_near(found, expected, 1e-6 * static_cast<double>(8 + b.extent(0)));
  } else {
    require_same(found, expected);
  }
}

constexpr std::int64_t sizes[][3] = {{0, 5, 3},      {5, 0, 3},      {4, 6, 0},      {20, 6, 0},   {1, 1, 1},
                                     {1, 7, 5},      {2, 33, 1},     {1, 1000, 37},  {3, 601, 9},  {4, 48, 300},
                                     {5, 17, 257},   {6, 31, 20},    {7, 64, 513},   {8, 33, 100}, {9, 32, 256},
                                     {12, 32, 16},   {13, 31, 17},   {25, 40, 300},  {37, 53, 71}, {97, 101, 3},
                                     {96, 256, 257}, {230, 300, 70}, {101, 270, 520},
                                     {61, 40, 1024}, {75, 17, 1500}, {50, 128, 64},
                                     // Few columns, of which registers leave one over, or a part of one.
                                     {101, 24, 30},  {97, 40, 16},   {120, 8, 9},    {61, 72, 1},  {200, 50, 33},
                                     {101, 24, 0}};

struct Doubled {  // a prologue
  View<const float, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Add::apply(x.load<W>(at), x.load<W>(at));
  }
};

struct BiasRelu {  // an epilogue
  View<const bf16, 2> bias;
  View<bf16, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> c) const {
    y.store(at, Relu::apply(Add::apply(c, bias.load<W>(at))));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("packed: column n is column n % 16 of panel n / 16, and what is beyond is 0", T, KGEN_TYPES((bf16), float, double, f16, f8e4m3, f8e5m2)) {
  for (const auto& [M, N, K] : sizes) {
    const auto b = random_tensor<T>(Index<2>{K, N}, 1), turned = random_tensor<T>(Index<2>{N, K}, 2);
    for (const View<const T, 2>& source : {b.view(), View<const T, 2>(turned.view().template permute<1, 0>())}) {
      const auto panels = packed<T>(source);
      for_each_position(panels.shape, [&](Index<3> at) {
        const std::int64_t column = 16 * at[0] + at[2];
        const double expected = column < N ? element(source, Index<2>{at[1], column}) : 0;
        REQUIRE(element(panels.view(), at) == expected);
      });
    }
  }
}

TEST_CASE_TEMPLATE("packed: every float type and odd sizes, exactly as matmul", T, KGEN_TYPES((bf16), float, double, f16, f8e4m3, f8e5m2)) {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<T>(Index<2>{M, K}, 1), b = random_tensor<T>(Index<2>{K, N}, 2);
    check<T>(a.view(), b.view(), b.view());
  }
}

TEST_CASE("packed: threads share the work") {
  for (const std::int64_t M : {1, 5, 8, 40, 300}) {
    const auto a = random_tensor<float>(Index<2>{M, 200}, 1), b = random_tensor<float>(Index<2>{200, 700}, 2);
    for (const std::int64_t N : {24, 56, 700}) {
      const View<const float, 2> some = b.view().slice<1>(0, N);
      for (const int threads : {1, 2, 3}) check<float>(a.view(), some, some, Stream{threads});
    }
  }
}

TEST_CASE("packed: transposed, strided, flipped and broadcast operands, and a weight along its rows") {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<float>(Index<2>{K, M}, 1), b = random_tensor<float>(Index<2>{N, K}, 2);
    Tensor<float, 2> dense(Index<2>{K, N});
    for_each_position(dense.shape, [&](Index<2> at) { dense.view().store(at, b.view().load<1>({at[1], at[0]})); });
    check<float>(a.view().permute<1, 0>(), b.view().permute<1, 0>(), constant(dense).view());
  }
  const auto a = random_tensor<float>(Index<2>{40, 90}, 3), b = random_tensor<float>(Index<2>{60, 50}, 4);
  check<float>(a.view().slice<1>(5, 30, 2).flip<0>(), b.view().slice<0>(1, 30), b.view().slice<0>(1, 30));
  check<float>(a.view().slice<0>(0, 1).slice<1>(0, 60).broadcast_to(Index<2>{20, 60}), b.view().flip<1>(),
               b.view().flip<1>());
}

TEST_CASE("packed: a weight of fewer bits than the other operand, and results of another layout") {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<float>(Index<2>{M, K}, 1);
    const auto b = random_tensor<bf16>(Index<2>{K, N}, 2);
    const auto panels = packed<bf16>(b.view());
    Tensor<float, 2> found(Index<2>{N, M}), expected(Index<2>{N, M});
    packed_matmul(a.view(), panels.view(), padding_of(N), found.view().permute<1, 0>());
    matmul(a.view(), b.view(), expected.view().permute<1, 0>());
    require_same(found, expected);
  }
}

#if !defined(KGEN_SIMT)
namespace {

template <class B>
Tensor<bf16, 3> paired(const B& b, Stream stream = {}) {
  Tensor<bf16, 3> panels(Index<3>{(b.shape()[1] + 15) / 16, (b.shape()[0] + 1) / 2, 32});
  std::memset(panels.elements.data(), 0xff, sizeof(bf16) * panels.elements.size());  // NaN
  pack_pairs(b, panels.view(), stream);
  return panels;
}

}  // namespace

// The executor has no pieces: they are of the CPU's caches.
TEST_CASE("packed: more rows than one packed piece holds, tiles of other sizes") {
  const std::int64_t K = 20000;
  const auto a = random_tensor<bf16>(Index<2>{900, K}, 1, -1, 1);
  for (const std::int64_t N : {40, 150}) {  // in one tile, whose rows are packed for it alone, and in two
    const auto b = random_tensor<bf16>(Index<2>{K, N}, 2, -1, 1);
    const auto panels = packed<bf16>(b.view());
    Tensor<float, 2> found(Index<2>{900, N}), expected(Index<2>{900, N});
    packed_matmul<48, 128>(a.view(), panels.view(), padding_of(N), found.view(), Stream{2});
    matmul<any_layout, any_rows, 48, 128>(a.view(), b.view(), expected.view(), Stream{2});
    if (may_reorder<bf16>(900)) {
      require_near(found, expected, 1e-6 * K);
    } else {
      require_same(found, expected);
    }
    Tensor<float, 2> by_pairs(Index<2>{900, N});
    packed_pair_matmul<48, 128>(a.view(), paired(b.view()).view(), padding_of(N), by_pairs.view(), Stream{2});
    require_near(by_pairs, expected, 1e-6 * K);
  }
}
#endif

TEST_CASE("packed: panels that are a view") {
  const auto small = random_tensor<float>(Index<2>{20, 9}, 3), weight = random_tensor<float>(Index<2>{9, 64}, 4);
  const auto all = packed<float>(weight.view());
  Tensor<float, 2> part(Index<2>{20, 32}), reference(Index<2>{20, 32});
  packed_matmul(small.view(), all.view().slice<0>(0, 2, 2), 0, part.view());
  Tensor<float, 2> columns(Index<2>{9, 32});
  for_each_position(columns.shape, [&](Index<2> at) {
    columns.view().store(at, weight.view().load<1>({at[0], at[1] < 16 ? at[1] : at[1] + 16}));
  });
  matmul(small.view(), constant(columns).view(), reference.view());
  require_same(part, reference);
}

TEST_CASE("packed: prologues on the left operand and on what is packed, an epilogue that converts") {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<float>(Index<2>{M, K}, 1), b = random_tensor<float>(Index<2>{K, N}, 2);
    const auto bias = random_tensor<bf16>(Index<1>{N}, 3);
    Tensor<float, 3> panels(Index<3>{(N + 15) / 16, K, 16});
    pack_columns(Doubled{b.view()}, panels.view());
    Tensor<bf16, 2> found(Index<2>{M, N}), expected(Index<2>{M, N});
    packed_matmul(Doubled{a.view()}, constant(panels).view(), padding_of(N),
                  BiasRelu{bias.view().broadcast_to(found.shape), found.view()});
    matmul(Doubled{a.view()}, Doubled{b.view()}, BiasRelu{bias.view().broadcast_to(found.shape), expected.view()});
    require_same(found, expected);
  }
}

namespace {

struct Multiplied {  // a joint epilogue
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> left, Vec<float, W> right) const {
    y.store(at, Mul::apply(left, right));
  }
};

}  // namespace

TEST_CASE("packed: several right operands give what each gives alone, apart and jointly") {
  for (const std::int64_t M : {0, 1, 3, 8, 13, 97}) {
    for (const std::int64_t K : {0, 5, 300}) {
      const auto a = random_tensor<float>(Index<2>{M, K}, 1);
      const auto b0 = random_tensor<bf16>(Index<2>{K, 32}, 2), b1 = random_tensor<bf16>(Index<2>{K, 32}, 3),
                 b2 = random_tensor<bf16>(Index<2>{K, 272}, 4);
      const auto p0 = packed<bf16>(b0.view()), p1 = packed<bf16>(b1.view()), p2 = packed<bf16>(b2.view());
      Tensor<float, 2> alone0(Index<2>{M, 32}), alone1(Index<2>{M, 32}), alone2(Index<2>{M, 272});
      packed_matmul(a.view(), p0.view(), 0, alone0.view());
      packed_matmul(a.view(), p1.view(), 0, alone1.view());
      packed_matmul(a.view(), p2.view(), 0, alone2.view());
      Tensor<float, 2> c0(alone0.shape), c1(alone1.shape), c2(alone2.shape), product(alone0.shape);
      packed_matmul(a.view(), several(p2.view(), p0.view(), p1.view()), 0, several(c2.view(), c0.view(), c1.view()));
      require_same(c0, alone0);
      require_same(c1, alone1);
      require_same(c2, alone2);
      packed_matmul(a.view(), several(p0.view(), p1.view(), p2.view()), 0,
                    several(joint<2>(Multiplied{product.view()}), c2.view()));
      require_same(c2, alone2);
      for (std::size_t i = 0; i < product.elements.size(); ++i) {
        REQUIRE(product.elements[i] == alone0.elements[i] * alone1.elements[i]);
      }
      packed_matmul(a.view(), several(p0.view(), p1.view()), 0, Multiplied{product.view()});
      for (std::size_t i = 0; i < product.elements.size(); ++i) {
        REQUIRE(product.elements[i] == alone0.elements[i] * alone1.elements[i]);
      }
    }
  }
}

TEST_CASE("packed: several right operands of which one has no columns") {
  const auto a = random_tensor<float>(Index<2>{97, 24}, 1), b = random_tensor<float>(Index<2>{24, 32}, 2);
  const auto none = packed<float>(b.view().slice<1>(0, 0)), some = packed<float>(b.view());
  Tensor<float, 2> alone(Index<2>{97, 32}), empty(Index<2>{97, 0}), c(alone.shape);
  packed_matmul(a.view(), some.view(), 0, alone.view());
  packed_matmul(a.view(), several(none.view(), some.view()), 0, several(empty.view(), c.view()));
  require_same(c, alone);
}

#if !defined(KGEN_SIMT)

namespace {

template <class A>
void check_pairs(const A& a, const View<const bf16, 2>& b, Stream stream = {}) {
  const Index<2> shape{a.shape()[0], b.extent(1)};
  const auto panels = paired(b, stream);
  Tensor<bf16, 2> dense(b.shape());
  for_each_position(dense.shape, [&](Index<2> at) { dense.view().store(at, b.load<1>(at)); });
  Tensor<float, 2> found(shape), expected(shape);
  packed_pair_matmul(a, panels.view(), padding_of(shape[1]), found.view(), stream);
  matmul(a, constant(dense).view(), expected.view(), stream);
  INFO("M ", shape[0], " N ", shape[1], " K ", b.extent(0));
  if (cpu::has_tiles<cpu::Pair>) {
    require_near(found, expected, 1e-6 * static_cast<double>(8 + b.extent(0)));
  } else {
    require_same(found, expected);
  }
}

struct Rounded {  // a prologue whose elements are no bf16
  View<const bf16, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Mul::apply(x.load<W>(at), Vec<float, W>(1.0f / 3));
  }
};

}  // namespace

TEST_CASE("packed pairs: two neighbours along k in 32 bits, the earlier one above, and what is beyond is 0") {
  for (const auto& [M, N, K] : sizes) {
    const auto b = random_tensor<bf16>(Index<2>{K, N}, 1), turned = random_tensor<bf16>(Index<2>{N, K}, 2);
    for (const View<const bf16, 2>& source : {b.view(), View<const bf16, 2>(turned.view().permute<1, 0>())}) {
      const auto panels = paired(source, Stream{2});
      for_each_position(panels.shape, [&](Index<3> at) {
        const std::int64_t column = 16 * at[0] + at[2] / 2, k = 2 * at[1] + 1 - at[2] % 2;
        const double expected = column < N && k < K ? element(source, Index<2>{k, column}) : 0;
        REQUIRE(element(panels.view(), at) == expected);
      });
    }
  }
}

TEST_CASE("packed pairs: odd sizes, layouts, threads and left operands that are no bf16, as matmul") {
  for (const auto& [M, N, K] : sizes) {
    const auto a = random_tensor<bf16>(Index<2>{M, K}, 1), b = random_tensor<bf16>(Index<2>{K, N}, 2);
    const auto across = random_tensor<bf16>(Index<2>{K, M}, 3), turned = random_tensor<bf16>(Index<2>{N, K}, 4);
    const auto wide = random_tensor<float>(Index<2>{M, K}, 5);
    check_pairs(a.view(), b.view());
    check_pairs(a.view(), turned.view().permute<1, 0>(), Stream{3});
    check_pairs(across.view().permute<1, 0>(), b.view().flip<1>());
    check_pairs(wide.view(), b.view(), Stream{2});
    check_pairs(Rounded{constant(a).view()}, b.view());
  }
  const auto a = random_tensor<bf16>(Index<2>{140, 90}, 3), b = random_tensor<bf16>(Index<2>{60, 50}, 4);
  check_pairs(a.view().slice<1>(5, 30, 2).flip<0>(), b.view().slice<0>(1, 30));
  check_pairs(a.view().slice<0>(0, 1).slice<1>(0, 60).broadcast_to(Index<2>{20, 60}), b.view().flip<1>());
}

TEST_CASE("packed pairs: what a prologue made of a weight; several right operands; panels that are a view") {
  for (const std::int64_t M : {0, 1, 5, 16, 33, 97}) {
    const auto a = random_tensor<bf16>(Index<2>{M, 300}, 1);
    const auto b0 = random_tensor<bf16>(Index<2>{300, 32}, 2), b1 = random_tensor<bf16>(Index<2>{300, 32}, 3);
    const auto p0 = paired(b0.view()), p1 = paired(Rounded{constant(b1).view()});
    Tensor<float, 2> alone0(Index<2>{M, 32}), alone1(Index<2>{M, 32}), c0(Index<2>{M, 32}), c1(Index<2>{M, 32});
    packed_pair_matmul(a.view(), p0.view(), 0, alone0.view());
    packed_pair_matmul(a.view(), p1.view(), 0, alone1.view());
    packed_pair_matmul(a.view(), several(p0.view(), p1.view()), 0, several(c0.view(), c1.view()));
    require_same(c0, alone0);
    require_same(c1, alone1);
    packed_pair_matmul(a.view(), several(p0.view(), p1.view()), 0, Multiplied{c0.view()});
    for (std::size_t i = 0; i < c0.elements.size(); ++i) {
      REQUIRE(c0.elements[i] == alone0.elements[i] * alone1.elements[i]);
    }
    Tensor<float, 2> second(Index<2>{M, 16});
    packed_pair_matmul(a.view(), constant(p0).view().slice<0>(1, 1), 0, second.view());
    for_each_position(second.shape, [&](Index<2> at) {
      REQUIRE(element(second.view(), at) == element(alone0.view(), Index<2>{at[0], at[1] + 16}));
    });
  }
}

#endif

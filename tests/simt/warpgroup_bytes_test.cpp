// Products of integers of 8 bits by tensor cores, as the executor does what they do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include "kgen/byte_matmul.hpp"
#include "kgen/ops/conversion.hpp"
#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// Lines of all bytes there are, from an aligned address on.
template <class T>
Tensor<T, 2> bytes(Index<2> shape, std::uint32_t seed) {
  Tensor<T, 2> tensor(shape);
  std::uint32_t state = seed * 2654435761u + 1;
  for (T& each : tensor.elements) {
    state = state * 1664525u + 1013904223u;
    each = static_cast<T>(state >> 24);
  }
  return tensor;
}

template <class A, class B>
std::int32_t exact(const View<const A, 2>& a, const View<const B, 2>& b, Index<2> at) {
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < a.extent(1); ++k) {
    sum += std::int64_t{a.template load<1>({at[0], k}).data} * b.template load<1>({k, at[1]}).data;
  }
  return static_cast<std::int32_t>(sum);
}

template <class A, class B>
void check(const View<const A, 2>& a, const View<const B, 2>& b, const std::string& launches) {
  for (const simt::Order order : {simt::Order::forward, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    Tensor<std::int32_t, 2> c(Index<2>{a.extent(0), b.extent(1)});
    byte_matmul(a, b, c.view());
    CHECK(taken(device) == launches);
    for_each_position(c.shape, [&](Index<2> at) { REQUIRE(c.view().template load<1>(at).data == exact(a, b, at)); });
  }
}

struct Dequantised {
  View<const float, 2> rows, columns;
  View<bf16, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<std::int32_t, W> sums) const {
    y.store(at, Mul::apply(Mul::apply(Cast<float>::apply(sums), rows.load<W>(at)), columns.load<W>(at)));
  }
};

template <class T>
View<const T, 2> viewed(const Tensor<T, 2>& tensor) {
  return tensor.view();
}

template <class A, class B>
void check_kinds() {
  const auto a = bytes<A>(Index<2>{130, 144}, 1), odd = bytes<A>(Index<2>{37, 41}, 3);
  const auto b = bytes<B>(Index<2>{72, 144}, 2), across = bytes<B>(Index<2>{41, 24}, 4);
  check(viewed(a), viewed(b).template permute<1, 0>(), "warpgroup_matmul x2");
  check(viewed(a).template slice<0>(0, 5), viewed(b).template permute<1, 0>(), "skinny_matmul x1");
  check(viewed(odd), viewed(across), "copied, skinny_matmul x1");
}

}  // namespace

TEST_CASE("bytes by warpgroups: signs of either operand, operands that the copy engine takes and others") {
  check_kinds<std::int8_t, std::int8_t>();
  check_kinds<std::uint8_t, std::uint8_t>();
  check_kinds<std::uint8_t, std::int8_t>();
  check_kinds<std::int8_t, std::uint8_t>();
}

TEST_CASE("bytes by warpgroups: few rows, and few tiles whose depth blocks share") {
  const auto a = bytes<std::uint8_t>(Index<2>{70, 2064}, 1);
  const auto b = bytes<std::int8_t>(Index<2>{136, 2064}, 2);
  const View<const std::int8_t, 2> down = viewed(b).permute<1, 0>();
  check(viewed(a).slice<0>(0, 3), down, "skinny_matmul x4");
  check(viewed(a).slice<0>(3, 33), down, "skinny_matmul x4");
  check(viewed(a), down, "skinny_matmul x4");
}

TEST_CASE("bytes by warpgroups: larger columns are turned first") {
  const auto a = bytes<std::int8_t>(Index<2>{256, 256}, 1), b = bytes<std::int8_t>(Index<2>{256, 272}, 2);
  check(viewed(a), viewed(b), "copied, warpgroup_matmul x4");
}

TEST_CASE("bytes by warpgroups: what dequantises") {
  Hopper device;
  const auto a = bytes<std::int8_t>(Index<2>{140, 160}, 1), b = bytes<std::int8_t>(Index<2>{264, 160}, 2);
  const auto rows = random_tensor<float>(Index<2>{140, 1}, 3), columns = random_tensor<float>(Index<2>{1, 264}, 4);
  const Index<2> shape{140, 264};
  Tensor<bf16, 2> y(shape);
  const View<const std::int8_t, 2> down = viewed(b).permute<1, 0>();
  byte_matmul(viewed(a), down,
              Dequantised{rows.view().broadcast_to(shape), columns.view().broadcast_to(shape), y.view()});
  CHECK(device.take() == "warpgroup_matmul x4");
  for_each_position(shape, [&](Index<2> at) {
    const double value = exact(viewed(a), down, at) * element(rows.view(), Index<2>{at[0], 0}) *
                         element(columns.view(), Index<2>{0, at[1]});
    REQUIRE(std::abs(element(y.view(), at) - value) <= 4e-3 * std::abs(value));
  });
}

#endif

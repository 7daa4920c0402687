// Elements of 16 bits that an operand has across: staged as they lie in memory, and turned by the wave as it reads them
// (ldmatrix), which asks that its lanes come together, each for the place that it was given.
#include "kgen/elementwise.hpp"
#include "launches.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// With room for two blocks' tiles of 128 x 128.
struct LargeBlocks : TestDevice {
  LargeBlocks() { simt::device().shared_bytes = 227 * 1024; }
};

// y = x, but that some lanes of a wave do not read x, or read it elsewhere.
enum class Slip { none, not_together, elsewhere };
template <Slip slip>
struct Copy {
  View<const bf16, 2> x;
  View<bf16, 2> y;

  template <int W>
  KGEN_FN void operator()(Index<2> at) const {
    if (slip == Slip::not_together && at[0] % 8 == 5) return;
    if (slip == Slip::elsewhere && at[0] % 8 == 5) at[0] -= 1;
    y.store(at, x.load<W>(at));
  }
};

// Whether y is the transposed x everywhere.
template <Slip slip>
bool copies() {
  const auto x = random_tensor<bf16>(Index<2>{136, 264}, 1, -9, 9);
  const View<const bf16, 2> turned = x.view().permute<1, 0>();
  Tensor<bf16, 2> y(turned.shape());
  elementwise_across(turned.shape(), Copy<slip>{turned, y.view()});
  bool same = true;
  for_each_position(turned.shape(), [&](Index<2> at) { same = same && element(y.view(), at) == element(turned, at); });
  return same;
}

}  // namespace

TEST_CASE("turned tiles: whole ones, and what is left at the edges") {
  const LargeBlocks device;
  CHECK(copies<Slip::none>());
  REQUIRE(device.launches.size() == 1);
  CHECK(device.launches[0].shared_bytes >= 2 * 128 * 128);  // it is staged
}

TEST_CASE("turned tiles: a functor that does not read at its place, with its wave, is found") {
  const LargeBlocks device;
  CHECK_THROWS_AS(copies<Slip::not_together>(), simt::Error);
  CHECK_FALSE(copies<Slip::elsewhere>());
}

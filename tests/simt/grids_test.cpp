// Grids of fewer blocks than there are rows, boxes and tiles.
#include "kgen/cumsum.hpp"
#include "launches.hpp"
#include "shared_attention.hpp"
#include "shared_products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// The device's grids have few blocks, fewer than what is launched on it has rows, boxes or tiles.
struct SmallGrids : TestDevice {
  explicit SmallGrids(std::int64_t blocks) { simt::device().most_blocks = blocks; }

  // The kernels that were launched, each once, and begins anew.
  std::string kernels() {
    std::string text;
    for (const simt::Launch& launch : launches) {
      CHECK(launch.blocks <= simt::device().most_blocks);
      const std::string name = launch.name.substr(launch.name.find(": ") + 2);
      if (text.find(name) == std::string::npos) text += (text.empty() ? "" : ", ") + name;
    }
    launches.clear();
    return text;
  }
};

}  // namespace

TEST_CASE("launches: more blocks than a grid has, elementwise and in tiles") {
  SmallGrids device(3);
  for (const Index<2> shape : {Index<2>{50, 128}, {50, 63}, {1, 9001}, {9001, 1}}) {
    const auto x = random_tensor<float>(shape, 1);
    Tensor<float, 2> y(shape);
    check_scale(x.view(), x.view(), y.view());
    CHECK(device.kernels() == "elementwise");
  }
  const auto x = random_tensor<float>(Index<2>{130, 190}, 1);
  Tensor<float, 2> y(Index<2>{190, 130});
  check_scale(x.view().permute<1, 0>(), x.view().permute<1, 0>(), y.view());
  CHECK(device.kernels() == "elementwise");
  simt::device().most_blocks = 9;
  check_scale(x.view().permute<1, 0>(), x.view().permute<1, 0>(), y.view());
  CHECK(device.kernels() == "elementwise in tiles");
}

TEST_CASE("launches: more rows than a grid has blocks") {
  SmallGrids device(5);
  const auto check = [&](std::int64_t count, std::int64_t length) {
    INFO(count, " rows of ", length);
    const auto x = random_tensor<float>(Index<2>{count, length}, 1);
    const auto weight = random_tensor<float>(Index<1>{length}, 2);
    check_norm(x.view(), weight.view().broadcast_to(x.shape));
    return device.kernels();
  };
  CHECK(check(40, 128) == "rows, a wave each");
  CHECK(check(41, 128) == "rows, from memory");
  CHECK(check(200, 7) == "rows, from memory");
  CHECK(check(5, 516) == "rows, a block each");
  CHECK(check(6, 516) == "rows, from memory");
  CHECK(check(9, 5000) == "rows, from memory");
  CHECK(check(2, 50000) == "rows, from memory");  // of which several blocks share one
  const auto across = random_tensor<float>(Index<2>{30, 200}, 1);
  const auto weight = random_tensor<float>(Index<2>{30, 1}, 2);
  check_norm(across.view().permute<1, 0>(), weight.view().permute<1, 0>().broadcast_to(Index<2>{200, 30}));
  CHECK(device.kernels() == "rows, from memory");
  const auto known = random_tensor<float>(Index<2>{9, 16384}, 1);
  check_norm<16384>(known.view(), known.view());
  CHECK(device.kernels() == "rows, from memory");
}

TEST_CASE("launches: kernels whose blocks go from one piece of work to the next") {
  SmallGrids device(2);
  const auto x = random_tensor<float>(Index<2>{300, 200}, 1);
  Tensor<float, 2> sums(x.shape), product(Index<2>{300, 300});
  for (const int axis : {0, 1}) {
    cumsum(x.view(), axis, false, false, sums.view());
    CHECK(device.kernels() == (axis == 0 ? "scan across lines" : "scan along lines"));
    for (const Index<2> at : {Index<2>{0, 0}, {299, 0}, {299, 199}, {130, 77}}) {
      double expected = 0;
      for (std::int64_t i = 0; i <= at[axis]; ++i) {
        expected += element(x.view(), axis == 0 ? Index<2>{i, at[1]} : Index<2>{at[0], i});
      }
      CHECK(element(sums.view(), at) == doctest::Approx(expected).epsilon(1e-4));
    }
  }
  matmul(x.view(), x.view().permute<1, 0>(), product.view());
  CHECK(device.kernels() == "matmul");
  for (const Index<2> at : {Index<2>{0, 0}, {299, 0}, {299, 299}, {130, 77}}) {
    double expected = 0;
    for (std::int64_t k = 0; k < 200; ++k) expected += element(x.view(), {at[0], k}) * element(x.view(), {at[1], k});
    CHECK(element(product.view(), at) == doctest::Approx(expected).epsilon(1e-4));
  }
  const auto q = random_tensor<float>(Index<4>{3, 9, 2, 8}, 1);
  const auto heads = q.view();
  Tensor<float, 4> out(q.shape), whole(q.shape);
  attention(heads, heads, heads, 0.3, true, out.view());
  CHECK(device.kernels() == "attention");
  simt::device().most_blocks = 1000;
  attention(heads, heads, heads, 0.3, true, whole.view());
  CHECK(out.elements == whole.elements);
}

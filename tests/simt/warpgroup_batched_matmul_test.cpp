// Products of batches of matrices by tensor cores, as the executor does what they do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <limits>

#include "products.hpp"
#include "shared_batches.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

struct Added {
  View<const float, 3> x;
  View<float, 3> y;
  template <int W>
  KGEN_FN void operator()(Index<3> at, Vec<float, W> lanes) const {
    y.store(at, Add::apply(lanes, x.load<W>(at)));
  }
};

// Element `at` of the product of a and b, whose leading axes repeat where their extent is 1.
template <class T, int Ra, int Rb, int R>
double expected_of_batch(const View<const T, Ra>& a, const View<const T, Rb>& b, Index<R> at) {
  Index<R - 2> batch{};
  for (int axis = 0; axis < R - 2; ++axis) batch[axis] = at[axis];
  Index<Ra> left = matrix_start(batch, a.shape());
  Index<Rb> right = matrix_start(batch, b.shape());
  left[Ra - 2] = at[R - 2];
  right[Rb - 1] = at[R - 1];
  double sum = 0;
  for (std::int64_t k = 0; k < a.extent(Ra - 1); ++k) {
    left[Ra - 1] = right[Rb - 2] = k;
    sum += element(a, left) * element(b, right);
  }
  return sum;
}

// multiprocessors: others than the device's, of which the number of blocks is not looked at.
template <int LeastBits = 13, int Right = any_layout, class T, int Ra, int Rb>
void check(const View<const T, Ra>& a, const View<const T, Rb>& b, const std::string& launches, double error = 1e-5,
           bool small_tiles = false, int multiprocessors = 0) {
  constexpr int R = Ra > Rb ? Ra : Rb;
  for (const simt::Order order : {simt::Order::forward, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    simt::device().small_tiles = small_tiles;
    if (multiprocessors > 0) simt::device().multiprocessors = multiprocessors;
    Tensor<float, R> c(join(batch_extents(a.shape(), b.shape()), Index<2>{a.extent(Ra - 2), b.extent(Rb - 1)}));
    batched_matmul<Right, 96, 256, LeastBits>(a, b, c.view());
    const std::string made = taken(device);
    CHECK((multiprocessors > 0 ? made.substr(0, made.find(" x")) : made) == launches);
    for_each_position(c.shape, [&](Index<R> at) {
      INFO("at ", at[0], ", ", at[1], ", ", at[2]);
      const double value = expected_of_batch(a, b, at);
      REQUIRE(std::abs(element(c.view(), at) - value) <= error * (8 + static_cast<double>(a.extent(Ra - 1))));
    });
  }
}

// Where tiles of waves may be chosen as well.
template <class T, int Ra, int Rb>
void check_small(const View<const T, Ra>& a, const View<const T, Rb>& b, const std::string& launches) {
  check(a, b, launches, 1e-5, true);
}

// By the kernel of few rows, and nothing ahead of it: fewer multiprocessors leave the depth to one block, more share
// it.
template <class T, int Ra, int Rb>
void check_few(const View<const T, Ra>& a, const View<const T, Rb>& b) {
  for (const int multiprocessors : {32, 64}) check(a, b, "few_rows_matmul", 1e-5, false, multiprocessors);
}
template <class T, int Ra, int Rb>
void check_shared(const View<const T, Ra>& a, const View<const T, Rb>& b) {
  check(a, b, "skinny_batched_matmul", 1e-5, false, 64);
}

template <class T, int R>
View<const T, R> viewed(const Tensor<T, R>& tensor) {
  return tensor.view();
}

}  // namespace

TEST_CASE_TEMPLATE("batches by warpgroups: extents around those of tiles, b along either axis", T,
                   KGEN_TYPES((bf16), f16)) {
  struct Size {
    std::int64_t batch, M, N, K;
    const char* launches;
  };
  for (const auto& [batch, M, N, K, launches] : {Size{3, 128, 64, 64, "warpgroup_batched_matmul x3"},
                                                 {2, 130, 72, 136, "warpgroup_batched_matmul x4"},
                                                 {1, 16, 136, 328, "skinny_batched_matmul x4"},
                                                 {3, 16, 136, 328, "warpgroup_batched_matmul x3"},
                                                 {3, 16, 136, 520, "skinny_batched_matmul x6"},
                                                 {3, 70, 200, 72, "warpgroup_batched_matmul x3"}}) {
    const auto a = random_tensor<T>(Index<3>{batch, M, K}, 1), b = random_tensor<T>(Index<3>{batch, K, N}, 2);
    const auto turned = random_tensor<T>(Index<3>{batch, N, K}, 3);
    check(viewed(a), viewed(b), launches);
    check(viewed(a), viewed(turned).template permute<0, 2, 1>(), launches);
  }
}

TEST_CASE("known products: batches that lie as they are said to, and others, which are copied") {
  const auto a = random_tensor<bf16>(Index<3>{3, 70, 72}, 1), b = random_tensor<bf16>(Index<3>{3, 72, 200}, 2);
  const auto turned = random_tensor<bf16>(Index<3>{3, 200, 72}, 3), odd = random_tensor<bf16>(Index<3>{3, 70, 71}, 4);
  const auto deep = viewed(turned).permute<0, 2, 1>();
  check<13, column_major>(viewed(a), deep, "warpgroup_batched_matmul x3");
  check<13, column_major>(viewed(a), viewed(b), "copied, warpgroup_batched_matmul x3");
  check<13, column_major>(viewed(odd), deep.slice<1>(1, 72), "copied, warpgroup_batched_matmul x3");
}

TEST_CASE_TEMPLATE("batches by warpgroups: small ones by waves, in tiles that take the least time", T,
                   KGEN_TYPES((bf16), f16)) {
  struct Size {
    std::int64_t batch, M, N, K;
    const char* launches;
  };
  for (const auto& [batch, M, N, K, launches] : {Size{3, 17, 72, 40, "wave_batched_matmul x6"},  // of 32 rows
                                                 {5, 64, 16, 128, "wave_batched_matmul x5"},     // of 64
                                                 {2, 70, 33, 129, "copied, wave_batched_matmul x4"},
                                                 {5, 70, 33, 16, "wave_batched_matmul x10"},  // of 64, and little depth
                                                 {3, 130, 264, 136, "warpgroup_batched_matmul x4"}}) {
    const auto a = random_tensor<T>(Index<3>{batch, M, K}, 1), b = random_tensor<T>(Index<3>{batch, K, N}, 2);
    const auto turned = random_tensor<T>(Index<3>{batch, N, K}, 3), one = random_tensor<T>(Index<3>{1, K, N}, 4);
    check_small(viewed(a), viewed(b), launches);
    check_small(viewed(a), viewed(turned).template permute<0, 2, 1>(), launches);
    check_small(viewed(a), viewed(one), launches);
  }
}

TEST_CASE("batches by warpgroups: results whose lines are whole vectors of 4 or 2, not of 8, or of none") {
  const auto check_lines = [](Index<3> extents, const std::string& launches, const std::string& small) {
    const std::int64_t M = extents[0], N = extents[1], K = extents[2];
    const auto a = random_tensor<bf16>(Index<3>{3, M, K}, 1), turned = random_tensor<bf16>(Index<3>{3, N, K}, 2);
    const auto right = viewed(turned).permute<0, 2, 1>();
    check(viewed(a), right, launches);
    check_small(viewed(a), right, small);
    for (const int fewer : {1, 2}) {
      check(viewed(a), right.slice<2>(0, N - fewer), launches);
      check_small(viewed(a), right.slice<2>(0, N - fewer), small);
    }
  };
  check_lines({12, 204, 520}, "skinny_batched_matmul x6", "wave_batched_matmul x12");
  check_lines({17, 76, 40}, "warpgroup_batched_matmul x3", "wave_batched_matmul x6");
  check_lines({70, 204, 72}, "warpgroup_batched_matmul x3", "warpgroup_batched_matmul x3");
}

TEST_CASE("batches by warpgroups: axes that repeat, in either operand, and several of them") {
  const auto a = random_tensor<bf16>(Index<4>{2, 3, 20, 24}, 1), b = random_tensor<bf16>(Index<4>{2, 3, 24, 40}, 2);
  const auto one = random_tensor<bf16>(Index<3>{3, 24, 40}, 3);
  const auto alone = random_tensor<bf16>(Index<4>{1, 3, 20, 24}, 4);
  const auto of_head = random_tensor<bf16>(Index<4>{2, 1, 24, 40}, 5);
  const auto deep = random_tensor<bf16>(Index<5>{2, 1, 3, 20, 24}, 6);
  check(viewed(a), viewed(b), "warpgroup_batched_matmul x4");
  check(viewed(a), viewed(one), "warpgroup_batched_matmul x4");
  check(viewed(alone), viewed(b), "warpgroup_batched_matmul x4");
  check(viewed(a), viewed(of_head), "warpgroup_batched_matmul x4");
  check(viewed(deep), viewed(b), "warpgroup_batched_matmul x4");
  const View<const bf16, 4> repeated = viewed(of_head).broadcast_to(Index<4>{2, 3, 24, 40});
  check(viewed(a), repeated, "warpgroup_batched_matmul x4");
  const auto heads = random_tensor<bf16>(Index<4>{2, 20, 3, 24}, 7);  // [B, S, H, D]
  check(viewed(heads).permute<0, 2, 1, 3>(), viewed(b), "warpgroup_batched_matmul x4");
}

TEST_CASE("batches by warpgroups: what the copy engine does not take is copied first, in one launch for all matrices") {
  const auto a = random_tensor<bf16>(Index<3>{3, 37, 41}, 1), b = random_tensor<bf16>(Index<3>{3, 41, 77}, 2);
  const auto turned = random_tensor<bf16>(Index<3>{3, 77, 41}, 3), across = random_tensor<bf16>(Index<3>{3, 41, 37}, 4);
  const std::string copied = "copied, warpgroup_batched_matmul x3";
  check(viewed(a), viewed(b), copied);
  check(viewed(a), viewed(turned).permute<0, 2, 1>(), copied);
  check(viewed(across).permute<0, 2, 1>(), viewed(b), copied);
  check(viewed(a).flip<0>(), viewed(b).flip<1>(), copied);
  check(viewed(a).slice<0>(0, 1), viewed(b), copied);
  const View<const bf16, 3> repeated = viewed(a).slice<0>(1, 1).broadcast_to(Index<3>{3, 37, 41});
  check(repeated, viewed(b), copied);
  check(viewed(a).slice<0>(0, 2, 2), viewed(b).slice<0>(1, 2), "copied, warpgroup_batched_matmul x4");
}

TEST_CASE("batches by warpgroups: the blocks of a cluster share the depth of few tiles") {
  for (const auto& extents : {Index<3>{70, 71, 1600}, {33, 16, 2000}}) {
    const std::int64_t M = extents[0], N = extents[1], K = extents[2];
    const auto a = random_tensor<bf16>(Index<3>{2, M, K}, 1), turned = random_tensor<bf16>(Index<3>{2, N, K}, 2);
    const auto b = random_tensor<bf16>(Index<3>{1, K, (N + 7) / 8 * 8}, 3);
    check_shared(viewed(a), viewed(turned).permute<0, 2, 1>());
    check_shared(viewed(a), viewed(b));
  }
}

TEST_CASE_TEMPLATE("batches of few rows: depths and columns around those of a step, lines that begin anywhere", T,
                   KGEN_TYPES((bf16), f16)) {
  for (const auto& extents : {Index<4>{1, 5, 8, 8},
                              {3, 1, 16, 64},
                              {2, 8, 136, 64},
                              {3, 1, 1, 1},
                              {2, 7, 65, 16},
                              {3, 4, 72, 20},
                              {2, 1, 130, 131},
                              {2, 3, 33, 528},
                              {5, 1, 300, 18},
                              {2, 6, 66, 1111}}) {
    const std::int64_t batch = extents[0], M = extents[1], N = extents[2], K = extents[3];
    const auto a = random_tensor<T>(Index<3>{batch, M, K}, 1), b = random_tensor<T>(Index<3>{batch, K, N}, 2);
    const auto turned = random_tensor<T>(Index<3>{batch, N, K}, 3), one = random_tensor<T>(Index<3>{1, K, N}, 4);
    check_few(viewed(a), viewed(b));
    check_few(viewed(a), viewed(turned).template permute<0, 2, 1>());
    check_few(viewed(a), viewed(one));
  }
}

TEST_CASE("batches of few rows: several axes, steps backwards, other results, and rows that lie apart") {
  const auto a = random_tensor<bf16>(Index<4>{2, 3, 4, 40}, 1), b = random_tensor<bf16>(Index<4>{2, 3, 40, 48}, 2);
  const auto of_head = random_tensor<bf16>(Index<4>{2, 1, 48, 40}, 3);
  const auto one = random_tensor<bf16>(Index<3>{3, 40, 47}, 4);
  const auto heads = random_tensor<bf16>(Index<4>{2, 5, 3, 40}, 5);  // [B, S, H, D]
  check_few(viewed(a), viewed(b));
  check_few(viewed(a), viewed(of_head).permute<0, 1, 3, 2>());
  check_few(viewed(a), viewed(one));
  check_few(viewed(heads).permute<0, 2, 1, 3>(), viewed(b));
  check_few(viewed(a).flip<0>(), viewed(b).flip<1>());
  check_few(viewed(a).slice<2>(1, 2), viewed(b).slice<3>(3, 41));
  check_few(viewed(a).slice<3>(1, 37), viewed(b).slice<2>(2, 37));
  check_few(viewed(a).slice<2>(2, 1), viewed(b).slice<2>(0, 40).slice<3>(8, 40));
}

TEST_CASE("batches of few rows: NaN beyond operands reaches no result") {
  auto a = random_tensor<bf16>(Index<3>{2, 3, 80}, 1), b = random_tensor<bf16>(Index<3>{2, 80, 48}, 2);
  auto turned = random_tensor<bf16>(Index<3>{2, 48, 80}, 3);
  const auto nan = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    if (i % 80 >= 72) a.elements[i] = nan;
  }
  for (std::size_t i = 0; i < turned.elements.size(); ++i) {
    if (i % 80 >= 72) turned.elements[i] = nan;
    if (i % 48 >= 40 || i / 48 % 80 >= 72) b.elements[i] = nan;
  }
  check_few(viewed(a).slice<2>(0, 72), viewed(b).slice<1>(0, 72).slice<2>(0, 40));
  check_few(viewed(a).slice<2>(0, 72), viewed(turned).slice<2>(0, 72).permute<0, 2, 1>());
  check_few(viewed(a).slice<2>(0, 71), viewed(b).slice<1>(0, 71).slice<2>(0, 39));
  check_few(viewed(a).slice<2>(0, 71), viewed(turned).slice<2>(0, 71).permute<0, 2, 1>());
}

TEST_CASE("batches by warpgroups: matrices that are not evenly apart come through registers") {
  const auto heads = random_tensor<bf16>(Index<4>{2, 20, 3, 23}, 7), b = random_tensor<bf16>(Index<4>{2, 3, 23, 40}, 2);
  check(viewed(heads).permute<0, 2, 1, 3>(), viewed(b), "warpgroup_batched_matmul_copied x4");
  const auto a = random_tensor<bf16>(Index<4>{2, 3, 20, 23}, 1), one = random_tensor<bf16>(Index<4>{2, 1, 23, 39}, 5);
  check(viewed(a), viewed(b), "copied, warpgroup_batched_matmul x4");
  check(viewed(a), viewed(one), "copied, warpgroup_batched_matmul x4");
  const View<const bf16, 4> again = viewed(one).broadcast_to(Index<4>{2, 3, 23, 39});
  check(viewed(a), again, "copied, warpgroup_batched_matmul x4");
}

TEST_CASE("batches by warpgroups: floats of 8 and of 32 bits") {
  const auto a = random_tensor<f8e4m3>(Index<3>{2, 37, 144}, 1), b = random_tensor<f8e4m3>(Index<3>{2, 40, 144}, 2);
  check(viewed(a), viewed(b).permute<0, 2, 1>(), "warpgroup_batched_matmul x2", 1e-3);
  check<23>(viewed(a), viewed(b).permute<0, 2, 1>(), "wave_batched_matmul x2");
  const auto across = random_tensor<f8e5m2>(Index<3>{2, 50, 24}, 3), odd = random_tensor<f8e5m2>(Index<3>{2, 9, 50}, 4);
  check(viewed(odd), viewed(across), "copied, skinny_batched_matmul x2", 1e-3);
  const auto left = random_tensor<float>(Index<3>{2, 37, 36}, 5), right = random_tensor<float>(Index<3>{2, 40, 36}, 6);
  check<10>(viewed(left), viewed(right).permute<0, 2, 1>(), "warpgroup_batched_matmul x2", 4e-3);
  check(viewed(left), viewed(right).permute<0, 2, 1>(), "batched_matmul x2");
}

TEST_CASE("batches by warpgroups: an epilogue in place, and blocks that go round the ring") {
  Hopper device;
  simt::device().multiprocessors = 1;
  const auto a = random_tensor<bf16>(Index<3>{3, 70, 136}, 1), b = random_tensor<bf16>(Index<3>{3, 136, 72}, 2);
  auto c = random_tensor<float>(Index<3>{3, 70, 72}, 3);
  const auto before = c;
  batched_matmul(a.view(), b.view(), Added{c.view(), c.view()});
  CHECK(device.take() == "warpgroup_batched_matmul x1");
  for_each_position(c.shape, [&](Index<3> at) {
    const double value = expected_of_batch(viewed(a), viewed(b), at) + element(before.view(), at);
    REQUIRE(std::abs(element(c.view(), at) - value) <= 1e-3 * (1 + std::abs(value)));
  });
}

#endif

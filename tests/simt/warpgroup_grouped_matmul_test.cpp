// Products of groups of rows by tensor cores, as the executor does what they do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include "products.hpp"
#include "shared_batches.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

using Ends = std::vector<std::int64_t>;

View<const std::int64_t, 1> view_of(const Ends& ends) {
  return {ends.data(), Index<1>{static_cast<std::int64_t>(ends.size())}};
}

template <class T>
double expected_of_group(const View<const T, 2>& a, const View<const T, 3>& b, const Ends& ends, Index<2> at) {
  std::int64_t group = 0;
  while (group < b.extent(0) && ends[static_cast<std::size_t>(group)] <= at[0]) ++group;
  if (group == b.extent(0)) return 0;
  return expected(a, b.template select<0>(group), at);
}

template <int LeastBits = 13, class T>
void check(const View<const T, 2>& a, const View<const T, 3>& b, const Ends& ends, const std::string& launches,
           double error = 1e-5) {
  for (const simt::Order order : {simt::Order::forward, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    Tensor<float, 2> c(Index<2>{a.extent(0), b.extent(2)});
    grouped_matmul<96, 256, LeastBits>(a, b, view_of(ends), c.view());
    CHECK(taken(device) == launches);
    for_each_position(c.shape, [&](Index<2> at) {
      INFO("at ", at[0], ", ", at[1]);
      const double value = expected_of_group(a, b, ends, at);
      REQUIRE(std::abs(element(c.view(), at) - value) <= error * (8 + static_cast<double>(a.extent(1))));
    });
  }
}

template <class T, int R>
View<const T, R> viewed(const Tensor<T, R>& tensor) {
  return tensor.view();
}

}  // namespace

TEST_CASE_TEMPLATE("groups by warpgroups: with no rows, some and all, b along either axis", T,
                   KGEN_TYPES((bf16), f16)) {
  const auto a = random_tensor<T>(Index<2>{300, 72}, 1);
  const auto b = random_tensor<T>(Index<3>{4, 72, 136}, 2), turned = random_tensor<T>(Index<3>{4, 136, 72}, 3);
  for (const Ends& ends :
       {Ends{1, 1, 140, 300}, {0, 0, 0, 300}, {300, 300, 300, 300}, {20, 85, 86, 130}, {0, 0, 0, 0}}) {
    check(viewed(a), viewed(b), ends, "warpgroup_grouped_matmul x4");
    check(viewed(a), viewed(turned).template permute<0, 2, 1>(), ends, "warpgroup_grouped_matmul x4");
  }
}

TEST_CASE_TEMPLATE("groups by warpgroups: few rows to a group", T, KGEN_TYPES((bf16), f16)) {
  const auto some = random_tensor<T>(Index<2>{150, 200}, 1), few = random_tensor<T>(Index<2>{21, 200}, 4);
  const auto b = random_tensor<T>(Index<3>{4, 200, 136}, 2), turned = random_tensor<T>(Index<3>{4, 136, 200}, 3);
  for (const Ends& ends : {Ends{1, 1, 20, 21}, {20, 20, 20, 20}, {9, -1, 30, 12}, {0, 0, 0, 0}, {20, 85, 86, 130}}) {
    check(viewed(some), viewed(b), ends, "skinny_grouped_matmul x14");
    check(viewed(few), viewed(b), ends, "skinny_grouped_matmul x12");
    check(viewed(few), viewed(turned).template permute<0, 2, 1>(), ends, "skinny_grouped_matmul x12");
  }
}

TEST_CASE("groups by warpgroups: what the copy engine does not take, and one matrix for all") {
  const auto a = random_tensor<bf16>(Index<2>{37, 41}, 1), wide = random_tensor<bf16>(Index<2>{37, 48}, 5);
  const auto b = random_tensor<bf16>(Index<3>{3, 41, 77}, 2);
  const auto one = random_tensor<bf16>(Index<2>{48, 40}, 4);
  const auto turned = random_tensor<bf16>(Index<3>{3, 77, 41}, 3);
  const Ends ends{7, 7, 30};
  const std::string copied = "copied, skinny_grouped_matmul x4";
  check(viewed(a), viewed(b), ends, copied);
  check(viewed(a), viewed(turned).permute<0, 2, 1>(), ends, copied);
  check(viewed(a).flip<0>(), viewed(b).flip<0>(), ends, copied);
  check(viewed(wide), View<const bf16, 3>(viewed(one).broadcast_to(Index<3>{3, 48, 40})), ends,
        "skinny_grouped_matmul x4");
  // So few rows that most of the matrices may have none: what no kernel reads in whole lines comes element by element.
  check(viewed(a).slice<0>(0, 5), viewed(b).flip<1>(), Ends{1, 1, 4}, "warpgroup_grouped_matmul_copied x4");
}

TEST_CASE_TEMPLATE("groups by warpgroups: few rows, each by its matrix as it lies", T, KGEN_TYPES((bf16), f16)) {
  auto a = random_tensor<T>(Index<2>{6, 201}, 1);
  for (std::int64_t k = 0; k < 201; ++k) a.elements[static_cast<std::size_t>(5 * 201 + k)] = T(NAN);  // in no group
  const auto b = random_tensor<T>(Index<3>{3, 201, 77}, 2), turned = random_tensor<T>(Index<3>{3, 77, 201}, 3);
  for (const Ends& ends : {Ends{1, 1, 4}, {0, 0, 0}, {5, 5, 5}, {4, -1, 5}}) {
    check(viewed(a), viewed(b), ends, "vector_grouped_matmul x6");
    check(viewed(a), viewed(turned).template permute<0, 2, 1>(), ends, "vector_grouped_matmul x6");
  }
  const auto many = random_tensor<T>(Index<3>{70, 41, 35}, 4);  // more groups than a wave has lanes
  const auto rows = random_tensor<T>(Index<2>{16, 41}, 5);
  Ends ends(70, 3);
  std::fill(ends.begin() + 33, ends.end(), 9);
  ends[69] = 16;
  check(viewed(rows), viewed(many), ends, "vector_grouped_matmul x16");
}

TEST_CASE("groups by warpgroups: floats of 8 and of 32 bits") {
  const auto a = random_tensor<f8e4m3>(Index<2>{37, 144}, 1);
  const auto b = random_tensor<f8e4m3>(Index<3>{2, 40, 144}, 2);
  const Ends ends{7, 37};
  check(viewed(a), viewed(b).permute<0, 2, 1>(), ends, "skinny_grouped_matmul x3", 1e-3);
  check<23>(viewed(a), viewed(b).permute<0, 2, 1>(), ends, "wave_grouped_matmul x3");
  const auto left = random_tensor<float>(Index<2>{37, 36}, 5);
  const auto right = random_tensor<float>(Index<3>{2, 40, 36}, 6);
  check<10>(viewed(left), viewed(right).permute<0, 2, 1>(), ends, "skinny_grouped_matmul x3", 4e-3);
  check(viewed(left), viewed(right).permute<0, 2, 1>(), ends, "grouped_matmul x3");
}

TEST_CASE("groups by warpgroups: several products, apart and jointly, and blocks that go round the ring") {
  for (const std::int64_t M : {150, 140}) {
    Hopper device;
    simt::device().multiprocessors = 1;
    const auto a = random_tensor<f16>(Index<2>{M, 136}, 1);
    const auto gate = random_tensor<f16>(Index<3>{3, 136, 136}, 2), up = random_tensor<f16>(Index<3>{3, 136, 136}, 3);
    const auto other = random_tensor<f16>(Index<3>{3, 136, 24}, 4);
    const Ends ends{2, 132, 139};
    Tensor<float, 2> gated(Index<2>{M, 136}), y(Index<2>{M, 24});
    grouped_matmul(a.view(), several(gate.view(), up.view(), other.view()), view_of(ends),
                   several(joint<2>(Gated{gated.view()}), y.view()));
    CHECK(device.take() == (M == 150 ? "warpgroup_grouped_matmul x1" : "skinny_grouped_matmul x24"));
    const auto value = [&](const auto& b, Index<2> at) { return expected_of_group(viewed(a), viewed(b), ends, at); };
    for_each_position(y.shape,
                      [&](Index<2> at) { REQUIRE(std::abs(element(y.view(), at) - value(other, at)) <= 1e-3); });
    for_each_position(gated.shape, [&](Index<2> at) {
      const double expected = value(gate, at) * value(up, at);
      REQUIRE(std::abs(element(gated.view(), at) - expected) <= 1e-3 * (1 + std::abs(expected)));
    });
  }
}

TEST_CASE("groups by warpgroups: an epilogue in place") {
  Hopper device;
  const auto a = random_tensor<bf16>(Index<2>{70, 40}, 1);
  const auto b = random_tensor<bf16>(Index<3>{3, 40, 72}, 2);
  const auto bias = random_tensor<float>(Index<2>{1, 72}, 3);
  auto y = random_tensor<float>(Index<2>{70, 72}, 4);
  const auto before = y;
  const Ends ends{3, 70, 70};
  const View<const float, 2> repeated = bias.view().broadcast_to(y.shape);
  grouped_matmul(a.view(), b.view(), view_of(ends), Residual{repeated, y.view(), y.view()});
  CHECK(device.take() == "skinny_grouped_matmul x5");
  for_each_position(y.shape, [&](Index<2> at) {
    const double value =
        expected_of_group(viewed(a), viewed(b), ends, at) + element(repeated, at) + element(before.view(), at);
    REQUIRE(std::abs(element(y.view(), at) - value) <= 1e-3 * (1 + std::abs(value)));
  });
}

#endif

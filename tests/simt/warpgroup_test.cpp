// Matrix multiplication by tensor cores, as the executor does what they do.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "products.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

struct ProductOfTwo {
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> gate, Vec<float, W> up) const {
    y.store(at, Mul::apply(gate, up));
  }
};

// c = a * b by those launches, for each order of the threads.
template <class T>
void check(const View<const T, 2>& a, const View<const T, 2>& b, const std::string& launches) {
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device;
    simt::device().order = order;
    if (a.extent(0) <= 128) simt::device().multiprocessors = 1;  // else it would be a skinny product
    Tensor<float, 2> c(Index<2>{a.extent(0), b.extent(1)});
    matmul(a, b, c.view());
    CHECK(taken(device) == launches);
    for_each_position(c.shape, [&](Index<2> at) {
      const double value = expected(a, b, at);
      INFO("at ", at[0], ", ", at[1]);
      REQUIRE(std::abs(element(c.view(), at) - value) <= 1e-5 * (1 + static_cast<double>(a.extent(1))));
    });
  }
}

}  // namespace

TEST_CASE_TEMPLATE("warpgroups: extents beyond and below those of tiles, b along either axis", T, bf16, f16) {
  struct Size {
    std::int64_t M, N, K;
  };
  for (const auto& [M, N, K] :
       {Size{65, 8, 8}, {128, 64, 64}, {127, 72, 56}, {129, 264, 136}, {130, 376, 72}, {130, 352, 72}}) {
    const Matrix<T> a(Index<2>{M, K}, 1), b(Index<2>{K, N}, 2), turned(Index<2>{N, K}, 3);
    check<T>(a.view(), b.view(), M > 128 ? "warpgroup_matmul x4" : "warpgroup_matmul x1");
    check<T>(a.view(), turned.view().template permute<1, 0>(), M > 128 ? "warpgroup_matmul x4" : "warpgroup_matmul x1");
  }
}

TEST_CASE("warpgroups: operands in no order that the copy engine takes") {
  const auto a = random_tensor<bf16>(Index<2>{131, 133}, 1), b = random_tensor<bf16>(Index<2>{133, 77}, 2);
  const auto turned = random_tensor<bf16>(Index<2>{77, 133}, 3), across = random_tensor<bf16>(Index<2>{133, 131}, 4);
  const View<const bf16, 2> left = a.view(), right = b.view();
  check(left, right, "copied, warpgroup_matmul x4");
  check(left, turned.view().permute<1, 0>(), "copied, warpgroup_matmul x4");
  check(across.view().permute<1, 0>(), right, "copied, warpgroup_matmul x4");
  for (const std::int64_t pitch : {134, 132, 140}) {  // 2, 4 and 4 elements at a time
    const auto memory = random_tensor<bf16>(Index<2>{133, pitch}, 5);
    const View<const bf16, 2> wide = memory.view();
    check(left, wide.slice<1>(pitch == 140 ? 4 : 0, 100), "copied, warpgroup_matmul x4");
    check(wide.slice<1>(0, 129), right.slice<0>(2, 129), "copied, warpgroup_matmul x4");
  }
}

TEST_CASE("warpgroups: epilogues whose Views repeat along columns or rows, lie across, or are in place") {
  check_epilogues(70, "warpgroup_matmul x1");
}

TEST_CASE("warpgroups: several products, apart and jointly, in one launch") {
  check_several(140, 72, 4, "warpgroup_matmul x4");
}

// Two right operands whose columns come dealt to the threads that have their sums, each into its half of a tile.
TEST_CASE("warpgroups: two products jointly, of right operands along the depth") {
  const Matrix<bf16> a(Index<2>{140, 72}, 1), gate(Index<2>{160, 72}, 2), up(Index<2>{160, 72}, 3);
  const View<const bf16, 2> left = gate.view().permute<1, 0>(), right = up.view().permute<1, 0>();
  Hopper device;
  simt::device().multiprocessors = 2;
  Tensor<float, 2> y(Index<2>{140, 160});
  matmul<column_major>(a.view(), several(left, right), ProductOfTwo{y.view()});
  CHECK(device.take() == "warpgroup_matmul x2");
  for_each_position(y.shape, [&](Index<2> at) {
    const double value = expected(a.view(), left, at) * expected(a.view(), right, at);
    INFO("at ", at[0], ", ", at[1]);
    REQUIRE(std::abs(element(y.view(), at) - value) <= 1e-3 * (1 + std::abs(value)));
  });
}

TEST_CASE("warpgroups: what the copy engine does not take is copied to where it does") {
  Hopper device;
  const auto memory = random_tensor<bf16>(Index<2>{64, 64}, 1);
  const Matrix<bf16> b(Index<2>{32, 24}, 2);
  const View<const bf16, 2> all = memory.view();
  const auto way = [&](const View<const bf16, 2>& a) {
    Tensor<float, 2> c(Index<2>{a.extent(0), 24});
    matmul(a, b.view(), c.view());
    for_each_position(
        c.shape, [&](Index<2> at) { REQUIRE(std::abs(element(c.view(), at) - expected(a, b.view(), at)) < 1e-3); });
    return device.take();
  };
  const std::string engine = "skinny_matmul x1", copied = "lay_out_lines x1, skinny_matmul x1";
  const std::string tiles = "lay_out x1, skinny_matmul x1";
  CHECK(way(all.slice<1>(0, 32)) == engine);
  CHECK(way(all.slice<1>(8, 32)) == engine);
  CHECK(way(all.slice<1>(1, 32)) == copied);                 // begins between multiples of 16 bytes
  CHECK(way(all.slice<1>(0, 32).flip<0>()) == copied);       // rows lie backwards
  CHECK(way(all.slice<1>(0, 32, 2)) == tiles);               // columns lie apart
  CHECK(way(all.slice<0>(0, 32).permute<1, 0>()) == tiles);  // a is wanted along its depth
  CHECK(way(View<const bf16, 2>(all.data(), Index<2>{5, 32}, Index<2>{37, 1})) == copied);  // an odd pitch
  CHECK(way(View<const bf16, 2>(all.data(), Index<2>{1, 32}, Index<2>{37, 1})) == engine);  // which one row has not
  CHECK(way(View<const bf16, 2>(all.data(), Index<2>{5, 32}, Index<2>{0, 1})) == copied);   // rows that repeat
  simt::device().shared_bytes = 48 * 1024;
  CHECK(way(all.slice<1>(0, 32)) == "wave_matmul x1");
}

TEST_CASE("warpgroups: blocks that go round the ring from tile to tile, and orders of tiles") {
  const Matrix<bf16> a(Index<2>{70, 320}, 1), b(Index<2>{320, 600}, 2);
  Hopper device;
  simt::device().multiprocessors = 1;
  Tensor<float, 2> c(Index<2>{70, 600});
  matmul(a.view(), b.view(), c.view());
  CHECK(device.take() == "warpgroup_matmul x1");
  expect_product(c, a, b, [](Index<2>, double product) { return product; });
  for (const gpu::TileOrder order : {gpu::TileOrder{37, 5}, {16, 3}, {1, 9}, {7, 4, 3}}) {
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    for (int tile = 0; tile < order.rows * order.columns; ++tile) {
      const Index<2> place = order(tile);
      CHECK(place[0] >= 0);
      CHECK(place[0] < order.rows);
      CHECK(place[1] < order.columns);
      places.emplace(place[0], place[1]);
    }
    CHECK(places.size() == static_cast<std::size_t>(order.rows * order.columns));
  }
}

TEST_CASE("warpgroups: NaN and infinity reach the results that they belong to, and no others") {
  Hopper device;
  simt::device().multiprocessors = 1;
  Matrix<bf16> a(Index<2>{66, 70}, 1), b(Index<2>{70, 40}, 2);
  a.memory.elements[3 * 72 + 69] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());
  a.memory.elements[5 * 72 + 70] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());  // beyond its columns
  b.memory.elements[2 * 40 + 7] = static_cast<bf16>(std::numeric_limits<float>::infinity());
  Tensor<float, 2> c(Index<2>{66, 40});
  matmul(a.view(), b.view(), c.view());
  CHECK(taken(device) == "copied, warpgroup_matmul x1");
  Tensor<float, 2> finite(Index<2>{66, 40});  // whose depth ends before NaN
  matmul(a.view().slice<1>(0, 64), b.view().slice<0>(0, 64), finite.view());
  CHECK(device.take() == "warpgroup_matmul x1");
  for_each_position(c.shape, [&](Index<2> at) {
    const double value = element(c.view(), at);
    INFO("at ", at[0], ", ", at[1]);
    CHECK(std::isfinite(element(finite.view(), at)) == (at[1] != 7));
    CHECK(std::isnan(value) == (at[0] == 3));
    if (at[0] != 3) CHECK(std::isinf(value) == (at[1] == 7));
  });
}

TEST_CASE("warpgroups: what nobody does is not waited for") {
  Hopper device;
  const auto problem = [](const std::function<void()>& body) -> std::string {
    try {
      simt::run({.name = "test", .threads = 64, .shared_bytes = 4096}, body);
    } catch (const simt::Error& error) {
      return error.what();
    }
    return "";
  };
  const auto make = [](int arrivals) {
    gpu::SharedMemory memory;
    auto* barrier = memory.take<gpu::Mbarrier>(1);
    {
      const gpu::BlockPhase making;
      if (gpu::thread_index() == 0) {
        barrier->init(arrivals);
        gpu::publish_mbarriers();
      }
    }
    return barrier;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(problem([&] {
          gpu::Mbarrier* barrier = make(64);
          barrier->arrive();
          barrier->wait(0);
        }) == "");
  const std::string vain = problem([&] {
    gpu::Mbarrier* barrier = make(2);
    if (gpu::thread_index() == 0) barrier->arrive();
    barrier->wait(0);
  });
  CHECK(has(vain, "test: block 0: thread 0 waits at warpgroup_test.cpp:"));
  CHECK(has(vain, " for what nobody does"));
  CHECK(has(problem([&] {
              gpu::Mbarrier* barrier = make(1);
              if (gpu::thread_index() < 2) barrier->arrive_and_expect(16);
            }),
            "one arrival at an mbarrier more than it was made for"));
  CHECK(has(problem([&] {
              gpu::SharedMemory memory;
              memory.take<gpu::Mbarrier>(1)->wait(0);
            }),
            "an mbarrier that was not made"));
  const auto matrix = random_tensor<bf16>(Index<2>{8, 64}, 1);
  CHECK(has(
      problem([&] {
        gpu::Mbarrier* barrier = make(1);
        const auto map = gpu::tensor_map<bf16>(gpu::BoxedMemory<2>{matrix.elements.data(), {64, 8}, {0, 128}, {64, 8}});
        if (gpu::thread_index() != 0) return;
        barrier->arrive_and_expect(1024);
        gpu::copy_tile(gpu::dynamic_shared() + 1024, *map, *barrier, 0, 0);
      }),
      "leaves while something is still on its way to its shared memory"));
  CHECK(has(
      problem([&] {
        gpu::Mbarrier* barrier = make(1);
        const auto map = gpu::tensor_map<bf16>(gpu::BoxedMemory<2>{matrix.elements.data(), {64, 8}, {0, 128}, {64, 8}});
        gpu::copy_tile(gpu::dynamic_shared() + 1024, *map, *barrier, 4, 0);
      }),
      "a tile that begins at no multiple of 16 bytes along the innermost axis"));
}

namespace {

// Two threads of each of two blocks of a cluster send a word to the other, or one of them alone does. What is found
// there, having waited for it or not, if they had waited until both have begun, or not; and what the executor says.
std::string send_to_each_other(bool awaits_others, bool sends_both, bool waits, std::vector<float>& found) {
  found.assign(2, 0);
  const auto body = [&] {
    gpu::SharedMemory memory;
    auto* words = memory.take<float>(2);
    auto* arrived = memory.take<gpu::Mbarrier>(1);
    const gpu::ClusterBegin begins;
    const int thread = gpu::thread_index(), rank = gpu::cluster_rank(), own = static_cast<int>(gpu::block_index());
    {
      const gpu::BlockPhase making;
      if (thread == 0) {
        arrived->init(1);
        gpu::publish_mbarriers();
        arrived->arrive_and_expect(8);
      }
    }
    begins.arrive();
    if (awaits_others) begins.wait();
    if (thread == 5 || sends_both) {
      gpu::send_where(thread == 5 || thread == 9, words + (thread == 9), 1.0f + static_cast<float>(rank), *arrived,
                      1 - rank);
    }
    if (!waits) {
      if (thread == 0) found[static_cast<std::size_t>(own)] = words[0];
      return;
    }
    arrived->wait(0);
    if (thread == 0) found[static_cast<std::size_t>(own)] = words[0] + words[1];
  };
  try {
    simt::run({.name = "test", .blocks = 2, .threads = 32, .shared_bytes = 64, .cluster = 2}, body);
  } catch (const simt::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("warpgroups: words that blocks of a cluster send each other come late, and to who has begun and waits") {
  const simt::Device before = simt::device();
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    simt::device().order = order;
    std::vector<float> found;
    const auto problem = [&](bool awaits_others, bool sends_both, bool waits, const std::string& what) {
      const std::string text = send_to_each_other(awaits_others, sends_both, waits, found);
      INFO(text);
      CHECK(text.find(what) != std::string::npos);
    };
    CHECK(send_to_each_other(true, true, true, found) == "");
    CHECK(found == std::vector<float>{4, 2});
    problem(true, false, true, " for what nobody does");  // half of the bytes
    problem(true, true, false, "shared memory");          // of a block that leaves, or has left
    CHECK((std::isnan(found[0]) || std::isnan(found[1])));
    problem(false, true, true, "sends to another block of the cluster, which may not have begun");
  }
  simt::device() = before;
}

#endif

// The executor finds what it is there for: kernels that are wrong in one way each, beside their right form.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/team.hpp"

using namespace kgen;
using namespace kgen::gpu;

namespace {

constexpr int threads = 128;

// What the launch reports; "" where it reports nothing.
template <class Kernel>
std::string report(const Kernel& kernel, std::int64_t shared = 0, int block = threads, std::int64_t blocks = 1,
                   int cluster = 1) {
  try {
    simt::device().wave_size = wave_size;
    simt::run({"stub_y: test", blocks, block, static_cast<std::size_t>(shared), cluster}, kernel);
  } catch (const simt::Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Runs body() in every order, each shuffled one with a seed of its own, and says in how many of them it holds.
template <class Body>
int orders_in_which(const Body& body) {
  const simt::Device before = simt::device();
  int count = 0;
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    simt::device().order = seed == 0 ? simt::Order::forward : seed == 1 ? simt::Order::reverse : simt::Order::shuffled;
    simt::device().seed = seed;
    count += body() ? 1 : 0;
  }
  simt::device() = before;
  return count;
}

struct Sum {
  static float combine(float a, float b) { return a + b; }
};

// The sum of a block in two stages, with or without the barrier between them.
float block_sum(bool with_barrier) {
  float result = 0;
  const std::string problem = report(
      [&] {
        SharedMemory shared;
        float* totals = shared.take<float>(threads / wave_size);
        const float of_wave = combine_lanes<Sum>(static_cast<float>(thread_index()), wave_size);
        const auto write = [&] {
          if (thread_index() % wave_size == 0) totals[thread_index() / wave_size] = of_wave;
        };
        if (with_barrier) {
          const BlockPhase writing;
          write();
        } else {
          write();
        }
        if (thread_index() == threads / 2) {
          for (int wave = 0; wave < threads / wave_size; ++wave) result += totals[wave];
        }
      },
      shared_bytes<float>(threads / wave_size));
  CHECK(problem == "");
  return result;
}

}  // namespace

TEST_CASE("executor: a removed barrier gives wrong values in some order, the barrier right ones in all") {
  const float expected = threads * (threads - 1) / 2;
  CHECK(orders_in_which([&] { return block_sum(true) == expected; }) == 6);
  CHECK(orders_in_which([&] { return block_sum(false) == expected; }) < 6);
}

TEST_CASE("executor: a barrier is missing where shared memory is overwritten too early") {
  const auto rotate_twice = [](bool with_barrier) {
    std::vector<float> y(threads);
    report(
        [&] {
          SharedMemory shared;
          float* tile = shared.take<float>(threads);
          const int mine = thread_index(), next = (mine + 1) % threads;
          {
            const BlockPhase writing;
            tile[mine] = static_cast<float>(mine);
          }
          float value = 0;
          if (with_barrier) {
            const BlockPhase reading;
            value = tile[next];
          } else {
            value = tile[next];
          }
          {
            const BlockPhase writing;
            tile[mine] = value;
          }
          y[static_cast<std::size_t>(mine)] = tile[next];
        },
        shared_bytes<float>(threads));
    for (int i = 0; i < threads; ++i) {
      if (y[static_cast<std::size_t>(i)] != static_cast<float>((i + 2) % threads)) return false;
    }
    return true;
  };
  CHECK(orders_in_which([&] { return rotate_twice(true); }) == 6);
  CHECK(orders_in_which([&] { return rotate_twice(false); }) < 6);
}

TEST_CASE("executor: threads that leave, or wait elsewhere, before a barrier that others wait at") {
  const std::string left = report([] {
    if (thread_index() == 5) return;
    const BlockPhase phase;
  });
  CHECK(contains(left, "stub_y: test: block 0: thread 0 waits at the barrier at executor_test.cpp:"));
  CHECK(contains(left, "but thread 5 has left the kernel"));

  const std::string elsewhere = report([] {
    if (thread_index() < 64) {
      const BlockPhase phase;
    } else {
      const BlockPhase phase;
    }
  });
  CHECK(contains(elsewhere, "thread 0 waits at the barrier at executor_test.cpp:"));
  CHECK(contains(elsewhere, "but thread 64 waits at the barrier at executor_test.cpp:"));

  const std::string in_wave = report([] {
    if (thread_index() < wave_size) {
      combine_lanes<Sum>(1.0f, wave_size);
      const BlockPhase phase;
    } else if (thread_index() % 2 == 0) {
      combine_lanes<Sum>(1.0f, wave_size);
    } else {
      const BlockPhase phase;
    }
  });
  CHECK(contains(in_wave, "is in shuffle_xor of width " + std::to_string(wave_size) + " at executor_test.cpp:"));
  CHECK(contains(in_wave, "but thread " + std::to_string(wave_size + 1) + " waits at the barrier"));
  CHECK(report([] { const BlockPhase phase; }) == "");
}

#if KGEN_SIMT_WAVE == 32  // those of 64 have no clusters

// Whether blocks of clusters of 4 find what is in the next block's memory, with or without the barriers between.
bool reads_neighbours(bool writes_first, bool reads_before_overwriting) {
  std::vector<float> found(8, -1);
  const std::string problem = report(
      [&] {
        SharedMemory shared;
        float* value = shared.take<float>(1);
        const auto write = [&] {
          if (thread_index() == 1) *value = static_cast<float>(block_index() + 1);
        };
        if (writes_first) {
          const ClusterPhase writing;
          write();
        } else {
          write();
        }
        if (thread_index() == 0) {
          found[static_cast<std::size_t>(block_index())] = *cluster_shared(value, (cluster_rank() + 1) % 4);
        }
        if (reads_before_overwriting) const ClusterPhase reading;
        *value = -2;
        const ClusterPhase staying;
      },
      16, threads, 8, 4);
  return problem.empty() && found == std::vector<float>{2, 3, 4, 1, 6, 7, 8, 5};
}

TEST_CASE("executor: blocks of a cluster see each other's memory between barriers of the cluster") {
  CHECK(orders_in_which([] { return reads_neighbours(true, true); }) == 6);
  CHECK(orders_in_which([] { return reads_neighbours(false, true); }) < 6);
  CHECK(orders_in_which([] { return reads_neighbours(true, false); }) < 6);
}

TEST_CASE("executor: a block leaves while another of its cluster reads its memory, or before") {
  const auto problem = [](bool stays) {
    return report(
        [=] {
          if (cluster_rank() == 0 && thread_index() == 3) cluster_shared(dynamic_shared(), 1);
          if (stays) const ClusterStay stay;
        },
        16, threads, 2, 2);
  };
  CHECK(orders_in_which([&] { return problem(true).empty(); }) == 6);
  const std::string left = "stub_y: test: block 1: leaves while thread 3 of block 0 may still read its shared memory: "
                           "no barrier of the cluster came between";
  const std::string was_left =
      "stub_y: test: block 0: thread 3: maps an address to the shared memory of block 1, which has left the kernel";
  const int with_left = orders_in_which([&] { return problem(false) == left; });
  const int with_was_left = orders_in_which([&] { return problem(false) == was_left; });
  CHECK(with_left > 0);
  CHECK(with_was_left > 0);
  CHECK(with_left + with_was_left == 6);
  CHECK(report([] { cluster_shared(dynamic_shared(), cluster_rank()); }, 16, threads, 2, 2) == "");
}

TEST_CASE("executor: blocks that leave, or wait elsewhere, before a barrier of the cluster") {
  const std::string left = report(
      [] {
        if (cluster_rank() == 1) return;
        const ClusterPhase phase;
      },
      0, threads, 2, 2);
  CHECK(contains(left, "stub_y: test: block 0: thread 0 waits at the cluster's barrier at executor_test.cpp:"));
  CHECK(contains(left, "but thread 0 of block 1 has left the kernel"));
  const std::string elsewhere = report(
      [] {
        if (cluster_rank() == 1 && thread_index() == 3) {
          const BlockPhase phase;
        } else {
          const ClusterPhase phase;
        }
      },
      0, threads, 2, 2);
  CHECK(contains(elsewhere, "block 1: thread 3 waits at the barrier at executor_test.cpp:"));
  CHECK(contains(elsewhere, "but thread 0 waits at the cluster's barrier at executor_test.cpp:"));
}

TEST_CASE("executor: clusters and addresses that there are not") {
  const auto nothing = [] {};
  CHECK(contains(report(nothing, 0, threads, 6, 4), "clusters of 4 blocks in a grid of 6"));
  CHECK(contains(report(nothing, 0, threads, 16, 16), "clusters of 16 blocks"));
  const auto map = [](int rank, std::int64_t taken) {
    return report(
        [=] {
          const ClusterStay stay;
          SharedMemory shared;
          cluster_shared(shared.take<float>(4) + taken, rank);
        },
        16, threads, 2, 2);
  };
  CHECK(map(1, 0) == "");
  CHECK(contains(map(2, 0), "maps an address to block 2 of a cluster of 2"));
  CHECK(contains(map(1, 8), "maps an address that is not in its shared memory"));
}

#endif

TEST_CASE("executor: a wave's operation wants all lanes of its group, and the same operation") {
  const std::string some = report([] {
    if (thread_index() % 4 != 3) shuffle_xor(1u, 1, 4, Where::here());
  });
  CHECK(contains(some, "but thread 3 has left the kernel"));
  const std::string differing = report([] {
    if (thread_index() % 2 == 0) {
      shuffle_xor(1u, 1, 2, Where::here());
    } else {
      shuffle_xor(1u, 1, 2, Where::here());
    }
  });
  CHECK(contains(differing, "but thread 1 is in shuffle_xor"));
  const std::string short_block = report([] { shuffle_xor(1u, 1, wave_size, Where::here()); }, 0, 8);
  CHECK(contains(short_block, "but the block has no thread 8"));
}

TEST_CASE("executor: a shuffle of the wrong width") {
  const auto with_width = [](int width, int distance) {
    return report([=] { shuffle_xor(1u, distance, width, Where::here()); });
  };
  CHECK(with_width(16, 8) == "");
  CHECK(contains(with_width(16, 16), "shuffle_xor of width 16 reads lane"));
  CHECK(contains(with_width(24, 1), "shuffle_xor of width 24 in a wave of " + std::to_string(wave_size)));
  CHECK(contains(with_width(2 * wave_size, 1), "in a wave of"));
  CHECK(contains(report([] { shuffle_from(1u, 8, 8, Where::here()); }), "shuffle_from of width 8 reads lane"));
  // Too narrow is no error, but gives the sum of too few.
  float sum = 0;
  report([&] { sum = combine_lanes<Sum>(1.0f, wave_size / 2); });
  CHECK(sum == wave_size / 2);
}

TEST_CASE("executor: shuffles pass values of any size, in every width") {
  struct Pair {
    double value;
    std::int16_t index;
  };
  for (int width = 2; width <= wave_size; width *= 2) {
    std::vector<Pair> found(threads);
    CHECK(report([&] {
            const int mine = thread_index();
            const Pair pair{mine * 0.5, static_cast<std::int16_t>(mine)};
            found[static_cast<std::size_t>(mine)] = shuffle_xor(pair, width / 2, width, Where::here());
          }) == "");
    for (int i = 0; i < threads; ++i) {
      CHECK(found[static_cast<std::size_t>(i)].value == (i ^ width / 2) * 0.5);
      CHECK(found[static_cast<std::size_t>(i)].index == (i ^ width / 2));
    }
  }
}

TEST_CASE("executor: shared memory begins as NaN in every block, and has an end") {
  bool all_nan = true;
  CHECK(report(
            [&] {
              SharedMemory shared;
              float* tile = shared.take<float>(threads);
              all_nan = all_nan && std::isnan(tile[thread_index()]);
              tile[thread_index()] = 1;
            },
            shared_bytes<float>(threads), threads, 3) == "");
  CHECK(all_nan);
  const std::string taken = report([] { SharedMemory().take<float>(9); }, 32, 1);
  CHECK(contains(taken, "thread 0: takes 48 bytes of shared memory, but the launch asked for 32"));
  const std::string overrun = report([] { dynamic_shared()[33] = 0; }, 32, 1);
  CHECK(contains(overrun, "block 0: wrote past the 32 bytes of shared memory"));
  CHECK(contains(report([] {}, 1 << 20), "1048576 bytes of shared memory, of 49152"));
}

TEST_CASE("executor: vector accesses are aligned") {
  alignas(16) float memory[8] = {};
  CHECK(report([&] { load_global<16>(memory + 4); }) == "");
  CHECK(contains(report([&] { load_global<16>(memory + 1); }), "accesses 16 bytes at an address"));
}

TEST_CASE("executor: grids, blocks and atomic additions") {
  std::set<std::pair<std::int64_t, int>> seen;
  int count = 0;
  CHECK(report(
            [&] {
              seen.insert({block_index(), thread_index()});
              atomic_add(&count, 1);
              CHECK(block_count() == 3);
              CHECK(block_threads() == 96);
            },
            0, 96, 3) == "");
  CHECK(seen.size() == 3 * 96);
  CHECK(count == 3 * 96);
  CHECK(contains(report([] {}, 0, 2048), "a grid of 1 blocks of 2048 threads"));
  CHECK(contains(report([] {}, 0, 1, 0), "a grid of 0 blocks"));
}

TEST_CASE("executor: clusters run in an order of the seed where threads do not run forward, and a failure says which") {
  const simt::Device before = simt::device();
  const auto clusters = [](simt::Order order, std::uint32_t seed) {
    simt::device().order = order;
    simt::device().seed = seed;
    std::vector<std::int64_t> seen;
    const auto note = [&] {
      if (thread_index() == 0 && cluster_rank() == 0) seen.push_back(block_index());
    };
    CHECK(report(note, 0, threads, 16, 2) == "");
    return seen;
  };
  const std::vector<std::int64_t> ascending = {0, 2, 4, 6, 8, 10, 12, 14};
  for (const simt::Order order : {simt::Order::forward, simt::Order::ahead}) CHECK(clusters(order, 3) == ascending);
  for (const simt::Order order : {simt::Order::reverse, simt::Order::shuffled}) {
    std::vector<std::int64_t> random = clusters(order, 3);
    CHECK(random != ascending);
    CHECK(random == clusters(order, 3));
    CHECK(random != clusters(order, 4));
    std::sort(random.begin(), random.end());
    CHECK(random == ascending);
    CHECK(contains(report([] { simt::fail("of no use"); }, 0, threads, 16, 2), ": of no use (blocks in the order of seed 4)"));
  }
  simt::device() = before;
}

TEST_CASE("executor: ahead, a wave goes as far as it can before the next one begins") {
  const simt::Device before = simt::device();
  simt::device().order = simt::Order::ahead;
  std::vector<int> waves;
  const auto kernel = [&] {
    for (int step = 0; step < 3; ++step) {
      if (thread_index() % wave_size == 0) waves.push_back(thread_index() / wave_size);
      wave_barrier();
    }
  };
  CHECK(report(kernel, 0, 2 * wave_size) == "");
  simt::device() = before;
  CHECK(waves == std::vector<int>{0, 0, 0, 1, 1, 1});
}

TEST_CASE("executor: the environment names the order that a thread's device begins with") {
  const auto begun = [](const char* name) {
    std::string text;
    setenv("KGEN_SIMT_ORDER", name, 1);
    std::thread([&] {
      try {
        text = std::to_string(static_cast<int>(simt::device().order));
      } catch (const simt::Error& error) {
        text = error.what();
      }
    }).join();
    unsetenv("KGEN_SIMT_ORDER");
    return text;
  };
  CHECK(begun("forward") == std::to_string(static_cast<int>(simt::Order::forward)));
  CHECK(begun("reverse") == std::to_string(static_cast<int>(simt::Order::reverse)));
  CHECK(begun("shuffled") == std::to_string(static_cast<int>(simt::Order::shuffled)));
  CHECK(begun("ahead") == std::to_string(static_cast<int>(simt::Order::ahead)));
  CHECK(begun("backward") == "KGEN_SIMT_ORDER is 'backward'; it can be forward, reverse, shuffled or ahead");
}

TEST_CASE("executor: after an error, it runs on") {
  for (int i = 0; i < 3; ++i) {
    CHECK(report([] {
            if (thread_index() == 1) return;
            const BlockPhase phase;
          }) != "");
    CHECK(block_sum(true) == threads * (threads - 1) / 2);
  }
}

TEST_CASE("executor: kernels that are launched early wait before they access memory, and before they leave") {
  static float memory[4] = {1, 2, 3, 4};
  const auto early = [](auto kernel) -> std::string {
    try {
      launch_early(Grid{"early", 3, 64}, Stream{}, +kernel);
    } catch (const simt::Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(early([] {
          take_turn();
          load_global<4>(memory);
        }) == "");
  CHECK(contains(early([] {
                   load_global<4>(memory);
                   take_turn();
                 }),
                 ": accesses memory before it has awaited what is ahead"));
  simt::device().lasts = [](const void* address) { return address == memory; };
  CHECK(early([] {
          load_global<4>(memory);
          take_turn();
        }) == "");
  CHECK(contains(early([] {
                   load_global<4>(memory + 1);
                   take_turn();
                 }),
                 ": accesses memory before"));
  simt::device().lasts = nullptr;
  CHECK(contains(early([] {
                   store_global(memory, Block<4>{});
                   take_turn();
                 }),
                 ": accesses memory before"));
  CHECK(contains(early([] {
                   if (thread_index() == 33) return;
                   take_turn();
                 }),
                 ": thread 33 leaves without having awaited"));
  launch(Grid{"in its turn", 1, 64}, Stream{}, +[] { load_global<4>(memory); });
}

TEST_CASE("launches name the stub and the kernel") {
  const auto kernel = +[](int leaving) {
    if (thread_index() == leaving) return;
    const BlockPhase phase;
  };
  Stream stream;
  stream.stub = "stub_y";
  CHECK_THROWS_WITH_AS(launch(Grid{"rows", 1, 64}, stream, kernel, 3),
                       doctest::Contains("stub_y: rows: block 0: thread 0 waits at the barrier"), simt::Error);
}

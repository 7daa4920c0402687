// Threads that share work: every part once, whoever comes, from any thread, nested and after a fork.
#include "kgen/cpu/parallel.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

using namespace kgen;
using namespace kgen::cpu;

namespace {

// How often each part was done.
std::vector<int> visits_of(int threads) {
  std::vector<std::atomic<int>> counts(static_cast<std::size_t>(threads));
  parallel(threads, [&](Team team) { counts[static_cast<std::size_t>(team.rank)].fetch_add(1); });
  return {counts.begin(), counts.end()};
}

}  // namespace

TEST_CASE("every part is done once, in one call after the other") {
  for (int call = 0; call < 3000; ++call) {
    const int threads = 1 + call % 7;
    REQUIRE(visits_of(threads) == std::vector<int>(static_cast<std::size_t>(threads), 1));
  }
}

TEST_CASE("every number is given once, whatever each takes") {
  for (std::int64_t count : {0, 1, 2, 3, 1000}) {
    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
    parallel_for(3, count, [&](std::int64_t i) {
      volatile int spin = i % 5 == 0 ? 20000 : 0;
      while (spin > 0) spin = spin - 1;
      visits[static_cast<std::size_t>(i)].fetch_add(1);
    });
    for (const auto& each : visits) CHECK(each == 1);
  }
}

TEST_CASE("parts that meet see what the others did before") {
  for (int call = 0; call < 300; ++call) {
    constexpr int threads = 4, meetings = 5;
    int said[meetings][threads] = {};
    std::atomic<int> wrong{0};
    parallel(threads, [&](Team team) {
      for (auto& meeting : said) {
        meeting[team.rank] = call + 1;
        team.barrier();
        for (int other : meeting) wrong += other != call + 1;
      }
    });
    REQUIRE(wrong == 0);
  }
}

// Beyond 32 helpers several are woken by one bit. Were one that is wanted left asleep, its parts would meet nobody.
TEST_CASE("helpers that slept through jobs for fewer threads come to those for more") {
  for (int call = 0; call < 60; ++call) {
    constexpr int sizes[] = {2, 40, 3, 2, 36, 2, 33, 5};
    const int threads = sizes[call % 8];
    std::atomic<int> came{0}, met{0};
    parallel(threads, [&](Team team) {
      ++came;
      team.barrier();
      met += came == threads;
    });
    REQUIRE(met == threads);
    if (call % 3 != 0) std::this_thread::sleep_for(std::chrono::nanoseconds(2 * spin_ns));
  }
}

TEST_CASE("a part that runs kernels runs them alone") {
  parallel(3, [](Team) {
    CHECK(threads_for(Stream{8}, std::int64_t{1} << 40) == 1);
    parallel(4, [](Team team) { CHECK(team.size == 1); });
  });
  CHECK(threads_for(Stream{8}, std::int64_t{1} << 40) == 8);
}

TEST_CASE("several threads call kernels at the same time, and end") {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int call = 0; call < 500; ++call) wrong += visits_of(3) != std::vector<int>(3, 1);
    });
  }
  for (std::thread& each : callers) each.join();
  CHECK(wrong == 0);
}

TEST_CASE("a child that was forked has helpers of its own") {
  REQUIRE(visits_of(3) == std::vector<int>(3, 1));
  const pid_t child = ::fork();
  if (child == 0) {
    parallel(3, [&](Team team) { team.barrier(); });  // would wait for ever for the parent's
    ::_exit(visits_of(3) == std::vector<int>(3, 1) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("helpers whose cores are busy do their parts, and get back where they may run") {
  std::atomic<bool> ends{false};
  std::vector<std::thread> neighbours;
  for (int i = 0; i < 2 * Pool::processors(); ++i) {
    neighbours.emplace_back([&] {
      while (!ends.load()) relax();
    });
  }
  const int threads = std::clamp(Pool::processors(), 2, 4);
  std::atomic<int> wrong{0};
  for (const std::int64_t end = now_ns() + 300000000; now_ns() < end;) {
    std::atomic<int> before{0};
    parallel(threads, [&](Team team) {
      for (const std::int64_t begin = now_ns(); now_ns() - begin < 200000;) relax();
      before.fetch_add(1);
      team.barrier();
      wrong += before.load() != team.size;
    });
    wrong += visits_of(threads) != std::vector<int>(static_cast<std::size_t>(threads), 1);
  }
  ends.store(true);
  for (std::thread& each : neighbours) each.join();
  CHECK(wrong == 0);
  cpu_set_t own;
  REQUIRE(::sched_getaffinity(0, sizeof(own), &own) == 0);
  parallel(threads, [&](Team team) {
    team.barrier();  // so that each has one part
    cpu_set_t processors;
    wrong += ::sched_getaffinity(0, sizeof(processors), &processors) != 0;
    wrong += CPU_COUNT(&processors) < CPU_COUNT(&own) - 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("a helper that came too late for the last part of a job is not taken for one that does it") {
  const int threads = std::clamp(Pool::processors(), 2, 4);
  Pool& pool = Pool::mine();
  for (int call = 0; call < 20000; ++call) {
    parallel(threads, [&](Team) {
      for (volatile int spin = call % 64; spin > 0;) spin = spin - 1;
    });
    // Those who are about to look for a part find that there is none, however long other work holds them up.
    for (const std::int64_t begin = now_ns(); pool.helpers_at_work() != 0 && now_ns() - begin < 30000000000;) {
      ::sched_yield();
    }
    REQUIRE(pool.helpers_at_work() == 0);
  }
}

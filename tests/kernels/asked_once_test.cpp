// What is asked once of the vendor's library, with no such library.
#include "kgen/gpu/asked_once.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace kgen::gpu;

TEST_CASE("asked_once: one question for each kernel on each device") {
  AskedOnce<int> known;
  const int kernels[2] = {};
  int questions = 0;
  for (int i = 0; i < 3; ++i) {
    for (int device = 0; device < 2; ++device) {
      CHECK(known({device}, [&] { return ++questions, device; }) == device);
      for (const int& kernel : kernels)
        CHECK(known({device, &kernel}, [&] { return ++questions, device + 7; }) == device + 7);
    }
  }
  CHECK(questions == 6);
}

TEST_CASE("asked_once: again where the answer is not enough, or there was none") {
  AskedOnce<int> known;
  int questions = 0;
  const auto granted = [&](int wanted) {
    return known(
        {0}, [&](int answer) { return wanted <= answer; }, [&] { return ++questions, wanted; });
  };
  CHECK(granted(5) == 5);
  CHECK(granted(3) == 5);
  CHECK(granted(9) == 9);
  CHECK(granted(5) == 9);
  CHECK(questions == 2);
  CHECK_THROWS_AS(known({1}, []() -> int { throw std::runtime_error("no such device"); }), std::runtime_error);
  CHECK(known({1}, [] { return 4; }) == 4);
}

TEST_CASE("asked_once: threads that ask together") {
  AskedOnce<int> known;
  std::atomic<int> questions = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) {
        const int device = round % 10;
        if (known({device}, [&] { return ++questions, device; }) != device) ++wrong;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(questions == 10);
  CHECK(wrong == 0);
}

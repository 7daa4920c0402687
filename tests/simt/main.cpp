// Runs the cases in each order in which the executor lets the threads of a block run: all of them once, and in the other
// orders all but a few that go over many sizes and types of what smaller ones go over too. Where the environment names
// an order (KGEN_SIMT_ORDER), in that one alone. Says of a failure which order it was, and which seed (KGEN_SIMT_SEED).
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>

#include "kgen/simt/executor.hpp"

using kgen::simt::Order;

namespace {

const char* name_of(Order order) {
  switch (order) {
    case Order::forward:
      return "forward";
    case Order::reverse:
      return "reverse";
    case Order::shuffled:
      return "shuffled";
    case Order::ahead:
      break;
  }
  return "ahead";
}

int run(int argc, char** argv, Order order, const char* without, bool& stop) {
  const std::uint32_t seed = kgen::simt::device().seed;
  kgen::simt::device() = {};
  kgen::simt::device().order = order;
  kgen::simt::device().seed = seed;
  doctest::Context context(argc, argv);
  if (without != nullptr) context.addFilter("test-case-exclude", without);
  const int failed = context.run();
  if (failed != 0) std::cerr << "failed with KGEN_SIMT_ORDER=" << name_of(order) << " KGEN_SIMT_SEED=" << seed << '\n';
  stop = context.shouldExit();
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  bool stop = false;
  if (std::getenv("KGEN_SIMT_ORDER") != nullptr) {
    const Order order = kgen::simt::device().order;
    return run(argc, argv, order, nullptr, stop) == 0 ? 0 : 1;
  }
  int failed = 0;
  for (const Order order : {Order::forward, Order::reverse, Order::shuffled, Order::ahead}) {
    const char* without = order == Order::forward ? nullptr : "*every float type*";
    failed += run(argc, argv, order, without, stop);
    if (stop) break;
  }
  return failed == 0 ? 0 : 1;
}

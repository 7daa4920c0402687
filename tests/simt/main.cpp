// Runs the cases in each order in which the executor lets the threads of a block run: all of them once, and in the other
// orders all but a few that go over many sizes and types of what smaller ones go over too. Where the environment names an
// order (KGEN_SIMT_ORDER), in that one alone.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#include "kgen/simt/executor.hpp"

using kgen::simt::Order;

namespace {

int run(int argc, char** argv, Order order, const char* without, bool& stop) {
  kgen::simt::device() = {};
  kgen::simt::device().order = order;
  doctest::Context context(argc, argv);
  if (without != nullptr) context.addFilter("test-case-exclude", without);
  const int failed = context.run();
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

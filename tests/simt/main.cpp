// Runs the cases in each order in which the executor lets the threads of a block run: all of them once, and in the other
// orders all but a few that go over many sizes and types of what smaller ones go over too.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "kgen/simt/executor.hpp"

int main(int argc, char** argv) {
  using kgen::simt::Order;
  int failed = 0;
  for (const Order order : {Order::forward, Order::reverse, Order::shuffled}) {
    kgen::simt::device() = {};
    kgen::simt::device().order = order;
    doctest::Context context(argc, argv);
    if (order != Order::forward) context.addFilter("test-case-exclude", "*every float type*,more rows and columns*");
    failed += context.run();
    if (context.shouldExit()) break;
  }
  return failed == 0 ? 0 : 1;
}

// Runs all cases once for each order in which the executor lets the threads of a block run.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "kgen/simt/executor.hpp"

int main(int argc, char** argv) {
  using kgen::simt::Order;
  int failed = 0;
  for (const Order order : {Order::forward, Order::reverse, Order::shuffled}) {
    kgen::simt::device().order = order;
    doctest::Context context(argc, argv);
    failed += context.run();
    if (context.shouldExit()) break;
  }
  return failed == 0 ? 0 : 1;
}

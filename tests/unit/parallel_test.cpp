#include "generator/base/parallel.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

using namespace kgen;

TEST_CASE("stretches cover the numbers once, in order, however many there are") {
  for (const std::size_t count : {0, 1, 1023, 1024, 2049, 100000}) {
    CAPTURE(count);
    const auto numbers = concatenated(in_stretches(count, [](std::size_t begin, std::size_t end) {
      std::vector<std::size_t> some(end - begin);
      std::iota(some.begin(), some.end(), begin);
      return some;
    }));
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    CHECK(numbers == all);
  }
  CHECK(in_stretches(2 * least_things_of_thread - 1, [](std::size_t, std::size_t end) { return end; }).size() == 1);
}

TEST_CASE("what a stretch throws its caller catches") {
  const auto fail_at_the_end = [](std::size_t, std::size_t end) {
    if (end == 100000) throw std::runtime_error("the last stretch");
    return end;
  };
  CHECK_THROWS_WITH(in_stretches(100000, fail_at_the_end), "the last stretch");
}

#include "generator/base/ensure.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace kgen;

TEST_CASE("ensure: what does not hold stops kgen in every build, and says where") {
  CHECK_NOTHROW(ensure(true, "one is one"));
  std::string text;
  try {
    ensure(false, "every symbol is bound");
  } catch (const InternalError& error) {
    text = error.what();
  }
  CHECK(text.starts_with("ensure_test.cpp:13: this does not hold: every symbol is bound"));
}

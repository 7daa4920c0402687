#include <dlfcn.h>
#include <doctest/doctest.h>

#include <string>

#include "kgen/runtime/device.hpp"

namespace {

// Null where the library that records has not been loaded.
const char* recorded() {
  void* library = dlopen("libroctx64.so.4", RTLD_LAZY | RTLD_NOLOAD);
  void* calls = library != nullptr ? dlsym(library, "recorded_calls") : nullptr;
  return calls != nullptr ? reinterpret_cast<const char* (*)()>(calls)() : nullptr;
}

void push_and_pop() {
  kgen::hip::device.push_range("small");
  kgen::hip::device.push_range("stub_first");
  kgen::hip::device.pop_range();
  kgen::hip::device.pop_range();
}

}  // namespace

TEST_CASE("HIP's ranges are recorded by a roctx that the program is not linked with") {
  push_and_pop();
  REQUIRE(recorded() != nullptr);
  CHECK(std::string(recorded()) == "push small\npush stub_first\npop\npop\n");
}

TEST_CASE("A missing roctx is none of HIP's ranges' business") {
  push_and_pop();
  CHECK(recorded() == nullptr);
}

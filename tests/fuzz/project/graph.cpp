// Graphs: whatever the text is, it is loaded and typed, or there is a message.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/project/common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kgen::fuzz::read_graph({reinterpret_cast<const char*>(data), size});
  return 0;
}

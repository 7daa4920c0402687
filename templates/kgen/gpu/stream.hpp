// Where a kernel runs on a GPU. Calls return when the work is queued; a launch that fails throws LaunchError.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "kgen/platform.hpp"

namespace kgen {

struct Stream {
#if defined(KGEN_SIMT)
  int handle = 0;  // of no meaning: the executor has run a kernel when its launch returns
#else
  void* handle = nullptr;  // a cudaStream_t or hipStream_t of the current device
#endif
  const char* stub = "kernel";  // whose launches these are, for messages
  // Memory for what is launched next on this stream, until someone asks again: workspace(owner, bytes). Null where there
  // is none to be had, as the function may be: stubs then allocate theirs.
  void* (*workspace)(void* owner, std::int64_t bytes) = nullptr;
  void* owner = nullptr;
};

// "stub_y: launching rows of 128 blocks of 256 threads failed: ...".
class LaunchError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace kgen

// Where a kernel runs. On the CPU calls return when the work is done, and a stream is nothing but a number of threads.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/stream.hpp"
#else

namespace kgen {

struct Stream {
  int threads = 0;  // 0: as many as OpenMP would use
  // Where not null, kernels that read much call it whenever one of their threads has read another few MB: while a model is
  // loaded, what was read of a file leaves memory again. It may be called by several threads at a time.
  void (*has_read)(void* owner) = nullptr;
  void* owner = nullptr;
};

}  // namespace kgen

#endif

// Where a kernel runs. On the CPU calls return when the work is done, and a stream is nothing but a number of threads;
// on a GPU it is the vendor's. The same for every target, since the runtime makes it and stubs of any target take it.
#pragma once

namespace kgen {

struct Stream {
  int threads = 0;         // CPU; 0: as many as OpenMP would use
  void* native = nullptr;  // GPU: cudaStream_t or hipStream_t; null: the default stream
};

}  // namespace kgen

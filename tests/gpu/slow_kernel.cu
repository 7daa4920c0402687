#include <cuda_runtime.h>

#include "tests/gpu/slow_kernel.hpp"

namespace {

__global__ void wait_and_add(long long nanoseconds, const int* from, int add, int* to) {
  const auto now = [] {
    long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
  };
  for (const long long begin = now(); now() - begin < nanoseconds;) __nanosleep(500);
  *to = *static_cast<const volatile int*>(from) + add;
}

__global__ void do_nothing() {}

__global__ void write_to(int* address) { *address = 1; }

}  // namespace

void add_slowly(int microseconds, const int* from, int add, int* to, void* stream) {
  wait_and_add<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(microseconds * 1000LL, from, add, to);
}

void launch_too_wide(int threads, void* stream) { do_nothing<<<1, threads, 0, static_cast<cudaStream_t>(stream)>>>(); }

void write_nowhere(void* stream) {
  write_to<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(reinterpret_cast<int*>(64));
}

// Kernels of the runtime's test on a GPU.
#pragma once

#include <cstdint>

// Queues, on a cudaStream_t, a single thread that lets `microseconds` pass and then stores *from + add in *to.
void add_slowly(int microseconds, const int* from, int add, int* to, void* stream);

// Queues a kernel of `threads` threads a block, more than a device takes; the error stays with the thread.
void launch_too_wide(int threads, void* stream);

// Queues a kernel that writes where nothing is: every later call on the device fails.
void write_nowhere(void* stream);

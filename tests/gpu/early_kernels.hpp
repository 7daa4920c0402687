// Kernels of the test of early launches.
#pragma once

#include <cstdint>

enum class Begin { early, in_turn };

// Queues, on a cudaStream_t, a kernel that lets some microseconds pass and then stores `value` in `to`.
void fill_slowly(std::int32_t* to, int count, std::int32_t value, Begin begin, void* stream);

// The same in memory of its own, allocated and freed in the stream's order; how much of it is not `value` then is added
// to *wrong.
void fill_and_count_in_workspace(int count, std::int32_t value, std::int32_t* wrong, void* stream);

// Queues a kernel that is launched early and adds to *wrong how many elements of `from` are not `value`.
void count_others(const std::int32_t* from, int count, std::int32_t value, std::int32_t* wrong, void* stream);

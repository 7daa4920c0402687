// In place of a profiler: keeps the names of the NVTX ranges that this program begins.
#pragma once

#include <string>
#include <vector>

// Those begun since the last call, and how many of them have not ended.
struct NvtxRanges {
  std::vector<std::string> begun;
  int open = 0;
};
NvtxRanges take_nvtx_ranges();

// The caches of the machine that runs the code.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace kgen::cpu {

// Bytes of one core's first and second level, and of the last level, which cores share.
struct Caches {
  std::int64_t first, second, last;
};

// Read once. Where the system does not say, what small cores have.
inline const Caches& caches() {
  static const Caches found = [] {
    const auto bytes = [](int name, std::int64_t otherwise) {
      const long answer = ::sysconf(name);
      return answer > 0 ? std::int64_t{answer} : otherwise;
    };
    const std::int64_t first = bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
    const std::int64_t second = bytes(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
    return Caches{first, second, std::max(second, bytes(_SC_LEVEL3_CACHE_SIZE, 4 << 20))};
  }();
  return found;
}

}  // namespace kgen::cpu

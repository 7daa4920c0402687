// The caches of the machine that runs the code.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace kgen::cpu {

// Bytes of one core's first and second level, and of the last level, which so many processors share.
struct Caches {
  std::int64_t first, second, last, sharers;

  // What so many threads have of the last level while the other processors are busy, too.
  std::int64_t last_of(std::int64_t threads) const { return last / sharers * std::min(threads, sharers); }
  // What so many threads may prepare together and find near when they read it again: so much of the last level, or
  // their second ones, where these are more.
  std::int64_t near(std::int64_t threads) const { return std::max(last_of(threads), second * threads); }
};

#if defined(__x86_64__)
// What the instruction answers in eax to edx. Its header is left out for its many macros.
struct ProcessorAnswer {
  std::uint32_t a, b, c, d;

  ProcessorAnswer(std::uint32_t leaf, std::uint32_t level) {
    asm volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(leaf), "c"(level));
  }
};
#endif

// The last-level cache as the processor describes it, whose bytes sysconf adds up over all its parts on some; zeros: it
// does not. The processors that share it are rounded up, and those that a virtual machine does not have count, too.
struct LastLevel {
  std::int64_t bytes = 0, sharers = 0;
};
inline LastLevel last_level() {
  LastLevel last;
#if defined(__x86_64__)
  for (const std::uint32_t leaf : {4u, 0x8000001du}) {  // Intel's, and AMD's
    if (ProcessorAnswer(leaf & 0x80000000u, 0).a < leaf) continue;
    for (std::uint32_t level = 0; level < 8; ++level) {
      const ProcessorAnswer of(leaf, level);
      if ((of.a & 31) == 0) break;
      const std::int64_t ways = (of.b >> 22) + 1, partitions = (of.b >> 12 & 1023) + 1, line = (of.b & 4095) + 1;
      const std::int64_t bytes = ways * partitions * line * (std::int64_t{of.c} + 1);
      if (bytes > last.bytes) last = {bytes, (of.a >> 14 & 4095) + 1};
    }
  }
#endif
  return last;
}

// Read once. Where the system does not say, what small cores have.
inline const Caches& caches() {
  static const Caches found = [] {
    const auto bytes = [](int name, std::int64_t otherwise) {
      const long answer = ::sysconf(name);
      return answer > 0 ? std::int64_t{answer} : otherwise;
    };
    const std::int64_t first = bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
    const std::int64_t second = bytes(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
    const LastLevel said = last_level();
    const std::int64_t last = said.bytes > 0 ? said.bytes : bytes(_SC_LEVEL3_CACHE_SIZE, 4 << 20);
    const std::int64_t processors = bytes(_SC_NPROCESSORS_ONLN, 1);
    const std::int64_t sharers = said.sharers > 0 ? std::min(said.sharers, processors) : processors;
    return Caches{first, second, std::max(second, last), sharers};
  }();
  return found;
}

}  // namespace kgen::cpu

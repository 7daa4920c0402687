// Suppression on a GPU: a block for each line. What stays is found one after the other, and what it suppresses by all
// threads at once.
#pragma once

#include "kgen/boxes.hpp"
#include "kgen/gpu/block.hpp"
#include "kgen/gpu/launch.hpp"

namespace kgen::gpu {

inline constexpr int suppress_threads = 256;

// suppressed: [lines, N]; all threads of a block see the same of it behind each phase, and so go the same way.
template <class Corner, class Score>
KGEN_GLOBAL(suppress_threads, 4)
suppress_kernel(Suppression<Corner, Score> work, unsigned char* suppressed) {
  take_turn();
  const std::int64_t candidates = work.order.extent(2), most = work.out.extent(2);
  for (std::int64_t line = block_index(); line < work.lines(); line += block_count()) {
    unsigned char* const flags = suppressed + line * candidates;
    {
      const BlockPhase clearing;
      for (std::int64_t i = thread_index(); i < candidates; i += block_threads()) flags[i] = 0;
    }
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < candidates && count < most; ++i) {
      const std::int64_t candidate = work.candidate(line, i);
      if (flags[i] != 0 || !work.is_wanted(line, candidate)) continue;
      if (thread_index() == 0) work.give(line, count, candidate);
      ++count;
      const Rectangle box = work.box(line, candidate);
      const BlockPhase suppressing;
      for (std::int64_t j = i + 1 + thread_index(); j < candidates; j += block_threads()) {
        if (overlaps(box, work.box(line, work.candidate(line, j)), work.iou_threshold)) flags[j] = 1;
      }
    }
    for (std::int64_t i = count + thread_index(); i < most; i += block_threads()) work.give(line, i, -1);
  }
}

template <class Corner, class Score>
void suppress(const Suppression<Corner, Score>& work, Stream stream) {
  const Workspace memory(work.lines() * work.order.extent(2), stream);
  const Grid grid{"suppress", blocks_for(work.lines(), suppress_threads), suppress_threads, 0};
  launch_early(grid, stream, suppress_kernel<Corner, Score>, work, memory.data());
}

}  // namespace kgen::gpu

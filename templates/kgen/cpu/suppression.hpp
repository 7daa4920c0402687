// Suppression on the CPU: a thread for each line.
#pragma once

#include <algorithm>

#include "kgen/boxes.hpp"
#include "kgen/cpu/parallel.hpp"
#include "kgen/cpu/scratch.hpp"

namespace kgen::cpu {

// `kept` has room for all that may stay.
template <class Corner, class Score>
void suppress_line(const Suppression<Corner, Score>& work, std::int64_t line, Rectangle* kept) {
  const std::int64_t candidates = work.order.extent(2), most = work.out.extent(2);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < candidates && count < most; ++i) {
    const std::int64_t candidate = work.candidate(line, i);
    if (!work.is_wanted(line, candidate)) continue;
    const Rectangle box = work.box(line, candidate);
    const auto suppresses = [&](const Rectangle& other) { return overlaps(other, box, work.iou_threshold); };
    if (std::any_of(kept, kept + count, suppresses)) continue;
    kept[count] = box;
    work.give(line, count++, candidate);
  }
  for (; count < most; ++count) work.give(line, count, -1);
}

template <class Corner, class Score>
void suppress(const Suppression<Corner, Score>& work, Stream stream) {
  const std::int64_t candidates = work.order.extent(2), most = std::min(work.out.extent(2), candidates);
  const std::int64_t wanted = threads_for(stream, work.lines() * candidates * 16);
  parallel(static_cast<int>(std::min(wanted, work.lines())), [&](Team team) {
    Rectangle* const kept = scratch<Rectangle>(0, most);
    const Range part = team.part(work.lines());
    for (std::int64_t line = part.begin; line < part.end; ++line) suppress_line(work, line, kept);
  });
}

}  // namespace kgen::cpu

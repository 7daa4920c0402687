// Boxes that others do not suppress.
#pragma once

#include <cassert>

#include "kgen/boxes.hpp"
#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/suppression.hpp"
#else
#include "kgen/cpu/suppression.hpp"
#endif
#include "kgen/introspect.hpp"

namespace kgen {

// For each batch and class the boxes with a score above the threshold, from the highest score on, without those whose
// intersection with one before them is more than `iou_threshold` of their union; -1 behind the last of them. Computed in
// f32. `order` says in which order each line of scores comes. On the CPU a thread, on a GPU a block for each line: O(N
// times those that stay).
template <Float Corner, Float Score>
KGEN_KERNEL(greedy_suppression)
void greedy_suppression(const View<const Corner, 3>& boxes, const View<const Score, 3>& scores,
                        const View<const std::int64_t, 3>& order, bool center_point_box, double iou_threshold,
                        double score_threshold, const View<std::int64_t, 3>& out, Stream stream = {}) {
  assert(boxes.extent(2) == 4);
  const Suppression<Corner, Score> work{
      boxes, scores, order, center_point_box, static_cast<float>(iou_threshold), static_cast<float>(score_threshold),
      out};
  if (element_count(out.shape()) > 0) target::suppress(work, stream);
}

}  // namespace kgen

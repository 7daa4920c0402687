// Boxes and how they overlap, on every target.
#pragma once

#include <cstdint>

#include "kgen/platform.hpp"
#include "kgen/view.hpp"

namespace kgen {

// A box by its lower and its upper corner.
struct Rectangle {
  float low[2], high[2];

  KGEN_FN float area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

// From two opposite corners [y, x, y, x], or from [x, y, width, height] of which the first two are the centre.
template <class T>
KGEN_FN Rectangle box_at(const View<const T, 3>& boxes, std::int64_t batch, std::int64_t number, bool center) {
  float n[4];
  KGEN_UNROLL
  for (int i = 0; i < 4; ++i) n[i] = static_cast<float>(boxes.template load<1>(Index<3>{batch, number, i}).data);
  Rectangle box;
  KGEN_UNROLL
  for (int i = 0; i < 2; ++i) {
    const float half = n[i + 2] / 2;
    const float a = center ? n[i] - half : n[i], b = center ? n[i] + half : n[i + 2];
    box.low[i] = a < b ? a : b;
    box.high[i] = a < b ? b : a;
  }
  return box;
}

// Whether the boxes' intersection is more than `threshold` times their union; that of boxes without area is not.
KGEN_FN bool overlaps(const Rectangle& a, const Rectangle& b, float threshold) {
  float common = 1;
  KGEN_UNROLL
  for (int i = 0; i < 2; ++i) {
    const float low = a.low[i] > b.low[i] ? a.low[i] : b.low[i], high = a.high[i] < b.high[i] ? a.high[i] : b.high[i];
    common *= high > low ? high - low : 0.0f;
  }
  const float together = a.area() + b.area() - common;
  return together > 0 && common / together > threshold;
}

// What a suppression reads and writes. order: of each line of scores, the boxes from the highest score on.
template <class Corner, class Score>
struct Suppression {
  View<const Corner, 3> boxes;         // [B, N, 4]
  View<const Score, 3> scores;         // [B, C, N]
  View<const std::int64_t, 3> order;   // [B, C, N]
  bool center;
  float iou_threshold, score_threshold;
  View<std::int64_t, 3> out;           // [B, C, most]

  KGEN_FN std::int64_t lines() const { return scores.extent(0) * scores.extent(1); }
  KGEN_FN std::int64_t candidate(std::int64_t line, std::int64_t i) const {
    return order.template load<1>(at(line, i)).data;
  }
  KGEN_FN bool is_wanted(std::int64_t line, std::int64_t candidate) const {
    return static_cast<float>(scores.template load<1>(at(line, candidate)).data) > score_threshold;
  }
  KGEN_FN Rectangle box(std::int64_t line, std::int64_t candidate) const {
    return box_at(boxes, line / scores.extent(1), candidate, center);
  }
  KGEN_FN void give(std::int64_t line, std::int64_t place, std::int64_t candidate) const {
    out.store(at(line, place), Vec<std::int64_t, 1>(candidate));
  }

 private:
  KGEN_FN Index<3> at(std::int64_t line, std::int64_t i) const {
    return {line / scores.extent(1), line % scores.extent(1), i};
  }
};

}  // namespace kgen

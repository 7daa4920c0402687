// Suppression against the plain rule, in doubles: classes and batches, limits, boxes by corners and by centres, NaN.
#include "kgen/suppression.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Corners {
  double low[2], high[2];
};

Corners corners_of(const Tensor<float, 3>& boxes, std::int64_t batch, std::int64_t number, bool center) {
  const auto at = [&](int i) { return element(boxes.view(), Index<3>{batch, number, i}); };
  Corners corners{};
  for (int i = 0; i < 2; ++i) {
    const double a = center ? at(i) - at(i + 2) / 2 : at(i), b = center ? at(i) + at(i + 2) / 2 : at(i + 2);
    corners.low[i] = std::min(a, b);
    corners.high[i] = std::max(a, b);
  }
  return corners;
}

double overlap(const Corners& a, const Corners& b) {
  double common = 1, first = 1, second = 1;
  for (int i = 0; i < 2; ++i) {
    common *= std::max(0.0, std::min(a.high[i], b.high[i]) - std::max(a.low[i], b.low[i]));
    first *= a.high[i] - a.low[i];
    second *= b.high[i] - b.low[i];
  }
  return first + second - common > 0 ? common / (first + second - common) : 0;
}

void check(std::int64_t batches, std::int64_t classes, std::int64_t count, std::int64_t most, bool center, double iou,
           double least) {
  Tensor<float, 3> boxes(Index<3>{batches, count, 4});
  std::mt19937 generator(static_cast<std::uint32_t>(count + most));
  for (float& each : boxes.elements) each = static_cast<float>(generator() % 64) / 16;  // exact in either precision
  Tensor<float, 3> scores(Index<3>{batches, classes, count});
  for (float& each : scores.elements) each = static_cast<float>(generator() % 50) / 50;
  if (scores.elements.size() > 3) scores.elements[2] = not_a_number;
  Tensor<std::int64_t, 3> order(scores.shape), out(Index<3>{batches, classes, most});
  for (std::int64_t line = 0; line < batches * classes; ++line) {
    const auto first = order.elements.begin() + line * count;
    std::iota(first, first + count, 0);
    std::stable_sort(first, first + count, [&](std::int64_t a, std::int64_t b) {
      const float left = scores.elements[static_cast<std::size_t>(line * count + a)];
      const float right = scores.elements[static_cast<std::size_t>(line * count + b)];
      return std::isnan(right) ? false : std::isnan(left) || left > right;
    });
  }
  greedy_suppression(std::as_const(boxes).view(), std::as_const(scores).view(), std::as_const(order).view(), center, iou,
                     least, out.view());
  for (std::int64_t line = 0; line < batches * classes; ++line) {
    std::vector<std::int64_t> kept;
    for (std::int64_t i = 0; i < count && static_cast<std::int64_t>(kept.size()) < most; ++i) {
      const std::int64_t candidate = order.elements[static_cast<std::size_t>(line * count + i)];
      if (!(static_cast<double>(scores.elements[static_cast<std::size_t>(line * count + candidate)]) > least)) continue;
      const Corners box = corners_of(boxes, line / classes, candidate, center);
      const bool stays = std::none_of(kept.begin(), kept.end(), [&](std::int64_t other) {
        return overlap(corners_of(boxes, line / classes, other, center), box) > iou;
      });
      if (stays) kept.push_back(candidate);
    }
    for (std::int64_t i = 0; i < most; ++i) {
      const std::int64_t expected = i < static_cast<std::int64_t>(kept.size()) ? kept[static_cast<std::size_t>(i)] : -1;
      INFO("line ", line, ", place ", i, " of ", count, " boxes");
      REQUIRE(out.elements[static_cast<std::size_t>(line * most + i)] == expected);
    }
  }
}

}  // namespace

TEST_CASE("greedy_suppression: every number of boxes, classes and batches") {
  for (const std::int64_t count : {1, 2, 9, 70, 600}) {
    for (const bool center : {false, true}) {
      check(1, 1, count, count, center, 0.37, -1);
      check(2, 3, count, std::min<std::int64_t>(count, 4), center, 0.07, 0.33);
    }
  }
  check(1, 2, 40, 40, false, 0, -std::numeric_limits<double>::infinity());
  check(1, 2, 40, 40, false, 1, 2);  // nothing is above the threshold
  check(0, 2, 5, 3, false, 0.5, 0);
  check(2, 0, 5, 3, false, 0.5, 0);
  check(2, 2, 0, 0, false, 0.5, 0);
  check(2, 2, 5, 0, false, 0.5, 0);
}

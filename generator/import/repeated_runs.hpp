// Stretches of a sequence that say the same several times, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kgen {

// Elements [begin, end) of a sequence in which element i + period equals element i.
struct RepeatedRun {
  std::size_t begin = 0, end = 0, period = 0;

  bool operator==(const RepeatedRun&) const = default;
};

// The longest stretches of each period of at least `shortest` that occurs between neighbouring equal windows of
// elements, in which a period, or `fewest` elements where that is less, are said again; they may overlap. Those in
// which most is said again come first. Time is linear: the search gives up what is left of it where a sequence is made
// to take more.
std::vector<RepeatedRun> repeated_runs(const std::vector<std::uint64_t>& sequence, std::size_t shortest,
                                       std::size_t fewest = static_cast<std::size_t>(-1));

}  // namespace kgen

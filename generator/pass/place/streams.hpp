// Assigns the groups of a call to streams, so that independent branches may overlap.
//
// A group goes to the first stream whose last group it must wait for anyway, else to an empty stream, else to the one
// that was given work longest ago. It waits for groups of other streams only where nothing that it waits for already
// did. Calls of functions are on stream 0: a function forks from there and joins there. What runs at load is done
// before.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "generator/model/plan.hpp"

namespace kgen {

inline constexpr std::uint32_t most_streams = 4;

// Groups must stand in an order in which they may run. With one stream nothing changes.
FusedGraph assign_streams(FusedGraph fused, std::uint32_t streams);

// Which steps are done when a step begins, given the streams of their groups and what those wait for.
class StepOrder {
 public:
  StepOrder(const std::vector<Group>& groups, const std::vector<Step>& steps);

  std::uint32_t streams() const { return streams_; }
  std::uint32_t stream_of(std::uint32_t step) const { return stream_of_[step]; }
  // Whether step `first` is done when step `second` begins.
  bool before(std::uint32_t first, std::uint32_t second) const {
    return first < clock_[second * streams_ + stream_of_[first]];
  }

 private:
  std::uint32_t streams_ = 1;
  std::vector<std::uint32_t> stream_of_;  // by step
  std::vector<std::uint32_t> clock_;      // by step and stream: the steps of that stream with a lower number are done
};

// The latest step of each stream that did something to a value or a piece of memory; earlier ones are done before
// those.
class Touches {
 public:
  Touches() { latest_.fill(no_id); }

  void add(std::uint32_t step, const StepOrder& order) { latest_[order.stream_of(step)] = step; }
  void add(const Touches& other);
  // Whether all of them are done when `step` begins; those of `step` itself do not count.
  bool all_before(std::uint32_t step, const StepOrder& order) const;

 private:
  std::array<std::uint32_t, most_streams> latest_;  // by stream; no_id: none
};

}  // namespace kgen

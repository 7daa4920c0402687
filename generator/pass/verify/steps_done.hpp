// Which steps are done when another begins, worked out from nothing but the streams of their groups and what those wait
// for. Part of verify.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/model/plan.hpp"

namespace kgen {

class StepsDone {
 public:
  // Of one phase. A wait for a step that comes later, or in the other phase, is none.
  StepsDone(const std::vector<Group>& groups, const std::vector<Step>& steps);

  // Whether step `first` is done when step `second` begins.
  bool before(std::uint32_t first, std::uint32_t second) const {
    const Place& place = places_[first];
    return place.position < done_[second * streams_ + place.stream];
  }
  std::uint32_t stream_of(std::uint32_t step) const { return places_[step].stream; }

 private:
  struct Place {
    std::uint32_t stream = 0;
    std::uint32_t position = 0;  // among the steps of that stream
  };

  void put_after(std::uint32_t step, std::uint32_t earlier);

  std::size_t streams_;
  std::vector<Place> places_;        // by step
  std::vector<std::uint32_t> done_;  // by step and stream: how many steps of that stream are done when it begins
};

// For each of many things, the last step on each stream that did something to it; what came before on that stream is
// done when that is.
class LastSteps {
 public:
  LastSteps(std::size_t things, std::uint32_t streams) : streams_(streams), last_(things * streams, no_id) {}

  void add(std::size_t thing, std::uint32_t step, const StepsDone& order);
  // All that was done to `other` of `from` counts as done to `thing`.
  void add_all(std::size_t thing, const LastSteps& from, std::size_t other);
  // Whether all of it is done when `step` begins; what that step itself does, does not count.
  bool all_before(std::size_t thing, std::uint32_t step, const StepsDone& order) const;
  void clear() { last_.assign(last_.size(), no_id); }

 private:
  std::size_t streams_;
  std::vector<std::uint32_t> last_;  // by thing and stream; no_id: none
};

// How many streams the groups are on.
std::uint32_t count_streams(const std::vector<Group>& groups);

}  // namespace kgen

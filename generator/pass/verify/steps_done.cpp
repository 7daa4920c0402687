#include "generator/pass/verify/steps_done.hpp"

#include <algorithm>

namespace kgen {

std::uint32_t count_streams(const std::vector<Group>& groups) {
  std::uint32_t streams = 1;
  for (const Group& group : groups) streams = std::max(streams, group.stream + 1);
  return streams;
}

StepsDone::StepsDone(const std::vector<Group>& groups, const std::vector<Step>& steps)
    : streams_(count_streams(groups)), done_(steps.size() * streams_, 0) {
  std::vector<std::uint32_t> step_of(groups.size(), no_id);  // by group, once it has run
  std::vector<std::uint32_t> last(streams_, no_id);          // by stream
  places_.reserve(steps.size());
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    const Group& group = groups[steps[step].group];
    const std::uint32_t previous = last[group.stream];
    put_after(step, previous);
    for (const std::uint32_t awaited : group.waits) put_after(step, step_of[awaited]);
    places_.push_back({group.stream, previous == no_id ? 0 : places_[previous].position + 1});
    last[group.stream] = step_of[steps[step].group] = step;
  }
}

void StepsDone::put_after(std::uint32_t step, std::uint32_t earlier) {
  if (earlier == no_id) return;
  std::uint32_t* done = &done_[step * streams_];
  const std::uint32_t* known = &done_[earlier * streams_];
  for (std::size_t stream = 0; stream < streams_; ++stream) done[stream] = std::max(done[stream], known[stream]);
  const Place& place = places_[earlier];
  done[place.stream] = std::max(done[place.stream], place.position + 1);
}

void LastSteps::add(std::size_t thing, std::uint32_t step, const StepsDone& order) {
  last_[thing * streams_ + order.stream_of(step)] = step;
}

void LastSteps::add_all(std::size_t thing, const LastSteps& from, std::size_t other) {
  for (std::size_t stream = 0; stream < streams_; ++stream) {
    std::uint32_t& last = last_[thing * streams_ + stream];
    const std::uint32_t step = from.last_[other * streams_ + stream];
    if (step != no_id && (last == no_id || last < step)) last = step;
  }
}

bool LastSteps::all_before(std::size_t thing, std::uint32_t step, const StepsDone& order) const {
  const auto begin = last_.begin() + static_cast<std::ptrdiff_t>(thing * streams_);
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(streams_),
                     [&](std::uint32_t last) { return last == no_id || last == step || order.before(last, step); });
}

}  // namespace kgen

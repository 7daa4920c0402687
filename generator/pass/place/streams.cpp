#include "generator/pass/place/streams.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "generator/base/ensure.hpp"
#include "generator/pass/place/group_order.hpp"

namespace kgen {
namespace {

// What a loop has to move for another stream to be worth its while, in bytes: an H200 takes about 3 us to fork and to
// join again, in which it moves this much and more.
constexpr std::int64_t least_fork = std::int64_t{4} << 20;

// By stream: the groups of that stream with a lower number are done.
using Clock = std::array<std::uint32_t, most_streams>;

void join(Clock& clock, const Clock& other) {
  for (std::size_t stream = 0; stream < clock.size(); ++stream) clock[stream] = std::max(clock[stream], other[stream]);
}

class Assignment {
 public:
  Assignment(FusedGraph& fused, std::uint32_t streams)
      : fused_(fused),
        ranges_(ranges_of(fused.graph)),
        order_(order_groups(fused)),
        waiting_(order_.predecessor_counts()),
        needed_(order_.successors.size()),
        done_(fused.groups.size()),
        tail_(streams, 0),
        tail_clock_(streams) {
    ensure(streams <= most_streams, "no target has more streams than a plan can use");
  }

  void run() {
    for (GroupOrder::Vertex vertex = order_.groups; vertex < waiting_.size(); ++vertex) {
      if (waiting_[vertex] == 0) pass_on(vertex, needed_[vertex]);
    }
    for (std::uint32_t group = 0; group < order_.groups; ++group) {
      if (!fused_.groups[group].at_load) place(group);
      pass_on(group, fused_.groups[group].at_load ? Clock{} : done_[group]);
    }
  }

 private:
  std::uint32_t choose(const Group& group, const Clock& needed) const {
    if (group.kind == GroupKind::call) return 0;
    if (is_short_loop(group)) {
      return static_cast<std::uint32_t>(std::max_element(needed.begin(), needed.end()) - needed.begin());
    }
    std::uint32_t empty = no_id;
    for (std::uint32_t stream = 0; stream < tail_.size(); ++stream) {
      if (tail_[stream] > 0 && needed[stream] >= tail_[stream]) return stream;
      if (tail_[stream] == 0) empty = std::min(empty, stream);
    }
    if (empty != no_id) return empty;
    return static_cast<std::uint32_t>(std::min_element(tail_.begin(), tail_.end()) - tail_.begin());
  }

  // Where a call may be small: of large ones, a loop has all of the memory's rate for itself on any stream.
  bool is_short_loop(const Group& group) const {
    if (group.kind != GroupKind::elementwise) return false;
    std::int64_t bytes = 0;
    for (const auto& values : {group.inputs, group.outputs}) {
      for (const ValueId value : values) {
        bytes = std::min(bytes + bytes_of(fused_.graph.type(value)).range(ranges_).low, least_fork);
      }
    }
    return bytes < least_fork;
  }

  void place(std::uint32_t index) {
    Group& group = fused_.groups[index];
    const Clock& needed = needed_[index];
    group.stream = choose(group, needed);
    Clock clock = tail_clock_[group.stream];
    // The latest first: it has waited for most of the others.
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t stream = 0; stream < needed.size(); ++stream) {
      if (needed[stream] > 0) candidates.push_back(needed[stream] - 1);
    }
    std::sort(candidates.begin(), candidates.end(), std::greater<>());
    for (const std::uint32_t candidate : candidates) {
      if (candidate < clock[fused_.groups[candidate].stream]) continue;
      group.waits.push_back(candidate);
      join(clock, done_[candidate]);
    }
    std::sort(group.waits.begin(), group.waits.end());
    clock[group.stream] = index + 1;
    tail_[group.stream] = index + 1;
    tail_clock_[group.stream] = clock;
    done_[index] = std::move(clock);
  }

  // What `vertex` waits for, and itself, is needed by those after it.
  void pass_on(GroupOrder::Vertex vertex, const Clock& done) {
    std::vector<std::pair<GroupOrder::Vertex, Clock>> open = {{vertex, done}};
    while (!open.empty()) {
      const auto [at, clock] = std::move(open.back());
      open.pop_back();
      for (const GroupOrder::Vertex next : order_.successors[at]) {
        join(needed_[next], clock);
        if (--waiting_[next] == 0 && next >= order_.groups) open.emplace_back(next, needed_[next]);
      }
    }
  }

  FusedGraph& fused_;
  const DimRanges ranges_;
  GroupOrder order_;
  std::vector<std::uint32_t> waiting_;
  std::vector<Clock> needed_;        // by vertex
  std::vector<Clock> done_;          // by group: what is done once it is
  std::vector<std::uint32_t> tail_;  // by stream: the number of its last group, plus one
  std::vector<Clock> tail_clock_;    // by stream
};

}  // namespace

FusedGraph assign_streams(FusedGraph fused, std::uint32_t streams) {
  if (streams > 1) Assignment(fused, streams).run();
  return fused;
}

StepOrder::StepOrder(const std::vector<Group>& groups, const std::vector<Step>& steps) {
  std::vector<std::uint32_t> step_of(groups.size(), no_id);
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    step_of[steps[step].group] = step;
    stream_of_.push_back(groups[steps[step].group].stream);
    streams_ = std::max(streams_, stream_of_.back() + 1);
  }
  clock_.assign(steps.size() * streams_, 0);
  std::vector<std::uint32_t> last(streams_, no_id);
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    const auto wait_for = [&](std::uint32_t other) {
      if (other == no_id || other >= step) return;
      for (std::uint32_t stream = 0; stream < streams_; ++stream) {
        std::uint32_t& known = clock_[step * streams_ + stream];
        known = std::max(known, clock_[other * streams_ + stream]);
      }
      std::uint32_t& own = clock_[step * streams_ + stream_of_[other]];
      own = std::max(own, other + 1);
    };
    wait_for(last[stream_of_[step]]);
    for (const std::uint32_t group : groups[steps[step].group].waits) wait_for(step_of[group]);
    last[stream_of_[step]] = step;
  }
}

void Touches::add(const Touches& other) {
  for (std::size_t stream = 0; stream < latest_.size(); ++stream) {
    const std::uint32_t step = other.latest_[stream];
    if (step != no_id && (latest_[stream] == no_id || latest_[stream] < step)) latest_[stream] = step;
  }
}

bool Touches::all_before(std::uint32_t step, const StepOrder& order) const {
  return std::all_of(latest_.begin(), latest_.end(),
                     [&](std::uint32_t touch) { return touch == no_id || touch == step || order.before(touch, step); });
}

}  // namespace kgen

// Streams and events in the text of a wrapper.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/model/plan.hpp"

namespace kgen {

// By group: the number of the event that happens after it; no_id where no other stream waits for it. Numbers go on from
// `next`, so that a function's events are not those of its callers.
using EventNumbers = std::vector<std::uint32_t>;
EventNumbers number_events(const FunctionPlan& plan, std::uint32_t& next);

// "{.stream = 1, .wait = {0}, .signal = 2}": the kgen::LaunchOrder of a group, by its number; empty where it is the
// default.
std::string launch_order(const FusedGraph& fused, std::uint32_t group, const EventNumbers& events);

// "0, 2": the events that a group waits for.
std::string awaited_events(const Group& group, const EventNumbers& events);

}  // namespace kgen

#include "generator/emit/launch_order.hpp"

#include <fmt/format.h>

namespace kgen {

EventNumbers number_events(const FunctionPlan& plan, std::uint32_t& next) {
  EventNumbers events(plan.fused.groups.size(), no_id);
  std::vector<bool> awaited(events.size(), false);
  for (const Group& group : plan.fused.groups) {
    for (const std::uint32_t other : group.waits) awaited[other] = true;
  }
  for (std::size_t group = 0; group < events.size(); ++group) {
    if (awaited[group]) events[group] = next++;
  }
  return events;
}

std::string awaited_events(const Group& group, const EventNumbers& events) {
  std::vector<std::uint32_t> numbers;
  for (const std::uint32_t other : group.waits) numbers.push_back(events[other]);
  return fmt::format("{}", fmt::join(numbers, ", "));
}

std::string launch_order(const FusedGraph& fused, std::uint32_t index, const EventNumbers& events) {
  const Group& group = fused.groups[index];
  std::vector<std::string> items;
  if (group.stream != 0) items.push_back(fmt::format(".stream = {}", group.stream));
  if (!group.waits.empty()) items.push_back(fmt::format(".wait = {{{}}}", awaited_events(group, events)));
  if (events[index] != no_id) items.push_back(fmt::format(".signal = {}", events[index]));
  return items.empty() ? "" : fmt::format("{{{}}}", fmt::join(items, ", "));
}

}  // namespace kgen

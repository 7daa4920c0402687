#include "generator/pass/order/axis_orders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "generator/pass/order/axis_meetings.hpp"

namespace kgen {
namespace {

// Each round takes what the one before it made possible elsewhere; none makes anything worse.
constexpr int most_rounds = 8;
// More different wishes than that are not tried.
constexpr std::size_t most_wishes = 8;

// What meets each class, by position.
struct Incident {
  std::vector<std::vector<std::uint32_t>> met, reduced;

  explicit Incident(const Meetings& meetings) : met(meetings.classes), reduced(meetings.classes) {
    for (std::uint32_t i = 0; i < meetings.met.size(); ++i) {
      const Meeting& each = meetings.met[i];
      if (each.asks != no_id) met[each.asks].push_back(i);
      if (each.lies != no_id && each.lies != each.asks) met[each.lies].push_back(i);
    }
    for (std::uint32_t i = 0; i < meetings.reduced.size(); ++i) reduced[meetings.reduced[i].walk].push_back(i);
  }
};

double cost_of_class(const Meetings& meetings, const Incident& incident, std::uint32_t of,
                     const OrdersOfClasses& orders) {
  double cost = 0;
  for (const std::uint32_t i : incident.met[of]) cost += cost_of(meetings.met[i], orders);
  for (const std::uint32_t i : incident.reduced[of]) cost += cost_of(meetings.reduced[i], orders);
  return cost;
}

std::vector<AxisOrder> wishes_for(const Meetings& meetings, const Incident& incident, std::uint32_t of,
                                  const OrdersOfClasses& orders) {
  std::vector<AxisOrder> wishes;
  for (const std::uint32_t i : incident.met[of]) {
    AxisOrder wish = wished_order(meetings.met[i], of, orders);
    if (wish.empty() || wishes.size() == most_wishes) continue;
    if (is_as_written(wish)) wish.clear();
    if (wish != orders[of] && std::find(wishes.begin(), wishes.end(), wish) == wishes.end()) wishes.push_back(wish);
  }
  return wishes;
}

// Takes the wishes that gain something, one after another, and returns what is gained.
double take_wishes(const Meetings& meetings, const Incident& incident, std::uint32_t of, OrdersOfClasses& orders) {
  double saved = 0;
  for (AxisOrder& wish : wishes_for(meetings, incident, of, orders)) {
    const double before = cost_of_class(meetings, incident, of, orders);
    std::swap(orders[of], wish);
    const double gain = before - cost_of_class(meetings, incident, of, orders);
    if (gain > 0) {
      saved += gain;
    } else {
      std::swap(orders[of], wish);
    }
  }
  return saved;
}

// Those that would gain most, the others being what they are, come first: what they take decides for those around them.
std::vector<std::uint32_t> by_gain(const Meetings& meetings, const Incident& incident, OrdersOfClasses& orders) {
  std::vector<std::uint32_t> classes;
  std::vector<double> gains(meetings.classes, 0);
  for (std::uint32_t of = 0; of < meetings.classes; ++of) {
    if (meetings.fixed[of] || incident.met[of].empty()) continue;
    AxisOrder kept = orders[of];
    gains[of] = take_wishes(meetings, incident, of, orders);
    orders[of] = std::move(kept);
    classes.push_back(of);
  }
  std::stable_sort(classes.begin(), classes.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return gains[a] > gains[b]; });
  return classes;
}

// What each class saves by the order that it took.
std::vector<double> choose_orders(const Meetings& meetings, const Incident& incident, OrdersOfClasses& orders) {
  std::vector<double> saved(meetings.classes, 0);
  bool changed = true;
  for (int round = 0; changed && round < most_rounds; ++round) {
    changed = false;
    for (const std::uint32_t of : by_gain(meetings, incident, orders)) {
      const double gain = take_wishes(meetings, incident, of, orders);
      saved[of] += gain;
      changed |= gain > 0;
    }
  }
  return saved;
}

// By class: who has its axes in that order, for people.
std::vector<const OpSpec*> find_wishers(const Meetings& meetings, const OrdersOfClasses& orders) {
  std::vector<const OpSpec*> wishers(meetings.classes, nullptr);
  for (const Meeting& each : meetings.met) {
    if (each.lies == no_id || each.need != Need::together || wishers[each.lies]) continue;
    if (cost_of(each, orders) == 0) wishers[each.lies] = each.reader;
  }
  return wishers;
}

// Whether a kernel says in which order it reads. Without one there is nothing to gain.
bool wants_an_order(const Graph& graph) {
  const auto is_together = [](const OperandSpec& operand) { return operand.together.has_value(); };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return node.op && std::any_of(node.op->operands.begin(), node.op->operands.end(), is_together);
  });
}

std::string reason_of(const AxisOrder& order, double saved, const OpSpec* wisher) {
  return fmt::format(
      "its axes lie in the order [{}]{}, as do those of what is computed from it element by element: "
      "{:.4g} MB a call less are read or written out of order",
      fmt::join(order, ", "), wisher ? fmt::format(", in which {} reads", wisher->name) : "", saved / 1e6);
}

}  // namespace

bool is_as_written(const AxisOrder& order) { return std::is_sorted(order.begin(), order.end()); }

std::vector<int> places_of(const AxisOrder& order) {
  std::vector<int> places(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) places[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return places;
}

AxisOrders choose_axis_orders(const Module& module) {
  const bool is_wanted = std::any_of(module.functions.begin(), module.functions.end(), wants_an_order);
  if (!is_wanted && !wants_an_order(module.main)) return {};
  const Meetings meetings = find_meetings(module);
  OrdersOfClasses orders(meetings.classes);
  const std::vector<double> saved = choose_orders(meetings, Incident(meetings), orders);
  const std::vector<const OpSpec*> wishers = find_wishers(meetings, orders);

  AxisOrders chosen;
  const auto orders_of = [&](const std::vector<std::uint32_t>& classes) {
    std::vector<AxisOrder> of(classes.size());
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (classes[i] != no_id) of[i] = orders[classes[i]];
      chosen.any |= !of[i].empty();
    }
    return of;
  };
  for (std::size_t g = 0; g < meetings.of_values.size(); ++g) {
    const bool is_main = g == module.functions.size();
    AxisOrders::OfGraph of{
        orders_of(meetings.of_values[g]), orders_of(meetings.of_nodes[g]), {}, orders_of(meetings.of_outputs[g]), {}};
    for (const GraphInput& input : (is_main ? module.main : module.functions[g]).inputs) {
      of.inputs.push_back(of.values[input.value]);
    }
    of.reasons.resize(of.values.size());
    for (std::size_t id = 0; id < of.values.size(); ++id) {
      const std::uint32_t in = meetings.of_values[g][id];
      if (!of.values[id].empty()) of.reasons[id] = reason_of(of.values[id], saved[in], wishers[in]);
    }
    chosen.graphs.push_back(std::move(of));
  }
  return chosen;
}

}  // namespace kgen

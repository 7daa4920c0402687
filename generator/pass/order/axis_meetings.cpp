#include "generator/pass/order/axis_meetings.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "generator/pass/graph/graph_edit.hpp"

namespace kgen {
namespace {

bool is_one(const Dim& extent) { return extent.is_constant() && extent.constant() == 1; }

std::vector<bool> unit_axes(const Shape& shape) {
  std::vector<bool> unit;
  for (const Dim& extent : shape) unit.push_back(is_one(extent));
  return unit;
}

std::vector<int> counted(std::size_t count) {
  std::vector<int> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

const AxisOrder* order_of(std::uint32_t of, const OrdersOfClasses& orders) {
  return of == no_id || orders[of].empty() ? nullptr : &orders[of];
}

// The axes of the memory, as they lie in it: those of extent 1 left out, which lie anywhere.
std::vector<int> lying(const Meeting& meeting, const AxisOrder* order) {
  std::vector<int> axes;
  for (const int axis : order ? *order : counted(meeting.unit.size())) {
    if (!meeting.unit[static_cast<std::size_t>(axis)]) axes.push_back(axis);
  }
  return axes;
}

// The same, as they are walked.
std::vector<int> walked(const Meeting& meeting, const AxisOrder* order) {
  std::vector<int> axes;
  for (const int axis : order ? *order : counted(meeting.missing + meeting.shown.size())) {
    if (axis < static_cast<int>(meeting.missing)) continue;
    const int shown = meeting.shown[static_cast<std::size_t>(axis) - meeting.missing];
    if (!meeting.unit[static_cast<std::size_t>(shown)]) axes.push_back(shown);
  }
  return axes;
}

bool same_last(const std::vector<int>& a, const std::vector<int>& b) {
  return a.empty() || b.empty() || a.back() == b.back();
}

bool is_met(const Meeting& meeting, const OrdersOfClasses& orders) {
  const std::vector<int> memory = lying(meeting, order_of(meeting.lies, orders));
  switch (meeting.need) {
    case Need::lines:
      return same_last(memory, walked(meeting, order_of(meeting.asks, orders)));
    case Need::together: {
      const int axis = meeting.shown[static_cast<std::size_t>(meeting.together)];
      return memory.empty() || meeting.unit[static_cast<std::size_t>(axis)] || memory.back() == axis;
    }
    case Need::as_before:
      return same_last(memory, lying(meeting, nullptr));
    case Need::dense:
      return memory == walked(meeting, order_of(meeting.asks, orders));
  }
  return true;
}

}  // namespace

double cost_of(const Meeting& meeting, const OrdersOfClasses& orders) {
  return is_met(meeting, orders) ? 0 : meeting.bytes;
}

double cost_of(const ReducedLast& reduction, const OrdersOfClasses& orders) {
  const AxisOrder* order = order_of(reduction.walk, orders);
  if (!order) return 0;
  const auto last_are_reduced = [&](const std::vector<int>& axes) {
    const std::vector<int>& reduced = reduction.axes;
    auto left = std::count_if(reduced.begin(), reduced.end(),
                              [&](int axis) { return !reduction.unit[static_cast<std::size_t>(axis)]; });
    for (std::size_t i = axes.size(); left > 0 && i-- > 0;) {
      if (reduction.unit[static_cast<std::size_t>(axes[i])]) continue;
      if (std::find(reduced.begin(), reduced.end(), axes[i]) == reduced.end()) return false;
      --left;
    }
    return true;
  };
  return last_are_reduced(counted(reduction.unit.size())) && !last_are_reduced(*order) ? reduction.bytes : 0;
}

std::vector<int> wished_order(const Meeting& meeting, std::uint32_t of, const OrdersOfClasses& orders) {
  if (meeting.missing > 0) return {};
  if (meeting.lies == of) {  // memory in the order of the walk
    const AxisOrder* walk = meeting.asks == of ? nullptr : order_of(meeting.asks, orders);
    std::vector<int> wish;
    for (const int axis : walk ? *walk : counted(meeting.shown.size())) {
      wish.push_back(meeting.shown[static_cast<std::size_t>(axis)]);
    }
    return wish;
  }
  // A walk in the order of the memory.
  const std::vector<int> axis_of = places_of(meeting.shown);
  const AxisOrder* memory = order_of(meeting.lies, orders);
  std::vector<int> wish;
  for (const int axis : memory ? *memory : counted(meeting.shown.size())) {
    wish.push_back(axis_of[static_cast<std::size_t>(axis)]);
  }
  return wish;
}

std::size_t walked_rank(const Graph& graph, const Node& node) {
  const bool reduces = std::holds_alternative<Reduction>(node.kind);
  return graph.type(reduces ? node.inputs[0] : node.outputs[0]).shape.size();
}

bool takes_any_order(const Graph& graph, const Node& node) {
  const auto rank_of = [&](ValueId value) { return graph.type(value).shape.size(); };
  const std::size_t rank = walked_rank(graph, node);
  if (const auto* elementwise = std::get_if<Elementwise>(&node.kind)) {
    return rank >= 2 && elementwise->line_axes.empty() &&
           std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return rank_of(id) == rank; });
  }
  if (std::holds_alternative<Reduction>(node.kind)) return rank >= 2;
  if (const auto* view = std::get_if<IndexMap>(&node.kind)) {
    using Form = ViewRule::Form;
    const bool keeps_axes = view->form == Form::concat || view->form == Form::slice || view->form == Form::flip ||
                            (view->form == Form::broadcast && rank_of(node.inputs[0]) == rank);
    return rank >= 2 && keeps_axes;
  }
  return std::holds_alternative<Structured>(node.kind) && node.op->algebra.reorders && rank >= 2;
}

namespace {

// Values, nodes and outputs of all graphs, of which some have the same order.
class Finder {
 public:
  explicit Finder(const Module& module) : module_(module), ranges_(ranges_of(module.main)) {
    std::uint32_t next = 0;
    for (std::size_t g = 0; g <= module.functions.size(); ++g) {
      const Graph& graph = graph_at(g);
      first_.push_back({next, next + static_cast<std::uint32_t>(graph.values.size()),
                        next + static_cast<std::uint32_t>(graph.values.size() + graph.nodes.size())});
      next = first_.back().output + static_cast<std::uint32_t>(graph.outputs.size());
    }
    tied_to_.resize(next);
    std::iota(tied_to_.begin(), tied_to_.end(), 0u);
    fixed_.resize(next, false);
    count_calls();
  }

  Meetings run() {
    for (std::size_t g = 0; g <= module_.functions.size(); ++g) free_.push_back(find_free(g));
    for (std::size_t g = 0; g <= module_.functions.size(); ++g) look_at(g);
    return numbered();
  }

 private:
  struct First {
    std::uint32_t value, node, output;
  };
  // The memory that a value shows through views that permute alone.
  struct Shown {
    ValueId memory;
    std::vector<int> axes;  // axis i is the memory's axes[i]; empty: it is the memory
  };

  const Graph& graph_at(std::size_t g) const {
    return g < module_.functions.size() ? module_.functions[g] : module_.main;
  }
  std::uint32_t element_of_value(std::size_t g, ValueId id) const { return first_[g].value + id; }
  std::uint32_t element_of_node(std::size_t g, NodeId id) const { return first_[g].node + id; }
  std::uint32_t element_of_output(std::size_t g, std::size_t i) const {
    return first_[g].output + static_cast<std::uint32_t>(i);
  }

  std::uint32_t root(std::uint32_t element) {
    while (tied_to_[element] != element) element = tied_to_[element] = tied_to_[tied_to_[element]];
    return element;
  }
  void tie(std::uint32_t a, std::uint32_t b) {
    a = root(a), b = root(b);
    if (a == b) return;
    tied_to_[std::max(a, b)] = std::min(a, b);
    if (fixed_[a] || fixed_[b]) fixed_[std::min(a, b)] = true;
  }

  // How often each graph is computed in a call of main; callers come after what they call.
  void count_calls() {
    times_.resize(module_.functions.size() + 1, 0);
    times_.back() = 1;
    for (std::size_t g = times_.size(); g-- > 0;) {
      for (const Node& node : graph_at(g).nodes) {
        if (const auto* call = std::get_if<Call>(&node.kind)) {
          times_[call->function] += times_[g] * static_cast<double>(call->repeat);
        }
      }
    }
  }

  // By ValueId: nothing but its class decides how it lies.
  std::vector<bool> find_free(std::size_t g) const {
    const Graph& graph = graph_at(g);
    std::vector<bool> free(graph.values.size(), false);
    for (const Node& node : graph.nodes) {
      const bool is_call = std::holds_alternative<Call>(node.kind);
      if (!is_call && !takes_any_order(graph, node)) continue;
      for (const ValueId output : node.outputs) {
        const TensorType& type = graph.type(output);
        free[output] = (is_call || type.shape.size() == walked_rank(graph, node)) && element_bits(type) >= bits_of_byte;
      }
    }
    const bool is_main = g == module_.functions.size();
    if (is_main) {
      for (const ValueId output : graph.outputs) free[output] = false;
    } else {
      for (const GraphInput& input : graph.inputs) {
        free[input.value] = !input.strided && element_bits(graph.type(input.value)) >= bits_of_byte;
      }
    }
    for (const StateData& state : graph.states) {
      if (state.next != no_id) free[state.next] = false;
    }
    return free;
  }

  void look_at(std::size_t g) {
    const Graph& graph = graph_at(g);
    named_ = named_values(graph);
    show(graph);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.nodes[id];
      if (is_shown_through(node)) continue;
      if (std::holds_alternative<Call>(node.kind)) {
        look_at_call(g, node);
      } else if (takes_any_order(graph, node)) {
        look_at_free_node(g, id);
      } else {
        for (std::size_t i = 0; i < node.inputs.size(); ++i) look_at_operand(g, node, i);
      }
    }
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const bool is_main = g == module_.functions.size();
      meet_or_tie(g, graph.outputs[i], is_main ? no_id : element_of_output(g, i));
    }
    for (const StateData& state : graph.states) {
      if (state.next != no_id) meet_or_tie(g, state.next, no_id);
    }
  }

  bool is_shown_through(const Node& node) const {
    const auto* view = std::get_if<IndexMap>(&node.kind);
    return view && view->form == ViewRule::Form::permute && !named_[node.outputs[0]];
  }

  void show(const Graph& graph) {
    shown_.assign(graph.values.size(), {});
    for (ValueId id = 0; id < graph.values.size(); ++id) shown_[id].memory = id;
    for (const Node& node : graph.nodes) {
      if (!is_shown_through(node)) continue;
      const Shown& operand = shown_[node.inputs[0]];
      Shown& result = shown_[node.outputs[0]];
      result = {operand.memory, std::get<IndexMap>(node.kind).axes};
      if (operand.axes.empty()) continue;
      for (int& axis : result.axes) axis = operand.axes[static_cast<std::size_t>(axis)];
    }
  }

  // `value` where something asks for it in the order of an element, or as written.
  Meeting meeting_at(std::size_t g, ValueId value, std::uint32_t asks, Need need) {
    const Graph& graph = graph_at(g);
    const Shown& shown = shown_[value];
    const TensorType& type = graph.type(shown.memory);
    Meeting meeting;
    meeting.asks = asks;
    meeting.lies = free_[g][shown.memory] ? element_of_value(g, shown.memory) : no_id;
    meeting.need = need;
    meeting.shown = shown.axes.empty() ? counted(type.shape.size()) : shown.axes;
    meeting.unit = unit_axes(type.shape);
    meeting.bytes = bytes(g, type);
    return meeting;
  }
  void add(Meeting meeting) {
    if (meeting.asks != no_id || meeting.lies != no_id) meetings_.met.push_back(std::move(meeting));
  }
  double bytes(std::size_t g, const TensorType& type) const {
    double count = times_[g] * static_cast<double>(element_bits(type)) / static_cast<double>(bits_of_byte);
    for (const Dim& extent : type.shape) count *= static_cast<double>(extent.range(ranges_).high);
    return count;
  }
  bool is_free_memory(std::size_t g, ValueId value) const { return shown_[value].axes.empty() && free_[g][value]; }

  // A value that has to lie in the order of an element, whole.
  void meet_or_tie(std::size_t g, ValueId value, std::uint32_t asks) {
    if (asks != no_id && is_free_memory(g, value)) {
      tie(element_of_value(g, value), asks);
    } else {
      add(meeting_at(g, value, asks, Need::dense));
    }
  }
  // A result that a node makes in the order of an element.
  void make(std::size_t g, ValueId result, std::uint32_t made) {
    if (named_[result]) fixed_[root(made)] = true;
    if (free_[g][result]) {
      tie(element_of_value(g, result), made);
    } else {
      add(meeting_at(g, result, made, Need::dense));
    }
  }

  void look_at_call(std::size_t g, const Node& node) {
    const Call& call = std::get<Call>(node.kind);
    const Graph& function = module_.functions[call.function];
    const auto parameter = [&](std::size_t i) {
      const ValueId value = function.inputs[i].value;
      return free_[call.function][value] ? element_of_value(call.function, value) : no_id;
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) meet_or_tie(g, node.inputs[i], parameter(i));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::uint32_t output = element_of_output(call.function, i);
      make(g, node.outputs[i], output);
      if (call.repeat == 1) continue;
      if (parameter(i) == no_id) {
        fixed_[root(output)] = true;
      } else {
        tie(output, parameter(i));
      }
    }
  }

  void look_at_free_node(std::size_t g, NodeId id) {
    const Graph& graph = graph_at(g);
    const Node& node = graph.nodes[id];
    const auto* reduction = std::get_if<Reduction>(&node.kind);
    const std::uint32_t walk = element_of_node(g, id);
    const std::size_t rank = walked_rank(graph, node);
    for (const ValueId input : node.inputs) {
      if (input == no_id || graph.type(input).shape.empty()) continue;
      const std::size_t own = graph.type(input).shape.size();
      if (own == rank && is_free_memory(g, input)) {
        tie(element_of_value(g, input), walk);
      } else {
        Meeting meeting = meeting_at(g, input, walk, Need::lines);
        meeting.missing = rank - own;
        add(std::move(meeting));
      }
    }
    if (reduction) {
      const TensorType& type = graph.type(node.inputs[0]);
      meetings_.reduced.push_back({walk, reduction->axes, unit_axes(type.shape), bytes(g, type)});
    }
    for (const ValueId output : node.outputs) {
      if (named_[output]) fixed_[root(walk)] = true;
      // Results with fewer axes are shown as written, by a view of what is small.
      if (graph.type(output).shape.size() == rank) make(g, output, walk);
    }
  }

  void look_at_operand(std::size_t g, const Node& node, std::size_t operand) {
    const ValueId input = node.inputs[operand];
    if (input == no_id) return;
    const bool is_view = std::holds_alternative<IndexMap>(node.kind);
    Meeting meeting = meeting_at(g, input, no_id, is_view ? Need::dense : Need::as_before);
    if (!is_view && operand < node.op->operands.size() && node.op->operands[operand].together) {
      meeting.need = Need::together;
      meeting.together = static_cast<int>(meeting.shown.size()) + *node.op->operands[operand].together;
    }
    meeting.reader = node.op;
    add(std::move(meeting));
  }

  // Elements as classes.
  Meetings numbered() {
    std::vector<std::uint32_t> numbers(tied_to_.size(), no_id);
    const auto number = [&](std::uint32_t element) {
      std::uint32_t& found = numbers[root(element)];
      if (found == no_id) {
        found = meetings_.classes++;
        meetings_.fixed.push_back(fixed_[root(element)]);
      }
      return found;
    };
    for (Meeting& each : meetings_.met) {
      if (each.asks != no_id) each.asks = number(each.asks);
      if (each.lies != no_id) each.lies = number(each.lies);
    }
    for (ReducedLast& each : meetings_.reduced) each.walk = number(each.walk);
    for (std::size_t g = 0; g <= module_.functions.size(); ++g) {
      const Graph& graph = graph_at(g);
      const auto of = [&](std::uint32_t element) { return numbers[root(element)]; };
      auto& values = meetings_.of_values.emplace_back(graph.values.size(), no_id);
      for (ValueId id = 0; id < values.size(); ++id) {
        if (free_[g][id]) values[id] = of(element_of_value(g, id));
      }
      auto& nodes = meetings_.of_nodes.emplace_back(graph.nodes.size(), no_id);
      for (NodeId id = 0; id < nodes.size(); ++id) nodes[id] = of(element_of_node(g, id));
      auto& outputs = meetings_.of_outputs.emplace_back(graph.outputs.size(), no_id);
      for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = of(element_of_output(g, i));
    }
    return std::move(meetings_);
  }

  const Module& module_;
  const DimRanges ranges_;
  std::vector<First> first_;             // by graph
  std::vector<std::uint32_t> tied_to_;   // by element: another of its class, or itself
  std::vector<bool> fixed_;              // by element that stands for its class
  std::vector<double> times_;            // by graph
  std::vector<std::vector<bool>> free_;  // by graph, then by ValueId
  std::vector<bool> named_;              // of the graph that is looked at, by ValueId
  std::vector<Shown> shown_;
  Meetings meetings_;
};

}  // namespace

Meetings find_meetings(const Module& module) { return Finder(module).run(); }

}  // namespace kgen

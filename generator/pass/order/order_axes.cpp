#include "generator/pass/order/order_axes.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "generator/pass/order/axis_meetings.hpp"
#include "generator/pass/order/axis_orders.hpp"
#include "generator/pass/simplify/rewriting.hpp"
#include "generator/pass/simplify/simplify.hpp"
#include "generator/pass/simplify/view_algebra.hpp"

namespace kgen {
namespace {

template <class Item>
std::vector<Item> in_order(const std::vector<Item>& items, const AxisOrder& order) {
  std::vector<Item> ordered;
  for (const int axis : order) ordered.push_back(items[static_cast<std::size_t>(axis)]);
  return ordered;
}

// A list with an item for each axis, or several such lists one behind the other.
template <class Item>
void order_lists(std::vector<Item>& lists, const AxisOrder& order) {
  std::vector<Item> ordered;
  for (auto begin = lists.begin(); begin != lists.end(); begin += static_cast<std::ptrdiff_t>(order.size())) {
    const std::vector<Item> each =
        in_order(std::vector<Item>(begin, begin + static_cast<std::ptrdiff_t>(order.size())), order);
    ordered.insert(ordered.end(), each.begin(), each.end());
  }
  lists = std::move(ordered);
}

// Rewrites one graph.
class Ordering {
 public:
  Ordering(Rewriting& rewriting, const AxisOrders& orders, std::size_t index)
      : rewriting_(rewriting), graph_(rewriting.graph), orders_(orders), own_(orders.graphs[index]) {}

  // Results whose nodes make them in another order, by name: what the nodes make now.
  std::unordered_map<std::string, std::string> run() {
    for (ValueId id = 0; id < own_.values.size(); ++id) {
      const AxisOrder& order = own_.values[id];
      if (order.empty()) continue;
      TensorType& type = *graph_.value(id).type;
      type.shape = in_order(type.shape, order);
      graph_.ordered_axes.push_back({graph_.value(id).name, order, own_.reasons[id]});
    }
    std::vector<Node> nodes = std::move(graph_.nodes);
    for (NodeId id = 0; id < nodes.size(); ++id) rewrite(id, std::move(nodes[id]));
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      graph_.outputs[i] = read(graph_.outputs[i], own_.outputs[i], graph_.value(graph_.outputs[i]).where);
    }
    graph_.nodes = std::move(nodes_);
    number_producers(graph_);
    rewriting_.removed.assign(graph_.nodes.size(), false);
    return std::move(renamed_);
  }

 private:
  void rewrite(NodeId id, Node node) {
    if (const auto* call = std::get_if<Call>(&node.kind)) return rewrite_call(*call, std::move(node));
    const AxisOrder& order = own_.nodes[id];
    if (order.empty()) {
      for (ValueId& input : node.inputs) input = read(input, {}, node.where);
      nodes_.push_back(std::move(node));
      return;
    }
    for (ValueId& input : node.inputs) input = read_in(input, order, node.where);
    std::vector<AxisOrder> made(node.outputs.size(), order);
    if (const auto* reduction = std::get_if<Reduction>(&node.kind); reduction && !reduction->keepdims) {
      made[0] = order_of_kept(*reduction, order);
    }
    order_parameters(node, order);
    place(std::move(node), made);
  }

  void rewrite_call(const Call& call, Node node) {
    const AxisOrders::OfGraph& of = orders_.graphs[call.function];
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      node.inputs[i] = read(node.inputs[i], of.inputs[i], node.where);
    place(std::move(node), of.outputs);
  }

  // The axes that are left, as the result's, in the order that they have then.
  static AxisOrder order_of_kept(const Reduction& reduction, const AxisOrder& order) {
    AxisOrder kept;
    for (const int axis : order) {
      const auto behind = std::lower_bound(reduction.axes.begin(), reduction.axes.end(), axis);
      if (behind != reduction.axes.end() && *behind == axis) continue;
      kept.push_back(axis - static_cast<int>(behind - reduction.axes.begin()));
    }
    return is_as_written(kept) ? AxisOrder{} : kept;
  }

  void order_parameters(Node& node, const AxisOrder& order) {
    const std::vector<int> places = places_of(order);
    if (auto* reduction = std::get_if<Reduction>(&node.kind)) {
      for (int& axis : reduction->axes) axis = places[static_cast<std::size_t>(axis)];
      std::sort(reduction->axes.begin(), reduction->axes.end());
    } else if (const auto* view = std::get_if<IndexMap>(&node.kind)) {
      IndexMap ordered = *view;
      if (view->form == ViewRule::Form::broadcast) {
        ordered.shape = in_order(view->shape, order);
      } else {
        ordered.axis = places[static_cast<std::size_t>(view->axis)];
      }
      set_view(rewriting_, node, std::move(ordered));
    } else if (node.op->algebra.reorders) {
      for (const std::string& name : *node.op->algebra.reorders) order_attribute(node, name, order);
    }
  }
  static void order_attribute(Node& node, const std::string& name, const AxisOrder& order) {
    const auto found = std::find_if(node.attributes.begin(), node.attributes.end(),
                                    [&](const auto& each) { return each.first == name; });
    if (auto* dims = std::get_if<std::vector<Dim>>(&found->second)) order_lists(*dims, order);
    if (auto* numbers = std::get_if<std::vector<Number>>(&found->second)) order_lists(*numbers, order);
  }

  // The node, which makes its results in these orders; those that lie in another are views of what it makes.
  void place(Node node, const std::vector<AxisOrder>& made) {
    std::vector<Node> views;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId result = node.outputs[i];
      if (made[i] == order_of(result)) continue;
      const TensorType& own = graph_.type(result);
      const TensorType type{own.dtype, in_order(own.shape, made[i]), own.structure};
      const std::string name = graph_.value(result).name;
      node.outputs[i] = new_result(rewriting_, name + "_ordered", type, node.where);
      renamed_[name] = graph_.value(node.outputs[i]).name;
      views.push_back(permuted(node.outputs[i], places_of(made[i]), result, node.where));
    }
    nodes_.push_back(std::move(node));
    std::move(views.begin(), views.end(), std::back_inserter(nodes_));
  }

  const AxisOrder& order_of(ValueId value) const {
    static const AxisOrder as_written;
    return value < own_.values.size() ? own_.values[value] : as_written;
  }

  // The value with its axes in `order`: itself, or a view of it.
  ValueId read(ValueId value, const AxisOrder& order, SourceLocation where) {
    if (value == no_id || order_of(value) == order) return value;
    const AxisOrder& own = order_of(value);
    const std::vector<int> places = places_of(own);
    std::vector<int> axes;
    for (std::size_t i = 0; i < graph_.type(value).shape.size(); ++i) {
      const int axis = order.empty() ? static_cast<int>(i) : order[i];
      axes.push_back(own.empty() ? axis : places[static_cast<std::size_t>(axis)]);
    }
    return viewed(value, permutation(std::move(axes)), where);
  }

  // The operand of what walks its axes in `order`. One that has not all of them is aligned at the last.
  ValueId read_in(ValueId value, const AxisOrder& order, SourceLocation where) {
    if (value == no_id || graph_.type(value).shape.empty()) return value;
    const std::size_t own = graph_.type(value).shape.size();
    if (own == order.size()) return read(value, order, where);
    value = read(value, {}, where);
    for (const IndexMap& view : permuted_operand(permutation(order), own)) value = viewed(value, view, where);
    return value;
  }

  ValueId viewed(ValueId value, const IndexMap& view, SourceLocation where) {
    const auto key = std::tuple(value, view.form, view.axis, view.axes);
    const auto [found, is_first] = views_.try_emplace(key, no_id);
    if (!is_first) return found->second;
    const TensorType& type = graph_.type(value);
    const TensorType shown{type.dtype, viewed_shape(view, type.shape), type.structure};
    const ValueId result = new_result(rewriting_, graph_.value(value).name + "_permuted", shown, where);
    Node node{.inputs = {value}, .outputs = {result}, .where = where};
    set_view(rewriting_, node, view);
    nodes_.push_back(std::move(node));
    return found->second = result;
  }
  Node permuted(ValueId value, std::vector<int> axes, ValueId result, SourceLocation where) const {
    Node node{.inputs = {value}, .outputs = {result}, .where = where};
    set_view(rewriting_, node, permutation(std::move(axes)));
    return node;
  }

  Rewriting& rewriting_;
  Graph& graph_;
  const AxisOrders& orders_;
  const AxisOrders::OfGraph& own_;
  std::vector<Node> nodes_;
  std::map<std::tuple<ValueId, ViewRule::Form, int, std::vector<int>>, ValueId> views_;  // that were made
  std::unordered_map<std::string, std::string> renamed_;
};

bool has_views(const Rewriting& rewriting) {
  return view_op(rewriting, permutation({})) && view_op(rewriting, view_along(ViewRule::Form::unsqueeze, 0));
}

}  // namespace

Module order_axes(Module module, const OpSet& ops, Diagnostics& diagnostics) {
  const AxisOrders orders = choose_axis_orders(module);
  if (!orders.any) return module;
  const auto order_graph = [&](Graph& graph, std::size_t index) {
    Rewriting rewriting = start_rewriting(graph, ops, module.main.numerics);
    std::unordered_map<std::string, std::string> renamed;
    if (has_views(rewriting)) renamed = Ordering(rewriting, orders, index).run();
    simplify_graph(graph, ops, module.main.numerics, diagnostics);
    move_choices(graph, renamed);
  };
  for (std::size_t i = 0; i < module.functions.size(); ++i) order_graph(module.functions[i], i);
  order_graph(module.main, module.functions.size());
  return module;
}

}  // namespace kgen

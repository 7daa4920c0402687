// Builds FusedGraphs by hand, by the names of values.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "generator/model/plan.hpp"

namespace kgen {

class PlanBuilder {
 public:
  using Names = std::vector<std::string>;

  explicit PlanBuilder(std::string name = "graph") { fused_.graph.name = std::move(name); }

  PlanBuilder& dim(const std::string& name, std::int64_t low, std::int64_t high, const std::string& from = "",
                   std::optional<std::int64_t> element = {}) {
    fused_.graph.dims.push_back({.name = name, .range = {low, high}, .from = from, .element = element});
    return *this;
  }
  PlanBuilder& input(const std::string& name, Shape shape, DType dtype = DType::f32, bool strided = false) {
    fused_.graph.inputs.push_back(
        {add(name, ValueKind::input, fused_.graph.inputs.size(), dtype, std::move(shape)), strided});
    return *this;
  }
  // Without values it comes from a file, by its name or by `key`.
  PlanBuilder& constant(const std::string& name, Shape shape, std::vector<Number> values = {},
                        const std::string& key = "") {
    const bool in_file = values.empty() && std::find(shape.begin(), shape.end(), Dim(0)) == shape.end();
    const ValueId id = add(name, ValueKind::constant, fused_.graph.constants.size(), DType::f32, std::move(shape));
    GivenElements given{std::move(values), "", ""};
    if (in_file) {
      given.file = "weights.safetensors";
      given.key = key.empty() ? name : key;
    }
    fused_.graph.constants.push_back({std::move(given), id});
    return *this;
  }
  PlanBuilder& state(const std::string& name, Shape shape, GivenElements initial = {}) {
    const ValueId id = add(name, ValueKind::state, fused_.graph.states.size(), DType::f32, std::move(shape));
    fused_.graph.states.push_back({id, no_id, {}, std::move(initial)});
    return *this;
  }
  PlanBuilder& next(const std::string& state, const std::string& value) {
    fused_.graph.states[fused_.graph.value(id(state)).index].next = id(value);
    return *this;
  }

  // A node of one result, whose type is that of its first operand unless it is given.
  PlanBuilder& node(NodeKind kind, const std::string& name, const Names& inputs, std::optional<TensorType> type = {}) {
    return call(std::move(kind), {name}, inputs, {type ? *type : fused_.graph.type(id(inputs.at(0)))});
  }
  PlanBuilder& elementwise(const std::string& name, const Names& inputs, std::optional<TensorType> type = {}) {
    return node(Elementwise{}, name, inputs, std::move(type));
  }
  PlanBuilder& structured(const std::string& name, const Names& inputs, Shape shape) {
    return node(Structured{}, name, inputs, TensorType{DType::f32, std::move(shape)});
  }
  PlanBuilder& view(IndexMap view, const std::string& name, const std::string& input, Shape shape) {
    return node(std::move(view), name, {input}, TensorType{fused_.graph.type(id(input)).dtype, std::move(shape)});
  }
  PlanBuilder& concat(int axis, const std::string& name, const Names& parts, Shape shape) {
    IndexMap view;
    view.form = ViewRule::Form::concat;
    view.axis = axis;
    return node(view, name, parts, TensorType{fused_.graph.type(id(parts.at(0))).dtype, std::move(shape)});
  }
  PlanBuilder& update(int axis, Dim begin, const std::string& name, const std::string& buffer,
                      const std::string& part) {
    IndexMap view;
    view.form = ViewRule::Form::update;
    view.axis = axis;
    view.begin = std::move(begin);
    return node(view, name, {buffer, part});
  }
  PlanBuilder& call(NodeKind kind, const Names& outputs, const Names& inputs, const std::vector<TensorType>& types) {
    Node made;
    made.kind = std::move(kind);
    const auto node_id = static_cast<NodeId>(fused_.graph.nodes.size());
    made.where = {&text(), node_id + 1, 1};
    for (const std::string& input : inputs) made.inputs.push_back(id(input));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      made.outputs.push_back(add(outputs[i], ValueKind::result, i, types.at(i).dtype, types.at(i).shape));
      fused_.graph.values.back().producer = node_id;
      fused_.graph.values.back().where = made.where;
    }
    fused_.graph.nodes.push_back(std::move(made));
    fused_.group_of.push_back(no_id);
    return *this;
  }

  // The nodes that make `members` as one group; the last of them gives the loop. `outputs` go to memory.
  PlanBuilder& group(GroupKind kind, const Names& members, const Names& outputs, bool at_load = false) {
    Group made;
    made.kind = kind;
    made.at_load = at_load;
    const auto index = static_cast<std::uint32_t>(fused_.groups.size());
    for (const std::string& member : members) {
      const NodeId node_id = producer(member);
      const Node& node = fused_.graph.nodes[node_id];
      made.nodes.push_back(node_id);
      fused_.group_of[node_id] = index;
      if (!std::holds_alternative<Elementwise>(node.kind) && !std::holds_alternative<Reduction>(node.kind)) {
        made.root = node_id;
      }
      if (const auto* reduction = std::get_if<Reduction>(&node.kind)) made.row_axes = reduction->axes;
    }
    made.loop = fused_.graph.type(id(members.back())).shape;
    for (const std::string& output : outputs) made.outputs.push_back(id(output));
    for (const NodeId node_id : made.nodes) add_inputs(made, fused_.graph.nodes[node_id], index);
    if (made.root != no_id) add_ports(made);
    fused_.groups.push_back(std::move(made));
    return *this;
  }
  // A group for one node.
  PlanBuilder& alone(GroupKind kind, const std::string& member, bool at_load = false) {
    return group(kind, {member}, {member}, at_load);
  }
  PlanBuilder& outputs(const Names& names) {
    for (const std::string& name : names) fused_.graph.outputs.push_back(id(name));
    return *this;
  }
  PlanBuilder& requirement(Dim left, Dim right, std::string meaning) {
    fused_.graph.requirements.push_back({std::move(left), std::move(right), std::move(meaning), {}});
    return *this;
  }

  ValueId id(const std::string& name) const {
    REQUIRE_MESSAGE(ids_.contains(name), name);
    return ids_.at(name);
  }
  NodeId producer(const std::string& name) const { return fused_.graph.value(id(name)).producer; }
  std::uint32_t group_of(const std::string& name) const { return fused_.group_of[producer(name)]; }
  const FusedGraph& fused() const { return fused_; }
  FusedGraph& fused() { return fused_; }

 private:
  static const SourceText& text() {
    static const SourceText text{"graph.yaml", std::string(200, '\n')};
    return text;
  }
  ValueId add(const std::string& name, ValueKind kind, std::size_t index, DType dtype, Shape shape) {
    Value value;
    value.name = name;
    value.kind = kind;
    value.index = static_cast<std::uint32_t>(index);
    value.type = TensorType{dtype, std::move(shape)};
    ids_[name] = static_cast<ValueId>(fused_.graph.values.size());
    fused_.graph.values.push_back(std::move(value));
    return ids_[name];
  }
  void add_inputs(Group& group, const Node& node, std::uint32_t index) const {
    for (const ValueId input : node.inputs) {
      ValueId base = input;
      const auto maker = [&] { return fused_.graph.value(base).producer; };
      while (maker() != no_id && fused_.group_of[maker()] == no_id && !fused_.graph.nodes[maker()].inputs.empty() &&
             fused_.graph.nodes[maker()].inputs.size() == 1) {
        base = fused_.graph.nodes[maker()].inputs[0];
      }
      if (maker() != no_id && fused_.group_of[maker()] == index) continue;
      if (std::find(group.inputs.begin(), group.inputs.end(), input) == group.inputs.end())
        group.inputs.push_back(input);
    }
  }

  // Members that lead to an operand of the root ride in its prologue, the others in the epilogue.
  void add_ports(Group& group) const {
    std::vector<NodeId> left = group.nodes;
    std::erase(left, group.root);
    const std::vector<ValueId>& operands = fused_.graph.nodes[group.root].inputs;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Prologue prologue{i, {}};
      std::vector<ValueId> wanted = {operands[i]};
      for (auto node = left.rbegin(); node != left.rend(); ++node) {
        const Node& maker = fused_.graph.nodes[*node];
        if (std::find(wanted.begin(), wanted.end(), maker.outputs[0]) == wanted.end()) continue;
        wanted.insert(wanted.end(), maker.inputs.begin(), maker.inputs.end());
        prologue.nodes.insert(prologue.nodes.begin(), *node);
      }
      for (const NodeId node : prologue.nodes) std::erase(left, node);
      if (!prologue.nodes.empty()) group.prologues.push_back(std::move(prologue));
    }
    if (!left.empty()) group.epilogues.push_back({{0}, left});
  }

  FusedGraph fused_;
  std::map<std::string, ValueId> ids_;
};

inline IndexMap slice_view(int axis, Dim begin, Dim length) {
  IndexMap view;
  view.form = ViewRule::Form::slice;
  view.axis = axis;
  view.begin = std::move(begin);
  view.length = std::move(length);
  return view;
}

inline IndexMap permute_view(std::vector<int> axes) {
  IndexMap view;
  view.form = ViewRule::Form::permute;
  view.axes = std::move(axes);
  return view;
}

inline IndexMap reshape_view(Shape shape) {
  IndexMap view;
  view.form = ViewRule::Form::reshape;
  view.shape = std::move(shape);
  return view;
}

}  // namespace kgen

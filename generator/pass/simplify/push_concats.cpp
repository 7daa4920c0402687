#include "generator/pass/simplify/push_concats.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "generator/pass/graph/readers.hpp"
#include "generator/pass/simplify/view_algebra.hpp"

namespace kgen {
namespace {

using Form = ViewRule::Form;

// Beyond this it is no chain behind a concatenation, but the rest of a graph, which each of its concatenations would
// have looked through.
constexpr std::size_t most_nodes = 64;
// Elements of a part along the last axis: those of a register, at least.
constexpr std::int64_t least_line = 16;
// In how many parts what elementwise nodes make for one reader is computed: see pull_views.
constexpr std::size_t most_computed_parts = 8;

const IndexMap* concat_of(const Node& node) {
  const auto* view = std::get_if<IndexMap>(&node.kind);
  return view && view->form == Form::concat ? view : nullptr;
}

// A concatenation, and the elementwise nodes that lead on from it.
struct Region {
  NodeId concat = no_id;
  int from_last = 0;          // the axis, counted from behind the last one
  std::vector<NodeId> nodes;  // in their order
  std::vector<ValueId> ends;  // of what they make, what others read or observe
};

class ConcatPusher {
 public:
  explicit ConcatPusher(Rewriting& rewriting)
      : rewriting_(rewriting), graph_(rewriting.graph), readers_(graph_), taken_(graph_.nodes.size(), false) {}

  bool run() {
    std::vector<Region> regions;
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (!concat_of(graph_.nodes[id])) continue;
      std::optional<Region> region = find(id);
      if (!region) continue;
      for (const NodeId node : region->nodes) taken_[node] = true;
      regions.push_back(std::move(*region));
    }
    if (regions.empty()) return false;
    before_.resize(graph_.nodes.size());
    for (const Region& region : regions) replace(region);
    std::vector<Node> nodes;
    for (NodeId id = 0; id < before_.size(); ++id) {
      for (Node& node : before_[id]) nodes.push_back(std::move(node));
      if (!taken_[id]) nodes.push_back(std::move(graph_.nodes[id]));
    }
    graph_.nodes = std::move(nodes);
    number_producers(graph_);
    rewriting_.removed.assign(graph_.nodes.size(), false);
    return true;
  }

 private:
  // ---- what may be done
  // -----------------------------------------------------------------------------------------------

  std::optional<Region> find(NodeId id) {
    const Node& concat = graph_.nodes[id];
    const ValueId joined = concat.outputs[0];
    const Shape& shape = graph_.type(joined).shape;
    const int axis = concat_of(concat)->axis;
    if (concat.inputs.size() < 2 || is_kept(joined) || readers_[joined].empty() || !has_long_lines(concat)) return {};
    Region region{id, static_cast<int>(shape.size()) - axis, {}, {}};
    if (!gather(joined, region)) return {};
    std::sort(region.nodes.begin(), region.nodes.end());
    const auto may_end = [&](ValueId value) { return lies_in_memory(value, joined); };
    if (!std::all_of(region.ends.begin(), region.ends.end(), may_end)) return {};
    for (const NodeId node : region.nodes) {
      for (const ValueId input : graph_.nodes[node].inputs) {
        if (input != no_id && !can_be_cut(region, input)) return {};
      }
    }
    return region;
  }

  bool is_kept(ValueId value) const { return rewriting_.observed[value] || rewriting_.named[value]; }

  bool has_long_lines(const Node& concat) const {
    const auto axis = static_cast<std::size_t>(concat_of(concat)->axis);
    if (axis + 1 != graph_.type(concat.outputs[0]).shape.size()) return true;
    return std::all_of(concat.inputs.begin(), concat.inputs.end(), [&](ValueId part) {
      const Dim& extent = graph_.type(part).shape[axis];
      return !extent.is_constant() || extent.constant() >= least_line;
    });
  }

  // All elementwise nodes that `value` leads to. False where it leads to others before to any of these, or to one that
  // cannot be computed in parts.
  bool gather(ValueId joined, Region& region) {
    std::vector<ValueId> open{joined};
    std::vector<NodeId>& nodes = region.nodes;
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      bool is_end = rewriting_.observed[value];
      for (const NodeId reader : readers_[value]) {
        ++rewriting_.node_visits;
        const Node& node = graph_.nodes[reader];
        const auto* elementwise = std::get_if<Elementwise>(&node.kind);
        if (!elementwise) {
          is_end = true;
          continue;
        }
        if (std::find(nodes.begin(), nodes.end(), reader) != nodes.end()) continue;
        if (!elementwise->line_axes.empty() || node.outputs.size() != 1 || rewriting_.named[node.outputs[0]] ||
            taken_[reader] || nodes.size() == most_nodes || !has_axis(region, value, node.outputs[0])) {
          return false;
        }
        nodes.push_back(reader);
        open.push_back(node.outputs[0]);
      }
      if (is_end && value == joined) return false;
      if (is_end) region.ends.push_back(value);
    }
    return true;
  }

  static std::size_t axis_of(const Region& region, const Shape& shape) {
    return shape.size() - static_cast<std::size_t>(region.from_last);
  }
  // Whether `result`, made of `value`, is as long along the axis.
  bool has_axis(const Region& region, ValueId value, ValueId result) const {
    const Shape& from = graph_.type(value).shape;
    const Shape& to = graph_.type(result).shape;
    return from[axis_of(region, from)] == to[axis_of(region, to)];
  }

  // Whether a value that the nodes behind a concatenation make has memory of its own however they are fused.
  bool lies_in_memory(ValueId value, ValueId joined) const {
    if (rewriting_.observed[value]) return true;
    const TensorType& type = graph_.type(value);
    const TensorType& before = graph_.type(joined);
    const bool is_larger = type.shape != before.shape || info(type.dtype).bits > info(before.dtype).bits;
    const auto needs_memory = [&](NodeId reader) {
      const Node& node = graph_.nodes[reader];
      const auto* view = std::get_if<IndexMap>(&node.kind);
      if (view) return view->form == Form::concat || view->form == Form::update;
      const bool reads_memory = std::holds_alternative<Call>(node.kind) || std::holds_alternative<Opaque>(node.kind);
      return reads_memory || (std::holds_alternative<Structured>(node.kind) && !is_larger);
    };
    return std::any_of(readers_[value].begin(), readers_[value].end(), needs_memory);
  }

  bool is_made_within(const Region& region, ValueId value) const {
    const Value& of = graph_.value(value);
    if (of.kind != ValueKind::result) return false;
    return of.producer == region.concat || std::binary_search(region.nodes.begin(), region.nodes.end(), of.producer);
  }

  // Whether the value has nothing of the axis: each part reads all of it.
  bool is_for_every_part(const Region& region, ValueId value) const {
    const Shape& shape = graph_.type(value).shape;
    return shape.size() < static_cast<std::size_t>(region.from_last) || is_one(shape[axis_of(region, shape)]);
  }

  bool can_be_cut(const Region& region, ValueId value) const {
    if (is_made_within(region, value) || is_for_every_part(region, value) || is_cut_alike(region, value)) return true;
    if (!view_op(rewriting_, view_along(Form::slice, 0))) return false;
    return is_memory(value) || is_computed_in_parts(region, value, 0);
  }

  // Another concatenation of parts that are as long.
  bool is_cut_alike(const Region& region, ValueId value) const {
    const Node* other = producer(rewriting_, value);
    const Node& concat = graph_.nodes[region.concat];
    if (!other || !concat_of(*other) || other->inputs.size() != concat.inputs.size()) return false;
    const auto axis = static_cast<std::size_t>(concat_of(*other)->axis);
    if (axis != axis_of(region, graph_.type(value).shape)) return false;
    for (std::size_t i = 0; i < concat.inputs.size(); ++i) {
      const Shape& part = graph_.type(concat.inputs[i]).shape;
      if (graph_.type(other->inputs[i]).shape[axis] != part[axis_of(region, part)]) return false;
    }
    return true;
  }

  bool is_memory(ValueId value) const {
    const Value& of = graph_.value(value);
    if (of.kind != ValueKind::result) return true;
    const Node& node = graph_.nodes[of.producer];
    if (std::holds_alternative<Call>(node.kind) || std::holds_alternative<Opaque>(node.kind)) return true;
    const auto* view = std::get_if<IndexMap>(&node.kind);
    return view && view->form != Form::concat && view->form != Form::update && is_memory(node.inputs[0]);
  }

  // What pull_views will compute part by part once it is sliced.
  bool is_computed_in_parts(const Region& region, ValueId value, int depth) const {
    constexpr int most_depth = 16;
    const Node* node = producer(rewriting_, value);
    const Shape& shape = graph_.type(value).shape;
    const bool is_one_of_few = graph_.nodes[region.concat].inputs.size() <= most_computed_parts;
    if (!node || depth == most_depth || !is_one_of_few || is_kept(value) || readers_[value].size() != 1) return false;
    const auto* elementwise = std::get_if<Elementwise>(&node->kind);
    if (!elementwise || !elementwise->line_axes.empty() || node->outputs.size() != 1) return false;
    if (!shape[axis_of(region, shape)].is_constant()) return false;
    return std::all_of(node->inputs.begin(), node->inputs.end(), [&](ValueId input) {
      return input == no_id || is_for_every_part(region, input) || is_memory(input) ||
             is_computed_in_parts(region, input, depth + 1);
    });
  }

  // ---- doing it
  // -------------------------------------------------------------------------------------------------------

  void replace(const Region& region) {
    const Node concat = graph_.nodes[region.concat];
    parts_.clear();
    parts_[concat.outputs[0]] = concat.inputs;
    for (const NodeId id : region.nodes) {
      const Node& node = graph_.nodes[id];
      std::vector<ValueId> made;
      for (std::size_t i = 0; i < concat.inputs.size(); ++i) made.push_back(compute_part(region, id, i));
      parts_[node.outputs[0]] = std::move(made);
      if (std::find(region.ends.begin(), region.ends.end(), node.outputs[0]) == region.ends.end()) continue;
      Node joined = concat;
      const auto axis = static_cast<int>(axis_of(region, graph_.type(node.outputs[0]).shape));
      set_view(rewriting_, joined, view_along(Form::concat, axis));
      joined.inputs = parts_[node.outputs[0]];
      joined.outputs = node.outputs;
      before_[id].push_back(std::move(joined));
    }
  }

  ValueId compute_part(const Region& region, NodeId id, std::size_t part) {
    Node node = graph_.nodes[id];
    for (ValueId& input : node.inputs) {
      if (input != no_id && (is_made_within(region, input) || !is_for_every_part(region, input))) {
        input = parts_of(region, input, id)[part];
      }
    }
    TensorType type = graph_.type(node.outputs[0]);
    type.shape[axis_of(region, type.shape)] = extent_of(region, part);
    node.outputs = {new_result(rewriting_, part_name(region, node.outputs[0], part), std::move(type), node.where)};
    before_[id].push_back(std::move(node));
    return before_[id].back().outputs[0];
  }

  const Dim& extent_of(const Region& region, std::size_t part) const {
    const Shape& shape = graph_.type(graph_.nodes[region.concat].inputs[part]).shape;
    return shape[axis_of(region, shape)];
  }

  std::string part_name(const Region& region, ValueId value, std::size_t part) const {
    return graph_.value(value).name + "_" + graph_.value(graph_.nodes[region.concat].inputs[part]).name;
  }

  // The parts of a value that node `before` is the first to read.
  const std::vector<ValueId>& parts_of(const Region& region, ValueId value, NodeId before) {
    const auto [found, is_first] = parts_.try_emplace(value);
    if (!is_first) return found->second;
    std::vector<ValueId> parts;
    if (is_cut_alike(region, value)) {
      parts = producer(rewriting_, value)->inputs;
    } else {
      Dim begin(0);
      for (std::size_t i = 0; i < graph_.nodes[region.concat].inputs.size(); ++i) {
        parts.push_back(slice(region, value, begin, i, before));
        begin = begin + extent_of(region, i);
      }
    }
    return parts_[value] = std::move(parts);
  }

  ValueId slice(const Region& region, ValueId value, const Dim& begin, std::size_t part, NodeId before) {
    TensorType type = graph_.type(value);
    IndexMap view = view_along(Form::slice, static_cast<int>(axis_of(region, type.shape)));
    view.begin = begin;
    view.length = extent_of(region, part);
    type.shape = viewed_shape(view, type.shape);
    Node node{.inputs = {value}, .where = graph_.nodes[before].where, .within = graph_.nodes[before].within};
    set_view(rewriting_, node, std::move(view));
    node.outputs = {new_result(rewriting_, part_name(region, value, part), std::move(type), node.where)};
    before_[before].push_back(std::move(node));
    return before_[before].back().outputs[0];
  }

  Rewriting& rewriting_;
  Graph& graph_;
  const Readers readers_;
  std::vector<bool> taken_;                                  // by node: it is computed in parts
  std::vector<std::vector<Node>> before_;                    // by node: those in front of it, or in its place
  std::unordered_map<ValueId, std::vector<ValueId>> parts_;  // of values that the nodes of a region read or make
};

}  // namespace

bool push_concats(Rewriting& rewriting) {
  const auto is_concat = [](const Node& node) { return concat_of(node) != nullptr; };
  const std::vector<Node>& nodes = rewriting.graph.nodes;
  return std::any_of(nodes.begin(), nodes.end(), is_concat) && ConcatPusher(rewriting).run();
}

}  // namespace kgen

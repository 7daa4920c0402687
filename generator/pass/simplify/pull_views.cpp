#include "generator/pass/simplify/pull_views.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "generator/pass/simplify/view_algebra.hpp"

namespace kgen {
namespace {

using Form = ViewRule::Form;

// What a view of the value could be pulled up to.
struct Reach {
  bool loads = false;           // nothing but memory, through elementwise nodes that nothing else reads
  bool dense_loads = false;     // nothing but dense memory of the value's own shape, and scalars
  bool permuted_loads = false;  // as `loads`, also through what several read whose results come together again
};

bool is_static(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& extent) { return extent.is_constant(); });
}

Reach reach_of_view(const Node& node, const std::vector<Reach>& reach) {
  const Form form = std::get<IndexMap>(node.kind).form;
  const bool keeps_order = form == Form::reshape || form == Form::unsqueeze || form == Form::squeeze;
  return {true, form == Form::concat || (keeps_order && reach[node.inputs[0]].dense_loads), true};
}

Reach reach_of_elementwise(const Graph& graph, const Node& node, const std::vector<Reach>& reach) {
  const Shape& shape = graph.type(node.outputs[0]).shape;
  Reach result{true, true, true};
  for (const ValueId input : node.inputs) {
    if (input == no_id || graph.type(input).shape.empty()) continue;
    result.permuted_loads = result.permuted_loads && reach[input].permuted_loads;
    result.loads = result.loads && reach[input].loads;
    result.dense_loads = result.dense_loads && reach[input].dense_loads && graph.type(input).shape == shape;
  }
  return result;
}

// By ValueId: whether all that reads the value are elementwise nodes of its shape, each of which makes one value, and
// whatever they lead to comes together in one value, which one node reads. A view of that may then be taken of all.
std::vector<bool> find_shared(const Rewriting& rewriting, const std::vector<std::uint32_t>& readers) {
  const Graph& graph = rewriting.graph;
  const auto count = graph.values.size();
  std::vector<ValueId> end(count, no_id);        // where what was seen of its readers leads
  std::vector<std::uint32_t> leading(count, 0);  // readers that lead there
  std::vector<NodeId> last_reader(count, no_id);
  std::vector<bool> shared(count, false);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool is_elementwise = std::holds_alternative<Elementwise>(node.kind) && node.outputs.size() == 1;
    ValueId to = no_id;
    if (is_elementwise) {
      const ValueId output = node.outputs[0];
      const bool all_lead = leading[output] == readers[output] && end[output] != no_id;
      to = readers[output] == 1 && !all_lead ? output : all_lead ? end[output] : no_id;
      shared[output] = all_lead && readers[output] > 1;
    }
    for (const ValueId input : node.inputs) {
      if (input == no_id || last_reader[input] == static_cast<NodeId>(i)) continue;
      last_reader[input] = static_cast<NodeId>(i);
      const bool leads = to != no_id && graph.type(input).shape == graph.type(node.outputs[0]).shape;
      if (!leads || (end[input] != no_id && end[input] != to)) continue;
      end[input] = to;
      ++leading[input];
    }
  }
  return shared;
}

// Where one part of an axis of known extent begins and ends.
struct PartOfAxis {
  std::int64_t begin, end;
};

// What a slice or select by known numbers shows of its axis.
std::optional<PartOfAxis> part_of_axis(const IndexMap& view, const Shape& shape) {
  const bool selects = view.form == Form::select;
  if ((!selects && view.form != Form::slice) || view.step != 1 || !view.begin.is_constant()) return std::nullopt;
  if (!shape[static_cast<std::size_t>(view.axis)].is_constant() || (!selects && !view.length.is_constant())) {
    return std::nullopt;
  }
  const std::int64_t begin = view.begin.constant(), length = selects ? 1 : view.length.constant();
  return PartOfAxis{begin, begin + length};
}

// More parts would make a stub that nobody reads.
constexpr std::size_t most_parts = 8;

// Whether views of one form show parts of an elementwise result along one axis, no two of them the same element.
bool show_parts(const Rewriting& rewriting, ValueId value, const std::vector<NodeId>& views) {
  const Graph& graph = rewriting.graph;
  if (views.size() < 2 || views.size() > most_parts) return false;
  const IndexMap& first = std::get<IndexMap>(graph.nodes[views[0]].kind);
  std::vector<PartOfAxis> parts;
  for (const NodeId id : views) {
    const IndexMap& view = std::get<IndexMap>(graph.nodes[id].kind);
    const auto part = part_of_axis(view, graph.type(value).shape);
    if (!part || part->begin == part->end || view.form != first.form || view.axis != first.axis) return false;
    const auto overlaps = [&](const PartOfAxis& other) { return part->begin < other.end && other.begin < part->end; };
    if (std::any_of(parts.begin(), parts.end(), overlaps)) return false;
    parts.push_back(*part);
  }
  return true;
}

// By ValueId: whether it is read in parts: by views that show no element twice, which elementwise nodes of their shape
// read and nothing else, so that each of these can compute the part that it reads.
std::vector<bool> find_parted(const Rewriting& rewriting) {
  const Graph& graph = rewriting.graph;
  const auto count = graph.values.size();
  std::vector<bool> parted(count, false), other_readers = rewriting.observed, other_than_loops = rewriting.observed;
  std::vector<std::vector<NodeId>> views(count);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool is_loop = std::holds_alternative<Elementwise>(node.kind);
    const bool is_view = std::holds_alternative<IndexMap>(node.kind) && node.inputs.size() == 1;
    const bool is_part = is_view && !other_than_loops[node.outputs[0]] && !rewriting.named[node.outputs[0]];
    for (const ValueId input : node.inputs) {
      if (input == no_id) continue;
      if (!is_loop || graph.type(input).shape != graph.type(node.outputs[0]).shape) other_than_loops[input] = true;
      if (is_part) {
        if (views[input].size() <= most_parts) views[input].push_back(static_cast<NodeId>(i));
      } else {
        other_readers[input] = true;
      }
    }
    if (!is_loop || node.outputs.size() != 1) continue;
    const ValueId output = node.outputs[0];
    parted[output] = !other_readers[output] && show_parts(rewriting, output, views[output]);
  }
  return parted;
}

// What a sweep knows of the readers of values, by ValueId.
struct ReadBy {
  std::vector<std::uint32_t> count;
  std::vector<bool> shared, parted;

  bool one(ValueId value) const { return count[value] == 1; }
};

ReadBy find_readers(const Rewriting& rewriting) {
  std::vector<std::uint32_t> count = count_readers(rewriting.graph);
  std::vector<bool> shared = find_shared(rewriting, count);
  return {std::move(count), std::move(shared), find_parted(rewriting)};
}

// By ValueId.
std::vector<Reach> find_reach(const Rewriting& rewriting, const ReadBy& read_by) {
  const Graph& graph = rewriting.graph;
  std::vector<Reach> reach(graph.values.size());
  for (const GraphInput& input : graph.inputs) reach[input.value] = {true, !input.strided, true};
  for (const ConstantData& constant : graph.constants) reach[constant.value] = {true, true, true};
  // The strides of a state are those of its greatest size.
  for (const StateData& state : graph.states) {
    reach[state.value] = {true, is_static(graph.type(state.value).shape), true};
  }
  for (const Node& node : graph.nodes) {
    Reach result;
    if (std::holds_alternative<IndexMap>(node.kind)) {
      result = reach_of_view(node, reach);
    } else if (std::holds_alternative<Call>(node.kind) || std::holds_alternative<Opaque>(node.kind)) {
      result = {true, true, true};
    } else if (std::holds_alternative<Elementwise>(node.kind)) {
      const ValueId output = node.outputs[0];
      const bool is_between = node.outputs.size() == 1 && !rewriting.named[output];
      const bool at_own_position = std::get<Elementwise>(node.kind).line_axes.empty();
      const bool shared = read_by.shared[output], parted = read_by.parted[output];
      if (is_between && at_own_position && (read_by.one(output) || shared || parted)) {
        result = reach_of_elementwise(graph, node, reach);
        if (shared) result.loads = result.dense_loads = false;
        if (parted) result.permuted_loads = result.dense_loads = false;
      }
    }
    for (const ValueId output : node.outputs) reach[output] = result;
  }
  return reach;
}

// What becomes of an operand of the elementwise node when `view` of its result is taken: the views to take of the
// operand, in order; none where it stays as it is. Absent where that cannot be said.
using Views = std::vector<IndexMap>;

// slice, select, flip and squeeze: `view.axis` counts in `whole`.
std::optional<Views> operand_along_axis(IndexMap view, const Shape& operand, const Shape& whole) {
  const int lead = static_cast<int>(whole.size() - operand.size());
  const Dim& whole_extent = whole[static_cast<std::size_t>(view.axis)];
  if (view.axis < lead) return Views{};
  view.axis -= lead;
  const Dim& extent = operand[static_cast<std::size_t>(view.axis)];
  if (extent == whole_extent) return Views{std::move(view)};
  if (!is_one(extent)) return std::nullopt;
  if (view.form == Form::select) return Views{view_along(Form::squeeze, view.axis)};
  return Views{};
}

std::optional<Views> views_of_operand(const IndexMap& view, const Shape& operand, const Shape& whole) {
  if (operand.empty()) return Views{};
  switch (view.form) {
    case Form::permute:
      return permuted_operand(view, operand.size());
    case Form::reshape:
      return operand == whole ? std::optional(Views{view}) : std::nullopt;
    case Form::slice:
    case Form::select:
    case Form::flip:
    case Form::squeeze:
      return operand_along_axis(view, operand, whole);
    case Form::unsqueeze: {
      const int after = static_cast<int>(whole.size()) - view.axis;  // axes of the result behind the new one
      const int axis = static_cast<int>(operand.size()) - after;
      return axis < 0 ? Views{} : Views{view_along(Form::unsqueeze, axis)};
    }
    case Form::broadcast:
    case Form::concat:
    case Form::update:
      break;
  }
  return std::nullopt;
}

// The axes of `parts` in the order in which `permute` has those of `whole`, each of which is some of them as one.
std::optional<std::vector<int>> axes_of_parts(const Shape& parts, const Shape& whole, const IndexMap& permute) {
  std::vector<std::vector<int>> runs;
  std::size_t next = 0;
  for (const Dim& extent : whole) {
    std::vector<int> run;
    Dim count(1);
    while (next < parts.size() && (run.empty() || count != extent)) {
      count = count * parts[next];
      run.push_back(static_cast<int>(next++));
    }
    if (count != extent) return std::nullopt;
    runs.push_back(std::move(run));
  }
  if (next != parts.size()) return std::nullopt;
  std::vector<int> axes;
  for (const int axis : permute.axes) {
    const std::vector<int>& run = runs[static_cast<std::size_t>(axis)];
    axes.insert(axes.end(), run.begin(), run.end());
  }
  return axes;
}

// What the name of a viewed operand ends in.
std::string_view suffix_of(Form form) {
  switch (form) {
    case Form::permute:
      return "_permuted";
    case Form::slice:
      return "_sliced";
    case Form::select:
      return "_selected";
    case Form::unsqueeze:
      return "_unsqueezed";
    case Form::squeeze:
      return "_squeezed";
    case Form::flip:
      return "_flipped";
    default:
      return "_reshaped";
  }
}

// A view that an elementwise node is to take of its operands instead of its result.
struct Pulled {
  Node view_node;        // its output is what the elementwise node makes from now on
  Shape whole;           // of the elementwise node's result until now
  bool is_part = false;  // one of several views of it
};

// One sweep. Nodes are gathered from the last to the first.
class Sweep {
 public:
  explicit Sweep(Rewriting& rewriting)
      : rewriting_(rewriting),
        graph_(rewriting.graph),
        read_by_(find_readers(rewriting)),
        reach_(find_reach(rewriting, read_by_)),
        viewed_in_place_(graph_.values.size(), false) {}

  bool run() {
    const auto meets_maker = [&](const Node& node) { return maker_for_view(node) != no_id; };
    if (std::none_of(graph_.nodes.begin(), graph_.nodes.end(), meets_maker)) return false;
    reversed_.reserve(graph_.nodes.size());
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      ++rewriting_.node_visits;
      const auto pulled = pulled_.find(static_cast<NodeId>(i));
      if (pulled == pulled_.end()) {
        place(std::move(graph_.nodes[i]));
      } else {
        std::vector<Pulled> views = std::move(pulled->second);
        if (views.size() > 1) read_in_parts(graph_.nodes[i]);
        for (Pulled& each : views) {
          each.is_part = views.size() > 1;
          place_pulled(graph_.nodes[i], each);
        }
      }
    }
    std::reverse(reversed_.begin(), reversed_.end());
    graph_.nodes = std::move(reversed_);
    number_producers(graph_);
    rewriting_.removed.assign(graph_.nodes.size(), false);
    return changed_;
  }

 private:
  void place(Node node) {
    if (give_to_maker(node)) return;
    permute_earlier(node);
    reversed_.push_back(std::move(node));
  }

  // permute(reshape(e)) becomes reshape(permute(e)), where the reshape makes axes one that stay beside each other, and
  // cannot go in front of what makes e itself, while a permute can.
  void permute_earlier(Node& node) {
    const NodeId maker = maker_for_view(node);
    if (maker == no_id || std::get<IndexMap>(node.kind).form != Form::permute) return;
    Node& inner = graph_.nodes[maker];
    const auto* reshape = std::get_if<IndexMap>(&inner.kind);
    if (!reshape || reshape->form != Form::reshape) return;
    const ValueId base = inner.inputs[0], operand = node.inputs[0];
    const Reach& reach = reach_[base];
    if (!reach.loads || reach.dense_loads || !read_by_.one(base) || rewriting_.named[base]) return;
    const auto axes = axes_of_parts(graph_.type(base).shape, graph_.type(operand).shape, std::get<IndexMap>(node.kind));
    if (!axes) return;
    IndexMap permute = permutation(*axes), joined = reshaping(graph_.type(node.outputs[0]).shape);
    if (!view_op(rewriting_, permute) || !view_op(rewriting_, joined)) return;
    graph_.value(operand).type->shape = viewed_shape(permute, graph_.type(base).shape);
    set_view(rewriting_, inner, std::move(permute));
    set_view(rewriting_, node, std::move(joined));
    changed_ = true;
  }

  // Lets the node that makes a view's operand, for this view only, make what the view shows. Where the view's result is
  // its operand, that value changes its shape. False, doing nothing, where it cannot be done.
  bool give_to_maker(const Node& node) {
    const NodeId maker = maker_for_view(node);
    if (maker == no_id) return false;
    const ValueId operand = node.inputs[0];
    Shape shape = viewed_shape(std::get<IndexMap>(node.kind), graph_.type(operand).shape);
    if (!merge_into(maker, node) && !pull_through(maker, node)) return false;
    if (node.outputs[0] == operand) graph_.value(operand).type->shape = std::move(shape);
    changed_ = true;
    return true;
  }

  // The node that makes the operand of a view, if nothing else reads that, or nothing but views of other parts; else
  // no_id.
  NodeId maker_for_view(const Node& node) const {
    const IndexMap* view = std::get_if<IndexMap>(&node.kind);
    if (!view || node.inputs.size() != 1 || rewriting_.named[node.outputs[0]]) return no_id;
    const ValueId operand = node.inputs[0];
    const Value& value = graph_.value(operand);
    const bool is_new = operand >= reach_.size();  // made by this sweep
    if (is_new || value.kind != ValueKind::result || shows_everything(*view, value.type->shape)) return no_id;
    const bool for_all = read_by_.one(operand) || (read_by_.shared[operand] && view->form == Form::permute);
    // A view would become another one for each part.
    const bool in_part = std::holds_alternative<Elementwise>(graph_.nodes[value.producer].kind);
    return (read_by_.parted[operand] ? in_part : for_all) && !rewriting_.named[operand] ? value.producer : no_id;
  }

  // A view that meets another goes on as one with it.
  bool merge_into(NodeId maker, const Node& node) {
    Node& inner = graph_.nodes[maker];
    const IndexMap* inner_view = std::get_if<IndexMap>(&inner.kind);
    if (!inner_view || inner.inputs.size() != 1 || inner_view->form == Form::concat) return false;
    auto merged = merged_views(std::get<IndexMap>(node.kind), *inner_view, graph_.type(inner.inputs[0]).shape);
    if (!merged || !set_view(rewriting_, inner, std::move(*merged))) return false;
    inner.outputs = node.outputs;
    return true;
  }

  bool pull_through(NodeId maker, const Node& node) {
    const Node& elementwise = graph_.nodes[maker];
    const auto* kind = std::get_if<Elementwise>(&elementwise.kind);
    if (!kind || !kind->line_axes.empty()) return false;
    const IndexMap& view = std::get<IndexMap>(node.kind);
    const ValueId operand = node.inputs[0];
    const Reach& reach = reach_[operand];
    const bool is_permute = view.form == Form::permute, is_reshape = view.form == Form::reshape;
    if (!(is_permute ? reach.permuted_loads : is_reshape ? reach.dense_loads : reach.loads)) return false;
    const Shape& whole = graph_.type(operand).shape;
    if (whole.empty()) return false;  // no operand would give the result its axes
    for (const ValueId input : elementwise.inputs) {
      if (input != no_id && !can_view(view, graph_.type(input).shape, whole)) return false;
    }
    pulled_[maker].push_back(Pulled{node, whole});
    return true;
  }

  bool can_view(const IndexMap& view, const Shape& operand, const Shape& whole) const {
    const auto views = views_of_operand(view, operand, whole);
    return views &&
           std::all_of(views->begin(), views->end(), [&](const IndexMap& each) { return view_op(rewriting_, each); });
  }

  // What a node that is computed in parts alone reads is read in parts too.
  void read_in_parts(const Node& node) {
    for (const ValueId input : node.inputs) {
      if (input != no_id && input < reach_.size() && read_by_.one(input)) read_by_.parted[input] = true;
    }
  }

  // The elementwise node makes the view's result; views of its operands come in front of it.
  void place_pulled(Node node, const Pulled& pulled) {
    node.outputs = pulled.view_node.outputs;
    std::vector<Node> views;
    std::unordered_map<ValueId, ValueId> viewed;  // an operand that is read twice is viewed once
    for (ValueId& input : node.inputs) {
      if (input == no_id) continue;
      const auto [found, is_first] = viewed.try_emplace(input, input);
      if (is_first) found->second = view_operand(pulled, input, views);
      input = found->second;
    }
    reversed_.push_back(std::move(node));
    for (std::size_t i = views.size(); i-- > 0;) place(std::move(views[i]));
  }

  // Has the operand viewed by the node that makes it, or appends views of it to `views`. The value to read in its
  // place.
  ValueId view_operand(const Pulled& pulled, ValueId operand, std::vector<Node>& views) {
    if (operand < viewed_in_place_.size() && viewed_in_place_[operand]) return operand;  // for another of its readers
    const Views chain =
        *views_of_operand(std::get<IndexMap>(pulled.view_node.kind), graph_.type(operand).shape, pulled.whole);
    if (chain.size() == 1 && !read_by_.parted[operand] &&
        give_to_maker(view_node(pulled, chain[0], operand, operand))) {
      if (read_by_.shared[operand]) viewed_in_place_[operand] = true;
      return operand;
    }
    ValueId current = operand;
    for (const IndexMap& each : chain) {
      const TensorType type{graph_.type(current).dtype, viewed_shape(each, graph_.type(current).shape)};
      const std::string part = pulled.is_part ? part_of(pulled.view_node.outputs[0]) : "";
      const std::string suffix = pulled.is_part ? "_" + part : std::string(suffix_of(each.form));
      const ValueId next = new_result(rewriting_, graph_.value(current).name + suffix, type, pulled.view_node.where);
      if (pulled.is_part) part_of_.emplace(next, part);
      views.push_back(view_node(pulled, each, current, next));
      current = next;
    }
    return current;
  }

  // What the graph calls the part that a value belongs to.
  std::string part_of(ValueId value) const {
    const auto found = part_of_.find(value);
    return found != part_of_.end() ? found->second : graph_.value(value).name;
  }

  Node view_node(const Pulled& pulled, const IndexMap& view, ValueId operand, ValueId result) const {
    Node node = pulled.view_node;
    set_view(rewriting_, node, view);
    node.inputs = {operand};
    node.outputs = {result};
    return node;
  }

  Rewriting& rewriting_;
  Graph& graph_;
  ReadBy read_by_;
  const std::vector<Reach> reach_;
  std::vector<bool> viewed_in_place_;                       // by ValueId: of those that are shared
  std::unordered_map<NodeId, std::vector<Pulled>> pulled_;  // by elementwise node: one view, or those of its parts
  std::unordered_map<ValueId, std::string> part_of_;        // of values made for a part of what is read in parts
  std::vector<Node> reversed_;
  bool changed_ = false;
};

}  // namespace

bool pull_views(Rewriting& rewriting) { return Sweep(rewriting).run(); }

}  // namespace kgen

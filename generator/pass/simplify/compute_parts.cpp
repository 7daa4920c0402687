#include "generator/pass/simplify/compute_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "generator/pass/graph/load_values.hpp"
#include "generator/pass/graph/readers.hpp"
#include "generator/pass/simplify/remove_dead_nodes.hpp"
#include "generator/pass/simplify/rewriting.hpp"
#include "generator/pass/simplify/view_algebra.hpp"
#include "generator/spec/widening.hpp"

namespace kgen {
namespace {

using Form = ViewRule::Form;

// The whole axis is seen as axes of these extents, and a part is a range of each.
struct Part {
  ValueId value = no_id;  // the view that shows it
  std::vector<std::int64_t> begin, length;
};

// A value whose last axes, or another, all readers see in parts.
struct Whole {
  ValueId value = no_id;
  std::size_t axis = 0;
  std::vector<std::int64_t> extents;  // that the axis is seen as
  std::vector<Part> parts;
};

// What a view on the way to a part shows: for each of its axes, which of the whole's extents it is; -1: none.
struct Shown {
  std::vector<int> axes;
  Part part;
};

bool overlap(const Part& a, const Part& b) {
  for (std::size_t i = 0; i < a.begin.size(); ++i) {
    if (a.begin[i] + a.length[i] <= b.begin[i] || b.begin[i] + b.length[i] <= a.begin[i]) return false;
  }
  return true;
}

std::int64_t elements(const Part& part) {
  std::int64_t count = 1;
  for (const std::int64_t length : part.length) count *= length;
  return count;
}

// Finds the parts of a value that its readers see.
class PartFinder {
 public:
  PartFinder(const Rewriting& rewriting, const Readers& readers)
      : rewriting_(rewriting), graph_(rewriting.graph), readers_(readers) {}

  // Along `axis` of the value; nothing where any reader sees more than a part, or parts overlap.
  std::optional<Whole> find(ValueId value, std::size_t axis) {
    const Shape& shape = graph_.type(value).shape;
    if (!shape[axis].is_constant() || is_kept(value)) return std::nullopt;
    whole_ = {value, axis, {shape[axis].constant()}, {}};
    Shown shown;
    shown.axes.assign(shape.size(), -1);
    ValueId from = value;
    if (const auto reshaped = regrouped(value, axis)) {
      from = reshaped->first;
      whole_.extents = reshaped->second;
      shown.axes.assign(graph_.type(from).shape.size(), -1);
    }
    for (std::size_t i = 0; i < whole_.extents.size(); ++i) shown.axes[axis + i] = static_cast<int>(i);
    shown.part.begin.assign(whole_.extents.size(), 0);
    shown.part.length = whole_.extents;
    if (!narrowed_by_all(from, shown) || whole_.parts.size() < 2) return std::nullopt;
    for (std::size_t i = 0; i < whole_.parts.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (overlap(whole_.parts[i], whole_.parts[j])) return std::nullopt;
      }
    }
    return whole_;
  }

 private:
  bool is_kept(ValueId value) const { return rewriting_.observed[value] || rewriting_.named[value]; }

  const IndexMap* view_of(NodeId id) const { return std::get_if<IndexMap>(&graph_.nodes[id].kind); }

  // Where one reshape reads the value, and does no more than to see the axis as several: its result, and their extents.
  std::optional<std::pair<ValueId, std::vector<std::int64_t>>> regrouped(ValueId value, std::size_t axis) const {
    if (readers_[value].size() != 1) return std::nullopt;
    const IndexMap* view = view_of(readers_[value][0]);
    if (!view || view->form != Form::reshape) return std::nullopt;
    const ValueId result = graph_.nodes[readers_[value][0]].outputs[0];
    const Shape& from = graph_.type(value).shape;
    const Shape& to = graph_.type(result).shape;
    if (is_kept(result) || to.size() < from.size()) return std::nullopt;
    const std::size_t count = to.size() - from.size() + 1;
    const auto place = static_cast<std::ptrdiff_t>(axis);
    const bool others_stay = std::equal(from.begin(), from.begin() + place, to.begin()) &&
                             std::equal(from.begin() + place + 1, from.end(), to.end() - (from.end() - from.begin() - place - 1));
    std::vector<std::int64_t> extents;
    for (std::size_t i = axis; i < axis + count; ++i) {
      if (!to[i].is_constant()) return std::nullopt;
      extents.push_back(to[i].constant());
    }
    if (!others_stay) return std::nullopt;
    return std::pair(result, std::move(extents));
  }

  // What the view shows of what `shown` is; nothing where it is no part of it, or shows it otherwise.
  std::optional<Shown> narrowed(const IndexMap& view, Shown shown) const {
    const auto axis = static_cast<std::size_t>(view.axis);
    if (view.form == Form::unsqueeze) {
      shown.axes.insert(shown.axes.begin() + view.axis, -1);
      return shown;
    }
    if (view.form == Form::squeeze) {
      shown.axes.erase(shown.axes.begin() + view.axis);
      return shown;
    }
    if ((view.form != Form::slice && view.form != Form::select) || shown.axes[axis] < 0) return std::nullopt;
    const auto extent = static_cast<std::size_t>(shown.axes[axis]);
    const bool selects = view.form == Form::select;
    if (!view.begin.is_constant() || view.step != 1 || (!selects && !view.length.is_constant())) return std::nullopt;
    shown.part.begin[extent] += view.begin.constant();
    shown.part.length[extent] = selects ? 1 : view.length.constant();
    if (selects) shown.axes.erase(shown.axes.begin() + view.axis);
    return shown;
  }

  // Whether all readers of `value` see parts of it, which are noted.
  bool narrowed_by_all(ValueId value, const Shown& shown) {
    if (is_kept(value) || readers_[value].empty()) return false;
    for (const NodeId reader : readers_[value]) {
      const IndexMap* view = view_of(reader);
      const auto next = view ? narrowed(*view, shown) : std::nullopt;
      if (!next) return false;
      const ValueId result = graph_.nodes[reader].outputs[0];
      if (rewriting_.named[result]) return false;
      // A part is what no view narrows further, or what is read as it is.
      const std::size_t before = whole_.parts.size();
      if (narrowed_by_all(result, *next)) continue;
      whole_.parts.resize(before);
      if (elements(next->part) == elements(shown.part)) return false;
      whole_.parts.push_back(next->part);
      whole_.parts.back().value = result;
    }
    return true;
  }

  const Rewriting& rewriting_;
  const Graph& graph_;
  const Readers& readers_;
  Whole whole_;
};

class PartMaker {
 public:
  explicit PartMaker(Rewriting& rewriting)
      : rewriting_(rewriting), graph_(rewriting.graph), constants_(graph_), readers_(graph_) {}

  // True where anything changed.
  bool run() {
    std::vector<Whole> wholes;
    before_.resize(graph_.nodes.size());
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (auto whole = read_in_parts(id)) wholes.push_back(std::move(*whole));
    }
    for (const Whole& whole : wholes) replace(whole);
    if (wholes.empty()) return false;
    std::vector<Node> nodes;
    nodes.reserve(graph_.nodes.size());
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      for (Node& node : before_[id]) nodes.push_back(std::move(node));
      if (!rewriting_.removed[id]) nodes.push_back(std::move(graph_.nodes[id]));
    }
    graph_.nodes = std::move(nodes);
    number_producers(graph_);
    rewriting_.removed.assign(graph_.nodes.size(), false);
    remove_dead_nodes(rewriting_);
    return true;
  }

 private:
  // A product, or what elementwise nodes make of one, that is to be computed in parts.
  std::optional<Whole> read_in_parts(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (node.outputs.size() != 1 || std::holds_alternative<IndexMap>(node.kind)) return std::nullopt;
    // Views alone show parts. Asked first, so that a chain is walked from its end, and not from each of its nodes.
    const std::span<const NodeId> readers = readers_[node.outputs[0]];
    if (readers.empty() || !std::holds_alternative<IndexMap>(graph_.nodes[readers[0]].kind)) return std::nullopt;
    const JoinedAxis* joined = product_behind(node.outputs[0], true);
    if (!joined) return std::nullopt;
    const std::size_t rank = graph_.type(node.outputs[0]).shape.size();
    const std::size_t axis = rank - static_cast<std::size_t>(-joined->result_axis);
    auto whole = PartFinder(rewriting_, readers_).find(node.outputs[0], axis);
    if (!whole || whole->parts.size() > most_parts_ || !computed_on(*whole)) return std::nullopt;
    return whole;
  }

  bool computed_on(const Whole& whole) const {
    return std::any_of(whole.parts.begin(), whole.parts.end(), [&](const Part& part) {
      return std::any_of(readers_[part.value].begin(), readers_[part.value].end(), [&](NodeId reader) {
        return std::holds_alternative<Elementwise>(graph_.nodes[reader].kind);
      });
    });
  }

  // How the one product behind `value` joins: it makes the value, or an elementwise node on the way to it, of nothing
  // else but what is known at load. Null where there is none. `most_parts_` is set.
  const JoinedAxis* product_behind(ValueId value, bool is_last) {
    const Node* node = producer(rewriting_, value);
    if (!node || !node->op || rewriting_.observed[value]) return nullptr;
    if (!is_last && readers_[value].size() != 1) return nullptr;
    if (std::holds_alternative<Elementwise>(node->kind)) return product_before(*node, value);
    if (!std::holds_alternative<Structured>(node->kind) || !node->kernel || node->op->algebra.joins.empty()) return nullptr;
    const JoinedAxis& joined = node->op->algebra.joins.front();
    const ValueId operand = node->inputs[joined.operand];
    if (operand == no_id || !constants_.contains(operand)) return nullptr;
    most_parts_ = static_cast<std::size_t>(node->kernel->operands[joined.operand].several);
    return most_parts_ > 1 ? &joined : nullptr;
  }

  const JoinedAxis* product_before(const Node& node, ValueId value) {
    const JoinedAxis* found = nullptr;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (line_axis(node, i) >= 0) return nullptr;
      const ValueId input = node.inputs[i];
      if (input == no_id || constants_.contains(input)) continue;
      if (found || graph_.type(input).shape != graph_.type(value).shape) return nullptr;
      found = product_behind(input, false);
      if (!found) return nullptr;
    }
    return found;
  }

  void replace(const Whole& whole) {
    const NodeId id = graph_.value(whole.value).producer;
    for (const Part& part : whole.parts) {
      const ValueId made = part_of(whole.value, whole, part, whole.axis, id);
      const NodeId shows = graph_.value(part.value).producer;
      if (graph_.type(made) == graph_.type(part.value)) {
        before_[id].back().outputs[0] = part.value;
        rewriting_.removed[shows] = true;
      } else {
        graph_.nodes[shows].inputs = {made};
        set_view(rewriting_, graph_.nodes[shows], reshaping(graph_.type(part.value).shape));
      }
    }
  }

  // `value`, whose axis is the whole's, but for what is not of the part; its nodes go in front of node `id`.
  ValueId part_of(ValueId value, const Whole& whole, const Part& part, std::size_t axis, NodeId id) {
    const Node* made_by = producer(rewriting_, value);
    if (constants_.contains(value) || !made_by) return known_part_of(value, whole, part, axis, id);
    Node node = *made_by;  // of which there will be one for each part
    const std::size_t rank = graph_.type(value).shape.size();
    if (std::holds_alternative<Structured>(node.kind)) {
      const JoinedAxis& joined = node.op->algebra.joins.front();
      const std::size_t operand_rank = graph_.type(node.inputs[joined.operand]).shape.size();
      ValueId& operand = node.inputs[joined.operand];
      operand = known_part_of(operand, whole, part, operand_rank - static_cast<std::size_t>(-joined.operand_axis), id);
    } else {
      for (ValueId& input : node.inputs) {
        const Shape& shape = input == no_id ? Shape{} : graph_.type(input).shape;
        const std::size_t from_last = rank - axis;
        if (shape.size() < from_last || is_one(shape[shape.size() - from_last])) continue;
        input = part_of(input, whole, part, shape.size() - from_last, id);
      }
    }
    TensorType type = graph_.type(value);
    type.shape[axis] = Dim(elements(part));
    const bool is_top = value == whole.value;
    node.outputs = {is_top ? new_result(rewriting_, graph_.value(part.value).name + "_flat", std::move(type), node.where)
                           : new_value(value, part, std::move(type), node.where)};
    return add(std::move(node), id);
  }

  // The part of a value that is known at load: of what is widened before it is, so that memory has the narrow part.
  ValueId known_part_of(ValueId value, const Whole& whole, const Part& part, std::size_t axis, NodeId id) {
    const ValueId narrow = before_widening(graph_, value);
    if (narrow == value || !constants_.contains(narrow)) return columns_of(value, whole, part, axis, id);
    Node widening = *producer(rewriting_, value);
    const ValueId shown = columns_of(narrow, whole, part, axis, id);
    TensorType type = graph_.type(value);
    type.shape = graph_.type(shown).shape;
    widening.inputs = {shown};
    widening.outputs = {new_value(value, part, std::move(type), widening.where)};
    return add(std::move(widening), id);
  }

  // Views of a value that is known at load, which show the part of it along the axis.
  ValueId columns_of(ValueId value, const Whole& whole, const Part& part, std::size_t axis, NodeId id) {
    const TensorType type = graph_.type(value);
    const SourceLocation where = graph_.value(value).where;
    const auto place = type.shape.begin() + static_cast<std::ptrdiff_t>(axis);
    const auto seen_as = [&](ValueId from, const std::vector<std::int64_t>& extents) {
      Shape shape(type.shape.begin(), place);
      for (const std::int64_t each : extents) shape.emplace_back(each);
      shape.insert(shape.end(), place + 1, type.shape.end());
      return shape == graph_.type(from).shape ? from : view(from, reshaping(std::move(shape)), value, part, where, id);
    };
    ValueId shown = seen_as(value, whole.extents);
    for (std::size_t i = 0; i < whole.extents.size(); ++i) {
      if (part.length[i] == whole.extents[i]) continue;
      IndexMap slice = view_along(Form::slice, static_cast<int>(axis + i));
      slice.begin = Dim(part.begin[i]);
      slice.length = Dim(part.length[i]);
      shown = view(shown, std::move(slice), value, part, where, id);
    }
    return seen_as(shown, {elements(part)});
  }

  ValueId view(ValueId from, IndexMap view, ValueId of, const Part& part, SourceLocation where, NodeId before) {
    TensorType type = graph_.type(from);
    type.shape = viewed_shape(view, type.shape);
    Node node{.inputs = {from}, .where = where};
    set_view(rewriting_, node, std::move(view));
    node.outputs = {new_value(of, part, std::move(type), where)};
    return add(std::move(node), before);
  }

  // "wq_q_first"
  ValueId new_value(ValueId of, const Part& part, TensorType type, SourceLocation where) {
    const std::string wish = fmt::format("{}_{}", graph_.value(of).name, graph_.value(part.value).name);
    return new_result(rewriting_, wish, std::move(type), where);
  }

  ValueId add(Node node, NodeId before) {
    const ValueId made = node.outputs[0];
    constants_.add(node);
    before_[before].push_back(std::move(node));
    return made;
  }

  Rewriting& rewriting_;
  Graph& graph_;
  LoadValues constants_;
  Readers readers_;
  std::vector<std::vector<Node>> before_;     // by node: those that go in front of it
  std::size_t most_parts_ = 0;
};

}  // namespace

Module compute_parts(Module module, const OpSet& ops) {
  const auto rewrite = [&](Graph& graph) {
    Rewriting rewriting = start_rewriting(graph, ops, module.main.numerics);
    if (!view_op(rewriting, view_along(Form::slice, 0)) || !view_op(rewriting, reshaping({}))) return;
    if (PartMaker(rewriting).run()) drop_unused_values(graph);
  };
  for (Graph& function : module.functions) rewrite(function);
  rewrite(module.main);
  return module;
}

}  // namespace kgen

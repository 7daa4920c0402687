#include "generator/pass/simplify/merge_equal_nodes.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "generator/pass/graph/attributes.hpp"
#include "generator/pass/simplify/view_algebra.hpp"
#include "generator/spec/scalar_value.hpp"

namespace kgen {
namespace {

// Attributes that node.kind does not hold in a resolved form.
bool counts(const Node& node, const std::string& attribute) {
  if (std::holds_alternative<IndexMap>(node.kind)) return false;
  return !std::holds_alternative<Reduction>(node.kind) || (attribute != "axes" && attribute != "keepdims");
}

bool is_commutative(const Node& node) { return node.op && node.op->algebra.commutative && node.inputs.size() == 2; }

bool same_kind(const Node& a, const Node& b) {
  if (a.kind.index() != b.kind.index()) return false;
  if (const auto* view = std::get_if<IndexMap>(&a.kind)) return same_view(*view, std::get<IndexMap>(b.kind));
  if (a.op != b.op) return false;
  if (const auto* reduction = std::get_if<Reduction>(&a.kind)) {
    const auto& other = std::get<Reduction>(b.kind);
    return reduction->axes == other.axes && reduction->keepdims == other.keepdims;
  }
  return true;
}

bool same_operands(const Node& a, const Node& b) {
  if (a.inputs == b.inputs) return true;
  return is_commutative(a) && is_commutative(b) && a.inputs[0] == b.inputs[1] && a.inputs[1] == b.inputs[0];
}

bool same_counting_attributes(const Node& a, const Node& b) {
  return std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                    [&](const auto& left, const auto& right) {
                      return left.first == right.first &&
                             (!counts(a, left.first) || same_attribute(left.second, right.second));
                    });
}

bool may_merge(const Rewriting& rewriting, const Node& node) {
  if (std::holds_alternative<Call>(node.kind)) return false;
  const bool is_copy = node.op && node.op->role == OpRole::copy;
  const auto is_observed = [&](ValueId output) { return rewriting.observed[output]; };
  const bool observed = std::any_of(node.outputs.begin(), node.outputs.end(), is_observed);
  return !observed || (!is_copy && node.outputs.size() == 1);
}

// Constants by their index, as NodeHash and NodeEqual are for nodes.
struct ConstantHash {
  const Graph* graph;
  std::size_t operator()(std::uint32_t index) const {
    const ConstantData& constant = graph->constants[index];
    const TensorType& type = graph->type(constant.value);
    std::size_t hash = mix(hash_of(type.dtype), hash_of(type.shape));
    for (const Number& value : constant.values) hash = mix(hash, hash_of(value));
    return mix(mix(hash, hash_of(constant.file)), hash_of(constant.key));
  }
};
struct ConstantEqual {
  const Graph* graph;
  bool operator()(std::uint32_t a, std::uint32_t b) const {
    const ConstantData& left = graph->constants[a];
    const ConstantData& right = graph->constants[b];
    return graph->type(left.value) == graph->type(right.value) && left.file == right.file && left.key == right.key &&
           std::equal(left.values.begin(), left.values.end(), right.values.begin(), right.values.end(),
                      [](const Number& one, const Number& other) { return same_bits(one, other); });
  }
};

}  // namespace

std::size_t NodeHash::operator()(NodeId id) const {
  const Node& node = graph->nodes[id];
  std::size_t hash = mix(node.kind.index(), node.inputs.size());
  if (const auto* view = std::get_if<IndexMap>(&node.kind)) {
    hash = mix(mix(hash, static_cast<std::uint64_t>(view->form)), static_cast<std::uint64_t>(view->axis));
    hash = mix(hash, hash_of(view->begin));
  } else {
    hash = mix(hash, std::hash<const OpSpec*>{}(node.op));
  }
  if (is_commutative(node)) {
    const auto [low, high] = std::minmax(node.inputs[0], node.inputs[1]);
    hash = mix(mix(hash, low), high);
  } else {
    for (const ValueId input : node.inputs) hash = mix(hash, input);
  }
  for (const auto& [name, value] : node.attributes) {
    if (counts(node, name)) hash = mix(hash, hash_of(value));
  }
  return hash;
}

bool NodeEqual::operator()(NodeId a, NodeId b) const {
  const Node& left = graph->nodes[a];
  const Node& right = graph->nodes[b];
  if (!same_kind(left, right) || !same_operands(left, right)) return false;
  if (!std::holds_alternative<IndexMap>(left.kind) && !same_counting_attributes(left, right)) return false;
  return std::equal(left.outputs.begin(), left.outputs.end(), right.outputs.begin(), right.outputs.end(),
                    [&](ValueId one, ValueId other) { return graph->type(one) == graph->type(other); });
}

SeenNodes no_seen_nodes(const Graph& graph) {
  return SeenNodes(graph.nodes.size(), NodeHash{&graph}, NodeEqual{&graph});
}

bool merge_equal_node(Rewriting& rewriting, SeenNodes& seen, NodeId id) {
  Graph& graph = rewriting.graph;
  const Node& node = graph.nodes[id];
  if (!may_merge(rewriting, node)) return false;
  const auto [found, is_new] = seen.insert(id);
  const auto is_named = [&](ValueId output) { return rewriting.named[output]; };
  if (is_new || std::any_of(node.outputs.begin(), node.outputs.end(), is_named)) return false;
  Node& first = graph.nodes[*found];
  first.implied = first.implied && node.implied;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) rewriting.replacement[node.outputs[i]] = first.outputs[i];
  rewriting.removed[id] = true;
  return true;
}

bool merge_equal_constants(Rewriting& rewriting) {
  const Graph& graph = rewriting.graph;
  std::unordered_set<std::uint32_t, ConstantHash, ConstantEqual> seen(graph.constants.size(), ConstantHash{&graph},
                                                                      ConstantEqual{&graph});
  bool changed = false;
  for (std::uint32_t i = 0; i < graph.constants.size(); ++i) {
    const ValueId value = graph.constants[i].value;
    if (!graph.value(value).type || rewriting.named[value] || rewriting.observed[value] ||
        resolve(rewriting, value) != value)
      continue;
    const auto [found, is_new] = seen.insert(i);
    if (is_new) continue;
    rewriting.replacement[value] = graph.constants[*found].value;
    changed = true;
  }
  return changed;
}

}  // namespace kgen

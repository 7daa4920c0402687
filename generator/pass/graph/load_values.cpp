#include "generator/pass/graph/load_values.hpp"

#include <algorithm>

#include "generator/pass/graph/source_operand.hpp"

namespace kgen {
namespace {

// A buffer that is kept from load has a size and a dtype.
bool can_keep(const TensorType& type) {
  return !type.structure &&
         std::all_of(type.shape.begin(), type.shape.end(), [](const Dim& extent) { return extent.is_constant(); });
}

constexpr std::int64_t least_weight = 4096;  // elements: less is not worth a prologue

// Whether the node makes elements of a byte or more of as many that share bytes; or, on a GPU, wider floats of bytes. A
// CPU packs weights of bytes when the model is loaded.
bool unpacks(const Graph& graph, const Node& node) {
  if (!std::holds_alternative<Elementwise>(node.kind) || node.outputs.size() != 1) return false;
  const bool is_wide_float = graph.target != TargetKind::cpu && graph.value(node.outputs[0]).type &&
                             info(graph.type(node.outputs[0]).dtype).floating &&
                             info(graph.type(node.outputs[0]).dtype).bits > 8;
  const auto packed = [&](ValueId id) {
    if (id == no_id || !graph.value(id).type || graph.type(id).structure) return false;
    const DType dtype = graph.type(id).dtype;
    return is_packed(dtype) || (is_wide_float && info(dtype).bits == 8);
  };
  if (std::none_of(node.inputs.begin(), node.inputs.end(), packed)) return false;
  const TensorType& made = graph.type(node.outputs[0]);
  const Dim count = element_count(made.shape);
  if (made.structure || is_packed(made.dtype) || !count.is_constant() || count.constant() < least_weight) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    return packed(id) && !graph.type(id).structure && element_count(graph.type(id).shape) == count;
  });
}

// Whether the kernel takes what makes the operand as a prologue, and asks for each element once.
bool unpacks_as_it_reads(const Graph& graph, const DimRanges& ranges, const Node& node, std::size_t operand) {
  if (!std::holds_alternative<Structured>(node.kind) || !is_source(node, operand)) return false;
  const auto is_constant = [&](ValueId id) { return graph.value(id).kind == ValueKind::constant; };
  const NodeScope scope{graph, node, ranges, node.attributes, {}, is_constant};
  return why_in_memory(scope, operand).empty() && evaluations(scope, operand) == 1;
}

// A view that only changes the shape: kernels take what is behind it as a prologue.
bool reshapes(const Node& node) {
  using Form = ViewRule::Form;
  const auto* view = std::get_if<IndexMap>(&node.kind);
  return view && (view->form == Form::reshape || view->form == Form::unsqueeze || view->form == Form::squeeze);
}

// By ValueId: whether one node reads it, which is a kernel that unpacks it, or can be a part of its prologue.
std::vector<bool> values_of_prologues(const Graph& graph) {
  const DimRanges ranges = ranges_of(graph);
  std::vector<bool> fits(graph.values.size(), true), read(graph.values.size(), false);
  for (const ValueId output : graph.outputs) fits[output] = false;
  for (const StateData& state : graph.states) {
    if (state.next != no_id) fits[state.next] = false;
  }
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool passes = node->outputs.size() == 1 && fits[node->outputs[0]] && read[node->outputs[0]];
    const bool is_view = reshapes(*node);
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      if (node->inputs[i] == no_id) continue;
      const bool may_pass = is_view || (std::holds_alternative<Elementwise>(node->kind) && line_axis(*node, i) < 0);
      if (read[node->inputs[i]] || (!(may_pass && passes) && !unpacks_as_it_reads(graph, ranges, *node, i))) {
        fits[node->inputs[i]] = false;
      }
      read[node->inputs[i]] = true;
    }
  }
  for (std::size_t i = 0; i < fits.size(); ++i) fits[i] = fits[i] && read[i];
  return fits;
}

}  // namespace

LoadValues::LoadValues(const Graph& graph)
    : graph_(graph), unpacked_(graph.values.size(), false), computed_(graph.values.size(), false) {
  // Most graphs unpack nothing: one walk serves those.
  bool any = false;
  for (const Node& node : graph.nodes) {
    any = any || unpacks(graph, node);
    add(node);
  }
  if (!any) return;
  const std::vector<bool> fits = values_of_prologues(graph);
  for (const Node& node : graph.nodes) {
    if (unpacks(graph, node)) unpacked_[node.outputs[0]] = fits[node.outputs[0]];
  }
  for (const Node& node : graph.nodes) add(node);
}

void LoadValues::add(const Node& node) {
  if (computed_.size() < graph_.values.size()) computed_.resize(graph_.values.size(), false);
  const auto is_unpacked = [&](ValueId id) { return id < unpacked_.size() && unpacked_[id]; };
  const bool computed =
      !std::holds_alternative<Call>(node.kind) && std::none_of(node.outputs.begin(), node.outputs.end(), is_unpacked) &&
      std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return id == no_id || contains(id); }) &&
      std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return can_keep(graph_.type(id)); });
  for (const ValueId output : node.outputs) computed_[output] = computed;
}

}  // namespace kgen

#include "generator/model/graph.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kgen {

std::string to_text(const TensorType& type) {
  return (type.structure ? type.structure->name : std::string(info(type.dtype).name)) + to_text(type.shape);
}

std::int64_t element_bits(const TensorType& type) {
  return type.structure ? type.structure->bytes * 8 : info(type.dtype).bits;
}

Dim bytes_of(const TensorType& type) {
  const std::int64_t bits = element_bits(type);
  if (bits % 8 == 0) return element_count(type.shape, bits / 8);
  return Dim::floor_divide(element_count(type.shape, bits) + Dim(7), 8);
}

std::string_view cpp_element(const TensorType& type) {
  return type.structure ? std::string_view(type.structure->name) : info(type.dtype).cpp;
}

int line_axis(const Node& node, std::size_t operand) {
  const auto* elementwise = std::get_if<Elementwise>(&node.kind);
  return elementwise && operand < elementwise->line_axes.size() ? elementwise->line_axes[operand] : -1;
}

ValueId updated_operand(const Node& node, std::size_t output) {
  const auto* view = std::get_if<IndexMap>(&node.kind);
  if (view) return view->form == ViewRule::Form::update ? node.inputs[0] : no_id;
  if (!node.op || output >= node.op->results.size()) return no_id;
  const std::optional<std::size_t> operand = node.op->results[output].updates;
  return operand && *operand < node.inputs.size() ? node.inputs[*operand] : no_id;
}

const AttributeValue* find_attribute(const Attributes& attributes, std::string_view name) {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const auto& each) { return each.first == name; });
  return found == attributes.end() ? nullptr : &found->second;
}

const std::string& written_name(const Graph& graph, ValueId value) {
  const ValueId again_of = graph.value(value).again_of;
  return graph.value(again_of == no_id ? value : again_of).name;
}

DimRanges ranges_of(const Graph& graph) {
  DimRanges ranges;
  for (const DimDeclaration& dim : graph.dims) ranges.emplace(dim.name, dim.range);
  return ranges;
}

const TargetDescription& description_of(const Graph& graph) { return description_of(graph.target, graph.architecture); }

const std::string& output_name(const Graph& graph, std::size_t index) {
  return index < graph.output_names.size() ? graph.output_names[index] : graph.value(graph.outputs[index]).name;
}

std::string source_text(const DimDeclaration& dim) {
  return dim.element ? fmt::format("{}[{}]", dim.from, *dim.element) : dim.from;
}

bool is_for_the_run_to_tell(const Graph& graph, const Dim& a, const Dim& b) {
  const auto says_alone = [&](const Dim& one, const Dim& other) {
    const std::vector<std::string> symbols = other.symbols();
    return std::ranges::any_of(one.symbols(), [&](const std::string& symbol) {
      return !std::ranges::binary_search(symbols, symbol) &&
             std::ranges::any_of(graph.dims, [&](const auto& dim) { return dim.name == symbol && !dim.from.empty(); });
    });
  };
  return says_alone(a, b) || says_alone(b, a);
}

}  // namespace kgen

#include "generator/spec/widening.hpp"

#include <algorithm>

#include "generator/spec/scalar_value.hpp"

namespace kgen {

ValueId before_widening(const Graph& graph, ValueId value) {
  if (value == no_id || graph.value(value).kind != ValueKind::result) return value;
  const Node& cast = graph.nodes[graph.value(value).producer];
  if (!cast.op || cast.op->role != OpRole::cast) return value;
  const ValueId source = cast.inputs[0];
  return holds_every_value(graph.type(value).dtype, graph.type(source).dtype) ? source : value;
}

bool takes_first(const OpSpec& op, DType dtype) {
  const auto types = op.types.find(op.operands[0].type);
  return types != op.types.end() && std::find(types->second.begin(), types->second.end(), dtype) != types->second.end();
}

}  // namespace kgen

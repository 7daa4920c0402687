#include "generator/spec/reduced_shape.hpp"

namespace kgen {

bool has_reduced_shape(const OpSpec& op) {
  const AttributeSpec* axes = op.attribute("axes");
  const AttributeSpec* keepdims = op.attribute("keepdims");
  return (op.kind == OpKind::reduction || op.kind == OpKind::composite) && axes && axes->type == AttributeType::dims &&
         keepdims && keepdims->type == AttributeType::boolean;
}

}  // namespace kgen

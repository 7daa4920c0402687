// What nodes of an ONNX model compute from tensors whose elements are known when it is imported: shapes, axes and the
// like, which exporters compute with the same operators as data.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/import/content.hpp"
#include "generator/import/onnx_model.hpp"
#include "generator/import/rule_value.hpp"

namespace kgen {

// The operators that evaluate_node knows.
std::vector<std::string> evaluated_operators();

// The results of one of ONNX's own operators. `inputs`: null where one is left out. Nothing where the operator is none
// that shapes are computed with, an input that it needs is not known, or a result would depend on symbolic dims in a
// way that sizes cannot say; then the node is computed at run time.
std::optional<std::vector<Content>> evaluate_node(std::string_view op, std::span<const ImportedValue* const> inputs,
                                                  const RuleBindings& attributes, std::size_t outputs,
                                                  const DimRanges& ranges);

}  // namespace kgen

// An ONNX model as a graph of kgen's: names, dims and weights are kept, what its nodes compute of shapes alone is
// evaluated, and every other node is written as the rule of its operator says.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/import/graph_builder.hpp"
#include "generator/import/onnx_model.hpp"
#include "generator/model/import_rule.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// A dim of a model that says no range, and one that an input's element is.
inline constexpr DimRange usual_range{1, 8192}, usual_range_of_elements{0, 8192};

struct ImportOptions {
  std::string model;         // its path
  std::string graph_name;    // an identifier
  std::string weights_file;  // the safetensors file, as the graph names it
  std::map<std::string, DimRange, std::less<>> dims;   // ranges by the model's names, or by the graph's
  std::map<std::string, std::string, std::less<>> sums;  // what dims follow from, "past + sequence", "32*h"
  std::map<std::string, Content, std::less<>> bound;   // inputs that have one value, by the model's names
  std::set<std::string, std::less<>> sizes;            // inputs whose elements are dims, by the model's names
};

struct ImportedModel {
  std::string graph;                  // the text of the graph's file
  std::vector<StoredTensor> weights;  // of weights_file
};

struct ImportResult {
  std::optional<ImportedModel> model;  // nothing after errors
  std::vector<std::string> demanded;   // inputs whose values must be bound, by the model's names; there are errors then
};

// Whether the elements of an input could be dims: whole numbers, so many of them as the model says.
bool may_be_sizes(const OnnxValueInfo& input);

// Errors name the node that they are of. All are reported: every operator that has no rule, once, and every node that
// cannot be written, but for those that read what such a node makes.
ImportResult import_model(const OnnxModel& model, const ImportRules& rules, const OpSet& ops,
                          const ImportOptions& options, Diagnostics& diagnostics);

}  // namespace kgen

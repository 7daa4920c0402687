// Writes one operator of another format in kgen's, as its rule says.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/import/graph_builder.hpp"
#include "generator/import/rule_value.hpp"
#include "generator/model/import_rule.hpp"

namespace kgen {

// A node of the other format.
struct ForeignNode {
  std::vector<RuleValue> inputs;      // tensors, or not given
  RuleBindings attributes;            // those that are given
  std::vector<std::string> outputs;   // wishes for their names; "": not wanted
};

struct RuleSetting {
  GraphBuilder& builder;
  const ImportRules& rules;
  std::int64_t version = 1;  // of the operator set
  Diagnostics& diagnostics;
  bool is_foreign = false;  // the operator is none of ONNX's own: what ONNX has had only since later is found as well
  std::vector<ImportedValue> demanded;  // inputs whose values had to be known, and are not
  // What a graph that is an attribute of the node makes of its inputs. Nothing after an error, which it reports itself.
  std::function<std::optional<std::vector<ImportedValue>>(const std::string& attribute, std::vector<ImportedValue>)>
      call_graph;
};

// The operator's outputs, as many as the node has; those that are not wanted may be missing. Nothing after an error,
// which does not say which node it is of; after setting.demanded has grown, there is none.
std::optional<std::vector<ImportedValue>> apply_rule(const ImportRule& rule, const ForeignNode& node,
                                                     RuleSetting& setting);

}  // namespace kgen

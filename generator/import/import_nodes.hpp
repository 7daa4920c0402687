// The nodes of a model, one after another: what import_model.cpp does between inputs and outputs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/import/apply_rule.hpp"
#include "generator/import/graph_builder.hpp"
#include "generator/import/onnx_model.hpp"

namespace kgen {

// The values of one graph, subgraph or function of a model, by its names.
struct ImportScope {
  const ImportScope* parent = nullptr;  // whose values a subgraph sees
  std::map<std::string, ImportedValue, std::less<>> values;
  std::set<std::string, std::less<>> poisoned;  // made by nodes that had errors
  const std::map<std::string, OnnxAttribute>* arguments = nullptr;  // in a function: the attributes of its call
  std::string prefix;                           // of names: "layer_0_"

  const ImportedValue* find(std::string_view name) const;
  bool is_poisoned(std::string_view name) const;
};

class NodeImporter {
 public:
  NodeImporter(const OnnxModel& model, std::string path, GraphBuilder& builder, const ImportRules& rules,
               Diagnostics& diagnostics);

  void import_nodes(const std::vector<OnnxNode>& nodes, const std::map<std::string, std::int64_t>& opsets,
                    ImportScope& scope, int depth);
  void import_initializers(const OnnxGraph& graph, ImportScope& scope);

  // Operators without a rule, and in which nodes they stand.
  void report_unknown_operators();

  // Graph inputs whose values must be known, by their ids.
  const std::set<ValueId>& demanded() const { return demanded_; }

 private:
  // A node, and what it is read with.
  struct Place {
    const OnnxNode& node;
    const std::map<std::string, std::int64_t>& opsets;
    std::int64_t version = 0;
    const std::set<std::string_view>& read;  // names that something reads
  };
  using Control = bool (NodeImporter::*)(const Place& at, ImportScope& scope, int depth);
  // What imports an operator that has subgraphs; null for others.
  static Control control_of(std::string_view op);

  bool import_constant(const Place& at, ImportScope& scope);
  bool import_branch(const Place& at, ImportScope& scope, int depth);
  std::optional<std::vector<ImportedValue>> results_of_branch(const Place& at, std::string_view attribute,
                                                              ImportScope& scope, int depth);
  std::optional<std::vector<ImportedValue>> import_both_branches(const Place& at, const ImportedValue& condition,
                                                                 ImportScope& scope, int depth);
  bool import_loop(const Place& at, ImportScope& scope, int depth);
  bool import_scan(const Place& at, ImportScope& scope, int depth);
  struct Steps;
  const OnnxGraph* subgraph(const Place& at, std::string_view attribute, int depth);
  std::optional<std::vector<ImportedValue>> import_subgraph(const Place& at, const OnnxGraph& graph, ImportScope& inner,
                                                            int depth);
  std::optional<std::vector<ImportedValue>> call_graph(const Place& at, const std::string& attribute,
                                                       std::vector<ImportedValue> arguments, ImportScope& scope,
                                                       int depth);
  bool take_step(Steps& steps, std::vector<ImportedValue> arguments, std::size_t kept);
  // Of what a Scan reads, or gathers: along which axis, and which way.
  struct ScanOrder {
    std::vector<std::int64_t> axes = {}, directions = {};
  };
  std::optional<std::vector<ImportedValue>> finish_steps(Steps& steps, const ScanOrder& order);
  std::optional<std::vector<ImportedValue>> scan(Steps& steps, const std::vector<ImportedValue>& inputs,
                                                 const ScanOrder& in, const ScanOrder& out);
  std::optional<std::vector<ImportedValue>> scan_sequences(Steps& steps, const std::vector<ImportedValue>& inputs,
                                                           const ScanOrder& in);
  std::optional<std::int64_t> places_along(const Place& at, const ImportedValue& value, std::int64_t axis);
  std::optional<ImportedValue> stack(const Place& at, std::size_t output, RuleList parts, std::int64_t axis,
                                     const ImportScope& scope);
  std::optional<ImportedValue> part_of(const Place& at, const ImportedValue& whole, std::int64_t axis,
                                       std::int64_t place, const std::string& name);
  std::optional<ImportedValue> apply_hidden(const Place& at, std::string_view rule, ForeignNode node);
  bool import_call(const Place& at, ImportScope& scope, int depth);
  bool import_operator(const Place& at, ImportScope& scope, int depth);
  std::int64_t onnx_version(const Place& at) const;
  std::optional<ImportedValue> write_sizes(const ImportedValue& sizes, Diagnostics& problems);
  bool validate_counted_inputs(const Place& at, const std::vector<const ImportedValue*>& inputs,
                               const std::vector<ImportedValue>& results);
  void demand(const Place& at, const std::vector<ImportedValue>& operands);
  void define(const Place& at, std::size_t output, ImportedValue operand, ImportScope& scope);
  std::optional<RuleValue> attribute_of(const OnnxAttribute& attribute, const ImportScope& scope, const Place& at);
  std::optional<ImportedValue> constant_of(const OnnxTensor& tensor, const std::string& name, const std::string& what);
  void error(const Place& at, const Diagnostics& problems);
  void error(const Place& at, const std::string& message);
  std::string dim_named_in(std::string_view message) const;

  const OnnxModel& model_;
  std::string path_, folder_;
  GraphBuilder& builder_;
  const ImportRules& rules_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::vector<std::string>> unknown_;
  std::set<ValueId> demanded_;
  std::size_t inlined_nodes_ = 0;
};

}  // namespace kgen

// A graph of kgen's operators while a model is imported: nodes are typed as they are added, by the pass that types
// those of a graph file, so that no rule of import says what shape an operator gives.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/import/content.hpp"
#include "generator/import/counted_axes.hpp"
#include "generator/import/onnx_model.hpp"
#include "generator/model/graph.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// Gives out identifiers for the names of a model.
class ClaimedNames {
 public:
  // A C identifier, no word that C++ reserves and given to nothing else, as near to the wish as can be.
  std::string claim(std::string_view wish);
  // Keeps an identifier for whoever claims this wish first.
  void reserve(const std::string& wish);

 private:
  std::map<std::string, std::string, std::less<>> reserved_;  // identifiers by wishes
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, int, std::less<>> next_;
};

// Elements of a constant that stand in a file beside the graph.
struct StoredTensor {
  std::string key;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::shared_ptr<const std::string> bytes;  // in memory, or
  std::string path;                          // in a file, from `offset` on
  std::int64_t offset = 0, length = 0;       // bytes
};

// What a node is given; numbers stand as numbers.
using BuilderArgument = std::variant<std::monostate, ImportedValue, Number>;

class GraphBuilder {
 public:
  GraphBuilder(const OpSet& ops, ClaimedNames& names) : ops_(ops), names_(names) {}

  const OpSet& ops() const { return ops_; }
  ClaimedNames& names() { return names_; }
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  const DimRanges& ranges() const { return ranges_; }

  void add_dim(DimDeclaration dim);
  ImportedValue add_input(std::string_view name, TensorType type);
  ImportedValue add_constant(std::string_view name, const Content& content);
  // Its key gets a number where another one has it.
  ImportedValue add_stored(std::string_view name, StoredTensor tensor);
  // The bytes of a constant of the model's, or of one that is shown in another shape, as elements of another dtype, as
  // many as fill them: one constant for all who ask for the same. Nothing where `operand` is no such constant, or has
  // more or fewer bytes.
  std::optional<ImportedValue> add_bytes_of(const ImportedValue& operand, DType dtype, std::vector<std::int64_t> shape);

  // Everything of a graph's file: dims, inputs, constants, state, and its nodes, which are typed. Its weights stay in
  // their file, by the keys that they have. False after an error.
  bool add_graph(const Graph& graph, Diagnostics& diagnostics);
  // Whether stored tensors keep their keys, as nobody writes them again.
  bool keeps_keys() const { return keeps_keys_; }

  // How sizes that are read as data come into the graph: nothing after an error.
  using SizeWriter = std::function<std::optional<ImportedValue>(const ImportedValue& sizes, Diagnostics& diagnostics)>;
  void write_sizes_with(SizeWriter writer) { write_sizes_ = std::move(writer); }

  // The value in the graph of an operand; a content becomes a constant of it, or nodes where it depends on symbolic
  // dims, once. False after an error.
  bool settle(ImportedValue& operand, Diagnostics& diagnostics);

  // A node of `op`, and its results. Names are wishes. Nothing after an error, in the words of the pass that types
  // nodes.
  std::optional<std::vector<ImportedValue>> add_node(const OpSpec& op, std::vector<BuilderArgument> inputs,
                                               Attributes attributes, const std::vector<std::string>& names,
                                               Diagnostics& diagnostics);

  // How many nodes read values that count along an axis, or how many of their places do.
  std::size_t counted_reads() const { return counted_reads_; }

  // Attributes of a node as they were given, without defaults.
  const Attributes& given_attributes(NodeId node) const { return given_[node]; }
  // Whether the value stands as a number among operands.
  bool is_number(ValueId value) const { return numbers_.contains(value); }
  const std::vector<StoredTensor>& stored() const { return stored_; }
  const StoredTensor* stored_of(ValueId value) const;
  // The same, also where the elements of the constant stand in the graph's file.
  const StoredTensor* tensor_of(ValueId value) const;
  // What the constant that `content` becomes would be in a file of its own.
  void remember_tensor(const std::shared_ptr<const Content>& content, StoredTensor tensor);

  // The nodes [begin, end), which stand for a call of a function of the model. Calls within a call come behind it.
  struct Inlined {
    std::string function;
    NodeId begin = 0, end = 0;
  };
  std::size_t begin_call(std::string function);
  void end_call(std::size_t call) { inlined_[call].end = static_cast<NodeId>(graph_.nodes.size()); }
  const std::vector<Inlined>& inlined() const { return inlined_; }

 private:
  ValueId add_value(std::string name, ValueKind kind, std::optional<TensorType> type);
  ValueId add_number(const Number& number);
  bool fit_sizes(const OpSpec& op, std::vector<ValueId>& inputs, Diagnostics& diagnostics);
  bool carry_counted_axes(const Node& node, Diagnostics& diagnostics);
  ImportedValue result_of(ValueId value) const;
  ValueId behind_reshapes(ValueId value) const;

  const OpSet& ops_;
  ClaimedNames& names_;
  Graph graph_;
  DimRanges ranges_;
  std::vector<Attributes> given_;
  bool keeps_keys_ = false;
  std::set<ValueId> numbers_;
  std::map<const Content*, std::pair<std::shared_ptr<const Content>, ValueId>> constants_;
  CountedAxes counted_;
  std::set<ValueId> counts_;
  std::size_t counted_reads_ = 0;
  SizeWriter write_sizes_;
  std::vector<StoredTensor> stored_;
  std::set<std::string> keys_;
  std::map<ValueId, std::size_t> stored_values_;
  std::map<std::tuple<std::string, DType, std::vector<std::int64_t>>, ValueId> shown_as_;  // by the source's key
  // With the content, so that its address stays its own.
  std::map<const Content*, std::pair<std::shared_ptr<const Content>, StoredTensor>> remembered_;
  std::map<ValueId, const StoredTensor*> small_;
  std::vector<Inlined> inlined_;
};

}  // namespace kgen

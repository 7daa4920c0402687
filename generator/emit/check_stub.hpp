// One stub in check mode: its use in the graph, and the text of its operators' references.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "generator/base/writer.hpp"
#include "generator/emit/names.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// One use of a stub.
struct CheckedStub {
  const StubProgram& program;
  const StubUse& use;
  const Graph& graph;
  const Group& group;
  const UnfusedGraph& unfused;
  const std::vector<StubProgram>& references;

  // Past the views through which the value is read.
  ValueId shown(ValueId value) const;
  bool makes(ValueId value) const;
  bool writes(ValueId value) const;
  // False where the stub may differ from its reference by any amount and be right.
  bool compares(ValueId value) const;
  // What the reference of a node writes: those of its results that something reads.
  const std::vector<ValueId>& results(NodeId node) const;
  // The node whose line of the stub makes `value`.
  const Node& maker(ValueId value) const;
};

// `plan.check` is set.
CheckedStub checked_stub(const Plan& plan, const StubUse& use);

// A value that the stub names on the way and does not store, and the key that its functor's copy hands it out by.
struct WatchedValue {
  const HeldValue* held;
  std::string key;
};
std::vector<WatchedValue> watched_values(const CheckedStub& stub);

// The body of a function whose parameters are `call` and those of the stub.
class CheckBody {
 public:
  // Names of the body's own besides "call" are in `locals`.
  CheckBody(Writer& out, const CheckedStub& stub, const std::vector<const char*>& locals);

  const std::vector<std::string>& parameters() const { return parameters_; }
  // Parameters, with those that the stub writes replaced by `outputs` where it is not empty; then `stream`.
  std::vector<std::string> arguments(const std::vector<std::string>& outputs, const std::string& stream) const;
  // Memory of its own for a value; `suffix` for its name.
  std::string make(ValueId value, const char* suffix);
  // From here on `name` stands for `value`.
  void use(ValueId value, std::string name) { known_[value] = std::move(name); }
  // What stands for a value that a node reads: that, or a view of it: a slice, or one by other axes.
  std::string read(ValueId value);
  std::vector<std::string> read_inputs(NodeId node);
  // "kgen::Index<2>{x.extent(0), 64}"; of what a stub computes.
  std::string index(const Shape& shape) const;
  // Calls the reference of a node alone.
  void call_reference(NodeId node, std::vector<std::string> outputs, const std::vector<std::string>& inputs);

 private:
  std::string extent_text(const Dim& extent) const;
  std::vector<std::string> extents(const Shape& shape) const;

  Writer& out_;
  const CheckedStub& stub_;
  std::vector<std::string> parameters_;
  NameTable names_;
  std::unordered_map<ValueId, std::string> known_;
};

}  // namespace kgen

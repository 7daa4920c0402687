// What a stub and the values in it are called, and which values it takes.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/graph/graph_edit.hpp"

namespace kgen {

// What the graph's author called the value, or the one that nothing but `value` and others of `group` are put together
// to, within the composite that made it: rope's two halves are `q`. The value itself where there is none.
ValueId written_value(const FuseFacts& facts, const Group& group, ValueId value);

// What the author called the result of a group: the last, if there are several.
const std::string& result_name(const FuseFacts& facts, const Group& group);

// A value that a stub reads, as a parameter and what it takes of that. The slices of constant place that an expansion
// makes of its operands stand in the stub; whoever calls it passes the operand, as the author wrote it.
struct StubRead {
  ValueId parameter = no_id;
  std::vector<ConstantSlice> slices;
};
StubRead stub_read(const Graph& graph, ValueId value);

// The values that a group's stub takes, by parameter: what it writes, then what it reads.
std::vector<ValueId> stub_arguments(const Graph& graph, const Group& group);

// The general names of all values that a group's stub names, each another.
//   what it writes            "out"; of several, the operator
//   what it reads             the operand that it is to the first operator that reads it, a composite where it is one's
//   within a composite        as the composite's expansion has it
//   what an operator makes    "matmul_result"
class GeneralNames {
 public:
  GeneralNames(const FuseFacts& facts, const Group& group);

  const std::string& of(ValueId value) const { return names_.at(value); }
  // How many names it took to find these.
  std::size_t tried() const { return taken_.tried(); }

 private:
  void add(ValueId value, const std::string& name, const std::string& longer);
  void add_read(const FuseFacts& facts, const Group& group, ValueId value);

  std::unordered_map<ValueId, std::string> names_;
  UniqueNames taken_;
};

}  // namespace kgen

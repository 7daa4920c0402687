// The body of one emitted function: which C++ name stands for each value, and the steps that it runs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "generator/base/writer.hpp"
#include "generator/emit/launch_order.hpp"
#include "generator/emit/names.hpp"
#include "generator/emit/tables.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// The emitted C++ functions and types that belong to one function of the graph, and the dims that each takes.
struct FunctionFacts {
  std::string name, memory, memory_of, slots, load, load_shared;
  bool has_memory = false;   // its calls have constants, states or results of load
  bool needs_index = false;  // it makes calls that have memory, so it must know which call it is itself
  std::vector<std::string> dims, memory_dims, slots_dims;
  Dim arena_bytes;
};

// What the parts of one wrapper know of each other. Functions are filled in as they are written.
struct WrapperFacts {
  const Plan& plan;
  CallNumbers numbers;
  Tables tables;
  NameTable globals;  // names of stubs and emitted functions
  std::vector<FunctionFacts> functions;
  std::vector<EventNumbers> events_by_function;
  EventNumbers events_of_main;

  const EventNumbers& events(GraphIndex graph) const {
    return graph == main_graph ? events_of_main : events_by_function[graph];
  }
};

class EmittedBody {
 public:
  // Parameters and locals that every body has; a value or a dim of the same name goes first.
  struct Names {
    std::string call, arena, slot, memory, index, count, streams;
  };

  EmittedBody(const WrapperFacts& facts, GraphIndex graph);

  const FunctionPlan& plan() const { return plan_; }
  const Graph& graph() const { return plan_.fused.graph; }
  const Names& names() const { return names_; }

  // C++ text of a size; its symbols count as used from then on.
  std::string size(const Dim& dim);
  std::vector<std::string> sizes(const Shape& shape);
  void use(const std::vector<std::string>& dims) { used_dims_.insert(dims.begin(), dims.end()); }
  // In the order in which the graph declares them.
  std::vector<std::string> used_dims() const;

  // A name for `value` in this body, which stands for it from then on. The values of a state share one.
  const std::string& name_value(ValueId value);
  // The same for memory that is not a local: "memory.w".
  void set_text(ValueId value, std::string text);
  // What stands for a value that has memory; lines that define views are written first where they are needed.
  const std::string& express(Writer& writer, ValueId value);

  // A view of the arena for each of `values` that lives there.
  void write_arena_views(Writer& writer, const std::vector<bool>& values);
  // `head`, the sizes of `slots`, one a line with the values of `steps` that live there, and `tail`.
  void write_slots(Writer& writer, const std::string& head, const std::string& tail, const std::vector<Slot>& slots,
                   const std::vector<Step>& steps);
  void write_steps(Writer& writer, const std::vector<Step>& steps);
  // Forks to the streams of the plan's steps, if there are several.
  void write_fork(Writer& writer);

 private:
  std::string& text_of(ValueId value);
  void write_view(Writer& writer, ValueId value);
  void write_stub(Writer& writer, const Step& step);
  const StubUse& use_of(const Step& step) const;
  void write_call(Writer& writer, const Step& step);
  void write_call_itself(Writer& writer, const Step& step);
  std::string call_number(const Call& call) const;
  std::vector<std::string> slot_owners(const std::vector<Slot>& slots, const std::vector<Step>& steps) const;
  std::string slot_size(std::uint32_t slot, const Dim& bytes, const std::vector<Step>& steps);
  std::vector<std::string> write_carried(Writer& writer, const Step& step, std::int64_t repeat);

  const WrapperFacts& facts_;
  GraphIndex index_;
  const FunctionPlan& plan_;
  NameTable locals_;
  Names names_;
  std::vector<std::string> texts_;  // by ValueId; empty until it is defined
  std::vector<std::string> states_;       // by state
  std::set<std::string> used_dims_;
};

}  // namespace kgen

// What the planner decided: which nodes are computed together, where values live, in which order stubs run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

// ---- fuse ----------------------------------------------------------------------------------------------------------

// elementwise: one loop over `loop`. rows: one loop over rows, whose axes are `row_axes` of `loop`. structured: the
// kernel of `root` and its siblings, with prologues and epilogues. call: a function. A view that must be computed is a
// copy node.
enum class GroupKind { elementwise, rows, structured, call };
template <>
inline constexpr auto names_of<GroupKind> = std::to_array<std::string_view>({"elementwise", "rows", "structured",
                                                                             "call"});

// Elementwise nodes that compute one operand of a group's kernel, wherever the kernel reads it.
struct Prologue {
  std::size_t operand = 0;       // of the root, by its inputs
  std::vector<NodeId> nodes;     // in execution order; the last makes the operand
  NodeId reader = no_id;         // of an operand that each sibling gives its own of: which of them; else no_id
};

// Elementwise nodes that take results of a group's kernel where it makes them, before they reach memory: one result, or
// all those that the kernel gives at one position, among them those of siblings.
struct Epilogue {
  std::vector<std::size_t> results;  // by result_number, ascending
  std::vector<NodeId> nodes;         // in execution order
};

// Nodes that make numbers of each row of a group's results out of rows of memory: loops and reductions over those rows.
// The kernel makes them before it gives the row to the epilogues that read them.
struct RowState {
  Shape loop;                    // [.., columns of the rows that are read]; its last axis is the row
  std::vector<NodeId> nodes;     // in execution order; empty: the group has none
  std::vector<ValueId> results;  // what epilogues read, by the order of the nodes
};

// Nodes that reduce each row of what a group stores: loops over those rows and a reduction of them. The kernel makes
// the numbers from its results as they come, or reads these again, and writes them to memory.
struct RowStatistics {
  ValueId of = no_id;         // what they reduce
  std::vector<NodeId> nodes;  // in execution order; empty: the group has none
};

// The one that takes this result; null: none does.
const Epilogue* epilogue_of(const std::vector<Epilogue>& epilogues, std::size_t result);

// The number of a value among the results of `roots`, which one call of a kernel computes: those of the first, then
// those of the next; nothing where it is none of them.
std::optional<std::size_t> result_number(const Graph& graph, const std::vector<NodeId>& roots, ValueId value);
// The value that has this number.
ValueId numbered_result(const Graph& graph, const std::vector<NodeId>& roots, std::size_t number);

// Nodes computed by one stub. Views belong to no group.
struct Group {
  GroupKind kind = GroupKind::elementwise;
  NodeId root = no_id;           // structured and call
  // structured: nodes that the same call of the kernel computes, as they differ from `root` in one operand alone. The
  // call takes `root` and these in this order, in which results that an epilogue takes together are neighbours.
  std::vector<NodeId> siblings;
  std::vector<Prologue> prologues;  // structured: every node but the root and its siblings rides in one of these
  std::vector<Epilogue> epilogues;
  RowState row_state;
  RowStatistics statistics;
  std::vector<NodeId> nodes;     // in execution order
  Shape loop;
  std::vector<int> row_axes;     // rows: the reduced axes of `loop`, sorted
  std::vector<ValueId> inputs;   // values in memory that are read: inputs, constants, states, results and views of them
  std::vector<ValueId> outputs;  // values that are written to memory
  bool at_load = false;          // depends on constants only: runs once, when the model is loaded
  std::uint32_t stream = 0;      // groups of one stream follow each other
  std::vector<std::uint32_t> waits;  // groups of other streams that must be done before it
};

// `root` and its siblings.
std::vector<NodeId> roots_of(const Group& group);

// Why `producer` and `consumer` are, or are not, computed together.
struct Decision {
  ValueId value = no_id;         // what passes between them
  NodeId producer = no_id;
  NodeId consumer = no_id;
  bool fused = false;
  std::string reason;            // "the epilogue of kgen::matmul takes it", "would recompute 'scale' M times"
  Dim bytes;                     // memory traffic that is saved, or that fusing would have saved
  bool siblings = false;         // nothing passes: both read `value`, and one call of a kernel may compute both
};

// Whether stubs that need `value`, made elementwise, each compute it for themselves, and why that is, or is not,
// cheaper than to write it to memory once and to read it there.
struct Recomputation {
  ValueId value = no_id;
  std::vector<ValueId> copies;  // Value::again_of is `value`; each is computed with a reader
  std::string reason;           // "they read 8*M bytes of 'x' for it, instead of 20*M to write it and read it there"
  Dim bytes;                    // memory traffic that this saves; 0: memory holds the value
};

struct FusedGraph {
  Graph graph;
  std::vector<Group> groups;               // in an order in which they may run
  std::vector<std::uint32_t> group_of;     // by NodeId; no_id for views
  std::vector<Decision> decisions;         // in the order of the consumers
  std::vector<Recomputation> recomputations;  // in the order of the nodes that make the values
};

// The decisions on a shortest path from `from` to `to`; the one on both as siblings, where they are; empty where
// neither.
std::vector<const Decision*> decision_path(const FusedGraph& fused, NodeId from, NodeId to);

// ---- lower: a group as the program of its stub --------------------------------------------------------------------

// One parameter of a stub: a kgen::View of memory. This and all else that a stub names goes by the graph's name where
// the stub has one use; where several share it, by the general one, which says what it is to the stub's operators ("a",
// "weight").
struct StubParameter {
  std::string name;
  std::string general;
  TensorType type;           // in the first use
  bool writable = false;
  std::vector<bool> varies;  // by axis: whether another use has another extent there; empty: none has
};

// A slice of constant place and extent.
struct ConstantSlice {
  int axis = 0;
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::int64_t step = 1;
};

// How a functor (or a kernel) sees a parameter: sliced, axes of extent 1 inserted where a reduction dropped them,
// broadcast to the loop, permuted so that row axes come last, reshaped, adjacent axes merged; in that order.
struct MemberView {
  std::size_t parameter = 0;
  std::vector<ConstantSlice> slices;
  std::vector<int> unsqueeze;                   // axes to insert, ascending
  bool broadcast = false;                       // to the loop's shape
  std::size_t loop = 0;                         // which of the functor's loops that is
  std::vector<int> permutation;                 // empty: as it is
  std::optional<std::size_t> reshape;           // to the shape of that one of the functor's loops
  std::vector<std::pair<int, int>> merges;      // axis ranges [first, last], descending, applied in this order
  int rank = 0;                                 // after all that
  std::vector<int> runs;  // of axes, each walked as one axis of the functor's: a kgen::Flattened; empty: a kgen::View
};

struct FunctorMember {
  std::string name, general;
  MemberView view;
  int line_axis = -1;                           // of the member: a kgen::Lines along that axis; -1: a kgen::View
};

// What a statement reads: the result of an earlier one, the value that an epilogue receives, or that the row has, or a
// number.
struct Operand {
  enum class Kind { statement, incoming, row, number };
  Kind kind = Kind::number;
  std::size_t statement = 0;
  std::size_t result = 0;  // which result, of a reduction with several; which incoming value, or the row's
  Number number;
  DType dtype = DType::f32;  // of the number, as it is computed on
};

// An attribute of a node, given to the C++ parameter that takes it.
struct GivenAttribute {
  AttributeValue value;
  std::string type;  // KernelAttribute::type
};

struct Statement {
  enum class Kind { load, apply, reduce, store };
  Kind kind = Kind::apply;
  bool per_row = false;                         // rows: the result (or what is stored) is one element per row
  bool keep = false;                            // rows: computed once and kept for later passes over the row
  std::size_t member = 0;                       // load and store
  std::string functor;                          // apply and reduce: "kgen::Add",
  std::vector<DType> dtypes;                    // what it is a template of,
  std::vector<GivenAttribute> fields;           // and what it holds
  std::vector<Operand> operands;
  std::vector<std::string> names, general;      // the values it defines; store: none
  std::string within;                           // the composite it belongs to, for the comment
};

struct Functor {
  // row_state: what makes the numbers of a row that epilogues use. statistics: what makes numbers of the rows that one
  // stores.
  enum class Role { elementwise, rows, prologue, epilogue, row_state, statistics };
  Role role = Role::elementwise;
  std::string name, general;                    // of its object in the stub
  // Of prologues that differ only in what their members see, as those of siblings' weights may: the struct that all are
  // objects of, with the first one's text. Empty: the functor has a struct of its own, of its own name.
  std::string structure;
  int rank = 0;                                 // of the Index that it is called with
  struct Incoming {
    std::string name, general;
    DType lanes = DType::f32;
  };
  std::vector<Incoming> incoming;  // epilogue: the values it receives
  std::vector<Incoming> of_row;    // epilogue: the numbers of the row that it receives behind them
  std::vector<FunctorMember> members;
  bool across = false;                          // a member may lie along another axis than the loop's or the row's last
  std::vector<Statement> statements;            // prologue: the last one is what load returns
  std::size_t shape_member = 0;                 // one that shows the loop's whole shape
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  // What it returns: a row_state, or the epilogue of which there are statistics.
  std::vector<Operand> state;
  std::size_t row_state = none;  // epilogue: the functor that makes its of_row
  // A loop's shape before permutation and merging, for what is broadcast to it: a parameter that has it, else its
  // extents, each as (parameter, axis) or, where none has it, a constant. Both are empty where nothing asks for it.
  struct Extent {
    std::size_t parameter = none;
    int axis = 0;
    std::int64_t constant = 1;
  };
  struct Loop {
    std::size_t parameter = none;
    std::vector<Extent> extents;
  };
  std::vector<Loop> loops;  // the functor's own, and others over the same elements by other axes
};

// Whether such a functor's body is a row program.
inline bool walks_rows(Functor::Role role) {
  return role == Functor::Role::rows || role == Functor::Role::row_state || role == Functor::Role::statistics;
}

// One argument of a structured kernel's call.
struct KernelArgument {
  enum class Kind { functor, parameter, attribute };
  Kind kind = Kind::attribute;
  std::size_t functor = 0;
  MemberView view;
  GivenAttribute attribute;                     // and
  std::string name;                             // what it is called
  // How many arguments from here on go to one parameter, and as what: results that the kernel gives at one position, or
  // what siblings give or take. 0: it is one of those.
  enum class Bundle { none, each, several };
  Bundle bundle = Bundle::none;
  std::size_t bundled = 1;
  std::size_t takes = 1;  // in a bundle: the results that it takes, as kgen::joint<2>(...)
  std::size_t statistics = Functor::none;  // the functor that makes numbers of rows of what this one stores
};

struct StubProgram {
  std::string name;                             // "stub_q", after the result of its first use
  GroupKind kind = GroupKind::elementwise;
  std::string kernel;                           // structured: "kgen::matmul"
  std::vector<std::string> kernel_parameters;   // its compile-time ones, in order, as C++ has them; others are default
  std::vector<std::string> headers;             // "kgen/ops/arithmetic.hpp", sorted
  std::vector<StubParameter> parameters;        // results first
  std::vector<Functor> functors;
  std::vector<KernelArgument> kernel_arguments; // structured: operands, attributes, results
  int row_rank = 0;                             // rows: how many trailing axes form the row
  std::int64_t row_length = 0;                  // rows: how many elements that is, where the graph says it; else 0
  std::vector<std::string> uses;                // what each computes: "y = relu(add(C, bias))"
  std::string saved;                            // what fusing saves; empty: nothing
};

// "kgen::matmul<kgen::row_major>", as a stub calls it; empty where it calls none.
std::string kernel_text(const StubProgram& stub);

// ---- place --------------------------------------------------------------------------------------------------------

// Where a value lives. view_of: the view `view` of `base` (an operand of a view node read in place).
// part_of: written straight into the slice `view` of `base` (concat, update), or into all of it, shown by `view` as it
// was before the view that `base` is: `base` is the result of that node.
struct Placement {
  enum class Kind { registers, input, output, constant, state, arena, persistent, view_of, part_of };
  Kind kind = Kind::registers;
  std::uint32_t index = 0;       // which input, output, constant, state, slot of the arena, or persistent buffer
  ValueId base = no_id;
  IndexMap view;
};

// A stretch of the arena, shared by values whose lifetimes do not meet. Offsets follow from the sizes in order, each
// rounded up to TargetDescription::slot_alignment.
struct Slot {
  Dim bytes;
};

// One stub launch or one function call.
struct Step {
  std::uint32_t group = 0;
  std::uint32_t stub = no_id;               // into Plan::stubs; no_id for a call
  std::string name;                         // stub: the result, as profiles and errors name it: "y", "layer.h"
  std::vector<ValueId> arguments;           // stub: by parameter. call: results first, then operands
  std::uint32_t call_slot = no_id;          // call: the slot that holds the function's own arena
  std::vector<std::uint32_t> carried_slots; // call with repeat > 1: a second buffer for each carried result
};

struct FunctionPlan {
  FusedGraph fused;
  std::vector<Placement> placements;        // by ValueId
  std::vector<Slot> slots;                  // the arena, while a call runs
  std::vector<Slot> load_slots;             // the arena of load_steps: where values that only load reads live
  std::vector<ValueId> persistent;          // computed at load and kept, by persistent index
  std::vector<Step> load_steps;
  std::vector<Step> steps;
  std::uint32_t streams = 1;                // that the steps run on; load_steps run on stream 0
};

// The bytes of arena that one call of the function takes: its slots, each rounded up as they are laid out.
Dim arena_bytes(const FunctionPlan& plan);

// For check mode: every node as a stub of its own.
struct UnfusedGraph {
  FusedGraph fused;
  std::vector<std::uint32_t> stub_of;       // by group: into CheckPlan::stubs; no_id for calls
  std::vector<std::vector<ValueId>> arguments;  // by group, by the stub's parameters
  std::vector<std::uint32_t> use_of;        // by group of what it checks: into CheckPlan::uses; no_id for calls
};

// A value that a group's node makes, and where its stub holds it on the way.
struct HeldValue {
  ValueId value = no_id;
  NodeId maker = no_id;          // the node whose statement that is: a cast that changes no lane has none of its own
  bool shown = false;            // by a statement of its own: it can be written down in memory of the value's shape
  std::size_t functor = 0;       // shown:
  std::size_t statement = Functor::none;  // none: what the epilogue receives,
  std::size_t result = 0;                 // and which of those
  MemberView view;  // how that memory is shown to the functor; its parameter and loops mean nothing
  Shape reshaped;   // where view.reshape: the shape
};

// One step that runs a stub.
struct StubUse {
  std::string name;                         // "stub_y", after what it computes here; no other use has it
  std::string step;                         // Step::name
  std::uint32_t stub = 0;                   // into Plan::stubs
  std::uint32_t function = no_id;           // into Plan::functions; no_id: main
  std::uint32_t group = 0;
  std::vector<ValueId> arguments;           // by parameter
  std::vector<HeldValue> held;
  std::vector<ValueId> stepped;             // that rounding may move by any amount: sorted, not compared
};

struct CheckPlan {
  std::vector<UnfusedGraph> functions;      // as Plan::functions
  UnfusedGraph main;
  std::vector<StubProgram> stubs;           // the references
  std::vector<StubUse> uses;
};

// Where a run finds a dim of the graph.
struct DimSource {
  enum class Kind { fixed, extent, element };
  std::string name;
  DimRange range;           // fixed: one number, which it is; else a run checks what it finds
  Kind kind = Kind::fixed;
  std::uint32_t input = 0;  // extent: of which input, and element: the input that holds it
  std::uint32_t axis = 0;   // extent: the dim is (that axis - rest) / step
  Dim rest = 0;             // over dims whose sources stand before this one
  std::int64_t step = 1;
  std::int64_t element = 0;
};

struct Plan {
  std::vector<FunctionPlan> functions;      // as Module::functions
  FunctionPlan main;
  std::vector<StubProgram> stubs;           // unique
  std::vector<DimSource> dim_sources;       // of those of main's dims that a run can find
  std::vector<DimRequirement> open_requirements;  // that a run must check, of the graph and all that it calls
  std::optional<CheckPlan> check;           // planned with the references of check mode
  std::string file;                         // the graph's path
};

// ---- emit ---------------------------------------------------------------------------------------------------------

// A file to be written: relative path and whole content.
struct SourceFile {
  std::string path;
  std::string content;
  // Where `content` came out of a formatter: the hash of what went in, by which an unchanged file need not be formatted
  // again.
  std::optional<std::uint64_t> unformatted = std::nullopt;
  // False: written anew each time. An edited one is kept aside, as no merge of it could mean anything.
  bool merges = true;
};

}  // namespace kgen

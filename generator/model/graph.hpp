// A graph of operators as data. The same struct serves from `load` (types of results unknown, composites present) to
// `place` (every type known, composites expanded, views resolved); each pass returns a new one.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "generator/base/source.hpp"
#include "generator/model/dim.hpp"
#include "generator/model/dtype.hpp"
#include "generator/model/enum_names.hpp"
#include "generator/model/number.hpp"
#include "generator/model/op_spec.hpp"
#include "generator/model/target.hpp"

namespace kgen {

using ValueId = std::uint32_t;
using NodeId = std::uint32_t;
inline constexpr std::uint32_t no_id = std::numeric_limits<std::uint32_t>::max();

struct TensorType {
  DType dtype = DType::f32;  // says nothing where `structure` is set
  Shape shape;
  const StructType* structure = nullptr;  // what the elements are, if not numbers

  bool operator==(const TensorType&) const = default;
};
std::string to_text(const TensorType& type);           // "bf16[M, 4096]", "fractal::Region[]"
std::int64_t element_bits(const TensorType& type);     // of one element
Dim bytes_of(const TensorType& type);                  // of all of them, in whole bytes
std::string_view cpp_element(const TensorType& type);  // "kgen::bf16", "fractal::Region"

enum class ValueKind { input, constant, state, result };

struct Value {
  std::string name;
  ValueKind kind = ValueKind::result;
  std::optional<TensorType> type;   // results, and constants that stand as numbers among operands: absent until infer
  NodeId producer = no_id;          // results only
  std::uint32_t index = 0;          // result: which of the producer's; otherwise which input, constant or state
  SourceLocation where;
  std::string local;                // within an expanded composite: what its expansion calls it; else empty
  ValueId again_of = no_id;         // after fuse: the value that this one is, computed again for another stub
};

struct GraphInput {
  ValueId value = no_id;
  bool strided = false;  // any strides are accepted; otherwise the caller must pass dense row-major memory
};

// Where the elements of a constant or a state come from. Scalars and small lists stand in `values`; the rest in a
// safetensors file. Both are empty where there are no elements, or none are given.
struct GivenElements {
  std::vector<Number> values;       // row-major; one element means a splat; empty: from the file
  std::string file;                 // relative to the graph's file
  std::string key;                  // in functions may hold "{index}", or "{index+1}": the number of the call
};

struct ConstantData : GivenElements {
  ValueId value = no_id;
};

// A buffer that calls read and update. `next` is the value that replaces it after a call.
struct StateData {
  ValueId value = no_id;
  ValueId next = no_id;  // no_id: never updated
  SourceLocation where;
  GivenElements initial = {};  // what it holds after load; none: zero
};

// The kinds of node. A new operator never adds one.
struct Elementwise {
  // By operand: the axis of its own shape along which it is read in lines; -1: read element by element. Empty: none is
  // read in lines.
  std::vector<int> line_axes;
};
struct Reduction {
  std::vector<int> axes;  // sorted, non-negative
  bool keepdims = false;

  bool operator==(const Reduction&) const = default;
};
struct Structured {};
struct Opaque {};
struct Composite {};
// How a view shows its operand: the resolved parameters of a ViewRule. Only the members that its form uses are set.
struct IndexMap {
  ViewRule::Form form = ViewRule::Form::reshape;
  std::vector<int> axes;  // permute: result axis i is operand axis axes[i]
  Shape shape;            // reshape, broadcast: of the result
  int axis = 0;           // slice, select, unsqueeze, squeeze, flip, concat, update
  Dim begin;              // slice, select (the index), update
  Dim length;             // slice: extent of the result
  std::int64_t step = 1;  // slice
  // After materialise, of a form that shows every element: the result has memory of its own, and the operand is written
  // straight into it, as the inverse of the view shows it.
  bool written_through = false;

  bool operator==(const IndexMap&) const = default;
};
// A call of graph.functions[function], `repeat` times in a row: result i of one call is operand i of the next.
struct Call {
  std::uint32_t function = 0;
  std::int64_t repeat = 1;
  // Which calls of the function these are, counted over the whole module, as constants and state belong to each: the
  // i-th of them, in the k-th call of the graph that holds this node, is first_index + k * index_stride + i. (main: k
  // is 0.)
  std::int64_t first_index = 0;
  std::int64_t index_stride = 0;
};
// `std::monostate` before infer.
using NodeKind = std::variant<std::monostate, Elementwise, Reduction, Structured, Opaque, Composite, IndexMap, Call>;

using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

struct Node {
  const OpSpec* op = nullptr;  // null for a call
  const KernelSignature* kernel = nullptr;  // what computes it, from choose_kernels on; null: view, call or composite
  std::vector<const TuningRule::Choice*> tuning;  // of the kernel's compile-time parameters; others are default
  NodeKind kind;
  std::vector<ValueId> inputs;  // no_id: an optional operand that was left out
  std::vector<ValueId> outputs;
  Attributes attributes;        // after infer: every attribute of the spec, defaults filled in
  SourceLocation where;
  std::string within;           // the composite it was expanded from ("softmax"), for comments; else empty
  // A cast that no graph and no specification spells out: like the rounding of any other operator's result, `numerics:
  // fast` may leave it out inside a stub.
  bool implied = false;
  const ExpansionNode* origin = nullptr;  // the line of that composite's expansion; null: none
};

// The axis along which the node reads that operand in lines; -1: none.
int line_axis(const Node& node, std::size_t operand);

// The operand of which result `output` is an update, which is made in its memory; no_id: it is none.
ValueId updated_operand(const Node& node, std::size_t output);

const AttributeValue* find_attribute(const Attributes& attributes, std::string_view name);

enum class Numerics { fast, match_unfused, tf32 };
template <>
inline constexpr auto names_of<Numerics> = std::to_array<std::string_view>({"fast", "match_unfused", "tf32"});

// `fusion:` and `expect_fused:`; members are values by name, each meaning the node that makes it.
struct FusionDirectives {
  struct Group {
    std::vector<std::string> values;
    SourceLocation where;
  };
  std::vector<Group> forbid, force, expect;
  std::vector<Group> pin;  // stubs by name, to be left as the user wrote them
};

// Which kernel computes one node, where its operator has several or may be expanded instead.
struct KernelChoice {
  struct Refusal {
    const KernelSignature* kernel = nullptr;
    std::string reason;
  };
  std::string value;  // the node's first result, by name
  const OpSpec* op = nullptr;
  const KernelSignature* kernel = nullptr;  // null: none, the operator was expanded
  std::string reason;                       // why this one
  std::vector<Refusal> others;              // and why each other was not
};

// An operator that the graph spells out in others, and that was put in their place.
struct Recognition {
  std::string value;  // what it makes, by name
  const OpSpec* op = nullptr;
  std::size_t nodes = 0;  // how many it stands for
};

// Whether a node with a kernel became a form of its operator of which a part is computed at load.
struct Preparation {
  std::string value;  // the node's first result, by name
  const OpSpec* op = nullptr;
  bool taken = false;
  std::string reason;
  std::vector<std::string> at_load;  // taken: what is computed then, by name
};

// Whether factors on an operand of a node moved behind it, or to its other operand.
struct MovedFactors {
  std::string value;  // the node's first result, by name
  const OpSpec* op = nullptr;
  bool moved = false;
  std::string reason;
};

// A value whose axes lie in another order than the graph has them.
struct OrderedAxes {
  std::string value;       // by name
  std::vector<int> order;  // axis i of its type is axis order[i] of what is written
  std::string reason;
};

// A copy that no graph asks for, made because the value it copies could not be read where it lies.
struct WrittenCopy {
  ValueId copy = no_id;
  std::uint32_t function = no_id;  // that is called with it; no_id: something else reads it
  std::string reason;
};

// A condition on dims that must hold at run time (a slice's end within its axis): left <= right.
struct DimRequirement {
  Dim left, right;
  std::string meaning;  // "k_all: begin + length within axis 1 of k_cache"
  SourceLocation where;
};

// A symbol. (A dim that is one number is not declared in a Graph: the number stands wherever it was named.)
struct DimDeclaration {
  std::string name;
  DimRange range;
  std::string from;  // the input of whole numbers that holds it; empty: read from an input's shape
  std::optional<std::int64_t> element = {};  // which of that input's elements; nothing: it is a scalar
  SourceLocation where = {};
};
std::string source_text(const DimDeclaration& dim);  // "position", "sizes[2]"

struct Graph {
  std::string name;
  std::string doc;                   // main: what it computes, for people; may be empty
  std::vector<DimDeclaration> dims;  // functions: those of the module
  std::vector<Value> values;
  std::vector<Node> nodes;           // load: as written; after infer: topologically ordered
  std::vector<GraphInput> inputs;
  std::vector<ConstantData> constants;
  std::vector<StateData> states;
  std::vector<ValueId> outputs;
  std::vector<std::string> output_names;  // main: what callers know each output by; functions: empty
  std::vector<DimRequirement> requirements;
  FusionDirectives directives;
  std::vector<Recognition> recognitions;
  std::vector<KernelChoice> kernel_choices;
  std::vector<Preparation> preparations;  // where a constant is among the operands
  std::vector<OrderedAxes> ordered_axes;
  std::vector<MovedFactors> moved_factors;
  std::vector<WrittenCopy> copies;  // from materialise on
  Numerics numerics = Numerics::fast;
  TargetKind target = TargetKind::cpu;
  Architecture architecture = Architecture::none;
  SourceLocation where;

  const Value& value(ValueId id) const { return values[id]; }
  Value& value(ValueId id) { return values[id]; }
  const TensorType& type(ValueId id) const { return *values[id].type; }
};

// What stubs and explanations call the value: one that is computed again goes by the name of what it is.
const std::string& written_name(const Graph& graph, ValueId value);
DimRanges ranges_of(const Graph& graph);
// Of what the graph is planned for.
const TargetDescription& description_of(const Graph& graph);
// What callers know output `index` by.
const std::string& output_name(const Graph& graph, std::size_t index);
// Whether only a run can tell if two numbers of elements are equal: callers say by a number what one of them is.
bool is_for_the_run_to_tell(const Graph& graph, const Dim& a, const Dim& b);

// A graph file: the graph itself and the functions that it calls. functions[i] calls only functions before it.
struct Module {
  std::vector<Graph> functions;
  Graph main;
  std::string file;  // the graph's path as given
};

}  // namespace kgen

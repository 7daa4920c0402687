// What a kernel's declaration says: all that the planner knows of a kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/base/source.hpp"
#include "generator/model/dtype.hpp"
#include "generator/model/enum_names.hpp"
#include "generator/model/expression.hpp"

namespace kgen {

enum class KernelKind { elementwise, view, reduction, structured, opaque };
template <>
inline constexpr auto names_of<KernelKind> = std::to_array<std::string_view>({"elementwise", "view", "reduction",
                                                                              "structured", "opaque"});

// view: memory and nothing else. source: anything that loads, so a prologue may be fused in. sink: anything that
// stores, so an epilogue may be. line (of an elementwise kernel): memory, read anywhere along one axis.
enum class Accepts { view, source, sink, line };
template <>
inline constexpr auto names_of<Accepts> = std::to_array<std::string_view>({"view", "source", "sink", "line"});

// How often a kernel asks for each element of an operand that is a source, and so evaluates what is fused into it; or
// how often it makes the numbers of each row that a result's epilogue uses.
struct Evaluations {
  Expression times;  // a size
  Expression when;   // a condition; empty: always
};

struct KernelOperand {
  std::string name;
  int rank = -1;  // -1: any
  std::vector<DType> dtypes;  // none: any
  Accepts accepts = Accepts::view;
  std::optional<DType> element;  // for a sink: what the epilogue sees; absent: what the kernel's sources load
  std::string structure;         // the qualified C++ struct that it holds; empty: a dtype
  bool optional = false;
  // Of a source. Where the condition may hold, the kernel is much faster on memory: what makes the operand is not fused
  // into it. Empty: nowhere.
  Expression memory;
  std::vector<Evaluations> evaluations;  // the first whose condition may hold counts; without one, it is once
  // Of a sink of rank 2: the first whose condition may hold says that epilogues may use numbers of each row, and how
  // often the kernel makes these. Empty: they may not.
  std::vector<Evaluations> rows;
  // Of a sink of rank 2: where the condition may hold, a row program may make numbers of each row of what the sink
  // stores (kgen/row_statistics.hpp). Empty: nowhere.
  Expression statistics;
  // Results: how many of the operator's this parameter takes at each position, this one and those behind it in the
  // signature's list, which have 0.
  int joint = 1;
  // Operands: how many nodes that differ in this one alone a call takes at once, each with its own; 1: one. Such a
  // kernel has one such operand, and its results are sinks of which each node has its own, or several have one
  // together.
  int several = 1;
  SourceLocation where;
};

// The most that `several` may be.
inline constexpr int most_siblings = 16;

struct KernelAttribute {
  std::string name;
  // C++: "float", "bool", "std::int64_t"; "kgen::Index<2>" for a list of so many sizes, "kgen::Index" for one of any
  // length, "kgen::Numbers" for one of numbers; an enumeration's qualified name; "dtype" for a type that the kernel is
  // a template of.
  std::string type;
  SourceLocation where;
  std::vector<std::string> values = {};  // of an enumeration: its enumerators
};

struct KernelParameter {  // a compile-time parameter, which rules of tuning give, or the layout of an operand
  std::string name;
  std::vector<std::int64_t> values;
  std::int64_t default_value = 0;
  SourceLocation where;
  // Whether it changes nothing but the time that the kernel takes, so that `kgen tune` may try its values, and
  bool tuned = false;
  Expression tuned_when = {};  // where it changes that; empty: everywhere
  std::vector<std::string> names = {};  // what the values are called in C++, qualified; empty: they have no names
  // The operand whose layout in memory it says, where that is known: 1 row-major, 2 column-major (kgen/introspect.hpp).
  std::string layout_of = {};  // empty: none
  Expression layout_when = {};
};

// A structured or opaque kernel is called with its operands, its attributes and its results, in these orders, and the
// stream last; an optional operand that is not given is left out of the call.
struct KernelSignature {
  std::string name;    // qualified: "kgen::matmul"
  std::string header;  // "kgen/matmul.hpp"
  std::string op;      // the operator it implements
  KernelKind kind = KernelKind::elementwise;
  // Where it may be used, besides the dtypes of its operands: "M <= 16 && T == f32", for every value of the symbolic
  // dims; empty: everywhere. A declaration is text: add_kernels parses it.
  Expression when;
  std::vector<KernelOperand> operands;
  std::vector<KernelOperand> results;
  std::vector<KernelAttribute> attributes;
  std::vector<KernelParameter> parameters;
  std::string doc;
  SourceLocation where;  // its name in the header
};

// The operand of which a call of the kernel takes several at once; nothing where it takes one of each.
std::optional<std::size_t> several_operand(const KernelSignature& kernel);
// Why `parameter` cannot say how the operand of that name lies in memory, and what to do; nothing where it can.
struct LayoutProblem {
  std::string text, help;
};
std::optional<LayoutProblem> layout_problem(const KernelSignature& kernel, const KernelParameter& parameter,
                                            const std::string& operand);
// Appends the results that one parameter stands for.
void add_result(KernelSignature& kernel, KernelOperand parameter);

// A file that signatures were read from, directly or by inclusion.
struct HeaderFile {
  std::string name;        // as it is included: its path below an include directory
  std::uint64_t hash = 0;  // of its content
};

// Kernels that were read together, and what they were read from.
struct KernelLibrary {
  std::vector<KernelSignature> kernels;
  std::vector<HeaderFile> headers;
};

}  // namespace kgen

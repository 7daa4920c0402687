// How a kernel is registered, and the constraints by which its declaration says what it takes. kgen reads both: see
// `kgen introspect`. To every compiler KGEN_KERNEL is nothing, and the constraints are what they say.
//
//   // The sum; integers wrap.
//   struct KGEN_KERNEL(add) Add {
//     template <Number A, Number B>
//     static KGEN_FN auto apply(A a, B b);
//   };
//
// A kernel's kind, and where its facts are found:
//   elementwise  a struct with `apply`: the operands are its parameters, the attributes the public members, in order; a
//                type that the struct is a template of is an attribute that holds a dtype (Cast<To>: `to`). A parameter
//                that is a Line<T, W> is memory, read anywhere along one axis (kgen/line.hpp)
//   reduction    a struct with `identity`, `combine` and `finish`: the dtypes are those of the first type that identity
//                is a template of; where finish returns a struct, each of its members is a result
//   structured   a function of operands, attributes, results and the stream, in this order, of which at least one is a
//                Source (it takes a prologue) or a Sink (it takes an epilogue); others are Memory or a View of const
//                elements, results a View of elements that are not const. A JointSink stands for several results of the
//                operator, in its order, which the kernel stores at one position at a time (an epilogue may need them
//                all). Of one operand a call may take several at once (SeveralSources, SeveralMemory of
//                kgen/several.hpp), each of another node: nodes that differ in it alone become one call. Its results
//                are SeveralSinks
//   opaque       such a function without a Source or a Sink
//   view         a function that returns a View
// An operand that an overload does without is optional. An attribute is a bool, an integer, a float or a double; an
// Index is a list of that many, and an enumeration one of the words that its enumerators are. A number that a kernel is
// a template of is `Allowed` to have the values that rules of tuning may give it.
#pragma once

#include <concepts>
#include <type_traits>

#include "kgen/types.hpp"

// KGEN_KERNEL(operator) or KGEN_KERNEL(operator, "condition"): the struct or function is a kernel of that operator. The
// condition says when to prefer it to other kernels of the operator. In a struct it follows the keyword, in a function
// the template's parameters.
//
// Beside it, what a prologue on an operand costs, by which kgen decides whether one pays; of a Source, more than once
// if need be:
//
// KGEN_EVALUATED(operand, "times") or KGEN_EVALUATED(operand, "times", "condition"): the kernel asks for each element
// of the operand so many times, a size in names of the operator's patterns. Of several the first counts whose condition
// holds; where none does, or there is none, an element is asked for once.
//
// KGEN_IN_MEMORY(operand, "condition"): where the condition holds, the kernel is much faster on memory, and what makes
// the operand is computed by a stub of its own.
//
// And of a number that it is a template of:
//
// KGEN_TUNED(parameter) or KGEN_TUNED(parameter, "condition"): the number changes nothing but the time that the kernel
// takes, where the condition holds, so that `kgen tune` may try its values there.
//
// KGEN_LAYOUT(parameter, operand) or KGEN_LAYOUT(parameter, operand, "condition"): where the condition holds, it is
// how the operand, a matrix or a stack of them along axes ahead of the last two, lies in memory, as far as the graph
// says it: 1, its rows are lines without gaps between neighbours; 2, its columns are; 0, it is not known. With 1 and 2
// its lines, and the rows of all other matrices and stacks, are whole vectors of 16 bytes; but a caller's memory may
// begin anywhere. Names for these are in kgen/known_product.hpp.
//
// And of a Sink of rank 2:
//
// KGEN_ROWS(result, "times") or KGEN_ROWS(result, "times", "condition"): where the condition may hold, the epilogue may
// use numbers that a row program makes of a row of other memory for each row of the result (kgen/row_state.hpp). The
// kernel makes those of each row up to so many times, once where a launch of its own does. Of several the first counts whose condition may hold; where none does,
// or there is none, a stub of its own makes them.
//
// KGEN_STATISTICS(result, "condition"): where the condition may hold, a row program may make numbers of each row of
// what the sink stores (kgen/row_statistics.hpp). The kernel gives it the lanes as they are stored, or the rows behind
// its launch.
#ifdef KGEN_INTROSPECT
#define KGEN_KERNEL(operator_name, ...) [[clang::annotate("kgen.kernel", #operator_name __VA_OPT__(, ) __VA_ARGS__)]]
#define KGEN_EVALUATED(operand, ...) [[clang::annotate("kgen.evaluated", #operand, __VA_ARGS__)]]
#define KGEN_IN_MEMORY(operand, ...) [[clang::annotate("kgen.in_memory", #operand, __VA_ARGS__)]]
#define KGEN_TUNED(parameter, ...) [[clang::annotate("kgen.tuned", #parameter __VA_OPT__(, ) __VA_ARGS__)]]
#define KGEN_LAYOUT(parameter, operand, ...) \
  [[clang::annotate("kgen.layout", #parameter, #operand __VA_OPT__(, ) __VA_ARGS__)]]
#define KGEN_ROWS(result, ...) [[clang::annotate("kgen.rows", #result, __VA_ARGS__)]]
#define KGEN_STATISTICS(result, ...) [[clang::annotate("kgen.statistics", #result, __VA_ARGS__)]]
#else
#define KGEN_KERNEL(...)
#define KGEN_EVALUATED(...)
#define KGEN_IN_MEMORY(...)
#define KGEN_TUNED(...)
#define KGEN_LAYOUT(...)
#define KGEN_ROWS(...)
#define KGEN_STATISTICS(...)
#endif

namespace kgen {

template <class T, int W>
struct Vec;

namespace detail {
template <class T>
struct OneLane {
  using type = T;
};
template <class T, int W>
struct OneLane<Vec<T, W>> {
  using type = T;
};
}  // namespace detail

// What one lane of a Vec is; any other type is itself.
template <class T>
using element_t = typename detail::OneLane<std::remove_cv_t<T>>::type;

// Classes of dtypes, of a scalar, of the lanes of a Vec or of the elements of a View. Element is any of them.

template <class T>
concept Boolean = std::same_as<element_t<T>, bool>;
template <class T>
concept Float = std::floating_point<element_t<T>> ||(is_narrow_float<element_t<T>> && !is_storage_only<element_t<T>>);
template <class T>
concept Integer = std::integral<element_t<T>> && !Boolean<T>;
template <class T>
concept Signed = Float<T> || (Integer<T> && std::is_signed_v<element_t<T>>);
template <class T>
concept Number = Float<T> || Integer<T>;
template <class T>
concept Element = Number<T> || Boolean<T> || is_storage_only<element_t<T>>;
// One of these element types, or of the types that arithmetic on them is done in.
template <class T, class... Types>
concept OneOf = ((std::same_as<element_t<T>, Types> || std::same_as<element_t<T>, compute_t<Types>>) || ...);

// A number that a kernel is a template of has one of these values.
template <auto Value, auto... Values>
concept Allowed = ((Value == Values) || ...);

}  // namespace kgen

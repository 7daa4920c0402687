// What siblings give one call of a kernel: each its own of the operand in which they differ, and each a sink for its
// result. A kernel whose operand is constrained by SeveralSources or SeveralMemory may be called with several of it at
// once; what it reads besides is read for all of them together.
#pragma once

#include <algorithm>
#include <utility>

#include "kgen/row_state.hpp"
#include "kgen/view.hpp"

namespace kgen {

// Several operands or sinks, in order, each of a type of its own.
template <class First, class... Rest>
struct Several {
  First first;
  Several<Rest...> rest;
};
template <class Last>
struct Several<Last> {
  Last first;
};

template <class Last>
KGEN_FN constexpr Several<Last> several(const Last& last) {
  return {last};
}
template <class First, class Second, class... Rest>
KGEN_FN constexpr Several<First, Second, Rest...> several(const First& first, const Second& second,
                                                          const Rest&... rest) {
  return {first, several(second, rest...)};
}

// Among several sinks: a JointSink that takes as many results as stand in its place.
template <int Count, class S>
struct Joint {
  S sink;
};
template <int Count, class S>
KGEN_FN constexpr Joint<Count, S> joint(const S& sink) {
  return {sink};
}

namespace detail {

template <class S>
inline constexpr bool is_several = false;
template <class... S>
inline constexpr bool is_several<Several<S...>> = true;

template <class S>
struct SeveralOf {
  static constexpr int count = 1;
  using First = S;
};
template <class First_, class... Rest>
struct SeveralOf<Several<First_, Rest...>> {
  static constexpr int count = 1 + sizeof...(Rest);
  using First = First_;
};

template <class S>
struct SinkOf {
  static constexpr int results = 1;
  template <class T, int R>
  static constexpr bool takes = Sink<S, T, R> || UsesRows<S>;
  KGEN_FN static constexpr const S& of(const S& sink) { return sink; }
};
template <int Count, class S>
struct SinkOf<Joint<Count, S>> {
  static constexpr int results = Count;
  template <class T, int R>
  static constexpr bool takes = JointSink<S, T, Count, R> || UsesRows<S>;
  KGEN_FN static constexpr const S& of(const Joint<Count, S>& joint) { return joint.sink; }
};

// What is asked of one operand, and of each of several; their elements are alike.
template <class S, int R>
struct AreSources {
  static constexpr bool value = Source<S, R>;
};
template <class First, class... Rest, int R>
requires(Source<First, R> && (Source<Rest, R> && ...)) struct AreSources<Several<First, Rest...>, R> {
  static constexpr bool value = (std::same_as<source_lane_t<Rest, R>, source_lane_t<First, R>> && ...);
};
template <class S, int R>
struct AreMemory {
  static constexpr bool value = Memory<S, R>;
};
template <class First, class... Rest, int R>
requires(Memory<First, R> && (Memory<Rest, R> && ...)) struct AreMemory<Several<First, Rest...>, R> {
  static constexpr bool value = (std::same_as<view_element_t<Rest>, view_element_t<First>> && ...);
};

template <class S, class T, int Count, int R>
struct AreSinks {
  static constexpr bool value = UsesRows<S> || (Count == 1 ? Sink<S, T, R> : JointSink<S, T, Count, R>);
};
template <class... S, class T, int Count, int R>
struct AreSinks<Several<S...>, T, Count, R> {
  static constexpr bool value = (SinkOf<S>::results + ...) == Count && (SinkOf<S>::template takes<T, R> && ...);
};

template <class S, int Total>
inline constexpr int most_together = Total;
template <class... S, int Total>
inline constexpr int most_together<Several<S...>, Total> = std::max({SinkOf<S>::results...});

}  // namespace detail

// How many an operand is.
template <class S>
inline constexpr int several_count = detail::SeveralOf<S>::count;
// The first of several; of one, itself.
template <class S>
using first_of_t = typename detail::SeveralOf<S>::First;

// A Source of R axes, or up to Most of them, which load lanes of one type.
template <class S, int R, int Most>
concept SeveralSources = detail::AreSources<S, R>::value && several_count<S>
<= Most;

// The same of Views: operands that must lie in memory.
template <class S, int R, int Most>
concept SeveralMemory = detail::AreMemory<S, R>::value && several_count<S>
<= Most;

// What takes the results of `Count` siblings, which may differ in shape: Several sinks, some of them perhaps joint();
// or where they do not differ, a JointSink of all. Where Count is 1, a Sink. Each of these may use numbers of its rows
// (kgen/row_state.hpp).
template <class S, class T, int Count, int R>
concept SeveralSinks = detail::AreSinks<S, T, Count, R>::value;

// Whether an operand, or each of several, is memory of elements of type T.
template <class T, class S>
inline constexpr bool is_memory_of = false;
template <class T, class E, int R>
inline constexpr bool is_memory_of<T, View<E, R>> = std::is_same_v<std::remove_const_t<E>, T>;
template <class T, class... S>
inline constexpr bool is_memory_of<T, Several<S...>> = (is_memory_of<T, S> && ...);

// Number `Index` of several.
template <int Index, class S>
KGEN_FN constexpr const auto& nth(const S& several) {
  if constexpr (!detail::is_several<S>) {
    static_assert(Index == 0);
    return several;
  } else if constexpr (Index == 0) {
    return several.first;
  } else {
    return nth<Index - 1>(several.rest);
  }
}

// body(each) for each of several, in order.
template <class S, class Body>
KGEN_FN constexpr void for_each_of(const S& several, const Body& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) KGEN_LAMBDA { (body(nth<I>(several)), ...); }
  (std::make_integer_sequence<int, several_count<S>>{});
}

// body.operator()<First, Count>(sink) for each sink of `Total` results: it takes `Count` of them, from number `First`
// on.
template <int Total, int First = 0, class S, class Body>
KGEN_FN constexpr void for_each_sink(const S& sinks, const Body& body) {
  if constexpr (!detail::is_several<S>) {
    body.template operator()<First, Total - First>(sinks);
  } else {
    using Own = detail::SinkOf<first_of_t<S>>;
    body.template operator()<First, Own::results>(Own::of(sinks.first));
    if constexpr (First + Own::results < Total) for_each_sink<Total, First + Own::results>(sinks.rest, body);
  }
}

// The most results that one of the sinks of `Total` results takes.
template <class S, int Total>
inline constexpr int most_together = detail::most_together<S, Total>;

// Whether any of the sinks of a call uses numbers of its rows. All that do have the same row program.
template <class C>
inline constexpr bool uses_rows = UsesRows<C>;
template <int Count, class S>
inline constexpr bool uses_rows<Joint<Count, S>> = UsesRows<S>;
template <class... S>
inline constexpr bool uses_rows<Several<S...>> = (uses_rows<S> || ...);

// That row program.
template <class C>
requires uses_rows<C> KGEN_FN constexpr const auto& rows_of(const C& c) {
  if constexpr (UsesRows<C>) {
    return c.rows;
  } else if constexpr (!detail::is_several<C>) {
    return c.sink.rows;
  } else if constexpr (uses_rows<first_of_t<C>>) {
    return rows_of(c.first);
  } else {
    return rows_of(c.rest);
  }
}

// The sinks, with the numbers of all their rows.
template <class C, class State>
auto with_known_rows(const C& c, const State* states) {
  if constexpr (!uses_rows<C>) {
    return c;
  } else {
    return KnownRows<C, State>{c, states};
  }
}
template <int Count, class S, class State>
auto with_known_rows(const Joint<Count, S>& c, const State* states) {
  return joint<Count>(with_known_rows(c.sink, states));
}
template <class... S, class State>
auto with_known_rows(const Several<S...>& c, const State* states) {
  return [&]<int... I>(std::integer_sequence<int, I...>) { return several(with_known_rows(nth<I>(c), states)...); }
  (std::make_integer_sequence<int, sizeof...(S)>{});
}

// What change(each) makes of each of several, in the same places.
template <class S, class Change>
KGEN_FN constexpr auto with_each(const S& one, const Change& change) {
  return change(one);
}
template <int Count, class S, class Change>
KGEN_FN constexpr auto with_each(const Joint<Count, S>& joint_sink, const Change& change) {
  return joint<Count>(change(joint_sink.sink));
}
template <class... S, class Change>
KGEN_FN constexpr auto with_each(const Several<S...>& all, const Change& change) {
  return [&]<int... I>(std::integer_sequence<int, I...>) KGEN_LAMBDA {
    return several(with_each(nth<I>(all), change)...);
  }
  (std::make_integer_sequence<int, static_cast<int>(sizeof...(S))>{});
}

}  // namespace kgen

// The fields of a stub's functor, such as the Views that it reads and writes: what is looked at to choose a kernel, and
// what a kernel adapts in its own copy.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "kgen/flattened.hpp"
#include "kgen/platform.hpp"
#include "kgen/view.hpp"

namespace kgen {

namespace detail {

struct AnyField {
  template <class T>
  constexpr operator T() const;
};
template <std::size_t>
using any_field = AnyField;

template <class S, std::size_t... I>
consteval bool takes_initialisers(std::index_sequence<I...>) {
  return requires { S{any_field<I>{}...}; };
}
// How many values may stand in the braces of an S. An array among its fields takes one for each element.
template <class S, std::size_t Count = 0>
consteval std::size_t count_initialisers() {
  if constexpr (takes_initialisers<S>(std::make_index_sequence<Count + 1>{})) {
    return count_initialisers<S, Count + 1>();
  } else {
    return Count;
  }
}
template <class S, std::size_t... Before, std::size_t... After>
consteval bool takes_empty_between(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires { S{any_field<Before>{}..., {}, any_field<After>{}...}; };
}
// How many of all those the field takes that begins at number `Place`: all that {} stands for.
template <class S, std::size_t All, std::size_t Place, std::size_t Width = 1>
consteval std::size_t initialisers_of_field() {
  if constexpr (Place + Width > All) {
    return 1;  // it has no value to begin with, so it is no array of numbers
  } else if constexpr (takes_empty_between<S>(std::make_index_sequence<Place>{},
                                              std::make_index_sequence<All - Place - Width>{})) {
    return Width;
  } else {
    return initialisers_of_field<S, All, Place, Width + 1>();
  }
}
template <class S, std::size_t All, std::size_t Place = 0>
consteval int count_fields() {
  if constexpr (Place < All) {
    return 1 + count_fields<S, All, Place + initialisers_of_field<S, All, Place>()>();
  } else {
    return 0;
  }
}

}  // namespace detail

// More fields than this are not looked at.
inline constexpr int most_fields = 24;

// How many fields a struct has; 0 where they cannot be looked at.
template <class S>
consteval int field_count() {
  if constexpr (std::is_class_v<S> && std::is_aggregate_v<S> && !requires { std::tuple_size<S>::value; }) {
    constexpr int count = detail::count_fields<S, detail::count_initialisers<S>()>();
    return count <= most_fields ? count : 0;
  } else {
    return 0;
  }
}

// References to the fields, in order.
template <class S>
KGEN_FN constexpr auto fields_of(S& object) {
  constexpr int count = field_count<std::remove_const_t<S>>();
#define KGEN_FIELDS(number, ...)   \
  if constexpr (count == number) { \
    auto& [__VA_ARGS__] = object;  \
    return std::tie(__VA_ARGS__);  \
  }
  KGEN_FIELDS(1, a)
  KGEN_FIELDS(2, a, b)
  KGEN_FIELDS(3, a, b, c)
  KGEN_FIELDS(4, a, b, c, d)
  KGEN_FIELDS(5, a, b, c, d, e)
  KGEN_FIELDS(6, a, b, c, d, e, f)
  KGEN_FIELDS(7, a, b, c, d, e, f, g)
  KGEN_FIELDS(8, a, b, c, d, e, f, g, h)
  KGEN_FIELDS(9, a, b, c, d, e, f, g, h, i)
  KGEN_FIELDS(10, a, b, c, d, e, f, g, h, i, j)
  KGEN_FIELDS(11, a, b, c, d, e, f, g, h, i, j, k)
  KGEN_FIELDS(12, a, b, c, d, e, f, g, h, i, j, k, l)
  KGEN_FIELDS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  KGEN_FIELDS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  KGEN_FIELDS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  KGEN_FIELDS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  KGEN_FIELDS(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  KGEN_FIELDS(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  KGEN_FIELDS(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  KGEN_FIELDS(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  KGEN_FIELDS(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
  KGEN_FIELDS(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
  KGEN_FIELDS(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
  KGEN_FIELDS(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
#undef KGEN_FIELDS
  if constexpr (count == 0) {
    (void)object;
    return std::tie();
  }
}

// body(field) for each field, in order.
template <class S, class Body>
KGEN_FN constexpr void for_each_field(S& object, const Body& body) {
  std::apply([&](auto&... fields) KGEN_LAMBDA { (body(fields), ...); }, fields_of(object));
}

// body(view) for each View in an object: the object itself, or one among its fields, those of functors that it holds,
// and so on. That a View is seen says nothing of where the functor reads it.
template <class S, class Body>
KGEN_FN constexpr void for_each_view(S& object, const Body& body) {
  using Object = std::remove_const_t<S>;
  if constexpr (is_view<Object>) {
    body(object);
  } else if constexpr (is_flattened<Object>) {
    body(object.view);
  } else if constexpr (field_count<Object>() > 0) {
    for_each_field(object, [&](auto& field) KGEN_LAMBDA { for_each_view(field, body); });
  }
}

// A View that a functor reads and writes elsewhere than at its own position: elementwise() sees none of its own in it.
template <class V>
struct Anywhere {
  V view;
};

// Of these, the functor's own: its fields that are Views, which it reads and writes at the position it is called with.
template <class S, class Body>
KGEN_FN constexpr void for_each_own_view(S& object, const Body& body) {
  for_each_field(object, [&](auto& field) KGEN_LAMBDA {
    if constexpr (is_view<std::remove_cvref_t<decltype(field)>>) body(field);
  });
}

}  // namespace kgen

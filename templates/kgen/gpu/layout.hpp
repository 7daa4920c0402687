// What a launch sees in the Views of a functor: how wide its accesses may be, and along which axis they run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "kgen/fields.hpp"
#include "kgen/line.hpp"
#include "kgen/view.hpp"

namespace kgen::gpu {

// ---- from types -----------------------------------------------------------------------------------------------------

// How many Views a functor has of its own, how many of them it reads only, and the sizes of their elements; 0 where
// there are none. What it reads in lines counts for the narrowest that is read alone.
struct ElementSizes {
  int views = 0, reads = 0;
  int smallest_read = 0, smallest = 0, largest = 0;
};

namespace detail {
template <class View>
consteval void add_size(ElementSizes& sizes) {
  const auto lesser = [](int a, int b) { return a == 0 || b < a ? b : a; };
  if constexpr (is_lines<View>) {
    sizes.smallest_read = lesser(sizes.smallest_read, static_cast<int>(sizeof(typename View::element_type)));
  } else if constexpr (is_view<View>) {
    const int size = sizeof(typename View::element_type);
    ++sizes.views;
    sizes.smallest = lesser(sizes.smallest, size);
    sizes.largest = std::max(sizes.largest, size);
    if (std::is_const_v<typename View::element_type>) {
      sizes.smallest_read = lesser(sizes.smallest_read, size);
      ++sizes.reads;
    }
  }
}
template <class... Fields>
consteval ElementSizes sizes_of_tuple(std::tuple<Fields&...>*) {
  ElementSizes sizes;
  (add_size<std::remove_const_t<Fields>>(sizes), ...);
  return sizes;
}
}  // namespace detail

template <class S>
consteval ElementSizes element_sizes() {
  if constexpr (is_view<S>) {
    ElementSizes sizes;
    detail::add_size<S>(sizes);
    return sizes;
  } else {
    return detail::sizes_of_tuple(static_cast<decltype(fields_of(std::declval<const S&>()))*>(nullptr));
  }
}

namespace detail {
template <int R, class... Fields>
consteval std::uint32_t operand_bits_of_tuple(std::tuple<Fields&...>*) {
  std::uint32_t bits = 0;
  int number = 0;
  const auto look = [&]<class Field>() {
    if constexpr (is_view<Field>)
      bits |= (std::is_const_v<typename Field::element_type> && Field::rank == R ? 1u : 0u) << number++;
  };
  (look.template operator()<std::remove_const_t<Fields>>(), ...);
  return bits;
}
}  // namespace detail

// Which of a functor's own Views, by their number, are operands of R axes: a bit for each.
template <int R, class S>
consteval std::uint32_t operand_bits() {
  return detail::operand_bits_of_tuple<R>(static_cast<decltype(fields_of(std::declval<const S&>()))*>(nullptr));
}

namespace detail {
template <class S>
consteval int count_views();
template <class... Fields>
consteval int count_views_of_tuple(std::tuple<Fields&...>*) {
  return (count_views<std::remove_const_t<Fields>>() + ... + 0);
}
template <class S>
consteval int count_views() {
  if constexpr (is_view<S> || is_flattened<S>) {
    return 1;
  } else if constexpr (field_count<S>() > 0) {
    return count_views_of_tuple(static_cast<decltype(fields_of(std::declval<const S&>()))*>(nullptr));
  } else {
    return 0;
  }
}
}  // namespace detail

// How many Views for_each_view() finds in an object of this type.
template <class S>
inline constexpr int view_count = detail::count_views<S>();

// Lanes for a thread at a time: 16 bytes of the narrowest operand, or result as well, but no more than `most` of the
// widest.
template <class S>
consteval int vector_width(int most = 32, bool or_result = false) {
  constexpr ElementSizes sizes = element_sizes<S>();
  if constexpr (sizes.smallest == 0) {
    return 1;
  } else {
    int narrow = sizes.smallest_read != 0 ? sizes.smallest_read : sizes.smallest;
    if (or_result) narrow = std::min(narrow, sizes.smallest);
    return std::max(1, std::min({16 / narrow, most / sizes.largest, 16}));
  }
}

// ---- from strides and addresses -------------------------------------------------------------------------------------

// True where any `width` elements at a multiple of `width` of the last axis are neighbours, aligned as vectors are.
template <class T, int R>
KGEN_FN bool has_vectors(const View<T, R>& view, int width) {
  if constexpr (R == 0) {
    return false;
  } else {
    constexpr int bits = element_bits<std::remove_const_t<T>>;
    if (view.stride(R - 1) != 1 || width * bits % 8 != 0) return false;
    const std::int64_t unit = std::min(16, width * bits / 8);
    for (int axis = 0; axis < R - 1; ++axis) {
      if (view.extent(axis) > 1 && view.stride(axis) * bits % (8 * unit) != 0) return false;
    }
    return at_byte(view.data()) && address_of(view.data()) % static_cast<std::uintptr_t>(unit) == 0;
  }
}

// Axes First to First + Count as one, where they lie as one.
template <int First, int Count, class T, int R>
std::optional<View<const T, R - Count + 1>> merged(const View<const T, R>& view) {
  std::int64_t extent = 1, step = 0;
  for (int axis = First + Count - 1; axis >= First; --axis) {
    if (view.extent(axis) == 1) continue;
    if (extent == 1) step = view.stride(axis);
    if (view.stride(axis) != step * extent) return std::nullopt;
    extent *= view.extent(axis);
  }
  return view.template merge<First, First + Count - 1>();
}

// The bytes that a View covers.
struct Span {
  std::uintptr_t begin, end;

  template <class T, int R>
  explicit Span(const View<T, R>& view) {
    std::int64_t low = 0, high = 0;  // elements
    for (int axis = 0; axis < R; ++axis) {
      const std::int64_t reach = (view.extent(axis) - 1) * view.stride(axis);
      (reach < 0 ? low : high) += reach;
    }
    begin = address_of(view.data() + low);
    end = address_of(view.data() + high) + sizeof(T);
  }
  bool overlaps(const Span& other) const { return begin < other.end && other.begin < end; }
  bool contains(std::uintptr_t address) const { return begin <= address && address < end; }
};

// True where something that the object only reads overlaps what it writes, as when a result takes its operand's place.
template <class S>
bool is_in_place(const S& object) {
  bool found = false;
  for_each_view(object, [&](const auto& read) {
    for_each_view(object, [&](const auto& written) {
      using Read = typename std::remove_cvref_t<decltype(read)>::element_type;
      using Written = typename std::remove_cvref_t<decltype(written)>::element_type;
      if constexpr (std::is_const_v<Read> && !std::is_const_v<Written>) {
        found = found || Span(read).overlaps(Span(written));
      }
    });
  });
  return found;
}

// The object with what its Views allow, when kernels load and store `width` lanes at multiples of `width`.
template <class S>
S with_access(S object, int width) {
  for_each_view(object, [&](auto& view) { view = view.with_access({has_vectors(view, width)}); });
  return object;
}

// lanes[lane], of lanes that stay in registers.
template <class T, int Count>
KGEN_FN T chosen(const T (&lanes)[Count], int lane) {
  T result = lanes[0];
  KGEN_UNROLL
  for (int i = 1; i < Count; ++i) result = lane == i ? lanes[i] : result;
  return result;
}

// What a launch has seen of all Views of a functor.
enum class Lanes {
  any,                     // each as with_access says
  vectors,                 // every one has_vectors, but for those of which rows access one element alone
  constant_vectors,        // and nothing is in place
  whole_vectors,           // every one has_vectors, whole ones in each line, or lines of one element that is repeated
  constant_whole_vectors,  // and nothing is in place
  whole_pairs,             // whole_vectors, but of 2 alone
};

// Whether vectors are of more than 2.
KGEN_FN constexpr bool has_fours(Lanes lanes) { return lanes != Lanes::any && lanes != Lanes::whole_pairs; }

// Whether all that an object reads and writes is in whole_vectors of `width`.
template <class S>
bool has_whole_vectors(const S& object, int width) {
  bool all = true;
  for_each_view(object, [&]<class T, int R>(const View<T, R>& view) {
    if constexpr (R == 0) {
      all = all && std::is_const_v<T>;
    } else {
      const bool repeats = std::is_const_v<T> && view.stride(R - 1) == 0;
      all = all && (repeats || (view.extent(R - 1) % width == 0 && has_vectors(view, width)));
    }
  });
  return all;
}

// Of whole vectors of `width`: the most that is true of an object, else `any`.
template <class S>
Lanes whole_lanes(const S& object, int width) {
  if (!has_whole_vectors(object, width)) return Lanes::any;
  return is_in_place(object) ? Lanes::whole_vectors : Lanes::constant_whole_vectors;
}

// The View, in which that is a constant to the compiler.
template <Lanes Form, class T, int R>
KGEN_FN View<T, R> known_view(const View<T, R>& view) {
  if constexpr (Form == Lanes::any) {
    return view.with_access({view.access().vectors});
  } else {
    constexpr bool either = Form == Lanes::constant_whole_vectors && std::is_const_v<T> && has_either<T> &&
                            !is_packed<std::remove_const_t<T>>;
    if constexpr (either) return view.with_access({false, true, true, false, true, true});
    Index<R> strides = view.strides();
    constexpr bool reads = std::is_const_v<T>;
    constexpr bool whole = Form == Lanes::whole_vectors || Form == Lanes::constant_whole_vectors;
    constexpr bool constant = reads && (Form == Lanes::constant_vectors || Form == Lanes::constant_whole_vectors);
    if constexpr (R > 0 && !(reads && whole)) strides[R - 1] = 1;
    return View<T, R>(view.data(), view.shape(), strides).with_access({true, reads, constant, false, whole});
  }
}
template <Lanes Form, class Functor>
KGEN_FN Functor known(Functor functor) {
  for_each_view(functor, [](auto& view) KGEN_LAMBDA { view = known_view<Form>(view); });
  return functor;
}

// ---- lines of a functor's operands: vectors, or one element that is repeated

namespace detail {
// Whether such a View may be either, as only its strides say.
template <class View>
inline constexpr bool has_lines = false;
template <class T, int R>
inline constexpr bool has_lines<View<const T, R>> = R > 0 && has_either<T> && !is_packed<T>;

inline constexpr int uncounted_lines = 100;
template <class S>
consteval int count_lines();
template <class... Fields>
consteval int count_lines_of_tuple(std::tuple<Fields&...>*) {
  return (count_lines<std::remove_const_t<Fields>>() + ... + 0);
}
template <class S>
consteval int count_lines() {
  if constexpr (is_flattened<S>) {
    return uncounted_lines;
  } else if constexpr (is_view<S>) {
    return has_lines<S> ? 1 : 0;
  } else if constexpr (field_count<S>() > 0) {
    return count_lines_of_tuple(static_cast<decltype(fields_of(std::declval<const S&>()))*>(nullptr));
  } else {
    return 0;
  }
}

// Which of these Views repeat an element: a bit for each.
template <class S>
KGEN_FN std::uint32_t repeating_lines(const S& functor) {
  std::uint32_t bits = 0;
  int number = 0;
  for_each_view(functor, [&]<class T, int R>(const View<T, R>& view) KGEN_LAMBDA {
    if constexpr (has_lines<View<T, R>>) bits |= (view.stride(R - 1) == 0 ? 1u : 0u) << number++;
  });
  return bits;
}

// Whether each of these Views of two axes has one number for each row, densely, or one line for all rows.
template <class S>
KGEN_FN bool are_vectors(const S& functor) {
  bool all = true;
  for_each_view(functor, [&]<class T, int R>(const View<T, R>& view) KGEN_LAMBDA {
    if constexpr (R == 2 && has_lines<View<T, R>>) all = all && view.stride(0) == (view.stride(1) == 0 ? 1 : 0);
  });
  return all;
}

// The functor, whose Views are such, and in which their strides are constants to the compiler.
template <std::uint32_t Repeating, class S>
KGEN_FN S known_lines(S functor) {
  int number = 0;
  for_each_view(functor, [&]<class T, int R>(View<T, R>& view) KGEN_LAMBDA {
    if constexpr (has_lines<View<T, R>>) {
      const bool repeats = (Repeating >> number++ & 1) != 0;
      Index<R> strides = view.strides();
      strides[R - 1] = repeats ? 0 : 1;
      if constexpr (R == 2) strides[0] = repeats ? 1 : 0;
      view = View<T, R>(view.data(), view.shape(), strides).with_access({!repeats, true, true, false, repeats});
    } else {
      view = known_view<Lanes::constant_whole_vectors>(view);
    }
  });
  return functor;
}

template <std::uint32_t Repeating, class S, class Body>
KGEN_FN void with_repeating(const S& functor, const Body& body) {
  if constexpr (Repeating + 1 == 1u << count_lines<S>()) {
    body(known_lines<Repeating>(functor));
  } else if (repeating_lines(functor) == Repeating) {
    body(known_lines<Repeating>(functor));
  } else {
    with_repeating<Repeating + 1>(functor, body);
  }
}
}  // namespace detail

// Whether with_known_lines takes the functor.
template <class S>
KGEN_FN bool has_known_lines(const S& functor) {
  return detail::count_lines<S>() > 2 || detail::are_vectors(functor);
}
// body(functor), whose Views are constant_whole_vectors. Of up to two operands that are vectors the compiler knows which
// way they lie: it asks for each element once, and multiplies no strides, which is what took the time
// (tests/bench/MATMUL.md). Body's code stands here for each way they may be.
template <class S, class Body>
KGEN_FN void with_known_lines(const S& functor, const Body& body) {
  if constexpr (detail::count_lines<S>() > 2) {
    body(known<Lanes::constant_whole_vectors>(functor));
  } else {
    detail::with_repeating<0>(functor, body);
  }
}

// The functor, which stores nothing where that does not hold: what it reads it reads all the same.
template <class Functor>
KGEN_FN Functor stored_where(bool holds, Functor functor) {
  for_each_view(functor, [&]<class T, int R>(View<T, R>& view) KGEN_LAMBDA {
    if constexpr (!std::is_const_v<T>) {
      Access access = view.access();
      access.dropped = !holds;
      view = view.with_access(access);
    }
  });
  return functor;
}

}  // namespace kgen::gpu

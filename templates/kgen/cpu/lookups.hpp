// What a loop looks up in lines that do not lie along its last axis, as an embedding does: most often one index is that
// of all positions of a line, which are then a run of memory that nothing fetches ahead, as the next one may lie
// anywhere. So it is asked for while the line before is computed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kgen/cpu/caches.hpp"
#include "kgen/cpu/streaming.hpp"
#include "kgen/fields.hpp"
#include "kgen/line.hpp"

namespace kgen::cpu {

template <class Field>
inline constexpr bool looks_across = false;
template <class T, int R, int Axis>
inline constexpr bool looks_across<Lines<T, R, Axis>> = Axis < R - 1 && !is_packed<T>;
template <class Fields>
inline constexpr bool any_looks_across = false;
template <class... Field>
inline constexpr bool any_looks_across<std::tuple<Field&...>> = (looks_across<std::remove_const_t<Field>> || ...);
template <class Functor>
concept LooksAcross = any_looks_across<decltype(fields_of(std::declval<Functor&>()))>;

// The stride along the last axis of a functor's View where what is looked up are whole lines: an index repeats.
template <class T>
inline constexpr std::int64_t stride_in_lines =
    std::is_integral_v<T>&& std::is_const_v<T> && !std::is_same_v<T, const bool> ? 0 : 1;

// Whether each index is that of a whole line, and all else lies along it.
template <LooksAcross Functor>
bool looks_up_lines(const Functor& functor) {
  bool found = true;
  for_each_field(functor, [&](const auto& field) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (looks_across<Field>) found = found && field.lie_side_by_side();
  });
  for_each_own_view(functor, [&]<class T, int R>(const View<T, R>& view) {
    if constexpr (R > 0) found = found && view.stride(R - 1) == stride_in_lines<T>;
  });
  return found;
}

// The same functor, for which that holds, as the compiler sees it. For each line it worked out where 32 indices lie, in
// 250 instructions: 64 floats of each of 100000 took 24 ms, those of memcpy 7.
template <LooksAcross Functor>
KGEN_FN Functor seen_in_lines(const Functor& functor) {
  Functor seen = functor;
  for_each_field(seen, [](auto& field) KGEN_LAMBDA {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (looks_across<Field>) field = field.side_by_side();
  });
  for_each_own_view(seen, []<class T, int R>(View<T, R>& view) KGEN_LAMBDA {
    Index<R> strides = view.strides();
    if constexpr (R > 0) strides[R - 1] = stride_in_lines<T>;
    view = View<T, R>(view.data(), view.shape(), strides);
  });
  return seen;
}

// How far ahead lines are asked for, in bytes: what comes from memory while one of its lines does.
inline constexpr std::int64_t asked_ahead = 2048;

// Asks for what a later line of `length` positions than that at `at` will look up: by each integer that a View repeats
// along it, as what a functor does with its fields is not to be seen. What lies in the second-level cache, or goes on
// in memory for long, is not asked for.
template <int R, LooksAcross Functor>
void fetch_looked_up(const Functor& functor, const Index<R>& at, int across, std::int64_t length) {
  for_each_field(functor, [&](const auto& lines) {
    using Field = std::remove_cvref_t<decltype(lines)>;
    if constexpr (looks_across<Field>) {
      constexpr std::int64_t cache_line = 64, element = sizeof(typename Field::element_type);
      const std::int64_t bytes = element * length;
      const auto line = lines.template load<1>(at);
      if (element * line.reach() <= caches().second || bytes > caches().first / 2) return;
      Index<R> later = at;
      later[across] += std::max<std::int64_t>(1, asked_ahead / bytes);
      for_each_own_view(functor, [&]<class I, int R2>(const View<I, R2>& view) {
        if constexpr (R2 == R && stride_in_lines<I> == 0) {
          if (view.stride(R - 1) != 0 || later[across] >= view.extent(across)) return;
          const auto index = static_cast<std::int64_t>(view.data()[element_offset(view.strides(), later)]);
          const void* from = lines.template load<1>(later).address(index < 0 ? index + line.extent() : index);
          if (from == nullptr) return;
          for (std::int64_t i = 0; i < bytes; i += cache_line) {
            __builtin_prefetch(static_cast<const std::byte*>(from) + i);
          }
          asm volatile("" : : "r"(from));  // GCC takes out a function that does nothing else
        }
      });
    }
  });
}

}  // namespace kgen::cpu

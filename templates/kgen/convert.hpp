// W elements of any storage type: from memory to lanes of their compute type, and back.
#pragma once

#include "kgen/math.hpp"
#include "kgen/packed.hpp"
#include "kgen/vec.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/convert.hpp"
#else
#include "kgen/cpu/convert.hpp"
#endif

namespace kgen::detail {

template <class T, class Bits>
KGEN_FN Bits widen_codes(const Bits& codes) {
  if constexpr (std::is_same_v<T, bf16>) {
    return widen_bf16_bits(codes);
  } else if constexpr (std::is_same_v<T, f8e8m0>) {
    return widen_e8m0_bits(codes);
  } else {
    return widen_bits<typename T::format>(codes);
  }
}
// `rounding` is that to f8e8m0; the others round to nearest, ties to even.
template <class T, bool Saturate = true, class Bits>
KGEN_FN Bits narrow_codes(const Bits& bits, [[maybe_unused]] Rounding rounding = Rounding::nearest) {
  if constexpr (std::is_same_v<T, bf16>) {
    return narrow_bf16_bits(bits);
  } else if constexpr (std::is_same_v<T, f8e8m0>) {
    return narrow_e8m0_bits<Saturate>(bits, rounding);
  } else {
    return narrow_bits<typename T::format, Saturate>(bits);
  }
}

// The float that rounds to any narrower format as the double itself does: the double truncated, its last bit set where
// that lost something.
template <int W>
KGEN_FN Vec<float, W> round_to_odd(const Vec<double, W>& v) {
  using Bits = Vec<std::uint32_t, W>;
  const Vec<float, W> nearest = convert<float>(v);
  const Vec<double, W> back = convert<double>(nearest);
  const Bits truncated = as_bits(nearest) - select(abs(v) < abs(back), Bits(1), Bits(0));
  return as_float(truncated | select(back != v, Bits(1), Bits(0)));
}

// What a store of these lanes as elements of a narrow type rounds: floats themselves, others without rounding twice
// (64-bit integers beyond 2^53 excepted).
template <class U, int W>
KGEN_FN Vec<float, W> before_narrowing(const Vec<U, W>& v) {
  if constexpr (std::is_same_v<U, float>) {
    return v;
  } else if constexpr (sizeof(U) <= 2 || std::is_same_v<U, bool>) {
    return convert<float>(v);
  } else {
    return round_to_odd(convert<double>(v));
  }
}

// Lanes as the codes of a packed type.
template <class T, class U, int W>
KGEN_FN Vec<std::uint32_t, W> packed_codes(const Vec<U, W>& v) {
  if constexpr (is_narrow_float<T>) {
    return narrow_codes<T>(as_bits(before_narrowing(v)));
  } else {
    return integer_codes<T>(v);
  }
}

}  // namespace kgen::detail

namespace kgen {

// W consecutive elements as lanes of the type that arithmetic on them is done in.
template <int W, class T>
KGEN_FN Vec<compute_t<T>, W> load_elements(const T* from) {
  if constexpr (!is_narrow_float<T>) {
    return load_lanes<W>(from);
  } else if constexpr (target::converts<T>) {
    return target::load_converted<W>(from);
  } else {
    const auto codes = load_lanes<W>(&from->bits);
    return as_float(detail::widen_codes<T>(convert<std::uint32_t>(codes)));
  }
}

template <int W, class T>
KGEN_FN Vec<compute_t<T>, W> load_elements(const PackedPointer<T>& from) {
#if !defined(KGEN_GPU)
  if constexpr (std::is_integral_v<compute_t<T>> && cpu::reads_halves<W, PackedPointer<T>::bits>) {
    if (at_byte(from)) return detail::lanes_of_bytes<T>(cpu::load_halves<W>(from.byte()));
  }
#endif
  return detail::lanes_of_codes<std::remove_const_t<T>>(load_codes<W>(from));
}

// The lanes as W consecutive elements of type T, converted as convert() does, or rounded to nearest even.
template <class T, class U, int W>
KGEN_FN void store_elements(T* to, const Vec<U, W>& v) {
  if constexpr (!is_narrow_float<T>) {
    store_lanes(to, convert<T>(v));
  } else if constexpr (target::converts<T>) {
    target::store_converted(to, detail::before_narrowing(v));
  } else {
    const auto codes = detail::narrow_codes<T>(as_bits(detail::before_narrowing(v)));
    store_lanes(&to->bits, convert<decltype(T::bits)>(codes));
  }
}

template <class T, class U, int W>
KGEN_FN void store_elements(const PackedPointer<T>& to, const Vec<U, W>& v) {
  store_codes(to, detail::packed_codes<T>(v));
}

// The lanes rounded to what an element of type T can hold, in its compute type.
template <class T, class U, int W>
KGEN_FN Vec<compute_t<T>, W> round_to(const Vec<U, W>& v) {
  if constexpr (is_packed<T>) {
    return detail::lanes_of_codes<T>(detail::packed_codes<T>(v));
  } else if constexpr (!is_narrow_float<T>) {
    return convert<T>(v);
  } else {
    return as_float(detail::widen_codes<T>(detail::narrow_codes<T>(as_bits(detail::before_narrowing(v)))));
  }
}

}  // namespace kgen

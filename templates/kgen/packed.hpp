// Elements of less than a byte in memory: dense, several a byte, the first in its lowest bits. Any position may be read
// and written, by any thread: bytes that are written in part are written by atomic operations, so that threads that
// write neighbours do not disturb each other.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kgen/math.hpp"
#include "kgen/platform.hpp"
#include "kgen/types.hpp"
#include "kgen/vec.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/packed.hpp"
#else
#include "kgen/cpu/packed.hpp"
#endif

namespace kgen {

// Leads to an element of a packed type, as T* does to one of any other: where a byte begins, and the element's number
// from there.
template <class T>
class PackedPointer {
 public:
  using Byte = std::conditional_t<std::is_const_v<T>, const std::uint8_t, std::uint8_t>;
  static constexpr int bits = element_bits<std::remove_const_t<T>>;

  PackedPointer() = default;
  KGEN_FN constexpr PackedPointer(T* first) : first_(first) {}
  template <class U>
  requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>) KGEN_FN constexpr PackedPointer(PackedPointer<U> other)
      : first_(other.first()), element_(other.element()) {}

  KGEN_FN constexpr T* first() const { return first_; }
  KGEN_FN constexpr std::int64_t element() const { return element_; }
  KGEN_FN friend constexpr PackedPointer operator+(PackedPointer pointer, std::int64_t elements) {
    pointer.element_ += elements;
    return pointer;
  }
  KGEN_FN constexpr PackedPointer& operator+=(std::int64_t elements) { return *this = *this + elements; }

  // The byte that the element begins in, and at which of its bits. Elements may lie before the first.
  KGEN_FN Byte* byte() const { return reinterpret_cast<Byte*>(first_) + (element_ * bits >> 3); }
  KGEN_FN int bit() const { return static_cast<int>(element_ * bits & 7); }

 private:
  T* first_ = nullptr;
  std::int64_t element_ = 0;
};

// What leads to elements of type T in memory.
namespace detail {
template <class T>
struct PointerTo {
  using type = T*;
};
template <class T>
requires is_packed<T>
struct PointerTo<T> {
  using type = PackedPointer<T>;
};
}  // namespace detail
template <class T>
using pointer_to = typename detail::PointerTo<T>::type;

namespace detail {
template <class Pointer>
struct PointedAt;
template <class T>
struct PointedAt<T*> {
  using type = std::remove_const_t<T>;
};
template <class T>
struct PointedAt<PackedPointer<T>> {
  using type = std::remove_const_t<T>;
};
}  // namespace detail
template <class Pointer>
using pointed_at = typename detail::PointedAt<Pointer>::type;

// The address of the byte that an element begins in; `at_byte`: whether it begins with that byte.
template <class T>
KGEN_FN std::uintptr_t address_of(const T* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
template <class T>
KGEN_FN std::uintptr_t address_of(const PackedPointer<T>& pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer.byte());
}
template <class T>
KGEN_FN bool at_byte(const T*) {
  return true;
}
template <class T>
KGEN_FN bool at_byte(const PackedPointer<T>& pointer) {
  return pointer.bit() == 0;
}

// How many bytes so many elements take.
template <class T>
KGEN_FN constexpr std::int64_t bytes_of_elements(std::int64_t count) {
  constexpr int bits = element_bits<std::remove_const_t<T>>;
  if constexpr (bits < 8) {
    return count / (8 / bits) + (count % (8 / bits) != 0 ? 1 : 0);
  } else {
    return count * (bits / 8);
  }
}

namespace detail {

// How far each lane's element is shifted in a word of them.
template <int Bits, int W>
KGEN_FN Vec<std::uint32_t, W> places_in_word() {
  static_assert(Bits * W <= 32);
  std::uint32_t places[W];
  KGEN_UNROLL
  for (int i = 0; i < W; ++i) places[i] = static_cast<std::uint32_t>(Bits * i);
  return load_lanes<W>(places);
}

// The elements of a word, as codes; and back.
template <int Bits, int W>
KGEN_FN Vec<std::uint32_t, W> spread_word(std::uint32_t word) {
  const auto shifted = lanewise(Vec<std::uint32_t, W>(word), places_in_word<Bits, W>(),
                                [](auto x, auto y) KGEN_LAMBDA { return x >> y; });
  return shifted & Vec<std::uint32_t, W>((1u << Bits) - 1);
}
template <int Bits, int W>
KGEN_FN std::uint32_t gather_word(const Vec<std::uint32_t, W>& codes) {
  return sum_of(lanewise(codes, places_in_word<Bits, W>(),
                         [](auto x, auto y) KGEN_LAMBDA { return x << y; }));  // no bit meets another
}

// Codes of a packed type, as its lanes; and lanes of any type as codes.
template <class T, int W>
KGEN_FN Vec<compute_t<T>, W> lanes_of_codes(const Vec<std::uint32_t, W>& codes) {
  if constexpr (is_narrow_float<T>) {
    return as_float(widen_bits<typename T::format>(codes));
  } else if constexpr (std::is_signed_v<compute_t<T>>) {
    constexpr std::uint32_t sign = 1u << (element_bits<T> - 1);
    return convert<compute_t<T>>(
        bit_cast<std::int32_t>((codes ^ Vec<std::uint32_t, W>(sign)) - Vec<std::uint32_t, W>(sign)));
  } else {
    return convert<compute_t<T>>(codes);
  }
}
// Codes of a packed type of integers, a byte each, as its lanes.
template <class T, int W>
KGEN_FN Vec<compute_t<T>, W> lanes_of_bytes(const Vec<std::uint8_t, W>& codes) {
  constexpr std::uint8_t sign = std::is_signed_v<compute_t<T>> ? 1u << (element_bits<std::remove_const_t<T>> - 1) : 0;
  return bit_cast<compute_t<T>>((codes ^ Vec<std::uint8_t, W>(sign)) - Vec<std::uint8_t, W>(sign));
}
template <class T, class U, int W>
KGEN_FN Vec<std::uint32_t, W> integer_codes(const Vec<U, W>& v) {
  Vec<std::uint32_t, W> all;
  if constexpr (std::is_floating_point_v<U> || std::is_same_v<U, bool>) {
    all = bit_cast<std::uint32_t>(convert<std::int32_t>(v));
  } else {
    all = convert<std::uint32_t>(v);
  }
  return all & Vec<std::uint32_t, W>((1u << element_bits<T>)-1);
}

// A word of `Count` bits that begin at a bit of a byte.
template <int Count>
KGEN_FN std::uint32_t load_word(const std::uint8_t* byte, int bit) {
  constexpr int whole = (Count + 7) / 8;
  std::uint64_t word = 0;
  KGEN_UNROLL
  for (int i = 0; i < whole; ++i) word |= std::uint64_t{byte[i]} << (8 * i);
  if (bit + Count > 8 * whole) word |= std::uint64_t{byte[whole]} << (8 * whole);
  return static_cast<std::uint32_t>(word >> bit);
}
template <int Count>
KGEN_FN void store_word(std::uint8_t* byte, int bit, std::uint32_t word) {
  constexpr int most = (Count + 14) / 8;  // bytes that it may lie in
  const std::uint64_t moved = std::uint64_t{word} << bit;
  const std::uint64_t touched = ((std::uint64_t{1} << Count) - 1) << bit;
  KGEN_UNROLL
  for (int i = 0; i < most; ++i) {
    const auto mask = static_cast<std::uint8_t>(touched >> (8 * i));
    const auto bits = static_cast<std::uint8_t>(moved >> (8 * i));
    if (mask == 0xff) {
      target::store_byte(byte + i, bits);
    } else if (mask != 0) {
      target::store_bits(byte + i, mask, bits);
    }
  }
}

}  // namespace detail

// W neighbours as codes, the bits of each in a lane; and back.
template <int W, class T>
KGEN_FN Vec<std::uint32_t, W> load_codes(const PackedPointer<T>& from) {
  constexpr int bits = PackedPointer<T>::bits;
  if constexpr (W * bits > 32) {
    return concatenate(load_codes<W / 2>(from), load_codes<W / 2>(from + W / 2));
  } else {
    return detail::spread_word<bits, W>(detail::load_word<W * bits>(from.byte(), from.bit()));
  }
}
template <class T, int W>
KGEN_FN void store_codes(const PackedPointer<T>& to, const Vec<std::uint32_t, W>& codes) {
  constexpr int bits = PackedPointer<T>::bits;
  if constexpr (W * bits > 32) {
    store_codes(to, low_half(codes));
    store_codes(to + W / 2, high_half(codes));
  } else {
    detail::store_word<W * bits>(to.byte(), to.bit(), detail::gather_word<bits>(codes));
  }
}

}  // namespace kgen

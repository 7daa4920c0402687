// Memory read as elements of another type.
#pragma once

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace kgen {

namespace detail {

// The unsigned integers of so many bits.
template <int Bits>
using CodeOf = std::conditional_t<
    Bits == 2, u2,
    std::conditional_t<
        Bits == 4, u4,
        std::conditional_t<Bits == 8, std::uint8_t,
                           std::conditional_t<Bits == 16, std::uint16_t,
                                              std::conditional_t<Bits == 32, std::uint32_t, std::uint64_t>>>>>;
template <class T>
using code_like =
    std::conditional_t<std::is_const_v<T>, const CodeOf<element_bits<std::remove_const_t<T>>>, CodeOf<element_bits<T>>>;

template <class T, int R>
View<code_like<T>, R> codes_of(const View<T, R>& view) {
  using Code = code_like<T>;
  if constexpr (is_packed<T>) {
    const pointer_to<Code> data = reinterpret_cast<Code*>(view.data().first());
    return {data + view.data().element(), view.shape(), view.strides()};
  } else {
    return {reinterpret_cast<Code*>(view.data()), view.shape(), view.strides()};
  }
}

}  // namespace detail

// out = the bits of x, whose elements are as wide.
template <Element T, int R, Element U>
KGEN_KERNEL(bit_copy)
void bit_copy(const View<const T, R>& x, const View<U, R>& out, Stream stream = {}) {
  static_assert(element_bits<T> == element_bits<U>, "the types have as many bits");
  copy(out.shape(), detail::codes_of(x), detail::codes_of(out), stream);
}

}  // namespace kgen

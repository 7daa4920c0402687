// Products of integers of 8 bits on a GPU: by its tensor cores where operands lie in memory and the device allows; else
// as matmul.hpp multiplies those of 32.
#pragma once

#include "kgen/gpu/matmul.hpp"
#include "kgen/widened.hpp"

namespace kgen::gpu {

#if defined(KGEN_WARPGROUPS)
namespace detail {
template <class S>
inline constexpr bool is_byte_memory = is_memory_of<std::int8_t, S> || is_memory_of<std::uint8_t, S>;

// The same memory, as operands of a product of such bytes.
template <class Pair, class E>
View<const Pair, 2> as_pairs(const View<E, 2>& view) {
  static_assert(sizeof(Pair) == sizeof(E));
  return {reinterpret_cast<const Pair*>(view.data()), view.shape(), view.strides()};
}
}  // namespace detail
#endif

template <class A, class B, class C>
void byte_matmul(const A& a, const B& b, const C& c, Stream stream) {
#if defined(KGEN_WARPGROUPS)
  if constexpr (detail::is_byte_memory<A> && detail::is_byte_memory<B> && most_together<C, several_count<B>> <= 2) {
    using Pair = BytePair<view_element_t<A>, view_element_t<first_of_t<B>>>;
    const auto right = with_each(b, [](const auto& each) { return detail::as_pairs<Pair>(each); });
    if (tensor_core_matmul<Pair>(detail::as_pairs<Pair>(a), right, c, stream)) return;
  }
#endif
  const auto wide = with_each(b, [](const auto& each) { return widened(each); });
  matmul<96, 256, 23>(widened(a), wide, c, stream);
}

}  // namespace kgen::gpu

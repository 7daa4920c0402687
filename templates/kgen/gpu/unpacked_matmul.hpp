// Matrix multiplication of many rows where a prologue makes the right operands of what comes from memory: it is made
// once, in memory set aside for the call, from where the tensor cores take it.
#pragma once

#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/streamed_source.hpp"
#include "kgen/gpu/tensor_core_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

struct Unpacking {
  static constexpr int threads = 256, vectors = 2;  // of a thread
  static constexpr int block_vectors = threads * vectors;
};

// Columns of a matrix become lines, one behind the other: in vectors of 16 bytes, of which a thread has two, each a
// neighbour of other threads' and loaded before one is made. On an H200 1.04 to 1.16 of what a copy takes for the
// bytes, with one vector a thread 1.09 to 1.2, with two that are neighbours 1.4.
template <class T, class S>
KGEN_GLOBAL(Unpacking::threads, (1536 / Unpacking::threads))
unpack_kernel(S source, T* to, Positions<2> positions, std::uint32_t vectors) {
  constexpr int lanes = 16 / static_cast<int>(sizeof(T)), count = Unpacking::vectors;
  using Streamed = StreamedSource<S, lanes>;
  take_turn(should_allow_next(Unpacking::block_vectors * 16));
  const auto first = static_cast<std::uint32_t>(block_index() * Unpacking::block_vectors + thread_index());
  typename Streamed::Pieces pieces[count] = {};
  KGEN_UNROLL
  for (int i = 0; i < count; ++i) {
    const std::uint32_t vector = first + i * Unpacking::threads;
    if (vector >= vectors) continue;
    const Index<2> place = positions(vector);  // column, and vector of it
    pieces[i] = Streamed(source, {place[1] * lanes, place[0]}, 0).load(source);
  }
  KGEN_UNROLL
  for (int i = 0; i < count; ++i) {
    const std::uint32_t vector = first + i * Unpacking::threads;
    if (vector >= vectors) continue;
    T elements[lanes];
    Block<16> block;
    store_elements(elements, Streamed::template lanes<lanes>(source, pieces[i], 0));
    memcpy(&block, elements, sizeof(block));
    store_global(to + std::int64_t{vector} * lanes, block);
  }
}

// What `make` makes of each of several, all of it of type V.
template <class V, class S, class Make>
V made_of_each(const S& one, const Make& make) {
  return make(one);
}
namespace detail {
template <class V, class>
using Instead = V;
}
template <class V, class First, class... Rest, class Make>
Several<V, detail::Instead<V, Rest>...> made_of_each(const Several<First, Rest...>& all, const Make& make) {
  if constexpr (sizeof...(Rest) == 0) {
    return {make(all.first)};
  } else {
    return {make(all.first), made_of_each<V>(all.rest, make)};
  }
}

// c = a * b for each of b: false where device or compiler, or where its operands lie, do not allow it.
template <class T, class Known = KnownProduct<>, class A, class B, class C>
bool unpacked_matmul(const A& a, const B& b, const C& c, Stream stream) {
  constexpr int lanes = 16 / static_cast<int>(sizeof(T)), products = several_count<B>;
  constexpr std::int64_t most = std::int64_t{1} << 30;  // vectors are counted in 32 bits
  const std::int64_t K = a.extent(1);
  std::int64_t bytes = 0;
  bool fits = K > 0 && K < most && K % lanes == 0;
  for_each_of(b, [&]<class Source>(const Source& each) {
    const std::int64_t N = each.shape()[1];
    fits = fits && N > 0 && N < most && N * (K / lanes) < most && StreamedSource<Source, lanes>::fits(each, 0);
    bytes += N * K * static_cast<std::int64_t>(sizeof(T));
  });
  // What is made lies as is known; the rows of the left operand are copied where they do not.
  using Made = View<const T, 2>;
  using KnownMade = KnownProduct<column_major, Known::rows>;
  if (!fits || !detail::runs_tensor_cores<T, true, KnownMade, products, C>(device_limits(stream))) return false;
  const Workspace memory(bytes, stream);
  T* to = reinterpret_cast<T*>(memory.data());
  const auto made = made_of_each<Made>(b, [&]<class Source>(const Source& each) {
    const std::int64_t N = each.shape()[1], vectors = N * (K / lanes);
    const Grid grid{"unpack", (vectors + Unpacking::block_vectors - 1) / Unpacking::block_vectors, Unpacking::threads};
    launch_early(grid, stream, unpack_kernel<T, Source>, each, to, Positions<2>({N, K / lanes}),
                 static_cast<std::uint32_t>(vectors));
    const Made columns(to, Index<2>{K, N}, Index<2>{1, K});
    to += N * K;
    return columns;
  });
  return tensor_core_matmul<T, KnownMade>(a, made, c, memory.stream());
}

}  // namespace kgen::gpu

#endif

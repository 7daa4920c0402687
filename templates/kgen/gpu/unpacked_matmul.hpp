// Matrix multiplication of many rows where a prologue makes the right operands of what comes from memory: it is made
// once, in memory set aside for the call, from where the tensor cores take it.
#pragma once

#include "kgen/gpu/streamed_source.hpp"
#include "kgen/gpu/tensor_core_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

struct Unpacking {
  static constexpr int lanes = 32, threads = 256;
};

// A thread makes `part` of `lanes` rows of a column, which are neighbours in `to`, as neighbouring threads' are:
// element (k, n) is at n * pitch + k.
template <class T, class S>
KGEN_GLOBAL(Unpacking::threads, 2)
unpack_kernel(S source, T* to, std::int64_t pitch, std::int64_t pieces) {
  take_turn();
  using Streamed = StreamedSource<S, Unpacking::lanes>;
  constexpr int lanes = Unpacking::lanes, part = 16 / static_cast<int>(sizeof(T)), parts = lanes / part;
  constexpr int words = part * streamed_fields<S>().bits / 32;  // of a part
  const std::int64_t of_column = pitch / part;
  for (std::int64_t piece = block_index() * Unpacking::threads + thread_index(); piece < pieces;
       piece += block_count() * Unpacking::threads) {
    const std::int64_t column = piece / of_column, row = (piece - column * of_column) * part;
    const int own = static_cast<int>(row % lanes) / part;
    Streamed streamed(source, {row - own * part, column}, 0);
    auto loaded = streamed.load(source);
    KGEN_UNROLL
    for (int i = 1; i < parts; ++i) {
      KGEN_UNROLL
      for (int word = 0; word < words; ++word) {
        const int from = i * words + word;
        if (i == own) loaded.streamed[0].words[word] = loaded.streamed[from / 4].words[from % 4];
      }
    }
    T elements[part];
    Block<16> block;
    store_elements(elements, Streamed::template lanes<part>(source, loaded, 0));
    memcpy(&block, elements, sizeof(block));
    store_global(to + column * pitch + row, block);
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
template <class T, class A, class B, class C>
bool unpacked_matmul(const A& a, const B& b, const C& c, Stream stream) {
  constexpr int lanes = Unpacking::lanes, products = several_count<B>;
  using Loads = EngineTiles<OperandTiles<T, 128>, true, products>;
  const std::int64_t K = a.extent(1);
  std::int64_t bytes = 0;
  bool fits = K > 0 && K % lanes == 0;
  for_each_of(b, [&]<class Source>(const Source& each) {
    fits = fits && each.shape()[1] > 0 && StreamedSource<Source, lanes>::fits(each, 0);
    bytes += each.shape()[1] * K * static_cast<std::int64_t>(sizeof(T));
  });
  if (!fits || !runs_warpgroup_matmul<T, true, Loads, products, C>(device_limits(stream))) {
    return false;
  }
  const Workspace memory(bytes, stream);
  T* to = reinterpret_cast<T*>(memory.data());
  using Made = View<const T, 2>;
  const auto made = made_of_each<Made>(b, [&]<class Source>(const Source& each) {
    const std::int64_t N = each.shape()[1], pieces = N * K * static_cast<std::int64_t>(sizeof(T)) / 16;
    const Grid grid{"unpack", blocks_for((pieces + Unpacking::threads - 1) / Unpacking::threads, Unpacking::threads),
                    Unpacking::threads};
    launch_early(grid, stream, unpack_kernel<T, Source>, each, to, K, pieces);
    const Made columns(to, Index<2>{K, N}, Index<2>{1, K});
    to += N * K;
    return columns;
  });
  return tensor_core_matmul<T>(a, made, c, stream);
}

}  // namespace kgen::gpu

#endif

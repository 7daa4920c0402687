// Elementwise where Views lie along different axes of memory, as in a transpose: tiles of two axes. An operand that
// lies along the tile's other axis is first turned into a buffer of the first-level cache, where the functor finds it
// along the last axis; what such a result is stored to is a buffer, which is turned into memory behind it.
//
// Why: transposing 4096 x 4096 floats element by element touches a line of memory, and a page, for each of a vector's
// 16 elements, and comes back for the next element when both have long left the caches.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kgen/cpu/elementwise.hpp"
#include "kgen/cpu/parallel.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/cpu/turn.hpp"
#include "kgen/fields.hpp"
#include "kgen/index.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// Elements along a tile's edge, 256 bytes of most types: 16 KB of floats, so that two operands find room in a
// first-level cache.
template <class T>
inline constexpr std::int64_t tile_edge = std::clamp<std::int64_t>(256 / sizeof(T), 32, 128);
// An axis shorter than this is no edge of a tile.
inline constexpr std::int64_t least_edge = 4;

// The axis that neighbours of the View along which are nearest in memory, where that is not the last one; else -1. All
// of its R axes are those of the loop.
template <int R, class T, int R2>
int lying_axis(const View<T, R2>& view) {
  if constexpr (R != R2 || is_packed<T> || R < 2) {
    return -1;
  } else {
    const auto distance = [&](int axis) { return view.stride(axis) < 0 ? -view.stride(axis) : view.stride(axis); };
    if (view.extent(R - 1) < least_edge || distance(R - 1) <= 1) return -1;
    int nearest = R - 1;
    for (int axis = R - 2; axis >= 0; --axis) {
      if (view.extent(axis) >= least_edge && distance(axis) != 0 && distance(axis) < distance(nearest)) nearest = axis;
    }
    return nearest == R - 1 ? -1 : nearest;
  }
}

// The axis other than the last that some View lies along; -1 where there is none.
template <int R, class Functor>
int crossing_axis(const Functor& functor) {
  int found = -1;
  for_each_own_view(functor, [&](const auto& view) {
    if (found < 0) found = lying_axis<R>(view);
  });
  return found;
}

// A View's part of a tile, turned, in a buffer in which the loop's positions count.
template <class T, int R>
View<T, R> buffer_view(T* buffer, const View<T, R>& view, const Box<R>& tile) {
  Index<R> strides{};
  strides[tile.across] = tile_edge<T>;
  strides[R - 1] = 1;
  return {buffer - tile.origin[tile.across] * tile_edge<T> - tile.origin[R - 1], view.shape(), strides};
}

template <class T, int R>
void read_turned(const View<const T, R>& view, const Box<R>& tile, T* buffer) {
  const T* from = view.data() + element_offset(view.strides(), tile.origin);
  const std::int64_t line = view.stride(R - 1), step = view.stride(tile.across);
  if (step == 1) return turn(from, line, buffer, tile_edge<T>, tile.length, tile.lines);
  for (std::int64_t i = 0; i < tile.length; ++i) {
    for (std::int64_t j = 0; j < tile.lines; ++j) buffer[j * tile_edge<T> + i] = from[i * line + j * step];
  }
}
template <class T, int R>
void write_turned(const View<T, R>& view, const Box<R>& tile, const T* buffer) {
  T* to = view.data() + element_offset(view.strides(), tile.origin);
  const std::int64_t line = view.stride(R - 1), step = view.stride(tile.across);
  if (step == 1) return turn(buffer, tile_edge<T>, to, line, tile.lines, tile.length);
  for (std::int64_t i = 0; i < tile.length; ++i) {
    for (std::int64_t j = 0; j < tile.lines; ++j) to[i * line + j * step] = buffer[j * tile_edge<T> + i];
  }
}

// The edge of the tiles of a functor: that of its widest elements. With the bytes of a tile of each View after another.
struct TileBuffers {
  std::int64_t edge = 128;
  std::size_t bytes = 0;
};
template <class Functor>
TileBuffers tile_buffers(const Functor& functor) {
  TileBuffers sizes;
  for_each_own_view(functor, [&](const auto& view) {
    using T = std::remove_const_t<typename std::remove_cvref_t<decltype(view)>::element_type>;
    sizes.edge = std::min(sizes.edge, tile_edge<T>);
    sizes.bytes += sizeof(T) * tile_edge<T> * tile_edge<T>;
  });
  return sizes;
}

// body(view, buffer) for each View that lies across the tile and, where results are streamed, for each of those.
template <int R, class Functor, class Body>
void for_each_buffered(Functor& functor, int across, bool streams, std::byte* buffers, const Body& body) {
  for_each_own_view(functor, [&](auto& view) {
    using V = std::remove_cvref_t<decltype(view)>;
    using T = std::remove_const_t<typename V::element_type>;
    if constexpr (V::rank == R && !is_packed<T>) {
      if (lying_axis<R>(view) != across && !(streams && is_streamable<R>(view))) return;
      body(view, reinterpret_cast<T*>(buffers));
      buffers += sizeof(T) * tile_edge<T> * tile_edge<T>;
    }
  });
}

template <class T, int R>
void stream_tile(const View<T, R>& view, const Box<R>& tile, const T* buffer) {
  T* to = view.data() + element_offset(view.strides(), tile.origin);
  for (std::int64_t i = 0; i < tile.lines; ++i) {
    stream_bytes(to + i * view.stride(tile.across), buffer + i * tile_edge<T>, sizeof(T) * tile.length);
  }
}

template <int R, class Functor>
void compute_tile(const Functor& given, const Box<R>& tile, bool streams, std::byte* buffers) {
  Functor functor = given;
  const auto take = [&]<class T>(View<T, R>& view, std::remove_const_t<T>* buffer) {
    if constexpr (std::is_const_v<T>) read_turned(view, tile, buffer);
    view = buffer_view<T, R>(buffer, view, tile);
  };
  for_each_buffered<R>(functor, tile.across, streams, buffers, take);
  compute_box(functor, tile);
  const auto give = [&]<class T>(const View<T, R>& view, std::remove_const_t<T>* buffer) {
    if constexpr (!std::is_const_v<T>) {
      is_streamable<R>(view) ? stream_tile(view, tile, buffer) : write_turned(view, tile, buffer);
    }
  };
  for_each_buffered<R>(given, tile.across, streams, buffers, give);
}

// Computes the whole in tiles, and returns true; or false where every View lies along the last axis.
template <int R, class Functor>
bool elementwise_in_tiles(const Index<R>& shape, const Functor& functor, Stream stream) {
  if constexpr (R < 2) {
    return false;
  } else {
    const int across = crossing_axis<R>(functor);
    if (across < 0 || element_count(shape) == 0) return false;
    const TileBuffers sizes = tile_buffers(functor);
    // A tile's lines are short and far apart: what a store reads of each of them first costs more than along a line,
    // and streaming pays in what these threads have of the last level, however large all of it is. Two threads of 16 of
    // an Emerald Rapids, which share 300 MB: a transpose of 4096x4096 19.3 to 13.4 ms (64 MB of results), 8192x8192 87
    // to 72, a permutation of 48 MB 13.1 to 9.7; 2048x2048 the same either way. Not so along a line, silu of 64 MB 8.2
    // to 9.4, and not where the result's lines are short: 48 MB of lines of 16 floats 28.9 to 32.5.
    const int threads = threads_for(stream, element_count(shape));
    const bool streams =
        streams_results(functor, shape[R - 1] >= least_streamed ? caches().last_of(threads) : caches().last);
    // Tiles that follow each other lie along `across`, where operands go on in memory.
    Index<R> counts = shape;
    counts[across] = (shape[R - 1] + sizes.edge - 1) / sizes.edge;
    counts[R - 1] = (shape[across] + sizes.edge - 1) / sizes.edge;
    parallel(threads, [&](Team team) {
      const Range part = team.part(element_count(counts));
      if (part.begin == part.end) return;
      std::byte* const buffers = scratch<std::byte>(0, static_cast<std::int64_t>(sizes.bytes));
      Reading reading(stream, team);
      Index<R> place = unflatten(part.begin, counts);
      for (std::int64_t i = part.begin; i < part.end; ++i, advance(place, R, Index<R>{}, counts)) {
        Box<R> tile{place, across, 0, 0};
        tile.origin[across] = place[R - 1] * sizes.edge;
        tile.origin[R - 1] = place[across] * sizes.edge;
        tile.lines = std::min(sizes.edge, shape[across] - tile.origin[across]);
        tile.length = std::min(sizes.edge, shape[R - 1] - tile.origin[R - 1]);
        compute_tile(functor, tile, streams, buffers);
        reading.add(tile.lines * tile.length * assumed_bytes);
      }
      if (streams) finish_streaming();
    });
    return true;
  }
}

}  // namespace kgen::cpu

// Elementwise where Views lie along different axes of memory, as in a transpose: tiles that have a run of each View's
// memory. An operand that lies along another axis than the last is first turned into a buffer of the first-level cache,
// where the functor finds it along the last axis; what such a result is stored to is a buffer, which is turned into
// memory behind it. Tiles that follow each other make up a block of the second-level cache, in which all Views go on
// in memory further still.
//
// Why: transposing 4096 x 4096 floats element by element touches a line of memory, and a page, for each of a vector's
// 16 elements, and comes back for the next element when both have long left the caches.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kgen/cpu/blocks.hpp"
#include "kgen/cpu/caches.hpp"
#include "kgen/cpu/elementwise.hpp"
#include "kgen/cpu/parallel.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/cpu/turn.hpp"
#include "kgen/fields.hpp"
#include "kgen/index.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// Along an axis shorter than this nothing is turned.
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

// How a loop is cut, and what a thread needs for it.
template <int R>
struct TilePlan {
  MemoryOrders<R> orders;
  MemoryOrder<R> walk;  // that of a View that is turned
  bool turns = false;
  bool streams = false;
  Index<R> tile{}, block{};
  std::int64_t buffer_bytes = 0;
};

// Looks at the Views: what repeats is small, and where it lies says nothing.
template <int R, class Functor>
void look_at_orders(const Functor& functor, TilePlan<R>& plan) {
  for_each_own_view(functor, [&]<class T, int R2>(const View<T, R2>& view) {
    if constexpr (R == R2) {
      const bool turned = lying_axis<R>(view) >= 0;
      const MemoryOrder<R> order = memory_order(view);
      bool repeats = false;
      for (int axis = 0; axis < R; ++axis) repeats = repeats || (view.stride(axis) == 0 && view.extent(axis) > 1);
      if (turned || !repeats) plan.orders.add(order);
      if (turned && !plan.turns) plan.walk = order;
      plan.turns = plan.turns || turned;
    }
  });
}

// body(view, buffer) for each View that is turned in tiles and, where results are streamed, for each of those; returns
// how many bytes the buffers take.
template <int R, class Functor, class Body>
std::int64_t for_each_buffered(Functor& functor, const TilePlan<R>& plan, std::byte* buffers, const Body& body) {
  std::int64_t bytes = 0;
  for_each_own_view(functor, [&](auto& view) {
    using V = std::remove_cvref_t<decltype(view)>;
    using T = std::remove_const_t<typename V::element_type>;
    if constexpr (V::rank == R && !is_packed<T>) {
      const bool turned = lying_axis<R>(view) >= 0;
      if (!turned && !(plan.streams && is_streamable<R>(view))) return;
      body(view, reinterpret_cast<T*>(buffers + bytes));
      const std::int64_t elements = element_count(turned ? plan.tile : plan.block);
      bytes += (sizeof(T) * elements + 63) / 64 * 64;
    }
  });
  return bytes;
}

// Tiles of which two Views find room in the first-level cache, and blocks that take a quarter of the second, of which
// each thread gets some.
template <int R, class Functor>
TilePlan<R> plan_tiles(const Index<R>& shape, const Functor& functor, int threads, bool streams) {
  constexpr int blocks_of_thread = 16;
  TilePlan<R> plan;
  look_at_orders(functor, plan);
  if (!plan.turns) return plan;
  std::int64_t widest = 1, together = 0;
  for_each_own_view(functor, [&]<class T, int R2>(const View<T, R2>&) {
    widest = std::max<std::int64_t>(widest, sizeof(T));
    together += sizeof(T);
  });
  for (int axis = 0; axis < R; ++axis) plan.tile[axis] = 1;
  grow(plan.tile, shape, plan.orders, caches().first / 2 / widest);
  plan.block = plan.tile;
  const std::int64_t share = element_count(shape) / (blocks_of_thread * threads);
  grow(plan.block, shape, plan.orders, std::min(caches().second / 4 / together, share));
  plan.streams = streams;
  plan.buffer_bytes = for_each_buffered<R>(functor, plan, nullptr, [](const auto&, auto*) {});
  return plan;
}

// A buffer that holds a block, as a View in which the loop's positions count.
template <class T, int R>
View<T, R> buffer_view(T* buffer, const Index<R>& shape, const Block<R>& block) {
  const Index<R> strides = dense_strides(block.extents);
  return {buffer - element_offset(strides, block.origin), shape, strides};
}

// A View turned into its part of a buffer, or back.
template <class T, int R>
void read_turned(const View<const T, R>& view, const Block<R>& tile, const View<T, R>& buffer) {
  const int lying = lying_axis<R>(view);
  const std::int64_t line = view.stride(R - 1), step = view.stride(lying), pitch = buffer.stride(lying);
  const std::int64_t lines = tile.extents[lying], length = tile.extents[R - 1];
  for_each_plane(tile, lying, [&](const Index<R>& origin) {
    const T* from = view.data() + element_offset(view.strides(), origin);
    T* to = buffer.data() + element_offset(buffer.strides(), origin);
    if (step == 1) return turn(from, line, to, pitch, length, lines);
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t j = 0; j < lines; ++j) to[j * pitch + i] = from[i * line + j * step];
    }
  });
}
template <class T, int R>
void write_turned(const View<T, R>& view, const Block<R>& tile, const View<T, R>& buffer) {
  const int lying = lying_axis<R>(view);
  const std::int64_t line = view.stride(R - 1), step = view.stride(lying), pitch = buffer.stride(lying);
  const std::int64_t lines = tile.extents[lying], length = tile.extents[R - 1];
  for_each_plane(tile, lying, [&](const Index<R>& origin) {
    T* to = view.data() + element_offset(view.strides(), origin);
    const T* from = buffer.data() + element_offset(buffer.strides(), origin);
    if (step == 1) return turn(from, pitch, to, line, lines, length);
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t j = 0; j < lines; ++j) to[i * line + j * step] = from[j * pitch + i];
    }
  });
}

// A block's results from their buffer to memory, in pieces that are as long as they lie there without a gap.
template <class T, int R>
void stream_block(const View<T, R>& view, const Block<R>& block, const T* buffer) {
  std::int64_t length = block.extents[R - 1];
  int axes = R - 1;
  for (; axes > 0 && (block.extents[axes - 1] == 1 || view.stride(axes - 1) == length); --axes) {
    length *= block.extents[axes - 1];
  }
  T* const to = view.data() + element_offset(view.strides(), block.origin);
  Index<R> at{};
  do {
    stream_bytes(to + element_offset(view.strides(), at), buffer, sizeof(T) * length);
    buffer += length;
  } while (advance(at, axes, Index<R>{}, block.extents));
}

// Results that go on along the last axis are stored to memory, or to the block's buffer where they are streamed.
template <int R, class Functor>
void compute_tile(const Functor& given, const TilePlan<R>& plan, const Block<R>& block, const Block<R>& tile,
                  std::byte* buffers) {
  Functor functor = given;
  for_each_buffered<R>(functor, plan, buffers, [&]<class T>(View<T, R>& view, std::remove_const_t<T>* buffer) {
    const auto buffered = buffer_view(buffer, view.shape(), lying_axis<R>(view) >= 0 ? tile : block);
    if constexpr (std::is_const_v<T>) read_turned(view, tile, buffered);
    view = buffered;
  });
  int across = 0;
  for (int axis = 1; axis < R - 1; ++axis) across = tile.extents[axis] > tile.extents[across] ? axis : across;
  for_each_plane(tile, across, [&](const Index<R>& origin) {
    compute_box(functor, Box<R>{origin, across, tile.extents[across], tile.extents[R - 1]});
  });
  for_each_buffered<R>(given, plan, buffers, [&]<class T>(const View<T, R>& view, std::remove_const_t<T>* buffer) {
    if constexpr (!std::is_const_v<T>) {
      if (lying_axis<R>(view) >= 0) write_turned(view, tile, buffer_view(buffer, view.shape(), tile));
    }
  });
}

template <int R, class Functor>
void stream_results(const Functor& functor, const TilePlan<R>& plan, const Block<R>& block, std::byte* buffers) {
  for_each_buffered<R>(functor, plan, buffers, [&]<class T>(const View<T, R>& view, std::remove_const_t<T>* buffer) {
    if constexpr (!std::is_const_v<T>) {
      if (is_streamable<R>(view)) stream_block(view, block, buffer);
    }
  });
}

template <int R, class Functor>
void compute_blocks(const Index<R>& shape, const Functor& functor, const TilePlan<R>& plan, int threads,
                    Stream stream) {
  const Cut<R> blocks(plan.block, plan.walk), tiles(plan.tile, plan.walk);
  parallel(threads, [&](Team team) {
    const Range part = team.part(blocks.count(shape));
    if (part.begin == part.end) return;
    std::byte* const buffers = scratch<std::byte>(0, plan.buffer_bytes);
    Reading reading(stream, team);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const Block<R> block = blocks.block(Block<R>{{}, shape}, i);
      const std::int64_t count = tiles.count(block.extents);
      for (std::int64_t j = 0; j < count; ++j) {
        compute_tile(functor, plan, block, tiles.block(block, j), buffers);
      }
      if (plan.streams) stream_results(functor, plan, block, buffers);
      reading.add(element_count(block.extents) * assumed_bytes);
    }
    if (plan.streams) finish_streaming();
  });
}

// Computes the whole in tiles, and returns true; or false where every View lies along the last axis.
template <int R, class Functor>
bool elementwise_in_tiles(const Index<R>& shape, const Functor& functor, Stream stream) {
  if constexpr (R < 2) {
    return false;
  } else {
    if (element_count(shape) == 0) return false;
    const int threads = threads_for(stream, element_count(shape));
    // By what the threads have of the last level, however large all of it is: what goes past it here is written in runs
    // that lie far apart, and to read each line first costs more than along a line. Along a line it does not pay (silu
    // of 64 MB on two threads of 16 of an Emerald Rapids, which share 300 MB: 8.2 to 9.4 ms).
    const bool streams = streams_results(functor, caches().last_of(threads));
    const TilePlan<R> plan = plan_tiles(shape, functor, threads, streams);
    if (!plan.turns) return false;
    compute_blocks(shape, functor, plan, threads, stream);
    return true;
  }
}

}  // namespace kgen::cpu

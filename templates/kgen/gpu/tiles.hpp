// Elementwise where Views run along different axes of memory, as in a transpose: tiles of two axes. Operands that do not
// run along the axis that the results run along are first read into shared memory, along their own.
#pragma once

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/index.hpp"

namespace kgen::gpu {

// Tiles of 128 x 128 elements of at most 2 bytes, else of 64 x 64: 16 or 32 KB of each operand are on their way to a
// block, of which two find room. Rows in shared memory are one element longer, so that neighbours of both axes fall into
// different banks (two lanes in one, where a lane takes several elements).
inline constexpr int tile_threads = 512;
template <class Functor>
inline constexpr int tile_edge = element_sizes<Functor>().largest <= 2 ? 128 : 64;

// True for Views of R axes that run along `axis`, and not along the last one, or the other way round.
template <int R, class T, int R2>
bool runs_along(const View<T, R2>& view, int axis) {
  if constexpr (R != R2) {
    return false;
  } else {
    return view.extent(axis) > 1 && view.stride(axis) == 1;
  }
}

// The axis other than the last that some View runs along, where that keeps it from running along the last one; -1 where
// there is none.
template <int R, class Functor>
int crossing_axis(const Functor& functor) {
  int found = -1;
  for_each_view(functor, [&](const auto& view) {
    for (int axis = R - 2; axis >= 0 && found < 0; --axis) {
      if (!runs_along<R>(view, axis)) continue;
      const Index<R> shape = last_axes<R>(view.shape());
      const std::int64_t step = last_axes<R>(view.strides())[R - 1];
      if (shape[R - 1] > 1 && step != 0 && step != 1) found = axis;
    }
  });
  return found;
}

// Which Views a tile's kernel stages, by their number among the functor's Views.
struct Staging {
  int axis;                   // that results run along
  int across;                 // the tile's other axis, along which staged operands run
  std::uint32_t staged = 0;   // bits
  std::uint32_t vectors = 0;  // of those, the ones that may be read in vectors
  std::int64_t shared_bytes = 0;
};

// An index at an axis that is known at launch only: without addressing the index, which would put it into memory.
template <int R>
KGEN_FN std::int64_t get(const Index<R>& index, int axis) {
  std::int64_t value = 0;
  KGEN_UNROLL
  for (int i = 0; i < R; ++i) value = i == axis ? index[i] : value;
  return value;
}
template <int R>
KGEN_FN void set(Index<R>& index, int axis, std::int64_t value) {
  KGEN_UNROLL
  for (int i = 0; i < R; ++i) index[i] = i == axis ? value : index[i];
}
template <int R>
KGEN_FN void add(Index<R>& index, int axis, std::int64_t value) {
  set(index, axis, get(index, axis) + value);
}
template <int R>
KGEN_FN Index<R> swapped(Index<R> index, int a, int b) {
  const std::int64_t at_a = get(index, a);
  set(index, a, get(index, b));
  set(index, b, at_a);
  return index;
}
template <class T, int R>
KGEN_FN View<T, R> swap_axes(const View<T, R>& view, int a, int b) {
  return View<T, R>(view.data(), swapped(view.shape(), a, b), swapped(view.strides(), a, b));
}

// Elements of one operand that a thread reads at a time.
template <class T>
inline constexpr int staged_width = 16 / static_cast<int>(sizeof(T));

template <int R, class Functor>
Staging plan_staging(const Functor& functor, int crossing, std::int64_t shared_limit) {
  constexpr int edge = tile_edge<Functor>;
  bool results_cross = false;
  for_each_view(functor, [&](const auto& view) {
    using T = typename std::remove_cvref_t<decltype(view)>::element_type;
    results_cross = results_cross || (!std::is_const_v<T> && runs_along<R>(view, crossing));
  });
  Staging staging{results_cross ? crossing : R - 1, results_cross ? R - 1 : crossing};
  int number = 0;
  for_each_view(functor, [&](const auto& view) {
    using V = std::remove_cvref_t<decltype(view)>;
    using T = typename V::element_type;
    if constexpr (std::is_const_v<T> && V::rank == R) {
      const std::int64_t bytes = shared_bytes<T>(edge * (edge + 1));
      if (runs_along<R>(view, staging.across) && !runs_along<R>(view, staging.axis) &&
          staging.shared_bytes + bytes <= shared_limit) {
        const auto along = swap_axes(view, staging.across, R - 1);
        staging.staged |= 1u << number;
        if (has_vectors(along, staged_width<T>)) staging.vectors |= 1u << number;
        staging.shared_bytes += bytes;
      }
    }
    ++number;
  });
  return staging;
}

// The tile's part of `view`, whose element (i along `axis`, j along `across`) goes to tile[i * (Edge + 1) + j].
template <int Edge, class T, int R>
KGEN_FN void stage(const View<const T, R>& view, const Index<R>& origin, const Staging& staging, bool vectors, T* tile) {
  constexpr int width = staged_width<T>, per_line = Edge / width;
  const auto along = swap_axes(view, staging.across, R - 1).with_access({vectors, true});
  for (int piece = thread_index(); piece < Edge * per_line; piece += tile_threads) {
    const int i = piece / per_line, j = piece % per_line * width;
    Index<R> at = origin;
    add(at, staging.axis, i);
    add(at, staging.across, j);
    if (get(at, staging.axis) >= get(view.shape(), staging.axis)) continue;
    const std::int64_t left = get(view.shape(), staging.across) - get(at, staging.across);
    at = swapped(at, staging.across, R - 1);
    T* to = tile + i * (Edge + 1) + j;
    if (left >= width) {
      const auto elements = along.template elements<width>(at);
      KGEN_UNROLL
      for (int e = 0; e < width; ++e) to[e] = elements.data[e];
    } else {
      for (std::int64_t e = 0; e < left; ++e, ++at[R - 1]) to[e] = along.template elements<1>(at).data[0];
    }
  }
}

// The tile as a View in which the whole's positions count.
template <int Edge, class T, int R>
KGEN_FN View<const T, R> staged_view(const Index<R>& shape, const Index<R>& origin, const Staging& staging,
                                     const T* tile) {
  Index<R> strides{};
  set(strides, staging.axis, Edge + 1);
  set(strides, staging.across, 1);
  const std::int64_t offset = get(origin, staging.axis) * (Edge + 1) + get(origin, staging.across);
  return View<const T, R>(tile - offset, shape, strides);
}

// The functor at every position of one tile, lanes along staging.axis.
template <int W, int R, class Functor>
KGEN_FN void apply_tile(const Functor& functor, const Index<R>& shape, const Index<R>& origin, const Staging& staging) {
  constexpr int per_line = tile_edge<Functor> / W;
  for (int piece = thread_index(); piece < tile_edge<Functor> * per_line; piece += tile_threads) {
    Index<R> at = origin;
    add(at, staging.across, piece / per_line);
    add(at, staging.axis, piece % per_line * W);
    if (get(at, staging.across) >= get(shape, staging.across)) continue;
    const std::int64_t left = get(shape, staging.axis) - get(at, staging.axis);
    if (left >= W) {
      functor.template operator()<W>(at);
    } else {
      for (std::int64_t i = 0; i < left; ++i, add(at, staging.axis, 1)) functor.template operator()<1>(at);
    }
  }
}

template <int W, int R, class Functor>
KGEN_GLOBAL(tile_threads, W > 1 && R <= 2 && element_sizes<Functor>().views <= 3 ? 2 : 1) tile_kernel(Functor given, Index<R> shape, Index<R> tile_counts, Staging staging) {
  constexpr int edge = tile_edge<Functor>;
  Index<R> origin = unflatten(block_index(), tile_counts);
  set(origin, staging.axis, get(origin, staging.axis) * edge);
  set(origin, staging.across, get(origin, staging.across) * edge);
  Functor functor = given;
  {
    const BlockPhase staging_phase;
    SharedMemory shared;
    int view_number = 0;
    for_each_view(functor, [&](auto& view) KGEN_LAMBDA {
      using V = std::remove_cvref_t<decltype(view)>;
      using T = typename V::element_type;
      const std::uint32_t bit = 1u << view_number++;
      if constexpr (std::is_const_v<T> && V::rank == R) {
        if ((staging.staged & bit) == 0) return;
        auto* tile = shared.template take<std::remove_const_t<T>>(edge * (edge + 1));
        stage<edge>(view, origin, staging, (staging.vectors & bit) != 0, tile);
        view = staged_view<edge>(shape, origin, staging, tile);
      }
    });
  }
  apply_tile<W>(functor, shape, origin, staging);
}

template <int W, int R, class Functor>
void launch_tiles(const Index<R>& shape, const Staging& staging, const Functor& functor, Stream stream) {
  Index<R> counts = shape;
  constexpr int edge = tile_edge<Functor>;
  counts[staging.axis] = (shape[staging.axis] + edge - 1) / edge;
  counts[staging.across] = (shape[staging.across] + edge - 1) / edge;
  const Grid grid{"elementwise in tiles", element_count(counts), tile_threads, staging.shared_bytes};
  launch(grid, stream, tile_kernel<W, R, Functor>, functor, shape, counts, staging);
}

// `crossing`: what crossing_axis has found.
template <int R, class Functor>
void tiles(const Index<R>& shape, int crossing, const Functor& functor, Stream stream) {
  constexpr int width = vector_width<Functor>();
  // Two blocks at least are to find room in a multiprocessor.
  const Staging staging = plan_staging<R>(functor, crossing, device_limits(stream).shared_bytes / 2);
  const Functor adapted = with_access(functor, width);
  if (staging.axis == R - 1) return launch_tiles<width>(shape, staging, adapted, stream);
  launch_tiles<1>(shape, staging, adapted, stream);
}

}  // namespace kgen::gpu

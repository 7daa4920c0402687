// Elementwise where Views run along different axes of memory, as in a transpose: tiles of two axes. Operands that do not
// run along the axis that the results run along are first read into shared memory, along their own.
#pragma once

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/index.hpp"

namespace kgen::gpu {

// Tiles of 128 x 128 elements of at most 2 bytes, else of 64 x 64: 16 or 32 KB of each operand are on their way to a
// block, of which two find room.
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

// The index with two places changed: that of `axis` and the last.
template <int R>
Index<R> with_last(Index<R> index, int axis) {
  std::swap(index[axis], index[R - 1]);
  return index;
}

// Which Views a tile's kernel stages, by their number among the functor's Views.
struct Staging {
  int axis;                   // that results run along
  int across;                 // the tile's other axis, along which staged operands run
  std::uint32_t staged = 0;   // bits
  std::uint32_t vectors = 0;  // of those, the ones that may be read in vectors
  bool others_are_vectors = true;  // all that are not staged, along the last axis
  std::int64_t shared_bytes = 0;
};

// A square of one operand in shared memory: lines along the results' axis, of which a thread's vectors are read.
template <class T, int Edge>
struct StagedTile {
  static constexpr int width = 16 / static_cast<int>(sizeof(T));  // elements that a thread reads at a time
  static constexpr int group = std::max(1, 4 / static_cast<int>(sizeof(T)));  // of its lines, to store whole words
  static constexpr int pitch = Edge + width;  // lines begin at multiples of 16 bytes, and not all in one bank
  static constexpr int side_by_side = 4;  // vectors of one line that a wave reads, 64 bytes; the rest reads other lines
  static constexpr int groups = Edge / group, pieces = groups * (Edge / width);
  static constexpr int of_thread = (pieces + tile_threads - 1) / tile_threads;
  static constexpr std::int64_t bytes = shared_bytes<T>(Edge * pitch);

  // The first piece of a thread: where it begins along the results' axis, and across it. All pieces of a thread lie
  // along one line, `step` vectors apart.
  struct Place {
    int along, across;
  };
  static constexpr int step = std::max(1, tile_threads / groups);
  KGEN_FN static Place first_piece() {
    const auto thread = static_cast<unsigned>(thread_index());
    const unsigned vector = thread / (side_by_side * groups) * side_by_side + thread % side_by_side;
    return {static_cast<int>(thread / side_by_side % groups * group), static_cast<int>(vector * width)};
  }
};

template <int R, class Functor>
Staging plan_staging(const Functor& functor, int crossing, std::int64_t shared_limit) {
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
    bool staged = false;
    if constexpr (std::is_const_v<T> && V::rank == R) {
      using Tile = StagedTile<std::remove_const_t<T>, tile_edge<Functor>>;
      if (runs_along<R>(view, staging.across) && !runs_along<R>(view, staging.axis) &&
          staging.shared_bytes + Tile::bytes <= shared_limit) {
        const View<T, R> along(view.data(), with_last(view.shape(), staging.across),
                               with_last(view.strides(), staging.across));
        staged = true;
        staging.staged |= 1u << number;
        if (has_vectors(along, Tile::width)) staging.vectors |= 1u << number;
        staging.shared_bytes += Tile::bytes;
      }
    }
    if (!staged) staging.others_are_vectors = staging.others_are_vectors && has_vectors(view, vector_width<Functor>());
    ++number;
  });
  return staging;
}

// The tile's part of `view`, whose elements lie side by side along `Across`: what of it is there, element by element.
template <int Edge, int Axis, int Across, class T, int R>
KGEN_FN void stage_elements(const View<const T, R>& view, const Index<R>& origin, const T* corner, T* tile) {
  const std::int64_t lines = view.extent(Axis) - origin[Axis], columns = view.extent(Across) - origin[Across];
  for (int number = thread_index(); number < Edge * Edge; number += tile_threads) {
    const int along = number / Edge, across = number % Edge;
    if (along >= lines || across >= columns) continue;
    tile[across * StagedTile<T, Edge>::pitch + along] = corner[along * view.stride(Axis) + across];
  }
}

// The same, of a tile that is there as a whole, in vectors.
template <int Edge, class T>
KGEN_FN void stage_vectors(const T* corner, std::int64_t line, T* tile) {
  using Tile = StagedTile<T, Edge>;
  using Word = Block<Tile::group * sizeof(T)>;
  const auto place = Tile::first_piece();
  if (place.across >= Edge) return;
  const T* from = corner + place.along * line + place.across;
  T* to = tile + place.across * Tile::pitch + place.along;
  Elements<T, Tile::width> pieces[Tile::of_thread][Tile::group];
  KGEN_UNROLL
  for (int k = 0; k < Tile::group; ++k, from += line) {
    KGEN_UNROLL
    for (int m = 0; m < Tile::of_thread; ++m) {
      pieces[m][k] = load_run<Tile::width>(from + m * Tile::step * Tile::width, 1, Access{true, true});
    }
  }
  KGEN_UNROLL
  for (int m = 0; m < Tile::of_thread; ++m) {
    KGEN_UNROLL
    for (int e = 0; e < Tile::width; ++e) {
      T elements[Tile::group];
      KGEN_UNROLL
      for (int k = 0; k < Tile::group; ++k) elements[k] = pieces[m][k].data[e];
      Word word;
      memcpy(&word, elements, sizeof(word));
      *reinterpret_cast<Word*>(to + (m * Tile::step * Tile::width + e) * Tile::pitch) = word;
    }
  }
}

template <int Edge, int Axis, int Across, class T, int R>
KGEN_FN void stage(const View<const T, R>& view, const Index<R>& origin, bool vectors, bool whole, T* tile) {
  const T* corner = view.data();
  KGEN_UNROLL
  for (int axis = 0; axis < R; ++axis) corner += origin[axis] * (axis == Across ? 1 : view.stride(axis));
  if (whole && vectors) return stage_vectors<Edge>(corner, view.stride(Axis), tile);
  stage_elements<Edge, Axis, Across>(view, origin, corner, tile);
}

// The tile as a View in which the whole's positions count.
template <int Edge, int Axis, int Across, class T, int R>
KGEN_FN View<const T, R> staged_view(const Index<R>& shape, const Index<R>& origin, const T* tile) {
  constexpr int pitch = StagedTile<T, Edge>::pitch;
  Index<R> strides{};
  strides[Axis] = 1;
  strides[Across] = pitch;
  const std::int64_t offset = origin[Axis] + origin[Across] * pitch;
  return View<const T, R>(tile - offset, shape, strides).with_access({Axis == R - 1});
}

// The functor at every position of one tile, lanes along `Axis`. A thread stays at the same place along it.
template <int W, int Axis, int Across, int R, class Functor>
KGEN_FN void apply_tile(const Functor& functor, const Index<R>& shape, const Index<R>& origin, bool whole) {
  constexpr int edge = tile_edge<Functor>, per_line = edge / W, lines = tile_threads / per_line;
  const auto thread = static_cast<unsigned>(thread_index());
  Index<R> at = origin;
  at[Axis] += thread % per_line * W;
  at[Across] += thread / per_line;
  if (whole) {
    KGEN_UNROLL_LOADS
    for (int line = 0; line < edge; line += lines, at[Across] += lines) functor.template operator()<W>(at);
    return;
  }
  for (int line = 0; line < edge && at[Across] < shape[Across]; line += lines, at[Across] += lines) {
    for (int i = 0; i < W && at[Axis] + i < shape[Axis]; ++i) {
      Index<R> one = at;
      one[Axis] += i;
      functor.template operator()<1>(one);
    }
  }
}

template <int W, Lanes Form, int Axis, int Across, int R, class Functor>
KGEN_GLOBAL(tile_threads, R <= 2 && element_sizes<Functor>().views <= 3 ? 1024 / tile_threads : 1)
tile_kernel(Functor given, Index<R> shape, Positions<R> tiles, Staging staging) {
  constexpr int edge = tile_edge<Functor>;
  Index<R> origin = tiles(static_cast<std::uint32_t>(block_index()));
  origin[Axis] *= edge;
  origin[Across] *= edge;
  const bool whole = origin[Axis] + edge <= shape[Axis] && origin[Across] + edge <= shape[Across];
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
        if ((staging.staged & bit) != 0) {
          using Element = std::remove_const_t<T>;
          auto* tile = shared.template take<Element>(edge * StagedTile<Element, edge>::pitch);
          stage<edge, Axis, Across>(view, origin, (staging.vectors & bit) != 0, whole, tile);
          view = staged_view<edge, Axis, Across>(shape, origin, static_cast<const Element*>(tile));
          return;
        }
      }
      view = known_view<Form>(view);
    });
  }
  apply_tile<W, Axis, Across>(functor, shape, origin, whole);
}

template <int W, Lanes Form, int Axis, int Across, int R, class Functor>
void launch_tiles(const Index<R>& shape, const Staging& staging, const Functor& functor, Stream stream) {
  Index<R> counts = shape;
  constexpr int edge = tile_edge<Functor>;
  counts[Axis] = (shape[Axis] + edge - 1) / edge;
  counts[Across] = (shape[Across] + edge - 1) / edge;
  const Grid grid{"elementwise in tiles", element_count(counts), tile_threads, staging.shared_bytes};
  launch(grid, stream, tile_kernel<W, Form, Axis, Across, R, Functor>, functor, shape, Positions<R>(counts), staging);
}

// Results run along the last axis, or across it.
template <int Other, int R, class Functor>
void launch_tiles_of(const Index<R>& shape, const Staging& staging, const Functor& functor, Stream stream) {
  constexpr int width = vector_width<Functor>(), last = R - 1;
  const Functor adapted = with_access(functor, width);
  if (staging.axis != last) return launch_tiles<1, Lanes::any, Other, last>(shape, staging, adapted, stream);
  if constexpr (width > 1) {
    if (staging.others_are_vectors) {
      return launch_tiles<width, Lanes::vectors, last, Other>(shape, staging, adapted, stream);
    }
  }
  launch_tiles<width, Lanes::any, last, Other>(shape, staging, adapted, stream);
}

// Computes the whole in tiles, and returns true; or false where that is not compiled. `crossing`: what crossing_axis
// has found. Tiles are of the last axis and either the one before it or the first.
template <int R, class Functor>
bool tiles(const Index<R>& shape, int crossing, const Functor& functor, Stream stream) {
  if (crossing != R - 2 && crossing != 0) return false;
  // Two blocks at least are to find room in a multiprocessor.
  const Staging staging = plan_staging<R>(functor, crossing, device_limits(stream).shared_bytes / 2);
  if constexpr (R > 2) {
    if (crossing == 0) {
      launch_tiles_of<0>(shape, staging, functor, stream);
      return true;
    }
  }
  launch_tiles_of<R - 2>(shape, staging, functor, stream);
  return true;
}

}  // namespace kgen::gpu

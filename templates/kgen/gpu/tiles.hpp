// Elementwise where Views run along different axes of memory, as in a transpose: tiles of two axes. Operands that do
// not run along the axis that the results run along are first read into shared memory, along their own.
#pragma once

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/index.hpp"

namespace kgen::gpu {

// Tiles of 128 x 128 elements of at most 2 bytes, else of 64 x 64: 16 or 32 KB of each operand are on their way to a
// block, of which several find room. Functors of many operands have registers for few elements of a thread.
struct TileShape {
  int edge, threads;
};
template <class Functor>
inline constexpr bool is_small_functor = element_sizes<Functor>().views <= 3;
template <class Functor>
inline constexpr TileShape tile_shape{element_sizes<Functor>().largest <= 2 ? 128 : 64,
                                      is_small_functor<Functor> && has_matrix_loads ? 256 : 512};

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
  for_each_own_view(functor, [&](const auto& view) {
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

// Which Views a tile's kernel stages, by their number among the functor's own.
struct Staging {
  int axis;                        // that results run along
  int across;                      // the tile's other axis, along which staged operands run
  std::uint32_t staged = 0;        // a bit for each
  std::uint32_t vectors = 0;       // of those, the ones that may be read in vectors
  bool others_are_vectors = true;  // all that are not staged, along the last axis
  std::int64_t shared_bytes = 0;
};

// A square of one operand in shared memory: lines along the results' axis, of which a thread's vectors are read.
// Elements of 16 bits may lie there as they lie in memory, to be turned when they are read.
template <class T, TileShape Shape>
struct StagedTile {
  static constexpr int width = 16 / static_cast<int>(sizeof(T));              // elements that a thread reads at a time
  static constexpr int group = std::max(1, 4 / static_cast<int>(sizeof(T)));  // of its lines, to store whole words
  static constexpr int pitch = Shape.edge + width;  // lines begin at multiples of 16 bytes, and not all in one bank
  static constexpr int side_by_side = 4;  // vectors of one line that a wave reads, 64 bytes; the rest reads other lines
  static constexpr int groups = Shape.edge / group, pieces = groups * (Shape.edge / width);
  static constexpr int of_thread = (pieces + Shape.threads - 1) / Shape.threads;
  static constexpr std::int64_t bytes = shared_bytes<T>(Shape.edge * pitch);

  // The first piece of a thread: where it begins along the results' axis, and across it. All pieces of a thread lie
  // along one line, `step` vectors apart.
  struct Place {
    int along, across;
  };
  static constexpr int step = std::max(1, Shape.threads / groups);
  KGEN_FN static Place first_piece() {
    const auto thread = static_cast<unsigned>(thread_index());
    const unsigned vector = thread / (side_by_side * groups) * side_by_side + thread % side_by_side;
    return {static_cast<int>(thread / side_by_side % groups * group), static_cast<int>(vector * width)};
  }
};

template <int R, class Functor>
Staging plan_staging(const Functor& functor, int crossing, std::int64_t shared_limit) {
  bool results_cross = false;
  for_each_own_view(functor, [&](const auto& view) {
    using T = typename std::remove_cvref_t<decltype(view)>::element_type;
    results_cross = results_cross || (!std::is_const_v<T> && runs_along<R>(view, crossing));
  });
  Staging staging{results_cross ? crossing : R - 1, results_cross ? R - 1 : crossing};
  int number = 0;
  for_each_own_view(functor, [&](const auto& view) {
    using V = std::remove_cvref_t<decltype(view)>;
    using T = typename V::element_type;
    bool staged = false;
    if constexpr (std::is_const_v<T> && V::rank == R && !is_packed<T>) {
      using Tile = StagedTile<std::remove_const_t<T>, tile_shape<Functor>>;
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

// True where operands of T are turned when they are read, W lanes at a time.
template <class T, int W>
inline constexpr bool is_turned = has_matrix_loads && W == 8 && sizeof(T) == 2;

// The tile's part of an operand, whose elements lie side by side across it and whose lines are `line` apart: element by
// element.
template <TileShape Shape, bool Turned, class T>
KGEN_FN void stage_elements(const T* corner, std::int64_t line, T* tile) {
  constexpr int pitch = StagedTile<T, Shape>::pitch;
  for (int number = thread_index(); number < Shape.edge * Shape.edge; number += Shape.threads) {
    const int along = number / Shape.edge, across = number % Shape.edge;
    tile[Turned ? turned_place(along) * pitch + across : across * pitch + along] = corner[along * line + across];
  }
}

// The same in vectors, as it lies in memory.
template <TileShape Shape, class T>
KGEN_FN void stage_lines(const T* corner, std::int64_t line, Access access, T* tile) {
  using Tile = StagedTile<T, Shape>;
  constexpr int of_line = Shape.edge / Tile::width, step = Shape.threads / of_line, of_thread = Shape.edge / step;
  const int along = thread_index() / of_line, across = thread_index() % of_line * Tile::width;
  Elements<T, Tile::width> pieces[of_thread];
  KGEN_UNROLL
  for (int i = 0; i < of_thread; ++i) {
    pieces[i] = load_run<Tile::width>(corner + (along + i * step) * line + across, 1, access);
  }
  KGEN_UNROLL
  for (int i = 0; i < of_thread; ++i) {
    store_shared(tile + turned_place(along + i * step) * Tile::pitch + across, pieces[i].block);
  }
}

// The same in vectors, but turned as it is written.
template <TileShape Shape, class T>
KGEN_FN void stage_vectors(const T* corner, std::int64_t line, Access access, T* tile) {
  using Tile = StagedTile<T, Shape>;
  using Word = Block<Tile::group * sizeof(T)>;
  const auto place = Tile::first_piece();
  if (place.across >= Shape.edge) return;
  const T* from = corner + place.along * line + place.across;
  T* to = tile + place.across * Tile::pitch + place.along;
  Elements<T, Tile::width> pieces[Tile::of_thread][Tile::group];
  KGEN_UNROLL
  for (int k = 0; k < Tile::group; ++k, from += line) {
    KGEN_UNROLL
    for (int m = 0; m < Tile::of_thread; ++m) {
      pieces[m][k] = load_run<Tile::width>(from + m * Tile::step * Tile::width, 1, access);
    }
  }
  KGEN_UNROLL
  for (int m = 0; m < Tile::of_thread; ++m) {
    KGEN_UNROLL
    for (int e = 0; e < Tile::width; ++e) {
      T elements[Tile::group];
      KGEN_UNROLL
      for (int k = 0; k < Tile::group; ++k) elements[k] = pieces[m][k][e];
      Word word;
      memcpy(&word, elements, sizeof(word));
      *reinterpret_cast<Word*>(to + (m * Tile::step * Tile::width + e) * Tile::pitch) = word;
    }
  }
}

template <TileShape Shape, int Axis, int Across, bool Turned, Lanes Form, class T, int R>
KGEN_FN void stage(const View<const T, R>& view, const Index<R>& origin, bool vectors, T* tile) {
  const T* corner = view.data();
  KGEN_UNROLL
  for (int axis = 0; axis < R; ++axis) corner += origin[axis] * (axis == Across ? 1 : view.stride(axis));
  constexpr Access access{true, true, Form == Lanes::constant_vectors};
  if (!vectors) {
    stage_elements<Shape, Turned>(corner, view.stride(Axis), tile);
  } else if constexpr (Turned) {
    stage_lines<Shape>(corner, view.stride(Axis), access, tile);
  } else {
    stage_vectors<Shape>(corner, view.stride(Axis), access, tile);
  }
}

// The tile as a View in which the whole's positions count.
template <TileShape Shape, int Axis, int Across, bool Turned, class T, int R>
KGEN_FN View<const T, R> staged_view(const Index<R>& shape, const Index<R>& origin, const T* tile) {
  constexpr int pitch = StagedTile<T, Shape>::pitch;
  Index<R> strides{};
  strides[Axis] = Turned ? pitch : 1;
  strides[Across] = Turned ? 1 : pitch;
  const std::int64_t offset = origin[Axis] * strides[Axis] + origin[Across] * strides[Across];
  Access access{Axis == R - 1, Turned};  // turned ones are read as such, whatever else is said of them
  access.turned = Turned;
  return View<const T, R>(tile - offset, shape, strides).with_access(access);
}

// The functor at every position of a whole tile, lanes along `Axis`. With 8 lanes, 32 threads take 4 vectors of 8 lines
// at a time, which is how tiles are turned; else a thread stays at the same place along the axis.
template <int W, int Axis, int Across, int R, class Functor>
KGEN_FN void apply_whole_tile(const Functor& functor, const Index<R>& origin) {
  constexpr int edge = tile_shape<Functor>.edge, threads = tile_shape<Functor>.threads;
  const auto thread = static_cast<unsigned>(thread_index());
  Index<R> at = origin;
  if constexpr (has_matrix_loads && W == 8) {
    constexpr int of_line = edge / (4 * W), of_group = of_line * (edge / 8) / (threads / 32);
    const unsigned first = thread / 32 * of_group, lane = thread % 32;
    KGEN_UNROLL_LOADS(4)
    for (int i = 0; i < of_group; ++i) {
      at[Axis] = origin[Axis] + (first + i) % of_line * (4 * W) + lane % 4 * W;
      at[Across] = origin[Across] + (first + i) / of_line * 8 + lane / 4;
      functor.template operator()<W>(at);
    }
  } else {
    constexpr int per_line = edge / W, lines = threads / per_line;
    at[Axis] += thread % per_line * W;
    at[Across] += thread / per_line;
    KGEN_UNROLL_LOADS(4)
    for (int line = 0; line < edge; line += lines, at[Across] += lines) functor.template operator()<W>(at);
  }
}

// At those positions of a tile that are there, from memory: there are few such tiles.
template <int W, int Axis, int Across, int R, class Functor>
KGEN_FN void apply_partial_tile(const Functor& functor, const Index<R>& shape, const Index<R>& origin) {
  constexpr int edge = tile_shape<Functor>.edge, per_line = edge / W, lines = tile_shape<Functor>.threads / per_line;
  const auto thread = static_cast<unsigned>(thread_index());
  Index<R> at = origin;
  at[Axis] += thread % per_line * W;
  at[Across] += thread / per_line;
  for (int line = 0; line < edge && at[Across] < shape[Across]; line += lines, at[Across] += lines) {
    for (int i = 0; i < W && at[Axis] + i < shape[Axis]; ++i) {
      Index<R> one = at;
      one[Axis] += i;
      functor.template operator()<1>(one);
    }
  }
}

template <int W, Lanes Form, int Axis, int Across, int Single, int R, class Functor>
KGEN_FN void compute_whole_tile(Functor functor, const Index<R>& shape, const Index<R>& origin,
                                const Staging& staging) {
  constexpr TileShape tile_of = tile_shape<Functor>;
  {
    const BlockPhase staging_phase;
    SharedMemory shared;
    int view_number = 0;
    for_each_own_view(functor, [&](auto& view) KGEN_LAMBDA {
      using V = std::remove_cvref_t<decltype(view)>;
      using T = typename V::element_type;
      const int number = view_number++;
      if constexpr (std::is_const_v<T> && V::rank == R && !is_packed<T>) {
        const bool known_staging = Single >= 0;
        if (known_staging ? number == Single : (staging.staged >> number & 1) != 0) {
          using Element = std::remove_const_t<T>;
          constexpr bool turned = is_turned<Element, W>;
          auto* tile = shared.template take<Element>(tile_of.edge * StagedTile<Element, tile_of>::pitch);
          const bool vectors = known_staging || (staging.vectors >> number & 1) != 0;
          stage<tile_of, Axis, Across, turned, Form>(view, origin, vectors, tile);
          view = staged_view<tile_of, Axis, Across, turned>(shape, origin, static_cast<const Element*>(tile));
          return;
        }
      }
      view = known_view<Form>(view);
    });
  }
  apply_whole_tile<W, Axis, Across>(functor, origin);
}

// `Single`: the one View that is staged, in vectors, by its number; -1: as `staging` says.
template <int W, Lanes Form, int Axis, int Across, int Single, int R, class Functor>
KGEN_GLOBAL(tile_shape<Functor>.threads, (R <= 2 && is_small_functor<Functor> ? 1024 / tile_shape<Functor>.threads : 1))
tile_kernel(Functor functor, Index<R> shape, Positions<R> tiles, Staging staging) {
  constexpr int edge = tile_shape<Functor>.edge;
  take_turn(should_allow_next(edge * edge * element_sizes<Functor>().smallest));
  Index<R> origin = tiles(static_cast<std::uint32_t>(block_index()));
  origin[Axis] *= edge;
  origin[Across] *= edge;
  if (origin[Axis] + edge <= shape[Axis] && origin[Across] + edge <= shape[Across]) {
    compute_whole_tile<W, Form, Axis, Across, Single>(functor, shape, origin, staging);
  } else {
    apply_partial_tile<W, Axis, Across>(functor, shape, origin);
  }
}

// How many tiles of two axes there are along each axis.
template <class Functor, int R>
Index<R> count_tiles(const Index<R>& shape, int axis, int across) {
  Index<R> counts = shape;
  constexpr int edge = tile_shape<Functor>.edge;
  counts[axis] = (shape[axis] + edge - 1) / edge;
  counts[across] = (shape[across] + edge - 1) / edge;
  return counts;
}

template <int W, Lanes Form, int Axis, int Across, int Single = -1, int R, class Functor>
void launch_tiles(const Index<R>& shape, const Staging& staging, const Functor& functor, Stream stream) {
  const Index<R> counts = count_tiles<Functor>(shape, Axis, Across);
  const Grid grid{"elementwise in tiles", element_count(counts), tile_shape<Functor>.threads, staging.shared_bytes};
  launch_early(grid, stream, tile_kernel<W, Form, Axis, Across, Single, R, Functor>, functor, shape,
               Positions<R>(counts), staging);
}

// Launches the kernel that is compiled for what is staged; false where there is none.
template <int Across, int... Number, int R, class Functor>
bool launch_single_staging(std::integer_sequence<int, Number...>, const Index<R>& shape, const Staging& staging,
                           const Functor& functor, Stream stream) {
  constexpr std::uint32_t candidates = operand_bits<R, Functor>();
  const auto launch_one = [&]<int Single>() {
    if constexpr ((candidates >> Single & 1) == 0) {
      return false;
    } else {
      if (staging.staged != 1u << Single || staging.vectors != staging.staged) return false;
      launch_tiles<vector_width<Functor>(), Lanes::constant_vectors, R - 1, Across, Single>(shape, staging, functor,
                                                                                            stream);
      return true;
    }
  };
  return (launch_one.template operator()<Number>() || ...);
}

// Results run along the last axis, or across it.
template <int Other, int R, class Functor>
void launch_tiles_of(const Index<R>& shape, const Staging& staging, const Functor& functor, Stream stream) {
  constexpr int width = vector_width<Functor>(), last = R - 1;
  const Functor adapted = with_access(functor, width);
  if (staging.axis != last) return launch_tiles<1, Lanes::any, Other, last>(shape, staging, adapted, stream);
  if constexpr (width > 1) {
    if (staging.others_are_vectors && !is_in_place(functor)) {
      if constexpr (is_small_functor<Functor>) {
        const std::make_integer_sequence<int, element_sizes<Functor>().views> numbers;
        if (launch_single_staging<Other>(numbers, shape, staging, adapted, stream)) return;
      } else {
        return launch_tiles<width, Lanes::constant_vectors, last, Other>(shape, staging, adapted, stream);
      }
    }
  }
  launch_tiles<width, Lanes::any, last, Other>(shape, staging, adapted, stream);
}

// Computes the whole in tiles, and returns true; or false where that is not compiled, or where there are more tiles
// than a grid has blocks: many other positions have tiles of few elements then. `crossing`: what crossing_axis has
// found. Tiles are of the last axis and either the one before it or the first.
template <int R, class Functor>
bool tiles(const Index<R>& shape, int crossing, const Functor& functor, Stream stream) {
  if (crossing != R - 2 && crossing != 0) return false;
  const std::int64_t count = element_count(count_tiles<Functor>(shape, crossing, R - 1));
  if (count > most_blocks(tile_shape<Functor>.threads)) return false;
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

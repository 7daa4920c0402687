// Matrix multiplication on matrix cores that each wave uses alone: mma.sync of NVIDIA's devices from sm_80 on, MFMA and
// WMMA of AMD's. Tiles of the operands come to a ring of stages (CopyPipeline), from memory or through what a prologue
// makes of it (TileLoad); each wave multiplies its part of them (DeviceTile, which a variant swaps), and its sums go
// from its registers to the sink, 8 lanes at a time (emit_tile).
#pragma once

#include <limits>

#include "kgen/gpu/copy_pipeline.hpp"
#include "kgen/gpu/emit_sums.hpp"
#include "kgen/gpu/laid_out.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/tile_op.hpp"
#include "kgen/gpu/warpgroup.hpp"
#include "kgen/gpu/wave_tile_io.hpp"
#include "kgen/several.hpp"

namespace kgen::gpu {

// ---- parts

// What a block computes: so many rows, and columns in all of the products that it computes together. A stage has
// `Parts` times 64 bytes of their depth. Blocks: that a multiprocessor has registers for.
template <int Rows, int Columns, int Threads, int Stages, int Parts, int Blocks>
struct WaveTile {
  static constexpr int rows = Rows, columns = Columns, threads = Threads, stages = Stages, parts = Parts;
  static constexpr int blocks = Blocks;

  template <class T>
  struct alignas(128) Stage {
    static constexpr int depth = 64 / static_cast<int>(sizeof(T)), part = (rows + columns) * depth;
    T elements[parts * part];
  };
  template <class T>
  using Pipeline = CopyPipeline<Stage<T>, stages>;
};
// The stages of a ring for so much depth: where copies alone fill it, no more than that has, so that more blocks find
// room.
template <class Tile, class T, class A, class B>
KGEN_FN int stages_of(std::int64_t K) {
  constexpr int depth = Tile::parts * Tile::template Stage<T>::depth;
  constexpr bool trims = Tile::rows < 128 && is_memory_of<T, A> && is_memory_of<T, B>;
  return trims && K <= (Tile::stages - 1) * depth ? static_cast<int>((K + depth - 1) / depth) : Tile::stages;
}

// Of results that are few tiles, or of few rows: more blocks, and more of the depth on its way at once. They have the
// columns of as many products as a sink takes together.
template <int Together>
using SmallWaveTile = WaveTile<64, 64 * Together, 128, 4, 2, Together == 1 ? 4 : 2>;
template <int Together>
using FewRowsWaveTile = WaveTile<32, 64 * Together, 128, 4, 2, Together == 1 ? 5 : 2>;
// Of so little depth that a stage has all of it: what counts is how many results are on their way to memory.
template <bool BDeep>
struct ThinWaveTile : WaveTile<64, 64, 128, 2, 1, BDeep ? 5 : 4> {
  static constexpr int most_depth = 32;
};
// Of operands that come through registers, a stage at a time, which takes too long where there is much depth.
struct LineWaveTile : WaveTile<64, 64, 128, 3, 1, 3> {
  static constexpr int most_depth = 128;
};
// AMD's devices have less shared memory and more registers, and nothing that copies for a wave which waits.
#if defined(__HIP_PLATFORM_AMD__) || (defined(KGEN_SIMT) && KGEN_SIMT_WAVE == 64)
using WaveMatmulTile = WaveTile<128, 128, 256, 2, 1, 2>;
inline constexpr bool has_small_wave_tiles = false;
#else
using WaveMatmulTile = WaveTile<128, 128, 128, 3, 1, 2>;
inline constexpr bool has_small_wave_tiles = true;
#endif

// What so many tiles take on an H200, in ns: to begin, each 64 of their depth and, where multiprocessors have several,
// each further one, which waits for the same things until there are so many that the matrix cores have no time left
// (tests/bench/MATMUL_KERNELS.md). memory: what it takes for the operands, of which waves' own loads get 0.9.
template <class Tile>
std::int64_t wave_time(std::int64_t tiles, std::int64_t K, const DeviceLimits& limits, double memory = 0) {
  struct Times {
    int begin, step, more_steps, more_ends;
  };
  constexpr bool is_large = Tile::rows == 128, is_wide = Tile::columns == 128;
  constexpr bool has_one_part = Tile::parts == 1 && !is_large;
  constexpr Times times = is_large ? Times{2500, 940, 700, 0}
                          : has_one_part
                              ? (Tile::stages == 2 ? Times{1500, 300, 80, 420} : Times{1700, 1600, 300, 1000})
                          : Tile::rows == 64 ? Times{1700, is_wide ? 640 : 400, 130, is_wide ? 900 : 650}
                                             : Times{1450, is_wide ? 570 : 355, 100, is_wide ? 700 : 500};
#if defined(KGEN_SIMT)
  if (!is_large && !simt::device().small_tiles) return std::numeric_limits<std::int64_t>::max();
#endif
  constexpr int sums_of_ns = 20;  // that 64 of the depth are added to, of a multiprocessor
  const std::int64_t steps = (K + 63) / 64, more = (tiles + limits.multiprocessors - 1) / limits.multiprocessors - 1;
  const std::int64_t waits = times.step + more * times.more_steps,
                     multiplies = (more + 1) * Tile::rows * Tile::columns / sums_of_ns;
  return times.begin + std::max(steps * std::max(waits, multiplies), static_cast<std::int64_t>(memory / 0.9)) +
         more * times.more_ends;
}

// Of `Count` products. Operands whose neighbours in memory are in neighbouring lines of a tile are read across these.
template <int Count>
struct WaveMatmulShape {
  std::int64_t M, K, N[Count];
  Lanes lanes;  // of what the sinks read and write: whole vectors of 8, or any
  bool a_across, b_across[Count];
  Lanes a_lanes = Lanes::any, b_lanes[Count] = {};  // of what prologues read

  // The tiles of the products from number `first` on that are computed `Together`, and where one begins.
  template <int Together, class Tile = WaveMatmulTile>
  KGEN_FN std::int64_t tiles(int first) const {
    const TileOrder tiles = order<Together, Tile>(first);
    return std::int64_t{tiles.rows} * tiles.columns;
  }
  template <int Together, class Tile = WaveMatmulTile>
  KGEN_FN Index<2> origin(int first, int tile) const {
    const Index<2> place = order<Together, Tile>(first)(tile);
    return {place[0] * Tile::rows, place[1] * (Tile::columns / Together)};
  }

 private:
  template <int Together, class Tile>
  KGEN_FN TileOrder order(int first) const {
    constexpr int columns = Tile::columns / Together;
    return {static_cast<int>((M + Tile::rows - 1) / Tile::rows), static_cast<int>((N[first] + columns - 1) / columns)};
  }
};

// A wave's part of a tile of `Count` products, as the rows of Op's tiles and their columns. It is as a Layout of
// emit_sums wants it.
template <class Tile, class Op, int Count, bool BDeep>
struct WavePart {
  static constexpr int of_product = Tile::columns / Count, waves = Tile::threads / wave_size;
  // Where there are eight waves, those of RDNA 3: of two ways the one for which its compiler finds registers.
  static constexpr int columns = Tile::rows == 128 && Count == 1 && (waves == 4 || !BDeep) ? 64 : 32;
  static constexpr int across = of_product / columns, rows = Tile::rows / (waves / across);
  static constexpr int down_tiles = rows / Op::rows, across_tiles = columns / Op::columns;
  using Sums = float[down_tiles][across_tiles][Op::sums];

  KGEN_FN static int row() { return thread_index() / wave_size / across * rows; }
  KGEN_FN static int column() { return thread_index() / wave_size % across * columns; }

  // sums += what stands in these tiles of the operands.
  template <class Left, class Right, class T>
  KGEN_FN static void multiply(Sums& sums, const T* a, const T* b) {
    KGEN_UNROLL_STEPS
    for (int k = 0; k < Left::depth; k += Op::depth) {
      typename Op::Right right[across_tiles];
      KGEN_UNROLL
      for (int j = 0; j < across_tiles; ++j) Op::template load_right<Right>(right[j], b, column() + j * Op::columns, k);
      KGEN_UNROLL
      for (int i = 0; i < down_tiles; ++i) {
        typename Op::Left left;
        Op::template load_left<Left>(left, a, row() + i * Op::rows, k);
        KGEN_UNROLL
        for (int j = 0; j < across_tiles; ++j) Op::multiply(sums[i][j], left, right[j]);
      }
    }
  }

  static constexpr int steps = down_tiles * across_tiles * Op::steps;
  static constexpr bool is_of_quads = Op::is_of_quads;
  KGEN_FN static float sum(const Sums& sums, int step, int lane) {
    const int tile = step / Op::steps;
    return Op::sum(sums[tile / across_tiles][tile % across_tiles], step % Op::steps, lane);
  }
  KGEN_FN static void gather(float (&lanes)[8]) { Op::gather(lanes); }
  KGEN_FN static std::int64_t first_row(Index<2> origin, int step) {
    return origin[0] + step / Op::steps / across_tiles * Op::rows + Op::first_row(step % Op::steps);
  }
  KGEN_FN static Index<2> position(Index<2> origin, int step) {
    const int tile = step / Op::steps;
    const Index<2> own = Op::position(step % Op::steps);
    return {origin[0] + tile / across_tiles * Op::rows + own[0],
            origin[1] + tile % across_tiles * Op::columns + own[1]};
  }
};

// Whether such calls have kernels of small tiles: of matrices in memory, which are copied as they are, and with short
// sinks, as these stand in each kernel.
template <class T, class A, class B, class C>
inline constexpr bool has_small_tiles =
    has_small_wave_tiles&& is_memory_of<T, A>&& is_memory_of<T, B>&& view_count<C> <= 4;

// ---- the kernel

// What brings the operands' tiles to part number `Part` of a stage.
template <class Tile, class T, bool BDeep, int First, int Count, int Part, class A, class B, class Shape, int... I>
KGEN_FN auto loads_of_part(const A& a, const B& b, const Shape& shape, Index<2> origin,
                           std::integer_sequence<int, I...>) {
  using Stage = typename Tile::template Stage<T>;
  using Left = TileLayout<T, Tile::rows, true>;
  using Right = TileLayout<T, Tile::columns / Count, BDeep>;
  constexpr int place = Part * Stage::part, after = Part * Stage::depth;
  return loads_together(TileLoad<T, Left, place, after, Tile::threads, A>(
                            {a, origin[0], shape.M, shape.K, shape.a_across, shape.a_lanes}),
                        TileLoad<T, Right, place + Left::elements + I * Right::elements, after, Tile::threads,
                                 std::remove_cvref_t<decltype(nth<First + I>(b))>>(
                            {nth<First + I>(b), origin[1], shape.N[First], shape.K, shape.b_across[First + I],
                             shape.b_lanes[First + I]})...);
}
template <class Tile, class T, bool BDeep, int First, int Count, class A, class B, class Shape, int... Part>
KGEN_FN auto loads_of_stage(const A& a, const B& b, const Shape& shape, Index<2> origin,
                            std::integer_sequence<int, Part...>) {
  constexpr std::make_integer_sequence<int, Count> products;
  return loads_together(loads_of_part<Tile, T, BDeep, First, Count, Part>(a, b, shape, origin, products)...);
}

// The tile at `origin` of the products First to First + Count, which `c` takes together, up to row `M` and column `N`.
// BDeep: right operands are given as their columns, [N, K].
template <class Op, class T, bool BDeep, int First, int Count, bool IsAlone, class Tile = WaveMatmulTile, class A,
          class B, class C, class Shape, int... I>
KGEN_FN void multiply_tile_of(typename Tile::template Stage<T>* stages, const A& a, const B& b, const C& c,
                              const Shape& shape, Index<2> origin, std::integer_sequence<int, I...>) {
  using Pipeline = typename Tile::template Pipeline<T>;
  using Stage = typename Tile::template Stage<T>;
  using Part = WavePart<Tile, Op, Count, BDeep>;
  using Left = TileLayout<T, Tile::rows, true>;
  using Right = TileLayout<T, Part::of_product, BDeep>;
  typename Part::Sums sums[Count] = {};
  constexpr std::make_integer_sequence<int, Tile::parts> parts;
  const auto of_parts = loads_of_stage<Tile, T, BDeep, First, Count>(a, b, shape, origin, parts);
  constexpr int step = Tile::parts * Stage::depth, ahead = Pipeline::ahead * step;
  StageLoads<step, std::remove_const_t<decltype(of_parts)>> loads{of_parts, shape.K, of_parts.ends_in_pieces()};
  const auto multiply = [&](const Stage& stage) KGEN_LAMBDA {
    KGEN_UNROLL
    for (int part = 0; part < Tile::parts; ++part) {
      const T* left = stage.elements + part * Stage::part;
      (Part::template multiply<Left, Right>(sums[I], left, left + Left::elements + I * Right::elements), ...);
    }
  };
  const auto add_stages = [&]<bool Whole>() KGEN_LAMBDA {
    Pipeline pipeline(stages);
    for (std::int64_t k = 0; k < ahead && shape.K > 0; k += step) pipeline.template fill<Whole>(loads, k);
    for (std::int64_t k = 0; k < shape.K; k += step) {
      const auto& stage = pipeline.read();
      if constexpr (decltype(loads)::copies) {
        multiply(stage);  // which goes on while copies are begun
        pipeline.template fill<Whole>(loads, k + ahead);
      } else {
        const auto next = pipeline.template fill<Whole>(loads, k + ahead);
        multiply(stage);
      }
    }
  };
  if (loads.is_whole()) {
    add_stages.template operator()<true>();
  } else if constexpr (!decltype(loads)::always_whole) {
    add_stages.template operator()<false>();
  }
  origin[0] += Part::row();
  origin[1] += Part::column();
  emit_tile<Part, 4, IsAlone>(sums, c, origin, Index<2>{shape.M, shape.N[First]}, shape.lanes);
}

// Whether a kernel does it where this is compiled for. Operands in memory are left to Hopper's warpgroups; the executor
// stands for any device.
#if defined(KGEN_SIMT)
template <class T, class A, class B, class Tile = WaveMatmulTile>
inline constexpr bool runs_waves = has_matrix_cores;
#else
template <class T, class A, class B, class Tile = WaveMatmulTile>
inline constexpr bool runs_waves = has_matrix_cores && !(has_warpgroups && Tile::rows == WaveMatmulTile::rows &&
                                                         is_memory_of<T, A> && is_memory_of<T, B>);
#endif

template <class Tile, class Op, class T, bool BDeep, class A, class B, class C>
KGEN_GLOBAL((runs_waves<T, A, B, Tile> ? Tile::threads : 1), Tile::blocks)
wave_matmul_kernel(A a, B b, C c, WaveMatmulShape<several_count<B>> shape) {
  if constexpr (runs_waves<T, A, B, Tile>) {
    take_turn();
    SharedMemory shared;
    constexpr int products = several_count<B>;
    auto* stages = shared.take<typename Tile::template Stage<T>>(stages_of<Tile, T, A, B>(shape.K));
    std::int64_t rest = block_index();  // a block has one tile
    for_each_sink<products>(c, [&]<int First, int Count>(const auto& sink) KGEN_LAMBDA {
      const std::int64_t own = shape.template tiles<Count, Tile>(First);
      if (Count == products || (rest >= 0 && rest < own)) {
        const Index<2> origin = shape.template origin<Count, Tile>(First, static_cast<int>(rest));
        multiply_tile_of<Op, T, BDeep, First, Count, Count == products, Tile>(stages, a, b, sink, shape, origin,
                                                                              std::make_integer_sequence<int, Count>{});
      }
      rest -= own;
    });
  }
}

// ---- launches

namespace detail {
// What matrix cores multiply where the operands of a product are S: elements of 8 bits as what holds them; void:
// nothing. A prologue does not say what its results are elements of.
struct Unsaid;
template <class A, class B>
using agreed_t = std::conditional_t<std::is_same_v<A, Unsaid>, B,
                                    std::conditional_t<std::is_same_v<B, Unsaid> || std::is_same_v<A, B>, A, void>>;
template <class S>
struct Multiplied {
  using Type = Unsaid;
};
template <class E, int R>
struct Multiplied<View<E, R>> {
  using Element = std::remove_const_t<E>;
  static constexpr bool is_half = std::is_same_v<Element, bf16> || std::is_same_v<Element, f16>;
  static constexpr bool is_byte = is_narrow_float<Element> && sizeof(Element) == 1;
  using Type = std::conditional_t<is_half, Element, std::conditional_t<is_byte, bf16, void>>;
};
template <class Last>
struct Multiplied<Several<Last>> : Multiplied<Last> {};
template <class First, class Second, class... Rest>
struct Multiplied<Several<First, Second, Rest...>> {
  using Type = agreed_t<typename Multiplied<First>::Type, typename Multiplied<Several<Second, Rest...>>::Type>;
};
}  // namespace detail

// The same of both; void also where none of them lies in memory.
template <class A, class B,
          class T = detail::agreed_t<typename detail::Multiplied<A>::Type, typename detail::Multiplied<B>::Type>>
using wave_element_t = std::conditional_t<std::is_same_v<T, detail::Unsaid>, void, T>;

template <class A, class B, class C>
inline constexpr bool has_wave_matmul =
    !std::is_void_v<wave_element_t<A, B>> && most_together<C, several_count<B>> <= 2;

// True where neighbours of what is read of a source are neighbours along its rows' index, the last axis but one.
template <class S>
bool runs_across(const S& source) {
  bool found = false;
  for_each_view(source, [&]<class T, int R>(const View<T, R>& view) {
    if constexpr (R >= 2) {
      found = found || (view.stride(R - 2) == 1 && view.stride(R - 1) > 1);
    }
  });
  return found;
}

// Columns of right operands as their lines.
template <class E, int R>
View<E, R> with_turned_axes(const View<E, R>& view) {
  Index<R> extents = view.shape(), strides = view.strides();
  std::swap(extents[R - 2], extents[R - 1]);
  std::swap(strides[R - 2], strides[R - 1]);
  return {view.data(), extents, strides};
}
template <class T, class B>
bool has_deep_columns(const B& b) {
  bool deep = is_memory_of<T, B>;
  for_each_of(b, [&](const auto& each) { deep = deep && runs_across(each); });
  return deep;
}

namespace detail {
// The tiles of all sinks.
template <class Tile, class C, int Products>
std::int64_t count_tiles(const C& c, const WaveMatmulShape<Products>& shape) {
  std::int64_t tiles = 0;
  for_each_sink<Products>(
      c, [&]<int First, int Count>(const auto&) { tiles += shape.template tiles<Count, Tile>(First); });
  return tiles;
}
template <class Tile, class Op, class T, bool BDeep, class A, class B, class C>
bool launch_wave_matmul(const A& a, const B& b, const C& c, WaveMatmulShape<several_count<B>> shape, Stream stream) {
  const std::int64_t tiles = count_tiles<Tile>(c, shape);
  const auto kernel = wave_matmul_kernel<Tile, Op, T, BDeep, A, B, C>;
  const std::int64_t bytes = shared_bytes<typename Tile::template Stage<T>>(stages_of<Tile, T, A, B>(shape.K));
  if (tiles > most_blocks(Tile::threads) || device_limits(stream).shared_bytes < bytes ||
      !runs_threads(reinterpret_cast<const void*>(kernel), Tile::threads, stream)) {
    return false;
  }
  if (tiles == 0) return true;
  const auto seen = [](const auto& object) { return with_access(object, 8); };
  const Grid grid{"wave_matmul", tiles, Tile::threads, bytes};
  launch_early(grid, stream, kernel, with_each(a, seen), with_each(b, seen), with_each(c, seen), shape);
  return true;
}
}  // namespace detail

// Memory as tiles are copied from it: itself, or another copy, which `laid_out` makes.
template <class T, class S>
bool lies_in_vectors(const S& operand, bool across) {
  if constexpr (is_memory_of<T, S>) {
    return element_count(operand.shape()) == 0 || has_vectors(across ? with_turned_axes(operand) : operand, 8);
  } else {
    return true;
  }
}
template <class T, class S, class Copies>
S in_vectors(const S& operand, bool across, Copies& laid_out) {
  if constexpr (is_memory_of<T, S>) {
    if (lies_in_vectors<T>(operand, across)) return operand;
    const View<const T, 2> made = laid_out(operand, across);
    return {const_cast<T*>(made.data()), made.shape(), made.strides()};
  } else {
    return operand;
  }
}

namespace detail {
// In the tiles that take the least time, where others than the large ones are for these operands; or in those that are
// asked for.
template <class Tile, class Op, class T, bool BDeep, class A, class B, class C>
bool launch_best_wave_matmul(const A& a, const B& b, const C& c, const WaveMatmulShape<several_count<B>>& shape,
                             Stream stream) {
  if constexpr (!std::is_void_v<Tile>) {
    return launch_wave_matmul<Tile, Op, T, BDeep>(a, b, c, shape, stream);
  } else {
    if constexpr (has_small_tiles<T, A, B, C>) {
      constexpr int together = most_together<C, several_count<B>>;
      using Small = SmallWaveTile<together>;
      using Few = FewRowsWaveTile<together>;
      const DeviceLimits limits = device_limits(stream);
      const auto time = [&]<class Each>() { return wave_time<Each>(count_tiles<Each>(c, shape), shape.K, limits); };
      const bool leaves_idle = count_tiles<WaveMatmulTile>(c, shape) < limits.multiprocessors;
      const std::int64_t large = leaves_idle ? time.template operator()<WaveMatmulTile>() : 0;
      const std::int64_t small = time.template operator()<Small>(), few = time.template operator()<Few>();
      if (few < large && few <= small) return launch_wave_matmul<Few, Op, T, BDeep>(a, b, c, shape, stream);
      if (small < large) return launch_wave_matmul<Small, Op, T, BDeep>(a, b, c, shape, stream);
    }
    return launch_wave_matmul<WaveMatmulTile, Op, T, BDeep>(a, b, c, shape, stream);
  }
}
}  // namespace detail

// c = a * b for each of b: false where device or compiler do not allow it. Op: of matrix cores; Tile: of a block, or
// void for whichever suits.
template <class T, class Op = DeviceTile<T>, class Tile = void, class A, class B, class C>
bool wave_matmul(const A& a, const B& b, const C& c, Stream stream) {
  WaveMatmulShape<several_count<B>> shape{a.shape()[0], a.shape()[1],      {}, emitted_lanes(c), runs_across(a),
                                          {},           whole_lanes(a, 8), {}};
  const bool deep = has_deep_columns<T>(b);
  using Copies = LaidOut<T, 1 + several_count<B>>;
  std::int64_t bytes = 0;
  const auto count = [&](const auto& operand, bool across) {
    if constexpr (is_memory_of<T, std::remove_cvref_t<decltype(operand)>>) {
      if (!lies_in_vectors<T>(operand, across)) bytes += Copies::bytes(operand, across);
    }
  };
  count(a, false);
  int product = 0;
  for_each_of(b, [&](const auto& each) {
    shape.N[product] = each.shape()[1];
    shape.b_lanes[product] = whole_lanes(each, 8);
    shape.b_across[product++] = runs_across(each);
    count(each, deep);
  });
  const Workspace memory(bytes, stream);
  Copies laid_out(memory.data(), stream);
  const A left = in_vectors<T>(a, false, laid_out);
  const B right = with_each(b, [&](const auto& each) { return in_vectors<T>(each, deep, laid_out); });
  laid_out.launch();
  if constexpr (is_memory_of<T, B>) {
    if (deep) {
      const auto turned = with_each(right, [](const auto& view) { return with_turned_axes(view); });
      return detail::launch_best_wave_matmul<Tile, Op, T, true>(left, turned, c, shape, stream);
    }
  }
  return detail::launch_best_wave_matmul<Tile, Op, T, false>(left, right, c, shape, stream);
}

}  // namespace kgen::gpu

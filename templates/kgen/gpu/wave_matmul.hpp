// Matrix multiplication on matrix cores that each wave uses alone: mma.sync of NVIDIA's devices from sm_80 on, MFMA and
// WMMA of AMD's. Tiles of the operands come to a ring of stages (CopyPipeline), from memory or through what a prologue
// makes of it (TileLoad); each wave multiplies its part of them (DeviceTile, which a variant swaps), and its sums go
// from its registers to the sink, 8 lanes at a time (emit_tile).
#pragma once

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

// What a block computes: 128 rows, and 128 columns in all of the products that it computes together. AMD's devices have
// less shared memory and more registers, and nothing that copies for a wave which waits.
struct WaveMatmulTile {
  static constexpr int rows = 128, columns = 128;
#if defined(__HIP_PLATFORM_AMD__) || (defined(KGEN_SIMT) && KGEN_SIMT_WAVE == 64)
  static constexpr int threads = 256, stages = 2;
#else
  static constexpr int threads = 128, stages = 3;
#endif

  template <class T>
  struct alignas(128) Stage {
    static constexpr int depth = 64 / static_cast<int>(sizeof(T));
    T elements[(rows + columns) * depth];
  };
  template <class T>
  using Pipeline = CopyPipeline<Stage<T>, stages>;
};

// Of `Count` products. Operands whose neighbours in memory are in neighbouring lines of a tile are read across these.
template <int Count>
struct WaveMatmulShape {
  std::int64_t M, K, N[Count];
  Lanes lanes;  // of what the sinks read and write: whole vectors of 8, or any
  bool a_across, b_across[Count];
  Lanes a_lanes = Lanes::any, b_lanes[Count] = {};  // of what prologues read

  // The tiles of the products from number `first` on that are computed `Together`, and where one begins.
  template <int Together>
  KGEN_FN std::int64_t tiles(int first) const {
    const TileOrder tiles = order<Together>(first);
    return std::int64_t{tiles.rows} * tiles.columns;
  }
  template <int Together>
  KGEN_FN Index<2> origin(int first, int tile) const {
    const Index<2> place = order<Together>(first)(tile);
    return {place[0] * WaveMatmulTile::rows, place[1] * (WaveMatmulTile::columns / Together)};
  }

 private:
  template <int Together>
  KGEN_FN TileOrder order(int first) const {
    constexpr int columns = WaveMatmulTile::columns / Together;
    return {static_cast<int>((M + WaveMatmulTile::rows - 1) / WaveMatmulTile::rows),
            static_cast<int>((N[first] + columns - 1) / columns)};
  }
};

// A wave's part of a tile of `Count` products, as the rows of Op's tiles and their columns. It is as a Layout of
// emit_sums wants it.
template <class Op, int Count, bool BDeep>
struct WavePart {
  static constexpr int of_product = WaveMatmulTile::columns / Count, waves = WaveMatmulTile::threads / wave_size;
  // Where there are eight waves, those of RDNA 3: of two ways the one for which its compiler finds registers.
  static constexpr int columns = Count == 1 && (waves == 4 || !BDeep) ? 64 : 32;
  static constexpr int across = of_product / columns, rows = WaveMatmulTile::rows / (waves / across);
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
  static constexpr bool is_of_quads = false;
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

// ---- the kernel

// The tile at `origin` of the products First to First + Count, which `c` takes together, up to row `M` and column `N`.
// BDeep: right operands are given as their columns, [N, K].
template <class Op, class T, bool BDeep, int First, int Count, bool IsAlone, class A, class B, class C, class Shape,
          int... I>
KGEN_FN void multiply_tile_of(typename WaveMatmulTile::Stage<T>* stages, const A& a, const B& b, const C& c,
                              const Shape& shape, Index<2> origin, std::integer_sequence<int, I...>) {
  using Tile = WaveMatmulTile;
  using Part = WavePart<Op, Count, BDeep>;
  using Left = TileLayout<T, Tile::rows, true>;
  using Right = TileLayout<T, Part::of_product, BDeep>;
  const std::int64_t N = shape.N[First];
  typename Part::Sums sums[Count] = {};
  auto loads = loads_together(
      TileLoad<T, Left, 0, Tile::threads, A>({a, origin[0], shape.M, shape.K, shape.a_across, shape.a_lanes}),
      TileLoad<T, Right, Left::elements + I * Right::elements, Tile::threads,
               std::remove_cvref_t<decltype(nth<First + I>(b))>>(
          {nth<First + I>(b), origin[1], N, shape.K, shape.b_across[First + I], shape.b_lanes[First + I]})...);
  const auto add_stages = [&]<bool Whole>() KGEN_LAMBDA {
    Tile::Pipeline<T> pipeline(stages);
    constexpr int ahead = Tile::Pipeline<T>::ahead * Left::depth;
    for (std::int64_t k = 0; k < ahead && shape.K > 0; k += Left::depth) pipeline.template fill<Whole>(loads, k);
    for (std::int64_t k = 0; k < shape.K; k += Left::depth) {
      const auto& stage = pipeline.read();
      const auto next = pipeline.template fill<Whole>(loads, k + ahead);
      const T* right = stage.elements + Left::elements;
      (Part::template multiply<Left, Right>(sums[I], stage.elements, right + I * Right::elements), ...);
    }
  };
  if (loads.is_whole()) {
    add_stages.template operator()<true>();
  } else if constexpr (!decltype(loads)::always_whole) {
    add_stages.template operator()<false>();
  }
  origin[0] += Part::row();
  origin[1] += Part::column();
  emit_tile<Part, 4, IsAlone>(sums, c, origin, Index<2>{shape.M, N}, shape.lanes);
}

// Whether a kernel does it where this is compiled for. Operands in memory are left to Hopper's warpgroups; the executor
// stands for any device.
#if defined(KGEN_SIMT)
template <class T, class A, class B>
inline constexpr bool runs_waves = has_matrix_cores;
#else
template <class T, class A, class B>
inline constexpr bool runs_waves = has_matrix_cores && !(has_warpgroups && is_memory_of<T, A> && is_memory_of<T, B>);
#endif

template <class Op, class T, bool BDeep, class A, class B, class C>
KGEN_GLOBAL((runs_waves<T, A, B> ? WaveMatmulTile::threads : 1), 2)
wave_matmul_kernel(A a, B b, C c, WaveMatmulShape<several_count<B>> shape) {
  if constexpr (runs_waves<T, A, B>) {
    take_turn();
    SharedMemory shared;
    constexpr int products = several_count<B>;
    auto* stages = shared.take<WaveMatmulTile::Stage<T>>(WaveMatmulTile::stages);
    std::int64_t rest = block_index();  // a block has one tile
    for_each_sink<products>(c, [&]<int First, int Count>(const auto& sink) KGEN_LAMBDA {
      const std::int64_t own = shape.template tiles<Count>(First);
      if (Count == products || (rest >= 0 && rest < own)) {
        const Index<2> origin = shape.template origin<Count>(First, static_cast<int>(rest));
        multiply_tile_of<Op, T, BDeep, First, Count, Count == products>(stages, a, b, sink, shape, origin,
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
template <class Op, class T, bool BDeep, class A, class B, class C>
bool launch_wave_matmul(const A& a, const B& b, const C& c, WaveMatmulShape<several_count<B>> shape, Stream stream) {
  constexpr int products = several_count<B>;
  std::int64_t tiles = 0;
  for_each_sink<products>(c, [&]<int First, int Count>(const auto&) { tiles += shape.template tiles<Count>(First); });
  const auto kernel = wave_matmul_kernel<Op, T, BDeep, A, B, C>;
  const std::int64_t bytes = WaveMatmulTile::Pipeline<T>::shared();
  if (tiles > most_blocks(WaveMatmulTile::threads) || device_limits(stream).shared_bytes < bytes ||
      !runs_threads(reinterpret_cast<const void*>(kernel), WaveMatmulTile::threads, stream)) {
    return false;
  }
  if (tiles == 0) return true;
  const auto seen = [](const auto& object) { return with_access(object, 8); };
  const Grid grid{"wave_matmul", tiles, WaveMatmulTile::threads, bytes};
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

// c = a * b for each of b: false where device or compiler do not allow it. Op: of matrix cores.
template <class T, class Op = DeviceTile<T>, class A, class B, class C>
bool wave_matmul(const A& a, const B& b, const C& c, Stream stream) {
  WaveMatmulShape<several_count<B>> shape{a.shape()[0], a.shape()[1],      {}, whole_lanes(c, 8), runs_across(a),
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
      return detail::launch_wave_matmul<Op, T, true>(left, turned, c, shape, stream);
    }
  }
  return detail::launch_wave_matmul<Op, T, false>(left, right, c, shape, stream);
}

}  // namespace kgen::gpu

// Products of batches of matrices on the tensor cores of Hopper, by warpgroup_matmul.hpp's kernel, where a matrix has
// few rows by skinny_matmul.hpp's, and where all of them are small by wave_batched_matmul.hpp's. The rows of all
// products are one behind the other, each product's from a multiple of a tile's rows on; what brings tiles and what
// takes results find the matrix by the number of the row.
#pragma once

#include "kgen/batch.hpp"
#include "kgen/gpu/laid_out.hpp"
#include "kgen/gpu/skinny_matmul.hpp"
#include "kgen/gpu/warpgroup_matmul.hpp"
#include "kgen/gpu/wave_batched_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// By the copy engine, which counts the axes of the batch behind those of a matrix. `a_steps`, `b_steps`: 0 along axes
// along which an operand repeats, else 1.
template <class Tiles, bool BDeep, int Axes>
struct EngineBatches {
  static constexpr const char* name = "warpgroup_batched_matmul";
  static constexpr int threads = 1, registers = 56;
  TensorMap a, b;
  Positions<Axes + 1> rows;
  int a_steps[Axes], b_steps[Axes];
  int box_rows;  // of the left operand that come: of a stage, the first

  KGEN_FN int bytes() const { return static_cast<int>(sizeof(Tiles)) - (Tiles::rows - box_rows) * swizzle_bytes; }

  struct Tile {
    const EngineBatches& loads;
    int row, column, k, a_at[Axes], b_at[Axes];

    KGEN_FN Tile(const EngineBatches& loads, int number, int column, int k) : loads(loads), column(column), k(k) {
      const Index<Axes + 1> place = loads.rows(static_cast<std::uint32_t>(number));
      row = static_cast<int>(place[Axes]);
      KGEN_UNROLL
      for (int axis = 0; axis < Axes; ++axis) {
        a_at[axis] = static_cast<int>(place[axis]) * loads.a_steps[axis];
        b_at[axis] = static_cast<int>(place[axis]) * loads.b_steps[axis];
      }
    }
    template <class Stage>
    KGEN_FN void load(const Stage& stage) {
      constexpr int box = BDeep ? Tiles::columns : Tiles::depth;
      copy(stage->a, loads.a, stage.arrival(), k, row, a_at);
      KGEN_UNROLL
      for (int n = 0; n < Tiles::columns; n += box) {
        const int at = column + n;
        copy(stage->b + n * Tiles::depth, loads.b, stage.arrival(), BDeep ? k : at, BDeep ? at : k, b_at);
      }
      k += Tiles::depth;
    }

   private:
    template <class T>
    KGEN_FN static void copy(T* to, const TensorMap& map, Mbarrier& arrival, int x, int y, const int (&at)[Axes]) {
      static_assert(Axes >= 1 && Axes <= 3);
      if constexpr (Axes == 1) copy_tile(to, map, arrival, x, y, at[0]);
      if constexpr (Axes == 2) copy_tile(to, map, arrival, x, y, at[0], at[1]);
      if constexpr (Axes == 3) copy_tile(to, map, arrival, x, y, at[0], at[1], at[2]);
    }
  };
  // From depth k on.
  template <int, int>
  KGEN_FN Tile tile(int row, int column, int k = 0) const {
    return {*this, row, column, k};
  }
};

// By threads, from anywhere in memory. Steps in elements.
template <class T, class Tiles, bool BDeep, int Axes>
struct CopiedBatches {
  using Matrices = CopiedTiles<T, Tiles, BDeep, 1>;
  static constexpr const char* name = "warpgroup_batched_matmul_copied";
  static constexpr int threads = Matrices::threads, registers = Matrices::registers;
  Matrices first;
  Positions<Axes + 1> rows;
  std::int64_t a_steps[Axes], b_steps[Axes];

  struct Tile {
    Matrices own;
    int row, column, k = 0;

    template <class Stage>
    KGEN_FN void load(const Stage& stage) {
      typename Matrices::template Tile<0, 1> tile{own, row, column, k};
      tile.load(stage);
      k = tile.k;
    }
  };
  template <int, int>
  KGEN_FN Tile tile(int number, int column) const {
    const Index<Axes + 1> place = rows(static_cast<std::uint32_t>(number));
    Tile tile{first, static_cast<int>(place[Axes]), column};
    KGEN_UNROLL
    for (int axis = 0; axis < Axes; ++axis) {
      tile.own.a.data += place[axis] * a_steps[axis];
      tile.own.b[0].data += place[axis] * b_steps[axis];
    }
    return tile;
  }
};

namespace detail {
// How far apart the matrices of an operand are along each axis of the batch, in elements: 0 where it repeats.
template <int Axes, class T, int R>
void batch_steps(const View<T, R>& view, std::int64_t (&steps)[Axes]) {
  for (int axis = 0; axis < Axes; ++axis) {
    const int own = axis - (Axes - (R - 2));
    steps[axis] = own >= 0 && view.extent(own) > 1 ? view.stride(own) : 0;
  }
}

// matrix_in_memory() of all matrices of an operand; steps as EngineBatches has them.
template <class T, int Axes, int R>
std::optional<BoxedMemory<Axes + 2>> batch_in_memory(const View<const T, R>& view, bool across, int box_columns,
                                                     int box_rows, int (&steps)[Axes]) {
  const View<const T, 2> first = matrix_of(view, Index<R>{}, last_axes<2>(view.shape()));
  const auto matrix = matrix_in_memory<const T>(first, across, box_columns, box_rows);
  if (!matrix) return std::nullopt;
  BoxedMemory<Axes + 2> batch{
      view.data(), {matrix->extents[0], matrix->extents[1]}, {0, matrix->pitches[1]}, {matrix->box[0], matrix->box[1]}};
  std::int64_t distances[Axes];
  batch_steps(view, distances);
  for (int axis = 0; axis < Axes; ++axis) {
    const std::int64_t pitch = distances[axis] * static_cast<std::int64_t>(sizeof(T));
    steps[axis] = pitch != 0 ? 1 : 0;
    batch.extents[axis + 2] = pitch != 0 ? view.extent(axis - (Axes - (R - 2))) : 1;
    batch.pitches[axis + 2] = pitch != 0 ? pitch : matrix->pitches[1];
    batch.box[axis + 2] = 1;
    if (pitch < 0 || pitch % 16 != 0 || pitch >= std::int64_t{1} << 40) return std::nullopt;
  }
  return batch;
}

template <int Axes, class T, int R>
bool is_batch_in_memory(const View<const T, R>& view, bool across) {
  int steps[Axes];
  return batch_in_memory<T>(view, across, 1, 1, steps).has_value();
}

// A product of batches, as all ways to it have it.
template <class T, int Ra, int Rb, class C>
struct BatchedProduct {
  static constexpr int axes = (Ra > Rb ? Ra : Rb) - 2;
  View<const T, Ra> a;
  View<const T, Rb> b;
  NumberedRows<C, axes + 1> c;
  WarpgroupMatmulShape<1> shape;

  template <class Tiles, bool BDeep>
  auto engine_batches() const {
    constexpr int box = BDeep ? Tiles::columns : Tiles::depth;
    EngineBatches<Tiles, BDeep, axes> loads;
    loads.rows = c.rows;
    loads.box_rows = Tiles::rows == 128 ? 128 : std::min(Tiles::rows, static_cast<int>((shape.M + 7) / 8 * 8));
    const auto left = batch_in_memory<T>(a, false, Tiles::depth, loads.box_rows, loads.a_steps);
    const auto right = batch_in_memory<T>(b, BDeep, Tiles::depth, box, loads.b_steps);
    const auto left_map = left && right ? tensor_map<T>(*left) : std::nullopt;
    const auto right_map = left_map ? tensor_map<T>(*right) : std::nullopt;
    if (right_map) loads.a = *left_map, loads.b = *right_map;
    return right_map ? std::optional(loads) : std::nullopt;
  }
  template <int Columns, bool BDeep>
  auto copied_batches() const {
    CopiedBatches<T, OperandTiles<T, Columns>, BDeep, axes> loads;
    const auto copied = []<int R>(const View<const T, R>& view, bool across) {
      CopiedMatrix<T> matrix(matrix_of(view, Index<R>{}, last_axes<2>(view.shape())), across);
      const Span all(view);
      matrix.begin = all.begin, matrix.end = all.end;
      return matrix;
    };
    loads.first.a = copied(a, false);
    loads.first.b[0] = copied(b, BDeep);
    loads.rows = c.rows;
    batch_steps(a, loads.a_steps);
    batch_steps(b, loads.b_steps);
    return std::optional(loads);
  }

  template <int Columns, bool BDeep>
  bool launch_by_engine(const DeviceLimits& limits, Stream stream) const {
    using Tiles = OperandTiles<T, Columns>;
    using Loads = EngineBatches<Tiles, BDeep, axes>;
    return launch_warpgroup_matmul<T, Columns, BDeep, Loads>(c, shape, limits, stream,
                                                             [&] { return engine_batches<Tiles, BDeep>(); });
  }
  // In tiles of few rows, where these run at once, or their depth makes up for that each is a block's beginning: else
  // blocks that go from tile to tile are faster (tests/bench/H200.md).
  template <bool BDeep>
  bool launch_skinny(const DeviceLimits& limits, Stream stream) const {
    constexpr int rows = 16, enough_steps = 8;
    using Matmul = SkinnyMatmul<T, rows, 2, BDeep>;
    using Loads = EngineBatches<typename Matmul::Tiles, BDeep, axes>;
    const auto kernel = skinny_matmul_kernel<Matmul, Loads, 1, NumberedRows<C, axes + 1>>;
    constexpr int threads = Matmul::template threads<NumberedRows<C, axes + 1>>;
    if (limits.shared_bytes < Matmul::shared() || !runs_warpgroups(reinterpret_cast<const void*>(kernel), threads)) {
      return false;
    }
    BatchedProduct own = *this;
    own.shape.tile_rows = rows;
    own.c.rows = Positions<axes + 1>(join(batch_extents(a.shape(), b.shape()), Index<1>{own.shape.batch_rows()}));
    const auto loads = own.template engine_batches<typename Matmul::Tiles, BDeep>();
    if (!loads) return false;
    const auto grid = [&](int tiles, int blocks) {
      return Grid{"skinny_batched_matmul", std::int64_t{tiles} * blocks, threads, Matmul::shared(), blocks};
    };
    const int steps = shape.steps(Matmul::depth);
    const ClustersAtOnce room = clusters_at_once(grid(1, 1), limits, stream, reinterpret_cast<const void*>(kernel));
    const SharedDepth shared = Matmul::times.best(own.shape.template count_tiles<rows>(own.c, Matmul::columns), steps,
                                                  own.shape.memory_time(steps), room, limits);
    if (shared.rounds > 1 && steps < enough_steps) return false;
    own.shape.tiles = shared.tiles;
    own.shape.blocks = shared.blocks;
    own.shape.allows_next = shared.tiles * shared.blocks * 2 <= limits.multiprocessors * Matmul::blocks;
    launch_early(grid(shared.tiles, shared.blocks), stream, kernel, *loads, with_access(own.c, 8), own.shape);
    return true;
  }
  // By each wave alone in small tiles, where these take less time than `other`: blocks that go from tile to tile have
  // tiles of 128 rows, and wait for each one's end.
  template <bool BDeep>
  bool launch_small(std::int64_t other, const DeviceLimits& limits, Stream stream) const {
    if constexpr (sizeof(T) == 2 && has_small_tiles<T, View<const T, Ra>, View<const T, Rb>, C>) {
      if (!lies_in_vectors<T>(a, false) || !lies_in_vectors<T>(b, BDeep)) return false;
      const WaveBatchShape<axes> own{batch_extents(a.shape(), b.shape()),
                                     {shape.M, shape.K, {shape.N[0]}, shape.lanes, false, {}}};
      const double memory = shape.memory_time(shape.steps(swizzle_bytes / static_cast<int>(sizeof(T))));
      const auto time = [&]<class Tile>() {
        const std::int64_t alone = wave_time<Tile>(count_tiles<Tile>(own), shape.K, limits);  // or never
        return alone < other ? time_together(alone, memory) : alone;
      };
      const std::int64_t few = time.template operator()<FewRowsWaveTile<1>>();
      const std::int64_t small = time.template operator()<SmallWaveTile<1>>();
      const auto in_tiles = [&]<class Tile>() {
        using Op = DeviceTile<T>;
        if constexpr (BDeep) {
          return launch_wave_batched_matmul<Tile, Op, T, true>(a, with_turned_axes(b), c.tensor, own, stream);
        } else {
          return launch_wave_batched_matmul<Tile, Op, T, false>(a, b, c.tensor, own, stream);
        }
      };
      if (few <= small) return few < other && in_tiles.template operator()<FewRowsWaveTile<1>>();
      return small < other && in_tiles.template operator()<SmallWaveTile<1>>();
    } else {
      return false;
    }
  }
  // False where device or compiler do not allow it. What the copy engine does not take is copied to where it does;
  // where its matrices are not evenly apart, all comes through registers.
  template <bool BDeep>
  bool launch(const DeviceLimits& limits, Stream stream) const {
    bool copies_all = true;
    const auto to_copy = [&]<int R>(const View<const T, R>& view, bool across) {
      if (is_batch_in_memory<axes>(view, across)) return std::optional<View<const T, 3>>();
      const auto lines = lines_of_batch(view, across);
      copies_all = copies_all && lines.has_value();
      return lines;
    };
    const auto left = to_copy(a, false), right = to_copy(b, BDeep);
    using Copies = LaidOut<T, 2>;
    const std::int64_t bytes = (left ? Copies::bytes(*left) : 0) + (right ? Copies::bytes(*right) : 0);
    using Loads = EngineBatches<OperandTiles<T, 128>, BDeep, axes>;
    if (bytes == 0 || !copies_all || !runs_warpgroup_matmul<T, BDeep, Loads, 1, NumberedRows<C, axes + 1>>(limits)) {
      return launch_as_it_lies<BDeep>(limits, stream);
    }
    const Workspace memory(bytes, stream);
    Copies laid_out(memory.data(), stream);
    BatchedProduct copied = *this;
    if (left) copied.a = batch_of_lines(laid_out(*left), a, false);
    if (right) copied.b = batch_of_lines(laid_out(*right), b, BDeep);
    laid_out.launch();
    return copied.template launch_as_it_lies<BDeep>(limits, stream);
  }

 private:
  template <bool BDeep>
  bool launch_as_it_lies(const DeviceLimits& limits, Stream stream) const {
    if (shape.M <= 16 && launch_skinny<BDeep>(limits, stream)) return true;
    constexpr int depth = OperandTiles<T, 64>::depth;
    const auto [columns, time] = best_tiles<256, 128, 64>(shape, limits.multiprocessors, shape.steps(depth));
    if (launch_small<BDeep>(time, limits, stream)) return true;
    if (columns == 256 && launch_by_engine<256, BDeep>(limits, stream)) return true;
    if (columns == 128 && launch_by_engine<128, BDeep>(limits, stream)) return true;
    if (columns == 64 && launch_by_engine<64, BDeep>(limits, stream)) return true;
    using Loads = CopiedBatches<T, OperandTiles<T, 128>, BDeep, axes>;
    return launch_warpgroup_matmul<T, 128, BDeep, Loads>(c, shape, limits, stream,
                                                         [&] { return copied_batches<128, BDeep>(); });
  }
};
}  // namespace detail

// Whether operands of these types may be multiplied so.
template <int LeastBits, class A, class B>
inline constexpr bool has_warpgroup_batched_matmul =
    has_warpgroup_operands<LeastBits, A, B>&& product_rank<A, B> >= 3 && product_rank<A, B> <= 5;

// c = a * b for each of a batch: false where device or compiler do not allow it.
template <class A, class B, class C>
bool warpgroup_batched_matmul(const A& a, const B& b, const C& c, Stream stream) {
  using T = view_element_t<A>;
  constexpr int axes = product_rank<A, B> - 2;
  const Index<axes> batch = batch_extents(a.shape(), b.shape());
  const Index<2> left = last_axes<2>(a.shape()), right = last_axes<2>(b.shape());
  const std::int64_t M = left[0], K = left[1], N = right[1], batches = element_count(batch);
  constexpr std::int64_t most = 1 << 30;  // rows are counted in 32 bits, depth and tiles as well
  const bool fits = M > 0 && M < most && N > 0 && N < most && K > 0 && K < most && batches > 0 && batches < most &&
                    (M + 127) / 128 * 128 * batches < most && (M + 127) / 128 * batches * ((N + 63) / 64) < most;
  if (!fits) return false;
  WarpgroupMatmulShape<1> shape{M, K, {N}, 0, Lanes::any, 1, 1, static_cast<int>(batches)};
  const NumberedRows<C, axes + 1> sink{c, Positions<axes + 1>(join(batch, Index<1>{shape.batch_rows()}))};
  shape.lanes = emitted_lanes(sink);
  const detail::BatchedProduct<T, source_rank<A>, source_rank<B>, C> product{a, b, sink, shape};
  const DeviceLimits limits = device_limits(stream);
  constexpr int line = source_rank<B> - 1;
  const bool deep = b.stride(line - 1) == 1 && (N == 1 || b.stride(line) != 1);
  if constexpr (!deep_only<T>) {
    if (!deep) return product.template launch<false>(limits, stream);
  }
  return product.template launch<true>(limits, stream);
}

}  // namespace kgen::gpu

#endif

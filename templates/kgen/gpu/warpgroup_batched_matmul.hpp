// Products of batches of matrices on the tensor cores of Hopper, by warpgroup_matmul.hpp's kernel, where a matrix has
// few rows by few_rows_matmul.hpp's, where it is few tiles for its depth by skinny_matmul.hpp's, and where all of them
// are small by wave_batched_matmul.hpp's. The rows of all products are one behind the other, each product's from a
// multiple of a tile's rows on; what brings tiles and what takes results find the matrix by the number of the row.
#pragma once

#include "kgen/batch.hpp"
#include "kgen/gpu/batch_tile_io.hpp"
#include "kgen/gpu/few_rows_matmul.hpp"
#include "kgen/gpu/laid_out.hpp"
#include "kgen/gpu/skinny_matmul.hpp"
#include "kgen/gpu/warpgroup_matmul.hpp"
#include "kgen/gpu/wave_batched_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

namespace detail {
// A product of batches, as all ways to it have it.
template <class T, int Ra, int Rb, class C, class Known>
struct BatchedProduct {
  static constexpr int axes = (Ra > Rb ? Ra : Rb) - 2;
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
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
    loads.first.a = first_of_batch(a, false);
    loads.first.b[0] = first_of_batch(b, BDeep);
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
  // The same product in tiles of so many rows.
  template <int Rows>
  BatchedProduct in_tiles_of() const {
    BatchedProduct own = *this;
    own.shape.tile_rows = Rows;
    own.c.rows = Positions<axes + 1>(join(batch_extents(a.shape(), b.shape()), Index<1>{own.shape.batch_rows()}));
    return own;
  }
  // Of up to 8 rows, by right operands as they lie, where that takes less time than what needs them otherwise.
  template <bool BDeep>
  bool launch_few_rows(const DeviceLimits& limits, Stream stream) const {
    if constexpr (sizeof(T) != 2) {
      return false;
    } else {
      if (shape.M > 8 || !is_of_lines(a, false) || !is_of_lines(b, BDeep)) return false;
      if (has_whole_lines(b, BDeep) && (!BDeep || has_whole_lines(a, false))) {
        return launch_few_rows_of<BDeep, true>(limits, stream);
      }
      if constexpr (Known::is_in_vectors) {
        return false;
      } else {
        return launch_few_rows_of<BDeep, false>(limits, stream);
      }
    }
  }
  template <bool BDeep, bool Aligned>
  bool launch_few_rows_of(const DeviceLimits& limits, Stream stream) const {
    constexpr int short_depth = Aligned ? 48 : 256;  // beyond which lines of 32 bytes at a time are slow
    using Together = std::conditional_t<BDeep, DeepColumns<T, Aligned>, AcrossColumns<T, Aligned>>;
    using Alone = std::conditional_t<BDeep, ShortColumns<T, Aligned>, AcrossColumns<T, Aligned>>;
    using Operands = FewRowsBatches<T, axes>;
    using Sink = NumberedRows<C, axes + 1>;
    const BatchedProduct own = in_tiles_of<8>();
    FewRowsLaunch<FewRowsMatmul<TensorCoreSteps<T, Alone>, 4>, Operands, 1, Sink> alone{own.c, own.shape, limits,
                                                                                        stream};
    FewRowsLaunch<FewRowsMatmul<TensorCoreSteps<T, Together>, 1>, Operands, 1, Sink> together{own.c, own.shape, limits,
                                                                                              stream};
    if (!alone.fits() || !together.fits()) return false;
    Operands operands{first_of_batch(a, false), first_of_batch(b, BDeep), own.c.rows, {}, {}};
    batch_steps(a, operands.a_steps);
    batch_steps(b, operands.b_steps);
    const SharedDepth one = alone.best(), shared = together.best();
    const bool is_alone = one.time <= shared.time && (!BDeep || shape.K <= short_depth);
    if constexpr (Aligned) {
      if (time_of_tiles<BDeep>(limits, stream) <= (is_alone ? one : shared).time) return false;
    }
    if (is_alone) {
      alone(operands, one);
    } else {
      together(operands, shared);
    }
    return true;
  }
  // What tiles of 16 rows take, or small ones.
  template <bool BDeep>
  std::int64_t time_of_tiles(const DeviceLimits& limits, Stream stream) const {
    if (!is_batch_in_memory<axes>(a, false) || !is_batch_in_memory<axes>(b, BDeep)) return never;
    return std::min(skinny_time<BDeep>(limits, stream), Small<BDeep>(*this, limits).time());
  }
  // In tiles of so many rows, which are this product's, whose depth blocks share.
  template <int Rows, bool BDeep>
  auto skinny(const DeviceLimits& limits, Stream stream) const {
    using Matmul = SkinnyMatmul<T, Rows, Rows == 16 ? 2 : 1, BDeep>;
    using Loads = EngineBatches<typename Matmul::Tiles, BDeep, axes>;
    return SkinnyLaunch<Matmul, Loads, 1, NumberedRows<C, axes + 1>>{"skinny_batched_matmul", c, shape, limits, stream};
  }
  // In tiles of 16 rows, where these run at once, or their depth makes up for that each is a block's beginning: else
  // blocks that go from tile to tile are faster (tests/bench/MATMUL_KERNELS.md).
  template <bool BDeep>
  std::int64_t skinny_time(const DeviceLimits& limits, Stream stream) const {
    constexpr int enough_steps = 8;
    if (shape.M > 16) return never;
    const BatchedProduct own = in_tiles_of<16>();
    const auto tiles = own.template skinny<16, BDeep>(limits, stream);
    if (!tiles.fits()) return never;
    const SharedDepth shared = tiles.best(slower_memory);
    if (shared.rounds > 1 && tiles.steps() < enough_steps) return never;
    // Of half of the columns and less, all are brought, which counts where multiprocessors have two blocks.
    const bool wastes = shape.N[0] <= 64 && shared.tiles * shared.blocks > limits.multiprocessors;
    return wastes ? 2 * shared.time : shared.time;
  }
  // In tiles of 64 rows, whose depth blocks share, all at once.
  template <bool BDeep>
  std::int64_t shared_time(const DeviceLimits& limits, Stream stream) const {
    constexpr int meeting = 1200;  // of few blocks with much to add up
    const BatchedProduct own = in_tiles_of<64>();
    const auto tiles = own.template skinny<64, BDeep>(limits, stream);
    if (!tiles.fits()) return never;
    const SharedDepth shared = tiles.best(slower_memory);
    return shared.rounds == 1 && shared.blocks > 1 ? shared.time + meeting : never;
  }
  template <int Rows, bool BDeep>
  bool launch_skinny(const DeviceLimits& limits, Stream stream) const {
    using Tiles = typename SkinnyMatmul<T, Rows, Rows == 16 ? 2 : 1, BDeep>::Tiles;
    const BatchedProduct own = in_tiles_of<Rows>();
    auto tiles = own.template skinny<Rows, BDeep>(limits, stream);
    return tiles(tiles.best(slower_memory), own.template engine_batches<Tiles, BDeep>());
  }
  WaveBatchShape<axes> wave_shape() const {
    return {batch_extents(a.shape(), b.shape()), {shape.M, shape.K, {shape.N[0]}, shape.lanes, false, {}}};
  }
  // By each wave alone in small tiles: what that takes, in ns, or never.
  template <bool BDeep>
  struct Small {
    static constexpr bool has_tiles = sizeof(T) == 2 && has_small_tiles<T, View<const T, Ra>, View<const T, Rb>, C>;
    using Thin = ThinWaveTile<BDeep>;
    const BatchedProduct& product;
    WaveBatchShape<axes> shape;
    std::int64_t few = never, small = never, thin = never;

    Small(const BatchedProduct& own, const DeviceLimits& limits) : product(own), shape(own.wave_shape()) {
      if constexpr (has_tiles) {
        if (!lies_in_vectors<T>(own.a, false) || !lies_in_vectors<T>(own.b, BDeep)) return;
        const double memory = own.shape.memory_time(own.shape.steps(swizzle_bytes / static_cast<int>(sizeof(T))));
        const auto time = [&]<class Tile>() {
          const std::int64_t alone = wave_time<Tile>(count_tiles<Tile>(shape), own.shape.K, limits);
          return alone == never ? never : time_together(alone, memory);
        };
        few = time.template operator()<FewRowsWaveTile<1>>();
        small = time.template operator()<SmallWaveTile<1>>();
        if (own.shape.K <= Thin::most_depth) thin = time.template operator()<Thin>();
      }
    }
    std::int64_t time() const { return std::min({few, small, thin}); }
    bool operator()(Stream stream) const {
      if constexpr (has_tiles) {
        if (thin == time()) return launch<Thin>(stream);
        return few <= small ? launch<FewRowsWaveTile<1>>(stream) : launch<SmallWaveTile<1>>(stream);
      } else {
        return false;
      }
    }

   private:
    template <class Tile>
    bool launch(Stream stream) const {
      using Op = DeviceTile<T>;
      const auto& a = product.a;
      const auto& to = product.c.tensor;
      if constexpr (BDeep) {
        return launch_wave_batched_matmul<Tile, Op, T, true>(a, with_turned_axes(product.b), to, shape, stream);
      } else {
        return launch_wave_batched_matmul<Tile, Op, T, false>(a, product.b, to, shape, stream);
      }
    }
  };
  // The columns of tiles by which blocks go from one to the next, and what that takes: there is more to each end than
  // of a single product.
  TileChoice large_tiles(const DeviceLimits& limits) const {
    TileChoice best = best_tiles<256, 128, 64>(shape, limits.multiprocessors, shape.steps(OperandTiles<T, 64>::depth));
    for (const TileTime& each : tile_times) {
      if (each.columns != best.columns) continue;
      const std::int64_t tiles = shape.count_tiles(c, each.columns);
      best.time += (tiles + limits.multiprocessors - 1) / limits.multiprocessors * each.end / 2;
    }
    return best;
  }
  // By each wave alone in small tiles of operands as they lie, where that takes less time than `copied` bytes to where
  // they lie better, and what multiplies them there.
  template <bool BDeep>
  bool launch_small_lines(std::int64_t copied, const DeviceLimits& limits, Stream stream) const {
    if constexpr (Small<BDeep>::has_tiles && !Known::is_in_vectors) {
      if (!is_of_lines(a, false) || !is_of_lines(b, BDeep)) return false;
      using Op = DeviceTile<T>;
      using Tile = LineWaveTile;
      if (shape.K > Tile::most_depth) return false;
      const WaveBatchShape<axes> own = wave_shape();
      const int steps = shape.steps(swizzle_bytes / static_cast<int>(sizeof(T)));
      const double memory = shape.memory_time(steps), begins = 3500, copied_in_ns = 2.0 / 4200;
      const std::int64_t lines = wave_time<Tile>(count_tiles<Tile>(own), shape.K, limits),
                         small = wave_time<SmallWaveTile<1>>(count_tiles<SmallWaveTile<1>>(own), shape.K, limits);
      if (lines == never) return false;
      const auto other = static_cast<double>(std::min(large_tiles(limits).time, time_together(small, memory)));
      if (static_cast<double>(time_together(lines, memory)) >=
          other + begins + static_cast<double>(copied) * copied_in_ns) {
        return false;
      }
      const LineBatch<T, Ra> left(a);
      if constexpr (BDeep) {
        const LineBatch<T, Rb> right(with_turned_axes(b));
        return launch_wave_batched_matmul<Tile, Op, T, true>(left, right, c.tensor, own, stream);
      } else {
        return launch_wave_batched_matmul<Tile, Op, T, false>(left, LineBatch<T, Rb>(b), c.tensor, own, stream);
      }
    } else {
      return false;
    }
  }
  // False where device or compiler do not allow it. What the copy engine does not take is copied to where it does;
  // where its matrices are not evenly apart, all comes through registers.
  template <bool BDeep>
  bool launch(const DeviceLimits& limits, Stream stream) const {
    if (launch_few_rows<BDeep>(limits, stream)) return true;
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
    if (bytes > 0 && launch_small_lines<BDeep>(bytes, limits, stream)) return true;
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
    const TileChoice large = large_tiles(limits);
    const int columns = large.columns;
    const Small<BDeep> small(*this, limits);
    // Where matrices have few rows, most of a tile is brought in vain.
    const std::int64_t time = shape.M <= 16 && small.time() != never ? never : large.time;
    const std::int64_t few = skinny_time<BDeep>(limits, stream), shared = shared_time<BDeep>(limits, stream);
    if (few != never && few <= small.time() && launch_skinny<16, BDeep>(limits, stream)) return true;
    const std::int64_t least = std::min({time, small.time(), shared});
    if (small.time() == least && small(stream)) return true;
    if (shared == least && launch_skinny<64, BDeep>(limits, stream)) return true;
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
template <class Known = KnownProduct<>, class A, class B, class C>
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
  const detail::BatchedProduct<T, source_rank<A>, source_rank<B>, C, Known> product{a, b, sink, shape};
  const DeviceLimits limits = device_limits(stream);
  constexpr int line = source_rank<B> - 1;
  const bool deep = b.stride(line - 1) == 1 && (N == 1 || b.stride(line) != 1);
  return with_depth<T, Known>(deep, [&]<bool Deep>() { return product.template launch<Deep>(limits, stream); });
}

}  // namespace kgen::gpu

#endif

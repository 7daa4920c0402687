// Products of floats of 8 bits with a scale for each 128 of the depth of both operands, on the tensor cores of Hopper.
// The parts are warpgroup_matmul.hpp's, but that the sums of each stage, whose depth is that of a scale, are multiplied
// by the stage's scales as they are added to those of the stages before: in f32, which they need anyway, for the tensor
// cores keep 13 bits of them. Other devices and what the copy engine does not take have a prologue of each operand.
#pragma once

#include "kgen/divide.hpp"
#include "kgen/gpu/matmul.hpp"
#include "kgen/gpu/split_matmul.hpp"
#include "kgen/scaled_blocks.hpp"

namespace kgen::gpu {

#if defined(KGEN_WARPGROUPS)

// Scales of blocks of 128 of the depth.
struct BlockScales {
  View<const float, 2> rows;    // [M, blocks]
  View<const float, 2> groups;  // of columns: [N / width, rounded up, blocks]
  Divider width;                // columns that share a scale

  KGEN_FN int group(int column) const {
    auto within = static_cast<std::uint32_t>(column);
    return static_cast<int>(width.split(within));
  }
};

// A line's scales of some blocks, asked for together: where each thread has lines of its own, memory brings more of
// each than is asked for. Of more blocks there are no registers.
inline constexpr int most_scales_ahead = 2;
template <int Count>
struct ScalesAhead {
  static constexpr int count = Count;
  float of[count];

  // Of blocks from `first` on, as far as `blocks`.
  KGEN_FN void ask(const View<const float, 2>& scales, int line, int first, int blocks) {
    const float* const from = scales.data() + line * scales.stride(0);
    if (scales.access().vectors && first + count <= blocks) {
      const auto some = load_run<count, float>(from + first, 1, {true, true});
      KGEN_UNROLL
      for (int i = 0; i < count; ++i) of[i] = some[i];
    } else {
      KGEN_UNROLL
      for (int i = 0; i < count; ++i) {
        if (first + i < blocks) of[i] = load_run<1, float>(from + (first + i) * scales.stride(1), 0, {false, true})[0];
      }
    }
  }
};

// Blocks of the depth, from `first` on, as far as `last`: an even one begins, for scales are asked for in pairs.
struct ScaledPart {
  int first, last;

  // That of number `own` of so many.
  KGEN_FN static ScaledPart of(int blocks, int parts, int own) {
    const ClusterDepth pairs((blocks + 1) / 2, 1, parts, own);
    return {2 * pairs.first, 2 * pairs.last < blocks ? 2 * pairs.last : blocks};
  }
  KGEN_FN int count() const { return last - first; }
};

// Tiles of 128 rows and so many columns of both operands and their scales. Shared: the 128 columns from a multiple of
// 128 on have one scale, or all have, by which those of rows are multiplied already; else each column has its own.
template <int Columns, bool Shared>
struct alignas(tile_alignment) ScaledTiles : OperandTiles<f8e4m3, Columns> {
  static constexpr int held = Columns < 128 ? Columns : 128, parts = Columns / held;  // columns multiplied at a time
  float of_rows[parts][OperandTiles<f8e4m3, Columns>::rows];
  float of_columns[Shared ? 1 : Columns];
  static_assert(Shared || parts == 1);
};

template <int Columns, bool Shared, class Loads>
struct BlockScaledMatmul {
  using T = f8e4m3;
  using Tiles = WarpgroupMatmul<T, Columns, true, Loads>;
  using Stage = ScaledTiles<Columns, Shared>;
  using Order = typename Tiles::Order;
  using Ahead = ScalesAhead<Shared ? most_scales_ahead : 1>;
  // Behind the first warp, of which a thread has the copy engine bring tiles.
  static constexpr int scaling_warps = 2, scaling_threads = scaling_warps * wave_size;
  using Pipeline = TilePipeline<Stage, Tiles::stages, Loads::threads, Tiles::blocks, scaling_warps>;
  static constexpr int depth = Tiles::depth, held = Stage::held, parts = Stage::parts;
  static constexpr int threads = Tiles::threads, blocks = Tiles::blocks;
  static constexpr bool by_engine = Tiles::by_engine;
  static_assert(depth == scaled_depth && by_engine);

  KGEN_FN static Pipeline pipeline(SharedMemory& memory, const Loads& loads) {
    return Pipeline(memory, Tiles::multiplying_threads / wave_size, loads.bytes());
  }

  // A warpgroup: multiplies half of the rows of each tile, and gives the sums to its sink.
  template <class C>
  KGEN_FN static void multiply(Pipeline& pipeline, const C& c, const WarpgroupMatmulShape<1>& shape) {
    const auto body = [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      float sums[Count][Columns / 2] = {};
      add_stages(pipeline, sums[0], shape.steps(depth));
      Tiles::template emit_tile<true>(sums, sink, origin, Index<2>{shape.M, end}, shape.lanes);
    };
    for (int tile = Order::first(); tile < shape.tiles; tile += Order::step()) Order::at(tile, c, shape, body);
  }

  // The scaling warps: write the scales of all tiles of a block to its stages.
  template <class C>
  KGEN_FN static void scale(Pipeline& pipeline, const C& c, const BlockScales& scales,
                            const WarpgroupMatmulShape<1>& shape) {
    const auto fill = [&]<int First, int Count>(const auto&, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      fill_tile(pipeline, scales, origin, Index<2>{shape.M, end}, {0, shape.steps(depth)});
    };
    for (int tile = Order::first(); tile < shape.tiles; tile += Order::step()) Order::at(tile, c, shape, fill);
  }
  // Those of some blocks of a tile.
  KGEN_FN static void fill_tile(Pipeline& pipeline, const BlockScales& scales, Index<2> origin, Index<2> extents,
                                ScaledPart part) {
    OwnScales own(scales, origin, extents);
    KGEN_NO_UNROLL
    for (int first = part.first; first < part.last; first += Ahead::count) {
      own.ask(part, first);
      KGEN_UNROLL
      for (int i = 0; i < Ahead::count; ++i) {
        if (first + i < part.last) own.fill(pipeline, first, i);
      }
    }
  }

  // A warpgroup: the sums of its half of the rows of a tile, over the next `steps` stages.
  KGEN_FN static void add_stages(Pipeline& pipeline, float (&sums)[Columns / 2], int steps) {
    const int a = Tiles::first_row() * depth, thread = thread_index() % warpgroup_threads;
    const int row = Tiles::first_row() + thread / wave_size * 16 + thread % wave_size / 4;  // and 8 behind it
    for (int block = 0; block < steps; ++block) {
      auto stage = pipeline.read();
      KGEN_UNROLL
      for (int i = 0; i < parts; ++i) {
        float part[held / 2];
        wgmma_fence();
        WarpgroupProduct<T, held, true>::multiply(part, stage->a + a, stage->b + i * held * depth, false);
        wgmma_commit();
        const float of_rows[] = {stage->of_rows[i][row], stage->of_rows[i][row + 8]};
        wgmma_wait<0>();
        settle(part);
        if (Shared && i + 1 == parts) stage = {};  // what is added up needs no more of it
        add(sums, i * held / 2, part, of_rows, stage);
        if (!Shared) wave_barrier();  // what all lanes have read
      }
    }
  }

 private:
  // What is behind the last row or column is made, and goes nowhere.
  KGEN_FN static int before(std::int64_t place, std::int64_t end) {
    const int last = static_cast<int>(end) - 1, at = static_cast<int>(place);
    return at < last ? at : last;
  }

  // The scales of a tile that a thread of the scaling warps writes: those of some rows, and of the columns' groups or
  // of some columns.
  struct OwnScales {
    static constexpr int rows = Stage::rows / scaling_threads, columns = Shared ? 1 : Columns / scaling_threads;
    static constexpr int lanes = wave_size / parts;  // of a warp, which have the scales of a group for a block each
    const BlockScales& scales;
    int row[rows], column[columns];  // whose scales these are
    Ahead of_rows[rows], of_columns[columns];
    float of_group = 0;
    int thread = thread_index() - wave_size;

    KGEN_FN OwnScales(const BlockScales& scales, Index<2> origin, Index<2> extents) : scales(scales) {
      KGEN_UNROLL
      for (int i = 0; i < rows; ++i) row[i] = before(origin[0] + thread + i * scaling_threads, extents[0]);
      KGEN_UNROLL
      for (int i = 0; i < columns; ++i) {
        const int place = Shared ? thread % wave_size / lanes * held : thread + i * scaling_threads;
        column[i] = scales.group(before(origin[1] + place, extents[1]));
      }
    }

    // Of the part's blocks from `first` on.
    KGEN_FN void ask(ScaledPart part, int first) {
      KGEN_UNROLL
      for (int i = 0; i < rows; ++i) of_rows[i].ask(scales.rows, row[i], first, part.last);
      KGEN_UNROLL
      for (int i = 0; i < columns; ++i) {
        if constexpr (!Shared) {
          of_columns[i].ask(scales.groups, column[i], first, part.last);
        } else if (first % lanes == 0 || first == part.first) {
          const Index<2> at{column[i], before(first / lanes * lanes + thread % lanes, part.last)};
          of_group = scales.groups.with_access({false, true}).template load<1>(at).data;
        }
      }
    }

    // Of block `first` + i of those asked for.
    KGEN_FN void fill(Pipeline& pipeline, int first, int i) const {
      float factors[parts];
      KGEN_UNROLL
      for (int part = 0; part < parts; ++part) {
        factors[part] = Shared ? of_lane(part * lanes + (first + i) % lanes) : 1;
      }
      const auto stage = pipeline.join();
      KGEN_UNROLL
      for (int each = 0; each < rows; ++each) {
        KGEN_UNROLL
        for (int part = 0; part < parts; ++part) {
          stage->of_rows[part][thread + each * scaling_threads] = of_rows[each].of[i] * factors[part];
        }
      }
      if constexpr (!Shared) {
        KGEN_UNROLL
        for (int each = 0; each < columns; ++each) {
          stage->of_columns[thread + each * scaling_threads] = of_columns[each].of[i];
        }
      }
    }

   private:
    KGEN_FN float of_lane(int lane) const {
      const auto bits = shuffle_from(std::bit_cast<std::uint32_t>(of_group), lane, wave_size, Where::here());
      return std::bit_cast<float>(bits);
    }
  };

  // Of four neighbours among a thread's sums two are of either row, and of two columns that are neighbours.
  KGEN_FN static void add(float (&sums)[Columns / 2], int first, const float (&part)[held / 2],
                          const float (&of_rows)[2], const typename Pipeline::Reading& stage) {
    KGEN_UNROLL
    for (int i = 0; i < held / 2; ++i) {
      float factor = of_rows[i / 2 % 2];
      if constexpr (!Shared) factor *= stage->of_columns[i / 4 * 8 + thread_index() % 4 * 2 + i % 2];
      sums[first + i] += part[i] * factor;
    }
  }
};

template <int Columns, bool Shared, class Loads, class C>
KGEN_GLOBAL((has_warpgroups ? WarpgroupMatmul<f8e4m3, Columns, true, Loads>::threads : 1), 1)
block_scaled_matmul_kernel(const KGEN_GRID_CONSTANT Loads loads, const KGEN_GRID_CONSTANT RowsAhead ahead, C c,
                           WarpgroupMatmulShape<1> shape, BlockScales scales) {
  if constexpr (has_warpgroups) {
    using Matmul = BlockScaledMatmul<Columns, Shared, Loads>;
    using Tiles = typename Matmul::Tiles;
    SharedMemory shared;
    auto pipeline = Matmul::pipeline(shared, loads);
    take_turn();
    if (thread_index() < Tiles::loading_threads) {
      hold_registers<Tiles::loading_registers, RegisterShare::less>();
      const int warp = thread_index() / wave_size;
      if (thread_index() < Loads::threads) Tiles::load(pipeline, loads, ahead, c, shape);
      if (warp > 0 && warp <= Matmul::scaling_warps) Matmul::scale(pipeline, c, scales, shape);
    } else {
      hold_registers<Tiles::multiplying_registers, RegisterShare::more>();
      Matmul::multiply(pipeline, c, shape);
    }
  }
}

// The same where blocks share the depth of a tile, in `to.parts`, and leave their sums in memory (split_matmul.hpp).
template <int Columns, class Loads>
KGEN_GLOBAL((has_warpgroups ? WarpgroupMatmul<f8e4m3, Columns, true, Loads>::threads : 1), 1)
split_block_scaled_matmul_kernel(const KGEN_GRID_CONSTANT Loads loads, PartialSums to, WarpgroupMatmulShape<1> shape,
                                 BlockScales scales) {
  if constexpr (has_warpgroups) {
    using Matmul = BlockScaledMatmul<Columns, true, Loads>;
    using Tiles = typename Matmul::Tiles;
    SharedMemory shared;
    auto pipeline = Matmul::pipeline(shared, loads);
    const int number = static_cast<int>(block_index()), own = number / shape.tiles;
    const auto part = ScaledPart::of(shape.steps(Matmul::depth), to.parts, own);
    const auto compute = [&]<int First, int Count>(const auto&, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      take_turn();
      if (thread_index() == 0) allow_next();  // what adds up has room beside these, and waits for all of them
      const int row = static_cast<int>(origin[0]), column = static_cast<int>(origin[1]);
      if (thread_index() < Tiles::loading_threads) {
        hold_registers<Tiles::loading_registers, RegisterShare::less>();
        const int warp = thread_index() / wave_size;
        if (thread_index() < Loads::threads) {
          auto tile = loads.template tile<First, Count>(row, column, part.first * Matmul::depth);
          for (int i = 0; i < part.count(); ++i) tile.load(pipeline.fill());
        }
        if (warp > 0 && warp <= Matmul::scaling_warps) {
          Matmul::fill_tile(pipeline, scales, origin, Index<2>{shape.M, end}, part);
        }
      } else {
        hold_registers<Tiles::multiplying_registers, RegisterShare::more>();
        float sums[Columns / 2] = {};
        Matmul::add_stages(pipeline, sums, part.count());
        to.put(sums, own, row + Tiles::first_row(), column);
      }
    };
    at_tile<128>(number - own * shape.tiles, Columns, to.of_part(own), shape, compute);
  }
}

// The copy engine's loads of such tiles.
template <int Columns, Dealing Deals>
struct BlockScaledTiles : EngineTiles<OperandTiles<f8e4m3, Columns>, true, 1, 1, Deals> {
  static constexpr const char* name = "block_scaled_matmul";
};

// Rows of the left operand that come for a tile: where there are few, not those behind the last.
inline int scaled_rows_of_tile(const WarpgroupMatmulShape<1>& shape) {
  return static_cast<int>(std::min<std::int64_t>(128, (shape.M + 7) / 8 * 8));
}

template <int Columns, bool Shared, Dealing Deals, class A, class B, class C>
bool launch_block_scaled(const A& a, const B& b, const BlockScales& scales, const C& c,
                         const WarpgroupMatmulShape<1>& shape, const DeviceLimits& limits, Stream stream) {
  using Tiles = OperandTiles<f8e4m3, Columns>;
  using Loads = BlockScaledTiles<Columns, Deals>;
  return launch_tiles<BlockScaledMatmul<Columns, Shared, Loads>, Columns>(
      block_scaled_matmul_kernel<Columns, Shared, Loads, C>, c, shape, limits, stream,
      [&] {
        const auto made = engine_tiles<f8e4m3, Tiles, true, 1, Deals>(a, b, c, scaled_rows_of_tile(shape));
        return made ? std::optional(Loads{*made}) : std::nullopt;
      },
      scales);
}

// What tiles of so many columns take that are shared so, as split_times, and how much longer stages take with scales
// than tile_times says. Fitted to 148 products on an H200 (tests/bench/MATMUL_CHOICES.md).
template <int Columns>
inline constexpr SplitTimes split_scaled_times =
    Columns == 64 ? SplitTimes{3600, 293, 9090, 1240} : SplitTimes{4420, 416, 11590, 2055};
inline constexpr double scaled_time = 1.1;

// The kernels of one call whose blocks share the depth of tiles of so many columns.
template <int Columns, class A, class B, class C>
struct SplitBlockScaledProduct {
  using Tiles = OperandTiles<f8e4m3, Columns>;
  using Loads = BlockScaledTiles<Columns, Dealing::never>;
  using Matmul = BlockScaledMatmul<Columns, true, Loads>;

  const A& a;
  const B& b;
  const BlockScales& scales;
  const C& c;
  WarpgroupMatmulShape<1> shape;
  Stream stream;

  SplitBlockScaledProduct(const A& a, const B& b, const BlockScales& scales, const C& c,
                          const WarpgroupMatmulShape<1>& shape, Stream stream)
      : a(a), b(b), scales(scales), c(c), shape(shape), stream(stream) {
    this->shape.tiles = shape.count_tiles(c, Columns);
  }

  // Time without end where device or compiler do not allow it.
  SharedDepth best(const DeviceLimits& limits) const {
    const auto kernel = reinterpret_cast<const void*>(split_block_scaled_matmul_kernel<Columns, Loads>);
    if (limits.shared_bytes < Matmul::Pipeline::shared() || !runs_warpgroups(kernel, Matmul::threads)) {
      return {0, 0, 1, std::numeric_limits<std::int64_t>::max()};
    }
    const std::int64_t bytes = (scaled_rows_of_tile(shape) + Columns) * Matmul::depth;
    return best_parts(split_scaled_times<Columns>, shape, shape.steps(Matmul::depth), limits.multiprocessors,
                      static_cast<double>(bytes), stream, 2);
  }
  // False where operands do not lie as the copy engine takes them.
  bool operator()(int parts) const {
    const auto made = engine_tiles<f8e4m3, Tiles, true>(a, b, c, scaled_rows_of_tile(shape));
    if (!made) return false;
    PartialSums sums = PartialSums::of(shape, parts);
    const Workspace memory(sums.bytes(), stream);
    sums.data = reinterpret_cast<float*>(memory.data());
    launch_early(
        {"split_block_scaled_matmul", std::int64_t{shape.tiles} * parts, Matmul::threads, Matmul::Pipeline::shared()},
        stream, split_block_scaled_matmul_kernel<Columns, Loads>, Loads{*made}, sums, shape, scales);
    launch_adding(sums, c, shape, stream);
    return true;
  }
};

// c = a * b with these scales: false where device or compiler do not allow it.
template <class A, class B, class C>
bool warpgroup_block_scaled_matmul(const A& a, const B& b, const BlockScales& scales, std::int64_t width, const C& c,
                                   Stream stream) {
  const detail::AskedProducts<B> asked(a, b, c, 0);
  if (!asked.fits) return false;
  const auto& shape = asked.shape;
  const DeviceLimits limits = device_limits(stream);
  const bool shared = width % 128 == 0 || width >= shape.N[0];
  const auto runs = [&] {
    using Loads = BlockScaledTiles<128, Dealing::never>;
    using Matmul = BlockScaledMatmul<128, false, Loads>;
    const auto kernel = block_scaled_matmul_kernel<128, false, Loads, C>;
    return limits.shared_bytes >= Matmul::Pipeline::shared() &&
           runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads);
  };
  const auto multiply = [&](const auto& left, const auto& right, Stream rest) {
    const auto launch = [&]<int Columns, bool Shared, Dealing Deals>() {
      return launch_block_scaled<Columns, Shared, Deals>(left, right, scales, c, shape, limits, rest);
    };
    if (!shared) return launch.template operator()<128, false, Dealing::never>();
    const TileChoice tiles = best_tiles<256, 128, 64>(shape, limits.multiprocessors, shape.steps(128));
    if constexpr (!makes_statistics<C>) {
      const SplitBlockScaledProduct<64, A, B, C> narrow(left, right, scales, c, shape, rest);
      const SplitBlockScaledProduct<128, A, B, C> wide(left, right, scales, c, shape, rest);
      const SharedDepth by_narrow = narrow.best(limits), by_wide = wide.best(limits);
      const bool is_narrow = by_narrow.time < by_wide.time;
      if (static_cast<double>(std::min(by_narrow.time, by_wide.time)) < scaled_time * static_cast<double>(tiles.time) &&
          (is_narrow ? narrow(by_narrow.blocks) : wide(by_wide.blocks))) {
        return true;
      }
    }
    const auto launch_columns = [&]<Dealing Deals>() {
      if (tiles.columns == 256) return launch.template operator()<256, true, Deals>();
      if (tiles.columns == 128) return launch.template operator()<128, true, Deals>();
      return launch.template operator()<64, true, Deals>();
    };
    return pays_dealing_bytes(shape) ? launch_columns.template operator()<Dealing::always>()
                                     : launch_columns.template operator()<Dealing::never>();
  };
  return detail::lay_out_and_multiply<f8e4m3, true>(
      a, b, stream, runs, [](std::int64_t, std::int64_t) { return false; }, multiply);
}

#endif

// c = a * b, of codes with scales of blocks of 128 of the depth, and for b of `width` columns.
template <class A, class B, class RowScales, class ColumnScales, class C>
void block_scaled_matmul(const A& a, const B& b, const RowScales& a_scale, const ColumnScales& b_scale,
                         std::int64_t width, const C& c, Stream stream) {
#if defined(KGEN_WARPGROUPS)
  if constexpr (is_memory_of<f8e4m3, A> && is_memory_of<f8e4m3, B> && !uses_rows<C>) {
    if (width > 0 && width < std::int64_t{1} << 31) {
      const View<const float, 2> of_rows = a_scale, of_columns = b_scale;
      const auto seen = [](const auto& view) { return view.with_access({has_vectors(view, most_scales_ahead)}); };
      const BlockScales scales{seen(of_rows), seen(of_columns.template permute<1, 0>()), Divider(width)};
      if (warpgroup_block_scaled_matmul(a, b, scales, width, c, stream)) return;
    }
  }
#endif
  matmul<96, 256, 23>(scaled_rows(a, a_scale), scaled_columns(b, b_scale, width), c, stream);
}

}  // namespace kgen::gpu

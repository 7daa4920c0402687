// Products of groups of rows on the tensor cores of Hopper, by warpgroup_matmul.hpp's parts. Each block finds on the
// device which rows the groups have (RowGroups), and goes from tile to tile of them: a tile's rows are one group's, so
// that only matrices whose groups have rows are read. Rows of the tile behind its group's end come along, and are not
// stored.
#pragma once

#include "kgen/gpu/laid_out.hpp"
#include "kgen/gpu/row_groups.hpp"
#include "kgen/gpu/skinny_matmul.hpp"
#include "kgen/gpu/vector_matmul.hpp"
#include "kgen/gpu/warpgroup_batched_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// What brings tiles has tile<First, Count>(group, row, column), else as in tile_io.hpp.

// By the copy engine, which counts the groups behind the axes of a matrix. `steps`: 0 where a right operand is the same
// for all groups, else 1.
template <class Tiles, bool BDeep, int Products>
struct EngineGroups {
  static constexpr const char* name = "warpgroup_grouped_matmul";
  static constexpr int threads = 1, registers = 40;
  TensorMap a, b[Products];
  int steps[Products];
  int rows;  // of the left operand that come: of a stage, the first

  KGEN_FN int bytes() const { return static_cast<int>(sizeof(Tiles)) - (Tiles::rows - rows) * swizzle_bytes; }

  template <int First, int Count>
  struct Tile {
    const EngineGroups& loads;
    int group, row, column, k = 0;

    template <class Stage>
    KGEN_FN void load(const Stage& stage) {
      constexpr int columns = Tiles::columns / Count, box = BDeep ? columns : Tiles::depth;
      copy_tile(stage->a, loads.a, stage.arrival(), k, row);
      KGEN_UNROLL
      for (int n = 0; n < Tiles::columns; n += box) {
        const int product = First + n / columns, at = column + n % columns;
        copy_tile(stage->b + n * Tiles::depth, loads.b[product], stage.arrival(), BDeep ? k : at, BDeep ? at : k,
                  group * loads.steps[product]);
      }
      k += Tiles::depth;
    }
  };
  template <int First, int Count>
  KGEN_FN Tile<First, Count> tile(int group, int row, int column) const {
    return {*this, group, row, column};
  }
};

// By threads, from anywhere in memory. Steps in elements.
template <class T, class Tiles, bool BDeep, int Products>
struct CopiedGroups {
  using Matrices = CopiedTiles<T, Tiles, BDeep, Products>;
  static constexpr const char* name = "warpgroup_grouped_matmul_copied";
  static constexpr int threads = Matrices::threads, registers = Matrices::registers;
  Matrices first;
  std::int64_t steps[Products];

  KGEN_FN int bytes() const { return static_cast<int>(sizeof(Tiles)); }

  template <int First, int Count>
  struct Tile {
    Matrices own;
    int row, column, k = 0;

    template <class Stage>
    KGEN_FN void load(const Stage& stage) {
      typename Matrices::template Tile<First, Count> tile{own, row, column, k};
      tile.load(stage);
      k = tile.k;
    }
  };
  template <int First, int Count>
  KGEN_FN Tile<First, Count> tile(int group, int row, int column) const {
    Tile<First, Count> tile{first, row, column};
    KGEN_UNROLL
    for (int product = First; product < First + Count; ++product) tile.own.b[product].data += group * steps[product];
    return tile;
  }
};

// body.operator()<First, Count, Width>(sink, row tile, first column, end of the columns) for each tile of this block,
// where all groups have so many tiles of rows: as warpgroup_matmul.hpp's, but that last ones of at most half the
// columns are of such a Width, and come when all others of their sink have: they fill up the time in which
// multiprocessors would be idle.
template <int Columns, int Products, class C, class Body>
KGEN_FN void for_each_group_tile(const C& c, const WarpgroupMatmulShape<Products>& shape, int row_tiles,
                                 const Body& body) {
  for (int tile = static_cast<int>(block_index());; tile += static_cast<int>(block_count())) {
    int rest = tile;
    for_each_sink<Products>(c, [&]<int First, int Count>(const auto& sink) KGEN_LAMBDA {
      constexpr int width = Columns / Count;
      const int N = static_cast<int>(shape.N[First]), across = shape.tiles_across(First, width);
      const bool is_half = N % width != 0 && N % width <= width / 2;
      const int whole = row_tiles * (is_half ? across - 1 : across), own = row_tiles * across;
      if (rest >= 0 && rest < whole) {
        const Index<2> place = TileOrder{row_tiles, is_half ? across - 1 : across}(rest);
        body.template operator()<First, Count, width>(sink, static_cast<int>(place[0]), place[1] * width, N);
      } else if (rest >= 0 && rest < own) {
        body.template operator()<First, Count, width / 2>(sink, rest - whole, (across - 1) * width, N);
      }
      rest -= own;
    });
    if (rest >= 0) return;
  }
}

// shape.M: all rows. Tiles are counted on the device.
template <class T, int Columns, bool BDeep, class Loads, int Products, class I, class C>
KGEN_GLOBAL((has_warpgroups ? WarpgroupMatmul<T, Columns, BDeep, Loads>::threads : 1), 1)
warpgroup_grouped_matmul_kernel(const KGEN_GRID_CONSTANT Loads loads, View<const I, 1> ends, C c,
                                WarpgroupMatmulShape<Products> shape) {
  if constexpr (has_warpgroups) {
    using Matmul = WarpgroupMatmul<T, Columns, BDeep, Loads>;
    SharedMemory shared;
    typename Matmul::Pipeline pipeline(shared, Matmul::multiplying_threads / wave_size, loads.bytes());
    take_turn();
    const RowGroups groups(shared, ends, shape.M, Matmul::Tiles::rows);
    const auto steps = [&](const GroupRows& rows)
                           KGEN_LAMBDA { return groups.has_matrix(rows) ? shape.steps(Matmul::depth) : 0; };
    if (thread_index() < Matmul::loading_threads) {
      hold_registers<Matmul::loading_registers, RegisterShare::less>();
      if (thread_index() >= Loads::threads) return;
      for_each_group_tile<Columns>(
          c, shape, groups.tiles(),
          [&]<int First, int Count, int>(const auto&, int row_tile, std::int64_t column, std::int64_t) KGEN_LAMBDA {
            const GroupRows rows = groups(row_tile);
            auto tile =
                loads.template tile<First, Count>(rows.group, static_cast<int>(rows.first), static_cast<int>(column));
            for (int k = 0; k < steps(rows); ++k) tile.load(pipeline.fill());
          });
    } else {
      hold_registers<Matmul::multiplying_registers, RegisterShare::more>();
      const int first_row = (thread_index() - Matmul::loading_threads) / warpgroup_threads * 64;
      for_each_group_tile<Columns>(
          c, shape, groups.tiles(),
          [&]<int First, int Count, int Width>(const auto& sink, int row_tile, std::int64_t column, std::int64_t end)
              KGEN_LAMBDA {
                const GroupRows rows = groups(row_tile);
                if (rows.first + first_row >= rows.end) {
                  Matmul::skip_tile(pipeline, steps(rows));
                } else {
                  Matmul::template multiply_tile<Count, Count == Products, Width>(
                      pipeline, sink, Index<2>{rows.first, column}, Index<2>{rows.end, end}, steps(rows), shape.lanes);
                }
              });
    }
  }
}

// Of groups with few rows: skinny_matmul.hpp's parts, a tile of so many rows to a block.
template <class Matmul, class Loads, int Products, class I, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), Matmul::blocks)
skinny_grouped_matmul_kernel(const KGEN_GRID_CONSTANT Loads loads, View<const I, 1> ends, C c,
                             WarpgroupMatmulShape<Products> shape) {
  if constexpr (has_warpgroups) {
    SharedMemory shared, again;
    typename Matmul::Pipeline pipeline(shared, Matmul::multiplying_threads / wave_size, loads.bytes());
    const typename Matmul::Sums partial(again);
    take_turn();
    constexpr int most_rows = Matmul::Tiles::rows;
    const RowGroups groups(shared, ends, shape.M, most_rows);
    const ClusterDepth depth(shape.steps(Matmul::depth), shape.blocks);
    const auto compute = [&]<int First, int Count>(const auto& sink, const GroupRows& rows, int column) KGEN_LAMBDA {
      // Rows without a matrix have no depth, and sums of zeros: made behind the products, which a branch around them,
      // or zeros ahead of them, would serialise (C7515).
      ClusterDepth part = depth;
      if (!groups.has_matrix(rows)) part.last = part.first;
      typename Matmul::Sums::Sum sums[Matmul::rows / 2];
      {
        const BlockPhase multiplying;
        if (thread_index() < Matmul::multiplying_threads) {
          Matmul::multiply(pipeline, sums, part);
        } else if (part.first < part.last && is_elected()) {
          auto tile = loads.template tile<First, Count>(rows.group, static_cast<int>(rows.first), column);
          for (int i = part.first; i < part.last; ++i) tile.load(pipeline.fill());
        }
      }
      {
        const BlockPhase sharing;
        if (thread_index() < Matmul::multiplying_threads) {
          if (part.first == part.last) {
            for (auto& sum : sums) sum = 0;
          }
          partial.put(sums, Matmul::first_column());
        }
      }
      if (thread_index() >= Matmul::multiplying_threads) return;
      WarpgroupMatmulShape<Products> own = shape;
      own.M = rows.end;
      Matmul::Results::template emit_tile<Count>(partial, sink, Index<2>{rows.first, column}, shape.N[First], own);
    };
    int rest = static_cast<int>(block_index());
    for_each_sink<Products>(c, [&]<int First, int Count>(const auto& sink) KGEN_LAMBDA {
      constexpr int width = Matmul::columns / Count;
      const int across = shape.tiles_across(First, width), own = groups.tiles() * across;
      if (rest >= 0 && rest < own) {
        compute.template operator()<First, Count>(sink, groups(rest / across), rest % across * width);
      }
      rest -= own;
    });
  }
}

namespace detail {
// A product of groups, as all ways to it have it.
template <class T, class A, class B, class I, class C>
struct GroupedProduct {
  static constexpr int products = several_count<B>;
  A a;
  B b;
  View<const I, 1> ends;
  C c;
  WarpgroupMatmulShape<products> shape;

  template <class Tiles, bool BDeep>
  auto engine_groups() const {
    EngineGroups<Tiles, BDeep, products> loads;
    loads.rows = static_cast<int>(shape.M < Tiles::rows ? (shape.M + 7) / 8 * 8 : Tiles::rows);
    bool all = true;
    const auto describe = [&](TensorMap& map, const auto& memory) {
      const std::optional<TensorMap> made = memory && all ? tensor_map<T>(*memory) : std::nullopt;
      all = made.has_value();
      if (all) map = *made;
    };
    describe(loads.a, matrix_in_memory(a, false, Tiles::depth, loads.rows));
    for_each_sink<products>(c, [&]<int First, int Count>(const auto&) {
      [&]<int... P>(std::integer_sequence<int, P...>) {
        constexpr int box = BDeep ? Tiles::columns / Count : Tiles::depth;
        (describe(loads.b[First + P], in_memory(nth<First + P>(b), BDeep, Tiles::depth, box, loads.steps[First + P])),
         ...);
      }
      (std::make_integer_sequence<int, Count>{});
    });
    return all ? std::optional(loads) : std::nullopt;
  }
  template <int Columns, bool BDeep>
  auto copied_groups() const {
    CopiedGroups<T, OperandTiles<T, Columns>, BDeep, products> loads;
    loads.first.a = CopiedMatrix<T>(a, false);
    int product = 0;
    for_each_of(b, [&](const auto& each) {
      loads.first.b[product] = copied(each, BDeep);
      loads.steps[product++] = each.stride(0);
    });
    return std::optional(loads);
  }

  template <int Columns, bool BDeep, class Loads, class Make>
  bool launch_with(const DeviceLimits& limits, Stream stream, const Make& make) const {
    using Matmul = WarpgroupMatmul<T, Columns, BDeep, Loads>;
    const auto kernel = warpgroup_grouped_matmul_kernel<T, Columns, BDeep, Loads, products, I, C>;
    const std::int64_t bytes = Matmul::Pipeline::shared() + RowGroups::shared(ends.extent(0));
    if (limits.shared_bytes < bytes) return false;
    if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads)) return false;
    const std::optional<Loads> loads = make();
    if (!loads) return false;
    auto most = shape;
    most.M = most_tiles(128) * 128;
    most.tiles = most.count_tiles(c, Columns);
    const Grid grid{Loads::name, std::min(most.tiles, limits.multiprocessors), Matmul::threads, bytes};
    launch_early(grid, stream, kernel, *loads, ends,
                 with_each(c, [](const auto& sink) { return with_access(sink, 8); }), shape);
    return true;
  }
  template <int Columns, bool BDeep>
  bool launch_by_engine(const DeviceLimits& limits, Stream stream) const {
    using Tiles = OperandTiles<T, Columns>;
    return launch_with<Columns, BDeep, EngineGroups<Tiles, BDeep, products>>(
        limits, stream, [&] { return engine_groups<Tiles, BDeep>(); });
  }
  template <class Matmul, bool BDeep>
  bool launch_skinny(const DeviceLimits& limits, Stream stream) const {
    using Loads = EngineGroups<typename Matmul::Tiles, BDeep, products>;
    const auto kernel = skinny_grouped_matmul_kernel<Matmul, Loads, products, I, C>;
    const std::int64_t bytes = Matmul::shared() + RowGroups::shared(ends.extent(0));
    if (limits.shared_bytes < bytes) return false;
    if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads)) return false;
    const std::optional<Loads> loads = engine_groups<typename Matmul::Tiles, BDeep>();
    if (!loads) return false;
    std::int64_t tiles = 0;
    for_each_sink<products>(c, [&]<int First, int Count>(const auto&) {
      tiles += most_tiles(Matmul::Tiles::rows) * shape.tiles_across(First, Matmul::columns / Count);
    });
    const Grid grid{"skinny_grouped_matmul", tiles, Matmul::threads, bytes};
    launch_early(grid, stream, kernel, *loads, ends,
                 with_each(c, [](const auto& sink) { return with_access(sink, 8); }), shape);
    return true;
  }
  // Few rows, of which each reads its group's matrix as it lies: false where device or compiler do not allow it.
  static constexpr int most_single_rows = 16;
  template <bool BDeep>
  bool launch_single_rows(const DeviceLimits& limits, Stream stream) const {
    if constexpr (sizeof(T) == 2 && products == 1) {
      const View<const T, 3> all(nth<0>(b));
      if (shape.M > most_single_rows || all.stride(0) < 0) return false;
      const View<const T, 2> first = matrix_of(all, Index<3>{}, last_axes<2>(all.shape()));
      const Span memory(all);
      const MatrixOfGroup<I> matrices{ends, all.stride(0), memory.begin, memory.end};
      const View<const T, 2> rows = a;
      VectorProduct<T, BDeep, View<const T, 2>, View<const T, 2>, C, MatrixOfGroup<I>> product(
          rows, first, c, shape, limits, stream, matrices);
      if (!product.fits()) return false;
      const VectorWay way = product.best();
      return way.blocks > 0 && product(way);
    } else {
      return false;
    }
  }
  // False where device or compiler do not allow it. What the copy engine does not take is copied to where it does;
  // where that is not possible in one launch, or groups have so few rows that many may have none, all comes through
  // registers.
  template <bool BDeep>
  bool launch(const DeviceLimits& limits, Stream stream) const {
    const bool left_fits = matrix_in_memory(a, false, 1, 1).has_value();
    bool copies_all = true;
    using Copies = LaidOut<T, 1 + products>;
    std::int64_t bytes = left_fits ? 0 : Copies::bytes(a, false);
    for_each_of(b, [&](const View<const T, 3>& each) {
      if (is_batch_in_memory<1>(each, BDeep)) return;
      const auto lines = lines_of_batch(each, BDeep);
      copies_all = copies_all && lines && shape.M >= 4 * ends.extent(0);
      if (lines) bytes += Copies::bytes(*lines);
    });
    if (bytes > 0 && launch_single_rows<BDeep>(limits, stream)) return true;
    using Loads = EngineTiles<OperandTiles<T, 128>, BDeep, products>;
    if (bytes == 0 || !copies_all || !runs_warpgroup_matmul<T, BDeep, Loads, products, C>(limits)) {
      return launch_as_it_lies<BDeep>(limits, stream);
    }
    const Workspace memory(bytes, stream);
    Copies laid_out(memory.data(), stream);
    GroupedProduct copied = *this;
    if (!left_fits) {
      const View<const T, 2> left = laid_out(a, false);
      copied.a = {const_cast<typename A::element_type*>(left.data()), left.shape(), left.strides()};
    }
    copied.b = with_each(b, [&]<class E>(const View<E, 3>& each) {
      const View<const T, 3> view(each);
      if (is_batch_in_memory<1>(view, BDeep)) return each;
      const View<const T, 3> made = batch_of_lines(laid_out(*lines_of_batch(view, BDeep)), view, BDeep);
      return View<E, 3>(const_cast<E*>(made.data()), made.shape(), made.strides());
    });
    laid_out.launch();
    return copied.template launch_as_it_lies<BDeep>(limits, stream);
  }
  template <bool BDeep>
  bool launch_as_it_lies(const DeviceLimits& limits, Stream stream) const {
    const std::int64_t groups = std::min(shape.M, ends.extent(0));  // that have rows, at most
    using Few = SkinnyMatmul<T, 16, 2, BDeep>;
    using Some = SkinnyMatmul<T, 64, 2, BDeep>;
    if (shape.M <= 8 * groups && launch_skinny<Few, BDeep>(limits, stream)) return true;
    if (shape.M > 8 * groups && shape.M <= 48 * groups && launch_skinny<Some, BDeep>(limits, stream)) return true;
    auto most = shape;
    most.M = most_tiles(128) * 128;
    constexpr int depth = OperandTiles<T, 128>::depth;
    const int columns = best_columns<256, 128>(most, limits.multiprocessors, shape.steps(depth));
    if (columns == 256 && launch_by_engine<256, BDeep>(limits, stream)) return true;
    if (columns == 128 && launch_by_engine<128, BDeep>(limits, stream)) return true;
    using Loads = CopiedGroups<T, OperandTiles<T, 128>, BDeep, products>;
    return launch_with<128, BDeep, Loads>(limits, stream, [&] { return copied_groups<128, BDeep>(); });
  }

  // So many tiles of rows there may be: each group, and what is in none, may have one that is not full.
  std::int64_t most_tiles(int rows) const { return (shape.M + rows - 1) / rows + std::min(shape.M, ends.extent(0)); }

 private:
  // The first group's matrix, in the memory of all.
  static CopiedMatrix<T> copied(const View<const T, 3>& view, bool across) {
    CopiedMatrix<T> matrix(matrix_of(view, Index<3>{}, last_axes<2>(view.shape())), across);
    const Span all(view);
    matrix.begin = all.begin, matrix.end = all.end;
    return matrix;
  }
  static std::optional<BoxedMemory<3>> in_memory(const View<const T, 3>& view, bool across, int columns, int rows,
                                                 int& step) {
    int steps[1];
    const auto memory = batch_in_memory<T, 1>(view, across, columns, rows, steps);
    step = steps[0];
    return memory;
  }
};
}  // namespace detail

// c = a * b by groups of rows, for each of b: false where device or compiler do not allow it.
template <class A, class B, class I, class C>
bool warpgroup_grouped_matmul(const A& a, const B& b, const View<const I, 1>& ends, const C& c, Stream stream) {
  using T = view_element_t<A>;
  constexpr std::int64_t most = 1 << 30;  // rows are counted in 32 bits, depth and tiles as well
  detail::GroupedProduct<T, A, B, I, C> product{a, b, ends, c, {a.extent(0), a.extent(1), {}, 0, emitted_lanes(c)}};
  auto& shape = product.shape;
  bool fits = shape.K > 0 && shape.K < most && shape.M < most && product.most_tiles(16) < most / 128, deep = true;
  std::int64_t tiles = 0;
  int number = 0;
  for_each_of(b, [&](const auto& each) {
    const std::int64_t N = shape.N[number++] = each.extent(2);
    fits = fits && N > 0 && N < most;
    deep = deep && each.stride(1) == 1 && (N == 1 || each.stride(2) != 1);
    tiles += product.most_tiles(16) * ((N + 63) / 64);
  });
  if (!fits || tiles >= most || ends.extent(0) == 0) return false;
  const DeviceLimits limits = device_limits(stream);
  if constexpr (!deep_only<T>) {
    if (!deep) return product.template launch<false>(limits, stream);
  }
  return product.template launch<true>(limits, stream);
}

}  // namespace kgen::gpu

#endif

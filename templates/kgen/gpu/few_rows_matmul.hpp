// Matrix multiplication of up to 8 rows by right operands that go from where they lie straight to registers
// (few_rows_loads.hpp): where their lines begin at addresses that the copy engine does not take, in batches of
// matrices, and of one product where that is over sooner. Copied to other lines first, right operands would come three
// times.
//
// A wave goes down some columns, a step of the depth at a time, of which it multiplies what its threads have loaded.
// Either the waves of a block share the depth, as do the blocks of a cluster, and their sums meet in shared memory
// (cluster_sums.hpp); or each wave has columns of its own, and gives their sums to the sink itself.
#pragma once

#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/few_rows_loads.hpp"
#include "kgen/gpu/skinny_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// ---- operands, as the kernel asks for those of the tile whose first row has a number

template <class T, int Products>
struct FewRowsOperands {
  CopiedMatrix<T> a, b[Products];

  KGEN_FN const CopiedMatrix<T>& left(int) const { return a; }
  KGEN_FN const CopiedMatrix<T>& right(int, int product) const { return b[product]; }
};

// Of batches: the first of each operand's matrices, and how far apart they are along each axis, in elements.
template <class T, int Axes>
struct FewRowsBatches {
  CopiedMatrix<T> a, b;
  Positions<Axes + 1> rows;
  std::int64_t a_steps[Axes], b_steps[Axes];

  KGEN_FN CopiedMatrix<T> left(int row) const { return moved(a, a_steps, row); }
  KGEN_FN CopiedMatrix<T> right(int row, int) const { return moved(b, b_steps, row); }

 private:
  KGEN_FN CopiedMatrix<T> moved(CopiedMatrix<T> matrix, const std::int64_t (&steps)[Axes], int row) const {
    const Index<Axes + 1> place = rows(static_cast<std::uint32_t>(row));
    KGEN_UNROLL
    for (int axis = 0; axis < Axes; ++axis) matrix.data += place[axis] * steps[axis];
    return matrix;
  }
};

// ---- a wave's part

// Sums that a wave has of up to 8 rows and 64 columns, as emit_sums wants them: a thread has 8 neighbours of two rows.
struct FewRowsSums {
  static constexpr int rows = 8, columns = 64, steps = 2;
  static constexpr bool is_of_quads = false;

  KGEN_FN static float sum(const float (&sums)[4][4], int step, int lane) {
    return sums[lane / 2][lane % 2 * 2 + step];
  }
  KGEN_FN static void gather(float (&)[8]) {}
  KGEN_FN static std::int64_t first_row(Index<2> origin, int step) { return origin[0] + step; }
  KGEN_FN static Index<2> position(Index<2> origin, int step) {
    const int lane = thread_index() % wave_size;
    return {origin[0] + lane % 4 * 2 + step, origin[1] + lane / 4 * 8};
  }
};

// How a wave multiplies what it loads, a step of the depth at a time, of some columns from one on:
//   columns, depth        of a step
//   blocks                of four waves that a multiprocessor has registers for
//   ahead                 steps that should be on their way
//   time, time_shared     that a step takes, in ns: where waves have columns of their own, and where not
//   begin_shared, again   what waves that share the depth take to begin and end, and for each further round
//   Sums                  what a thread adds up; Step: what is on its way to it
//   inside(), load<Inside>(step, k)          as a right operand's reader has them
//   multiply<Inside>(sums, step, k)          sums += the product of a step
//   for_each_sum(sums, body)                 body(row, column, sum) for each of a thread's sums

// On tensor cores. Columns: the right operand's reader.
template <class T, class Columns>
class TensorCoreSteps {
  using Left = typename Columns::Left;

 public:
  using Element = T;
  static constexpr int columns = Columns::columns, depth = Columns::depth, blocks = Columns::blocks;
  static constexpr int ahead = Columns::ahead, products = columns / 16;
  static constexpr int time = Columns::time, time_shared = Columns::time_shared;
  static constexpr int begin_shared = Columns::begin_shared, again = 300;
  using Sums = float[products][4];
  struct Step {
    typename Columns::Loaded right;
    typename Left::Loaded left;
  };

  KGEN_FN TensorCoreSteps(const CopiedMatrix<T>& a, const CopiedMatrix<T>& b, std::int64_t column)
      : left_(a), right_(a, b, column) {}

  KGEN_FN Index<2> inside() const { return right_.inside(); }
  template <bool Inside>
  KGEN_FN void load(Step& to, int k) const {
    right_.template load<Inside>(to.right, k);
    left_.template load<Inside>(to.left, k);
  }
  // Beyond the last of the depth, both are zeros: what else there is may be NaN.
  template <bool Inside>
  KGEN_FN void multiply(Sums& sums, const Step& step, int k) const {
    LeftTile rows[Left::tiles];
    left_.template take<Inside>(rows, step.left, k);
    WeightTile tiles[4];
    right_.template take<Inside>(tiles, step.right, k);
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) multiply_tile<T>(sums[i % products], tiles[i], rows[i % Left::tiles]);
  }
  template <class Body>
  KGEN_FN static void for_each_sum(const Sums& sums, const Body& body) {
    constexpr bool wide = products > 1;
    const int lane = thread_index() % wave_size, row = lane % 4 * 2, column = lane / 4 * (wide ? 8 : 1);
    KGEN_UNROLL
    for (int i = 0; i < 4 * products; ++i) body(row + i % 2, column + (wide ? i / 2 : i / 2 * 8), sums[i / 4][i % 4]);
  }

 private:
  Left left_;
  Columns right_;
};

// Of floats, by multiply-adds of theirs: memory takes longer. The right operand's lines are across the depth, and a
// thread has 4 neighbours of four of them. Rows: the most that the left operand has.
template <bool Aligned, int Rows>
class MultiplyAddSteps {
  using Lines = LineLoads<float, 4, 1, false, Aligned>;

 public:
  using Element = float;
  static constexpr int columns = 4 * wave_size, depth = 4, most_rows = Rows;
  static constexpr int blocks = Rows <= 2 ? 3 : 2, ahead = Rows <= 2 ? 6 : 3;
  static constexpr int time = 300, time_shared = 400, begin_shared = 2600, again = 1000;
  using Sums = float[most_rows][4];
  using Step = typename Lines::Loaded;

  KGEN_FN MultiplyAddSteps(const CopiedMatrix<float>& a, const CopiedMatrix<float>& b, std::int64_t column)
      : a_(a),
        lines_(b, {0, own_column<Aligned>(b, column + thread_index() % wave_size * 4)}, 1),
        inside_(inside_across<Aligned>(b, column, columns, depth)) {}

  KGEN_FN Index<2> inside() const { return inside_; }
  template <bool Inside>
  KGEN_FN void load(Step& to, int k) const {
    lines_.template load<Inside>(to, k);
  }
  template <bool Inside>
  KGEN_FN void multiply(Sums& sums, const Step& step, int k) const {
    float right[4][4];
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) {
      std::uint32_t words[4];
      lines_.template take<Inside>(words, step, i, k);
      memcpy(right[i], words, sizeof(words));
    }
    // Of rows behind the last one too, so that no branch keeps loads apart: nobody asks for their sums.
    float left[most_rows][4];
    KGEN_UNROLL
    for (int row = 0; row < most_rows; ++row) load_left<Inside>(left[row], at_most(row, a_.extents[0] - 1), k);
    KGEN_UNROLL
    for (int row = 0; row < most_rows; ++row) {
      KGEN_UNROLL
      for (int i = 0; i < 4; ++i) {
        KGEN_UNROLL
        for (int lane = 0; lane < 4; ++lane) sums[row][lane] += left[row][i] * right[i][lane];
      }
    }
  }
  template <class Body>
  KGEN_FN static void for_each_sum(const Sums& sums, const Body& body) {
    KGEN_UNROLL
    for (int i = 0; i < most_rows * 4; ++i) body(i / 4, thread_index() % wave_size * 4 + i % 4, sums[i / 4][i % 4]);
  }

 private:
  template <bool Inside>
  KGEN_FN void load_left(float (&left)[4], std::int64_t row, int k) const {
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) {
      left[i] = Inside ? load_run<1>(a_.address(row, k + i), 0, {false, true, true})[0] : a_.element(row, k + i);
    }
  }

  const CopiedMatrix<float>& a_;
  Lines lines_;
  Index<2> inside_;
};

// Steps: of a wave. Groups: of a wave's columns, side by side in a block; the waves that are left share the depth of
// each.
template <class WaveSteps, int Groups>
struct FewRowsMatmul {
  using Steps = WaveSteps;
  using T = typename Steps::Element;
  static constexpr int rows = 8, waves = 4, threads = waves * wave_size, blocks = Steps::blocks;
  static constexpr int wave_columns = Steps::columns, columns = Groups * wave_columns, depth = Steps::depth;
  static constexpr int sharers = waves / Groups;
  using Sums = ClusterSums<rows, columns>;
  using Results = ClusterResults<columns, threads>;
  static constexpr int of_sharer = rows * Sums::pitch;
  static constexpr std::int64_t shared() {
    return sharers == 1 ? 0 : Sums::shared() + shared_bytes<float>(sharers * of_sharer);
  }
  using WaveSums = typename Steps::Sums;

  // A wave: the sums of these columns over its share of a part of the depth.
  KGEN_FN static void multiply(WaveSums& sums, const Steps& loads, ClusterDepth part) {
    constexpr int stride = sharers * depth, ahead = Steps::ahead;
    const int share = thread_index() / wave_size / Groups, last = part.last * depth;
    const Index<2> inside = loads.inside();
    const int end = last < inside[1] ? last : static_cast<int>(inside[1]);
    int k = (part.first + share) * depth;
    KGEN_NO_UNROLL
    while (k < last) {
      if (k < inside[0] || k >= end) {
        typename Steps::Step step;
        loads.template load<false>(step, k);
        loads.template multiply<false>(sums, step, k);
        k += stride;
        continue;
      }
      typename Steps::Step next[ahead];
      KGEN_UNROLL
      for (int i = 0; i < ahead; ++i) {
        if (k + i * stride < end) loads.template load<true>(next[i], k + i * stride);
      }
      KGEN_NO_UNROLL
      while (k < end) {
        KGEN_UNROLL
        for (int i = 0; i < ahead; ++i) {
          if (k >= end) break;
          loads.template multiply<true>(sums, next[i], k);
          if (k + ahead * stride < end) loads.template load<true>(next[i], k + ahead * stride);
          k += stride;
        }
      }
    }
  }

  // A wave: puts its sums where rows and columns of its group are.
  KGEN_FN static void put(float* partial, const WaveSums& sums) {
    const int wave = thread_index() / wave_size;
    float* to = partial + wave / Groups * of_sharer + wave % Groups * wave_columns;
    Steps::for_each_sum(sums,
                        [&](int row, int column, float sum) KGEN_LAMBDA { to[row * Sums::pitch + column] = sum; });
  }
  // The sums of all waves, of so many rows.
  KGEN_FN static void add(const Sums& sums, const float* partial, int some_rows) {
    for (int i = thread_index(); i < some_rows * columns; i += threads) {
      const int row = i / columns, column = i % columns;
      float sum = 0;
      KGEN_UNROLL
      for (int share = 0; share < sharers; ++share) sum += partial[share * of_sharer + row * Sums::pitch + column];
      *sums.at(row, column) = sum;
    }
  }
};

// ---- the kernel

// A tile whose depth waves share.
template <class Matmul, int First, int Count, class Operands, class C, class Shape>
KGEN_FN void multiply_together(const typename Matmul::Sums& sums, float* partial, const Operands& operands,
                               const C& sink, Index<2> origin, std::int64_t end, const Shape& shape) {
  {
    const BlockPhase multiplying;
    // Groups are of one product, or of one each.
    const int group = thread_index() / wave_size % (Matmul::columns / Matmul::wave_columns);
    const std::int64_t column = origin[1] + (Count == 1 ? group * Matmul::wave_columns : 0);
    typename Matmul::WaveSums own = {};
    const auto left = operands.left(static_cast<int>(origin[0]));
    const auto right = operands.right(static_cast<int>(origin[0]), Count == 1 ? First : First + group);
    Matmul::multiply(own, {left, right, column}, {shape.steps(Matmul::depth), shape.blocks});
    Matmul::put(partial, own);
  }
  {
    const ClusterPhase sharing;
    Matmul::add(sums, partial, static_cast<int>(shape.M));
  }
  const ClusterStay adding;
  Matmul::Results::template emit_tile<Count>(sums, sink, origin, end, shape);
}
// This wave's part of a tile in which each has columns of its own.
template <class Matmul, class Operands, class C, class Shape>
KGEN_FN void multiply_alone(const Operands& operands, const C& sink, Index<2> origin, std::int64_t end,
                            const Shape& shape) {
  origin[1] += thread_index() / wave_size * Matmul::wave_columns;
  if (origin[1] >= end) return;
  typename Matmul::WaveSums own[1] = {};
  const auto left = operands.left(static_cast<int>(origin[0]));
  const auto right = operands.right(static_cast<int>(origin[0]), 0);
  Matmul::multiply(own[0], {left, right, origin[1]}, {shape.steps(Matmul::depth), 1});
  emit_tile<FewRowsSums, 2, true>(own, sink, origin, Index<2>{shape.row_end(origin[0]), end}, shape.lanes);
}

template <class Matmul, class Operands, int Products, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), Matmul::blocks)
few_rows_matmul_kernel(const KGEN_GRID_CONSTANT Operands operands, C c, WarpgroupMatmulShape<Products> shape) {
  if constexpr (has_warpgroups) {
    const int tile = static_cast<int>(block_index()) / shape.blocks;
    if constexpr (Matmul::sharers == 1) {
      static_assert(Products == 1);
      take_turn(shape.allows_next);
      at_tile<Matmul::rows>(tile, Matmul::columns, c, shape,
                            [&]<int, int>(const auto& sink, Index<2> origin, std::int64_t end)
                                KGEN_LAMBDA { multiply_alone<Matmul>(operands, sink, origin, end, shape); });
    } else {
      SharedMemory shared;
      const typename Matmul::Sums sums(shared);
      float* partial = shared.take<float>(Matmul::sharers * Matmul::of_sharer);
      take_turn(shape.allows_next);
      at_tile<Matmul::rows>(tile, Matmul::columns, c, shape,
                            [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
                              multiply_together<Matmul, First, Count>(sums, partial, operands, sink, origin, end,
                                                                      shape);
                            });
    }
  }
}

// ---- launches

// What memory takes where few rows are multiplied by all of it, over its own time.
inline constexpr double slower_memory = 1.35;

// One call of FewRowsMatmul's kernel.
template <class Matmul, class Operands, int Products, class C>
struct FewRowsLaunch {
  static constexpr auto* kernel = few_rows_matmul_kernel<Matmul, Operands, Products, C>;
  using Steps = typename Matmul::Steps;
  static constexpr DepthTimes times = Matmul::sharers == 1
                                          ? DepthTimes{1500, 300, Steps::time, 200}
                                          : DepthTimes{Steps::begin_shared, Steps::again, Steps::time_shared, 0};

  const C& c;
  WarpgroupMatmulShape<Products> shape;
  const DeviceLimits& limits;
  Stream stream;

  bool fits() const {
    return limits.shared_bytes >= Matmul::shared() &&
           runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads);
  }
  Grid grid(int tiles, int blocks) const {
    return {"few_rows_matmul", std::int64_t{tiles} * blocks, Matmul::threads, Matmul::shared(), blocks};
  }
  SharedDepth best() const {
    const int steps = shape.steps(Matmul::depth), of_wave = (steps + Matmul::sharers - 1) / Matmul::sharers;
    const double memory =
        slower_memory * shape.memory_time(shape.steps(swizzle_bytes / static_cast<int>(sizeof(typename Matmul::T))));
    const int tiles = shape.template count_tiles<Matmul::rows>(c, Matmul::columns);
    ClustersAtOnce room = clusters_at_once(grid(1, 1), limits, stream, reinterpret_cast<const void*>(kernel));
    if (Matmul::sharers == 1) std::fill(room.begin() + 2, room.end(), 0);  // nothing is shared
    return times.best(tiles, of_wave, memory, 0, room, limits);
  }
  void operator()(const Operands& operands, const SharedDepth& shared) {
    shape.tiles = shared.tiles;
    shape.blocks = shared.blocks;
    shape.allows_next = shared.tiles * shared.blocks * 2 <= limits.multiprocessors * Matmul::blocks;
    launch_early(grid(shared.tiles, shared.blocks), stream, kernel, operands,
                 with_each(c, [](const auto& sink) { return with_access(sink, 8); }), shape);
  }
};

// Whether the lines of an operand may be read so: elements are neighbours, and none lies before the first one.
template <class T, int R>
bool is_of_lines(const View<const T, R>& view, bool across) {
  const int line = across ? R - 2 : R - 1, other = across ? R - 1 : R - 2;
  return (view.extent(line) == 1 || view.stride(line) == 1) && view.stride(other) >= 0;
}

// What a product of up to `Rows` rows does in a step. Aligned: the lines of right operands are whole vectors.
template <class T, bool BDeep, bool Aligned, int Rows>
struct FewRowsSteps {
  using Columns = std::conditional_t<BDeep, DeepColumns<T, Aligned>, AcrossColumns<T, Aligned>>;
  using type = TensorCoreSteps<T, Columns>;
};
template <bool Aligned, int Rows>
struct FewRowsSteps<float, false, Aligned, Rows> {
  using type = MultiplyAddSteps<Aligned, Rows>;
};

// The same launch of one call's operands.
template <class T, bool BDeep, bool Aligned, int Rows, class A, class B, class C>
class FewRowsProduct {
  static constexpr int products = several_count<B>;
  using Matmul = FewRowsMatmul<typename FewRowsSteps<T, BDeep, Aligned, Rows>::type, most_together<C, products>>;

 public:
  FewRowsProduct(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<products>& shape,
                 const DeviceLimits& limits, Stream stream)
      : launch_{c, shape, limits, stream} {
    operands_.a = CopiedMatrix<T>(a, false);
    int product = 0;
    for_each_of(b, [&](const auto& each) { operands_.b[product++] = CopiedMatrix<T>(each, BDeep); });
  }
  bool fits() const { return launch_.fits(); }
  SharedDepth best() const { return launch_.best(); }
  bool operator()(const SharedDepth& shared) {
    launch_(operands_, shared);
    return true;
  }

 private:
  FewRowsOperands<T, products> operands_;
  FewRowsLaunch<Matmul, FewRowsOperands<T, products>, products, C> launch_;
};

// Whether a has few rows, and the lines of all have no gaps.
template <class T, bool BDeep, class A, class B>
bool are_few_rows(const A& a, const B& b) {
  bool fits = a.extent(0) <= 8 && is_of_lines<T, 2>(a, false);
  for_each_of(b, [&](const auto& each) { fits = fits && is_of_lines<T, 2>(each, BDeep); });
  return fits;
}

// c = a * b for each of b, where a has few rows: false where it has not, where lines have gaps, or where device or
// compiler do not allow it. Of 16 bits, or of floats whose lines are across the depth.
template <class T, bool BDeep, class A, class B, class C>
bool few_rows_matmul(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                     const DeviceLimits& limits, Stream stream) {
  if (!are_few_rows<T, BDeep>(a, b)) return false;
  const auto launch = [&]<bool Aligned, int Rows>() {
    FewRowsProduct<T, BDeep, Aligned, Rows, A, B, C> few(a, b, c, shape, limits, stream);
    return few.fits() && few(few.best());
  };
  if constexpr (std::is_same_v<T, float>) {
    bool aligned = true;
    for_each_of(b, [&](const auto& each) { aligned = aligned && each.extent(1) % 4 == 0 && has_vectors(each, 4); });
    if (aligned && shape.M <= 2) return launch.template operator()<true, 2>();
    if (aligned) return launch.template operator()<true, 8>();
  }
  return launch.template operator()<false, 8>();
}

}  // namespace kgen::gpu

#endif

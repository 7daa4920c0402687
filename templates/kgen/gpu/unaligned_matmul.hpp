// Matrix multiplication of few rows where lines of an operand begin at addresses that the copy engine does not take:
// they are read where they lie, in aligned blocks of 16 bytes, out of which threads take what stands behind their
// beginning. Copied to other lines first, right operands would be on their way three times.
//
// A wave goes down some columns, a step of the depth at a time, of which it multiplies what its threads have loaded.
// Which of its depth and columns the tensor cores take as which number does not matter as long as both operands and the
// sums agree, so a thread has neighbours in memory. The waves of a block share the depth, as do the blocks of a
// cluster, and their sums meet in shared memory (cluster_sums.hpp).
#pragma once

#include "kgen/gpu/copied_matrix.hpp"
#include "kgen/gpu/skinny_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// What a thread reads of a matrix in a step: Pieces * 16 bytes of each of some lines that are `apart`. From step to
// step it goes on along the lines (Along), or to others behind them.
template <class T, int Lines, int Pieces, bool Along>
class UnalignedLines {
  static constexpr int lanes = CopiedMatrix<T>::lanes;

 public:
  using Loaded = Block<16>[Lines][Pieces + 1];

  KGEN_FN UnalignedLines(const CopiedMatrix<T>& matrix, Index<2> first, std::int64_t apart)
      : matrix_(matrix), first_(first), apart_(apart) {}

  // The step that begins `k` further, as it comes from memory. Inside: in aligned blocks, which are all the matrix's;
  // else element by element, as zeros where there are none. Without a branch, so that all are on their way together.
  template <bool Inside>
  KGEN_FN void load(Loaded& to, int k) const {
    const Index<2> at{first_[0] + (Along ? 0 : k), first_[1] + (Along ? k : 0)};
    if constexpr (Inside) {
      constexpr Access constant{false, true, true};
      const auto first = reinterpret_cast<std::uintptr_t>(matrix_.address(at[0], at[1]));
      KGEN_UNROLL
      for (int i = 0; i < Lines; ++i) {
        const std::uintptr_t own = first + static_cast<std::uintptr_t>(i) * distance();
        const auto* from = reinterpret_cast<const unsigned char*>(own - own % 16);
        KGEN_UNROLL
        for (int block = 0; block <= Pieces; ++block) to[i][block] = load_block<16>(from + 16 * block, constant);
      }
    } else {
      T elements[Lines * Pieces][lanes];
      KGEN_UNROLL
      for (int i = 0; i < Lines * Pieces * lanes; ++i) {
        const Index<2> own{at[0] + i / lanes / Pieces * apart_, at[1] + i % (lanes * Pieces)};
        const bool is_there = own[0] < matrix_.extents[0] && own[1] < matrix_.extents[1];
        const T element = load_run<1>(is_there ? matrix_.address(own[0], own[1]) : matrix_.data, 0, {})[0];
        elements[i / lanes][i % lanes] = is_there ? element : static_cast<T>(0.0f);
      }
      KGEN_UNROLL
      for (int i = 0; i < Lines * Pieces; ++i) memcpy(&to[i / Pieces][i % Pieces], elements[i], sizeof(elements[i]));
    }
  }
  // The elements of line number `i`.
  template <bool Inside>
  KGEN_FN void take(std::uint32_t (&words)[4 * Pieces], const Loaded& loaded, int i) const {
    const auto first = reinterpret_cast<std::uintptr_t>(matrix_.address(first_[0], first_[1]));
    const int shift = static_cast<int>((first + static_cast<std::uintptr_t>(i) * distance()) % 16);
    Block<16> taken[Pieces];
    take_behind<Pieces>(taken, loaded[i], Inside ? shift : 0);
    memcpy(words, taken, sizeof(words));
  }

 private:
  KGEN_FN std::uintptr_t distance() const {
    return static_cast<std::uintptr_t>(apart_ * matrix_.strides[0]) * sizeof(T);
  }

  const CopiedMatrix<T>& matrix_;
  Index<2> first_;
  std::int64_t apart_;
};

// Of up to 8 rows, and tiles of `Groups` times the columns of a wave. BDeep: the lines of right operands are along the
// depth, and a thread has 16 elements of two of them in a step; else 8 elements of four.
template <class T, bool BDeep, int Groups>
struct UnalignedMatmul {
  static constexpr int rows = 8, waves = 4, threads = waves * wave_size, blocks = BDeep ? 3 : 2;
  static constexpr int wave_columns = BDeep ? 16 : 64, columns = Groups * wave_columns, depth = BDeep ? 64 : 16;
  static constexpr int sharers = waves / Groups;  // waves that share the depth of a group
  static constexpr int ahead = 2;                 // steps that are on their way
  using Sums = ClusterSums<rows, columns>;
  using Results = ClusterResults<columns, threads>;
  static constexpr int of_sharer = rows * Sums::pitch;
  static constexpr std::int64_t shared() { return Sums::shared() + shared_bytes<float>(sharers * of_sharer); }

  // Of 16 columns each.
  static constexpr int products = wave_columns / 16;
  using WaveSums = float[products][4];
  // The 16 columns and 16 of the depth that the tensor cores multiply at a time, of which this thread has two columns
  // and four of the depth; and what it has of the left operand's rows.
  using Tile = std::uint32_t[4];
  using Left = std::uint32_t[2];

  // A wave's columns of a right operand, from `column` on, by all rows.
  class Columns {
    using Weights = std::conditional_t<BDeep, UnalignedLines<T, 2, 2, true>, UnalignedLines<T, 4, 1, false>>;
    using LeftLine = UnalignedLines<T, 1, 2, true>;

   public:
    // What is on its way of a step.
    struct Step {
      typename Weights::Loaded weights;
      typename LeftLine::Loaded left;  // where the depth is along lines
      T elements[4];                   // where it is not
    };

    KGEN_FN Columns(const CopiedMatrix<T>& a, const CopiedMatrix<T>& b, std::int64_t column)
        : a_(a),
          row_(at_most(thread_index() % wave_size / 4, a.extents[0] - 1)),
          left_(a, {row_, thread_index() % 4 * 16}, 0),
          weights_(b, first(b, column), BDeep ? second_line(b, column) - first(b, column)[0] : 1),
          inside_(inside(a, b, column)) {}

    // The depth of which steps are inside both operands, from `first` on.
    KGEN_FN Index<2> inside() const { return inside_; }

    template <bool Inside>
    KGEN_FN void load(Step& to, int k) const {
      weights_.template load<Inside>(to.weights, k);
      if constexpr (BDeep) {
        left_.template load<Inside>(to.left, k);
      } else {
        KGEN_UNROLL
        for (int i = 0; i < 4; ++i) {
          const std::int64_t at = k + thread_index() % 4 * 4 + i, last = a_.extents[1] - 1;
          to.elements[i] = load_run<1>(a_.address(row_, Inside ? at : at_most(at, last)), 0, {})[0];
        }
      }
    }
    // Beyond the last of the depth, right operands are zeros; left ones as well: what else there is may be NaN.
    template <bool Inside>
    KGEN_FN void multiply(WaveSums& sums, Step& step, int k) const {
      Left left[BDeep ? 4 : 1];
      if constexpr (BDeep) {
        std::uint32_t words[8];
        left_.template take<Inside>(words, step.left, 0);
        memcpy(left, words, sizeof(words));
      } else {
        KGEN_UNROLL
        for (int i = 0; i < 4; ++i) {
          const bool is_there = Inside || k + thread_index() % 4 * 4 + i < a_.extents[1];
          step.elements[i] = is_there ? step.elements[i] : static_cast<T>(0.0f);
        }
        memcpy(left, step.elements, sizeof(left));
      }
      Tile tiles[4];
      take_tiles<Inside>(tiles, step);
      KGEN_UNROLL
      for (int i = 0; i < 4; ++i) multiply_tile<T>(sums[BDeep ? 0 : i], tiles[i], left[BDeep ? i : 0]);
    }

   private:
    KGEN_FN static std::int64_t at_most(std::int64_t number, std::int64_t last) {
      return number < last ? number : last;
    }
    // Where this thread's first line begins in the first step.
    KGEN_FN static Index<2> first(const CopiedMatrix<T>& b, std::int64_t column) {
      const int lane = thread_index() % wave_size;
      if (BDeep) return {at_most(column + lane / 4, b.extents[0] - 1), lane % 4 * 16};
      return {lane % 4 * 4, column + lane / 4 * 8};
    }
    KGEN_FN static std::int64_t second_line(const CopiedMatrix<T>& b, std::int64_t column) {
      return at_most(column + thread_index() % wave_size / 4 + 8, b.extents[0] - 1);
    }
    KGEN_FN static Index<2> inside(const CopiedMatrix<T>& a, const CopiedMatrix<T>& b, std::int64_t column) {
      constexpr int block = CopiedMatrix<T>::lanes;
      const bool from_begin = b.begin % 16 == 0 && (!BDeep || a.begin % 16 == 0);
      const std::int64_t begin = from_begin ? 0 : depth, pitch = b.strides[0];
      if (BDeep) return {begin, a.extents[1] - depth - block + 1};
      // Blocks of the step's last line, from the wave's last column on, may be those of lines behind it.
      const auto elements = static_cast<std::int64_t>((b.end - b.begin) / sizeof(T));
      const std::int64_t left = elements - column - wave_columns - 2 * block;
      const std::int64_t lines = left < 0 || pitch == 0 ? 0 : left / pitch + 1;
      return {begin, at_most(lines, b.extents[0]) - depth + 1};
    }
    template <bool Inside>
    KGEN_FN void take_tiles(Tile (&tiles)[4], const Step& step) const {
      constexpr int lines = BDeep ? 2 : 4, words = BDeep ? 8 : 4;
      std::uint32_t own[lines][words];
      KGEN_UNROLL
      for (int i = 0; i < lines; ++i) weights_.template take<Inside>(own[i], step.weights, i);
      KGEN_UNROLL
      for (int i = 0; i < 4; ++i) {
        KGEN_UNROLL
        for (int half = 0; half < 2; ++half) {
          if constexpr (BDeep) {
            tiles[i][2 * half] = own[0][2 * i + half];
            tiles[i][2 * half + 1] = own[1][2 * i + half];
          } else {  // neighbours in depth are in two lines
            const std::uint32_t one = own[2 * half][i], other = own[2 * half + 1][i];
            tiles[i][2 * half] = (one & 0xffff) | other << 16;
            tiles[i][2 * half + 1] = one >> 16 | (other & 0xffff0000);
          }
        }
      }
    }

    const CopiedMatrix<T>& a_;
    std::int64_t row_;
    LeftLine left_;
    Weights weights_;
    Index<2> inside_;
  };

  // A wave: the sums of these columns over its share of a part of the depth.
  KGEN_FN static void multiply(WaveSums& sums, const Columns& columns, ClusterDepth part) {
    constexpr int stride = sharers * depth;
    const int share = thread_index() / wave_size / Groups, last = part.last * depth;
    const Index<2> inside = columns.inside();
    const int end = last < inside[1] ? last : static_cast<int>(inside[1]);
    int k = (part.first + share) * depth;
    const auto one_by_one = [&](int behind) KGEN_LAMBDA {
      KGEN_NO_UNROLL
      for (; k < behind; k += stride) {
        typename Columns::Step step;
        columns.template load<false>(step, k);
        columns.template multiply<false>(sums, step, k);
      }
    };
    if (k < inside[0]) one_by_one(last < inside[0] ? last : static_cast<int>(inside[0]));
    typename Columns::Step next[ahead];
    KGEN_UNROLL
    for (int i = 0; i < ahead; ++i) {
      if (k + i * stride < end) columns.template load<true>(next[i], k + i * stride);
    }
    KGEN_NO_UNROLL
    while (k < end) {
      KGEN_UNROLL
      for (int i = 0; i < ahead; ++i) {
        if (k >= end) break;
        columns.template multiply<true>(sums, next[i], k);
        if (k + ahead * stride < end) columns.template load<true>(next[i], k + ahead * stride);
        k += stride;
      }
    }
    one_by_one(last);
  }

  // A wave: puts its sums where rows and columns of its group are.
  KGEN_FN static void put(float* partial, const WaveSums& sums) {
    const int lane = thread_index() % wave_size, wave = thread_index() / wave_size;
    float* to = partial + wave / Groups * of_sharer + lane % 4 * 2 * Sums::pitch + wave % Groups * wave_columns +
                lane / 4 * (BDeep ? 1 : 8);
    KGEN_UNROLL
    for (int i = 0; i < 4 * products; ++i) {
      to[i % 2 * Sums::pitch + (BDeep ? i / 2 * 8 : i / 2)] = sums[i / 4][i % 4];
    }
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

template <class T, int Products>
struct UnalignedOperands {
  CopiedMatrix<T> a, b[Products];
};

template <class Matmul, class T, int Products, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), Matmul::blocks)
unaligned_matmul_kernel(const KGEN_GRID_CONSTANT UnalignedOperands<T, Products> operands, C c,
                        WarpgroupMatmulShape<Products> shape) {
  if constexpr (has_warpgroups) {
    SharedMemory shared;
    const typename Matmul::Sums sums(shared);
    float* partial = shared.take<float>(Matmul::sharers * Matmul::of_sharer);
    take_turn(shape.allows_next);
    const ClusterDepth part(shape.steps(Matmul::depth), shape.blocks);
    const auto compute = [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      {
        const BlockPhase multiplying;
        // Groups are of one product, or of one each.
        const int group = thread_index() / wave_size % (Matmul::columns / Matmul::wave_columns);
        const std::int64_t column = origin[1] + (Count == 1 ? group * Matmul::wave_columns : 0);
        typename Matmul::WaveSums own = {};
        const auto& right = operands.b[Count == 1 ? First : First + group];
        Matmul::multiply(own, {operands.a, right, column}, part);
        Matmul::put(partial, own);
      }
      {
        const ClusterPhase sharing;
        Matmul::add(sums, partial, static_cast<int>(shape.M));
      }
      const ClusterStay adding;
      Matmul::Results::template emit_tile<Count>(sums, sink, origin, end, shape);
    };
    at_tile<Matmul::rows>(static_cast<int>(block_index()) / shape.blocks, Matmul::columns, c, shape, compute);
  }
}

namespace detail {
template <class T, bool BDeep, class A, class B, class C>
bool launch_unaligned_matmul(const A& a, const B& b, const C& c, WarpgroupMatmulShape<several_count<B>> shape,
                             const DeviceLimits& limits, Stream stream) {
  constexpr int products = several_count<B>;
  using Matmul = UnalignedMatmul<T, BDeep, most_together<C, products>>;
  const auto kernel = unaligned_matmul_kernel<Matmul, T, products, C>;
  if (limits.shared_bytes < Matmul::shared() ||
      !runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads)) {
    return false;
  }
  UnalignedOperands<T, products> operands;
  operands.a = CopiedMatrix<T>(a, false);
  int product = 0;
  for_each_of(b, [&](const auto& each) { operands.b[product++] = CopiedMatrix<T>(each, BDeep); });
  const auto grid = [&](int tiles, int blocks) {
    return Grid{"unaligned_matmul", std::int64_t{tiles} * blocks, Matmul::threads, Matmul::shared(), blocks};
  };
  constexpr DepthTimes times{2000, 1000, 400, 600};
  const int steps = shape.steps(Matmul::depth), of_wave = (steps + Matmul::sharers - 1) / Matmul::sharers;
  const double memory = shape.memory_time(shape.steps(swizzle_bytes / static_cast<int>(sizeof(T))));
  const SharedDepth shared =
      times.best(shape.template count_tiles<Matmul::rows>(c, Matmul::columns), of_wave, memory,
                 clusters_at_once(grid(1, 1), limits, stream, reinterpret_cast<const void*>(kernel)), limits);
  shape.tiles = shared.tiles;
  shape.blocks = shared.blocks;
  shape.allows_next = shared.tiles * shared.blocks * 2 <= limits.multiprocessors * Matmul::blocks;
  launch_early(grid(shared.tiles, shared.blocks), stream, kernel, operands,
               with_each(c, [](const auto& sink) { return with_access(sink, 8); }), shape);
  return true;
}
}  // namespace detail

// c = a * b for each of b, where a has few rows: false where it has not, where lines have gaps, or where device or
// compiler do not allow it.
template <class T, bool BDeep, class A, class B, class C>
bool unaligned_matmul(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                      const DeviceLimits& limits, Stream stream) {
  if (shape.M > 8) return false;
  const auto is_of_lines = [](const View<const T, 2>& view, bool across) {
    const int line = across ? 0 : 1;
    return (view.extent(line) == 1 || view.stride(line) == 1) && view.stride(1 - line) >= 0;
  };
  bool fits = is_of_lines(a, false);
  for_each_of(b, [&](const auto& each) { fits = fits && is_of_lines(each, BDeep); });
  if (!fits) return false;
  return detail::launch_unaligned_matmul<T, BDeep>(a, b, c, shape, limits, stream);
}

}  // namespace kgen::gpu

#endif

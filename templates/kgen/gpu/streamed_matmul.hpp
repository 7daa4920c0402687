// Matrix multiplication of few rows on tensor cores by what a prologue makes of the right operand as it comes from
// memory (streamed_tiles.hpp): of any number of columns, and any depth.
//
// A wave goes down 16 columns, 128 rows at a time: a thread loads its rows of 2 columns, two steps ahead, and its
// columns of the left operand's rows. The waves of a block share the depth, and add up in shared memory.
#pragma once

#include "kgen/gpu/added_sums.hpp"
#include "kgen/gpu/streamed_tiles.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Rows: of the left operand, at a time; Columns: of a tile, of all products that it is of. Degree: StreamedTiles'.
template <class T, int Rows, int Columns, int Degree>
struct StreamedMatmul {
  using Tiles = StreamedTiles<T, Rows, 1, Degree>;
  using Sums = typename Tiles::Sums;
  static constexpr int rows = Rows, columns = Columns, wave_columns = Tiles::columns;
  static constexpr int lanes = Tiles::lanes, depth = Tiles::depth, ahead = 2;  // steps that are on their way
  static constexpr int most_waves = 8, threads = most_waves * wave_size;       // of a block
  static constexpr int blocks = 2, places = blocks * most_waves;               // of waves, on a multiprocessor
  static constexpr int pitch = Columns + 4;  // 2 rows further and 1 column further are 32 different banks
  static constexpr std::int64_t shared(int waves) { return shared_bytes<float>(waves * Rows * pitch); }

  // A thread's part of the left operand: its own row of each 8, or the last one, and of a step its columns.
  struct Left {
    const T* rows[Rows / 8];  // at the next step's columns

    KGEN_FN Left(const View<const T, 2>& a, int first_row, int column) {
      KGEN_UNROLL
      for (int i = 0; i < Rows / 8; ++i) {
        const std::int64_t row = first_row + i * 8 + thread_index() % wave_size / 4, last = a.extent(0) - 1;
        rows[i] = a.data() + (row < last ? row : last) * a.stride(0) + column;
      }
    }
    KGEN_FN void advance(int columns) {
      KGEN_UNROLL
      for (int i = 0; i < Rows / 8; ++i) rows[i] += columns;
    }
    KGEN_FN Block<16> load(int row, int first) const { return load_constant<16>(rows[row] + first); }
  };
  // The same with a step's columns in registers, on their way together: 0 beyond the last one.
  struct LoadedLeft {
    Block<16> blocks[Rows / 8][lanes / Tiles::part];

    KGEN_FN LoadedLeft(const Left& left, bool beyond) {
      KGEN_UNROLL
      for (int i = 0; i < Rows / 8 * (lanes / Tiles::part); ++i) {
        const int row = i / (lanes / Tiles::part), place = i % (lanes / Tiles::part);
        blocks[row][place] = beyond ? Block<16>{} : left.load(row, place * Tiles::part);
      }
    }
    KGEN_FN const Block<16>& load(int row, int first) const { return blocks[row][first / Tiles::part]; }
  };

  // A wave: the sums of 16 columns from `column` on, of which those before `end` are there, over its part of the depth.
  template <class Source>
  KGEN_FN static void multiply(Sums& sums, const View<const T, 2>& a, int first_row, const Source& b,
                               std::int64_t column, std::int64_t end) {
    using Weights = typename Tiles::template Weights<Source>;
    const int lane = thread_index() % wave_size, waves = block_threads() / wave_size;
    const int K = static_cast<int>(a.extent(1)), stride = waves * depth;
    const std::int64_t last = end - 1, own = column + lane / 4;
    int begin = thread_index() / wave_size * depth;  // of the wave's step
    const int first = begin + lane % 4 * lanes;
    typename Weights::Streamed columns[] = {{b, {first, own < last ? own : last}, stride},
                                            {b, {first, own + 8 < last ? own + 8 : last}, stride}};
    Left left(a, first_row, first);
    Weights next[ahead][1] = {};
    const auto load = [&](Weights(&to)[1], int from) KGEN_LAMBDA {
      if (from + depth <= K || from + lane % 4 * lanes < K) to[0] = {{columns[0].load(b), columns[1].load(b)}};
    };
    // One of the steps that are on their way: its registers are free for the one behind the others.
    const auto step = [&](Weights(&weights)[1], bool beyond) KGEN_LAMBDA {
      if constexpr (Degree != 0) {
        Tiles::multiply(sums, left, b, weights, false);
      } else {
        Tiles::multiply(sums, LoadedLeft(left, beyond), b, weights, beyond);
      }
      load(weights, begin + ahead * stride);
      left.advance(stride);
      begin += stride;
    };
    KGEN_UNROLL
    for (int i = 0; i < ahead; ++i) load(next[i], begin + i * stride);
    take_turn();  // the first time: weights of a model do not wait for what is ahead
    while (begin + (ahead - 1) * stride + depth <= K) {
      KGEN_UNROLL
      for (int i = 0; i < ahead; ++i) step(next[i], false);
    }
    KGEN_UNROLL
    for (int i = 0; i < ahead; ++i) {
      if (begin < K) step(next[i], begin + lane % 4 * lanes >= K);
    }
  }

  // All columns of a tile that are of one product, from `column` on; they stand from `place` on in the tile.
  template <int Own, class Source>
  KGEN_FN static void multiply_columns(float* to, const View<const T, 2>& a, int first_row, const Source& b,
                                       std::int64_t column, std::int64_t end, int place) {
    KGEN_NO_UNROLL
    for (int i = 0; i < Own; i += wave_columns) {
      Sums sums = {};
      multiply(sums, a, first_row, b, column + i, end);
      Tiles::put(to + thread_index() / wave_size * Rows * pitch + place + i, pitch, sums);
    }
  }
};

// In how many parts so many rows are multiplied.
KGEN_FN constexpr int passes_of(int M, int rows) { return (M + rows - 1) / rows; }

template <class Matmul, class T, class B, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), Matmul::blocks)
streamed_matmul_kernel(View<const T, 2> a, B b, C c, WarpgroupMatmulShape<several_count<B>> shape) {
  if constexpr (has_warpgroups) {
    SharedMemory shared;
    const int waves = block_threads() / wave_size;
    float* partial = shared.take<float>(waves * Matmul::rows * Matmul::pitch);
    if (!shape.loads_ahead) take_turn();
    // Neighbouring blocks have the same columns, and of the rows so many each.
    const int passes = passes_of(static_cast<int>(shape.M), Matmul::rows);
    const int tile = static_cast<int>(block_index()) / passes;
    const int first_row = (static_cast<int>(block_index()) - tile * passes) * Matmul::rows;
    const auto compute = [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      constexpr int own = Matmul::columns / Count;
      const auto multiply = [&]<int... I>(std::integer_sequence<int, I...>) KGEN_LAMBDA {
        (Matmul::template multiply_columns<own>(partial, a, first_row, nth<First + I>(b), origin[1], end, I * own),
         ...);
      };
      constexpr std::make_integer_sequence<int, Count> products;
      {
        const BlockPhase multiplying;
        multiply(products);
      }
      const auto add = [&]<int W, int Pieces>(Vec<float, W>(&sums)[Pieces], int count, const int(&rows)[Pieces],
                                              const int(&places)[Pieces]) KGEN_LAMBDA {
        for (int i = 0; i < Pieces; ++i) sums[i] = Vec<float, W>(0);
        for (int wave = 0; wave < waves; ++wave) {
          KGEN_UNROLL
          for (int i = 0; i < Pieces; ++i) {
            if (i >= count) continue;
            const int row = wave * Matmul::rows + rows[i] - first_row;
            sums[i] = sums[i] + load_lanes<W>(partial + row * Matmul::pitch + places[i]);
          }
        }
      };
      const int left = static_cast<int>(shape.M) - first_row, own_rows = left < Matmul::rows ? left : Matmul::rows;
      const PieceRange all{first_row * (own / 4), (first_row + own_rows) * (own / 4), thread_index(), block_threads()};
      const int first = static_cast<int>(origin[1]), last = static_cast<int>(end);
      if (shape.lanes != Lanes::any) {
        emit_added<true, own, 4>(add, known<Lanes::whole_vectors>(sink), {0, first}, last, all, products);
      } else {
        emit_added<false, own, 4>(add, sink, {0, first}, last, all, products);
      }
    };
    at_tile(tile, Matmul::columns, c, shape, compute);
  }
}

namespace detail {
template <class S>
struct StreamsAll {
  static constexpr bool value = streamed_fields<S>().fits;
};
template <class... S>
struct StreamsAll<Several<S...>> {
  static constexpr bool value = (streamed_fields<S>().fits && ...);
};
template <class T, class S>
struct HasPairs {
  static constexpr bool value = CodePairs<T, streamed_element_t<S>>::exist;
};
template <class T, class... S>
struct HasPairs<T, Several<S...>> {
  static constexpr bool value = (HasPairs<T, S>::value && ...);
};
template <class A>
inline constexpr bool is_left_of_tiles = is_memory_of<bf16, A> || is_memory_of<f16, A>;
}  // namespace detail

// Whether a left operand and right ones of these types may be multiplied so.
template <class A, class B, class C>
inline constexpr bool has_streamed_matmul =
    detail::is_left_of_tiles<A>&& detail::StreamsAll<B>::value&& most_together<C, several_count<B>> <= 2;

// How many waves should share the depth of a tile, of so many steps: so many that all blocks have their places at once,
// or the last ones leave few of a multiprocessor's `places` for waves idle. About 16 waves hide what each waits for.
inline int waves_of_tile(int tiles, int steps, int most, int places, int multiprocessors) {
  constexpr int enough = 16;
  const int fewest = std::min(4, steps);
  int best = fewest;
  std::int64_t least = 0;
  for (int waves = fewest; waves <= std::min(most, steps); ++waves) {
    const int together = places / waves, each = (tiles + multiprocessors - 1) / multiprocessors;
    const int rounds = (each + together - 1) / together, blocks = std::min(each, together);
    const std::int64_t time = std::int64_t{rounds} * ((steps + waves - 1) / waves) * std::max(blocks * waves, enough);
    if (waves == fewest || time < least) best = waves, least = time;
  }
  return best;
}

template <class T, int Rows, int Degree, class A, class B, class C>
bool launch_streamed_matmul(const A& a, const B& b, const C& c, WarpgroupMatmulShape<several_count<B>> shape,
                            Stream stream) {
  using Matmul = StreamedMatmul<T, Rows, 16 * most_together<C, several_count<B>>, Degree>;
  const auto kernel = streamed_matmul_kernel<Matmul, T, B, C>;
  if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads)) return false;
  for_each_sink<several_count<B>>(
      c, [&]<int First, int Count>(const auto&) { shape.tiles += shape.order(Matmul::columns, First, Count).columns; });
  const int multiprocessors = device_limits(stream).multiprocessors,
            passes = passes_of(static_cast<int>(shape.M), Rows);
  const int waves = waves_of_tile(shape.tiles * passes, shape.steps(Matmul::depth), Matmul::most_waves, Matmul::places,
                                  multiprocessors);
  bool fits = Degree == 0 || shape.K % Matmul::depth == 0;
  for_each_of(b, [&]<class Source>(const Source& each) {
    const std::int64_t rows = Degree == 0 ? Matmul::lanes : Matmul::depth;
    fits = fits && StreamedSource<Source, Matmul::lanes>::fits(each, waves * Matmul::depth, rows);
  });
  if (!fits) return false;
  shape.loads_ahead = are_lasting(b);
  const Grid grid{"streamed_matmul", std::int64_t{shape.tiles} * passes, waves * wave_size, Matmul::shared(waves)};
  launch_early(grid, stream, kernel, a, b, with_each(c, [](const auto& sink) { return with_access(sink, 8); }), shape);
  return true;
}

// The product's shape: nothing where these kernels do not take it.
template <class A, class B, class C>
std::optional<WarpgroupMatmulShape<several_count<B>>> streamed_shape(const A& a, const B& b, const C& c) {
  WarpgroupMatmulShape<several_count<B>> shape{a.extent(0), a.extent(1), {}, 0, whole_lanes(c, 8)};
  constexpr std::int64_t most = 1 << 28;  // places are counted in 32 bits, tiles as well
  bool fits = shape.M > 0 && shape.M < most && has_vectors(a, 8) && shape.K > 0 && shape.K < most;
  int product = 0;
  for_each_of(b, [&](const auto& each) {
    const std::int64_t N = shape.N[product++] = each.shape()[1];
    fits = fits && N > 0 && N < most;
  });
  if (!fits) return std::nullopt;
  return shape;
}

// c = a * b for each of b, where a has few rows: false where it has not, or where device, compiler or where operands
// lie do not allow it.
template <class T, int Degree, class A, class B, class C>
bool streamed_matmul_by_waves(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                              Stream stream) {
  constexpr int most_rows = Degree == 0 ? 16 : 32;  // of more, memory of what the prologue makes is faster
  if (shape.M <= 8) return launch_streamed_matmul<T, 8, Degree>(a, b, c, shape, stream);
  return shape.M <= most_rows && launch_streamed_matmul<T, 16, Degree>(a, b, c, shape, stream);
}

}  // namespace kgen::gpu

#endif

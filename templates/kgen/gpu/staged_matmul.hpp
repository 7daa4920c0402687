// Matrix multiplication of few rows on tensor cores by what a prologue makes of the right operand as it comes from
// memory (streamed_tiles.hpp): the copy engine brings stages of both operands as they lie, so far ahead that memory
// is never waited for. A block has a tile of 128 columns or 256, of one right operand or of two that a sink takes
// jointly; the blocks of a cluster and the teams of each share its depth, a ring of stages to a team, and add up in
// shared memory.
#pragma once

#include "kgen/gpu/cluster_sums.hpp"
#include "kgen/gpu/skinny_matmul.hpp"
#include "kgen/gpu/streamed_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Rows: of the left operand. Bits: of an element of what is streamed. Degree: StreamedTiles'. Columns: of a tile.
template <class T, int Rows, int Bits, int Degree, int Columns>
struct StagedMatmul {
  using Tiles = StreamedTiles<T, Rows, 2, Degree>;
  static constexpr int rows = Rows, columns = Columns, depth = Tiles::depth;
  // A stage has 128 bytes of each column of what is streamed, which is so many steps, and these of the left operand as
  // boxes of 128 bytes of each row.
  static constexpr int steps = swizzle_bytes * 8 / Bits / depth;
  static constexpr int box_depth = swizzle_bytes / static_cast<int>(sizeof(T)), boxes = depth / box_depth;
  struct alignas(tile_alignment) Stage {
    unsigned char b[columns * swizzle_bytes];
    T a[steps * boxes][Rows * box_depth];
  };
  // Each team has waves that multiply 32 columns each; one thread of a wave behind all of these loads for it. Waves of
  // wide tiles find registers where a whole warpgroup that loads gives them its own.
  static constexpr bool is_wide = columns > 128;
  static constexpr int teams = 2, team_waves = columns / Tiles::columns;
  static constexpr int multiplying_threads = teams * team_waves * wave_size;
  static constexpr int threads = multiplying_threads + (is_wide ? warpgroup_threads : teams * wave_size);
  static constexpr int loading_registers = 64, multiplying_registers = 104;
  static constexpr int launch_registers = 65536 / threads / 8 * 8;
  static_assert(!is_wide || warpgroup_threads * loading_registers + multiplying_threads * multiplying_registers <=
                                threads * launch_registers,
                "more than the launch gives: a block would wait for them forever");
  using Sums = ClusterSums<Rows, columns, teams>;
  using Results = ClusterResults<columns, multiplying_threads>;
  static constexpr std::int64_t available = (226 - 1) * 1024 - Sums::shared();
  static constexpr int stages = static_cast<int>(available / teams / (shared_bytes<Stage>(1) + 64));
  using Pipeline = TilePipeline<Stage, stages, 1>;
  static constexpr std::int64_t shared() { return teams * Pipeline::shared() + Sums::shared(); }

  // All threads of the block together: a ring for each team, of which this is the one of `team`.
  KGEN_FN static Pipeline ring(SharedMemory& memory, int team) {
    Pipeline own(memory, team_waves);
    KGEN_UNROLL
    for (int i = 1; i < teams; ++i) {
      const Pipeline other(memory, team_waves);
      if (i == team) own = other;
    }
    return own;
  }
  // A thread's columns of the left operand's rows, in a step of a stage.
  struct Left {
    const T (*boxes)[Rows * box_depth];
    KGEN_FN Block<16> load(int row, int first) const {
      constexpr int pieces = swizzle_bytes / 16, lanes = 16 / static_cast<int>(sizeof(T));
      const int lane = thread_index() % wave_size, line = row * 8 + lane / 4;
      const int at = lane % 4 * Tiles::lanes + first, piece = at % box_depth / lanes;
      return load_block<16>(boxes[at / box_depth] + (line * pieces + (piece ^ line % 8)) * lanes, Access{});
    }
  };

  // A wave: sums += those of 32 columns from `column` on, of which those before `end` are there, over a part of the
  // depth, in steps. In a stage they stand from `place` on.
  template <class Source>
  KGEN_FN static void multiply(Pipeline& pipeline, typename Tiles::Sums& sums, const Source& b, std::int64_t column,
                               std::int64_t end, int place, ClusterDepth part) {
    constexpr int ahead = 2;  // stages whose scales are on their way
    using Weights = typename Tiles::template Weights<Source>;
    using Streamed = typename Weights::Streamed;
    const int lane = thread_index() % wave_size;
    const auto streamed = [&](int group, int second) KGEN_LAMBDA {
      const std::int64_t own = column + group * 16 + second * 8 + lane / 4, last = end - 1;
      return Streamed(b, {part.first * depth + lane % 4 * Tiles::lanes, own < last ? own : last}, depth);
    };
    Streamed columns[] = {streamed(0, 0), streamed(0, 1), streamed(1, 0), streamed(1, 1)};
    Weights next[ahead][steps][2] = {};
    const auto load = [&](Weights(&to)[steps][2], int step) KGEN_LAMBDA {
      KGEN_UNROLL
      for (int i = 0; i < steps; ++i) {
        if (step + i >= part.last) continue;
        KGEN_UNROLL
        for (int each = 0; each < 4; ++each) columns[each].load_single(b, to[i][each / 2].pieces[each % 2]);
      }
    };
    KGEN_UNROLL
    for (int i = 0; i < ahead; ++i) load(next[i], part.first + i * steps);
    for (int begin = part.first; begin < part.last; begin += ahead * steps) {
      KGEN_UNROLL
      for (int i = 0; i < ahead; ++i) {
        const int step = begin + i * steps;
        if (step >= part.last) continue;
        const auto stage = pipeline.read();
        KGEN_UNROLL
        for (int each = 0; each < steps; ++each) {
          if (step + each >= part.last) continue;
          take(next[i][each], stage->b, place, each);
          Tiles::multiply(sums, Left{stage->a + each * boxes}, b, next[i][each], false);
        }
        load(next[i], step + ahead * steps);
      }
    }
  }

 private:
  // What a thread has of its columns in a step of a stage.
  template <class Weights>
  KGEN_FN static void take(Weights (&to)[2], const unsigned char* lines, int place, int step) {
    constexpr int pieces = Tiles::lanes * Bits / 128;  // of 16 bytes
    const int lane = thread_index() % wave_size;
    KGEN_UNROLL
    for (int each = 0; each < 4; ++each) {
      const int line = place + each * 8 + lane / 4;
      KGEN_UNROLL
      for (int i = 0; i < pieces; ++i) {
        const int piece = (step * 4 + lane % 4) * pieces + i;
        to[each / 2].pieces[each % 2].streamed[i] =
            load_block<16>(lines + line * swizzle_bytes + (piece ^ line % 8) * 16, Access{});
      }
    }
  }
};

// Both operands as the copy engine brings them.
template <class Matmul, int Products>
struct StagedLoads {
  TensorMap a, b[Products];

  // Stages of a part of the depth, in steps, of `Count` right operands that share a tile: of each from `column` on.
  template <int First, int Count, class Pipeline>
  KGEN_FN void load(Pipeline& pipeline, int column, ClusterDepth part) const {
    constexpr int own = Matmul::columns / Count;
    for (int step = part.first; step < part.last; step += Matmul::steps) {
      const auto stage = pipeline.fill();
      KGEN_UNROLL
      for (int i = 0; i < Count; ++i) {
        copy_tile(stage->b + i * own * swizzle_bytes, b[First + i], stage.arrival(),
                  step / Matmul::steps * swizzle_bytes, column);
      }
      KGEN_UNROLL
      for (int i = 0; i < Matmul::steps * Matmul::boxes; ++i) {
        copy_tile(stage->a[i], a, stage.arrival(), (step * Matmul::boxes + i) * Matmul::box_depth, 0);
      }
    }
  }
};

template <class Matmul, class B, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), 1)
staged_matmul_kernel(const KGEN_GRID_CONSTANT StagedLoads<Matmul, several_count<B>> loads, B b, C c,
                     WarpgroupMatmulShape<several_count<B>> shape) {
  if constexpr (has_warpgroups) {
    SharedMemory shared;
    const int wave = wave_index(), multiplying_waves = Matmul::teams * Matmul::team_waves;
    const bool multiplies = wave < multiplying_waves;
    const int team = multiplies ? wave / Matmul::team_waves : wave - multiplying_waves;
    typename Matmul::Pipeline pipeline = Matmul::ring(shared, team);
    const typename Matmul::Sums partial(shared);
    const ClusterDepth of_stages(shape.steps(Matmul::depth * Matmul::steps), shape.blocks, Matmul::teams, team);
    const ClusterDepth part = of_stages.in_parts(Matmul::steps, shape.steps(Matmul::depth));
    take_turn();
    const auto compute = [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      constexpr int own = Matmul::columns / Count;
      {
        const ClusterPhase multiplying;
        if (multiplies) {
          if constexpr (Matmul::is_wide) hold_registers<Matmul::multiplying_registers, RegisterShare::more>();
          const int place = wave % Matmul::team_waves * Matmul::Tiles::columns;
          typename Matmul::Tiles::Sums sums = {};
          if (place < own) {
            Matmul::multiply(pipeline, sums, nth<First>(b), origin[1] + place, end, place, part);
          } else {
            Matmul::multiply(pipeline, sums, nth<First + Count - 1>(b), origin[1] + place - own, end, place, part);
          }
          Matmul::Tiles::put(partial.at(0, place, team), Matmul::Sums::pitch, sums);
        } else {
          if constexpr (Matmul::is_wide) hold_registers<Matmul::loading_registers, RegisterShare::less>();
          if (team < Matmul::teams && is_elected()) {
            loads.template load<First, Count>(pipeline, static_cast<int>(origin[1]), part);
          }
        }
      }
      const ClusterStay adding;
      if (multiplies) Matmul::Results::template emit_tile<Count>(partial, sink, origin, end, shape);
    };
    at_tile(static_cast<int>(block_index()) / shape.blocks, Matmul::columns, c, shape, compute);
  }
}

namespace detail {
// What is streamed of a right operand, or of several: whether of all the same elements.
template <class S>
struct StreamedAlike {
  using element = streamed_element_t<S>;
  static constexpr bool value = true;
};
template <class S, class... Rest>
struct StreamedAlike<Several<S, Rest...>> {
  using element = streamed_element_t<S>;
  static constexpr bool value = (std::is_same_v<element, streamed_element_t<Rest>> && ...);
};
}  // namespace detail

// Nothing where operands do not lie as the engine takes them.
template <class T, class Matmul, class A, class B, class C>
std::optional<StagedLoads<Matmul, several_count<B>>> staged_loads(const A& a, const B& b, const C& c) {
  StagedLoads<Matmul, several_count<B>> loads;
  bool all = true;
  const auto describe = [&]<class E>(TensorMap& map, const std::optional<BoxedMemory<2>>& matrix, const E&) {
    const std::optional<TensorMap> made = matrix && all ? tensor_map<E>(*matrix) : std::nullopt;
    all = made.has_value();
    if (all) map = *made;
  };
  describe(loads.a, matrix_in_memory(a, false, Matmul::box_depth, Matmul::rows), T{});
  for_each_sink<several_count<B>>(c, [&]<int First, int Count>(const auto&) {
    const auto lines = [&]<class Source>(const Source& source) {
      return StreamedSource<Source, Matmul::Tiles::lanes>::boxed(source, Matmul::columns / Count);
    };
    describe(loads.b[First], lines(nth<First>(b)), std::uint8_t{});
    if constexpr (Count == 2) describe(loads.b[First + 1], lines(nth<First + 1>(b)), std::uint8_t{});
  });
  return all ? std::optional(loads) : std::nullopt;
}

// `tiles` and `blocks` of the shape become those that a StagedMatmul of so many columns has, whatever its rows.
template <class B, int Columns = 128, class C, class Shape>
Shape staged_shape(const C& c, Shape shape, const DeviceLimits& limits) {
  using Matmul = StagedMatmul<bf16, 8, element_bits<typename detail::StreamedAlike<B>::element>, 0, Columns>;
  shape.tiles = 0;
  for_each_sink<several_count<B>>(
      c, [&]<int First, int Count>(const auto&) { shape.tiles += shape.order(Matmul::columns, First, Count).columns; });
  shape.blocks = blocks_of_depth(shape.tiles, shape.steps(Matmul::depth * Matmul::steps), limits);
  return shape;
}

template <class T, int Rows, int Degree, int Columns = 128, class A, class B, class C>
bool launch_staged_matmul(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                          const DeviceLimits& limits, Stream stream) {
  using Matmul = StagedMatmul<T, Rows, element_bits<typename detail::StreamedAlike<B>::element>, Degree, Columns>;
  const auto kernel = staged_matmul_kernel<Matmul, B, C>;
  bool fits = shape.K % Matmul::depth == 0 && limits.shared_bytes >= Matmul::shared();
  for_each_of(b, [&]<class Source>(const Source& each) {
    constexpr std::int64_t least = Degree == 0 ? Matmul::Tiles::lanes : Matmul::depth;
    fits = fits && StreamedSource<Source, Matmul::Tiles::lanes>::fits(each, Matmul::depth, least);
  });
  if (!fits || !runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads)) return false;
  const auto loads = staged_loads<T, Matmul>(a, b, c);
  if (!loads) return false;
  const Grid grid{"staged_matmul", std::int64_t{shape.tiles} * shape.blocks, Matmul::threads, Matmul::shared(),
                  shape.blocks};
  launch_early(grid, stream, kernel, *loads, b, with_each(c, [](const auto& sink) { return with_access(sink, 8); }),
               shape);
  return true;
}

// Whether tiles of twice the columns take less time: a round of them takes 1.75 of the time on an H200.
template <class Shape>
bool pays_wide_tiles(const Shape& narrow, const Shape& wide, const DeviceLimits& limits) {
  const auto rounds = [&](int tiles) { return (tiles + limits.multiprocessors - 1) / limits.multiprocessors; };
  return rounds(wide.tiles) * 7 < rounds(narrow.tiles) * 4;
}

// c = a * b for each of b, of at most 32 rows: false where device, compiler or where operands lie do not allow it.
template <class T, int Degree, class A, class B, class C>
bool staged_matmul(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                   const DeviceLimits& limits, Stream stream) {
  if (shape.M <= 8) {
    if constexpr (several_count<B> <= 2) {  // what more have at their ends finds no registers there
      const auto wide = staged_shape<B, 256>(c, shape, limits);
      const bool pays = pays_wide_tiles(shape, wide, limits);
      if (pays && launch_staged_matmul<T, 8, Degree, 256>(a, b, c, wide, limits, stream)) return true;
    }
    return launch_staged_matmul<T, 8, Degree>(a, b, c, shape, limits, stream);
  }
  if (shape.M <= 16) return launch_staged_matmul<T, 16, Degree>(a, b, c, shape, limits, stream);
  return shape.M <= 32 && launch_staged_matmul<T, 32, Degree>(a, b, c, shape, limits, stream);
}

// Whether stages take less time than a wave's own loads: a block begins later, by about 2 us on an H200, and multiplies
// in less time, the less the more rows there are; of the fewest rows alone where its tiles have a multiprocessor each.
template <class Shape>
bool pays_staging(const Shape& shape, const DeviceLimits& limits) {
  if (shape.M <= 8) return shape.tiles * 4 > limits.multiprocessors * 3;
  std::int64_t columns = 0;
  for (const std::int64_t N : shape.N) columns += N;
  return columns * shape.K >= std::int64_t{shape.M <= 16 ? 16 : 8} << 20;
}

}  // namespace kgen::gpu

#endif

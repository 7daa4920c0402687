// The products of staged_matmul.hpp of more rows and many weights: warpgroups take what they made of 64 columns'
// weights from their registers, and the left operand from shared memory. The copy engine brings both, so far ahead that
// memory is never waited for. Weights lie there as in memory, and a thread takes the words of its two columns that it
// needs of every four: so it has neighbours in depth where the tensor cores want them of a quad. The order of depth in
// which that leaves them is the left operand's, once a kernel has arranged that in memory set aside for the call. Tiles
// share the depth among the blocks of a cluster, and their sums meet where stages were.
#pragma once

#include "kgen/gpu/cluster_sums.hpp"
#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/staged_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// How a word of weights' elements follow each other as pairs that the tensor cores multiply: neighbours or, by codes,
// what is half a word apart.
template <int Bits, bool Paired>
struct WordOrder {
  // A word has so many elements, and a thread so many words of 32 elements. A quad has four words behind each other.
  static constexpr int unit = 32 / Bits, pairs = unit / 2, units = 32 / unit;

  // 32 neighbours of the left operand, of which a quad has pair number i of each word in piece i of 16 bytes.
  KGEN_FN static void arrange(const Block<16> (&from)[4], Block<16> (&to)[4]) {
    KGEN_UNROLL
    for (int word = 0; word < 16 / pairs; ++word) {
      std::uint32_t words[pairs], own[pairs];
      KGEN_UNROLL
      for (int i = 0; i < pairs; ++i) words[i] = from[(word * pairs + i) / 4].words[(word * pairs + i) % 4];
      if constexpr (Paired) {
        pair_up<unit>(words, own);
      } else {
        memcpy(own, words, sizeof(own));
      }
      KGEN_UNROLL
      for (int i = 0; i < pairs; ++i) to[word / 4 * pairs + i].words[word % 4] = own[i];
    }
  }
};

// 32 elements of a row of the left operand for each thread.
inline constexpr int arranging_threads = 128;
template <class Order, class T>
KGEN_GLOBAL(arranging_threads, 1)
arrange_kernel(View<const T, 2> a, T* to, Positions<2> positions, std::uint32_t count) {
  take_turn(true);
  const auto number = static_cast<std::uint32_t>(block_index() * arranging_threads + thread_index());
  if (number >= count) return;
  const Index<2> place = positions(number);  // row, and 32 elements of it
  const T* from = a.data() + place[0] * a.stride(0) + place[1] * 32;
  Block<16> blocks[4], arranged[4];
  KGEN_UNROLL
  for (int i = 0; i < 4; ++i) blocks[i] = load_constant<16>(from + i * 8);
  Order::arrange(blocks, arranged);
  KGEN_UNROLL
  for (int i = 0; i < 4; ++i) store_global(to + std::int64_t{number} * 32 + i * 8, arranged[i]);
}

// Rows: of the left operand. Bits: of an element of what is streamed. Degree: StreamedTiles'. Columns: of a tile.
template <class T, int Rows, int Bits, int Degree, int Columns>
struct ArrangedMatmul {
  using Tiles = StreamedTiles<T, Rows, 1, Degree>;
  static constexpr int rows = Rows, columns = Columns, lanes = Tiles::lanes, depth = Tiles::depth;
  static constexpr int box_depth = swizzle_bytes / static_cast<int>(sizeof(T)), boxes = depth / box_depth;
  using Order = WordOrder<Bits, Degree != 0>;
  static constexpr int pairs = Order::pairs, products = depth / 16;
  // A stage of weights has 128 bytes of each column, which is so many steps; one of the left operand is a step.
  static constexpr int steps = swizzle_bytes * 8 / Bits / depth;
  struct alignas(tile_alignment) Lines {
    unsigned char bytes[columns * swizzle_bytes];
  };
  struct alignas(tile_alignment) Left {
    T boxes[ArrangedMatmul::boxes][Rows * box_depth];
  };
  // Two warpgroups multiply; of the one behind them a thread of each of two waves loads.
  static constexpr int multiplying_threads = 2 * warpgroup_threads, threads = multiplying_threads + warpgroup_threads;
  static constexpr int own_columns = columns / 2, parts = own_columns / 64;  // of a warpgroup
  static constexpr int loading_registers = 72, multiplying_registers = 216;
  static constexpr int launch_registers = 65536 / threads / 8 * 8;
  static_assert(warpgroup_threads * loading_registers + multiplying_threads * multiplying_registers <=
                    threads * launch_registers,
                "more than the launch gives: a block would wait for them forever");
  static constexpr int left_stages = 5;
  using LeftRing = TilePipeline<Left, left_stages, 1>;
  using Sums = ClusterSums<Rows, columns>;
  using Results = ClusterResults<columns, multiplying_threads>;
  static constexpr std::int64_t available = 226 * 1024 - LeftRing::shared();
  static constexpr int fitting_stages = static_cast<int>((available - 1024) / shared_bytes<Lines>(1));
  static constexpr int stages = fitting_stages < 6 ? fitting_stages : 6;
  using Ring = TilePipeline<Lines, stages, 1>;
  // Sums take the place of stages that nobody reads any more.
  static constexpr std::int64_t shared() { return Ring::shared() + LeftRing::shared() + NamedBarriers<1>::shared(); }
  static_assert(Sums::shared() <= stages * shared_bytes<Lines>(1));

  // A warpgroup: sums += those of its columns from `column` on, of which those before `end` are there, over a part of
  // the depth, in steps. In a stage they stand from `place` on. begin(): behind the first loads of scales.
  template <class Source, class Begin>
  KGEN_FN static void multiply(Ring& ring, LeftRing& left, float (&sums)[parts][Rows / 2], const Source& b,
                               std::int64_t column, std::int64_t end, int place, ClusterDepth part,
                               const Begin& begin) {
    constexpr int ahead = 2;  // stages whose scales are on their way
    using Weights = typename Tiles::template Weights<Source>;
    using Streamed = typename Weights::Streamed;
    const int thread = thread_index() % warpgroup_threads;
    const int own = thread / wave_size * 16 + thread % wave_size / 4;
    const auto streamed = [&](int number) KGEN_LAMBDA {
      const std::int64_t at = column + number / 2 * 64 + number % 2 * 8 + own, last = end - 1;
      return Streamed(b, {part.first * depth, at < last ? at : last}, depth);
    };
    const auto each_column = [&]<int... I>(std::integer_sequence<int, I...>) KGEN_LAMBDA {
      return OwnColumns<Streamed>{{streamed(I)...}};
    };
    auto columns = each_column(std::make_integer_sequence<int, 2 * parts>{});
    Weights next[ahead][steps][parts] = {};
    const auto load = [&](Weights(&to)[steps][parts], int step) KGEN_LAMBDA {
      KGEN_UNROLL
      for (int i = 0; i < steps; ++i) {
        if (step + i >= part.last) continue;
        KGEN_UNROLL
        for (int each = 0; each < 2 * parts; ++each) {
          columns.of[each].load_single(b, to[i][each / 2].pieces[each % 2]);
        }
      }
    };
    KGEN_UNROLL
    for (int i = 0; i < ahead; ++i) load(next[i], part.first + i * steps);
    begin();
    KGEN_NO_UNROLL
    for (int first = part.first; first < part.last; first += ahead * steps) {
      KGEN_UNROLL
      for (int i = 0; i < ahead; ++i) {
        const int step = first + i * steps;
        if (step >= part.last) continue;
        const auto stage = ring.read();
        KGEN_UNROLL
        for (int each = 0; each < steps; ++each) {
          if (step + each >= part.last) continue;
          const auto rows = left.read();
          const Operands operands(*rows);
          KGEN_UNROLL
          for (int own_part = 0; own_part < parts; ++own_part) {
            Weights& weights = next[i][each][own_part];
            take(weights, stage->bytes, place + own_part * 64 + own, each);
            add_step(sums[own_part], weights, b, operands);
          }
        }
        wave_barrier();  // all lanes have read it
        load(next[i], step + ahead * steps);
      }
    }
  }

 private:
  template <class Streamed>
  struct OwnColumns {
    Streamed of[2 * parts];
  };

  // A stage of the left operand as the tensor cores are told of it, in registers that the compiler knows to be the same
  // for all of a wave: else it copies each product's description to the same two of these, behind the product before.
  class Operands {
   public:
    KGEN_FN explicit Operands(const Left& left) : first_(boxed_operand<T, Rows, true>(left.boxes[0], 0)) {
      const auto lower = static_cast<std::uint32_t>(first_);
      first_ = first_ >> 32 << 32 | shuffle_from(lower, 0, wave_size, Where::here());
    }
    KGEN_FN std::uint64_t operand(int k) const {
      constexpr int box = box_depth / 16;
      return moved_descriptor(first_, k / box * Rows * swizzle_bytes + k % box * 32);
    }

   private:
    std::uint64_t first_;
  };

  // What a thread has in a step of a stage, of its column that stands at `line` and of the one 8 behind.
  template <class Weights>
  KGEN_FN static void take(Weights& to, const unsigned char* lines, int line, int step) {
    const int word = thread_index() % 4 * 4;
    KGEN_UNROLL
    for (int i = 0; i < 2; ++i) {
      const unsigned char* from = lines + (line + i * 8) * swizzle_bytes + word;
      KGEN_UNROLL
      for (int piece = 0; piece < Order::units; ++piece) {
        const int at = (step * Order::units + piece) ^ line % 8;
        memcpy(&to.pieces[i].streamed[piece / 4].words[piece % 4], from + at * 16, 4);
      }
    }
  }

  // The weights of half of a step's products, from number `first` on.
  template <class Weights, class Source, int Count>
  KGEN_FN static void make(const Weights& weights, const Source& b, int first, std::uint32_t (&to)[Count][4]) {
    if constexpr (Degree != 0) {
      using Codes = CodePairs<T, streamed_element_t<Source>>;
      KGEN_UNROLL
      for (int i = 0; i < 2 * Count; i += pairs) {
        const int word = (2 * first + i) / pairs;
        KGEN_UNROLL
        for (int column = 0; column < 2; ++column) {
          std::uint32_t own[pairs];
          Codes::convert(weights.pieces[column].streamed[word / 4].words[word % 4], own);
          KGEN_UNROLL
          for (int each = 0; each < pairs; ++each) to[(i + each) / 2][(i + each) % 2 * 2 + column] = own[each];
        }
      }
    } else {
      constexpr int part = Tiles::part;
      KGEN_UNROLL
      for (int i = 0; i < 2 * Count; i += part / 2) {
        std::uint32_t words[2][part / 2];
        weights.convert(b, 4 * first + 2 * i, words);
        KGEN_UNROLL
        for (int each = 0; each < part / 2; ++each) {
          KGEN_UNROLL
          for (int column = 0; column < 2; ++column) {
            to[(i + each) / 2][(i + each) % 2 * 2 + column] = words[column][each];
          }
        }
      }
    }
  }

  // Begins sums += a step's product, or without `adds` sums = that, half of it while the other half is converted.
  using OwnTiles = std::uint32_t[2][products / 2][4];  // of a thread, which the tensor cores read until they are done
  template <class Weights, class Source>
  KGEN_FN static void multiply_step(float (&sums)[Rows / 2], const Weights& weights, const Source& b,
                                    const Operands& left, OwnTiles& tiles, bool adds) {
    constexpr int count = products / 2;
    KGEN_UNROLL
    for (int half = 0; half < 2; ++half) {
      make(weights, b, half * count, tiles[half]);
      wgmma_fence();
      KGEN_UNROLL
      for (int k = 0; k < count; ++k) {
        wgmma<T, Rows, false>(sums, tiles[half][k], left.operand(half * count + k), adds || half + k > 0);
      }
      wgmma_commit();
    }
  }

  // sums += a step's.
  template <class Weights, class Source>
  KGEN_FN static void add_step(float (&sums)[Rows / 2], const Weights& weights, const Source& b, const Operands& left) {
    OwnTiles tiles;
    if constexpr (Degree == 0) {
      multiply_step(sums, weights, b, left, tiles, true);
      wgmma_wait<0>();
      settle(sums);
    } else {
      using Streamed = typename Weights::Streamed;
      using Codes = CodePairs<T, streamed_element_t<Source>>;
      [[maybe_unused]] constexpr std::uint32_t one = pair_of<T>(1);
      float codes[Rows / 2], totals[Degree == 2 ? Rows / 2 : 1];  // of the left operand's rows by the codes, and by 1
      const std::uint32_t ones[4] = {one, one, one, one};
      if constexpr (Degree == 2) add_rows(totals, ones, left);
      multiply_step(codes, weights, b, left, tiles, false);
      float offset[2], slope[2];
      KGEN_UNROLL
      for (int i = 0; i < 2; ++i) {
        offset[i] = Degree == 2 ? Streamed::of_code(b, weights.pieces[i], 0) : 0.0f;
        slope[i] = Streamed::of_code(b, weights.pieces[i], Codes::one) - offset[i];
      }
      wgmma_wait<0>();
      settle(codes);
      if constexpr (Degree == 2) settle(totals);
      KGEN_UNROLL
      for (int i = 0; i < Rows / 2; ++i) {
        sums[i] = __builtin_fmaf(slope[i / 2 % 2], codes[i], sums[i]);
        if constexpr (Degree == 2) sums[i] = __builtin_fmaf(offset[i / 2 % 2], totals[i], sums[i]);
      }
    }
  }
  // Begins totals = the sums of the left operand's rows, in every column.
  KGEN_FN static void add_rows(float (&totals)[Rows / 2], const std::uint32_t (&ones)[4], const Operands& left) {
    wgmma_fence();
    KGEN_UNROLL
    for (int k = 0; k < products; ++k) {
      wgmma<T, Rows, false>(totals, ones, left.operand(k), k > 0);
    }
  }
};

// What a block loads of a part of the depth, in steps.
template <class Matmul, int Products>
struct ArrangedLoads {
  StagedLoads<Matmul, Products> from;

  // Of `Count` right operands that share a tile: of each from `column` on.
  template <int First, int Count>
  KGEN_FN void load_weights(typename Matmul::Ring& ring, int column, ClusterDepth part) const {
    constexpr int own = Matmul::columns / Count;
    KGEN_NO_UNROLL
    for (int step = part.first; step < part.last; step += Matmul::steps) {
      const auto stage = ring.fill();
      KGEN_UNROLL
      for (int i = 0; i < Count; ++i) {
        copy_tile(stage->bytes + i * own * swizzle_bytes, from.b[First + i], stage.arrival(),
                  step / Matmul::steps * swizzle_bytes, column);
      }
    }
  }
  KGEN_FN void load_left(typename Matmul::LeftRing& ring, ClusterDepth part) const {
    KGEN_NO_UNROLL
    for (int step = part.first; step < part.last; ++step) {
      const auto stage = ring.fill();
      KGEN_UNROLL
      for (int i = 0; i < Matmul::boxes; ++i) {
        copy_tile(stage->boxes[i], from.a, stage.arrival(), (step * Matmul::boxes + i) * Matmul::box_depth, 0);
      }
    }
  }
};

template <class Matmul, class B, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), 1)
arranged_matmul_kernel(const KGEN_GRID_CONSTANT ArrangedLoads<Matmul, several_count<B>> loads, B b, C c,
                       WarpgroupMatmulShape<several_count<B>> shape) {
  if constexpr (has_warpgroups) {
    SharedMemory shared;
    constexpr int multiplying_waves = Matmul::multiplying_threads / wave_size;
    typename Matmul::Ring ring(shared, multiplying_waves);
    typename Matmul::LeftRing left(shared, multiplying_waves);
    NamedBarriers<1> readers(shared);
    const int wave = wave_index();
    const bool multiplies = wave < multiplying_waves;
    const ClusterDepth of_stages(shape.steps(Matmul::depth * Matmul::steps), shape.blocks);
    const ClusterDepth part = of_stages.in_parts(Matmul::steps, shape.steps(Matmul::depth));
    if (!shape.loads_ahead) take_turn();
    const auto await_turn = [&]() KGEN_LAMBDA {
      if (shape.loads_ahead) take_turn();  // weights of a model do not wait for what is ahead
    };
    const auto compute = [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      constexpr int own = Matmul::columns / Count;
      const int place = thread_index() / warpgroup_threads * Matmul::own_columns;  // of this warpgroup's columns
      SharedMemory again;
      const typename Matmul::Sums partial(again);
      {
        const ClusterPhase multiplying;
        if (multiplies) {
          hold_registers<Matmul::multiplying_registers, RegisterShare::more>();
          float sums[Matmul::parts][Matmul::rows / 2] = {};
          const auto multiply = [&](const auto& source, int column) KGEN_LAMBDA {
            Matmul::multiply(ring, left, sums, source, origin[1] + column, end, place, part, await_turn);
          };
          if (Count == 1 || place < own) {
            multiply(nth<First>(b), place);
          } else if constexpr (Count > 1) {
            multiply(nth<First + Count - 1>(b), place - own);
          }
          readers.wait(0);  // nobody reads a stage any more
          KGEN_UNROLL
          for (int i = 0; i < Matmul::parts; ++i) partial.put(sums[i], place + i * 64);
        } else {
          hold_registers<Matmul::loading_registers, RegisterShare::less>();
          if (wave == multiplying_waves) {
            if (is_elected()) loads.template load_weights<First, Count>(ring, static_cast<int>(origin[1]), part);
          } else if (wave == multiplying_waves + 1) {
            await_turn();
            if (is_elected()) loads.load_left(left, part);
          }
        }
      }
      const ClusterStay adding;
      if (multiplies) Matmul::Results::template emit_tile<Count>(partial, sink, origin, end, shape);
    };
    at_tile(static_cast<int>(block_index()) / shape.blocks, Matmul::columns, c, shape, compute);
    if (!multiplies && wave != multiplying_waves + 1) await_turn();
  }
}

// False where device, compiler or where operands lie do not allow it.
template <class T, int Rows, int Degree, int Columns, class A, class B, class C>
bool launch_arranged_matmul(const A& a, const B& b, const C& c, WarpgroupMatmulShape<several_count<B>> shape,
                            const DeviceLimits& limits, Stream stream) {
  using Matmul = ArrangedMatmul<T, Rows, element_bits<typename detail::StreamedAlike<B>::element>, Degree, Columns>;
  const auto kernel = arranged_matmul_kernel<Matmul, B, C>;
  bool fits = shape.K % Matmul::depth == 0 && limits.shared_bytes >= Matmul::shared();
  for_each_of(b, [&]<class Source>(const Source& each) {
    using Streamed = StreamedSource<Source, Matmul::lanes>;
    fits = fits && Streamed::fits(each, Matmul::depth, Matmul::depth) && Streamed::boxed(each, Columns).has_value();
  });
  if (!fits || !runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads)) return false;
  const Workspace memory(shape.M * shape.K * static_cast<std::int64_t>(sizeof(T)), stream);
  T* arranged = reinterpret_cast<T*>(memory.data());
  const auto loads = staged_loads<T, Matmul>(View<const T, 2>(arranged, Index<2>{shape.M, shape.K}), b, c);
  if (!loads) return false;
  const std::int64_t parts = shape.M * (shape.K / Matmul::lanes);
  launch_early({"arrange", (parts + arranging_threads - 1) / arranging_threads, arranging_threads}, stream,
               arrange_kernel<typename Matmul::Order, T>, a, arranged, Positions<2>({shape.M, shape.K / Matmul::lanes}),
               static_cast<std::uint32_t>(parts));
  shape.loads_ahead = are_lasting(b);
  const Grid grid{"arranged_matmul", std::int64_t{shape.tiles} * shape.blocks, Matmul::threads, Matmul::shared(),
                  shape.blocks};
  launch_early(grid, stream, kernel, ArrangedLoads<Matmul, several_count<B>>{*loads}, b,
               with_each(c, [](const auto& sink) { return with_access(sink, 8); }), shape);
  return true;
}

// c = a * b for each of b, of at most 64 rows: false where device, compiler or where operands lie do not allow it.
template <class T, int Degree, class A, class B, class C>
bool arranged_matmul(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                     const DeviceLimits& limits, Stream stream) {
  if (shape.M > 64) return false;
  const auto launch = [&]<int Columns>(const auto& own) {
    if constexpr (Degree == 1) {
      if (shape.M <= 32) return launch_arranged_matmul<T, 32, Degree, Columns>(a, b, c, own, limits, stream);
    }
    return launch_arranged_matmul<T, 64, Degree, Columns>(a, b, c, own, limits, stream);
  };
  if constexpr (Degree != 2 && several_count<B> <= 2) {  // others find no registers there
    const auto wide = staged_shape<B, 256>(c, shape, limits);
    const bool pays = pays_wide_tiles(shape, wide, limits);
    if (pays && launch.template operator()<256>(wide)) return true;
  }
  return launch.template operator()<128>(shape);
}

// Whether that takes less time than stages or, of more than 32 rows, warpgroups with loads of their own, by an H200
// (tests/bench/FEW_BITS.md): of up to 32 rows by codes alone. Few weights are over before what another kernel takes.
template <int Degree, class Shape>
bool pays_arranging(const Shape& shape) {
  std::int64_t columns = 0;
  for (const std::int64_t N : shape.N) columns += N;
  const std::int64_t least = Degree == 2 ? 2 : shape.M <= 32 ? 6 : 10;
  return shape.M > (Degree == 1 ? 16 : 32) && columns * shape.K >= least << 20;
}

}  // namespace kgen::gpu

#endif

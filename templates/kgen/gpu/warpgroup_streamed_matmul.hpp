// The products of staged_matmul.hpp of more rows: a warpgroup takes what it made of 64 columns' weights from its
// registers, and the left operand from shared memory, where a tile of 128 columns needs it once. There its depth is
// in the order in which a thread's loads of weights leave it to the tensor cores. Tiles share the depth among the
// blocks of a cluster, and their sums meet, as those of skinny_matmul.hpp.
#pragma once

#include "kgen/gpu/arranged_matmul.hpp"
#include "kgen/gpu/cluster_sums.hpp"
#include "kgen/gpu/persistent_matmul.hpp"
#include "kgen/gpu/staged_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Elements of one thread's 32 that belong together when weights are made pairs of: the pairs, two neighbours each, or
// by codes those that are half a word apart.
template <class T, class Source, int Degree>
struct StreamedOrder {
  static constexpr int unit = 8;
  KGEN_FN static void pair(const std::uint32_t* words, std::uint32_t (&to)[unit / 2]) {
    KGEN_UNROLL
    for (int i = 0; i < unit / 2; ++i) to[i] = words[i];
  }
  // Pair number i of a thread's two columns, as left operand of product number i / 2.
  template <class Weights, int Products>
  KGEN_FN static void make(const Source& b, const Weights& weights, std::uint32_t (&to)[Products][4]) {
    KGEN_UNROLL
    for (int first = 0; first < 2 * Products; first += unit / 2) {
      std::uint32_t words[2][unit / 2];
      weights.convert(b, 2 * first, words);
      KGEN_UNROLL
      for (int i = 0; i < unit / 2; ++i) {
        KGEN_UNROLL
        for (int column = 0; column < 2; ++column) to[(first + i) / 2][(first + i) % 2 * 2 + column] = words[column][i];
      }
    }
  }
};
template <class T, class Source, int Degree>
requires(Degree != 0) struct StreamedOrder<T, Source, Degree> {
  using Codes = CodePairs<T, streamed_element_t<Source>>;
  static constexpr int unit = Codes::elements;
  KGEN_FN static void pair(const std::uint32_t* words, std::uint32_t (&to)[unit / 2]) { pair_up<unit>(words, to); }
  template <class Weights, int Products>
  KGEN_FN static void make(const Source&, const Weights& weights, std::uint32_t (&to)[Products][4]) {
    KGEN_UNROLL
    for (int first = 0; first < 2 * Products; first += Codes::pairs) {
      KGEN_UNROLL
      for (int column = 0; column < 2; ++column) {
        const int word = first / Codes::pairs;
        std::uint32_t pairs[Codes::pairs];
        Codes::convert(weights.pieces[column].streamed[word / 4].words[word % 4], pairs);
        KGEN_UNROLL
        for (int i = 0; i < Codes::pairs; ++i) to[(first + i) / 2][(first + i) % 2 * 2 + column] = pairs[i];
      }
    }
  }
};

// Rows: of the left operand. Degree: as StreamedMatmul's.
template <class T, int Rows, int Degree>
struct WarpgroupStreamedMatmul {
  using Tiles = StreamedTiles<T, Rows, 1, Degree>;
  static constexpr int rows = Rows, columns = 128;
  using Sums = ClusterSums<Rows, columns>;
  // A thread has `lanes` of each of 2 columns in a step.
  static constexpr int lanes = Tiles::lanes, depth = Tiles::depth, products = depth / 16;
  // A step of the left operand.
  struct alignas(tile_alignment) Stage {
    T a[Rows * depth];
  };
  static constexpr int stages = 4, loading_threads = warpgroup_threads;
  using Pipeline = TilePipeline<Stage, stages, loading_threads>;
  // The first threads multiply.
  static constexpr int multiplying_threads = 2 * warpgroup_threads, threads = multiplying_threads + loading_threads;
  using Results = ClusterResults<columns, multiplying_threads>;
  static constexpr int loading_registers = 104, multiplying_registers = 200;
  static constexpr std::int64_t shared() { return Pipeline::shared() + Sums::shared(); }

  // A warpgroup: fills stage after stage with the left operand's rows, the last one again for those behind it. A thread
  // has 32 columns of a step, as those that multiply have of the weights, of every 32nd row, and two steps on their
  // way.
  template <class Order>
  class Left {
    static constexpr int unit = Order::unit, blocks = lanes / 8, of_thread = (Rows + 31) / 32;

   public:
    KGEN_FN Left(const View<const T, 2>& a, int step)
        : row_((thread_index() - multiplying_threads) / 4), piece_(thread_index() % 4) {
      const std::int64_t last = a.extent(0) - 1;
      KGEN_UNROLL
      for (int i = 0; i < of_thread; ++i) {
        const std::int64_t row = row_ + 32 * i;
        from_[i] = a.data() + (row < last ? row : last) * a.stride(0) + step * depth + piece_ * lanes;
      }
    }
    KGEN_FN void load_all(Pipeline& pipeline, int steps) {
      constexpr int ahead = 2;
      Step next[ahead] = {};
      KGEN_UNROLL
      for (int i = 0; i < ahead; ++i) load(next[i], i < steps);
      for (int first = 0; first < steps; first += ahead) {
        KGEN_UNROLL
        for (int i = 0; i < ahead; ++i) {
          if (first + i >= steps) continue;
          auto stage = pipeline.fill();
          store(stage->a, next[i]);
          load(next[i], first + i + ahead < steps);
        }
      }
    }

   private:
    struct Step {
      Block<16> blocks[of_thread][Left::blocks];
    };
    KGEN_FN bool has(int i) const { return Rows % 32 == 0 || row_ + 32 * i < Rows; }
    KGEN_FN void load(Step& step, bool is_there) {
      KGEN_UNROLL
      for (int i = 0; i < of_thread; ++i) {
        if (!is_there || !has(i)) continue;
        KGEN_UNROLL
        for (int each = 0; each < blocks; ++each) step.blocks[i][each] = load_constant<16>(from_[i] + 8 * each);
        from_[i] += depth;
      }
    }
    // Pair number q of a thread is what the tensor cores multiply as two neighbours of product q / 2.
    KGEN_FN void store(T* to, const Step& step) const {
      KGEN_UNROLL
      for (int i = 0; i < of_thread; ++i) {
        if (!has(i)) continue;
        std::uint32_t words[lanes / 2];
        memcpy(words, step.blocks[i], sizeof(words));
        KGEN_UNROLL
        for (int first = 0; first < lanes; first += unit) {
          std::uint32_t pairs[unit / 2];
          Order::pair(words + first / 2, pairs);
          KGEN_UNROLL
          for (int each = 0; each < unit / 2; ++each) store(to, row_ + 32 * i, first / 2 + each, pairs[each]);
        }
      }
    }
    // Neighbouring threads have neighbouring words of 16 bytes, which change places by the row's number.
    KGEN_FN void store(T* to, int row, int pair, std::uint32_t word) const {
      constexpr int line = swizzle_bytes / 16;
      T* box = to + pair / line * Rows * (swizzle_bytes / static_cast<int>(sizeof(T)));
      memcpy(box + ((row * line + (pair % line ^ row % 8)) * 4 + piece_) * 2, &word, sizeof(word));
    }

    int row_, piece_;
    const T* from_[of_thread];
  };

  // A warpgroup: the sums of 64 columns from `column` on, of which those before `end` are there, over a part of the
  // depth.
  template <class Source>
  KGEN_FN static void multiply(Pipeline& pipeline, float (&sums)[Rows / 2], const Source& b, std::int64_t column,
                               std::int64_t end, ClusterDepth part) {
    using Weights = typename Tiles::template Weights<Source>;
    constexpr int bits = element_bits<streamed_element_t<Source>>, ahead = bits > 4 ? 3 : 4;  // steps on their way
    const int thread = thread_index() % warpgroup_threads, lane = thread % wave_size;
    const std::int64_t last = end - 1, own = column + thread / wave_size * 16 + lane / 4;
    const int first = part.first * depth + lane % 4 * lanes, steps = part.last - part.first;
    typename Weights::Streamed columns[] = {{b, {first, own < last ? own : last}, depth},
                                            {b, {first, own + 8 < last ? own + 8 : last}, depth}};
    Weights next[ahead] = {};
    const auto load = [&](Weights& to, bool is_there) KGEN_LAMBDA {
      if (is_there) to = {{columns[0].load(b), columns[1].load(b)}};
    };
    KGEN_UNROLL
    for (int i = 0; i < ahead; ++i) load(next[i], i < steps);
    for (int begin = 0; begin < steps; begin += ahead) {
      KGEN_UNROLL
      for (int i = 0; i < ahead; ++i) {
        if (begin + i >= steps) continue;
        add_step(pipeline, sums, b, next[i], begin + i > 0,
                 [&]() KGEN_LAMBDA { load(next[i], begin + i + ahead < steps); });
      }
    }
  }

 private:
  // sums += a step's, or = where they are the first. load(): begins to load other weights in these ones' place.
  template <class Source, class Weights, class Load>
  KGEN_FN static void add_step(Pipeline& pipeline, float (&sums)[Rows / 2], const Source& b, Weights& weights,
                               bool adds, const Load& load) {
    std::uint32_t tiles[products][4];
    StreamedOrder<T, Source, Degree>::make(b, weights, tiles);
    const auto stage = pipeline.read();
    if constexpr (Degree == 0) {
      wgmma_fence();
      multiply_tiles(sums, tiles, stage->a, adds);
      wgmma_commit();
      load();
      wgmma_wait<0>();
      settle(sums);
    } else {
      using Codes = CodePairs<T, streamed_element_t<Source>>;
      const Factors<Source, Codes> factors(b, weights);
      float codes[Rows / 2], totals[Degree == 2 ? Rows / 2 : 1];  // of the left operand's rows by the codes, and by 1
      wgmma_fence();
      multiply_tiles(codes, tiles, stage->a, false);
      constexpr std::uint32_t one = pair_of<T>(1);
      const std::uint32_t ones[1][4] = {{one, one, one, one}};
      if constexpr (Degree == 2) multiply_tiles(totals, ones, stage->a, false);
      wgmma_commit();
      load();
      wgmma_wait<0>();
      settle(codes);
      if constexpr (Degree == 2) settle(totals);
      KGEN_UNROLL
      for (int i = 0; i < Rows / 2; ++i) {
        const int column = i / 2 % 2;
        if (!adds) sums[i] = 0;
        sums[i] = __builtin_fmaf(factors.slope[column], codes[i], sums[i]);
        if constexpr (Degree == 2) sums[i] = __builtin_fmaf(factors.offset[column], totals[i], sums[i]);
      }
    }
  }

  // What the prologue makes of 0, and of 1 more, in a thread's two columns of a step.
  template <class Source, class Codes>
  struct Factors {
    float offset[2], slope[2];
    template <class Weights>
    KGEN_FN Factors(const Source& b, const Weights& weights) {
      KGEN_UNROLL
      for (int i = 0; i < 2; ++i) {
        using Streamed = typename Weights::Streamed;
        offset[i] = Degree == 2 ? Streamed::of_code(b, weights.pieces[i], 0) : 0.0f;
        slope[i] = Streamed::of_code(b, weights.pieces[i], Codes::one) - offset[i];
      }
    }
  };

  // By one left operand for all products of a step, or one for each.
  template <int Count>
  KGEN_FN static void multiply_tiles(float (&sums)[Rows / 2], const std::uint32_t (&tiles)[Count][4], const T* a,
                                     bool adds) {
    KGEN_UNROLL
    for (int k = 0; k < products; ++k) {
      wgmma<T, Rows, false>(sums, tiles[k % Count], boxed_operand<T, Rows, true>(a, k * depth / products),
                            adds || k > 0);
    }
  }
};

template <class Matmul, int Degree, class T, class B, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), 1)
warpgroup_streamed_matmul_kernel(View<const T, 2> a, B b, C c, WarpgroupMatmulShape<several_count<B>> shape) {
  if constexpr (has_warpgroups) {
    SharedMemory shared;
    typename Matmul::Pipeline pipeline(shared, Matmul::multiplying_threads / wave_size);
    const typename Matmul::Sums partial(shared);
    const ClusterDepth part(shape.steps(Matmul::depth), shape.blocks);
    take_turn();
    const auto compute = [&]<int First, int Count>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      constexpr int own = Matmul::columns / Count;
      const int place = thread_index() / warpgroup_threads * 64;  // of this warpgroup's columns in the tile
      {
        const ClusterPhase multiplying;
        if (thread_index() >= Matmul::multiplying_threads) {
          hold_registers<Matmul::loading_registers, RegisterShare::less>();
          using Order = StreamedOrder<T, std::remove_cvref_t<decltype(nth<First>(b))>, Degree>;
          typename Matmul::template Left<Order>(a, part.first).load_all(pipeline, part.last - part.first);
        } else {
          hold_registers<Matmul::multiplying_registers, RegisterShare::more>();
          float sums[Matmul::rows / 2] = {};
          if (place < own) {
            Matmul::multiply(pipeline, sums, nth<First>(b), origin[1] + place, end, part);
          } else {
            Matmul::multiply(pipeline, sums, nth<First + Count - 1>(b), origin[1], end, part);
          }
          partial.put(sums, place);
        }
      }
      const ClusterStay adding;
      if (thread_index() < Matmul::multiplying_threads) {
        Matmul::Results::template emit_tile<Count>(partial, sink, origin, end, shape);
      }
    };
    at_tile(static_cast<int>(block_index()) / shape.blocks, Matmul::columns, c, shape, compute);
  }
}

// c = a * b for each of b, of at most 64 rows: false where device, compiler or where operands lie do not allow it.
template <class T, int Degree, class A, class B, class C>
bool warpgroup_streamed_matmul(const A& a, const B& b, const C& c, WarpgroupMatmulShape<several_count<B>> shape,
                               const DeviceLimits& limits, Stream stream) {
  using Matmul = WarpgroupStreamedMatmul<T, 64, Degree>;
  const auto kernel = warpgroup_streamed_matmul_kernel<Matmul, Degree, T, B, C>;
  bool fits = shape.M <= Matmul::rows && shape.K % Matmul::depth == 0 && limits.shared_bytes >= Matmul::shared();
  for_each_of(b, [&]<class Source>(const Source& each) {
    constexpr std::int64_t least = Degree == 0 ? Matmul::lanes : Matmul::depth;
    fits = fits && StreamedSource<Source, Matmul::lanes>::fits(each, Matmul::depth, least);
  });
  if (!fits || !runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads)) return false;
  shape.blocks = blocks_of_depth(shape.tiles, shape.steps(Matmul::depth), limits);
  const Grid grid{"warpgroup_streamed_matmul", std::int64_t{shape.tiles} * shape.blocks, Matmul::threads,
                  Matmul::shared(), shape.blocks};
  launch_early(grid, stream, kernel, a, b, with_each(c, [](const auto& sink) { return with_access(sink, 8); }), shape);
  return true;
}

namespace detail {
// Arranges: whether arranged_matmul() is asked. What it refuses by codes it refuses by elements.
template <class T, int Degree, bool Arranges, class A, class B, class C, class Shape>
bool streamed_matmul_of_degree(const A& a, const B& b, const C& c, const Shape& shape, Stream stream) {
  if constexpr (StreamedAlike<B>::value) {
    const DeviceLimits limits = device_limits(stream);
    const auto staged = staged_shape<B>(c, shape, limits);
    if constexpr (Arranges) {
      if (pays_arranging<Degree>(shape) && arranged_matmul<T, Degree>(a, b, c, staged, limits, stream)) return true;
    }
    if (shape.M > 32) return warpgroup_streamed_matmul<T, Degree>(a, b, c, staged, limits, stream);
    constexpr int bits = element_bits<typename StreamedAlike<B>::element>;
    if constexpr (Degree != 0 || bits == 8) {
      const bool pays = pays_persistent<Degree>(shape, limits);
      if (pays && persistent_matmul<T, Degree>(a, b, c, shape, limits, stream)) return true;
    }
    if (pays_staging(staged, limits) && staged_matmul<T, Degree>(a, b, c, staged, limits, stream)) return true;
    return streamed_matmul_by_waves<T, Degree>(a, b, c, shape, stream) ||
           staged_matmul<T, Degree>(a, b, c, staged, limits, stream);
  } else {
    return streamed_matmul_by_waves<T, Degree>(a, b, c, shape, stream);
  }
}
}  // namespace detail

// c = a * b for each of b, where a has few rows, by whichever kernel takes it and is faster (tests/bench/FEW_BITS.md).
template <class T, int Degree, class A, class B, class C>
bool streamed_matmul(const A& a, const B& b, const C& c, Stream stream) {
  constexpr int degree = detail::HasPairs<T, B>::value ? Degree : 0;
  const auto shape = streamed_shape(a, b, c);
  if (!shape) return false;
  if (detail::streamed_matmul_of_degree<T, degree, true>(a, b, c, *shape, stream)) return true;
  return degree != 0 && detail::streamed_matmul_of_degree<T, 0, degree == 0>(a, b, c, *shape, stream);
}

}  // namespace kgen::gpu

#endif

// The products of streamed_matmul.hpp of up to 8 rows by blocks that stay, one to a multiprocessor: tiles of 16
// columns, one behind the other, each of one right operand or of two that a sink takes jointly. The waves of a block
// take their steps of the depth in turn, on from the end of one tile to the next, and copy weights for themselves, so
// many steps ahead, across the ends of tiles too (persistent_tiles.hpp). The left operand's rows lie in shared memory
// from the beginning on. Waves add up their sums there, behind one barrier a tile.
#pragma once

#include "kgen/gpu/added_sums.hpp"
#include "kgen/gpu/persistent_tiles.hpp"
#include "kgen/gpu/streamed_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Degree: StreamedTiles'.
template <class T, class S, int Degree, int Products, class C>
struct PersistentMatmul {
  using Step = PersistentStep<S>;
  using Codes = CodePairs<T, typename Step::Element>;
  static constexpr bool by_codes = Degree != 0;
  static constexpr int waves = 16, threads = waves * wave_size, slots = 4, columns = Step::columns;
  static constexpr int pitch = columns + 4;  // 2 rows further and 1 column further are 32 different banks
  static constexpr int bank = waves * Step::rows * pitch;
  using Left = PersistentLeft<T, Step, by_codes>;
  using Weights = PersistentWeights<S, waves, slots, Products, C>;
  using Scales = PersistentScales<S, waves, Products, C>;
  using Sums = float[4];
  static constexpr std::int64_t shared(std::int64_t rows, std::int64_t steps) {
    return Left::shared(rows, steps) + Banks<float, bank>::shared() + Weights::shared();
  }

  // By how much pairs of codes are more than these: the left operand's sums times that are subtracted, which makes NaN
  // of a row with an infinity.
  static constexpr float raised() {
    if constexpr (by_codes) {
      return Codes::raised_is_precise ? Codes::raised : 0.0f;
    } else {
      return 0;
    }
  }
  // What a step's sums of the left operand are multiplied by.
  static constexpr float scale = raised() != 0 ? -raised() : 1.0f;

  // sums += a step's product.
  KGEN_FN static void multiply(Sums& sums, const Left& left, int step, const typename Step::Pieces (&pieces)[2]) {
    if constexpr (by_codes) {
      multiply_codes(sums, left, step, pieces);
    } else {
      KGEN_UNROLL
      for (int part = 0; part < Step::parts; ++part) {
        std::uint32_t words[2][4];
        KGEN_UNROLL
        for (int i = 0; i < 2; ++i) {
          T elements[Step::part];
          store_elements(elements, Step::Streamed::template lanes<Step::part>(S{}, pieces[i], part * Step::part));
          memcpy(words[i], elements, sizeof(elements));
        }
        multiply_part(sums, words, left.load(step, part));
      }
    }
  }

  // Puts a wave's sums of so many rows where they are added up.
  KGEN_FN static void put(float* to, const Sums& sums, int rows) {
    const int lane = thread_index() % wave_size, row = lane % 4 * 2;
    to += (thread_index() / wave_size * Step::rows + row) * pitch + lane / 4;
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (row + i % 2 < rows) to[i % 2 * pitch + i / 2 * 8] = sums[i];
    }
  }
  // Gives the sink all waves' sums of a tile of `Count` products from a column on, as far as column `end`. `turn`:
  // which waves do it.
  template <int Count, class Sink>
  KGEN_FN static void emit(const float* partial, const Sink& sink, int column, int end, int rows, Lanes lanes,
                           int turn) {
    constexpr int own = columns / Count;
    constexpr std::make_integer_sequence<int, Count> products;
    const auto add = [&]<int W, int Pieces>(Vec<float, W>(&sums)[Pieces], int count, const int(&own_rows)[Pieces],
                                            const int(&places)[Pieces]) KGEN_LAMBDA {
      KGEN_UNROLL
      for (int i = 0; i < Pieces; ++i) {
        if (i >= count) continue;
        Block<W * sizeof(float)> all[waves];  // on their way together
        KGEN_UNROLL
        for (int wave = 0; wave < waves; ++wave) {
          all[wave] =
              load_block<W * sizeof(float)>(partial + (wave * Step::rows + own_rows[i]) * pitch + places[i], Access{});
        }
        sums[i] = Vec<float, W>(0);
        KGEN_UNROLL
        for (int wave = 0; wave < waves; ++wave) {
          float lanes_of_wave[W];
          memcpy(lanes_of_wave, &all[wave], sizeof(lanes_of_wave));
          sums[i] = sums[i] + load_lanes<W>(lanes_of_wave);
        }
      }
    };
    const PieceRange range{0, rows * (own / 4), (thread_index() + turn * wave_size) % threads, threads};
    if (lanes != Lanes::any) {
      emit_added<true, own, 1>(add, known<Lanes::whole_vectors>(sink), {0, column}, end, range, products);
    } else {
      emit_added<false, own, 1>(add, sink, {0, column}, end, range, products);
    }
  }

 private:
  KGEN_FN static void multiply_part(Sums& sums, const std::uint32_t (&words)[2][4], const Block<16>& right) {
    KGEN_UNROLL
    for (int i = 0; i < 4; i += 2) {
      const std::uint32_t tile[] = {words[0][i], words[1][i], words[0][i + 1], words[1][i + 1]};
      const std::uint32_t rows[] = {right.words[i], right.words[i + 1]};
      multiply_tile<T>(sums, tile, rows);
    }
  }
  // By codes: what the prologue makes of 0 and of 1 is applied to a step's sums.
  KGEN_FN static void multiply_codes(Sums& sums, const Left& left, int step, const typename Step::Pieces (&pieces)[2]) {
    float totals[2] = {};
    if constexpr (raised() != 0 || Degree == 2) left.load_totals(totals, step);
    Sums codes[2] = {};  // of every second part, so that no product waits for the one before
    if constexpr (raised() != 0) {
      codes[0][0] = codes[0][2] = totals[0];
      codes[0][1] = codes[0][3] = totals[1];
    }
    Block<16> rows[Step::parts];
    KGEN_UNROLL
    for (int part = 0; part < Step::parts; ++part) rows[part] = left.load(step, part);
    KGEN_UNROLL
    for (int part = 0; part < Step::parts; ++part) {
      std::uint32_t pairs[2][4];
      KGEN_UNROLL
      for (int i = 0; i < 2; ++i) {
        if constexpr (raised() != 0) {
          Codes::convert_raised(pieces[i].streamed[0].words[part], pairs[i]);
        } else {
          Codes::convert(pieces[i].streamed[0].words[part], pairs[i]);
        }
      }
      multiply_part(codes[part % 2], pairs, rows[part]);
    }
    KGEN_UNROLL
    for (int i = 0; i < 2; ++i) {
      const float offset = Degree == 2 ? Step::Streamed::of_code(S{}, pieces[i], 0) : 0.0f;
      const float slope = Step::Streamed::of_code(S{}, pieces[i], Codes::one) - offset;
      KGEN_UNROLL
      for (int row = 0; row < 2; ++row) {
        float& sum = sums[i * 2 + row];
        sum = __builtin_fmaf(slope, codes[0][i * 2 + row] + codes[1][i * 2 + row], sum);
        if constexpr (Degree == 2) sum = __builtin_fmaf(offset * (1 / scale), totals[row], sum);
      }
    }
  }
};

template <class Matmul, class T, class S, int Products, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), 1)
persistent_matmul_kernel(const KGEN_GRID_CONSTANT PersistentCall<S, Products> call, C c) {
  if constexpr (has_warpgroups) {
    SharedMemory shared;
    if (!call.loads_ahead) take_turn(true);
    typename Matmul::Weights weights(shared, call, c);
    typename Matmul::Scales scales(call, c);
    Banks<float, Matmul::bank> banks(shared);
    const typename Matmul::Left left(shared, call.rows, call.steps);
    if (call.loads_ahead) take_turn(true);  // weights of a model do not wait for what is ahead
    {
      const BlockPhase laying_out;
      left.lay_out(static_cast<const T*>(call.left), call.left_stride, call.steps, Matmul::scale);
    }
    typename Matmul::Sums sums;
    int step = thread_index() / wave_size, number = 0, turn = 0;
    // Multiplies one step, and says whether it was the tile's last.
    const auto advance = [&]<int Number>(std::integral_constant<int, Number>) KGEN_LAMBDA {
      typename Matmul::Step::Pieces pieces[2];
      scales.template read<Number>(pieces);
      weights.read(pieces);
      Matmul::multiply(sums, left, step, pieces);
      number = (Number + 1) % Matmul::Scales::together;
      step += Matmul::waves;
      return step >= call.steps;
    };
    // Tiles begin with any of the steps whose scales are loaded together.
    const auto advance_in_turn = [&]<int... Number>(std::integer_sequence<int, Number...>) KGEN_LAMBDA {
      bool ended = false;
      ((ended = ended || (number == Number && advance(std::integral_constant<int, Number>{}))), ...);
      return ended;
    };
    for (int tile = static_cast<int>(block_index()); tile < call.tiles; tile += static_cast<int>(block_count())) {
      KGEN_UNROLL
      for (float& sum : sums) sum = 0;
      while (!advance_in_turn(std::make_integer_sequence<int, Matmul::Scales::together>{})) {
      }
      step -= call.steps;
      float* bank = banks.next();
      {
        const BlockPhase adding;
        Matmul::put(bank, sums, call.rows);
      }
      int rest = tile;
      for_each_sink<Products>(c, [&]<int First, int Count>(const auto& sink) KGEN_LAMBDA {
        constexpr int width = Matmul::columns / Count;
        if (rest >= 0 && rest < call.tiles_of[First]) {
          Matmul::template emit<Count>(bank, sink, rest * width, call.last_column[First] + 1, call.rows, call.lanes,
                                       turn);
        }
        rest -= call.tiles_of[First];
      });
      ++turn;
    }
  }
}

namespace detail {
// The first of right operands of one type, whose fields are all Views.
template <class B>
struct PersistentSource {
  using type = first_of_t<B>;
  static constexpr bool fits = field_count<type>() == streamed_fields<type>().views;
};
template <class S, class... Rest>
struct PersistentSource<Several<S, Rest...>> {
  using type = S;
  static constexpr bool fits = field_count<S>() == streamed_fields<S>().views && (std::is_same_v<S, Rest> && ...);
};
}  // namespace detail

// c = a * b for each of b, of at most 8 rows and streamed_shape(): false where device, compiler or where operands lie
// do not allow it.
template <class T, int Degree, class A, class B, class C>
bool persistent_matmul(const A& a, const B& b, const C& c, WarpgroupMatmulShape<several_count<B>> shape,
                       const DeviceLimits& limits, Stream stream) {
  constexpr int products = several_count<B>;
  if constexpr (!detail::PersistentSource<B>::fits) {
    return false;
  } else {
    using S = typename detail::PersistentSource<B>::type;
    using Matmul = PersistentMatmul<T, S, Degree, products, C>;
    using Step = typename Matmul::Step;
    const auto kernel = persistent_matmul_kernel<Matmul, T, S, products, C>;
    const int steps = shape.steps(Step::depth);
    if (shape.M > Step::rows || shape.K % Step::depth != 0 || steps < Matmul::waves) return false;
    const std::int64_t shared = Matmul::shared(shape.M, steps);
    if (limits.shared_bytes < shared) return false;
    if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads)) return false;
    PersistentCall<S, products> call{};
    int product = 0;
    bool fits = true;
    for_each_of(b, [&](const S& each) {
      const auto places = operand_places(each);
      fits = fits && places && (product == 0 || *places == call.places);
      if (!fits) return;
      call.places = *places;
      call.last_column[product] = static_cast<int>(shape.N[product]) - 1;
      int number = 0;
      for_each_view(each, [&](const auto& view) {
        call.data[product][number++] = reinterpret_cast<const void*>(address_of(view.data()));
      });
      ++product;
    });
    if (!fits) return false;
    for_each_sink<products>(c, [&]<int First, int Count>(const auto&) {
      call.tiles += call.tiles_of[First] = shape.tiles_across(First, Matmul::columns / Count);
    });
    call.rows = static_cast<int>(shape.M);
    call.steps = steps;
    call.left = a.data();
    call.left_stride = a.stride(0);
    call.lanes = shape.lanes;
    call.loads_ahead = are_lasting(b);
    const Grid grid{"persistent_matmul", std::min(call.tiles, limits.multiprocessors), Matmul::threads, shared};
    launch_early(grid, stream, kernel, call, with_each(c, [](const auto& sink) { return with_access(sink, 8); }));
    return true;
  }
}

// Whether that takes less time than a wave's own loads and stages, by an H100 (tests/bench/FEW_BITS.md). By codes,
// tiles of few steps end too often, and more than 4 rows take long to lay out beside few weights; by elements, blocks
// that have a tile more than most wait for it. Elements of less than 8 bits go by codes alone.
template <int Degree, class Shape>
bool pays_persistent(const Shape& shape, const DeviceLimits& limits) {
  std::int64_t columns = 0;
  for (const std::int64_t N : shape.N) columns += N;
  if constexpr (Degree == 0) {
    const std::int64_t tiles = (columns + 15) / 16, all = limits.multiprocessors, rounds = (tiles + all - 1) / all;
    return shape.K >= 2048 && (rounds < 4 || tiles * 5 >= rounds * all * 4);
  } else {
    return shape.K >= 3072 && (shape.M <= 4 || columns * shape.K >= std::int64_t{42} << 20);
  }
}

}  // namespace kgen::gpu

#endif

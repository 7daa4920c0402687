// What a wave multiplies of a step of a product whose right operand a prologue makes of what comes from memory (weights
// of few bits, and scales of groups of them): each element is made once, in the registers from which the tensor cores
// take it (multiply_tile()). Where a prologue is affine in what is streamed, and the same for all rows of a step, the
// tensor cores multiply by the codes themselves, as pairs (code_pairs.hpp), and what the prologue makes of 0 and of 1
// is applied to a step's sums.
#pragma once

#include "kgen/gpu/code_pairs.hpp"
#include "kgen/gpu/streamed_source.hpp"
#include "kgen/gpu/warpgroup_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Of `Rows` rows of the left operand and 16 * Groups columns: a thread has 32 rows of the right operand's step of 128,
// of 2 columns of each group, 8 apart, and the same 32 columns of the left operand's rows. Which of them the tensor
// cores multiply as which number in depth does not matter as long as both operands agree. Degree: that of kgen::matmul
// where codes are multiplied, 0 where elements are.
//
// A Left has load(row, first): 8 columns of a step from a thread's number `first` on, of its own row of the 8 from
// `row`
// * 8 on.
template <class T, int Rows, int Groups, int Degree>
struct StreamedTiles {
  static constexpr int rows = Rows, columns = 16 * Groups;
  static constexpr int lanes = 32, part = 8, depth = 4 * lanes;  // a thread makes `part` of its lanes at a time

  using Sums = float[Groups][Rows / 8][4];

  // The elements of 2 columns that a thread has of a step, as words.
  template <class Source>
  struct Weights {
    using Streamed = StreamedSource<Source, lanes>;
    typename Streamed::Pieces pieces[2];

    // Those of `part` elements of each column, from number `first` on.
    KGEN_FN void convert(const Source& b, int first, std::uint32_t (&words)[2][part / 2]) const {
      KGEN_UNROLL
      for (int i = 0; i < 2; ++i) {
        T elements[part];
        store_elements(elements, Streamed::template lanes<part>(b, pieces[i], first));
        memcpy(words[i], elements, sizeof(elements));
      }
    }
  };

  // sums += what a thread has of a step, by the left operand's rows. Beyond the last row of b it is 0.
  template <class Left, class Source>
  KGEN_FN static void multiply(Sums& sums, const Left& left, const Source& b, const Weights<Source> (&weights)[Groups],
                               [[maybe_unused]] bool beyond) {
    if constexpr (Degree != 0) {
      multiply_codes(sums, left, b, weights);
    } else {
      multiply_elements(sums, left, b, weights, beyond);
    }
  }

  // Puts them where the rows and columns of a tile are that the wave has: `pitch` is the distance of rows.
  KGEN_FN static void put(float* to, int pitch, const Sums& sums) {
    const int lane = thread_index() % wave_size;
    to += lane % 4 * 2 * pitch + lane / 4;
    KGEN_UNROLL
    for (int rows = 0; rows < Rows; rows += 8) {
      KGEN_UNROLL
      for (int i = 0; i < 4 * Groups; ++i) to[(rows + i % 2) * pitch + i / 2 * 8] = sums[i / 4][rows / 8][i % 4];
    }
  }

 private:
  template <class Left, class Source>
  KGEN_FN static void multiply_elements(Sums& sums, const Left& left, const Source& b,
                                        const Weights<Source> (&weights)[Groups], bool beyond) {
    KGEN_UNROLL
    for (int first = 0; first < lanes; first += part) {
      Block<16> blocks[Rows / 8];
      KGEN_UNROLL
      for (int row = 0; row < Rows / 8; ++row) blocks[row] = left.load(row, first);
      KGEN_UNROLL
      for (int group = 0; group < Groups; ++group) {
        std::uint32_t words[2][part / 2];
        weights[group].convert(b, first, words);
        if (beyond) {
          KGEN_UNROLL
          for (int i = 0; i < part / 2; ++i) words[0][i] = words[1][i] = 0;
        }
        KGEN_UNROLL
        for (int row = 0; row < Rows / 8; ++row) {
          KGEN_UNROLL
          for (int i = 0; i < part / 2; i += 2) {
            const std::uint32_t tile[] = {words[0][i], words[1][i], words[0][i + 1], words[1][i + 1]};
            const std::uint32_t right[] = {blocks[row].words[i], blocks[row].words[i + 1]};
            multiply_tile<T>(sums[group][row], tile, right);
          }
        }
      }
    }
  }

  // By codes, of whole steps: all threads of a column have what the prologue makes of 0 and of 1.
  template <class Left, class Source>
  KGEN_FN static void multiply_codes(Sums& sums, const Left& left, const Source& b,
                                     const Weights<Source> (&weights)[Groups]) {
    using Codes = CodePairs<T, streamed_element_t<Source>>;
    constexpr bool has_totals = Degree == 2, raised = has_totals && Codes::raised_is_precise;
    constexpr int words = lanes / Codes::elements, words_of_block = part / Codes::elements;
    constexpr std::uint32_t one = pair_of<T>(1), ones[] = {one, one, one, one};
    Sums codes = {};                                  // of the left operand's rows by the codes,
    float totals[has_totals ? Rows / 8 : 1][4] = {};  // and by 1
    Block<16> blocks[Rows / 8];
    KGEN_UNROLL
    for (int word = 0; word < words; ++word) {
      if (word % words_of_block == 0) {
        KGEN_UNROLL
        for (int row = 0; row < Rows / 8; ++row) blocks[row] = left.load(row, word / words_of_block * part);
      }
      std::uint32_t pairs[Groups][2][Codes::pairs];
      KGEN_UNROLL
      for (int i = 0; i < 2 * Groups; ++i) {
        const auto& streamed = weights[i / 2].pieces[i % 2].streamed;
        if constexpr (raised) {
          Codes::convert_raised(streamed[word / 4].words[word % 4], pairs[i / 2][i % 2]);
        } else {
          Codes::convert(streamed[word / 4].words[word % 4], pairs[i / 2][i % 2]);
        }
      }
      KGEN_UNROLL
      for (int row = 0; row < Rows / 8; ++row) {
        std::uint32_t right[Codes::pairs];
        pair_up<Codes::elements>(blocks[row].words + word % words_of_block * (Codes::elements / 2), right);
        KGEN_UNROLL
        for (int i = 0; i < Codes::pairs; i += 2) {
          const std::uint32_t of_rows[] = {right[i], right[i + 1]};
          KGEN_UNROLL
          for (int group = 0; group < Groups; ++group) {
            const auto& own = pairs[group];
            const std::uint32_t tile[] = {own[0][i], own[1][i], own[0][i + 1], own[1][i + 1]};
            multiply_tile<T>(codes[group][row], tile, of_rows);
          }
          if constexpr (has_totals) multiply_tile<T>(totals[row], ones, of_rows);
        }
      }
    }
    KGEN_UNROLL
    for (int i = 0; i < 2 * Groups; ++i) add_codes<raised>(sums[i / 2], codes[i / 2], totals, b, weights[i / 2], i % 2);
  }

  // sums += what the prologue makes of the sums of codes, in one of two columns.
  template <bool Raised, int Count, class Source>
  KGEN_FN static void add_codes(float (&sums)[Rows / 8][4], const float (&codes)[Rows / 8][4],
                                [[maybe_unused]] const float (&totals)[Count][4], const Source& b,
                                const Weights<Source>& weights, int column) {
    using Streamed = typename Weights<Source>::Streamed;
    using Codes = CodePairs<T, streamed_element_t<Source>>;
    const float offset = Degree == 2 ? Streamed::of_code(b, weights.pieces[column], 0) : 0.0f;
    const float slope = Streamed::of_code(b, weights.pieces[column], Codes::one) - offset;
    const float of_total = Raised ? offset - slope * Codes::raised : offset;
    KGEN_UNROLL
    for (int i = 0; i < Rows / 8 * 2; ++i) {
      float& sum = sums[i / 2][column * 2 + i % 2];
      sum = __builtin_fmaf(slope, codes[i / 2][column * 2 + i % 2], sum);
      if constexpr (Degree == 2) sum = __builtin_fmaf(of_total, totals[i / 2][column * 2 + i % 2], sum);
    }
  }
};

}  // namespace kgen::gpu

#endif

// What attention's kernels on Hopper share: keys as the copy engine is told of them, which scores count, and the
// running softmax of the rows of which a thread has scores. Scores lie as products leave them: a thread has two rows,
// of each 8 keys those from thread % 4 * 2 on: scores[key / 8 * 4 + (row is the second) * 2 + key % 2].
#pragma once

#include <limits>
#include <optional>

#include "kgen/convert.hpp"
#include "kgen/gpu/arithmetic.hpp"
#include "kgen/gpu/attention_shape.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/paged_keys.hpp"
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

template <class Rule>
using WarpgroupShape = AttentionShape<float, Rule, int>;  // scale: of powers of two

// Keys and values, as the copy engine is told of them: axes are elements of a head, heads, keys, batches; or of pages,
// which it takes `box` keys of at a time.
struct EngineKeys {
  TensorMap k, v;
  int box;
};

// Keys, values or queries as boxes of `positions` of some heads; nothing where the copy engine does not take them:
// elements of a head are neighbours, and heads, positions and batches lie at multiples of 16 bytes.
template <class T>
std::optional<BoxedMemory<4>> heads_in_memory(const View<T, 4>& view, int positions, int heads = 1) {
  const auto size = static_cast<std::int64_t>(sizeof(T));
  BoxedMemory<4> memory{view.data(), {}, {}, {swizzle_bytes / static_cast<int>(size), heads, positions, 1}};
  constexpr int axes[] = {3, 2, 1, 0};  // of the View, the innermost first
  bool fits = (view.extent(3) == 1 || view.stride(3) == 1) && reinterpret_cast<std::uintptr_t>(view.data()) % 16 == 0;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t extent = view.extent(axes[i]);
    memory.extents[i] = extent;
    memory.pitches[i] = extent > 1 ? view.stride(axes[i]) * size : (view.extent(3) * size + 15) / 16 * 16;
    fits = fits && extent > 0 && extent < std::int64_t{1} << 31;
    if (i > 0)
      fits = fits && memory.pitches[i] > 0 && memory.pitches[i] % 16 == 0 && memory.pitches[i] < std::int64_t{1} << 40;
  }
  fits = fits && memory.extents[0] * size % 16 == 0;
  return fits ? std::optional(memory) : std::nullopt;
}

// The running softmax of the two rows of which a thread has scores, those of a quad's columns: the greatest score so
// far, or one not much less, the same in all threads of the quad; and the sum of exp(score - maximum) of this thread's.
struct RowsSoftmax {
  float maximum[2] = {-std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  float total[2] = {0, 0};

  // Scores, in units of 1 / factor of powers of two, become 2^(score - maximum); `correction` is what earlier sums must
  // be multiplied by, now that the maximum may be greater.
  template <int Count>
  KGEN_FN void advance(float (&scores)[Count], float factor, float (&correction)[2]) {
    float greatest[2], sums[2];
    find_greatest(scores, greatest);
    raise(greatest, factor, correction);
    weigh(scores, factor, sums);
    add(sums);
  }

  // The same in steps: the greatest of this thread's scores;
  template <int Count>
  KGEN_FN static void find_greatest(float (&scores)[Count], float (&greatest)[2]) {
    KGEN_UNROLL
    for (int second = 0; second < 2; ++second) {
      float chain[chains];
      KGEN_UNROLL
      for (int i = 0; i < Count / 2; ++i) {
        float& top = chain[i % chains];
        top = i < chains ? score(scores, second, i) : greater(top, score(scores, second, i));
      }
      greatest[second] = greater(greater(chain[0], chain[1]), greater(chain[2], chain[3]));
    }
  }
  // whether the maximum will do for them: a softmax is the same whatever number is subtracted, and weights that are
  // greater than 1, but not by far, are as exact in any float. False of NaN, and where nothing was seen yet;
  KGEN_FN bool reaches(const float (&greatest)[2], float factor) const {
    constexpr float slack = 8;
    return (greatest[0] - maximum[0]) * factor <= slack && (greatest[1] - maximum[1]) * factor <= slack;
  }
  // the maximum with them;
  KGEN_FN void raise(const float (&greatest)[2], float factor, float (&correction)[2]) {
    KGEN_UNROLL
    for (int second = 0; second < 2; ++second) {
      float top = greater(greatest[second], of_neighbour(greatest[second], 1));
      top = greater(maximum[second], greater(top, of_neighbour(top, 2)));
      correction[second] = power_of_two(fmaf(maximum[second], factor, -subtracted(top, factor)));
      maximum[second] = top;
      total[second] *= correction[second];
    }
  }
  // what they become, and the sums of that;
  template <int Count>
  KGEN_FN void weigh(float (&scores)[Count], float factor, float (&sums)[2]) const {
    KGEN_UNROLL
    for (int second = 0; second < 2; ++second) {
      const float subtract = subtracted(maximum[second], factor);
      float sum[chains] = {};
      KGEN_UNROLL
      for (int i = 0; i < Count / 2; ++i) {
        float& lane = score(scores, second, i);
        lane = power_of_two(fmaf(lane, factor, -subtract));
        sum[i % chains] += lane;
      }
      sums[second] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
  // whether such sums are those of weights that the maximum will do for;
  KGEN_FN bool fits(const float (&sums)[2]) const {
    constexpr float most = 4096;
    return sums[0] <= most && sums[1] <= most;
  }
  KGEN_FN bool has_begun() const {
    constexpr float nothing = -std::numeric_limits<float>::infinity();
    return maximum[0] > nothing && maximum[1] > nothing;
  }
  // and these with those before.
  KGEN_FN void add(const float (&sums)[2]) {
    total[0] += sums[0];
    total[1] += sums[1];
  }
  // The sum of all of the row's weights, in all threads of the quad.
  KGEN_FN float sum(int second) const {
    const float pair = total[second] + of_neighbour(total[second], 1);
    return pair + of_neighbour(pair, 2);
  }

 private:
  static constexpr int chains = 4;  // of operations that wait for each other

  // exp(-inf - -inf) is to be 0
  KGEN_FN static float subtracted(float maximum, float factor) {
    return maximum == -std::numeric_limits<float>::infinity() ? 0.0f : maximum * factor;
  }
  // Number i of a row's.
  template <int Count>
  KGEN_FN static float& score(float (&scores)[Count], int second, int i) {
    return scores[i / 2 * 4 + second * 2 + i % 2];
  }
  KGEN_FN static float of_neighbour(float value, int distance) {
    return std::bit_cast<float>(shuffle_xor(std::bit_cast<std::uint32_t>(value), distance, wave_size, Where::here()));
  }
};

// Which of the keys a thread's two rows of one head of keys see, and what is added to their scores.
template <class Rule, class Mask>
struct RowsOfScores {
  const WarpgroupShape<Rule>& shape;
  const Mask& mask;
  int b, key_head;
  int row, seen[2], seen_by_all;  // the first row; keys that this and row + 8 see, and those that all of `rows` do
  int first_seen[2], first_seen_by_all;
  bool has_gaps = false;  // whether keys that they see lie nowhere

  // Of `rows` from first_row on, of which this thread has first_row + own and 8 further.
  KGEN_FN RowsOfScores(const WarpgroupShape<Rule>& shape, const Mask& mask, int b, int key_head, int first_row,
                       int rows, int own)
      : RowsOfScores(shape, shape.of_sequence(b), mask, b, key_head, first_row, rows, own) {}

  // Where the query of a row is, of [B, S, H, D].
  KGEN_FN Index<4> query(int of_row) const {
    const int s = shape.query(of_row);
    return {b, s, key_head * shape.group + (of_row - s * shape.group), 0};
  }
  // What is left to multiply the scores by once they are masked.
  KGEN_FN static float factor(const WarpgroupShape<Rule>& shape) { return scales_late ? shape.scale : 1.0f; }
  KGEN_FN float factor() const { return factor(shape); }

  // By all lanes of a wave, of the keys from `begin` to `end`: whether it has to look which of them lie nowhere.
  KGEN_FN void look_for_gaps(int begin, int end) {
    if constexpr (Rule::is_paged) {
      bool found = false;
      const int all = shape.of_sequence(b).keys, last = end < all ? end : all;
      KGEN_NO_UNROLL
      for (int key = begin + thread_index() % wave_size * granule_of_pages; key < last;
           key += wave_size * granule_of_pages) {
        found = found || !shape.rule.run(b, key).exists();
      }
      has_gaps = any_of_wave(found);
    }
  }

  // Whether all rows see all of these keys.
  KGEN_FN bool sees_all(int first_key, int count) const {
    return !has_gaps && first_key + count <= seen_by_all && (!Rule::is_local || first_key >= first_seen_by_all);
  }
  // By all lanes of a wave, of `Keys` keys from first_key on: which granules lie nowhere, as bits.
  template <int Keys>
  KGEN_FN std::uint32_t lost_keys(int first_key) const {
    std::uint32_t lost = 0;
    if constexpr (Rule::is_paged) {
      if (!has_gaps) return lost;
      const int own = thread_index() % wave_size;
      constexpr int granules = Keys / granule_of_pages;
      if (own < granules && !shape.rule.run(b, first_key + own * granule_of_pages).exists()) lost = 1u << own;
      KGEN_UNROLL
      for (int distance = 1; distance < granules; distance *= 2) {
        lost |= shuffle_xor(lost, distance, wave_size, Where::here());
      }
      lost = shuffle_from(lost, 0, wave_size, Where::here());
    }
    return lost;
  }
  // Scores of the keys from first_key on: -inf where a row does not see them, and for lost_keys; with the mask's.
  template <int Count>
  KGEN_FN void mask_scores(float (&scores)[Count], int first_key, std::uint32_t lost) const {
    const int column = first_key + thread_index() % 4 * 2;
    if constexpr (!scales_late) scale_scores(scores);
    if constexpr (!std::is_same_v<Mask, NoMask>) add_mask(scores, column);
    if (sees_all(first_key, 2 * Count)) return;
    const int left[2] = {seen[0] - column, seen[1] - column};
    const int skipped[2] = {first_seen[0] - column, first_seen[1] - column};
    KGEN_UNROLL
    for (int i = 0; i < Count; ++i) {
      const int at = i / 4 * 8 + i % 2, second = i / 2 % 2;
      const bool is_lost = Rule::is_paged && (lost >> at / granule_of_pages & 1) != 0;
      if (at >= left[second] || (Rule::is_local && at < skipped[second]) || is_lost) {
        scores[i] = -std::numeric_limits<float>::infinity();
      }
    }
  }

 private:
  static constexpr bool scales_late = std::is_same_v<Mask, NoMask> && !Rule::is_local;

  // Scores in powers of two, between the rule's limits.
  template <int Count>
  KGEN_FN void scale_scores(float (&scores)[Count]) const {
    KGEN_UNROLL
    for (float& score : scores) score *= shape.scale;
    if constexpr (Rule::is_local) {
      // tanh(x) = 1 - 2 / (1 + e^2x); chosen without a branch, in which ptxas would wait for products (C7518).
      const auto cap = static_cast<float>(shape.rule.cap);
      const float doubled = cap > 0 ? divide(2.0f * 1.44269504f, cap) : 0.0f;
      KGEN_UNROLL
      for (float& score : scores) {
        const float bent = cap - divide(2 * cap, 1 + power_of_two(score * doubled));
        score = cap > 0 ? bent : score;
      }
    }
  }
  KGEN_FN RowsOfScores(const WarpgroupShape<Rule>& shape, const WarpgroupShape<Rule>& of_sequence, const Mask& mask,
                       int b, int key_head, int first_row, int rows, int own)
      : shape(shape),
        mask(mask),
        b(b),
        key_head(key_head),
        row(first_row + own),
        seen{keys_seen(of_sequence, row), keys_seen(of_sequence, row + 8)},
        seen_by_all(keys_seen(of_sequence, first_row)),
        first_seen{first_key(of_sequence, row), first_key(of_sequence, row + 8)},
        first_seen_by_all(first_key(of_sequence, first_row + rows - 1)) {}
  KGEN_FN static int keys_seen(const WarpgroupShape<Rule>& own, int of_row) {
    const int count = own.keys_seen(of_row);
    return count < own.keys ? count : own.keys;
  }
  KGEN_FN static int first_key(const WarpgroupShape<Rule>& own, int of_row) {
    return Rule::is_local ? own.first_key(of_row) : 0;
  }
  // scores + mask, for columns from `column` on.
  template <int Count>
  KGEN_FN void add_mask(float (&scores)[Count], int column) const {
    constexpr float log2_e = 1.44269504f;
    const int left = shape.keys - column;  // keys
    KGEN_UNROLL
    for (int second = 0; second < 2; ++second) {
      if (row + second * 8 >= shape.rows()) continue;
      const Index<4> from = query(row + second * 8);
      KGEN_UNROLL
      for (int i = 2 * second; i < Count; i += 4) {
        const Index<4> at{b, from[2], from[1], column + i / 4 * 8};
        float added[2] = {0, 0};
        if (i / 4 * 8 + 2 <= left) {
          store_lanes(added, convert<float>(mask.template load<2>(at)));
        } else if (i / 4 * 8 < left) {
          added[0] = convert<float>(mask.template load<1>(at)).data;
        }
        scores[i] += added[0] * log2_e;
        scores[i + 1] += added[1] * log2_e;
      }
    }
  }
};

// Two floats as neighbours of type T.
template <class T>
KGEN_FN std::uint32_t as_pair(const float* lanes) {
  T pair[2];
  store_elements(pair, load_lanes<2>(lanes));
  std::uint32_t bits;
  memcpy(&bits, pair, sizeof(bits));
  return bits;
}

}  // namespace kgen::gpu

#endif

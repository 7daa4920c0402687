// Attention of many rows on the CPU: keys and values of a head are packed once, and the two products run on panels.
// Rows go over blocks of keys with a running softmax, as many together as the register tile has: their scores stay in
// the first-level cache.
#pragma once

#include "kgen/cpu/attention_problem.hpp"
#include "kgen/cpu/scratch.hpp"

namespace kgen::cpu {

// Where the packed keys and values of one head are, in panels. Keys: depth D, width keys. Values: depth keys, width D.
template <class T>
struct PackedKeys {
  static constexpr int width = RegisterTile<T>::columns;
  static_assert(attention_keys % width == 0);

  T *keys, *values;
  std::int64_t D, count;

  std::int64_t blocks() const { return (count + attention_keys - 1) / attention_keys; }  // that are packed at a time
  std::int64_t padded_D() const { return (D + width - 1) / width * width; }
  std::int64_t key_elements() const { return (count + width - 1) / width * width * D; }
  std::int64_t value_elements() const { return count * padded_D(); }
  Range range(std::int64_t block) const {
    return {block * attention_keys, std::min(count, (block + 1) * attention_keys)};
  }
  T* key_panel(std::int64_t key) const { return keys + key * D; }  // a multiple of the width
  T* value_panel(std::int64_t key, std::int64_t d) const { return values + d * count + key * width; }

  // Keys from `to` on: those at `t` of one head's matrices.
  template <class K, class V>
  void pack(std::int64_t to, const K& k, const V& v, Range t) const {
    for (std::int64_t j = t.begin; j < t.end; j += width) {
      pack_along_depth<width>(key_panel(to + j - t.begin), k, Range{0, D}, j, std::min<std::int64_t>(width, t.end - j));
    }
    pack_along_width<width>(value_panel(to, 0), width * count, v, t, 0, D);
  }
  // Whether all values of these keys are: 0 times one that is not would not be 0.
  bool are_finite(Range t) const {
    constexpr int lanes = lanes_of<T>;
    Vec<T, lanes> sum(0);
    for (std::int64_t d = 0; d < D; d += width) {
      const T* end = value_panel(t.end, d);
      for (const T* v = value_panel(t.begin, d); v < end; v += lanes)
        sum = sum + load_lanes<lanes>(v) * Vec<T, lanes>(0);
    }
    return sum_of(sum) == 0;
  }
};

// The keys `range` of one head, from where they lie: a row for each, zeros of those that lie nowhere.
template <class T, class Problem, class K>
View<const T, 2> rows_of_pages(const Problem& problem, const K& k, std::int64_t b, std::int64_t head, Range range,
                               T* rows) {
  problem.for_each_run(b, range, [&](const KeyRun& run, Range own) {
    T* to = rows + (own.begin - range.begin) * problem.D;
    if (!run.exists()) {
      std::fill_n(to, (own.end - own.begin) * problem.D, T(0));
      return;
    }
    for (std::int64_t i = 0; i < own.end - own.begin; ++i, to += problem.D) {
      const auto step = [&]<int W>(std::int64_t d) KGEN_LAMBDA {
        store_lanes(to + d, convert<T>(k.template load<W>(Index<4>{run.sequence, run.position + i, head, d})));
      };
      for_each_lane(0, problem.D, step);
    }
  });
  return {rows, Index<2>{range.end - range.begin, problem.D}};
}

// Packs a block of the keys of a head of sequence b.
template <class T, class Problem>
void pack_keys(const Problem& problem, std::int64_t b, std::int64_t head, const PackedKeys<T>& packed,
               std::int64_t block) {
  Range t = packed.range(block);
  t.end = std::min(t.end, problem.rule.keys_of(b, problem.keys));
  if (t.begin >= t.end) return;
  if constexpr (decltype(problem.rule)::is_paged) {
    T* rows = scratch<T>(page_scratch, 2 * attention_keys * problem.D);
    packed.pack(t.begin, rows_of_pages(problem, problem.k, b, head, t, rows),
                rows_of_pages(problem, problem.v, b, head, t, rows + attention_keys * problem.D),
                Range{0, t.end - t.begin});
  } else {
    packed.pack(t.begin, problem.k.template select<0>(b).template select<1>(head),
                problem.v.template select<0>(b).template select<1>(head), t);
  }
}

// Rows that go together over all keys, and how many of these at a time, 512 at most: their scores stay in half of the
// first-level cache, and the keys and values in a quarter of the second one. Sums are rescaled once for that many keys,
// so that the last bits of a result depend on the caches, too.
template <class T>
struct AttentionBlock {
  static constexpr std::int64_t rows = 8 * RegisterTile<T>::rows;

  static std::int64_t keys(std::int64_t D) {
    constexpr std::int64_t bytes = sizeof(T);
    const std::int64_t fit =
        std::min(caches().first / 2 / (RegisterTile<T>::rows * bytes), caches().second / 4 / (2 * D * bytes));
    return std::clamp<std::int64_t>(fit / attention_keys, 1, 4) * attention_keys;
  }
};

// The rows of a register tile, or fewer, of one head, beside `range` of its keys.
template <class T, class Problem>
struct AttentionTile {
  const Problem& problem;
  const PackedKeys<T>& packed;
  std::int64_t b, key_head;
  Range rows, range;
  bool fresh;   // no key came before
  bool finite;  // a value of a key that some row does not see may be multiplied by 0
  T* scores;
  std::int64_t stride;  // from one row's scores to the next's

  Range seen_by_any() const { return problem.keys_seen_by_any(rows, range); }

  void multiply_keys(const T* queries, std::int64_t query_stride) const {
    constexpr int width = PackedKeys<T>::width;
    const Range any = seen_by_any();
    const LeftRows<T> left{queries, query_stride};
    for (std::int64_t j = any.begin / width * width; j < any.end; j += width) {
      const TileSums<T> sums{scores + j, stride, true};
      left.multiply(0, rows.end - rows.begin, packed.key_panel(range.begin + j), problem.D, sums);
    }
  }
  // One step of all rows after another of all, so that a row does not wait for what adds up the lanes of another's.
  void advance(SoftmaxState<T>* states, T* output) const {
    const Range any = seen_by_any();
    T greatest[RegisterTile<T>::rows];
    for (std::int64_t i = 0; i < rows.end - rows.begin; ++i) {
      const Range seen = problem.keys_seen_by(rows.begin + i, range);
      mask_scores(problem, b, key_head, rows.begin + i, range, seen, scores + i * stride);
      greatest[i] = greatest_score(scores + i * stride, seen, states[i].maximum);
    }
    for (std::int64_t i = 0; i < rows.end - rows.begin; ++i) {
      const Range seen = problem.keys_seen_by(rows.begin + i, range);
      T* own = scores + i * stride;
      advance_softmax(own, seen, greatest[i], states[i], output + i * packed.padded_D(), problem.D);
      for (std::int64_t j = any.begin; j < seen.begin; ++j) own[j] = T(0);
      for (std::int64_t j = std::max(any.begin, seen.end); j < any.end; ++j) own[j] = T(0);
    }
  }
  // output += scores * values. A key that a row does not see does not touch it, be it NaN: then those that all rows see
  // are multiplied as panels, and the others row by row, in the same order.
  void add_values(T* output) const {
    constexpr int width = PackedKeys<T>::width;
    const std::int64_t count = rows.end - rows.begin, sums_stride = packed.padded_D();
    const Range together = finite ? seen_by_any() : problem.keys_seen_by_all(rows, range);
    const bool multiplies = together.begin < together.end;
    if (fresh && !(finite && multiplies)) std::fill_n(output, count * sums_stride, T(0));
    if (!finite) add_values_row_by_row({0, together.begin}, output);
    for (std::int64_t d = 0; multiplies && d < sums_stride; d += width) {
      LeftRows<T>{scores + together.begin, stride}.multiply(
          0, count, packed.value_panel(range.begin + together.begin, d), together.end - together.begin,
          TileSums<T>{output + d, sums_stride, fresh && finite});
    }
    if (!finite) add_values_row_by_row({together.end, range.end - range.begin}, output);
  }

 private:
  void add_values_row_by_row(Range keys, T* output) const {
    constexpr int width = PackedKeys<T>::width;
    for (std::int64_t row = rows.begin; row < rows.end; ++row, output += packed.padded_D()) {
      const Range seen = problem.keys_seen_by(row, range);
      const Range own{std::max(seen.begin, keys.begin), std::min(seen.end, keys.end)};
      for (std::int64_t d = 0; own.begin < own.end && d < packed.padded_D(); d += width) {
        const View<const T, 2> values(packed.value_panel(range.begin, d), Index<2>{own.end, width});
        add_product(output + d, width, scores + (row - rows.begin) * stride + own.begin, stride, 1, values, own, 0,
                    width);
      }
    }
  }
};

// Rows of one head, from `rows.begin` to `rows.end`: at most AttentionBlock<T>::rows.
template <class T, class Problem, class Out>
void attend_block(const Problem& all, std::int64_t b, std::int64_t key_head, Range rows, const PackedKeys<T>& packed,
                  const Out& out) {
  constexpr std::int64_t together = RegisterTile<T>::rows;
  const Problem problem = all.of_sequence(b);
  const std::int64_t count = rows.end - rows.begin, padded_D = packed.padded_D();
  // Where D is a power of two, lines of the queries would all be of one set of the cache without what is added.
  const std::int64_t query_stride = whole_registers<T>(problem.D) + lanes_of<T>;
  const std::int64_t key_step = AttentionBlock<T>::keys(problem.D),
                     stride = std::min(key_step, packed.blocks() * attention_keys);
  const std::int64_t padded_rows = (count + together - 1) / together * together;
  T* output = scratch<T>(output_scratch, padded_rows * padded_D);
  T* queries = scratch<T>(query_scratch, count * query_stride);
  T* scores = scratch<T>(score_scratch, together * stride);
  SoftmaxState<T>* states = scratch<SoftmaxState<T>>(state_scratch, count);
  std::fill_n(states, count, SoftmaxState<T>{});
  load_queries(problem, b, key_head, rows, queries, query_stride);

  const Range seen = problem.keys_seen_by_any(rows, {0, problem.keys});
  if (seen.begin >= seen.end) std::fill_n(output, count * padded_D, T(0));
  bool fresh = true;
  for (std::int64_t key = seen.begin / key_step * key_step; key < seen.end; key += key_step, fresh = false) {
    const Range range{key, std::min(seen.end, key + key_step)};
    const Range by_all = problem.keys_seen_by_all(rows, range);
    const bool finite =
        packed.are_finite({key, key + by_all.begin}) && packed.are_finite({key + by_all.end, range.end});
    for (std::int64_t i = 0; i < count; i += together) {
      const Range tile_rows{rows.begin + i, std::min(rows.end, rows.begin + i + together)};
      const AttentionTile<T, Problem> tile{.problem = problem,
                                           .packed = packed,
                                           .b = b,
                                           .key_head = key_head,
                                           .rows = tile_rows,
                                           .range = range,
                                           .fresh = fresh,
                                           .finite = finite,
                                           .scores = scores,
                                           .stride = stride};
      tile.multiply_keys(queries + i * query_stride, query_stride);
      tile.advance(states + i, output + i * padded_D);
      tile.add_values(output + i * padded_D);
    }
  }
  emit_attention(problem, b, key_head, rows, states, output, padded_D, out);
}

// All rows of one head, by a thread that packs its keys and values for itself.
template <class T, class Problem, class Out>
void attend_head(const Problem& problem, std::int64_t head, const Out& out) {
  const std::int64_t b = head / problem.key_heads, key_head = head % problem.key_heads;
  PackedKeys<T> packed{nullptr, nullptr, problem.D, problem.keys};
  packed.keys = scratch<T>(key_scratch, packed.key_elements());
  packed.values = scratch<T>(value_scratch, packed.value_elements());
  for (std::int64_t i = 0; i < packed.blocks(); ++i) pack_keys(problem, b, key_head, packed, i);
  for (std::int64_t row = 0; row < problem.rows(); row += AttentionBlock<T>::rows) {
    const Range rows{row, std::min(problem.rows(), row + AttentionBlock<T>::rows)};
    attend_block<T>(problem, b, key_head, rows, packed, out);
  }
}

template <class T, class Problem, class Out>
void attend_many_rows(const Problem& problem, const Out& out, int threads) {
  const std::int64_t heads = problem.B * problem.key_heads;
  const std::int64_t row_blocks = (problem.rows() + AttentionBlock<T>::rows - 1) / AttentionBlock<T>::rows;
  const PackedKeys<T> shape{nullptr, nullptr, problem.D, problem.keys};
  const std::int64_t head_bytes =
      (shape.key_elements() + shape.value_elements()) * static_cast<std::int64_t>(sizeof(T));
  // Where threads end together so, each has heads of its own, which stay in its second-level cache.
  bool are_alike = true;
  for (std::int64_t b = 1; b < problem.B; ++b) {
    are_alike = are_alike && problem.rule.keys_of(b, problem.keys) == problem.rule.keys_of(0, problem.keys);
  }
  const bool end_together = (are_alike && heads % threads == 0) || heads >= 8 * threads;
  if (head_bytes <= caches().second / 4 && end_together) {
    return parallel_for(threads, heads, [&](std::int64_t head) { attend_head<T>(problem, head, out); });
  }
  // As many heads at a time, packed, as stay near.
  const std::int64_t fit = caches().near(threads) / std::max<std::int64_t>(head_bytes, 1);
  const std::int64_t at_once = std::clamp<std::int64_t>(fit, 1, heads);
  T* key_data = scratch<T>(key_scratch, at_once * shape.key_elements());
  T* value_data = scratch<T>(value_scratch, at_once * shape.value_elements());
  const auto packed = [&](std::int64_t i) {
    return PackedKeys<T>{key_data + i * shape.key_elements(), value_data + i * shape.value_elements(), shape.D,
                         shape.count};
  };

  for (std::int64_t first = 0; first < heads; first += at_once) {
    const std::int64_t count = std::min(at_once, heads - first);
    parallel_for(threads, count * shape.blocks(), [&](std::int64_t i) {
      const std::int64_t head = first + i / shape.blocks();
      pack_keys(problem, head / problem.key_heads, head % problem.key_heads, packed(i / shape.blocks()),
                i % shape.blocks());
    });
    parallel_for(threads, count * row_blocks, [&](std::int64_t i) {
      const std::int64_t head = first + i / row_blocks;
      const std::int64_t begin = (row_blocks - 1 - i % row_blocks) * AttentionBlock<T>::rows;  // the longest first
      const Range rows{begin, std::min(problem.rows(), begin + AttentionBlock<T>::rows)};
      attend_block<T>(problem, head / problem.key_heads, head % problem.key_heads, rows, packed(i / row_blocks), out);
    });
  }
}

}  // namespace kgen::cpu

// Attention on the CPU. The queries of one head of keys form a matrix: row i is query i / group of head i % group, for
// the `group` heads that share these keys. Blocks of its rows go over blocks of keys with a running softmax. Keys are
// read in runs (KeyRun) that lie behind each other.
#pragma once

#include <limits>

#include "kgen/attention_rule.hpp"
#include "kgen/cpu/panels.hpp"
#include "kgen/cpu/scratch.hpp"

namespace kgen::cpu {

struct NoMask {};

// Keys whose scores are held at a time.
inline constexpr std::int64_t attention_keys = 128;

// What each thread holds, and what all of them share (keys and values).
enum AttentionScratch : std::size_t {
  output_scratch,
  query_scratch,
  score_scratch,
  state_scratch,
  key_scratch,
  value_scratch,
  row_scratch,
  page_scratch
};

template <class T, class Q, class K, class V, class Mask, class Rule>
struct AttentionProblem {
  const Q& q;
  const K& k;
  const V& v;
  const Mask& mask;
  T scale;
  Rule rule;
  std::int64_t B, S, H, D, keys, key_heads, group;

  // With the keys that sequence b has.
  AttentionProblem of_sequence(std::int64_t b) const {
    return {q, k, v, mask, scale, rule, B, S, H, D, rule.keys_of(b, keys), key_heads, group};
  }
  std::int64_t rows() const { return S * group; }
  std::int64_t query_of(std::int64_t row) const { return row / group; }
  std::int64_t head_of(std::int64_t row, std::int64_t key_head) const { return key_head * group + row % group; }
  // Keys that a query sees.
  Range keys_seen(std::int64_t query) const {
    const std::int64_t own = keys - S + query, end = std::clamp<std::int64_t>(rule.end(own, keys), 0, keys);
    return {std::clamp<std::int64_t>(rule.begin(own), 0, end), end};
  }
  // Of those in `range`, the ones that the query of a row sees, counted from its first.
  Range keys_seen_by(std::int64_t row, Range range) const {
    const Range seen = keys_seen(query_of(row));
    const std::int64_t end = std::clamp<std::int64_t>(seen.end - range.begin, 0, range.end - range.begin);
    return {std::clamp<std::int64_t>(seen.begin - range.begin, 0, end), end};
  }
  // act(run, keys) for the runs of keys of sequence b in `range`.
  template <class Act>
  void for_each_run(std::int64_t b, Range range, const Act& act) const {
    for (std::int64_t t = range.begin; t < range.end;) {
      const KeyRun run = rule.run(b, t);
      const Range own{t, std::min(range.end, run.end)};
      act(run, own);
      t = own.end;
    }
  }
  // Rows that see a key: neighbours.
  Range rows_that_see(std::int64_t key) const {
    const auto sees = [&](std::int64_t query) {
      const Range seen = keys_seen(query);
      return key >= seen.begin && key < seen.end;
    };
    std::int64_t first = 0;
    while (first < S && !sees(first)) ++first;
    std::int64_t end = first;
    while (end < S && sees(end)) ++end;
    return {first * group, end * group};
  }
  // A score between the limits of the rule.
  template <int W>
  Vec<T, W> bent(const Vec<T, W>& score) const {
    if constexpr (Rule::is_local) {
      const Vec<T, W> cap(static_cast<T>(rule.cap));
      return cap * tanh(score / cap);
    } else {
      return score;
    }
  }
  bool bends() const {
    if constexpr (Rule::is_local) return rule.cap > 0;
    return false;
  }
};

// One row's running softmax: its greatest score so far, and the sum of exp(score - maximum).
template <class T>
struct SoftmaxState {
  T maximum = -std::numeric_limits<T>::infinity();
  T total = 0;
};

template <class T, int W>
KGEN_FN T greatest_lane(const Vec<T, W>& v) {
  if constexpr (W == 1) {
    return v.data;
  } else {
    return greatest_lane(maximum(low_half(v), high_half(v)));
  }
}

// Replaces the scores that are `seen` by exp(score - maximum), and the others, up to attention_keys, by 0. The result
// is what earlier sums of this row must be multiplied by, now that the maximum may be greater.
template <class T>
T advance_softmax(T* scores, Range seen, SoftmaxState<T>& state) {
  constexpr int lanes = lanes_of<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const std::int64_t count = seen.end;
  std::fill(scores, scores + seen.begin, -infinity);
  std::fill(scores + count, scores + attention_keys, -infinity);
  Vec<T, lanes> greatest(state.maximum);
  for (std::int64_t j = 0; j < count; j += lanes) greatest = maximum(greatest, load_lanes<lanes>(scores + j));
  const T greater = greatest_lane(greatest);
  const Vec<T, lanes> subtract(greater == -infinity ? T(0) : greater);  // exp(-inf - -inf) is to be 0
  Vec<T, lanes> total(0);
  for (std::int64_t j = 0; j < attention_keys; j += lanes) {
    const Vec<T, lanes> e = exp(load_lanes<lanes>(scores + j) - subtract);
    store_lanes(scores + j, e);
    total = total + e;
  }
  const T correction = exp(Vec<T, 1>(state.maximum) - Vec<T, 1>(subtract[0])).data;
  state.maximum = greater;
  state.total = state.total * correction + sum_of(total);
  return correction;
}

// Masks and exponentiates the scores of one row against `range` of keys, and rescales the row's sums.
template <class Problem, class T>
void finish_scores(const Problem& problem, std::int64_t b, std::int64_t key_head, std::int64_t row, Range range,
                   T* scores, SoftmaxState<T>& state, T* output) {
  const std::int64_t query = problem.query_of(row);
  const Range seen = problem.keys_seen_by(row, range);
  if (problem.bends()) {
    const auto bend = [&]<int W>(std::int64_t j)
                          KGEN_LAMBDA { store_lanes(scores + j, problem.bent(load_lanes<W>(scores + j))); };
    for_each_lane(seen.begin, seen.end, bend);
  }
  if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(problem.mask)>, NoMask>) {
    const std::int64_t head = problem.head_of(row, key_head);
    const auto step = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
      const auto mask = problem.mask.template load<W>(Index<4>{b, head, query, range.begin + j});
      store_lanes(scores + j, load_lanes<W>(scores + j) + convert<T>(mask));
    };
    for_each_lane(seen.begin, seen.end, step);
  }
  if constexpr (decltype(problem.rule)::is_paged) {
    problem.for_each_run(b, range, [&](const KeyRun& run, Range own) {
      if (run.exists()) return;
      std::fill(scores + own.begin - range.begin, scores + own.end - range.begin, -std::numeric_limits<T>::infinity());
    });
  }
  const T correction = advance_softmax(scores, seen, state);
  if (correction != T(1)) {
    for (std::int64_t d = 0; d < problem.D; ++d) output[d] *= correction;
  }
}

// Gives the finished sums of one row to `out`: 0, whatever the values, where no key has a weight.
template <class Problem, class T, class Out>
void emit_attention(const Problem& problem, std::int64_t b, std::int64_t key_head, std::int64_t row,
                    const SoftmaxState<T>& state, T* output, const Out& out) {
  const T factor = 1 / state.total;
  for (std::int64_t d = 0; d < problem.D; ++d) output[d] = state.total == 0 ? T(0) : output[d] * factor;
  emit_row(out, output, Index<4>{b, problem.query_of(row), problem.head_of(row, key_head), 0}, problem.D);
}

// scale * q of one row.
template <class Problem, class T>
void load_query(const Problem& problem, std::int64_t b, std::int64_t key_head, std::int64_t row, T* to) {
  const std::int64_t query = problem.query_of(row), head = problem.head_of(row, key_head);
  const auto step = [&]<int W>(std::int64_t d) KGEN_LAMBDA {
    store_lanes(to + d, problem.q.template load<W>(Index<4>{b, query, head, d}) * Vec<T, W>(problem.scale));
  };
  for_each_lane(0, problem.D, step);
}

// ---- many rows: keys and values are packed once, and the two products run on panels ---------------------------------

// Where the packed keys and values of one head are: blocks of attention_keys, each as panels. Keys: depth D, width
// keys. Values: depth keys, width D.
template <class T>
struct PackedKeys {
  static constexpr int width = RegisterTile<T>::columns;
  static_assert(attention_keys % width == 0);

  T *keys, *values;
  std::int64_t D, count;

  std::int64_t blocks() const { return (count + attention_keys - 1) / attention_keys; }
  std::int64_t padded_D() const { return (D + width - 1) / width * width; }
  std::int64_t key_elements() const { return blocks() * attention_keys * D; }
  std::int64_t value_elements() const { return blocks() * attention_keys * padded_D(); }
  Range range(std::int64_t block) const {
    return {block * attention_keys, std::min(count, (block + 1) * attention_keys)};
  }
  T* key_panel(std::int64_t block, std::int64_t panel) const {
    return keys + (block * attention_keys + panel * width) * D;
  }
  T* value_panel(std::int64_t block, std::int64_t panel) const {
    return values + block * attention_keys * padded_D() + panel * width * attention_keys;
  }

  // A block, of the keys `t` of one head's matrices.
  template <class K, class V>
  void pack(std::int64_t block, const K& k, const V& v, Range t) const {
    for (std::int64_t j = 0; j < attention_keys / width; ++j) {
      const std::int64_t first = t.begin + j * width;
      const std::int64_t valid = std::clamp<std::int64_t>(t.end - first, 0, width);
      pack_along_depth<width>(key_panel(block, j), k, Range{0, D}, first, valid);
    }
    for (std::int64_t j = 0; j < padded_D() / width; ++j) {
      pack_along_width<width>(value_panel(block, j), width * attention_keys, v, t, j * width,
                              std::min<std::int64_t>(width, D - j * width));
    }
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
  const Range t = packed.range(block);
  if constexpr (decltype(problem.rule)::is_paged) {
    T* rows = scratch<T>(page_scratch, 2 * attention_keys * problem.D);
    packed.pack(block, rows_of_pages(problem, problem.k, b, head, t, rows),
                rows_of_pages(problem, problem.v, b, head, t, rows + attention_keys * problem.D),
                Range{0, t.end - t.begin});
  } else {
    packed.pack(block, problem.k.template select<0>(b).template select<1>(head),
                problem.v.template select<0>(b).template select<1>(head), t);
  }
}

template <class T>
struct AttentionBlock {
  static constexpr std::int64_t rows = 8 * RegisterTile<T>::rows;
};

// output += scores * values of a block's keys in `range`, for the rows of `rows`. A key that a row does not see does
// not touch it, be it NaN: the keys that all rows of a panel see are multiplied as panels, and the others row by row.
template <class T, class Problem>
void add_values(const Problem& problem, const PackedKeys<T>& packed, std::int64_t block, Range range, Range rows,
                const T* scores, T* output) {
  using Register = RegisterTile<T>;
  const std::int64_t stride = packed.padded_D();
  for (std::int64_t j = 0; j < stride; j += Register::columns) {
    const T* panel = packed.value_panel(block, j / Register::columns);
    const View<const T, 2> values(panel, Index<2>{attention_keys, Register::columns});
    for (std::int64_t first = rows.begin; first < rows.end; first += Register::rows) {
      const std::int64_t last = std::min<std::int64_t>(first + Register::rows, rows.end) - 1;
      // From where the last of them begins to where the first ends.
      const Range first_seen = problem.keys_seen_by(first, range), last_seen = problem.keys_seen_by(last, range);
      const std::int64_t begin = last_seen.begin, end = std::max(begin, first_seen.end);
      const T* left = scores + (first - rows.begin) * attention_keys;
      T* sums = output + (first - rows.begin) * stride + j;
      if (begin < end) {
        multiply_panels<Register::rows, attention_keys, 1>(left + begin, panel + begin * Register::columns, end - begin,
                                                           sums, stride, false);
      }
      if (first_seen.begin == begin && last_seen.end == end) continue;
      const auto add = [&](std::int64_t i, Range others) {
        if (others.begin >= others.end) return;
        add_product(sums + i * stride, stride, left + i * attention_keys + others.begin, attention_keys, 1, values,
                    others, 0, Register::columns);
      };
      for (std::int64_t i = 0; i <= last - first; ++i) {
        const Range seen = problem.keys_seen_by(first + i, range);
        add(i, {seen.begin, std::min(seen.end, begin)});
        add(i, {std::max(seen.begin, end), seen.end});
      }
    }
  }
}

// Rows of one head, from `rows.begin` to `rows.end`: at most AttentionBlock<T>::rows.
template <class T, class Problem, class Out>
void attend_block(const Problem& all, std::int64_t b, std::int64_t key_head, Range rows, const PackedKeys<T>& packed,
                  const Out& out) {
  using Register = RegisterTile<T>;
  const Problem problem = all.of_sequence(b);
  const std::int64_t count = rows.end - rows.begin;
  const std::int64_t row_panels = (count + Register::rows - 1) / Register::rows;
  const std::int64_t stride = packed.padded_D();
  T* output = scratch<T>(output_scratch, AttentionBlock<T>::rows * stride);
  T* query = scratch<T>(query_scratch, AttentionBlock<T>::rows * problem.D);
  T* scores = scratch<T>(score_scratch, AttentionBlock<T>::rows * attention_keys);
  SoftmaxState<T>* states = scratch<SoftmaxState<T>>(state_scratch, AttentionBlock<T>::rows);
  std::fill_n(output, row_panels * Register::rows * stride, T(0));
  std::fill_n(states, count, SoftmaxState<T>{});
  T* queries = scratch<T>(row_scratch, Register::rows * problem.D);
  for (std::int64_t first = 0; first < count; first += Register::rows) {
    const std::int64_t together = std::min<std::int64_t>(Register::rows, count - first);
    for (std::int64_t i = 0; i < together; ++i) {
      load_query(problem, b, key_head, rows.begin + first + i, queries + i * problem.D);
    }
    transpose_rows<Register::rows>(query + first * problem.D, queries, problem.D, problem.D, together);
  }
  const Range seen{problem.keys_seen(problem.query_of(rows.begin)).begin,
                   problem.keys_seen(problem.query_of(rows.end - 1)).end};
  for (std::int64_t block = seen.begin / attention_keys; block * attention_keys < seen.end; ++block) {
    const Range range = packed.range(block);
    for (std::int64_t j = 0; j < attention_keys; j += Register::columns) {
      for (std::int64_t i = 0; i < row_panels; ++i) {
        multiply_panels<Register::rows, 1, Register::rows>(
            query + i * Register::rows * problem.D, packed.key_panel(block, j / Register::columns), problem.D,
            scores + i * Register::rows * attention_keys + j, attention_keys, true);
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      finish_scores(problem, b, key_head, rows.begin + i, range, scores + i * attention_keys, states[i],
                    output + i * stride);
    }
    add_values(problem, packed, block, range, rows, scores, output);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    emit_attention(problem, b, key_head, rows.begin + i, states[i], output + i * stride, out);
  }
}

template <class T, class Problem, class Out>
void attend_many_rows(const Problem& problem, const Out& out, int threads) {
  const std::int64_t heads = problem.B * problem.key_heads;
  const std::int64_t row_blocks = (problem.rows() + AttentionBlock<T>::rows - 1) / AttentionBlock<T>::rows;
  const PackedKeys<T> shape{nullptr, nullptr, problem.D, problem.keys};
  // As many heads at a time as fit, packed, in 32 MB.
  const std::int64_t head_bytes =
      (shape.key_elements() + shape.value_elements()) * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t at_once = std::clamp<std::int64_t>((32 << 20) / std::max<std::int64_t>(head_bytes, 1), 1, heads);
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
      const std::int64_t b = head / problem.key_heads;
      if (shape.range(i % shape.blocks()).begin >= problem.rule.keys_of(b, problem.keys)) return;
      pack_keys(problem, b, head % problem.key_heads, packed(i / shape.blocks()), i % shape.blocks());
    });
    parallel_for(threads, count * row_blocks, [&](std::int64_t i) {
      const std::int64_t head = first + i / row_blocks;
      const std::int64_t begin = (row_blocks - 1 - i % row_blocks) * AttentionBlock<T>::rows;  // the longest first
      const Range rows{begin, std::min(problem.rows(), begin + AttentionBlock<T>::rows)};
      attend_block<T>(problem, head / problem.key_heads, head % problem.key_heads, rows, packed(i / row_blocks), out);
    });
  }
}

// ---- few rows, as when one token is decoded: keys and values are read once, straight from memory --------------------

// All rows of the key heads in `heads` of one batch. Heads are innermost in memory, so they go together over the keys.
template <class T, class Problem, class Out>
void attend_few_rows(const Problem& all, std::int64_t b, Range heads, const Out& out) {
  const Problem problem = all.of_sequence(b);
  const std::int64_t rows = problem.rows(), D = problem.D, count = (heads.end - heads.begin) * rows;
  T* output = scratch<T>(output_scratch, count * D);
  T* query = scratch<T>(query_scratch, count * D);
  T* scores = scratch<T>(score_scratch, count * attention_keys);
  SoftmaxState<T>* states = scratch<SoftmaxState<T>>(state_scratch, count);
  std::fill_n(output, count * D, T(0));
  std::fill_n(states, count, SoftmaxState<T>{});
  // body(key head, row of it, row of all)
  const auto for_each_row = [&](const auto& body) KGEN_LAMBDA {
    std::int64_t i = 0;
    for (std::int64_t head = heads.begin; head < heads.end; ++head) {
      for (std::int64_t row = 0; row < rows; ++row) body(head, row, i++);
    }
  };
  for_each_row(
      [&](std::int64_t head, std::int64_t row, std::int64_t i) { load_query(problem, b, head, row, query + i * D); });
  const Range first_seen = problem.keys_seen(0), last_seen = problem.keys_seen(problem.S - 1);
  for (std::int64_t begin = first_seen.begin; begin < last_seen.end; begin += attention_keys) {
    const Range range{begin, std::min(last_seen.end, begin + attention_keys)};
    problem.for_each_run(b, range, [&](const KeyRun& run, Range own) {
      for (std::int64_t t = own.begin; t < own.end; ++t) {
        if (!run.exists()) {
          for (std::int64_t i = 0; i < count; ++i) scores[i * attention_keys + t - range.begin] = 0;
          continue;
        }
        const auto keys = problem.k.template select<0>(run.sequence).template select<0>(run.position + t - own.begin);
        for_each_row([&](std::int64_t head, std::int64_t, std::int64_t i) {
          scores[i * attention_keys + t - range.begin] = dot(query + i * D, keys, head, D);
        });
      }
    });
    for_each_row([&](std::int64_t head, std::int64_t row, std::int64_t i) {
      finish_scores(problem, b, head, row, range, scores + i * attention_keys, states[i], output + i * D);
    });
    // Several keys at a time as far as all rows see them; the others one by one, for the rows that do.
    constexpr std::int64_t values_at_once = 8;
    for (std::int64_t t = range.begin, next; t < range.end; t = next) {
      const bool seen_by_all = t >= last_seen.begin && t < first_seen.end;
      const KeyRun run = problem.rule.run(b, t);
      next = seen_by_all ? std::min({range.end, run.end, first_seen.end, t + values_at_once}) : t + 1;
      const Range seeing = problem.rows_that_see(t);
      if (seeing.begin == seeing.end || !run.exists()) continue;
      const auto v = problem.v.template select<0>(run.sequence);
      for (std::int64_t head = heads.begin; head < heads.end; ++head) {
        const std::int64_t first = (head - heads.begin) * rows + seeing.begin;
        add_product(output + first * D, D, scores + first * attention_keys + t - range.begin, attention_keys,
                    seeing.end - seeing.begin, v.template select<1>(head), Range{run.position, run.position + next - t},
                    0, D);
      }
    }
  }
  for_each_row([&](std::int64_t head, std::int64_t row, std::int64_t i) {
    emit_attention(problem, b, head, row, states[i], output + i * D, out);
  });
}

template <class T, class Problem, class Out>
void attend_few_rows(const Problem& problem, const Out& out, int threads) {
  const std::int64_t heads = problem.B * problem.key_heads;
  const std::int64_t pieces = std::min<std::int64_t>(heads, threads == 1 ? 1 : 4 * threads);
  parallel_for(threads, pieces, [&](std::int64_t piece) {
    const Range part = Team{static_cast<int>(piece), static_cast<int>(pieces)}.part(heads);
    for (std::int64_t first = part.begin; first < part.end;) {
      const std::int64_t b = first / problem.key_heads, begin = first % problem.key_heads;
      const std::int64_t end = std::min(problem.key_heads, begin + part.end - first);
      attend_few_rows<T>(problem, b, Range{begin, end}, out);
      first += end - begin;
    }
  });
}

template <class Q, class K, class V, class Mask, class Rule, class Out>
void attention(const Q& q, const K& k, const V& v, const Mask& mask, double scale, const Rule& rule, const Out& out,
               Stream stream) {
  using T = source_lane_t<Q, 4>;
  constexpr std::int64_t few_rows = 8;
  const Index<4> shape = q.shape();
  const std::int64_t B = shape[0], S = shape[1], H = shape[2], D = shape[3];
  const std::int64_t keys = rule.capacity(k.extent(1)), key_heads = k.extent(2);
  assert(k.shape() == v.shape() && (Rule::is_paged || k.extent(0) == B) && k.extent(3) == D &&
         H % std::max<std::int64_t>(key_heads, 1) == 0);
  if (B * S * H * D == 0) return;
  const AttentionProblem<T, Q, K, V, Mask, Rule> problem{q,
                                                         k,
                                                         v,
                                                         mask,
                                                         static_cast<T>(scale),
                                                         rule,
                                                         B,
                                                         S,
                                                         H,
                                                         D,
                                                         keys,
                                                         key_heads,
                                                         H / std::max<std::int64_t>(key_heads, 1)};
  const Range widest = problem.keys_seen(S - 1);
  const int threads = threads_for(stream, B * H * S * (widest.end - widest.begin) * D / 32);
  if (problem.rows() <= few_rows) {
    attend_few_rows<T>(problem, out, threads);
  } else {
    attend_many_rows<T>(problem, out, threads);
  }
}

}  // namespace kgen::cpu

// What attention's two ways on the CPU share: the problem as its rows see it, and a row's running softmax. The queries
// of one head of keys form a matrix: row i is query i / group of head i % group, for the `group` heads that share these
// keys. Keys are read in runs (KeyRun) that lie behind each other.
#pragma once

#include <limits>

#include "kgen/attention_rule.hpp"
#include "kgen/cpu/panels.hpp"

namespace kgen::cpu {

struct NoMask {};

// Keys whose scores are held at a time, of few rows; of many at least so many.
inline constexpr std::int64_t attention_keys = 128;

// What each thread holds, and keys and values, which all of them share unless each has heads of its own.
enum AttentionScratch : std::size_t {
  output_scratch,
  query_scratch,
  score_scratch,
  state_scratch,
  key_scratch,
  value_scratch,
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
  // Of the keys in `range`, counted from its first, those that all rows see, and those that any of them sees, from the
  // first to the last.
  Range keys_seen_by_all(Range rows, Range range) const {
    const Range first = keys_seen_by(rows.begin, range), last = keys_seen_by(rows.end - 1, range);
    return {last.begin, std::max(last.begin, first.end)};
  }
  Range keys_seen_by_any(Range rows, Range range) const {
    const Range first = keys_seen_by(rows.begin, range), last = keys_seen_by(rows.end - 1, range);
    return {first.begin, std::max(first.begin, last.end)};
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

template <class T>
constexpr std::int64_t whole_registers(std::int64_t count) {
  return (count + lanes_of<T> - 1) / lanes_of<T> * lanes_of<T>;
}

template <class T, int W>
KGEN_FN T greatest_lane(const Vec<T, W>& v) {
  if constexpr (W == 1) {
    return v.data;
  } else {
    return greatest_lane(maximum(low_half(v), high_half(v)));
  }
}

// The greatest of the scores that are `seen` and of `before`. What else is in their first and last register becomes
// -infinity.
template <class T>
T greatest_score(T* scores, Range seen, T before) {
  constexpr int lanes = lanes_of<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (seen.begin >= seen.end) return before;
  std::fill(scores + seen.begin / lanes * lanes, scores + seen.begin, -infinity);
  std::fill(scores + seen.end, scores + whole_registers<T>(seen.end), -infinity);
  Vec<T, lanes> greatest(before);
  for (std::int64_t j = seen.begin / lanes * lanes; j < seen.end; j += lanes) {
    greatest = maximum(greatest, load_lanes<lanes>(scores + j));
  }
  return greatest_lane(greatest);
}

// Replaces the scores of whose registers greatest_score made -infinity what is not seen by exp(score - subtract).
// Returns their sum.
template <class T>
T exponentiate(T* scores, Range seen, T subtract) {
  constexpr int lanes = lanes_of<T>;
  Vec<T, lanes> total(0);
  for (std::int64_t j = seen.begin / lanes * lanes; seen.begin < seen.end && j < seen.end; j += lanes) {
    const Vec<T, lanes> e = exp_nonpositive(load_lanes<lanes>(scores + j) - Vec<T, lanes>(subtract));
    store_lanes(scores + j, e);
    total = total + e;
  }
  return sum_of(total);
}

// Replaces the scores that are `seen`, of which `greater` is the greatest or an earlier one, by exp(score - greater),
// and multiplies the row's sums, unless it has none yet, so that they are of the same maximum.
template <class T>
void advance_softmax(T* scores, Range seen, T greater, SoftmaxState<T>& state, T* output, std::int64_t D) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const T subtract = greater == -infinity ? T(0) : greater;  // exp(-inf - -inf) is to be 0
  const T total = exponentiate(scores, seen, subtract);
  if (state.maximum == greater || state.maximum == -infinity) {
    state = {greater, state.total + total};
    return;
  }
  const T correction = exp(Vec<T, 1>(state.maximum) - Vec<T, 1>(subtract)).data;
  state = {greater, state.total * correction + total};
  for_each_lane(0, D, [&]<int W>(std::int64_t d) KGEN_LAMBDA {
    store_lanes(output + d, load_lanes<W>(output + d) * Vec<T, W>(correction));
  });
}

// What the rule and the mask make of the scores of one row against `range` of keys, of which it sees `seen`.
template <class Problem, class T>
void mask_scores(const Problem& problem, std::int64_t b, std::int64_t key_head, std::int64_t row, Range range,
                 Range seen, T* scores) {
  const std::int64_t query = problem.query_of(row);
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
}

// scale * q of so many rows, `stride` apart.
template <class Problem, class T>
void load_queries(const Problem& problem, std::int64_t b, std::int64_t key_head, Range rows, T* to,
                  std::int64_t stride) {
  const auto q = problem.q;  // whose strides no store changes, as the compiler then knows
  const std::int64_t D = problem.D;
  const Vec<T, lanes_of<T>> scale(problem.scale);
  for (std::int64_t row = rows.begin; row < rows.end; ++row, to += stride) {
    const std::int64_t query = problem.query_of(row), head = problem.head_of(row, key_head);
    const auto step = [&]<int W>(std::int64_t d) KGEN_LAMBDA {
      store_lanes(to + d, q.template load<W>(Index<4>{b, query, head, d}) * Vec<T, W>(scale[0]));
    };
    for_each_lane(0, D, step);
  }
}

// Gives the finished sums of so many rows to `out`: 0, whatever the values, where no key has a weight.
template <class Problem, class T, class Out>
void emit_attention(const Problem& problem, std::int64_t b, std::int64_t key_head, Range rows,
                    const SoftmaxState<T>* states, T* output, std::int64_t stride, const Out& given) {
  const Out out = given;  // as above
  const std::int64_t D = problem.D;
  for (std::int64_t row = rows.begin; row < rows.end; ++row, ++states, output += stride) {
    const T factor = 1 / states->total;
    const bool none = states->total == 0;
    for_each_lane(0, D, [&]<int W>(std::int64_t d) KGEN_LAMBDA {
      store_lanes(output + d, none ? Vec<T, W>(T(0)) : load_lanes<W>(output + d) * Vec<T, W>(factor));
    });
    emit_row(out, output, Index<4>{b, problem.query_of(row), problem.head_of(row, key_head), 0}, D);
  }
}

}  // namespace kgen::cpu

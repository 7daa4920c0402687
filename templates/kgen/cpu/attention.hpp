// Attention on the CPU. Few rows, as when one token is decoded: keys and values are read once, straight from memory.
// Many rows: attention_tiles.hpp.
#pragma once

#include "kgen/cpu/attention_tiles.hpp"

namespace kgen::cpu {

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
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    load_queries(problem, b, head, {0, rows}, query + (head - heads.begin) * rows * D, D);
  }
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
      const Range seen = problem.keys_seen_by(row, range);
      T* own = scores + i * attention_keys;
      mask_scores(problem, b, head, row, range, seen, own);
      advance_softmax(own, seen, greatest_score(own, seen, states[i].maximum), states[i], output + i * D, D);
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
  for (std::int64_t head = heads.begin, i = 0; head < heads.end; ++head, i += rows) {
    emit_attention(problem, b, head, {0, rows}, states + i, output + i * D, D, out);
  }
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
  constexpr std::int64_t few_rows = 8;  // of a head of keys: what they take is to read these once, not to multiply
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

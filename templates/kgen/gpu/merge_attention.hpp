// Attention of queries whose keys are split among blocks, where there are few queries and many keys: each block leaves
// what its keys give, and a second kernel puts that together.
#pragma once

#include <limits>

#include "kgen/gpu/arithmetic.hpp"
#include "kgen/gpu/attention_shape.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"

namespace kgen::gpu {

// What one part of the keys gives for each row of queries of each head of keys: the weighted mean of its values, and the
// logarithm of the sum of their weights, to base 2; of no keys -infinity.
struct AttentionParts {
  float *means, *logarithms;     // [parts, heads of all batches, rows, D], [parts, heads of all batches, rows]
  int parts = 1;                 // 1: there is nothing to put together, and no memory
  std::int64_t lines = 0;        // of one part: heads of all batches * rows

  static std::int64_t bytes(int parts, std::int64_t lines, std::int64_t D) {
    return parts * lines * (D + 4) * static_cast<std::int64_t>(sizeof(float));
  }
  AttentionParts() = default;
  AttentionParts(unsigned char* memory, int parts, std::int64_t lines, std::int64_t D)
      : means(reinterpret_cast<float*>(memory)), logarithms(means + parts * lines * D), parts(parts), lines(lines) {}

  // A part's means of `count` lines as a matrix [count, D].
  KGEN_FN View<float, 2> of_part(int part, std::int64_t first_line, std::int64_t count, std::int64_t D) const {
    float* begin = means + (part * lines + first_line) * D;
    return View<float, 2>(begin, Index<2>{count, D}, Index<2>{D, 1}).with_access({true});
  }
  KGEN_FN float& logarithm(int part, std::int64_t line) const { return logarithms[part * lines + line]; }
};

inline constexpr int merge_attention_threads = 128, merge_attention_lanes = 4;

// Each thread has 4 neighbours of a row; D is a multiple of them.
template <class Out, class Rule>
KGEN_GLOBAL(merge_attention_threads, 8)
merge_attention_kernel(AttentionParts parts, Out out, AttentionShape<float, Rule, int> shape) {
  take_turn();
  constexpr int lanes = merge_attention_lanes;
  const int pieces = shape.D / lanes;
  const std::int64_t all = parts.lines * pieces, step = block_count() * merge_attention_threads;
  for (std::int64_t i = block_index() * merge_attention_threads + thread_index(); i < all; i += step) {
    const std::int64_t line = i / pieces, d = i % pieces * lanes;
    float greatest = -std::numeric_limits<float>::infinity();
    for (int part = 0; part < parts.parts; ++part) greatest = greater(greatest, parts.logarithm(part, line));
    const float subtract = greatest == -std::numeric_limits<float>::infinity() ? 0.0f : greatest;
    Vec<float, lanes> sum(0);
    float total = 0;
    for (int part = 0; part < parts.parts; ++part) {
      const float weight = power_of_two(parts.logarithm(part, line) - subtract);
      if (weight == 0) continue;  // no keys, or none that counts: its means may be anything
      total += weight;
      sum = sum + parts.of_part(part, 0, parts.lines, shape.D).template load<lanes>(Index<2>{line, d}) * Vec<float, lanes>(weight);
    }
    const int row = static_cast<int>(line % shape.rows()), head = static_cast<int>(line / shape.rows());
    const int first_head = head % shape.key_heads * shape.group, query = shape.query(row);
    const Index<4> at{head / shape.key_heads, query, first_head + row - query * shape.group, d};
    store_to(out, at, sum * Vec<float, lanes>(total == 0 ? 0.0f : divide(1.0f, total)));
  }
}

template <class Out, class Rule>
void merge_attention(const AttentionParts& parts, const Out& out, const AttentionShape<float, Rule, int>& shape,
                     Stream stream) {
  const std::int64_t pieces = parts.lines * (shape.D / merge_attention_lanes);
  const std::int64_t blocks = (pieces + merge_attention_threads - 1) / merge_attention_threads;
  const Grid grid{"merge_attention", blocks_for(blocks, merge_attention_threads), merge_attention_threads};
  launch_early(grid, stream, merge_attention_kernel<Out, Rule>, parts, with_access(out, merge_attention_lanes), shape);
}

}  // namespace kgen::gpu

// Attention on a GPU: by its tensor cores where operands and device allow (warpgroup_attention.hpp); else, right for any
// operands, 32 lanes compute one query. The queries of a block share the keys and values that it holds in shared memory,
// a tile at a time, with a running softmax.
#pragma once

#include <limits>

#include "kgen/gpu/attention_shape.hpp"
#include "kgen/gpu/converted_attention.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/team.hpp"
#include "kgen/gpu/warpgroup_attention.hpp"
#include "kgen/ops/reductions.hpp"

namespace kgen::gpu {

inline constexpr int attention_lanes = 32, attention_teams = 4, attention_threads = attention_lanes * attention_teams;

// How blocks share the work.
template <class T, class Rule>
struct AttentionBlocks : AttentionShape<T, Rule> {
  int tile = attention_lanes;  // keys in shared memory at a time, at most as many

  KGEN_FN AttentionBlocks of_sequence(std::int64_t b) const { return {AttentionShape<T, Rule>::of_sequence(b), tile}; }
  KGEN_FN std::int64_t blocks_per_head() const { return (this->rows() + attention_teams - 1) / attention_teams; }
  KGEN_FN std::int64_t pitch() const { return this->D + 1; }  // of keys and values, so that lanes read different banks
};

// What a block holds: a tile of keys and values, and for each team its query and its sums.
template <class T>
struct AttentionMemory {
  T *keys, *values, *query, *sums;

  template <class Rule>
  KGEN_FN AttentionMemory(SharedMemory& shared, const AttentionBlocks<T, Rule>& shape)
      : keys(shared.take<T>(shape.tile * shape.pitch())),
        values(shared.take<T>(shape.tile * shape.pitch())),
        query(shared.take<T>(attention_teams * shape.D) + thread_index() / attention_lanes * shape.D),
        sums(shared.take<T>(attention_teams * shape.D) + thread_index() / attention_lanes * shape.D) {}
  template <class Rule>
  static std::int64_t bytes(const AttentionBlocks<T, Rule>& shape) {
    return 2 * shared_bytes<T>(shape.tile * shape.pitch()) + 2 * shared_bytes<T>(attention_teams * shape.D);
  }
};

// Keys and values `first` to first + count of one head.
template <class T, class Rule, class K, class V>
KGEN_FN void stage_keys(const AttentionMemory<T>& memory, const AttentionBlocks<T, Rule>& shape, const K& k, const V& v,
                        Index<4> at, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = thread_index(); i < count * shape.D; i += attention_threads) {
    const std::int64_t key = i / shape.D, d = i % shape.D;
    const KeyRun run = shape.rule.run(at[0], first + key);
    const Index<4> from{run.sequence, run.position, at[2], d};
    T& key_element = memory.keys[key * shape.pitch() + d];
    T& value_element = memory.values[key * shape.pitch() + d];
    if (Rule::is_paged && !run.exists()) {
      key_element = value_element = 0;
    } else {
      key_element = static_cast<T>(k.template load<1>(from).data);
      value_element = static_cast<T>(v.template load<1>(from).data);
    }
  }
}

// A query's running softmax: its greatest score so far, and the sum of exp(score - maximum). The same in all lanes.
template <class T>
struct RunningSoftmax {
  T maximum = -std::numeric_limits<T>::infinity(), total = 0;

  // Takes in one score in each lane. Returns the lane's exp(score - maximum); `correction` is what earlier sums must be
  // multiplied by, now that the maximum may be greater.
  KGEN_FN T advance(T score, T& correction) {
    const Vec<T, 1> greatest = combine_lanes<Max>(Vec<T, 1>(score), attention_lanes);
    const T greater = kgen::maximum(Vec<T, 1>(maximum), greatest).data;
    const T subtract = greater == -std::numeric_limits<T>::infinity() ? T(0) : greater;  // exp(-inf - -inf) is to be 0
    const T e = exp(Vec<T, 1>(score - subtract)).data;
    correction = exp(Vec<T, 1>(maximum - subtract)).data;
    maximum = greater;
    total = total * correction + combine_lanes<Sum>(Vec<T, 1>(e), attention_lanes).data;
    return e;
  }
};

// One tile of keys, of which this row sees those from `begin` to `seen`.
template <class T, class Rule, class Mask>
KGEN_FN void attend_tile(const AttentionMemory<T>& memory, const AttentionBlocks<T, Rule>& shape, const Mask& mask,
                         Index<4> mask_at, std::int64_t begin, std::int64_t seen, RunningSoftmax<T>& state) {
  const int lane = thread_index() % attention_lanes;
  T score = -std::numeric_limits<T>::infinity();
  if (lane >= begin && lane < seen && (!Rule::is_paged || shape.rule.run(mask_at[0], mask_at[3] + lane).exists())) {
    score = 0;
    for (std::int64_t d = 0; d < shape.D; ++d) score += memory.query[d] * memory.keys[lane * shape.pitch() + d];
    if constexpr (Rule::is_local) {
      const auto cap = static_cast<T>(shape.rule.cap);
      if (cap > 0) score = cap * tanh(Vec<T, 1>(score / cap)).data;
    }
    if constexpr (!std::is_same_v<Mask, NoMask>) {
      mask_at[3] += lane;
      score += static_cast<T>(mask.template load<1>(mask_at).data);
    }
  }
  T correction;
  const T mine = state.advance(score, correction);
  for (std::int64_t d = lane; d < shape.D; d += attention_lanes) memory.sums[d] *= correction;
  // A key that the row does not see does not touch it, be it NaN.
  for (int key = static_cast<int>(begin); key < seen; ++key) {
    const T weight = shuffle_from(mine, key, attention_lanes, Where::here());
    for (std::int64_t d = lane; d < shape.D; d += attention_lanes) {
      memory.sums[d] += weight * memory.values[key * shape.pitch() + d];
    }
  }
}

template <class T, class Rule, class Q, class K, class V, class Mask, class Out>
KGEN_GLOBAL(attention_threads, 4)
attention_kernel(Q q, K k, V v, Mask mask, Out out, AttentionBlocks<T, Rule> all) {
  take_turn();
  SharedMemory shared;
  const AttentionMemory<T> memory(shared, all);
  const int lane = thread_index() % attention_lanes, team = thread_index() / attention_lanes;
  const std::int64_t blocks = all.B * all.key_heads * all.blocks_per_head();
  for (std::int64_t block = block_index(); block < blocks; block += block_count()) {
    const std::int64_t head = block / all.blocks_per_head(),
                       first_row = block % all.blocks_per_head() * attention_teams;
    const std::int64_t b = head / all.key_heads, key_head = head % all.key_heads, last = all.rows() - 1;
    const AttentionBlocks<T, Rule> shape = all.of_sequence(b);
    // Teams beyond the last row compute it once more, since others wait for them.
    const std::int64_t row = first_row + team < last ? first_row + team : last;
    const std::int64_t last_row = first_row + attention_teams - 1 < last ? first_row + attention_teams - 1 : last;
    const Index<4> at{b, row / shape.group, key_head * shape.group + row % shape.group, 0};
    for (std::int64_t d = lane; d < shape.D; d += attention_lanes) {
      memory.query[d] = static_cast<T>(q.template load<1>(Index<4>{at[0], at[1], at[2], d}).data) * shape.scale;
      memory.sums[d] = 0;
    }
    RunningSoftmax<T> state;
    const std::int64_t seen = shape.keys_seen(last_row), end = seen < shape.keys ? seen : shape.keys;
    for (std::int64_t first = shape.first_key(first_row); first < end; first += shape.tile) {
      const std::int64_t count = first + shape.tile < end ? shape.tile : end - first;
      {
        const BlockPhase loading;
        stage_keys(memory, shape, k, v, Index<4>{b, 0, key_head, 0}, first, count);
      }
      const BlockPhase attending;
      const std::int64_t skipped = shape.first_key(row) - first, left = shape.keys_seen(row) - first;
      attend_tile(memory, shape, mask, Index<4>{at[0], at[2], at[1], first}, skipped < 0 ? 0 : skipped,
                  left < count ? left : count, state);
    }
    const T factor = 1 / state.total;
    for (std::int64_t d = lane; d < shape.D && first_row + team <= last; d += attention_lanes) {
      const T result = state.total == 0 ? T(0) : memory.sums[d] * factor;
      store_to(out, Index<4>{at[0], at[1], at[2], d}, Vec<T, 1>(result));
    }
  }
}

template <class Q, class K, class V, class Mask, class Rule, class Out>
void attention(const Q& q, const K& k, const V& v, const Mask& mask, double scale, const Rule& rule, const Out& out,
               Stream stream) {
  using T = source_lane_t<Q, 4>;
  const Index<4> size = q.shape();
  const std::int64_t key_heads = k.extent(2), group = key_heads == 0 ? 0 : size[2] / key_heads;
  AttentionBlocks<T, Rule> shape{
      {size[0], size[1], size[2], size[3], rule.capacity(k.extent(1)), key_heads, group, static_cast<T>(scale), rule}};
  if (shape.B * shape.S * shape.H * shape.D == 0) return;
#if defined(KGEN_WARPGROUPS)
  if constexpr (has_warpgroup_attention<Q, K, V>) {
    using Operand = decltype(attention_operand<Q, K>());
    using Cached = view_element_t<K>;
    const View<const Cached, 4> keys(k), values(v);
    if (warpgroup_attention<Operand>(q, keys, values, mask, shape, out, stream)) return;
    if constexpr (Rule::is_paged) {
      if (gathered_attention<Operand>(q, keys, values, mask, shape, out, stream)) return;
    } else if constexpr (!std::is_same_v<Operand, Cached>) {
      if (converted_attention<Operand>(q, keys, values, mask, shape, out, stream)) return;
    }
  }
#endif
  const DeviceLimits device = device_limits(stream);
  while (shape.tile > 1 && AttentionMemory<T>::bytes(shape) > device.shared_bytes) shape.tile /= 2;
  const std::int64_t blocks = shape.B * shape.key_heads * shape.blocks_per_head();
  const Grid grid{"attention", blocks_for(blocks, attention_threads), attention_threads,
                  AttentionMemory<T>::bytes(shape)};
  launch_early(grid, stream, attention_kernel<T, Rule, Q, K, V, Mask, Out>, with_access(q, 1), with_access(k, 1),
               with_access(v, 1), with_access(mask, 1), with_access(out, 1), shape);
}

}  // namespace kgen::gpu

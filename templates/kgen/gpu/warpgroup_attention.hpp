// Attention on the tensor cores of Hopper, as FlashAttention-3 does it (Shah et al., arXiv:2407.08608). A block has 128
// rows of queries of one head of keys, and goes over its keys from the last tile to the first: one thread has the copy
// engine bring keys and values to two rings of stages (TilePipeline), two warpgroups take 64 rows each (HeadOfKeys). Of
// scores that are computed under the products of the tile before, the running softmax makes weights, which go from
// registers to the next product; while one warpgroup computes exponentials, the other has the tensor cores (Turns).
// Where there are fewer tiles of rows than multiprocessors, blocks share the keys of one, and merge_attention.hpp puts
// together what they find.
//
// Weights are rounded to the type of the values. A value that is NaN or infinite is multiplied by the weight 0 of
// queries that do not see its key where they see others of its tile of keys.
#pragma once

#include "kgen/gpu/attention_scores.hpp"
#include "kgen/gpu/merge_attention.hpp"
#include "kgen/gpu/skinny_attention.hpp"
#include "kgen/gpu/tile_pipeline.hpp"
#include "kgen/gpu/warpgroup_sums.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// ---- parts

// What travels in the stages of both rings, and what a warpgroup keeps of its queries: boxes of lines of 64 elements of
// a head, one after the other, swizzled; lines are keys, or rows. Width: elements of a head, with zeros behind them.
template <class T, int Width>
struct AttentionTiles {
  static constexpr int line = swizzle_bytes / static_cast<int>(sizeof(T));
  static constexpr int rows = 64, keys = Width > 128 ? 64 : 128, stages = Width > 64 ? 2 : 4;
  struct alignas(tile_alignment) Keys {
    T lines[keys * Width];
  };
  struct alignas(tile_alignment) Queries {
    T lines[rows * Width];
  };
};

// Two warpgroups that have the tensor cores in turn. What one takes it passes to the other.
class Turns {
 public:
  static constexpr std::int64_t shared() { return shared_bytes<Mbarrier>(2); }

  // All threads of the block together. `number`: of this warpgroup, 0 or 1.
  KGEN_FN Turns(SharedMemory& memory, int number)
      : turns_(memory.take<Mbarrier>(2)), own_(number), parity_(number == 0 ? 1u : 0u) {  // 0 has the first turn
    const BlockPhase making;
    if (thread_index() == 0) {
      for (int i = 0; i < 2; ++i) turns_[i].init(warpgroup_threads / wave_size);
      publish_mbarriers();
    }
  }
  KGEN_FN void take() {
    turns_[own_].wait(parity_);  // for time alone
    parity_ ^= 1;
  }
  KGEN_FN void pass() const {
    wave_barrier();
    if (thread_index() % wave_size == 0) turns_[1 - own_].arrive();
  }

 private:
  Mbarrier* turns_;
  int own_;
  unsigned parity_;
};

// A sink of [B, S, H, D] as one of the rows of one head of keys.
template <class Out>
struct RowsOfHead {
  const Out& out;
  std::int64_t b, first_head;
  int group;

  template <int W>
  KGEN_FN void operator()(Index<2> at, const Vec<float, W>& lanes) const {
    const int row = static_cast<int>(at[0]), query = row / group;
    store_to(out, Index<4>{b, query, first_head + (row - query * group), at[1]}, lanes);
  }
};

// ---- the kernel

// Tiles of rows of heads of keys: heads that run at the same time are few, so that their keys stay in the second-level
// cache; of these, rows that see many keys come first, and none waits long at the end.
struct AttentionOrder {
  int heads, row_tiles, together;
  int parts = 1;  // of the keys, for blocks of their own

  KGEN_FN int tiles() const { return heads * row_tiles * parts; }
  struct Place {
    int head, row_tile, part;  // of the heads of all batches
  };
  KGEN_FN Place operator()(int tile) const {
    const Index<2> place = TileOrder{heads, row_tiles, together}(tile / parts);
    return {static_cast<int>(place[0]), row_tiles - 1 - static_cast<int>(place[1]), tile % parts};
  }
  // act(place) for the tiles of one of `blocks` blocks. Where all tiles are ever shorter, which they are not where
  // heads come one band after the other, the first block takes the last of every other round, so that all end together:
  // 97 to 89 us for 2048 queries of 32 heads on an H200.
  template <class Act>
  KGEN_FN void for_each(int block, int blocks, const Act& act) const {
    const bool turns = heads <= together;
    for (int first = 0, round = 0; first < tiles(); first += blocks, ++round) {
      const int tile = first + (turns && round % 2 != 0 ? blocks - 1 - block : block);
      if (tile < tiles()) act((*this)(tile));
    }
  }
};

template <class T, int Width, class Rule, class Q, class Mask, class Out>
struct WarpgroupAttention {
  using Tiles = AttentionTiles<T, Width>;
  using Keys = typename Tiles::Keys;
  using KeyPipeline = TilePipeline<Keys, Tiles::stages, 1>;
  using QueryPipeline = TilePipeline<typename Tiles::Queries, 1, warpgroup_threads>;
  static constexpr int rows = Tiles::rows, keys = Tiles::keys, line = Tiles::line;
  static constexpr int block_rows = 2 * rows, threads = 3 * warpgroup_threads;
  // Registers of a thread that loads, and of one that multiplies: together those that the launch gives.
  static constexpr int loading_registers = 24, multiplying_registers = 240;
  static constexpr std::int64_t shared() {
    return 2 * KeyPipeline::shared() + 2 * QueryPipeline::shared() + Turns::shared();
  }

  const Q& q;
  const Mask& mask;
  const Out& out;
  const WarpgroupShape<Rule>& shape;
  const AttentionParts& parts;
  AttentionOrder order;

  struct KeyTiles {
    int begin, end;
  };
  // That a block goes over, the last first.
  KGEN_FN KeyTiles key_tiles(AttentionOrder::Place place) const {
    const int end = (place.row_tile + 1) * block_rows, last = (end < shape.rows() ? end : shape.rows()) - 1;
    int all = (shape.of_sequence(place.head / shape.key_heads).keys_seen(last) + keys - 1) / keys, begin = 0;
    if constexpr (Rule::is_local) {
      const int most = (shape.keys + keys - 1) / keys;
      all = all < most ? all : most;
      begin = shape.first_key(place.row_tile * block_rows) / keys;
    }
    const int each = (all - begin + order.parts - 1) / order.parts;
    const int first = begin + place.part * each, behind = first + each;
    return {first < all ? first : all, behind < all ? behind : all};
  }

  KGEN_FN void load(KeyPipeline& k, KeyPipeline& v, const EngineKeys& engine) const {
    for_each_tile([&](AttentionOrder::Place place) KGEN_LAMBDA {
      const int b = place.head / shape.key_heads, head = place.head % shape.key_heads;
      const KeyTiles tiles = key_tiles(place);
      for (int i = tiles.end - 1; i >= tiles.begin; --i) {
        fill(k, engine.k, head, i * keys, b);
        fill(v, engine.v, head, i * keys, b);
      }
    });
  }

  // A warpgroup's part of all tiles of its block.
  KGEN_FN void attend(const QueryPipeline& queries, KeyPipeline& k, KeyPipeline& v, Turns& turns, int number) const {
    QueryPipeline filled = queries, read = queries;  // by the same threads, which count for both
    for_each_tile([&](AttentionOrder::Place place) KGEN_LAMBDA {
      const HeadOfKeys head(*this, place.head / shape.key_heads, place.head % shape.key_heads,
                            place.row_tile * block_rows + number * rows);
      head.stage(filled);
      const auto query = read.read();
      float sums[1][Width / 2];
      KGEN_UNROLL
      for (float& sum : sums[0]) sum = 0;
      RowsSoftmax softmax;
      head.attend(query->lines, k, v, turns, key_tiles(place), softmax, sums[0]);
      head.emit(softmax, sums, place);
    });
  }

 private:
  template <class Act>
  KGEN_FN void for_each_tile(const Act& act) const {
    order.for_each(static_cast<int>(block_index()), static_cast<int>(block_count()), act);
  }
  KGEN_FN static void fill(KeyPipeline& ring, const TensorMap& map, int head, int key, int b) {
    const auto stage = ring.fill();
    KGEN_UNROLL
    for (int d = 0; d < Width; d += line) copy_tile(stage->lines + d * keys, map, stage.arrival(), d, head, key, b);
  }

  // The 64 rows from first_row on of one head of keys.
  struct HeadOfKeys {
    const WarpgroupAttention& all;
    int first_row;
    RowsOfScores<Rule, Mask> counted;

    KGEN_FN HeadOfKeys(const WarpgroupAttention& all, int b, int key_head, int first_row)
        : all(all),
          first_row(first_row),
          counted(all.shape, all.mask, b, key_head, first_row, rows,
                  thread_index() % warpgroup_threads / wave_size * 16 + thread_index() % wave_size / 4) {}

    // Brings the rows of queries to shared memory, with zeros behind them.
    KGEN_FN void stage(QueryPipeline& queries) const {
      const auto stage = queries.fill();
      constexpr int lanes = 8, pieces = Width / lanes;
      KGEN_NO_UNROLL
      for (int i = thread_index() % warpgroup_threads; i < rows * pieces; i += warpgroup_threads) {
        const int row = i / pieces, d = i % pieces * lanes;
        T elements[lanes] = {};
        if (first_row + row < all.shape.rows() && d < all.shape.D) {
          Index<4> at = counted.query(first_row + row);
          at[3] = d;
          store_elements(elements, all.q.template load<lanes>(at));
        }
        Block<16> block;
        memcpy(&block, elements, sizeof(block));
        store_shared(stage->lines + d / line * rows * line + row * line + (d % line / lanes ^ row % 8) * lanes, block);
      }
    }

    KGEN_FN void attend(const T* query, KeyPipeline& k, KeyPipeline& v, Turns& turns, KeyTiles tiles, RowsSoftmax& softmax,
                        float (&sums)[Width / 2]) const {
      if (tiles.begin >= tiles.end) return;
      float scores[keys / 2], correction[2];
      std::uint32_t weights[keys / 16][4];
      {
        turns.take();
        const auto key = k.read();
        wgmma_fence();
        multiply_queries(scores, query, key->lines);
        wgmma_commit();
        turns.pass();
        wgmma_wait<0>();
      }
      settle(scores);
      counted.mask_scores(scores, (tiles.end - 1) * keys);
      softmax.advance(scores, counted.factor(), correction);
      round_weights(scores, weights);
      KGEN_NO_UNROLL
      for (int tile = tiles.end - 2; tile >= tiles.begin; --tile) {
        turns.take();
        auto key = k.read();
        wgmma_fence();
        multiply_queries(scores, query, key->lines);
        wgmma_commit();
        const auto value = v.read();
        wgmma_fence();
        multiply_weights(sums, weights, value->lines);
        wgmma_commit();
        turns.pass();
        wgmma_wait<1>();
        key = {};  // given back
        settle(scores);
        counted.mask_scores(scores, tile * keys);
        softmax.advance(scores, counted.factor(), correction);
        wgmma_wait<0>();
        settle(sums);
        KGEN_UNROLL
        for (int i = 0; i < Width / 2; ++i) sums[i] *= correction[i / 2 % 2];
        round_weights(scores, weights);
      }
      const auto value = v.read();
      wgmma_fence();
      multiply_weights(sums, weights, value->lines);
      wgmma_commit();
      wgmma_wait<0>();
      settle(sums);
    }

    KGEN_FN void emit(const RowsSoftmax& softmax, float (&sums)[1][Width / 2], AttentionOrder::Place place) const {
      const float totals[2] = {softmax.sum(0), softmax.sum(1)};
      const float norms[2] = {divide(1.0f, totals[0]), divide(1.0f, totals[1])};
      KGEN_UNROLL
      for (int i = 0; i < Width / 2; ++i) sums[0][i] = totals[i / 2 % 2] == 0 ? 0.0f : sums[0][i] * norms[i / 2 % 2];
      const Index<2> origin{first_row, 0}, extents{all.shape.rows(), all.shape.D};
      if (all.order.parts > 1) {
        const std::int64_t first_line = std::int64_t{place.head} * all.shape.rows();
        if (thread_index() % 4 == 0) {
          KGEN_UNROLL
          for (int second = 0; second < 2; ++second) {
            const int row = counted.row + 8 * second;
            if (row >= all.shape.rows()) continue;
            all.parts.logarithm(place.part, first_line + row) =
                softmax.maximum[second] * counted.factor() + log2f(totals[second]);
          }
        }
        emit_sums<TileEnd::anywhere, Width>(sums, all.parts.of_part(place.part, first_line, extents[0], extents[1]),
                                            origin, extents);
        return;
      }
      const int group = all.shape.group;
      const RowsOfHead<Out> sink{all.out, counted.b, counted.key_head * group, group};
      if (first_row + rows <= extents[0] && extents[1] == Width) {
        emit_sums<TileEnd::inside, Width>(sums, sink, origin, extents);
      } else {
        emit_sums<TileEnd::anywhere, Width>(sums, sink, origin, extents);
      }
    }

   private:
    KGEN_FN static void multiply_queries(float (&scores)[keys / 2], const T* query, const T* key) {
      constexpr int step = 32 / static_cast<int>(sizeof(T));
      KGEN_UNROLL
      for (int d = 0; d < Width; d += step) {
        wgmma<T, keys, false>(scores, boxed_operand<T, rows, true>(query, d), boxed_operand<T, keys, true>(key, d), d > 0);
      }
    }
    KGEN_FN static void multiply_weights(float (&sums)[Width / 2], const std::uint32_t (&weights)[keys / 16][4],
                                         const T* value) {
      KGEN_UNROLL
      for (int i = 0; i < keys / 16; ++i) {
        wgmma<T, Width, true>(sums, weights[i], boxed_operand<T, keys, false>(value, i * 16), 1);
      }
    }

    // As the left operand of the product with the values: pairs of columns 0 and 8 of 16, for both rows.
    KGEN_FN static void round_weights(const float (&scores)[keys / 2], std::uint32_t (&weights)[keys / 16][4]) {
      KGEN_UNROLL
      for (int i = 0; i < keys / 2; i += 2) weights[i / 8][i / 2 % 4] = as_pair<T>(scores + i);
    }
  };
};

template <class T, int Width, class Rule, class Q, class Mask, class Out>
KGEN_GLOBAL((has_warpgroups ? WarpgroupAttention<T, Width, Rule, Q, Mask, Out>::threads : 1), 1)
warpgroup_attention_kernel(Q q, const KGEN_GRID_CONSTANT EngineKeys engine, Mask mask, Out out,
                           WarpgroupShape<Rule> shape, AttentionParts parts, AttentionOrder order) {
  if constexpr (has_warpgroups) {
    using Attention = WarpgroupAttention<T, Width, Rule, Q, Mask, Out>;
    const Attention attention{q, mask, out, shape, parts, order};
    const int number = thread_index() / warpgroup_threads - 1, reading = 2 * warpgroup_threads / wave_size;
    SharedMemory shared;
    typename Attention::KeyPipeline k(shared, reading), v(shared, reading);
    typename Attention::QueryPipeline queries(shared, reading / 2), others(shared, reading / 2);
    Turns turns(shared, number == 1 ? 1 : 0);
    take_turn();
    if (number < 0) {
      hold_registers<Attention::loading_registers, RegisterShare::less>();
      if (thread_index() == 0) attention.load(k, v, engine);
    } else {
      hold_registers<Attention::multiplying_registers, RegisterShare::more>();
      if (number == 1) queries = others;
      attention.attend(queries, k, v, turns, number);
    }
  }
}

// ---- launches

// Among how many blocks the keys of a tile of rows are split: as many as keep the multiprocessors busy, of at least two
// tiles of keys each, that the second kernel pays.
inline int attention_parts(int tiles, int key_tiles, const DeviceLimits& limits) {
  return std::max(1, std::min(limits.multiprocessors / tiles, key_tiles / 2));
}

// False where device or compiler do not allow it.
template <int Width, class T, class Rule, class Q, class Mask, class Out>
bool launch_warpgroup_attention(const Q& q, const View<const T, 4>& k, const View<const T, 4>& v, const Mask& mask,
                                const WarpgroupShape<Rule>& shape, const Out& out, Stream stream) {
  using Attention = WarpgroupAttention<T, Width, Rule, Q, Mask, Out>;
  const auto kernel = warpgroup_attention_kernel<T, Width, Rule, Q, Mask, Out>;
  const DeviceLimits limits = device_limits(stream);
  if (limits.shared_bytes < Attention::shared()) return false;
  if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), Attention::threads)) return false;
  const auto keys = heads_in_memory(k, Attention::keys), values = heads_in_memory(v, Attention::keys);
  if (!keys || !values) return false;
  const std::optional<TensorMap> key_map = tensor_map<T>(*keys), value_map = tensor_map<T>(*values);
  if (!key_map || !value_map) return false;
  constexpr std::int64_t cached = std::int64_t{16} << 20;  // of the 50 MB of the second-level cache
  const std::int64_t head_bytes = std::int64_t{2} * shape.keys * shape.D * static_cast<std::int64_t>(sizeof(T));
  AttentionOrder order{shape.B * shape.key_heads,
                       (shape.rows() + Attention::block_rows - 1) / Attention::block_rows,
                       static_cast<int>(std::max<std::int64_t>(1, cached / head_bytes))};
  int key_tiles = (shape.keys + Attention::keys - 1) / Attention::keys;
  if constexpr (Rule::is_local) {
    const std::int64_t seen = shape.rule.left + shape.rule.right + Attention::block_rows / shape.group + 2;
    key_tiles = static_cast<int>(std::min<std::int64_t>(key_tiles, seen / Attention::keys + 2));
  }
  order.parts = attention_parts(order.tiles(), key_tiles, limits);
  const std::int64_t lines = std::int64_t{order.heads} * shape.rows();
  const bool splits = order.parts > 1;
  const Workspace workspace(splits ? AttentionParts::bytes(order.parts, lines, shape.D) : 0, stream);
  const AttentionParts parts = splits ? AttentionParts(workspace.data(), order.parts, lines, shape.D) : AttentionParts();
  const Grid grid{"warpgroup_attention", std::min(order.tiles(), limits.multiprocessors), Attention::threads,
                  Attention::shared()};
  launch_early(grid, stream, kernel, with_access(q, 8), EngineKeys{*key_map, *value_map}, with_access(mask, 2),
               with_access(out, 8), shape, parts, order);
  if (splits) merge_attention(parts, out, shape, stream);
  return true;
}

// What tensor cores multiply of keys of type K and queries: the type of keys of 16 bits; for keys of 8 bits that of the
// queries, or bf16 where these are computed; void where they multiply nothing of it.
template <class Q, class K>
consteval auto attention_operand() {
  using Key = view_element_t<K>;
  constexpr bool is_wide = std::is_same_v<Key, bf16> || std::is_same_v<Key, f16>;
  constexpr bool is_narrow = std::is_same_v<Key, f8e4m3> || std::is_same_v<Key, f8e5m2>;
  if constexpr (!is_wide && !is_narrow) {
    return;
  } else if constexpr (is_view<Q>) {
    using Query = std::remove_const_t<typename Q::element_type>;
    constexpr bool fits = is_wide ? std::is_same_v<Query, Key> : std::is_same_v<Query, bf16> || std::is_same_v<Query, f16>;
    if constexpr (fits) return Query{};
  } else {
    return std::conditional_t<is_wide, Key, bf16>{};
  }
}
// Whether operands of these types may be attended to so.
template <class Q, class K, class V>
inline constexpr bool has_warpgroup_attention =
    std::is_same_v<view_element_t<K>, view_element_t<V>> && !std::is_void_v<decltype(attention_operand<Q, K>())>;

// Whether sizes are such: rows, keys and tiles are counted in 32 bits. Of heads of more than 128 elements a local rule's
// arithmetic makes ptxas wait for each product (C7518).
template <class Rule>
bool fits_warpgroup_attention(const AttentionShape<float, Rule>& shape) {
  constexpr std::int64_t most = 1 << 30;
  return shape.keys > 0 && shape.keys < most && shape.rows() < most && shape.D <= (Rule::is_local ? 128 : 256) &&
         shape.B * shape.key_heads * ((shape.rows() + 127) / 128) < most && shape.scale > 0 &&
         shape.scale < std::numeric_limits<float>::infinity();
}

// Keys of 8 bits are taken for few queries of heads of 65 to 256 elements.
template <class T, class Cached, class Rule, class Q, class Mask, class Out>
bool warpgroup_attention(const Q& q, const View<const Cached, 4>& k, const View<const Cached, 4>& v, const Mask& mask,
                         const AttentionShape<float, Rule>& wide, const Out& out, Stream stream) {
  if (!fits_warpgroup_attention(wide)) return false;
  const auto narrow = [](std::int64_t extent) { return static_cast<int>(extent); };
  constexpr float log2_e = 1.44269504f;  // exponentials are powers of two
  Rule rule = wide.rule;
  if constexpr (Rule::is_local) rule.cap *= log2_e;
  const WarpgroupShape<Rule> shape{narrow(wide.B),     narrow(wide.S),      narrow(wide.H),
                                   narrow(wide.D),     narrow(wide.keys),   narrow(wide.key_heads),
                                   narrow(wide.group), wide.scale * log2_e, rule};
  const auto launch = [&]<int Width>(std::integral_constant<int, Width>) {
    constexpr bool converts = !std::is_same_v<T, Cached>;
    if constexpr (!converts || Width > 64) {
      if (skinny_attention<Width, T>(q, k, v, mask, shape, out, stream)) return true;
    }
    if constexpr (converts || (Rule::is_local && Width > 128))
      return false;
    else
      return launch_warpgroup_attention<Width>(q, k, v, mask, shape, out, stream);
  };
  if (shape.D <= 64) return launch(std::integral_constant<int, 64>());
  if (shape.D <= 128) return launch(std::integral_constant<int, 128>());
  return launch(std::integral_constant<int, 256>());
}

}  // namespace kgen::gpu

#endif

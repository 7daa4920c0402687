// Attention on the tensor cores of Hopper, as FlashAttention-3 does it (Shah et al., arXiv:2407.08608). A block has 128
// or 192 rows of queries of one head of keys, and goes over its keys from the last tile to the first. Of one warpgroup,
// a thread has the copy engine bring keys and values to a ring of stages (TilePipeline), and others bring the queries
// of the block's next tile of rows; two or three take 64 rows each (HeadOfKeys). Of scores that are computed under the
// products of the tile before, the running softmax makes weights, which go from registers to the next product; while
// one warpgroup computes exponentials, another has the tensor cores (Turns). Where there are fewer tiles of rows than
// multiprocessors, blocks share the keys of one, and merge_attention.hpp puts together what they find.
//
// Weights are rounded to the type of the values. A value that is NaN or infinite is multiplied by the weight 0 of
// queries that do not see its key where they see others of its tile of keys.
#pragma once

#include "kgen/gpu/attention_order.hpp"
#include "kgen/gpu/attention_scores.hpp"
#include "kgen/gpu/attention_tiles.hpp"
#include "kgen/gpu/merge_attention.hpp"
#include "kgen/gpu/skinny_attention.hpp"
#include "kgen/gpu/tile_pipeline.hpp"
#include "kgen/gpu/turns.hpp"
#include "kgen/gpu/warpgroup_sums.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// ---- the kernel

template <class T, int Width, int Warpgroups, class Rule, class Q, class Mask, class Out>
struct WarpgroupAttention {
  using Tiles = AttentionTiles<T, Width, Warpgroups, !std::is_same_v<Mask, NoMask>, Rule::is_paged>;
  using Keys = typename Tiles::Keys;
  using Queries = typename Tiles::Queries;
  static constexpr int threads = (1 + Warpgroups) * warpgroup_threads;
  static constexpr int rows = Tiles::rows, block_rows = Tiles::block_rows, keys = Tiles::keys, line = Tiles::line;
  // Of the warpgroup that loads, one thread brings keys, and the others bring queries.
  static constexpr int query_threads = warpgroup_threads - wave_size;
  using KeyPipeline = TilePipeline<Keys, Tiles::stages, 1>;
  using QueryPipeline = TilePipeline<Queries, Tiles::query_stages, query_threads>;
  using OwnTurns = Turns<Warpgroups>;
  // Whether a tile's exponentials are computed before it is known that the maximum will do: see HeadOfKeys::weigh().
  // Heads of 256 elements have no stage to spare for keys that are kept so long.
  static constexpr bool speculates = Width <= 128 && !Rule::is_local && std::is_same_v<Mask, NoMask>;
  static constexpr std::int64_t shared() {
    return KeyPipeline::shared() + QueryPipeline::shared() + OwnTurns::shared();
  }

  const Q& q;
  const Mask& mask;
  const Out& out;
  const WarpgroupShape<Rule>& shape;
  const AttentionParts& parts;
  AttentionOrder order;

  struct KeyTiles {
    int begin, end;
    KGEN_FN bool empty() const { return begin >= end; }
  };
  // That a block goes over, the last first.
  KGEN_FN KeyTiles key_tiles(AttentionOrder::Place place) const {
    const WarpgroupShape<Rule> own = shape.of_sequence(place.b);
    const int all = (own.keys_seen(rows_end(place) - 1) + keys - 1) / keys;
    const int begin = Rule::is_local ? own.first_key(place.row_tile * order.tile_rows) / keys : 0;
    if (order.parts == 1) return {begin, all};
    const int each = (all - begin + order.parts - 1) / order.parts;
    const int first = begin + place.part * each, behind = first + each;
    return {first < all ? first : all, behind < all ? behind : all};
  }

  // Of them, the last that a warpgroup has a use for, whose rows begin there: the first one where it has none.
  KGEN_FN int last_tile(AttentionOrder::Place place, KeyTiles tiles, int first_row) const {
    const int behind = first_row + rows, end = rows_end(place), last_row = (behind < end ? behind : end) - 1;
    if (first_row > last_row) return tiles.begin;
    const int seen = (shape.of_sequence(place.b).keys_seen(last_row) - 1) / keys;
    return seen < tiles.begin ? tiles.begin : seen < tiles.end ? seen : tiles.end - 1;
  }

  // In the order in which they are read: the values of a tile behind the keys of the next one.
  KGEN_FN void load_keys(KeyPipeline& ring, const AttentionOperands& engine) const {
    for_each_tile([&](AttentionOrder::Place place) KGEN_LAMBDA {
      const int b = place.b, head = place.key_head;
      const KeyTiles tiles = key_tiles(place);
      for (int i = tiles.end; i >= tiles.begin && !tiles.empty(); --i) {
        if (i > tiles.begin) fill(ring, engine.k, head, (i - 1) * keys, b);
        if (i < tiles.end) fill(ring, engine.v, head, i * keys, b);
      }
    });
  }
  // The same of pages, by a wave, of which the first lane has the engine bring them.
  KGEN_FN void load_pages(KeyPipeline& ring, const AttentionOperands& engine) const {
    for_each_tile([&](AttentionOrder::Place place) KGEN_LAMBDA {
      const int b = place.b, head = place.key_head;
      const KeyTiles tiles = key_tiles(place);
      if (tiles.empty()) return;
      const int end = shape.of_sequence(b).keys;
      const auto find = [&](int tile) KGEN_LAMBDA { return BoxPlaces(shape.rule, engine.box, b, tile * keys, end); };
      BoxPlaces next = find(tiles.end - 1), values = next;
      for (int i = tiles.end; i >= tiles.begin; --i) {
        const BoxPlaces own = next;
        if (i > tiles.begin + 1) next = find(i - 2);
        if (i > tiles.begin) fill_from_pages(ring, engine.k, engine.box, head, own);
        if (i < tiles.end) fill_from_pages(ring, engine.v, engine.box, head, values);
        values = own;
      }
    });
  }
  // By one warp where the engine brings them, else by query_threads.
  KGEN_FN void load_queries(QueryPipeline& queries, const AttentionOperands& engine, int thread) const {
    for_each_tile([&](AttentionOrder::Place place) KGEN_LAMBDA {
      if (key_tiles(place).empty()) return;
      const int first_row = place.row_tile * order.tile_rows, b = place.b, first_head = place.key_head * shape.group;
      const auto stage = queries.fill();
      if (Tiles::computes_queries && !engine.brings_queries) {
        compute_queries(stage->lines, b, first_head, first_row, thread);
      } else {
        clear_rows(stage->lines, thread);
        if (thread != 0) return;
        stage.arrival().expect(order.tile_rows * Width * static_cast<int>(sizeof(T)));
        KGEN_UNROLL
        for (int d = 0; d < Width; d += line) {
          copy_tile(stage->lines + d * block_rows, engine.q, stage.arrival(), d, first_head, shape.query(first_row), b);
        }
      }
    });
  }

  // A warpgroup's part of all tiles of its block.
  KGEN_FN void attend(QueryPipeline& queries, KeyPipeline& ring, OwnTurns& turns, int number) const {
    for_each_tile([&](AttentionOrder::Place place) KGEN_LAMBDA {
      HeadOfKeys head(*this, place.b, place.key_head, place.row_tile * order.tile_rows + number * rows);
      float sums[1][Width / 2];
      KGEN_UNROLL
      for (float& sum : sums[0]) sum = 0;
      RowsSoftmax softmax;
      const KeyTiles tiles = key_tiles(place);
      head.counted.look_for_gaps(tiles.begin * keys, tiles.end * keys);
      if (!tiles.empty()) {
        head.attend(queries.read(), number, ring, turns, tiles, last_tile(place, tiles, head.first_row), softmax,
                    sums[0]);
      }
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
  KGEN_FN static void fill_from_pages(KeyPipeline& ring, const TensorMap& map, int box, int head,
                                      const BoxPlaces& places) {
    T* to = nullptr;
    Mbarrier* arrival = nullptr;
    if (thread_index() % wave_size == 0) {
      const auto stage = ring.fill();
      to = stage->lines;
      arrival = &stage.arrival();
    }
    places.template for_each<keys>(0, box, [&](int of_tile, int sequence, int position) KGEN_LAMBDA {
      KGEN_UNROLL
      for (int d = 0; d < Width; d += line) {
        copy_tile(to + d * keys + of_tile * line, map, *arrival, d, head, position, sequence);
      }
    });
  }
  // Where the rows of a tile end, of those of its head of keys.
  KGEN_FN int rows_end(AttentionOrder::Place place) const {
    const int end = (place.row_tile + 1) * order.tile_rows;
    return end < shape.rows() ? end : shape.rows();
  }
  // Zeros behind the rows that the engine brings, by a warp.
  KGEN_FN void clear_rows(T* lines, int thread) const {
    constexpr int lanes = 16 / static_cast<int>(sizeof(T)), pieces = Width / lanes;
    KGEN_NO_UNROLL
    for (int i = order.tile_rows * pieces + thread; i < block_rows * pieces; i += wave_size) {
      const int row = i / pieces, d = i % pieces * lanes;
      store_shared(lines + d / line * block_rows * line + row * line + d % line, Block<16>{});
    }
  }
  // Through registers, with zeros behind the last row and the last element of a head.
  KGEN_FN void compute_queries(T* lines, int b, int first_head, int first_row, int thread) const {
    constexpr int lanes = 8, pieces = Width / lanes;
    KGEN_NO_UNROLL
    for (int i = thread; i < block_rows * pieces; i += query_threads) {
      const int row = i / pieces, d = i % pieces * lanes, query = shape.query(first_row + row);
      T elements[lanes] = {};
      if (first_row + row < shape.rows() && d < shape.D) {
        const Index<4> at{b, query, first_head + (first_row + row - query * shape.group), d};
        store_elements(elements, q.template load<lanes>(at));
      }
      Block<16> block;
      memcpy(&block, elements, sizeof(block));
      store_shared(lines + d / line * block_rows * line + row * line + (d % line / lanes ^ row % 8) * lanes, block);
    }
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

    KGEN_FN void attend(typename QueryPipeline::Reading queries, int number, KeyPipeline& ring, OwnTurns& turns,
                        KeyTiles tiles, int last, RowsSoftmax& softmax, float (&sums)[Width / 2]) const {
      const T* query = queries->lines + number * rows * line;
      float scores[keys / 2];
      std::uint32_t weights[keys / 16][4];
      typename KeyPipeline::Reading value;
      std::uint32_t lost = counted.template lost_keys<keys>(last * keys);
      {
        auto key = ring.read();
        // What these rows do not see passes, in the turns of those that do.
        KGEN_NO_UNROLL
        for (int tile = tiles.end - 1; tile > last; --tile) {
          turns.take();
          turns.pass();
          key = ring.read();
          const auto unseen_values = ring.read();
        }
        turns.take();
        wgmma_fence();
        multiply_queries(scores, query, key->lines);
        wgmma_commit();
        turns.pass();
        wgmma_wait<0>();
      }
      settle(scores);
      counted.mask_scores(scores, last * keys, lost);
      float correction[2];  // of sums that are 0
      softmax.advance(scores, counted.factor(), correction);
      KGEN_NO_UNROLL
      for (int tile = last - 1; tile >= tiles.begin; --tile) {
        auto key = ring.read();
        // Behind the loop that waits for keys: ptxas has it wait for products ahead of arithmetic, but not of that.
        wgmma_wait<0>();
        settle(sums);
        round_weights(scores, weights);
        lost = counted.template lost_keys<keys>(tile * keys);
        value = ring.read();  // the one before is given back
        turns.take();
        wgmma_fence();
        multiply_queries(scores, query, key->lines);
        wgmma_commit();
        wgmma_fence();
        multiply_weights(sums, weights, value->lines);
        wgmma_commit();
        turns.pass();
        wgmma_wait<1>();
        if constexpr (!speculates) key = {};
        settle(scores);
        weigh(scores, sums, softmax, tile * keys, lost, query, key);
      }
      queries = {};  // given back
      const auto last_values = ring.read();
      wgmma_wait<0>();
      settle(sums);
      round_weights(scores, weights);
      wgmma_fence();
      multiply_weights(sums, weights, last_values->lines);
      wgmma_commit();
      wgmma_wait<0>();
      settle(sums);
    }

    KGEN_FN void emit(const RowsSoftmax& softmax, float (&sums)[1][Width / 2], AttentionOrder::Place place) const {
      const float totals[2] = {softmax.sum(0), softmax.sum(1)};
      const float norms[2] = {divide(1.0f, totals[0]), divide(1.0f, totals[1])};
      KGEN_UNROLL
      for (int i = 0; i < Width / 2; ++i) sums[0][i] = totals[i / 2 % 2] == 0 ? 0.0f : sums[0][i] * norms[i / 2 % 2];
      const Index<2> origin{first_row, 0}, extents{all.rows_end(place), all.shape.D};
      if (all.order.parts > 1) {
        const std::int64_t first_line = std::int64_t{place.head} * all.shape.rows();
        if (thread_index() % 4 == 0) {
          KGEN_UNROLL
          for (int second = 0; second < 2; ++second) {
            const int row = counted.row + 8 * second;
            if (row >= extents[0]) continue;
            all.parts.logarithm(place.part, first_line + row) =
                softmax.maximum[second] * counted.factor() + log2f(totals[second]);
          }
        }
        emit_sums<TileEnd::anywhere, Width>(sums, all.parts.of_part(place.part, first_line, extents[0], extents[1]),
                                            origin, extents);
        return;
      }
      constexpr bool stores_rows = has_rows_in_memory<Out>;
      if constexpr (stores_rows) {
        if (all.out.access().vectors) return store_rows<Width>(sums[0], all.out, counted, extents);
      }
      const RowsOfHead<RowsOfScores<Rule, Mask>, Out> sink{counted, all.out};
      if (!stores_rows && first_row + rows <= extents[0] && extents[1] == Width) {
        emit_sums<TileEnd::inside, Width>(sums, sink, origin, extents);
      } else {
        emit_sums<TileEnd::anywhere, Width>(sums, sink, origin, extents);
      }
    }

   private:
    KGEN_FN static void multiply_queries(float (&scores)[keys / 2], const T* query, const T* key) {
      constexpr int step = 32 / static_cast<int>(sizeof(T));
      // Else the compiler would have a register for each of the queries' descriptors, in the loop and around it.
      std::int32_t none[1] = {0};
      settle(none);
      query += none[0];
      KGEN_UNROLL
      for (int d = 0; d < Width; d += step) {
        wgmma<T, keys, false>(scores, boxed_operand<T, block_rows, true>(query, d),
                              boxed_operand<T, keys, true>(key, d), d > 0);
      }
    }
    KGEN_FN static void multiply_weights(float (&sums)[Width / 2], const std::uint32_t (&weights)[keys / 16][4],
                                         const T* value) {
      KGEN_UNROLL
      for (int i = 0; i < keys / 16; ++i) {
        wgmma<T, Width, true>(sums, weights[i], boxed_operand<T, keys, false>(value, i * 16), 1);
      }
    }

    // Scores become weights, and earlier sums are scaled where the maximum is raised for that. In most tiles it is not:
    // then nothing waits for the greatest score, which nobody looks for. Should weights turn out to be too great, this
    // wave computes its scores again, which it has overwritten.
    KGEN_FN void weigh(float (&scores)[keys / 2], float (&sums)[Width / 2], RowsSoftmax& softmax, int first_key,
                       std::uint32_t lost, const T* query, const typename KeyPipeline::Reading& key) const {
      float added[2];
      bool looks = true;
      if constexpr (speculates) {
        looks = !counted.sees_all(first_key, keys) || any_of_wave(!softmax.has_begun());
        if (!looks) {
          softmax.weigh(scores, counted.factor(), added);
          looks = any_of_wave(!softmax.fits(added));
          if (looks) multiply_again(scores, query, key->lines);
        }
      }
      if (looks) {
        counted.mask_scores(scores, first_key, lost);
        float greatest[2], correction[2];
        softmax.find_greatest(scores, greatest);
        if (any_of_wave(!softmax.reaches(greatest, counted.factor()))) {
          softmax.raise(greatest, counted.factor(), correction);
          wgmma_wait<0>();
          settle(sums);
          KGEN_UNROLL
          for (int i = 0; i < Width / 2; ++i) sums[i] *= correction[i / 2 % 2];
        }
        softmax.weigh(scores, counted.factor(), added);
      }
      softmax.add(added);
    }
    // Scores of this wave's 16 rows, by products of its own.
    KGEN_FN static void multiply_again(float (&scores)[keys / 2], const T* query, const T* key) {
      const int lane = thread_index() % wave_size, row = thread_index() % warpgroup_threads / wave_size * 16 + lane / 4;
      KGEN_UNROLL
      for (float& score : scores) score = 0;
      KGEN_NO_UNROLL
      for (int d = lane % 4 * 2; d < Width; d += 16) {
        const std::uint32_t rows_of_wave[4] = {
            pair_at<block_rows>(query, row, d), pair_at<block_rows>(query, row + 8, d),
            pair_at<block_rows>(query, row, d + 8), pair_at<block_rows>(query, row + 8, d + 8)};
        KGEN_UNROLL
        for (int i = 0; i < keys / 2; i += 4) {
          const int column = i * 2 + lane / 4;
          const std::uint32_t columns[2] = {pair_at<keys>(key, column, d), pair_at<keys>(key, column, d + 8)};
          float four[4];
          KGEN_UNROLL
          for (int j = 0; j < 4; ++j) four[j] = scores[i + j];
          multiply_tile<T>(four, rows_of_wave, columns);
          KGEN_UNROLL
          for (int j = 0; j < 4; ++j) scores[i + j] = four[j];
        }
      }
    }
    // Two neighbours of a tile's line, of whose boxes each has so many.
    template <int Lines>
    KGEN_FN static std::uint32_t pair_at(const T* tile, int at, int d) {
      constexpr int lanes = 8;
      std::uint32_t pair;
      memcpy(&pair, tile + d / line * Lines * line + at * line + (d % line / lanes ^ at % lanes) * lanes + d % lanes,
             sizeof(pair));
      return pair;
    }

    // As the left operand of the product with the values: pairs of columns 0 and 8 of 16, for both rows.
    KGEN_FN static void round_weights(const float (&scores)[keys / 2], std::uint32_t (&weights)[keys / 16][4]) {
      KGEN_UNROLL
      for (int i = 0; i < keys / 2; i += 2) weights[i / 8][i / 2 % 4] = as_pair<T>(scores + i);
    }
  };
};

template <class T, int Width, int Warpgroups, class Rule, class Q, class Mask, class Out>
KGEN_GLOBAL((has_warpgroups ? WarpgroupAttention<T, Width, Warpgroups, Rule, Q, Mask, Out>::threads : 1), 1)
warpgroup_attention_kernel(Q q, const KGEN_GRID_CONSTANT AttentionOperands engine, Mask mask, Out out,
                           WarpgroupShape<Rule> shape, AttentionParts parts, AttentionOrder order) {
  if constexpr (has_warpgroups) {
    using Attention = WarpgroupAttention<T, Width, Warpgroups, Rule, Q, Mask, Out>;
    const Attention attention{q, mask, out, shape, parts, order};
    const int number = thread_index() / warpgroup_threads - 1;
    constexpr int reading = Warpgroups * warpgroup_threads / wave_size;
    SharedMemory shared;
    typename Attention::KeyPipeline ring(shared, reading);
    const int query_threads = engine.brings_queries ? wave_size : Attention::query_threads;
    typename Attention::QueryPipeline queries(shared, reading, sizeof(typename Attention::Queries),
                                              query_threads / wave_size);
    typename Attention::OwnTurns turns(shared, number);
    take_turn();
    if (number < 0) {
      hold_registers<Attention::Tiles::loading_registers, RegisterShare::less>();
      if constexpr (Rule::is_paged) {
        if (thread_index() < wave_size) attention.load_pages(ring, engine);
      } else {
        if (thread_index() == 0) attention.load_keys(ring, engine);
      }
      const int thread = thread_index() - wave_size;
      if (thread >= 0 && thread < query_threads) attention.load_queries(queries, engine, thread);
    } else {
      hold_registers<Attention::Tiles::multiplying_registers, RegisterShare::more>();
      attention.attend(queries, ring, turns, number);
    }
  }
}

// ---- launches

// Among how many blocks the keys of a tile of rows are split: as many as keep the multiprocessors busy, of at least two
// tiles of keys each, that the second kernel pays.
inline int attention_parts(int tiles, int key_tiles, const DeviceLimits& limits) {
  return std::max(1, std::min(limits.multiprocessors / tiles, key_tiles / 2));
}

// Whether a block should have three warpgroups, where heads are narrow enough: rows then take five sixths of the time,
// since exponentials are what the two wait for (ATTENTION.md), but the last of a block's tiles may be that of fewer
// rows.
template <class Rule>
bool favours_three(const WarpgroupShape<Rule>& shape, const DeviceLimits& limits) {
  const auto rows = [&](int warpgroups) {  // that a block takes, one tile after the other
    const int each = 64 * warpgroups, tiles = shape.B * shape.key_heads * ((shape.rows() + each - 1) / each);
    return std::int64_t{each} * ((tiles + limits.multiprocessors - 1) / limits.multiprocessors);
  };
  return 5 * rows(3) < 6 * rows(2);
}

// False where device or compiler do not allow it.
template <int Width, int Warpgroups, class T, class Rule, class Q, class Mask, class Out>
bool launch_warpgroup_attention(const Q& q, const View<const T, 4>& k, const View<const T, 4>& v, const Mask& mask,
                                const WarpgroupShape<Rule>& shape, const Out& out, Stream stream) {
  using Attention = WarpgroupAttention<T, Width, Warpgroups, Rule, Q, Mask, Out>;
  const auto kernel = warpgroup_attention_kernel<T, Width, Warpgroups, Rule, Q, Mask, Out>;
  const DeviceLimits limits = device_limits(stream);
  if (limits.shared_bytes < Attention::shared()) return false;
  if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), Attention::threads)) return false;
  const int box = box_of_keys(shape.rule, Attention::keys);
  if (box == 0) return false;
  const auto keys = heads_in_memory(k, box), values = heads_in_memory(v, box);
  if (!keys || !values) return false;
  const std::optional<TensorMap> key_map = tensor_map<T>(*keys), value_map = tensor_map<T>(*values);
  if (!key_map || !value_map) return false;
  // Where whole queries, which the engine brings, are nearly all that a block has room for.
  int tile_rows = Attention::block_rows / shape.group * shape.group;
  std::optional<TensorMap> query_map;
  if constexpr (is_view<Q>) {
    if (8 * tile_rows >= 7 * Attention::block_rows) {
      const auto queries = heads_in_memory(q, tile_rows / shape.group, shape.group);
      if (queries) query_map = tensor_map<T>(*queries);
    }
  }
  if (!query_map) tile_rows = Attention::block_rows;
  if (!Attention::Tiles::computes_queries && !query_map) return false;
  const std::int64_t cached = limits.cache_bytes / 3 * 2;  // the rest is for queries and results
  const std::int64_t head_bytes = std::int64_t{2} * shape.keys * shape.D * static_cast<std::int64_t>(sizeof(T));
  AttentionOrder order =
      AttentionOrder::of(shape.B * shape.key_heads, shape.key_heads, (shape.rows() + tile_rows - 1) / tile_rows,
                         static_cast<int>(std::max<std::int64_t>(1, cached / head_bytes)));
  int key_tiles = (shape.keys + Attention::keys - 1) / Attention::keys;
  if constexpr (Rule::is_local) {
    const std::int64_t seen = shape.rule.left + shape.rule.right + Attention::block_rows / shape.group + 2;
    key_tiles = static_cast<int>(std::min<std::int64_t>(key_tiles, seen / Attention::keys + 2));
  }
  order.tile_rows = tile_rows;
  order.parts = attention_parts(order.tiles(), key_tiles, limits);
  if (order.tiles() <= limits.multiprocessors) order.together = order.heads;  // as they are anyway
  const std::int64_t lines = std::int64_t{order.heads} * shape.rows();
  const bool splits = order.parts > 1;
  const Workspace workspace(splits ? AttentionParts::bytes(order.parts, lines, shape.D) : 0, stream);
  const AttentionParts parts = splits ? AttentionParts(workspace.data(), order.parts, lines, shape.D) : AttentionParts();
  const Grid grid{"warpgroup_attention", std::min(order.tiles(), limits.multiprocessors), Attention::threads,
                  Attention::shared()};
  launch_early(grid, stream, kernel, with_access(q, 8),
               AttentionOperands{query_map.value_or(*key_map), *key_map, *value_map, query_map.has_value(), box},
               with_access(mask, 2), with_access(out, 8), shape, parts, order);
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
// arithmetic makes ptxas wait for each product (C7518), but for those of single waves.
template <class Rule>
bool fits_warpgroup_attention(const AttentionShape<float, Rule>& shape) {
  constexpr std::int64_t most = 1 << 30;
  const bool is_wide = !Rule::is_local || shape.rows() <= skinny_attention_rows;
  return shape.group > 0 && shape.keys > 0 && shape.keys < most && shape.rows() < most &&
         shape.D <= (is_wide ? 256 : 128) &&
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
  const WarpgroupShape<Rule> shape{
      narrow(wide.B),         narrow(wide.S),     narrow(wide.H),      narrow(wide.D), narrow(wide.keys),
      narrow(wide.key_heads), narrow(wide.group), wide.scale * log2_e, rule,           Divider(wide.group)};
  const auto launch = [&]<int Width>(std::integral_constant<int, Width>) {
    constexpr bool converts = !std::is_same_v<T, Cached>;
    if constexpr (!converts || Width > 64) {
      if (skinny_attention<Width, T>(q, k, v, mask, shape, out, stream)) return true;
    }
    if constexpr (converts || (Rule::is_local && Width > 128)) {
      return false;
    } else {
      // Pages need registers that three do not have.
      if constexpr (Width <= 64 && !Rule::is_local && !Rule::is_paged && std::is_same_v<Mask, NoMask> && is_view<Q>) {
        if (favours_three(shape, device_limits(stream)) &&
            launch_warpgroup_attention<Width, 3>(q, k, v, mask, shape, out, stream))
          return true;
      }
      return launch_warpgroup_attention<Width, 2>(q, k, v, mask, shape, out, stream);
    }
  };
  if (shape.D <= 64) return launch(std::integral_constant<int, 64>());
  if (shape.D <= 128) return launch(std::integral_constant<int, 128>());
  return launch(std::integral_constant<int, 256>());
}

}  // namespace kgen::gpu

#endif

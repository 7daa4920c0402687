// Attention of few queries, at the speed at which keys and values come from memory. A tile of 16 rows of queries of a
// head of keys is the left operand of products that a single wave does (multiply_tile), so that no wave waits for
// another: one thread has the copy engine bring keys and values to a ring of stages (TilePipeline), and each wave has
// its own keys of a stage, of which it keeps the running softmax and the weighted sum of values. Waves put theirs
// together in shared memory, and the blocks of a cluster, which share the keys of a tile, send it to each other.
//
// Why not warpgroup_attention.hpp: of its 128 rows a decode with 4 rows has a use for 4, which made 1.1 us of products
// and as much of exponentials for 128 keys that memory brings in 2 us to a multiprocessor, and its blocks' results went
// through memory to a second kernel. 32 heads of 8, 8192 keys: 18.0 us that way, 11.5 this way
// (tests/bench/ATTENTION.md).
#pragma once

#include "kgen/divide.hpp"
#include "kgen/gpu/attention_scores.hpp"
#include "kgen/gpu/cache_pieces.hpp"
#include "kgen/gpu/merge_attention.hpp"
#include "kgen/gpu/sent_attention.hpp"
#include "kgen/gpu/tile_pipeline.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// How blocks share the keys of a tile of rows: so many clusters of so many blocks.
struct SkinnyOrder {
  int heads, row_tiles;       // of all batches; of a head
  int blocks = 1, parts = 1;  // of a cluster; clusters of a tile
  Divider by_sharing = {}, by_row_tiles = {}, by_key_heads = {};

  KGEN_FN int tiles() const { return heads * row_tiles; }
  KGEN_FN int sharing() const { return blocks * parts; }
  KGEN_FN int all() const { return tiles() * sharing(); }
  // Once all of that is known.
  void divide(int key_heads) {
    by_sharing = Divider(sharing());
    by_row_tiles = Divider(row_tiles);
    by_key_heads = Divider(key_heads);
  }
};

// T: what tensor cores multiply; Cached: what keys and values are in memory (CacheOperand). Small: blocks of which
// several fit beside each other, for many tiles of few keys, of which a block alone mostly begins and ends.
template <class T, class Cached, int Width, bool Small, class Rule, class Q, class Mask, class Out>
struct SkinnyAttention {
  static constexpr const char* name = Small ? "small_attention" : "skinny_attention";
  using Operand = T;
  using Pieces = CachePieces<Cached>;
  static constexpr int line = swizzle_bytes / static_cast<int>(sizeof(Cached)), lines = Width / line;
  // Keys of a wave, and of the waves that share a stage: the copy engine takes its time for each box, so that boxes are
  // large. While some waves have one stage, others have the next.
  static constexpr int keys = Width > 64 ? 16 : 32, together = Small ? 2 : 4, stage_keys = together * keys;
  static constexpr int stages = Small ? 2 : (Width > 128 ? 3 : 6) * Pieces::parts;
  static constexpr int groups = Small || Width > 128 ? 1 : 2, waves = groups * together;
  static constexpr int blocks = !Small ? 1 : Width > 64 ? 4 : 5;  // of a multiprocessor
  static constexpr int attending_threads = waves * wave_size, threads = attending_threads + wave_size;
  static constexpr int rows = skinny_attention_rows, width = Width;
  struct alignas(tile_alignment) Stage {
    Cached keys[stage_keys * Width], values[stage_keys * Width];
  };
  using Pipeline = TilePipeline<Stage, stages, 1>;
  using Keys = AttendedKeys<Width>;
  static constexpr bool shares_keys = !Small;
  using Sent = SentPieces<shares_keys ? Width : 0>;
  static constexpr bool converts = !std::is_same_v<T, Cached>;
  static constexpr float weight_scale = CacheOperand<T, Cached>::weight_scale;
  static constexpr std::int64_t shared() {
    return Pipeline::shared() + Sent::shared() + shared_bytes<T>(rows * Width) + shared_bytes<float>(rows) +
           shared_bytes<Mbarrier>(1);
  }
  static_assert(waves * sizeof(Keys) <= stages * sizeof(Stage));

  const Q& q;
  const Mask& mask;
  const Out& out;
  const WarpgroupShape<Rule>& shape;
  const AttentionParts& parts;
  SkinnyOrder order;

  // A tile of rows of a head, and a block's number among those that share its keys.
  struct Tile {
    int head, b, key_head;  // the head of all batches; its batch, and which of that it is
    int first_row, rows, number;
  };
  KGEN_FN Tile tile() const {
    // Where no blocks share keys, tiles are whole heads of keys.
    std::uint32_t head = static_cast<std::uint32_t>(block_index()), row_tile = 0, number = 0;
    if constexpr (shares_keys) {
      number = head;
      row_tile = order.by_sharing.split(number);
      head = order.by_row_tiles.split(row_tile);
    }
    std::uint32_t key_head = head;
    const std::uint32_t b = order.by_key_heads.split(key_head);
    std::int32_t place[2] = {static_cast<int>(b), static_cast<int>(key_head)};
    settle(place);  // or they would be found behind the wait for what is ahead
    const int first_row = static_cast<int>(row_tile) * rows, left = shape.rows() - first_row;
    return {static_cast<int>(head), place[0], place[1], first_row, left < rows ? left : rows, static_cast<int>(number)};
  }
  // Those of its keys that a block goes over, in stages: every so many of them from `begin` to `end`, or of pages, of
  // which a wave finds several that follow each other at once, every one.
  struct Share : Tile {
    int begin, end, step;
    int last_key;  // behind the last that a query sees
  };
  KGEN_FN Share share(const Tile& tile) const {
    const WarpgroupShape<Rule> own = shape.of_sequence(tile.b);
    const int seen = own.keys_seen(tile.first_row + tile.rows - 1), last = seen < own.keys ? seen : own.keys;
    const int begin = Rule::is_local ? own.first_key(tile.first_row) / stage_keys : 0;
    const int end = (last + stage_keys - 1) / stage_keys;
    std::int32_t stages[2] = {begin + tile.number, end};
    int step = shares_keys ? order.sharing() : 1;
    if constexpr (Rule::is_paged) {
      const std::int64_t all = end > begin ? end - begin : 0;
      stages[0] = begin + static_cast<int>(all * tile.number / step);
      stages[1] = begin + static_cast<int>(all * (tile.number + 1) / step);
      step = 1;
    }
    settle(stages);
    return {tile, stages[0], stages[1], step, last};
  }

  // Brings the rows of queries to shared memory, zeros behind them; with what scores are to be multiplied by, where
  // those of a row are scaled. Whole waves have whole rows.
  KGEN_FN void stage_queries(const Share& share, T* staged, float* back) const {
    constexpr int pieces = Width / Query::piece;
    KGEN_NO_UNROLL
    for (int i = thread_index(); i < rows * pieces; i += attending_threads) {
      const int row = i / pieces, number = i % pieces, d = number * Query::piece;
      Vec<float, Query::piece> lanes(0);
      if (row < share.rows && d < shape.D) {
        lanes = q.template load<Query::piece>(query_at(share, row, d));
      }
      if constexpr (converts) {
        const RowScale own = RowScale::of(greatest_of_row<pieces>(lanes));
        lanes = lanes * Vec<float, Query::piece>(own.scale);
        if (number == 0) back[row] = own.back;
      }
      T elements[Query::piece];
      store_elements(elements, lanes);
      Block<16> block;
      memcpy(&block, elements, sizeof(block));
      store_shared(Query::place(staged, row, Query::step_of(number), Query::lane_of(number)), block);
    }
  }

  // Fills stage after stage with a block's keys.
  KGEN_FN void load(Pipeline& ring, const EngineKeys& engine, const Share& share) const {
    for (int stage = share.begin; stage < share.end; stage += share.step) {
      const auto filling = ring.fill();
      const int key = stage * stage_keys;
      KGEN_UNROLL
      for (int d = 0; d < Width; d += line) {
        copy_tile(filling->keys + d * stage_keys, engine.k, filling.arrival(), d, share.key_head, key, share.b);
      }
      KGEN_UNROLL
      for (int d = 0; d < Width; d += line) {
        copy_tile(filling->values + d * stage_keys, engine.v, filling.arrival(), d, share.key_head, key, share.b);
      }
    }
  }
  // The same of pages, by a wave, of which the first lane has the engine bring them.
  KGEN_FN void load_pages(Pipeline& ring, const EngineKeys& engine, const Share& share) const {
    const int of_stage = stage_keys / engine.box, at_once = BoxPlaces::most / of_stage;  // boxes, stages
    const auto find = [&](int stage) KGEN_LAMBDA {
      return BoxPlaces(shape.rule, engine.box, share.b, stage * stage_keys, share.last_key);
    };
    BoxPlaces places = find(share.begin), next = find(share.begin + at_once);
    for (int stage = share.begin, number = 0; stage < share.end; ++stage, ++number) {
      if (number == at_once) {
        places = next;
        next = find(stage + at_once);
        number = 0;
      }
      Stage* to = nullptr;
      Mbarrier* arrival = nullptr;
      if (thread_index() % wave_size == 0) {
        const auto filling = ring.fill();
        to = filling.operator->();
        arrival = &filling.arrival();
      }
      places.template for_each<stage_keys>(
          number * of_stage, engine.box, [&](int of_tile, int sequence, int position) KGEN_LAMBDA {
            KGEN_UNROLL
            for (int d = 0; d < Width; d += line) {
              const int place = d * stage_keys + of_tile * line;
              copy_tile(to->keys + place, engine.k, *arrival, d, share.key_head, position, sequence);
              copy_tile(to->values + place, engine.v, *arrival, d, share.key_head, position, sequence);
            }
          });
    }
  }

  // The greatest magnitude of a row, of whose pieces neighbouring lanes have one each.
  template <int Pieces>
  KGEN_FN static float greatest_of_row(const Vec<float, 8>& lanes) {
    float each[8], greatest = 0;
    store_lanes(each, lanes);
    KGEN_UNROLL
    for (float element : each) greatest = greater(greatest, element < 0 ? -element : element);
    KGEN_UNROLL
    for (int distance = 1; distance < Pieces; distance *= 2) {
      greatest = greater(greatest, shuffle_xor(greatest, distance, wave_size, Where::here()));
    }
    return greatest;
  }

  // What a wave finds of its keys.
  struct Found {
    float sums[Width / 8][4] = {};
    RowsSoftmax softmax;
  };
  KGEN_FN void attend(Pipeline& ring, const Share& share, const T* staged, const float* back, Found& found) const {
    const int wave = thread_index() / wave_size, first_key = wave % together * keys;
    RowsOfScores<Rule, Mask> counted(shape, mask, share.b, share.key_head, share.first_row, rows,
                                     thread_index() % wave_size / 4);
    counted.look_for_gaps(share.begin * stage_keys, share.end * stage_keys);
    const Query query(staged);
    int turn = wave / together;  // 0: this wave's
    KGEN_NO_UNROLL
    for (int stage = share.begin; stage < share.end; stage += share.step) {
      const auto tile = ring.read();
      const bool is_own = turn == 0;
      turn = is_own ? groups - 1 : turn - 1;
      if (groups > 1 && !is_own) continue;
      float scores[keys / 2], correction[2];
      query.multiply(scores, tile->keys + first_key * line);
      if constexpr (converts) {
        const int row = thread_index() % wave_size / 4;
        const float of_rows[2] = {back[row], back[row + 8]};
        KGEN_UNROLL
        for (int i = 0; i < keys / 2; ++i) scores[i] *= of_rows[i / 2 % 2];
      }
      const int first_of_wave = stage * stage_keys + first_key;
      counted.mask_scores(scores, first_of_wave, counted.template lost_keys<keys>(first_of_wave));
      found.softmax.advance(scores, counted.factor(), correction);
      KGEN_UNROLL
      for (int i = 0; i < Width / 2; ++i) found.sums[i / 4][i % 4] *= correction[i / 2 % 2];
      add_values(found.sums, scores, tile->values + first_key * line);
      wave_barrier();  // all lanes have read it
    }
  }
  // Leaves it, of so many rows, in shared memory.
  KGEN_FN void put(Keys& to, const Found& found, int count) const {
    const int lane = thread_index() % wave_size;
    const float factor = RowsOfScores<Rule, Mask>::factor(shape);
    const float totals[2] = {found.softmax.sum(0), found.softmax.sum(1)};
    constexpr int quarters = Pieces::elements / 4;
    KGEN_UNROLL
    for (int second = 0; second < 2; ++second) {
      const int row = lane / 4 + 8 * second;
      if (row >= count) continue;
      if (lane % 4 == 0) {
        to.maximum[row] = found.softmax.maximum[second] * factor;
        to.total[row] = totals[second];
      }
      KGEN_UNROLL
      for (int i = 0; i < lines * 2 * quarters; ++i) {
        const int of_head = i / (2 * quarters), odd = i / quarters % 2, of_piece = i % quarters * 4;
        float four[4];
        KGEN_UNROLL
        for (int e = 0; e < 4; ++e) {
          four[e] = found.sums[of_head * Pieces::elements + of_piece + e][second * 2 + odd];
          if constexpr (converts) four[e] *= 1 / weight_scale;
        }
        to.put(row, of_head * line + (lane % 4 * 2 + odd) * Pieces::elements + of_piece, four);
      }
    }
  }

  // The result of a piece, to the sink or for the second kernel.
  KGEN_FN void emit(const Tile& tile, int row, int d, const AttendedPiece& result) const {
    if (d >= shape.D) return;
    if (order.parts > 1) {
      const std::int64_t row_of_part = std::int64_t{tile.head} * shape.rows() + tile.first_row + row;
      const int part = tile.number / order.blocks;
      parts.of_part(part, 0, parts.lines, shape.D).store(Index<2>{row_of_part, d}, result.mean());
      if (d == 0) parts.logarithm(part, row_of_part) = result.maximum + log2f(result.total);
      return;
    }
    store_to(out, query_at(tile, row, d), result.mean());
  }

  // act(number, row, d) for this thread's pieces of 4 elements.
  template <class Act>
  KGEN_FN void for_each_piece(const Tile& tile, const Act& act) const {
    KGEN_NO_UNROLL
    for (int number = thread_index(); number < tile.rows * of_row; number += threads) {
      act(number, row_of(number), at_of(number));
    }
  }
  static constexpr int of_row = Width / AttendedPiece::lanes;  // pieces
  KGEN_FN static int row_of(int number) { return number / of_row; }
  KGEN_FN static int at_of(int number) { return number % of_row * AttendedPiece::lanes; }

 private:
  // Where a row's element d is, of [B, S, H, D].
  KGEN_FN Index<4> query_at(const Tile& tile, int row, int d) const {
    const int of_head = tile.first_row + row, s = shape.query(of_head);
    return {tile.b, s, tile.key_head * shape.group + (of_head - s * shape.group), d};
  }

  // Piece number i of 16 bytes of a line, where the engine puts it.
  KGEN_FN static Block<16> piece_of(const Cached* box, int of_line, int i) {
    return load_block<16>(box + of_line * line + (i ^ of_line % 8) * Pieces::elements, Access{});
  }

  // The rows of queries, as a wave multiplies them. Which elements of a head a step of the product has is of no matter,
  // as long as both operands have the same: a lane takes whole pieces of keys, and lanes of two neighbouring keys
  // different banks. A step has 8 elements of a lane. Wide heads leave no registers for them.
  struct Query {
    static constexpr bool is_held = Width <= 64;
    static constexpr int piece = 8, words = 4, steps = Width / 4 / piece, held_steps = is_held ? steps : 1;
    const T* staged;
    Block<16> held[held_steps][2];

    // Which step, and which lane of a quad, has piece `number` of a row. A piece of keys is of `parts` steps that
    // follow each other, and a lane has two such of a line, side by side.
    KGEN_FN static int step_of(int number) {
      constexpr int of_lane = 2 * Pieces::parts;
      return number / (4 * of_lane) * of_lane + number % of_lane;
    }
    KGEN_FN static int lane_of(int number) { return number / (2 * Pieces::parts) % 4; }
    // Where a piece is kept: two steps of a row side by side.
    KGEN_FN static T* place(T* staged, int row, int step, int lane) {
      constexpr int of_row = 8;
      return staged + (step / 2 * rows * of_row + row * of_row + ((lane * 2 + step % 2) ^ row % 8)) * piece;
    }

    KGEN_FN explicit Query(const T* staged) : staged(staged) {
      if constexpr (is_held) {
        KGEN_UNROLL
        for (int step = 0; step < steps; ++step) {
          held[step][0] = element(step, 0);
          held[step][1] = element(step, 1);
        }
      }
    }
    // This lane's of a step, of both rows.
    KGEN_FN Block<16> element(int step, int second) const {
      const int lane = thread_index() % wave_size;
      return load_block<16>(place(const_cast<T*>(staged), lane / 4 + 8 * second, step, lane % 4), Access{});
    }
    KGEN_FN void multiply(float (&scores)[keys / 2], const Cached* keys_of_stage) const {
      const int lane = thread_index() % wave_size, column = lane / 4;
      float sums[keys / 8][2][4] = {};  // of two halves, that the products wait less for each other
      KGEN_UNROLL
      for (int i = 0; i < steps / Pieces::parts; ++i) {
        Block<16> rows_of_lane[Pieces::parts][2];
        KGEN_UNROLL
        for (int part = 0; part < Pieces::parts; ++part) {
          const int step = i * Pieces::parts + part;
          KGEN_UNROLL
          for (int second = 0; second < 2; ++second) {
            rows_of_lane[part][second] = is_held ? held[step % held_steps][second] : element(step, second);
          }
        }
        KGEN_UNROLL
        for (int group = 0; group < keys / 8; ++group) {
          const Block<16> own =
              piece_of(keys_of_stage + i / 2 * stage_keys * line, group * 8 + column, lane % 4 * 2 + i % 2);
          KGEN_UNROLL
          for (int part = 0; part < Pieces::parts; ++part) {
            const Block<16> key = Pieces::eight(own, part), &first = rows_of_lane[part][0],
                            &other = rows_of_lane[part][1];
            KGEN_UNROLL
            for (int word = 0; word < words; word += 2) {
              const std::uint32_t left[4] = {first.words[word], other.words[word], first.words[word + 1],
                                             other.words[word + 1]};
              const std::uint32_t right[2] = {key.words[word], key.words[word + 1]};
              multiply_tile<T>(sums[group][word / 2], left, right);
            }
          }
        }
      }
      KGEN_UNROLL
      for (int i = 0; i < keys / 2; ++i) scores[i] = sums[i / 4][0][i % 4] + sums[i / 4][1][i % 4];
    }
  };

  // sums += weights * values: sums[elements * line + i] have of this lane's two columns neighbour i of a piece each, so
  // that lanes read whole pieces.
  KGEN_FN static void add_values(float (&sums)[Width / 8][4], const float (&weights)[keys / 2], const Cached* values) {
    const int lane = thread_index() % wave_size, column = lane / 4, key = lane % 4 * 2;
    KGEN_UNROLL
    for (int step = 0; step < keys / 16; ++step) {
      std::uint32_t left[4];
      KGEN_UNROLL
      for (int i = 0; i < 4; ++i) {
        const float* two = weights + step * 8 + i * 2;
        const float scaled[2] = {two[0] * weight_scale, two[1] * weight_scale};
        left[i] = as_pair<T>(converts ? scaled : two);
      }
      KGEN_UNROLL
      for (int of_head = 0; of_head < lines; ++of_head) {
        const Cached* box = values + of_head * stage_keys * line;
        Block<16> own[4];
        KGEN_UNROLL
        for (int i = 0; i < 4; ++i) own[i] = piece_of(box, step * 16 + key + i / 2 * 8 + i % 2, column);
        KGEN_UNROLL
        for (int i = 0; i < Pieces::elements; ++i) {
          const std::uint32_t right[2] = {Pieces::pair(own[0], own[1], i), Pieces::pair(own[2], own[3], i)};
          multiply_tile<T>(sums[of_head * Pieces::elements + i], left, right);
        }
      }
    }
  }
};

template <class Attention, class Q, class Mask, class Out, class Rule>
KGEN_GLOBAL((has_warpgroups ? Attention::threads : 1), Attention::blocks)
skinny_attention_kernel(Q q, const KGEN_GRID_CONSTANT EngineKeys engine, Mask mask, Out out, WarpgroupShape<Rule> shape,
                        AttentionParts parts, SkinnyOrder order) {
  if constexpr (has_warpgroups) {
    using Keys = typename Attention::Keys;
    using T = typename Attention::Operand;
    const Attention attention{q, mask, out, shape, parts, order};
    SharedMemory shared, again;
    typename Attention::Pipeline ring(shared, Attention::waves);
    Mbarrier* const queries = shared.take<Mbarrier>(1);  // that all waves have brought theirs
    if (thread_index() == 0) queries[0].init(Attention::waves);
    typename Attention::Sent sent(shared, order.blocks);  // and all threads know of both mbarriers behind its begin()
    T* const staged = shared.take<T>(Attention::rows * Attention::width);  // queries,
    float* const back = shared.take<float>(Attention::rows);               // and how they were scaled
    Keys* const of_waves = again.take<Keys>(Attention::waves);  // in the ring's place, once all of that has been read
    const bool loads = wave_index() == Attention::waves;
    const auto tile = attention.tile();
    typename Attention::Share share;
    if constexpr (!Rule::is_counted) share = attention.share(tile);
    sent.begin(tile.rows);
    take_turn();
    if constexpr (Rule::is_counted) share = attention.share(tile);  // how many keys there are is in memory
    typename Attention::Found found;
    {
      const BlockPhase attending;
      if (!loads) {
        {
          const WavePhase staging;
          attention.stage_queries(share, staged, back);
        }
        if (thread_index() % wave_size == 0) queries[0].arrive();
        queries[0].wait(0);
        attention.attend(ring, share, staged, back, found);
      } else if constexpr (Rule::is_paged) {
        attention.load_pages(ring, engine, share);
      } else {
        if (is_elected()) attention.load(ring, engine, share);
      }
    }
    // Where multiprocessors have none of these blocks, or once they have left: sooner, clusters of the kernel behind
    // would find places while these run, several on one part of the device.
    if (thread_index() == 0) allow_next();
    {
      const BlockPhase putting;
      if (!loads) attention.put(of_waves[wave_index()], found, share.rows);
    }
    const auto of_block = [&](int row, int d) KGEN_LAMBDA {
      const auto of_wave = [&](int i) KGEN_LAMBDA { return of_waves[i].piece(row, d); };
      return AttendedPiece::together<Attention::waves>(Attention::waves, of_wave);
    };
    if (!Attention::shares_keys || order.blocks == 1) {
      attention.for_each_piece(
          share, [&](int, int row, int d) KGEN_LAMBDA { attention.emit(share, row, d, of_block(row, d)); });
      return;
    }
    attention.for_each_piece(share,
                             [&](int number, int row, int d) KGEN_LAMBDA { sent.send(number, of_block(row, d)); });
    sent.for_each(Attention::threads, [&](int number, const AttendedPiece& piece) KGEN_LAMBDA {
      attention.emit(share, Attention::row_of(number), Attention::at_of(number), piece);
    });
  }
}

// How many blocks of a cluster share the keys of each of so many tiles of rows, at most so many. On an H200 clusters of
// 4 and 8 do not find room on all multiprocessors, and those of 3 or 6 on fewer still: 16 heads of 8192 keys took 22.0
// us with 4 blocks each, 23.7 with 6 and 29.7 with 8, which need two rounds; 32 heads 37.6 with 2, 41.4 with 3 and 48.6
// with 4 (before blocks sent each other what they have).
inline int blocks_of_keys(int tiles, int most, const DeviceLimits& limits) {
  const auto rounds = [&](int blocks) {
    return (std::int64_t{tiles} * blocks + limits.multiprocessors - 1) / limits.multiprocessors;
  };
  int best = most >= 2 && limits.cluster_blocks >= 2 && rounds(2) < rounds(1) * 2 ? 2 : 1;
  for (int blocks = 4; blocks <= std::min(most, limits.cluster_blocks); blocks *= 2) {
    if (std::int64_t{tiles} * blocks * 4 <= std::int64_t{limits.multiprocessors} * 3) best = blocks;
  }
  return best;
}

// Whether so many tiles of rows, more than one of each head, should go this way: those of warpgroup_attention.hpp have
// eight times the rows, but begin later, and few of them leave multiprocessors idle.
inline bool pays_row_tiles(const SkinnyOrder& order, int keys, const DeviceLimits& limits) {
  constexpr int most_keys = 1024;
  return std::int64_t{order.heads} * order.row_tiles <= limits.multiprocessors && keys <= most_keys;
}

// The same by blocks of one kind.
template <int Width, class T, bool Small, class Cached, class Rule, class Q, class Mask, class Out>
bool launch_skinny_attention(const Q& q, const View<const Cached, 4>& k, const View<const Cached, 4>& v,
                             const Mask& mask, const WarpgroupShape<Rule>& shape, const Out& out, Stream stream) {
  using Operand = typename CacheOperand<T, Cached>::type;
  using Attention = SkinnyAttention<Operand, Cached, Width, Small, Rule, Q, Mask, Out>;
  const auto kernel = skinny_attention_kernel<Attention, Q, Mask, Out, Rule>;
  const std::int64_t row_tiles = (std::int64_t{shape.rows()} + Attention::rows - 1) / Attention::rows;
  const DeviceLimits limits = device_limits(stream);
  if (row_tiles > limits.multiprocessors) return false;
  std::int64_t seen = shape.keys;
  if constexpr (Rule::is_local)
    seen = std::min<std::int64_t>(seen, std::int64_t{shape.rule.left} + shape.rule.right + shape.S);
  SkinnyOrder order{shape.B * shape.key_heads, static_cast<int>(row_tiles)};
  if (row_tiles > 1 && !pays_row_tiles(order, static_cast<int>(seen), limits)) return false;
  if (limits.shared_bytes < Attention::blocks * Attention::shared()) return false;
  if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), Attention::threads)) return false;
  const int box = box_of_keys(shape.rule, Attention::stage_keys);
  if (box == 0) return false;
  const auto keys = heads_in_memory(k, box), values = heads_in_memory(v, box);
  if (!keys || !values) return false;
  const std::optional<TensorMap> key_map = tensor_map<Cached>(*keys), value_map = tensor_map<Cached>(*values);
  if (!key_map || !value_map) return false;
  const int most = std::max(1, static_cast<int>(seen / Attention::stage_keys));
  order.blocks = Attention::blocks > 1 ? 1 : blocks_of_keys(order.tiles(), most, limits);
  // A second kernel pays where clusters leave most multiprocessors idle, and their blocks have many stages. Clusters
  // that find no room wait for all others.
  constexpr int many = 8;
  if (order.all() * 4 <= limits.multiprocessors) {
    order.parts = std::max(1, std::min(limits.multiprocessors * 3 / 4 / order.all(), most / (many * order.blocks)));
  }
  const std::int64_t lines = std::int64_t{order.heads} * shape.rows();
  const bool splits = order.parts > 1;
  const Workspace workspace(splits ? AttentionParts::bytes(order.parts, lines, shape.D) : 0, stream);
  const AttentionParts parts =
      splits ? AttentionParts(workspace.data(), order.parts, lines, shape.D) : AttentionParts();
  order.divide(shape.key_heads);
  const Grid grid{Attention::name, order.all(), Attention::threads, Attention::shared(), order.blocks};
  launch_early(grid, stream, kernel, with_access(q, 8), EngineKeys{*key_map, *value_map, box}, with_access(mask, 2),
               with_access(out, 4), shape, parts, order);
  if (splits) merge_attention(parts, out, shape, stream);
  return true;
}

// Whether many tiles have so few keys that blocks beside each other take less time: on an H200 512 heads of 64 elements
// took 4.8 us instead of 14.3 with 31 keys, and 35.1 instead of 38.6 with 1024 (tests/bench/ATTENTION.md).
template <class Rule>
bool pays_small_blocks(const WarpgroupShape<Rule>& shape, const DeviceLimits& limits) {
  constexpr std::int64_t few = 65536;  // elements of a head's keys
  return std::int64_t{shape.keys} * shape.D <= few && shape.rows() <= skinny_attention_rows &&
         std::int64_t{shape.B} * shape.key_heads > limits.multiprocessors;
}

// False where there are many queries, or where device or compiler do not allow it.
template <int Width, class T, class Cached, class Rule, class Q, class Mask, class Out>
bool skinny_attention(const Q& q, const View<const Cached, 4>& k, const View<const Cached, 4>& v, const Mask& mask,
                      const WarpgroupShape<Rule>& shape, const Out& out, Stream stream) {
  constexpr bool has_small = Width <= 128 && std::is_same_v<T, Cached> && !Rule::is_local && !Rule::is_paged;
  if constexpr (has_small) {
    if (pays_small_blocks(shape, device_limits(stream)) &&
        launch_skinny_attention<Width, T, true>(q, k, v, mask, shape, out, stream))
      return true;
  }
  return launch_skinny_attention<Width, T, false>(q, k, v, mask, shape, out, stream);
}

}  // namespace kgen::gpu

#endif

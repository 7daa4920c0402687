// Sums of a tile whose depth the blocks of a cluster share: they meet in shared memory, from which the sink gets them.
#pragma once

#include "kgen/gpu/added_sums.hpp"
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// The share that a block of a cluster has of the results of a tile, in pieces of 4 neighbours of a row, of which each
// row has so many.
inline constexpr int piece_lanes = 4;
template <int OfRow>
struct PieceShare {
  static constexpr int of_row = OfRow;
  int first, end;

  KGEN_FN static int each(int rows, int blocks) { return (rows * of_row + blocks - 1) / blocks; }
  KGEN_FN static PieceShare of(int rows, int blocks) { return of_each(each(rows, blocks), rows); }
  // The same, of so many pieces for each block, but for the last ones.
  KGEN_FN static PieceShare of_each(int each, int rows) {
    const int all = rows * of_row, begin = cluster_rank() * each, first = begin < all ? begin : all;
    return {first, first + each < all ? first + each : all};
  }
};

// What the blocks of a cluster have each of a tile's sums, of Rows x Columns: each writes its own to its shared memory,
// or each of its Teams does, and adds up a part of all of them, always in the same order.
template <int Rows, int Columns, int Teams = 1, class Element = float>
class ClusterSums {
 public:
  using Sum = Element;
  static constexpr int rows = Rows, pitch = Columns + 4;  // 2 rows further and 1 column further are 32 different banks
  static constexpr std::int64_t shared() { return shared_bytes<Sum>(Teams * Rows * pitch); }

  KGEN_FN explicit ClusterSums(SharedMemory& memory) : sums_(memory.take<Sum>(Teams * Rows * pitch)) {}

  // Where a team's sum of a row and column is to be put.
  KGEN_FN Sum* at(int row, int column, int team = 0) const { return sums_ + (team * Rows + row) * pitch + column; }

  // A warpgroup's sums of 64 columns from `column` on: as wgmma leaves them, with columns for rows.
  KGEN_FN void put(const Sum (&sums)[Rows / 2], int column) const {
    const int thread = thread_index() % warpgroup_threads;
    Sum* to = at(thread % 4 * 2, column + thread / wave_size * 16 + thread % wave_size / 4);
    KGEN_UNROLL
    for (int i = 0; i < Rows / 2; ++i) to[(i / 4 * 8 + i % 2) * pitch + i / 2 % 2 * 8] = sums[i];
  }
  // The share that this block gives the sink.
  template <int OfRow>
  KGEN_FN PieceShare<OfRow> share(int rows, int blocks) const {
    return PieceShare<OfRow>::of(rows, blocks);
  }
  // The sums of `count` runs of W columns, each from a row's place on, added up over `blocks`. Neighbouring threads
  // have neighbouring columns: another block's shared memory is slow but for whole lines. Each block begins with its
  // own, and goes on to the next one's: all at once they would wait for one block's memory.
  template <int W, int Runs>
  KGEN_FN void add(Vec<Sum, W> (&sums)[Runs], int count, const int (&rows)[Runs], const int (&places)[Runs],
                   int blocks) const {
    KGEN_UNROLL
    for (int run = 0; run < Runs; ++run) sums[run] = Vec<Sum, W>(0);
    constexpr int loads = 8, together = Runs < loads ? loads / Runs : 1;  // more find no registers
    const int rank = cluster_rank();
    KGEN_NO_UNROLL
    for (int first = 0; first < Teams * blocks; first += together) {
      KGEN_UNROLL
      for (int i = first; i < first + together; ++i) {
        const int block = rank + i / Teams, other = block < blocks ? block : block - blocks;
        const Sum* from = cluster_shared(sums_, i < Teams * blocks ? other : rank) + i % Teams * Rows * pitch;
        KGEN_UNROLL
        for (int run = 0; run < Runs; ++run) {
          if (i >= Teams * blocks || run >= count) continue;
          const auto words = load_block<W * sizeof(Sum)>(from + rows[run] * pitch + places[run], Access{});
          Sum lanes[W];
          memcpy(lanes, &words, sizeof(words));
          sums[run] = sums[run] + load_lanes<W>(lanes);
        }
      }
    }
  }

 private:
  Sum* sums_;
};

// Puts sums of the Layout's (emit_sums.hpp), whose first element has its place at `origin`, where they are added up.
template <class Layout, class Sums, class Own>
KGEN_FN void put_in_steps(const Sums& to, const Own& sums, Index<2> origin) {
  KGEN_UNROLL
  for (int step = 0; step < Layout::steps; ++step) {
    float lanes[8];
    KGEN_UNROLL
    for (int lane = 0; lane < 8; ++lane) lanes[lane] = Layout::sum(sums, step, lane);
    Layout::gather(lanes);
    const Index<2> at = Layout::position(origin, step);
    Block<16> blocks[2];
    memcpy(blocks, lanes, sizeof(lanes));
    float* place = to.at(static_cast<int>(at[0]), static_cast<int>(at[1]));
    store_shared(place, blocks[0]);
    store_shared(place + 4, blocks[1]);
  }
}

// This block's part of a depth that a cluster's blocks share, in steps; or that of one of its teams.
struct ClusterDepth {
  int first, last;
  KGEN_FN ClusterDepth(int steps, int blocks, int teams = 1, int team = 0) {
    first = 0;
    last = steps;
    const int all = blocks * teams;
    if (all == 1) return;
    // steps * rank / all, in 32 bits: a division of 64 would hold back a block's first loads.
    const auto parts = static_cast<unsigned>(all), rank = static_cast<unsigned>(cluster_rank() * teams + team);
    const unsigned each = static_cast<unsigned>(steps) / parts, rest = static_cast<unsigned>(steps) % parts;
    first = static_cast<int>(each * rank + rest * rank / parts);
    last = static_cast<int>(each * (rank + 1) + rest * (rank + 1) / parts);
  }

  // The same part in shorter steps, `parts` of each, of which there are `steps` in all.
  KGEN_FN ClusterDepth in_parts(int parts, int steps) const {
    ClusterDepth shorter = *this;
    shorter.first = first * parts;
    shorter.last = last * parts < steps ? last * parts : steps;
    return shorter;
  }
};

// How the first Threads threads of each block give the sink the results of a tile of so many columns, once the sums of
// all blocks are there.
template <int Columns, int Threads>
struct ClusterResults {
  // This block's share of the results of a tile of `Count` products.
  template <int Count>
  using Share = PieceShare<Columns / Count / piece_lanes>;

  // That share of a tile that begins at `origin`, to the sink, as far as `extents`: Whole vectors of them, or one by
  // one.
  template <bool Whole, class Sums, class C, int... I>
  KGEN_FN static void emit(const Sums& partial, const C& c, Index<2> origin, Index<2> extents, int blocks,
                           std::integer_sequence<int, I...> products) {
    using Own = Share<static_cast<int>(sizeof...(I))>;
    const std::int64_t left = extents[0] - origin[0];
    const int rows_left = left < Sums::rows ? static_cast<int>(left) : Sums::rows;
    const Own share = partial.template share<Own::of_row>(rows_left, blocks);
    const auto add = [&](auto& sums, int count, const auto& rows, const auto& places)
                         KGEN_LAMBDA { partial.add(sums, count, rows, places, blocks); };
    constexpr int at_once = Sums::rows <= 16 ? 2 : 4;  // few rows have no more for a thread
    constexpr int own = Columns / static_cast<int>(sizeof...(I));
    emit_added<Whole, own, at_once, typename Sums::Sum>(add, c, origin, static_cast<int>(extents[1]),
                                                        {share.first, share.end, thread_index(), Threads}, products);
  }

  // The same as the sink takes them.
  template <int Count, class Sums, class C, class Shape>
  KGEN_FN static void emit_tile(const Sums& partial, const C& c, Index<2> origin, std::int64_t end,
                                const Shape& shape) {
    constexpr std::make_integer_sequence<int, Count> products;
    const Index<2> extents{shape.row_end(origin[0]), end};
    if (has_fours(shape.lanes)) {
      emit<true>(partial, known<Lanes::whole_vectors>(c), origin, extents, shape.blocks, products);
    } else {
      emit<false>(partial, known<Lanes::any>(c), origin, extents, shape.blocks, products);
    }
  }
};

}  // namespace kgen::gpu

#endif

// Sums of a tile whose depth the blocks of a cluster share: they meet in shared memory, from which the sink gets them.
#pragma once

#include "kgen/gpu/added_sums.hpp"
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// What the blocks of a cluster have each of a tile's sums, of Rows x Columns: each writes its own to its shared memory,
// or each of its Teams does, and adds up a part of all of them, always in the same order.
template <int Rows, int Columns, int Teams = 1>
class ClusterSums {
 public:
  static constexpr int pitch = Columns + 4;  // 2 rows further and 1 column further are 32 different banks
  static constexpr std::int64_t shared() { return shared_bytes<float>(Teams * Rows * pitch); }

  KGEN_FN explicit ClusterSums(SharedMemory& memory) : sums_(memory.take<float>(Teams * Rows * pitch)) {}

  // Where a team's sum of a row and column is to be put.
  KGEN_FN float* at(int row, int column, int team = 0) const { return sums_ + (team * Rows + row) * pitch + column; }

  // A warpgroup's sums of 64 columns from `column` on: as wgmma leaves them, with columns for rows.
  KGEN_FN void put(const float (&sums)[Rows / 2], int column) const {
    const int thread = thread_index() % warpgroup_threads;
    float* to = at(thread % 4 * 2, column + thread / wave_size * 16 + thread % wave_size / 4);
    KGEN_UNROLL
    for (int i = 0; i < Rows / 2; ++i) to[(i / 4 * 8 + i % 2) * pitch + i / 2 % 2 * 8] = sums[i];
  }
  // 4 columns of a row, added up over `blocks`. Neighbouring threads have neighbouring columns: another block's shared
  // memory is slow but for whole lines.
  KGEN_FN Vec<float, 4> add(int row, int column, int blocks) const {
    Vec<float, 4> sum(0);
    constexpr int together = 4;  // loads of more, with those of a sink behind them, find no registers
    KGEN_NO_UNROLL
    for (int first = 0; first < Teams * blocks; first += together) {
      KGEN_UNROLL
      for (int i = first; i < first + together; ++i) {
        if (i >= Teams * blocks) continue;
        const float* from = cluster_shared(sums_, i / Teams) + (i % Teams * Rows + row) * pitch + column;
        const Block<16> words = load_block<16>(from, Access{});
        float lanes[4];
        memcpy(lanes, &words, sizeof(words));
        sum = sum + load_lanes<4>(lanes);
      }
    }
    return sum;
  }

 private:
  float* sums_;
};

// This block's part of a depth that a cluster's blocks share, in steps; or that of one of its teams.
struct ClusterDepth {
  int first, last;
  KGEN_FN ClusterDepth(int steps, int blocks, int teams = 1, int team = 0) {
    const int rank = static_cast<int>(cluster_rank()) * teams + team, all = blocks * teams;
    first = static_cast<int>(std::int64_t{steps} * rank / all);
    last = static_cast<int>(std::int64_t{steps} * (rank + 1) / all);
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
  // This block's share of the results of a tile of `Count` products, in pieces of 4 neighbours of a row.
  template <int Count>
  struct Share {
    static constexpr int own = Columns / Count, of_row = own / 4;
    int first, end;
    template <class Shape>
    KGEN_FN explicit Share(const Shape& shape)
        : first(static_cast<int>(shape.M) * of_row * cluster_rank() / shape.blocks),
          end(static_cast<int>(shape.M) * of_row * (cluster_rank() + 1) / shape.blocks) {}
    KGEN_FN int first_row() const { return first / of_row; }
    KGEN_FN int end_row() const { return (end + of_row - 1) / of_row; }
  };

  // That share, to the sink: Whole vectors of them, or one by one.
  template <bool Whole, class Sums, class C, class Shape, int... I>
  KGEN_FN static void emit(const Sums& partial, const C& c, int column, int N, const Shape& shape,
                           std::integer_sequence<int, I...> products) {
    using Own = Share<static_cast<int>(sizeof...(I))>;
    const Own share(shape);
    const auto add = [&](int row, int place) KGEN_LAMBDA { return partial.add(row, place, shape.blocks); };
    emit_added<Whole, Own::own>(add, c, column, N, {share.first + thread_index(), share.end, Threads}, products);
  }

  // The same as the sink takes them.
  template <int Count, class Sums, class C, class Shape>
  KGEN_FN static void emit_tile(const Sums& partial, const C& c, int column, int N, const Shape& shape) {
    constexpr std::make_integer_sequence<int, Count> products;
    if (shape.lanes != Lanes::any) {
      emit<true>(partial, known<Lanes::whole_vectors>(c), column, N, shape, products);
    } else {
      emit<false>(partial, c, column, N, shape, products);
    }
  }
};

}  // namespace kgen::gpu

#endif

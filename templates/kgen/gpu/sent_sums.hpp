// Sums of a tile whose depth the blocks of a cluster share: each block sends what it has of them to those that give
// them to the sink.
#pragma once

#include "kgen/gpu/cluster_sums.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Room for the sums of one tile of Rows x Columns, of which a block gives the sink its share (ClusterResults): what all
// blocks of the cluster have of that comes to its shared memory from their registers, and an mbarrier counts the bytes.
// So no barrier of the cluster stands behind the sums: it would wait for all memory, and drop the first-level cache.
template <int Rows, int Columns, class Element>
class SentSums {
  // Those of a block alone lie in rows: 2 rows further and 1 column further are 32 different banks.
  static constexpr int pitch = Columns + 4, all = Rows * pitch;

 public:
  using Sum = Element;
  static constexpr std::int64_t shared() { return shared_bytes<Sum>(all) + shared_bytes<Mbarrier>(1); }

  // All threads of the block together.
  KGEN_FN SentSums(SharedMemory& memory, int blocks)
      : sums_(memory.take<Sum>(all)), arrived_(memory.take<Mbarrier>(1)), blocks_(blocks) {
    if (blocks_ == 1) return;
    if (thread_index() == 0) {
      arrived_->init(1);
      publish_mbarriers();
    }
    begin_.arrive();
  }
  // All threads: before they send sums, or leave. Other blocks have begun.
  KGEN_FN void await_others() const {
    if (blocks_ == 1) return;
    begin_.wait();
  }

  // Those of a tile of `Count` products.
  template <int Count>
  class Tile {
    static constexpr int own = Columns / Count, of_row = own / piece_lanes;
    using Share = PieceShare<of_row>;
    // Whole pieces, and room for shares that are rounded up.
    static_assert(Columns % Count == 0 && own % piece_lanes == 0 && Count * (most_cluster_blocks - 1) <= Rows);

   public:
    using Sum = Element;
    static constexpr int rows = Rows;

    KGEN_FN explicit Tile(const SentSums& to) : to_(to), blocks_(to.blocks_) {}

    // Threads that will put() their sums of so many rows, before they have them: divides while that takes no time. One
    // of them says how much is to come to this block.
    KGEN_FN void begin(int rows) {
      rows_ = rows;
      numbers_[0] = blocks_ == 1 ? rows * of_row : Share::each(rows, blocks_);
      const Share share = Share::of_each(numbers_[0], rows);
      numbers_[1] = share.first;
      numbers_[2] = share.end;
      settle(numbers_);
      if (blocks_ == 1) return;
      blocks_of_piece_[0] = 1.0f / static_cast<float>(each());
      settle(blocks_of_piece_);
      constexpr int bytes = Count * piece_lanes * static_cast<int>(sizeof(Sum));
      to_.await_others();
      if (thread_index() == 0) to_.arrived_->arrive_and_expect((share.end - share.first) * blocks_ * bytes);
    }
    // A warpgroup: its sums of 64 columns from `column` on, to where they are added up: as wgmma leaves them, with
    // columns for rows.
    KGEN_FN void put(const Sum (&sums)[Rows / 2], int column) const {
      const int thread = thread_index() % warpgroup_threads;
      std::int32_t first[2] = {thread % 4 * 2, column + thread / wave_size * 16 + thread % wave_size / 4};
      settle(first);  // or where all of them belong would be found before a block's first loads
      if (blocks_ == 1) {
        KGEN_UNROLL
        for (int i = 0; i < Rows / 2; ++i) {
          to_.sums_[(first[0] + row_of(i)) * pitch + first[1] + i / 2 % 2 * 8] = sums[i];
        }
      } else {
        KGEN_UNROLL
        for (int i = 0; i < Rows / 2; ++i) {
          if (row_of(i) < rows_) send(sums[i], first[0] + row_of(i), first[1] + i / 2 % 2 * 8);  // of all threads alike
        }
      }
    }
    // Waits for what all blocks send, where they share the tile.
    KGEN_FN void await() const {
      if (blocks_ == 1) return;
      to_.arrived_[0].wait(0);
    }
    template <int>
    KGEN_FN Share share(int, int) const {
      return {numbers_[1], numbers_[2]};
    }
    // ClusterSums::add().
    template <int W, int Runs>
    KGEN_FN void add(Vec<Sum, W> (&sums)[Runs], int count, const int (&rows)[Runs], const int (&places)[Runs],
                     int) const {
      const Sum* from[Runs];
      KGEN_UNROLL
      for (int run = 0; run < Runs; ++run) {
        const int piece = rows[run] * of_row + places[run] % own / piece_lanes - numbers_[1];
        from[run] = to_.sums_ + (blocks_ == 1 ? rows[run] * pitch + places[run] : at(0, piece, places[run]));
        sums[run] = Vec<Sum, W>(0);
      }
      KGEN_NO_UNROLL
      for (int block = 0; block < blocks_; ++block) {
        KGEN_UNROLL
        for (int run = 0; run < Runs; ++run) {
          if (run >= count) continue;
          const auto words = load_block<W * sizeof(Sum)>(from[run] + block * (Count * each() * piece_lanes), Access{});
          Sum lanes[W];
          memcpy(lanes, &words, sizeof(words));
          sums[run] = sums[run] + load_lanes<W>(lanes);
        }
      }
    }

   private:
    KGEN_FN int each() const { return numbers_[0]; }
    // Where a block has what another one sends of a piece of its share, in that column of the tile.
    KGEN_FN int at(int block, int piece, int column) const {
      return ((block * Count + column / own) * each() + piece) * piece_lanes + column % piece_lanes;
    }
    KGEN_FN static constexpr int row_of(int sum) { return sum / 4 * 8 + sum % 2; }
    KGEN_FN void send(Sum sum, int row, int column) const {
      const int piece = row * of_row + column % own / piece_lanes;
      // A division: of so few pieces it is never as far off as half of the next one.
      const int block = static_cast<int>((static_cast<float>(piece) + 0.5f) * blocks_of_piece_[0]);
      Sum* place = to_.sums_ + at(cluster_rank(), piece - block * each(), column);
      send_where(row < rows_, place, sum, *to_.arrived_, block);
    }

    const SentSums& to_;
    int rows_ = 0, blocks_;
    std::int32_t numbers_[3] = {};  // of pieces: those of each block, and the first and the end of this one's
    float blocks_of_piece_[1] = {};
  };

 private:
  Sum* sums_;
  Mbarrier* arrived_;
  int blocks_;
  ClusterBegin begin_;
};

}  // namespace kgen::gpu

#endif

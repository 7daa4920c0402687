// What parts of the keys give for the rows of queries of a head of keys, and how that is put together: by waves in a
// block's shared memory, and by the blocks of a cluster, which send each other what they have.
#pragma once

#include <limits>

#include "kgen/gpu/arithmetic.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

inline constexpr int skinny_attention_rows = 16;

// Of one row and 4 elements: the sum of values by weights 2^(score - maximum), and the weights' sum.
struct AttendedPiece {
  static constexpr int lanes = 4;
  Vec<float, lanes> sum{0};
  float maximum = -std::numeric_limits<float>::infinity(), total = 0;

  // Several put together, always in their order: read(i) of `count`, AtOnce of them on their way.
  template <int AtOnce, class Read>
  KGEN_FN static AttendedPiece together(int count, const Read& read) {
    AttendedPiece all;
    KGEN_NO_UNROLL
    for (int first = 0; first < count; first += AtOnce) {
      AttendedPiece parts[AtOnce];
      KGEN_UNROLL
      for (int i = 0; i < AtOnce; ++i) {
        parts[i] = read(first + i < count ? first + i : count - 1);
        if (first + i >= count) parts[i].total = 0;
      }
      all.add(parts);
    }
    return all;
  }
  KGEN_FN Vec<float, lanes> mean() const { return sum * Vec<float, lanes>(total == 0 ? 0.0f : divide(1.0f, total)); }

 private:
  template <int Count>
  KGEN_FN void add(const AttendedPiece (&parts)[Count]) {
    float top = maximum;
    KGEN_UNROLL
    for (const AttendedPiece& part : parts) top = part.total == 0 ? top : greater(top, part.maximum);
    const float subtract = top == -std::numeric_limits<float>::infinity() ? 0.0f : top;
    const float earlier = power_of_two(maximum - subtract);
    sum = sum * Vec<float, lanes>(earlier);
    total *= earlier;
    maximum = top;
    KGEN_UNROLL
    for (const AttendedPiece& part : parts) {
      if (part.total == 0) continue;  // no keys, or none that counts: its sums may be anything
      const float weight = power_of_two(part.maximum - subtract);
      total = fmaf(part.total, weight, total);
      sum = sum + part.sum * Vec<float, lanes>(weight);
    }
  }
};

// The same of all rows and elements, in shared memory.
template <int Width>
struct AttendedKeys {
  static constexpr int pitch = Width + 4;  // rows begin in different banks
  float sums[skinny_attention_rows * pitch], maximum[skinny_attention_rows], total[skinny_attention_rows];

  KGEN_FN void put(int row, int d, const float (&four)[AttendedPiece::lanes]) {
    Block<16> block;
    memcpy(&block, four, sizeof(block));
    store_shared(sums + row * pitch + d, block);
  }
  KGEN_FN AttendedPiece piece(int row, int d) const {
    const Block<16> words = load_block<16>(sums + row * pitch + d, Access{});
    float four[AttendedPiece::lanes];
    memcpy(four, &words, sizeof(four));
    AttendedPiece piece;
    piece.sum = load_lanes<AttendedPiece::lanes>(four);
    piece.maximum = maximum[row];
    piece.total = total[row];
    return piece;
  }
};

// Room for what the blocks of a cluster have each of a tile's pieces: a block gets its share of them from all, from
// their registers, and an mbarrier counts the bytes, so that no barrier of the cluster stands behind the keys
// (sent_sums.hpp). It is used once.
template <int Width>
class SentPieces {
  static constexpr int words = AttendedPiece::lanes + 2;  // of a piece
  static constexpr int of_row = Width / AttendedPiece::lanes;
  static constexpr int most = skinny_attention_rows * of_row + most_cluster_blocks;  // shares are rounded up

 public:
  static constexpr std::int64_t shared() { return shared_bytes<float>(words * most) + shared_bytes<Mbarrier>(1); }

  // All threads of the block together.
  KGEN_FN SentPieces(SharedMemory& memory, int blocks)
      : words_(memory.take<float>(words * most)), arrived_(memory.take<Mbarrier>(1)), blocks_(blocks) {
    if (thread_index() == 0) {
      arrived_[0].init(1);
      publish_mbarriers();
    }
    begin_.arrive();
  }
  // All threads, long before they send pieces of so many rows: other blocks have begun, and what this one's first
  // thread made of mbarriers is there. It says how much is to come to this block.
  KGEN_FN void begin(int rows) {
    const int all = rows * of_row;
    numbers_[0] = (all + blocks_ - 1) / blocks_;
    const int begin = cluster_rank() * each();
    numbers_[1] = begin < all ? begin : all;
    numbers_[2] = first() + each() < all ? first() + each() : all;
    blocks_of_piece_[0] = divide(1.0f, static_cast<float>(each()));
    settle(numbers_);
    settle(blocks_of_piece_);
    begin_.wait();
    constexpr int bytes = words * static_cast<int>(sizeof(float));
    if (blocks_ > 1 && thread_index() == 0) arrived_[0].arrive_and_expect((end() - first()) * blocks_ * bytes);
  }
  KGEN_FN void send(int number, const AttendedPiece& piece) const {
    // A division: of so few pieces it is never as far off as half of the next one.
    const int block = static_cast<int>((static_cast<float>(number) + 0.5f) * blocks_of_piece_[0]);
    float all[words];
    store_lanes(all, piece.sum);
    all[words - 2] = piece.maximum;
    all[words - 1] = piece.total;
    float* to = words_ + cluster_rank() * each() + (number - block * each());
    KGEN_UNROLL
    for (int word = 0; word < words; ++word) send_where(true, to + word * distance(), all[word], *arrived_, block);
  }
  // What all blocks have sent of this one's pieces: act(number, piece), by `threads` threads.
  template <class Act>
  KGEN_FN void for_each(int threads, const Act& act) const {
    if (first() + thread_index() >= end()) return;
    arrived_[0].wait(0);
    KGEN_NO_UNROLL
    for (int number = first() + thread_index(); number < end(); number += threads) {
      const auto read = [&](int block) KGEN_LAMBDA {
        const float* from = words_ + block * each() + (number - first());
        float all[words];
        KGEN_UNROLL
        for (int word = 0; word < words; ++word) all[word] = from[word * distance()];
        AttendedPiece piece;
        piece.sum = load_lanes<AttendedPiece::lanes>(all);
        piece.maximum = all[words - 2];
        piece.total = all[words - 1];
        return piece;
      };
      act(number, AttendedPiece::together<most_cluster_blocks>(blocks_, read));
    }
  }

 private:
  KGEN_FN int each() const { return numbers_[0]; }
  KGEN_FN int first() const { return numbers_[1]; }
  KGEN_FN int end() const { return numbers_[2]; }
  KGEN_FN int distance() const { return blocks_ * each(); }  // of a piece's words

  float* words_;
  Mbarrier* arrived_;
  int blocks_;
  std::int32_t numbers_[3] = {};  // of pieces: those of each block, and the first and the end of this one's
  float blocks_of_piece_[1] = {};
  ClusterBegin begin_;
};

}  // namespace kgen::gpu

#endif

// Teams: the threads that compute one row together. Each has
//
//   rank(), size()              this thread's place in its team
//   index(), count()            the team's place in its block
//   blocks                      how many blocks it takes
//   combine<Reduction>(mine)    the partial results of all, combined in an order that does not vary, the same on every
//                               thread. All threads of a wave, of the block or of the cluster come here together
#pragma once

#include <type_traits>

#include "kgen/gpu/block.hpp"
#include "kgen/row_expression.hpp"

namespace kgen::gpu {

// Any value, passed as words: pass(word) for each.
template <class T, class Pass>
KGEN_FN T pass_words(const T& value, const Pass& pass) {
  static_assert(std::is_trivially_copyable_v<T>);
  constexpr int words = (sizeof(T) + 3) / 4;
  std::uint32_t passed[words] = {};
  memcpy(passed, &value, sizeof(T));
  KGEN_UNROLL
  for (int i = 0; i < words; ++i) passed[i] = pass(passed[i]);
  T result;
  memcpy(&result, passed, sizeof(T));
  return result;
}
template <class T>
KGEN_FN T shuffle_xor(const T& value, int distance, int width, Where where) {
  return pass_words(value, [=](std::uint32_t word) KGEN_LAMBDA { return shuffle_xor(word, distance, width, where); });
}
template <class T>
KGEN_FN T shuffle_from(const T& value, int lane, int width, Where where) {
  return pass_words(value, [=](std::uint32_t word) KGEN_LAMBDA { return shuffle_from(word, lane, width, where); });
}

// The partial results of `count` neighbouring lanes, a power of two, combined: the same bits in every one of them,
// since the lower lane's always stands first, or may stand anywhere. Lanes of each `group` come here together.
template <class Reduction, class Partial>
KGEN_FN Partial combine_lanes_of(int group, Partial mine, int count, Where where = Where::here()) {
  KGEN_UNROLL
  for (int distance = 1; distance < wave_size; distance *= 2) {
    if (distance >= count) break;
    const Partial other = shuffle_xor(mine, distance, group, where);
    if constexpr (Symmetric<Reduction>) {
      mine = Reduction::combine(mine, other);
    } else {
      const bool upper = (thread_index() & distance) != 0;
      mine = Reduction::combine(upper ? other : mine, upper ? mine : other);
    }
  }
  return mine;
}
template <class Reduction, class Partial>
KGEN_FN Partial combine_lanes(const Partial& mine, int count, Where where = Where::here()) {
  return combine_lanes_of<Reduction>(count, mine, count, where);
}

// `Lanes` neighbours within a wave.
template <int Lanes>
struct WaveTeam {
  static constexpr int most_threads = 256;              // of a block
  static constexpr int least_size = Lanes, blocks = 1;
  static constexpr std::int64_t shared() { return 0; }  // bytes that a block's teams need

  WaveTeam() = default;
  KGEN_FN explicit WaveTeam(SharedMemory&) {}
  KGEN_FN int rank() const { return thread_index() % Lanes; }
  KGEN_FN int size() const { return Lanes; }
  KGEN_FN int index() const { return thread_index() / Lanes; }
  KGEN_FN int count() const { return block_threads() / Lanes; }
  template <class Reduction, class Partial>
  KGEN_FN Partial combine(const Partial& mine) {
    return combine_lanes<Reduction>(mine, Lanes);
  }
};

// A place in memory for a partial result of any reduction. Accesses are those of its type: nvcc copies bytes otherwise.
struct alignas(16) PartialSlot {
  unsigned char bytes[32];

  template <class Partial>
  KGEN_FN Partial& as() {
    static_assert(sizeof(Partial) <= sizeof(bytes) && alignof(Partial) <= 16 && std::is_trivially_copyable_v<Partial>);
    return *reinterpret_cast<Partial*>(bytes);
  }
};

// A whole block of `Threads`; 0 where the launch chooses, and then a power of two of waves.
template <int Threads = 0>
class BlockTeam {
 public:
  static constexpr int most_threads = Threads == 0 ? 512 : Threads, least_size = Threads == 0 ? 64 : Threads;
  static constexpr int blocks = 1;
  static constexpr int most_waves = most_threads / 32;
  static constexpr std::int64_t shared() { return Banks<PartialSlot, most_waves>::shared(); }

  KGEN_FN explicit BlockTeam(SharedMemory& memory) : banks_(memory) {}
  KGEN_FN int rank() const { return thread_index(); }
  KGEN_FN int size() const { return Threads == 0 ? block_threads() : Threads; }
  KGEN_FN int index() const { return 0; }
  KGEN_FN static constexpr int count() { return 1; }
  template <class Reduction, class Partial>
  KGEN_FN Partial combine(const Partial& mine) {
    PartialSlot* bank = banks_.next();
    const unsigned thread = static_cast<unsigned>(thread_index());
    const int waves = size() / wave_size;
    const Partial of_wave = combine_lanes<Reduction>(mine, wave_size);
    {
      const BlockPhase writing;
      if (thread % wave_size == 0) bank[thread / wave_size].template as<Partial>() = of_wave;
    }
    if constexpr (in_turn) {
      Partial total = bank[0].template as<Partial>();
      KGEN_UNROLL
      for (int i = 1; i < waves; ++i) total = Reduction::combine(total, bank[i].template as<Partial>());
      return total;
    } else {
      const unsigned slot = thread % wave_size & static_cast<unsigned>(waves - 1);
      return combine_lanes_of<Reduction>(wave_size, bank[slot].template as<Partial>(), waves);
    }
  }

 private:
  static_assert(Threads % 64 == 0, "whole waves");
  // A slot that all read at once comes sooner than a shuffle: a few are combined one after the other.
  static constexpr bool in_turn = Threads != 0 && (Threads <= 8 * wave_size || (Threads & (Threads - 1)) != 0);

  Banks<PartialSlot, most_waves> banks_;
};

// All blocks of a cluster, whose threads number `Threads` in each (0: as the launch chooses).
template <int Blocks, int Threads = 0>
class ClusterTeam {
  using Part = BlockTeam<Threads>;

 public:
  static constexpr int most_threads = Part::most_threads, least_size = Blocks * Part::least_size, blocks = Blocks;
  static constexpr std::int64_t shared() { return Part::shared() + Banks<PartialSlot, 1>::shared(); }

  KGEN_FN explicit ClusterTeam(SharedMemory& memory) : part_(memory), banks_(memory) {}
  KGEN_FN int rank() const { return cluster_rank() * part_.size() + part_.rank(); }
  KGEN_FN int size() const { return Blocks * part_.size(); }
  KGEN_FN int index() const { return 0; }
  KGEN_FN static constexpr int count() { return 1; }
  template <class Reduction, class Partial>
  KGEN_FN Partial combine(const Partial& mine) {
    const Partial of_block = part_.template combine<Reduction>(mine);
    PartialSlot* slot = banks_.next();
    {
      const ClusterPhase writing;
      if (part_.rank() == 0) slot->template as<Partial>() = of_block;
    }
    // A block's for each lane: one access of the other blocks' memory for all of them.
    const Partial of_other = cluster_shared(slot, thread_index() % Blocks)->template as<Partial>();
    return combine_lanes_of<Reduction>(wave_size, of_other, Blocks);
  }

 private:
  static_assert((Blocks & (Blocks - 1)) == 0);

  ClusterStay stay_;  // while others read this block's memory
  Part part_;
  Banks<PartialSlot, 1> banks_;
};

// The threads of a block that are `width` apart, so that neighbours compute neighbouring rows: for rows that lie across
// memory.
class ColumnTeam {
 public:
  static constexpr int width = 32, segments = 8, threads = width * segments, most_threads = threads, blocks = 1;
  static constexpr std::int64_t shared() { return Banks<PartialSlot, threads>::shared(); }

  KGEN_FN explicit ColumnTeam(SharedMemory& memory) : banks_(memory) {}
  KGEN_FN int rank() const { return thread_index() / width; }
  KGEN_FN int size() const { return segments; }
  KGEN_FN int index() const { return thread_index() % width; }
  KGEN_FN static constexpr int count() { return width; }
  template <class Reduction, class Partial>
  KGEN_FN Partial combine(const Partial& mine) {
    PartialSlot* bank = banks_.next();
    {
      const BlockPhase writing;
      bank[thread_index()].template as<Partial>() = mine;
    }
    Partial total = bank[index()].template as<Partial>();
    for (int segment = 1; segment < segments; ++segment) {
      total = Reduction::combine(total, bank[segment * width + index()].template as<Partial>());
    }
    return total;
  }

 private:
  Banks<PartialSlot, threads> banks_;
};

}  // namespace kgen::gpu

// What the threads of a block share, and how they keep step.
#pragma once

#include "kgen/gpu/device.hpp"

namespace kgen::gpu {

// What each thread of a kernel that launch_early() launches does before it writes memory, or reads any but what is
// lasting (Access): waits for what is ahead of it on its stream. The kernel behind it may find places once all blocks
// have left or, with `allows`, have come this far. Some blocks allow_next() sooner or later: as the kernel behind waits
// for this one, which waits for what is ahead of it, that does not change what it sees.
KGEN_FN void take_turn(bool allows = false) {
  await_earlier();
  if (allows) allow_next();
}

// Whether blocks that read and write so many bytes should allow it: an H200 takes them one by one, 1.2 ns each.
KGEN_FN constexpr bool should_allow_next(std::int64_t block_bytes) { return block_bytes >= 8 * 1024; }

// A scope that all threads of the block leave together: what they wrote to shared memory in it, all may read behind it,
// and what they read in it, all may overwrite.
class BlockPhase {
 public:
  KGEN_FN explicit BlockPhase(Where where = Where::here()) : where_(where) {}
  KGEN_FN ~BlockPhase() { block_barrier(where_); }
  BlockPhase(const BlockPhase&) = delete;
  BlockPhase& operator=(const BlockPhase&) = delete;

 private:
  Where where_;
};

// The same for the lanes of a wave.
class WavePhase {
 public:
  KGEN_FN explicit WavePhase(Where where = Where::here()) : where_(where) {}
  KGEN_FN ~WavePhase() { wave_barrier(where_); }
  WavePhase(const WavePhase&) = delete;
  WavePhase& operator=(const WavePhase&) = delete;

 private:
  Where where_;
};

// The same for all threads of all blocks of a cluster.
class ClusterPhase {
 public:
  KGEN_FN explicit ClusterPhase(Where where = Where::here()) : where_(where) {}
  KGEN_FN ~ClusterPhase() { cluster_barrier(where_); }
  ClusterPhase(const ClusterPhase&) = delete;
  ClusterPhase& operator=(const ClusterPhase&) = delete;

 private:
  Where where_;
};

// A scope that no thread leaves while another thread of the cluster is in it.
class ClusterStay {
 public:
  KGEN_FN explicit ClusterStay(Where where = Where::here()) : where_(where) {}
  KGEN_FN ~ClusterStay() { cluster_wait(where_); }
  ClusterStay(const ClusterStay&) = delete;
  ClusterStay& operator=(const ClusterStay&) = delete;

 private:
  Where where_;
};

// That all blocks of a cluster have begun: each thread says so, and waits for it later, both once.
class ClusterBegin {
 public:
  KGEN_FN void arrive(Where where = Where::here()) const { cluster_arrive(where); }
  KGEN_FN void wait(Where where = Where::here()) const { cluster_await(where); }
};

// The bytes of shared memory that `count` elements take: pieces begin at multiples of 16.
template <class T>
KGEN_FN constexpr std::int64_t shared_bytes(std::int64_t count) {
  return (count * static_cast<std::int64_t>(sizeof(T)) + 15) / 16 * 16;
}

// Hands out the block's shared memory piece by piece: as many bytes in all as its launch asked for. Every thread takes
// the same pieces. The memory begins at a multiple of 1024 bytes.
class SharedMemory {
 public:
  template <class T>
  KGEN_FN T* take(std::int64_t count) {
    constexpr std::int64_t alignment = alignof(T);
    taken_ = (taken_ + alignment - 1) / alignment * alignment;
    T* piece = reinterpret_cast<T*>(dynamic_shared() + taken_);
    taken_ += shared_bytes<T>(count);
#if defined(KGEN_SIMT)
    simt::require_shared(static_cast<std::size_t>(taken_));
#endif
    return piece;
  }

 private:
  std::int64_t taken_ = 0;
};

// Two banks of `Count` slots in shared memory that take turns, one for each meeting of the threads, so that one barrier
// a meeting is enough: nobody writes to a bank again before everybody has left the meeting that read it.
template <class Slot, int Count>
class Banks {
 public:
  static constexpr std::int64_t shared() { return shared_bytes<Slot>(2 * Count); }

  KGEN_FN explicit Banks(SharedMemory& memory) : slots_(memory.take<Slot>(2 * Count)) {}
  KGEN_FN Slot* next() { return slots_ + meetings_++ % 2 * Count; }

 private:
  Slot* slots_;
  unsigned meetings_ = 0;
};

}  // namespace kgen::gpu

// A ring of stages in shared memory, between what fills them and the warps that read them: one thread by the copy
// engine, other warps beside it or not, or a warpgroup.
#pragma once

#include <type_traits>

#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// By whom a stage is filled: the copy engine, warps that write for the tensor cores, or such as write for warps alone.
enum class Filler { engine, copies, joins };

// What is acquired is released: a stage is Filling until all that fills it has come, then Reading for as long as
// each of the reading warps holds it, then free for what comes next. Each thread counts the stages for itself.
// FillingThreads: 1, which has the copy engine bring `bytes` of a stage, or so many that write it. Blocks: of a cluster,
// which bring some of each stage for all of them: it is free when the reading warps of all have let go of it. They fill
// and read as many. JoiningWarps: others that write what the engine does not bring of each stage, and the tensor cores
// do not read.
template <class Stage, int Stages, int FillingThreads, int Blocks = 1, int JoiningWarps = 0>
class TilePipeline {
  static constexpr bool by_engine = FillingThreads == 1;
  static_assert(by_engine || Blocks == 1);

 public:
  static constexpr int stages = Stages;
  static constexpr std::int64_t shared() {
    constexpr std::int64_t alignment = alignof(Stage);
    const std::int64_t bytes = shared_bytes<Stage>(Stages) + 2 * shared_bytes<Mbarrier>(Stages);
    return (bytes + alignment - 1) / alignment * alignment;
  }

  // All threads of the block together. The engine brings so many bytes of each stage; else so many warps write it.
  KGEN_FN TilePipeline(SharedMemory& memory, int reading_warps, int bytes = static_cast<int>(sizeof(Stage)),
                       int filling_warps = FillingThreads / wave_size)
      : bytes_(bytes),
        stages_(memory.take<Stage>(Stages)),
        full_(memory.take<Mbarrier>(Stages)),
        empty_(memory.take<Mbarrier>(Stages)) {
    const std::conditional_t<Blocks == 1, BlockPhase, ClusterPhase> making;
    if (thread_index() == 0) {
      for (int i = 0; i < Stages; ++i) {
        full_[i].init((by_engine ? 1 : filling_warps) + JoiningWarps);
        empty_[i].init(Blocks * reading_warps);
      }
      publish_mbarriers();
    }
  }

  // A free stage. It is full when all have let go of it, and the engine has brought it.
  template <Filler By>
  class FillingBy {
   public:
    KGEN_FN FillingBy(Stage& stage, Mbarrier& full) : stage_(stage), full_(full) {}
    KGEN_FN FillingBy(Stage& stage, Mbarrier& full, int bytes) : FillingBy(stage, full) {
      if constexpr (By == Filler::engine) full_.arrive_and_expect(bytes);
    }
    KGEN_FN ~FillingBy() {
      if constexpr (By != Filler::engine) {
        if constexpr (By == Filler::copies) fence_async_proxy();
        wave_barrier();
        if (thread_index() % wave_size == 0) full_.arrive();
      }
    }
    FillingBy(const FillingBy&) = delete;
    FillingBy& operator=(const FillingBy&) = delete;
    KGEN_FN Stage* operator->() const { return &stage_; }
    KGEN_FN Mbarrier& arrival() const { return full_; }

   private:
    Stage& stage_;
    Mbarrier& full_;
  };
  using Filling = FillingBy<by_engine ? Filler::engine : Filler::copies>;
  using Joining = FillingBy<Filler::joins>;

  // A full stage, given back when this goes.
  class Reading {
   public:
    Reading() = default;
    KGEN_FN Reading(const Stage& stage, Mbarrier& empty) : stage_(&stage), empty_(&empty) {}
    KGEN_FN Reading(Reading&& other) : stage_(other.stage_), empty_(other.empty_) { other.empty_ = nullptr; }
    KGEN_FN Reading& operator=(Reading&& other) {
      release();
      stage_ = other.stage_;
      empty_ = other.empty_;
      other.empty_ = nullptr;
      return *this;
    }
    KGEN_FN ~Reading() { release(); }
    KGEN_FN const Stage* operator->() const { return stage_; }
    KGEN_FN const Stage& operator*() const { return *stage_; }

   private:
    KGEN_FN void release() {
      const int lane = thread_index() % wave_size;
      if (empty_ == nullptr || lane >= Blocks) return;
      if constexpr (Blocks == 1) {
        empty_->arrive();
      } else {
        empty_->arrive_at(lane);
      }
    }

    const Stage* stage_ = nullptr;
    Mbarrier* empty_ = nullptr;
  };

  KGEN_FN Filling fill() {
    empty_[slot_].wait(phase_ ^ 1);
    const int slot = next();
    return Filling(stages_[slot], full_[slot], bytes_);
  }
  // One of the stages that the first fill()s of all gave, by its number: more of what the engine is to bring there.
  KGEN_FN Filling filling(int number) const { return Filling(stages_[number], full_[number]); }
  // By each of the joining warps, for each stage.
  KGEN_FN Joining join() {
    empty_[slot_].wait(phase_ ^ 1);
    const int slot = next();
    return Joining(stages_[slot], full_[slot], 0);
  }
  KGEN_FN Reading read() {
    full_[slot_].wait(phase_);
    const int slot = next();
    return Reading(stages_[slot], empty_[slot]);
  }
  // At last, until all stages are free: by a block's filling thread where there are several blocks, of which others
  // arrive here, and the block stays.
  KGEN_FN void drain() {
    KGEN_NO_UNROLL
    for (int i = 0; i < Stages; ++i) {
      empty_[slot_].wait(phase_ ^ 1);
      next();
    }
  }

 private:
  KGEN_FN int next() {
    const int slot = slot_;
    if (++slot_ == Stages) {
      slot_ = 0;
      phase_ ^= 1;
    }
    return slot;
  }

  int bytes_;
  Stage* stages_;
  Mbarrier *full_, *empty_;
  int slot_ = 0;
  unsigned phase_ = 0;  // the parity of the phase in which that slot becomes full
};

}  // namespace kgen::gpu

#endif

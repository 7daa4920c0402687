// A ring of stages in shared memory that the threads of a block fill and read together: copies to one stage go on while
// another is read.
#pragma once

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/matrix_cores.hpp"

namespace kgen::gpu {

// All threads of the block take the same steps, of which each is read() of a stage and then fill() of what is read so
// many steps `ahead`. In front of the first step fill() is called for what these begin with. What is acquired is
// released: a stage is being filled for as long as its Filling lives. It is read until the next read().
template <class Stage, int Stages>
class CopyPipeline {
 public:
  static constexpr int ahead = Stages - 1;
  static constexpr std::int64_t shared() { return shared_bytes<Stage>(Stages); }

  KGEN_FN explicit CopyPipeline(Stage* stages) : stages_(stages) {}

  // What begins to come when this is made, and has been put in its place when it goes: copies by then may be on their
  // way. Loads: their begin<Whole>(stage, k) and end<Whole>(stage).
  template <bool Whole, class Loads>
  class Filling {
   public:
    KGEN_FN Filling(Stage& stage, Loads& loads, std::int64_t k) : stage_(stage), loads_(loads) {
      loads.template begin<Whole>(stage, k);
    }
    KGEN_FN ~Filling() {
      loads_.template end<Whole>(stage_);
      commit_copies();
    }
    Filling(const Filling&) = delete;
    Filling& operator=(const Filling&) = delete;

   private:
    Stage& stage_;
    Loads& loads_;
  };

  // The stage that nobody reads any more, with what `loads` brings of the depth from k on.
  template <bool Whole, class Loads>
  KGEN_FN Filling<Whole, Loads> fill(Loads& loads, std::int64_t k) {
    return Filling<Whole, Loads>(stages_[next(filled_)], loads, k);
  }
  // The stage that was filled first.
  KGEN_FN const Stage& read() {
    {
      const BlockPhase coming;
      await_copies<ahead - 1>();
    }
    return stages_[next(read_)];
  }

 private:
  KGEN_FN static int next(int& slot) {
    const int own = slot;
    slot = slot + 1 == Stages ? 0 : slot + 1;
    return own;
  }

  Stage* stages_;
  int filled_ = 0, read_ = 0;
};

}  // namespace kgen::gpu

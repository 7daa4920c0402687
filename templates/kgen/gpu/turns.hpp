// Warpgroups that do not all want the tensor cores at once.
#pragma once

#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Some warpgroups that have the tensor cores in turn. What one takes it passes to the next.
template <int Count>
class Turns {
 public:
  static constexpr std::int64_t shared() { return NamedBarriers<Count>::shared(); }

  // All threads of the block together. `number`: of this warpgroup, from 0 on; 0 has the first turn.
  KGEN_FN Turns(SharedMemory& memory, int number) : turns_(memory), own_(number) {
    if (number == Count - 1) turns_.arrive(0);
  }
  KGEN_FN void take() {
    turns_.wait(own_);  // for time alone
  }
  KGEN_FN void pass() { turns_.arrive(own_ + 1 < Count ? own_ + 1 : 0); }

 private:
  NamedBarriers<Count> turns_;
  int own_;
};

}  // namespace kgen::gpu

#endif

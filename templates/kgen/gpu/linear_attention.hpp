// Linear attention on a GPU: a thread for each column of a head's state.
#pragma once

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/view.hpp"

namespace kgen::gpu {

// Few, since columns are: those of 32 heads of 128 keep 64 multiprocessors busy.
inline constexpr int state_threads = 64;

template <class Columns>
KGEN_GLOBAL(state_threads, 8)
linear_attention_kernel(Columns columns) {
  take_turn();
  const Index<4> shape = columns.state.shape();
  const Index<3> places{shape[0], shape[1], shape[3]};
  const std::int64_t count = element_count(places);
  const std::int64_t first = block_index() * block_threads() + thread_index();
  for (std::int64_t number = first; number < count; number += block_count() * block_threads()) {
    const Index<3> at = unflatten(number, places);
    columns.template walk<1>(at[0], at[1], at[2]);
  }
}

template <class Columns>
void walk_columns(const Columns& columns, Stream stream) {
  const Index<4> shape = columns.state.shape();
  const std::int64_t count = shape[0] * shape[1] * shape[3];
  if (count == 0) return;
  const std::int64_t blocks = blocks_for((count + state_threads - 1) / state_threads, state_threads);
  launch_early(Grid{"linear_attention", blocks, state_threads, 0}, stream, linear_attention_kernel<Columns>, columns);
}

}  // namespace kgen::gpu

// Row states on a GPU, made by a launch ahead of the kernel whose sinks use them. Waves of that kernel's own that made
// those of their block's rows took longer, of a single row too: they wait for the rows when weights are already there
// (tests/bench/MATMUL_KERNELS.md).
#pragma once

#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/memory_row.hpp"
#include "kgen/gpu/rows.hpp"
#include "kgen/several.hpp"

namespace kgen::gpu {

// What the sinks of a call use of a row.
template <class C>
using sink_row_state_t = row_state_t<std::remove_cvref_t<decltype(rows_of(std::declval<const C&>()))>,
                                     MemoryRow<2, 1, 1, 4, WaveTeam<wave_size>>>;

// A row program that stores what another one returns.
template <class Program>
struct StoredRowStates {
  Program program;
  View<float, 2> states;  // [rows, numbers]

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto made = program(row);
    KGEN_UNROLL
    for (int i = 0; i < made.count; ++i) row.store_scalar(states.template slice<1>(i, 1), made.values[i]);
  }
};

// body(sinks, stream) with the sinks `c`, which know the numbers of all their rows, made by a launch. The stream's
// memory is theirs meanwhile.
template <class C, class Body>
void with_row_states(const C& c, Stream stream, const Body& body) {
  using State = sink_row_state_t<C>;
  const auto& program = rows_of(c);
  const Index<2> shape = program.shape();
  const Workspace memory(shape[0] * static_cast<std::int64_t>(sizeof(State)), stream);
  auto* states = reinterpret_cast<State*>(memory.data());
  const View<float, 2> numbers(reinterpret_cast<float*>(states), Index<2>{shape[0], State::count});
  gpu::rows<1, 0>(shape, StoredRowStates<std::remove_cvref_t<decltype(program)>>{program, numbers}, stream);
  body(with_known_rows(c, static_cast<const State*>(states)), memory.stream());
}

}  // namespace kgen::gpu

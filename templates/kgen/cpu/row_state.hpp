// Row states on the CPU: made for all rows before the kernel begins.
#pragma once

#include <vector>

#include "kgen/cpu/rows.hpp"
#include "kgen/several.hpp"

namespace kgen::cpu {

// body(sinks) with the sinks `c`, which know the numbers of their rows while it runs.
template <class C, class Body>
void with_row_states(const C& c, Stream stream, const Body& body) {
  const auto& program = rows_of(c);
  using State = row_state_t<std::remove_cvref_t<decltype(program)>, Row<2, 1>>;
  const Index<2> shape = program.shape();
  std::vector<State> states(static_cast<std::size_t>(shape[0]));
  parallel_for(threads_for(stream, element_count(shape)), shape[0], [&](std::int64_t i) {
    Row<2, 1> row(shape, Index<1>{i}, Index<1>{}, Index<1>{shape[1]}, Team{}, nullptr, false);
    states[static_cast<std::size_t>(i)] = program(row);
  });
  body(with_known_rows(c, static_cast<const State*>(states.data())));
}

}  // namespace kgen::cpu

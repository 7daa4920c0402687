// Row states on a GPU: made by the waves of a kernel for the rows that its block stores, or by a launch ahead of it.
#pragma once

#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/memory_row.hpp"
#include "kgen/gpu/rows.hpp"
#include "kgen/several.hpp"

namespace kgen::gpu {

namespace detail {
// A wave goes over a row, `V` lanes of each thread at a time.
template <int V>
using WaveRow = MemoryRow<2, 1, V, (V > 1 ? 8 : 4), WaveTeam<wave_size>>;

template <int V, class Program>
KGEN_FN auto state_of_row(const Program& program, std::int64_t number) {
  WaveTeam<wave_size> team;
  const RowSharing alone;
  WaveRow<V> row(program.shape(), Index<1>{number}, number, 0, team, RowScratch{nullptr, 0, 1}, alone, false);
  return program(row);
}

template <class C>
struct StateOf {
  using Program = std::remove_cvref_t<decltype(rows_of(std::declval<const C&>()))>;
  using Type = row_state_t<Program, WaveRow<1>>;
};
}  // namespace detail

// What the sinks of a call use of a row.
template <class C>
using sink_row_state_t = typename detail::StateOf<C>::Type;

// The numbers of up to `Rows` rows in the shared memory of a block that gives results to one of the sinks `C`; nothing
// where these use none.
template <class C, int Rows>
class RowStates {
 public:
  static constexpr int waves = 0;
  static constexpr std::int64_t shared() { return 0; }
  KGEN_FN explicit RowStates(SharedMemory&) {}
  template <class S>
  KGEN_FN void make(const S&, int, int, int) const {}
  template <class S>
  KGEN_FN const S& known(const S& sink, int) const {
    return sink;
  }
};
template <class C, int Rows>
requires uses_rows<C>
class RowStates<C, Rows> {
  using State = sink_row_state_t<C>;

 public:
  static constexpr int waves = 2;  // of a block, that make them
  static constexpr std::int64_t shared() { return shared_bytes<State>(Rows); }
  KGEN_FN explicit RowStates(SharedMemory& memory) : states_(memory.take<State>(Rows)) {}

  // Wave number `wave` makes its part of those of the rows from `first` to `end`.
  template <class S>
  KGEN_FN void make(const S& sink, int first, int end, int wave) const {
    if constexpr (UsesRows<S>) {
      constexpr int width = vector_width<std::remove_cvref_t<decltype(sink.rows)>>();
      const bool whole = sink.rows.shape()[1] % width == 0;
      KGEN_NO_UNROLL
      for (int row = first + wave; row < end; row += waves) {
        const State state =
            whole ? detail::state_of_row<width>(sink.rows, row) : detail::state_of_row<1>(sink.rows, row);
        if (thread_index() % wave_size == 0) states_[row - first] = state;
      }
    }
  }
  // The sink, once the block has made what it stores rows from `first` on with.
  template <class S>
  KGEN_FN auto known(const S& sink, int first) const {
    if constexpr (UsesRows<S>) {
      return KnownRows<S, State>{sink, states_, first};
    } else {
      return sink;
    }
  }

 private:
  State* states_;
};

// The bytes that the row program of the sinks reads of each row.
template <class C>
std::int64_t bytes_of_row(const C& c) {
  std::int64_t bytes = 0;
  for_each_view(rows_of(c), [&]<class T, int R>(const View<T, R>& view) {
    bytes += view.extent(R - 1) * element_bits<std::remove_const_t<T>> / 8;
  });
  return bytes;
}

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
  stream.workspace = nullptr;
  body(with_known_rows(c, static_cast<const State*>(states)), stream);
}

}  // namespace kgen::gpu

// Sums of matrix products on their way from the registers of a wave, or of a warpgroup, to a sink: 8 lanes at a time,
// as far as the results go. And the order of tiles.
#pragma once

#include <bit>
#include <type_traits>
#include <utility>

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/layout.hpp"

namespace kgen::gpu {

// Tiles of rows x columns of a matrix, one after the other in bands of some rows of tiles: those that run at the same
// time read few rows and few columns.
struct TileOrder {
  int rows, columns, band = 16;

  KGEN_FN Index<2> operator()(int tile) const {
    const int first = tile / (band * columns) * band, height = rows - first < band ? rows - first : band;
    const int rest = tile - first * columns;
    return {first + rest % height, rest / height};
  }
};

// Two lanes whose numbers differ in `bit`: the lower one's `high` and the upper one's `low` change places.
template <class Sum>
KGEN_FN void exchange(Sum& low, Sum& high, int bit) {
  const bool upper = (thread_index() & bit) != 0;
  const Sum sent = upper ? low : high;
  const Sum got = std::bit_cast<Sum>(shuffle_xor(std::bit_cast<std::uint32_t>(sent), bit, wave_size, Where::here()));
  low = upper ? got : low;
  high = upper ? high : got;
}

// 4 lanes, `Apart` from one to the next, have each 2 neighbours in 4 groups of 8 columns, lanes[2 * group + i]:
// afterwards the i-th of them has what all 4 had of group i, lanes[2 * lane + ...]. So lanes of a quad, 1 apart, have 8
// columns of their row each; and of 4 quads whose rows are neighbours, 4 apart, 16 lanes have 32 neighbours of a row.
template <int Apart, class Sum>
KGEN_FN void transpose_pairs(Sum (&lanes)[8]) {
  KGEN_UNROLL
  for (int bit = 1; bit <= 2; bit *= 2) {
    KGEN_UNROLL
    for (int group = 0; group < 4; ++group) {
      if ((group & bit) != 0) continue;
      KGEN_UNROLL
      for (int i = 0; i < 2; ++i) exchange(lanes[2 * group + i], lanes[2 * (group + bit) + i], Apart * bit);
    }
  }
}

// Of a quad's row each lane has 8 of 32 neighbours: afterwards lane t of the wave has column t, of 8 rows.
template <class Sum>
KGEN_FN void turn_rows(Sum (&lanes)[8]) {
  const int lane = thread_index() % wave_size;
  KGEN_UNROLL
  for (int i = 0; i < 8; ++i) {  // rows of the same columns side by side
    const std::uint32_t word = std::bit_cast<std::uint32_t>(lanes[i]);
    lanes[i] = std::bit_cast<Sum>(shuffle_from(word, lane % 8 * 4 + lane / 8, wave_size, Where::here()));
  }
  KGEN_UNROLL
  for (int bit = 1; bit <= 4; bit *= 2) {
    KGEN_UNROLL
    for (int i = 0; i < 8; ++i) {
      if ((i & bit) == 0) exchange(lanes[i], lanes[i + bit], bit);
    }
  }
}

// Where results end in a tile.
enum class TileEnd {
  inside,   // nowhere, so that no branch keeps a sink's loads apart
  vectors,  // between two vectors of 8 columns, or below some row
  fours,    // between two vectors of 4
  anywhere,
};

// Sums on their way to a sink, in steps in which each thread has 8 columns of a row. A Layout says which of a thread's
// sums these are:
//   rows, columns              of results
//   steps                      that it takes to give all of them
//   sum(sums, step, lane)      one of those of a step, before gather()
//   gather(lanes)              the 8 lanes of this thread, of what it and others of its wave have
//   position(origin, step)     its row, and the first of its columns, where the first of all results is at `origin`
//   first_row(origin, step)    the first row that a thread of this wave has
//   is_of_quads                whether 4 neighbouring threads have 32 columns of a row, and a wave of 32 lanes 8 rows
template <class Layout, class Sum, int Count>
struct SumsInSteps {
  static constexpr int lanes = 8;
  static constexpr std::make_integer_sequence<int, Count> products{};
  using Lanes = Sum[Count][lanes];

  Index<2> origin, extents;  // of the first sum, and how far results go

  KGEN_FN Index<2> position(int step) const { return Layout::position(origin, step); }
  // Whether a step has results for any thread of this wave.
  KGEN_FN bool has_rows(int step) const { return Layout::first_row(origin, step) < extents[0]; }
  KGEN_FN static void gather(Lanes& own) {
    KGEN_UNROLL
    for (int product = 0; product < Count; ++product) Layout::gather(own[product]);
  }
  template <int W>
  KGEN_FN static Vec<Sum, W> run_of(const Sum (&own)[lanes], int first) {
    Sum run[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) run[i] = own[first + i];
    return load_lanes<W>(run);
  }
  // As far as the results go. ByPredicates: without a branch, of `vectors` too.
  template <TileEnd End, bool ByPredicates, class C, int... I>
  KGEN_FN void store_within(const C& c, Index<2> at, const Lanes& own, std::integer_sequence<int, I...>) const {
    const bool below = at[0] >= extents[0], behind = at[1] + lanes > extents[1];
    if constexpr (End == TileEnd::fours) {
      KGEN_UNROLL
      for (int first = 0; first < lanes; first += 4, at[1] += 4) {
        if (!below && at[1] < extents[1]) store_to(c, at, run_of<4>(own[I], first)...);
      }
    } else if constexpr (ByPredicates) {
      const Index<2> inside{below ? extents[0] - 1 : at[0], behind ? extents[1] - lanes : at[1]};
      store_to(stored_where(!below && !behind, c), inside, load_lanes<lanes>(own[I])...);
    } else if (End == TileEnd::inside || (!below && !behind)) {
      store_to(c, at, load_lanes<lanes>(own[I])...);
    } else if (End == TileEnd::anywhere) {
      store_in_turn<1>(c, at, own, products);
    }
  }
  // Pairs that transpose_pairs<4>() has turned, W lanes at a time.
  template <int W, class C, int... I>
  KGEN_FN void store_pairs(const C& c, int step, const Lanes& own, std::integer_sequence<int, I...>) const {
    Index<2> at = position(step);
    const int lane = thread_index() % wave_size;
    at[0] -= lane / 4 % 4;
    at[1] += lane / 4 % 4 * lanes - lane % 4 * (lanes - 2);
    KGEN_UNROLL
    for (int row = 0; row < 4; ++row, ++at[0]) {
      KGEN_UNROLL
      for (int first = 0; first < 2; first += W) {
        const Index<2> place{at[0], at[1] + first};
        if (place[0] < extents[0] && place[1] < extents[1]) store_to(c, place, run_of<W>(own[I], 2 * row + first)...);
      }
    }
  }
  // Rows that turn_rows() has turned, one by one, so that neighbouring threads have neighbours.
  template <class C, int... I>
  KGEN_FN void store_rows(const C& c, int step, const Lanes& own, std::integer_sequence<int, I...>) const {
    Index<2> at = position(step);
    const int lane = thread_index() % wave_size;
    at[0] -= lane / 4;
    at[1] += lane - lane % 4 * lanes;
    if (at[1] >= extents[1]) return;
    KGEN_NO_UNROLL
    for (int row = 0; row < 8 && at[0] < extents[0]; ++row, ++at[0]) {
      store_to(c, at, Vec<Sum, 1>(chosen(own[I], row))...);
    }
  }
  // W lanes at a time, as far as the results go.
  template <int W, class C, int... I>
  KGEN_FN void store_in_turn(const C& c, Index<2> at, const Lanes& own, std::integer_sequence<int, I...>) const {
    if (at[0] >= extents[0]) return;
    KGEN_NO_UNROLL
    for (int first = 0; first < lanes && at[1] < extents[1]; first += W, at[1] += W) {
      Sum some[Count][W] = {};
      KGEN_UNROLL
      for (int each = 0; each < lanes; ++each) {
        KGEN_UNROLL
        for (int product = 0; product < Count; ++product) {
          if (each < W || each / W * W == first) some[product][each % W] = own[product][each];
        }
      }
      store_to(c, at, load_lanes<W>(some[I])...);
    }
  }
};

// Whether there are registers for the loads of ends of tiles, where so many steps' are under way together.
template <int AtOnce>
inline constexpr bool has_registers = AtOnce >= 8;

// Gives the sink what a wave or a warpgroup has of `Count` products, whose first elements stand at `origin`, as far as
// `extents`. The sink's code stands here for each step; the loads of up to `AtOnce` steps may be under way together.
// dealt: threads have neighbours already (tile_io.hpp).
template <class Layout, TileEnd End, int AtOnce, class Sums, int Count, class C>
KGEN_FN void emit_in_steps(const Sums (&sums)[Count], const C& c, Index<2> origin, Index<2> extents,
                           bool dealt = false) {
  using Sum = std::remove_all_extents_t<Sums>;
  using Steps = SumsInSteps<Layout, Sum, Count>;
  const Steps steps{origin, extents};
  constexpr bool by_predicates = End == TileEnd::vectors && has_registers<AtOnce>;
  KGEN_UNROLL
  for (int step = 0; step < Layout::steps; ++step) {
    if (End != TileEnd::inside && !by_predicates && !steps.has_rows(step)) continue;
    Sum own[Count][Steps::lanes];
    KGEN_UNROLL
    for (int product = 0; product < Count; ++product) {
      KGEN_UNROLL
      for (int lane = 0; lane < Steps::lanes; ++lane) own[product][lane] = Layout::sum(sums[product], step, lane);
    }
    if (!dealt) Steps::gather(own);
    if (step % AtOnce == 0) wave_barrier();  // across which no load is moved
    steps.template store_within<End, by_predicates>(c, steps.position(step), own, Steps::products);
  }
}

// The same of lines that are no whole vectors of 8: by pairs of neighbours, so that the threads of half a wave write to
// one line; W lanes at a time, where the extents are multiples of it. By fours, a wave would write half of each piece
// of memory's lines at a time, and as often (tests/bench/MATMUL.md).
template <class Layout, int W, class Sums, int Count, class C>
KGEN_FN void emit_pairs(const Sums (&sums)[Count], const C& c, Index<2> origin, Index<2> extents) {
  using Sum = std::remove_all_extents_t<Sums>;
  using Steps = SumsInSteps<Layout, Sum, Count>;
  static_assert(Layout::is_of_quads && W <= 2);
  const Steps steps{origin, extents};
  KGEN_UNROLL
  for (int step = 0; step < Layout::steps; ++step) {
    if (!steps.has_rows(step)) continue;
    Sum own[Count][Steps::lanes];
    KGEN_UNROLL
    for (int product = 0; product < Count; ++product) {
      KGEN_UNROLL
      for (int lane = 0; lane < Steps::lanes; ++lane) own[product][lane] = Layout::sum(sums[product], step, lane);
    }
    KGEN_UNROLL
    for (int product = 0; product < Count; ++product) transpose_pairs<4>(own[product]);
    steps.template store_pairs<W>(c, step, own, Steps::products);
  }
}

// The same, but the sink's code, which may be long, stands here once, for W lanes: where the extents are multiples of
// it more than 1.
template <class Layout, int W, class Sums, int Count, class C>
KGEN_FN void emit_in_turn(const Sums (&sums)[Count], const C& c, Index<2> origin, Index<2> extents,
                          bool dealt = false) {
  using Sum = std::remove_all_extents_t<Sums>;
  using Steps = SumsInSteps<Layout, Sum, Count>;
  const Steps steps{origin, extents};
  KGEN_NO_UNROLL
  for (int step = 0; step < Layout::steps; ++step) {
    if (!steps.has_rows(step)) continue;
    Sum own[Count][Steps::lanes];
    KGEN_UNROLL
    for (int each = 0; each < Layout::steps; ++each) {
      KGEN_UNROLL
      for (int product = 0; product < Count; ++product) {
        KGEN_UNROLL
        for (int lane = 0; lane < Steps::lanes; ++lane) {
          if (each == 0 || each == step) own[product][lane] = Layout::sum(sums[product], each, lane);
        }
      }
    }
    if (!dealt) Steps::gather(own);
    if constexpr (W == 1 && Layout::is_of_quads) {
      KGEN_UNROLL
      for (int product = 0; product < Count; ++product) turn_rows(own[product]);
      steps.store_rows(c, step, own, Steps::products);
    } else {
      steps.template store_in_turn<W>(c, steps.position(step), own, Steps::products);
    }
  }
}

// What a launch says of a sink: whole vectors of 8 lanes, or where it has none, of 4, or of 2.
template <class C>
Lanes emitted_lanes(const C& c) {
  const Lanes lanes = whole_lanes(c, 8);
  if (lanes != Lanes::any) return lanes;
  if (whole_lanes(c, 4) != Lanes::any) return Lanes::whole_vectors;
  return whole_lanes(c, 2) != Lanes::any ? Lanes::whole_pairs : Lanes::any;
}

// Whether a sink's tiles at the ends of results go as those inside do: there are registers for it.
template <class C, class Layout, int AtOnce>
inline constexpr bool has_fast_ends = view_count<C> <= 2 ||
                                      (view_count<C> <= 4 && Layout::columns <= 192 && has_registers<AtOnce>);

// The same in whichever way suits a sink of which a launch has seen `lanes`. IsAlone: the kernel has no other sink.
// dealt: threads have neighbours already, of constant whole vectors.
template <class Layout, int AtOnce, bool IsAlone, class Sums, int Count, class C>
KGEN_FN void emit_tile(const Sums (&sums)[Count], const C& sink, Index<2> origin, Index<2> extents, Lanes lanes,
                       bool dealt = false) {
  // The loads of some steps of a short sink are under way together; those of a long one would find no registers.
  // Tiles at the ends of results may go the same way where the sink is alone.
  constexpr bool is_short = view_count<C> <= 4, is_shortest = view_count<C> <= 2 && IsAlone;
  const bool inside = origin[0] + Layout::rows <= extents[0] && origin[1] + Layout::columns <= extents[1];
  const bool constant = lanes == Lanes::constant_whole_vectors;
  if (is_short && constant && inside && (AtOnce > 1 || has_known_lines(sink))) {
    const auto emit = [&](const auto& known) KGEN_LAMBDA {
      emit_in_steps<Layout, TileEnd::inside, AtOnce>(sums, known, origin, extents, dealt);
    };
    if constexpr (AtOnce == 1) {  // few registers are left: loads must be few
      with_known_lines(sink, emit);
    } else {
      emit(known<Lanes::constant_whole_vectors>(sink));
    }
  } else if (IsAlone && has_fast_ends<C, Layout, AtOnce> && constant) {
    if (origin[0] >= extents[0]) return;
    emit_in_steps<Layout, TileEnd::vectors, AtOnce>(sums, known<Lanes::constant_whole_vectors>(sink), origin, extents,
                                                    dealt);
  } else if constexpr (is_shortest && Layout::is_of_quads) {
    if (has_fours(lanes) || lanes == Lanes::whole_pairs) {
      emit_pairs<Layout, 2>(sums, known<Lanes::whole_vectors>(sink), origin, extents);
    } else {
      emit_pairs<Layout, 1>(sums, known<Lanes::any>(sink), origin, extents);
    }
  } else if (has_fours(lanes)) {
    const auto& whole = known<Lanes::whole_vectors>(sink);
    if constexpr (is_shortest) {
      emit_in_steps<Layout, TileEnd::fours, AtOnce>(sums, whole, origin, extents, dealt);
    } else {
      emit_in_turn<Layout, 4>(sums, whole, origin, extents, dealt);
    }
  } else {
    emit_in_turn<Layout, 1>(sums, known<Lanes::any>(sink), origin, extents);
  }
}

}  // namespace kgen::gpu

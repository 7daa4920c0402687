// What a warpgroup multiplies, and what becomes of its sums: operands in shared memory, the order of tiles, and sums on
// their way from registers to a sink.
#pragma once

#include <bit>
#include <utility>

#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

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

// The descriptor of what lies so many bytes behind. Addresses are in its lower word, which they do not leave: so much
// the compiler does not know, and adds to the upper one as well.
KGEN_FN std::uint64_t moved_descriptor(std::uint64_t descriptor, int bytes) {
  constexpr std::uint64_t lower = 0xffffffff;
  return (descriptor & ~lower) | ((descriptor + static_cast<std::uint64_t>(bytes / 16)) & lower);
}

// 32 bytes of depth, from k on, of an operand in boxes of `Lines` lines of 128 bytes, one box after the other. Deep: its
// lines are along the depth; else 64 of its rows or columns make a line, and another box has the next 64.
template <class T, int Lines, bool Deep>
KGEN_FN std::uint64_t boxed_operand(const T* tile, int k) {
  constexpr int size = static_cast<int>(sizeof(T)), line = swizzle_bytes / size, lines_of_8 = 8 * swizzle_bytes;
  if constexpr (Deep) {
    const int bytes = k / line * Lines * swizzle_bytes + k % line * size;
    return moved_descriptor(descriptor(tile, 16, lines_of_8), bytes);
  } else {
    return moved_descriptor(descriptor(tile, Lines * swizzle_bytes, lines_of_8), k * swizzle_bytes);
  }
}

// The 4 lanes of a quad have each 2 neighbours in 4 groups of 8 columns, lanes[2 * group + i]: afterwards lane i has
// all of group i.
template <class Sum>
KGEN_FN void gather_columns(Sum (&lanes)[8]) {
  const int lane = thread_index() % 4;
  KGEN_UNROLL
  for (int bit = 1; bit <= 2; bit *= 2) {
    const bool upper = (lane & bit) != 0;
    KGEN_UNROLL
    for (int group = 0; group < 4; ++group) {
      if ((group & bit) != 0) continue;
      KGEN_UNROLL
      for (int i = 0; i < 2; ++i) {
        Sum &low = lanes[2 * group + i], &high = lanes[2 * (group + bit) + i];
        const Sum sent = upper ? low : high;
        const Sum got =
            std::bit_cast<Sum>(shuffle_xor(std::bit_cast<std::uint32_t>(sent), bit, wave_size, Where::here()));
        low = upper ? got : low;
        high = upper ? high : got;
      }
    }
  }
}

// Where results end in a tile.
enum class TileEnd {
  inside,    // nowhere, so that no branch keeps a sink's loads apart
  vectors,   // between two vectors of 8 columns, or below some row
  anywhere,
};

// Sums of a warpgroup on their way to a sink, in steps: 4 neighbouring threads have 32 columns of a row, each of them 8
// at a time.
template <class Sum, int N, int Count>
struct SumsInSteps {
  static constexpr int lanes = 8, columns = 4 * lanes, of_row = N / columns, all = 2 * of_row;
  static constexpr std::make_integer_sequence<int, Count> products{};
  using Lanes = Sum[Count][lanes];

  Index<2> origin, extents;  // of the first sum, and how far results go

  // Where among a thread's sums those of a step are, before gather_columns().
  KGEN_FN static constexpr int place(int step, int lane) {
    return (step % of_row * columns / lanes + lane / 2) * 4 + step / of_row * 2 + lane % 2;
  }
  // The first of this thread's columns in a step.
  KGEN_FN Index<2> position(int step) const {
    const int thread = thread_index() % warpgroup_threads;
    return {origin[0] + thread / wave_size * 16 + thread % wave_size / 4 + step / of_row * 8,
            origin[1] + step % of_row * columns + thread % 4 * lanes};
  }
  // Whether a step has results for any thread of this wave.
  KGEN_FN bool has_rows(int step) const {
    return origin[0] + thread_index() % warpgroup_threads / wave_size * 16 + step / of_row * 8 < extents[0];
  }
  KGEN_FN static void gather(Lanes& own) {
    KGEN_UNROLL
    for (int product = 0; product < Count; ++product) gather_columns(own[product]);
  }
  // As far as the results go.
  template <TileEnd End, class C, int... I>
  KGEN_FN void store_within(const C& c, Index<2> at, const Lanes& own, std::integer_sequence<int, I...>) const {
    if (End == TileEnd::inside || (at[0] < extents[0] && at[1] + lanes <= extents[1])) {
      store_to(c, at, load_lanes<lanes>(own[I])...);
    } else if (End == TileEnd::anywhere) {
      store_in_turn<1>(c, at, own, products);
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

// Gives the sink what a warpgroup has of `Count` products, whose first elements stand at `origin`, as far as `extents`.
// The sink's code stands here for each step; the loads of up to `AtOnce` steps may be under way together.
template <TileEnd End, int N, int AtOnce = N, class Sum, int Count, class C>
KGEN_FN void emit_sums(const Sum (&sums)[Count][N / 2], const C& c, Index<2> origin, Index<2> extents) {
  using Steps = SumsInSteps<Sum, N, Count>;
  const Steps steps{origin, extents};
  KGEN_UNROLL
  for (int step = 0; step < Steps::all; ++step) {
    if (End != TileEnd::inside && !steps.has_rows(step)) continue;
    Sum own[Count][Steps::lanes];
    KGEN_UNROLL
    for (int product = 0; product < Count; ++product) {
      KGEN_UNROLL
      for (int lane = 0; lane < Steps::lanes; ++lane) own[product][lane] = sums[product][Steps::place(step, lane)];
    }
    Steps::gather(own);
    if (step % AtOnce == 0) wave_barrier();  // across which no load is moved
    steps.template store_within<End>(c, steps.position(step), own, Steps::products);
  }
}

// The same, but the sink's code, which may be long, stands here once, for W lanes: 1, or where the extents are multiples
// of it more.
template <int N, int W, class Sum, int Count, class C>
KGEN_FN void emit_sums_in_turn(const Sum (&sums)[Count][N / 2], const C& c, Index<2> origin, Index<2> extents) {
  using Steps = SumsInSteps<Sum, N, Count>;
  const Steps steps{origin, extents};
  KGEN_NO_UNROLL
  for (int step = 0; step < Steps::all; ++step) {
    if (!steps.has_rows(step)) continue;
    Sum own[Count][Steps::lanes];
    KGEN_UNROLL
    for (int each = 0; each < Steps::all; ++each) {
      KGEN_UNROLL
      for (int product = 0; product < Count; ++product) {
        KGEN_UNROLL
        for (int lane = 0; lane < Steps::lanes; ++lane) {
          if (each == 0 || each == step) own[product][lane] = sums[product][Steps::place(each, lane)];
        }
      }
    }
    Steps::gather(own);
    steps.template store_in_turn<W>(c, steps.position(step), own, Steps::products);
  }
}

}  // namespace kgen::gpu

#endif

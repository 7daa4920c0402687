// Matrix multiplication of results of few tiles and much depth on the tensor cores of Hopper: any number of blocks
// share the depth of a tile, more than a cluster has, and wherever they find room. Each leaves its sums in memory, and
// a kernel behind adds them up, always in the same order, on their way to the sink.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kgen/gpu/square_matmul.hpp"
#include "kgen/gpu/wide_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// What the blocks leave that share a depth in `parts`: as many matrices of M rows, one behind the other. Their lines
// are whole vectors, of which what is beyond the result's columns is nothing.
struct PartialSums {
  float* data;
  int M, pitch, parts;

  // Of a result of that shape, before there is memory for them.
  static PartialSums of(const WarpgroupMatmulShape<1>& shape, int parts) {
    return {nullptr, static_cast<int>(shape.M), static_cast<int>((shape.N[0] + 7) / 8 * 8), parts};
  }
  std::int64_t bytes() const { return std::int64_t{parts} * M * pitch * static_cast<std::int64_t>(sizeof(float)); }

  KGEN_FN float* at(int part, int row, int column) const {
    return data + (std::int64_t{part} * M + row) * pitch + column;
  }
  KGEN_FN View<float, 2> of_part(int part) const {
    return View<float, 2>(at(part, 0, 0), Index<2>{M, pitch}, Index<2>{pitch, 1}).with_access({true});
  }
  // A warpgroup: 64 rows from there on, as the tensor cores leave them. The pairs of four neighbouring threads are a
  // whole sector of memory's.
  template <int Half>
  KGEN_FN void put(const float (&sums)[Half], int part, int row, int column) const {
    const int thread = thread_index() % warpgroup_threads;
    row += thread / wave_size * 16 + thread % wave_size / 4;
    column += thread % 4 * 2;
    const View<float, 2> to = of_part(part);
    KGEN_UNROLL
    for (int i = 0; i < Half; i += 2) {
      const Index<2> at{row + i / 2 % 2 * 8, column + i / 4 * 8};
      const float pair[2] = {sums[i], sums[i + 1]};
      if (at[0] < M && at[1] < pitch) to.store(at, load_lanes<2>(pair));
    }
  }
  // The sum of W neighbours of every `step`th part from the first on.
  template <int W>
  KGEN_FN Vec<float, W> sum(int first, int step, int row, int column) const {
    constexpr int together = 8;  // on their way
    Vec<float, W> sums(0);
    KGEN_NO_UNROLL
    for (int part = first; part < parts; part += together * step) {
      Block<W * sizeof(float)> loaded[together];
      KGEN_UNROLL
      for (int i = 0; i < together; ++i) {
        loaded[i] = {};
        if (part + i * step < parts)
          loaded[i] = load_block<W * sizeof(float)>(at(part + i * step, row, column), Access{});
      }
      KGEN_UNROLL
      for (int i = 0; i < together; ++i) {
        float lanes[W];
        memcpy(lanes, &loaded[i], sizeof(lanes));
        sums = sums + load_lanes<W>(lanes);
      }
    }
    return sums;
  }
};

// A block's tile and its part of the depth: those of the same part are neighbours, and read the same.
template <class Matmul, class Loads>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), Matmul::blocks)
split_matmul_kernel(const KGEN_GRID_CONSTANT Loads loads, PartialSums to, WarpgroupMatmulShape<1> shape) {
  if constexpr (has_warpgroups) {
    SharedMemory shared;
    typename Matmul::Pipeline pipeline(shared, Matmul::multiplying_threads / wave_size, loads.bytes());
    const int number = static_cast<int>(block_index()), own = number / shape.tiles;
    const ClusterDepth part(shape.steps(Matmul::depth), 1, to.parts, own);
    const bool multiplies = wave_index() * wave_size < Matmul::multiplying_threads;
    const auto compute = [&]<int First, int Count>(const auto&, Index<2> origin, std::int64_t) KGEN_LAMBDA {
      // Where the tile is has been worked out before the wait: what a launch says comes from far away.
      std::int32_t place[2] = {static_cast<int>(origin[0]), static_cast<int>(origin[1])};
      settle(place);
      take_turn();
      if (thread_index() == 0) allow_next();  // what adds up has room beside these, and waits for all of them
      if (multiplies) {
        typename Matmul::OwnSums sums;
        Matmul::multiply(pipeline, sums, part);
        to.put(sums[0], own, place[0] + thread_index() / warpgroup_threads * 64, place[1]);
      } else if (is_elected()) {
        load_part(pipeline, loads.template tile<First, Count>(place[0], place[1], part.first * Matmul::depth), part,
                  false);
      }
    };
    at_tile<Matmul::rows>(number - own * shape.tiles, Matmul::columns, to.of_part(own), shape, compute);
  }
}

// What a block adds up where no results are shared: each thread 4 neighbours of a row.
inline constexpr int added_rows = 8, added_columns = 64, added_lanes = 4;
inline constexpr int adding_threads = added_rows * added_columns / added_lanes;
// So many teams that all parts of a thread are on their way together.
inline int adding_teams(int parts) {
  int teams = 1;
  while (teams < added_rows && parts > 8 * teams) teams *= 2;
  return teams;
}

// Adds up W neighbours of a row at a time. The lanes of a wave are in teams, which have the same results and parts of
// their own.
template <int W, class C>
KGEN_FN void add_parts(const PartialSums& from, const C& c, int N, int teams) {
  constexpr int of_row = added_columns / added_lanes;
  const int lane = thread_index() % wave_size, of_team = wave_size / teams, team = lane / of_team;
  const int piece = thread_index() / wave_size * of_team + lane % of_team;
  const int across = (N + added_columns - 1) / added_columns, number = static_cast<int>(block_index());
  const int row = number / across * (added_rows / teams) + piece / of_row;
  KGEN_UNROLL
  for (int i = 0; i < added_lanes; i += W) {  // neighbouring threads have neighbours
    const int column = number % across * added_columns + (i * of_row + piece % of_row * W);
    const bool is_result = row < from.M && column < N;
    Vec<float, W> sums(0);
    if (is_result) sums = from.template sum<W>(team, teams, row, column);
    KGEN_NO_UNROLL
    for (int distance = of_team; distance < wave_size; distance *= 2) {
      float lanes[W];
      store_lanes(lanes, sums);
      KGEN_UNROLL
      for (float& each : lanes) {
        each =
            std::bit_cast<float>(shuffle_xor(std::bit_cast<std::uint32_t>(each), distance, wave_size, Where::here()));
      }
      sums = sums + load_lanes<W>(lanes);
    }
    if (is_result && team == 0) store_to(c, Index<2>{row, column}, sums);
  }
}
template <class C>
KGEN_GLOBAL(adding_threads, 4)
add_parts_kernel(PartialSums from, C c, int N, int teams, Lanes lanes) {
  take_turn();
  if (has_fours(lanes)) {
    add_parts<4>(from, known<Lanes::whole_vectors>(c), N, teams);
  } else {
    add_parts<1>(from, known<Lanes::any>(c), N, teams);
  }
}

// Has the sums, which the kernel ahead leaves, added up.
template <class C>
void launch_adding(const PartialSums& sums, const C& c, const WarpgroupMatmulShape<1>& shape, Stream stream) {
  const int teams = adding_teams(sums.parts), rows_of_block = added_rows / teams;
  const std::int64_t blocks =
      (shape.M + rows_of_block - 1) / rows_of_block * ((shape.N[0] + added_columns - 1) / added_columns);
  launch_early({"add_parts", blocks, adding_threads}, stream, add_parts_kernel<C>, sums, with_access(c, 8),
               static_cast<int>(shape.N[0]), teams, shape.lanes);
}

// What they take on an H200, in ns, as long as times of clusters are an H100's, and 3 % besides: to begin and to end,
// and for each step of the depth; and how many bytes the second-level cache gives in one, and how many bytes of sums
// are left and added up.
struct SplitTimes {
  int launch, stage, cache_bytes, sum_bytes;
};
template <class Matmul>
inline constexpr SplitTimes split_times = Matmul::rows == 128      ? SplitTimes{4640, 402, 20000, 1840}
                                          : Matmul::columns == 128 ? SplitTimes{4120, 299, 9420, 5830}
                                                                   : SplitTimes{3240, 180, 10580, 2140};

// In how many parts a depth of so many steps, of which `together` are never parted, takes the least time, in one round
// of `room` blocks at most: `blocks` of the result. Time without end where there is no memory for it.
inline SharedDepth best_parts(const SplitTimes& times, const WarpgroupMatmulShape<1>& shape, int steps,
                              std::int64_t room, double step_bytes, Stream stream, int together = 1) {
  SharedDepth best{shape.tiles, 0, 1, std::numeric_limits<std::int64_t>::max()};
  if (stream.workspace == nullptr || shape.tiles == 0) return best;
  const double memory = shape.memory_time(steps), cache = step_bytes * shape.tiles * steps / times.cache_bytes;
  const auto results = static_cast<double>(PartialSums::of(shape, 1).bytes());
  const int most = static_cast<int>(std::min<std::int64_t>(room / shape.tiles, steps / 3));
  for (int parts = 2, before = 0; parts <= most; ++parts) {
    const int each = (steps + together * parts - 1) / (together * parts) * together;
    if (each == before) continue;
    before = each;
    const double multiplied = std::hypot(std::max<double>(each * times.stage, cache), memory);
    const auto time = static_cast<std::int64_t>(times.launch + multiplied + parts * results / times.sum_bytes);
    if (time < best.time) best = {shape.tiles, parts, 1, time};
  }
  return best;
}

// Both kernels for one call.
template <class Matmul, class T, bool BDeep, class A, class B, class C>
struct SplitProduct {
  using Tiles = typename Matmul::Tiles;
  static constexpr auto* kernel = split_matmul_kernel<Matmul, EngineTiles<Tiles, BDeep, 1>>;

  const A& a;
  const B& b;
  const C& c;
  WarpgroupMatmulShape<1> shape;
  const DeviceLimits& limits;
  Stream stream;

  SplitProduct(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<1>& shape, const DeviceLimits& limits,
               Stream stream)
      : a(a), b(b), c(c), shape(shape), limits(limits), stream(stream) {
    this->shape.tiles = shape.template count_tiles<Matmul::rows>(c, Matmul::columns);
  }

  bool fits() const {
    return limits.shared_bytes >= Matmul::shared() &&
           runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads);
  }
  SharedDepth best() const {
    return best_parts(split_times<Matmul>, shape, shape.steps(Matmul::depth), limits.multiprocessors * Matmul::blocks,
                      static_cast<double>(sizeof(Tiles)), stream);
  }

  // False where operands do not lie as the copy engine takes them.
  bool operator()(const SharedDepth& shared) const {
    const int rows = std::min(Matmul::rows, static_cast<int>((shape.M + 7) / 8 * 8));
    const auto loads = engine_tiles<T, Tiles, BDeep>(a, b, c, rows);
    if (!loads) return false;
    PartialSums sums = PartialSums::of(shape, shared.blocks);
    const Workspace memory(sums.bytes(), stream);
    sums.data = reinterpret_cast<float*>(memory.data());
    launch_early({"split_matmul", std::int64_t{shape.tiles} * sums.parts, Matmul::threads, Matmul::shared()}, stream,
                 kernel, *loads, sums, shape);
    launch_adding(sums, c, shape, stream);
    return true;
  }
};

}  // namespace kgen::gpu

#endif

// Row programs on a GPU. A row is computed by lanes of a wave, by a block or by a cluster of blocks, in registers where it
// fits, else from memory; by several blocks where rows are few and long; and by threads that are far apart where rows lie
// across memory.
// Reductions are deterministic: for the same shapes on the same device, the same bits.
#pragma once

#include <algorithm>
#include <array>

#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/memory_row.hpp"
#include "kgen/gpu/register_row.hpp"

namespace kgen::gpu {

// ---- kernels --------------------------------------------------------------------------------------------------------

// Rows of vectors are read and written as such, without a choice on the way.
template <int V>
inline constexpr Lanes row_lanes = V > 1 ? Lanes::vectors : Lanes::any;

// What a thread holds of each operand, in pieces, and for how many threads of a multiprocessor a kernel leaves
// registers. While a row waits for its reductions nothing of it is on its way, so that many small blocks are better
// than few; where a program is so small that it waits for little else, more threads are. Measured on an H200.
template <class Program>
inline constexpr bool is_small_program = element_sizes<Program>().views <= 3 && element_sizes<Program>().reads <= 2;
template <class Program>
inline constexpr int row_pieces = is_small_program<Program> ? 2 : 4;

// Rows of an unknown length take registers for what each thread asks of it.
template <class Team, int Pieces, bool KnownLength, class Program>
consteval int blocks_at_once() {
  if (!KnownLength && Team::blocks > 1) return 1;
  const bool small = is_small_program<Program> && Pieces <= 2 && KnownLength;
  const int threads = small ? 1536 : element_sizes<Program>().views <= 6 ? 1024 : 512;
  return std::max(1, threads / Team::most_threads);
}

// Fewer than 2^31 rows, in the order in which blocks take them: along axes that an operand repeats on first, so that
// what is read again is still in a cache.
template <int R>
class RowOrder {
 public:
  RowOrder(const Index<R>& outer, const std::array<int, R>& axes)
      : count_(static_cast<std::uint32_t>(element_count(outer))), positions_(extents(outer, axes)) {
    for (int place = 0; place < R; ++place) axes_[place] = axes[place];
  }
  KGEN_FN std::uint32_t count() const { return count_; }
  KGEN_FN Index<R> operator()(std::uint32_t number) const {
    const auto places = positions_(number);
    Index<R> at{};
    KGEN_UNROLL
    for (int place = 0; place < R; ++place) {
      KGEN_UNROLL
      for (int axis = 0; axis < R; ++axis) at[axis] = axes_[place] == axis ? places[place] : at[axis];
    }
    return at;
  }

 private:
  static constexpr int rank = R > 0 ? R : 1;
  static Index<rank> extents(const Index<R>& outer, const std::array<int, R>& axes) {
    Index<rank> result{};
    result[0] = 1;
    for (int place = 0; place < R; ++place) result[place] = outer[axes[place]];
    return result;
  }

  std::uint32_t count_;
  int axes_[rank] = {};
  Positions<rank> positions_;
};

template <int K, int R, class Program>
RowOrder<R - K> order_rows(const Program& program, const Index<R>& shape) {
  std::array<int, R - K> axes{};
  std::array<std::int64_t, R - K> repeated{};  // elements that operands have there once, and rows read again
  for (int axis = 0; axis < R - K; ++axis) {
    axes[axis] = axis;
    for_each_view(program, [&](const auto& view) {
      if constexpr (std::remove_cvref_t<decltype(view)>::rank == R) {
        if (view.stride(axis) != 0) return;
        std::int64_t elements = 1;
        for (int other = 0; other < R; ++other) elements *= view.stride(other) == 0 ? 1 : view.extent(other);
        repeated[axis] = std::max(repeated[axis], elements);
      }
    });
  }
  std::sort(axes.begin(), axes.end(),
            [&](int a, int b) { return repeated[a] != repeated[b] ? repeated[a] < repeated[b] : a < b; });
  return RowOrder<R - K>(first_axes<R - K>(shape), axes);
}

// Blocks so few leave room for those of the kernel behind, which find places and bring what nothing writes while these
// wait for their turn.
inline constexpr int few_blocks = 16;

template <int V, int C, class Team, std::int64_t Length, int K, int R, class Program>
KGEN_GLOBAL(Team::most_threads, (blocks_at_once<Team, C, (Length > 0), Program>()))
register_rows_kernel(Program given, Index<R> shape, RowOrder<R - K> rows) {
  if (block_count() <= few_blocks) allow_next();
  take_turn(should_allow_next(Length * Team::most_threads / Team::least_size * element_sizes<Program>().smallest_read));
  const Program program = known<row_lanes<V>>(given);
  SharedMemory shared;
  Team team(shared);
  const auto number = static_cast<std::uint32_t>(block_index() / Team::blocks * team.count() + team.index());
  if (number >= rows.count()) return;  // whole teams leave, and only where a block has several
  RegisterRow<R, K, V, C, Team, Length> row(shape, rows(number), team);
  program(row);
}

// Vectors that a thread has on their way: with 1024 threads of a multiprocessor 256 KB, the more the better on an H200
// where all that it does is to read. AMD's compiler would spill registers for as many.
template <class Program, int V>
consteval int vectors_at_once() {
#if defined(KGEN_HIP)
  return 2;
#else
  constexpr int reads = element_sizes<Program>().reads;
  return reads <= 1 ? (V <= 4 ? 16 : 8) : reads <= 2 ? 4 : 2;
#endif
}

// Vectors of a row from which on it is read from memory.
inline constexpr int long_row = 1024;

// Two registers for each f64 leave room for fewer threads.
template <class Program>
inline constexpr bool is_slight_program = is_small_program<Program> && element_sizes<Program>().largest <= 4;

// `launched`: how many of a row's parts have blocks. `Length`: of the rows, where their caller knows; else 0.
template <int V, class Team, std::int64_t Length, int K, int R, class Program>
KGEN_GLOBAL(Team::most_threads, (is_slight_program<Program> && R <= 2 ? 1024 / Team::most_threads : 1))
memory_rows_kernel(Program given, Index<R> shape, RowSharing sharing, int launched) {
  take_turn(should_allow_next(V > 1 ? long_row * V * element_sizes<Program>().smallest_read : 0));
  const Program program = known<row_lanes<V>>(given);
  if constexpr (K == 1 && Length != 0) shape[R - 1] = Length;
  SharedMemory shared;
  Team team(shared);
  const Index<R - K> outer = first_axes<R - K>(shape);
  const std::int64_t rows = element_count(outer), groups = (rows + team.count() - 1) / team.count();
  unsigned char* scratch = sharing.workspace;
  if (scratch == nullptr) scratch = shared.take<unsigned char>(sharing.scratch_bytes);
  for (std::int64_t unit = block_index(); unit < groups * launched; unit += block_count()) {
    // Of one row all units are parts; of few, several are; of many, each is a row.
    std::int64_t group = 0;
    if (R > K) group = launched == 1 ? unit : static_cast<std::uint32_t>(unit) / static_cast<std::uint32_t>(launched);
    const int part = static_cast<int>(unit - group * launched);
    const std::int64_t number = group * team.count() + team.index();
    const std::int64_t room = sharing.workspace == nullptr ? 0 : block_index();
    const RowScratch mine{scratch + room * sharing.scratch_bytes, team.index(), team.count()};
    // Teams beyond the last row compute it once more, since others wait for them; they do not store.
    const std::int64_t inside = number < rows ? number : rows - 1;
    MemoryRow<R, K, V, vectors_at_once<Program, V>(), Team> row(shape, unflatten(inside, outer), inside, part, team,
                                                                mine, sharing, number < rows);
    program(row);
  }
}

// ---- launches -------------------------------------------------------------------------------------------------------

template <class Program>
struct RowLaunch {
  const Program& program;
  DeviceLimits device;
  Stream stream;
  std::int64_t rows, length;  // how many, and the elements of each
  RowNeeds needs;
};

template <int V, int K, std::int64_t Length = 0, int R, class Program>
void launch_long_rows(const RowLaunch<Program>& rows, const Index<R>& shape);
template <int V, class Team, std::int64_t Length, int K, int R, class Program>
void launch_memory_rows(const RowLaunch<Program>& rows, const Index<R>& shape, int threads);

// Rows up to this long are a wave's also where they are no vectors: so many elements of each thread.
inline constexpr int single_pieces = 4, short_row = 32 * single_pieces;

// Launches rows of which each has a team of its own; where they are more than a grid has teams, blocks that go from row
// to row.
template <int V, int C, class Team, std::int64_t Length, int K, int R, class Program>
void launch_register_rows(const Grid& grid, const RowLaunch<Program>& rows, const Index<R>& shape) {
  constexpr std::int64_t most_rows = (std::int64_t{1} << 31) - 1;
  if (rows.rows > most_rows || grid.blocks > most_blocks(grid.threads)) {
    if (rows.length > short_row) return launch_long_rows<1, K>(rows, shape);
    return launch_memory_rows<1, ColumnTeam, 0, K>(rows, shape, ColumnTeam::threads);
  }
  launch_early(grid, rows.stream, register_rows_kernel<V, C, Team, Length, K, R, Program>, rows.program, shape,
               order_rows<K>(rows.program, shape));
}

template <int V, int C, int Lanes, std::int64_t Length, int K, int R, class Program>
void launch_wave_rows(const RowLaunch<Program>& rows, const Index<R>& shape) {
  using Team = WaveTeam<Lanes>;
  constexpr int teams = Team::most_threads / Lanes;
  const Grid grid{"rows, a wave each", (rows.rows + teams - 1) / teams, Team::most_threads};
  launch_register_rows<V, C, Team, Length, K>(grid, rows, shape);
}

template <int V, int C, class Team, std::int64_t Length, int K, int R, class Program>
void launch_block_rows(const RowLaunch<Program>& rows, const Index<R>& shape, int threads) {
  constexpr bool clusters = Team::blocks > 1;
  const Grid grid{clusters ? "rows, a cluster each" : "rows, a block each", rows.rows * Team::blocks, threads,
                  Team::shared(), Team::blocks};
  launch_register_rows<V, C, Team, Length, K>(grid, rows, shape);
}

// How many blocks share a row, so that 1024 threads of each multiprocessor have work, and each at least 8 pieces. Where
// all that they do is to read, `at_once` pieces of each thread (else 0), each takes twice as much of a long row:
// multiprocessors differ in how fast memory is for them, and those that are done sooner take more blocks.
inline int parts_of_rows(std::int64_t groups, std::int64_t pieces, int team, int threads, int at_once,
                         const DeviceLimits& device) {
  const std::int64_t wanted = 1024 / threads * static_cast<std::int64_t>(device.multiprocessors) / groups;
  std::int64_t parts = std::min(wanted, pieces / (8 * team));
  if (parts > 1 && at_once > 0) parts = std::max(parts, pieces / (2 * at_once * team));
  return static_cast<int>(std::clamp<std::int64_t>(parts, 1, 4096));
}

template <int V, class Team, std::int64_t Length, int K, int R, class Program>
void launch_memory_rows(const RowLaunch<Program>& rows, const Index<R>& shape, int threads) {
  const std::int64_t width = Team::count(), groups = (rows.rows + width - 1) / width;
  const RowNeeds& needs = rows.needs;
  // Where lanes of a block have a row each, few threads put the results of a row's parts together.
  const bool only_reads = needs.passes() == 1 && needs.reductions == 1 && width == 1;
  const int at_once = only_reads ? vectors_at_once<Program, V>() : 0;
  RowSharing sharing;
  sharing.parts =
      parts_of_rows(groups, rows.length / V, threads / static_cast<int>(width), threads, at_once, rows.device);
  std::int64_t blocks = std::min(groups * sharing.parts, most_blocks(threads));

  sharing.scratch_bytes = sharing.parts > 1 ? 0 : needs.keep_room(rows.length * width);
  // Two blocks at least are to find room in a multiprocessor.
  const std::int64_t room = rows.device.shared_bytes / 2 - Team::shared();
  const bool in_shared = sharing.scratch_bytes <= room;
  if (!in_shared) blocks = std::min<std::int64_t>(blocks, 4 * static_cast<std::int64_t>(rows.device.multiprocessors));
  sharing.reductions = sharing.parts > 1 ? needs.reductions : 0;
  const std::int64_t scratch = in_shared ? 0 : blocks * sharing.scratch_bytes;
  const std::int64_t partials = shared_bytes<PartialSlot>(rows.rows * sharing.reductions * sharing.parts);
  const Workspace workspace(partials + scratch, rows.stream);
  sharing.partials = reinterpret_cast<PartialSlot*>(workspace.data());
  sharing.workspace = scratch > 0 ? workspace.data() + partials : nullptr;

  const std::int64_t shared = Team::shared() + (in_shared ? sharing.scratch_bytes + 16 : 0);
  for (sharing.stage = 0; sharing.stage <= sharing.reductions; ++sharing.stage) {
    const bool scalars_only = sharing.stage == sharing.reductions && needs.stores == 0 && sharing.parts > 1;
    const int launched = scalars_only ? 1 : sharing.parts;
    const Grid grid{"rows, from memory", std::min(blocks, groups * launched), threads, shared};
    launch_early(grid, rows.stream, memory_rows_kernel<V, Team, Length, K, R, Program>, rows.program, shape, sharing,
                 launched);
  }
}

// A block for each row, or several.
template <int V, int K, std::int64_t Length, int R, class Program>
void launch_long_rows(const RowLaunch<Program>& rows, const Index<R>& shape) {
  // Where all that a block does is to read, it should not be done too soon; else what it reads again should be in a
  // cache.
  const int pieces = rows.needs.passes() == 1 ? 16 : 8;
  constexpr int most = BlockTeam<>::most_threads;
  if constexpr (Length / V >= 16 * most) {
    launch_memory_rows<V, BlockTeam<most>, Length, K>(rows, shape, most);
  } else {
    // A number of threads that the compiler knows takes 0.3 % off a long sum.
    if constexpr (Length == 0 && V > 1 && element_sizes<Program>().reads <= 1) {
      if (rows.needs.passes() == 1 && rows.length / V >= 16 * most) {
        return launch_memory_rows<V, BlockTeam<most>, 0, K>(rows, shape, most);
      }
    }
    int threads = 128;
    while (threads < most && threads * pieces < rows.length / V) threads *= 2;
    launch_memory_rows<V, BlockTeam<>, 0, K>(rows, shape, threads);
  }
}

// True where more operands run along the last of the outer axes than along the rows.
template <int K, int R, class Program>
bool lies_across(const Program& program) {
  if constexpr (R == K) {
    return false;
  } else {
    int across = 0;
    for_each_view(program, [&](const auto& view) {
      if constexpr (std::remove_cvref_t<decltype(view)>::rank == R) {
        if (view.extent(R - 1) <= 1 || view.stride(R - 1) == 0) return;
        if (view.stride(R - 1) == 1) --across;
        if (view.stride(R - 1) != 1 && view.stride(R - K - 1) == 1 && view.extent(R - K - 1) > 1) ++across;
      }
    });
    return across > 0;
  }
}

// How the rows of a known length are divided, in vectors of `width`: what each thread holds, and how many compute a
// row.
struct RowDivision {
  int pieces = 0;   // of a thread; 0 where rows are too long for registers
  int threads = 0;  // up to 32: so many neighbours in a wave; else each block's, whole waves of any device
  int blocks = 1;   // more than one: a cluster
};
consteval RowDivision divide_row(std::int64_t length, int width, int pieces) {
  const std::int64_t all = length / width;
  if (all <= 32 * pieces) {
    int lanes = 4;
    while (lanes < 32 && lanes * 2 < all) lanes *= 2;
    return {static_cast<int>((all + lanes - 1) / lanes), lanes};
  }
  if (all > 512 * pieces) pieces = 4;
  const std::int64_t threads = (all + 64 * pieces - 1) / (64 * pieces) * 64;
  if (threads <= 512) return {pieces, static_cast<int>(threads)};
  for (const int blocks : {2, 4, 8}) {
    const std::int64_t each = (all + 64 * pieces * blocks - 1) / (64 * pieces * blocks) * 64;
    if (each <= 512) return {pieces, static_cast<int>(each), blocks};
  }
  return {};
}

// Rows of vectors, of a length that their caller knows.
template <int V, std::int64_t Length, int K, int R, class Program>
void launch_known_rows(const RowLaunch<Program>& rows, const Index<R>& shape) {
  constexpr RowDivision division = divide_row(Length, V, row_pieces<Program>);
  // What is gone over once does not have to stay: more is on its way from memory where threads hold little.
  if constexpr (Length / V > 512 * row_pieces<Program>) {
    if (rows.needs.passes() == 1) return launch_long_rows<V, K, Length>(rows, shape);
  }
  if constexpr (division.pieces == 0 || division.blocks > most_cluster_blocks) {
    launch_long_rows<V, K, Length>(rows, shape);
  } else if constexpr (division.threads <= 32) {
    launch_wave_rows<V, division.pieces, division.threads, Length, K>(rows, shape);
  } else if constexpr (division.blocks == 1) {
    using Team = BlockTeam<division.threads>;
    launch_block_rows<V, division.pieces, Team, Length, K>(rows, shape, division.threads);
  } else {
    using Team = ClusterTeam<division.blocks, division.threads>;
    if (rows.device.cluster_blocks < division.blocks) return launch_long_rows<V, K, Length>(rows, shape);
    launch_block_rows<V, division.pieces, Team, Length, K>(rows, shape, division.threads);
  }
}

// Rows of vectors, of any length.
template <int V, int K, int R, class Program>
void launch_vector_rows(const RowLaunch<Program>& rows, const Index<R>& shape) {
  using Team = BlockTeam<>;
  constexpr int pieces = 4;  // as two reductions want it
  constexpr int wave_pieces = row_pieces<Program>;
  const std::int64_t all = rows.length / V;
  if (all <= 32 * wave_pieces) return launch_wave_rows<V, wave_pieces, 32, 0, K>(rows, shape);
  if (all > long_row) return launch_long_rows<V, K>(rows, shape);
  const bool few = rows.rows < 2 * static_cast<std::int64_t>(rows.device.multiprocessors);
  int threads = 64;
  while (threads < Team::most_threads && threads * (few ? 1 : pieces) < all) threads *= 2;
  launch_block_rows<V, pieces, Team, 0, K>(rows, shape, threads);
}

template <int K, std::int64_t Length, int R, class Program>
void rows(const Index<R>& shape, const Program& program, Stream stream) {
  constexpr int width = vector_width<Program>(64);  // what is wide is often one for each row
  const std::int64_t count = element_count(first_axes<R - K>(shape)), length = element_count(last_axes<K>(shape));
  if (Length != 0 && length != Length) {
    throw LaunchError(std::string(stream.stub) + ": rows of " + std::to_string(length) +
                      " elements, where its stub says " + std::to_string(Length));
  }
  if (count == 0) return;
  const RowLaunch<Program> launch{program, device_limits(stream), stream, count, length, probe<K, R>(program, width)};
  if (lies_across<K, R>(program)) return launch_memory_rows<1, ColumnTeam, 0, K>(launch, shape, ColumnTeam::threads);
  if constexpr (width > 1 && Length % width == 0) {
    if (launch.needs.vectors && shape[R - 1] % width == 0) {
      if constexpr (Length == 0) {
        return launch_vector_rows<width, K>(launch, shape);
      } else {
        return launch_known_rows<width, Length, K>(launch, shape);
      }
    }
  }
  if constexpr (Length <= short_row) {
    if (length <= short_row) return launch_wave_rows<1, single_pieces, 32, Length, K>(launch, shape);
  }
  launch_long_rows<1, K>(launch, shape);
}

}  // namespace kgen::gpu

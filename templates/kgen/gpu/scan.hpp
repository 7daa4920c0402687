// Running sums and products on a GPU. A block computes a stretch of a line along the last axis, tile by tile; along another axis, or
// where lines are short, each thread computes a stretch of its own. Where lines are few they are cut into stretches:
// one kernel finds the sum of each, a second one begins with those before its own. A line of products has one thread.
#pragma once

#include <algorithm>

#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/team.hpp"
#include "kgen/scan_order.hpp"

namespace kgen::gpu {

inline constexpr int scan_threads = 256, scan_width = 4, scan_tile = scan_threads * scan_width;

// All lines of a scan, each cut into `stretches` of `stretch` steps.
template <int R>
struct ScanLines {
  ScanOrder order;
  Index<R> lines;  // the shape, with 1 for the scan's axis
  std::int64_t count, length, stretch, stretches;

  KGEN_FN std::int64_t end_of(std::int64_t number) const {
    const std::int64_t end = (number + 1) * stretch;
    return end < length ? end : length;
  }
};

// The index with `value` at an axis that is known at launch only: without addressing it, which would put it into
// memory.
template <int R>
KGEN_FN Index<R> replaced(Index<R> index, int axis, std::int64_t value) {
  KGEN_UNROLL
  for (int i = 0; i < R; ++i) index[i] = i == axis ? value : index[i];
  return index;
}

// The sums of a line's stretches before one of them.
template <class Sum>
KGEN_FN Sum sum_before(const Sum* totals, std::int64_t line, std::int64_t stretch, std::int64_t lines) {
  Sum sum = 0;
  for (std::int64_t i = 0; i < stretch; ++i) sum += totals[i * lines + line];
  return sum;
}

// ---- a thread for each line -----------------------------------------------------------------------------------------

// Combine: Sums or Products. T: x's lanes. `totals_only`: gives the sum of each stretch to `totals`, [stretches, lines],
// and no results to `out`.
template <class Combine, bool totals_only, class T, int R, class X, class Out>
KGEN_GLOBAL(scan_threads, 4)
scan_across_kernel(X x, Out out, ScanLines<R> scan, accumulator_t<T>* totals) {
  using Total = accumulator_t<T>;
  take_turn();
  const std::int64_t blocks = (scan.count + scan_threads - 1) / scan_threads;
  for (std::int64_t work = block_index(); work < blocks * scan.stretches; work += block_count()) {
    const std::int64_t stretch = work / blocks, line = work % blocks * scan_threads + thread_index();
    if (line >= scan.count) continue;
    const Index<R> at = unflatten(line, scan.lines);
    const int axis = scan.order.axis;
    Total total(Combine::identity);
    if constexpr (!totals_only && Combine::reassociates) total = sum_before(totals, line, stretch, scan.count);
    for (std::int64_t s = stretch * scan.stretch; s < scan.end_of(stretch); ++s) {
      if (scan.order.takes_in(s)) {
        const auto taken = x.template load<1>(replaced(at, axis, scan.order.source(s, scan.length)));
        total = Combine::apply(Vec<Total, 1>(total), convert<Total>(taken)).data;
      }
      if constexpr (!totals_only) {
        const Index<R> to = replaced(at, axis, scan.order.position(s, scan.length));
        store_to(out, to, convert<T>(Vec<Total, 1>(total)));
      }
    }
    if constexpr (totals_only) totals[stretch * scan.count + line] = total;
  }
}

// ---- a block for each line ------------------------------------------------------------------------------------------

// The sums of the lanes of this wave up to this one.
template <class Sum>
KGEN_FN Sum sum_of_lanes_up_to(Sum mine, Where where = Where::here()) {
  const int lane = thread_index() % wave_size;
  for (int distance = 1; distance < wave_size; distance *= 2) {
    const Sum other = shuffle_from(mine, lane < distance ? lane : lane - distance, wave_size, where);
    if (lane >= distance) mine = other + mine;
  }
  return mine;
}

// Adds up what the threads of a block pass, in their order.
template <class Sum>
class BlockSums {
 public:
  static constexpr int most_waves = scan_threads / 32;
  static constexpr std::int64_t shared() { return Banks<Sum, most_waves>::shared(); }

  KGEN_FN explicit BlockSums(SharedMemory& memory) : banks_(memory) {}
  // The sum of what the threads before this one pass. `total` becomes that of all.
  KGEN_FN Sum before(Sum mine, Sum& total) {
    Sum* bank = banks_.next();
    const int lane = thread_index() % wave_size, wave = thread_index() / wave_size, waves = block_threads() / wave_size;
    const Sum up_to = sum_of_lanes_up_to(mine);
    {
      const BlockPhase writing;
      if (lane == wave_size - 1) bank[wave] = up_to;
    }
    const Sum left = shuffle_from(up_to, lane == 0 ? 0 : lane - 1, wave_size, Where::here());
    Sum sum = 0;
    for (int i = 0; i < waves; ++i) {
      if (i == wave) mine = lane == 0 ? sum : sum + left;
      sum += bank[i];
    }
    total = sum;
    return mine;
  }

 private:
  Banks<Sum, most_waves> banks_;
};

// What a thread takes in at the steps s to s + scan_width before `end`, in the order of the steps.
template <class Sum, int R, class X>
KGEN_FN void take_in(const X& x, Index<R> line, const ScanLines<R>& scan, std::int64_t s, std::int64_t end,
                     Sum (&values)[scan_width]) {
  if (s + scan_width <= end && scan.order.takes_in(s)) {
    line[R - 1] = scan.order.source(s, scan.length, scan_width);
    const auto lanes = load_anywhere<scan_width>(x, line);
    KGEN_UNROLL
    for (int i = 0; i < scan_width; ++i) {
      values[i] = static_cast<Sum>(scan.order.reverse ? lanes[scan_width - 1 - i] : lanes[i]);
    }
  } else {
    KGEN_UNROLL
    for (int i = 0; i < scan_width; ++i) {
      values[i] = 0;
      if (s + i >= end || !scan.order.takes_in(s + i)) continue;
      line[R - 1] = scan.order.source(s + i, scan.length);
      values[i] = static_cast<Sum>(x.template load<1>(line).data);
    }
  }
}

// The results of those steps.
template <int R, class T, class Out>
KGEN_FN void give_out(const Out& out, Index<R> line, const ScanLines<R>& scan, std::int64_t s, std::int64_t end,
                      const T (&results)[scan_width]) {
  if (s + scan_width <= end) {
    T lanes[scan_width];
    KGEN_UNROLL
    for (int i = 0; i < scan_width; ++i) lanes[i] = scan.order.reverse ? results[scan_width - 1 - i] : results[i];
    line[R - 1] = scan.order.position(s, scan.length, scan_width);
    store_anywhere(out, line, load_lanes<scan_width>(lanes));
  } else {
    KGEN_UNROLL
    for (int i = 0; i < scan_width; ++i) {
      if (s + i >= end) continue;
      line[R - 1] = scan.order.position(s + i, scan.length);
      store_to(out, line, Vec<T, 1>(results[i]));
    }
  }
}

// Along the last axis. T and `totals_only` as above.
template <bool totals_only, class T, int R, class X, class Out>
KGEN_GLOBAL(scan_threads, 4)
scan_along_kernel(X x, Out out, ScanLines<R> scan, accumulator_t<T>* totals) {
  using Sum = accumulator_t<T>;
  take_turn();
  SharedMemory shared;
  BlockSums<Sum> block(shared);
  for (std::int64_t work = block_index(); work < scan.count * scan.stretches; work += block_count()) {
    const std::int64_t stretch = work / scan.count, line = work % scan.count, end = scan.end_of(stretch);
    const Index<R> at = unflatten(line, scan.lines);
    Sum before = totals_only ? Sum(0) : sum_before(totals, line, stretch, scan.count);  // of the tile
    for (std::int64_t tile = stretch * scan.stretch; tile < end; tile += scan_tile) {
      const std::int64_t s = tile + thread_index() * scan_width;
      Sum values[scan_width];
      take_in(x, at, scan, s, end, values);
      KGEN_UNROLL
      for (int i = 1; i < scan_width; ++i) values[i] = values[i - 1] + values[i];
      Sum total;
      const Sum mine = before + block.before(values[scan_width - 1], total);
      before += total;
      if constexpr (!totals_only) {
        T results[scan_width];
        KGEN_UNROLL
        for (int i = 0; i < scan_width; ++i) results[i] = convert<T>(Vec<Sum, 1>(mine + values[i])).data;
        give_out(out, at, scan, s, end, results);
      }
    }
    if (totals_only && thread_index() == 0) totals[stretch * scan.count + line] = before;
  }
}

// ---- the launch -----------------------------------------------------------------------------------------------------

// Cuts lines so that there are `enough` blocks, into stretches of at least `least` steps; with 0 they stay whole. What is cut depends on the
// shape alone, and so do the bits of the results.
template <int R>
ScanLines<R> cut_lines(const Index<R>& shape, const ScanOrder& order, std::int64_t lines_per_block,
                       std::int64_t least) {
  constexpr std::int64_t enough = 512;
  ScanLines<R> scan{order, shape, 0, shape[order.axis], 0, 0};
  scan.lines[order.axis] = 1;
  scan.count = element_count(scan.lines);
  if (least == 0) {
    scan.stretch = scan.length;
    scan.stretches = 1;
    return scan;
  }
  const std::int64_t blocks = (scan.count + lines_per_block - 1) / lines_per_block;
  const std::int64_t most = (scan.length + least - 1) / least;
  const std::int64_t wanted = std::clamp<std::int64_t>((enough + blocks - 1) / blocks, 1, most);
  scan.stretch = ((scan.length + wanted - 1) / wanted + least - 1) / least * least;
  scan.stretches = (scan.length + scan.stretch - 1) / scan.stretch;
  return scan;
}

// Combine: Sums or Products.
template <class Combine, class X, class Out>
void scan(const X& x, const Out& out, const ScanOrder& order, Stream stream) {
  constexpr int R = source_rank<X>;
  using T = source_lane_t<X, R>;
  using Sum = accumulator_t<T>;
  constexpr std::int64_t short_line = 128;
  const Index<R> shape = x.shape();
  if (element_count(shape) == 0) return;
  const bool along = Combine::reassociates && order.axis == R - 1 && shape[R - 1] > short_line;
  const std::int64_t in_block = along ? 1 : scan_threads;  // lines
  const ScanLines<R> lines = cut_lines(shape, order, in_block, !Combine::reassociates ? 0 : along ? 4 * scan_tile : 256);
  const std::int64_t blocks = (lines.count + in_block - 1) / in_block * lines.stretches;
  const Grid grid{along ? "scan along lines" : "scan across lines", blocks_for(blocks, scan_threads), scan_threads,
                  along ? BlockSums<Sum>::shared() : 0};
  const Workspace totals(lines.stretches > 1 ? lines.count * lines.stretches * sizeof(Sum) : 0, stream);
  const auto run = [&](auto kernel) {
    launch_early(grid, stream, kernel, with_access(x, scan_width), with_access(out, scan_width), lines,
                 reinterpret_cast<Sum*>(totals.data()));
  };
  if constexpr (Combine::reassociates) {
    if (lines.stretches > 1) {
      run(along ? scan_along_kernel<true, T, R, X, Out> : scan_across_kernel<Combine, true, T, R, X, Out>);
    }
    run(along ? scan_along_kernel<false, T, R, X, Out> : scan_across_kernel<Combine, false, T, R, X, Out>);
  } else {
    run(scan_across_kernel<Combine, false, T, R, X, Out>);
  }
}

}  // namespace kgen::gpu

// Counting on the CPU. Each thread has bins of its own, which are added up in the threads' order.
#pragma once

#include <algorithm>

#include "kgen/cpu/parallel.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

template <class X>
void bincount(const X& x, const View<std::int64_t, 1>& out, Stream stream) {
  constexpr int R = source_rank<X>;
  const Index<R> shape = x.shape();
  const std::int64_t count = element_count(shape), bins = out.extent(0);
  // Bins of a thread's own must cost less than what it counts.
  const std::int64_t most = std::max<std::int64_t>(1, count / (4 * bins));
  const int threads = static_cast<int>(std::min<std::int64_t>(threads_for(stream, 4 * count), most));
  std::int64_t* const counts = scratch<std::int64_t>(0, threads * bins);
  parallel(threads, [&](Team team) {
    std::int64_t* const mine = counts + team.rank * bins;
    std::fill_n(mine, bins, std::int64_t{0});
    const Range part = team.part(count);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const auto bin = static_cast<std::uint64_t>(x.template load<1>(unflatten(i, shape)).data);
      if (bin < static_cast<std::uint64_t>(bins)) ++mine[bin];
    }
    team.barrier();
    const Range sums = team.part(bins);
    for (std::int64_t bin = sums.begin; bin < sums.end; ++bin) {
      std::int64_t total = 0;
      for (int thread = 0; thread < team.size; ++thread) total += counts[thread * bins + bin];
      out.store(Index<1>{bin}, Vec<std::int64_t, 1>(total));
    }
  });
}

}  // namespace kgen::cpu

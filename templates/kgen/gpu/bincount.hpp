// Counting on a GPU, by atomic additions: of whole numbers the order is of no account. Few bins are counted in shared
// memory, and a block adds up what it has there.
#pragma once

#include "kgen/gpu/elementwise.hpp"
#include "kgen/gpu/block.hpp"
#include "kgen/gpu/launch.hpp"

namespace kgen::gpu {

inline constexpr int count_threads = 256;
inline constexpr std::int64_t most_shared_bins = 4096;

// `shared_bins`: as many as out has, or 0 where these are too many.
template <int R, class X>
KGEN_GLOBAL(count_threads, 4)
count_kernel(X x, Index<R> shape, View<std::int64_t, 1> out, std::int64_t shared_bins) {
  take_turn();
  SharedMemory shared;
  auto* const bins = shared.take<unsigned>(shared_bins);
  if (shared_bins > 0) {
    const BlockPhase clearing;
    for (std::int64_t bin = thread_index(); bin < shared_bins; bin += block_threads()) bins[bin] = 0;
  }
  const auto to = reinterpret_cast<unsigned long long*>(out.data());
  const std::int64_t count = element_count(shape), step = block_count() * block_threads();
  {
    const BlockPhase counting;
    for (std::int64_t i = block_index() * block_threads() + thread_index(); i < count; i += step) {
      const auto bin = static_cast<std::uint64_t>(x.template load<1>(unflatten(i, shape)).data);
      if (bin >= static_cast<std::uint64_t>(out.extent(0))) continue;
      const auto place = static_cast<std::int64_t>(bin);
      if (shared_bins > 0) {
        atomic_add(bins + place, 1u);
      } else {
        atomic_add(to + place * out.stride(0), 1ull);
      }
    }
  }
  for (std::int64_t bin = thread_index(); bin < shared_bins; bin += block_threads()) {
    if (bins[bin] > 0) atomic_add(to + bin * out.stride(0), static_cast<unsigned long long>(bins[bin]));
  }
}

struct ClearBins {
  View<std::int64_t, 1> out;

  template <int W>
  KGEN_FN void operator()(const Index<1>& at) const {
    out.store(at, Vec<std::int64_t, W>(0));
  }
};

template <class X>
void bincount(const X& x, const View<std::int64_t, 1>& out, Stream stream) {
  constexpr int R = source_rank<X>;
  constexpr std::int64_t for_each_thread = 16;  // elements, so that blocks are few beside what they count
  const Index<R> shape = x.shape();
  gpu::elementwise(out.shape(), ClearBins{out}, stream);
  const std::int64_t count = element_count(shape);
  if (count == 0) return;
  const std::int64_t held = out.extent(0) <= most_shared_bins ? out.extent(0) : 0;
  const std::int64_t in_block = count_threads * for_each_thread;
  const Grid grid{"bincount", blocks_for((count + in_block - 1) / in_block, count_threads), count_threads,
                  shared_bytes<unsigned>(held)};
  launch_early(grid, stream, count_kernel<R, X>, x, shape, out, held);
}

}  // namespace kgen::gpu

// Products that are over before a copy engine, a ring of stages and a cluster of blocks would have begun: on Hopper too
// by each wave alone, in small tiles (wave_matmul.hpp), whose operands are all on their way at once, and whose sums go
// from registers to the sink.
#pragma once

#include <limits>

#include "kgen/gpu/warpgroup_matmul.hpp"
#include "kgen/gpu/wave_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// One call of operands that lie as the copy engine takes them.
template <class T, bool BDeep, class A, class B, class C>
struct SmallLaunch {
  static constexpr int products = several_count<B>, together = most_together<C, products>;
  static constexpr bool has_tiles = sizeof(T) == 2 && has_small_tiles<T, A, B, C>;

  const A& a;
  const B& b;
  const C& c;
  WaveMatmulShape<products> shape;
  double memory;  // what it takes for the operands, in ns
  const DeviceLimits& limits;
  Stream stream;

  SmallLaunch(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<products>& asked,
              const DeviceLimits& limits, Stream stream)
      : a(a),
        b(b),
        c(c),
        shape{asked.M, asked.K, {}, asked.lanes, false, {}},
        memory(asked.memory_time(asked.steps(swizzle_bytes / static_cast<int>(sizeof(T))))),
        limits(limits),
        stream(stream) {
    for (int product = 0; product < products; ++product) shape.N[product] = asked.N[product];
  }

  // What it takes on an H200, in ns.
  std::int64_t time() const {
    return std::min(time_of<FewRowsWaveTile<together>>(), time_of<SmallWaveTile<together>>());
  }
  // False where the device does not allow it.
  bool operator()() const {
    if constexpr (!has_tiles) {
      return false;
    } else {
      return time_of<FewRowsWaveTile<together>>() <= time_of<SmallWaveTile<together>>()
                 ? launch<FewRowsWaveTile<together>>()
                 : launch<SmallWaveTile<together>>();
    }
  }

 private:
  template <class Tile>
  std::int64_t time_of() const {
    if constexpr (has_tiles) {
      return wave_time<Tile>(detail::count_tiles<Tile>(c, shape), shape.K, limits, memory);
    } else {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  template <class Tile>
  bool launch() const {
    using Op = DeviceTile<T>;
    if constexpr (BDeep) {
      const auto turned = with_each(b, [](const auto& view) { return with_turned_axes(view); });
      return detail::launch_wave_matmul<Tile, Op, T, true>(a, turned, c, shape, stream);
    } else {
      return detail::launch_wave_matmul<Tile, Op, T, false>(a, b, c, shape, stream);
    }
  }
};

}  // namespace kgen::gpu

#endif

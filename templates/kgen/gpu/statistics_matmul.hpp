// Matrix multiplication on Hopper's warpgroups with statistics of the result's rows.
#pragma once

#include "kgen/gpu/row_statistics.hpp"
#include "kgen/gpu/tensor_core_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

namespace detail {
// Whether blocks that share the depth of tiles, or small tiles, are so much faster that the result may be read again.
template <class T, bool BDeep, class A, class B, class S>
bool shares_depth(const A& a, const B& b, const S& sink, const WarpgroupMatmulShape<several_count<B>>& shape,
                  const DeviceLimits& limits, Stream stream) {
  constexpr double bytes_of_ns = 2400;  // an H100's, of memory that has just been written
  if (shape.M <= 64) return true;
  const auto launch = [&]<int Rows>() {
    return SkinnyProduct<SkinnyMatmul<T, Rows, 1, BDeep>, T, BDeep, A, B, S>(a, b, sink, shape, limits, stream);
  };
  auto deep = launch.template operator()<64>();
  auto most = launch.template operator()<128>();
  if (shape.columns_asked != 0 || !deep.fits() || !most.fits()) return false;
  const SharedTimes<T, decltype(deep), decltype(most)> times(deep, most);
  const ShortProduct<T, BDeep, A, B, S> small(a, b, sink, shape, limits, stream);
  const double reading = static_cast<double>(shape.M * shape.N[0]) * sizeof(T) / bytes_of_ns;
  return static_cast<double>(std::min(times.least(), small.time())) + reading < static_cast<double>(times.alone);
}

template <class T, bool BDeep, class A, class B, class S, class Program>
bool statistics_matmul(const A& a, const B& b, const WithStatistics<S, Program>& c,
                       WarpgroupMatmulShape<several_count<B>> shape, Stream stream) {
  using Sink = TileStatistics<S, Program>;
  constexpr int products = several_count<B>;
  const DeviceLimits limits = device_limits(stream);
  for_each_of(b, [&](const auto& each) { shape.straddles = shape.straddles || has_straddling_lines(each, BDeep); });
  if (shares_depth<T, BDeep>(a, b, c.sink, shape, limits, stream)) return false;
  const TileChoice best = best_tiles_of<T, products>(shape, limits);
  if (best.blocks != 1) return false;
  // One round that is not full leaves a result that comes from the cache: on an H100 reading 777 x 1016 again took 0.3
  // us less than combining parts of its rows (tests/bench/MATMUL.md).
  if (shape.template count_tiles<128>(c.sink, best.columns) < limits.multiprocessors) return false;
  const int tiles = shape.tiles_across(0, best.columns / products);
  const Workspace memory(std::int64_t{tiles} * shape.M * static_cast<std::int64_t>(sizeof(float)), stream);
  auto* partials = reinterpret_cast<float*>(memory.data());
  const Sink sink{c.sink, c.statistics, partials, shape.M};
  const auto launch = [&]<int Columns>() {
    return best.columns == Columns && launch_by_engine<T, Columns, BDeep>(a, b, sink, shape, limits, stream);
  };
  bool launched = launch.template operator()<256>() || launch.template operator()<128>();
  if constexpr (products == 1 && !sums_are_short<T>) launched = launched || launch.template operator()<192>();
  if constexpr (has_narrow_tiles<T, products>) launched = launched || launch.template operator()<64>();
  if (launched) finish_statistics(c.statistics, partials, tiles, stream);
  return launched;
}
}  // namespace detail

// c = a * b with its statistics, where tiles of 128 rows are the fastest way to the product, the copy engine takes the
// operands as they lie, and the sink is short and takes whole vectors; else false.
template <int LeastBits, class Known, class A, class B, class S, class Program>
bool statistics_matmul(const A& a, const B& b, const WithStatistics<S, Program>& c, Stream stream,
                       [[maybe_unused]] int columns) {
  constexpr bool has_tiles = has_warpgroup_matmul<LeastBits, A, B, WithStatistics<S, Program>>;
  if constexpr (has_tiles && !Known::has_few_rows && !is_memory_of<float, A> && !uses_rows<S> && view_count<S> <= 4) {
    using T = std::remove_const_t<typename A::element_type>;
    const detail::AskedProducts<B> asked(a, b, c.sink, columns);
    if (!asked.fits || asked.shape.lanes != Lanes::constant_whole_vectors) return false;
    return with_depth<T, Known>(asked.deep, [&]<bool Deep>() {
      return Deep == asked.deep && detail::statistics_matmul<T, Deep>(a, b, c, asked.shape, stream);
    });
  } else {
    return false;
  }
}

}  // namespace kgen::gpu

#endif

// Matrix multiplication on tensor cores: which kernel does it.
#pragma once

#include "kgen/gpu/skinny_matmul.hpp"
#include "kgen/gpu/warpgroup_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

namespace detail {
template <class T, bool BDeep, class A, class B, class C>
bool tensor_core_matmul(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                        Stream stream) {
  const DeviceLimits limits = device_limits(stream);
  return skinny_matmul<T, BDeep>(a, b, c, shape, limits, stream) ||
         warpgroup_matmul<T, BDeep>(a, b, c, shape, limits, stream);
}
}  // namespace detail

// c = a * b for each of b: false where device or compiler do not allow it.
template <class T, class A, class B, class C>
bool tensor_core_matmul(const A& a, const B& b, const C& c, Stream stream) {
  WarpgroupMatmulShape<several_count<B>> shape{a.shape()[0], a.shape()[1], {}, 0, whole_lanes(c, 8)};
  constexpr std::int64_t most = 1 << 30;  // places are counted in 32 bits, tiles as well
  bool fits = shape.M > 0 && shape.M < most && shape.K > 0 && shape.K < most, deep = true;
  int product = 0;
  std::int64_t tiles = 0;
  for_each_of(b, [&](const auto& each) {
    const std::int64_t N = shape.N[product++] = each.extent(1);
    fits = fits && N > 0 && N < most;
    deep = deep && each.stride(0) == 1 && (N == 1 || each.stride(1) != 1);
    tiles += (shape.M + 127) / 128 * ((N + 63) / 64);
  });
  if (!fits || tiles >= most) return false;
  return deep ? detail::tensor_core_matmul<T, true>(a, b, c, shape, stream)
              : detail::tensor_core_matmul<T, false>(a, b, c, shape, stream);
}

}  // namespace kgen::gpu

#endif

// Conversions that the device has instructions for.
#pragma once

#include "kgen/vec.hpp"

namespace kgen::gpu {

// True where load_converted and store_converted exist: kgen/convert.hpp does the others by their bits.
template <class T>
inline constexpr bool converts = false;
template <int W, class T>
KGEN_FN Vec<float, W> load_converted(const T* from);
template <class T, int W>
KGEN_FN void store_converted(T* to, const Vec<float, W>& v);

}  // namespace kgen::gpu

#if defined(KGEN_CUDA) && defined(__CUDA_ARCH__)
#include "kgen/cuda/convert.hpp"
#endif

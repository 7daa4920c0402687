// Attention of many queries over keys and values of 8 bits: these are converted once, in memory set aside for the call,
// from where the tensor cores take them. For few queries skinny_attention.hpp converts them on their way.
#pragma once

#include "kgen/gpu/elementwise.hpp"
#include "kgen/gpu/warpgroup_attention.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// to = from, exactly.
template <class T, class Cached>
struct ConvertKeys {
  View<const Cached, 4> from;
  View<T, 4> to;

  template <int W>
  KGEN_FN void operator()(Index<4> at) const {
    to.store(at, from.template load<W>(at));
  }
};

// False where device or compiler do not allow it.
template <class T, class Cached, class Rule, class Q, class Mask, class Out>
bool converted_attention(const Q& q, const View<const Cached, 4>& k, const View<const Cached, 4>& v, const Mask& mask,
                         const AttentionShape<float, Rule>& shape, const Out& out, Stream stream) {
  if (!fits_warpgroup_attention(shape)) return false;
  const std::int64_t bytes = (element_count(k.shape()) * static_cast<std::int64_t>(sizeof(T)) + 255) / 256 * 256;
  const Workspace memory(2 * bytes, stream);
  const auto convert = [&](const View<const Cached, 4>& from, std::int64_t at) {
    const View<T, 4> to(reinterpret_cast<T*>(memory.data() + at), from.shape());
    gpu::elementwise(from.shape(), ConvertKeys<T, Cached>{from, to}, stream);
    return View<const T, 4>(to);
  };
  return warpgroup_attention<T>(q, convert(k, 0), convert(v, bytes), mask, shape, out, stream);
}

}  // namespace kgen::gpu

#endif

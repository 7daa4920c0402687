// Which kernel of a GPU convolves.
#pragma once

#include "kgen/gpu/channels_last.hpp"
#include "kgen/gpu/depthwise.hpp"
#include "kgen/gpu/narrow_convolution.hpp"
#include "kgen/gpu/warpgroup_convolution.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

namespace detail {
template <class X, class F>
inline constexpr bool are_images_of_16_bits = false;
template <class X, class F, int R>
inline constexpr bool are_images_of_16_bits<View<X, R>, View<F, R>> =
    std::is_same_v<std::remove_const_t<X>, std::remove_const_t<F>> &&
    (std::is_same_v<std::remove_const_t<X>, bf16> || std::is_same_v<std::remove_const_t<X>, f16>);
}  // namespace detail

// Whether tensor cores may convolve operands of these types.
template <class X, class F>
inline constexpr bool has_tensor_core_convolution = detail::are_images_of_16_bits<X, F>;

// Whether so many channels of each group are better multiplied by waves than by warpgroups. These multiply 64 channels
// by 64 columns at least, zeros where there are fewer, 3 times as fast; and groups of which 64 are several, only by way
// of registers.
template <int A>
bool is_narrow(const ConvolutionShape<A>& sizes, std::int64_t group, std::int64_t columns) {
  if (sizes.channels >= 64 || (group == 1 && element_count(sizes.filter) == 1)) return false;
  const auto whole = [](std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; };
  return group > 1 || 64 * whole(columns, 64) >= 3 * sizes.channels * whole(columns, 32);
}

// What that takes of one group, in ns, on an H200: to begin, more for each of the depth, and products.
template <int A>
std::int64_t narrow_time(const ConvolutionShape<A>& sizes, std::int64_t columns) {
  constexpr std::int64_t launch = 4100, of_depth = 9, products_of_ns = 100000;
  const std::int64_t products = sizes.positions() * sizes.depth() * ((columns + 31) / 32 * 32);
  return launch + sizes.depth() * of_depth + products / products_of_ns;
}

// Whether so few tiles of 128 positions and 64 columns keep few multiprocessors busy: blocks may share their depth then,
// where a wave goes over all of it.
template <int A>
bool leaves_room(const ConvolutionShape<A>& sizes, std::int64_t columns, const DeviceLimits& limits) {
  return 2 * ((sizes.positions() + 127) / 128) * ((columns + 63) / 64) <= limits.multiprocessors;
}

// Whether the copy engine takes images, or filters, as they lie.
template <class T, int A>
bool engine_takes_images(const PatchOperands<T, A>& operands) {
  std::int64_t extents[A + 2], pitches[A + 2];
  return detail::describe(operands.x, A + 1, extents, pitches);
}
template <class T, int A>
bool engine_takes_filters(const PatchOperands<T, A>& operands) {
  std::int64_t extents[A + 2], pitches[A + 2];
  const auto takes = [&](int inner) { return detail::describe(operands.filters, inner, extents, pitches); };
  return takes(A + 1) || takes(A);
}

// Operands that lie otherwise are copied first: their elements are read once for that, and for each tap by threads that
// bring them from anywhere. False where they are no lines of places, or windows move otherwise than the engine has it,
// or copied filters, whose channels are neighbours, lie otherwise than is Known of them.
template <class Known, class T, int A, class Out>
bool convolve_channels_last(PatchOperands<T, A> operands, const Out& out, const DeviceLimits& limits, Stream stream) {
  const bool images = !engine_takes_images(operands), filters = !engine_takes_filters(operands);
  if (filters && Known::layout == row_major) return false;
  if ((!images && !filters) || !image_windows(operands, 128) || !has_own_boxes(operands)) return false;
  const std::int64_t image_bytes = copied_image_bytes(operands), filter_bytes = copied_filter_bytes(operands);
  if ((images && image_bytes == 0) || (filters && filter_bytes == 0)) return false;
  const Workspace memory((images ? image_bytes : 0) + (filters ? filter_bytes : 0), stream);
  if (images && !copy_images(operands, memory.data(), stream)) return false;
  if (filters && !copy_filters(operands, memory.data() + (images ? image_bytes : 0), stream)) return false;
  operands.sizes.channels = padded_channels<T>(operands.sizes.channels);
  return warpgroup_convolution<Known>(operands, out, limits, stream);
}

// The same of images alone, whose channels come in whole pieces then.
template <class T, int A, class Out>
bool convolve_narrow(const PatchOperands<T, A>& operands, const Out& out, const DeviceLimits& limits, Stream stream) {
  const bool pieces = operands.x.extent(A + 1) % ChannelsTile<T>::lanes == 0 && !engine_takes_images(operands);
  const std::int64_t bytes = pieces ? copied_image_bytes(operands) : 0;
  const Workspace memory(bytes, stream);
  PatchOperands<T, A> made = operands;
  if (bytes > 0 && !copy_images(made, memory.data(), stream)) return false;
  return narrow_convolution(made, out, limits, stream);
}

// False where device or compiler do not allow it, or there is nothing to compute; and where filters lie otherwise than
// is Known of them, as rows or columns alone.
template <class Known = KnownConvolution<>, class X, class F, int A, class Out>
bool tensor_core_convolution(const X& x, const F& filters, const ConvolutionShape<A>& sizes, std::int64_t group,
                             const Out& out, Stream stream) {
  using T = view_element_t<X>;
  const std::int64_t columns = filters.extent(A + 1);
  const bool some = sizes.positions() > 0 && sizes.depth() > 0 && columns > 0 && element_count(sizes.image) > 0;
  if (!some || columns >= 1 << 30 || !counts_in_32_bits(sizes)) return false;
  const DeviceLimits limits = device_limits(stream);
  const PatchOperands<T, A> operands{x, filters, sizes, group};
  if constexpr (!Known::has_many_channels) {
    if (is_narrow(sizes, group, columns / group)) {
      constexpr std::int64_t untold = 2000;  // ns, that few tiles of few channels take by the engine beyond their time
      const std::int64_t most = narrow_time(sizes, columns) - untold;
      const bool by_engine = group == 1 && leaves_room(sizes, columns, limits) && engine_takes_images(operands);
      if (by_engine && engine_convolution<Known>(operands, out, limits, stream, most)) return true;
      if (convolve_narrow(operands, out, limits, stream)) return true;
    }
  }
  return convolve_channels_last<Known>(operands, out, limits, stream) ||
         warpgroup_convolution<Known>(operands, out, limits, stream);
}

}  // namespace kgen::gpu

#endif

// The axes along which a window moves over an image, in the 32 bits that a GPU counts in.
#pragma once

#include "kgen/gpu/layout.hpp"
#include "kgen/im2col.hpp"

namespace kgen::gpu {

struct WindowAxis {
  int image, filter, result, stride, before, dilation;

  // What a position of the result sees by a tap of the filter; outside of the image that is 0.
  KGEN_FN int seen(int position, int tap) const { return position * stride - before + tap * dilation; }
  KGEN_FN bool has(int at) const { return static_cast<unsigned>(at) < static_cast<unsigned>(image); }
};

template <int A>
struct WindowAxes {
  WindowAxis axes[A];

  WindowAxes() = default;
  explicit WindowAxes(const ConvolutionShape<A>& sizes) {
    const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
    for (int axis = 0; axis < A; ++axis) {
      axes[axis] = {narrow(sizes.image[axis]),   narrow(sizes.filter[axis]), narrow(sizes.result[axis]),
                    narrow(sizes.strides[axis]), narrow(sizes.before[axis]), narrow(sizes.dilations[axis])};
    }
  }
  KGEN_FN const WindowAxis& operator[](int axis) const { return axes[axis]; }
};

// A View whose elements are within 32 bits of its first one: a multiplication and an address are an instruction each.
template <class T, int R>
struct NearView {
  const T* data;
  int steps[R];

  NearView() = default;
  KGEN_FN explicit NearView(const View<const T, R>& view) : data(view.data()) {
    KGEN_UNROLL
    for (int axis = 0; axis < R; ++axis) steps[axis] = static_cast<int>(view.stride(axis));
  }
  static bool fits(const View<const T, R>& view) {
    const Span span(view);
    return (span.end - span.begin) / sizeof(T) < std::uintptr_t{1} << 31;
  }
  KGEN_FN int offset(const Index<R>& at) const {
    int offset = 0;
    KGEN_UNROLL
    for (int axis = 0; axis < R; ++axis) offset += static_cast<int>(at[axis]) * steps[axis];
    return offset;
  }
};

template <class S>
inline constexpr bool is_near_view = false;
template <class T, int R>
inline constexpr bool is_near_view<NearView<T, R>> = true;

// Whether all that a kernel counts of a convolution stays within 32 bits: positions, taps, and places in the image.
template <int A>
bool counts_in_32_bits(const ConvolutionShape<A>& sizes) {
  constexpr std::int64_t most = 1 << 30;
  bool fits = sizes.positions() < most && sizes.depth() < most / 64;
  for (int axis = 0; axis < A; ++axis) {
    fits = fits && sizes.image[axis] + sizes.filter[axis] * sizes.dilations[axis] + sizes.before[axis] +
                           sizes.result[axis] * sizes.strides[axis] <
                       most;
  }
  return fits;
}

}  // namespace kgen::gpu

// Images whose channels are no neighbours in memory, as PyTorch and ONNX have them, brought into the order that
// convolutions read: turned in registers, line by line. Lane by lane, where the window of a tile is filled, each
// channel of a pixel would be a cache line of its own: a 1x1 convolution of 56x56x256 took twice the time so.
#pragma once

#include "kgen/cpu/parallel.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/cpu/turn.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// Whether the pixels of a line are neighbours, and the channels are not. x: [N, ..., W, C].
template <class X>
bool has_channels_apart(const X& x) {
  if constexpr (is_view<X>) {
    constexpr int R = X::rank;
    if constexpr (R >= 3 && !is_packed<view_element_t<X>>) return x.stride(R - 1) != 1 && x.stride(R - 2) == 1;
  }
  return false;
}

// to[i * Channels + c] = from[c * next + i] for `pixels` values of i.
template <int Channels, class T>
void interleave(const T* __restrict from, std::int64_t next, T* __restrict to, std::int64_t pixels) {
  for (std::int64_t i = 0; i < pixels; ++i) {
    for (int c = 0; c < Channels; ++c) to[i * Channels + c] = from[c * next + i];
  }
}

// The pixels of one line with their channels together. Colours make no squares: 3 channels of 224 x 224 element by
// element took a seventh of the convolution to 16 channels behind it.
template <class T>
[[gnu::noinline]] void join_channels(const T* from, std::int64_t next, std::int64_t channels, T* to,
                                     std::int64_t pixels) {
  if (channels == 2) return interleave<2>(from, next, to, pixels);
  if (channels == 3) return interleave<3>(from, next, to, pixels);
  if (channels == 4) return interleave<4>(from, next, to, pixels);
  turn(from, next, to, channels, channels, pixels);
}

// body(x), or body(a copy of it with its channels together), where they are apart.
template <class X, class Body>
void with_channels_together(const X& x, Stream stream, const Body& body) {
  if constexpr (is_view<X>) {
    if (has_channels_apart(x)) {
      using T = std::remove_const_t<view_element_t<X>>;
      constexpr int R = X::rank;
      const Index<R - 2> lines = first_axes<R - 2>(x.shape());
      const std::int64_t pixels = x.extent(R - 2), channels = x.extent(R - 1), count = element_count(lines);
      T* copy = scratch<T>(7, count * pixels * channels);
      parallel(threads_for(stream, count * pixels * channels), [&](Team team) {
        const Range part = team.part(count);
        for (std::int64_t i = part.begin; i < part.end; ++i) {
          const auto from = x.data() + element_offset(first_axes<R - 2>(x.strides()), unflatten(i, lines));
          join_channels(from, x.stride(R - 1), channels, copy + i * pixels * channels, pixels);
        }
      });
      return body(View<const T, R>(copy, x.shape()));
    }
  }
  body(x);
}

}  // namespace kgen::cpu

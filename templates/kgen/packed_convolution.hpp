// Convolutions by filters that were packed before, on the CPU: constant ones are packed once, when the model is loaded,
// instead of in every call.
#pragma once

#include "kgen/convolution.hpp"
#include "kgen/packed_matmul.hpp"

#if !defined(KGEN_GPU)
namespace kgen {

// Filters [KH, KW, G, O] as the matrix [KH * KW * G, O], in panels as pack_columns makes them: filter o's tap (kh, kw)
// of channel g is at [o / 16, (kh * KW + kw) * G + g, o % 16]. What lies beyond the last filter is 0.
//
// panels: [(O + 15) / 16, KH * KW * G, 16].
template <Source<4> F, Float T>
KGEN_KERNEL(pack_filters, "target == cpu")
void pack_filters(const F& filters, const View<T, 3>& panels, Stream stream = {})
requires Float<source_lane_t<F, 4>>
{
  const Index<4> shape = filters.shape();
  const std::int64_t depth = shape[0] * shape[1] * shape[2];
  assert(panels.extent(0) == (shape[3] + 15) / 16 && panels.extent(1) == depth);
  // A filter at a time: PyTorch's and ONNX's lie in one piece each.
  cpu::parallel_for(cpu::threads_for(stream, depth * shape[3]), panels.extent(0), [&](std::int64_t panel) {
    for (std::int64_t j = 0; j < 16; ++j) {
      const std::int64_t filter = panel * 16 + j;
      for (std::int64_t g = 0; g < shape[2]; ++g) {
        for (std::int64_t tap = 0; tap < shape[0] * shape[1]; ++tap) {
          const Index<3> to{panel, tap * shape[2] + g, j};
          const Index<4> from{tap / shape[1], tap % shape[1], g, filter};
          using Lane = source_lane_t<F, 4>;
          panels.store(to, filter < shape[3] ? filters.template load<1>(from) : Vec<Lane, 1>(Lane(0)));
        }
      }
    }
  });
}

namespace detail {

// Filters of one channel each [KH, KW, 1, O], read out of their panels.
template <class T>
struct FiltersOfPanels {
  View<const T, 3> panels;
  Index<4> extents;

  KGEN_FN Index<4> shape() const { return extents; }
  template <int W>
  KGEN_FN auto load(Index<4> at) const {
    T lanes[W];
    for (int i = 0; i < W; ++i) {
      const std::int64_t o = at[3] + i;
      lanes[i] = panels.template load<1>(Index<3>{o / 16, at[0] * extents[1] + at[1], o % 16}).data;
    }
    return load_lanes<W>(lanes);
  }
};

template <int TileM, int TileN, class X, class T, class Out>
void convolve_packed(const X& x, const View<const T, 3>& panels, Index<2> taps, Index<2> strides, Index<4> pads,
                     Index<2> dilations, std::int64_t group, std::int64_t padding, const Out& out, Stream stream) {
  const Index<4> image = x.shape();
  const std::int64_t filters = panels.extent(0) * 16 - padding, depth = panels.extent(1);
  assert(depth == taps[0] * taps[1] * (image[3] / group));
  const ConvolutionShape<2> sizes = convolution_shape<2>(image, taps, image[3] / group, strides, pads, dilations);
  if (group == 1 && element_count(taps) == 1) {
    // Of one tap: a product of matrices. By a window, which holds what strides pass over as well, one thread of a Zen 5
    // took 1400 us instead of 1316 for 1024 to 2048 channels of 14x14 with stride 2, 1052 instead of 924 for 512 to
    // 1024 of 28x28, 1049 instead of 938 for 256 to 512 of 56x56.
    const Patches<X, 2> pixels{x, sizes, 0};
    const ResultMatrix<Out, 2> result{out, sizes, 0};
    return cpu::packed_matmul<TileM, TileN>(pixels, panels, padding, result, stream);
  }
  if (group == 1) {
    const cpu::PackedFilters<T> packed{panels.data(), depth};
    return cpu::convolve<TileM, TileN, T>(Patches<X, 2>{x, sizes, 0}, packed, filters,
                                          ResultMatrix<Out, 2>{out, sizes, 0}, stream);
  }
  assert(group == filters && group == image[3]);
  if constexpr (is_view<X>) {
    if (x.stride(3) == 1) {
      return cpu::convolve_channels<T>(x, cpu::FilterTapPanels<T, 2>{panels.data(), taps}, sizes, out, stream);
    }
  }
  const FiltersOfPanels<T> unpacked{panels, join(taps, Index<2>{1, filters})};
  const Index<4> shape = join(join(Index<1>{sizes.images}, sizes.result), Index<1>{filters});
  copy(shape, DepthwiseSum<X, FiltersOfPanels<T>, 2>{x, unpacked, sizes}, out, stream);
}

}  // namespace detail

// conv2d of filters that pack_filters packed: of one group, or of a group for each channel, which has one filter.
// `taps`: the filters' rows and columns; `padding`: how many filters fewer there are than the panels have columns. A
// prologue on x is evaluated as conv2d does. TileM and TileN: as matmul's.
//
// x: [N, H, W, C]; panels: [P, KH * KW * C / group, 16]; out: [N, OH, OW, 16 * P - padding].
template <int TileM = 96, int TileN = 256, Source<4> X, OneOf<float, double> T, Sink<source_lane_t<X, 4>, 4> Out>
KGEN_KERNEL(packed_conv2d, "target == cpu")
KGEN_TUNED(TileM) KGEN_TUNED(TileN)
KGEN_EVALUATED(x, "(taps[0] + strides[0] - 1) / strides[0] * ((taps[1] + strides[1] - 1) / strides[1])")
void packed_conv2d(const X& x, const View<const T, 3>& panels, Index<2> taps, Index<2> strides, Index<4> pads,
                   Index<2> dilations, std::int64_t group, std::int64_t padding, const Out& out, Stream stream = {})
requires Float<source_lane_t<X, 4>> && std::same_as<source_lane_t<X, 4>, T> && Allowed<TileM, 48, 96, 192> &&
         Allowed<TileN, 128, 256, 512>
{
  assert(panels.extent(2) == 16 && panels.is_dense());
  cpu::with_channels_together(x, stream, [&](const auto& image) {
    detail::convolve_packed<TileM, TileN>(image, panels, taps, strides, pads, dilations, group, padding, out, stream);
  });
}

}  // namespace kgen
#endif

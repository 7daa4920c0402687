// Convolution on the tensor cores of Hopper: the product of matrices of kgen/im2col.hpp by warpgroup_matmul.hpp's
// kernel, of which it swaps what brings the tiles (patch_tiles.hpp, some 200 lines). Rows are positions of the result,
// depth is taps and channels, columns are filters, group by group in one launch.
#pragma once

#include "kgen/gpu/patch_tiles.hpp"
#include "kgen/gpu/warpgroup_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

namespace detail {
// Extents and distances in bytes as the copy engine wants them, the innermost axis first, which is axis `inner` of the
// View; that of the others follows from the last to the first. False where it does not take them: see
// matrix_in_memory().
template <class T, int R>
bool describe(const View<const T, R>& view, int inner, std::int64_t (&extents)[R], std::int64_t (&pitches)[R]) {
  const auto size = static_cast<std::int64_t>(sizeof(T));
  const auto taken = [](std::int64_t pitch) { return pitch > 0 && pitch % 16 == 0 && pitch < std::int64_t{1} << 40; };
  bool fits = (view.extent(inner) == 1 || view.stride(inner) == 1) && view.extent(inner) * size % 16 == 0 &&
              reinterpret_cast<std::uintptr_t>(view.data()) % 16 == 0;
  extents[0] = view.extent(inner);
  pitches[0] = 0;
  int place = 1;
  for (int axis = R - 1; axis >= 0; --axis) {
    if (axis == inner) continue;
    extents[place] = view.extent(axis);
    pitches[place] = view.extent(axis) > 1 ? view.stride(axis) * size : (extents[0] * size + 15) / 16 * 16;
    fits = fits && taken(pitches[place++]);
  }
  return fits;
}

// The filters as a matrix [taps and channels, columns] whose lines are its rows; nothing where they do not lie so.
template <class T, int R>
std::optional<View<const T, 2>> filter_matrix(const View<const T, R>& filters) {
  std::int64_t depth = 1, step = 0;
  for (int axis = R - 2; axis >= 0; --axis) {
    if (filters.extent(axis) == 1) continue;
    if (depth == 1) step = filters.stride(axis);
    if (filters.stride(axis) != step * depth) return std::nullopt;
    depth *= filters.extent(axis);
  }
  if (filters.stride(R - 1) != 1) return std::nullopt;
  return View<const T, 2>(filters.data(), Index<2>{depth, filters.extent(R - 1)}, Index<2>{step, 1});
}
}  // namespace detail

// The images as the copy engine is told of them, 128 pixels at a time, but for where they lie: nothing where it does
// not take windows that move so.
template <class T, int A>
std::optional<PatchedMemory<A + 2>> image_windows(const PatchOperands<T, A>& operands) {
  const ConvolutionShape<A>& sizes = operands.sizes;
  PatchedMemory<A + 2> memory{operands.x.data(), {}, {}, {}, {}, {}, swizzle_bytes / static_cast<int>(sizeof(T)), 128};
  bool fits = true;
  for (int i = 0; i < A; ++i) {
    const int axis = A - 1 - i;
    const std::int64_t last = (sizes.result[axis] - 1) * sizes.strides[axis] - sizes.before[axis];
    memory.lower[i] = -sizes.before[axis];
    memory.upper[i] = last - (sizes.image[axis] - 1);
    memory.steps[i] = sizes.strides[axis];
    fits = fits && (sizes.filter[axis] - 1) * sizes.dilations[axis] <= PatchedMemory<A + 2>::most_offset;
  }
  return fits && memory.fits() ? std::optional(memory) : std::nullopt;
}
template <class T, int A>
std::optional<TensorMap> image_map(const PatchOperands<T, A>& operands) {
  std::optional<PatchedMemory<A + 2>> memory = image_windows(operands);
  const bool fits = memory && detail::describe(operands.x, A + 1, memory->extents, memory->pitches);
  return fits ? tensor_map<T>(*memory) : std::nullopt;
}

template <int Columns, bool BDeep, class T, int A>
auto engine_patches(const PatchOperands<T, A>& operands) {
  using Tiles = OperandTiles<T, Columns>;
  using Loads = EnginePatches<Tiles, BDeep, A>;
  BoxedMemory<A + 2> filters{operands.filters.data(), {}, {}, {}};
  const bool fits = detail::describe(operands.filters, BDeep ? A : A + 1, filters.extents, filters.pitches);
  for (int axis = 0; axis < A + 2; ++axis) filters.box[axis] = axis == 0 ? Tiles::depth : 1;
  filters.box[1] = BDeep ? Columns : Tiles::depth;
  const std::optional<TensorMap> a = fits ? image_map(operands) : std::nullopt;
  const std::optional<TensorMap> b = a ? tensor_map<T>(filters) : std::nullopt;
  return b ? std::optional(Loads{*a, *b, operands.shape()}) : std::nullopt;
}

template <int Columns, bool BDeep, class T, int A>
auto copied_patches(const PatchOperands<T, A>& operands) {
  const auto& [x, filters, sizes, group] = operands;
  const auto from = [](const View<const T, A + 2>& view, const Index<A>& image, std::int64_t channels, int line) {
    constexpr int lanes = TapMemory<T, A>::lanes;
    const int last = line == 0 ? A + 1 : A;  // the channels' axis
    const int along = line == 0 ? A : line;  // that of lines beside each other
    TapMemory<T, A> memory{view.data(), {}, {}, view.stride(last), true, false};
    bool aligned = reinterpret_cast<std::uintptr_t>(view.data()) % 16 == 0;
    for (int axis = 0; axis < A + 2; ++axis) {
      if (axis != last && view.extent(axis) > 1) aligned = aligned && view.stride(axis) % lanes == 0;
    }
    for (int i = 0; i < A; ++i) {
      const int axis = A - 1 - i;
      memory.image[i] = static_cast<int>(image[axis]);
      memory.steps[i] = view.stride(line == 0 ? axis + 1 : axis);
    }
    memory.vectors = aligned && channels % lanes == 0 && memory.channel_step == 1;
    memory.across = view.stride(along) == 1 && memory.channel_step != 1;
    return memory;
  };
  using Loads = CopiedPatches<T, OperandTiles<T, Columns>, BDeep, A>;
  Loads loads;
  loads.a = from(x, sizes.image, sizes.channels, 0);
  if constexpr (BDeep) {
    loads.b = from(filters, sizes.filter, sizes.channels, A + 1);
  } else {
    loads.b = CopiedMatrix<T>(*detail::filter_matrix(filters), false);
  }
  loads.shape = operands.shape();
  loads.depth = Positions<A + 1>(join(sizes.filter, Index<1>{sizes.channels}));
  loads.depth_end = static_cast<int>(sizes.depth());
  loads.images = static_cast<int>(sizes.images);
  loads.image_step = x.stride(0);
  loads.column_step = filters.stride(A + 1);
  return std::optional(loads);
}

template <bool BDeep, class T, int A, class C>
bool convolve_by_engine(const PatchOperands<T, A>& operands, const C& c, WarpgroupMatmulShape<1> shape,
                        const DeviceLimits& limits, Stream stream) {
  constexpr int depth = OperandTiles<T, 64>::depth;
  shape.K = element_count(operands.sizes.filter) * ((operands.sizes.channels + depth - 1) / depth * depth);
  const auto launch = [&]<int Columns>() {
    using Loads = EnginePatches<OperandTiles<T, Columns>, BDeep, A>;
    return launch_warpgroup_matmul<T, Columns, BDeep, Loads>(c, shape, limits, stream,
                                                             [&] { return engine_patches<Columns, BDeep>(operands); });
  };
  const int columns = best_columns<256, 128, 64>(shape, limits.multiprocessors);
  if (columns == 256) return launch.template operator()<256>();
  return columns == 128 ? launch.template operator()<128>() : launch.template operator()<64>();
}

// Tiles of 64 columns: wider ones' sums and epilogues leave too few registers to those that copy.
template <bool BDeep, class T, int A, class C>
bool convolve_copied(const PatchOperands<T, A>& operands, const C& c, const WarpgroupMatmulShape<1>& shape,
                     const DeviceLimits& limits, Stream stream) {
  using Loads = CopiedPatches<T, OperandTiles<T, 64>, BDeep, A>;
  return launch_warpgroup_matmul<T, 64, BDeep, Loads>(c, shape, limits, stream,
                                                      [&] { return copied_patches<64, BDeep>(operands); });
}

// Whether no box of a group's channels reaches another group's, which NaN and infinity would not bear: they are
// multiplied by 0.
template <class T, int A>
bool has_own_boxes(const PatchOperands<T, A>& operands) {
  return operands.group == 1 || operands.sizes.channels % OperandTiles<T, 64>::depth == 0;
}

// False where device or compiler do not allow it. There is something to compute, which counts_in_32_bits().
template <class T, int A, class Out>
bool warpgroup_convolution(const PatchOperands<T, A>& operands, const Out& out, const DeviceLimits& limits,
                           Stream stream) {
  const auto& [x, filters, sizes, group] = operands;
  const std::int64_t columns = filters.extent(A + 1);
  if ((sizes.positions() + 127) / 128 * columns >= 1 << 30) return false;  // tiles
  WarpgroupMatmulShape<1> shape{sizes.positions(), sizes.depth(),          {columns / group}, 0,
                                Lanes::any,        static_cast<int>(group)};
  const bool aligned = group == 1 || shape.N[0] % 8 == 0;
  const NumberedRows<Out, A + 1> sink{out, operands.shape().rows};
  if (aligned) shape.lanes = whole_lanes(sink, 8);
  const bool own = has_own_boxes(operands);
  if (own && filters.stride(A + 1) == 1 && convolve_by_engine<false>(operands, sink, shape, limits, stream))
    return true;
  if (own && filters.stride(A) == 1 && convolve_by_engine<true>(operands, sink, shape, limits, stream)) return true;
  if (detail::filter_matrix(operands.filters)) return convolve_copied<false>(operands, sink, shape, limits, stream);
  return convolve_copied<true>(operands, sink, shape, limits, stream);
}

}  // namespace kgen::gpu

#endif

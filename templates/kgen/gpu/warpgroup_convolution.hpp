// Convolution on the tensor cores of Hopper: the product of matrices of kgen/im2col.hpp by warpgroup_matmul.hpp's
// kernel, of which it swaps what brings the tiles (patch_tiles.hpp, some 200 lines). Rows are positions of the result,
// depth is taps and channels, columns are filters, group by group in one launch. Where these are few tiles for their
// depth, blocks share it, as skinny_matmul.hpp has it.
#pragma once

#include <iterator>
#include <limits>

#include "kgen/gpu/patch_tiles.hpp"
#include "kgen/gpu/skinny_matmul.hpp"
#include "kgen/gpu/tall_matmul.hpp"
#include "kgen/gpu/warpgroup_matmul.hpp"
#include "kgen/known_product.hpp"

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

// The images as the copy engine is told of them, so many pixels at a time, but for where they lie: nothing where it
// does not take windows that move so.
template <class T, int A>
std::optional<PatchedMemory<A + 2>> image_windows(const PatchOperands<T, A>& operands, int pixels) {
  const ConvolutionShape<A>& sizes = operands.sizes;
  constexpr int channels = swizzle_bytes / static_cast<int>(sizeof(T));
  PatchedMemory<A + 2> memory{operands.x.data(), {}, {}, {}, {}, {}, channels, pixels};
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
std::optional<TensorMap> image_map(const PatchOperands<T, A>& operands, int pixels) {
  std::optional<PatchedMemory<A + 2>> memory = image_windows(operands, pixels);
  const bool fits = memory && detail::describe(operands.x, A + 1, memory->extents, memory->pitches);
  return fits ? tensor_map<T>(*memory) : std::nullopt;
}

// The bytes of the images that tiles see which run at the same time, all channels of them.
template <class T, int A>
std::int64_t bytes_at_once(const PatchOperands<T, A>& operands, int rows, int columns, const DeviceLimits& limits) {
  const ConvolutionShape<A>& sizes = operands.sizes;
  const std::int64_t across = (operands.filters.extent(A + 1) + columns - 1) / columns;
  const std::int64_t positions = (limits.multiprocessors + across - 1) / across * rows;
  const std::int64_t pixels =
      std::min(sizes.images * element_count(sizes.image), positions * element_count(sizes.strides));
  return pixels * sizes.channels * operands.group * static_cast<std::int64_t>(sizeof(T));
}

// columns: BDeep, that a tile has of the filters. Lines that a box has beyond them would take the engine three times as
// long as those that there are (tests/bench/CONVOLUTION.md).
template <class Tiles, bool BDeep, class T, int A>
auto engine_patches(const PatchOperands<T, A>& operands, const DeviceLimits& limits, int columns = Tiles::columns) {
  using Loads = EnginePatches<Tiles, BDeep, A>;
  BoxedMemory<A + 2> filters{operands.filters.data(), {}, {}, {}};
  const bool fits = detail::describe(operands.filters, BDeep ? A : A + 1, filters.extents, filters.pitches);
  for (int axis = 0; axis < A + 2; ++axis) filters.box[axis] = axis == 0 ? Tiles::depth : 1;
  filters.box[1] = BDeep ? columns : Tiles::depth;
  const std::optional<TensorMap> a = fits ? image_map(operands, Tiles::rows) : std::nullopt;
  const std::optional<TensorMap> b = a ? tensor_map<T>(filters) : std::nullopt;
  const bool taps_first = bytes_at_once(operands, Tiles::rows, Tiles::columns, limits) > limits.cache_bytes / 2;
  return b ? std::optional(Loads{*a, *b, operands.shape(), taps_first, BDeep ? columns : Tiles::columns})
           : std::nullopt;
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

// In tiles of `Rows` positions whose depth blocks share: what that takes, and its launch.
template <int Rows, bool BDeep, class T, int A, class C>
struct SharedConvolution {
  using Matmul = SkinnyMatmul<T, Rows, 1, BDeep>;
  using Loads = EnginePatches<typename Matmul::Tiles, BDeep, A>;
  SkinnyLaunch<Matmul, Loads, 1, C> launch;
  SharedDepth shared{};

  // share: of the patches' bytes, that come from memory.
  SharedConvolution(const C& c, const WarpgroupMatmulShape<1>& shape, double share, const DeviceLimits& limits,
                    Stream stream)
      : launch{"shared_convolution", c, shape, limits, stream} {
    if (launch.fits()) shared = launch.best(shape.count_tiles<Rows>(c, Matmul::columns), share);
  }
  bool is_faster_than(std::int64_t time) const { return shared.rounds == 1 && shared.blocks > 1 && shared.time < time; }
  bool operator()(const PatchOperands<T, A>& operands) {
    const int columns = static_cast<int>(std::min<std::int64_t>(launch.shape.N[0], Matmul::columns));
    return launch(shared, engine_patches<typename Matmul::Tiles, BDeep>(operands, launch.limits, columns));
  }
};

// tile_times of convolutions, of tiles of so many rows, where all multiprocessors have one tile, or go from tile to
// tile: patches come more slowly to all at once. Straddling: channels are no multiples of 128 bytes.
struct PatchTime {
  int rows;
  TileTime tile;
};
inline constexpr PatchTime patch_times[] = {{128, {256, 640, 710, 790, 2100}}, {128, {192, 600, 680, 740, 1700}},
                                            {128, {128, 350, 480, 570, 1100}}, {128, {64, 230, 390, 430, 700}},
                                            {256, {128, 700, 750, 900, 2100}}, {256, {96, 650, 710, 870, 1700}},
                                            {256, {64, 560, 660, 790, 1100}}};

// The columns of tall tiles of filters that lie along their depth: as many in each, where lines that no filter has
// would take longer than the ends of results do, which all tiles have then (ns, as are those of a line).
inline constexpr int missing_line = 5, even_end = 1400;
inline int tall_columns(const WarpgroupMatmulShape<1>& shape, int columns, std::int64_t steps) {
  const std::int64_t across = shape.tiles_across(0, columns), missing = across * columns - shape.N[0];
  if (missing_line * missing * steps < even_end * (across - 1)) return columns;
  return static_cast<int>((shape.N[0] + 8 * across - 1) / (8 * across) * 8);
}

// Which of those take the least time for patches of which memory gives that share. Sinks that read much have no
// registers for the ends of the widest tiles, and take these step by step. Columns of filters that do not lie along
// their depth come 64 to a box.
struct PatchChoice {
  int rows, columns;
  std::int64_t time;
};
template <bool BDeep, class C>
PatchChoice best_patches(const WarpgroupMatmulShape<1>& shape, std::int64_t steps, double share,
                         const DeviceLimits& limits) {
  PatchChoice best{0, 0, 0};
  for (const auto& [rows, each] : patch_times) {
    const int columns = each.columns, across = shape.tiles_across(0, columns);
    if (!BDeep && columns % 64 != 0) continue;
    if (!has_fast_ends<C, WarpgroupSums<256>, 8> && columns == 256 && shape.N[0] % columns != 0) continue;
    const std::int64_t tiles = (shape.M + rows - 1) / rows * shape.groups * across;
    const std::int64_t rounds = (tiles + limits.multiprocessors - 1) / limits.multiprocessors;
    // What lines that are missing take, or save, and the ends of tiles that are narrower than they could be.
    const int missing = columns - static_cast<int>(shape.N[0] / across);
    const bool even = BDeep && rows == 256 && tall_columns(shape, columns, steps) < columns;
    // Of one tile across none come that are missing; those of more than 128 columns were timed as slower all the same.
    const bool costs_nothing = BDeep && across == 1 && columns <= 128;
    const int more = even ? -missing : costs_nothing ? 0 : 3 * missing;
    const int end = each.end + (even && across > 1 ? even_end : 0);
    const TileTime time{columns, each.stage + more, each.crowded_stage + more, each.straddling_stage + more, end};
    const std::int64_t all = time.time(rounds, steps, shape, share, rounds == 1 ? 0 : 1);
    if (best.columns == 0 || all < best.time) best = {rows, columns, all};
  }
  return best;
}

// In tiles of 256 rows and so many columns.
template <bool BDeep, class T, int A, class C>
bool convolve_tall(const PatchOperands<T, A>& operands, const C& c, WarpgroupMatmulShape<1> shape, int columns,
                   const DeviceLimits& limits, Stream stream) {
  shape.columns_asked = BDeep ? tall_columns(shape, columns, shape.steps(OperandTiles<T, 64>::depth)) : columns;
  const auto launch = [&]<int Columns>() {
    using Tiles = OperandTiles<T, Columns, 256>;
    return launch_tall_matmul<T, Columns, BDeep, EnginePatches<Tiles, BDeep, A>>(
        c, shape, limits, stream, [&] { return engine_patches<Tiles, BDeep>(operands, limits, shape.columns_asked); });
  };
  if constexpr (BDeep) {
    if (columns == 96) return launch.template operator()<96>();
  }
  return columns == 128 ? launch.template operator()<128>() : launch.template operator()<64>();
}

// Where that takes less than `most` ns; else false.
template <bool BDeep, class T, int A, class C>
bool convolve_by_engine(const PatchOperands<T, A>& operands, const C& c, WarpgroupMatmulShape<1> shape,
                        std::int64_t most, const DeviceLimits& limits, Stream stream) {
  constexpr int depth = OperandTiles<T, 64>::depth;
  const std::int64_t taps = element_count(operands.sizes.filter);
  shape.K = taps * ((operands.sizes.channels + depth - 1) / depth * depth);
  shape.straddles = operands.sizes.channels % depth != 0;
  const double share = 1 / static_cast<double>(taps);  // a pixel comes from memory once, whichever taps see it
  const PatchChoice alone = best_patches<BDeep, C>(shape, shape.steps(depth), share, limits);
  SharedConvolution<64, BDeep, T, A, C> of_64(c, shape, share, limits, stream);
  SharedConvolution<128, BDeep, T, A, C> of_128(c, shape, share, limits, stream);
  const bool wide = of_128.is_faster_than(alone.time);
  const std::int64_t least = wide ? of_128.shared.time : alone.time;
  const bool deep = of_64.is_faster_than(least);
  if ((deep ? of_64.shared.time : least) >= most) return false;
  if (deep) return of_64(operands);
  if (wide) return of_128(operands);
  if (alone.rows == 256) return convolve_tall<BDeep>(operands, c, shape, alone.columns, limits, stream);
  const auto launch = [&]<int Columns>() {
    using Tiles = OperandTiles<T, Columns>;
    const int columns = static_cast<int>(std::min<std::int64_t>(shape.N[0], Columns));
    return launch_warpgroup_matmul<T, Columns, BDeep, EnginePatches<Tiles, BDeep, A>>(
        c, shape, limits, stream, [&] { return engine_patches<Tiles, BDeep>(operands, limits, columns); });
  };
  if (alone.columns == 256) return launch.template operator()<256>();
  if (alone.columns == 192) return launch.template operator()<192>();
  return alone.columns == 128 ? launch.template operator()<128>() : launch.template operator()<64>();
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

// A convolution as the product that it is, and what its sink takes.
template <class T, int A, class Sink>
WarpgroupMatmulShape<1> product_of(const PatchOperands<T, A>& operands, const Sink& sink) {
  const auto& sizes = operands.sizes;
  const std::int64_t columns = operands.filters.extent(A + 1) / operands.group;
  WarpgroupMatmulShape<1> shape{sizes.positions(), sizes.depth(),
                                {columns},         0,
                                Lanes::any,        static_cast<int>(operands.group)};
  if (operands.group == 1 || columns % 8 == 0) shape.lanes = whole_lanes(sink, 8);
  return shape;
}
template <class T, int A>
bool are_few_tiles(const PatchOperands<T, A>& operands) {
  return (operands.sizes.positions() + 127) / 128 * operands.filters.extent(A + 1) < 1 << 30;
}

// By the copy engine, where that takes less than `most` ns: false where it does not, where operands or windows do not
// lie as the engine takes them, or device or compiler do not allow it.
template <class Known = KnownConvolution<>, class T, int A, class Out>
bool engine_convolution(const PatchOperands<T, A>& operands, const Out& out, const DeviceLimits& limits, Stream stream,
                        std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  if (!are_few_tiles(operands) || !has_own_boxes(operands)) return false;
  const NumberedRows<Out, A + 1> sink{out, operands.shape().rows};
  const WarpgroupMatmulShape<1> shape = product_of(operands, sink);
  if constexpr (Known::layout != column_major) {
    const bool across = operands.filters.stride(A + 1) == 1;
    if (across && convolve_by_engine<false>(operands, sink, shape, most, limits, stream)) return true;
  }
  if constexpr (Known::layout != row_major) {
    const bool along = operands.filters.stride(A) == 1;
    if (along && convolve_by_engine<true>(operands, sink, shape, most, limits, stream)) return true;
  }
  return false;
}

// False where device or compiler do not allow it, or filters lie otherwise than is Known of them; of rows, also where
// the engine takes no such windows and the rows of all taps are not evenly apart. There is something to compute, which
// counts_in_32_bits().
template <class Known = KnownConvolution<>, class T, int A, class Out>
bool warpgroup_convolution(const PatchOperands<T, A>& operands, const Out& out, const DeviceLimits& limits,
                           Stream stream) {
  if (engine_convolution<Known>(operands, out, limits, stream)) return true;
  if (!are_few_tiles(operands)) return false;
  const NumberedRows<Out, A + 1> sink{out, operands.shape().rows};
  const WarpgroupMatmulShape<1> shape = product_of(operands, sink);
  if constexpr (Known::layout != column_major) {
    if (detail::filter_matrix(operands.filters)) return convolve_copied<false>(operands, sink, shape, limits, stream);
  }
  if constexpr (Known::layout == row_major) {
    return false;
  } else {
    return convolve_copied<true>(operands, sink, shape, limits, stream);
  }
}

}  // namespace kgen::gpu

#endif

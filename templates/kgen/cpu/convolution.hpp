// Convolutions on the CPU. Threads take tiles of the result: boxes of positions of one image, by some channels. What a
// tile sees of the image is brought into one piece in the second-level cache, its window, with the pads around it; the
// register tile then reads the patches of its positions out of that, each at a place of its own, and a panel of the
// filters beside them.
//
// Why no matrix of patches: of a 3x3 filter it holds each element nine times; 3x3 56x56x64 on two threads of a Zen 5
// took 1.40 of the best peer so, and 1.00 without. The window holds an element once, and a prologue, a conversion or
// pads are none of the multiplication's concern. The 24 multiply-adds of a k have 14 loads beside them, as in
// panels.hpp; where the registers do not hold the 12 places too, 8 loads more.
#pragma once

#include "kgen/cpu/matmul.hpp"
#include "kgen/cpu/patches.hpp"
#include "kgen/im2col.hpp"

namespace kgen::cpu {

// A box of positions of the result of one image.
template <int A>
struct PositionBox {
  std::int64_t image;
  Index<A> begin, extents;

  std::int64_t count() const { return element_count(extents); }
};

// What stands around an image, and in front of it: 0, but of images that have an overload of their own.
template <class T, class X>
T outside_of(const X&) {
  return T(0);
}

// What a box of positions sees of an image, pads included.
template <class T, int A>
class Window {
 public:
  Window(const ConvolutionShape<A>& sizes, const PositionBox<A>& box) : sizes_(sizes), box_(box) {
    pitch_ = pitch_of(sizes.channels);
    pixels_ = pixels_of(sizes, box.extents);
    steps_ = dense_strides(pixels_);
    for (int axis = 0; axis < A; ++axis) steps_[axis] *= pitch_;
  }

  static std::int64_t elements(const ConvolutionShape<A>& sizes, const Index<A>& positions) {
    return element_count(pixels_of(sizes, positions)) * pitch_of(sizes.channels);
  }

  // Brings it to `to`: channels from first_channel on.
  template <class X>
  void fill(const X& x, std::int64_t first_channel, T* to) const {
    Index<A> lines = pixels_, line{};
    lines[A - 1] = 1;
    const std::int64_t line_elements = pixels_[A - 1] * pitch_, count = element_count(lines);
    for (std::int64_t i = 0; i < count; ++i, to += line_elements, advance(line, A, Index<A>{}, lines)) {
      Index<A + 2> from{};
      from[0] = box_.image;
      from[A + 1] = first_channel;
      bool inside = true;
      for (int axis = 0; axis < A; ++axis) {
        from[axis + 1] = box_.begin[axis] * sizes_.strides[axis] - sizes_.before[axis] + line[axis];
        if (axis < A - 1) inside = inside && from[axis + 1] >= 0 && from[axis + 1] < sizes_.image[axis];
      }
      fill_line(x, from, inside, to);
    }
  }

  // Where the patch of each position begins: as many as there are, and `count` in all, the last of them again.
  void place(std::int64_t* places, std::int64_t count) const {
    Index<A> at{};
    for (std::int64_t i = 0; i < count; ++i) {
      places[i] = 0;
      for (int axis = 0; axis < A; ++axis) places[i] += at[axis] * sizes_.strides[axis] * steps_[axis];
      if (i + 1 < box_.count()) advance(at, A, Index<A>{}, box_.extents);
    }
  }

  // The runs of a patch that rows `depth` of the filters meet; returns how many.
  std::int64_t runs(Range depth, Run* to) const {
    const std::int64_t together = taps_together(), length = together * sizes_.channels;
    std::int64_t count = 0;
    for (std::int64_t k = depth.begin; k < depth.end;) {
      const std::int64_t within = k % length, next = std::min(depth.end, k - within + length);
      const Index<A> tap = unflatten(k / length * together, sizes_.filter);
      std::int64_t begin = within;
      for (int axis = 0; axis < A; ++axis) begin += tap[axis] * sizes_.dilations[axis] * steps_[axis];
      to[count++] = {begin, begin + next - k};
      k = next;
    }
    return count;
  }
  static std::int64_t most_runs(const ConvolutionShape<A>& sizes) { return element_count(sizes.filter) + 1; }

 private:
  // Pixels that are a multiple of 2 KB apart would share a few sets of the first-level cache.
  static std::int64_t pitch_of(std::int64_t channels) {
    const std::int64_t bytes = channels * static_cast<std::int64_t>(sizeof(T));
    return bytes > 0 && bytes % 2048 == 0 ? channels + 64 / static_cast<std::int64_t>(sizeof(T)) : channels;
  }
  static Index<A> pixels_of(const ConvolutionShape<A>& sizes, const Index<A>& positions) {
    Index<A> pixels{};
    for (int axis = 0; axis < A; ++axis) {
      pixels[axis] = (positions[axis] - 1) * sizes.strides[axis] + sizes.dilations[axis] * (sizes.filter[axis] - 1) + 1;
    }
    return pixels;
  }
  std::int64_t taps_together() const {
    return pitch_ == sizes_.channels && sizes_.dilations[A - 1] == 1 ? sizes_.filter[A - 1] : 1;
  }

  // Pixels of the last axis from `from` on, which may lie before and behind the image.
  template <class X>
  void fill_line(const X& x, Index<A + 2> from, bool inside, T* to) const {
    const std::int64_t first = from[A], extent = sizes_.image[A - 1];
    const std::int64_t begin = inside ? std::clamp<std::int64_t>(-first, 0, pixels_[A - 1]) : pixels_[A - 1];
    const std::int64_t end = inside ? std::clamp<std::int64_t>(extent - first, begin, pixels_[A - 1]) : begin;
    std::fill(to, to + begin * pitch_, outside_of<T>(x));
    std::fill(to + end * pitch_, to + pixels_[A - 1] * pitch_, outside_of<T>(x));
    from[A] = first + begin;
    if constexpr (is_view<X>) {
      if (pitch_ == sizes_.channels && x.stride(A) == pitch_ && x.stride(A + 1) == 1) {
        return copy_lanes(x, from, (end - begin) * pitch_, to + begin * pitch_);
      }
    }
    for (std::int64_t pixel = begin; pixel < end; ++pixel, ++from[A]) {
      copy_lanes(x, from, sizes_.channels, to + pixel * pitch_);
    }
  }
  template <class X>
  static void copy_lanes(const X& x, const Index<A + 2>& from, std::int64_t count, T* to) {
    const auto step = [&]<int W>(std::int64_t i)
                          KGEN_LAMBDA { store_lanes(to + i, convert<T>(x.template load<W>(moved(from, i)))); };
    for_each_lane(0, count, step);
  }

  const ConvolutionShape<A>& sizes_;
  const PositionBox<A>& box_;
  std::int64_t pitch_;
  Index<A> pixels_, steps_;
};

// How a convolution is cut into tiles: sums take at most a quarter of the second-level cache, and there are some for
// each thread. The window is filled anew for each piece of the channels, and the filters are packed anew for each box
// of positions; what that takes together decides which is cut.
template <class T, int A>
struct ConvolutionTiles {
  static constexpr std::int64_t column_unit = std::max<std::int64_t>(RegisterTile<T>::columns, panel_columns);
  ConvolutionShape<A> sizes;
  Index<A> box{}, boxes{};  // positions of a box along each axis, and how many boxes
  Tiling columns;

  // filter_cost: of a filter's element for each box, in those of a window.
  ConvolutionTiles(const ConvolutionShape<A>& sizes, std::int64_t channels, std::int64_t least_positions,
                   std::int64_t most_columns, std::int64_t filter_cost, int threads)
      : sizes(sizes), columns(channels, most_columns, 1, column_unit) {
    const std::int64_t positions = element_count(sizes.result), multiplications = positions * sizes.depth() * channels;
    constexpr std::int64_t worth_a_tile = 4 << 20;  // multiply-adds: some 35 us
    const std::int64_t wanted =
        threads == 1 ? 1
                     : std::clamp<std::int64_t>(multiplications * sizes.images / worth_a_tile, threads, 4 * threads);
    const std::int64_t of_image = (wanted + sizes.images - 1) / std::max<std::int64_t>(1, sizes.images);
    const std::int64_t most_sums = caches().second / 4 / static_cast<std::int64_t>(sizeof(T));
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    const std::int64_t most_pieces = (channels + column_unit - 1) / column_unit;
    for (std::int64_t pieces = columns.count; pieces <= most_pieces; ++pieces) {
      const Tiling cut(channels, most_columns, pieces, column_unit);
      const std::int64_t most = std::max(least_positions, most_sums / cut.tile);
      const std::int64_t boxes_wanted = std::max<std::int64_t>(1, (of_image + cut.count - 1) / cut.count);
      const Index<A> shape = box_of(sizes.result, std::min(most, positions / boxes_wanted));
      const std::int64_t count = element_count(counts_of(sizes.result, shape));
      // Too few tiles leave threads idle.
      const std::int64_t cost =
          count * (cut.count * Window<T, A>::elements(sizes, shape) + filter_cost * sizes.depth() * channels) +
          (count * cut.count < of_image ? multiplications : 0);
      if (cost < best) best = cost, columns = cut, box = shape, boxes = counts_of(sizes.result, shape);
    }
  }

  std::int64_t count() const { return sizes.images * element_count(boxes) * columns.count; }
  PositionBox<A> box_at(std::int64_t index) const {
    const Index<A + 1> at = unflatten(index / columns.count, join(Index<1>{sizes.images}, boxes));
    PositionBox<A> found{at[0], {}, {}};
    for (int axis = 0; axis < A; ++axis) {
      found.begin[axis] = at[axis + 1] * box[axis];
      found.extents[axis] = std::min(box[axis], sizes.result[axis] - found.begin[axis]);
    }
    return found;
  }
  Range columns_at(std::int64_t index) const { return columns.range(index % columns.count); }

 private:
  // Nearly `most` positions: whole lines of the result, as far as these have no more.
  static Index<A> box_of(const Index<A>& result, std::int64_t most) {
    Index<A> box{};
    for (int axis = A - 1; axis >= 0; --axis) {
      const std::int64_t extent = std::max<std::int64_t>(1, result[axis]);
      const std::int64_t pieces = (extent + std::max<std::int64_t>(1, most) - 1) / std::max<std::int64_t>(1, most);
      box[axis] = (extent + pieces - 1) / pieces;
      most /= box[axis];
    }
    return box;
  }
  static Index<A> counts_of(const Index<A>& result, const Index<A>& box) {
    Index<A> counts{};
    for (int axis = 0; axis < A; ++axis) counts[axis] = (result[axis] + box[axis] - 1) / box[axis];
    return counts;
  }
};

// The filters of one group as a matrix [KH * KW * G, channels]: a View where they are one in memory that rows lie in.
template <class F, int A, class Body>
void with_filter_matrix(const FilterMatrix<F, A>& filters, const Body& body) {
  if constexpr (is_view<F>) {
    const F& view = filters.tensor;
    bool in_rows = view.stride(A + 1) == 1;
    std::int64_t rows = 1, step = view.stride(A);  // of the axes from here on, without those of extent 1
    for (int axis = A; axis >= 0; --axis) {
      if (view.extent(axis) == 1) continue;
      if (rows == 1) step = view.stride(axis);
      in_rows = in_rows && view.stride(axis) == rows * step;
      rows *= view.extent(axis);
    }
    const View<const view_element_t<F>, 2> matrix(view.data() + filters.first_channel, filters.shape(),
                                                  Index<2>{step, 1});
    if (in_rows) return body(matrix);
  }
  body(filters);
}

// Filters as they lie, which every tile packs for itself.
template <class T, class F>
struct FiltersToPack {
  static constexpr std::int64_t cost = 2;  // to pack one is as much as to bring two elements to a window
  const F& matrix;

  PanelBlock<T> panels(Range depth, Range columns) const {
    const std::int64_t distance = (depth.end - depth.begin + 1) * panel_columns;
    T* to = scratch<T>(2, (columns.end - columns.begin + panel_columns - 1) / panel_columns * distance);
    pack_right<panel_columns>(to, matrix, depth, columns);
    return {to, distance};
  }
  Prefetch coming(Range depth, Range columns) const { return Prefetch(matrix, depth, columns); }
};

// Filters that were packed when the model was loaded.
template <class T>
struct PackedFilters {
  static constexpr std::int64_t cost = 1;
  const T* data;
  std::int64_t depth;

  PanelBlock<T> panels(Range rows, Range columns) const {
    const std::int64_t distance = depth * panel_columns;
    return {data + columns.begin / panel_columns * distance + rows.begin * panel_columns, distance};
  }
  Prefetch coming(Range rows, Range columns) const {
    const PanelBlock<T> found = panels(rows, columns);
    const Index<2> shape{(columns.end - columns.begin + panel_columns - 1) / panel_columns,
                         (rows.end - rows.begin) * panel_columns};
    const View<const T, 2> lines(found.data, shape, Index<2>{found.distance, 1});
    return Prefetch(lines, Range{0, shape[0]}, Range{0, shape[1]});
  }
};

// Gives the sums of a box, position after position `stride` apart, to channels of the result. To find each position by
// division took half as long as its sums, of 27 products for 16 channels.
template <class T, int A, class Out>
[[gnu::noinline]] void emit_box(const Out& given, const T* sums, std::int64_t stride, const PositionBox<A>& box,
                                Range channels) {
  const Out out = given;  // whose Views no result overwrites, as the compiler then knows
  Index<A> lines = box.extents, line{};
  lines[A - 1] = 1;
  do {
    Index<A + 2> at = join(join(Index<1>{box.image}, box.begin), Index<1>{channels.begin});
    for (int axis = 0; axis < A - 1; ++axis) at[axis + 1] += line[axis];
    for (std::int64_t i = 0; i < box.extents[A - 1]; ++i, ++at[A], sums += stride) {
      emit_row(out, sums, at, channels.end - channels.begin);
    }
  } while (advance(line, A, Index<A>{}, lines));
}

// The tile of `box` by `columns`: sums for each position, given to `out`.
template <class T, class Sum, int A, class X, class F, class Out>
void compute_convolution_tile(const Patches<X, A>& patches, const F& filters, const ResultMatrix<Out, A>& out,
                              const PositionBox<A>& box, Range columns) {
  const ConvolutionShape<A>& sizes = patches.sizes;
  const std::int64_t positions = box.count(), column_count = columns.end - columns.begin;
  const std::int64_t rows = (positions + RegisterTile<T>::rows - 1) / RegisterTile<T>::rows * RegisterTile<T>::rows;
  const std::int64_t stride = (column_count + panel_columns - 1) / panel_columns * panel_columns;
  const DepthBlocks blocks = DepthBlocks::of<T>(sizes.depth());
  const Window<T, A> window(sizes, box);
  Sum* sums = scratch<Sum>(0, rows * stride);
  T* seen = scratch<T>(3, Window<T, A>::elements(sizes, box.extents));
  std::int64_t* places = scratch<std::int64_t>(5, rows);
  Run* runs = scratch<Run>(6, Window<T, A>::most_runs(sizes));
  if (blocks.count == 0) std::fill_n(sums, rows * stride, Sum(0));
  window.fill(patches.x, patches.first_channel, seen);
  window.place(places, rows);
  const PatchProduct<T, Sum> product{seen, places, positions, stride, sums};
  for (std::int64_t block = 0; block < blocks.count; ++block) {
    const Range depth = blocks[block];
    const std::int64_t run_count = window.runs(depth, runs);
    const PanelBlock<T> panels = filters.panels(depth, columns);
    const Prefetch coming = block + 1 < blocks.count ? filters.coming(blocks[block + 1], columns) : Prefetch();
    product.add(runs, run_count, panels, block == 0, coming);
  }
  emit_box(out.tensor, sums, stride, box, Range{out.first_channel + columns.begin, out.first_channel + columns.end});
}

// `filters`: of `channels` results, from out.first_channel on. Sum: what sums of products of T are held in.
template <int TileM, int TileN, class T, class Sum = T, class X, class F, class Out, int A>
void convolve(const Patches<X, A>& patches, const F& filters, std::int64_t channels, const ResultMatrix<Out, A>& out,
              Stream stream) {
  const ConvolutionShape<A>& sizes = patches.sizes;
  const std::int64_t positions = sizes.positions();
  if (positions == 0 || channels == 0) return;
  const int threads = threads_for(stream, positions * channels * std::max<std::int64_t>(sizes.depth(), 32) / 32);
  const ConvolutionTiles<T, A> tiles(sizes, channels, TileM, TileN, F::cost, threads);
  parallel_for(threads, tiles.count(), [&](std::int64_t i) {
    compute_convolution_tile<T, Sum, A>(patches, filters, out, tiles.box_at(i), tiles.columns_at(i));
  });
}

// The products of all patches with the filters of one group.
template <int TileM, int TileN, class X, class F, class Out, int A>
void convolution(const Patches<X, A>& patches, const FilterMatrix<F, A>& filters, const ResultMatrix<Out, A>& out,
                 Stream stream) {
  using T = source_lane_t<X, A + 2>;
  with_filter_matrix(filters, [&](const auto& matrix) {
    const FiltersToPack<T, std::remove_cvref_t<decltype(matrix)>> to_pack{matrix};
    convolve<TileM, TileN, T>(patches, to_pack, filters.channels, out, stream);
  });
}

}  // namespace kgen::cpu

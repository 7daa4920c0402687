// How narrow_convolution.hpp cuts a convolution: tiles of positions, bundles of groups and columns, and depth in pairs.
#pragma once

#include <algorithm>
#include <optional>

#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/window_axes.hpp"

namespace kgen::gpu {

// A chunk is 4 tiles of 8 columns, of one group or several; a bundle, whose filters a block keeps, is some chunks. A
// run is a stretch of depth that lies without gaps in shared memory: the channels of a tap, or those of a filter's
// whole line.
template <int A>
struct NarrowShape {
  static constexpr int row_tiles = 4;

  WindowAxes<A> axes;
  int images, channels, channels_of_all, groups, group_columns;
  // Depth.
  int run, taps_of_run, pairs, steps;
  Divider pairs_of_run, channels_of_tap, step_count;
  int filter_pieces;  // of so many bytes, in which the depth of each column lies in memory; 0: in none
  Positions<A> taps;
  // Columns.
  int chunks_of_group, groups_of_chunk, chunks, all_chunks;
  Divider chunk_count, bundles;
  int bundle_count;
  // Positions.
  Index<A + 1> tile;  // that a tile has along each axis, of images first
  int all_positions, all_tiles, tiles_at_once;
  Positions<A + 1> positions, tiles;
  // What a tile sees.
  int all_pixels, all_pieces, pitch, group_pitch, staged;  // elements between pixels, and between groups of a pixel
  int pixel_steps[A + 1];                                  // elements to the next along each axis
  bool in_eights;                                          // of channels, each 16 aligned bytes
  bool vectors;                                            // that come as such
  Positions<A + 1> pixels;
  Divider pieces, group_of_element;

  KGEN_FN int filter_words() const { return chunks * steps * 256; }
  // The pixels, and behind them zeros of 16 bytes.
  KGEN_FN int zeros() const { return (all_pixels * pitch + 7) / 8 * 8; }
  KGEN_FN int image_elements() const { return zeros() + 8; }
  std::int64_t blocks() const { return std::int64_t{bundle_count} * tiles_at_once; }
  // The first group of a chunk, and its first column in it.
  KGEN_FN int group_of(int chunk, int together) const { return chunk / chunks_of_group * together; }
  KGEN_FN int column_of(int chunk, int columns) const { return chunk % chunks_of_group * columns; }
  // The channel that stands at an element of a pixel, where its first one is `first`; -1: there is none.
  KGEN_FN int channel_at(int first, int element) const {
    auto within = static_cast<std::uint32_t>(element);
    const int channel = first + static_cast<int>(group_of_element.split(within)) * channels + static_cast<int>(within);
    return static_cast<int>(within) < channels && element < staged && channel < channels_of_all ? channel : -1;
  }
};

struct NarrowRequest {
  int tiles;  // of 8 columns, that a group has in a chunk
  bool aligned;
  int filter_pieces;
  int multiprocessors;
  std::int64_t shared_bytes;
};

namespace detail {

// Chooses a tile's positions, at most `most`, so that few are idle and few pixels are seen by several tiles: along each
// axis from the last one on as even parts of the whole.
template <int A>
struct NarrowTiles {
  const NarrowShape<A>& shape;
  std::int64_t most;
  Index<A + 1> best{};
  std::int64_t least = 0;

  std::int64_t extent(int axis) const { return axis == 0 ? shape.images : shape.axes[axis - 1].result; }
  std::int64_t seen(int axis, std::int64_t positions) const {
    if (axis == 0) return positions;
    const WindowAxis& own = shape.axes[axis - 1];
    return (positions - 1) * own.stride + (own.filter - 1) * own.dilation + 1;
  }
  void look(int axis, Index<A + 1> tile, std::int64_t left) {
    if (axis < 0) return weigh(tile);
    const std::int64_t whole = extent(axis);
    std::int64_t before = 0;
    for (std::int64_t parts = (whole + left - 1) / left, tried = 0; tried < 4; ++parts) {
      tile[axis] = (whole + parts - 1) / parts;
      if (tile[axis] != before) look(axis - 1, tile, left / tile[axis]), ++tried;
      before = tile[axis];
      if (before == 1) break;
    }
  }
  void weigh(const Index<A + 1>& tile) {
    constexpr std::int64_t unit = 16 * NarrowShape<A>::row_tiles;
    std::int64_t tiles = 1, pixels = 1;
    for (int axis = 0; axis <= A; ++axis) {
      tiles *= (extent(axis) + tile[axis] - 1) / tile[axis];
      pixels *= seen(axis, tile[axis]);
    }
    const std::int64_t cost = tiles * ((element_count(tile) + unit - 1) / unit * unit + pixels);
    if (least == 0 || cost < least) best = tile, least = cost;
  }
};

// Cuts positions in tiles of at most `most`.
template <int A>
void cut_tiles(NarrowShape<A>& shape, std::int64_t most) {
  NarrowTiles<A> tiles{shape, most};
  tiles.look(A, Index<A + 1>{}, most);
  shape.tile = tiles.best;
  Index<A + 1> seen{}, count{};
  for (int axis = 0; axis <= A; ++axis) {
    seen[axis] = tiles.seen(axis, shape.tile[axis]);
    count[axis] = (tiles.extent(axis) + shape.tile[axis] - 1) / shape.tile[axis];
  }
  seen[A] += shape.pitch % 2 * (seen[A] % 2);  // lines begin at words
  shape.all_positions = static_cast<int>(element_count(shape.tile));
  shape.all_tiles = static_cast<int>(element_count(count));
  shape.all_pixels = static_cast<int>(element_count(seen));
  shape.positions = Positions<A + 1>(shape.tile);
  shape.tiles = Positions<A + 1>(count);
  shape.pixels = Positions<A + 1>(seen);
  int step = shape.pitch;
  for (int axis = A; axis >= 0; --axis) {
    shape.pixel_steps[axis] = step;
    step *= static_cast<int>(seen[axis]);
  }
}

// How depth lies in shared memory.
template <int A>
void cut_depth(NarrowShape<A>& shape, const ConvolutionShape<A>& sizes, const NarrowRequest& request) {
  const WindowAxis& last = shape.axes[A - 1];
  // Positions begin at words: an odd number of channels lies without gaps where they are an even number of pixels
  // apart.
  const bool dense = shape.groups == 1 && shape.channels % 2 != 0 && last.stride % 2 == 0 && last.dilation == 1;
  shape.taps_of_run = dense ? last.filter : 1;
  shape.run = shape.taps_of_run * shape.channels;
  const int pairs_of_run = (shape.run + 1) / 2;
  shape.pairs = static_cast<int>(element_count(sizes.filter)) / shape.taps_of_run * pairs_of_run;
  shape.steps = (shape.pairs + 7) / 8;
  shape.step_count = Divider(shape.steps);
  shape.pairs_of_run = Divider(pairs_of_run);
  shape.channels_of_tap = Divider(shape.channels);
  shape.taps = Positions<A>(sizes.filter);

  shape.group_pitch = dense ? shape.channels : (shape.channels + 1) / 2 * 2;
  const int groups = shape.chunks_of_group == 1 ? shape.chunks * shape.groups_of_chunk : 1;
  shape.staged = groups * shape.group_pitch;
  shape.in_eights = shape.channels % 8 == 0;
  shape.vectors = request.aligned && shape.channels % 2 == 0 && shape.staged % 8 == 0 && shape.channels_of_all % 8 == 0;
  shape.pitch = shape.staged < 8 || dense ? shape.staged : ((shape.staged + 7) / 8 | 1) * 8;  // in different banks
  shape.pieces = Divider(std::max(1, shape.staged / 8));
  shape.group_of_element = Divider(shape.group_pitch);
}

}  // namespace detail

// Nothing where shared memory does not hold it, or there is too much to count. shared(shape): the bytes of it.
template <int A, class SharedOf>
std::optional<NarrowShape<A>> narrow_shape(const ConvolutionShape<A>& sizes, std::int64_t group, std::int64_t columns,
                                           const NarrowRequest& request, const SharedOf& shared) {
  NarrowShape<A> shape{};
  shape.axes = WindowAxes<A>(sizes);
  shape.images = static_cast<int>(sizes.images);
  shape.channels = static_cast<int>(sizes.channels);
  shape.channels_of_all = static_cast<int>(sizes.channels * group);
  shape.groups = static_cast<int>(group);
  shape.group_columns = static_cast<int>(columns / group);
  shape.groups_of_chunk = 4 / request.tiles;
  shape.filter_pieces = request.filter_pieces;
  shape.chunks_of_group = (shape.group_columns + 8 * request.tiles - 1) / (8 * request.tiles);
  shape.all_chunks = (shape.groups + shape.groups_of_chunk - 1) / shape.groups_of_chunk * shape.chunks_of_group;

  // Chunks of a bundle: such that its groups have about 128 bytes of a pixel, or parts of one group's columns.
  const int of_pixel = std::max(1, 64 / (shape.channels * shape.groups_of_chunk));
  int chunks =
      shape.chunks_of_group == 1 ? std::min({of_pixel, shape.all_chunks, 4}) : (shape.chunks_of_group % 2 == 0 ? 2 : 1);
  // Two blocks of a multiprocessor, of which one loads while the other multiplies; else one.
  const std::int64_t whole = request.shared_bytes, half = whole / 2 - 1024;
  for (const std::int64_t available : {half, whole}) {
    for (int own = chunks; own >= 1; own /= 2) {
      shape.chunks = own;
      detail::cut_depth(shape, sizes, request);
      shape.chunk_count = Divider(own);
      shape.bundle_count = (shape.all_chunks + own - 1) / own;
      shape.bundles = Divider(shape.bundle_count);
      // 8 waves have each a part of the positions of a chunk.
      for (int most = std::max(1, 8 / own) * 16 * NarrowShape<A>::row_tiles; most >= (own > 1 ? 64 : 32); most /= 2) {
        detail::cut_tiles(shape, most);
        if (shape.all_pixels >= 1 << 16) continue;  // places are counted in 16 bits
        const bool fills =
            std::int64_t{shape.all_tiles} * shape.bundle_count >= request.multiprocessors || (most <= 64 && own == 1);
        if (!fills || shared(shape) > available) continue;
        shape.all_pieces = shape.all_pixels * (shape.staged / 8);
        const std::int64_t residents = std::clamp<std::int64_t>(whole / (shared(shape) + 1024), 1, 2);
        // No block more than find places at once: one that waits for a place would begin with its filters only then.
        const std::int64_t at_once = residents * request.multiprocessors / shape.bundle_count;
        shape.tiles_at_once = static_cast<int>(std::clamp<std::int64_t>(at_once, 1, shape.all_tiles));
        return shape;
      }
    }
  }
  return std::nullopt;
}

}  // namespace kgen::gpu

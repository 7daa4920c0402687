// How the tiles of a convolution come to shared memory, as those of the product of matrices that it is
// (kgen/im2col.hpp): EnginePatches and CopiedPatches in place of tile_io.hpp's EngineTiles and CopiedTiles. All else is
// the matmul's.
#pragma once

#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/tile_io.hpp"
#include "kgen/im2col.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// The sizes of a convolution of A axes, innermost first, in 32 bits.
template <int A>
struct PatchShape {
  int image[A], filter[A], strides[A], before[A], dilations[A];
  int channels, group_columns, columns;  // channels and columns of a group, and columns of all
  Positions<A + 1> rows;                 // the positions of the result: its number's [image, row, column]

  PatchShape() = default;
  PatchShape(const ConvolutionShape<A>& sizes, std::int64_t group, std::int64_t columns)
      : channels(static_cast<int>(sizes.channels)),
        group_columns(static_cast<int>(columns / group)),
        columns(static_cast<int>(columns)),
        rows(join(Index<1>{sizes.images}, sizes.result)) {
    const auto inwards = [](int(&to)[A], const Index<A>& from) {
      for (int axis = 0; axis < A; ++axis) to[axis] = static_cast<int>(from[A - 1 - axis]);
    };
    inwards(image, sizes.image);
    inwards(filter, sizes.filter);
    inwards(strides, sizes.strides);
    inwards(before, sizes.before);
    inwards(dilations, sizes.dilations);
  }

  // Where the patch of a row begins, along each axis of the image, innermost first.
  KGEN_FN void begin(const Index<A + 1>& position, int (&at)[A]) const {
    KGEN_UNROLL
    for (int axis = 0; axis < A; ++axis) {
      at[axis] = static_cast<int>(position[A - axis]) * strides[axis] - before[axis];
    }
  }
  // Goes on to the next tap; from the last one, which is false, to the first.
  KGEN_FN bool advance(int (&tap)[A]) const {
    KGEN_UNROLL
    for (int axis = 0; axis < A; ++axis) {
      if (++tap[axis] < filter[axis]) return true;
      tap[axis] = 0;
    }
    return false;
  }
};

// A convolution, as all ways to it have it.
template <class T, int A>
struct PatchOperands {
  View<const T, A + 2> x, filters;
  ConvolutionShape<A> sizes;
  std::int64_t group;

  PatchShape<A> shape() const { return {sizes, group, filters.extent(A + 1)}; }
};

// By the copy engine: patches in its im2col mode, a tap and 128 bytes of its channels at a time; filters as boxes of
// [taps, channels, columns]. BDeep: the filters' neighbours in memory are along the channels, else along the columns.
// Channels beyond a group's, which are another's, meet filters that are 0.
template <class Tiles, bool BDeep, int A>
struct EnginePatches {
  static constexpr const char* name = "warpgroup_convolution";
  static constexpr int threads = 1, registers = 40;
  TensorMap a, b;
  PatchShape<A> shape;
  // Whether a tile goes over all taps of 128 bytes of channels before the next ones: what the taps of several see they
  // then find in a cache, which may not hold all channels of as many pixels as the multiprocessors go over.
  bool taps_first;
  int columns = Tiles::columns;  // BDeep: that come; what is behind them in a stage is nobody's

  KGEN_FN int bytes() const { return static_cast<int>(sizeof(Tiles)) - (Tiles::columns - columns) * swizzle_bytes; }

  struct Tile {
    const EnginePatches& loads;
    int column, first_channel, channel = 0;
    int from[A], image, tap[A] = {};

    // From depth k on, which is that of whole boxes of channels, tap by tap.
    KGEN_FN Tile(const EnginePatches& loads, int row, int column, int k)
        : loads(loads), column(column), first_channel(column / loads.shape.group_columns * loads.shape.channels) {
      if (k > 0) {
        const int boxes = (loads.shape.channels + Tiles::depth - 1) / Tiles::depth, step = k / Tiles::depth;
        int taps = 1;
        KGEN_UNROLL
        for (int axis = 0; axis < A; ++axis) taps *= loads.shape.filter[axis];
        int number = loads.taps_first ? step % taps : step / boxes;
        channel = (loads.taps_first ? step / taps : step % boxes) * Tiles::depth;
        KGEN_UNROLL
        for (int axis = 0; axis < A; ++axis) {
          tap[axis] = number % loads.shape.filter[axis];
          number /= loads.shape.filter[axis];
        }
      }
      const Index<A + 1> position = loads.shape.rows(static_cast<std::uint32_t>(row));
      loads.shape.begin(position, from);
      image = static_cast<int>(position[0]);
    }
    template <class Stage>
    KGEN_FN void load(const Stage& stage) {
      copy_image(stage->a, stage.arrival());
      constexpr int box = BDeep ? Tiles::columns : Tiles::depth;
      KGEN_UNROLL
      for (int n = 0; n < Tiles::columns; n += box)
        copy_filters(stage->b + n * Tiles::depth, stage.arrival(), column + n);
      if (!loads.taps_first) {
        channel += Tiles::depth;
        if (channel < loads.shape.channels) return;
        channel = 0;
      }
      if (!loads.shape.advance(tap)) channel += loads.taps_first ? Tiles::depth : 0;
    }

   private:
    KGEN_FN void copy_image(void* to, Mbarrier& arrival) const {
      int at[A + 2] = {first_channel + channel}, offsets[A];
      KGEN_UNROLL
      for (int axis = 0; axis < A; ++axis) {
        at[axis + 1] = from[axis];
        offsets[axis] = tap[axis] * loads.shape.dilations[axis];
      }
      at[A + 1] = image;
      copy_patches(to, loads.a, arrival, at, offsets);
    }
    KGEN_FN void copy_filters(void* to, Mbarrier& arrival, int at) const {
      const int inner = BDeep ? channel : at, outer = BDeep ? at : channel;
      if constexpr (A == 2) {
        copy_tile(to, loads.b, arrival, inner, outer, tap[0], tap[1]);
      } else {
        copy_tile(to, loads.b, arrival, inner, outer, tap[0], tap[1], tap[2]);
      }
    }
  };
  template <int, int>
  KGEN_FN Tile tile(int row, int column, int k = 0) const {
    return {*this, row, column, k};
  }
};

// Memory that is read tap by tap, from anywhere: [taps..., channels] seen from where a line begins. Taps fall within an
// image, or read 0.
template <class T, int A>
struct TapMemory {
  static constexpr int lanes = 16 / static_cast<int>(sizeof(T)), pieces = swizzle_bytes / 16;
  const T* data;
  int image[A];
  std::int64_t steps[A], channel_step;  // to the next along each axis of the image, innermost first, and channel
  bool vectors, across;  // channels in pieces of 16 bytes; else neighbouring lines are neighbours in memory

  // A line: where it would begin along each axis of the image, and there in memory, wherever that is. One that does not
  // exist is outside of the image.
  struct Line {
    static constexpr int nowhere = -(1 << 30);
    std::int64_t offset;
    int from[A];
  };

  // The pieces of 16 bytes that this thread brings of a tile: one of each 32nd line from the first on.
  KGEN_FN int first_line() const { return across ? thread_index() % 32 : thread_index() / pieces; }
  KGEN_FN int piece() const { return across ? thread_index() / 32 : thread_index() % pieces; }

  // Brings what these lines have from place on, a tap and its channel: zeros where that is not `within` the depth.
  // `dilations` are between taps.
  template <int Count>
  KGEN_FN void copy(T* to, const Line (&own)[Count], const PatchShape<A>& shape, const int (&dilations)[A],
                    const Index<A + 1>& place, bool within) const {
    int tap[A];
    KGEN_UNROLL
    for (int axis = 0; axis < A; ++axis) tap[axis] = static_cast<int>(place[A - 1 - axis]);
    const int channel = static_cast<int>(place[A]);
    if (vectors) {
      Block<16> blocks[Count];
      KGEN_UNROLL
      for (int i = 0; i < Count; ++i) {
        const bool inside = within && is_inside(own[i], tap, dilations);
        const T* from = data + (inside ? address(own[i], tap, dilations) + channel : 0);
        blocks[i] = load_block<16>(from, Access{true, true, true});
        KGEN_UNROLL
        for (int word = 0; word < 4; ++word) blocks[i].words[word] = inside ? blocks[i].words[word] : 0;
      }
      KGEN_UNROLL
      for (int i = 0; i < Count; ++i) store(to, i, blocks[i]);
    } else {
      KGEN_UNROLL
      for (int i = 0; i < Count; i += 2) {  // two lines' loads are on their way together
        Block<16> blocks[2];
        load_elements(own[i], own[i + 1], shape, dilations, tap, channel, within, blocks);
        store(to, i, blocks[0]);
        store(to, i + 1, blocks[1]);
      }
    }
  }

 private:
  KGEN_FN void store(T* to, int i, const Block<16>& block) const {
    const int line = first_line() + i * 32;
    store_shared(to + (line * pieces + (piece() ^ line % 8)) * lanes, block);
  }
  KGEN_FN void load_elements(const Line& first, const Line& second, const PatchShape<A>& shape,
                             const int (&dilations)[A], const int (&begin)[A], int channel, bool within,
                             Block<16> (&blocks)[2]) const {
    T elements[2][lanes];
    int tap[A];
    KGEN_UNROLL
    for (int axis = 0; axis < A; ++axis) tap[axis] = begin[axis];
    const auto load = [&](const Line& line) KGEN_LAMBDA {
      const bool inside = within && is_inside(line, tap, dilations);
      const T* from = data + (inside ? address(line, tap, dilations) + channel * channel_step : 0);
      const T element = load_run<1>(from, 0, Access{false, true, true})[0];
      return inside ? element : T();
    };
    KGEN_UNROLL
    for (int lane = 0; lane < lanes; ++lane) {
      elements[0][lane] = load(first);
      elements[1][lane] = load(second);
      if (++channel < shape.channels) continue;
      channel = 0;
      if (!shape.advance(tap)) within = false;
    }
    KGEN_UNROLL
    for (int i = 0; i < 2; ++i) memcpy(&blocks[i], elements[i], sizeof(blocks[i]));
  }
  KGEN_FN bool is_inside(const Line& line, const int (&tap)[A], const int (&dilations)[A]) const {
    bool inside = true;
    KGEN_UNROLL
    for (int axis = 0; axis < A; ++axis) {
      inside = inside && static_cast<unsigned>(line.from[axis] + tap[axis] * dilations[axis]) <
                             static_cast<unsigned>(image[axis]);
    }
    return inside;
  }
  KGEN_FN std::int64_t address(const Line& line, const int (&tap)[A], const int (&dilations)[A]) const {
    std::int64_t at = line.offset;
    KGEN_UNROLL
    for (int axis = 0; axis < A; ++axis) at += tap[axis] * dilations[axis] * steps[axis];
    return at;
  }
};

// By two warpgroups' threads, from anywhere in memory: taps and their channels without gaps. The filters are a matrix
// whose lines are its rows, or BDeep: anything.
template <class T, class Tiles, bool BDeep, int A>
struct CopiedPatches {
  static constexpr const char* name = "warpgroup_convolution_copied";
  static constexpr int threads = copying_threads, registers = 112;
  TapMemory<T, A> a;
  std::conditional_t<BDeep, TapMemory<T, A>, CopiedMatrix<T>> b;
  PatchShape<A> shape;
  Positions<A + 1> depth;  // the tap and its channel at each depth
  int depth_end, images;
  std::int64_t image_step, column_step;  // elements to the next image, and BDeep: to the next column

  struct Tile {
    using Line = typename TapMemory<T, A>::Line;
    static constexpr int row_lines = Tiles::rows / 32, column_lines = Tiles::columns / 32;
    const CopiedPatches& loads;
    int column, k = 0;
    Line rows[row_lines];

    KGEN_FN Tile(const CopiedPatches& loads, int row, int column) : loads(loads), column(column) {
      const std::int64_t first_channel = std::int64_t{column / loads.shape.group_columns} * loads.shape.channels;
      KGEN_UNROLL
      for (int i = 0; i < row_lines; ++i) {
        const Index<A + 1> position = loads.shape.rows(static_cast<std::uint32_t>(row + loads.a.first_line() + i * 32));
        loads.shape.begin(position, rows[i].from);
        rows[i].offset = position[0] * loads.image_step + first_channel * loads.a.channel_step;
        KGEN_UNROLL
        for (int axis = 0; axis < A; ++axis) rows[i].offset += rows[i].from[axis] * loads.a.steps[axis];
        if (position[0] >= loads.images) rows[i].from[0] = Line::nowhere;
      }
    }
    template <class Stage>
    KGEN_FN void load(const Stage& stage) {
      copy(stage->a, loads.a, rows, loads.shape.dilations);
      if constexpr (BDeep) {
        int adjacent[A];
        Line columns[column_lines];
        KGEN_UNROLL
        for (int axis = 0; axis < A; ++axis) adjacent[axis] = 1;
        KGEN_UNROLL
        for (int i = 0; i < column_lines; ++i) {
          const int own = column + loads.b.first_line() + i * 32;
          columns[i] = {own * loads.column_step, {own < loads.shape.columns ? 0 : Line::nowhere}};
        }
        copy(stage->b, loads.b, columns, adjacent);
      } else {
        KGEN_UNROLL
        for (int n = 0; n < Tiles::columns; n += Tiles::depth) {
          copy_lines<Tiles::depth>(stage->b + n * Tiles::depth, loads.b, k, column + n);
        }
      }
      k += Tiles::depth;
    }

   private:
    template <int Count>
    KGEN_FN void copy(T* to, const TapMemory<T, A>& from, const Line (&own)[Count], const int (&dilations)[A]) const {
      const int own_k = k + from.piece() * TapMemory<T, A>::lanes;
      from.copy(to, own, loads.shape, dilations, loads.depth(static_cast<std::uint32_t>(own_k)),
                own_k < loads.depth_end);
    }
  };

  template <int, int>
  KGEN_FN Tile tile(int row, int column) const {
    return {*this, row, column};
  }
};

}  // namespace kgen::gpu

#endif

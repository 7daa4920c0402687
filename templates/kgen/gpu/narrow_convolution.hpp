// Convolutions of few channels in each group on the tensor cores of Hopper, by products of single waves: the pixels
// that a tile of the result sees come to shared memory once, whichever taps see them, and the filters stay there. What
// a wave multiplies it takes from there by an offset for each pair of neighbours in depth, so that depth is as dense as
// two channels allow, where the copy engine's patches would fill 128 bytes for each tap.
#pragma once

#include "kgen/gpu/channels_last.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/narrow_shape.hpp"
#include "kgen/gpu/patch_tiles.hpp"
#include "kgen/gpu/warpgroup_sums.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

template <class T, int A>
struct NarrowOperands {
  NearView<T, A + 2> x;
  NearView<T, 3> filters;  // [taps, channels, columns]
};

// Tiles: of 8 columns, that a group has in a chunk of 4 such tiles.
template <class T, int Tiles, int A>
struct NarrowConvolution {
  static constexpr int threads = 256, waves = threads / wave_size;
  static constexpr int together = 4 / Tiles;                   // groups of a chunk
  static constexpr int row_tiles = NarrowShape<A>::row_tiles;  // of 16 positions, that a wave multiplies at once
  static constexpr int lanes = 8;                              // channels of a piece of 16 bytes
  static constexpr Access constant{true, true, true};
  using Shape = NarrowShape<A>;
  using Sums = float[row_tiles][4][4];

  // Two neighbours in depth: where they are, seen from a position's first pixel, and which of them there are.
  struct Pair {
    int offset;
    std::uint32_t mask;
  };
  // A position of a tile, or a pixel that it sees: where along each axis from the tile's first one on, images first,
  // and how far that is in memory: for a position that of its first pixel in `image`, for a pixel that in x.
  struct alignas(16) Place {
    int offset;
    std::uint16_t at[6];

    KGEN_FN static Place load(const Place* from) {
      const auto words = load_block<16>(from, Access{});
      Place place;
      memcpy(&place, &words, sizeof(place));
      return place;
    }
  };
  struct Shared {
    std::uint32_t* filters;  // [chunk][step][tile of 8 columns][lane][2]: pairs as multiply_tile() takes them
    Pair* pairs;             // [step][8]
    Place *positions, *pixels;
    T* image;  // [image][planes, rows, columns][channels]

    KGEN_FN Shared(SharedMemory& memory, const Shape& shape)
        : filters(memory.take<std::uint32_t>(shape.filter_words())),
          pairs(memory.take<Pair>(shape.steps * 8)),
          positions(memory.take<Place>(shape.all_positions)),
          pixels(memory.take<Place>(shape.all_pixels)),
          image(memory.take<T>(shape.image_elements())) {}
  };
  static std::int64_t shared(const Shape& shape) {
    return shared_bytes<std::uint32_t>(shape.filter_words()) + shared_bytes<Pair>(shape.steps * 8) +
           shared_bytes<Place>(shape.all_positions + shape.all_pixels) + shared_bytes<T>(shape.image_elements());
  }

  // ---- what stays

  KGEN_FN static void stage_pairs(const Shared& shared, const Shape& shape) {
    for (int i = thread_index(); i < shape.steps * 8; i += threads) {
      auto place = static_cast<std::uint32_t>(i);
      const int run = static_cast<int>(shape.pairs_of_run.split(place)), first = 2 * static_cast<int>(place);
      const int length = i < shape.pairs ? shape.run - first : 0;
      const Index<A> tap = shape.taps(static_cast<std::uint32_t>(i < shape.pairs ? run * shape.taps_of_run : 0));
      int offset = length > 0 ? first : 0;
      KGEN_UNROLL
      for (int axis = 0; axis < A; ++axis) {
        offset += static_cast<int>(tap[axis]) * shape.axes[axis].dilation * shape.pixel_steps[axis + 1];
      }
      shared.pairs[i] = {offset, length > 1 ? ~0u : length == 1 ? 0xffffu : 0u};
    }
  }
  template <class OffsetOf>
  KGEN_FN static void stage_places(Place* to, int count, const Positions<A + 1>& places, const OffsetOf& offset_of) {
    for (int i = thread_index(); i < count; i += threads) {
      const Index<A + 1> at = places(static_cast<std::uint32_t>(i));
      Place place{offset_of(at), {}};
      KGEN_UNROLL
      for (int axis = 0; axis < A + 1; ++axis) place.at[axis] = static_cast<std::uint16_t>(at[axis]);
      Block<16> words;
      memcpy(&words, &place, sizeof(words));
      store_shared(to + i, words);
    }
  }
  // A column of a chunk's tile: where its filter begins in memory, and whether there is one.
  struct Column {
    int offset;
    bool there;
  };
  KGEN_FN static Column filter_column(const NearView<T, 3>& filters, const Shape& shape, int chunk, int tile,
                                      int column) {
    // A whole chunk's columns are in such an order that a lane gets 8 neighbours' sums.
    const int of_tiles = Tiles == 4 ? column / 2 * 8 + tile * 2 + column % 2 : tile % Tiles * 8 + column;
    const int group = shape.group_of(chunk, together) + tile / Tiles;
    const int within = shape.column_of(chunk, 8 * Tiles) + of_tiles;
    const bool there = group < shape.groups && within < shape.group_columns;
    return {there ? (group * shape.group_columns + within) * filters.steps[2] : 0, there};
  }
  // Of how many bytes the aligned pieces are in which the depth of each column lies without gaps; 0: it does not.
  static int bytes_of_pieces(const NearView<T, 3>& filters, const ConvolutionShape<A>& sizes) {
    const bool lines =
        filters.steps[1] == 1 && (element_count(sizes.filter) == 1 || filters.steps[0] == sizes.channels);
    for (const int bytes : {16, 8}) {
      const int elements = bytes / static_cast<int>(sizeof(T));
      const bool aligned = reinterpret_cast<std::uintptr_t>(filters.data) % static_cast<std::uintptr_t>(bytes) == 0;
      if (lines && aligned && sizes.channels % elements == 0 && filters.steps[2] % elements == 0) return bytes;
    }
    return 0;
  }
  // A bundle's filters that lie in such pieces, of which 32 bytes are a step of a column.
  template <int Bytes>
  KGEN_FN static void stage_filter_lines(const Shared& shared, const NearView<T, 3>& filters, const Shape& shape,
                                         int first_chunk) {
    constexpr int batch = 4;  // whose loads are on their way together
    constexpr int pieces = 32 / Bytes, words = Bytes / 4;
    const int all = shape.chunks * 4 * shape.steps * 8, depth = 2 * shape.pairs;
    for (int begin = thread_index(); begin < all; begin += batch * threads) {
      std::uint32_t own[batch][8];
      std::uint32_t* to[batch];
      KGEN_UNROLL
      for (int i = 0; i < batch; ++i) {
        const int item = begin + i * threads < all ? begin + i * threads : 0, column = item % 8;
        auto step = static_cast<std::uint32_t>(item / 8);
        const int tile = static_cast<int>(shape.step_count.split(step)), first = static_cast<int>(step) * 16;
        const Column from = filter_column(filters, shape, first_chunk + tile / 4, tile % 4, column);
        KGEN_UNROLL
        for (int piece = 0; piece < pieces; ++piece) {
          const int element = first + piece * 2 * words;
          const bool inside = from.there && element < depth;
          const auto block = load_block<Bytes>(filters.data + (inside ? from.offset + element : 0), constant);
          KGEN_UNROLL
          for (int word = 0; word < words; ++word) own[i][piece * words + word] = inside ? block.words[word] : 0;
        }
        to[i] = shared.filters + (tile / 4 * shape.steps + static_cast<int>(step)) * 256 + (tile % 4 * 8 + column) * 8;
      }
      KGEN_UNROLL
      for (int i = 0; i < batch; ++i) {
        if (begin + i * threads >= all) continue;
        KGEN_UNROLL
        for (int k = 0; k < 4; k += 2) {
          store_shared(to[i] + 2 * k, Block<16>{{own[i][k], own[i][k + 4], own[i][k + 1], own[i][k + 5]}});
        }
      }
    }
  }
  // The same of filters that lie anywhere: each thread has the same pair of each step, of the same column of each
  // chunk.
  KGEN_FN static void stage_filters(const Shared& shared, const NearView<T, 3>& filters, const Shape& shape,
                                    int first_chunk) {
    constexpr int batch = 8;  // whose loads are on their way together
    const int tile = thread_index() / 64, lane = thread_index() / 2 % 32;
    const int own_pair = thread_index() % 2 * 4 + lane % 4, own_column = lane / 4;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      const auto [begins, there] = filter_column(filters, shape, first_chunk + chunk, tile, own_column);
      const T* column = filters.data + begins;
      std::uint32_t* to = shared.filters + chunk * shape.steps * 256 + thread_index();
      for (int begin = 0; begin < shape.steps; begin += batch) {
        T elements[batch][2];
        KGEN_UNROLL
        for (int i = 0; i < batch; ++i) {
          const int pair = (begin + i) * 8 + own_pair;
          auto place = static_cast<std::uint32_t>(pair);
          const int run = static_cast<int>(shape.pairs_of_run.split(place));
          KGEN_UNROLL
          for (int k = 0; k < 2; ++k) {
            const int element = 2 * static_cast<int>(place) + k;
            auto channel = static_cast<std::uint32_t>(element);
            const int tap = run * shape.taps_of_run + static_cast<int>(shape.channels_of_tap.split(channel));
            const bool inside = there && pair < shape.pairs && element < shape.run;
            const int offset = tap * filters.steps[0] + static_cast<int>(channel) * filters.steps[1];
            elements[i][k] = load_run<1>(column + (inside ? offset : 0), 0, constant)[0];
            if (!inside) elements[i][k] = T();
          }
        }
        KGEN_UNROLL
        for (int i = 0; i < batch; ++i) {
          std::uint32_t word;
          memcpy(&word, elements[i], sizeof(word));
          if (begin + i < shape.steps) to[(begin + i) * 256] = word;
        }
      }
    }
  }
  // A bundle's filters, in the way that they allow.
  KGEN_FN static void stage_bundle(const Shared& shared, const NearView<T, 3>& filters, const Shape& shape,
                                   int first_chunk) {
    if (shape.filter_pieces == 16) {
      stage_filter_lines<16>(shared, filters, shape, first_chunk);
    } else if (shape.filter_pieces == 8) {
      stage_filter_lines<8>(shared, filters, shape, first_chunk);
    } else {
      stage_filters(shared, filters, shape, first_chunk);
    }
  }

  // ---- the image

  // Where what a tile sees begins.
  struct Window {
    int from[A + 1], offset;

    KGEN_FN Window(const Shape& shape, const NearView<T, A + 2>& x, const Index<A + 1>& origin) {
      from[0] = static_cast<int>(origin[0]);
      KGEN_UNROLL
      for (int axis = 0; axis < A; ++axis)
        from[axis + 1] = shape.axes[axis].seen(static_cast<int>(origin[axis + 1]), 0);
      offset = 0;
      KGEN_UNROLL
      for (int axis = 0; axis < A + 1; ++axis) offset += from[axis] * x.steps[axis];
    }
    KGEN_FN bool has(const Shape& shape, const Place& pixel) const {
      bool inside = from[0] + pixel.at[0] < shape.images;
      KGEN_UNROLL
      for (int axis = 0; axis < A; ++axis) {
        inside = inside && shape.axes[axis].has(from[axis + 1] + pixel.at[axis + 1]);
      }
      return inside;
    }
  };
  // Asks for the channels of a bundle from `first` on, of all pixels that a tile sees, in pieces of 16 bytes.
  KGEN_FN static void ask_for_pieces(const Shared& shared, const NearView<T, A + 2>& x, const Shape& shape,
                                     const Window& window, int first) {
    constexpr int batch = 4;
    for (int begin = thread_index(); begin < shape.all_pieces; begin += batch * threads) {
      const T* from[batch];
      int to[batch], bytes[batch];
      KGEN_UNROLL
      for (int i = 0; i < batch; ++i) {
        const bool there = begin + i * threads < shape.all_pieces;
        auto piece = static_cast<std::uint32_t>(there ? begin + i * threads : 0);
        const int pixel = static_cast<int>(shape.pieces.split(piece)), channel = static_cast<int>(piece) * lanes;
        const Place place = Place::load(shared.pixels + pixel);
        const bool inside = window.has(shape, place) && first + channel < shape.channels_of_all;
        from[i] = x.data + (inside ? window.offset + place.offset + first + channel : 0);
        bytes[i] = inside ? 16 : 0;
        to[i] = there ? pixel * shape.pitch + channel : -1;
      }
      KGEN_UNROLL
      for (int i = 0; i < batch; ++i) {
        if (to[i] >= 0) copy_async(shared.image + to[i], from[i], bytes[i]);
      }
    }
    commit_copies();
  }
  // The same element by element.
  KGEN_FN static void stage_elements(const Shared& shared, const NearView<T, A + 2>& x, const Shape& shape,
                                     const Window& window, int first) {
    constexpr int batch = 4, together = 4;  // pixels and channels
    for (int begin = thread_index(); begin < shape.all_pixels; begin += batch * threads) {
      int offsets[batch];
      bool inside[batch];
      KGEN_UNROLL
      for (int i = 0; i < batch; ++i) {
        const int pixel = begin + i * threads;
        const Place place = Place::load(shared.pixels + (pixel < shape.all_pixels ? pixel : 0));
        inside[i] = pixel < shape.all_pixels && window.has(shape, place);
        offsets[i] = inside[i] ? window.offset + place.offset : 0;
      }
      KGEN_NO_UNROLL
      for (int element = 0; element < shape.staged; element += together) {
        T elements[batch][together];
        KGEN_UNROLL
        for (int c = 0; c < together; ++c) {
          const int channel = shape.channel_at(first, element + c);
          KGEN_UNROLL
          for (int i = 0; i < batch; ++i) {
            const bool there = inside[i] && channel >= 0;
            const int offset = there ? offsets[i] + channel * x.steps[A + 1] : 0;
            elements[i][c] = load_run<1>(x.data + offset, 0, constant)[0];
            if (!there) elements[i][c] = T();
          }
        }
        KGEN_UNROLL
        for (int i = 0; i < batch; ++i) {
          if (begin + i * threads >= shape.all_pixels) continue;
          T* to = shared.image + (begin + i * threads) * shape.pitch + element;
          KGEN_UNROLL
          for (int c = 0; c < together; ++c) {
            if (element + c < shape.staged) to[c] = elements[i][c];
          }
        }
      }
    }
  }

  // ---- products

  // The first pixel of a row of a wave's tiles, where it has one.
  KGEN_FN static int first_pixel(const Shared& shared, const Shape& shape, int position) {
    return Place::load(shared.positions + (position < shape.all_positions ? position : 0)).offset;
  }

  // add(step, left) for each step: left(a, m, group) is what a group of row tile m of so many has, as multiply_tile()
  // takes it, from channel `first` of a pixel on.
  template <int Rows, class Add>
  KGEN_FN static void for_each_step(const Shared& shared, const Shape& shape, int first_position, int first,
                                    const Add& add) {
    const int lane = thread_index() % wave_size;
    if (shape.in_eights) {  // whose rows are 16 aligned bytes: 4 instructions in one
      int rows[Rows];
      KGEN_UNROLL
      for (int m = 0; m < Rows; ++m)
        rows[m] = first_pixel(shared, shape, first_position + m * 16 + lane % 16) + first;
      const Pair* pairs = shared.pairs + lane / 16 * 4;
      KGEN_NO_UNROLL
      for (int step = 0; step < shape.steps; ++step, pairs += 8) {
        const Pair own = pairs[0];
        add(step, [&](std::uint32_t(&a)[4], int m, int group) KGEN_LAMBDA {
          const int offset = rows[m] + own.offset + group * shape.group_pitch;
          load_matrices(a, shared.image, own.mask != 0 ? offset : shape.zeros());
        });
      }
    } else {
      int rows[Rows][2];
      KGEN_UNROLL
      for (int m = 0; m < 2 * Rows; ++m) {
        rows[m / 2][m % 2] = first_pixel(shared, shape, first_position + m * 8 + lane / 4) + first;
      }
      const Pair* pairs = shared.pairs + lane % 4;
      KGEN_NO_UNROLL
      for (int step = 0; step < shape.steps; ++step, pairs += 8) {
        const Pair low = pairs[0], high = pairs[4];
        add(step, [&](std::uint32_t(&a)[4], int m, int group) KGEN_LAMBDA {
          const T* image = shared.image + group * shape.group_pitch;
          const auto pair = [&](const Pair& from, int row) KGEN_LAMBDA {
            return load_block<4>(image + rows[m][row] + from.offset, Access{}).words[0] & from.mask;
          };
          a[0] = pair(low, 0), a[1] = pair(low, 1), a[2] = pair(high, 0), a[3] = pair(high, 1);
        });
      }
    }
  }
  // Adds a chunk's products to a wave's sums, of its first `Rows` row tiles.
  template <int Rows>
  KGEN_FN static void add_chunk(Sums& sums, const Shared& shared, const Shape& shape, int chunk, int first_position,
                                int first) {
    const std::uint32_t* filters = shared.filters + chunk * shape.steps * 256 + thread_index() % wave_size * 2;
    for_each_step<Rows>(shared, shape, first_position, first, [&](int step, const auto& left) KGEN_LAMBDA {
      KGEN_UNROLL
      for (int group = 0; group < together; ++group) {
        std::uint32_t b[Tiles][2];
        KGEN_UNROLL
        for (int tile = 0; tile < Tiles; ++tile) {
          const auto words = load_block<8>(filters + step * 256 + (group * Tiles + tile) * 64, Access{});
          b[tile][0] = words.words[0];
          b[tile][1] = words.words[1];
        }
        KGEN_UNROLL
        for (int m = 0; m < Rows; ++m) {
          std::uint32_t a[4];
          left(a, m, group);
          KGEN_UNROLL
          for (int tile = 0; tile < Tiles; ++tile) multiply_tile<T>(sums[m][group * Tiles + tile], a, b[tile]);
        }
      }
    });
  }

  // Gives a wave's sums of a chunk, of positions before `end`, to the sink, W lanes at a time, as far as results go.
  template <int W, class Out>
  KGEN_FN static void emit(const Sums& sums, const Shared& shared, const Out& out, const Shape& shape,
                           const Index<A + 1>& origin, int chunk, int first_position, int end) {
    constexpr bool once = W == 1 || view_count < Out >> 4;  // that the sink's code stands here
    const int lane = thread_index() % wave_size;
    const int group = shape.group_of(chunk, together) + lane % 4 / Tiles;
    const int within = shape.column_of(chunk, 8 * Tiles) + lane % 4 % Tiles * 8;
    const int left = group < shape.groups ? shape.group_columns - within : 0;
    const auto row = [&](int step, float(&own)[lanes]) KGEN_LAMBDA {
      if (first_position + step * 8 >= end) return;  // the same for all lanes
      if constexpr (Tiles < 4) transpose_pairs<1>(own);
      const int position = first_position + step * 8 + lane / 4;
      if (position >= end) return;
      const Place place = Place::load(shared.positions + position);
      bool inside = true;
      Index<A + 2> at;
      KGEN_UNROLL
      for (int axis = 0; axis < A + 1; ++axis) {
        const int own_at = static_cast<int>(origin[axis]) + place.at[axis];
        at[axis] = own_at;
        inside = inside && own_at < (axis == 0 ? shape.images : shape.axes[axis > 0 ? axis - 1 : 0].result);
      }
      if (!inside) return;
      at[A + 1] = std::int64_t{group} * shape.group_columns + within;
      const auto store = [&](int first) KGEN_LAMBDA {
        float some[W] = {};
        KGEN_UNROLL
        for (int i = 0; i < lanes; ++i) {
          if (i < W || i / W * W == first) some[i % W] = own[i];
        }
        Index<A + 2> each = at;
        each[A + 1] += first;
        if (first < left) store_to(out, each, load_lanes<W>(some));
      };
      if constexpr (W == 1) {
        KGEN_NO_UNROLL
        for (int first = 0; first < lanes; first += W) store(first);
      } else {
        KGEN_UNROLL
        for (int first = 0; first < lanes; first += W) store(first);
      }
    };
    // Where among a lane's sums those of a row are: 2 of each tile of columns.
    const auto gather = [&](int step, float(&own)[lanes], bool chosen) KGEN_LAMBDA {
      KGEN_UNROLL
      for (int i = 0; i < lanes; ++i) own[i] = chosen ? sums[step / 2][i / 2][step % 2 * 2 + i % 2] : own[i];
    };
    if constexpr (once) {
      KGEN_NO_UNROLL
      for (int step = 0; step < 2 * row_tiles; ++step) {
        float own[lanes];
        KGEN_UNROLL
        for (int each = 0; each < 2 * row_tiles; ++each) gather(each, own, each == 0 || each == step);
        row(step, own);
      }
    } else {
      KGEN_UNROLL
      for (int step = 0; step < 2 * row_tiles; ++step) {
        float own[lanes];
        gather(step, own, true);
        row(step, own);
      }
    }
  }

  // The results of a tile that begins at `origin`, of the chunks of a bundle. Where that is less than the waves could
  // have, each has one row tile at a time.
  template <int W, class Out>
  KGEN_FN static void compute(const Shared& shared, const Out& out, const Shape& shape, const Index<A + 1>& origin,
                              int first_chunk) {
    const int whole = (shape.all_positions + 16 * row_tiles - 1) / (16 * row_tiles) * shape.chunks;
    const bool few = row_tiles * whole <= waves;
    const int rows_at_once = few ? 16 : 16 * row_tiles;
    const int parts = (shape.all_positions + rows_at_once - 1) / rows_at_once;
    for (int item = thread_index() / wave_size; item < parts * shape.chunks; item += waves) {
      auto chunk = static_cast<std::uint32_t>(item);
      const int first_position = static_cast<int>(shape.chunk_count.split(chunk)) * rows_at_once;
      if (first_chunk + static_cast<int>(chunk) >= shape.all_chunks) continue;
      const int own = first_chunk + static_cast<int>(chunk);
      const int first = (shape.group_of(own, together) - shape.group_of(first_chunk, together)) * shape.group_pitch;
      const int behind = first_position + rows_at_once;
      const int end = behind < shape.all_positions ? behind : shape.all_positions;
      Sums sums = {};
      if (few) {
        add_chunk<1>(sums, shared, shape, static_cast<int>(chunk), first_position, first);
      } else {
        add_chunk<row_tiles>(sums, shared, shape, static_cast<int>(chunk), first_position, first);
      }
      emit<W>(sums, shared, out, shape, origin, own, first_position, end);
    }
  }

  template <int W, class Out>
  KGEN_FN static void run(const NarrowOperands<T, A>& operands, const Out& out, const Shape& shape) {
    SharedMemory memory;
    const Shared shared(memory, shape);
    auto bundle = static_cast<std::uint32_t>(block_index());
    const int first_tile = static_cast<int>(shape.bundles.split(bundle));
    const int first_chunk = static_cast<int>(bundle) * shape.chunks;
    stage_pairs(shared, shape);
    if (thread_index() < lanes) shared.image[shape.zeros() + thread_index()] = T();
    stage_places(shared.positions, shape.all_positions, shape.positions, [&](const Index<A + 1>& at) KGEN_LAMBDA {
      int offset = static_cast<int>(at[0]) * shape.pixel_steps[0];
      KGEN_UNROLL
      for (int axis = 0; axis < A; ++axis) {
        offset += static_cast<int>(at[axis + 1]) * shape.axes[axis].stride * shape.pixel_steps[axis + 1];
      }
      return offset;
    });
    {
      const BlockPhase placing;
      stage_places(shared.pixels, shape.all_pixels, shape.pixels,
                   [&](const Index<A + 1>& at) KGEN_LAMBDA { return operands.x.offset(join(at, Index<1>{0})); });
    }
    const int first_channel = shape.group_of(first_chunk, together) * shape.channels;
    for (int tile = first_tile; tile < shape.all_tiles; tile += shape.tiles_at_once) {
      Index<A + 1> origin = shape.tiles(static_cast<std::uint32_t>(tile));
      KGEN_UNROLL
      for (int axis = 0; axis < A + 1; ++axis) origin[axis] *= shape.tile[axis];
      {
        const BlockPhase staging;
        const Window window(shape, operands.x, origin);
        if (shape.vectors) ask_for_pieces(shared, operands.x, shape, window, first_channel);
        if (tile == first_tile) stage_bundle(shared, operands.filters, shape, first_chunk);
        if (shape.vectors) {
          await_copies<0>();
        } else {
          stage_elements(shared, operands.x, shape, window, first_channel);
        }
      }
      const BlockPhase computing;
      compute<W>(shared, out, shape, origin, first_chunk);
    }
  }
};

template <class T, int Tiles, int W, int A, class Out>
KGEN_GLOBAL((has_warpgroups ? NarrowConvolution<T, Tiles, A>::threads : 1), 2)
narrow_convolution_kernel(NarrowOperands<T, A> operands, Out out, NarrowShape<A> shape) {
  if constexpr (has_warpgroups) {
    take_turn();
    using Convolution = NarrowConvolution<T, Tiles, A>;
    if constexpr (W > 1) {
      Convolution::template run<W>(operands, known<Lanes::whole_vectors>(out), shape);
    } else {
      Convolution::template run<W>(operands, out, shape);
    }
  }
}

// ---- launches

template <class T, int Tiles, int A, class Out>
bool launch_narrow_convolution(const PatchOperands<T, A>& operands, const NarrowOperands<T, A>& views, const Out& out,
                               const DeviceLimits& limits, Stream stream) {
  using Convolution = NarrowConvolution<T, Tiles, A>;
  const auto& [x, filters, sizes, group] = operands;
  bool aligned = x.stride(A + 1) == 1 && reinterpret_cast<std::uintptr_t>(x.data()) % 16 == 0;
  for (int axis = 0; axis <= A; ++axis) {
    aligned = aligned && (x.extent(axis) == 1 || x.stride(axis) % Convolution::lanes == 0);
  }
  const NarrowRequest request{Tiles, aligned, Convolution::bytes_of_pieces(views.filters, sizes),
                              limits.multiprocessors, limits.shared_bytes};
  const std::optional<NarrowShape<A>> shape = narrow_shape<A>(sizes, group, filters.extent(A + 1), request,
                                                              [](const auto& own) { return Convolution::shared(own); });
  if (!shape) return false;
  const auto launch = [&]<int W>(const Out& sink) {
    const auto kernel = narrow_convolution_kernel<T, Tiles, W, A, Out>;
    if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), Convolution::threads)) return false;
    const Grid grid{"narrow_convolution", shape->blocks(), Convolution::threads, Convolution::shared(*shape)};
    launch_early(grid, stream, kernel, views, sink, *shape);
    return true;
  };
  const auto in_vectors = [&](int width) { return shape->group_columns % width == 0 && has_whole_vectors(out, width); };
  if (in_vectors(8)) return launch.template operator()<8>(with_access(out, 8));
  if (in_vectors(4)) return launch.template operator()<4>(with_access(out, 4));
  return launch.template operator()<1>(out);
}

// False where device or compiler do not allow it, or shared memory holds too little.
template <class T, int A, class Out>
bool narrow_convolution(const PatchOperands<T, A>& operands, const Out& out, const DeviceLimits& limits,
                        Stream stream) {
  const auto& [x, filters, sizes, group] = operands;
  const std::optional<View<const T, 3>> taps = merged<0, A>(filters);
  if (!taps || !NearView<T, 3>::fits(*taps) || !NearView<T, A + 2>::fits(x)) return false;
  const NarrowOperands<T, A> views{NearView<T, A + 2>(x), NearView<T, 3>(*taps)};
  const std::int64_t columns = filters.extent(A + 1) / group;
  if (group > 1 && columns <= 8) return launch_narrow_convolution<T, 1>(operands, views, out, limits, stream);
  if (group > 1 && columns <= 16) return launch_narrow_convolution<T, 2>(operands, views, out, limits, stream);
  return launch_narrow_convolution<T, 4>(operands, views, out, limits, stream);
}

}  // namespace kgen::gpu

#endif

// Matrices copied to where the copy engine takes them: lines of neighbours, each from a multiple of 16 bytes on.
#pragma once

#include "kgen/gpu/access.hpp"
#include "kgen/gpu/block.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/view.hpp"

namespace kgen::gpu {

// A block copies tiles of edge x edge. Neighbouring threads read neighbours, along whichever axis those are, and write
// neighbours of a line.
struct LineTile {
  static constexpr int edge = 64, threads = 256, pitch = edge + 1;
};

// Lines `pitch` apart, along axis 1 of the View: zeros behind their ends.
template <class T>
KGEN_GLOBAL(LineTile::threads, 2)
lay_out_kernel(View<const T, 2> from, T* to, std::int64_t pitch, std::int64_t tiles) {
  take_turn();
  constexpr int edge = LineTile::edge, each = edge * edge / LineTile::threads;
  SharedMemory shared;
  T* tile = shared.take<T>(edge * LineTile::pitch);
  const std::int64_t across = (pitch + edge - 1) / edge;
  const bool turned = from.stride(0) == 1 && from.stride(1) != 1;
  for (std::int64_t number = block_index(); number < tiles; number += block_count()) {
    const std::int64_t line = number / across * edge, first = number % across * edge;
    {
      const BlockPhase reading;
      T elements[each];
      KGEN_UNROLL
      for (int i = 0; i < each; ++i) {
        const int inner = thread_index() % edge, outer = thread_index() / edge + i * (LineTile::threads / edge);
        const Index<2> at{line + (turned ? inner : outer), first + (turned ? outer : inner)};
        elements[i] = T{};
        if (at[0] < from.extent(0) && at[1] < from.extent(1)) {
          elements[i] = load_run<1>(from.data() + at[0] * from.stride(0) + at[1] * from.stride(1), 0, {})[0];
        }
      }
      KGEN_UNROLL
      for (int i = 0; i < each; ++i) {
        const int inner = thread_index() % edge, outer = thread_index() / edge + i * (LineTile::threads / edge);
        tile[(turned ? inner : outer) * LineTile::pitch + (turned ? outer : inner)] = elements[i];
      }
    }
    const BlockPhase writing;
    KGEN_UNROLL
    for (int i = 0; i < each; ++i) {
      const int inner = thread_index() % edge, outer = thread_index() / edge + i * (LineTile::threads / edge);
      if (line + outer < from.extent(0) && first + inner < pitch) {
        Block<sizeof(T)> element;
        memcpy(&element, tile + outer * LineTile::pitch + inner, sizeof(T));
        store_global(to + (line + outer) * pitch + first + inner, element);
      }
    }
  }
}

// Matrices in memory of `bytes()`, which must last until what reads them has run.
template <class T>
class LaidOut {
 public:
  // Elements of a line of so many.
  static std::int64_t pitch(std::int64_t extent) {
    constexpr std::int64_t lanes = 16 / static_cast<std::int64_t>(sizeof(T));
    return (extent + lanes - 1) / lanes * lanes;
  }
  static std::int64_t bytes(const View<const T, 2>& view, bool across) {
    const int line = across ? 0 : 1;
    const std::int64_t size = view.extent(1 - line) * pitch(view.extent(line)) * static_cast<std::int64_t>(sizeof(T));
    return (size + 255) / 256 * 256;
  }

  LaidOut(unsigned char* memory, Stream stream) : next_(memory), stream_(stream) {}

  // The matrix, copied; its lines, along axis 1, or with `across` along axis 0, end in zeros at a multiple of 16 bytes.
  View<const T, 2> operator()(const View<const T, 2>& view, bool across) {
    const View<const T, 2> lines = across ? view.template permute<1, 0>() : view;
    const std::int64_t length = pitch(lines.extent(1));
    T* to = reinterpret_cast<T*>(next_);
    next_ += bytes(view, across);
    constexpr int edge = LineTile::edge;
    const std::int64_t tiles = (lines.extent(0) + edge - 1) / edge * ((length + edge - 1) / edge);
    const Grid grid{"lay_out", blocks_for(tiles, LineTile::threads), LineTile::threads,
                    shared_bytes<T>(edge * LineTile::pitch)};
    launch_early(grid, stream_, lay_out_kernel<T>, lines, to, length, tiles);
    const View<const T, 2> made(to, Index<2>{lines.extent(0), length}, Index<2>{length, 1});
    return across ? made.template permute<1, 0>() : made;
  }

 private:
  unsigned char* next_;
  Stream stream_;
};

}  // namespace kgen::gpu

// Matrices copied to where the copy engine takes them: lines of neighbours, each from a multiple of 16 bytes on.
#pragma once

#include <optional>

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/copied_matrix.hpp"
#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/launch.hpp"

namespace kgen::gpu {

// A block copies tiles of edge x edge. Neighbouring threads read neighbours, along whichever axis those are, and write
// neighbours of a line.
struct LineTile {
  static constexpr int edge = 64, threads = 256, pitch = edge + 1;
};

// Lines of `length`, `pitch` apart, along the last axis of the View: zeros behind their ends. The lines of its matrices
// one behind the other.
template <class T>
KGEN_GLOBAL(LineTile::threads, 2)
lay_out_kernel(View<const T, 3> from, T* to, std::int64_t length, std::int64_t pitch, std::int64_t tiles) {
  take_turn();
  constexpr int edge = LineTile::edge, each = edge * edge / LineTile::threads;
  SharedMemory shared;
  T* tile = shared.take<T>(edge * LineTile::pitch);
  const std::int64_t across = (length + edge - 1) / edge, down = (from.extent(1) + edge - 1) / edge;
  const bool turned = from.stride(1) == 1 && from.stride(2) != 1;
  for (std::int64_t number = block_index(); number < tiles; number += block_count()) {
    const std::int64_t band = number / across, first = number % across * edge;
    const std::int64_t matrix = band / down, line = band % down * edge, behind = matrix * from.extent(1);
    {
      const BlockPhase reading;
      T elements[each];
      KGEN_UNROLL
      for (int i = 0; i < each; ++i) {
        const int inner = thread_index() % edge, outer = thread_index() / edge + i * (LineTile::threads / edge);
        const Index<2> at{line + (turned ? inner : outer), first + (turned ? outer : inner)};
        elements[i] = T{};
        if (at[0] < from.extent(1) && at[1] < from.extent(2)) {
          const std::int64_t place = matrix * from.stride(0) + at[0] * from.stride(1) + at[1] * from.stride(2);
          elements[i] = load_run<1>(from.data() + place, 0, {})[0];
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
      if (line + outer < from.extent(1) && first + inner < length) {
        Block<sizeof(T)> element;
        memcpy(&element, tile + outer * LineTile::pitch + inner, sizeof(T));
        store_global(to + (behind + line + outer) * pitch + first + inner, element);
      }
    }
  }
}

// Copies of up to `Most` matrices whose lines are lines in memory, in one launch: each thread has some pieces of 16
// bytes, out of two aligned ones each, whatever address they have.
template <class T, int Most>
struct LineCopies {
  static constexpr int threads = 256, each = 4, of_block = threads * each, lanes = CopiedMatrix<T>::lanes;
  struct Copy {
    CopiedMatrix<T> from;
    T* to;
    std::int64_t pitch, count, first_block;
    Positions<2> pieces;
  };
  Copy copies[Most];
  int count = 0;
  std::int64_t blocks = 0;

  void add(const View<const T, 2>& lines, T* to, Index<2> extents, std::int64_t pitch) {
    const Index<2> pieces{extents[0], extents[1] / lanes};
    const std::int64_t all = pieces[0] * pieces[1];
    copies[count++] = {CopiedMatrix<T>(lines, false), to, pitch, all, blocks, Positions<2>(pieces)};
    blocks += (all + of_block - 1) / of_block;
  }
};
template <class T, int Most>
KGEN_GLOBAL((LineCopies<T, Most>::threads), (sizeof(T) == 1 ? 3 : 4))  // bytes take more registers to turn
lay_out_lines_kernel(const KGEN_GRID_CONSTANT LineCopies<T, Most> all) {
  take_turn();
  using Copies = LineCopies<T, Most>;
  int number = 0;
  while (number + 1 < all.count && block_index() >= all.copies[number + 1].first_block) ++number;
  const typename Copies::Copy& copy = all.copies[number];
  const std::int64_t first = (block_index() - copy.first_block) * Copies::of_block + thread_index();
  Index<2> own[Copies::each];
  bool neighbours = true;  // of all, whose loads are then on their way together
  KGEN_UNROLL
  for (int i = 0; i < Copies::each; ++i) {
    const std::int64_t piece = first + i * Copies::threads;
    own[i] = copy.pieces(static_cast<std::uint32_t>(piece < copy.count ? piece : copy.count - 1));
    own[i][1] *= Copies::lanes;
    neighbours = neighbours && copy.from.has_neighbours(own[i][0], own[i][1]);
  }
  Block<16> blocks[Copies::each];
  if (neighbours) {
    KGEN_UNROLL
    for (int i = 0; i < Copies::each; ++i) blocks[i] = copy.from.load_neighbours(own[i][0], own[i][1]);
  } else {
    KGEN_UNROLL
    for (int i = 0; i < Copies::each; ++i) blocks[i] = copy.from.load(own[i][0], own[i][1]);
  }
  KGEN_UNROLL
  for (int i = 0; i < Copies::each; ++i) store_global(copy.to + own[i][0] * copy.pitch + own[i][1], blocks[i]);
}

// The matrices of a batch as [matrix, line, element]; lines are along the last axis, or with `across` along the last
// but one. Those that repeat along an axis are there once; nothing where the others are not evenly apart.
template <class T, int R>
std::optional<View<const T, 3>> lines_of_batch(const View<const T, R>& view, bool across) {
  const int line = across ? R - 2 : R - 1, other = across ? R - 1 : R - 2;
  std::int64_t count = 1, step = 0;
  for (int axis = R - 3; axis >= 0; --axis) {
    if (view.extent(axis) == 1 || view.stride(axis) == 0) continue;
    if (count == 1) step = view.stride(axis);
    if (view.stride(axis) != count * step) return std::nullopt;
    count *= view.extent(axis);
  }
  return View<const T, 3>(view.data(), {count, view.extent(other), view.extent(line)},
                          {step, view.stride(other), view.stride(line)});
}
// The same batch, where `lines` are those of all of its matrices, one behind the other.
template <class T, int R>
View<const T, R> batch_of_lines(const View<const T, 2>& lines, const View<const T, R>& view, bool across) {
  const int line = across ? R - 2 : R - 1, other = across ? R - 1 : R - 2;
  Index<R> extents = view.shape(), strides{};
  extents[line] = lines.extent(1);
  strides[line] = 1;
  strides[other] = lines.stride(0);
  std::int64_t step = extents[other] * lines.stride(0);
  for (int axis = R - 3; axis >= 0; --axis) {
    if (view.extent(axis) == 1 || view.stride(axis) == 0) continue;
    strides[axis] = step;
    step *= view.extent(axis);
  }
  return {lines.data(), extents, strides};
}

// What copies of so many bytes take on an H100 ahead of what reads them, in ns.
inline std::int64_t copied_time(std::int64_t bytes) { return 4000 + bytes * 4 / 5000; }

// Up to `Most` matrices in memory of `bytes()`, which must last until what reads them has run.
template <class T, int Most>
class LaidOut {
  static constexpr std::int64_t size = sizeof(T), lanes = 16 / size;

 public:
  // Elements of a line of so many, and of what begins at the next multiple of 128 bytes: the copy engine brings lines
  // of 128 bytes faster from there.
  static std::int64_t length(std::int64_t extent) { return (extent + lanes - 1) / lanes * lanes; }
  static std::int64_t pitch(std::int64_t extent) { return (extent * size + 127) / 128 * 128 / size; }
  static std::int64_t bytes(const View<const T, 2>& view, bool across) {
    const int line = across ? 0 : 1;
    return bytes(view.extent(1 - line), view.extent(line));
  }
  static std::int64_t bytes(const View<const T, 3>& lines) {
    return bytes(lines.extent(0) * lines.extent(1), lines.extent(2));
  }

  LaidOut(unsigned char* memory, Stream stream) : next_(memory), stream_(stream) {}

  // The matrix as launch() has copied it at the latest; its lines, along axis 1, or with `across` along axis 0, end in
  // zeros at a multiple of 16 bytes.
  View<const T, 2> operator()(const View<const T, 2>& view, bool across) {
    const View<const T, 2> made = (*this)(*lines_of_batch(view, across));
    return across ? made.template permute<1, 0>() : made;
  }
  // The same of matrices whose lines are along the last axis, one behind the other.
  View<const T, 2> operator()(const View<const T, 3>& lines) {
    const Index<2> extents{lines.extent(0) * lines.extent(1), length(lines.extent(2))};
    const std::int64_t step = pitch(extents[1]);
    T* to = reinterpret_cast<T*>(next_);
    next_ += bytes(lines);
    constexpr std::int64_t most_pieces = std::int64_t{1} << 30;  // which are counted in 31 bits
    const std::int64_t between = lines.extent(1) == 1 ? lines.stride(0) : lines.stride(1);
    const bool evenly_apart = lines.extent(0) == 1 || lines.stride(0) == lines.extent(1) * between;
    if (lines.stride(2) == 1 && evenly_apart && extents[0] * (extents[1] / lanes) < most_pieces) {
      copies_.add({lines.data(), {extents[0], lines.extent(2)}, {between, 1}}, to, extents, step);
    } else {
      copy_tiles(lines, to, extents[1], step);
    }
    return {to, extents, Index<2>{step, 1}};
  }
  void launch() const {
    using Copies = LineCopies<T, Most>;
    if (copies_.count == 0) return;
    const Grid grid{"lay_out_lines", copies_.blocks, Copies::threads};
    launch_early(grid, stream_, lay_out_lines_kernel<T, Most>, copies_);
  }

 private:
  static std::int64_t bytes(std::int64_t lines, std::int64_t extent) {
    return (lines * pitch(extent) * size + 255) / 256 * 256;
  }
  void copy_tiles(const View<const T, 3>& lines, T* to, std::int64_t length, std::int64_t step) const {
    constexpr int edge = LineTile::edge;
    const std::int64_t down = (lines.extent(1) + edge - 1) / edge, across = (length + edge - 1) / edge;
    const std::int64_t tiles = lines.extent(0) * down * across;
    const Grid grid{"lay_out", blocks_for(tiles, LineTile::threads), LineTile::threads,
                    shared_bytes<T>(edge * LineTile::pitch)};
    launch_early(grid, stream_, lay_out_kernel<T>, lines, to, length, step, tiles);
  }

  unsigned char* next_;
  Stream stream_;
  LineCopies<T, Most> copies_;
};

}  // namespace kgen::gpu

// How tiles of operands whose lines begin anywhere in memory come to shared memory, where waves read them (TileLayout):
// as aligned blocks of 16 bytes, out of which threads take what stands behind the lines' beginning. Copied to other
// lines first, they would be on their way three times.
#pragma once

#include "kgen/gpu/copied_matrix.hpp"
#include "kgen/gpu/wave_tile_io.hpp"

namespace kgen::gpu {

// A batch of such matrices, lines along the last axis. T: of their elements.
template <class T, int R>
struct LineBatch {
  View<const T, R> tensor;
  std::uintptr_t begin, end;  // of all of it

  explicit LineBatch(const View<const T, R>& view) : tensor(view) {
    const Span all(view);
    begin = all.begin, end = all.end;
  }
  KGEN_FN Index<R> shape() const { return tensor.shape(); }
};
template <class S>
inline constexpr bool is_line_batch = false;
template <class T, int R>
inline constexpr bool is_line_batch<LineBatch<T, R>> = true;

using kgen::matrix_of;
template <int R, class T>
KGEN_FN CopiedMatrix<T> matrix_of(const LineBatch<T, R>& batch, const Index<R>& start, const Index<2>& extents) {
  CopiedMatrix<T> matrix;
  matrix.data = batch.tensor.data();
  for (int axis = 0; axis < R; ++axis) matrix.data += start[axis] * batch.tensor.stride(axis);
  matrix.extents = extents;
  matrix.strides = last_axes<2>(batch.tensor.strides());
  matrix.begin = batch.begin, matrix.end = batch.end;
  return matrix;
}

// Through registers, a stage at a time: its loads are on their way while another stage is multiplied.
template <class T, class Layout, int Place, int After, int Threads>
class TileLoad<T, Layout, Place, After, Threads, CopiedMatrix<T>> {
  static constexpr int lanes = Layout::lanes, all = Layout::elements / lanes, of_thread = all / Threads;
  static_assert(all % Threads == 0);

 public:
  static constexpr bool copies = false, always_whole = true;
  KGEN_FN explicit TileLoad(const TileSource<CopiedMatrix<T>>& from) : from_(from) {}

  KGEN_FN bool is_whole() const { return true; }
  KGEN_FN bool ends_in_pieces() const { return false; }
  // Of a stage behind all of the depth there may be no memory.
  template <bool, class Stage>
  KGEN_FN void begin(Stage&, std::int64_t k) {
    is_there_ = k < from_.K;
    k_ = k + After;
    if (!is_there_) return;
    const CopiedMatrix<T>& matrix = from_.source;
    std::uintptr_t places[2 * of_thread];
    bool inside = true;  // are all blocks, which are then on their way together
    KGEN_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      const Index<2> at = position(i);
      const std::int64_t own = at[0] < matrix.extents[0] ? at[0] : 0;
      const bool found = matrix.find_blocks(places + 2 * i, 2, own, at[1]);
      inside = inside && found;
      shift_[i] = static_cast<int>(reinterpret_cast<std::uintptr_t>(matrix.address(own, at[1])) % 16);
    }
    if (inside) {
      KGEN_UNROLL
      for (int i = 0; i < 2 * of_thread; ++i) {
        held_[i / 2][i % 2] = load_block<16>(reinterpret_cast<const void*>(places[i]), {false, true, true});
      }
    } else {
      KGEN_UNROLL
      for (int i = 0; i < 2 * of_thread; ++i) held_[i / 2][i % 2] = matrix.block_at(places[i]);
    }
  }
  template <bool, class Stage>
  KGEN_FN void end(Stage& stage) {
    if (!is_there_) return;
    KGEN_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      const Index<2> at = position(i), extents = from_.source.extents;
      Block<16> taken[1];
      take_behind<1>(taken, held_[i], shift_[i]);
      std::uint32_t words[4];
      memcpy(words, taken, sizeof(words));
      keep_first<T>(words, at[0] < extents[0] ? extents[1] - at[1] : 0);
      memcpy(taken, words, sizeof(words));
      store_shared(stage.elements + Place + Layout::piece(line(i), number()), taken[0]);
    }
  }

 private:
  // Neighbouring threads have pieces that are neighbours in memory.
  KGEN_FN static int line(int i) { return thread_index() / Layout::pieces + i * (Threads / Layout::pieces); }
  KGEN_FN static int number() { return thread_index() % Layout::pieces; }
  KGEN_FN Index<2> position(int i) const {
    return Layout::deep ? Index<2>{from_.first + line(i), k_ + number() * lanes}
                        : Index<2>{k_ + line(i), from_.first + number() * lanes};
  }

  TileSource<CopiedMatrix<T>> from_;
  std::int64_t k_ = 0;
  bool is_there_ = false;
  int shift_[of_thread];
  Block<16> held_[of_thread][2];
};

}  // namespace kgen::gpu

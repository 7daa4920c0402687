// How tiles of matrices whose lines begin anywhere in memory come to shared memory, where waves read them, by
// asynchronous copies, several tiles ahead: words of 4 bytes and more to their places (WordTiles), or, where lines
// begin at odd elements, aligned blocks of 16 bytes out of which threads take what stands behind the lines' beginning
// when they have come (LineTiles). Copied to other lines first, operands would be on their way three times.
#pragma once

#include "kgen/gpu/copied_matrix.hpp"
#include "kgen/gpu/matrix_cores.hpp"

namespace kgen::gpu {

// A tile of elements of 16 bits: 64 lines of 128 bytes, along the depth (Deep) or across it, as DeviceTile reads them.
// The pieces of 16 bytes of a line change places by the line's number.
template <class T, bool Deep>
struct LineTileLayout {
  static_assert(sizeof(T) == 2);
  static constexpr bool deep = Deep;
  static constexpr int lanes = 8, pieces = 8, lines = 64, depth = 64, elements = lines * pieces * lanes;

  KGEN_FN static int piece(int line, int number) { return (line * pieces + (number ^ line % pieces)) * lanes; }
};

// The largest word of 16 bytes and less that all lines of a matrix begin at multiples of.
template <class T>
KGEN_FN int word_of_lines(const CopiedMatrix<T>& matrix) {
  const auto bits = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(matrix.data)) |
                    static_cast<std::uint32_t>(matrix.strides[0] * static_cast<std::int64_t>(sizeof(T))) | 16;
  return static_cast<int>(bits & -bits);
}

// One matrix's tiles, for a block of `Threads` threads, of lines that begin at multiples of 4 bytes: of these, a thread
// has as large a word as they allow of every so many.
template <class T, bool Deep, int Threads>
class WordTiles {
 public:
  using Layout = LineTileLayout<T, Deep>;

  // Those from row or column `first` on; lines are along the matrix's axis 1.
  KGEN_FN WordTiles(const CopiedMatrix<T>& matrix, std::int64_t first)
      : matrix_(matrix), first_(static_cast<int>(first)), word_(word_of_lines(matrix)) {
    const int line = line_of(word_), element = element_of(word_);
    from_ = matrix.address((Deep ? first : 0) + line, (Deep ? 0 : first) + element);
  }

  // Begins to bring the tile from depth k on, zeros beyond the last of it. Rows and columns that there are not stay
  // away.
  KGEN_FN void begin(T* tile, int k) const {
    if (word_ == 16) return bring<16>(tile, k);
    if (word_ == 8) return bring<8>(tile, k);
    bring<4>(tile, k);
  }

 private:
  static constexpr int size = static_cast<int>(sizeof(T)), line_bytes = Layout::pieces * 16;

  // Where in a tile this thread's first word is.
  KGEN_FN static int line_of(int word) { return thread_index() * word / line_bytes; }
  KGEN_FN static int element_of(int word) { return thread_index() * word % line_bytes / size; }

  template <int Word>
  KGEN_FN void bring(T* tile, int k) const {
    constexpr int between = Threads * Word / line_bytes, each = Layout::lines / between;
    static_assert(each * between == Layout::lines);
    const int line = line_of(Word), element = element_of(Word);
    const std::int64_t apart = between * matrix_.strides[0];
    const std::int64_t bytes = (matrix_.extents[1] - (Deep ? k : first_) - element) * size;
    const int some = bytes < 0 ? 0 : bytes < Word ? static_cast<int>(bytes) : Word;
    const std::int64_t lines = matrix_.extents[0] - (Deep ? first_ : k) - line;
    const T* from = from_ + (Deep ? k : k * matrix_.strides[0]);
    if (Deep ? bytes >= Word : lines >= Layout::lines) {
      KGEN_UNROLL
      for (int i = 0; i < each; ++i, from += apart) {
        copy_words_where<Word>(Deep ? i * between < lines : some > 0, place(tile, line + i * between, element), from,
                               Deep ? Word : some);
      }
    } else {
      KGEN_UNROLL
      for (int i = 0; i < each; ++i, from += apart) {
        const int own = i * between < lines ? some : 0;
        copy_words_where<Word>(
            !Deep || i * between<lines, place(tile, line + i * between, element), own> 0 ? from : matrix_.data, own);
      }
    }
  }
  KGEN_FN static T* place(T* tile, int line, int element) {
    return tile + Layout::piece(line, element / Layout::lanes) + element % Layout::lanes;
  }

  const CopiedMatrix<T>& matrix_;
  int first_, word_;
  const T* from_;
};

// The same of lines that begin at any element. A thread has a piece of some lines, that of a line's neighbour
// the next one: as these lines are multiples of 16 bytes apart, all of a thread's pieces, of all tiles, stand as far
// behind an aligned block as the first one.
template <class T, bool Deep, int Threads>
class LineTiles {
 public:
  using Layout = LineTileLayout<T, Deep>;
  // A tile on its way: the blocks that pieces begin in, and the one behind, of each line.
  static constexpr int pitch = Layout::pieces + 1;
  struct Blocks {
    Block<16> blocks[Layout::lines * pitch];
  };

  // Those from row or column `first` on; lines are along the matrix's axis 1.
  KGEN_FN LineTiles(const CopiedMatrix<T>& matrix, std::int64_t first)
      : matrix_(matrix), first_(static_cast<int>(first)), step_((Deep ? 1 : matrix.strides[0]) * size) {
    const auto own = reinterpret_cast<std::uintptr_t>(
        matrix.address((Deep ? first : 0) + line(), (Deep ? 0 : first) + number() * Layout::lanes));
    shift_ = static_cast<int>(own % 16);
    block_ = reinterpret_cast<const unsigned char*>(own - own % 16);
    apart_ = between * matrix.strides[0] * size;
    inside_[0] = own - own % 16 >= matrix.begin ? 0 : Layout::depth;
    // Behind what is read of a line there must be as much again, if only of the line behind it.
    const int K = static_cast<int>(matrix.extents[Deep ? 1 : 0]);
    inside_[1] = Deep ? K - Layout::depth - Layout::lanes + 1 : K - Layout::depth;
    if (!Deep && (matrix.extents[1] < 16 || matrix.strides[0] < 16)) inside_[1] = 0;
    const Reach reach = reach_at(0);
    count_ = reach.count;
    goes_on_ = Deep ? number() == Layout::pieces - 1 : reach.goes_on;
  }

  // Begins to bring the tile from depth k on, a multiple of a tile's: those blocks that have something of its lines.
  KGEN_FN void begin(Blocks& to, int k) const {
    const unsigned char* from = block_ + k * step_;
    Block<16>* place = to.blocks + slot();
    if (k >= inside_[0] && k < inside_[1]) {
      KGEN_UNROLL
      for (int i = 0; i < each; ++i, from += apart_) {
        copy_async_where(i < count_, place + i * between * pitch, from);
        copy_async_where(i < count_ && goes_on_, place + i * between * pitch + 1, from + 16);
      }
    } else {
      const Reach reach = reach_at(k);
      const int blocks = reach.goes_on ? 2 : 1;
      KGEN_NO_UNROLL
      for (int i = 0; i < reach.count * blocks; ++i) {
        const int number = i / blocks, behind = i % blocks;
        copy_block(place + number * between * pitch + behind, from + number * apart_ + behind * 16);
      }
    }
  }
  // Puts it in place, once the copies of all threads of the wave are done. Beyond the last of the depth there are
  // zeros: what else there is may be NaN.
  KGEN_FN void put(T* tile, const Blocks& from, int k) const {
    if (k + Layout::depth > matrix_.extents[Deep ? 1 : 0]) {
      put<true>(tile, from, k);
    } else {
      put<false>(tile, from, k);
    }
  }

 private:
  static constexpr int size = static_cast<int>(sizeof(T)), between = Threads / Layout::pieces;
  static constexpr int each = Layout::lines / between;
  static_assert(each * between == Layout::lines && between * size % 16 == 0);

  KGEN_FN static int line() { return thread_index() / Layout::pieces; }
  KGEN_FN static int number() { return thread_index() % Layout::pieces; }
  KGEN_FN static int slot() { return line() * pitch + number(); }

  // Of how many lines this thread has a piece in the tile from depth k on, and whether there is more of them behind its
  // block that no other thread has.
  struct Reach {
    int count;
    bool goes_on;
  };
  KGEN_FN Reach reach_at(int k) const {
    const std::int64_t lines = matrix_.extents[0] - (Deep ? first_ : k) - line();
    const std::int64_t bytes = (matrix_.extents[1] - (Deep ? k : first_) - number() * Layout::lanes) * size + shift_;
    const std::int64_t left = bytes <= 0 || lines <= 0 ? 0 : (lines + between - 1) / between;
    return {left < each ? static_cast<int>(left) : each, number() == Layout::pieces - 1 && bytes > 16};
  }
  // A block that may reach beyond the matrix, of which no more is read.
  KGEN_FN void copy_block(Block<16>* to, const unsigned char* from) const {
    const auto own = reinterpret_cast<std::uintptr_t>(from);
    if (own >= matrix_.begin && own + 16 <= matrix_.end) {
      copy_async(to, from, 16);
    } else {
      store_shared(to, matrix_.block_at(own));
    }
  }
  template <bool Ends>
  KGEN_FN void put(T* tile, const Blocks& from, int k) const {
    Block<16> both[each][2];
    KGEN_UNROLL
    for (int i = 0; i < 2 * each; ++i) {
      both[i / 2][i % 2] = load_block<16>(from.blocks + slot() + i / 2 * between * pitch + i % 2, Access{});
    }
    KGEN_UNROLL
    for (int i = 0; i < each; ++i) {
      Block<16> taken[1];
      take_behind<1>(taken, both[i], shift_);
      if constexpr (Ends) {
        const std::int64_t left = Deep ? matrix_.extents[1] - k - number() * Layout::lanes
                                       : (matrix_.extents[0] - k - line() - i * between) * Layout::lanes;
        keep_first<T>(taken[0].words, left);
      }
      store_shared(tile + Layout::piece(line() + i * between, number()), taken[0]);
    }
  }

  const CopiedMatrix<T>& matrix_;
  int first_;
  std::int64_t step_, apart_;  // bytes from a depth to the next, and from a line to this thread's next
  const unsigned char* block_;
  int inside_[2];  // the depths of tiles all of whose blocks are inside the matrix
  int shift_, count_;
  bool goes_on_;
};

}  // namespace kgen::gpu

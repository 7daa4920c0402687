// How the threads of a wave read operands from where they lie straight into the registers that they multiply from
// (few_rows_matmul.hpp). Of 16 bits for tensor cores: which of the columns and of the depth the tensor cores take as
// which number does not matter as long as both operands and the sums agree, so a thread has neighbours in memory.
//
// A right operand's reader, of some of its columns from one on, has:
//   columns, depth        of a step of a wave
//   blocks                of four waves that a multiprocessor has registers for
//   Left                  how the left operand is read beside it: LeftLine or LeftElements
//   ahead                 steps that should be on their way
//   time, time_shared, begin_shared     as few_rows_matmul.hpp has them
//   Loaded                what a thread has of a step
//   inside()              the depth of which steps are all the operand's, so that these come without a question
//   load<Inside>(to, k)   the step that begins at `k`, as it comes from memory; without a branch, so that all of it is
//                         on its way together
//   take<Inside>(tiles, loaded, k)   the same as the tensor cores take it: 16 columns by 16 of the depth, four times
// Beyond the last of the depth there are zeros. Columns beyond the last one may be any.
#pragma once

#include "kgen/gpu/copied_matrix.hpp"

namespace kgen::gpu {

// The 16 columns and 16 of the depth that the tensor cores multiply at a time, of which this thread has two columns and
// four of the depth; and what it has of the left operand's rows.
using WeightTile = std::uint32_t[4];
using LeftTile = std::uint32_t[2];

// What a thread reads of a matrix in a step: Pieces * 16 bytes of each of some lines that are `apart`. From step to
// step it goes on along the lines (Along), or to others behind them. Aligned: pieces are aligned, and there or not as a
// whole; else they are taken out of aligned blocks.
template <class T, int Lines, int Pieces, bool Along, bool Aligned>
class LineLoads {
  static constexpr int lanes = CopiedMatrix<T>::lanes, blocks = Pieces + (Aligned ? 0 : 1);

 public:
  using Loaded = Block<16>[Lines][blocks];

  KGEN_FN LineLoads(const CopiedMatrix<T>& matrix, Index<2> first, std::int64_t apart)
      : matrix_(matrix), first_(first), apart_(apart) {}

  // The step that begins `k` further. Inside: all blocks are the matrix's; else zeros where there is nothing.
  template <bool Inside>
  KGEN_FN void load(Loaded& to, int k) const {
    const Index<2> at{first_[0] + (Along ? 0 : k), first_[1] + (Along ? k : 0)};
    if constexpr (Inside) {
      const auto first = reinterpret_cast<std::uintptr_t>(matrix_.address(at[0], at[1]));
      KGEN_UNROLL
      for (int i = 0; i < Lines; ++i) {
        const std::uintptr_t own = first + static_cast<std::uintptr_t>(i) * distance();
        const auto* from = reinterpret_cast<const unsigned char*>(Aligned ? own : own - own % 16);
        KGEN_UNROLL
        for (int block = 0; block < blocks; ++block) to[i][block] = load_block<16>(from + 16 * block, constant);
      }
    } else if constexpr (Aligned) {
      KGEN_UNROLL
      for (int i = 0; i < Lines * Pieces; ++i) {
        const Index<2> own{at[0] + i / Pieces * apart_, at[1] + i % Pieces * lanes};
        const bool is_there = matrix_.has_all(own[0], own[1]);
        Block<16>& block = to[i / Pieces][i % Pieces];
        block = load_block<16>(is_there ? matrix_.address(own[0], own[1]) : matrix_.data, constant);
        KGEN_UNROLL
        for (int word = 0; word < 4; ++word) block.words[word] = is_there ? block.words[word] : 0;
      }
    } else {
      std::uintptr_t places[Lines * blocks];
      bool inside = true;  // are all blocks, which are then on their way together
      KGEN_UNROLL
      for (int i = 0; i < Lines; ++i) {
        const std::int64_t line = at[0] + i * apart_;
        const std::int64_t own = line < matrix_.extents[0] ? line : 0;
        const bool found = matrix_.find_blocks(places + i * blocks, blocks, own, at[1]);
        inside = inside && found;
      }
      if (inside) {
        KGEN_UNROLL
        for (int i = 0; i < Lines * blocks; ++i) {
          to[i / blocks][i % blocks] = load_block<16>(reinterpret_cast<const void*>(places[i]), constant);
        }
      } else {
        KGEN_UNROLL
        for (int i = 0; i < Lines * blocks; ++i) to[i / blocks][i % blocks] = matrix_.block_at(places[i]);
      }
    }
  }
  // The elements of line number `i` in the step that begins `k` further.
  template <bool Inside>
  KGEN_FN void take(std::uint32_t (&words)[4 * Pieces], const Loaded& loaded, int i, int k) const {
    if constexpr (Aligned) {
      memcpy(words, loaded[i], sizeof(words));
    } else {
      const Index<2> at{first_[0] + (Along ? 0 : k) + i * apart_, first_[1] + (Along ? k : 0)};
      const std::int64_t line = Inside || at[0] < matrix_.extents[0] ? at[0] : 0;
      const auto own = reinterpret_cast<std::uintptr_t>(matrix_.address(line, at[1]));
      Block<16> taken[Pieces];
      take_behind<Pieces>(taken, loaded[i], static_cast<int>(own % 16));
      memcpy(words, taken, sizeof(words));
      if constexpr (!Inside) {
        const std::int64_t left = at[0] < matrix_.extents[0] ? matrix_.extents[1] - at[1] : 0;
        keep_first<T>(words, left);
      }
    }
  }

 private:
  static constexpr Access constant{false, true, true};

  KGEN_FN std::uintptr_t distance() const {
    return static_cast<std::uintptr_t>(apart_ * matrix_.strides[0]) * sizeof(T);
  }

  const CopiedMatrix<T>& matrix_;
  Index<2> first_;
  std::int64_t apart_;
};

KGEN_FN std::int64_t at_most(std::int64_t number, std::int64_t last) { return number < last ? number : last; }

// Of lines across the depth, what a wave reads from `column` on. The depth of which steps are inside: blocks of a
// step's last line, from the wave's last column on, may be those of lines behind it.
template <bool Aligned, class T>
KGEN_FN Index<2> inside_across(const CopiedMatrix<T>& b, std::int64_t column, int columns, int depth) {
  if (Aligned) return {0, b.extents[0] - depth + 1};
  constexpr int block = CopiedMatrix<T>::lanes;
  const auto all = static_cast<std::int64_t>((b.end - reinterpret_cast<std::uintptr_t>(b.data)) / sizeof(T));
  const std::int64_t left = all - column - columns - 2 * block, pitch = b.strides[0];
  const std::int64_t lines = left < 0 || pitch == 0 ? 0 : left / pitch + 1;
  return {b.begin % 16 == 0 ? 0 : depth, at_most(lines, b.extents[0]) - depth + 1};
}
// And where a thread begins that would at `column`: beyond the last piece there is none.
template <bool Aligned, class T>
KGEN_FN std::int64_t own_column(const CopiedMatrix<T>& b, std::int64_t column) {
  return Aligned ? at_most(column, b.extents[1] - CopiedMatrix<T>::lanes) : column;
}

// ---- left operands: this thread's row, as the reader of the right operand has the depth

// 16 elements of a line, for four tiles one behind the other.
template <class T, bool Aligned>
class LeftLine {
  using Line = LineLoads<T, 1, 2, true, Aligned>;

 public:
  static constexpr int tiles = 4;
  using Loaded = typename Line::Loaded;

  KGEN_FN explicit LeftLine(const CopiedMatrix<T>& a)
      : line_(a, {at_most(thread_index() % wave_size / 4, a.extents[0] - 1), thread_index() % 4 * 16}, 0) {}

  template <bool Inside>
  KGEN_FN void load(Loaded& to, int k) const {
    line_.template load<Inside>(to, k);
  }
  template <bool Inside>
  KGEN_FN void take(LeftTile (&to)[tiles], const Loaded& loaded, int k) const {
    std::uint32_t words[2 * tiles];
    line_.template take<Inside>(words, loaded, 0, k);
    memcpy(to, words, sizeof(words));
  }

 private:
  Line line_;
};

// 4 elements, which are anywhere, for all tiles.
template <class T>
class LeftElements {
 public:
  static constexpr int tiles = 1;
  using Loaded = T[4];

  KGEN_FN explicit LeftElements(const CopiedMatrix<T>& a)
      : a_(a), row_(at_most(thread_index() % wave_size / 4, a.extents[0] - 1)) {}

  template <bool Inside>
  KGEN_FN void load(Loaded& to, int k) const {
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) {
      const std::int64_t at = first(k) + i, last = a_.extents[1] - 1;
      to[i] = load_run<1>(a_.address(row_, Inside ? at : at_most(at, last)), 0, {})[0];
    }
  }
  template <bool Inside>
  KGEN_FN void take(LeftTile (&to)[tiles], const Loaded& loaded, int k) const {
    T elements[4];
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) {
      elements[i] = Inside || first(k) + i < a_.extents[1] ? loaded[i] : static_cast<T>(0.0f);
    }
    memcpy(to, elements, sizeof(elements));
  }

 private:
  KGEN_FN static int first(int k) { return k + thread_index() % 4 * 4; }

  const CopiedMatrix<T>& a_;
  std::int64_t row_;
};

// ---- right operands

// Whose lines are along the depth: 64 of it in a step, of which a thread has 16 elements of two lines.
template <class T, bool Aligned>
class DeepColumns {
  using Lines = LineLoads<T, 2, 2, true, Aligned>;

 public:
  static constexpr int columns = 16, depth = 64, ahead = Aligned ? 3 : 2, blocks = 3;
  static constexpr int time = 400, time_shared = Aligned ? 170 : 400, begin_shared = Aligned ? 2500 : 3100;
  using Left = LeftLine<T, Aligned>;
  using Loaded = typename Lines::Loaded;

  KGEN_FN DeepColumns(const CopiedMatrix<T>& a, const CopiedMatrix<T>& b, std::int64_t column)
      : lines_(b, {line(b, column), thread_index() % 4 * 16}, line(b, column + 8) - line(b, column)) {
    constexpr int block = CopiedMatrix<T>::lanes;
    const bool from_begin = Aligned || (b.begin % 16 == 0 && a.begin % 16 == 0);
    inside_ = {from_begin ? 0 : depth, a.extents[1] - depth - (Aligned ? 0 : block) + 1};
  }

  KGEN_FN Index<2> inside() const { return inside_; }
  template <bool Inside>
  KGEN_FN void load(Loaded& to, int k) const {
    lines_.template load<Inside>(to, k);
  }
  template <bool Inside>
  KGEN_FN void take(WeightTile (&tiles)[4], const Loaded& loaded, int k) const {
    std::uint32_t one[8], other[8];
    lines_.template take<Inside>(one, loaded, 0, k);
    lines_.template take<Inside>(other, loaded, 1, k);
    KGEN_UNROLL
    for (int i = 0; i < 8; ++i) {
      tiles[i / 2][i % 2 * 2] = one[i];
      tiles[i / 2][i % 2 * 2 + 1] = other[i];
    }
  }

 private:
  KGEN_FN static std::int64_t line(const CopiedMatrix<T>& b, std::int64_t column) {
    return at_most(column + thread_index() % wave_size / 4, b.extents[0] - 1);
  }

  Lines lines_;
  Index<2> inside_;
};

// Whose lines are across the depth: 64 columns in a step, of which a thread has 8 neighbours of four lines.
template <class T, bool Aligned>
class AcrossColumns {
  using Lines = LineLoads<T, 4, 1, false, Aligned>;

 public:
  static constexpr int columns = 64, depth = 16, ahead = Aligned ? 4 : 2, blocks = Aligned ? 3 : 2;
  static constexpr int time = 280, time_shared = Aligned ? 210 : 380, begin_shared = Aligned ? 2750 : 3600;
  using Left = LeftElements<T>;
  using Loaded = typename Lines::Loaded;

  KGEN_FN AcrossColumns(const CopiedMatrix<T>&, const CopiedMatrix<T>& b, std::int64_t column)
      : lines_(b, {thread_index() % 4 * 4, own_column<Aligned>(b, column + thread_index() % wave_size / 4 * 8)}, 1),
        inside_(inside_across<Aligned>(b, column, columns, depth)) {}

  KGEN_FN Index<2> inside() const { return inside_; }
  template <bool Inside>
  KGEN_FN void load(Loaded& to, int k) const {
    lines_.template load<Inside>(to, k);
  }
  template <bool Inside>
  KGEN_FN void take(WeightTile (&tiles)[4], const Loaded& loaded, int k) const {
    std::uint32_t own[4][4];
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) lines_.template take<Inside>(own[i], loaded, i, k);
    KGEN_UNROLL
    for (int i = 0; i < 4; ++i) {
      KGEN_UNROLL
      for (int half = 0; half < 2; ++half) {  // neighbours in depth are in two lines
        const std::uint32_t one = own[2 * half][i], other = own[2 * half + 1][i];
        tiles[i][2 * half] = (one & 0xffff) | other << 16;
        tiles[i][2 * half + 1] = one >> 16 | (other & 0xffff0000);
      }
    }
  }

 private:
  Lines lines_;
  Index<2> inside_;
};

// Short lines along the depth, so that a wave has more of them: 64 columns and 16 of the depth in a step, of which a
// thread has 4 elements of 8 neighbouring lines. Aligned: to 8 bytes; else element by element.
template <class T, bool Aligned>
class ShortColumns {
 public:
  static constexpr int columns = 64, depth = 16, ahead = Aligned ? 3 : 1, blocks = 3;
  static constexpr int time = Aligned ? 280 : 1000, time_shared = time, begin_shared = 2600;
  using Left = LeftElements<T>;
  using Loaded = LeftTile[8];

  KGEN_FN ShortColumns(const CopiedMatrix<T>&, const CopiedMatrix<T>& b, std::int64_t column)
      : b_(b), first_(column + thread_index() % wave_size / 4 * 8) {}

  KGEN_FN Index<2> inside() const { return {0, b_.extents[1] - depth + 1}; }
  template <bool Inside>
  KGEN_FN void load(Loaded& to, int k) const {
    const int at = k + thread_index() % 4 * 4;
    KGEN_UNROLL
    for (int i = 0; i < 8; ++i) {
      const std::int64_t line = at_most(first_ + i, b_.extents[0] - 1);
      if constexpr (Aligned) {
        const bool is_there = Inside || at < b_.extents[1];
        const auto block = load_block<8>(b_.address(line, is_there ? at : 0), {false, true, true});
        KGEN_UNROLL
        for (int word = 0; word < 2; ++word) to[i][word] = is_there ? block.words[word] : 0;
      } else {
        T elements[4];
        KGEN_UNROLL
        for (int each = 0; each < 4; ++each) elements[each] = b_.element(line, at + each);
        memcpy(to[i], elements, sizeof(elements));
      }
    }
  }
  template <bool Inside>
  KGEN_FN void take(WeightTile (&tiles)[4], const Loaded& loaded, int) const {
    KGEN_UNROLL
    for (int i = 0; i < 16; ++i) tiles[i / 4][i % 4] = loaded[i / 4 * 2 + i % 2][i % 4 / 2];
  }

 private:
  const CopiedMatrix<T>& b_;
  std::int64_t first_;
};

}  // namespace kgen::gpu

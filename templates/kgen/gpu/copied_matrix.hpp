// Reading 16 bytes of a matrix's lines at a time, wherever these begin.
#pragma once

#include "kgen/gpu/access.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/view.hpp"

namespace kgen::gpu {

// 16 * Count bytes, `shift` bytes behind the first of blocks that are neighbours in memory.
template <int Count>
KGEN_FN void take_behind(Block<16> (&taken)[Count], const Block<16> (&blocks)[Count + 1], int shift) {
  constexpr int all = 4 * Count;
  std::uint32_t words[all + 4];
  memcpy(words, blocks, sizeof(words));
  KGEN_UNROLL
  for (int i = 0; i < all + 2; ++i) words[i] = (shift & 8) != 0 ? words[i + 2] : words[i];
  KGEN_UNROLL
  for (int i = 0; i < all + 1; ++i) words[i] = (shift & 4) != 0 ? words[i + 1] : words[i];
  const int bits = (shift & 3) * 8;
  KGEN_UNROLL
  for (int i = 0; i < all; ++i) {
    taken[i / 4].words[i % 4] = static_cast<std::uint32_t>((std::uint64_t{words[i + 1]} << 32 | words[i]) >> bits);
  }
}

// So many elements of the words, and zeros behind them.
template <class T, int Count>
KGEN_FN void keep_first(std::uint32_t (&words)[Count], std::int64_t elements) {
  constexpr int of_word = 4 / static_cast<int>(sizeof(T));
  KGEN_UNROLL
  for (int i = 0; i < Count; ++i) {
    const std::int64_t left = elements - i * of_word;
    const std::uint32_t mask = left >= of_word ? ~0u : left <= 0 ? 0u : 0xffffu;
    words[i] &= mask;
  }
}

// A matrix anywhere in memory, as what copies 16 bytes of its lines at a time has it.
template <class T>
struct CopiedMatrix {
  static constexpr int lanes = 16 / static_cast<int>(sizeof(T));
  const T* data;
  Index<2> extents, strides;  // of lines, of elements of a line
  std::uintptr_t begin, end;  // of all of it: where more than an element is read at a time

  CopiedMatrix() = default;
  // `across`: lines are along axis 0.
  CopiedMatrix(const View<const T, 2>& view, bool across)
      : data(view.data()),
        extents{view.extent(across ? 1 : 0), view.extent(across ? 0 : 1)},
        strides{view.stride(across ? 1 : 0), view.stride(across ? 0 : 1)},
        begin(Span(view).begin),
        end(Span(view).end) {}

  // The 16 bytes of a line from element `from` on, zeros beyond its end.
  KGEN_FN Block<16> load(std::int64_t line, std::int64_t from) const {
    T elements[lanes] = {};
    KGEN_UNROLL
    for (int i = 0; i < lanes; ++i) {
      if (line < extents[0] && from + i < extents[1]) elements[i] = load_run<1>(address(line, from + i), 0, {})[0];
    }
    Block<16> block;
    memcpy(&block, elements, sizeof(block));
    return block;
  }
  // Whether they are all there; and they are.
  KGEN_FN bool has_all(std::int64_t line, std::int64_t from) const {
    return line < extents[0] && from + lanes <= extents[1];
  }
  KGEN_FN Block<16> load_all(std::int64_t line, std::int64_t from) const {
    T elements[lanes];
    KGEN_UNROLL
    for (int i = 0; i < lanes; ++i) elements[i] = load_run<1>(address(line, from + i), 0, {})[0];
    Block<16> block;
    memcpy(&block, elements, sizeof(block));
    return block;
  }
  // Whether load_neighbours() may read them.
  KGEN_FN bool has_neighbours(std::int64_t line, std::int64_t from) const {
    const auto aligned = reinterpret_cast<std::uintptr_t>(address(line, from)) / 16 * 16;
    return strides[1] == 1 && has_all(line, from) && aligned >= begin && aligned + 32 <= end;
  }
  // The same out of two blocks of 16, whatever address they have.
  KGEN_FN Block<16> load_neighbours(std::int64_t line, std::int64_t from) const {
    constexpr Access constant{false, true, true};
    const T* first = address(line, from);
    const std::uintptr_t shift = reinterpret_cast<std::uintptr_t>(first) % 16;
    const auto* aligned = reinterpret_cast<const unsigned char*>(first) - shift;
    const Block<16> low = load_block<16>(aligned, constant);
    const Block<16> high = load_block<16>(aligned + (shift == 0 ? 0 : 16), constant);
    Block<16> block[1];
    take_behind<1>(block, {low, high}, static_cast<int>(shift));
    return block[0];
  }

  // An element, or zero where there is none, without a branch.
  KGEN_FN T element(std::int64_t line, std::int64_t at) const {
    const bool is_there = line < extents[0] && at < extents[1];
    const T own = load_run<1>(is_there ? address(line, at) : data, 0, {})[0];
    return is_there ? own : static_cast<T>(0.0f);
  }

  // The aligned blocks of 16 bytes from an element of a line on, the line's last one instead of those behind it; and
  // whether all of each are the matrix's.
  KGEN_FN bool find_blocks(std::uintptr_t* blocks, int count, std::int64_t line, std::int64_t from) const {
    const auto first = reinterpret_cast<std::uintptr_t>(address(line, from)) / 16 * 16;
    const auto last = reinterpret_cast<std::uintptr_t>(address(line, extents[1] - 1)) / 16 * 16;
    KGEN_UNROLL
    for (int i = 0; i < count; ++i) {
      const std::uintptr_t own = first + static_cast<std::uintptr_t>(i) * 16;
      blocks[i] = own < last ? own : last;
    }
    return (first < last ? first : last) >= begin && last + 16 <= end;
  }
  // Such a block as far as it is the matrix's, and zeros elsewhere.
  KGEN_FN Block<16> block_at(std::uintptr_t first) const {
    T elements[lanes];
    KGEN_UNROLL
    for (int i = 0; i < lanes; ++i) {
      const std::uintptr_t own = first + static_cast<std::uintptr_t>(i) * sizeof(T);
      const bool is_there = own >= begin && own + sizeof(T) <= end;
      const T one = load_run<1>(is_there ? reinterpret_cast<const T*>(own) : data, 0, {})[0];
      elements[i] = is_there ? one : static_cast<T>(0.0f);
    }
    Block<16> block;
    memcpy(&block, elements, sizeof(block));
    return block;
  }

  KGEN_FN const T* address(std::int64_t line, std::int64_t element) const {
    return data + line * strides[0] + element * strides[1];
  }
};

}  // namespace kgen::gpu

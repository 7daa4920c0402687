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

  KGEN_FN const T* address(std::int64_t line, std::int64_t element) const {
    return data + line * strides[0] + element * strides[1];
  }
};

}  // namespace kgen::gpu

// Products of bytes (kgen/integer_matmul.hpp) in panels of fours (quads.hpp): packed_matmul.hpp's product, whose sums
// have the zero points taken from them on their way to the sink. Tiles read the same panels (tile_products.hpp).
//
// What is multiplied are bytes a' and b' of which something was not subtracted yet: a - a_zero = a' - s, where s is
// a_zero and what turning the upmost bit added, and b - b_zero = b' - t. So the sum over k of (a' - s) (b' - t) is
//   sum of a' b'  -  s * (sum of b')  -  t * (sum of a' - K s).
// Sums of b' and the t lie behind each panel; the sums of a' are needed only where some t is not 0, as for weights of
// u8.
#pragma once

#include "kgen/cpu/packed_matmul.hpp"

namespace kgen::cpu {

// Rows of a panel: fours, then for each column the sum of its bytes, then its t, which is of 9 bits; beyond 16 bits
// stands whether all bytes of the panel are narrow (quads.hpp).
constexpr std::int64_t quad_panel_rows(std::int64_t K) { return quads_of(K) + 2; }

constexpr std::int32_t narrow_mark = 1 << 16;

// ---- packing

inline bool holds_narrow_bytes(const Quad* panel, std::int64_t quads) {
  const auto* bytes = reinterpret_cast<const std::int8_t*>(panel);
  return std::all_of(bytes, bytes + 4 * quads * panel_columns,
                     [](std::int8_t each) { return each >= -most_narrow && each <= most_narrow; });
}

template <class B, class Zero>
void pack_quad_panel(Quad* to, const B& b, const Zero& zero, std::int64_t first) {
  using Byte = source_lane_t<B, 2>;
  const std::int64_t K = b.shape()[0], quads = quads_of(K);
  const std::int64_t count = std::min<std::int64_t>(panel_columns, b.shape()[1] - first);
  constexpr std::uint8_t turned = turned_on_right<Byte>;
  if (is_transposed(b)) {
    if constexpr (is_view<B>) {
      const auto columns = b.template permute<1, 0>();
      pack_quads_along_depth<panel_columns, Byte>(to, columns, Range{0, quads}, first, count, turned);
    }
  } else {
    pack_quads_along_width<panel_columns, Byte>(to, b, Range{0, quads}, first, count, turned);
  }
  std::int32_t behind[2][panel_columns] = {};
  add_columns<panel_columns>(behind[0], to, quads);
  for (std::int64_t j = 0; j < count; ++j) {
    behind[1][j] = zero.template at<1>(Index<1>{first + j}).data - turned;
  }
  if (has_narrow_quads && holds_narrow_bytes(to, quads)) {
    for (std::int32_t& each : behind[1]) each += narrow_mark;
  }
  std::memcpy(to + quads * panel_columns, behind, sizeof(behind));
}

template <class B, class Zero>
void pack_bytes_to(Quad* panels, const B& b, const Zero& zero, Stream stream) {
  const std::int64_t K = b.shape()[0], N = b.shape()[1], rows = quad_panel_rows(K);
  parallel(threads_for(stream, K * N / 4), [&](Team team) {
    const Range part = team.part((N + panel_columns - 1) / panel_columns);
    Reading reading(stream, team);
    for (std::int64_t panel = part.begin; panel < part.end; ++panel) {
      pack_quad_panel(panels + panel * rows * panel_columns, b, zero, panel * panel_columns);
      reading.add(K * panel_columns);
    }
  });
}

template <class B, class Zero>
void pack_bytes(const B& b, const Zero& zero, const View<std::int8_t, 3>& panels, Stream stream) {
  pack_bytes_to(reinterpret_cast<Quad*>(panels.data()), b, zero, stream);
}

// ---- results

// The t of columns.
template <int W>
KGEN_FN Vec<std::int32_t, W> zeros_of(const Vec<std::int32_t, W>& behind) {
  Vec<std::int32_t, W> zeros;
  zeros.data = behind.data << 16 >> 16;
  return zeros;
}

// Takes sums of a' b', and gives c those of (a - a_zero) (b - b_zero).
template <class Zero, class C>
struct FromZeroPoints {
  const C& c;
  const Quad* panels;
  std::int64_t quads;
  Zero a_zero;
  std::int32_t turned;           // what was added to each element of a
  const std::int32_t* row_sums;  // of a' - s, which are those of a - a_zero; null where all t are 0

  template <int W>
  KGEN_FN Vec<std::int32_t, W> behind(std::int64_t row, std::int64_t column) const {
    const std::int64_t panel = column / panel_columns * (quads + 2) + quads + row;
    return bit_cast<std::int32_t>(load_lanes<W>(panels + panel * panel_columns + column % panel_columns));
  }
  template <int W>
  KGEN_FN void operator()(const Index<2>& at, const Vec<NarrowSum, W>& sums) const {
    (*this)(at, bit_cast<std::int32_t>(sums));
  }
  template <int W>
  KGEN_FN void operator()(const Index<2>& at, Vec<std::int32_t, W> sums) const {
    static_assert(W <= panel_columns);
    const std::int32_t s = a_zero.template at<1>(Index<2>{at[0], 0}).data + turned;
    sums = sums - behind<W>(0, at[1]) * Vec<std::int32_t, W>(s);
    if (row_sums != nullptr) sums = sums - zeros_of(behind<W>(1, at[1])) * Vec<std::int32_t, W>(row_sums[at[0]]);
    store_to(c, at, sums);
  }
};

// Whether that holds of what stands behind any of so many panels for a column.
template <class Holds>
bool any_behind(const Quad* panels, std::int64_t count, std::int64_t quads, const Holds& holds) {
  for (std::int64_t panel = 0; panel < count; ++panel) {
    const Quad* behind = panels + (panel * (quads + 2) + quads + 1) * panel_columns;
    if (std::any_of(behind, behind + panel_columns, holds)) return true;
  }
  return false;
}
inline bool has_right_zeros(const Quad* panels, std::int64_t count, std::int64_t quads) {
  return any_behind(panels, count, quads, [](Quad each) { return static_cast<std::int16_t>(each) != 0; });
}

// body.operator()<what sums by these panels are held in>().
template <class Body>
void with_sums(const Quad* panels, std::int64_t count, std::int64_t quads, const Body& body) {
  if constexpr (has_narrow_quads) {
    const auto is_wide = [](Quad each) { return static_cast<std::int16_t>(each) == each; };
    if (!any_behind(panels, count, quads, is_wide)) return body.template operator()<NarrowSum>();
  }
  body.template operator()<std::int32_t>();
}

// sums[m] = the sum of a - a_zero in row m.
template <class A, class Zero>
void add_rows(std::int32_t* sums, const A& a, const Zero& a_zero, int threads) {
  using Byte = source_lane_t<A, 2>;
  const std::int64_t M = a.shape()[0], K = a.shape()[1];
  parallel_for(threads, M, [&](std::int64_t row) {
    std::int32_t sum = 0;
    for_each_of_row<Byte>(a, row, Range{0, K}, [&]<int W>(std::int64_t, const Vec<Byte, W>& lanes) KGEN_LAMBDA {
      sum += sum_of(convert<std::int32_t>(lanes));
    });
    const std::int64_t zero = a_zero.template at<1>(Index<2>{row, 0}).data;
    sums[row] = static_cast<std::int32_t>(sum - K * zero);
  });
}

// ---- multiplying

// `panels`: those of a matrix with `columns` columns, as pack_bytes leaves them.
template <int TileM, int TileN, class A, class Zero, class C>
void multiply_quads(const A& a, const Zero& a_zero, const Quad* panels, std::int64_t columns, const C& c,
                    Stream stream) {
  using Byte = source_lane_t<A, 2>;
  constexpr int most_rows = RegisterTile<std::int32_t>::rows;
  const std::int64_t M = a.shape()[0], K = a.shape()[1], quads = quads_of(K);
  if (M == 0 || columns == 0) return;
  const int threads = threads_for(stream, std::max(M * columns * quads / 64, columns * quads / 4));
  std::int32_t* row_sums = nullptr;
  if (has_right_zeros(panels, (columns + panel_columns - 1) / panel_columns, quads)) {
    row_sums = scratch<std::int32_t>(5, M);
    add_rows(row_sums, a, a_zero, threads);
  }
  const FromZeroPoints<Zero, C> sink{c, panels, quads, a_zero, added_on_left<Byte>, row_sums};
  const std::int64_t widths[] = {columns}, count = (columns + panel_columns - 1) / panel_columns;
  const Quad* const data[] = {panels};
  if constexpr (has_tiles<Quad>) {
    if (M > 8 && tiles_granted()) {
      constexpr int rows = RegisterTile<std::int32_t, TileQuad>::rows;
      return multiply_packed<rows, TileM, TileN, std::int32_t, TileQuad>(a, data, widths, quads + 2, sink, threads);
    }
  }
  with_sums(panels, count, quads, [&]<class Sum>() {
    with_row_panels<most_rows, 0>(M, [&]<int Rows>() {
      multiply_packed<Rows, TileM, TileN, Sum, Quad>(a, data, widths, quads + 2, sink, threads);
    });
  });
}

template <int TileM, int TileN, class A, class Zero, class C>
void packed_integer_matmul(const A& a, const Zero& a_zero, const View<const std::int8_t, 3>& panels,
                           std::int64_t padding, const C& c, Stream stream) {
  std::int8_t* copy = panels.is_dense() ? nullptr : scratch<std::int8_t>(4, element_count(panels.shape()));
  const auto* data = reinterpret_cast<const Quad*>(dense_panels(panels, copy));
  const std::int64_t columns = std::max<std::int64_t>(0, panels.extent(0) * panel_columns - padding);
  multiply_quads<TileM, TileN>(a, a_zero, data, columns, c, stream);
}

template <int TileM, int TileN, class A, class B, class AZero, class BZero, class C>
void integer_matmul(const A& a, const B& b, const AZero& a_zero, const BZero& b_zero, const C& c, Stream stream) {
  const std::int64_t K = b.shape()[0], N = b.shape()[1], count = (N + panel_columns - 1) / panel_columns;
  if (a.shape()[0] == 0 || N == 0) return;
  Quad* panels = scratch<Quad>(4, count * quad_panel_rows(K) * panel_columns);
  pack_bytes_to(panels, b, b_zero, stream);
  multiply_quads<TileM, TileN>(a, a_zero, panels, N, c, stream);
}

}  // namespace kgen::cpu

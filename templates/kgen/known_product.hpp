// What may be known of a matrix product, or of a convolution, when it is compiled, so that kernels which it never takes
// are left out: one on Hopper's tensor cores is some forty kernels, of which a call launches one. Other devices make no
// use of it.
#pragma once

namespace kgen {

// How right operands lie in memory: any; or neighbours along their rows, or along their columns, beside each other.
// Their lines, and the rows of the left operand, are whole vectors of 16 bytes at addresses of whole vectors then. What
// lies otherwise all the same is copied first, but for filters of a convolution, which is slower then.
inline constexpr int any_layout = 0, row_major = 1, column_major = 2;

// How many rows a left operand has at most; 0: any number. More all the same go without tensor cores.
inline constexpr int any_rows = 0, few_rows = 16;

// How many channels each group of a convolution has at least; 0: any number. With many, its filters as matrices
// [channels, columns] are the right operand of a product for each tap.
inline constexpr int any_channels = 0, many_channels = 64;

// For the ways to a product on tensor cores.
template <int Layout = any_layout, int Rows = any_rows>
struct KnownProduct {
  static constexpr int layout = Layout, rows = Rows;
  static constexpr bool is_in_vectors = Layout != any_layout, has_few_rows = Rows == few_rows;
};

// For the ways to a convolution on tensor cores.
template <int Layout = any_layout, int Channels = any_channels>
struct KnownConvolution {
  static constexpr int layout = Layout;
  static constexpr bool has_many_channels = Channels == many_channels;
};

}  // namespace kgen

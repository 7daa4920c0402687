// Rows in groups, each of which has a matrix of its own.
#pragma once

#include "kgen/batch.hpp"
#include "kgen/several.hpp"

namespace kgen {

// The most groups that kernels have room for where they find which rows each has.
inline constexpr std::int64_t most_groups = 2048;

// Rows of a group, and where they end.
struct GroupRows {
  int group;
  std::int64_t first, end;
};

// A sink, seen from a row on.
template <class S>
struct RowsFrom {
  S sink;
  std::int64_t row;

  template <class... Lanes>
  KGEN_FN void operator()(const Index<2>& at, const Lanes&... lanes) const {
    store_to(sink, Index<2>{row + at[0], at[1]}, lanes...);
  }
};

// The first `depth` rows of matrix `group` of each of several tensors, without copying; of a View a View, else one that
// must not outlive it.
template <int First, int Count, class B>
KGEN_FN auto matrices_of_group(const B& b, std::int64_t group, std::int64_t depth) {
  return [&]<int... I>(std::integer_sequence<int, I...>) KGEN_LAMBDA {
    const auto matrix = [&](const auto& tensor) KGEN_LAMBDA {
      return matrix_of(tensor, Index<3>{group, 0, 0}, Index<2>{depth, Index<3>(tensor.shape())[2]});
    };
    if constexpr (sizeof...(I) == 1) {
      return matrix(nth<First>(b));
    } else {
      return several(matrix(nth<First + I>(b))...);
    }
  }
  (std::make_integer_sequence<int, Count>{});
}

}  // namespace kgen

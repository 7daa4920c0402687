// Products of groups of rows on the CPU, each as matmul.hpp computes one. Where there are enough groups a thread
// computes products of its own, or rows of them; else all threads share each product.
#pragma once

#include <algorithm>
#include <vector>

#include "kgen/cpu/matmul.hpp"
#include "kgen/grouped.hpp"

namespace kgen::cpu {

// The rows of each group that has some, in pieces of at most so many; those behind the last group's end have the number
// of groups.
template <class I>
std::vector<GroupRows> pieces_of_groups(const View<const I, 1>& ends, std::int64_t rows, std::int64_t most) {
  std::vector<GroupRows> pieces;
  const int groups = static_cast<int>(ends.extent(0));
  std::int64_t begin = 0;
  for (int group = 0; group <= groups; ++group) {
    const std::int64_t given = group == groups ? rows : static_cast<std::int64_t>(ends.template load<1>({group}).data);
    const std::int64_t end = std::clamp(given, begin, rows);
    for (; begin < end; begin = std::min(end, begin + most))
      pieces.push_back({group, begin, std::min(end, begin + most)});
  }
  return pieces;
}

template <int TileM, int TileN, int, class A, class B, class I, class C>
void grouped_matmul(const A& a, const B& b, const View<const I, 1>& ends, const C& c, Stream stream) {
  const std::int64_t M = a.shape()[0], K = a.shape()[1];
  std::int64_t N = 0;
  for_each_of(b, [&](const auto& each) { N += each.shape()[2]; });
  const auto multiply = [&](const GroupRows& rows, Stream by) {
    const bool has_matrix = rows.group < ends.extent(0);
    const Index<2> left{rows.end - rows.first, has_matrix ? K : 0};
    const auto right = matrices_of_group<0, several_count<B>>(b, has_matrix ? rows.group : 0, left[1]);
    const auto sink = with_each(c, [&]<class S>(const S& each) { return RowsFrom<S>{each, rows.first}; });
    matmul<TileM, TileN, 23>(matrix_of(a, Index<2>{rows.first, 0}, left), right, sink, by);
  };
  const int threads = threads_for(stream, M * N * K / 16);
  // Few groups for each thread are cut into rows, so that threads end together.
  const std::int64_t most = threads == 1 ? M : std::max<std::int64_t>(TileM, M / (4 * threads));
  const std::vector<GroupRows> pieces = pieces_of_groups(ends, M, most);
  const auto count = static_cast<std::int64_t>(pieces.size());
  if (count < threads) {
    for (const GroupRows& rows : pieces) multiply(rows, stream);
    return;
  }
  parallel_for(threads, count, [&](std::int64_t i) { multiply(pieces[static_cast<std::size_t>(i)], Stream{1}); });
}

}  // namespace kgen::cpu

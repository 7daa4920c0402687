// Attention by the plain formula in double, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "testing.hpp"

namespace kgen::testing {

// One query's result: softmax of the scores, times the values. `score(t)` is that of key t of `keys`, nothing where the
// query does not see it; `value(t, d)`, d below `depth`, is asked of seen keys alone. Zeros where no score is finite.
std::vector<double> attended(std::int64_t keys, std::int64_t depth, const auto& score, const auto& value) {
  struct Seen {
    std::int64_t key;
    double weight;
  };
  std::vector<Seen> seen;
  double greatest = -std::numeric_limits<double>::infinity(), total = 0;
  for (std::int64_t t = 0; t < keys; ++t) {
    const std::optional<double> own = score(t);
    if (!own) continue;
    seen.push_back({t, *own});
    greatest = std::max(greatest, *own);
  }
  std::vector<double> out(static_cast<std::size_t>(depth), 0);
  if (greatest == -std::numeric_limits<double>::infinity()) return out;
  for (Seen& each : seen) total += each.weight = std::exp(each.weight - greatest);
  for (const Seen& each : seen) {
    for (std::int64_t d = 0; d < depth; ++d) {
      out[static_cast<std::size_t>(d)] += each.weight / total * value(each.key, d);
    }
  }
  return out;
}

// scale * q k, of the query at [b, s, h] of q [B, S, H, D] and key t of k [B, T, G, D].
double score_of(const auto& q, const auto& k, double scale, Index<3> at, std::int64_t t) {
  double score = 0;
  for (std::int64_t d = 0; d < q.extent(3); ++d) {
    score += scale * element(q, Index<4>{at[0], at[1], at[2], d}) *
             element(k, Index<4>{at[0], t, at[2] / (q.extent(2) / k.extent(2)), d});
  }
  return score;
}

// Requires of every element that it is as near to `expected(at)`, the result of the query at [b, s, h].
void compare_queries(const auto& out, double tolerance, const auto& expected) {
  const Index<4> shape = out.shape();
  for_each_position(Index<3>{shape[0], shape[1], shape[2]}, [&](Index<3> at) {
    const std::vector<double> values = expected(at);
    for (std::int64_t d = 0; d < shape[3]; ++d) {
      INFO("b ", at[0], " s ", at[1], " h ", at[2], " d ", d);
      REQUIRE(std::abs(element(out, Index<4>{at[0], at[1], at[2], d}) - values[static_cast<std::size_t>(d)]) <=
              tolerance);
    }
  });
}

// The same, of softmax(scale * q k + mask) v: `mask(at, t)` is added to the score of key t.
void compare_attention(const auto& q, const auto& k, const auto& v, const auto& mask, double scale, bool causal,
                       const auto& out, double tolerance) {
  const std::int64_t ahead = k.extent(1) - q.extent(1);  // of the first query; causal: the last one sees all keys
  compare_queries(out, tolerance, [&](Index<3> at) {
    const auto score = [&](std::int64_t t) -> std::optional<double> {
      if (causal && t > ahead + at[1]) return std::nullopt;
      return score_of(q, k, scale, at, t) + mask(at, t);
    };
    const auto value = [&](std::int64_t t, std::int64_t d) {
      return element(v, Index<4>{at[0], t, at[2] / (q.extent(2) / k.extent(2)), d});
    };
    return attended(k.extent(1), q.extent(3), score, value);
  });
}

inline constexpr auto no_mask = [](Index<3>, std::int64_t) { return 0.0; };

}  // namespace kgen::testing

#include "generator/import/repeated_runs.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace kgen {
namespace {

constexpr std::size_t windows[] = {1, 4,
                                   16};  // in which of them an element occurs once a period differs between sequences
constexpr std::size_t most_comparisons = 64;  // for each element

// By distance: where a window begins of which the next equal one is so far behind it.
std::map<std::size_t, std::vector<std::size_t>> neighbours(const std::vector<std::uint64_t>& sequence,
                                                           std::size_t shortest) {
  std::map<std::size_t, std::vector<std::size_t>> places;
  for (const std::size_t window : windows) {
    std::unordered_map<std::uint64_t, std::size_t> next;
    for (std::size_t i = sequence.size() + 1; i-- > 0;) {
      if (i + window > sequence.size()) continue;
      std::uint64_t hash = 0;
      for (std::size_t k = 0; k < window; ++k) hash = (hash ^ sequence[i + k]) * 0x9e3779b97f4a7c15u + (hash >> 29);
      const auto [found, first] = next.emplace(hash, i);
      const std::size_t distance = found->second - i;
      if (!first && distance >= shortest) places[distance].push_back(i);
      found->second = i;
    }
  }
  for (auto& [distance, starts] : places) std::sort(starts.begin(), starts.end());
  return places;
}

}  // namespace

std::vector<RepeatedRun> repeated_runs(const std::vector<std::uint64_t>& sequence, std::size_t shortest,
                                       std::size_t fewest) {
  std::vector<RepeatedRun> runs;
  std::size_t left = most_comparisons * sequence.size();
  for (const auto& [period, starts] : neighbours(sequence, std::max<std::size_t>(shortest, 1))) {
    std::size_t seen = 0;  // what is before it was compared at this period
    for (const std::size_t start : starts) {
      if (start < seen) continue;
      std::size_t begin = start, end = start;
      const auto equal = [&](std::size_t i) { return left > 0 && left-- > 0 && sequence[i] == sequence[i + period]; };
      while (end + period < sequence.size() && equal(end)) ++end;
      while (begin > seen && equal(begin - 1)) --begin;
      seen = std::max(seen, end);
      if (end - begin >= std::min(period, fewest)) runs.push_back({begin, end + period, period});
    }
  }
  const auto said_again = [](const RepeatedRun& run) {
    const std::size_t length = run.end - run.begin;
    return length < 2 * run.period ? length - run.period : length / run.period * run.period - run.period;
  };
  std::stable_sort(runs.begin(), runs.end(), [&](const RepeatedRun& a, const RepeatedRun& b) {
    return said_again(a) != said_again(b) ? said_again(a) > said_again(b) : a.period < b.period;
  });
  return runs;
}

}  // namespace kgen

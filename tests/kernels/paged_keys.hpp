// A cache in pages, for tests of attention: sequences of some lengths whose pages lie anywhere, and what attention over
// them is by the plain formula.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "attention_reference.hpp"
#include "testing.hpp"

namespace kgen::testing {

struct PagedSizes {
  std::int64_t B, S, H, G, D;
  std::int64_t page_keys, table_pages;  // of the table of one sequence
};

// Which keys are seen, and what becomes of scores: as attention or window_attention have it.
struct PagedRule {
  double scale;
  bool causal = false;
  std::int64_t left = -1, right = -1;
  double cap = 0;

  bool sees(std::int64_t own, std::int64_t t) const {
    const bool near = (left < 0 || t >= own - left) && (right < 0 || t <= own + right);
    return near && (!causal || t <= own);
  }
  double bent(double score) const { return cap > 0 ? cap * std::tanh(score / cap) : score; }
};

template <class T, class Cached, class Entry = std::int32_t, class I = std::int64_t>
struct PagedKeys {
  PagedSizes sizes;
  Tensor<T, 4> q;
  Tensor<Cached, 4> k, v;  // some pages more than the sequences need
  Tensor<Entry, 2> table;
  Tensor<I, 1> lengths;

  // `lost`: some pages that a sequence needs are not there. What no sequence should read is NaN: pages that none has,
  // and keys behind the last, in groups of `whole` of them.
  PagedKeys(const PagedSizes& of, const std::vector<std::int64_t>& own_lengths, bool lost, std::int64_t whole = 1)
      : sizes(of),
        q(random_tensor<T>(Index<4>{of.B, of.S, of.H, of.D}, 1)),
        k(random_tensor<Cached>(Index<4>{of.B * of.table_pages + 3, of.page_keys, of.G, of.D}, 2)),
        v(random_tensor<Cached>(k.shape, 3)),
        table(Index<2>{of.B, of.table_pages}),
        lengths(Index<1>{of.B}) {
    std::vector<Entry> pages(static_cast<std::size_t>(k.shape[0]));
    std::iota(pages.begin(), pages.end(), Entry(0));
    std::shuffle(pages.begin(), pages.end(), std::mt19937(4));
    constexpr Entry nowhere[] = {-1, std::numeric_limits<Entry>::max(), std::numeric_limits<Entry>::min()};
    std::vector<bool> is_read(pages.size() * static_cast<std::size_t>(of.page_keys), false);
    for (std::int64_t b = 0; b < of.B; ++b) {
      lengths.elements[static_cast<std::size_t>(b)] = static_cast<I>(own_lengths[static_cast<std::size_t>(b)]);
      for (std::int64_t page = 0; page < of.table_pages; ++page) {
        const std::int64_t number = b * of.table_pages + page;
        Entry& entry = table.elements[static_cast<std::size_t>(number)];
        entry = pages[static_cast<std::size_t>(number)];
        if (lost && number % 3 == 1) entry = number % 2 == 0 ? static_cast<Entry>(k.shape[0]) : nowhere[number % 3];
        if (page * of.page_keys >= keys(b) && number % 2 == 0) entry = nowhere[number % 3];
        if (!has(b, page * of.page_keys)) continue;
        for (std::int64_t i = 0; i < of.page_keys && page * of.page_keys + i < (keys(b) + whole - 1) / whole * whole;
             ++i) {
          is_read[static_cast<std::size_t>(entry * of.page_keys + i)] = true;
        }
      }
    }
    for_each_position(k.shape, [&](Index<4> at) {
      if (is_read[static_cast<std::size_t>(at[0] * of.page_keys + at[1])]) return;
      k.view().store(at, Vec<float, 1>(not_a_number));
      v.view().store(at, Vec<float, 1>(not_a_number));
    });
  }

  std::int64_t capacity() const { return sizes.table_pages * sizes.page_keys; }
  std::int64_t keys(std::int64_t b) const {
    const auto length = static_cast<std::int64_t>(lengths.elements[static_cast<std::size_t>(b)]);
    return std::clamp<std::int64_t>(length, 0, capacity());
  }
  std::int64_t page(std::int64_t b, std::int64_t t) const {
    return static_cast<std::int64_t>(
        table.elements[static_cast<std::size_t>(b * sizes.table_pages + t / sizes.page_keys)]);
  }
  bool has(std::int64_t b, std::int64_t t) const { return page(b, t) >= 0 && page(b, t) < k.shape[0]; }

  // The result of the query at [b, s, h] in double. mask(b, h, s, t) is added to scores; -inf hides a key.
  template <class Mask>
  std::vector<double> expected(const PagedRule& rule, const Mask& mask, Index<3> at) const {
    const auto place = [&](std::int64_t t, std::int64_t d) {
      return Index<4>{page(at[0], t), t % sizes.page_keys, at[2] / (sizes.H / sizes.G), d};
    };
    const auto score = [&](std::int64_t t) -> std::optional<double> {
      const double added = mask(at[0], at[2], at[1], t);
      const std::int64_t own = keys(at[0]) - sizes.S + at[1];
      if (!has(at[0], t) || !rule.sees(own, t) || added == -infinity) return std::nullopt;
      double sum = 0;
      for (std::int64_t d = 0; d < sizes.D; ++d) {
        sum += rule.scale * element(q.view(), Index<4>{at[0], at[1], at[2], d}) * element(k.view(), place(t, d));
      }
      return rule.bent(sum) + added;
    };
    const auto value = [&](std::int64_t t, std::int64_t d) { return element(v.view(), place(t, d)); };
    return attended(keys(at[0]), sizes.D, score, value);
  }
  template <class Out>
  void compare(const Out& out, double scale, bool causal, double tolerance) const {
    compare(out, PagedRule{scale, causal}, [](auto...) { return 0.0; }, tolerance);
  }
  template <class Out, class Mask>
  void compare(const Out& out, const PagedRule& rule, const Mask& mask, double tolerance) const {
    compare_queries(out, tolerance, [&](Index<3> at) { return expected(rule, mask, at); });
  }
};

}  // namespace kgen::testing

// How many keys a sequence has and where they lie, which of them the query at a place among them sees, and what becomes
// of its scores. The last query is at the last key.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kgen/platform.hpp"
#include "kgen/view.hpp"

namespace kgen {

// Keys that lie behind each other: those of a sequence from one on, in memory of [sequences, positions, heads, D].
struct KeyRun {
  static constexpr std::int64_t nowhere = -1;
  std::int64_t sequence, position;                              // of the first; or they lie nowhere, and do not count
  std::int64_t end = std::numeric_limits<std::int64_t>::max();  // the key, of the sequence, that they end in front of

  KGEN_FN bool exists() const { return sequence != nowhere; }
};

// Keys of a sequence that lie in its own place of memory, all behind each other.
struct OwnKeys {
  static constexpr bool is_paged = false, is_counted = false;

  // How many keys a sequence may have, of which memory has so many positions.
  KGEN_FN std::int64_t capacity(std::int64_t positions) const { return positions; }
  // Those of sequence b from key t on.
  template <class Size>
  KGEN_FN KeyRun run(Size b, Size t) const {
    return {b, t};
  }
};

// All keys, or (causal) those up to its own. Scores stay as they are.
struct WholeAttention : OwnKeys {
  static constexpr bool is_local = false;
  bool causal;

  KGEN_FN explicit WholeAttention(bool causal) : causal(causal) {}
  KGEN_FN std::int64_t keys_of(std::int64_t, std::int64_t all) const { return all; }
  KGEN_FN std::int64_t begin(std::int64_t) const { return 0; }
  KGEN_FN std::int64_t end(std::int64_t own, std::int64_t keys) const { return causal ? own + 1 : keys; }
};

// From `left` keys before its own to `right` behind it. Scores are kept between -cap and cap; where cap is 0, they
// stay as they are.
struct LocalAttention : OwnKeys {
  static constexpr bool is_local = true;
  std::int64_t left, right;
  double cap;

  KGEN_FN LocalAttention(std::int64_t left, std::int64_t right, double cap) : left(left), right(right), cap(cap) {}

  // A window of less than 0 keys to a side has no end there; one of more than there are neither.
  static LocalAttention of(std::int64_t left, std::int64_t right, double cap, std::int64_t keys, std::int64_t queries) {
    const std::int64_t all = keys + queries;
    return {left < 0 || left > all ? all : left, right < 0 || right > all ? all : right, cap};
  }
  KGEN_FN std::int64_t keys_of(std::int64_t, std::int64_t all) const { return all; }
  KGEN_FN std::int64_t begin(std::int64_t own) const { return own - left; }
  KGEN_FN std::int64_t end(std::int64_t own, std::int64_t) const { return own + right + 1; }
};

// What a rule says of the first lengths[b] keys of sequence b: only what computes knows how many there are. Seen: the
// rule, WholeAttention or LocalAttention.
template <class I, class Seen = WholeAttention>
struct CountedAttention : Seen {
  static constexpr bool is_counted = true;
  View<const I, 1> lengths;

  KGEN_FN CountedAttention(const Seen& seen, const View<const I, 1>& lengths) : Seen(seen), lengths(lengths) {}
  KGEN_FN std::int64_t keys_of(std::int64_t b, std::int64_t all) const {
    const auto length = static_cast<std::int64_t>(lengths.template load<1>(Index<1>{b}).data);
    return length < 0 ? 0 : length < all ? length : all;
  }
};

// Where the keys of sequences lie that are in pages: key t of sequence b at position t % R of page entries[b, t / R],
// where pages have R positions. What an entry names that is no page, such as -1, lies nowhere.
template <class Entry>
struct PageTable {
  View<const Entry, 2> entries;
  std::int64_t pages, page_keys;  // in memory, and R

  KGEN_FN std::int64_t capacity() const { return entries.extent(1) * page_keys; }
  template <class Size>
  KGEN_FN KeyRun run(Size b, Size t) const {
    const Size number = t / static_cast<Size>(page_keys), first = number * static_cast<Size>(page_keys);
    KeyRun run{KeyRun::nowhere, t - first, std::int64_t{first} + page_keys};
    if (number >= entries.extent(1)) return run;
    const auto page = static_cast<std::int64_t>(entries.template load<1>(Index<2>{b, number}).data);
    if (page >= 0 && page < pages) run.sequence = page;
    return run;
  }
};

// CountedAttention of keys in pages.
template <class Entry, class I, class Seen = WholeAttention>
struct PagedAttention : CountedAttention<I, Seen> {
  static constexpr bool is_paged = true;
  using Counted = CountedAttention<I, Seen>;
  PageTable<Entry> table;

  KGEN_FN PagedAttention(const Seen& seen, const View<const I, 1>& lengths, const PageTable<Entry>& table)
      : Counted(seen, lengths), table(table) {}
  KGEN_FN std::int64_t capacity(std::int64_t) const { return table.capacity(); }
  template <class Size>
  KGEN_FN KeyRun run(Size b, Size t) const {
    return table.run(b, t);
  }
};

// A source of what is added to scores: 0 for the keys that count, -inf for the others.
struct CountingKeys {
  View<const bool, 4> counts;

  template <int W>
  KGEN_FN Vec<float, W> load(Index<4> at) const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    return select(counts.load<W>(at), Vec<float, W>(0), Vec<float, W>(-infinity));
  }
};

}  // namespace kgen

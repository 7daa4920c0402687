// A pool of arena slots: memory that one value leaves is taken by the next that fits it.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "generator/model/plan.hpp"

namespace kgen {

using SizeId = std::uint32_t;

// Byte sizes, each kept once, so that equal sizes compare by number and each comparison is proved once.
class SizeTable {
 public:
  explicit SizeTable(DimRanges ranges) : ranges_(std::move(ranges)) {}

  SizeId of(const Dim& bytes);
  // The bytes of a dense tensor.
  SizeId of(const TensorType& type);
  const Dim& bytes(SizeId size) const { return sizes_[size]; }
  std::int64_t upper_bound(SizeId size) const { return upper_[size]; }
  // Whether `small` <= `large` can be proved for every value of the symbols.
  bool at_most(SizeId small, SizeId large);

 private:
  DimRanges ranges_;
  std::vector<Dim> sizes_;
  std::vector<std::int64_t> upper_;
  std::unordered_map<std::string, SizeId> by_text_;
  std::unordered_map<std::string, SizeId> by_type_;
  std::unordered_map<std::uint64_t, bool> proved_;
};

// Hands out slots. Of the free slots that are usable, one of exactly the size is taken first, then the smallest that is
// provably large enough, then the largest that can grow to it; else there is a new one.
class SlotPool {
 public:
  SlotPool(SizeTable& sizes, std::vector<Slot>& slots) : sizes_(sizes), slots_(slots) {}

  using Usable = std::function<bool(std::uint32_t slot)>;
  std::uint32_t take(SizeId size, const Usable& usable);
  void give(std::uint32_t slot);

 private:
  using Key = std::tuple<std::int64_t, SizeId, std::uint32_t>;  // upper bound, size, slot
  Key key_of(std::uint32_t slot) const { return {sizes_.upper_bound(size_of_[slot]), size_of_[slot], slot}; }
  std::set<Key>::iterator find_free(SizeId size, const Usable& usable);

  SizeTable& sizes_;
  std::vector<Slot>& slots_;
  std::vector<SizeId> size_of_;  // by slot
  std::set<Key> free_;
};

}  // namespace kgen

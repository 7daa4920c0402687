#include "generator/pass/place/slots.hpp"

#include <utility>

namespace kgen {

SizeId SizeTable::of(const Dim& bytes) {
  const auto [entry, is_new] = by_text_.try_emplace(bytes.text(), static_cast<SizeId>(sizes_.size()));
  if (is_new) {
    sizes_.push_back(bytes);
    upper_.push_back(bytes.range(ranges_).high);
  }
  return entry->second;
}

SizeId SizeTable::of(const TensorType& type) {
  // Polynomials are multiplied once for each type, and not once for each value.
  const auto [entry, is_new] = by_type_.try_emplace(to_text(type), 0);
  if (is_new) entry->second = of(bytes_of(type));
  return entry->second;
}

bool SizeTable::at_most(SizeId small, SizeId large) {
  if (small == large) return true;
  const Dim& a = sizes_[small];
  const Dim& b = sizes_[large];
  if (a.is_constant() && b.is_constant()) return a.constant() <= b.constant();
  const auto [entry, is_new] = proved_.try_emplace(std::uint64_t{small} << 32 | large, false);
  if (is_new) entry->second = provably_at_most(a, b, ranges_);
  return entry->second;
}

std::set<SlotPool::Key>::iterator SlotPool::find_free(SizeId size, const Usable& usable) {
  constexpr int nearest = 8;  // slots looked at on each side, so that a search takes the same time in any graph
  const auto fits = [&](const Key& key) { return sizes_.at_most(size, std::get<1>(key)) && usable(std::get<2>(key)); };
  const auto start = free_.lower_bound({sizes_.upper_bound(size), size, 0});
  auto same = start;
  for (int i = 0; i < nearest && same != free_.end() && std::get<1>(*same) == size; ++i, ++same) {
    if (usable(std::get<2>(*same))) return same;
  }
  auto above = free_.lower_bound({sizes_.upper_bound(size), 0, 0});
  for (int i = 0; i < nearest && above != free_.end(); ++i, ++above) {
    if (fits(*above)) return above;
  }
  auto below = start;
  for (int i = 0; i < nearest && below != free_.begin(); ++i) {
    --below;
    if (sizes_.at_most(std::get<1>(*below), size) && usable(std::get<2>(*below))) return below;
  }
  return free_.end();
}

std::uint32_t SlotPool::take(SizeId size, const Usable& usable) {
  const auto found = find_free(size, usable);
  if (found == free_.end()) {
    slots_.push_back({sizes_.bytes(size)});
    size_of_.push_back(size);
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }
  const std::uint32_t slot = std::get<2>(*found);
  free_.erase(found);
  if (!sizes_.at_most(size, size_of_[slot])) {
    slots_[slot].bytes = sizes_.bytes(size);
    size_of_[slot] = size;
  }
  return slot;
}

void SlotPool::give(std::uint32_t slot) { free_.insert(key_of(slot)); }

}  // namespace kgen

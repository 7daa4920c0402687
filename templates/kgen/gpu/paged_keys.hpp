// Keys in pages, as the copy engine brings them: a tile in boxes, each of which lies in one page.
#pragma once

#include <numeric>

#include "kgen/attention_rule.hpp"
#include "kgen/gpu/team.hpp"
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// How many keys of a page a box has, where a tile has so many keys; 0 where the engine does not take them: what the
// swizzle repeats, and a thread has of its scores, is 8 keys. Without pages a box is a tile.
inline constexpr int granule_of_pages = 8;
template <class Rule>
int box_of_keys(const Rule& rule, int tile_keys) {
  if constexpr (Rule::is_paged) {
    const auto box = static_cast<int>(std::gcd(rule.table.page_keys, std::int64_t{tile_keys}));
    return box % granule_of_pages == 0 ? box : 0;
  } else {
    return tile_keys;
  }
}

// Where boxes that follow each other lie. The table is far, and a thread that asked for one entry after the other would
// be what all wait for: each lane of a wave has one box.
struct BoxPlaces {
  static constexpr int most = wave_size;
  int sequence, position;  // of this lane's box

  // From first_key on of sequence b, which has `end` keys: of boxes behind the end nobody looks where they lie.
  template <class Rule>
  KGEN_FN BoxPlaces(const Rule& rule, int box, int b, int first_key, int end) {
    const int key = first_key + thread_index() % wave_size * box;
    const KeyRun run = key < end ? rule.run(b, key) : KeyRun{KeyRun::nowhere, 0};
    sequence = static_cast<int>(run.sequence);
    position = static_cast<int>(run.position);
  }
  // act(line of the tile, sequence, position) for the boxes of one, the first of which has this number. By all lanes,
  // of which the first acts.
  template <int Keys, class Act>
  KGEN_FN void for_each(int first, int box, const Act& act) const {
    KGEN_NO_UNROLL
    for (int i = 0; i * box < Keys; ++i) {
      const auto there = static_cast<int>(shuffle_from(sequence, first + i, wave_size, Where::here()));
      const auto at = static_cast<int>(shuffle_from(position, first + i, wave_size, Where::here()));
      if (thread_index() % wave_size == 0) act(i * box, there, at);
    }
  }
};

}  // namespace kgen::gpu

#endif

// Which block of attention's kernel takes which tiles of rows, and in which order.
#pragma once

#include "kgen/divide.hpp"
#include "kgen/platform.hpp"

namespace kgen::gpu {

// Tiles of rows of heads of keys. Heads that run at the same time, a band of them, are few, so that their keys stay in
// the second-level cache. Of a band, tiles that see many keys come first. Where all heads are one band, blocks take a
// tile each, in every other round from the other end, so that no block has the longer one of each round, and the
// shortest come last. Of several bands, in which rounds would begin anywhere, they take pairs, the longest with the
// shortest and so on inwards, which are equally long where rows see ever more keys.
struct AttentionOrder {
  int heads, row_tiles, together;
  int parts = 1;      // of the keys, for blocks of their own
  int tile_rows = 0;  // of a tile, if not all that a block has: those of whole queries, which a box can hold
  // Divisions by `heads` and the heads of keys of a batch, for which everything waits between two tiles of rows. (Of
  // several bands a block still divides by what a band has.)
  Divider by_heads, by_key_heads;

  // Of heads of keys of all batches, and of one.
  static AttentionOrder of(int heads, int key_heads, int row_tiles, int together) {
    return {heads, row_tiles, together, 1, 0, Divider(heads), Divider(key_heads)};
  }

  struct Place {
    int head, row_tile, part;  // of the heads of all batches
    int b, key_head;           // the same head
  };
  KGEN_FN int tiles() const { return heads * row_tiles * parts; }
  // act(place) for the tiles of one of `blocks` blocks.
  template <class Act>
  KGEN_FN void for_each(int block, int blocks, const Act& act) const {
    const bool is_one_band = together >= heads;
    const int steps = is_one_band ? 0 : 2 * rounds_of_pairs(blocks) + 1;
    for (int step = 0; is_one_band ? step * blocks < tiles() : step < steps; ++step) {
      int tile = step * blocks + (step % 2 == 0 ? block : blocks - 1 - block), first = 0, height = heads;
      if (is_one_band) {
        if (tile >= tiles()) continue;
      } else {
        int pair = step / 2 * blocks + block;
        bool second = step % 2 != 0;
        if (const int left = pairs() % blocks; step == steps - 1 && block >= left) {
          second = true;
          pair -= left;
        }
        if (pair >= pairs()) continue;
        const int band = pair / band_pairs(together), number = pair - band * band_pairs(together);
        first = band * together;
        height = least(together, heads - first);
        const int last = height * row_tiles * parts - 1;
        tile = second ? last - number : number;
        if (second && tile == number) continue;  // the middle one has none
      }
      const int line = parts == 1 ? tile : tile / parts;
      auto number = static_cast<std::uint32_t>(line);
      int row;
      if (is_one_band) {
        row = static_cast<int>(by_heads.split(number));
      } else {
        row = line / height;
        number = static_cast<std::uint32_t>(line - row * height);
      }
      const int head = first + static_cast<int>(number);
      number = static_cast<std::uint32_t>(head);
      const int b = static_cast<int>(by_key_heads.split(number));
      act(Place{head, row_tiles - 1 - row, tile - line * parts, b, static_cast<int>(number)});
    }
  }

 private:
  KGEN_FN static int least(int a, int b) { return a < b ? a : b; }
  KGEN_FN int band_pairs(int height) const { return (height * row_tiles * parts + 1) / 2; }
  KGEN_FN int pairs() const {
    const int bands = heads / together;
    return bands * band_pairs(together) + band_pairs(heads - bands * together);
  }
  // Behind the last round each block has a tile more at most, where that is enough for what is left.
  KGEN_FN int rounds_of_pairs(int blocks) const {
    const int whole = pairs() / blocks, left = pairs() - whole * blocks, rest = heads % together;
    const int alone = (rest != 0 ? rest : together) * row_tiles * parts % 2;  // the last band's middle one
    return whole + (2 * left - alone > blocks ? 1 : 0);
  }
};

}  // namespace kgen::gpu

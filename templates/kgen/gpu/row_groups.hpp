// Groups of rows whose sizes only the device knows, cut into tiles of some rows each: which rows a tile has.
#pragma once

#include "kgen/gpu/block.hpp"
#include "kgen/grouped.hpp"
#include "kgen/view.hpp"

namespace kgen::gpu {

// Each block finds them for itself, in its shared memory. Behind the groups stands one more, of the rows behind the
// last group's end. A tile is of one group.
class RowGroups {
 public:
  static constexpr std::int64_t shared(std::int64_t groups) { return 2 * shared_bytes<int>(groups + 2); }

  // All threads of the block together. ends: where each group ends, of `rows` rows; one that is less than an earlier
  // one counts as that, and one beyond the rows as these.
  template <class I>
  KGEN_FN RowGroups(SharedMemory& memory, const View<const I, 1>& ends, std::int64_t rows, int tile_rows)
      : count_(static_cast<int>(ends.extent(0))),
        tile_rows_(tile_rows),
        begins_(memory.take<int>(count_ + 2)),
        tiles_(memory.take<int>(count_ + 2)) {
    {
      const BlockPhase reading;
      for (int group = thread_index(); group < count_; group += block_threads()) {
        const std::int64_t end = static_cast<std::int64_t>(ends.template load<1>(Index<1>{group}).data);
        tiles_[group] = static_cast<int>(end < 0 ? 0 : end < rows ? end : rows);
      }
    }
    {
      const BlockPhase ordering;
      for (int group = thread_index(); group < count_ + 2; group += block_threads()) {
        int begin = 0;
        for (int before = 0; before < group && before < count_; ++before) {
          begin = tiles_[before] > begin ? tiles_[before] : begin;
        }
        begins_[group] = group == count_ + 1 ? static_cast<int>(rows) : begin;
      }
    }
    const BlockPhase counting;
    for (int group = thread_index(); group < count_ + 2; group += block_threads()) {
      int tiles = 0;
      for (int before = 0; before < group; ++before) {
        tiles += (begins_[before + 1] - begins_[before] + tile_rows - 1) / tile_rows;
      }
      tiles_[group] = tiles;
    }
  }

  // Of all groups.
  KGEN_FN int tiles() const { return tiles_[count_ + 1]; }
  // The rows of a tile up to their group's end, of which the first tile_rows are its own. `group` is the number of
  // groups for the rows that are in none.
  KGEN_FN GroupRows operator()(int tile) const {
    int low = 0, high = count_ + 1;  // the first tile of `low` is not behind it, that of `high` is
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (tiles_[middle] <= tile ? low : high) = middle;
    }
    return {low, begins_[low] + (tile - tiles_[low]) * tile_rows_, begins_[low + 1]};
  }
  KGEN_FN bool has_matrix(const GroupRows& rows) const { return rows.group < count_; }

 private:
  int count_, tile_rows_;
  int *begins_, *tiles_;  // the first row of each group, and how many tiles stand before it
};

}  // namespace kgen::gpu

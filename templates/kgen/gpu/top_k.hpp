// Selection along an axis on a GPU. Few of a line: a block keeps the best so far in shared memory and sorts them
// together with what it reads next; long lines are cut into stretches, whose best are selected from once more. Many:
// all of the line is sorted by a bitonic network (Batcher 1968), in tiles that fit into shared memory and, between
// tiles, in memory.
#pragma once

#include <algorithm>
#include <bit>

#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/team.hpp"
#include "kgen/selection.hpp"

namespace kgen::gpu {

inline constexpr int sort_threads = 256, sort_tile = 2048;  // the most items that a block holds

// ---- where items come from and go to --------------------------------------------------------------------------------

// Of the elements of x.
template <class X, int R>
struct ElementItems {
  X x;
  Selection<R> selection;

  KGEN_FN auto item(std::int64_t line, std::int64_t i) const {
    return selection.item(x.template load<1>(selection.position(line, i)).data, i);
  }
};
// In memory, `length` of each line.
template <class Item>
struct StoredItems {
  Item* items;
  std::int64_t length;

  KGEN_FN Item item(std::int64_t line, std::int64_t i) const { return items[line * length + i]; }
  KGEN_FN void give(std::int64_t line, std::int64_t i, const Item& item) const { items[line * length + i] = item; }
};

// ---- the network ----------------------------------------------------------------------------------------------------

// Puts two items in order, `distance` apart, in a network whose runs have `span`: pair number `pair`, counted from item
// `origin` of the line.
template <class Item>
KGEN_FN void order_pair(Item* items, std::int64_t pair, std::int64_t distance, std::int64_t span, std::int64_t origin) {
  const std::int64_t low = 2 * pair - (pair & (distance - 1)), high = low + distance;
  const Item a = items[low], b = items[high];
  if ((b < a) != (((origin + low) & span) == 0)) return;
  items[low] = b;
  items[high] = a;
}

// The steps of a network over runs of `first` to `last` items that stay within the `size` items of a block, all powers
// of two.
template <class Item>
KGEN_FN void sort_shared(Item* items, int size, std::int64_t origin, std::int64_t first, std::int64_t last) {
  for (std::int64_t span = first; span <= last; span *= 2) {
    for (std::int64_t distance = (span < size ? span : size) / 2; distance > 0; distance /= 2) {
      const BlockPhase step;
      for (int pair = thread_index(); pair < size / 2; pair += block_threads()) {
        order_pair(items, pair, distance, span, origin);
      }
    }
  }
}

// ---- few of a line --------------------------------------------------------------------------------------------------

// Lines of `length` items, in stretches of which the first k are wanted: line * stretches + its number is the line
// that `to` sees. A block holds `size` items, more than k where a stretch has more than these.
struct Stretches {
  std::int64_t lines, length, k, stretch, stretches;
  int size;
};

template <class Item, class From, class To>
KGEN_GLOBAL(sort_threads, 4)
select_kernel(From from, To to, Stretches work) {
  take_turn();
  SharedMemory shared;
  Item* items = shared.take<Item>(work.size);
  for (std::int64_t number = block_index(); number < work.lines * work.stretches; number += block_count()) {
    const std::int64_t line = number / work.stretches, begin = number % work.stretches * work.stretch;
    const std::int64_t end = begin + work.stretch < work.length ? begin + work.stretch : work.length;
    std::int64_t next = begin;
    for (int kept = 0; kept == 0 || next < end; kept = static_cast<int>(work.k)) {
      {
        const BlockPhase reading;
        for (int i = kept + thread_index(); i < work.size; i += block_threads()) {
          const std::int64_t place = next + i - kept;
          items[i] = place < end ? from.item(line, place) : Item::last();
        }
      }
      next += work.size - kept;
      sort_shared(items, work.size, 0, 2, work.size);
    }
    // Each thread gives the items that it overwrites when it reads the next line.
    for (std::int64_t i = thread_index(); i < work.k; i += block_threads()) to.give(number, i, items[i]);
  }
}

template <class Item, class From, class To>
void launch_select(const From& from, const To& to, const Stretches& work, Stream stream) {
  const Grid grid{"select", blocks_for(work.lines * work.stretches, sort_threads),
                  std::clamp(work.size / 2, 64, sort_threads), shared_bytes<Item>(work.size)};
  launch_early(grid, stream, select_kernel<Item, From, To>, from, to, work);
}

// Stretches for `enough` blocks where lines are few, each much longer than what is kept of it.
inline Stretches stretches_of(std::int64_t lines, std::int64_t length, std::int64_t k) {
  constexpr std::int64_t enough = 512, least = 4 * sort_tile;
  const std::int64_t most = (length + least - 1) / least;
  const std::int64_t wanted = std::clamp<std::int64_t>((enough + lines - 1) / lines, 1, most);
  const std::int64_t stretch = (length + wanted - 1) / wanted;
  const auto held =
      static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(stretch, sort_tile))));
  return {lines, length, k, stretch, (length + stretch - 1) / stretch, held};
}

// The first k of lines of `length` items: at most half a tile, or a line that is one tile.
template <class Item, class From, class To>
void select_few(const From& from, const To& to, std::int64_t lines, std::int64_t length, std::int64_t k,
                Stream stream) {
  const Stretches work = stretches_of(lines, length, k);
  if (work.stretches == 1) return launch_select<Item>(from, to, work, stream);
  // The last stretch may have fewer than k: the places of those that are missing hold the last item.
  const Workspace memory(lines * work.stretches * k * static_cast<std::int64_t>(sizeof(Item)), stream);
  const auto candidates = reinterpret_cast<Item*>(memory.data());
  launch_select<Item>(from, StoredItems<Item>{candidates, k}, work, stream);
  const std::int64_t left = work.stretches * k;
  const auto held =
      static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(left, sort_tile))));
  launch_select<Item>(StoredItems<Item>{candidates, left}, to, Stretches{lines, left, k, left, 1, held}, stream);
}

// ---- many of a line -------------------------------------------------------------------------------------------------

// The steps within tiles of lines of `padded` items, for runs of `first` to `last`; beyond `length` `from` has none.
template <class Item, class From>
KGEN_GLOBAL(sort_threads, 4)
sort_tiles_kernel(From from, StoredItems<Item> to, std::int64_t lines, std::int64_t length, std::int64_t first,
                  std::int64_t last) {
  take_turn();
  SharedMemory shared;
  Item* items = shared.take<Item>(sort_tile);
  const std::int64_t tiles = to.length / sort_tile;
  for (std::int64_t number = block_index(); number < lines * tiles; number += block_count()) {
    const std::int64_t line = number / tiles, origin = number % tiles * sort_tile;
    {
      const BlockPhase reading;
      for (int i = thread_index(); i < sort_tile; i += block_threads()) {
        items[i] = origin + i < length ? from.item(line, origin + i) : Item::last();
      }
    }
    sort_shared(items, sort_tile, origin, first, last);
    for (int i = thread_index(); i < sort_tile; i += block_threads()) to.give(line, origin + i, items[i]);
  }
}

// One step between tiles.
template <class Item>
KGEN_GLOBAL(sort_threads, 4)
sort_across_kernel(StoredItems<Item> stored, std::int64_t lines, std::int64_t distance, std::int64_t span) {
  take_turn();
  const std::int64_t pairs = stored.length / 2;
  for (std::int64_t i = block_index() * sort_threads + thread_index(); i < lines * pairs;
       i += block_count() * sort_threads) {
    order_pair(stored.items + i / pairs * stored.length, i % pairs, distance, span, 0);
  }
}

template <class Item, class To>
KGEN_GLOBAL(sort_threads, 4)
give_sorted_kernel(StoredItems<Item> stored, To to, std::int64_t lines, std::int64_t k) {
  take_turn();
  for (std::int64_t i = block_index() * sort_threads + thread_index(); i < lines * k;
       i += block_count() * sort_threads) {
    to.give(i / k, i % k, stored.item(i / k, i % k));
  }
}

template <class Item, class From, class To>
void sort_lines(const From& from, const To& to, std::int64_t lines, std::int64_t length, std::int64_t k,
                Stream stream) {
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length)));
  const Workspace memory(lines * padded * static_cast<std::int64_t>(sizeof(Item)), stream);
  const StoredItems<Item> stored{reinterpret_cast<Item*>(memory.data()), padded};
  const Grid tiles{"sort tiles", blocks_for(lines * padded / sort_tile, sort_threads), sort_threads,
                   shared_bytes<Item>(sort_tile)};
  const auto grid_of = [](const char* name, std::int64_t count) {
    return Grid{name, blocks_for((count + sort_threads - 1) / sort_threads, sort_threads), sort_threads};
  };
  const std::int64_t within = sort_tile;
  launch_early(tiles, stream, sort_tiles_kernel<Item, From>, from, stored, lines, length, std::int64_t{2}, within);
  for (std::int64_t span = 2 * within; span <= padded; span *= 2) {
    for (std::int64_t distance = span / 2; distance >= within; distance /= 2) {
      launch_early(grid_of("sort across tiles", lines * padded / 2), stream, sort_across_kernel<Item>, stored, lines,
                   distance, span);
    }
    launch_early(tiles, stream, sort_tiles_kernel<Item, StoredItems<Item>>, stored, stored, lines, padded, span, span);
  }
  launch_early(grid_of("give what is sorted", lines * k), stream, give_sorted_kernel<Item, To>, stored, to, lines, k);
}

template <class X, class Values, class Indices, int R>
void top_k(const ChosenResults<X, Values, Indices, R>& given, Stream stream) {
  using Item = sort_item_t<source_lane_t<X, R>>;
  const Selection<R>& selection = given.selection;
  const auto x = with_access(given.x, 1);
  const ChosenResults<X, Values, Indices, R> results{x, with_access(given.values, 1), with_access(given.indices, 1),
                                                     selection};
  const ElementItems<X, R> elements{x, selection};
  const bool few = selection.k <= sort_tile / 2 || selection.length <= sort_tile;
  const auto run = few ? select_few<Item, ElementItems<X, R>, ChosenResults<X, Values, Indices, R>>
                       : sort_lines<Item, ElementItems<X, R>, ChosenResults<X, Values, Indices, R>>;
  run(elements, results, selection.count, selection.length, selection.k, stream);
}

}  // namespace kgen::gpu

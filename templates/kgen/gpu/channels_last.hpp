// Images and filters copied to where the copy engine takes them: channels are neighbours, and those of a place begin at
// a multiple of 16 bytes.
#pragma once

#include <optional>

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/warpgroup.hpp"
#include "kgen/view.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// A block copies places x channels of an image. Neighbouring threads read neighbours, along whichever axis those are,
// and write pieces of 16 bytes.
template <class T>
struct ChannelsTile {
  static_assert(sizeof(T) == 2);
  static constexpr int edge = 64, threads = 256, lanes = 8;
  static constexpr int pitch = edge + 2;  // in shared memory: neighbours along both axes lie in different banks
  static constexpr int each = edge * edge / threads, pieces = edge / lanes;
};

// Of [images][places][channels], `channels` to a place: zeros behind those that there are.
template <class T>
KGEN_GLOBAL((has_warpgroups ? ChannelsTile<T>::threads : 1), 4)
channels_last_kernel(View<const T, 3> from, T* to, std::int64_t channels, Positions<3> tiles) {
  take_turn();
  using Tile = ChannelsTile<T>;
  SharedMemory shared;
  T* tile = shared.take<T>(Tile::edge * Tile::pitch);
  const Index<3> number = tiles(static_cast<std::uint32_t>(block_index()));
  const std::int64_t place = number[1] * Tile::edge, channel = number[2] * Tile::edge;
  const T* image = from.data() + number[0] * from.stride(0);
  const bool along = from.stride(1) == 1 && from.stride(2) != 1;  // places are neighbours
  {
    const BlockPhase reading;
    T elements[Tile::each];
    const auto at = [&](int i) KGEN_LAMBDA {
      const int inner = thread_index() % Tile::edge;
      const int outer = thread_index() / Tile::edge + i * (Tile::threads / Tile::edge);
      return along ? Index<2>{inner, outer} : Index<2>{outer, inner};
    };
    KGEN_UNROLL
    for (int i = 0; i < Tile::each; ++i) {
      const Index<2> own{place + at(i)[0], channel + at(i)[1]};
      const bool inside = own[0] < from.extent(1) && own[1] < from.extent(2);
      const std::int64_t offset = inside ? own[0] * from.stride(1) + own[1] * from.stride(2) : 0;
      elements[i] = load_run<1>(image + offset, 0, Access{false, true, true})[0];
      if (!inside) elements[i] = T();
    }
    KGEN_UNROLL
    for (int i = 0; i < Tile::each; ++i) tile[at(i)[0] * Tile::pitch + at(i)[1]] = elements[i];
  }
  for (int piece = thread_index(); piece < Tile::edge * Tile::pieces; piece += Tile::threads) {
    const int line = piece / Tile::pieces, first = piece % Tile::pieces * Tile::lanes;
    if (place + line >= from.extent(1) || channel + first >= channels) continue;
    Block<16> block;
    KGEN_UNROLL
    for (int word = 0; word < 4; ++word) {
      block.words[word] = load_block<4>(tile + line * Tile::pitch + first + 2 * word, Access{}).words[0];
    }
    store_global(to + ((number[0] * from.extent(1) + place + line) * channels + channel + first), block);
  }
}

// As many channels as begin at a multiple of 16 bytes again.
template <class T>
std::int64_t padded_channels(std::int64_t channels) {
  constexpr std::int64_t lanes = ChannelsTile<T>::lanes;
  return (channels + lanes - 1) / lanes * lanes;
}

// False where the device has no tensor cores that want it so, or there are more tiles than a grid has.
template <class T>
bool copy_channels_last(const View<const T, 3>& from, T* to, Stream stream) {
  using Tile = ChannelsTile<T>;
  const std::int64_t channels = padded_channels<T>(from.extent(2));
  const auto tiles = [](std::int64_t extent) { return (extent + Tile::edge - 1) / Tile::edge; };
  const Index<3> count{from.extent(0), tiles(from.extent(1)), tiles(channels)};
  const auto kernel = channels_last_kernel<T>;
  if (element_count(count) > most_blocks(Tile::threads)) return false;
  if (!runs_warpgroups(reinterpret_cast<const void*>(kernel), Tile::threads)) return false;
  const Grid grid{"channels_last", element_count(count), Tile::threads, shared_bytes<T>(Tile::edge * Tile::pitch)};
  launch_early(grid, stream, kernel, from, to, channels, Positions<3>(count));
  return true;
}

// Axes First to First + Count as one, where they lie as one.
template <int First, int Count, class T, int R>
std::optional<View<const T, R - Count + 1>> merged(const View<const T, R>& view) {
  std::int64_t extent = 1, step = 0;
  for (int axis = First + Count - 1; axis >= First; --axis) {
    if (view.extent(axis) == 1) continue;
    if (extent == 1) step = view.stride(axis);
    if (view.stride(axis) != step * extent) return std::nullopt;
    extent *= view.extent(axis);
  }
  return view.template merge<First, First + Count - 1>();
}

}  // namespace kgen::gpu

#endif

// Images and filters copied to where the copy engine takes them: channels are neighbours, and those of a place begin at
// a multiple of 16 bytes.
#pragma once

#include <optional>

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/patch_tiles.hpp"
#include "kgen/gpu/warpgroup.hpp"

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

// The bytes of a copy of images, or filters, with their channels last: 0 where they are no lines of places.
template <class T, int A>
std::int64_t copied_image_bytes(const PatchOperands<T, A>& operands) {
  const auto images = merged<1, A>(operands.x);
  return images ? shared_bytes<T>(images->extent(0) * images->extent(1) * padded_channels<T>(images->extent(2))) : 0;
}
template <class T, int A>
std::int64_t copied_filter_bytes(const PatchOperands<T, A>& operands) {
  const auto taps = merged<0, A>(operands.filters);
  return taps ? shared_bytes<T>(taps->extent(0) * taps->extent(2) * padded_channels<T>(taps->extent(1))) : 0;
}
// Copies them, behind which channels that are not there are zeros.
template <class T, int A>
bool copy_images(PatchOperands<T, A>& operands, unsigned char* memory, Stream stream) {
  T* to = reinterpret_cast<T*>(memory);
  Index<A + 2> extents = operands.x.shape();
  extents[A + 1] = padded_channels<T>(extents[A + 1]);
  if (!copy_channels_last<T>(*merged<1, A>(operands.x), to, stream)) return false;
  operands.x = View<const T, A + 2>(to, extents);
  return true;
}
template <class T, int A>
bool copy_filters(PatchOperands<T, A>& operands, unsigned char* memory, Stream stream) {
  T* to = reinterpret_cast<T*>(memory);
  const View<const T, 3> columns = merged<0, A>(operands.filters)->template permute<2, 0, 1>();
  if (!copy_channels_last<T>(columns, to, stream)) return false;
  Index<A + 2> extents = operands.filters.shape(), strides{};
  extents[A] = padded_channels<T>(extents[A]);
  const Index<A> taps = dense_strides(first_axes<A>(extents));
  for (int axis = 0; axis < A; ++axis) strides[axis] = taps[axis] * extents[A];
  strides[A] = 1;
  strides[A + 1] = columns.extent(1) * extents[A];
  operands.filters = View<const T, A + 2>(to, extents, strides);
  return true;
}

}  // namespace kgen::gpu

#endif

// What a kernel can ask of the tensor cores and the copy engine of Hopper (sm_90a), under the same names for CUDA and
// for the SIMT executor of the tests. Every term is PTX's (PTX ISA 8.0, sections on mbarrier, cp.async.bulk.tensor and
// wgmma). kgen/{cuda,simt}/warpgroup.hpp define:
//
//   has_warpgroups                       whether this is compiled for a device that has all of it
//   TensorMap                            BoxedMemory or PatchedMemory as the copy engine wants it described;
//                                        tensor_map() makes one. It is a parameter of the kernel, KGEN_GRID_CONSTANT,
//                                        and never copied
//   Mbarrier                             a word of shared memory: a phase of it ends when all arrivals and all bytes
//                                        that it was told to expect have come
//     init(arrivals)                     by one thread, and publish_mbarriers() behind the last; then a block's barrier
//     arrive()                           one arrival
//     arrive_at(rank)                    one arrival at the barrier that lies in the same place in that block of the
//                                        cluster
//     arrive_and_expect(bytes)           one arrival, and that many bytes more in this phase
//     expect(bytes)                      that many bytes more in this phase
//     wait(parity, where)                until the phase of that parity has ended
//   wave_index()                         this thread's wave in its block, as what the compiler knows to be the same for
//                                        all of the wave, which calls it together
//   is_elected()                         true for one thread of the wave, which calls it together. What the copy engine
//                                        is asked by that one goes without a loop over lanes that might differ
//   NamedBarriers<Count>(memory)         the block's own barriers, for two warpgroups each: they need no word of shared
//                                        memory to be looked at again and again
//     arrive(number)                     by all threads of the one
//     wait(number, where)                by all of the other, which waits for them
//   copy_tile(to, map, barrier, at...)   brings the map's box that begins at these indices, the innermost axis' first,
//                                        zeros outside of the memory: its bytes arrive at the barrier
//   copy_tile_to_all<Blocks>(to, map, barrier, x, y)   brings the map's box of two axes once, to the same place in each
//                                        of so many blocks of the cluster: its bytes arrive at the barrier of each
//   copy_patches(to, map, barrier, at, offsets)   brings a line of channels from each of the map's pixels (im2col), of
//                                        PatchedMemory: from the position `at` on, the innermost axis' index first, and
//                                        each moved by `offsets` along the axes between the channels and the images
//   wgmma<T, N, Transposed, TransposedLeft>(sums, a, b, adds)   sums += a * b, of 64 rows, N columns and 32 bytes of
//                                        depth, by the 128 threads of a warpgroup together: a and b are descriptors of
//                                        operands in shared memory; Transposed: b's columns are along its lines, else
//                                        its depth; TransposedLeft: so are a's rows, both of 16 bits alone. Without
//                                        `adds`, sums = a * b. T: bf16, f16; f8e4m3 and f8e5m2, whose sums keep 13 bits
//                                        of mantissa; float, of whose mantissa 10 bits are read (tf32); BytePair, with
//                                        sums of std::int32_t, which wrap.
//                                        Thread t has rows t / 32 * 16 + t % 32 / 4 + 0 and 8, of each 8 columns
//                                        those from t % 4 * 2 on: sums[column / 8 * 4 + (row is the second) * 2 +
//                                        column % 2]
//   wgmma<T, N, Transposed>(sums, a, b, adds)   the same, of a in registers: where sums have columns 2c, 2c + 1 of a
//                                        row, a[2 * (c / 4 % 2) + (row is the second)] has those of depth
//   send_where(holds, to, word, barrier, rank)   has 4 bytes written to the same place in that block of the cluster, if
//                                        that holds: they arrive at the barrier that lies in the same place there
//   ask_ahead(map, x, y)                 has the second-level cache bring that box of two axes; nothing waits for it
//   fence_async_proxy()                  what this thread wrote to shared memory, the tensor cores may read once it has
//                                        arrived somewhere
//   any_of_wave(holds, where)            whether it holds for any of them
//   descriptor(tile, leading, stride)    of an operand that lies swizzled by 128 bytes; distances in bytes
//   wgmma_fence()                        before the first product, and before one whose sums anything else has read or
//                                        written since
//   wgmma_commit(), wgmma_wait<Left>()   ends a group of products; waits for all groups but the `Left` latest. Before
//                                        that nothing may write to their operands, or touch their sums
//   settle(sums)                         behind the wait: holds what reads the sums behind it
//   hold_registers<Count, Share>()       setmaxnreg: this warpgroup goes on with so many registers a thread
//   clusters_at_once(grid, limits, stream, kernel)   how many clusters of a grid's blocks run at once, by their size:
//                                        those of 3 and more do not find room on all multiprocessors
#pragma once

#include <array>

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/matrix_cores.hpp"
#include "kgen/known_product.hpp"

#if defined(KGEN_CUDA) || (defined(KGEN_SIMT) && KGEN_SIMT_WAVE == 32)
#define KGEN_WARPGROUPS 1
#endif

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

inline constexpr int warpgroup_threads = 128;
// The bytes of a line of a box: its 8 pieces of 16 bytes change places by the line's number (the 128-byte swizzle), so
// that what the tensor cores read together lies in different banks. Tiles begin at multiples of 1024 bytes.
inline constexpr int swizzle_bytes = 128, tile_alignment = 1024;

// Integers of 8 bits as operands of a product: which ones, the left and the right one are.
template <class Left, class Right>
struct BytePair {
  using left_type = Left;
  using right_type = Right;
  std::uint8_t byte;
};
template <class T>
inline constexpr bool is_byte_pair = false;
template <class Left, class Right>
inline constexpr bool is_byte_pair<BytePair<Left, Right>> = true;
template <class T>
struct ExchangedPair {
  using type = T;
};
template <class Left, class Right>
struct ExchangedPair<BytePair<Left, Right>> {
  using type = BytePair<Right, Left>;
};
// Of a product of which the right operand stands left.
template <class T>
using exchanged_t = typename ExchangedPair<T>::type;
template <class T>
using wgmma_sum_t = std::conditional_t<is_byte_pair<T>, std::int32_t, float>;

// Of which the tensor cores take operands alone whose lines are along their depth; and of whose sums they keep so
// little that a stage's are added up elsewhere.
template <class T>
inline constexpr bool deep_only = sizeof(T) != 2;
template <class T>
inline constexpr bool sums_are_short = sizeof(T) == 1 && !is_byte_pair<T>;

// launch<Deep>(): with the lines of right operands along the depth or across it, as `deep` says, or as is Known of all.
template <class T, class Known, class Launch>
auto with_depth([[maybe_unused]] bool deep, const Launch& launch) {
  if constexpr (deep_only<T> || Known::layout == column_major) {
    return launch.template operator()<true>();
  } else if constexpr (Known::layout == row_major) {
    return launch.template operator()<false>();
  } else {
    return deep ? launch.template operator()<true>() : launch.template operator()<false>();
  }
}

// What the executor needs for so many barriers.
template <int Count>
inline constexpr std::int64_t named_barriers_shared = shared_bytes<std::uint32_t>(Count);

enum class RegisterShare { less, more };  // than the launch gave

// By the blocks of a cluster.
using ClustersAtOnce = std::array<int, most_cluster_blocks + 1>;

// Memory as a source of boxes, from the innermost axis on, whose elements are neighbours: extents in elements,
// distances of neighbours along the other axes in bytes, and a box of at most 256 along an axis, and 128 bytes of the
// innermost.
template <int Rank>
struct BoxedMemory {
  const void* data;
  std::int64_t extents[Rank], pitches[Rank];
  int box[Rank];
};

// Memory as a source of patches (im2col): images of Rank - 2 axes with channels innermost; extents and distances as
// above. `pixels` of them are brought, each a line of `channels`: along the innermost axis of the image in `steps`, up
// to the box's upper corner, from its lower corner on along the next axis' next step, and so on to the next image.
// Corners are distances from the image's first position and from its last; what lies outside of it is 0. There is no
// tensor_map() of more than most_steps, or of corners and offsets beyond their few bits.
template <int Rank>
struct PatchedMemory {
  static constexpr int axes = Rank - 2, most_steps = 8, most_offset = Rank == 4 ? 255 : 31;
  static constexpr int least_corner = Rank == 4 ? -128 : -16, most_corner = Rank == 4 ? 127 : 15;
  const void* data;
  std::int64_t extents[Rank], pitches[Rank];
  std::int64_t lower[axes], upper[axes], steps[axes];
  int channels, pixels;

  bool fits() const {
    bool all = true;
    for (int axis = 0; axis < axes; ++axis) {
      all = all && lower[axis] >= least_corner && lower[axis] <= most_corner && upper[axis] >= least_corner &&
            upper[axis] <= most_corner && steps[axis] <= most_steps;
    }
    return all;
  }
};

}  // namespace kgen::gpu

#if defined(KGEN_SIMT)
#include "kgen/simt/warpgroup.hpp"
#else
#include "kgen/cuda/warpgroup.hpp"
#endif

#else

namespace kgen::gpu {
inline constexpr bool has_warpgroups = false;
}  // namespace kgen::gpu

#endif

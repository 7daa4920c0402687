// kgen/gpu/warpgroup.hpp on the SIMT executor. It is as late as the hardware may be: the copy engine brings a tile when
// no thread can go on without it, and until then there is NaN; products read their operands when they are waited for.
// Addresses in descriptors are decoded as the tensor cores do, whatever the C++ object was.
#pragma once

#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "kgen/index.hpp"
#include "kgen/simt/executor.hpp"

namespace kgen::gpu {

inline constexpr bool has_warpgroups = true;

struct TensorMap {
  static constexpr int most_axes = 5;
  BoxedMemory<most_axes> memory;  // of extent 1 along axes that there are not
  int axes, element_bytes;
  bool rounds;  // floats, to the 10 bits of mantissa that tf32 has
  // Of patches (im2col), by the axes of an image; `pixels` is 0 where the map is of boxes.
  std::int64_t lower[most_axes - 2], upper[most_axes - 2], steps[most_axes - 2];
  int pixels;
};

namespace detail {
// What the driver refuses of either is an error.
template <class T, int Rank>
TensorMap map_of(const void* data, const std::int64_t (&extents)[Rank], const std::int64_t (&pitches)[Rank]) {
  const auto size = static_cast<std::int64_t>(sizeof(T));
  TensorMap map{{data, {1, 1, 1, 1, 1}, {}, {1, 1, 1, 1, 1}},
                Rank,
                static_cast<int>(size),
                std::is_same_v<T, float>,
                {},
                {},
                {},
                0};
  bool taken = reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  for (int axis = 0; axis < Rank; ++axis) {
    map.memory.extents[axis] = extents[axis];
    map.memory.pitches[axis] = axis == 0 ? size : pitches[axis];
    taken = taken && extents[axis] > 0 && (axis == 0 || (pitches[axis] > 0 && pitches[axis] % 16 == 0));
  }
  if (!taken) throw simt::Error("the copy engine does not take this memory");
  return map;
}
}  // namespace detail

template <class T, int Rank>
std::optional<TensorMap> tensor_map(const BoxedMemory<Rank>& memory) {
  TensorMap map = detail::map_of<T>(memory.data, memory.extents, memory.pitches);
  bool taken = memory.box[0] * static_cast<int>(sizeof(T)) == swizzle_bytes;
  for (int axis = 0; axis < Rank; ++axis) {
    map.memory.box[axis] = memory.box[axis];
    taken = taken && memory.box[axis] > 0 && memory.box[axis] <= 256;
  }
  if (!taken) throw simt::Error("the copy engine does not take boxes of these extents");
  return map;
}

template <class T, int Rank>
std::optional<TensorMap> tensor_map(const PatchedMemory<Rank>& memory) {
  if (!memory.fits()) return std::nullopt;
  TensorMap map = detail::map_of<T>(memory.data, memory.extents, memory.pitches);
  map.pixels = memory.pixels;
  bool taken =
      memory.channels * static_cast<int>(sizeof(T)) == swizzle_bytes && memory.pixels > 0 && memory.pixels <= 1024;
  for (int axis = 0; axis < Rank - 2; ++axis) {
    map.lower[axis] = memory.lower[axis];
    map.upper[axis] = memory.upper[axis];
    map.steps[axis] = memory.steps[axis];
    const std::int64_t last = memory.extents[axis + 1] - 1 + memory.upper[axis];
    taken = taken && memory.steps[axis] > 0 && memory.lower[axis] <= last;
  }
  if (!taken) throw simt::Error("the copy engine does not take patches of these extents");
  return map;
}
inline bool runs_warpgroups(const void*, int) { return true; }
inline ClustersAtOnce clusters_at_once(const Grid& grid, const DeviceLimits& limits, Stream, const void*) {
  if (grid.shared_bytes > 227 * 1024) throw simt::Error("no device has room for such a block");
  ClustersAtOnce counts{};
  for (int blocks = 1; blocks <= limits.cluster_blocks; ++blocks) counts[blocks] = limits.multiprocessors / blocks;
  return counts;
}

class Mbarrier {
 public:
  void init(int arrivals) {
    phase_ = 0;
    expected_ = pending_ = static_cast<std::uint8_t>(arrivals);
    bytes_ = 0;
    simt::make_mbarrier(this);
  }
  void arrive(Where where = Where::here()) {
    if (simt::is_omitted({where.line, where.file})) return;
    require_made();
    if (pending_ == 0) simt::fail("one arrival at an mbarrier more than it was made for");
    --pending_;
    end_phase();
  }
  void arrive_at(int rank, Where where = Where::here()) {
    auto* there = static_cast<Mbarrier*>(simt::reach_shared(this, rank));
    there->require_published();
    there->arrive(where);
  }
  void arrive_and_expect(int bytes, Where where = Where::here()) {
    expect(bytes, where);
    arrive(where);
  }
  void expect(int bytes, Where where = Where::here()) {
    if (simt::is_omitted({where.line, where.file})) return;
    require_made();
    bytes_ += bytes;
  }
  // What is under way without a thread, and other blocks, find it.
  void require_published() const {
    require_made();
    simt::reach_mbarrier(this);
  }
  void complete(int bytes) {
    bytes_ -= bytes;
    end_phase();
  }
  void wait(unsigned parity, Where where = Where::here()) {
    require_made();
    simt::wait_until({where.line, where.file}, [this, parity] { return phase_ != parity; });
  }

 private:
  void end_phase() {
    if (pending_ != 0 || bytes_ != 0) return;
    phase_ ^= 1;
    pending_ = expected_;
  }
  void require_made() const {
    if (phase_ > 1) simt::fail("an mbarrier that was not made");  // shared memory begins as 0xff
  }

  std::int32_t bytes_;
  std::uint16_t phase_;
  std::uint8_t expected_, pending_;
};
static_assert(sizeof(Mbarrier) == 8);
inline int wave_index() { return thread_index() / wave_size; }
inline bool is_elected() { return thread_index() % wave_size == 0; }
inline void publish_mbarriers(Where where = Where::here()) { simt::publish_mbarriers({where.line, where.file}); }

// Counts all that ever came to each: shared memory begins as 0xff, one before 0.
template <int Count>
class NamedBarriers {
 public:
  static constexpr std::int64_t shared() { return named_barriers_shared<Count>; }
  explicit NamedBarriers(SharedMemory& memory) : came_(memory.take<std::uint32_t>(Count)) {}
  void arrive(int number, Where where = Where::here()) {
    if (!simt::is_omitted({where.line, where.file})) ++came_[number];
  }
  void wait(int number, Where where = Where::here()) {
    const std::uint32_t* came = came_ + number;
    const std::uint32_t phase = ++came_[number] / (2 * warpgroup_threads);
    simt::wait_until({where.line, where.file}, [came, phase] { return (*came + 1) / (2 * warpgroup_threads) > phase; });
  }

 private:
  std::uint32_t* came_;
};

namespace detail {
// Where the byte `offset` of shared memory lies, swizzled by 128 bytes.
inline std::int64_t swizzled(std::int64_t offset) { return offset ^ ((offset >> 7 & 7) << 4); }

// The float at `element` as the nearest tf32, halves to even; infinity and NaN as they are.
inline void round_to_tf32(unsigned char* element) {
  std::uint32_t bits;
  std::memcpy(&bits, element, sizeof bits);
  if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;
  std::memcpy(element, &bits, sizeof bits);
}

// Brings `lines` lines of 128 bytes, late, to where no thread may read before: line number i from the indices that
// place(i) gives, along the innermost axis; zeros outside of the memory. To block `rank` of the cluster, where it is
// the same place; -1: to this one.
template <class Place>
void copy_lines(void* to, const TensorMap& map, Mbarrier& own, int lines, const Place& place, int rank = -1) {
  const std::int64_t begin = static_cast<unsigned char*>(to) - simt::shared_memory();
  if (rank >= 0) to = simt::reach_shared(to, rank);
  unsigned char* shared = static_cast<unsigned char*>(to) - begin;
  Mbarrier& barrier = rank < 0 ? own : *static_cast<Mbarrier*>(simt::reach_shared(&own, rank));
  const int bytes = lines * swizzle_bytes;
  if (begin < 0 || begin % swizzle_bytes != 0) simt::fail("a tile in shared memory that does not begin at a line");
  simt::access(map.memory.data, 16);
  if (place(0)[0] * map.element_bytes % 16 != 0) {  // as it looks an illegal instruction on an H200
    simt::fail("a tile that begins at no multiple of 16 bytes along the innermost axis");
  }
  barrier.require_published();
  simt::begin_write_async(to, static_cast<std::size_t>(bytes));
  const auto bring = [=, &barrier] {
    const BoxedMemory<TensorMap::most_axes>& memory = map.memory;
    const auto size = static_cast<std::size_t>(map.element_bytes);
    for (int line = 0; line < lines; ++line) {
      Index<TensorMap::most_axes> at = place(line);
      for (int byte = 0; byte < swizzle_bytes; byte += map.element_bytes, ++at[0]) {
        std::int64_t from = 0;
        bool inside = true;
        for (int axis = 0; axis < TensorMap::most_axes; ++axis) {
          inside = inside && at[axis] >= 0 && at[axis] < memory.extents[axis];
          from += at[axis] * memory.pitches[axis];
        }
        unsigned char* element = shared + swizzled(begin + line * swizzle_bytes + byte);
        if (inside) {
          std::memcpy(element, static_cast<const unsigned char*>(memory.data) + from, size);
          if (map.rounds) round_to_tf32(element);
        } else {
          std::memset(element, 0, size);
        }
      }
    }
    simt::end_write_async(to, static_cast<std::size_t>(bytes));
    barrier.complete(bytes);
  };
  simt::do_late(bring, rank);
}
}  // namespace detail

namespace detail {
// A box that begins at `at`; to the block of that rank.
template <class... At>
void copy_box(int rank, void* to, const TensorMap& map, Mbarrier& barrier, At... at) {
  if (map.axes != sizeof...(At) || map.pixels != 0) simt::fail("a tile of memory of other axes");
  const auto& box = map.memory.box;
  const auto line_place = [=](std::int64_t line) {
    Index<TensorMap::most_axes> place{at...};
    for (int axis = 1; axis < TensorMap::most_axes; ++axis) {
      place[axis] += line % box[axis];
      line /= box[axis];
    }
    return place;
  };
  copy_lines(to, map, barrier, box[1] * box[2] * box[3] * box[4], line_place, rank);
}
}  // namespace detail

template <class... At>
void copy_tile(void* to, const TensorMap& map, Mbarrier& barrier, At... at) {
  detail::copy_box(-1, to, map, barrier, at...);
}
template <int Blocks>
void copy_tile_to_all(void* to, const TensorMap& map, Mbarrier& barrier, int x, int y) {
  for (int rank = 0; rank < Blocks; ++rank) detail::copy_box(rank, to, map, barrier, x, y);
}

template <int Rank>
void copy_patches(void* to, const TensorMap& map, Mbarrier& barrier, const int (&at)[Rank],
                  const int (&offsets)[Rank - 2]) {
  if (map.axes != Rank || map.pixels == 0) simt::fail("patches of memory of other axes");
  const auto last = [map](int axis) { return map.memory.extents[axis + 1] - 1 + map.upper[axis]; };
  Index<TensorMap::most_axes> first{}, moved{};
  for (int axis = 0; axis < Rank; ++axis) first[axis] = at[axis];
  for (int axis = 0; axis < Rank - 2; ++axis) {
    if (at[axis + 1] < map.lower[axis] || at[axis + 1] > last(axis))
      simt::fail("patches that begin outside of their box");
    if (offsets[axis] < 0 || offsets[axis] > PatchedMemory<Rank>::most_offset) simt::fail("an offset of too many bits");
    moved[axis + 1] = offsets[axis];
  }
  detail::copy_lines(to, map, barrier, map.pixels, [=](int line) {
    Index<TensorMap::most_axes> pixel = first;
    for (int i = 0; i < line; ++i) {
      int axis = 0;
      for (; axis < Rank - 2; ++axis) {
        pixel[axis + 1] += map.steps[axis];
        if (pixel[axis + 1] <= last(axis)) break;
        pixel[axis + 1] = map.lower[axis];
      }
      if (axis == Rank - 2) ++pixel[Rank - 1];
    }
    for (int axis = 1; axis < Rank - 1; ++axis) pixel[axis] += moved[axis];
    return pixel;
  });
}

template <class Word>
void send_where(bool holds, Word* to, Word word, Mbarrier& barrier, int rank) {
  if (!holds) return;
  simt::require_begun();
  auto* there = static_cast<Word*>(simt::reach_shared(to, rank));
  auto* arrival = static_cast<Mbarrier*>(simt::reach_shared(&barrier, rank));
  arrival->require_published();
  std::memset(there, 0xff, sizeof(word));
  const auto bring = [=] {
    std::memcpy(there, &word, sizeof(word));
    arrival->complete(static_cast<int>(sizeof(word)));
  };
  simt::do_late(bring, rank);
}

inline std::uint64_t descriptor(const void* tile, int leading, int stride) {
  const auto offset = static_cast<std::uint64_t>(static_cast<const unsigned char*>(tile) - simt::shared_memory());
  return (offset & 0x3ffff) >> 4 | static_cast<std::uint64_t>(leading) >> 4 << 16 |
         static_cast<std::uint64_t>(stride) >> 4 << 32 | std::uint64_t{1} << 62;
}

namespace detail {
// The number without the bits of its mantissa behind the first.
template <int Bits>
float with_mantissa(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & ~((1u << (23 - Bits)) - 1));
}

// Where in shared memory element (line, k) of the operand is that a descriptor describes. Transposed: its lines in
// memory are along k.
template <class T, bool Transposed>
std::int64_t operand_offset(std::uint64_t descriptor, int line, int k) {
  const auto field = [&](int shift) { return static_cast<std::int64_t>(descriptor >> shift & 0x3fff) << 4; };
  constexpr int size = sizeof(T), lanes = swizzle_bytes / size;
  const std::int64_t offset =
      Transposed ? line / lanes * field(16) + k / 8 * field(32) + k % 8 * swizzle_bytes + line % lanes * size
                 : line / 8 * field(32) + line % 8 * swizzle_bytes + k * size;
  return swizzled(field(0) + offset);
}
// The async proxy reads so many lines of an operand, in pieces of 16 bytes: those of each thread of the warpgroup.
template <class T, bool Transposed>
void read_operand(const unsigned char* shared, std::uint64_t descriptor, int lines) {
  constexpr int lanes = 16 / sizeof(T), pieces = Transposed ? 32 / sizeof(T) : 2;
  for (int i = thread_index() % warpgroup_threads; i < 2 * lines; i += warpgroup_threads) {
    const int number = i / pieces, other = i % pieces;
    const std::int64_t at = Transposed ? operand_offset<T, true>(descriptor, number * lanes, other)
                                       : operand_offset<T, false>(descriptor, number, other * lanes);
    simt::read_async(shared + at, 16);
  }
}

template <class T, bool Transposed>
float operand_element(const unsigned char* shared, std::uint64_t descriptor, int line, int k) {
  T element;
  std::memcpy(&element, shared + operand_offset<T, Transposed>(descriptor, line, k), sizeof(T));
  const auto value = static_cast<float>(element);
  return std::is_same_v<T, float> ? with_mantissa<10>(value) : value;
}
}  // namespace detail

namespace detail {
// sums += left(second, k) * b, where `second` says which of the thread's two rows.
template <class T, int N, bool Transposed, class Left>
void multiply(float (&sums)[N / 2], const Left& left, const unsigned char* shared, std::uint64_t b, bool adds) {
  constexpr int depth = 32 / sizeof(T);
  read_operand<T, Transposed>(shared, b, N);
  const int column = simt::thread_index() % 4 * 2;
  for (int i = 0; i < N / 2; ++i) {
    float sum = adds ? sums[i] : 0.0f;
    for (int k = 0; k < depth; ++k) {
      sum += left[i / 2 % 2][k] * operand_element<T, Transposed>(shared, b, i / 4 * 8 + column + i % 2, k);
    }
    sums[i] = sizeof(T) == 1 ? with_mantissa<13>(sum) : sum;
  }
}
}  // namespace detail

template <class T, int N, bool Transposed, bool TransposedLeft = false>
void wgmma(float (&sums)[N / 2], std::uint64_t a, std::uint64_t b, int adds) {
  const int thread = simt::thread_index() % warpgroup_threads;
  const unsigned char* shared = simt::shared_memory();
  simt::use_registers(&sums, false);
  const auto product = [=, &sums] {
    constexpr int depth = 32 / sizeof(T);
    detail::read_operand<T, TransposedLeft>(shared, a, 64);
    const int row = thread / 32 * 16 + thread % 32 / 4;
    float left[2][depth];
    for (int k = 0; k < depth; ++k) {
      left[0][k] = detail::operand_element<T, TransposedLeft>(shared, a, row, k);
      left[1][k] = detail::operand_element<T, TransposedLeft>(shared, a, row + 8, k);
    }
    detail::multiply<T, N, Transposed>(sums, left, shared, b, adds != 0);
  };
  simt::begin_product(product, &sums);
}
template <class T, int N, bool Transposed, bool TransposedLeft = false>
void wgmma(std::int32_t (&sums)[N / 2], std::uint64_t a, std::uint64_t b, int adds) {
  static_assert(!Transposed && !TransposedLeft);
  const int thread = simt::thread_index() % warpgroup_threads;
  const unsigned char* shared = simt::shared_memory();
  simt::use_registers(&sums, false);
  const auto product = [=, &sums] {
    detail::read_operand<T, false>(shared, a, 64);
    detail::read_operand<T, false>(shared, b, N);
    const int row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
    for (int i = 0; i < N / 2; ++i) {
      auto sum = static_cast<std::uint32_t>(adds != 0 ? sums[i] : 0);
      for (int k = 0; k < 32; ++k) {
        const float left = detail::operand_element<typename T::left_type, false>(shared, a, row + i / 2 % 2 * 8, k);
        const float right =
            detail::operand_element<typename T::right_type, false>(shared, b, i / 4 * 8 + column + i % 2, k);
        sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(left * right));
      }
      sums[i] = static_cast<std::int32_t>(sum);
    }
  };
  simt::begin_product(product, &sums);
}
// A quad's lanes have the left operand of a row: they meet when the product is waited for, and it is read then.
template <class T, int N, bool Transposed>
void wgmma(float (&sums)[N / 2], const std::uint32_t (&a)[4], std::uint64_t b, int adds) {
  const unsigned char* shared = simt::shared_memory();
  simt::use_registers(&sums, true);
  const auto product = [=, &sums, &a] {
    constexpr int depth = 32 / sizeof(T);
    float left[2][depth];
    for (int second = 0; second < 2; ++second) {
      for (int k = 0; k < depth; k += 2) {
        const int lane = simt::thread_index() % 32 / 4 * 4 + k / 2 % 4;
        const std::uint32_t word = simt::exchange({{__LINE__, __FILE__}, 0, 32, "wgmma"}, a[k / 8 * 2 + second], lane);
        T pair[2];
        std::memcpy(pair, &word, sizeof(word));
        left[second][k] = static_cast<float>(pair[0]);
        left[second][k + 1] = static_cast<float>(pair[1]);
      }
    }
    detail::multiply<T, N, Transposed>(sums, left, shared, b, adds != 0);
  };
  simt::begin_product(product, &sums);
}
inline void ask_ahead(const TensorMap& map, int x, int y) {
  if (map.axes != 2 || map.pixels != 0) simt::fail("a box of memory of other axes");
  const auto* data = static_cast<const unsigned char*>(map.memory.data);
  const std::int64_t columns = std::min<std::int64_t>(map.memory.box[0], map.memory.extents[0] - x);
  const std::int64_t end = std::min<std::int64_t>(y + map.memory.box[1], map.memory.extents[1]);
  for (std::int64_t row = y; row < end && columns > 0; ++row) {
    const unsigned char* from = data + row * map.memory.pitches[1] + x * map.element_bytes;
    simt::access(from, 1);
    if (simt::device().asks) simt::device().asks(from, static_cast<std::size_t>(columns * map.element_bytes));
  }
}
inline void fence_async_proxy(Where where = Where::here()) { simt::fence_async_proxy({where.line, where.file}); }
inline bool any_of_wave(bool holds, Where where = Where::here()) {
  std::uint32_t word = holds ? 1 : 0;
  for (int distance = 1; distance < 32; distance *= 2) {
    word |=
        simt::exchange({{where.line, where.file}, 0, 32, "any_of_wave"}, word, simt::thread_index() % 32 ^ distance);
  }
  return word != 0;
}
inline void wgmma_fence(Where where = Where::here()) { simt::fence_registers({where.line, where.file}); }
inline void wgmma_commit() { simt::end_products(); }
template <int Left>
void wgmma_wait(Where where = Where::here()) {
  simt::wait_products({where.line, where.file}, Left);
  simt::exchange({{where.line, where.file}, 0, 32, "wgmma_wait"}, 0, simt::thread_index() % 32);
}
template <class Sum, int Count>
void settle(Sum (&)[Count]) {}
template <int Count, RegisterShare Share>
void hold_registers() {}

}  // namespace kgen::gpu

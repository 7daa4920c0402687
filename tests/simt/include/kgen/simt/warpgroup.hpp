// kgen/gpu/warpgroup.hpp on the SIMT executor. It is as late as the hardware may be: the copy engine brings a tile when
// no thread can go on without it, and until then there is NaN; products read their operands when they are waited for.
// Addresses in descriptors are decoded as the tensor cores do, whatever the C++ object was.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "kgen/simt/executor.hpp"

namespace kgen::gpu {

inline constexpr bool has_warpgroups = true;

struct TensorMap {
  static constexpr int most_axes = 4;
  BoxedMemory<most_axes> memory;  // of extent 1 along axes that there are not
  int axes, element_bytes;
};

// What the driver refuses is an error.
template <class T, int Rank>
std::optional<TensorMap> tensor_map(const BoxedMemory<Rank>& memory) {
  const auto size = static_cast<std::int64_t>(sizeof(T));
  TensorMap map{{memory.data, {1, 1, 1, 1}, {}, {1, 1, 1, 1}}, Rank, static_cast<int>(size)};
  bool taken =
      memory.box[0] * size == swizzle_bytes && reinterpret_cast<std::uintptr_t>(memory.data) % 16 == 0;
  for (int axis = 0; axis < Rank; ++axis) {
    map.memory.extents[axis] = memory.extents[axis];
    map.memory.pitches[axis] = axis == 0 ? size : memory.pitches[axis];
    map.memory.box[axis] = memory.box[axis];
    taken = taken && memory.extents[axis] > 0 && memory.box[axis] > 0 && memory.box[axis] <= 256 &&
            (axis == 0 || (memory.pitches[axis] > 0 && memory.pitches[axis] % 16 == 0));
  }
  if (!taken) throw simt::Error("the copy engine does not take this memory");
  return map;
}
inline bool runs_warpgroups(const void*, int) { return true; }

class Mbarrier {
 public:
  void init(int arrivals) {
    phase_ = 0;
    expected_ = pending_ = static_cast<std::uint8_t>(arrivals);
    bytes_ = 0;
  }
  void arrive() {
    require_made();
    if (pending_ == 0) simt::fail("one arrival at an mbarrier more than it was made for");
    --pending_;
    end_phase();
  }
  void arrive_and_expect(int bytes) {
    require_made();
    bytes_ += bytes;
    arrive();
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
inline void publish_mbarriers() {}

namespace detail {
// Where the byte `offset` of shared memory lies, swizzled by 128 bytes.
inline std::int64_t swizzled(std::int64_t offset) { return offset ^ ((offset >> 7 & 7) << 4); }
}  // namespace detail

template <class... At>
void copy_tile(void* to, const TensorMap& map, Mbarrier& barrier, At... at) {
  unsigned char* shared = simt::shared_memory();
  const std::int64_t begin = static_cast<unsigned char*>(to) - shared;
  const int bytes = map.memory.box[1] * map.memory.box[2] * map.memory.box[3] * swizzle_bytes;
  if (begin < 0 || begin % swizzle_bytes != 0) simt::fail("a tile in shared memory that does not begin at a line");
  if (map.axes != sizeof...(At)) simt::fail("a tile of memory of other axes");
  simt::access(map.memory.data, 16);
  std::memset(to, 0xff, static_cast<std::size_t>(bytes));
  simt::do_late([=, &barrier] {
    const BoxedMemory<TensorMap::most_axes>& memory = map.memory;
    const std::int64_t first[TensorMap::most_axes] = {at...};
    const std::int64_t elements = bytes / map.element_bytes;
    for (std::int64_t number = 0; number < elements; ++number) {
      std::int64_t from = 0, rest = number;
      bool inside = true;
      for (int axis = 0; axis < TensorMap::most_axes; ++axis) {
        const std::int64_t i = first[axis] + rest % memory.box[axis];
        rest /= memory.box[axis];
        inside = inside && i >= 0 && i < memory.extents[axis];
        from += i * memory.pitches[axis];
      }
      unsigned char* place = shared + detail::swizzled(begin + number * map.element_bytes);
      const auto size = static_cast<std::size_t>(map.element_bytes);
      if (inside) {
        std::memcpy(place, static_cast<const unsigned char*>(memory.data) + from, size);
      } else {
        std::memset(place, 0, size);
      }
    }
    barrier.complete(bytes);
  });
}

inline std::uint64_t descriptor(const void* tile, int leading, int stride) {
  const auto offset = static_cast<std::uint64_t>(static_cast<const unsigned char*>(tile) - simt::shared_memory());
  return (offset & 0x3ffff) >> 4 | static_cast<std::uint64_t>(leading) >> 4 << 16 |
         static_cast<std::uint64_t>(stride) >> 4 << 32 | std::uint64_t{1} << 62;
}

namespace detail {
// Element (line, k) of the operand that a descriptor describes. Transposed: its lines in memory are along k.
template <class T, bool Transposed>
float operand_element(const unsigned char* shared, std::uint64_t descriptor, int line, int k) {
  const auto field = [&](int shift) { return static_cast<std::int64_t>(descriptor >> shift & 0x3fff) << 4; };
  constexpr int size = sizeof(T), lanes = swizzle_bytes / size;
  const std::int64_t offset =
      Transposed ? line / lanes * field(16) + k / 8 * field(32) + k % 8 * swizzle_bytes + line % lanes * size
                 : line / 8 * field(32) + line % 8 * swizzle_bytes + k * size;
  T element;
  std::memcpy(&element, shared + swizzled(field(0) + offset), sizeof(T));
  return static_cast<float>(element);
}
}  // namespace detail

namespace detail {
// sums += left(second, k) * b, where `second` says which of the thread's two rows.
template <class T, int N, bool Transposed, class Left>
void multiply(float (&sums)[N / 2], const Left& left, const unsigned char* shared, std::uint64_t b, bool adds) {
  constexpr int depth = 32 / sizeof(T);
  const int column = simt::thread_index() % 4 * 2;
  for (int i = 0; i < N / 2; ++i) {
    float sum = adds ? sums[i] : 0.0f;
    for (int k = 0; k < depth; ++k) {
      sum += left[i / 2 % 2][k] * operand_element<T, Transposed>(shared, b, i / 4 * 8 + column + i % 2, k);
    }
    sums[i] = sum;
  }
}
}  // namespace detail

template <class T, int N, bool Transposed, bool TransposedLeft = false>
void wgmma(float (&sums)[N / 2], std::uint64_t a, std::uint64_t b, int adds) {
  const int thread = simt::thread_index() % warpgroup_threads;
  const unsigned char* shared = simt::shared_memory();
  simt::begin_product([=, &sums] {
    constexpr int depth = 32 / sizeof(T);
    const int row = thread / 32 * 16 + thread % 32 / 4;
    float left[2][depth];
    for (int k = 0; k < depth; ++k) {
      left[0][k] = detail::operand_element<T, TransposedLeft>(shared, a, row, k);
      left[1][k] = detail::operand_element<T, TransposedLeft>(shared, a, row + 8, k);
    }
    detail::multiply<T, N, Transposed>(sums, left, shared, b, adds != 0);
  });
}
// A quad's lanes have the left operand of a row: they meet when the product is waited for, and it is read then.
template <class T, int N, bool Transposed>
void wgmma(float (&sums)[N / 2], const std::uint32_t (&a)[4], std::uint64_t b, int adds) {
  const unsigned char* shared = simt::shared_memory();
  simt::begin_product([=, &sums, &a] {
    constexpr int depth = 32 / sizeof(T);
    float left[2][depth];
    for (int second = 0; second < 2; ++second) {
      for (int k = 0; k < depth; k += 2) {
        const int lane = simt::thread_index() % 32 / 4 * 4 + k / 2 % 4;
        const std::uint32_t word =
            simt::exchange({{__LINE__, __FILE__}, 0, 32, "wgmma"}, a[k / 8 * 2 + second], lane);
        T pair[2];
        std::memcpy(pair, &word, sizeof(word));
        left[second][k] = static_cast<float>(pair[0]);
        left[second][k + 1] = static_cast<float>(pair[1]);
      }
    }
    detail::multiply<T, N, Transposed>(sums, left, shared, b, adds != 0);
  });
}
inline void fence_async_proxy() {}
inline void wave_barrier(Where where = Where::here()) { simt::wave_barrier({where.line, where.file}); }
inline void wgmma_fence() {}
inline void wgmma_commit() { simt::end_products(); }
template <int Left>
void wgmma_wait(Where where = Where::here()) {
  simt::wait_products({where.line, where.file}, Left);
  simt::exchange({{where.line, where.file}, 0, 32, "wgmma_wait"}, 0, simt::thread_index() % 32);
}
template <int Count>
void settle(float (&)[Count]) {}
template <int Count, RegisterShare Share>
void hold_registers() {}

}  // namespace kgen::gpu

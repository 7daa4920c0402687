// Kernels that each do one thing of kgen/gpu/warpgroup.hpp, and what they give, bit for bit as it lies: compiled by
// nvcc for the device, and by g++ for the SIMT executor.
//
// Inputs are small integers, whose products and sums every format here has: so no order of additions and no rounding
// shows. Of other numbers the tensor cores do not say how they add up: products of a step are aligned to the largest
// and cut, in a width that differs by format and by device; random reals agree in most bits only, which is what tests
// of numerics against float64 are for.
#pragma once

#include <bit>
#include <cstring>
#include <random>

#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/warpgroup_sums.hpp"
#include "kgen/types.hpp"
#include "tests/gpu/atoms.hpp"

namespace kgen::atoms {

using namespace kgen::gpu;

// ---- kernels

// Elements of a line of 128 bytes; 64 lines of them make a box of the operands.
template <class T>
inline constexpr int line = swizzle_bytes / static_cast<int>(sizeof(T));
template <class T>
struct Box {
  alignas(tile_alignment) T elements[64 * line<T>];
};

// An mbarrier of one arrival, by all threads of the block, or of the cluster.
template <class Phase = BlockPhase>
KGEN_FN Mbarrier& make_mbarrier(SharedMemory& memory, int arrivals = 1) {
  auto* mbarrier = memory.take<Mbarrier>(1);
  const Phase making;
  if (thread_index() == 0) {
    mbarrier->init(arrivals);
    publish_mbarriers();
  }
  return *mbarrier;
}

template <class T, int N, bool Deep>
inline constexpr int right_boxes = (N + 63) / 64;
// Deep: lines are along the depth, N of them; else there are boxes of 64 columns and a depth of 64.
template <class T, int N, bool Deep>
KGEN_FN void bring_right(Box<T>* boxes, const TensorMap& map, Mbarrier& arrived) {
  if constexpr (Deep) {
    copy_tile(boxes, map, arrived, 0, 0);
  } else {
    for (int i = 0; i < right_boxes<T, N, Deep>; ++i) copy_tile(boxes + i, map, arrived, i * 64, 0);
  }
}
template <class T, int N, bool Deep>
inline constexpr int right_bytes = Deep ? N* swizzle_bytes : right_boxes<T, N, Deep>* static_cast<int>(sizeof(Box<T>));

template <class T, int N>
KGEN_FN void store_sums(wgmma_sum_t<T>* to, const wgmma_sum_t<T> (&sums)[N / 2]) {
  KGEN_UNROLL
  for (int i = 0; i < N / 2; ++i) to[thread_index() * (N / 2) + i] = sums[i];
}

// 64 rows, N columns and a line of depth, of operands in shared memory.
template <class T, int N, bool ADeep, bool BDeep>
KGEN_GLOBAL(warpgroup_threads, 1)
multiply(const KGEN_GRID_CONSTANT TensorMap a, const KGEN_GRID_CONSTANT TensorMap b, wgmma_sum_t<T>* to) {
  if constexpr (has_warpgroups) {
    SharedMemory memory;
    auto* left = memory.take<Box<T>>(1);
    auto* right = memory.take<Box<T>>(right_boxes<T, N, BDeep>);
    Mbarrier& arrived = make_mbarrier(memory);
    if (thread_index() == 0) {
      arrived.arrive_and_expect(static_cast<int>(sizeof(*left)) + right_bytes<T, N, BDeep>);
      copy_tile(left, a, arrived, 0, 0);
      bring_right<T, N, BDeep>(right, b, arrived);
    }
    arrived.wait(0);
    wgmma_sum_t<T> sums[N / 2];
    wgmma_fence();
    KGEN_UNROLL
    for (int k = 0; k < line<T>; k += 32 / static_cast<int>(sizeof(T))) {
      wgmma<T, N, !BDeep, !ADeep>(sums, boxed_operand<T, 64, ADeep>(left->elements, k), boxed_operand < T,
                                  BDeep ? N : 64, BDeep > (right->elements, k), k > 0);
    }
    wgmma_commit();
    wgmma_wait<0>();
    settle(sums);
    store_sums<T, N>(to, sums);
  }
}

// The same of a left operand in registers.
template <class T, int N, bool BDeep>
KGEN_GLOBAL(warpgroup_threads, 1)
multiply_registers(const T* a, const KGEN_GRID_CONSTANT TensorMap b, float* to) {
  if constexpr (has_warpgroups) {
    SharedMemory memory;
    auto* right = memory.take<Box<T>>(right_boxes<T, N, BDeep>);
    Mbarrier& arrived = make_mbarrier(memory);
    if (thread_index() == 0) {
      arrived.arrive_and_expect(right_bytes<T, N, BDeep>);
      bring_right<T, N, BDeep>(right, b, arrived);
    }
    std::uint32_t left[4][4];
    KGEN_UNROLL
    for (int i = 0; i < 16; ++i) {
      const int row = thread_index() / 32 * 16 + thread_index() % 32 / 4 + i % 2 * 8;
      const int column = i / 4 * 16 + i / 2 % 2 * 8 + thread_index() % 4 * 2;
      memcpy(&left[i / 4][i % 4], a + row * line<T> + column, sizeof(std::uint32_t));
    }
    arrived.wait(0);
    float sums[N / 2];
    wgmma_fence();
    KGEN_UNROLL
    for (int k = 0; k < 4; ++k) {
      wgmma<T, N, !BDeep>(sums, left[k], boxed_operand < T, BDeep ? N : 64, BDeep > (right->elements, k * 16), k > 0);
    }
    wgmma_commit();
    wgmma_wait<0>();
    settle(sums);
    store_sums<T, N>(to, sums);
  }
}

// What the copy engine is asked for: a place along each axis, and for patches the offsets.
struct Request {
  int bytes, at[5], offsets[3];
};

template <int Axes, bool OfPatches>
KGEN_FN void bring(void* to, const TensorMap& map, Mbarrier& arrived, const Request& request) {
  const auto& at = request.at;
  if constexpr (OfPatches) {
    int place[Axes], offsets[Axes - 2];
    for (int axis = 0; axis < Axes; ++axis) place[axis] = at[axis];
    for (int axis = 0; axis < Axes - 2; ++axis) offsets[axis] = request.offsets[axis];
    copy_patches(to, map, arrived, place, offsets);
  } else if constexpr (Axes == 2) {
    copy_tile(to, map, arrived, at[0], at[1]);
  } else if constexpr (Axes == 3) {
    copy_tile(to, map, arrived, at[0], at[1], at[2]);
  } else if constexpr (Axes == 4) {
    copy_tile(to, map, arrived, at[0], at[1], at[2], at[3]);
  } else {
    copy_tile(to, map, arrived, at[0], at[1], at[2], at[3], at[4]);
  }
}

KGEN_FN void store_words(std::uint32_t* to, const void* from, int bytes) {
  for (int i = thread_index(); i < bytes / 4; i += block_threads()) {
    to[i] = static_cast<const std::uint32_t*>(from)[i];
  }
}

constexpr int copied_bytes = 16 * 1024, copying_threads = 64;

template <int Axes, bool OfPatches>
KGEN_GLOBAL(copying_threads, 1)
copy(const KGEN_GRID_CONSTANT TensorMap map, Request request, std::uint32_t* to) {
  if constexpr (has_warpgroups) {
    SharedMemory memory;
    auto* tile = memory.take<Box<std::uint8_t>>(copied_bytes / static_cast<int>(sizeof(Box<std::uint8_t>)));
    Mbarrier& arrived = make_mbarrier(memory);
    if (thread_index() == 0) {
      arrived.arrive_and_expect(request.bytes);
      bring<Axes, OfPatches>(tile, map, arrived, request);
    }
    arrived.wait(0);
    store_words(to, tile, request.bytes);
  }
}

// Each of two blocks brings a box to both.
KGEN_GLOBAL(copying_threads, 1) copy_to_both(const KGEN_GRID_CONSTANT TensorMap map, std::uint32_t* to) {
  if constexpr (has_warpgroups) {
    constexpr int bytes = 8 * swizzle_bytes;
    SharedMemory memory;
    auto* tile = memory.take<Box<std::uint8_t>>(1);
    Mbarrier& arrived = make_mbarrier<ClusterPhase>(memory);
    const ClusterStay staying;
    if (thread_index() == 0) {
      arrived.arrive_and_expect(2 * bytes);
      copy_tile_to_all<2>(tile->elements + cluster_rank() * bytes, map, arrived, -8, cluster_rank() * 8);
    }
    arrived.wait(0);
    store_words(to + cluster_rank() * 2 * bytes / 4, tile, 2 * bytes);
  }
}

// Each of two blocks sends words to the other, from some of its lanes, and all of its lanes arrive there.
template <class Word>
KGEN_GLOBAL(copying_threads, 1)
send(Word* to) {
  if constexpr (has_warpgroups) {
    SharedMemory memory;
    auto* words = memory.take<Word>(copying_threads);
    words[thread_index()] = -1;
    Mbarrier& came = make_mbarrier(memory, copying_threads);
    Mbarrier& arrived = make_mbarrier<ClusterPhase>(memory);
    const ClusterStay staying;
    const auto sends = [](int thread) { return thread % 3 != 0; };
    if (thread_index() == 0) arrived.arrive_and_expect(4 * (copying_threads * 2 / 3));
    send_where(sends(thread_index()), words + thread_index(), static_cast<Word>(thread_index() + 100 * cluster_rank()),
               arrived, 1 - cluster_rank());
    came.arrive_at(1 - cluster_rank());
    arrived.wait(0);
    came.wait(0);
    to[cluster_rank() * copying_threads + thread_index()] = words[thread_index()];
  }
}

// ---- the host's side

// Memory of the device.
template <class T>
class Memory {
 public:
  explicit Memory(const std::vector<T>& elements) : count_(elements.size()) {
    data_ = static_cast<T*>(allocate(static_cast<std::int64_t>(count_ * sizeof(T)), Stream{}));
    move(data_, elements.data(), count_ * sizeof(T));
  }
  ~Memory() { release(data_, Stream{}); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  T* data() const { return data_; }
  std::vector<std::uint32_t> words() const {
    static_assert(sizeof(T) == 4);
    std::vector<std::uint32_t> words(count_);
    move(words.data(), data_, count_ * sizeof(T));
    return words;
  }

 private:
  static void move(void* to, const void* from, std::size_t bytes) {
#if defined(KGEN_SIMT)
    std::memcpy(to, from, bytes);
#else
    require(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), Stream{}, "copying");
#endif
  }
  T* data_;
  std::size_t count_;
};

// Integers from -3 to 3; bytes of pairs are any, as their sums are of integers. `noise`: which of a float's
// lowest 14 bits are random; tf32 has but the highest of them, and each 16th lies halfway between two of its numbers.
template <class T>
std::vector<T> numbers(std::size_t count, std::uint32_t seed, std::uint32_t noise = 0) {
  std::mt19937 random(seed);
  std::vector<T> all(count);
  for (T& each : all) {
    const std::uint32_t bits = random();
    if constexpr (is_byte_pair<T>) {
      each.byte = static_cast<std::uint8_t>(bits >> 8);
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
      each = static_cast<std::uint8_t>(bits >> 8);
    } else {
      each = static_cast<T>(static_cast<float>(static_cast<int>(bits >> 8) % 7 - 3));
    }
    if constexpr (std::is_same_v<T, float>) {
      const std::uint32_t low = bits & noise & (bits % 8 == 0 ? 0x3000 : 0x3fff);
      each = std::bit_cast<float>(std::bit_cast<std::uint32_t>(each) | low);
    }
  }
  return all;
}

template <class T>
TensorMap matrix_map(const Memory<T>& memory, int columns, int rows, int box_rows) {
  return tensor_map<T>(BoxedMemory<2>{memory.data(),
                                      {columns, rows},
                                      {0, columns * static_cast<std::int64_t>(sizeof(T))},
                                      {line<T>, box_rows}})
      .value();
}
template <class T, int N, bool Deep>
TensorMap right_map(const Memory<T>& memory) {
  return Deep ? matrix_map(memory, line<T>, N, N) : matrix_map(memory, N, 64, 64);
}

using Results = std::vector<AtomResult>;

template <class T, bool ADeep, bool BDeep, int N>
void add_product(Results& results, const std::string& type, std::uint32_t noise) {
  const Memory<T> a(numbers<T>(64 * line<T>, 1, noise)), b(numbers<T>(N * line<T>, N, noise));
  const Memory<wgmma_sum_t<T>> c(std::vector<wgmma_sum_t<T>>(64 * N));
  const std::int64_t bytes = sizeof(Box<T>) * (1 + right_boxes<T, N, BDeep>)+shared_bytes<Mbarrier>(1);
  launch({"multiply", 1, warpgroup_threads, bytes}, Stream{}, multiply<T, N, ADeep, BDeep>,
         matrix_map(a, line<T>, 64, 64), right_map<T, N, BDeep>(b), c.data());
  results.push_back({"wgmma " + type + " of " + std::to_string(N) + " columns" + (ADeep ? "" : ", left across") +
                         (BDeep ? "" : ", right across"),
                     c.words()});
}
template <class T, bool ADeep, bool BDeep, int... N>
void add_products(Results& results, const std::string& type, std::uint32_t noise = 0) {
  (add_product<T, ADeep, BDeep, N>(results, type, noise), ...);
}
template <class T, bool BDeep, int... N>
void add_products_of_registers(Results& results, const std::string& type) {
  const auto add = [&]<int Columns>() {
    const Memory<T> a(numbers<T>(64 * line<T>, 1)), b(numbers<T>(Columns * line<T>, Columns));
    const Memory<float> c(std::vector<float>(64 * Columns));
    const std::int64_t bytes = sizeof(Box<T>) * right_boxes<T, Columns, BDeep> + shared_bytes<Mbarrier>(1);
    launch({"multiply_registers", 1, warpgroup_threads, bytes}, Stream{}, multiply_registers<T, Columns, BDeep>,
           static_cast<const T*>(a.data()), right_map<T, Columns, BDeep>(b), c.data());
    results.push_back({"wgmma " + type + " of " + std::to_string(Columns) + " columns, left in registers" +
                           (BDeep ? "" : ", right across"),
                       c.words()});
  };
  (add.template operator()<N>(), ...);
}

// Those of 16 bits in every layout.
template <class T>
void add_halves(Results& results, const std::string& type) {
  add_products<T, true, true, 8, 16, 32, 64, 80, 96, 128, 176, 192, 256>(results, type);
  add_products<T, true, false, 8, 16, 32, 64, 80, 96, 128, 176, 192, 256>(results, type);
  add_products<T, false, true, 8, 16, 32, 64, 96, 128, 256>(results, type);
  add_products<T, false, false, 8, 64, 128, 256>(results, type);
  add_products_of_registers<T, true, 32, 64, 128, 256>(results, type);
  add_products_of_registers<T, false, 32, 64, 128, 256>(results, type);
}
template <class T>
void add_deep(Results& results, const std::string& type, std::uint32_t noise = 0) {
  add_products<T, true, true, 8, 16, 32, 64, 128, 192, 256>(results, type, noise);
}

// `where`: the request's indices and offsets.
template <class T, int Axes, class Source>
void add_copy(Results& results, const Source& source, const std::string& name, const Request& request) {
  constexpr bool of_patches = std::is_same_v<Source, PatchedMemory<Axes>>;
  const Memory<std::uint32_t> to(std::vector<std::uint32_t>(copied_bytes / 4));
  launch({"copy", 1, copying_threads, copied_bytes + shared_bytes<Mbarrier>(1)}, Stream{}, copy<Axes, of_patches>,
         tensor_map<T>(source).value(), request, to.data());
  std::string place = name + " of " + std::to_string(sizeof(T)) + " bytes at";
  for (int axis = 0; axis < Axes; ++axis) place += " " + std::to_string(request.at[axis]);
  for (int axis = 0; of_patches && axis < Axes - 2; ++axis) place += " +" + std::to_string(request.offsets[axis]);
  results.push_back({place, to.words()});
}

// Boxes inside, over each end, and outside of memory of two to five axes.
template <class T>
void add_boxes(Results& results) {
  constexpr int size = sizeof(T), columns = line<T> + 32;
  const Memory<T> memory(numbers<T>(columns * 9 * 4 * 3 * 2, 7, 0x3fff));
  const std::int64_t row = columns * size, plane = row * 9;
  const BoxedMemory<2> two{memory.data(), {columns - 5, 9}, {0, row}, {line<T>, 6}};
  const BoxedMemory<3> three{memory.data(), {columns, 7, 4}, {0, row, plane}, {line<T>, 4, 3}};
  const BoxedMemory<4> four{memory.data(), {columns, 9, 4, 3}, {0, row, plane, 4 * plane}, {line<T>, 3, 2, 2}};
  const BoxedMemory<5> five{
      memory.data(), {columns - 1, 9, 4, 3, 2}, {0, row, plane, 4 * plane, 12 * plane}, {line<T>, 2, 3, 2, 2}};
  for (const int x : {0, 16, 32, -16, columns - 16, columns, -208}) {  // multiples of 16 bytes
    for (const int y : {0, -2, 5, 9}) {
      add_copy<T, 2>(results, two, "box", {6 * swizzle_bytes, {x, y}, {}});
      add_copy<T, 3>(results, three, "box", {12 * swizzle_bytes, {x, y, y / 2}, {}});
      add_copy<T, 4>(results, four, "box", {12 * swizzle_bytes, {x, y, 1 - y, y / 3}, {}});
      add_copy<T, 5>(results, five, "box", {24 * swizzle_bytes, {x, y, y / 2, 1, -y / 4}, {}});
    }
  }
}

// Patches of images of two and three axes: by step, corners, offset, and behind the last image.
template <class T>
void add_patches(Results& results) {
  constexpr int size = sizeof(T), channels = line<T> + 32;
  const Memory<T> memory(numbers<T>(channels * 9 * 8 * 4 * 2, 8, 0x3fff));
  const std::int64_t pixel = channels * size, row = 9 * pixel, image = 8 * row;
  for (const int step : {1, 2}) {
    for (const int lower : {-1, 0}) {
      const PatchedMemory<4> flat{memory.data(),
                                  {channels, 9, 8, 3},
                                  {0, pixel, row, image},
                                  {lower, lower},
                                  {-1, 0},
                                  {step, step},
                                  line<T>,
                                  40};
      const PatchedMemory<5> solid{memory.data(),
                                   {channels, 9, 8, 3, 2},
                                   {0, pixel, row, image, 4 * image},
                                   {lower, lower, lower},
                                   {-1, -1, 0},
                                   {step, 1, step},
                                   line<T>,
                                   96};
      const std::string name = "patches by " + std::to_string(step) + " from corner " + std::to_string(lower);
      for (const int channel : {0, 32, channels - 8}) {
        for (const int offset : {0, 1, 2}) {
          add_copy<T, 4>(results, flat, name, {40 * swizzle_bytes, {channel, lower, lower, 0}, {offset, offset}});
          add_copy<T, 4>(results, flat, name, {40 * swizzle_bytes, {channel, 5, 3, 2}, {offset, 0}});
          add_copy<T, 5>(results, solid, name,
                         {96 * swizzle_bytes, {channel, lower, lower, lower, 0}, {offset, 0, offset}});
          add_copy<T, 5>(results, solid, name, {96 * swizzle_bytes, {channel, 3, 2, 1, 1}, {0, offset, offset}});
        }
      }
    }
  }
}

inline void add_clusters(Results& results) {
  const Memory<bf16> memory(numbers<bf16>(80 * 13, 9));
  const Memory<std::uint32_t> both(std::vector<std::uint32_t>(1024));
  const auto map = tensor_map<bf16>(BoxedMemory<2>{memory.data(), {80, 13}, {0, 160}, {64, 8}});
  const std::int64_t bytes = sizeof(Box<std::uint8_t>) + shared_bytes<Mbarrier>(1);
  launch({"copy_to_both", 2, copying_threads, bytes, 2}, Stream{}, copy_to_both, *map, both.data());
  results.push_back({"multicast", both.words()});
  const std::int64_t sent = shared_bytes<std::uint32_t>(copying_threads) + 2 * shared_bytes<Mbarrier>(1);
  const Memory<float> floats(std::vector<float>(2 * copying_threads));
  launch({"send", 2, copying_threads, sent, 2}, Stream{}, send<float>, floats.data());
  results.push_back({"st.async of floats", floats.words()});
  const Memory<std::int32_t> integers(std::vector<std::int32_t>(2 * copying_threads));
  launch({"send", 2, copying_threads, sent, 2}, Stream{}, send<std::int32_t>, integers.data());
  results.push_back({"st.async of integers", integers.words()});
}

inline Results run_all() {
  Results results;
  add_halves<bf16>(results, "bf16");
  add_halves<f16>(results, "f16");
  add_deep<f8e4m3>(results, "f8e4m3");
  add_deep<f8e5m2>(results, "f8e5m2");
  add_deep<float>(results, "tf32");
  add_deep<float>(results, "tf32, rounded to integers as it is copied", 0xfff);
  add_deep<BytePair<std::int8_t, std::int8_t>>(results, "i8 by i8");
  add_deep<BytePair<std::int8_t, std::uint8_t>>(results, "i8 by u8");
  add_deep<BytePair<std::uint8_t, std::int8_t>>(results, "u8 by i8");
  add_deep<BytePair<std::uint8_t, std::uint8_t>>(results, "u8 by u8");
  add_boxes<std::uint8_t>(results);
  add_boxes<bf16>(results);
  add_boxes<float>(results);
  add_patches<bf16>(results);
  add_clusters(results);
  return results;
}

}  // namespace kgen::atoms

// How a kernel reads and writes the memory of a View: in aligned vectors where its launch has seen that it may, else
// element by element.
#pragma once

#include "kgen/convert.hpp"
#include "kgen/gpu/device.hpp"

namespace kgen::gpu {

// What a launch knows of a View.
struct Access {
  bool vectors = false;  // any W lanes at a multiple of W are neighbours in memory, aligned to min(16, their bytes)
  bool global = false;   // it is in the device's memory, not in a block's, and what is read of it is not written before
  bool constant = false;  // and nothing writes it while the kernel runs
  bool turned = false;    // lanes lie across lines: load_turned() reads them
};

// W elements as they are stored.
template <class T, int W>
struct Elements {
  Block<W * sizeof(T)> block;  // whole words, which compilers keep as such

  KGEN_FN T operator[](int i) const {
    T elements[W];
    memcpy(elements, &block, sizeof(elements));
    return elements[i];
  }
  KGEN_FN Vec<compute_t<T>, W> lanes() const {
    T elements[W];
    memcpy(elements, &block, sizeof(elements));
    return load_elements<W>(elements);
  }
};

template <int Bytes>
KGEN_FN Block<Bytes> load_block(const void* from, [[maybe_unused]] Access access) {
#if defined(KGEN_SIMT)
  return load_global<Bytes>(from);  // which looks at the address
#else
  if (access.constant) return load_constant<Bytes>(from);
  return access.global ? load_global<Bytes>(from) : *static_cast<const Block<Bytes>*>(from);
#endif
}

// W elements, `step` apart.
template <int W, class T>
KGEN_FN Elements<T, W> load_run(const T* from, std::int64_t step, Access access) {
  if (W == 1 || access.vectors) return {load_block<W * sizeof(T)>(from, access)};
  T elements[W];
  if (step == 0) {
    const T one = load_run<1>(from, 0, access)[0];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) elements[i] = one;
  } else {
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) elements[i] = load_run<1>(from + i * step, 0, access)[0];
  }
  Elements<T, W> result;
  memcpy(&result.block, elements, sizeof(elements));
  return result;
}

// 8 elements of 16 bits down a column of lines in shared memory, `pitch` apart, for each of 32 lanes that come here
// together: lane t asks for lines 8 * (t % 4) and on of 32, and column t / 4. `from` is the first of them, if lines lay
// in their order; they lie in turned_place(line), so that 8 neighbours are what the device turns at a time.
KGEN_FN constexpr int turned_place(int line) {
  return line / 32 * 32 + line % 8 / 2 * 8 + line % 32 / 8 * 2 + line % 2;
}
template <class T>
KGEN_FN Elements<T, 8> load_turned(const T* from, std::int64_t pitch) {
  static_assert(sizeof(T) == 2);
  const int lane = thread_index() % 32;
  Elements<T, 8> elements;
#if defined(__CUDA_ARCH__)
  auto& words = elements.block.words;
  const T* line = from + (lane - lane % 4 * 8) * pitch - lane / 4;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(line))));
#else
  T column[8];
  for (int i = 0; i < 8; ++i) column[i] = from[(i / 2 * 8 + i % 2 - lane % 4 * 6) * pitch];
  memcpy(&elements.block, column, sizeof(column));
#endif
  return elements;
}

// The lanes as W elements, `step` apart.
template <class T, class U, int W>
KGEN_FN void store_run(T* to, std::int64_t step, Access access, const Vec<U, W>& lanes) {
  T elements[W];
  store_elements(elements, lanes);
  if (W > 1 && access.vectors) {
    Block<W * sizeof(T)> block;
    memcpy(&block, elements, sizeof(block));
    store_global(to, block);
  } else {
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
#if defined(KGEN_SIMT)
      simt::access(to + i * step, alignof(T));
#endif
      to[i * step] = elements[i];
    }
  }
}

}  // namespace kgen::gpu

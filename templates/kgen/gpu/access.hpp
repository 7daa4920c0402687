// How a kernel reads and writes the memory of a View: in aligned vectors where its launch has seen that it may, else
// element by element.
#pragma once

#include "kgen/convert.hpp"
#include "kgen/gpu/device.hpp"

namespace kgen::gpu {

// What a launch knows of a View.
struct Access {
  bool vectors = false;    // any W lanes at a multiple of W are neighbours in memory, aligned to min(16, their bytes)
  bool read_only = false;  // nothing that the kernel writes overlaps it
  bool streaming = false;  // it is too large to be found in a cache when it is read again
};

// W elements as they are stored.
template <class T, int W>
struct alignas(Block<W * sizeof(T)>) Elements {
  T data[W];

  KGEN_FN Vec<compute_t<T>, W> lanes() const { return load_elements<W>(data); }
};

template <int Bytes>
KGEN_FN Block<Bytes> load_block(const void* from, [[maybe_unused]] bool read_only) {
#if defined(KGEN_SIMT)
  return load_read_only<Bytes>(from);
#else
  return read_only ? load_read_only<Bytes>(from) : *static_cast<const Block<Bytes>*>(from);
#endif
}

// W elements, `step` apart.
template <int W, class T>
KGEN_FN Elements<T, W> load_run(const T* from, std::int64_t step, Access access) {
  Elements<T, W> elements;
  if (W > 1 && access.vectors) {
    const auto block = load_block<W * sizeof(T)>(from, access.read_only);
    memcpy(&elements, &block, sizeof(block));
  } else if (W > 1 && step == 0) {
    const T one = load_run<1>(from, 0, access).data[0];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) elements.data[i] = one;
  } else {
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      const auto block = load_block<sizeof(T)>(from + i * step, access.read_only);
      memcpy(&elements.data[i], &block, sizeof(block));
    }
  }
  return elements;
}

// The lanes as W elements, `step` apart.
template <class T, class U, int W>
KGEN_FN void store_run(T* to, std::int64_t step, Access access, const Vec<U, W>& lanes) {
  Elements<T, W> elements;
  store_elements(elements.data, lanes);
  if (W > 1 && access.vectors) {
    Block<W * sizeof(T)> block;
    memcpy(&block, &elements, sizeof(block));
    store_block(to, block, access.streaming);
  } else {
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) to[i * step] = elements.data[i];
  }
}

}  // namespace kgen::gpu

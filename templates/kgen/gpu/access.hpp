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
  bool whole = false;     // lines hold whole vectors, or one element that is repeated
  bool either = false;    // the same, of what nothing writes: which of both, only the address says
  bool dropped = false;   // stores of it are none
  bool lasting = false;   // nothing writes it from the load of the model on: it need not wait for what is ahead
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

// Of a packed type, as lanes.
template <class T, int W>
requires is_packed<T>
struct Elements<T, W> {
  Vec<compute_t<T>, W> values;

  KGEN_FN Vec<compute_t<T>, W> lanes() const { return values; }
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

// The vector of 16 bytes, or where it repeats the element at its beginning for all of it, of memory that nothing
// writes. Without a branch, so that several are on their way together.
template <class T>
KGEN_FN Block<16> load_either(const void* from, bool repeats) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4);
  Block<16> block;
#if defined(__CUDA_ARCH__)
  auto& words = block.words;
  const std::size_t address = __cvta_generic_to_global(from);
  if constexpr (sizeof(T) == 4) {
    asm volatile(
        "{\n.reg .pred one;\nsetp.ne.u32 one, %5, 0;\n"
        "mov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
        "@!one ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n"
        "@one ld.global.nc.b32 %0, [%4];\n"
        "@one mov.b32 %1, %0;\n@one mov.b32 %2, %0;\n@one mov.b32 %3, %0;\n}"
        : "=&r"(words[0]), "=&r"(words[1]), "=&r"(words[2]), "=&r"(words[3])
        : "l"(address), "r"(static_cast<std::uint32_t>(repeats)));
  } else {
    asm volatile(
        "{\n.reg .pred one;\n.reg .b16 half;\nsetp.ne.u32 one, %5, 0;\n"
        "mov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\nmov.b16 half, 0;\n"
        "@!one ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n"
        "@one ld.global.nc.b16 half, [%4];\n@one mov.b32 %0, {half, half};\n"
        "@one mov.b32 %1, %0;\n@one mov.b32 %2, %0;\n@one mov.b32 %3, %0;\n}"
        : "=&r"(words[0]), "=&r"(words[1]), "=&r"(words[2]), "=&r"(words[3])
        : "l"(address), "r"(static_cast<std::uint32_t>(repeats)));
  }
#else
  T elements[16 / sizeof(T)];
  if (repeats) {
    const Block<sizeof(T)> one = load_block<sizeof(T)>(from, {});
    for (T& each : elements) memcpy(&each, &one, sizeof(T));
    memcpy(&block, elements, sizeof(block));
  } else {
    block = load_block<16>(from, {});
  }
#endif
  return block;
}
template <class T>
inline constexpr bool has_either = (sizeof(T) == 2 || sizeof(T) == 4);

// W elements, `step` apart.
template <int W, class T>
KGEN_FN Elements<T, W> load_run(const T* from, std::int64_t step, Access access) {
  const bool repeats = access.whole && step == 0;
  if (W == 1 || (access.vectors && !repeats)) return {load_block<W * sizeof(T)>(from, access)};
  if constexpr (has_either<T> && W * sizeof(T) % 16 == 0) {
    if (access.either) {
      Elements<T, W> result;
      KGEN_UNROLL
      for (int i = 0; i < W; i += 16 / static_cast<int>(sizeof(T))) {
        const Block<16> block = load_either<T>(from + i * step, step == 0);
        memcpy(reinterpret_cast<unsigned char*>(&result.block) + i * sizeof(T), &block, sizeof(block));
      }
      return result;
    }
  }
  T elements[W];
  if (repeats || step == 0) {
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

// Byte number `byte` of a word, of which 4 bits count.
KGEN_FN std::uint32_t half_byte(std::uint32_t word, int byte) {
#if defined(__CUDA_ARCH__)
  // The bits of 3 * 2^22 as a float and those: what converts them to float takes them as they are.
  constexpr std::uint32_t bits = 0x4b400000;
  const std::uint32_t value = __byte_perm(word, bits, 0x7650u | static_cast<unsigned>(byte)) - bits;
  __builtin_assume(value < 16);
  return value;
#else
  return word >> 8 * byte & 0xf;
#endif
}

// The elements of a word of a packed type. 8 integers of 4 bits are two words of 4 bytes first.
template <class T, int W>
KGEN_FN Vec<compute_t<T>, W> lanes_of_word(std::uint32_t word) {
  if constexpr (W == 8 && is_packed_integer<T> && element_bits<T> == 4) {
    constexpr bool has_sign = std::is_signed_v<compute_t<T>>;
    if (has_sign) word ^= 0x88888888u;  // each element 8 more
    compute_t<T> lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      const std::uint32_t code = half_byte(word >> i % 2 * 4 & 0x0f0f0f0fu, i / 2);
      lanes[i] = static_cast<compute_t<T>>(static_cast<int>(code) - (has_sign ? 8 : 0));
    }
    return load_lanes<W>(lanes);
  } else {
    return kgen::detail::lanes_of_codes<T>(kgen::detail::spread_word<element_bits<T>, W>(word));
  }
}

// W elements of a packed type, as the words that hold them.
template <int W, class T>
requires is_packed<T> KGEN_FN Elements<T, W> load_run(const PackedPointer<const T>& from, std::int64_t step,
                                                      Access access) {
  constexpr int bits = element_bits<T>;
  if constexpr (W * bits > 32) {
    const auto low = load_run<W / 2, T>(from, step, access),
               high = load_run<W / 2, T>(from + W / 2 * step, step, access);
    return {concatenate(low.values, high.values)};
  } else {
    if constexpr (W * bits % 8 == 0) {
      if (access.vectors) {
        const Block<W* bits / 8> block = load_block<W * bits / 8>(from.byte(), access);
        std::uint32_t word = 0;
        memcpy(&word, &block, sizeof(block));
        return {lanes_of_word<T, W>(word)};
      }
    }
    std::uint32_t codes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      const auto each = from + i * step;
      const Block<1> byte = load_block<1>(each.byte(), access);
      codes[i] = byte.word >> each.bit() & ((1u << bits) - 1);
    }
    return {kgen::detail::lanes_of_codes<T>(load_lanes<W>(codes))};
  }
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
  // As the instruction does: whatever a lane asks for, it gets parts of the lines that others name.
  const auto line = reinterpret_cast<std::uintptr_t>(from + (lane - lane % 4 * 8) * pitch - lane / 4);
  T column[8];
  for (int i = 0; i < 8; ++i) {
    const int named = i / 2 * 8 + lane % 4 * 2 + i % 2;
    const std::uint64_t low = shuffle_from(static_cast<std::uint32_t>(line), named, 32, Where::here());
    const std::uint64_t high = shuffle_from(static_cast<std::uint32_t>(std::uint64_t{line} >> 32), named, 32, Where::here());
    const auto* there = reinterpret_cast<const T*>(static_cast<std::uintptr_t>(high << 32 | low)) + lane / 4;
    const Block<sizeof(T)> element = load_block<sizeof(T)>(there, Access{});
    memcpy(&column[i], &element, sizeof(T));
  }
  memcpy(&elements.block, column, sizeof(column));
#endif
  return elements;
}

// 4 matrices of 8 x 8 elements of 16 bits in shared memory, of a wave of 32 lanes together: lane t names row t % 8 of
// matrix t / 8, which are 16 aligned bytes from `base + offset` on, and gets of each matrix elements t % 4 * 2 and the
// next one of row t / 4.
template <class T>
KGEN_FN void load_matrices(std::uint32_t (&words)[4], const T* base, int offset) {
  static_assert(sizeof(T) == 2);
#if defined(__CUDA_ARCH__)
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(base + offset))));
#else
  const int lane = thread_index() % 32;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t row = shuffle_from(static_cast<std::uint32_t>(offset), 8 * i + lane / 4, 32, Where::here());
    words[i] = load_block<4>(base + static_cast<int>(row) + lane % 4 * 2, Access{}).words[0];
  }
#endif
}

// The lanes as W elements, `step` apart.
template <class T, class U, int W>
KGEN_FN void store_run(T* to, std::int64_t step, Access access, const Vec<U, W>& lanes) {
  if (access.dropped) return;
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

template <class T, class U, int W>
KGEN_FN void store_run(const PackedPointer<T>& to, std::int64_t step, Access access, const Vec<U, W>& lanes) {
  if (access.dropped) return;
  constexpr int bits = element_bits<T>;
  if constexpr (W * bits > 32) {
    store_run(to, step, access, low_half(lanes));
    store_run(to + W / 2 * step, step, access, high_half(lanes));
  } else {
    const auto codes = kgen::detail::packed_codes<T>(lanes);
    if constexpr (W * bits % 8 == 0) {
      if (access.vectors) {
        const std::uint32_t word = kgen::detail::gather_word<bits>(codes);
        Block<W * bits / 8> block;
        memcpy(&block, &word, sizeof(block));
        return store_global(to.byte(), block);
      }
    }
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) store_codes(to + i * step, Vec<std::uint32_t, 1>(codes[i]));
  }
}

// Whether W elements from there on are aligned as vectors are.
template <int W, class Pointer>
KGEN_FN bool is_aligned(const Pointer& pointer) {
  using Element = pointed_at<Pointer>;
  constexpr std::uintptr_t bytes = W * element_bits<Element> / 8, unit = bytes < 16 ? bytes : 16;
  if constexpr (W * element_bits<Element> % 8 != 0) {
    return false;
  } else {
    return at_byte(pointer) && address_of(pointer) % unit == 0;
  }
}

}  // namespace kgen::gpu

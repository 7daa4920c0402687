// kgen/gpu/matrix_cores.hpp on the SIMT executor: products in plain C++, of operands that lie in the lanes where the
// vendors' documents say. Copies are as late as the hardware may be: they are done when they are waited for, and until
// then there is NaN.
#pragma once

#include <array>
#include <cstring>

#include "kgen/simt/executor.hpp"

namespace kgen::gpu {

inline constexpr bool has_mma = wave_size == 32, has_wmma = wave_size == 32, has_mfma = wave_size == 64;

namespace detail {
// body(of), where of(lane) is what a lane of this wave has in the place of `own`: all lanes are here together.
template <class Own, class Body>
void see_wave(const char* name, const Own& own, const Body& body) {
  constexpr int most_threads = 1024, most_blocks = 8;  // of a cluster, whose blocks take turns
  static thread_local std::array<const Own*, most_threads * most_blocks> all;
  const int lane = simt::thread_index() % wave_size;
  const int first = simt::cluster_rank() * most_threads + simt::thread_index() - lane;
  all[static_cast<std::size_t>(first + lane)] = &own;
  simt::exchange({{__LINE__, __FILE__}, 0, wave_size, name}, 0, lane);
  body([first](int other) -> const Own& { return *all[static_cast<std::size_t>(first + other)]; });
  simt::exchange({{__LINE__, __FILE__}, 0, wave_size, name}, 0, lane);
}

// Number `i` of the elements in words.
template <class T>
float element_of(const std::uint32_t* words, int i) {
  T element;
  std::memcpy(&element, reinterpret_cast<const unsigned char*>(words) + static_cast<std::size_t>(i) * sizeof(T),
              sizeof(T));
  return static_cast<float>(element);
}

template <int AWords, int BWords>
struct Operands {
  std::uint32_t a[AWords], b[BWords];
  Operands(const std::uint32_t (&left)[AWords], const std::uint32_t (&right)[BWords]) {
    std::memcpy(a, left, sizeof(a));
    std::memcpy(b, right, sizeof(b));
  }
};
}  // namespace detail

template <class T>
void multiply_tile(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  const int lane = simt::thread_index() % 32;
  detail::see_wave("multiply_tile", detail::Operands<4, 2>(a, b), [&](const auto& of) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4, column = lane % 4 * 2 + i % 2;
      for (int k = 0; k < 16; ++k) {
        const int owner = k / 2 % 4, half = k / 8;
        sums[i] += detail::element_of<T>(&of(row * 4 + owner).a[2 * half + i / 2], k % 2) *
                   detail::element_of<T>(&of(column * 4 + owner).b[half], k % 2);
      }
    }
  });
}

template <bool Turned>
void load_matrices(std::uint32_t (&words)[4], const void* from) {
  simt::access(from, 16);
  const int lane = simt::thread_index() % 32;
  detail::see_wave("load_matrices", from, [&](const auto& of) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      const auto half = [&](int line, int element) {
        std::uint16_t bits;
        std::memcpy(&bits, static_cast<const unsigned char*>(of(matrix * 8 + line)) + 2 * element, sizeof(bits));
        return std::uint32_t{bits};
      };
      const int one = lane / 4, two = lane % 4 * 2;
      words[matrix] = Turned ? half(two, one) | half(two + 1, one) << 16 : half(one, two) | half(one, two + 1) << 16;
    }
  });
}

template <int Bytes>
void copy_words(void* to, const void* from, int bytes) {
  simt::access(from, Bytes);
  simt::access(to, Bytes);
  if (bytes < 0 || bytes > Bytes) simt::fail("copies of more bytes than there is room for, or less than none");
  std::memset(to, 0xff, Bytes);
  simt::begin_product([=] {
    std::memset(to, 0, Bytes);
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  });
}
inline void copy_async(void* to, const void* from, int bytes) { copy_words<16>(to, from, bytes); }
inline void copy_async_where(bool there, void* to, const void* from) {
  if (there) copy_async(to, from, 16);
}
template <int Bytes>
void copy_words_where(bool there, void* to, const void* from, int bytes) {
  if (there) copy_words<Bytes>(to, from, bytes);
}
inline void commit_copies() { simt::end_products(); }
template <int Left>
void await_copies(Where where = Where::here()) {
  simt::wait_products({where.line, where.file}, Left);
}

template <class T>
void mfma(float (&sums)[16], const std::uint32_t (&a)[2], const std::uint32_t (&b)[2]) {
  const int lane = simt::thread_index() % 64;
  detail::see_wave("mfma", detail::Operands<2, 2>(a, b), [&](const auto& of) {
    for (int i = 0; i < 16; ++i) {
      const int row = i / 4 * 8 + lane / 32 * 4 + i % 4, column = lane % 32;
      for (int k = 0; k < 8; ++k) {
        sums[i] += detail::element_of<T>(of(k / 4 * 32 + row).a, k % 4) *
                   detail::element_of<T>(of(k / 4 * 32 + column).b, k % 4);
      }
    }
  });
}

template <class T>
void wmma(float (&sums)[8], const std::uint32_t (&a)[8], const std::uint32_t (&b)[8]) {
  const int lane = simt::thread_index() % 32;
  detail::see_wave("wmma", detail::Operands<8, 8>(a, b), [&](const auto& of) {
    const auto& other = of((lane + 16) % 32);
    if (std::memcmp(a, other.a, sizeof(a)) != 0 || std::memcmp(b, other.b, sizeof(b)) != 0) {
      simt::fail("wmma of operands that lanes t and t + 16 have not alike");
    }
    for (int i = 0; i < 8; ++i) {
      const int row = 2 * i + lane / 16, column = lane % 16;
      for (int k = 0; k < 16; ++k) {
        sums[i] += detail::element_of<T>(of(row).a, k) * detail::element_of<T>(of(column).b, k);
      }
    }
  });
}

}  // namespace kgen::gpu

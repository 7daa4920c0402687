// kgen/gpu/warpgroup.hpp for CUDA.
#pragma once

#include <cuda.h>

#include <optional>
#include <type_traits>

#include "kgen/gpu/asked_once.hpp"

namespace kgen::gpu {

using TensorMap = CUtensorMap;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

inline constexpr bool has_warpgroups = true;

KGEN_FN std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

class Mbarrier {
 public:
  KGEN_FN void init(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(shared_address(&word_)), "r"(arrivals) : "memory");
  }
  KGEN_FN void arrive(Where = Where::here()) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(shared_address(&word_)) : "memory");
  }
  KGEN_FN void arrive_at(int rank, Where = Where::here()) {
    asm volatile(
        "{\n.reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n}"
        :
        : "r"(shared_address(&word_)), "r"(rank)
        : "memory");
  }
  KGEN_FN void arrive_and_expect(int bytes, Where = Where::here()) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(&word_)), "r"(bytes)
                 : "memory");
  }
  KGEN_FN void expect(int bytes, Where = Where::here()) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(shared_address(&word_)), "r"(bytes)
                 : "memory");
  }
  KGEN_FN void wait(unsigned parity, Where = Where::here()) {
    std::uint32_t ended;
    do {
      asm volatile(
          "{\n.reg .pred ended;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
          "selp.u32 %0, 1, 0, ended;\n}"
          : "=r"(ended)
          : "r"(shared_address(&word_)), "r"(parity)
          : "memory");
    } while (ended == 0);
  }

 private:
  std::uint64_t word_;
};
template <int Count>
class NamedBarriers {
 public:
  static constexpr std::int64_t shared() { return named_barriers_shared<Count>; }
  KGEN_FN explicit NamedBarriers(SharedMemory& memory) { memory.take<std::byte>(shared()); }
  KGEN_FN void arrive(int number, Where = Where::here()) {
    asm volatile("barrier.cta.arrive.aligned %0, 256;" : : "r"(number + 1) : "memory");
  }
  KGEN_FN void wait(int number, Where = Where::here()) {
    asm volatile("barrier.cta.sync.aligned %0, 256;" : : "r"(number + 1) : "memory");
  }
};
KGEN_FN int wave_index() { return __shfl_sync(~0u, static_cast<int>(threadIdx.x) / wave_size, 0); }
KGEN_FN bool is_elected() {
  std::uint32_t elected;
  asm volatile(
      "{\n.reg .pred elected;\n"
      "elect.sync _|elected, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, elected;\n}"
      : "=r"(elected));
  return elected != 0;
}
KGEN_FN void publish_mbarriers(Where = Where::here()) {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

KGEN_FN void copy_tile(void* to, const TensorMap& map, Mbarrier& barrier, int x, int y, int z, int w, int v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], "
      "[%2];"
      :
      : "r"(shared_address(to)), "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v)
      : "memory");
}
KGEN_FN void copy_tile(void* to, const TensorMap& map, Mbarrier& barrier, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
      :
      : "r"(shared_address(to)), "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}
KGEN_FN void copy_tile(void* to, const TensorMap& map, Mbarrier& barrier, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
      :
      : "r"(shared_address(to)), "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y), "r"(z)
      : "memory");
}
KGEN_FN void copy_tile(void* to, const TensorMap& map, Mbarrier& barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               :
               : "r"(shared_address(to)), "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y)
               : "memory");
}
template <int Blocks>
KGEN_FN void copy_tile_to_all(void* to, const TensorMap& map, Mbarrier& barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%3, %4}], [%2], %5;"
      :
      : "r"(shared_address(to)), "l"(&map), "r"(shared_address(&barrier)), "r"(x), "r"(y),
        "h"(static_cast<std::uint16_t>((1 << Blocks) - 1))
      : "memory");
}

KGEN_FN void copy_patches(void* to, const TensorMap& map, Mbarrier& barrier, const int (&at)[4],
                          const int (&offsets)[2]) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
      :
      : "r"(shared_address(to)), "l"(&map), "r"(shared_address(&barrier)), "r"(at[0]), "r"(at[1]), "r"(at[2]),
        "r"(at[3]), "h"(static_cast<std::uint16_t>(offsets[0])), "h"(static_cast<std::uint16_t>(offsets[1]))
      : "memory");
}
KGEN_FN void copy_patches(void* to, const TensorMap& map, Mbarrier& barrier, const int (&at)[5],
                          const int (&offsets)[3]) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};"
      :
      : "r"(shared_address(to)), "l"(&map), "r"(shared_address(&barrier)), "r"(at[0]), "r"(at[1]), "r"(at[2]),
        "r"(at[3]), "r"(at[4]), "h"(static_cast<std::uint16_t>(offsets[0])),
        "h"(static_cast<std::uint16_t>(offsets[1])), "h"(static_cast<std::uint16_t>(offsets[2]))
      : "memory");
}

// By the word's own type: as another one sums that a product still writes would be read.
#define KGEN_SEND(Word, Register)                                                                          \
  KGEN_FN void send_where(bool holds, Word* to, Word word, Mbarrier& barrier, int rank) {                  \
    asm volatile(                                                                                          \
        "{\n.reg .b32 there, arrival;\n"                                                                   \
        ".reg .pred holds;\n"                                                                              \
        "setp.ne.b32 holds, %4, 0;\n"                                                                      \
        "mapa.shared::cluster.u32 there, %0, %3;\n"                                                        \
        "mapa.shared::cluster.u32 arrival, %2, %3;\n"                                                      \
        "@holds st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [there], %1, [arrival];\n}" \
        :                                                                                                  \
        : "r"(shared_address(to)), Register(word), "r"(shared_address(&barrier)), "r"(rank),               \
          "r"(static_cast<int>(holds))                                                                     \
        : "memory");                                                                                       \
  }
KGEN_SEND(float, "f")
KGEN_SEND(std::int32_t, "r")
#undef KGEN_SEND

KGEN_FN void ask_ahead(const TensorMap& map, int x, int y) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" : : "l"(&map), "r"(x), "r"(y) : "memory");
}
KGEN_FN void fence_async_proxy(Where = Where::here()) { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }
KGEN_FN bool any_of_wave(bool holds, Where = Where::here()) { return __any_sync(0xffffffffu, holds) != 0; }

KGEN_FN void wgmma_fence(Where = Where::here()) { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }
KGEN_FN void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory"); }
template <int Left>
KGEN_FN void wgmma_wait(Where = Where::here()) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(Left) : "memory");
}
template <int Count>
KGEN_FN void settle(float (&sums)[Count]) {
  KGEN_UNROLL
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(sums[i]) : : "memory");
}
template <int Count>
KGEN_FN void settle(std::int32_t (&sums)[Count]) {
  KGEN_UNROLL
  for (int i = 0; i < Count; ++i) asm volatile("" : "+r"(sums[i]) : : "memory");
}
template <int Count, RegisterShare Share>
KGEN_FN void hold_registers() {
  if constexpr (Share == RegisterShare::less) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(Count));
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(Count));
  }
}

KGEN_FN std::uint64_t descriptor(const void* tile, int leading, int stride) {
  constexpr std::uint64_t swizzled = 1;
  return (std::uint64_t{shared_address(tile)} & 0x3ffff) >> 4 | static_cast<std::uint64_t>(leading) >> 4 << 16 |
         static_cast<std::uint64_t>(stride) >> 4 << 32 | swizzled << 62;
}

// clang-format off
// KGEN_SUM, KGEN_SCALES: of floats, and further down of integers, whose operands have no sign to change.
#define KGEN_SUM "+f"
#define KGEN_SCALES ", 1, 1"
#define KGEN_SUMS_4(first) \
  KGEN_SUM(sums[first]), KGEN_SUM(sums[first + 1]), KGEN_SUM(sums[first + 2]), KGEN_SUM(sums[first + 3])
#define KGEN_SUMS_8(first) KGEN_SUMS_4(first), KGEN_SUMS_4(first + 4)
#define KGEN_SUMS_16(first) KGEN_SUMS_8(first), KGEN_SUMS_8(first + 8)
#define KGEN_SUMS_32(first) \
  KGEN_SUMS_8(first), KGEN_SUMS_8(first + 8), KGEN_SUMS_8(first + 16), KGEN_SUMS_8(first + 24)
#define KGEN_SUMS_40(first) KGEN_SUMS_32(first), KGEN_SUMS_8(first + 32)
#define KGEN_SUMS_48(first) KGEN_SUMS_32(first), KGEN_SUMS_16(first + 32)
#define KGEN_SUMS_64(first) KGEN_SUMS_32(first), KGEN_SUMS_32(first + 32)
#define KGEN_SUMS_88(first) KGEN_SUMS_64(first), KGEN_SUMS_16(first + 64), KGEN_SUMS_8(first + 80)
#define KGEN_SUMS_96(first) KGEN_SUMS_64(first), KGEN_SUMS_32(first + 64)
#define KGEN_SUMS_128(first) KGEN_SUMS_96(first), KGEN_SUMS_32(first + 96)

#define KGEN_NUMBERS_4 "%0, %1, %2, %3"
#define KGEN_NUMBERS_8 KGEN_NUMBERS_4 ", %4, %5, %6, %7"
#define KGEN_NUMBERS_16 KGEN_NUMBERS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define KGEN_NUMBERS_32 \
  KGEN_NUMBERS_16 ", "  \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define KGEN_NUMBERS_40 KGEN_NUMBERS_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define KGEN_NUMBERS_48 \
  KGEN_NUMBERS_32 ", "  \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define KGEN_NUMBERS_64 \
  KGEN_NUMBERS_32 ", "  \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define KGEN_NUMBERS_88 \
  KGEN_NUMBERS_64 ", "  \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87"
#define KGEN_NUMBERS_96 \
  KGEN_NUMBERS_64 ", "  \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define KGEN_NUMBERS_128 \
  KGEN_NUMBERS_96 ", "  \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
// The sums are the first operands: of so many, those behind them are numbered a, b, adds, and what is transposed.
#define KGEN_WGMMA(type, columns, count, a_number, b_number, adds_number, a_transposed, transposed_number)     \
  asm volatile(                                                                                                \
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #adds_number ", 0;\n"                                         \
      "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type " {" KGEN_NUMBERS_##count "}, "    \
      "%" #a_number ", %" #b_number ", adds, 1, 1, %" #a_transposed ", %" #transposed_number ";\n}"             \
      : KGEN_SUMS_##count(0)                                                                                   \
      : "l"(a), "l"(b), "r"(adds), "n"(TransposedLeft), "n"(Transposed))
// The left operand in registers: numbered a to a + 3.
#define KGEN_WGMMA_FROM(type, columns, count, a, b_number, adds_number, transposed_number)                      \
  asm volatile(                                                                                                \
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #adds_number ", 0;\n"                                         \
      "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type " {" KGEN_NUMBERS_##count "}, "    \
      "{" a "}, %" #b_number ", adds, 1, 1, %" #transposed_number ";\n}"                                       \
      : KGEN_SUMS_##count(0)                                                                                   \
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(b), "r"(adds), "n"(Transposed))
// Operands along their depth, as those of other than 16 bits must be.
#define KGEN_WGMMA_DEEP(kind, columns, count, a_number, b_number, adds_number)                                 \
  asm volatile(                                                                                                \
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #adds_number ", 0;\n"                                         \
      "wgmma.mma_async.sync.aligned.m64n" #columns kind " {" KGEN_NUMBERS_##count "}, "                        \
      "%" #a_number ", %" #b_number ", adds" KGEN_SCALES ";\n}"                                                \
      : KGEN_SUMS_##count(0)                                                                                   \
      : "l"(a), "l"(b), "r"(adds))
#define KGEN_WGMMA_OF(type)                                                  \
  if constexpr (N == 8) KGEN_WGMMA(type, 8, 4, 4, 5, 6, 7, 8);               \
  if constexpr (N == 16) KGEN_WGMMA(type, 16, 8, 8, 9, 10, 11, 12);          \
  if constexpr (N == 32) KGEN_WGMMA(type, 32, 16, 16, 17, 18, 19, 20);       \
  if constexpr (N == 64) KGEN_WGMMA(type, 64, 32, 32, 33, 34, 35, 36);       \
  if constexpr (N == 80) KGEN_WGMMA(type, 80, 40, 40, 41, 42, 43, 44);       \
  if constexpr (N == 96) KGEN_WGMMA(type, 96, 48, 48, 49, 50, 51, 52);       \
  if constexpr (N == 128) KGEN_WGMMA(type, 128, 64, 64, 65, 66, 67, 68);     \
  if constexpr (N == 176) KGEN_WGMMA(type, 176, 88, 88, 89, 90, 91, 92);     \
  if constexpr (N == 192) KGEN_WGMMA(type, 192, 96, 96, 97, 98, 99, 100);    \
  if constexpr (N == 256) KGEN_WGMMA(type, 256, 128, 128, 129, 130, 131, 132)
#define KGEN_WGMMA_DEEP_OF(kind)                                      \
  if constexpr (N == 8) KGEN_WGMMA_DEEP(kind, 8, 4, 4, 5, 6);         \
  if constexpr (N == 16) KGEN_WGMMA_DEEP(kind, 16, 8, 8, 9, 10);      \
  if constexpr (N == 32) KGEN_WGMMA_DEEP(kind, 32, 16, 16, 17, 18);   \
  if constexpr (N == 64) KGEN_WGMMA_DEEP(kind, 64, 32, 32, 33, 34);   \
  if constexpr (N == 128) KGEN_WGMMA_DEEP(kind, 128, 64, 64, 65, 66); \
  if constexpr (N == 192) KGEN_WGMMA_DEEP(kind, 192, 96, 96, 97, 98); \
  if constexpr (N == 256) KGEN_WGMMA_DEEP(kind, 256, 128, 128, 129, 130)
#define KGEN_WGMMA_FROM_OF(type)                                                                      \
  if constexpr (N == 32) KGEN_WGMMA_FROM(type, 32, 16, "%16, %17, %18, %19", 20, 21, 22);             \
  if constexpr (N == 64) KGEN_WGMMA_FROM(type, 64, 32, "%32, %33, %34, %35", 36, 37, 38);             \
  if constexpr (N == 128) KGEN_WGMMA_FROM(type, 128, 64, "%64, %65, %66, %67", 68, 69, 70);           \
  if constexpr (N == 256) KGEN_WGMMA_FROM(type, 256, 128, "%128, %129, %130, %131", 132, 133, 134)
// clang-format on

template <class T, int N, bool Transposed, bool TransposedLeft = false>
KGEN_FN void wgmma(float (&sums)[N / 2], std::uint64_t a, std::uint64_t b, int adds) {
  static_assert(N == 8 || N == 16 || N == 32 || N == 64 || N == 80 || N == 96 || N == 128 || N == 176 || N == 192 ||
                N == 256);
  static_assert(sizeof(T) == 2 || (N != 80 && N != 96 && N != 176 && !Transposed && !TransposedLeft));
  if constexpr (std::is_same_v<T, bf16>) {
    KGEN_WGMMA_OF("bf16");
  } else if constexpr (std::is_same_v<T, f16>) {
    KGEN_WGMMA_OF("f16");
  } else if constexpr (std::is_same_v<T, f8e4m3>) {
    KGEN_WGMMA_DEEP_OF("k32.f32.e4m3.e4m3");
  } else if constexpr (std::is_same_v<T, f8e5m2>) {
    KGEN_WGMMA_DEEP_OF("k32.f32.e5m2.e5m2");
  } else {
    static_assert(std::is_same_v<T, float>);
    KGEN_WGMMA_DEEP_OF("k8.f32.tf32.tf32");
  }
}

#undef KGEN_SUM
#undef KGEN_SCALES
#define KGEN_SUM "+r"
#define KGEN_SCALES ""
template <class T, int N, bool Transposed, bool TransposedLeft = false>
KGEN_FN void wgmma(std::int32_t (&sums)[N / 2], std::uint64_t a, std::uint64_t b, int adds) {
  static_assert(N == 8 || N == 16 || N == 32 || N == 64 || N == 128 || N == 192 || N == 256);
  static_assert(!Transposed && !TransposedLeft);
  using A = typename T::left_type;
  using B = typename T::right_type;
  if constexpr (std::is_signed_v<A> && std::is_signed_v<B>) {
    KGEN_WGMMA_DEEP_OF("k32.s32.s8.s8");
  } else if constexpr (std::is_signed_v<A>) {
    KGEN_WGMMA_DEEP_OF("k32.s32.s8.u8");
  } else if constexpr (std::is_signed_v<B>) {
    KGEN_WGMMA_DEEP_OF("k32.s32.u8.s8");
  } else {
    KGEN_WGMMA_DEEP_OF("k32.s32.u8.u8");
  }
}
#undef KGEN_SUM
#undef KGEN_SCALES
#define KGEN_SUM "+f"

template <class T, int N, bool Transposed>
KGEN_FN void wgmma(float (&sums)[N / 2], const std::uint32_t (&left)[4], std::uint64_t b, int adds) {
  static_assert(std::is_same_v<T, bf16> || std::is_same_v<T, f16>);
  static_assert(N == 32 || N == 64 || N == 128 || N == 256);
  if constexpr (std::is_same_v<T, bf16>) {
    KGEN_WGMMA_FROM_OF("bf16");
  } else {
    KGEN_WGMMA_FROM_OF("f16");
  }
}

#undef KGEN_SUM
#undef KGEN_SUMS_4
#undef KGEN_SUMS_8
#undef KGEN_SUMS_16
#undef KGEN_SUMS_32
#undef KGEN_SUMS_40
#undef KGEN_SUMS_48
#undef KGEN_SUMS_64
#undef KGEN_SUMS_88
#undef KGEN_SUMS_96
#undef KGEN_SUMS_128
#undef KGEN_NUMBERS_4
#undef KGEN_NUMBERS_8
#undef KGEN_NUMBERS_16
#undef KGEN_NUMBERS_32
#undef KGEN_NUMBERS_40
#undef KGEN_NUMBERS_48
#undef KGEN_NUMBERS_64
#undef KGEN_NUMBERS_88
#undef KGEN_NUMBERS_96
#undef KGEN_NUMBERS_128
#undef KGEN_WGMMA
#undef KGEN_WGMMA_OF
#undef KGEN_WGMMA_DEEP
#undef KGEN_WGMMA_DEEP_OF
#undef KGEN_WGMMA_FROM
#undef KGEN_WGMMA_FROM_OF

#else  // the host's pass of the compiler, and other devices: nothing of it is ever called

inline constexpr bool has_warpgroups = false;

class Mbarrier {
 public:
  KGEN_FN void init(int) {}
  KGEN_FN void arrive(Where = Where::here()) {}
  KGEN_FN void arrive_at(int, Where = Where::here()) {}
  KGEN_FN void arrive_and_expect(int, Where = Where::here()) {}
  KGEN_FN void expect(int, Where = Where::here()) {}
  KGEN_FN void wait(unsigned, Where = Where::here()) {}

 private:
  std::uint64_t word_;
};
template <int Count>
class NamedBarriers {
 public:
  static constexpr std::int64_t shared() { return named_barriers_shared<Count>; }
  KGEN_FN explicit NamedBarriers(SharedMemory&) {}
  KGEN_FN void arrive(int, Where = Where::here()) {}
  KGEN_FN void wait(int, Where = Where::here()) {}
};
KGEN_FN int wave_index() { return 0; }
KGEN_FN bool is_elected() { return true; }
KGEN_FN void publish_mbarriers(Where = Where::here()) {}
KGEN_FN void copy_tile(void*, const TensorMap&, Mbarrier&, int, int) {}
KGEN_FN void copy_tile(void*, const TensorMap&, Mbarrier&, int, int, int) {}
KGEN_FN void copy_tile(void*, const TensorMap&, Mbarrier&, int, int, int, int) {}
KGEN_FN void copy_tile(void*, const TensorMap&, Mbarrier&, int, int, int, int, int) {}
template <int Blocks>
KGEN_FN void copy_tile_to_all(void*, const TensorMap&, Mbarrier&, int, int) {}
template <int Rank>
KGEN_FN void copy_patches(void*, const TensorMap&, Mbarrier&, const int (&)[Rank], const int (&)[Rank - 2]) {}
template <class Word>
KGEN_FN void send_where(bool, Word*, Word, Mbarrier&, int) {}
KGEN_FN void ask_ahead(const TensorMap&, int, int) {}
KGEN_FN void fence_async_proxy(Where = Where::here()) {}
KGEN_FN bool any_of_wave(bool holds, Where = Where::here()) { return holds; }
KGEN_FN void wgmma_fence(Where = Where::here()) {}
KGEN_FN void wgmma_commit() {}
template <int Left>
KGEN_FN void wgmma_wait(Where = Where::here()) {}
template <class S, int Count>
KGEN_FN void settle(S (&)[Count]) {}
template <int Count, RegisterShare Share>
KGEN_FN void hold_registers() {}
KGEN_FN std::uint64_t descriptor(const void*, int, int) { return 0; }
template <class T, int N, bool Transposed, bool TransposedLeft = false>
KGEN_FN void wgmma(wgmma_sum_t<T> (&)[N / 2], std::uint64_t, std::uint64_t, int) {}
template <class T, int N, bool Transposed>
KGEN_FN void wgmma(float (&)[N / 2], const std::uint32_t (&)[4], std::uint64_t, int) {}

#endif

// One of the driver's own functions, found through the runtime so that nothing links to the driver; null where it has
// none of that name.
template <class Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (status != cudaSuccess) (void)cudaGetLastError();  // that nobody else meets it
  const bool there = status == cudaSuccess && found == cudaDriverEntryPointSuccess;
  return reinterpret_cast<Function>(there ? function : nullptr);
}

template <class T>
inline constexpr CUtensorMapDataType tensor_map_type = std::is_same_v<T, bf16>    ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                       : std::is_same_v<T, f16>   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                       : std::is_same_v<T, float> ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                                                                  : CU_TENSOR_MAP_DATA_TYPE_UINT8;

// Both give nothing where the driver does not take the memory.
template <class T, int Rank>
std::optional<TensorMap> tensor_map(const BoxedMemory<Rank>& memory) {
  static const auto encode = driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  cuuint64_t extents[Rank], pitches[Rank];
  cuuint32_t box[Rank], steps[Rank];
  for (int axis = 0; axis < Rank; ++axis) {
    extents[axis] = static_cast<cuuint64_t>(memory.extents[axis]);
    pitches[axis] = static_cast<cuuint64_t>(memory.pitches[axis]);
    box[axis] = static_cast<cuuint32_t>(memory.box[axis]);
    steps[axis] = 1;
  }
  TensorMap map;
  const bool taken = encode != nullptr &&
                     encode(&map, tensor_map_type<T>, Rank, const_cast<void*>(memory.data), extents, pitches + 1, box,
                            steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                            CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
  return taken ? std::optional(map) : std::nullopt;
}

template <class T, int Rank>
std::optional<TensorMap> tensor_map(const PatchedMemory<Rank>& memory) {
  static const auto encode = driver_function<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
  cuuint64_t extents[Rank], pitches[Rank];
  cuuint32_t steps[Rank];
  int lower[Rank - 2], upper[Rank - 2];
  for (int axis = 0; axis < Rank; ++axis) {
    const bool of_image = axis > 0 && axis < Rank - 1;
    extents[axis] = static_cast<cuuint64_t>(memory.extents[axis]);
    pitches[axis] = static_cast<cuuint64_t>(memory.pitches[axis]);
    steps[axis] = of_image ? static_cast<cuuint32_t>(memory.steps[axis - 1]) : 1;
    if (of_image) lower[axis - 1] = static_cast<int>(memory.lower[axis - 1]);
    if (of_image) upper[axis - 1] = static_cast<int>(memory.upper[axis - 1]);
  }
  TensorMap map;
  const bool taken = encode != nullptr && memory.fits() &&
                     encode(&map, tensor_map_type<T>, Rank, const_cast<void*>(memory.data), extents, pitches + 1, lower,
                            upper, static_cast<cuuint32_t>(memory.channels), static_cast<cuuint32_t>(memory.pixels),
                            steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                            CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
  return taken ? std::optional(map) : std::nullopt;
}

// Whether `kernel`, which declares `threads` where it has_warpgroups and fewer elsewhere, was compiled for what the
// current device can do: machine code of sm_90 has the device's number, and none of its tensor cores.
inline bool runs_warpgroups(const void* kernel, int threads) {
  static AskedOnce<int> known;  // how many threads it runs so; 0: it does not; -1: there was no answer
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) {
    (void)cudaGetLastError();  // that nobody else meets it
    return false;
  }
  const auto ask = [&] {
    int major = 0;
    cudaFuncAttributes attributes{};
    const bool asked = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                       (major != 9 || cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess);
    if (asked) return major == 9 ? attributes.maxThreadsPerBlock : 0;
    (void)cudaGetLastError();
    return -1;
  };
  const auto is_answer = [](int most) { return most >= 0; };
  return known({device, kernel}, is_answer, ask) >= threads;
}

inline ClustersAtOnce clusters_at_once(const Grid& grid, const DeviceLimits& limits, Stream stream,
                                       const void* kernel) {
  static AskedOnce<ClustersAtOnce> known;
  return known({current_device(stream), kernel}, [&] {
    detail::grant_shared(grid, stream, kernel);
    ClustersAtOnce counts{};
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(static_cast<unsigned>(grid.threads));
    config.dynamicSmemBytes = static_cast<std::size_t>(grid.shared_bytes);
    config.attrs = &cluster;
    config.numAttrs = 1;
    for (int blocks = 1; blocks <= limits.cluster_blocks; ++blocks) {
      cluster.val.clusterDim.x = static_cast<unsigned>(blocks);
      config.gridDim = dim3(static_cast<unsigned>(blocks));
      require(cudaOccupancyMaxActiveClusters(&counts[blocks], kernel, &config), stream, "asking for room for clusters");
    }
    return counts;
  });
}

}  // namespace kgen::gpu

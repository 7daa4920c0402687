// kgen/gpu/matrix_cores.hpp for NVIDIA's devices from sm_80 on, through CUDA or HIP.
#pragma once

namespace kgen::gpu {

inline constexpr bool has_mma = true;

#define KGEN_MULTIPLY_TILE(type)                                                      \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                 \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])           \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
template <class T>
KGEN_FN void multiply_tile(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  static_assert(std::is_same_v<T, bf16> || std::is_same_v<T, f16>);
  if constexpr (std::is_same_v<T, bf16>) {
    KGEN_MULTIPLY_TILE("bf16");
  } else {
    KGEN_MULTIPLY_TILE("f16");
  }
}
#undef KGEN_MULTIPLY_TILE

#define KGEN_LOAD_MATRICES(form)                                                   \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" form ".b16 {%0, %1, %2, %3}, [%4];" \
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])    \
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(from)))   \
               : "memory")
template <bool Turned>
KGEN_FN void load_matrices(std::uint32_t (&words)[4], const void* from) {
  if constexpr (Turned) {
    KGEN_LOAD_MATRICES(".trans.shared");
  } else {
    KGEN_LOAD_MATRICES(".shared");
  }
}
#undef KGEN_LOAD_MATRICES

KGEN_FN void copy_async(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
               :
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)),
                 "r"(bytes)
               : "memory");
}
KGEN_FN void copy_async_where(bool there, void* to, const void* from) {
  asm volatile(
      "{\n.reg .pred there;\n"
      "setp.ne.b32 there, %2, 0;\n"
      "@there cp.async.cg.shared.global.L2::128B [%0], [%1], 16;\n}"
      :
      : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)),
        "r"(there ? 1 : 0)
      : "memory");
}
template <int Bytes>
KGEN_FN void copy_words_where(bool there, void* to, const void* from, int bytes) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  if constexpr (Bytes == 16) {
    asm volatile(
        "{\n.reg .pred there;\n"
        "setp.ne.b32 there, %2, 0;\n"
        "@there cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %3;\n}"
        :
        : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)),
          "r"(there ? 1 : 0), "r"(bytes)
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .pred there;\n"
        "setp.ne.b32 there, %2, 0;\n"
        "@there cp.async.ca.shared.global.L2::128B [%0], [%1], %4, %3;\n}"
        :
        : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))), "l"(__cvta_generic_to_global(from)),
          "r"(there ? 1 : 0), "r"(bytes), "n"(Bytes)
        : "memory");
  }
}
KGEN_FN void commit_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }
template <int Left>
KGEN_FN void await_copies(Where = Where::here()) {
  asm volatile("cp.async.wait_group %0;" : : "n"(Left) : "memory");
}

}  // namespace kgen::gpu

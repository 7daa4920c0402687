// What differs between the compilers that read these headers.
#pragma once

// Everything inside a kernel's innermost loops. The CPU compilers must inline it, also without optimisation: it passes
// vector registers by value.
#define KGEN_FN inline __attribute__((always_inline))
// The same for a lambda, after its parameters.
#define KGEN_LAMBDA __attribute__((always_inline))

namespace kgen {

// Bytes of the widest vector register of the instruction set this is compiled for.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define KGEN_AVX512 1
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

}  // namespace kgen

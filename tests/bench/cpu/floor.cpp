// What memory can do, on as many threads as OpenMP has: the bench's floor.
#include <cstddef>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace {

// Past the cache where the processor can: lines of the target are not read first.
void copy_streaming(char* to, const char* from, std::size_t bytes) {
#ifdef __SSE2__
  for (std::size_t at = 0; at + 16 <= bytes; at += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_load_si128(reinterpret_cast<const __m128i*>(from + at)));
  }
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace

// Copies, in pieces of multiples of 64 bytes. Both begin at multiples of 16.
extern "C" void floor_copy(char* to, const char* from, std::size_t bytes, int threads, int streaming) {
  const std::size_t piece = (bytes / static_cast<std::size_t>(threads) + 63) / 64 * 64;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int thread = 0; thread < threads; ++thread) {
    const std::size_t begin = piece * static_cast<std::size_t>(thread);
    if (begin >= bytes) continue;
    const std::size_t size = piece < bytes - begin ? piece : bytes - begin;
    if (streaming != 0) {
      copy_streaming(to + begin, from + begin, size);
    } else {
      std::memcpy(to + begin, from + begin, size);
    }
  }
}

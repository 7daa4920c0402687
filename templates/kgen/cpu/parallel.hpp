// A team of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kgen/cpu/pool.hpp"
#include "kgen/stream.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace kgen::cpu {

struct Range {
  std::int64_t begin, end;
};

// One part of a kernel's work, among others that threads take as they come.
struct Team {
  int rank = 0;
  int size = 1;
  Pool* pool = nullptr;

  // This thread's part of `count` things, in units of `unit`.
  Range part(std::int64_t count, std::int64_t unit = 1) const {
    const std::int64_t units = (count + unit - 1) / unit;
    const auto bound = [&](std::int64_t i) { return std::min(count, units * i / size * unit); };
    return {bound(rank), bound(rank + 1)};
  }
  // Waits for all of the team. Every part must come here equally often.
  void barrier() const {
    if (size > 1) pool->meet(static_cast<std::uint32_t>(size));
  }
};

// What one of a team's threads reads, of which the stream's owner hears whenever it is another few MB.
class Reading {
 public:
  Reading(Stream stream, Team team) : stream_(stream), together_(std::max(least, most / team.size)) {}

  void add(std::int64_t bytes) {
    if (stream_.has_read == nullptr) return;
    bytes_ += bytes;
    if (bytes_ < together_) return;
    bytes_ = 0;
    stream_.has_read(stream_.owner);
  }

 private:
  // Of all threads together, and of one at least: pages that are given back so late are a small part of a model, and
  // what a call of the system costs is one of 64 pages.
  static constexpr std::int64_t least = std::int64_t{1} << 18, most = std::int64_t{4} << 20;
  const Stream stream_;
  const std::int64_t together_;
  std::int64_t bytes_ = 0;
};

// What one thread can do while another is being woken, in elements of a cheap loop.
inline constexpr std::int64_t work_worth_a_thread = 32768;

// How many threads a kernel may have whose stream does not say.
inline int threads_of_process() {
#if defined(_OPENMP)
  return omp_in_parallel() ? 1 : omp_get_max_threads();
#else
  return Pool::processors();
#endif
}

// How many threads to give to `work`, in elements of a cheap loop.
inline int threads_for(Stream stream, std::int64_t work) {
  const std::int64_t most = Pool::busy() ? 1 : stream.threads > 0 ? stream.threads : threads_of_process();
  return static_cast<int>(std::clamp<std::int64_t>(work / work_worth_a_thread, 1, most));
}

// body(Team) for each of `threads` parts; returns when all are done. Unless parts meet at a barrier, a thread that
// comes late finds that others did its part.
template <class Body>
void parallel(int threads, const Body& body) {
  if (threads > 1 && !Pool::busy()) {
    Pool& pool = Pool::mine();
    const int size = pool.threads(threads);
    struct Call {
      const Body& body;
      int size;
    } call{body, size};
    pool.run(
        size, size,
        [](const void* call, int part, Pool& pool) {
          const Call& self = *static_cast<const Call*>(call);
          self.body(Team{part, self.size, &pool});
        },
        &call);
    return;
  }
  body(Team{});
}

// body(i) for each i < count, on `threads` threads: each takes the next when it has done one, so that threads end
// together however many of them there are and whatever else their cores do.
template <class Body>
void parallel_for(int threads, std::int64_t count, const Body& body) {
  if (threads <= 1 || count <= 1 || Pool::busy()) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  std::atomic<std::int64_t> next{0};
  parallel(static_cast<int>(std::min<std::int64_t>(threads, count)), [&](Team) {
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(i);
  });
}

}  // namespace kgen::cpu

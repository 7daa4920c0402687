// A team of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kgen/stream.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace kgen::cpu {

struct Range {
  std::int64_t begin, end;
};

// One thread's place among those that run a kernel together.
struct Team {
  int rank = 0;
  int size = 1;

  // This thread's part of `count` things, in units of `unit`.
  Range part(std::int64_t count, std::int64_t unit = 1) const {
    const std::int64_t units = (count + unit - 1) / unit;
    const auto bound = [&](std::int64_t i) { return std::min(count, units * i / size * unit); };
    return {bound(rank), bound(rank + 1)};
  }
  // Waits for all of the team. Every thread must come here equally often.
  void barrier() const {
#if defined(_OPENMP)
    if (size > 1) {
#pragma omp barrier
    }
#endif
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
  static constexpr std::int64_t least = std::int64_t{1} << 18, most = std::int64_t{4} << 20;
  const Stream stream_;
  const std::int64_t together_;
  std::int64_t bytes_ = 0;
};

// What one thread can do while another is being woken, in elements of a cheap loop.
inline constexpr std::int64_t work_worth_a_thread = 32768;

// How many threads to give to `work`, in elements of a cheap loop.
inline int threads_for(Stream stream, std::int64_t work) {
#if defined(_OPENMP)
  const std::int64_t most = stream.threads > 0 ? stream.threads : omp_in_parallel() ? 1 : omp_get_max_threads();
#else
  const std::int64_t most = 1;
  (void)stream;
#endif
  return static_cast<int>(std::clamp<std::int64_t>(work / work_worth_a_thread, 1, most));
}

// body(Team) on each of `threads` threads; returns when all are done.
template <class Body>
void parallel(int threads, const Body& body) {
#if defined(_OPENMP)
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    body(Team{omp_get_thread_num(), omp_get_num_threads()});
    return;
  }
#endif
  (void)threads;
  body(Team{});
}

}  // namespace kgen::cpu

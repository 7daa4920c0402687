// Where a kernel runs. On the CPU calls return when the work is done, and a stream is nothing but a number of threads.
#pragma once

namespace kgen {

struct Stream {
  int threads = 0;  // 0: as many as OpenMP would use
};

}  // namespace kgen

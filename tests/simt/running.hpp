// What runs on the executor: the block that has its turn, and its threads. Shared by its sources alone.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <memory>
#include <sstream>
#include <vector>

#include "kgen/simt/executor.hpp"

namespace kgen::simt {

enum class State { ready, at_barrier, at_cluster_barrier, in_wave, waiting, done };

struct Product {
  std::function<void()> work;
  const void* sums;
};

struct Thread {
  State state = State::ready;
  Place place{};                                         // of the barrier that it waits at
  WaveOperation operation{};                             // that it waits in
  std::uint32_t word = 0;                                // what it passes
  int source = 0;                                        // the lane it reads
  bool waited = false;                                   // for what is ahead of the kernel
  bool knows_begun = false;                              // that all blocks of the cluster have begun
  bool sums_are_fenced = false, left_is_fenced = false;  // the registers of products to come (fences.cpp)
  std::function<bool()> come;                            // what it waits for, where it is `waiting`
  std::vector<std::vector<Product>> products = {{}};     // under way: groups, the last of which is open
};

constexpr int group_widths = 7;  // 1, 2, ..., 64

// How many lanes of a group have come to an operation.
struct Arrival {
  WaveOperation operation{};
  int count = 0;
};

struct Fiber {
  static constexpr std::size_t stack_bytes = 256 * 1024;

  std::unique_ptr<unsigned char[]> stack{new unsigned char[stack_bytes]};
  ucontext_t context;
  jmp_buf here;
  bool started = false;
};

struct Block;

// A thread of another block, which may read a block's memory until the next barrier of the cluster.
struct Reader {
  const Block* block = nullptr;  // null: there is none
  int thread = 0;
};

// An mbarrier that a thread has made, and not published.
struct Unpublished {
  const void* mbarrier;
  int thread;
};

// Work that is done without a thread, and the block whose memory it writes.
struct Late {
  std::function<void()> work;
  const Block* to;
};

// One block while it runs.
struct Block {
  const Launch& launch;
  const std::function<void()>& body;
  std::int64_t index;
  unsigned char *shared, *fenced;  // its shared memory, and what the async proxy sees of it (fences.cpp)
  Fiber* const* fibers;            // one for each thread
  std::vector<Block>* cluster;
  std::vector<Thread> threads;
  std::vector<Arrival> arrivals;  // [first lane of the group][logarithm of its width]
  int current = 0;
  std::size_t left = 0;     // threads that have left the kernel
  std::size_t begun = 0;    // that have said that they began
  bool has_fenced = false;  // whether `fenced` has been begun
  Reader reader;
  std::vector<Unpublished> unpublished;
  std::vector<Late> late;  // what its threads asked for, and is under way
  jmp_buf scheduler;
  std::string error;  // empty: none
};

extern constinit thread_local Block* running;  // null: none
inline Thread& this_thread() { return running->threads[static_cast<std::size_t>(running->current)]; }
void switch_to_scheduler();

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

}  // namespace kgen::simt

// Whose turn it is: of the threads of a cluster, and of the clusters of a grid.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#include "running.hpp"

namespace kgen::simt {

constinit thread_local Block* running = nullptr;

// Memory is switched with setjmp and longjmp, which unlike swapcontext make no system call. Locals that live across a
// switch must not change between: hence these two small functions.
void switch_to_scheduler() {
  Fiber& fiber = *running->fibers[running->current];
  if (_setjmp(fiber.here) == 0) _longjmp(running->scheduler, 1);
}

namespace {

thread_local std::vector<std::unique_ptr<Fiber>> all_fibers;

Order order_of_environment() {
  const char* name = std::getenv("KGEN_SIMT_ORDER");
  if (name == nullptr || name == std::string("forward")) return Order::forward;
  if (name == std::string("reverse")) return Order::reverse;
  if (name == std::string("shuffled")) return Order::shuffled;
  if (name == std::string("ahead")) return Order::ahead;
  throw Error(text("KGEN_SIMT_ORDER is '", name, "'; it can be forward, reverse, shuffled or ahead"));
}

std::uint32_t seed_of_environment() {
  const char* seed = std::getenv("KGEN_SIMT_SEED");
  return seed == nullptr ? 1 : static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 10));
}

// Whether something is on its way to the block.
bool is_awaited_by(const Block& block) {
  return std::any_of(block.cluster->begin(), block.cluster->end(), [&](const Block& other) {
    return std::any_of(other.late.begin(), other.late.end(), [&](const Late& late) { return late.to == &block; });
  });
}

// The thread that runs has come to the kernel's end.
void leave(Block& block) {
  Thread& thread = block.threads[static_cast<std::size_t>(block.current)];
  thread.state = State::done;
  ++block.left;
  if (!block.error.empty()) return;
  if (block.launch.early && !thread.waited) {
    block.error = text("thread ", block.current, " leaves without having awaited what is ahead of its kernel, ",
                       "which was launched early");
  } else if (block.left == block.threads.size() && block.reader.block != nullptr) {
    block.error = text("leaves while thread ", block.reader.thread, " of block ", block.reader.block->index,
                       " may still read its shared memory: no barrier of the cluster came between");
  } else if (block.left == block.threads.size() && is_awaited_by(block)) {
    block.error = "leaves while something is still on its way to its shared memory";
  }
}

void fiber_main() {
  for (;;) {
    try {
      running->body();
    } catch (const std::exception& exception) {
      running->error = exception.what();
    }
    leave(*running);
    switch_to_scheduler();
  }
}

void switch_to_fiber(Fiber& fiber) {
  if (_setjmp(running->scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.here, 1);
  fiber.started = true;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = Fiber::stack_bytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, fiber_main, 0);
  setcontext(&fiber.context);
}

std::string doing(const Thread& thread) {
  switch (thread.state) {
    case State::at_barrier:
      return "waits at the barrier at " + name_of(thread.place);
    case State::at_cluster_barrier:
      return "waits at the cluster's barrier at " + name_of(thread.place);
    case State::waiting:
      return "waits at " + name_of(thread.place);
    case State::in_wave:
      return text("is in ", thread.operation.name, " of width ", thread.operation.width, " at ",
                  name_of(thread.operation.place));
    case State::done:
      return "has left the kernel";
    case State::ready:
      break;
  }
  return "runs";
}

// Why nobody can go on: somebody waits for somebody who will not come.
std::string deadlock(const Block& block) {
  const auto waits_in_wave = [](const Thread& thread) { return thread.state == State::in_wave; };
  const auto waiting = std::find_if(block.threads.begin(), block.threads.end(), waits_in_wave);
  if (waiting != block.threads.end()) {
    const int thread = static_cast<int>(waiting - block.threads.begin());
    const int first = thread / waiting->operation.width * waiting->operation.width;
    for (int other = first; other < first + waiting->operation.width; ++other) {
      if (other >= static_cast<int>(block.threads.size())) {
        return text("thread ", thread, " ", doing(*waiting), ", but the block has no thread ", other);
      }
      const Thread& missing = block.threads[static_cast<std::size_t>(other)];
      if (!waits_in_wave(missing) || !(missing.operation == waiting->operation)) {
        return text("thread ", thread, " ", doing(*waiting), ", but thread ", other, " ", doing(missing));
      }
    }
  }
  const auto at_barrier = [](const Thread& thread) { return thread.state == State::at_barrier; };
  if (std::none_of(block.threads.begin(), block.threads.end(), at_barrier)) {
    const auto waits = [](const Thread& thread) { return thread.state == State::waiting; };
    const auto vain = std::find_if(block.threads.begin(), block.threads.end(), waits);
    return text("thread ", vain - block.threads.begin(), " ", doing(*vain), " for what nobody does");
  }
  const auto first = std::find_if(block.threads.begin(), block.threads.end(), at_barrier);
  const auto other = std::find_if(block.threads.begin(), block.threads.end(), [&](const Thread& thread) {
    return !at_barrier(thread) || !(thread.place == first->place);
  });
  return text("thread ", first - block.threads.begin(), " ", doing(*first), ", but thread ",
              other - block.threads.begin(), " ", doing(*other));
}

// Lets all threads go on if they wait at the same barrier.
bool open_barrier(Block& block) {
  const Thread& first = block.threads.front();
  const bool all = std::all_of(block.threads.begin(), block.threads.end(), [&](const Thread& thread) {
    return thread.state == State::at_barrier && thread.place == first.place;
  });
  if (all) {
    for (Thread& thread : block.threads) thread.state = State::ready;
  }
  return all;
}
bool open_cluster_barrier(std::vector<Block>& cluster) {
  const Thread& first = cluster.front().threads.front();
  for (const Block& block : cluster) {
    for (const Thread& thread : block.threads) {
      if (thread.state != State::at_cluster_barrier || !(thread.place == first.place)) return false;
    }
  }
  for (Block& block : cluster) {
    for (Thread& thread : block.threads) {
      thread.state = State::ready;
      thread.knows_begun = true;
    }
    block.reader = {};
  }
  return true;
}
bool open_barriers(std::vector<Block>& cluster) {
  bool opened = false;
  for (Block& block : cluster) opened = open_barrier(block) || opened;
  return opened || open_cluster_barrier(cluster);
}

// Says why a cluster is stuck, in the block that waits in vain.
void report_deadlock(std::vector<Block>& cluster) {
  const auto waits_in_block = [](const Block& block) {
    return std::any_of(block.threads.begin(), block.threads.end(), [](const Thread& thread) {
      return thread.state == State::at_barrier || thread.state == State::in_wave || thread.state == State::waiting;
    });
  };
  const auto stuck = std::find_if(cluster.begin(), cluster.end(), waits_in_block);
  if (stuck != cluster.end()) {
    stuck->error = deadlock(*stuck);
    return;
  }
  const auto waits = [](const Thread& thread) { return thread.state == State::at_cluster_barrier; };
  for (Block& block : cluster) {
    const auto waiting = std::find_if(block.threads.begin(), block.threads.end(), waits);
    if (waiting == block.threads.end()) continue;
    for (const Block& other : cluster) {
      for (const Thread& thread : other.threads) {
        if (waits(thread) && thread.place == waiting->place) continue;
        block.error = text("thread ", waiting - block.threads.begin(), " ", doing(*waiting), ", but thread ",
                           &thread - other.threads.data(), " of block ", other.index, " ", doing(thread));
        return;
      }
    }
  }
}

// Does one piece of what is under way without a thread.
bool do_one_late(std::vector<Block>& cluster, std::mt19937& generator) {
  for (Block& block : cluster) {
    if (block.late.empty()) continue;
    std::size_t chosen = 0;
    if (device().order == Order::reverse) chosen = block.late.size() - 1;
    if (device().order == Order::shuffled) chosen = generator() % block.late.size();
    const Late late = std::move(block.late[chosen]);
    block.late.erase(block.late.begin() + static_cast<std::ptrdiff_t>(chosen));
    late.work();
    return true;
  }
  return false;
}

// Runs the threads of the blocks in turn until all are done, or a block's error says why they will not be.
void run_threads(std::vector<Block>& cluster) {
  const std::size_t threads = cluster.front().threads.size();
  std::vector<std::size_t> order(cluster.size() * threads);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (device().order == Order::reverse) std::reverse(order.begin(), order.end());
  std::mt19937 generator(device().seed + static_cast<std::uint32_t>(cluster.front().index));
  // How many of them have their turn before the first ones' next.
  const std::size_t together = device().order == Order::ahead ? std::size_t(device().wave_size) : order.size();
  for (std::size_t done = 0; done < order.size();) {
    if (device().order == Order::shuffled) std::shuffle(order.begin(), order.end(), generator);
    bool progress = false;
    for (std::size_t place = 0; place < order.size(); ++place) {
      if (progress && place % together == 0) break;
      const std::size_t number = order[place];
      Block& block = cluster[number / threads];
      const std::size_t index = number % threads;
      Thread& thread = block.threads[index];
      if (thread.state == State::waiting && thread.come()) thread.state = State::ready;
      if (thread.state != State::ready) continue;
      progress = true;
      running = &block;
      block.current = static_cast<int>(index);
      switch_to_fiber(*block.fibers[index]);
      if (!block.error.empty()) return;
      if (thread.state == State::done) ++done;
    }
    if (!progress && !do_one_late(cluster, generator) && !open_barriers(cluster)) return report_deadlock(cluster);
  }
}

// Whether clusters run in an order of the device's seed: nothing says which one the hardware begins with.
bool has_random_clusters() { return device().order == Order::reverse || device().order == Order::shuffled; }

std::vector<std::int64_t> order_of_clusters(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (has_random_clusters()) std::shuffle(order.begin(), order.end(), std::mt19937(device().seed));
  return order;
}

// A block's shared memory, with room behind it to see writes past its end.
struct Shared {
  static constexpr std::size_t margin = 4096, alignment = 1024;
  static constexpr int poison = 0xff, canary = 0xa5;

  std::size_t bytes;
  std::unique_ptr<unsigned char[], void (*)(void*)> memory;
  std::unique_ptr<unsigned char[]> fenced;  // what the async proxy sees of it

  explicit Shared(std::size_t size)
      : bytes(size),
        memory(static_cast<unsigned char*>(
                   std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment + margin)),
               std::free),
        fenced(new unsigned char[size]) {}
  void clear() const {
    std::memset(memory.get(), poison, bytes);
    std::memset(memory.get() + bytes, canary, margin);
  }
  bool intact() const {
    const unsigned char* end = memory.get() + bytes;
    return std::all_of(end, end + margin, [](unsigned char byte) { return byte == canary; });
  }
};

// Runs the cluster that begins with block `first`; throws what is wrong with one of its blocks.
void run_cluster(const Launch& launch, const std::function<void()>& body, std::int64_t first,
                 const std::vector<Shared>& shared, const std::vector<Fiber*>& fibers) {
  const auto threads = static_cast<std::size_t>(launch.threads);
  std::vector<Block> cluster;
  for (std::size_t rank = 0; rank < shared.size(); ++rank) {
    shared[rank].clear();
    cluster.push_back({launch, body, first + static_cast<std::int64_t>(rank), shared[rank].memory.get(),
                       shared[rank].fenced.get(), fibers.data() + rank * threads, &cluster,
                       std::vector<Thread>(threads), std::vector<Arrival>(threads * group_widths)});
  }
  run_threads(cluster);
  running = nullptr;
  const bool finished = std::all_of(cluster.begin(), cluster.end(), [](const Block& b) { return b.error.empty(); });
  for (std::size_t rank = 0; rank < shared.size(); ++rank) {
    Block& block = cluster[rank];
    if (finished && !shared[rank].intact()) {
      block.error = text("wrote past the ", launch.shared_bytes, " bytes of shared memory");
    }
    if (block.error.empty()) continue;
    for (const auto& fiber : all_fibers) fiber->started = false;  // their stacks are of no use any more
    const bool in_order = launch.blocks == launch.cluster || !has_random_clusters();
    const std::string order = in_order ? "" : text(" (blocks in the order of seed ", device().seed, ")");
    throw Error(text(launch.name, ": block ", block.index, ": ", block.error, order));
  }
}

}  // namespace

std::string name_of(const Place& place) {
  return text(place.file.substr(place.file.rfind('/') + 1), ":", place.line);
}

Device& device() {
  thread_local Device device{.order = order_of_environment(), .seed = seed_of_environment()};
  return device;
}

void run(const Launch& launch, const std::function<void()>& body) {
  if (launch.threads < 1 || launch.threads > 1024 || launch.blocks < 1) {
    throw Error(text(launch.name, ": a grid of ", launch.blocks, " blocks of ", launch.threads, " threads"));
  }
  if (launch.blocks > device().most_blocks) {
    throw Error(text(launch.name, ": a grid of ", launch.blocks, " blocks, of ", device().most_blocks));
  }
  if (launch.cluster < 1 || launch.cluster > 8 || launch.blocks % launch.cluster != 0) {
    throw Error(text(launch.name, ": clusters of ", launch.cluster, " blocks in a grid of ", launch.blocks));
  }
  if (launch.shared_bytes > device().shared_bytes) {
    throw Error(text(launch.name, ": ", launch.shared_bytes, " bytes of shared memory, of ", device().shared_bytes));
  }
  if (device().notice) device().notice(launch);
  const auto wanted = static_cast<std::size_t>(launch.threads) * static_cast<std::size_t>(launch.cluster);
  while (all_fibers.size() < wanted) all_fibers.push_back(std::make_unique<Fiber>());
  std::vector<Fiber*> fibers;
  for (std::size_t i = 0; i < wanted; ++i) fibers.push_back(all_fibers[i].get());
  std::vector<Shared> shared;
  for (int rank = 0; rank < launch.cluster; ++rank) shared.emplace_back(launch.shared_bytes);
  for (const std::int64_t cluster : order_of_clusters(launch.blocks / launch.cluster)) {
    run_cluster(launch, body, cluster * launch.cluster, shared, fibers);
  }
}

}  // namespace kgen::simt

// What a thread that runs asks for.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "running.hpp"

namespace kgen::simt {

void* allocate(std::size_t bytes) {
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xff, bytes);
  return memory;
}
void release(void* memory) { std::free(memory); }

int thread_index() { return running->current; }
int block_threads() { return running->launch.threads; }
std::int64_t block_index() { return running->index; }
std::int64_t block_count() { return running->launch.blocks; }
unsigned char* shared_memory() { return running->shared; }

void require_shared(std::size_t bytes) {
  if (bytes > running->launch.shared_bytes) {
    fail(text("takes ", bytes, " bytes of shared memory, but the launch asked for ", running->launch.shared_bytes));
  }
}

void await_earlier() { this_thread().waited = true; }

namespace {
// Whether it is the block's own memory, or what nothing writes.
bool may_not_wait(const void* address) {
  const auto* byte = static_cast<const unsigned char*>(address);
  const bool is_shared = byte >= running->shared && byte < running->shared + running->launch.shared_bytes;
  return is_shared || (device().lasts && device().lasts(address));
}
}  // namespace

void access(const void* address, std::size_t alignment) {
  const bool on_device = running != nullptr;  // else these are the host's own accesses
  if (on_device && running->launch.early && !this_thread().waited && !may_not_wait(address)) {
    fail("accesses memory before it has awaited what is ahead of its kernel, which was launched early");
  }
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
    fail(text("accesses ", alignment, " bytes at an address that is no multiple of it"));
  }
}

bool is_omitted(Place place) { return device().omits && device().omits(place); }

void block_barrier(Place place) {
  if (is_omitted(place)) return;
  Thread& thread = this_thread();
  thread.state = State::at_barrier;
  thread.place = place;
  switch_to_scheduler();
}

int cluster_rank() { return static_cast<int>(running - running->cluster->data()); }

void cluster_barrier(Place place) {
  if (is_omitted(place)) return;
  Thread& thread = this_thread();
  thread.state = State::at_cluster_barrier;
  thread.place = place;
  switch_to_scheduler();
}

void cluster_arrive(Place place) {
  if (!is_omitted(place)) ++running->begun;
}

void cluster_await(Place place) {
  if (is_omitted(place)) return;
  const std::vector<Block>& cluster = *running->cluster;
  wait_until(place, [&cluster] {
    return std::all_of(cluster.begin(), cluster.end(),
                       [](const Block& block) { return block.begun == block.threads.size(); });
  });
  this_thread().knows_begun = true;
}

void require_begun() {
  if (!this_thread().knows_begun) fail("sends to another block of the cluster, which may not have begun");
}

namespace {
// The block of the cluster, and what `memory`, of this block's shared memory, is there.
struct Reached {
  Block& block;
  unsigned char* memory;
};
Reached reach(void* memory, int rank) {
  const auto offset = static_cast<unsigned char*>(memory) - running->shared;
  if (offset < 0 || static_cast<std::size_t>(offset) >= running->launch.shared_bytes) {
    fail("maps an address that is not in its shared memory to another block of the cluster");
  }
  if (rank < 0 || rank >= running->launch.cluster) {
    fail(text("maps an address to block ", rank, " of a cluster of ", running->launch.cluster));
  }
  Block& other = (*running->cluster)[static_cast<std::size_t>(rank)];
  if (other.left == other.threads.size()) {
    fail(text("maps an address to the shared memory of block ", other.index, ", which has left the kernel"));
  }
  return {other, other.shared + offset};
}
}  // namespace

void* cluster_shared(void* memory, int rank) {
  const Reached there = reach(memory, rank);
  if (&there.block != running) there.block.reader = {running, running->current};
  return there.memory;
}
void* reach_shared(void* memory, int rank) { return reach(memory, rank).memory; }

std::uint32_t exchange(const WaveOperation& operation, std::uint32_t word, int source) {
  const int lane = running->current % device().wave_size, wave = running->current - lane;
  const int width = operation.width, first = lane / std::max(width, 1) * std::max(width, 1);
  if (width < 1 || width > device().wave_size || (width & (width - 1)) != 0) {
    fail(text(operation.name, " of width ", width, " in a wave of ", device().wave_size, " at ",
              name_of(operation.place)));
  }
  if (source < first || source >= first + width) {
    fail(text(operation.name, " of width ", width, " reads lane ", source, " from lane ", lane, " at ",
              name_of(operation.place)));
  }
  Thread& mine = this_thread();
  mine.state = State::in_wave;
  mine.operation = operation;
  mine.word = word;
  mine.source = source;
  const int begin = wave + first, end = begin + width;
  Arrival& arrival = running->arrivals[static_cast<std::size_t>(begin * group_widths + std::countr_zero(unsigned(width)))];
  if (arrival.count == 0) arrival.operation = operation;
  if (arrival.operation == operation) ++arrival.count;
  if (arrival.count < width) {
    switch_to_scheduler();  // until the last lane has made this one ready
    return mine.word;
  }
  arrival.count = 0;
  std::array<std::uint32_t, 64> words;
  for (int index = begin; index < end; ++index) {
    words[static_cast<std::size_t>(index - begin)] = running->threads[static_cast<std::size_t>(index)].word;
  }
  for (int index = begin; index < end; ++index) {
    Thread& thread = running->threads[static_cast<std::size_t>(index)];
    thread.word = words[static_cast<std::size_t>(thread.source - first)];
    thread.state = State::ready;
  }
  return mine.word;
}

void fail(const std::string& message) {
  running->error = text("thread ", running->current, ": ", message);
  _longjmp(running->scheduler, 1);
}

void wave_barrier(Place place) {  // never left out: between two of its points a thread runs alone, which hides its need
  const int width = device().wave_size;
  exchange({place, 0, width, "wave_barrier"}, 0, running->current % width);
}

void wait_until(Place place, std::function<bool()> come) {
  if (is_omitted(place)) return;
  Thread& thread = this_thread();
  if (come()) return;
  thread.state = State::waiting;
  thread.place = place;
  thread.come = std::move(come);
  switch_to_scheduler();
}

void do_late(std::function<void()> work, int rank) {
  const Block& to = rank < 0 ? *running : (*running->cluster)[static_cast<std::size_t>(rank)];
  running->late.push_back({std::move(work), &to});
}

void begin_product(std::function<void()> work, const void* sums) {
  this_thread().products.back().push_back({std::move(work), sums});
}

void end_products() {
  this_thread().products.emplace_back();
  this_thread().left_is_fenced = false;
}

void wait_products(Place place, int left) {
  if (is_omitted(place)) return;
  auto& groups = this_thread().products;
  const std::size_t open = 1, done = groups.size() - std::min(groups.size(), open + static_cast<std::size_t>(left));
  for (std::size_t i = 0; i < done; ++i) {
    for (const Product& product : groups[i]) {
      product.work();
      if (product.sums != nullptr) this_thread().sums_are_fenced = this_thread().left_is_fenced = false;
    }
  }
  groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace kgen::simt

// The SIMT executor: runs the kernels of a GPU on the CPU, one fiber for each thread of a block, one block (or one
// cluster of blocks) after the other: from the first to the last, or in Order::reverse and Order::shuffled in a random
// order, which the seed says. It is strict where hardware is silent:
//
//   - a barrier wants every thread of the block, at the same place in the source;
//   - an operation of a wave wants every lane of its group, at the same place, and reads lanes of the group only;
//   - shared memory begins as NaN in every block, and ends where the launch said;
//   - a block whose shared memory another block has mapped leaves behind the cluster's next barrier only;
//   - a thread sends nothing to another block before it knows that all blocks of the cluster have begun;
//   - vector accesses are aligned;
//   - what is under way without a thread, such as a copy of the copy engine, is done when no thread can go on;
//   - what the async proxy reads and writes, and registers of its products, has been fenced (fences.cpp);
//   - where a launch is early, each thread awaits what is ahead of it before it accesses a View or leaves.
//
// Between two such points a thread runs alone, so that the order of the fibers decides who comes first: a missing
// barrier gives wrong values in one order or another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kgen::simt {

// Of threads that take turns; or, `ahead`, the first waves go as far as they can before the next ones go on.
enum class Order { forward, reverse, shuffled, ahead };

struct Launch {
  std::string name;
  std::int64_t blocks = 1;
  int threads = 1;
  std::size_t shared_bytes = 0;
  int cluster = 1;     // so many blocks run at the same time
  bool early = false;  // threads have to call await_earlier() before they access Views, or leave
};

// Where in the source threads meet.
struct Place {
  int line;
  std::string_view file;
  friend auto operator<=>(const Place&, const Place&) = default;
};
std::string name_of(const Place& place);  // "team.hpp:111"

// What the executor pretends to be. Tests change it; it belongs to the thread that launches. KGEN_SIMT_ORDER names the
// order that it begins with, forward, reverse, shuffled or ahead, and KGEN_SIMT_SEED the seed.
struct Device {
  int wave_size = 32;
  int multiprocessors = 4;
  std::size_t shared_bytes = 48 * 1024;  // that a block may ask for
  std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;  // of a grid
  std::int64_t cache_bytes = std::int64_t{50} << 20;
  bool small_tiles = false;  // of products by waves, where these pay: all products of tests are so small
  Order order = Order::forward;
  std::uint32_t seed = 1;                     // of what is random
  std::function<void(const Launch&)> notice;  // of each launch
  // Whether blocks do without the barrier, arrival, wait or fence there: what a kernel computes then shows what it is
  // for. Asked at each.
  std::function<bool(const Place&)> omits;
  std::function<void(const void*, std::size_t)> asks;  // of the bytes that a kernel asks into a cache
  // Whether nothing writes what is there while kernels run: they may read it before they have awaited what is ahead.
  std::function<bool(const void*)> lasts;
};
Device& device();

// A kernel did what it may not: "stub_y: rows: block 0, thread 17: ...".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs the kernel: body() once for each thread of each block. Throws Error.
void run(const Launch& launch, const std::function<void()>& body);

// Memory of the device, full of NaN.
void* allocate(std::size_t bytes);
void release(void* memory);

// ---- for the thread that runs

// What a wave does together: lanes of one group of `width` must agree in all of this.
struct WaveOperation {
  Place place;
  int argument;
  int width;
  std::string_view name;
  friend bool operator==(const WaveOperation&, const WaveOperation&) = default;
};

int thread_index();
int block_threads();
std::int64_t block_index();
std::int64_t block_count();
unsigned char* shared_memory();
// All of the shared memory that is in use, in bytes, counted from its start. More than the launch asked for is an error.
void require_shared(std::size_t bytes);
// An access to memory at a multiple of `alignment` bytes.
void access(const void* address, std::size_t alignment);
void await_earlier();
bool is_omitted(Place place);  // Device::omits
void block_barrier(Place place);
void wave_barrier(Place place);
int cluster_rank();
void cluster_barrier(Place place);
// The same in two steps, once: says that this thread has come, and waits for all of the cluster.
void cluster_arrive(Place place);
void cluster_await(Place place);
// Another block may not have begun for a thread that has done neither: it may send nothing there.
void require_begun();
// What `memory`, of this block's shared memory, is in block `rank` of the cluster.
void* cluster_shared(void* memory, int rank);
// The same for what is done at once, or waited for by that block: it may leave without a barrier of the cluster.
void* reach_shared(void* memory, int rank);
// Passes `word` to the lanes of the group, and returns that of lane `source` of the wave.
std::uint32_t exchange(const WaveOperation& operation, std::uint32_t word, int source);
// Ends the thread that runs, and with it the block, with that error.
[[noreturn]] void fail(const std::string& message);
// Waits until come() holds, which is asked again whenever others have run.
void wait_until(Place place, std::function<bool()> come);
// Does `work`, which writes the shared memory of block `rank` of the cluster (-1: of this one), when none of its
// threads can go on, or in Order::reverse the latest first, or in Order::shuffled any. That block may not leave before.
void do_late(std::function<void()> work, int rank = -1);
// Products of this thread that are under way: work that is done when they are waited for, in groups. `sums`: of the
// tensor cores', the registers that they add to.
void begin_product(std::function<void()> work, const void* sums = nullptr);
void end_products();                        // of a group
void wait_products(Place place, int left);  // for all groups but the `left` latest

// ---- fences, and what needs them (fences.cpp)

void fence_async_proxy(Place place);
void fence_registers(Place place);
void publish_mbarriers(Place place);
// The async proxy reads there, in this block's shared memory.
void read_async(const void* memory, std::size_t bytes);
// The async proxy will write there, in the shared memory of any block of the cluster; and it has.
void begin_write_async(void* memory, std::size_t bytes);
void end_write_async(const void* memory, std::size_t bytes);
// A product adds to these sums, its left operand in registers or in shared memory.
void use_registers(const void* sums, bool has_left);
// An mbarrier was made, and the copy engine or another block arrives at it.
void make_mbarrier(const void* mbarrier);
void reach_mbarrier(const void* mbarrier);

}  // namespace kgen::simt

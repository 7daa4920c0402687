// Launches, and what they need of the host's side of a GPU's library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "kgen/gpu/device.hpp"
#include "kgen/stream.hpp"

#if !defined(KGEN_SIMT)
#include "kgen/gpu/asked_once.hpp"
#endif
#if defined(KGEN_HIP)
#include "kgen/hip/api.hpp"
#elif !defined(KGEN_SIMT)
#include "kgen/cuda/api.hpp"
#endif

namespace kgen::gpu {

// A kernel's grid.
struct Grid {
  const char* kernel;  // its name in messages
  std::int64_t blocks;
  int threads;
  std::int64_t shared_bytes = 0;  // for each block
  int cluster = 1;                // so many neighbouring blocks form a cluster
};

// What launches ask of the current device.
struct DeviceLimits {
  int multiprocessors;
  std::int64_t shared_bytes;  // that one block may have
  int cluster_blocks;         // that one cluster may have; 1: there are none
  std::int64_t cache_bytes;   // of the second-level cache
};

#if defined(KGEN_SIMT)

inline DeviceLimits device_limits(Stream) {
  const simt::Device& device = simt::device();
  return {device.multiprocessors, static_cast<std::int64_t>(device.shared_bytes), most_cluster_blocks,
          device.cache_bytes};
}

// The blocks of so many threads that one grid may have, less than 2^31 of them.
inline std::int64_t most_blocks(int) { return simt::device().most_blocks; }

inline void* allocate(std::int64_t bytes, Stream) { return simt::allocate(static_cast<std::size_t>(bytes)); }
inline void release(void* memory, Stream) { simt::release(memory); }

namespace detail {
template <class... Parameters, class... Arguments>
void launch(const Grid& grid, bool early, Stream stream, void (*kernel)(Parameters...), const Arguments&... arguments) {
  simt::device().wave_size = wave_size;
  simt::run({std::string(stream.stub) + ": " + grid.kernel, grid.blocks, grid.threads,
             static_cast<std::size_t>(grid.shared_bytes), grid.cluster, early},
            [&] { kernel(arguments...); });
}
}  // namespace detail

#else

// Throws LaunchError where a call of the vendor's library failed.
inline void require(api::Status status, Stream stream, const std::string& doing) {
  if (status == api::success) return;
  throw LaunchError(std::string(stream.stub) + ": " + doing + " failed: " + api::text(status) + " (" +
                    api::name(status) + ")");
}

inline int current_device(Stream stream) {
  int device = 0;
  require(api::get_device(&device), stream, "asking for the current device");
  return device;
}

inline DeviceLimits device_limits(Stream stream) {
  static AskedOnce<DeviceLimits> known;
  const int device = current_device(stream);
  return known({device}, [&]() -> DeviceLimits {
    int multiprocessors = 0, bytes = 0, clusters = 0, cache = 0;
    require(api::multiprocessors(&multiprocessors, device), stream, "asking for the device's multiprocessors");
    require(api::shared_bytes(&bytes, device), stream, "asking for the device's shared memory");
    require(api::has_clusters(&clusters, device), stream, "asking whether the device has clusters");
    require(api::cache_bytes(&cache, device), stream, "asking for the device's cache");
    return {multiprocessors, bytes, clusters != 0 ? most_cluster_blocks : 1, cache};
  });
}

inline std::int64_t most_blocks(int threads) { return api::most_blocks(threads); }

inline void* allocate(std::int64_t bytes, Stream stream) {
  void* memory = nullptr;
  require(api::allocate(&memory, static_cast<std::size_t>(bytes), stream.handle), stream,
          "allocating " + std::to_string(bytes) + " bytes");
  return memory;
}
inline void release(void* memory, Stream stream) { (void)api::release(memory, stream.handle); }

namespace detail {
inline std::string doing(const Grid& grid) {
  return "launching " + std::string(grid.kernel) + " of " + std::to_string(grid.blocks) + " blocks of " +
         std::to_string(grid.threads) + " threads with " + std::to_string(grid.shared_bytes) +
         " bytes of shared memory";
}
// Lets the kernel have the grid's shared memory, if it is not known to.
inline void grant_shared(const Grid& grid, Stream stream, const void* kernel) {
  constexpr std::int64_t granted = 48 * 1024;  // without asking
  if (grid.shared_bytes <= granted) return;
  static AskedOnce<std::int64_t> known;  // what was granted, which only grows
  const auto is_enough = [&](std::int64_t bytes) { return grid.shared_bytes <= bytes; };
  const auto grant = [&] {
    require(api::allow_shared(kernel, static_cast<int>(grid.shared_bytes)), stream, doing(grid));
    return grid.shared_bytes;
  };
  known({current_device(stream), kernel}, is_enough, grant);
}

template <class... Parameters, class... Arguments>
void launch(const Grid& grid, bool early, Stream stream, void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (grid.blocks > most_blocks(grid.threads)) {
    throw LaunchError(std::string(stream.stub) + ": " + doing(grid) + ": too many blocks");
  }
  grant_shared(grid, stream, reinterpret_cast<const void*>(kernel));
  const api::Status status = api::launch(grid, early, stream.handle, kernel, arguments...);
  if (status != api::success) require(status, stream, doing(grid));
}
}  // namespace detail

#endif

// The grid of a kernel that goes over its work in steps of block_count(): a million blocks keep any device busy.
inline std::int64_t blocks_for(std::int64_t work, int threads) {
  return std::min({work, std::int64_t{1} << 20, most_blocks(threads)});
}

// Both throw LaunchError where the grid is more than the device can run.
template <class... Parameters, class... Arguments>
void launch(const Grid& grid, Stream stream, void (*kernel)(Parameters...), const Arguments&... arguments) {
  detail::launch(grid, false, stream, kernel, arguments...);
}
// The same for a kernel whose threads call take_turn(): its blocks may find their places, and wait there, while what is
// ahead of it on the stream ends. On an H200 that hides 0.3 to 0.9 us.
template <class... Parameters, class... Arguments>
void launch_early(const Grid& grid, Stream stream, void (*kernel)(Parameters...), const Arguments&... arguments) {
  detail::launch(grid, true, stream, kernel, arguments...);
}

// Memory of the device for the kernels that are launched on a stream while this lives: one at a time. The stream's own,
// or allocated in its order, which in a captured graph are two nodes more.
class Workspace {
 public:
  Workspace(std::int64_t bytes, Stream stream) : stream_(stream) {
    if (bytes == 0) return;
    if (stream.workspace != nullptr) memory_ = static_cast<unsigned char*>(stream.workspace(stream.owner, bytes));
    is_own_ = memory_ == nullptr;
    if (is_own_) memory_ = static_cast<unsigned char*>(allocate(bytes, stream));
  }
  ~Workspace() {
    if (is_own_) release(memory_, stream_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  unsigned char* data() const { return memory_; }
  // The stream for what else is launched while this lives, which may need memory as well: its own is taken.
  Stream stream() const {
    Stream rest = stream_;
    if (memory_ != nullptr) rest.workspace = nullptr;
    return rest;
  }

 private:
  Stream stream_;
  unsigned char* memory_ = nullptr;
  bool is_own_ = false;
};

}  // namespace kgen::gpu

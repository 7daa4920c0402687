// What the runtime asks of a device. A vendor is one table of functions, so that all above it is written once; tests
// bring a table of their own.
#pragma once

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace kgen {

// The vendor's own handles. A null stream is the device's default stream.
using StreamHandle = void*;
using EventHandle = void*;
using ReplayHandle = void*;  // a captured graph, ready to be launched

// Every function throws kgen::Error, which says what the vendor's call was and what came of it, unless it is noexcept.
// KGEN_OUT_OF_MEMORY where memory was asked for and there is none, else KGEN_DEVICE_ERROR.
struct DeviceApi {
  const char* name;          // "cuda", as in messages
  DLDeviceType memory_type;  // of its memory
  DLDeviceType pinned_type;  // of page-locked host memory, which it reads and writes too
  bool is_host;              // work is done when its call returns, on memory that the host reads by its address

  int (*count)();             // of devices
  int (*select)(int device);  // for the calls of this thread; returns the one before

  // Memory of at least one byte; its content is undefined. Freed after what the stream was given before.
  void* (*allocate)(std::size_t bytes, StreamHandle stream);
  void (*free)(void* memory, std::size_t bytes, StreamHandle stream) noexcept;
  void* (*allocate_pinned)(std::size_t bytes);
  void (*free_pinned)(void* memory, std::size_t bytes) noexcept;
  // Either side may be on the host. Host memory that is not pinned may be reused when the call returns.
  void (*copy)(void* to, const void* from, std::size_t bytes, StreamHandle stream);
  void (*fill)(void* memory, int byte, std::size_t bytes, StreamHandle stream);  // with 0: a whole allocation

  StreamHandle (*create_stream)();
  void (*destroy_stream)(StreamHandle stream) noexcept;
  void (*wait_for_stream)(StreamHandle stream);  // on the host
  EventHandle (*create_event)(bool timed);
  void (*destroy_event)(EventHandle event) noexcept;
  void (*record)(EventHandle event, StreamHandle stream);
  void (*wait)(StreamHandle stream, EventHandle event);
  void (*wait_for_event)(EventHandle event);                       // on the host
  std::int64_t (*elapsed_ns)(EventHandle begin, EventHandle end);  // of timed events that have happened

  // What streams are given between the two, `stream` and those that wait for its events, is not done but kept.
  void (*begin_capture)(StreamHandle stream);
  // `old`, which may be null, is made into what was captured and returned where that can be. Streams are no longer
  // captured then, also after an error.
  ReplayHandle (*end_capture)(StreamHandle stream, ReplayHandle old);
  void (*discard_capture)(StreamHandle stream) noexcept;
  void (*replay)(ReplayHandle replay, StreamHandle stream);
  void (*destroy_replay)(ReplayHandle replay) noexcept;
  // Whether someone captures what this stream of the caller's is given.
  bool (*is_capturing)(StreamHandle stream);
  // What this thread may call while anyone captures, as CUDA and HIP number it; returns the one before.
  int (*exchange_capture_mode)(int mode);

  // The error that launches of kernels have left on this thread, which is then forgotten; "": none.
  std::string (*take_launch_error)();
  // Ranges on the timeline of the vendor's profiler.
  void (*push_range)(const char* name);
  void (*pop_range)() noexcept;
};

extern const DeviceApi cpu_device;
namespace cuda {
extern const DeviceApi device;  // in kgen::runtime_cuda
}
namespace hip {
extern const DeviceApi device;  // in kgen::runtime_hip
}

// "cpu", "cuda:1", "pinned host memory (cuda)"; the number of what DLPack 0.6 does not know.
std::string device_text(DLDevice device);

// Makes a device the calling thread's until it leaves its C++ scope.
class [[nodiscard]] DeviceScope {
 public:
  DeviceScope(const DeviceApi& api, int device) : api_(api), before_(api.select(device)) {}
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  const DeviceApi& api_;
  int before_;
};

// While it lives, this thread may allocate, copy and wait as ever on streams that are not captured, though another is.
class [[nodiscard]] RelaxedCapture {
 public:
  explicit RelaxedCapture(const DeviceApi& api) : api_(api), before_(api.exchange_capture_mode(relaxed)) {}
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  static constexpr int relaxed = 2;
  const DeviceApi& api_;
  int before_;
};

// Owners of handles, for the device that is selected when they are made.
template <void (*DeviceApi::*destroy)(void*) noexcept>
struct DestroyHandle {
  const DeviceApi* api;
  void operator()(void* handle) const { (api->*destroy)(handle); }
};
template <void (*DeviceApi::*destroy)(void*) noexcept>
using Handle = std::unique_ptr<void, DestroyHandle<destroy>>;
using OwnedStream = Handle<&DeviceApi::destroy_stream>;
using OwnedEvent = Handle<&DeviceApi::destroy_event>;
using OwnedReplay = Handle<&DeviceApi::destroy_replay>;

inline OwnedStream make_stream(const DeviceApi& api) { return OwnedStream(api.create_stream(), {&api}); }
inline OwnedEvent make_event(const DeviceApi& api, bool timed) { return OwnedEvent(api.create_event(timed), {&api}); }

// Memory of a device, or pinned memory for it.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;  // no bytes
  static DeviceBuffer undefined(const DeviceApi& api, std::size_t bytes, StreamHandle stream);
  static DeviceBuffer zeroed(const DeviceApi& api, std::size_t bytes, StreamHandle stream);
  static DeviceBuffer pinned(const DeviceApi& api, std::size_t bytes);

  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer() { release(); }

  std::byte* data() const { return data_; }  // null where there are no bytes
  std::size_t size() const { return size_; }
  // Gives the memory back, after what its stream was given before.
  void release() noexcept;

 private:
  DeviceBuffer(const DeviceApi& api, void* data, std::size_t size, StreamHandle stream, bool is_pinned)
      : api_(&api), data_(static_cast<std::byte*>(data)), size_(size), stream_(stream), is_pinned_(is_pinned) {}

  const DeviceApi* api_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  StreamHandle stream_ = nullptr;
  bool is_pinned_ = false;
};

}  // namespace kgen

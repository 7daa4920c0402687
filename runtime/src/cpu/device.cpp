// The CPU as a device: everything is done when its call returns, so streams are null and an event is a moment.
#include "kgen/runtime/device.hpp"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <new>

namespace kgen {
namespace {

using Moment = std::chrono::steady_clock::time_point;

Moment& moment(EventHandle event) { return *static_cast<Moment*>(event); }

int count() { return 1; }

int select(int) { return 0; }

// Pages are not reserved: states are as large as the graph's dims may become, and most runs touch little of them.
void* allocate_pages(std::size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return data;
}

void free_pages(void* memory, std::size_t bytes) noexcept { ::munmap(memory, bytes); }

// Intermediates and packed weights are read from end to end in every run: in pages of 2 MB, where the system has them,
// of which a few dozen lead to them all, instead of thousands. Tried alone, ResNet-50 took 4 % less time so,
// MobileNetV3 3 %.
void* allocate(std::size_t bytes, StreamHandle) {
  constexpr std::size_t least = std::size_t{4} << 20;
  void* data = allocate_pages(bytes);
  if (bytes >= least) ::madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

void free(void* memory, std::size_t bytes, StreamHandle) noexcept { free_pages(memory, bytes); }

void copy(void* to, const void* from, std::size_t bytes, StreamHandle) { std::memcpy(to, from, bytes); }

// Zeroes whole buffers by giving their pages back, which leaves those untouched that never were in use: small ones, as
// states are filled little by little.
void fill(void* memory, int byte, std::size_t bytes, StreamHandle) {
  if (byte == 0) ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  if (byte == 0 && ::madvise(memory, bytes, MADV_DONTNEED) == 0) return;
  std::memset(memory, byte, bytes);
}

StreamHandle create_stream() { return nullptr; }

void destroy_stream(StreamHandle) noexcept {}

void wait_for_stream(StreamHandle) {}

EventHandle create_event(bool) { return new Moment(); }

void destroy_event(EventHandle event) noexcept { delete static_cast<Moment*>(event); }

void record(EventHandle event, StreamHandle) { moment(event) = std::chrono::steady_clock::now(); }

void wait(StreamHandle, EventHandle) {}

void wait_for_event(EventHandle) {}

std::int64_t elapsed_ns(EventHandle begin, EventHandle end) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(moment(end) - moment(begin)).count();
}

std::string take_launch_error() { return {}; }

void push_range(const char*) {}

void pop_range() noexcept {}

}  // namespace

const DeviceApi cpu_device = {
    .name = "cpu",
    .memory_type = kDLCPU,
    .pinned_type = kDLCPU,
    .is_host = true,
    .count = count,
    .select = select,
    .allocate = allocate,
    .free = free,
    .allocate_pinned = allocate_pages,
    .free_pinned = free_pages,
    .copy = copy,
    .fill = fill,
    .create_stream = create_stream,
    .destroy_stream = destroy_stream,
    .wait_for_stream = wait_for_stream,
    .create_event = create_event,
    .destroy_event = destroy_event,
    .record = record,
    .wait = wait,
    .wait_for_event = wait_for_event,
    .elapsed_ns = elapsed_ns,
    .begin_capture = nullptr,  // nothing is gained by replaying what is done at once
    .end_capture = nullptr,
    .discard_capture = nullptr,
    .replay = nullptr,
    .destroy_replay = nullptr,
    .is_capturing = nullptr,
    .exchange_capture_mode = nullptr,
    .take_launch_error = take_launch_error,
    .push_range = push_range,
    .pop_range = pop_range,
};

}  // namespace kgen

// The table of a GPU vendor: the whole of src/cuda/device.cpp and of src/hip/device.cpp after their vendor.hpp. The two
// runtimes differ in the prefix of their names, and in what vendor.hpp says besides.
#pragma once

#include <utility>

#include "kgen/runtime/device.hpp"
#include "runtime/src/text.hpp"

// KGEN_CALL(StreamCreate, &stream): the vendor's call, whose error is thrown under its name.
#define KGEN_CALL(function, ...) require_success(KGEN_VENDOR(function)(__VA_ARGS__), vendor::prefix, #function)

namespace kgen {
namespace {

using Stream = KGEN_VENDOR(Stream_t);
using Event = KGEN_VENDOR(Event_t);
using GraphExec = KGEN_VENDOR(GraphExec_t);

constexpr auto success = KGEN_VENDOR(Success);

std::string error_text(KGEN_VENDOR(Error_t) error) {
  return concat(KGEN_VENDOR(GetErrorString)(error), " (", KGEN_VENDOR(GetErrorName)(error), ")");
}

void require_success(KGEN_VENDOR(Error_t) error, const char* prefix, const char* function) {
  if (error == success) return;
  (void)KGEN_VENDOR(GetLastError)();  // reported here, and not again as a launch error
  fail(error == vendor::out_of_memory ? KGEN_OUT_OF_MEMORY : KGEN_DEVICE_ERROR, prefix, function, ": ",
       error_text(error));
}

// For what must not throw: there is nobody to tell, and the device's errors show again in the next call.
void ignore(KGEN_VENDOR(Error_t) error) {
  if (error != success) (void)KGEN_VENDOR(GetLastError)();
}

Stream stream_of(StreamHandle stream) { return static_cast<Stream>(stream); }
Event event_of(EventHandle event) { return static_cast<Event>(event); }
GraphExec exec_of(ReplayHandle replay) { return static_cast<GraphExec>(replay); }

// A captured graph, until it is ready to be launched.
struct CapturedGraph {
  KGEN_VENDOR(Graph_t) graph = nullptr;
  ~CapturedGraph() {
    if (graph != nullptr) ignore(KGEN_VENDOR(GraphDestroy)(graph));
  }
};

// ---- devices and memory

int count() {
  int devices = 0;
  KGEN_CALL(GetDeviceCount, &devices);
  return devices;
}

int select(int device) {
  int before = 0;
  KGEN_CALL(GetDevice, &before);
  if (device != before) KGEN_CALL(SetDevice, device);
  return before;
}

void* allocate(std::size_t bytes, StreamHandle stream) {
  void* memory = nullptr;
  const auto error = KGEN_VENDOR(MallocAsync)(&memory, bytes, stream_of(stream));
  if (error != success) {
    (void)KGEN_VENDOR(GetLastError)();
    fail(error == vendor::out_of_memory ? KGEN_OUT_OF_MEMORY : KGEN_DEVICE_ERROR, vendor::prefix, "MallocAsync of ",
         bytes, " bytes: ", error_text(error));
  }
  return memory;
}

void free(void* memory, std::size_t, StreamHandle stream) noexcept {
  ignore(KGEN_VENDOR(FreeAsync)(memory, stream_of(stream)));
}

void* allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  require_success(vendor::allocate_host(&memory, bytes), vendor::prefix, "HostAlloc");
  return memory;
}

void free_pinned(void* memory, std::size_t) noexcept { ignore(vendor::free_host(memory)); }

void copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) {
  KGEN_CALL(MemcpyAsync, to, from, bytes, KGEN_VENDOR(MemcpyDefault), stream_of(stream));
}

void fill(void* memory, int byte, std::size_t bytes, StreamHandle stream) {
  KGEN_CALL(MemsetAsync, memory, byte, bytes, stream_of(stream));
}

// ---- streams and events

// Streams do not wait for the default stream: whoever passes tensors says on which stream they are ready.
StreamHandle create_stream() {
  Stream stream = nullptr;
  KGEN_CALL(StreamCreateWithFlags, &stream, KGEN_VENDOR(StreamNonBlocking));
  return stream;
}

void destroy_stream(StreamHandle stream) noexcept { ignore(KGEN_VENDOR(StreamDestroy)(stream_of(stream))); }

void wait_for_stream(StreamHandle stream) { KGEN_CALL(StreamSynchronize, stream_of(stream)); }

EventHandle create_event(bool timed) {
  Event event = nullptr;
  KGEN_CALL(EventCreateWithFlags, &event, timed ? KGEN_VENDOR(EventDefault) : KGEN_VENDOR(EventDisableTiming));
  return event;
}

void destroy_event(EventHandle event) noexcept { ignore(KGEN_VENDOR(EventDestroy)(event_of(event))); }

void record(EventHandle event, StreamHandle stream) { KGEN_CALL(EventRecord, event_of(event), stream_of(stream)); }

void wait(StreamHandle stream, EventHandle event) { KGEN_CALL(StreamWaitEvent, stream_of(stream), event_of(event), 0); }

void wait_for_event(EventHandle event) { KGEN_CALL(EventSynchronize, event_of(event)); }

std::int64_t elapsed_ns(EventHandle begin, EventHandle end) {
  float milliseconds = 0;
  KGEN_CALL(EventElapsedTime, &milliseconds, event_of(begin), event_of(end));
  return static_cast<std::int64_t>(double{milliseconds} * 1e6);
}

// ---- capture

void begin_capture(StreamHandle stream) {
  KGEN_CALL(StreamBeginCapture, stream_of(stream), KGEN_VENDOR(StreamCaptureModeThreadLocal));
}

ReplayHandle end_capture(StreamHandle stream, ReplayHandle old) {
  CapturedGraph captured;
  KGEN_CALL(StreamEndCapture, stream_of(stream), &captured.graph);
  if (old != nullptr) {
    const auto error = vendor::update(exec_of(old), captured.graph);
    if (error == success) return old;
    ignore(error);  // another topology, most likely
  }
  GraphExec exec = nullptr;
  require_success(vendor::instantiate(&exec, captured.graph), vendor::prefix, "GraphInstantiate");
  return exec;
}

void discard_capture(StreamHandle stream) noexcept {
  CapturedGraph captured;
  ignore(KGEN_VENDOR(StreamEndCapture)(stream_of(stream), &captured.graph));
}

void replay(ReplayHandle replay, StreamHandle stream) { KGEN_CALL(GraphLaunch, exec_of(replay), stream_of(stream)); }

void destroy_replay(ReplayHandle replay) noexcept { ignore(KGEN_VENDOR(GraphExecDestroy)(exec_of(replay))); }

bool is_capturing(StreamHandle stream) {
  auto status = KGEN_VENDOR(StreamCaptureStatusNone);
  KGEN_CALL(StreamIsCapturing, stream_of(stream), &status);
  return status != KGEN_VENDOR(StreamCaptureStatusNone);
}

int exchange_capture_mode(int mode) {
  auto exchanged = static_cast<KGEN_VENDOR(StreamCaptureMode)>(mode);
  require_success(vendor::exchange_mode(&exchanged), vendor::prefix, "ThreadExchangeStreamCaptureMode");
  return static_cast<int>(exchanged);
}

// ---- errors of launches

std::string take_launch_error() {
  const auto error = KGEN_VENDOR(GetLastError)();
  return error == success ? std::string() : error_text(error);
}

}  // namespace

const DeviceApi vendor::device = {
    .name = vendor::name,
    .memory_type = vendor::memory_type,
    .pinned_type = vendor::pinned_type,
    .is_host = false,
    .count = count,
    .select = select,
    .allocate = allocate,
    .free = free,
    .allocate_pinned = allocate_pinned,
    .free_pinned = free_pinned,
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
    .begin_capture = begin_capture,
    .end_capture = end_capture,
    .discard_capture = discard_capture,
    .replay = replay,
    .destroy_replay = destroy_replay,
    .is_capturing = is_capturing,
    .exchange_capture_mode = exchange_capture_mode,
    .take_launch_error = take_launch_error,
    .push_range = vendor::push_range,
    .pop_range = vendor::pop_range,
};

}  // namespace kgen

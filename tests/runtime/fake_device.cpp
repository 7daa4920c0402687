#include "fake_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "kgen/runtime/error.hpp"

namespace fake {
namespace {

struct Failure {
  std::string call;
  int after;
  kgen_status status;
  std::string text;
};

struct Device {
  std::vector<std::string> log;
  std::map<const std::byte*, std::size_t> memory;
  std::map<void*, std::string> handles;  // streams, events and replays, by what they are called
  int streams = 0, events = 0, replays = 0;
  std::int64_t now = 0;
  std::map<void*, std::int64_t> recorded_at;
  int selected = 0;
  std::string launch_error;
  std::optional<Failure> failure;
  bool is_capturing = false;
  kgen::StreamHandle captured_by_user = nullptr;
};
Device state;

template <class... Parts>
void log(const Parts&... parts) {
  std::ostringstream line;
  (line << ... << parts);
  state.log.push_back(line.str());
}

// Every call that may fail comes here first.
void enter(const char* call) {
  if (!state.failure || state.failure->call != call || state.failure->after-- > 0) return;
  const Failure failure = *state.failure;
  state.failure.reset();
  throw kgen::Error(failure.status, failure.text);
}

std::string name_of(void* handle) {
  if (handle == nullptr) return "default";
  const auto found = state.handles.find(handle);
  return found == state.handles.end() ? "user" : found->second;
}

void* make_handle(const std::string& name) {
  void* handle = std::malloc(1);
  state.handles[handle] = name;
  return handle;
}

void* make_numbered(std::string name, int number) { return make_handle(name += std::to_string(number)); }

void destroy(void* handle) noexcept {
  state.handles.erase(handle);
  state.recorded_at.erase(handle);
  std::free(handle);
}

int count() {
  enter("count");
  return 2;
}

int select(int device) { return std::exchange(state.selected, device); }

void* allocate(std::size_t bytes, kgen::StreamHandle stream) {
  enter("allocate");
  if (state.is_capturing) throw kgen::Error(KGEN_DEVICE_ERROR, "fakeMalloc: not while a stream is captured");
  log("allocate ", bytes, " ", name_of(stream));
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::memset(memory, 0xCD, bytes);
  state.memory[memory] = bytes;
  return memory;
}

void free(void* memory, std::size_t, kgen::StreamHandle stream) noexcept {
  log("free ", name_of(stream));
  state.memory.erase(static_cast<std::byte*>(memory));
  std::free(memory);
}

void* allocate_pinned(std::size_t bytes) {
  enter("allocate_pinned");
  log("allocate_pinned ", bytes);
  return make_handle("pinned"), std::malloc(bytes);
}

void free_pinned(void* memory, std::size_t) noexcept {
  const auto pinned = std::ranges::find(state.handles, "pinned", &std::pair<void* const, std::string>::second);
  destroy(pinned->first);
  std::free(memory);
}

void copy(void* to, const void* from, std::size_t bytes, kgen::StreamHandle stream) {
  enter("copy");
  log("copy ", bytes, " ", name_of(stream));
  std::memcpy(to, from, bytes);
}

void fill(void* memory, int byte, std::size_t bytes, kgen::StreamHandle stream) {
  enter("fill");
  log("fill ", byte, " ", name_of(stream));
  std::memset(memory, byte, bytes);
}

kgen::StreamHandle create_stream() {
  enter("create_stream");
  return make_numbered("s", state.streams++);
}

void wait_for_stream(kgen::StreamHandle stream) {
  enter("wait_for_stream");
  log("wait_for_stream ", name_of(stream));
}

kgen::EventHandle create_event(bool timed) {
  enter("create_event");
  return make_numbered(timed ? "t" : "e", state.events++);
}

void record(kgen::EventHandle event, kgen::StreamHandle stream) {
  enter("record");
  log("record ", name_of(event), " ", name_of(stream));
  state.recorded_at[event] = state.now += 1000;
}

void wait(kgen::StreamHandle stream, kgen::EventHandle event) {
  enter("wait");
  log("wait ", name_of(stream), " ", name_of(event));
}

void wait_for_event(kgen::EventHandle event) { log("wait_for_event ", name_of(event)); }

std::int64_t elapsed_ns(kgen::EventHandle begin, kgen::EventHandle end) {
  return state.recorded_at.at(end) - state.recorded_at.at(begin);
}

void begin_capture(kgen::StreamHandle stream) {
  enter("begin_capture");
  log("begin_capture ", name_of(stream));
  state.is_capturing = true;
}

kgen::ReplayHandle end_capture(kgen::StreamHandle stream, kgen::ReplayHandle old) {
  log("end_capture ", name_of(stream), old == nullptr ? "" : " into " + name_of(old));
  state.is_capturing = false;
  enter("end_capture");
  return old == nullptr ? make_numbered("r", state.replays++) : old;
}

void discard_capture(kgen::StreamHandle stream) noexcept {
  log("discard_capture ", name_of(stream));
  state.is_capturing = false;
}

void replay(kgen::ReplayHandle replay, kgen::StreamHandle stream) {
  enter("replay");
  log("replay ", name_of(replay), " ", name_of(stream));
}

bool is_capturing(kgen::StreamHandle stream) { return stream != nullptr && stream == state.captured_by_user; }

int exchange_capture_mode(int mode) {
  log("capture_mode ", mode);
  return 0;
}

std::string take_launch_error() { return std::exchange(state.launch_error, {}); }

void push_range(const char* name) { log("push ", name); }

void pop_range() noexcept { log("pop"); }

}  // namespace

const kgen::DeviceApi device = {
    .name = "fake",
    .memory_type = kDLCUDA,
    .pinned_type = kDLCUDAHost,
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
    .destroy_stream = destroy,
    .wait_for_stream = wait_for_stream,
    .create_event = create_event,
    .destroy_event = destroy,
    .record = record,
    .wait = wait,
    .wait_for_event = wait_for_event,
    .elapsed_ns = elapsed_ns,
    .begin_capture = begin_capture,
    .end_capture = end_capture,
    .discard_capture = discard_capture,
    .replay = replay,
    .destroy_replay = destroy,
    .is_capturing = is_capturing,
    .exchange_capture_mode = exchange_capture_mode,
    .take_launch_error = take_launch_error,
    .push_range = push_range,
    .pop_range = pop_range,
};

std::vector<std::string> take_log() { return std::exchange(state.log, {}); }

std::vector<std::string> only(const std::vector<std::string>& log, const std::vector<std::string>& words) {
  std::vector<std::string> lines;
  for (const std::string& line : log) {
    if (std::ranges::count(words, line.substr(0, line.find(' '))) > 0) lines.push_back(line);
  }
  return lines;
}

void fail_at(const std::string& call, int after, kgen_status status, const std::string& text) {
  state.failure = {call, after, status, text};
}

void set_launch_error(const std::string& text) { state.launch_error = text; }

void capture_by_user(kgen::StreamHandle stream) { state.captured_by_user = stream; }

int live_handles() { return static_cast<int>(state.handles.size() + state.memory.size()); }

bool is_device_memory(const void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  auto next = state.memory.upper_bound(at);
  if (next == state.memory.begin()) return false;
  --next;
  return at < next->first + next->second;
}

int selected_device() { return state.selected; }

kgen::StreamHandle stream(int number) { return reinterpret_cast<kgen::StreamHandle>(std::uintptr_t{16} + number); }

}  // namespace fake

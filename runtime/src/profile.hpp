// Times of stubs and runs, while a model is profiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kgen/runtime/device.hpp"
#include "kgen_runtime.h"

namespace kgen {

class Profile {
 public:
  explicit Profile(const DeviceApi& api) : api_(api) {}

  void start();
  // Waits for what was recorded.
  void stop();
  bool running() const { return running_; }
  // The moment at which `stream` has done what it was given before.
  EventHandle mark(StreamHandle stream);
  // `stream` is its number, for the timeline.
  void record(const char* name, int stream, EventHandle begin, EventHandle end) {
    events_.push_back({name, stream, begin, end});
  }

  // By name, greatest total first. Filled by stop().
  const std::vector<kgen_profile_entry>& entries() const { return entries_; }
  // Chrome trace JSON. Throws Error: KGEN_FILE_ERROR.
  void write_trace(const std::string& path) const;

 private:
  struct Event {
    const char* name;
    int stream;
    EventHandle begin, end;
  };
  struct Span {
    const char* name;
    int stream;
    std::int64_t begin_ns;  // from the beginning of the first
    std::int64_t duration_ns;
  };
  void measure();

  const DeviceApi& api_;
  bool running_ = false;
  std::vector<OwnedEvent> marks_;
  std::vector<Event> events_;  // while it runs
  std::vector<Span> spans_;    // once it has stopped
  std::vector<kgen_profile_entry> entries_;
};

}  // namespace kgen

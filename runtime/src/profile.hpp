// Times of stubs and runs, while a model is profiled.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "kgen_runtime.h"

namespace kgen {

class Profile {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void start();
  void stop();
  bool running() const { return running_; }
  void record(const char* name, Time begin, Time end) { events_.push_back({name, begin, end}); }

  // By name, greatest total first. Filled by stop().
  const std::vector<kgen_profile_entry>& entries() const { return entries_; }
  // Chrome trace JSON. Throws Error: KGEN_FILE_ERROR.
  void write_trace(const std::string& path) const;

 private:
  struct Event {
    const char* name;
    Time begin, end;
  };

  bool running_ = false;
  Time origin_;  // of the timeline
  std::vector<Event> events_;
  std::vector<kgen_profile_entry> entries_;
};

}  // namespace kgen

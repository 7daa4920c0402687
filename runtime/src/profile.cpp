#include "runtime/src/profile.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <string_view>
#include <unordered_map>

#include "runtime/src/text.hpp"

namespace kgen {
namespace {

double microseconds(Profile::Time::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

void Profile::start() {
  events_.clear();
  entries_.clear();
  origin_ = std::chrono::steady_clock::now();
  running_ = true;
}

void Profile::stop() {
  if (!running_) return;
  running_ = false;
  std::unordered_map<std::string_view, std::size_t> entry_of;
  for (const Event& event : events_) {
    const auto [found, is_new] = entry_of.try_emplace(event.name, entries_.size());
    if (is_new) entries_.push_back({event.name, 0, 0});
    kgen_profile_entry& entry = entries_[found->second];
    ++entry.count;
    entry.total_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(event.end - event.begin).count();
  }
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const auto& left, const auto& right) { return left.total_ns > right.total_ns; });
}

// Names are C++ identifiers, so they need no escapes.
void Profile::write_trace(const std::string& path) const {
  std::ofstream file(path);
  file << std::fixed << std::setprecision(3) << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  const char* separator = "\n";
  for (const Event& event : events_) {
    file << separator << R"({"name": ")" << event.name << R"(", "ph": "X", "pid": 1, "tid": 1, "ts": )"
         << microseconds(event.begin - origin_) << R"(, "dur": )" << microseconds(event.end - event.begin) << "}";
    separator = ",\n";
  }
  file << "\n]}\n";
  file.close();
  if (!file) fail(KGEN_FILE_ERROR, "cannot write '", path, "': ", std::strerror(errno));
}

}  // namespace kgen

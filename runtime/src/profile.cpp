#include "runtime/src/profile.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/src/text.hpp"

namespace kgen {
namespace {

// "12.345", whatever the process's locale is.
std::string microseconds(std::int64_t nanoseconds) {
  const std::string thousandths = std::to_string(nanoseconds % 1000 + 1000);
  return concat(nanoseconds / 1000, '.', thousandths.substr(1));
}

}  // namespace

void Profile::start() {
  events_.clear();
  marks_.clear();
  spans_.clear();
  entries_.clear();
  running_ = true;
}

EventHandle Profile::mark(StreamHandle stream) {
  const EventHandle event = marks_.emplace_back(make_event(api_, true)).get();
  api_.record(event, stream);
  return event;
}

// A GPU counts the time between two events as a float, so each beginning is measured from the one before it.
void Profile::measure() {
  std::int64_t begin_ns = 0;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    api_.wait_for_event(event.end);
    if (i > 0) begin_ns += api_.elapsed_ns(events_[i - 1].begin, event.begin);
    spans_.push_back({event.name, event.stream, begin_ns, api_.elapsed_ns(event.begin, event.end)});
  }
  // What ends last is recorded last: a run begins before its stubs.
  std::int64_t first_ns = 0;
  for (const Span& span : spans_) first_ns = std::min(first_ns, span.begin_ns);
  for (Span& span : spans_) span.begin_ns -= first_ns;
}

void Profile::stop() {
  if (!running_) return;
  running_ = false;
  measure();
  events_.clear();
  marks_.clear();
  std::unordered_map<std::string_view, std::size_t> entry_of;
  for (const Span& span : spans_) {
    const auto [found, is_new] = entry_of.try_emplace(span.name, entries_.size());
    if (is_new) entries_.push_back({span.name, 0, 0});
    kgen_profile_entry& entry = entries_[found->second];
    ++entry.count;
    entry.total_ns += span.duration_ns;
  }
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const auto& left, const auto& right) { return left.total_ns > right.total_ns; });
}

// A row of the timeline for each stream. Names are C++ identifiers, so they need no escapes.
void Profile::write_trace(const std::string& path) const {
  // No stream: text.hpp says why.
  std::FILE* file = std::fopen(path.c_str(), "w");
  bool written = file != nullptr && std::fputs(R"({"displayTimeUnit": "ns", "traceEvents": [)", file) >= 0;
  const char* separator = "\n";
  for (const Span& span : spans_) {
    if (!written) break;
    const std::string event =
        concat(separator, R"({"name": ")", span.name, R"(", "ph": "X", "pid": 1, "tid": )", span.stream + 1,
               R"(, "ts": )", microseconds(span.begin_ns), R"(, "dur": )", microseconds(span.duration_ns), "}");
    written = std::fputs(event.c_str(), file) >= 0;
    separator = ",\n";
  }
  written = written && std::fputs("\n]}\n", file) >= 0;
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  if (!written) fail(KGEN_FILE_ERROR, "cannot write '", path, "': ", std::strerror(errno));
}

}  // namespace kgen

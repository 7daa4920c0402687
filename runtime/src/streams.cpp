#include "runtime/src/streams.hpp"

namespace kgen {

StreamHandle Streams::at(int stream) {
  if (single_ || stream <= 0) return first_;
  while (others_.size() < static_cast<std::size_t>(stream)) others_.push_back(make_stream(api_));
  return others_[static_cast<std::size_t>(stream) - 1].get();
}

EventHandle Streams::event(int number) {
  const auto index = static_cast<std::size_t>(number);
  while (events_.size() <= index) events_.push_back(make_event(api_, false));
  return events_[index].get();
}

void Streams::order(StreamHandle before, StreamHandle after) {
  if (before == after) return;
  api_.record(order_.get(), before);
  api_.wait(after, order_.get());
}

}  // namespace kgen

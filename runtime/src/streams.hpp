// The streams and events of a model, by the numbers that its wrapper gives them; made when they are first asked for.
#pragma once

#include <vector>

#include "kgen/runtime/device.hpp"

namespace kgen {

class Streams {
 public:
  explicit Streams(const DeviceApi& api) : api_(api), own_(make_stream(api)), order_(make_event(api, false)) {}

  // The model's own: its memory comes and goes in the order of this one.
  StreamHandle own() const { return own_.get(); }

  // What stream 0 is from now on; with `single`, all the others too.
  void begin(StreamHandle first, bool single) {
    first_ = first;
    single_ = single;
  }
  bool single() const { return single_; }
  StreamHandle at(int stream);
  EventHandle event(int number);

  // What `after` is given next waits for all that `before` has been given.
  void order(StreamHandle before, StreamHandle after);

 private:
  const DeviceApi& api_;
  OwnedStream own_;
  OwnedEvent order_;  // may serve again at once: whoever waits for it waits for its latest record
  StreamHandle first_ = nullptr;
  bool single_ = true;
  std::vector<OwnedStream> others_;  // streams 1 and up
  std::vector<OwnedEvent> events_;
};

}  // namespace kgen

// Values of a device, for the host to read.
#pragma once

#include <cstddef>
#include <vector>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/device.hpp"

namespace kgen {

// A copy of all that a view spans, ready once `stream` has done what it was given; where the device is the host, the
// view itself.
class HostValues {
 public:
  HostValues(const DeviceApi& api, StreamHandle stream, const AnyView& view);

  const AnyView& view() const { return view_; }

 private:
  std::vector<std::byte> bytes_;
  AnyView view_;  // into bytes_
};

}  // namespace kgen

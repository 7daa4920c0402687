#include "kgen/runtime/device.hpp"

#include <utility>

#include "runtime/src/text.hpp"

namespace kgen {

std::string device_text(DLDevice device) {
  switch (device.device_type) {
    case kDLCPU:
      return "cpu";
    case kDLCUDA:
      return concat("cuda:", device.device_id);
    case kDLCUDAHost:
      return "pinned host memory (cuda)";
    case kDLCUDAManaged:
      return "managed memory (cuda)";
    case kDLROCM:
      return concat("rocm:", device.device_id);
    case kDLROCMHost:
      return "pinned host memory (rocm)";
    default:
      return concat("DLPack device type ", int{device.device_type}, " number ", device.device_id);
  }
}

DeviceScope::~DeviceScope() {
  try {
    api_.select(before_);
  } catch (const Error&) {
    // It was selected when the scope began; a device that has failed since reports that where it is used.
  }
}

RelaxedCapture::~RelaxedCapture() {
  try {
    api_.exchange_capture_mode(before_);
  } catch (const Error&) {
    // As with a device: what has failed since is reported where it is used.
  }
}

DeviceBuffer DeviceBuffer::undefined(const DeviceApi& api, std::size_t bytes, StreamHandle stream) {
  if (bytes == 0) return {};
  return {api, api.allocate(bytes, stream), bytes, stream, false};
}

DeviceBuffer DeviceBuffer::zeroed(const DeviceApi& api, std::size_t bytes, StreamHandle stream) {
  DeviceBuffer buffer = undefined(api, bytes, stream);
  if (bytes > 0) api.fill(buffer.data(), 0, bytes, stream);
  return buffer;
}

DeviceBuffer DeviceBuffer::pinned(const DeviceApi& api, std::size_t bytes) {
  if (bytes == 0) return {};
  return {api, api.allocate_pinned(bytes), bytes, nullptr, true};
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : api_(other.api_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      stream_(other.stream_),
      is_pinned_(other.is_pinned_) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  api_ = other.api_;
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  stream_ = other.stream_;
  is_pinned_ = other.is_pinned_;
  return *this;
}

void DeviceBuffer::release() noexcept {
  if (data_ == nullptr) return;
  if (is_pinned_) {
    api_->free_pinned(data_, size_);
  } else {
    api_->free(data_, size_, stream_);
  }
  data_ = nullptr;
  size_ = 0;
}

}  // namespace kgen

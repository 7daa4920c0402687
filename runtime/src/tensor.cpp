#include "kgen/runtime/tensor.hpp"

#include <cstring>
#include <utility>

#include "kgen/runtime/arena.hpp"
#include "runtime/src/text.hpp"

namespace kgen {
namespace {

// On the device's default stream, which is waited for.
DeviceBuffer allocate(const DeviceApi& api, int device, std::size_t bytes) {
  const DeviceScope scope(api, device);
  DeviceBuffer memory = DeviceBuffer::zeroed(api, bytes, nullptr);
  api.wait_for_stream(nullptr);
  return memory;
}

void copy(const DeviceApi& api, int device, std::byte* to, const std::byte* from, std::size_t bytes) {
  const DeviceScope scope(api, device);
  api.copy(to, from, bytes, nullptr);
  api.wait_for_stream(nullptr);
}

}  // namespace

Tensor::Tensor(ElementType type, std::vector<std::int64_t> shape, const DeviceApi& api, int device)
    : type_(type),
      shape_(std::move(shape)),
      bytes_(checked_bytes(shape_, type)),
      api_(&api),
      device_(device),
      memory_(allocate(api, device, static_cast<std::size_t>(bytes_))) {}

Tensor Tensor::to(const DeviceApi& api, int device) const {
  Tensor result(type_, shape_, api, device);
  // The device that is not the host knows how to reach both.
  const bool here = api.is_host;
  if (bytes_ > 0) {
    copy(here ? *api_ : api, here ? device_ : device, result.data(), data(), static_cast<std::size_t>(bytes_));
  }
  return result;
}

std::int64_t Tensor::element_count() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape_) count *= extent;
  return count;
}

DLTensor Tensor::dlpack() const {
  DLTensor view{};
  view.data = memory_.data();
  view.device = {api_->memory_type, device_};
  view.ndim = static_cast<int>(shape_.size());
  view.dtype = element_type_info(type_).dlpack;
  view.shape = const_cast<std::int64_t*>(shape_.data());  // DLTensor has no const form
  return view;
}

void Tensor::require_readable(ElementType type) const {
  if (!api_->is_host) {
    fail(KGEN_WRONG_DEVICE, "the tensor is on ", device_text({api_->memory_type, device_}),
         "; to(kgen::cpu_device) copies it to where it can be read");
  }
  if (type == type_) return;
  fail(KGEN_WRONG_DTYPE, "the tensor holds ", element_type_info(type_).name, ", not ", element_type_info(type).name);
}

void Tensor::fill_from(std::span<const std::byte> values) {
  if (values.size() != static_cast<std::size_t>(bytes_)) {
    fail(KGEN_WRONG_COUNT, static_cast<std::int64_t>(values.size()) * 8 / element_type_info(type_).bits,
         " values were given for the shape ", bracketed(std::span<const std::int64_t>(shape_)));
  }
  if (!values.empty()) std::memcpy(memory_.data(), values.data(), values.size());
}

}  // namespace kgen

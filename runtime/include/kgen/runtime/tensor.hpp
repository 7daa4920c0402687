// A tensor that owns its memory, for programs: dense, row-major, on the CPU or on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kgen/runtime/device.hpp"
#include "kgen/runtime/element_type.hpp"

namespace kgen {

class Tensor {
 public:
  // Zeroed, on a device of `api`. Throws Error: KGEN_TOO_LARGE where the shape has a negative extent or its bytes
  // overflow, and what the device says.
  Tensor(ElementType type, std::vector<std::int64_t> shape, const DeviceApi& api = cpu_device, int device = 0);

  // Tensor::of<float>({2, 3}, values); as many values as the shape has elements. Of a packed type, Tensor::of<i4>, the
  // values are the bytes that hold them, as they lie in memory.
  template <class T>
  static Tensor of(std::vector<std::int64_t> shape, std::span<const T> values) {
    Tensor tensor(element_type<T>(), std::move(shape));
    tensor.fill_from(std::as_bytes(values));
    return tensor;
  }

  ElementType type() const { return type_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t element_count() const;
  std::int64_t bytes() const { return bytes_; }
  std::byte* data() { return memory_.data(); }  // aligned to 64 bytes; null where there are no elements
  const std::byte* data() const { return memory_.data(); }

  // A copy on another device, there when it returns: x.to(cuda::device), y.to(cpu_device).
  Tensor to(const DeviceApi& api, int device = 0) const;

  // The elements in row-major order; of a packed type, the bytes that hold them. Throws Error: KGEN_WRONG_DTYPE where T
  // is not the tensor's type, KGEN_WRONG_DEVICE where it is not on the CPU.
  template <class T>
  std::span<T> values() {
    require_readable(element_type<T>());
    return {reinterpret_cast<T*>(data()), static_cast<std::size_t>(bytes_) / sizeof(T)};
  }
  template <class T>
  std::span<const T> values() const {
    require_readable(element_type<T>());
    return {reinterpret_cast<const T*>(data()), static_cast<std::size_t>(bytes_) / sizeof(T)};
  }

  // The same memory for DLPack; it and its shape stay this tensor's.
  DLTensor dlpack() const;

 private:
  void require_readable(ElementType type) const;
  void fill_from(std::span<const std::byte> values);

  ElementType type_;
  std::vector<std::int64_t> shape_;
  std::int64_t bytes_;
  const DeviceApi* api_;
  int device_;
  DeviceBuffer memory_;
};

}  // namespace kgen

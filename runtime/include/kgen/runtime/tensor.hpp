// A tensor that owns its memory, for programs: dense, row-major, on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kgen/runtime/element_type.hpp"

namespace kgen {

class Tensor {
 public:
  // Zeroed. Throws Error with KGEN_TOO_LARGE where the shape has a negative extent or its bytes overflow.
  Tensor(ElementType type, std::vector<std::int64_t> shape);

  // Tensor::of<float>({2, 3}, values); as many values as the shape has elements.
  template <class T>
  static Tensor of(std::vector<std::int64_t> shape, std::span<const T> values) {
    Tensor tensor(element_type<T>(), std::move(shape));
    tensor.fill_from(std::as_bytes(values));
    return tensor;
  }

  ElementType type() const { return type_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t element_count() const { return bytes_ / element_type_info(type_).bytes; }
  std::int64_t bytes() const { return bytes_; }
  std::byte* data() { return data_.get(); }  // aligned to 64 bytes
  const std::byte* data() const { return data_.get(); }

  // The elements in row-major order. Throws Error with KGEN_WRONG_DTYPE where T is not the tensor's type.
  template <class T>
  std::span<T> values() {
    require_type(element_type<T>());
    return {reinterpret_cast<T*>(data()), static_cast<std::size_t>(element_count())};
  }
  template <class T>
  std::span<const T> values() const {
    require_type(element_type<T>());
    return {reinterpret_cast<const T*>(data()), static_cast<std::size_t>(element_count())};
  }

  // The same memory for DLPack; it and its shape stay this tensor's.
  DLTensor dlpack() const;

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  void require_type(ElementType type) const;
  void fill_from(std::span<const std::byte> values);

  ElementType type_;
  std::vector<std::int64_t> shape_;
  std::int64_t bytes_;
  std::unique_ptr<std::byte[], Free> data_;
};

}  // namespace kgen

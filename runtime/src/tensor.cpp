#include "kgen/runtime/tensor.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "kgen/runtime/arena.hpp"
#include "runtime/src/text.hpp"

namespace kgen {
namespace {

constexpr std::align_val_t alignment{slot_alignment};

}  // namespace

void Tensor::Free::operator()(std::byte* data) const { ::operator delete[](data, alignment); }

Tensor::Tensor(ElementType type, std::vector<std::int64_t> shape)
    : type_(type), shape_(std::move(shape)), bytes_(checked_bytes(shape_, element_type_info(type).bytes)) {
  const auto bytes = static_cast<std::size_t>(bytes_);
  data_.reset(static_cast<std::byte*>(::operator new[](bytes, alignment)));
  std::memset(data_.get(), 0, bytes);
}

DLTensor Tensor::dlpack() const {
  DLTensor view{};
  view.data = data_.get();
  view.device = {kDLCPU, 0};
  view.ndim = static_cast<int>(shape_.size());
  view.dtype = element_type_info(type_).dlpack;
  view.shape = const_cast<std::int64_t*>(shape_.data());  // DLTensor has no const form
  return view;
}

void Tensor::require_type(ElementType type) const {
  if (type == type_) return;
  fail(KGEN_WRONG_DTYPE, "the tensor holds ", element_type_info(type_).name, ", not ", element_type_info(type).name);
}

void Tensor::fill_from(std::span<const std::byte> values) {
  if (values.size() != static_cast<std::size_t>(bytes_)) {
    fail(KGEN_WRONG_COUNT, values.size() / static_cast<std::size_t>(element_type_info(type_).bytes),
         " values were given for the shape ", bracketed(std::span<const std::int64_t>(shape_)));
  }
  if (!values.empty()) std::memcpy(data_.get(), values.data(), values.size());
}

}  // namespace kgen

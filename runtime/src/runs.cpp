#include "runtime/src/runs.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kgen {
namespace {

std::byte* data_of(const DLTensor& tensor) { return static_cast<std::byte*>(tensor.data) + tensor.byte_offset; }

void append(RunKey& key, const DLTensor& tensor) {
  key.push_back(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data_of(tensor))));
  key.push_back(std::int64_t{tensor.device.device_type} << 32 | tensor.device.device_id);
  key.push_back(std::int64_t{tensor.dtype.code} << 24 | tensor.dtype.bits << 16 | tensor.dtype.lanes);
  key.push_back(std::int64_t{tensor.ndim} << 1 | (tensor.strides == nullptr ? 0 : 1));
  key.insert(key.end(), tensor.shape, tensor.shape + tensor.ndim);
  if (tensor.strides != nullptr) key.insert(key.end(), tensor.strides, tensor.strides + tensor.ndim);
}

// What sizes are read from: a scalar, or a line.
void append_elements(RunKey& key, const DLTensor& tensor) {
  const std::int64_t count = tensor.ndim == 0 ? 1 : tensor.shape[0], bytes = tensor.dtype.bits / 8;
  const std::int64_t stride = tensor.ndim == 0 || tensor.strides == nullptr ? 1 : tensor.strides[0];
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(&key.emplace_back(0), data_of(tensor) + i * stride * bytes, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

RunKey key_of(const GraphInfo& graph, std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs) {
  RunKey key;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    append(key, *inputs[i]);
    if (graph.inputs[i].on_host) append_elements(key, *inputs[i]);
  }
  for (const DLTensor* output : outputs) append(key, *output);
  return key;
}

Runs::Found Runs::find(RunKey key) {
  ++now_;
  runs_.reserve(most);  // `latest_` and callers point into it
  auto found = std::ranges::find(runs_, key, &Run::key);
  const bool is_known = found != runs_.end();
  if (!is_known && runs_.size() < most) {
    runs_.push_back({.finished = make_event(api_, false), .replay = OwnedReplay(nullptr, {&api_})});
    found = runs_.end() - 1;
    found->place = runs_.size() - 1;
  } else if (!is_known) {
    found = std::ranges::min_element(runs_, {}, &Run::last_use);
    api_.wait_for_event(found->finished.get());
    found->is_captured = false;
  }
  found->key = std::move(key);
  found->last_use = now_;
  return {*found, is_known};
}

void Runs::set_latest(Run& run) { latest_ = &run; }

void Runs::forget_captures() {
  for (Run& run : runs_) run.is_captured = false;
}

void Runs::forget(Run& run) {
  run.key = {0};  // shorter than the key of any argument, longer than that of none
  run.is_captured = false;
}

}  // namespace kgen

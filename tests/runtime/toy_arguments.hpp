// The toy graph's arguments, right as they are, for tests to spoil; and temporary files.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kgen_runtime.h"
#include "toy_graph.hpp"

namespace toy {

// A folder of its own, removed with all it holds.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name = "") const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

void write_file(const std::string& path, const std::string& content);

// The header's length, the header, the data.
std::string safetensors(const std::string& header, const std::string& data);

template <class T>
DLTensor tensor_of(std::vector<T>& values, std::vector<std::int64_t>& shape, DLDataType dtype) {
  DLTensor tensor{};
  tensor.data = values.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int>(shape.size());
  tensor.dtype = dtype;
  tensor.shape = shape.data();
  return tensor;
}

// What a call of the C ABI came to.
struct Outcome {
  kgen_status status;
  std::string message;
};
inline Outcome outcome(kgen_status status) { return {status, status == KGEN_OK ? "" : kgen_last_error()}; }

// Its code and its whole message.
#define CHECK_OUTCOME(result, expected_status, expected_message) \
  do {                                                           \
    const toy::Outcome found = (result);                         \
    CHECK(found.status == (expected_status));                    \
    CHECK(found.message == (expected_message));                  \
  } while (false)

// M = 2, D = 3, P = 1. Outputs hold -1 until they are written.
struct Arguments {
  std::vector<float> x_values = std::vector<float>(64, 2);
  std::vector<float> gate_values = std::vector<float>(64, 1);
  std::vector<std::uint8_t> mask_values = std::vector<std::uint8_t>(6, 1);
  std::vector<std::int64_t> position_values = {1};
  std::vector<float> y_values = std::vector<float>(64, -1);
  std::vector<float> sum_values = std::vector<float>(64, -1);
  std::vector<std::int64_t> x_shape = {2, 6}, gate_shape = {2, 6}, mask_shape = {6}, position_shape, y_shape = {2, 6},
                            sum_shape = {6};
  DLTensor x = tensor_of(x_values, x_shape, {kDLFloat, 32, 1});
  DLTensor gate = tensor_of(gate_values, gate_shape, {kDLFloat, 32, 1});
  DLTensor mask = tensor_of(mask_values, mask_shape, {KGEN_DL_BOOL, 8, 1});
  DLTensor position = tensor_of(position_values, position_shape, {kDLInt, 64, 1});
  DLTensor y = tensor_of(y_values, y_shape, {kDLFloat, 32, 1});
  DLTensor sum = tensor_of(sum_values, sum_shape, {kDLFloat, 32, 1});
  std::array<const DLTensor*, 4> inputs = {&x, &gate, &mask, &position};
  std::array<DLTensor*, 2> outputs = {&y, &sum};

  Arguments() = default;
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  Outcome run(kgen_model* model) { return outcome(kgen_model_run(model, inputs.data(), 4, outputs.data(), 2)); }
  bool outputs_untouched() const {
    return y_values == std::vector<float>(64, -1) && sum_values == std::vector<float>(64, -1);
  }
};

using ModelPointer = std::unique_ptr<kgen_model, void (*)(kgen_model*)>;

// The toy graph's weights: layers.0.weight = 1..6 and layers.1.weight = 10..60.
inline constexpr const char* weights_folder = KGEN_TOY_WEIGHTS;

ModelPointer load_toy(bool check = false);

}  // namespace toy

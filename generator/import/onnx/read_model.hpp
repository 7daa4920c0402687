// The file of an ONNX model, read with the format's own protobuf definition.
#pragma once

#include <optional>
#include <string>

#include "generator/base/diagnostics.hpp"
#include "generator/import/onnx_model.hpp"

namespace kgen {

// As OnnxServices has them.
std::optional<OnnxModel> read_model(const std::string& path, Diagnostics& diagnostics);
std::optional<OnnxTensor> read_tensor(const std::string& path, Diagnostics& diagnostics);

}  // namespace kgen

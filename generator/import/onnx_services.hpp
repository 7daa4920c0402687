// What kgen asks of the library that reads ONNX's files. It is behind this table, in a plugin, so that neither kgen's
// start nor its build needs protobuf. The plugin and kgen are built together and share the types below.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/import/onnx_model.hpp"

namespace kgen {

struct OnnxServices {
  std::string_view version;  // kgen's own, to tell a plugin of another build

  // The model in a file. Nothing after an error: the file cannot be read, is cut off or is no model, or is larger than
  // protobuf's 2 GiB (the weights of larger models stand in files of their own).
  std::optional<OnnxModel> (*read_model)(const std::string& path, Diagnostics& diagnostics);

  // The one tensor in a file, as ONNX's test data has them (.pb).
  std::optional<OnnxTensor> (*read_tensor)(const std::string& path, Diagnostics& diagnostics);
};

// The name of the function that the plugin exports: it returns the table.
inline constexpr const char* onnx_services_symbol = "kgen_onnx_services";
using OnnxServicesFunction = const OnnxServices* (*)();

// The plugin's table. It is the file that $KGEN_ONNX names, or lib/kgen/kgen_onnx.so beside the folder of the
// executable, or the one of the build tree. Null after an error that says why there is none.
const OnnxServices* onnx_services(Diagnostics& diagnostics);

}  // namespace kgen

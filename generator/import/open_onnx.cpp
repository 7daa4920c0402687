#include "generator/base/plugin.hpp"
#include "generator/import/onnx_services.hpp"

namespace kgen {

const OnnxServices* onnx_services(Diagnostics& diagnostics) {
  const Plugin plugin{.name = "ONNX",
                      .file = "kgen_onnx.so",
                      .variable = "KGEN_ONNX",
                      .option = "KGEN_WITH_ONNX",
                      .symbol = onnx_services_symbol,
                      .directory = KGEN_PLUGIN_DIRECTORY,
                      .built = KGEN_BUILT_PLUGIN};
  const auto version_of = [](const void* table) { return static_cast<const OnnxServices*>(table)->version; };
  return static_cast<const OnnxServices*>(
      open_plugin(plugin, "read ONNX models", KGEN_VERSION, version_of, diagnostics));
}

}  // namespace kgen

// The table of onnx_services.hpp, as the plugin exports it.
#include "generator/import/onnx/read_model.hpp"
#include "generator/import/onnx_services.hpp"

extern "C" __attribute__((visibility("default"))) const kgen::OnnxServices* kgen_onnx_services() {
  static const kgen::OnnxServices services{
      .version = KGEN_VERSION, .read_model = kgen::read_model, .read_tensor = kgen::read_tensor};
  return &services;
}

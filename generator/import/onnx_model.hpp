// An ONNX model as data, apart from how its file is encoded: what the importer works on. Names are the format's own:
// https://github.com/onnx/onnx/blob/main/docs/IR.md
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kgen {

// A tensor that the model holds, or the place of one in another file.
struct OnnxTensor {
  std::string name;
  std::int32_t data_type = 0;  // TensorProto.DataType
  std::vector<std::int64_t> dims;
  // The elements in little-endian order; types below a byte as the format packs them. Shared: a model is large.
  std::shared_ptr<const std::string> bytes;
  struct External {
    std::string location;  // relative to the model's folder
    std::int64_t offset = 0;
    std::optional<std::int64_t> length;
  };
  std::optional<External> external;  // instead of `bytes`
};

struct OnnxGraph;

struct OnnxAttribute {
  enum class Kind { none, real, integer, text, tensor, graph, reals, integers, texts, other };
  std::string name;
  Kind kind = Kind::none;
  std::string reference;  // in a function: the attribute of the call that it stands for
  double real = 0;
  std::int64_t integer = 0;
  std::string text;
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  OnnxTensor tensor;
  std::shared_ptr<const OnnxGraph> graph;
};

struct OnnxNode {
  std::string name;  // may be empty
  std::string op;
  std::string domain;    // "" is ONNX's own
  std::string overload;  // of the function that it calls
  std::vector<std::string> inputs, outputs;  // "": left out
  std::vector<OnnxAttribute> attributes;
};

// A graph's input or output.
struct OnnxValueInfo {
  struct Dim {
    std::optional<std::int64_t> value;
    std::string parameter;  // its name, where it has one
  };
  std::string name;
  bool is_tensor = true;  // not a sequence, a map or an optional
  std::int32_t data_type = 0;
  std::optional<std::vector<Dim>> shape;  // nothing: the rank is not known
};

struct OnnxGraph {
  std::string name;
  std::string doc;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValueInfo> inputs, outputs;
  std::vector<std::string> sparse_initializers;  // by name
};

struct OnnxFunction {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<OnnxAttribute> defaults;  // attributes that a call may leave out
  std::vector<OnnxNode> nodes;
  std::map<std::string, std::int64_t> opsets;
};

struct OnnxModel {
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets;  // by domain; "" is ONNX's own
  std::string producer;
  OnnxGraph graph;
  std::vector<OnnxFunction> functions;
};

}  // namespace kgen

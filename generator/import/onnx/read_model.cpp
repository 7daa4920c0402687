#include "generator/import/onnx/read_model.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <utility>

namespace kgen {
namespace {

// ---- fields that are newer than the installed definition ------------------------------------------------------------
// https://github.com/onnx/onnx/blob/main/onnx/onnx.in.proto

constexpr int node_overload = 8;                  // NodeProto.overload
constexpr int function_attribute_protos = 11;     // FunctionProto.attribute_proto
constexpr int function_overload = 13;             // FunctionProto.overload

// Texts and messages in a field by its number, whether the definition knows it or not.
std::vector<std::string> field_texts(const google::protobuf::Message& message, int number) {
  std::vector<std::string> texts;
  if (const auto* field = message.GetDescriptor()->FindFieldByNumber(number)) {
    const auto& reflection = *message.GetReflection();
    const bool repeated = field->is_repeated();
    const int count = repeated ? reflection.FieldSize(message, field) : reflection.HasField(message, field) ? 1 : 0;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == field->CPPTYPE_MESSAGE) {
        texts.push_back((repeated ? reflection.GetRepeatedMessage(message, field, i)
                                  : reflection.GetMessage(message, field)).SerializePartialAsString());
      } else if (field->cpp_type() == field->CPPTYPE_STRING) {
        texts.push_back(repeated ? reflection.GetRepeatedString(message, field, i)
                                 : reflection.GetString(message, field));
      }
    }
    return texts;
  }
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    if (field.number() == number && field.type() == field.TYPE_LENGTH_DELIMITED) {
      texts.push_back(field.length_delimited());
    }
  }
  return texts;
}

std::string field_text(const google::protobuf::Message& message, int number) {
  const auto texts = field_texts(message, number);
  return texts.empty() ? "" : texts.back();
}

// ---- tensors --------------------------------------------------------------------------------------------------------

template <class Element, class List>
std::string bytes_of(const List& list) {
  std::string bytes(static_cast<std::size_t>(list.size()) * sizeof(Element), '\0');
  for (int i = 0; i < list.size(); ++i) {
    const auto element = static_cast<Element>(list[i]);
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(Element), &element, sizeof(Element));
  }
  return bytes;
}

// The elements of the fields by type, which are wider than the elements where these are narrow.
std::string typed_bytes(const onnx::TensorProto& tensor) {
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT: return bytes_of<float>(tensor.float_data());
    case onnx::TensorProto::DOUBLE: return bytes_of<double>(tensor.double_data());
    case onnx::TensorProto::INT64: return bytes_of<std::int64_t>(tensor.int64_data());
    case onnx::TensorProto::UINT64: return bytes_of<std::uint64_t>(tensor.uint64_data());
    case onnx::TensorProto::UINT32: return bytes_of<std::uint32_t>(tensor.uint64_data());
    case onnx::TensorProto::INT32: return bytes_of<std::int32_t>(tensor.int32_data());
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16: return bytes_of<std::uint16_t>(tensor.int32_data());
    default: return bytes_of<std::uint8_t>(tensor.int32_data());  // the types of a byte or less
  }
}

std::optional<std::int64_t> whole_number(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0) return std::nullopt;
  return number;
}

OnnxTensor tensor_of(onnx::TensorProto& tensor) {
  OnnxTensor result;
  result.name = tensor.name();
  result.data_type = tensor.data_type();
  result.dims.assign(tensor.dims().begin(), tensor.dims().end());
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    OnnxTensor::External external;
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") external.location = entry.value();
      if (entry.key() == "offset") external.offset = whole_number(entry.value()).value_or(-1);
      if (entry.key() == "length") external.length = whole_number(entry.value()).value_or(-1);
    }
    result.external = std::move(external);
    return result;
  }
  std::string bytes = tensor.has_raw_data() ? std::move(*tensor.mutable_raw_data()) : typed_bytes(tensor);
  result.bytes = std::make_shared<const std::string>(std::move(bytes));
  return result;
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

OnnxGraph graph_of(onnx::GraphProto& graph);

OnnxAttribute attribute_of(onnx::AttributeProto& attribute) {
  using Kind = OnnxAttribute::Kind;
  OnnxAttribute result;
  result.name = attribute.name();
  result.reference = attribute.ref_attr_name();
  switch (attribute.type()) {
    case onnx::AttributeProto::FLOAT: result.kind = Kind::real; break;
    case onnx::AttributeProto::INT: result.kind = Kind::integer; break;
    case onnx::AttributeProto::STRING: result.kind = Kind::text; break;
    case onnx::AttributeProto::TENSOR: result.kind = Kind::tensor; break;
    case onnx::AttributeProto::GRAPH: result.kind = Kind::graph; break;
    case onnx::AttributeProto::FLOATS: result.kind = Kind::reals; break;
    case onnx::AttributeProto::INTS: result.kind = Kind::integers; break;
    case onnx::AttributeProto::STRINGS: result.kind = Kind::texts; break;
    default: result.kind = Kind::other; break;
  }
  result.real = static_cast<double>(attribute.f());
  result.integer = attribute.i();
  result.text = attribute.s();
  result.reals.assign(attribute.floats().begin(), attribute.floats().end());
  result.integers.assign(attribute.ints().begin(), attribute.ints().end());
  result.texts.assign(attribute.strings().begin(), attribute.strings().end());
  if (attribute.has_t()) result.tensor = tensor_of(*attribute.mutable_t());
  if (attribute.has_g()) result.graph = std::make_shared<const OnnxGraph>(graph_of(*attribute.mutable_g()));
  return result;
}

OnnxNode node_of(onnx::NodeProto& node) {
  OnnxNode result;
  result.name = node.name();
  result.op = node.op_type();
  result.domain = node.domain() == "ai.onnx" ? "" : node.domain();
  result.overload = field_text(node, node_overload);
  result.inputs.assign(node.input().begin(), node.input().end());
  result.outputs.assign(node.output().begin(), node.output().end());
  for (auto& attribute : *node.mutable_attribute()) result.attributes.push_back(attribute_of(attribute));
  return result;
}

OnnxValueInfo value_info_of(const onnx::ValueInfoProto& info) {
  OnnxValueInfo result;
  result.name = info.name();
  result.is_tensor = info.type().has_tensor_type();
  result.data_type = info.type().tensor_type().elem_type();
  if (!result.is_tensor || !info.type().tensor_type().has_shape()) return result;
  result.shape.emplace();
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    OnnxValueInfo::Dim& extent = result.shape->emplace_back();
    if (dim.has_dim_value()) extent.value = dim.dim_value();
    extent.parameter = dim.dim_param();
  }
  return result;
}

OnnxGraph graph_of(onnx::GraphProto& graph) {
  OnnxGraph result;
  result.name = graph.name();
  result.doc = graph.doc_string();
  for (auto& node : *graph.mutable_node()) result.nodes.push_back(node_of(node));
  for (auto& tensor : *graph.mutable_initializer()) result.initializers.push_back(tensor_of(tensor));
  for (const auto& tensor : graph.sparse_initializer()) result.sparse_initializers.push_back(tensor.values().name());
  for (const auto& info : graph.input()) result.inputs.push_back(value_info_of(info));
  for (const auto& info : graph.output()) result.outputs.push_back(value_info_of(info));
  return result;
}

template <class Imports>
std::map<std::string, std::int64_t> opsets_of(const Imports& imports) {
  std::map<std::string, std::int64_t> opsets;
  for (const auto& each : imports) opsets[each.domain() == "ai.onnx" ? "" : each.domain()] = each.version();
  return opsets;
}

OnnxFunction function_of(onnx::FunctionProto& function) {
  OnnxFunction result;
  result.domain = function.domain() == "ai.onnx" ? "" : function.domain();
  result.name = function.name();
  result.overload = field_text(function, function_overload);
  result.inputs.assign(function.input().begin(), function.input().end());
  result.outputs.assign(function.output().begin(), function.output().end());
  result.attributes.assign(function.attribute().begin(), function.attribute().end());
  for (const std::string& text : field_texts(function, function_attribute_protos)) {
    onnx::AttributeProto attribute;
    if (attribute.ParsePartialFromString(text)) result.defaults.push_back(attribute_of(attribute));
  }
  for (auto& node : *function.mutable_node()) result.nodes.push_back(node_of(node));
  result.opsets = opsets_of(function.opset_import());
  return result;
}

// ---- files ----------------------------------------------------------------------------------------------------------

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

// False after an error. `what`: "an ONNX model".
bool parse_file(const std::string& path, std::string_view what, google::protobuf::Message& message,
                Diagnostics& diagnostics) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.number < 0 || fstat(file.number, &status) != 0) {
    diagnostics.error({}, fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    diagnostics.error({}, fmt::format("cannot read '{}': it is no file", path));
    return false;
  }
  if (status.st_size > std::numeric_limits<std::int32_t>::max()) {
    diagnostics.error({}, fmt::format("'{}' is larger than 2 GiB, the most that {} may be", path, what))
        .advise("keep its weights as external data: onnx.save(model, path, save_as_external_data=True)");
    return false;
  }
  google::protobuf::io::FileInputStream stream(file.number);
  if (status.st_size > 0 && message.ParsePartialFromZeroCopyStream(&stream)) return true;
  diagnostics.error({}, fmt::format("'{}' is not {}, or is cut off", path, what));
  return false;
}

// What protobuf prints on stderr of itself, kgen says in a diagnostic.
void silence_protobuf() {
  google::protobuf::SetLogHandler(nullptr);
}

}  // namespace

std::optional<OnnxModel> read_model(const std::string& path, Diagnostics& diagnostics) {
  silence_protobuf();
  onnx::ModelProto model;
  if (!parse_file(path, "an ONNX model", model, diagnostics)) return std::nullopt;
  if (!model.has_graph()) {
    diagnostics.error({}, fmt::format("'{}' is no ONNX model: it holds no graph", path));
    return std::nullopt;
  }
  OnnxModel result;
  result.ir_version = model.ir_version();
  result.opsets = opsets_of(model.opset_import());
  result.producer = model.producer_name();
  result.graph = graph_of(*model.mutable_graph());
  for (auto& function : *model.mutable_functions()) result.functions.push_back(function_of(function));
  return result;
}

std::optional<OnnxTensor> read_tensor(const std::string& path, Diagnostics& diagnostics) {
  silence_protobuf();
  onnx::TensorProto tensor;
  if (!parse_file(path, "a tensor of ONNX", tensor, diagnostics)) return std::nullopt;
  return tensor_of(tensor);
}

}  // namespace kgen

// Models as files: what is read of them, where weights may come from, and what damage leads to.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "generator/import/onnx_services.hpp"
#include "generator/import/tensor_data.hpp"
#include "generator/import_file.hpp"
#include "tests/unit/import_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace fs = std::filesystem;

namespace {

// ---- protobuf, by hand: https://protobuf.dev/programming-guides/encoding -----------------------------------------------

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7F; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string number(int field, std::int64_t value) { return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(value)); }
std::string bytes(int field, const std::string& value) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(value.size()) + value;
}

std::string encoded(const OnnxValueInfo& info) {
  std::string dims;
  for (const auto& dim : *info.shape) dims += bytes(1, dim.value ? number(1, *dim.value) : bytes(2, dim.parameter));
  return bytes(1, info.name) + bytes(2, bytes(1, number(1, info.data_type) + bytes(2, dims)));
}

std::string encoded(const OnnxTensor& tensor) {
  std::string text = number(2, tensor.data_type) + bytes(8, tensor.name);
  for (const std::int64_t extent : tensor.dims) text += number(1, extent);
  if (!tensor.external) return text + bytes(9, *tensor.bytes);
  const auto entry = [](const std::string& key, const std::string& value) { return bytes(13, bytes(1, key) + bytes(2, value)); };
  text += number(14, 1) + entry("location", tensor.external->location) + entry("offset", std::to_string(tensor.external->offset));
  return tensor.external->length ? text + entry("length", std::to_string(*tensor.external->length)) : text;
}

std::string encoded(const OnnxNode& node) {
  std::string text = bytes(4, node.op);
  for (const std::string& each : node.inputs) text += bytes(1, each);
  for (const std::string& each : node.outputs) text += bytes(2, each);
  for (const OnnxAttribute& each : node.attributes) {
    std::string attribute = bytes(1, each.name);
    if (each.kind == OnnxAttribute::Kind::integer) attribute += number(3, each.integer) + number(20, 2);
    for (const std::int64_t item : each.integers) attribute += number(8, item);
    if (each.kind == OnnxAttribute::Kind::integers) attribute += number(20, 7);
    text += bytes(5, attribute);
  }
  return text;
}

std::string encoded(const OnnxModel& model) {
  std::string graph;
  for (const auto& each : model.graph.nodes) graph += bytes(1, encoded(each));
  for (const auto& each : model.graph.initializers) graph += bytes(5, encoded(each));
  for (const auto& each : model.graph.inputs) graph += bytes(11, encoded(each));
  for (const auto& each : model.graph.outputs) graph += bytes(12, bytes(1, each.name));
  return number(1, model.ir_version) + bytes(7, graph) + bytes(8, bytes(1, "") + number(2, model.opsets.at("")));
}

// ---- files ------------------------------------------------------------------------------------------------------------

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "kgen_import_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path / name, std::ios::binary) << content;
    return (path / name).string();
  }
  std::string read(const std::string& name) const {
    std::ifstream stream(path / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
};

std::optional<OnnxModel> read_bytes(const Folder& folder, const std::string& content, Diagnostics& diagnostics) {
  const OnnxServices* onnx = onnx_services(diagnostics);
  REQUIRE_MESSAGE(onnx, diagnostics.text(false));
  return onnx->read_model(folder.write("m.onnx", content), diagnostics);
}

std::string first_problem(const Diagnostics& diagnostics) { return diagnostics.all().empty() ? "" : diagnostics.all()[0].message; }

OnnxModel small_model() {
  return model({symbolic_info("x", "N", {4})},
               {node("Add", {"x", "w"}, {"a"}), node("Shape", {"a"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}, {integer("axis", 0)}),
                node("Concat", {"n", "rest"}, {"shape"}, {integer("axis", 0)}), node("Reshape", {"a", "shape"}, {"r"}),
                node("ReduceSum", {"r", "zero"}, {"t"}, {integer("keepdims", 0)}), node("Transpose", {"t"}, {"y"}, {integer_list("perm", {1, 0})})},
               {"y"}, {floats("w", {4}, {1, 2, 3, 4}), integers("zero", {0}), integers("rest", {2, 2})});
}

// Whatever comes of it, it is a graph or an error.
void import_anything(const OnnxModel& model) {
  Diagnostics diagnostics;
  const ImportResult result = import_with(model, diagnostics);
  CHECK(result.model.has_value() != diagnostics.has_errors());
}

}  // namespace

TEST_CASE("import file: a model is read as it was written") {
  const Folder folder;
  Diagnostics diagnostics;
  const auto read = read_bytes(folder, encoded(small_model()), diagnostics);
  REQUIRE_MESSAGE(read, diagnostics.text(false));
  CHECK(imported(*read) == imported(small_model()));
}

TEST_CASE("import file: the graph and its weights are written, and what is imported again is the same") {
  const Folder folder;
  std::vector<float> weights;
  for (int i = 0; i < 40; ++i) weights.push_back(static_cast<float>(i));
  ImportFileOptions options;
  options.model = folder.write("m.onnx", encoded(model({tensor_info("x", {40})}, {node("Add", {"x", "w"}, {"y"})}, {"y"}, {floats("w", {40}, weights)})));
  options.output = (folder.path / "graph.yaml").string();
  for (const std::string& path : repository::files_below("specs/onnx", {".yaml"})) options.rules.push_back((repository::root() / path).string());
  Session session;
  session.ops = shipped_ops();
  const auto report = import_file(options, session);
  REQUIRE_MESSAGE(report, session.diagnostics.text(false));
  CHECK(report->weights == 1);
  infer_good(folder.read("graph.yaml"));
  const std::string stored = folder.read("graph.safetensors");
  const std::string header = R"({"w":{"dtype":"F32","shape":[40],"data_offsets":[0,160]}})";
  CHECK(stored.substr(8, header.size()) == header);
  CHECK(stored.size() % 8 == 0);
  CHECK(std::memcmp(stored.data() + stored.size() - 160, weights.data(), 160) == 0);
}

TEST_CASE("import file: a model that is missing, empty, cut off or no model") {
  const Folder folder;
  const std::string good = encoded(small_model());
  const auto problem = [&](const std::string& content) {
    Diagnostics diagnostics;
    CHECK_FALSE(read_bytes(folder, content, diagnostics));
    return first_problem(diagnostics);
  };
  const std::string path = (folder.path / "m.onnx").string();
  CHECK(problem("") == fmt::format("'{}' is not an ONNX model, or is cut off", path));
  CHECK(problem("graph: yaml\n") == fmt::format("'{}' is not an ONNX model, or is cut off", path));
  CHECK(problem(good.substr(0, good.size() / 2)) == fmt::format("'{}' is not an ONNX model, or is cut off", path));
  CHECK(problem(number(1, 8)) == fmt::format("'{}' is no ONNX model: it holds no graph", path));
  Diagnostics diagnostics;
  CHECK_FALSE(onnx_services(diagnostics)->read_model((folder.path / "none.onnx").string(), diagnostics));
  CHECK(first_problem(diagnostics).ends_with("No such file or directory"));
  Diagnostics of_folder;
  CHECK_FALSE(onnx_services(of_folder)->read_model(folder.path.string(), of_folder));
  CHECK(first_problem(of_folder).ends_with("it is no file"));
}

TEST_CASE("import file: external data are read from the model's folder alone") {
  const Folder folder;
  fs::create_directory(folder.path / "models");
  folder.write("secret.bin", std::string(16, '\0'));
  folder.write("models/weights.bin", std::string(20, '\0'));
  fs::create_symlink(folder.path / "secret.bin", folder.path / "models" / "link.bin");
  fs::create_directory_symlink(folder.path, folder.path / "models" / "up");
  const auto problem = [&](const std::string& location, std::int64_t offset = 0, std::optional<std::int64_t> length = {}) {
    OnnxTensor tensor{"w", onnx_float, {4}};
    tensor.external = OnnxTensor::External{location, offset, length};
    ImportOptions options;
    options.model = (folder.path / "models" / "m.onnx").string();
    Diagnostics diagnostics;
    import_with(model({tensor_info("x", {4})}, {node("Add", {"x", "w"}, {"y"})}, {"y"}, {tensor}), diagnostics, options);
    const std::string text = first_problem(diagnostics);
    const auto colon = text.find("'w': ");
    return colon == text.npos ? text : text.substr(colon + 5);
  };
  CHECK(problem("weights.bin") == "");
  CHECK(problem("weights.bin", 4, 16) == "");
  CHECK(problem("../secret.bin") == "its external data, '../secret.bin', leads out of the model's folder");
  CHECK(problem((folder.path / "secret.bin").string()).ends_with("is an absolute path"));
  CHECK(problem("link.bin") == "its external data, 'link.bin', is a link that leads out of the model's folder");
  CHECK(problem("up/secret.bin") == "its external data, 'up/secret.bin', is a link that leads out of the model's folder");
  CHECK(problem("none.bin") == "its external data, 'none.bin', does not exist");
  CHECK(problem("") == "its external data, '', has no name");
  CHECK(problem(std::string("weights.bin\0.npz", 16)).ends_with("is no file's name"));
  CHECK(problem(".") == "its external data, '.', is no file");
  CHECK(problem("weights.bin", 8) == "its external data, 'weights.bin', is too short");
  CHECK(problem("weights.bin", -1) == "its external data has the wrong offset or length; it needs 16 bytes");
  CHECK(problem("weights.bin", 0, 12) == "its external data has the wrong offset or length; it needs 16 bytes");
  CHECK(problem("weights.bin", 9223372036854775807) == "its external data, 'weights.bin', is too short");
}

TEST_CASE("import file: values that are bound") {
  const Folder folder;
  const auto value = [](const std::string& text, DType dtype) {
    Diagnostics diagnostics;
    const auto content = parse_value(text, dtype, diagnostics);
    return content ? fmt::format("{} of {}", content->elements.size(), content->shape.size()) : first_problem(diagnostics);
  };
  CHECK(value("3", DType::i64) == "1 of 0");
  CHECK(value("[1, -2, 3]", DType::i64) == "3 of 1");
  CHECK(value("[]", DType::i64) == "0 of 1");
  CHECK(value("true", DType::boolean) == "1 of 0");
  CHECK(value("0.5", DType::f32) == "1 of 0");
  CHECK(value("x", DType::i64) == "'x' is no value of type i64");
  CHECK(value("1 2", DType::i64) == "'1 2' is no value of type i64");
  CHECK(value((folder.path / "none.npy").string(), DType::i64).ends_with("it is no file, or too large for a value"));
  std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }";
  header.resize(53 + 65, ' ');
  const std::string data("\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0", 16);
  const std::string npy = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
  CHECK(value(folder.write("v.npy", npy + data), DType::i64) == "2 of 1");
  CHECK(value(folder.write("v.npy", npy + data.substr(1)), DType::i64).ends_with("its data do not fit its shape, or are too many for a value"));
  CHECK(value(folder.write("v.npy", npy.substr(0, 30)), DType::i64).ends_with("it is cut off"));
  CHECK(value(folder.write("v.npy", npy + data), DType::i32).ends_with("its elements are not i32"));
}

TEST_CASE("import file: random damage to the bytes of a model") {
  const Folder folder;
  const std::string good = encoded(small_model());
  std::mt19937 random(1);
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = good;
    for (int i = 0; i <= round % 4; ++i) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 4) {
        case 0: damaged[at] = static_cast<char>(random()); break;
        case 1: damaged[at] = static_cast<char>(damaged[at] ^ 1 << random() % 8); break;
        case 2: damaged.erase(at, random() % 8); break;
        default: damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 12)); break;
      }
      if (damaged.empty()) damaged = "x";
    }
    Diagnostics diagnostics;
    if (const auto read = read_bytes(folder, damaged, diagnostics)) import_anything(*read);
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(120));
}

TEST_CASE("import file: random nodes, of every operator there is a rule for") {
  std::vector<const ImportRule*> rules;
  for (const auto& [name, versions] : shipped_rules().rules) rules.push_back(&versions[0]);
  std::mt19937 random(2);
  const auto pick = [&](const auto& list) { return list[random() % list.size()]; };
  for (int round = 0; round < 3000; ++round) {
    const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(random() % 4), 3, static_cast<std::int64_t>(1 + random() % 3)};
    std::vector<OnnxValueInfo> inputs = {tensor_info("x", shape), symbolic_info("s", "N", {3, 2}), tensor_info("i", {3}, onnx_int64), tensor_info("z", {})};
    std::vector<OnnxTensor> weights = {integers("k", {static_cast<std::int64_t>(random() % 7) - 3, static_cast<std::int64_t>(random() % 3)}), scalar("e", -1),
                                       integers("huge", {std::int64_t{1} << 62, -(std::int64_t{1} << 62)}), integers("empty", {})};
    std::vector<std::string> names = {"x", "s", "i", "z", "k", "e", "huge", "empty", ""};
    std::vector<OnnxNode> nodes;
    for (int n = 0; n < 4; ++n) {
      const ImportRule& rule = *pick(rules);
      std::vector<std::string> operands;
      for (std::size_t count = random() % 5; operands.size() < count;) operands.push_back(pick(names));
      std::vector<OnnxAttribute> attributes;
      for (const ImportAttribute& each : rule.attributes) {
        const auto value = random() % 8 == 0 ? std::int64_t{1} << random() % 63 : static_cast<std::int64_t>(random() % 8) - 3;
        if (random() % 2) attributes.push_back(random() % 2 ? integer(each.name, value) : integer_list(each.name, {value, 1}));
      }
      const std::string result = fmt::format("r{}", n);
      nodes.push_back(node(rule.op, operands, {result}, attributes));
      nodes.back().domain = rule.domain;
      names.push_back(result);
    }
    import_anything(model(inputs, nodes, {"r0", "r3"}, weights, random() % 2 ? 11 : 27));
  }
}

// Inline constants of every element type, and safetensors files, good and bad.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>

#include "kgen/runtime/call.hpp"
#include "toy_arguments.hpp"

using toy::Outcome;

namespace {

const std::string good_header = R"({"w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}, )"
                                R"("w_scale": {"dtype": "BF16", "shape": [], "data_offsets": [16, 18]}})";

kgen::ConstantInfo constant_w() {
  return {.name = "w", .type = kgen::ElementType::f32, .shape = {2, 2}, .file = "w.safetensors", .key = "w"};
}

// What loading the constant from a file of this content comes to.
Outcome load(const std::string& content, const kgen::ConstantInfo& constant = constant_w()) {
  const toy::TemporaryFolder folder;
  toy::write_file(folder.path("w.safetensors"), content);
  kgen::GraphInfo graph;
  graph.constants = {constant};
  graph.run = [](kgen::Call&) {};
  const std::string weights = folder.path();
  kgen_load_options options = {};
  options.weights_directory = weights.c_str();
  kgen_model* model = nullptr;
  Outcome result = toy::outcome(kgen_model_load(kgen::as_c(graph), &options, &model));
  kgen_model_free(model);
  if (const auto at = result.message.find(weights); at != std::string::npos) result.message.erase(at, weights.size());
  return result;
}

template <class T>
void check_inline_values(std::vector<kgen::ConstantElement> values, std::vector<T> expected) {
  static std::vector<T> found;
  found.clear();
  kgen::GraphInfo graph;
  graph.constants = {{.name = "c",
                      .type = kgen::element_type<T>(),
                      .shape = {static_cast<std::int64_t>(expected.size())},
                      .values = std::move(values)}};
  graph.run = [](kgen::Call& call) {
    const auto c = call.constant<T, 1>(0);
    for (std::int64_t i = 0; i < c.extent(0); ++i) found.push_back(c.data()[i]);
  };
  kgen_model* model = nullptr;
  REQUIRE(kgen_model_load(kgen::as_c(graph), nullptr, &model) == KGEN_OK);
  REQUIRE(kgen_model_run(model, nullptr, 0, nullptr, 0) == KGEN_OK);
  kgen_model_free(model);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      CHECK(found[i] == expected[i]);
    } else {
      CHECK(static_cast<double>(found[i]) == static_cast<double>(expected[i]));
    }
  }
}

}  // namespace

TEST_CASE("Inline constants of every element type") {
  check_inline_values<double>({1.5, -2}, {1.5, -2});
  check_inline_values<float>({0.1}, {0.1f, 0.1f, 0.1f});
  check_inline_values<kgen::f16>({1.5, 65504}, {kgen::f16(1.5f), kgen::f16(65504.0f)});
  check_inline_values<kgen::bf16>({1.5, -3}, {kgen::bf16(1.5f), kgen::bf16(-3.0f)});
  check_inline_values<kgen::f8e4m3>({1.5}, {kgen::f8e4m3(1.5f)});
  check_inline_values<kgen::f8e5m2>({1.5}, {kgen::f8e5m2(1.5f)});
  check_inline_values<std::int8_t>({-128, 127}, {-128, 127});
  check_inline_values<std::int16_t>({-32768}, {-32768});
  check_inline_values<std::int32_t>({-5}, {-5});
  check_inline_values<std::int64_t>({INT64_MAX, INT64_MIN, 9007199254740993}, {INT64_MAX, INT64_MIN, 9007199254740993});
  check_inline_values<std::uint8_t>({255}, {255});
  check_inline_values<std::uint16_t>({65535}, {65535});
  check_inline_values<std::uint32_t>({4e9}, {4000000000u});
  check_inline_values<std::uint64_t>({UINT64_MAX, 1}, {UINT64_MAX, 1});
  check_inline_values<std::int64_t>({}, {});
}

TEST_CASE("An inline constant with a wrong number of values") {
  kgen::ConstantInfo constant = {.name = "c", .type = kgen::ElementType::f32, .shape = {3}, .values = {1, 2}};
  CHECK_OUTCOME(load("", constant), KGEN_INTERNAL, "constant 'c' has 2 values, expected 1 or 3");
}

TEST_CASE("A constant from a file, aligned or not") {
  CHECK_OUTCOME(load(toy::safetensors(good_header, std::string(18, 'x'))), KGEN_OK, "");

  for (const std::string padding : {"", " ", "  ", "   "}) {
    const toy::TemporaryFolder folder;
    const float values[] = {1, 2, 3, 4};
    std::string data(18, '\0');
    std::memcpy(data.data(), values, sizeof(values));
    toy::write_file(folder.path("w.safetensors"), toy::safetensors(good_header + padding, data));
    static std::vector<float> found;
    kgen::GraphInfo graph;
    graph.constants = {constant_w()};
    graph.constants[0].calls = 3;  // one key for all calls
    graph.run = [](kgen::Call& call) {
      const auto w = call.constant<float, 2>(0, 2);
      REQUIRE(reinterpret_cast<std::uintptr_t>(w.data()) % 4 == 0);
      found.assign(w.data(), w.data() + 4);
    };
    const std::string weights = folder.path();
    kgen_load_options options = {};
    options.weights_directory = weights.c_str();
    kgen_model* model = nullptr;
    REQUIRE(kgen_model_load(kgen::as_c(graph), &options, &model) == KGEN_OK);
    REQUIRE(kgen_model_run(model, nullptr, 0, nullptr, 0) == KGEN_OK);
    kgen_model_free(model);
    CHECK(found == std::vector<float>{1, 2, 3, 4});
  }
}

TEST_CASE("Files that are missing or hold something else") {
  kgen::ConstantInfo constant = constant_w();
  constant.file = "v.safetensors";
  CHECK_OUTCOME(load("", constant), KGEN_FILE_ERROR, "cannot open 'v.safetensors': No such file or directory");
  constant.file = "";
  CHECK_OUTCOME(load("", constant), KGEN_FILE_ERROR, "cannot read '': not a regular file");
  CHECK_OUTCOME(load(""), KGEN_BAD_WEIGHTS,
                "'w.safetensors' is not safetensors: it has 0 bytes, fewer than the 8 of the header's length");
  CHECK_OUTCOME(
      load(std::string(8, '\xFF')), KGEN_BAD_WEIGHTS,
      "'w.safetensors' is not safetensors: its header would take 18446744073709551615 of the 0 bytes after its length");
  CHECK_OUTCOME(load(toy::safetensors("{", "")), KGEN_BAD_WEIGHTS,
                "'w.safetensors' is not safetensors: its header is not a JSON object");
  CHECK_OUTCOME(load(toy::safetensors("[]", "")), KGEN_BAD_WEIGHTS,
                "'w.safetensors' is not safetensors: its header is not a JSON object");
  CHECK_OUTCOME(load(toy::safetensors(std::string(100000, '['), "")), KGEN_BAD_WEIGHTS,
                "'w.safetensors' is not safetensors: its header is not a JSON object");
}

TEST_CASE("Headers with malformed entries") {
  const auto with_entry = [](const std::string& entry) {
    return load(toy::safetensors("{\"w\": " + entry + "}", "0123456789"));
  };
  const std::string prefix = "'w.safetensors' is not safetensors: ";
  CHECK_OUTCOME(with_entry("7"), KGEN_BAD_WEIGHTS, prefix + "tensor 'w' lacks dtype, shape or data_offsets");
  CHECK_OUTCOME(with_entry(R"({"dtype": 1, "shape": [], "data_offsets": [0, 4]})"), KGEN_BAD_WEIGHTS,
                prefix + "tensor 'w' lacks dtype, shape or data_offsets");
  CHECK_OUTCOME(with_entry(R"({"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]})"), KGEN_BAD_WEIGHTS,
                prefix + "the shape of tensor 'w' is not a list of sizes");
  CHECK_OUTCOME(with_entry(R"({"dtype": "F32", "shape": [18446744073709551615], "data_offsets": [0, 4]})"),
                KGEN_BAD_WEIGHTS, prefix + "the shape of tensor 'w' is not a list of sizes");
  CHECK_OUTCOME(with_entry(R"({"dtype": "F32", "shape": 4, "data_offsets": [0, 4]})"), KGEN_BAD_WEIGHTS,
                prefix + "the shape of tensor 'w' is not a list of sizes");
  CHECK_OUTCOME(with_entry(R"({"dtype": "F32", "shape": [1], "data_offsets": [0]})"), KGEN_BAD_WEIGHTS,
                prefix + "data_offsets of tensor 'w' are not two offsets");
  CHECK_OUTCOME(with_entry(R"({"dtype": "F32", "shape": [3], "data_offsets": [0, 12]})"), KGEN_BAD_WEIGHTS,
                prefix + "tensor 'w' takes bytes 0 to 12 of the data, and the file holds 10: it is cut off, or its "
                         "header is wrong; fetch or write it anew");
  CHECK_OUTCOME(with_entry(R"({"dtype": "F32", "shape": [1], "data_offsets": [8, 4]})"), KGEN_BAD_WEIGHTS,
                prefix + "tensor 'w' would begin at byte 8 and end before that, at 4: its data_offsets are wrong; "
                         "write the file anew");
  CHECK_OUTCOME(with_entry(R"({"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 4]})"), KGEN_BAD_WEIGHTS,
                "'w.safetensors': tensor 'w' holds 4 bytes, but F32[2, 2] takes 16");
}

TEST_CASE("Tensors of another dtype or shape, and keys that are not there") {
  const std::string file = toy::safetensors(good_header, std::string(18, 'x'));
  kgen::ConstantInfo constant = constant_w();
  constant.type = kgen::ElementType::f16;
  CHECK_OUTCOME(load(file, constant), KGEN_BAD_WEIGHTS, "'w.safetensors': tensor 'w' is F32[2, 2], expected F16[2, 2]");
  constant = constant_w();
  constant.shape = {4};
  CHECK_OUTCOME(load(file, constant), KGEN_BAD_WEIGHTS, "'w.safetensors': tensor 'w' is F32[2, 2], expected F32[4]");
  constant = constant_w();
  constant.key = "w_scales";
  CHECK_OUTCOME(load(file, constant), KGEN_MISSING_WEIGHT,
                "'w.safetensors' has no tensor 'w_scales'; nearest of its 2: 'w_scale', 'w'");
  constant.key = "layer.{index}.w";
  constant.calls = 2;
  CHECK_OUTCOME(load(file, constant), KGEN_MISSING_WEIGHT,
                "'w.safetensors' has no tensor 'layer.0.w'; nearest of its 2: 'w', 'w_scale'");
  constant.key = "{index+9}.{index}.{index";
  CHECK_OUTCOME(load(file, constant), KGEN_MISSING_WEIGHT,
                "'w.safetensors' has no tensor '9.0.{index'; nearest of its 2: 'w', 'w_scale'");
  CHECK_OUTCOME(load(toy::safetensors("{}", "")), KGEN_MISSING_WEIGHT,
                "'w.safetensors' has no tensor 'w'; it holds none");
}

TEST_CASE("No damaged file crashes the loader") {
  std::mt19937 random(1);
  const std::string file = toy::safetensors(good_header, std::string(18, 'x'));
  for (int round = 0; round < 500; ++round) {
    std::string damaged = file;
    for (int i = 0; i < 3; ++i) damaged[random() % (8 + good_header.size())] = static_cast<char>(random());
    if (round % 3 == 0) damaged.resize(random() % damaged.size());
    const Outcome result = load(damaged);
    CHECK((result.status == KGEN_OK || result.status == KGEN_BAD_WEIGHTS || result.status == KGEN_MISSING_WEIGHT));
  }
}

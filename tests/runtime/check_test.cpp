// Check mode: a stub beside its unfused reference.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/tensor.hpp"
#include "toy_arguments.hpp"

using toy::Outcome;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

template <class T>
kgen::Tensor tensor_of(const std::vector<float>& values) {
  kgen::Tensor tensor(kgen::element_type<T>(), {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.values<T>()[i] = static_cast<T>(values[i]);
  return tensor;
}

template <class T>
kgen::View<const T, 1> view_of(const kgen::Tensor& tensor) {
  return {tensor.values<T>().data(), {tensor.element_count()}};
}

// The message of comparing two lists as elements of type T; "" where they agree.
template <class T>
std::string compare(const std::vector<float>& actual, const std::vector<float>& reference,
                    kgen::ElementType precision = kgen::element_type<T>()) {
  static std::optional<kgen::Tensor> actual_tensor, reference_tensor;
  static kgen::ElementType given_precision;
  actual_tensor = tensor_of<T>(actual);
  reference_tensor = tensor_of<T>(reference);
  given_precision = precision;
  kgen::GraphInfo graph;
  graph.checkable = true;
  graph.run = [](kgen::Call& call) {
    call.compare("stub_y", "relu", "graph.yaml:10", view_of<T>(*actual_tensor), view_of<T>(*reference_tensor),
                 given_precision);
  };
  kgen_load_options options = {};
  options.check = 1;
  kgen_model* model = nullptr;
  REQUIRE(kgen_model_load(kgen::as_c(graph), &options, &model) == KGEN_OK);
  const Outcome result = toy::outcome(kgen_model_run(model, nullptr, 0, nullptr, 0));
  kgen_model_free(model);
  CHECK(result.status == (result.message.empty() ? KGEN_OK : KGEN_CHECK_FAILED));
  return result.message;
}

}  // namespace

TEST_CASE("Check mode finds the stub that is wrong, after the run, and only then") {
  const auto model = toy::load_toy(/*check=*/true);
  toy::Arguments arguments;
  CHECK(arguments.run(model.get()).status == KGEN_OK);

  toy::error_of_stub_y = 0.5f;
  const Outcome wrong = arguments.run(model.get());
  toy::error_of_stub_y = 0;
  CHECK(wrong.status == KGEN_CHECK_FAILED);
  CHECK(wrong.message ==
        "stub 'stub_y' differs from its unfused reference at operator 'add' (toy.yaml:12): element [0, 0] is 2.5, "
        "expected "
        "2; 12 of the elements of [2, 6] differ, by up to 0.5");
  CHECK(arguments.y_values[0] == 2.5f);  // the run went on
  CHECK(arguments.sum_values[0] == 22.0f);

  CHECK(arguments.run(model.get()).status == KGEN_OK);  // a difference does not outlive its run

  toy::error_of_stub_y = 0.5f;
  const auto unchecked = toy::load_toy();
  CHECK(arguments.run(unchecked.get()).status == KGEN_OK);
  toy::error_of_stub_y = 0;
}

TEST_CASE("Rounding is tolerated, as much as the precision allows") {
  CHECK(compare<float>({1, 2, 1000}, {1, 2.00001f, 1000}) == "");
  CHECK(
      compare<float>({1, 2}, {1, 2.01f}) ==
      "stub 'stub_y' differs from its unfused reference at operator 'relu' (graph.yaml:10): element [1] is 2, expected "
      "2.00999999; 1 of the elements of [2] differ, by up to 0.00999999");
  CHECK(compare<float>({1, 2}, {1, 2.01f}, kgen::ElementType::bf16) == "");
  CHECK(compare<kgen::bf16>({1, 2}, {1, 2.03f}) == "");
  CHECK(compare<kgen::bf16>({1, 2}, {1, 2.5f}) != "");
  CHECK(compare<kgen::f16>({1, 2}, {1, 2.005f}) == "");
  CHECK(compare<kgen::f16>({1, 2}, {1, 2.1f}) != "");
  CHECK(compare<double>({1}, {1.00001f}) != "");
  CHECK(compare<kgen::f8e4m3>({1}, {1.125f}) == "");
  CHECK(compare<kgen::f8e4m3>({1}, {2}) != "");
  CHECK(compare<kgen::f8e5m2>({1}, {1.25f}) == "");
  CHECK(compare<kgen::f8e5m2>({1}, {4}) != "");
}

TEST_CASE("An element that cancels is measured against the others") {
  CHECK(compare<float>({100, 0.0001f}, {100, 0.0002f}) == "");
  CHECK(compare<float>({1, 0.0001f}, {1, 0.01f}) != "");
}

TEST_CASE("A sum that cancels is measured against its terms, which broadcast to it") {
  const std::vector<float> whole(12, 0.25f);
  const kgen::Tensor actual = tensor_of<kgen::bf16>(whole);
  const kgen::Tensor reference = tensor_of<kgen::bf16>({0.5f, 0.25f, 0.25f, 0.25f, 0.25f, 0.25f,  //
                                                        0.25f, 0.25f, 0.25f, 0.25f, 0.25f, 0.25f});
  const auto differs = [&](const kgen::Tensor& term, int columns) {
    static std::optional<bool> found;
    kgen::GraphInfo graph;
    graph.checkable = true;
    static std::function<void(kgen::Call&)> run;
    run = [&](kgen::Call& call) {
      const auto matrix = [](const kgen::Tensor& of, int rows, int wide) {
        return kgen::View<const kgen::bf16, 2>(of.values<kgen::bf16>().data(), {rows, wide});
      };
      const kgen::Precision precision(kgen::ElementType::bf16, call.terms(matrix(term, 1, columns)));
      found = call.differs(matrix(actual, 3, 4), matrix(reference, 3, 4), precision);
    };
    graph.run = [](kgen::Call& call) { run(call); };
    kgen_model* model = nullptr;
    REQUIRE(kgen_model_load(kgen::as_c(graph), nullptr, &model) == KGEN_OK);
    CHECK(toy::outcome(kgen_model_run(model, nullptr, 0, nullptr, 0)).status == KGEN_OK);
    kgen_model_free(model);
    return *found;
  };
  CHECK(compare<kgen::bf16>(whole, {0.5f, 0.25f, 0.25f, 0.25f, 0.25f, 0.25f,  //
                                    0.25f, 0.25f, 0.25f, 0.25f, 0.25f, 0.25f}) != "");
  CHECK_FALSE(differs(tensor_of<kgen::bf16>({64, 0, 0, 0}), 4));
  CHECK(differs(tensor_of<kgen::bf16>({0, 64, 64, 64}), 4));
  CHECK_FALSE(differs(tensor_of<kgen::bf16>({-64}), 1));
  CHECK(differs(tensor_of<kgen::bf16>({1}), 1));
  CHECK(differs(tensor_of<kgen::bf16>({infinity}), 1));
}

TEST_CASE("Integers agree exactly, except eight-bit ones, which are quantised values") {
  CHECK(compare<std::int64_t>({5, 6}, {5, 6}) == "");
  CHECK(compare<std::int64_t>({5, 6}, {5, 7}) ==
        "stub 'stub_y' differs from its unfused reference at operator 'relu' (graph.yaml:10): element [1] is 6, "
        "expected 7; "
        "1 of the elements of [2] differ, by up to 1");
  CHECK(compare<std::int8_t>({5, 6}, {5, 7}) == "");
  CHECK(compare<std::int8_t>({5, 6}, {5, 8}) ==
        "stub 'stub_y' differs from its unfused reference at operator 'relu' (graph.yaml:10): element [1] is 6, "
        "expected 8; "
        "1 of the elements of [2] differ, by up to 2");
  CHECK(compare<bool>({0, 1}, {0, 1}) == "");
  CHECK(compare<bool>({0, 1}, {0, 0}) != "");
}

TEST_CASE("NaN equals NaN, and infinity itself alone") {
  CHECK(compare<float>({not_a_number, infinity, -infinity, 1}, {not_a_number, infinity, -infinity, 1}) == "");
  CHECK(compare<float>({not_a_number, 1}, {1, 1}) ==
        "stub 'stub_y' differs from its unfused reference at operator 'relu' (graph.yaml:10): element [0] is nan, "
        "expected "
        "1; 1 of the elements of [2] differ, by up to 0");
  CHECK(compare<float>({1, 1}, {1, not_a_number}) != "");
  CHECK(compare<float>({infinity}, {-infinity}) != "");
  CHECK(compare<float>({3e38f}, {infinity}) != "");
  CHECK(compare<float>({infinity, 1}, {3e38f, 1}) != "");
}

TEST_CASE("Nothing agrees with nothing, and shapes must agree") {
  CHECK(compare<float>({}, {}) == "");
  CHECK(compare<float>({1, 2}, {1}) ==
        "stub 'stub_y' differs from its unfused reference at operator 'relu' (graph.yaml:10): its shape is [2], "
        "expected [1]");
}

TEST_CASE("Scratch memory is poisoned, and freed with its scope") {
  kgen::GraphInfo graph;
  graph.run = [](kgen::Call& call) {
    const auto outer = call.scratch<float, 1>({4});
    REQUIRE(std::isnan(outer.data()[3]));
    outer.data()[3] = 1;
    for (int i = 0; i < 20; ++i) {
      const auto scope = call.scratch_scope();
      call.scratch<float, 2>({1024, 1024});
    }
    REQUIRE(outer.data()[3] == 1);
    REQUIRE(call.scratch<float, 1>({0}).extent(0) == 0);
  };
  kgen_model* model = nullptr;
  REQUIRE(kgen_model_load(kgen::as_c(graph), nullptr, &model) == KGEN_OK);
  CHECK(kgen_model_run(model, nullptr, 0, nullptr, 0) == KGEN_OK);
  kgen_model_free(model);
}

// Every way in which arguments can be wrong: the code, the whole message, and that nothing was written.
#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "toy_arguments.hpp"

using toy::Arguments;
using toy::Outcome;

namespace {

// What a run on spoilt arguments comes to.
Outcome run_spoilt(const std::function<void(Arguments&)>& spoil) {
  const auto model = toy::load_toy();
  Arguments arguments;
  spoil(arguments);
  const Outcome result = arguments.run(model.get());
  CHECK(arguments.outputs_untouched());
  DLTensor total;
  REQUIRE(kgen_model_state(model.get(), 0, &total) == KGEN_OK);
  for (int i = 0; i < 64; ++i) CHECK(static_cast<float*>(total.data)[i] == 0);
  return result;
}

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("Right arguments compute y, sum and the state") {
  const auto model = toy::load_toy();
  Arguments arguments;
  CHECK_OUTCOME(arguments.run(model.get()), KGEN_OK, "");
  for (int i = 0; i < 12; ++i) CHECK(arguments.y_values[i] == 2);  // 0.5 * 2 + 1
  CHECK(arguments.y_values[12] == -1);
  for (int i = 0; i < 6; ++i) CHECK(arguments.sum_values[i] == 22.0f * (i + 1));
  CHECK(arguments.sum_values[6] == -1);
  DLTensor total;
  REQUIRE(kgen_model_state(model.get(), 0, &total) == KGEN_OK);
  const auto* values = static_cast<float*>(total.data);
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) {
      CHECK(values[8 * row + column] == (row < 2 && column >= 1 && column < 7 ? 2 : 0));
    }
  }
}

TEST_CASE("A wrong number of arguments") {
  const auto model = toy::load_toy();
  Arguments a;
  const auto run = [&](int inputs, int outputs) {
    return toy::outcome(kgen_model_run(model.get(), a.inputs.data(), inputs, a.outputs.data(), outputs));
  };
  CHECK_OUTCOME(run(3, 2), KGEN_WRONG_COUNT, "graph 'toy': 3 inputs were passed, expected 4 [x, gate, mask, position]");
  CHECK_OUTCOME(run(4, 1), KGEN_WRONG_COUNT, "graph 'toy': 1 outputs were passed, expected 2 [y, sum]");
  CHECK_OUTCOME(run(-1, 2), KGEN_WRONG_COUNT, "the count of inputs is -1 and of outputs 2, expected 0 or more");
  CHECK_OUTCOME(toy::outcome(kgen_model_run(nullptr, a.inputs.data(), 4, a.outputs.data(), 2)), KGEN_INVALID_ARGUMENT,
                "'model' is null");
  CHECK_OUTCOME(toy::outcome(kgen_model_run(model.get(), nullptr, 4, a.outputs.data(), 2)), KGEN_INVALID_ARGUMENT,
                "'inputs' is null");
  CHECK_OUTCOME(toy::outcome(kgen_model_run(model.get(), a.inputs.data(), 4, nullptr, 2)), KGEN_INVALID_ARGUMENT,
                "'outputs' is null");
  CHECK(a.outputs_untouched());
}

TEST_CASE("Null pointers within arguments") {
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.inputs[1] = nullptr; }), KGEN_INVALID_ARGUMENT,
                "input 'gate': the DLTensor pointer is null");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.outputs[1] = nullptr; }), KGEN_INVALID_ARGUMENT,
                "output 'sum': the DLTensor pointer is null");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.x.data = nullptr; }), KGEN_NULL_DATA,
                "input 'x': the data pointer is null, expected 48 bytes of f32[2, 6]");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.position.data = nullptr; }), KGEN_NULL_DATA,
                "input 'position': the data pointer is null, expected 8 bytes of i64[]");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.y.shape = nullptr; }), KGEN_INVALID_ARGUMENT,
                "output 'y': the shape pointer is null, expected 2 extents");
}

TEST_CASE("A tensor that is not in CPU memory") {
  CHECK_OUTCOME(run_spoilt([](Arguments& a) {
                  a.x.device = {kDLCUDA, 0};
                }),
                KGEN_WRONG_DEVICE, "input 'x': the memory is on cuda:0, expected cpu, where the model is");
}

TEST_CASE("Wrong element types and lanes") {
  CHECK_OUTCOME(run_spoilt([](Arguments& a) {
                  a.x.dtype = {kDLFloat, 64, 1};
                }),
                KGEN_WRONG_DTYPE, "input 'x': the element type is f64, expected f32");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) {
                  a.y.dtype = {kDLFloat, 32, 4};
                }),
                KGEN_WRONG_DTYPE, "output 'y': the element type is f32 with 4 lanes, expected f32");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) {
                  a.gate.dtype = {kDLComplex, 64, 1};
                }),
                KGEN_WRONG_DTYPE, "input 'gate': the element type is complex64, expected f32");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) {
                  a.mask.dtype = {kDLInt, 8, 1};
                }),
                KGEN_WRONG_DTYPE, "input 'mask': the element type is i8, expected bool");
}

TEST_CASE("Bool may come as u8, as producers of DLPack 0.6 give it") {
  CHECK_OUTCOME(toy::outcome([] {
                  const auto model = toy::load_toy();
                  Arguments arguments;
                  arguments.mask.dtype = {kDLUInt, 8, 1};
                  return arguments.run(model.get()).status;
                }()),
                KGEN_OK, "");
}

TEST_CASE("Wrong ranks") {
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.x.ndim = 1; }), KGEN_WRONG_RANK,
                "input 'x': the rank is 1, expected 2 [M, 2*D]");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.x.ndim = -1; }), KGEN_WRONG_RANK,
                "input 'x': the rank is -1, expected 2 [M, 2*D]");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) {
                  a.position.ndim = 1;
                  a.position.shape = a.mask_shape.data();
                }),
                KGEN_WRONG_RANK, "input 'position': the rank is 1, expected 0 []");
}

TEST_CASE("Extents that the graph fixes") {
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.mask_shape[0] = 5; }), KGEN_WRONG_EXTENT,
                "input 'mask': axis 0 is 5, expected 6");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.sum_shape[0] = 7; }), KGEN_WRONG_EXTENT,
                "output 'sum': axis 0 is 7, expected 6");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.x_shape[1] = -6; }), KGEN_WRONG_EXTENT,
                "input 'x': axis 1 has the negative extent -6");
}

TEST_CASE("Dims out of their ranges") {
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.x_shape[0] = 9; }), KGEN_DIM_OUT_OF_RANGE,
                "dim M is 9 (axis 0 of input 'x'), expected 1..8");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.x_shape[1] = 10; }), KGEN_DIM_OUT_OF_RANGE,
                "dim D is 5 (axis 1 of input 'x'), expected 0..4");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.position_values[0] = -1; }), KGEN_DIM_OUT_OF_RANGE,
                "dim P is -1 (the value of input 'position'), expected 0..6");
}

TEST_CASE("Extents that disagree with dims read elsewhere") {
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.x_shape[1] = 7; }), KGEN_DIM_INCONSISTENT,
                "input 'x': axis 1 is 7, expected 2*D = 6 with M = 2, D = 3, P = 1");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.gate_shape[0] = 3; }), KGEN_DIM_INCONSISTENT,
                "input 'gate': axis 0 is 3, expected M = 2 with M = 2, D = 3, P = 1");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.y_shape[1] = 4; }), KGEN_DIM_INCONSISTENT,
                "output 'y': axis 1 is 4, expected 2*D = 6 with M = 2, D = 3, P = 1");
}

TEST_CASE("A requirement on dims") {
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.position_values[0] = 3; }), KGEN_REQUIREMENT_FAILED,
                "total: the update must end within axis 1: 9 is greater than 8");
}

TEST_CASE("Strides that are not dense") {
  std::vector<std::int64_t> strides;
  const auto with_strides = [&](DLTensor Arguments::*tensor, std::vector<std::int64_t> wanted) {
    strides = std::move(wanted);
    return run_spoilt([&](Arguments& a) { (a.*tensor).strides = strides.data(); });
  };
  CHECK_OUTCOME(with_strides(&Arguments::x, {1, 2}), KGEN_WRONG_STRIDE,
                "input 'x': the strides are [1, 2], expected [6, 1] (dense row-major) for the shape [2, 6]");
  CHECK_OUTCOME(with_strides(&Arguments::y, {7, 1}), KGEN_WRONG_STRIDE,
                "output 'y': the strides are [7, 1], expected [6, 1] (dense row-major) for the shape [2, 6]");
  CHECK_OUTCOME(with_strides(&Arguments::y, {-6, 1}), KGEN_WRONG_STRIDE,
                "output 'y': the strides are [-6, 1], expected [6, 1] (dense row-major) for the shape [2, 6]");
  CHECK_OUTCOME(with_strides(&Arguments::y, {0, 1}), KGEN_WRONG_STRIDE,
                "output 'y': the strides are [0, 1], expected [6, 1] (dense row-major) for the shape [2, 6]");
}

TEST_CASE("Strides that do not matter") {
  const auto model = toy::load_toy();
  Arguments a;
  a.x_shape[0] = a.gate_shape[0] = a.y_shape[0] = 1;
  std::vector<std::int64_t> strides = {-5, 1};
  a.x.strides = a.y.strides = strides.data();  // of an axis with one element
  CHECK_OUTCOME(a.run(model.get()), KGEN_OK, "");
  CHECK(a.y_values[5] == 2);
  CHECK(a.y_values[6] == -1);
}

TEST_CASE("A strided input may be transposed, reversed or broadcast") {
  const auto model = toy::load_toy();
  Arguments a;
  for (int i = 0; i < 64; ++i) a.gate_values[i] = static_cast<float>(i);
  std::vector<std::int64_t> strides = {1, 10};
  a.gate.strides = strides.data();
  CHECK_OUTCOME(a.run(model.get()), KGEN_OK, "");
  CHECK(a.y_values[0 * 6 + 5] == 51);  // 0.5 * 2 + gate[50]
  CHECK(a.y_values[1 * 6 + 2] == 22);

  strides = {0, -2};
  a.gate.byte_offset = 40;
  CHECK_OUTCOME(a.run(model.get()), KGEN_OK, "");
  CHECK(a.y_values[0] == 11);
  CHECK(a.y_values[1 * 6 + 5] == 1);
}

TEST_CASE("byte_offset is honoured") {
  const auto model = toy::load_toy();
  Arguments a;
  a.x_values[0] = 100;
  a.x.byte_offset = 4;
  a.y.byte_offset = 8;
  a.position_values = {5, 2};
  a.position.data = a.position_values.data();
  a.position.byte_offset = 8;
  CHECK_OUTCOME(a.run(model.get()), KGEN_OK, "");
  CHECK(a.y_values[0] == -1);
  CHECK(a.y_values[1] == -1);
  CHECK(a.y_values[2] == 2);
  CHECK(a.y_values[13] == 2);
  CHECK(a.y_values[14] == -1);
}

TEST_CASE("Misaligned data") {
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.x.byte_offset = 2; }), KGEN_MISALIGNED,
                "input 'x': the data is not aligned to the 4 bytes of f32");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.position.data = a.x_values.data() + (a.position_values[0] == 1); }),
                KGEN_MISALIGNED, "input 'position': the data is not aligned to the 8 bytes of i64");
}

TEST_CASE("Outputs that overlap other memory") {
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.y.data = a.x_values.data() + 11; }), KGEN_OVERLAP,
                "output 'y' overlaps input 'x' in memory");
  CHECK_OUTCOME(run_spoilt([](Arguments& a) { a.sum.data = a.y_values.data() + 11; }), KGEN_OVERLAP,
                "output 'y' overlaps output 'sum' in memory");
  std::vector<std::int64_t> reversed = {-6, -1};
  CHECK_OUTCOME(run_spoilt([&](Arguments& a) {
                  a.gate.data = a.y_values.data() + 12;
                  a.gate.strides = reversed.data();
                }),
                KGEN_OVERLAP, "output 'y' overlaps input 'gate' in memory");
}

TEST_CASE("Outputs that touch other memory without overlapping it") {
  const auto model = toy::load_toy();
  Arguments a;
  a.sum.data = a.y_values.data() + 12;
  CHECK_OUTCOME(a.run(model.get()), KGEN_OK, "");
  CHECK(a.y_values[11] == 2);
  CHECK(a.y_values[12] == 22);
}

TEST_CASE("Arguments in the model's state") {
  const auto model = toy::load_toy();
  DLTensor total;
  REQUIRE(kgen_model_state(model.get(), 0, &total) == KGEN_OK);
  Arguments a;
  a.y.data = static_cast<float*>(total.data) + 16;
  CHECK_OUTCOME(a.run(model.get()), KGEN_OVERLAP, "output 'y' overlaps the model's state in memory");
  a.y.data = a.y_values.data();
  a.x.data = total.data;
  CHECK_OUTCOME(a.run(model.get()), KGEN_OVERLAP, "input 'x' overlaps the model's state in memory");
  CHECK(a.outputs_untouched());
}

TEST_CASE("Sizes that overflow") {
  CHECK_OUTCOME(run_spoilt([](Arguments& a) {
                  a.x_shape = {huge, 4};
                  a.x.shape = a.x_shape.data();
                }),
                KGEN_TOO_LARGE,
                "input 'x': the bytes of a buffer of shape [9223372036854775807, 4] do not fit into 63 bits");
  std::vector<std::int64_t> strides = {huge / 2, 1};
  CHECK_OUTCOME(run_spoilt([&](Arguments& a) { a.gate.strides = strides.data(); }), KGEN_TOO_LARGE,
                "input 'gate': shape [2, 6] with strides [4611686018427387903, 1] spans more than 60 bits of memory");
}

TEST_CASE("Tensors without elements need no data") {
  const auto model = toy::load_toy();
  Arguments a;
  a.x_shape[1] = a.gate_shape[1] = a.y_shape[1] = 0;
  a.x.data = a.gate.data = a.y.data = nullptr;
  CHECK_OUTCOME(a.run(model.get()), KGEN_OK, "");
  CHECK(a.sum_values[0] == 22);
}

#include "kgen/runtime/call.hpp"

#include <algorithm>
#include <cstring>
#include <deque>

#include "runtime/src/arguments.hpp"
#include "runtime/src/check.hpp"
#include "runtime/src/host_values.hpp"
#include "runtime/src/loaded_model.hpp"
#include "runtime/src/text.hpp"

namespace kgen {
namespace {

// Bytes that are NaN in every floating type, so that a stub that reads what nobody wrote shows.
constexpr int poison = 0xFF;

#ifdef NDEBUG
constexpr bool always_poison = false;
#else
constexpr bool always_poison = true;
#endif

// The row of a table that a wrapper asks for. What it asks is checked, since wrappers may be edited.
template <class Info>
const Info& row_at(const std::vector<Info>& table, const char* what, int row) {
  if (row < 0 || static_cast<std::size_t>(row) >= table.size()) {
    fail(KGEN_INTERNAL, "the wrapper asks for ", what, " ", row, " of ", table.size());
  }
  return table[static_cast<std::size_t>(row)];
}

template <class Info>
void require_declared(const Info& info, const char* what, ElementType type, std::size_t rank,
                      std::size_t declared_rank) {
  if (info.type != type || rank != declared_rank) {
    fail(KGEN_INTERNAL, "the wrapper asks for ", what, " '", info.name, "' as ", element_type_info(type).name,
         " of rank ", rank, ", but the graph declares ", element_type_info(info.type).name, " of rank ", declared_rank);
  }
}

// Of an input that sizes are read from.
std::int64_t whole_number(const Argument& argument, std::int64_t element) {
  if (argument.info.type == ElementType::i32) {
    std::int32_t value = 0;
    std::memcpy(&value, argument.data() + element * std::int64_t{sizeof(value)}, sizeof(value));
    return value;
  }
  if (argument.info.type != ElementType::i64) {
    fail(KGEN_INTERNAL, "the wrapper reads a size from ", argument.name(), " of ",
         element_type_info(argument.info.type).name);
  }
  std::int64_t value = 0;
  std::memcpy(&value, argument.data() + element * std::int64_t{sizeof(value)}, sizeof(value));
  return value;
}

template <class Info>
void require_call(const Info& info, const char* what, std::int64_t call) {
  if (call < 0 || call >= info.calls) {
    fail(KGEN_INTERNAL, "the wrapper asks for ", what, " '", info.name, "' of call ", call, " of ", info.calls);
  }
}

AddressRange range_of(const DeviceBuffer& memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  return {begin, begin + memory.size()};
}

template <class Tensor>
void require_all_usable(const kgen_model& model, const char* role, const std::vector<TensorInfo>& infos,
                        std::span<Tensor* const> tensors) {
  if (tensors.size() != infos.size()) {
    std::vector<const char*> names;
    for (const TensorInfo& info : infos) names.push_back(info.name);
    fail(KGEN_WRONG_COUNT, "graph '", model.graph.name, "': ", tensors.size(), " ", role, "s were passed, expected ",
         infos.size(), " ", bracketed(std::span<const char* const>(names)));
  }
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (tensors[i] == nullptr)
      fail(KGEN_INVALID_ARGUMENT, role, " '", infos[i].name, "': the DLTensor pointer is null");
    require_usable({role, infos[i], *tensors[i]}, model.dlpack_device(), model.api);
  }
}

// compare(actual, reference, precision), where all can be read.
template <class Compare>
auto on_host(kgen_model& model, const AnyView& actual, const AnyView& reference, const Precision& precision,
             Compare&& compare) {
  const StreamHandle stream = model.streams.at(0);
  const HostValues found(model.api, stream, actual);
  const HostValues expected(model.api, stream, reference);
  std::deque<HostValues> terms;
  for (const AnyView& term : precision.terms) terms.emplace_back(model.api, stream, term);
  if (!model.api.is_host) model.api.wait_for_stream(stream);
  Precision readable = precision.type;
  for (const HostValues& term : terms) readable.terms.push_back(term.view());
  return compare(found.view(), expected.view(), readable);
}

}  // namespace

// ---- launches

Launch::Launch(kgen_model& model, const char* stub, const LaunchOrder& order)
    : model_(model), stub_(stub), stream_(order.stream), signal_(order.signal), threads_(model.options.threads) {
  if (model_.failure) throw *model_.failure;
  if (model_.api.is_host && model_.constants.loading()) has_read_ = &Launch::has_read;
  if (model_.api.is_host && !model_.profile.running()) return;
  try {
    native_ = model_.streams.at(stream_);
    if (!model_.streams.single()) {
      for (const int event : order.wait) model_.api.wait(native_, model_.streams.event(event));
    }
    if (model_.profiled()) begin_ = model_.profile.mark(native_);
    model_.api.push_range(stub_);
  } catch (const Error& error) {
    throw Error(error.status(), concat(stub_, ": ", error.what()));
  }
}

Launch::~Launch() {
  if (model_.api.is_host && begin_ == nullptr) return;
  try {
    finish();
  } catch (const Error& error) {
    model_.note_failure({error.status(), concat(stub_, ": ", error.what())});
  } catch (const std::exception& error) {
    model_.note_failure({KGEN_INTERNAL, error.what()});
  }
  model_.api.pop_range();
}

void* Launch::workspace(void* launch, std::int64_t bytes) {
  const Launch& self = *static_cast<const Launch*>(launch);
  return self.model_.workspace(self.stream_, static_cast<std::size_t>(bytes));
}

void Launch::has_read(void* launch) { static_cast<const Launch*>(launch)->model_.constants.give_back_read(); }

void Launch::finish() {
  const std::string error = model_.api.take_launch_error();
  if (!error.empty()) fail(KGEN_DEVICE_ERROR, "the launch failed: ", error);
  if (begin_ != nullptr) model_.profile.record(stub_, stream_, begin_, model_.profile.mark(native_));
  if (signal_ >= 0 && !model_.streams.single()) model_.api.record(model_.streams.event(signal_), native_);
  if (model_.careful()) model_.api.wait_for_stream(native_);
}

Fork::Fork(kgen_model& model, int streams) : model_(model), streams_(streams) {
  for (int i = 1; i < streams_; ++i) model_.streams.order(model_.streams.at(0), model_.streams.at(i));
}

Fork::~Fork() {
  try {
    for (int i = 1; i < streams_; ++i) model_.streams.order(model_.streams.at(i), model_.streams.at(0));
  } catch (const Error& error) {
    model_.note_failure(error);
  }
}

ScratchScope::ScratchScope(kgen_model& model) : model_(model), kept_(model.scratch.size()) {}

ScratchScope::~ScratchScope() { model_.scratch.resize(kept_); }

Call::Call(kgen_model& model) : model_(model) {}

Call::Call(kgen_model& model, std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs)
    : model_(model), inputs_(inputs), outputs_(outputs) {
  require_all_usable(model, "input", model.graph.inputs, inputs);
  require_all_usable(model, "output", model.graph.outputs, outputs);
}

void Call::ask_shapes(kgen_model& model, std::span<const DLTensor* const> inputs,
                      std::span<std::int64_t* const> shapes) {
  const std::size_t count = model.graph.outputs.size();
  if (shapes.size() != count) {
    fail(KGEN_WRONG_COUNT, "graph '", model.graph.name, "': shapes of ", shapes.size(), " outputs were asked for, of ",
         count);
  }
  Call call(model);
  call.inputs_ = inputs;
  require_all_usable(model, "input", model.graph.inputs, inputs);
  if (count == 0) return;
  Question question{shapes, std::vector<bool>(count), count};
  call.question_ = &question;
  try {
    model.graph.run(call);
  } catch (const AllKnown&) {
    return;
  }
  call.require_no_question();
}

void Call::answer(const TensorInfo& info, int index, ElementType type, Extents shape) const {
  require_declared(info, "output", type, shape.size(), info.dims.size());
  const auto output = static_cast<std::size_t>(index);
  std::ranges::copy(shape, question_->shapes[output]);
  if (question_->known[output]) return;
  question_->known[output] = true;
  if (--question_->unknown == 0) throw AllKnown();
}

// A wrapper that goes on to launch what it has no outputs for.
void Call::require_no_question() const {
  if (question_ == nullptr) return;
  fail(KGEN_INTERNAL, "the wrapper of graph '", model_.graph.name, "' does not ask for all outputs before it launches");
}

Argument Call::input_argument(int index) const {
  const TensorInfo& info = row_at(model_.graph.inputs, "input", index);
  return {"input", info, *inputs_[static_cast<std::size_t>(index)]};
}

Argument Call::output_argument(int index) const {
  const TensorInfo& info = row_at(model_.graph.outputs, "output", index);
  return {"output", info, *outputs_[static_cast<std::size_t>(index)]};
}

std::int64_t Call::input_extent(int input, int axis) {
  const Argument argument = input_argument(input);
  if (axis < 0 || axis >= argument.tensor.ndim) {
    fail(KGEN_INTERNAL, "the wrapper asks for axis ", axis, " of ", argument.name(), " of rank ", argument.tensor.ndim);
  }
  origin_ = {input, axis};
  return argument.tensor.shape[axis];
}

std::int64_t Call::input_scalar(int input) {
  const Argument argument = input_argument(input);
  require_declared(argument.info, "input", argument.info.type, 0, argument.info.dims.size());
  origin_ = {.input = input};
  return whole_number(argument, 0);
}

std::int64_t Call::input_element(int input, std::int64_t element) {
  const Argument argument = input_argument(input);
  require_declared(argument.info, "input", argument.info.type, 1, argument.info.dims.size());
  const std::int64_t count = fixed_count(argument.info);
  if (element < 0 || element >= count) {
    fail(KGEN_INTERNAL, "the wrapper asks for element ", element, " of ", argument.name(), ", which has ", count);
  }
  require_shape(argument, {&count, 1}, dims_);
  require_dense(argument);
  origin_ = {.input = input, .element = element};
  return whole_number(argument, element);
}

std::int64_t Call::dim(const char* name, std::int64_t low, std::int64_t high, std::int64_t value) {
  if (value < low || value > high) {
    const std::string axis = origin_.axis >= 0      ? concat("axis ", origin_.axis)
                             : origin_.element >= 0 ? concat("element ", origin_.element)
                                                    : "the value";
    const std::string origin =
        origin_.input < 0 ? "" : concat(" (", axis, " of ", input_argument(origin_.input).name(), ")");
    fail(KGEN_DIM_OUT_OF_RANGE, "dim ", name, " is ", value, origin, ", expected ", low, "..", high);
  }
  dims_.push_back({name, value});
  return value;
}

void Call::require(std::int64_t left, std::int64_t right, const char* meaning) const {
  if (left > right) fail(KGEN_REQUIREMENT_FAILED, meaning, ": ", left, " is greater than ", right);
}

void Call::require_shape_of(const Argument& argument, ElementType type, Extents shape) const {
  require_declared(argument.info, argument.role, type, shape.size(), argument.info.dims.size());
  require_shape(argument, shape, dims_);
  if (address_range(argument).overlaps(range_of(model_.states.memory))) {
    fail(KGEN_OVERLAP, argument.name(), " overlaps the model's state in memory");
  }
}

const void* Call::any_input(int index, ElementType type, Extents shape, std::span<std::int64_t> strides) const {
  const Argument argument = input_argument(index);
  require_shape_of(argument, type, shape);
  std::ranges::copy(strides_of(argument.tensor), strides.begin());
  return on_device(index, argument);
}

const void* Call::dense_input(int index, ElementType type, Extents shape) const {
  const Argument argument = input_argument(index);
  require_shape_of(argument, type, shape);
  require_dense(argument);
  return on_device(index, argument);
}

// What is on the host, and a stub reads, goes to the device through memory that stays as it is for as long as the run
// may come again.
const void* Call::on_device(int index, const Argument& argument) const {
  if (model_.api.is_host || !argument.info.on_host || question_ != nullptr) return argument.data();
  return model_.stage_input(index, argument.data());
}

void* Call::dense_output(int index, ElementType type, Extents shape) const {
  if (question_ != nullptr) {
    answer(row_at(model_.graph.outputs, "output", index), index, type, shape);
    return nullptr;
  }
  const Argument output = output_argument(index);
  require_shape_of(output, type, shape);
  require_dense(output);
  const AddressRange range = address_range(output);
  const auto require_apart = [&](const Argument& other) {
    if (range.overlaps(address_range(other)))
      fail(KGEN_OVERLAP, output.name(), " overlaps ", other.name(), " in memory");
  };
  for (int input = 0; input < static_cast<int>(inputs_.size()); ++input) require_apart(input_argument(input));
  for (int other = 0; other < static_cast<int>(outputs_.size()); ++other) {
    if (other != index) require_apart(output_argument(other));
  }
  return output.data();
}

Call::Buffer Call::state_buffer(int row, ElementType type, Extents shape, std::int64_t call) const {
  const StateInfo& state = row_at(model_.graph.states, "state", row);
  require_declared(state, "state", type, shape.size(), state.shape.size());
  require_call(state, "state", call);
  if (!std::ranges::equal(shape, state.shape, std::ranges::less_equal())) {
    fail(KGEN_INTERNAL, "the wrapper asks for ", bracketed(shape), " of state '", state.name, "', which is ",
         bracketed(Extents(state.shape)));
  }
  return {model_.states.data(static_cast<std::size_t>(row), call), state.shape};
}

Call::Buffer Call::persistent_buffer(int row, ElementType type, int rank, std::int64_t call) const {
  const PersistentInfo& persistent = row_at(model_.graph.persistents, "persistent", row);
  require_declared(persistent, "persistent", type, static_cast<std::size_t>(rank), persistent.shape.size());
  require_call(persistent, "persistent", call);
  return {model_.persistents.data(static_cast<std::size_t>(row), call), persistent.shape};
}

Call::ConstantBuffer Call::constant_buffer(int row, ElementType type, int rank, std::int64_t call) const {
  const ConstantInfo& constant = row_at(model_.graph.constants, "constant", row);
  require_declared(constant, "constant", type, static_cast<std::size_t>(rank), constant.shape.size());
  require_call(constant, "constant", call);
  return {model_.constants.data(static_cast<std::size_t>(row), call), constant.shape};
}

void Call::release_constant(int row, std::int64_t call) const {
  require_call(row_at(model_.graph.constants, "constant", row), "constant", call);
  model_.constants.release(static_cast<std::size_t>(row), call);
}

Arena Call::arena(std::int64_t bytes) const {
  require_no_question();
  const auto size = static_cast<std::size_t>(end_of_slot(0, bytes));
  model_.grow_arena(size);
  if (size > 0 && (always_poison || model_.options.check)) {
    model_.api.fill(model_.arena.data(), poison, size, model_.streams.at(0));
  }
  return {model_.arena.data(), bytes};
}

Launch Call::launch(const char* stub, const LaunchOrder& order) const {
  require_no_question();
  return {model_, stub, order};
}

Fork Call::fork(int streams) const {
  require_no_question();
  return {model_, streams};
}

void Call::wait(std::initializer_list<int> events) const {
  if (model_.streams.single()) return;
  for (const int event : events) model_.api.wait(model_.streams.at(0), model_.streams.event(event));
}

void Call::signal(int event) const {
  if (!model_.streams.single()) model_.api.record(model_.streams.event(event), model_.streams.at(0));
}

StreamHandle Call::native_stream() const { return model_.streams.at(0); }

int Call::threads() const { return model_.options.threads; }

bool Call::checking() const { return model_.options.check; }

ScratchScope Call::scratch_scope() const { return ScratchScope(model_); }

void* Call::scratch_buffer(std::int64_t bytes) const {
  const auto size = static_cast<std::size_t>(bytes);
  const StreamHandle stream = model_.streams.at(0);
  const DeviceBuffer& memory = model_.scratch.emplace_back(DeviceBuffer::undefined(model_.api, size, stream));
  if (size > 0) model_.api.fill(memory.data(), poison, size, stream);
  return memory.data();
}

void Call::compare_values(const CheckedOperator& op, const AnyView& actual, const AnyView& reference,
                          const Precision& precision) const {
  if (!model_.difference.empty()) return;
  model_.difference = on_host(model_, actual, reference, precision,
                              [&](const AnyView& found, const AnyView& expected, const Precision& readable) {
                                return difference(op, found, expected, readable);
                              });
  if (!model_.difference.empty() && model_.observed == op.stub) {
    model_.difference += "; each of its operators agrees with its reference on what the stub computes before it";
  }
}

bool Call::values_differ(const AnyView& actual, const AnyView& reference, const Precision& precision) const {
  return model_.difference.empty() && !on_host(model_, actual, reference, precision, agree);
}

void Call::note_observed(const char* stub) const {
  if (model_.difference.empty()) model_.observed = stub;
}

}  // namespace kgen

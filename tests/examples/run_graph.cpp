// Runs a graph that this program was linked with, on inputs from files, and writes its outputs to files; run_example.py
// makes the inputs and judges the outputs. What only the caller's side can see is judged here: inputs stay as they
// were, and nothing is written outside the outputs.
//
//   run_graph MANIFEST.json... [--check] [--passes N] [--profile RUNS]
//
// The manifest:
//   {"graph": name, "library": path, "weights": folder, "cases": [{
//      "label": text, "misaligned": bool, "threads": count, "steps": [{
//      "inputs": [{"dtype": "f32", "file": path, "shape": [...], "strides": [...], "offset": elements}],
//      "outputs": [{"dtype": "f32", "file": path, "shape": [...]}]}]}]}   without a shape it is written to path.shape
// A graph that this program was not linked with is found in the library; `threads` may be left out too.
// Each case loads the graph anew; its steps are calls of the one model. A misaligned case places every tensor at an
// address that is a multiple of its element size and of nothing more. With --passes a case's steps are run N times
// over, each time from a fresh state, and judged by the last: on a GPU the second pass captures them, and further ones
// replay what was captured. All passes must give the same bits.
#include <dlfcn.h>
#include <kgen_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "graph_table.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "kgen/runtime/tensor.hpp"

namespace {

using nlohmann::json;

const kgen_graph* linked_graph(const std::string& name) {
  const GraphEntry* entry = graph_table;
  while (entry->name && entry->name != name) ++entry;
  if (!entry->name) throw std::runtime_error("this program was not linked with the graph '" + name + "'");
  return entry->graph();
}

constexpr std::size_t guard_bytes = 256;
constexpr unsigned char poison = 0xFF;  // NaN in every float type, -1 in every signed integer

const std::map<std::string, DLDataType> dtypes = {
    {"f64", {kDLFloat, 64, 1}},   {"f32", {kDLFloat, 32, 1}},     {"f16", {kDLFloat, 16, 1}},
    {"bf16", {kDLBfloat, 16, 1}}, {"i8", {kDLInt, 8, 1}},         {"i16", {kDLInt, 16, 1}},
    {"i32", {kDLInt, 32, 1}},     {"i64", {kDLInt, 64, 1}},       {"u8", {kDLUInt, 8, 1}},
    {"u16", {kDLUInt, 16, 1}},    {"u32", {kDLUInt, 32, 1}},      {"u64", {kDLUInt, 64, 1}},
    {"bool", {KGEN_DL_BOOL, 8, 1}},
    {"f8e4m3", {KGEN_DL_FLOAT8_E4M3FN, 8, 1}},
    {"f8e5m2", {KGEN_DL_FLOAT8_E5M2, 8, 1}},
    {"f8e4m3fnuz", {KGEN_DL_FLOAT8_E4M3FNUZ, 8, 1}},
    {"f8e5m2fnuz", {KGEN_DL_FLOAT8_E5M2FNUZ, 8, 1}},
    {"f8e8m0", {KGEN_DL_FLOAT8_E8M0FNU, 8, 1}},
    {"f4e2m1", {KGEN_DL_FLOAT4_E2M1FN, 4, 1}},
    {"i4", {kDLInt, 4, 1}},
    {"u4", {kDLUInt, 4, 1}},
    {"i2", {kDLInt, 2, 1}},
    {"u2", {kDLUInt, 2, 1}},
};

void check(kgen_status status) {
  if (status != KGEN_OK) throw std::runtime_error(std::string(kgen_status_name(status)) + ": " + kgen_last_error());
}

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Where a graph runs.
struct Place {
  const kgen::DeviceApi& api;
  DLDevice device;
};

// A tensor in memory of its own, between two guards. Where the graph runs on a GPU, a copy of that is there.
class Tensor {
 public:
  Tensor(const json& description, bool misaligned, bool is_input, const Place& place)
      : place_(place), shape_(description.at("shape")), file_(description.at("file")) {
    tensor_.dtype = dtypes.at(description.at("dtype"));
    const std::size_t element = std::max(tensor_.dtype.bits / 8, 1);  // packed ones are placed by bytes
    std::vector<char> content;
    if (is_input) {
      content = read_file(file_);
    } else {
      std::size_t elements = 1;
      for (std::int64_t extent : shape_) elements *= extent;
      content.assign((elements * tensor_.dtype.bits + 7) / 8, static_cast<char>(poison));
    }
    begin_ = guard_bytes + (misaligned ? element : 0);
    bytes_ = content.size();
    const std::size_t total = (begin_ + bytes_ + guard_bytes + 63) / 64 * 64;
    memory_.reset(static_cast<unsigned char*>(std::aligned_alloc(64, total)));
    std::memset(memory_.get(), poison, total);
    total_ = total;
    std::copy(content.begin(), content.end(), memory_.get() + begin_);
    original_.assign(memory_.get(), memory_.get() + begin_ + bytes_ + guard_bytes);

    if (description.contains("strides")) strides_ = description.at("strides").get<std::vector<std::int64_t>>();
    const std::size_t first = begin_ + description.value("offset", std::size_t{0}) * element;
    tensor_.data = memory_.get() + first;
    tensor_.device = {kDLCPU, 0};
    if (!place.api.is_host) {
      const std::span<const unsigned char> image(memory_.get(), total);
      there_ = kgen::Tensor::of<unsigned char>({static_cast<std::int64_t>(total)}, image)
                   .to(place.api, place.device.device_id);
      tensor_.data = there_->data() + first;
      tensor_.device = place.device;
    }
    tensor_.ndim = static_cast<int>(shape_.size());
    tensor_.shape = shape_.data();
    tensor_.strides = strides_.empty() ? nullptr : strides_.data();
  }

  const DLTensor* dlpack() const { return &tensor_; }
  DLTensor* dlpack() { return &tensor_; }

  // Undoes what was written to it.
  void restore() {
    std::copy(original_.begin(), original_.end(), memory_.get());
    if (!there_) return;
    place_.api.copy(there_->data(), memory_.get(), total_, nullptr);
    place_.api.wait_for_stream(nullptr);
  }

  // What has become of it on the GPU.
  void fetch() {
    if (!there_) return;
    const kgen::Tensor image = there_->to(kgen::cpu_device);
    std::memcpy(memory_.get(), image.data(), total_);
  }

  // Whether it holds what it held when this was last asked.
  bool repeats() {
    fetch();
    const std::vector<unsigned char> before = std::exchange(seen_, {memory_.get(), memory_.get() + total_});
    return before.empty() || before == seen_;
  }

  bool unchanged() const { return std::equal(original_.begin(), original_.end(), memory_.get()); }
  bool guards_unchanged() const {
    return std::equal(original_.begin(), original_.begin() + begin_, memory_.get()) &&
           std::equal(original_.end() - guard_bytes, original_.end(), memory_.get() + begin_ + bytes_);
  }
  void write() const {
    std::ofstream file(file_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(memory_.get() + begin_), static_cast<std::streamsize>(bytes_));
    if (!file) throw std::runtime_error("cannot write " + file_);
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  Place place_;
  std::vector<std::int64_t> shape_, strides_;
  std::string file_;
  std::unique_ptr<unsigned char[], Free> memory_;
  std::vector<unsigned char> original_, seen_;
  std::size_t begin_ = 0, bytes_ = 0, total_ = 0;
  std::optional<kgen::Tensor> there_;
  DLTensor tensor_ = {};
};

struct Options {
  std::vector<std::string> manifests;
  bool check = false;
  int passes = 1;
  int profiled_runs = 0;
};

// Runs the graph `runs` times more, timed, and prints what each stub took, the longest first.
template <class Run>
void profile(kgen_model* model, int runs, const Run& run) {
  check(kgen_model_profile_start(model));
  for (int i = 0; i < runs; ++i) run();
  check(kgen_model_profile_stop(model, nullptr));
  std::printf("\n%-32s %16s %16s\n", "stub", "launches a run", "us a run");
  for (int i = 0; i < kgen_model_profile_count(model); ++i) {
    kgen_profile_entry entry;
    check(kgen_model_profile_get(model, i, &entry));
    std::printf("%-32s %16.0f %16.1f\n", entry.name, static_cast<double>(entry.count) / runs,
                static_cast<double>(entry.total_ns) / runs / 1e3);
  }
}

// One call, and its arguments.
struct Step {
  std::vector<Tensor> inputs, outputs;
};

// Outputs that do not say their shapes have those that the model gives them, which are written beside their files.
std::vector<json> with_shapes(kgen_model* model, const std::vector<Tensor>& inputs, std::vector<json> outputs) {
  const auto says_shape = [](const json& output) { return output.contains("shape"); };
  if (std::all_of(outputs.begin(), outputs.end(), says_shape)) return outputs;
  std::vector<const DLTensor*> given;
  for (const Tensor& input : inputs) given.push_back(input.dlpack());
  std::vector<std::vector<std::int64_t>> shapes(outputs.size());
  std::vector<std::int64_t*> extents;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    kgen_tensor_info info;
    check(kgen_graph_output(kgen_model_graph(model), static_cast<int>(i), &info));
    shapes[i].resize(static_cast<std::size_t>(info.rank));
    extents.push_back(shapes[i].data());
  }
  check(kgen_model_output_shapes(model, given.data(), static_cast<int>(given.size()), extents.data(),
                                 static_cast<int>(outputs.size())));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (says_shape(outputs[i])) continue;
    outputs[i]["shape"] = shapes[i];
    const std::string path = outputs[i].at("file").get<std::string>() + ".shape";
    if (!(std::ofstream(path) << outputs[i]["shape"])) throw std::runtime_error("cannot write " + path);
  }
  return outputs;
}

Step make_step(kgen_model* model, const json& description, bool misaligned) {
  const kgen_graph* graph = kgen_model_graph(model);
  const Place host{kgen::cpu_device, {kDLCPU, 0}};
  Place place{*reinterpret_cast<const kgen::GraphInfo*>(graph)->device, {}};
  check(kgen_model_device(model, &place.device));
  Step step;
  for (const json& input : description.at("inputs")) {
    kgen_tensor_info info;
    check(kgen_graph_input(graph, static_cast<int>(step.inputs.size()), &info));
    step.inputs.emplace_back(input, misaligned, true, info.on_host ? host : place);
  }
  const std::vector<json> outputs = with_shapes(model, step.inputs, description.at("outputs"));
  for (const json& output : outputs) step.outputs.emplace_back(output, misaligned, false, place);
  return step;
}

void run_step(kgen_model* model, Step& step) {
  std::vector<const DLTensor*> inputs;
  std::vector<DLTensor*> outputs;
  for (const Tensor& input : step.inputs) inputs.push_back(input.dlpack());
  for (Tensor& output : step.outputs) outputs.push_back(output.dlpack());
  check(kgen_model_run(model, inputs.data(), static_cast<int>(inputs.size()), outputs.data(),
                       static_cast<int>(outputs.size())));
}

void judge_step(Step& step) {
  for (auto* tensors : {&step.inputs, &step.outputs}) {
    for (Tensor& tensor : *tensors) tensor.fetch();
  }
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (!step.inputs[i].unchanged()) throw std::runtime_error("input " + std::to_string(i) + " was written to");
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (!step.outputs[i].guards_unchanged()) {
      throw std::runtime_error("memory beside output " + std::to_string(i) + " was written to");
    }
    step.outputs[i].write();
  }
}

void require_repeated(std::vector<Tensor>& outputs, int pass) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].repeats()) continue;
    throw std::runtime_error("output " + std::to_string(i) + " of pass " + std::to_string(pass) +
                             " has other bits than that of the pass before");
  }
}

// body(i), whose errors say which step they are of.
template <class Body>
void for_each_step(std::size_t count, const Body& body) {
  for (std::size_t i = 0; i < count; ++i) {
    try {
      body(i);
    } catch (const std::exception& error) {
      throw std::runtime_error("step " + std::to_string(i) + ": " + error.what());
    }
  }
}

void run_case(const kgen_graph* graph, const std::string& weights, const json& item, const Options& options) {
  kgen_load_options load_options = {};
  load_options.weights_directory = weights.c_str();
  load_options.check = options.check;
  load_options.threads = item.value("threads", 0);
  kgen_model* loaded = nullptr;
  check(kgen_model_load(graph, &load_options, &loaded));
  const std::unique_ptr<kgen_model, void (*)(kgen_model*)> model(loaded, kgen_model_free);
  const json& descriptions = item.at("steps");
  std::vector<Step> steps(descriptions.size());
  for_each_step(steps.size(),
                [&](std::size_t i) { steps[i] = make_step(model.get(), descriptions[i], item.at("misaligned")); });
  for (int pass = 0; pass < options.passes; ++pass) {
    if (pass > 0) check(kgen_model_reset_state(model.get()));
    for_each_step(steps.size(), [&](std::size_t i) {
      for (Tensor& output : steps[i].outputs) output.restore();
      run_step(model.get(), steps[i]);
      if (options.passes > 1) require_repeated(steps[i].outputs, pass);
    });
  }
  for_each_step(steps.size(), [&](std::size_t i) {
    judge_step(steps[i]);
    if (options.profiled_runs > 0) {
      profile(model.get(), options.profiled_runs, [&] { run_step(model.get(), steps[i]); });
    }
  });
}

const kgen_graph* find_graph(const json& manifest) {
  const std::string name = manifest.at("graph");
  if (!manifest.contains("library")) return linked_graph(name);
  void* library = dlopen(manifest.at("library").get<std::string>().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* found = library ? dlsym(library, ("kgen_graph_" + name).c_str()) : nullptr;
  if (!found) throw std::runtime_error(dlerror());
  return reinterpret_cast<const kgen_graph* (*)()>(found)();
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with("--")) {
      options.manifests.push_back(arguments[i]);
    } else if (arguments[i] == "--check") {
      options.check = true;
    } else if (arguments[i] == "--passes" && i + 1 < arguments.size()) {
      options.passes = std::stoi(arguments[++i]);
    } else if (arguments[i] == "--profile" && i + 1 < arguments.size()) {
      options.profiled_runs = std::stoi(arguments[++i]);
    } else {
      throw std::runtime_error("unknown argument " + arguments[i]);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: run_graph MANIFEST.json... [--check] [--passes N] [--profile RUNS]\n");
    return 2;
  }
  std::string label = "manifest";
  try {
    const Options options = parse({argv + 1, argv + argc});
    for (const std::string& path : options.manifests) {
      std::ifstream file(path);
      const json manifest = json::parse(file);
      const kgen_graph* graph = find_graph(manifest);
      for (const json& item : manifest.at("cases")) {
        label = item.at("label");
        run_case(graph, manifest.at("weights"), item, options);
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", label.c_str(), error.what());
    return 1;
  }
  return 0;
}

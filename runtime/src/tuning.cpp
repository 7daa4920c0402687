#include "kgen/runtime/tuning.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "kgen/runtime/graph_info.hpp"
#include "kgen/runtime/model.hpp"
#include "runtime/src/text.hpp"

namespace kgen {
namespace {

using Clock = std::chrono::steady_clock;
using Sizes = std::vector<std::int64_t>;  // by dim

// A candidate is taken where it takes less than this of the first one's time: less than that is chance.
constexpr double least_gain = 0.98;
constexpr int rounds = 2;
constexpr auto time_of_sizes = std::chrono::milliseconds(300);  // of a candidate, in each round

struct TuningOptions {
  std::string output, weights;
  int device = 0, threads = 0;
  std::map<std::string, Sizes, std::less<>> sizes;  // those asked for, by dim
};

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ---- the command line

void print_help(const Tuning& tuning) {
  std::printf(
      "Times candidates of compile-time parameters, and writes the fastest as rules of tuning.\n"
      "  tune [--output FILE] [--weights FOLDER] [--device N] [--threads N] [DIM=1,64,512 ...]\n"
      "  --output FILE     where to write the rules; without it, to stdout\n"
      "  --weights FOLDER  of the graph's safetensors files; without it all weights are the same small number\n"
      "  --device N        which GPU\n"
      "  --threads N       of the CPU; without it as many as OpenMP would take\n"
      "  DIM=...           the sizes to time; the i-th of each dim together. Without it the least, the greatest and one "
      "between\n");
  for (const TuningDim& dim : tuning.dims)
    std::printf("  %s: %lld..%lld\n", dim.name, static_cast<long long>(dim.low), static_cast<long long>(dim.high));
}

std::int64_t number_of(std::string_view text, std::string_view what) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || status != std::errc{} || end != text.data() + text.size())
    throw UsageError(concat(what, ": '", text, "' is no number"));
  return value;
}

// "M=1,64,512"
void read_sizes(std::string_view argument, const Tuning& tuning, TuningOptions& options) {
  const auto equals = argument.find('=');
  const std::string_view name = argument.substr(0, equals);
  const auto dim = std::find_if(tuning.dims.begin(), tuning.dims.end(), [&](const auto& each) { return each.name == name; });
  if (equals == argument.npos || dim == tuning.dims.end()) throw UsageError(concat("'", argument, "': see --help"));
  for (std::string_view rest = argument.substr(equals + 1);; rest.remove_prefix(rest.find(',') + 1)) {
    const std::int64_t size = number_of(rest.substr(0, rest.find(',')), name);
    if (size < dim->low || size > dim->high)
      throw UsageError(concat(name, ": ", size, " is not in ", dim->low, "..", dim->high));
    options.sizes[std::string(name)].push_back(size);
    if (rest.find(',') == rest.npos) return;
  }
}

TuningOptions read_arguments(const Tuning& tuning, int argc, char** argv) {
  TuningOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("--")) {
      read_sizes(argument, tuning, options);
      continue;
    }
    if (i + 1 == argc) throw UsageError(concat("'", argument, "': see --help"));
    const char* value = argv[++i];
    if (argument == "--output") {
      options.output = value;
    } else if (argument == "--weights") {
      options.weights = value;
    } else if (argument == "--device") {
      options.device = static_cast<int>(number_of(value, argument));
    } else if (argument == "--threads") {
      options.threads = static_cast<int>(number_of(value, argument));
    } else {
      throw UsageError(concat("'", argument, "': see --help"));
    }
  }
  return options;
}

// The sizes of each run.
std::vector<Sizes> sizes_of_runs(const Tuning& tuning, const TuningOptions& options) {
  std::vector<Sizes> by_dim;
  std::size_t runs = 1;
  for (const TuningDim& dim : tuning.dims) {
    const auto asked = options.sizes.find(dim.name);
    const std::int64_t low = std::max<std::int64_t>(dim.low, std::min<std::int64_t>(1, dim.high));
    const auto between = static_cast<std::int64_t>(std::sqrt(static_cast<double>(low) * static_cast<double>(dim.high)));
    Sizes sizes = asked != options.sizes.end() ? asked->second : Sizes{low, between, dim.high};
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    runs = std::max(runs, sizes.size());
    by_dim.push_back(std::move(sizes));
  }
  std::vector<Sizes> made(runs);
  for (const Sizes& sizes : by_dim) {
    for (std::size_t run = 0; run < runs; ++run) made[run].push_back(sizes[std::min(run, sizes.size() - 1)]);
  }
  return made;
}

// "M=64, P=0"
std::string sizes_text(const Tuning& tuning, const Sizes& sizes) {
  std::string text;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    text += concat(i == 0 ? "" : ", ", tuning.dims[i].name, "=", sizes[i]);
  return text;
}

// ---- runs

template <class T>
void fill_random(Tensor& tensor, std::minstd_rand& random) {
  std::uniform_real_distribution<float> between(-1.0f, 1.0f);
  for (T& each : tensor.values<T>()) each = static_cast<T>(between(random));
}

// Random numbers; whole ones are 0, as they may be places.
Tensor input_tensor(const TensorInfo& info, const TuningInput& input, std::minstd_rand& random) {
  Tensor tensor(info.type, input.shape);
  switch (info.type) {
    case ElementType::f64: fill_random<double>(tensor, random); break;
    case ElementType::f32: fill_random<float>(tensor, random); break;
    case ElementType::f16: fill_random<f16>(tensor, random); break;
    case ElementType::bf16: fill_random<bf16>(tensor, random); break;
    case ElementType::f8e4m3: fill_random<f8e4m3>(tensor, random); break;
    case ElementType::f8e5m2: fill_random<f8e5m2>(tensor, random); break;
    default: break;
  }
  for (std::size_t i = 0; i < input.values.size(); ++i) {
    if (info.type == ElementType::i64) tensor.values<std::int64_t>()[i] = input.values[i];
    if (info.type == ElementType::i32) tensor.values<std::int32_t>()[i] = static_cast<std::int32_t>(input.values[i]);
  }
  return tensor;
}

// The graph with its weights read from files as they are, or, without a folder of them, all the same small number.
GraphInfo graph_to_load(const kgen_graph* graph, bool from_files) {
  GraphInfo info = *reinterpret_cast<const GraphInfo*>(graph);
  for (ConstantInfo& constant : info.constants) {
    if (from_files || constant.file == nullptr) continue;
    constant.file = constant.key = nullptr;
    constant.values = {0.01};
  }
  return info;
}

// The tensors of a run.
struct Arguments {
  std::vector<Tensor> inputs, outputs;

  Arguments(Model& model, const GraphInfo& graph, const std::vector<TuningInput>& given, int device) {
    std::minstd_rand random(1);
    const auto place = [&](Tensor host, bool on_host) {
      return graph.device->is_host || on_host ? std::move(host) : host.to(*graph.device, device);
    };
    std::vector<DLTensor> views;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const TensorInfo& info = graph.inputs[i];
      inputs.push_back(place(input_tensor(info, given[i], random), info.on_host));
    }
    for (const Tensor& each : inputs) views.push_back(each.dlpack());
    std::vector<const DLTensor*> pointers;
    for (const DLTensor& each : views) pointers.push_back(&each);
    std::vector<std::vector<std::int64_t>> shapes;
    std::vector<std::int64_t*> places;
    for (const TensorInfo& info : graph.outputs) shapes.emplace_back(info.dims.size());
    for (auto& shape : shapes) places.push_back(shape.data());
    const kgen_status status =
        kgen_model_output_shapes(model.get(), pointers.data(), static_cast<int>(pointers.size()), places.data(),
                                 static_cast<int>(places.size()));
    if (status != KGEN_OK) throw Error(status, kgen_last_error());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const int place_of = graph.device->is_host ? 0 : device;
      outputs.emplace_back(graph.outputs[i].type, shapes[i], *graph.device, place_of);
    }
  }

  void run(Model& model) {
    std::vector<const Tensor*> in;
    std::vector<Tensor*> out;
    for (const Tensor& each : inputs) in.push_back(&each);
    for (Tensor& each : outputs) out.push_back(&each);
    model.run(in, out);
  }
};

// Nanoseconds of each call's steps in one profiled run.
std::vector<double> times_of(const std::vector<kgen_profile_entry>& profile, const std::vector<TunedCall>& calls) {
  std::vector<double> times;
  for (const TunedCall& call : calls) {
    double total = 0;
    for (const kgen_profile_entry& entry : profile) {
      const bool is_its = std::any_of(call.steps.begin(), call.steps.end(),
                                      [&](const char* step) { return std::strcmp(step, entry.name) == 0; });
      if (is_its) total += static_cast<double>(entry.total_ns);
    }
    times.push_back(total);
  }
  return times;
}

// The least times of runs, one after another.
std::vector<double> least_times(Model& model, Arguments& arguments, const std::vector<TunedCall>& calls) {
  std::vector<double> least(calls.size(), std::numeric_limits<double>::infinity());
  arguments.run(model);
  const auto begin = Clock::now();
  for (int run = 0; run < 3 || Clock::now() - begin < time_of_sizes; ++run) {
    model.profile_start();
    arguments.run(model);
    model.profile_stop();
    const std::vector<double> times = times_of(model.profile(), calls);
    for (std::size_t i = 0; i < calls.size(); ++i) least[i] = std::min(least[i], times[i]);
  }
  return least;
}

// ---- the whole

std::string processor_name() {
  std::FILE* file = std::fopen("/proc/cpuinfo", "r");
  char line[512], name[256] = "cpu";
  while (file != nullptr && std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "model name : %255[^\n]", name) == 1) break;
  }
  if (file != nullptr) std::fclose(file);
  return name;
}

class Tuner {
 public:
  Tuner(const Tuning& tuning, TuningOptions options)
      : tuning_(tuning), options_(std::move(options)), runs_(sizes_of_runs(tuning, options_)) {
    const std::vector<double> unknown(tuning.calls.size(), std::numeric_limits<double>::infinity());
    times_.assign(tuning.candidates.size(), std::vector(runs_.size(), unknown));
  }

  // The rules, as YAML.
  std::string run() {
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < tuning_.candidates.size(); ++i) measure(i);
    }
    if (failed_.size() == runs_.size()) throw std::runtime_error("no run succeeded");
    std::string rules;
    for (std::size_t call = 0; call < tuning_.calls.size(); ++call) rules += rule_for(call);
    return heading() + (rules.empty() ? "tuning: []\n" : "tuning:\n" + rules) + "ops: []\n";
  }

 private:
  void measure(std::size_t candidate) {
    const GraphInfo graph = graph_to_load(tuning_.candidates[candidate].graph, !options_.weights.empty());
    kgen_load_options load{};
    load.weights_directory = options_.weights.empty() ? nullptr : options_.weights.c_str();
    load.threads = options_.threads;
    load.device = options_.device;
    load.eager = 1;
    Model model(as_c(graph), load);
    device_ = device_text(model.device());
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      if (failed_.contains(run)) continue;
      try {
        Arguments arguments(model, graph, tuning_.inputs(runs_[run]), options_.device);
        const std::vector<double> times = least_times(model, arguments, tuning_.calls);
        std::vector<double>& least = times_[candidate][run];
        for (std::size_t call = 0; call < times.size(); ++call) least[call] = std::min(least[call], times[call]);
      } catch (const Error& error) {
        failed_.insert(run);
        std::fprintf(stderr, "tune: left out %s: %s\n", sizes_text(tuning_, runs_[run]).c_str(), error.what());
      }
    }
  }

  // The candidate's time beside the first one's: the geometric mean over the runs.
  double ratio(std::size_t candidate, std::size_t call) const {
    double sum = 0;
    int count = 0;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const double time = times_[candidate][run][call], first = times_[0][run][call];
      if (!std::isfinite(time) || first <= 0) continue;
      sum += std::log(std::max(time, 1.0) / first);
      ++count;
    }
    return count == 0 ? 1 : std::exp(sum / count);
  }

  // The rule of the fastest candidate, where that is one; tells of all.
  std::string rule_for(std::size_t call) const {
    const TunedCall& it = tuning_.calls[call];
    std::fprintf(stderr, "%s where %s\n", it.kernel, it.when);
    std::size_t best = 0;
    for (std::size_t i = 0; i < tuning_.candidates.size(); ++i) {
      const char* parameters = tuning_.candidates[i].parameters[call];
      if (i > 0 && *parameters == '\0') continue;
      std::string times;
      for (std::size_t run = 0; run < runs_.size(); ++run)
        times += concat(run == 0 ? "" : ", ", times_[i][run][call] / 1000);
      std::fprintf(stderr, "  %-32s %5.2f  %s us\n", i == 0 ? "as planned" : parameters, ratio(i, call), times.c_str());
      if (ratio(i, call) < ratio(best, call)) best = i;
    }
    if (ratio(best, call) > least_gain) return "";
    char gain[64];
    std::snprintf(gain, sizeof(gain), "%.2f of the time it took before", ratio(best, call));
    return concat("- {kernel: ", it.kernel, ", when: \"", it.when, "\", parameters: {",
                  tuning_.candidates[best].parameters[call], "}, doc: \"", gain, "\"}\n");
  }

  // What the times were taken on.
  std::string heading() const {
    std::string text =
        concat("# The fastest of what was tried on ", device_ == "cpu" ? processor_name() : device_, " at\n");
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      if (!failed_.contains(run)) text += concat("#   ", sizes_text(tuning_, runs_[run]), "\n");
    }
    return text;
  }

  const Tuning& tuning_;
  TuningOptions options_;
  std::vector<Sizes> runs_;
  std::set<std::size_t> failed_;                         // runs
  std::vector<std::vector<std::vector<double>>> times_;  // by candidate, run and call: the least, in nanoseconds
  std::string device_;
};

void write_text(const std::string& text, const std::string& path) {
  std::FILE* file = path.empty() ? stdout : std::fopen(path.c_str(), "w");
  bool written = file != nullptr && std::fputs(text.c_str(), file) >= 0;
  if (file != nullptr && file != stdout) written = std::fclose(file) == 0 && written;
  if (!written) throw std::runtime_error(concat("cannot write '", path, "'"));
}

}  // namespace

int tune(const Tuning& tuning, int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--help") {
    print_help(tuning);
    return 0;
  }
  try {
    const TuningOptions options = read_arguments(tuning, argc, argv);
    write_text(Tuner(tuning, options).run(), options.output);
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "tune: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tune: %s\n", error.what());
    return 1;
  }
}

}  // namespace kgen

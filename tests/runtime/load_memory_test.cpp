// What a load holds in memory: a constant that load alone reads is there while load needs it, and no longer.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "fake_device.hpp"
#include "kgen/elementwise.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/runtime/call.hpp"
#include "toy_arguments.hpp"

using toy::Outcome;

namespace {

constexpr std::int64_t layers = 40, weight_elements = std::int64_t{5} << 18;  // of 5 MB each
constexpr std::int64_t weight_bytes = weight_elements * 4;

// layers.{index}.w of `count` layers, of shape [elements] or, where there are `columns`, [elements / columns, columns]: every
// element is the number of the layer.
void write_weights(const std::string& path, std::int64_t count, std::int64_t elements, std::int64_t columns = 0) {
  const std::string shape =
      columns == 0 ? std::to_string(elements) : std::to_string(elements / columns) + ", " + std::to_string(columns);
  std::string header = "{";
  for (std::int64_t i = 0; i < count; ++i) {
    header += (i == 0 ? "\"layers." : ", \"layers.") + std::to_string(i) + R"(.w": {"dtype": "F32", "shape": [)" +
              shape + "], \"data_offsets\": [" + std::to_string(i * elements * 4) + ", " +
              std::to_string((i + 1) * elements * 4) + "]}";
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::ofstream file(path, std::ios::binary);
  const std::uint64_t length = header.size();
  file.write(reinterpret_cast<const char*>(&length), sizeof(length)) << header;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::vector<float> values(static_cast<std::size_t>(elements), static_cast<float>(i));
    file.write(reinterpret_cast<const char*>(values.data()), elements * 4);
  }
}

std::int64_t call_count = 0;  // of the graph that is loaded

// persistent = the weight backwards, as packing reads all and writes as much.
void load_layers(kgen::Call& call) {
  for (std::int64_t index = 0; index < call_count; ++index) {
    const auto w = call.constant<float, 1>(0, index);
    const auto kept = call.persistent<float, 1>(0, index);
    std::reverse_copy(w.data(), w.data() + w.extent(0), kept.data());
    call.release_constant(0, index);
  }
}

kgen::GraphInfo graph_of(std::int64_t count, std::int64_t elements) {
  call_count = count;
  kgen::GraphInfo graph;
  graph.name = "packed";
  graph.constants = {{.name = "layer.w",
                      .type = kgen::ElementType::f32,
                      .shape = {elements},
                      .file = "weights.safetensors",
                      .key = "layers.{index}.w",
                      .calls = static_cast<int>(count),
                      .load_only = true}};
  graph.persistents = {
      {.name = "layer.w_kept", .type = kgen::ElementType::f32, .shape = {elements}, .calls = static_cast<int>(count)}};
  graph.load = load_layers;
  graph.run = [](kgen::Call& call) {
    for (std::int64_t i = 0; i < 3; ++i) CHECK(call.persistent<float, 1>(0, i).data()[7] == static_cast<float>(i));
  };
  return graph;
}

// w: f32[K, N] of 128 MB, which is all that there is, given by rows or by columns.
constexpr std::int64_t K = 4096, N = 8192;

void load_panels_of_rows(kgen::Call& call) {
  const auto w = call.constant<float, 2>(0);
  kgen::pack_columns(w, call.persistent<float, 3>(0), call.launch("w_panels"));
  call.release_constant(0);
}
void load_panels_of_columns(kgen::Call& call) {
  const auto w = call.constant<float, 2>(0).permute<1, 0>();
  kgen::pack_columns(w, call.persistent<float, 3>(0), call.launch("w_panels"));
  call.release_constant(0);
}
struct Halved {
  kgen::View<const float, 2> w;
  kgen::View<kgen::bf16, 2> half;
  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at) const {
    half.store(at, w.load<W>(at) * 0.5f);
  }
};
void load_halved(kgen::Call& call) {
  const auto w = call.constant<float, 2>(0);
  kgen::elementwise(w.shape(), Halved{w, call.persistent<kgen::bf16, 2>(0)}, call.launch("half"));
  call.release_constant(0);
}

kgen::GraphInfo graph_of_one(void (*load)(kgen::Call&), kgen::PersistentInfo kept, const std::vector<std::int64_t>& shape) {
  kgen::GraphInfo graph;
  graph.name = "one";
  graph.constants = {{.name = "w",
                      .type = kgen::ElementType::f32,
                      .shape = shape,
                      .file = "weights.safetensors",
                      .key = "layers.0.w",
                      .load_only = true}};
  graph.persistents = {std::move(kept)};
  graph.load = load;
  graph.run = [](kgen::Call&) {};
  return graph;
}

// "VmHWM" or "VmRSS" of this process, in bytes.
std::int64_t memory_of_process(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(what + ":")) return std::stoll(line.substr(what.size() + 1)) * 1024;
  }
  return -1;
}

struct Growth {
  std::int64_t peak, kept;
};

// How far the process that loads the graph grows meanwhile, and by how much it is larger then; in a process of its own.
Growth growth_of_load(const kgen::GraphInfo& graph, const std::string& folder) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::int64_t before = memory_of_process("VmRSS");
    kgen_load_options options = {};
    options.weights_directory = folder.c_str();
    options.threads = 1;
    kgen_model* model = nullptr;
    const kgen_status status = kgen_model_load(kgen::as_c(graph), &options, &model);
    Growth growth{memory_of_process("VmHWM") - before, memory_of_process("VmRSS") - before};
    if (status != KGEN_OK || before < 0) growth = {-1, -1};
    const bool written = ::write(ends[1], &growth, sizeof(growth)) == sizeof(growth);
    ::_exit(written ? 0 : 1);
  }
  Growth growth{-1, -1};
  CHECK(::read(ends[0], &growth, sizeof(growth)) == sizeof(growth));
  ::close(ends[0]);
  ::close(ends[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(growth.peak >= 0);
  return growth;
}

toy::ModelPointer load(const kgen::GraphInfo& graph, const std::string& folder, kgen_status expected = KGEN_OK) {
  kgen_load_options options = {};
  options.weights_directory = folder.c_str();
  kgen_model* model = nullptr;
  CHECK_MESSAGE(kgen_model_load(kgen::as_c(graph), &options, &model) == expected, kgen_last_error());
  return {model, kgen_model_free};
}

}  // namespace

TEST_CASE("A load of 200 MB of weights takes at most a tenth more than what is kept of them") {
  const toy::TemporaryFolder folder;
  write_weights(folder.path("weights.safetensors"), layers, weight_elements);
  const kgen::GraphInfo graph = graph_of(layers, weight_elements);
  const Growth growth = growth_of_load(graph, folder.path());
  const std::int64_t weights = layers * weight_bytes;
  MESSAGE("peak ", growth.peak >> 20, " MB, kept ", growth.kept >> 20, " MB, of weights ", weights >> 20, " MB");
  CHECK(growth.peak >= weights);
  CHECK(growth.peak <= weights + weights / 10);
  CHECK(growth.kept <= weights + weights / 50);
  const auto model = load(graph, folder.path());
  CHECK(kgen_model_run(model.get(), nullptr, 0, nullptr, 0) == KGEN_OK);
}

TEST_CASE("A load of one weight, all that a model has, takes at most a tenth more than what is kept of it") {
  using kgen::ElementType;
  const std::int64_t bytes = K * N * 4;
  const auto check = [](const kgen::GraphInfo& graph, std::int64_t columns, std::int64_t kept) {
    const toy::TemporaryFolder folder;
    write_weights(folder.path("weights.safetensors"), 1, K * N, columns);
    const Growth growth = growth_of_load(graph, folder.path());
    MESSAGE("peak ", growth.peak >> 20, " MB, of which ", kept >> 20, " MB are kept");
    CHECK(growth.peak >= kept);
    CHECK(growth.peak <= kept + bytes / 10);
  };
  const kgen::PersistentInfo panels{.name = "w_panels", .type = ElementType::f32, .shape = {N / 16, K, 16}};
  check(graph_of_one(load_panels_of_rows, panels, {K, N}), N, bytes);
  check(graph_of_one(load_panels_of_columns, panels, {N, K}), K, bytes);
  const kgen::PersistentInfo half{.name = "half", .type = ElementType::bf16, .shape = {K, N}};
  check(graph_of_one(load_halved, half, {K, N}), N, bytes / 2);
}

TEST_CASE("On a device a constant that load alone reads is allocated for as long as load needs it") {
  const toy::TemporaryFolder folder;
  write_weights(folder.path("weights.safetensors"), 3, 1000);
  kgen::GraphInfo graph = graph_of(3, 1000);
  graph.device = &fake::device;
  fake::take_log();
  const int before = fake::live_handles();
  {
    const auto model = load(graph, folder.path());
    CHECK(kgen_model_run(model.get(), nullptr, 0, nullptr, 0) == KGEN_OK);
  }
  CHECK(fake::live_handles() == before);
  // Each weight goes before the next one comes.
  const auto log = fake::only(fake::take_log(), {"allocate", "free"});
  int weights = 0;
  for (std::size_t i = 0; i + 1 < log.size(); ++i) {
    if (!log[i].starts_with("allocate 4000 ")) continue;
    ++weights;
    CHECK(log[i + 1].starts_with("free "));
  }
  CHECK(weights == 3);
}

TEST_CASE("A load that fails in the middle leaves nothing behind") {
  const toy::TemporaryFolder folder;
  write_weights(folder.path("weights.safetensors"), 3, 1000);
  kgen::GraphInfo graph = graph_of(3, 1000);
  graph.device = &fake::device;
  const int before = fake::live_handles();
  for (int after = 0; after < 3; ++after) {  // of the three weights
    fake::fail_at("copy", after, KGEN_DEVICE_ERROR, "the copy failed");
    const auto model = load(graph, folder.path(), KGEN_DEVICE_ERROR);
    CHECK(model == nullptr);
  }
  graph.load = [](kgen::Call& call) {
    call.constant<float, 1>(0, 1);
    throw kgen::Error(KGEN_INTERNAL, "a stub failed");
  };
  CHECK(load(graph, folder.path(), KGEN_INTERNAL) == nullptr);
  CHECK(fake::live_handles() == before);
}

TEST_CASE("Every constant is found before anything is computed, also one that load alone reads") {
  const toy::TemporaryFolder folder;
  write_weights(folder.path("weights.safetensors"), 2, 1000);
  kgen::GraphInfo graph = graph_of(3, 1000);
  static int loads;
  loads = 0;
  graph.load = [](kgen::Call&) { ++loads; };
  load(graph, folder.path(), KGEN_MISSING_WEIGHT);
  CHECK(loads == 0);
}

TEST_CASE("Inline constants and misaligned ones that load alone reads; several models; what is asked for too late") {
  const toy::TemporaryFolder folder;
  // One byte in front of the data: no element is aligned.
  const std::string header = R"({"w": {"dtype": "F32", "shape": [4], "data_offsets": [1, 17]} })";
  std::string data(17, '\0');
  const float values[] = {1, 2, 3, 4};
  std::memcpy(data.data() + 1, values, sizeof(values));
  toy::write_file(folder.path("w.safetensors"), toy::safetensors(header, data));
  kgen::GraphInfo graph;
  graph.name = "late";
  graph.constants = {
      {.name = "w",
       .type = kgen::ElementType::f32,
       .shape = {4},
       .file = "w.safetensors",
       .key = "w",
       .load_only = true},
      {.name = "c", .type = kgen::ElementType::f32, .shape = {4}, .values = {5}, .calls = 2, .load_only = true},
      {.name = "d", .type = kgen::ElementType::f32, .shape = {4}, .values = {7}}};
  graph.persistents = {{.name = "sum", .type = kgen::ElementType::f32, .shape = {4}}};
  graph.load = [](kgen::Call& call) {
    for (std::int64_t again = 0; again < 2; ++again) {
      const auto w = call.constant<float, 1>(0);
      const auto c = call.constant<float, 1>(1, again);
      REQUIRE(reinterpret_cast<std::uintptr_t>(w.data()) % 4 == 0);
      for (int i = 0; i < 4; ++i) call.persistent<float, 1>(0).data()[i] = w.data()[i] + c.data()[i];
      call.release_constant(0);
      call.release_constant(1, again);
      call.release_constant(1, again);  // it is gone already
    }
    call.constant<float, 1>(0);  // and is left
  };
  static std::vector<float> found;
  graph.run = [](kgen::Call& call) {
    const auto sum = call.persistent<float, 1>(0);
    found.assign(sum.data(), sum.data() + 4);
    found.push_back(call.constant<float, 1>(2).data()[3]);
  };
  for (int i = 0; i < 2; ++i) {
    const auto one = load(graph, folder.path()), other = load(graph, folder.path());
    CHECK(kgen_model_run(one.get(), nullptr, 0, nullptr, 0) == KGEN_OK);
    CHECK(found == std::vector<float>{6, 7, 8, 9, 7});
  }
  kgen::GraphInfo late = graph;
  late.run = [](kgen::Call& call) { call.constant<float, 1>(1, 0); };
  const auto model = load(late, folder.path());
  CHECK_OUTCOME(toy::outcome(kgen_model_run(model.get(), nullptr, 0, nullptr, 0)), KGEN_INTERNAL,
                "the wrapper asks for constant 'c', which only load reads, after load");
  kgen::GraphInfo early = graph;
  early.load = [](kgen::Call& call) { call.release_constant(2); };
  kgen_load_options options = {};
  const std::string weights = folder.path();
  options.weights_directory = weights.c_str();
  kgen_model* none = nullptr;
  CHECK_OUTCOME(toy::outcome(kgen_model_load(kgen::as_c(early), &options, &none)), KGEN_INTERNAL,
                "the wrapper gives up constant 'd', which runs read");
}

// Loads the graph it is linked with and runs it once on tensors of ones: how long it takes until a program runs.
//   first_run WEIGHTS_FOLDER SHAPE...        a SHAPE per input and output, in order: f32:64x512, or i64: for a scalar
#include <kgen_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" const kgen_graph* FIRST_RUN_GRAPH(void);

namespace {

struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> floats;
  std::int64_t integer = 0;  // an i64 tensor is a scalar zero
  DLTensor view = {};
};

void parse(const std::string& text, Tensor& tensor) {
  const bool is_float = text.rfind("f32:", 0) == 0;
  std::int64_t count = 1;
  for (std::size_t at = 4; at < text.size(); ++at) {
    tensor.shape.push_back(std::strtoll(&text[at], nullptr, 10));
    count *= tensor.shape.back();
    at = std::min(text.find('x', at), text.size());
  }
  tensor.floats.assign(is_float ? static_cast<std::size_t>(count) : 0, 1.0f);
  tensor.view.data = is_float ? static_cast<void*>(tensor.floats.data()) : &tensor.integer;
  tensor.view.device = {kDLCPU, 0};
  tensor.view.dtype = is_float ? DLDataType{kDLFloat, 32, 1} : DLDataType{kDLInt, 64, 1};
  tensor.view.ndim = static_cast<int>(tensor.shape.size());
  tensor.view.shape = tensor.shape.data();
}

int fail() {
  std::fprintf(stderr, "first_run: %s\n", kgen_last_error());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const kgen_graph* graph = FIRST_RUN_GRAPH();
  const int inputs = kgen_graph_input_count(graph), outputs = kgen_graph_output_count(graph);
  if (argc != 2 + inputs + outputs) {
    std::fprintf(stderr, "usage: first_run WEIGHTS_FOLDER SHAPE..., %d inputs and %d outputs\n", inputs, outputs);
    return 2;
  }
  std::vector<Tensor> tensors(static_cast<std::size_t>(inputs + outputs));
  std::vector<DLTensor*> views;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    parse(argv[2 + i], tensors[i]);
    views.push_back(&tensors[i].view);
  }
  kgen_load_options options = {};
  options.weights_directory = argv[1];
  kgen_model* model = nullptr;
  if (kgen_model_load(graph, &options, &model) != KGEN_OK) return fail();
  if (kgen_model_run(model, views.data(), inputs, views.data() + inputs, outputs) != KGEN_OK) return fail();
  std::printf("%g\n", static_cast<double>(tensors.back().floats.back()));
  kgen_model_free(model);
  return 0;
}

/* The C ABI from C: it compiles as C11, and does what kgen_runtime.h says. */
#include <kgen_runtime.h>
#include <stdio.h>
#include <string.h>

const kgen_graph* kgen_graph_toy(void);

static int failures = 0;

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                     \
    }                                                                 \
  } while (0)

static DLTensor tensor_of(void* data, DLDataType dtype, int rank, int64_t* shape) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof(tensor));
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = rank;
  tensor.dtype = dtype;
  tensor.shape = shape;
  return tensor;
}

static void run_model(kgen_model* model) {
  const DLDataType f32 = {kDLFloat, 32, 1};
  const DLDataType i64 = {kDLInt, 64, 1};
  const DLDataType boolean = {KGEN_DL_BOOL, 8, 1};
  float x_values[4] = {2, 4, 6, 8}, gate_values[4] = {1, 1, 1, 1}, y_values[4], sum_values[6];
  uint8_t mask_values[6] = {0};
  int64_t position_value = 0, matrix[2] = {2, 2}, six = 6;
  DLTensor x = tensor_of(x_values, f32, 2, matrix);
  DLTensor gate = tensor_of(gate_values, f32, 2, matrix);
  DLTensor mask = tensor_of(mask_values, boolean, 1, &six);
  DLTensor position = tensor_of(&position_value, i64, 0, NULL);
  DLTensor y = tensor_of(y_values, f32, 2, matrix);
  DLTensor sum = tensor_of(sum_values, f32, 1, &six);
  const DLTensor* inputs[4];
  DLTensor* outputs[2];
  inputs[0] = &x;
  inputs[1] = &gate;
  inputs[2] = &mask;
  inputs[3] = &position;
  outputs[0] = &y;
  outputs[1] = &sum;

  EXPECT(kgen_model_profile_start(model) == KGEN_OK);
  EXPECT(kgen_model_run(model, inputs, 4, outputs, 2) == KGEN_OK);
  EXPECT(kgen_model_profile_stop(model, NULL) == KGEN_OK);
  EXPECT(y_values[3] == 5);
  EXPECT(sum_values[5] == 132);
  EXPECT(kgen_model_profile_count(model) == 4);

  x.ndim = 3;
  EXPECT(kgen_model_run(model, inputs, 4, outputs, 2) == KGEN_WRONG_RANK);
  EXPECT(strcmp(kgen_last_error(), "input 'x': the rank is 3, expected 2 [M, 2*D]") == 0);
  EXPECT(strcmp(kgen_status_name(KGEN_WRONG_RANK), "KGEN_WRONG_RANK") == 0);
  EXPECT(strcmp(kgen_status_name((kgen_status)1000), "unknown status") == 0);
}

int main(int count, char** arguments) {
  kgen_load_options options;
  kgen_model* model = NULL;
  DLTensor total;
  if (count != 2) {
    fprintf(stderr, "usage: %s <weights folder>\n", arguments[0]);
    return 2;
  }
  memset(&options, 0, sizeof(options));
  EXPECT(kgen_model_load(kgen_graph_toy(), &options, &model) == KGEN_FILE_ERROR);
  EXPECT(strcmp(kgen_last_error(), "cannot open 'weights.safetensors': No such file or directory") == 0);
  EXPECT(model == NULL);

  options.weights_directory = arguments[1];
  options.threads = 1;
  EXPECT(kgen_model_load(kgen_graph_toy(), &options, &model) == KGEN_OK);
  if (model == NULL) {
    fprintf(stderr, "%s\n", kgen_last_error());
    return 1;
  }
  EXPECT(kgen_model_graph(model) == kgen_graph_toy());
  run_model(model);
  EXPECT(kgen_model_state(model, 0, &total) == KGEN_OK);
  EXPECT(((float*)total.data)[1] == 3);
  EXPECT(kgen_model_reset_state(model) == KGEN_OK);
  EXPECT(((float*)total.data)[1] == 0);
  kgen_model_free(model);
  kgen_model_free(NULL);
  return failures == 0 ? 0 : 1;
}

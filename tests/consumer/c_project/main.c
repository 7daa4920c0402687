/* Runs gated_bias on one row through the C interface, and prints the elements of y. */
#include <gated_bias.hpp>
#include <stdio.h>

int main(void) {
  float x_values[8] = {-8, -4, 0, 4, 8, 12, 16, 20}, bias_values[8] = {1, 1, 1, 1, 1, 1, 1, 1}, y_values[8];
  int64_t row[2] = {1, 8}, length[1] = {8};
  const DLDevice cpu = {kDLCPU, 0};
  const DLDataType f32 = {kDLFloat, 32, 1};
  const DLTensor x = {.data = x_values, .device = cpu, .ndim = 2, .dtype = f32, .shape = row};
  const DLTensor bias = {.data = bias_values, .device = cpu, .ndim = 1, .dtype = f32, .shape = length};
  DLTensor y = {.data = y_values, .device = cpu, .ndim = 2, .dtype = f32, .shape = row};
  const DLTensor* inputs[] = {&x, &bias};
  DLTensor* outputs[] = {&y};
  kgen_model* model;
  if (kgen_model_load(kgen_graph_gated_bias(), NULL, &model) != KGEN_OK ||
      kgen_model_run(model, inputs, 2, outputs, 1) != KGEN_OK) {
    fprintf(stderr, "%s\n", kgen_last_error());
    return 1;
  }
  kgen_model_free(model);
  for (int i = 0; i < 8; ++i) printf("%g ", y_values[i]);
  printf("\n");
  return 0;
}

// Runs gated_bias on one matrix and prints the elements of y.
#include <cstdio>
#include <gated_bias.hpp>
#include <kgen/runtime/model.hpp>

int main() {
  try {
    kgen::Model model(kgen_graph_gated_bias());
    kgen::Tensor x(kgen::ElementType::f32, {2, 8});
    kgen::Tensor bias(kgen::ElementType::f32, {8});
    kgen::Tensor y(kgen::ElementType::f32, {2, 8});
    for (int i = 0; i < 16; ++i) x.values<float>()[i] = static_cast<float>(4 * (i - 8));
    for (int i = 0; i < 8; ++i) bias.values<float>()[i] = 1;
    model.run({&x, &bias}, {&y});
    for (const float value : y.values<float>()) std::printf("%g ", value);
    std::printf("\n");
    return 0;
  } catch (const kgen::Error& error) {
    std::fprintf(stderr, "%s: %s\n", kgen_status_name(error.status()), error.what());
    return 1;
  }
}

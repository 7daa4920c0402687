// Runs gated_bias on one matrix and prints the elements of y. With --check it runs every stub beside its reference.
#include <cstdio>
#include <gated_bias.hpp>
#include <kgen/runtime/model.hpp>
#include <string_view>

int main(int argc, char** argv) {
  try {
    kgen_load_options options = {};
    options.check = argc > 1 && std::string_view(argv[1]) == "--check" ? 1 : 0;
    kgen::Model model(kgen_graph_gated_bias(), options);
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

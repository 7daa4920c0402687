// What the kernels reach on this machine, beside the rate at which it copies and its peak of multiply-adds. Each row is
// the median of many runs, with fresh caches for what is bound by memory.
//   kgen_bench_kernels [threads]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kgen/attention.hpp"
#include "kgen/batched_matmul.hpp"
#include "kgen/convolution.hpp"
#include "kgen/cumsum.hpp"
#include "kgen/elementwise.hpp"
#include "kgen/matmul.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/conversion.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/pad.hpp"
#include "kgen/rows.hpp"

namespace {

using kgen::Index;
using kgen::View;

struct Copied {
  View<const float, 2> x;
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at) const {
    y.store(at, x.load<W>(at));
  }
};
struct Silu {
  View<const float, 2> x;
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at) const {
    y.store(at, kgen::Silu::apply(x.load<W>(at)));
  }
};
struct Softmax {
  View<const float, 2> x;
  View<float, 2> y;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto x_row = row.load(x);
    const auto maximum = row.reduce(kgen::Max{}, x_row);
    const auto e = row.keep(row.map(kgen::Exp{}, row.map(kgen::Sub{}, x_row, maximum)));
    const auto total = row.reduce(kgen::Sum{}, e);
    row.store(y, row.map(kgen::Div{}, e, total));
  }
};
struct RmsNorm {
  View<const float, 2> x;
  View<float, 2> y;
  View<const float, 2> weight;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto x_row = row.load(x);
    const auto mean_square = row.reduce(kgen::Mean{}, row.map(kgen::Mul{}, x_row, x_row));
    const auto scale = row.map(kgen::Rsqrt{}, row.map(kgen::Add{}, mean_square, 1e-5f));
    row.store(y, row.map(kgen::Mul{}, row.map(kgen::Mul{}, x_row, scale), row.load(weight)));
  }
};
struct Total {
  View<const float, 2> x;
  View<float, 2> result;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    row.store_scalar(result, row.reduce(kgen::Sum{}, row.load(x)));
  }
};

double seconds(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Timing {
  double median, best;
};
Timing measure(const std::function<void()>& body) {
  std::vector<double> times;
  body();
  for (double total = 0; times.size() < 9 || (total < 0.3 && times.size() < 500); total += times.back()) {
    times.push_back(seconds(body));
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

void report(const std::string& row, double amount, const char* unit, double ceiling, const Timing& timing) {
  fmt::print("{:<34} {:>10.1f} us {:>8.1f} {} (best {:>7.1f})  {:>4.0f}% of the ceiling\n", row, timing.median * 1e6,
             amount / timing.median * 1e-9, unit, amount / timing.best * 1e-9,
             100 * amount / timing.median * 1e-9 / ceiling);
}

// Multiply-adds in registers alone.
double peak_gflops(int threads) {
  constexpr int lanes = kgen::lanes_of<float>, chains = 12, steps = 1000000;
  const Timing timing = measure([&] {
    kgen::cpu::parallel(threads, [](kgen::cpu::Team) {
      kgen::Vec<float, lanes> sum[chains];
      for (auto& s : sum) s = 1.0f;
      kgen::Vec<float, lanes> a = 0.999f, b = 0.001f;
      for (int i = 0; i < steps; ++i) {
        asm volatile("" : "+v"(a.data));
#pragma GCC unroll 16
        for (int c = 0; c < chains; ++c) sum[c] = kgen::multiply_add(sum[c], a, b);
      }
      for (auto& s : sum) asm volatile("" ::"v"(s.data));
    });
  });
  return 2e-9 * threads * chains * lanes * steps / timing.best;
}

std::vector<float> random_values(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-2, 2);
  for (float& value : values) value = uniform(generator);
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  const kgen::Stream stream{threads};
  const int used = kgen::cpu::threads_for(stream, std::int64_t{1} << 40);
  const std::int64_t M = 4096, N = 4096;
  const std::vector<float> x = random_values(M * N), weight = random_values(N);
  std::vector<float> y(x.size());
  const Index<2> shape{M, N};
  const View<const float, 2> from(x.data(), shape);
  const View<float, 2> to(y.data(), shape);
  const double bytes = 2.0 * 4 * M * N;

  const Timing copy = measure([&] { kgen::elementwise(shape, Copied{from, to}, stream); });
  const double bandwidth = bytes / copy.best * 1e-9, peak = peak_gflops(used);
  fmt::print("{} threads, {} bytes a register, copy {:.1f} GB/s, peak {:.1f} GFLOP/s\n", used, kgen::register_bytes,
             bandwidth, peak);
  const auto memory = [&](const char* name, double amount, const std::function<void()>& body) {
    report(name, amount, "GB/s   ", bandwidth, measure(body));
  };
  const View<const float, 1> weights(weight.data(), {N});
  memory("copy 4096x4096", bytes, [&] { kgen::elementwise(shape, Copied{from, to}, stream); });
  memory("silu 4096x4096", bytes, [&] { kgen::elementwise(shape, Silu{from, to}, stream); });
  memory("softmax 4096x4096", bytes, [&] { kgen::rows<1>(shape, Softmax{from, to}, stream); });
  memory("rms_norm 4096x4096", bytes, [&] {
    kgen::rows<1>(shape, RmsNorm{from, to, weights.broadcast_to(shape)}, stream);
  });
  for (const int axis : {0, 1}) {
    memory(fmt::format("cumsum 4096x4096, axis {}", axis).c_str(), bytes,
           [&] { kgen::cumsum(from, axis, false, false, to, stream); });
  }
  memory("pad 4094x4094 by 1", bytes, [&] {
    kgen::pad(from.slice<0>(0, M - 2).slice<1>(0, N - 2), Index<4>{1, 1, 1, 1}, kgen::PadMode::constant, 0.0, to,
              stream);
  });
  float total = 0;
  memory("sum of 2^24", bytes / 2, [&] { kgen::rows<2>(shape, Total{from, View<float, 2>(&total, {1, 1})}, stream); });

  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{128, 128, 128},
                                {256, 256, 256},
                                {512, 512, 512},
                                {1024, 1024, 1024},
                                {2048, 2048, 2048},
                                {128, 2048, 2048}}) {
    const View<const float, 2> a(x.data(), {m, k}), b(x.data(), {k, n});
    const View<float, 2> c(y.data(), {m, n});
    report(fmt::format("matmul {}x{}x{}", m, n, k), 2.0 * static_cast<double>(m * n * k), "GFLOP/s", peak,
           measure([&] { kgen::matmul(a, b, c, stream); }));
    const View<const float, 3> panels(x.data(), {n / 16, k, 16});
    report(fmt::format("packed_matmul {}x{}x{}", m, n, k), 2.0 * static_cast<double>(m * n * k), "GFLOP/s", peak,
           measure([&] { kgen::packed_matmul(a, panels, 0, c, stream); }));
  }
  for (const auto& [p, m, n, k] :
       {std::array<std::int64_t, 4>{96, 128, 128, 64}, {96, 128, 64, 128}, {3, 512, 512, 512}}) {
    const View<const float, 3> a(x.data(), {p, m, k}), b(x.data(), {p, n, k});
    const View<float, 3> c(y.data(), {p, m, n});
    report(fmt::format("batched_matmul {} of {}x{}x{}, b transposed", p, m, n, k),
           2.0 * static_cast<double>(p * m * n * k), "GFLOP/s", peak,
           measure([&] { kgen::batched_matmul(a, b.permute<0, 2, 1>(), c, stream); }));
  }
  for (const std::int64_t m : {1, 4}) {
    const View<const float, 2> a(x.data(), {m, N}), b(x.data(), {N, M});
    memory(fmt::format("matmul {}x4096x4096", m).c_str(), 4.0 * static_cast<double>(N * M), [&] {
      kgen::matmul(a, b, View<float, 2>(y.data(), {m, M}), stream);
    });
    const View<const float, 3> panels(x.data(), {M / 16, N, 16});
    memory(fmt::format("packed_matmul {}x4096x4096", m).c_str(), 4.0 * static_cast<double>(N * M), [&] {
      kgen::packed_matmul(a, panels, 0, View<float, 2>(y.data(), {m, M}), stream);
    });
  }
  struct Layer {
    const char* name;
    Index<4> image, filters;
    std::int64_t stride;
  };
  for (const Layer& layer : {Layer{"conv2d 7x7 3->64, 224x224, by 2", {1, 224, 224, 3}, {7, 7, 3, 64}, 2},
                             Layer{"conv2d 3x3 64->64, 56x56", {1, 56, 56, 64}, {3, 3, 64, 64}, 1},
                             Layer{"conv2d 1x1 64->256, 56x56", {1, 56, 56, 64}, {1, 1, 64, 256}, 1},
                             Layer{"conv2d 3x3 256->256, 8x14x14", {8, 14, 14, 256}, {3, 3, 256, 256}, 1}}) {
    const std::int64_t pad = layer.filters[0] / 2, extent = (layer.image[1] - 1) / layer.stride + 1;
    const Index<4> result{layer.image[0], extent, extent, layer.filters[3]};
    const double products = static_cast<double>(kgen::element_count(result) * layer.filters[0] * layer.filters[1]);
    report(layer.name, 2.0 * products * static_cast<double>(layer.filters[2]), "GFLOP/s", peak, measure([&] {
             kgen::conv2d(View<const float, 4>(x.data(), layer.image), View<const float, 4>(x.data(), layer.filters),
                          {layer.stride, layer.stride}, {pad, pad, pad, pad}, {1, 1}, 1,
                          View<float, 4>(y.data(), result), stream);
           }));
  }
  const View<const float, 4> q(x.data(), {1, 512, 12, 64}), k(x.data() + 512 * 12 * 64, {1, 512, 12, 64});
  report("attention 1x12x512x64", 4.0 * 12 * 512 * 512 * 64, "GFLOP/s", peak, measure([&] {
           kgen::attention(q, k, k, 0.125, false, View<float, 4>(y.data(), {1, 512, 12, 64}), stream);
         }));
  const std::int64_t cache_elements = std::int64_t{8192} * 8 * 128;
  const Index<4> cache_shape{1, 8192, 8, 128};
  const View<const float, 4> one(x.data(), {1, 1, 32, 128});
  const View<const float, 4> keys(x.data(), cache_shape), values(x.data() + cache_elements, cache_shape);
  memory("decode 32/8 heads, 8192 keys", 2 * 4.0 * static_cast<double>(cache_elements), [&] {
    kgen::attention(one, keys, values, 0.125, true, View<float, 4>(y.data(), {1, 1, 32, 128}), stream);
  });
}

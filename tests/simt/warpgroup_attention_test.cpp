// Attention by tensor cores, as the executor does what they do, against the plain formula in double.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "attention_reference.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "launches.hpp"
#include "shared_attention.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

struct Hopper : TestDevice {
  Hopper() { simt::device().shared_bytes = 227 * 1024; }
};

struct Size {
  std::int64_t B, S, H, D, T, G;
};

template <class T, class Cached = T>
struct Operands {
  Tensor<T, 4> q;
  Tensor<Cached, 4> k, v;
  explicit Operands(const Size& c)
      : q(random_tensor<T>(Index<4>{c.B, c.S, c.H, c.D}, 1)),
        k(random_tensor<Cached>(Index<4>{c.B, c.T, c.G, c.D}, 2)),
        v(random_tensor<Cached>(Index<4>{c.B, c.T, c.G, c.D}, 3)) {}
};

// What is launched for a size: few rows of queries go another way.
std::string kernel_of(const Size& c) {
  return c.S * (c.H / c.G) <= 16 ? "skinny_attention x" : "warpgroup_attention x";
}

struct Twice {  // a prologue of q
  View<const bf16, 4> x;
  KGEN_FN Index<4> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<4> at) const {
    return Mul::apply(x.load<W>(at), 2.0f);
  }
};

struct AddResidual {  // an epilogue
  View<const float, 4> residual;
  View<bf16, 4> y;
  template <int W>
  KGEN_FN void operator()(Index<4> at, Vec<float, W> out) const {
    y.store(at, Add::apply(out, residual.load<W>(at)));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("warpgroup attention: heads of all widths, grouped, one query and many, causal and not", T, bf16,
                   f16) {
  constexpr double tolerance = std::is_same_v<T, bf16> ? 8e-3 : 1e-3;
  for (const Size& c : {Size{1, 1, 1, 8, 1, 1}, {2, 1, 4, 64, 300, 2}, {1, 130, 1, 40, 130, 1}, {1, 20, 6, 128, 150, 3},
                        {1, 3, 2, 136, 70, 1}, {1, 9, 2, 16, 5, 2}}) {
    const Operands<T> x(c);
    for (const bool causal : {false, true}) {
      INFO("S ", c.S, " T ", c.T, " D ", c.D, " causal ", causal);
      Hopper device;
      Tensor<float, 4> out(x.q.shape);
      attention(x.q.view(), x.k.view(), x.v.view(), 0.3, causal, out.view());
      CHECK(device.take().starts_with(kernel_of(c)));
      compare_attention(x.q.view(), x.k.view(), x.v.view(), no_mask, 0.3, causal, out.view(), tolerance);
    }
  }
}

// Few queries convert them on their way, but those of narrow heads and of many queries are converted ahead.
TEST_CASE_TEMPLATE("warpgroup attention: keys and values of 8 bits", Types, std::pair<bf16, f8e4m3>,
                   std::pair<f16, f8e4m3>, std::pair<bf16, f8e5m2>) {
  using T = typename Types::first_type;
  using Cached = typename Types::second_type;
  constexpr double tolerance = std::is_same_v<T, bf16> ? 8e-3 : 1e-3;
  for (const Size& c : {Size{1, 3, 8, 128, 130, 2}, {1, 2, 2, 112, 17, 1}, {1, 1, 4, 256, 100, 4}, {1, 20, 4, 128, 150, 2},
                        {1, 1, 4, 64, 70, 2}}) {
    INFO("S ", c.S, " T ", c.T, " D ", c.D);
    const Operands<T, Cached> x(c);
    Hopper device;
    Tensor<float, 4> out(x.q.shape);
    attention(x.q.view(), x.k.view(), x.v.view(), 0.3, true, out.view());
    const std::string launched = device.take();
    CHECK(launched.find(kernel_of(c)) != std::string::npos);
    CHECK(launched.starts_with("elementwise x") == (c.S == 20 || c.D <= 64));
    compare_attention(x.q.view(), x.k.view(), x.v.view(), no_mask, 0.3, true, out.view(), tolerance);
  }
}

// A model has one piece of memory for what kernels need besides: keys that are converted ahead lie there.
TEST_CASE("warpgroup attention: converted keys and what blocks leave that share them lie apart") {
  const Operands<bf16, f8e4m3> x({1, 70, 4, 64, 1100, 2});
  Hopper device;
  simt::device().multiprocessors = 12;
  std::vector<double> memory(400000);
  Stream stream;
  stream.owner = memory.data();
  stream.workspace = [](void* owner, std::int64_t) { return owner; };
  Tensor<float, 4> out(x.q.shape);
  attention(x.q.view(), x.k.view(), x.v.view(), 0.3, false, out.view(), stream);
  CHECK(device.take() == "elementwise x35, elementwise x35, warpgroup_attention x12, merge_attention x35");
  compare_attention(x.q.view(), x.k.view(), x.v.view(), no_mask, 0.3, false, out.view(), 8e-3);
}

TEST_CASE("warpgroup attention: queries that are computed, over keys of 8 bits with NaN and infinity") {
  const Size c{1, 2, 4, 128, 90, 2};
  Operands<bf16, f8e5m2> x(c);
  x.k.elements[89 * 2 * 128 + 5] = f8e5m2(std::numeric_limits<float>::quiet_NaN());  // the last query alone sees it
  x.v.elements[(3 * 2 + 1) * 128 + 127].bits = 0x7c;                                 // infinity
  Hopper device;
  Tensor<float, 4> out(x.q.shape);
  attention(Twice{x.q.view()}, x.k.view(), x.v.view(), 0.3, true, out.view());
  CHECK(device.take().starts_with("skinny_attention x"));
  for_each_position(Index<3>{2, 4, 128}, [&](Index<3> at) {
    const double found = element(out.view(), Index<4>{0, at[0], at[1], at[2]});
    if (at[0] == 1 && at[1] < 2) {
      CHECK(std::isnan(found));
    } else if (at[1] >= 2 && at[2] == 127) {
      CHECK(!std::isfinite(found));  // NaN where the weight is less than f16 has
    } else {
      CHECK(std::isfinite(found));
    }
  });
}

TEST_CASE("warpgroup attention: windows of keys, with scores between limits, with a mask and without") {
  for (const Size& c : {Size{1, 140, 1, 16, 300, 1}, {1, 3, 4, 64, 300, 2}, {1, 9, 2, 16, 5, 2}}) {
    const Operands<bf16> x(c);
    const auto mask = random_tensor<float>(Index<4>{c.B, c.H, c.S, c.T}, 5);
    for (const auto& [left, right, cap] : {std::tuple{3, 0, 0.0}, {150, 9, 1.5}, {-1, 70, 0.0}, {-1, -1, 2.0}}) {
      const auto score = [&](Index<3> at, std::int64_t t, bool masked) {
        double sum = 0;
        for (std::int64_t d = 0; d < c.D; ++d) {
          sum += 0.3 * element(x.q.view(), Index<4>{at[0], at[1], at[2], d}) *
                 element(x.k.view(), Index<4>{at[0], t, at[2] / (c.H / c.G), d});
        }
        const std::int64_t own = c.T - c.S + at[1];
        if ((left >= 0 && t < own - left) || (right >= 0 && t > own + right)) {
          return -std::numeric_limits<double>::infinity();
        }
        const double bent = cap > 0 ? cap * std::tanh(sum / cap) : sum;
        return bent + (masked ? element(mask.view(), Index<4>{at[0], at[2], at[1], t}) : 0);
      };
      const auto plain = [&](Index<3> at, std::int64_t t) { return score(at, t, false); };
      const auto masked = [&](Index<3> at, std::int64_t t) { return score(at, t, true); };
      INFO("S ", c.S, " T ", c.T, " left ", left, " right ", right, " cap ", cap);
      Hopper device;
      Tensor<float, 4> out(x.q.shape);
      window_attention(x.q.view(), x.k.view(), x.v.view(), 0.3, cap, left, right, out.view());
      CHECK(device.take().starts_with(kernel_of(c)));
      compare_attention(x.q.view(), x.k.view(), x.v.view(), plain, 0, false, out.view(), 8e-3);
      window_attention(x.q.view(), x.k.view(), x.v.view(), mask.view(), 0.3, cap, left, right, out.view());
      CHECK(device.take().starts_with(kernel_of(c)));
      compare_attention(x.q.view(), x.k.view(), x.v.view(), masked, 0, false, out.view(), 8e-3);
    }
  }
}

TEST_CASE("warpgroup attention: blocks that go from tile to tile, in any order of the threads") {
  const Operands<bf16> x(Size{2, 100, 4, 64, 260, 2});
  // The 67 KB of a head's keys and values go into two thirds of the cache: all four, three and one, one at a time.
  constexpr std::int64_t whole = std::int64_t{50} << 20;
  for (const auto& [order, cache] : {std::pair(simt::Order::forward, whole),
                                     {simt::Order::reverse, whole},
                                     {simt::Order::shuffled, whole},
                                     {simt::Order::forward, std::int64_t{300'000}},
                                     {simt::Order::shuffled, std::int64_t{120'000}}}) {
    Hopper device;
    simt::device().order = order;
    simt::device().cache_bytes = cache;
    simt::device().multiprocessors = 3;
    Tensor<float, 4> out(x.q.shape);
    attention(x.q.view(), x.k.view(), x.v.view(), 0.125, true, out.view());
    CHECK(device.take() == "warpgroup_attention x3");
    compare_attention(x.q.view(), x.k.view(), x.v.view(), no_mask, 0.125, true, out.view(), 8e-3);
  }
}

TEST_CASE("warpgroup attention: keys that blocks share, of which a query sees some, all or none") {
  for (const Size& c :
       {Size{1, 5, 8, 128, 1100, 2}, {2, 19, 1, 24, 1100, 1}, {1, 300, 1, 64, 600, 1}, {1, 700, 1, 8, 600, 1}}) {
    const Operands<f16> x(c);
    for (const bool causal : {false, true}) {
      Hopper device;
      simt::device().multiprocessors = 12;
      INFO("S ", c.S, " T ", c.T, " D ", c.D, " causal ", causal);
      Tensor<f16, 4> out(x.q.shape);
      attention(x.q.view(), x.k.view(), x.v.view(), 0.3, causal, out.view());
      CHECK(device.take().find(", merge_attention x") != std::string::npos);
      compare_attention(x.q.view(), x.k.view(), x.v.view(), no_mask, 0.3, causal, out.view(), 2e-3);
    }
  }
}

TEST_CASE("warpgroup attention: sequences of lengths of their own, whose keys blocks share or not") {
  for (const Size& c : {Size{4, 1, 4, 128, 700, 2}, {3, 3, 1, 24, 1100, 1}, {2, 150, 2, 64, 300, 1}}) {
    Operands<bf16> x(c);
    std::vector<std::int64_t> lengths = {c.T, 0, c.T / 3 + 1, 129};
    lengths.resize(static_cast<std::size_t>(c.B));
    const auto length = [&](std::int64_t b) { return lengths[static_cast<std::size_t>(b)]; };
    for_each_position(x.k.shape, [&](Index<4> at) {  // in the tiles of 128 keys behind a sequence's last
      if (at[1] < (length(at[0]) + 127) / 128 * 128) return;
      x.k.view().store(at, Vec<float, 1>(not_a_number));
      x.v.view().store(at, Vec<float, 1>(not_a_number));
    });
    const Operands<bf16>& read = x;
    const View<const std::int64_t, 1> counts(lengths.data(), Index<1>{c.B});
    const auto mask = random_tensor<float>(Index<2>{c.S, c.T}, 5);
    const auto masked = [&](Index<3> at, std::int64_t t) { return element(mask.view(), Index<2>{at[1], t}); };
    for (const bool causal : {false, true}) {
      Hopper device;
      simt::device().multiprocessors = 24;
      Tensor<float, 4> plain(x.q.shape), with_mask(x.q.shape);
      attention(read.q.view(), read.k.view(), read.v.view(), counts, 0.3, causal, plain.view());
      const bool few_rows = c.S * c.H / c.G <= gpu::skinny_attention_rows;
      CHECK(device.take().starts_with(few_rows ? "skinny_attention x" : "warpgroup_attention x"));
      attention(read.q.view(), read.k.view(), read.v.view(), mask.view(), counts, 0.3, causal, with_mask.view());
      for (std::int64_t b = 0; b < c.B; ++b) {
        INFO("S ", c.S, " T ", c.T, " causal ", causal, " sequence ", b);
        const auto one = [&](const auto& view) { return view.template slice<0>(b, 1); };
        const auto k = one(read.k.view()).template slice<1>(0, length(b));
        const auto v = one(read.v.view()).template slice<1>(0, length(b));
        compare_attention(one(read.q.view()), k, v, no_mask, 0.3, causal, one(plain.view()), 8e-3);
        compare_attention(one(read.q.view()), k, v, masked, 0.3, causal, one(with_mask.view()), 8e-3);
      }
    }
  }
}

TEST_CASE("warpgroup attention: scores that rise tile by tile, a little and beyond what exponentials can hold") {
  for (const Size& c :
       {Size{1, 20, 1, 64, 400, 1}, {1, 150, 1, 64, 300, 1}, {1, 20, 1, 128, 400, 1}, {1, 20, 1, 136, 300, 1}}) {
    for (const float most : {3.0f, 40.0f, 1000.0f}) {
      Operands<f16> x(c);
      for_each_position(x.k.shape, [&](Index<4> at) {  // the first keys come last
        const float factor = 1 + most * static_cast<float>(c.T - at[1]) / static_cast<float>(c.T);
        x.k.view().store(at, Vec<float, 1>(static_cast<float>(element(x.k.view(), at)) * factor));
      });
      const Operands<f16>& read = x;
      Hopper device;
      simt::device().multiprocessors = 1;
      INFO("S ", c.S, " D ", c.D, " up to ", most);
      Tensor<float, 4> out(x.q.shape);
      attention(read.q.view(), read.k.view(), read.v.view(), 0.5, false, out.view());
      CHECK(device.take() == "warpgroup_attention x1");
      compare_attention(read.q.view(), read.k.view(), read.v.view(), no_mask, 0.5, false, out.view(), 2e-3);
    }
  }
}

TEST_CASE("warpgroup attention: three warpgroups, queries by the copy engine and through registers") {
  for (const std::int64_t group : {2, 5, 48}) {
    const Size c{1, group == 48 ? 9 : 130, 2 * group, 64, 260, 2};
    const Operands<bf16> x(c);
    for (const bool causal : {false, true}) {
      Hopper device;
      simt::device().multiprocessors = 1;
      INFO("group ", group, " causal ", causal);
      Tensor<float, 4> out(x.q.shape);
      attention(x.q.view(), x.k.view(), x.v.view(), 0.2, causal, out.view());
      CHECK(device.take() == "warpgroup_attention x1");
      compare_attention(x.q.view(), x.k.view(), x.v.view(), no_mask, 0.2, causal, out.view(), 8e-3);
    }
  }
}

TEST_CASE("warpgroup attention: results of 16 bits, in vectors and not") {
  for (const Size& c :
       {Size{2, 70, 3, 64, 70, 1}, {1, 330, 2, 40, 400, 2}, {1, 150, 1, 128, 300, 1}, {1, 75, 2, 136, 200, 1}}) {
    const Operands<bf16> x(c);
    for (const bool causal : {false, true}) {
      Hopper device;
      simt::device().multiprocessors = 1;
      INFO("S ", c.S, " T ", c.T, " D ", c.D, " causal ", causal);
      Tensor<bf16, 4> wide(Index<4>{c.B, c.S, c.H, 2 * c.D});
      for (const std::int64_t step : {1, 2}) {  // lines apart, and elements as well
        const View<bf16, 4> out = wide.view().slice<3>(0, c.D, step);
        attention(x.q.view(), x.k.view(), x.v.view(), 0.3, causal, out);
        CHECK(device.take() == "warpgroup_attention x1");
        compare_attention(x.q.view(), x.k.view(), x.v.view(), no_mask, 0.3, causal, out, 1.2e-2);
      }
    }
  }
}

TEST_CASE("skinny attention: clusters, single blocks and small ones, in any order of the threads") {
  struct Split {
    Size size;
    int multiprocessors;
    std::string launches;
  };
  for (const Split& c : {Split{{1, 1, 4, 128, 901, 1}, 8, "skinny_attention x4"},
                         {{1, 2, 3, 8, 16400, 1}, 64, "skinny_attention x16, merge_attention x1"},
                         {{1, 1, 8, 256, 300, 4}, 12, "skinny_attention x8"},
                         {{2, 3, 5, 128, 250, 1}, 4, "skinny_attention x4"},
                         {{1, 16, 2, 40, 1100, 2}, 4, "skinny_attention x4"},
                         {{3, 1, 6, 64, 229, 3}, 8, "small_attention x9"},
                         {{1, 4, 12, 128, 67, 3}, 2, "small_attention x3"},
                         {{2, 16, 2, 40, 17, 2}, 3, "small_attention x4"},
                         {{2, 1, 2, 72, 1000, 2}, 3, "skinny_attention x8"}}) {
    const Operands<f16> x(c.size);
    using enum simt::Order;
    for (const simt::Order order : {forward, reverse, shuffled, ahead}) {
      for (const bool causal : {false, true}) {
        Hopper device;
        simt::device().multiprocessors = c.multiprocessors;
        simt::device().order = order;
        INFO("S ", c.size.S, " T ", c.size.T, " D ", c.size.D, " causal ", causal);
        Tensor<f16, 4> out(x.q.shape);
        attention(x.q.view(), x.k.view(), x.v.view(), 0.3, causal, out.view());
        CHECK(device.take() == c.launches);
        compare_attention(x.q.view(), x.k.view(), x.v.view(), no_mask, 0.3, causal, out.view(), 2e-3);
      }
    }
  }
}

TEST_CASE("skinny attention: several tiles of rows, of which groups of heads are in two") {
  for (const Size& c : {Size{2, 23, 6, 128, 150, 3}, {1, 9, 7, 40, 290, 1}, {2, 33, 1, 64, 20, 1}, {1, 21, 1, 256, 100, 1},
                        {1, 40, 2, 64, 40, 2}}) {
    const Operands<bf16> x(c);
    const auto mask = random_tensor<float>(Index<3>{c.H, c.S, c.T}, 5);
    const auto masked = [&](Index<3> at, std::int64_t t) { return element(mask.view(), Index<3>{at[2], at[1], t}); };
    for (const bool causal : {false, true}) {
      Hopper device;
      simt::device().multiprocessors = 132;
      INFO("S ", c.S, " T ", c.T, " D ", c.D, " causal ", causal);
      Tensor<float, 4> out(x.q.shape);
      attention(x.q.view(), x.k.view(), x.v.view(), 0.3, causal, out.view());
      CHECK(device.take().starts_with("skinny_attention x"));
      compare_attention(x.q.view(), x.k.view(), x.v.view(), no_mask, 0.3, causal, out.view(), 8e-3);
      attention(x.q.view(), x.k.view(), x.v.view(), mask.view(), 0.3, causal, out.view());
      CHECK(device.take().starts_with("skinny_attention x"));
      compare_attention(x.q.view(), x.k.view(), x.v.view(), masked, 0.3, causal, out.view(), 8e-3);
    }
  }
}

TEST_CASE("skinny attention: windows of few keys, with limits, in clusters") {
  const Size c{1, 2, 4, 128, 1500, 1};
  const Operands<bf16> x(c);
  for (const auto& [left, right] : {std::tuple{5, 0}, {700, 0}, {-1, -1}}) {
    const auto window = [&](Index<3> at, std::int64_t t) {
      double sum = 0;
      for (std::int64_t d = 0; d < c.D; ++d) {
        sum +=
            0.3 * element(x.q.view(), Index<4>{at[0], at[1], at[2], d}) * element(x.k.view(), Index<4>{at[0], t, 0, d});
      }
      const std::int64_t own = c.T - c.S + at[1];
      const bool seen = (left < 0 || t >= own - left) && (right < 0 || t <= own + right);
      return seen ? 2 * std::tanh(sum / 2) : -std::numeric_limits<double>::infinity();
    };
    INFO("left ", left);
    Hopper device;
    simt::device().multiprocessors = 12;
    Tensor<float, 4> out(x.q.shape);
    window_attention(x.q.view(), x.k.view(), x.v.view(), 0.3, 2.0, left, right, out.view());
    CHECK(device.take() == (left == 5 ? "skinny_attention x1" : "skinny_attention x8"));
    compare_attention(x.q.view(), x.k.view(), x.v.view(), window, 0, false, out.view(), 8e-3);
  }
}

TEST_CASE("skinny attention: NaN, infinity, masks that hide all keys") {
  Operands<bf16> x(Size{1, 2, 2, 64, 700, 1});
  Hopper device;
  x.q.elements[64] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());       // of head 1 of query 0
  x.v.elements[699 * 64] = static_cast<bf16>(std::numeric_limits<float>::infinity());  // of the last key
  Tensor<float, 4> out(x.q.shape);
  attention(x.q.view(), x.k.view(), x.v.view(), 0.3, false, out.view());
  for_each_position(x.q.shape, [&](Index<4> at) {
    const double value = element(out.view(), at);
    INFO("at ", at[1], ", ", at[2], ", ", at[3]);
    const bool is_nan = at[1] == 0 && at[2] == 1;
    CHECK(std::isnan(value) == is_nan);
    if (!is_nan) CHECK(std::isinf(value) == (at[3] == 0));
  });
  const Operands<bf16> finite(Size{1, 2, 2, 64, 700, 1});
  auto mask = random_tensor<float>(Index<4>{1, 2, 2, 700}, 4);
  for (std::size_t i = 0; i < 1000; ++i) mask.elements[i] = -std::numeric_limits<float>::infinity();
  attention(finite.q.view(), finite.k.view(), finite.v.view(), mask.view(), 0.3, false, out.view());
  const auto added = [&](Index<3> at, std::int64_t t) {
    return static_cast<double>(element(mask.view(), Index<4>{at[0], at[2], at[1], t}));
  };
  compare_attention(finite.q.view(), finite.k.view(), finite.v.view(), added, 0.3, false, out.view(), 8e-3);
}

TEST_CASE("warpgroup attention: blocks have each tile once, and take equally long where rows see ever more keys") {
  struct Case {
    int heads, row_tiles, together, parts, blocks;
    double most;  // keys of the block with the most, over the mean
  };
  constexpr int key_heads = 3;
  for (const Case& c : {Case{7, 5, 3, 1, 4, 1.2},
                        {4, 1, 9, 1, 3, 1.6},
                        {3, 4, 1, 1, 1, 1},
                        {2, 3, 2, 4, 24, 4.1},
                        {128, 32, 8, 1, 132, 1.04},
                        {16, 64, 2, 1, 132, 1.04},
                        {8, 64, 8, 1, 132, 1.04},
                        {64, 11, 64, 1, 132, 1.06},
                        {48, 6, 50, 1, 132, 1.12},
                        {5, 9, 2, 1, 7, 1.2},
                        {3, 11, 3, 1, 33, 2}}) {
    gpu::AttentionOrder order = gpu::AttentionOrder::of(c.heads, key_heads, c.row_tiles, c.together);
    order.parts = c.parts;
    std::vector<int> seen(static_cast<std::size_t>(order.tiles()), 0);
    int most = 0, all = 0;
    for (int block = 0; block < c.blocks; ++block) {
      int keys = 0, tiles = 0;
      order.for_each(block, c.blocks, [&](gpu::AttentionOrder::Place place) {
        REQUIRE(place.head >= 0);
        REQUIRE(place.head < order.heads);
        REQUIRE(place.b == place.head / key_heads);
        REQUIRE(place.key_head == place.head % key_heads);
        REQUIRE(place.row_tile >= 0);
        REQUIRE(place.row_tile < order.row_tiles);
        REQUIRE(place.part >= 0);
        REQUIRE(place.part < order.parts);
        ++seen[static_cast<std::size_t>((place.head * order.row_tiles + place.row_tile) * order.parts + place.part)];
        keys += place.row_tile + 1;
        ++tiles;
      });
      CHECK(tiles <= (order.tiles() <= c.blocks ? 1 : order.tiles()));
      most = std::max(most, keys);
      all += keys;
    }
    for (const int times : seen) CHECK(times == 1);
    INFO("heads ", order.heads, " tiles of rows ", order.row_tiles);
    CHECK(most <= c.most * all / c.blocks);
  }
}

TEST_CASE("warpgroup attention: masks, whole and broadcast, prologue and epilogue, caches as they lie") {
  const Size c{2, 35, 4, 64, 140, 2};
  const Operands<bf16> x(c);
  auto mask = random_tensor<bf16>(Index<4>{c.B, c.H, c.S, c.T}, 4);
  auto line = random_tensor<float>(Index<1>{c.T}, 5);
  for (std::size_t i = 0; i < mask.elements.size(); i += 3) {
    mask.elements[i] = static_cast<bf16>(-std::numeric_limits<float>::infinity());
  }
  for (std::size_t i = 0; i < 140; ++i) mask.elements[i] = static_cast<bf16>(-std::numeric_limits<float>::infinity());
  const auto whole = [&](Index<3> at, std::int64_t t) {
    return static_cast<double>(element(mask.view(), Index<4>{at[0], at[2], at[1], t}));
  };
  const auto of_key = [&](Index<3>, std::int64_t t) { return static_cast<double>(element(line.view(), Index<1>{t})); };
  Hopper device;
  Tensor<float, 4> out(x.q.shape);
  attention(x.q.view(), x.k.view(), x.v.view(), mask.view(), 0.2, false, out.view());
  compare_attention(x.q.view(), x.k.view(), x.v.view(), whole, 0.2, false, out.view(), 8e-3);
  out = Tensor<float, 4>(x.q.shape);
  attention(x.q.view(), x.k.view(), x.v.view(), line.view(), 0.2, true, out.view());
  compare_attention(x.q.view(), x.k.view(), x.v.view(), of_key, 0.2, true, out.view(), 8e-3);

  const auto residual = random_tensor<float>(x.q.shape, 6);
  Tensor<bf16, 4> y(x.q.shape);
  const View<const bf16, 4> k = x.k.view(), v = x.v.view();
  attention(Twice{x.q.view()}, k.slice<1>(3, 130), v.slice<1>(0, 130), 0.1, true, AddResidual{residual.view(), y.view()});
  Tensor<float, 4> product(x.q.shape);
  for_each_position(x.q.shape, [&](Index<4> at) {
    product.view().store(at, Vec<float, 1>(element(y.view(), at) - element(residual.view(), at)));
  });
  compare_attention(x.q.view(), k.slice<1>(3, 130), v.slice<1>(0, 130), no_mask, 0.2, true, product.view(), 4e-2);

  // [B, G, T, D] in memory
  const auto across = random_tensor<bf16>(Index<4>{c.B, c.G, c.T, c.D}, 7);
  const auto turned = across.view().permute<0, 2, 1, 3>();
  out = Tensor<float, 4>(x.q.shape);
  attention(x.q.view(), turned, turned, 0.2, false, out.view());
  compare_attention(x.q.view(), turned, turned, no_mask, 0.2, false, out.view(), 8e-3);
  CHECK(device.take() ==
        "warpgroup_attention x4, warpgroup_attention x4, warpgroup_attention x4, warpgroup_attention x4");
}

TEST_CASE("warpgroup attention: NaN, infinity, and what the engine does not take") {
  Operands<bf16> x(Size{1, 20, 1, 64, 200, 1});
  Hopper device;
  simt::device().multiprocessors = 1;  // or several tiles of few rows would go another way
  x.q.elements[64] = static_cast<bf16>(std::numeric_limits<float>::quiet_NaN());        // of query 1
  x.v.elements[199 * 64] = static_cast<bf16>(std::numeric_limits<float>::infinity());  // of the last key
  Tensor<float, 4> out(x.q.shape);
  attention(x.q.view(), x.k.view(), x.v.view(), 0.3, false, out.view());
  for_each_position(x.q.shape, [&](Index<4> at) {
    const double value = element(out.view(), at);
    INFO("at ", at[1], ", ", at[3]);
    CHECK(std::isnan(value) == (at[1] == 1));
    if (at[1] != 1) CHECK(std::isinf(value) == (at[3] == 0));
  });
  CHECK(device.take() == "warpgroup_attention x1");

  const View<const bf16, 4> k = x.k.view();
  const auto launches = [&](const View<const bf16, 4>& q, const View<const bf16, 4>& keys, double scale) {
    Tensor<float, 4> result(q.shape());
    attention(q, keys, keys, scale, false, result.view());
    return device.take();
  };
  const View<const bf16, 4> q = x.q.view();
  CHECK(launches(q.slice<3>(0, 32), k.slice<3>(0, 32), 0.5) == "warpgroup_attention x1");
  simt::device().multiprocessors = 4;
  CHECK(launches(q.slice<1>(0, 4).slice<3>(0, 32), k.slice<3>(0, 32), 0.5) == "skinny_attention x1");
  CHECK(launches(q.slice<3>(0, 36), k.slice<3>(0, 36), 0.5) == "attention x5");  // 72 bytes
  CHECK(launches(q.slice<3>(0, 32), k.slice<3>(4, 32), 0.5) == "attention x5");  // begins between multiples of 16 bytes
  CHECK(launches(q, k.flip<1>(), 0.5) == "attention x5");
  CHECK(launches(q, k, -0.5) == "attention x5");
}

#endif

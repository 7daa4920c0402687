// Attention of windows of keys, with scores between limits, against the plain formula in double.
#include <memory>

#include "attention_reference.hpp"
#include "kgen/attention.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Case {
  std::int64_t B, S, H, D, T, G;
};
struct Window {
  std::int64_t left, right;
  double cap;

  bool sees(const Case& c, std::int64_t s, std::int64_t t) const {
    const std::int64_t own = c.T - c.S + s;
    return (left < 0 || t >= own - left) && (right < 0 || t <= own + right);
  }
  double bent(double score) const { return cap > 0 ? cap * std::tanh(score / cap) : score; }
};

template <class T>
struct Operands {
  Tensor<T, 4> q, k, v;
  explicit Operands(const Case& c)
      : q(random_tensor<T>(Index<4>{c.B, c.S, c.H, c.D}, 1)),
        k(random_tensor<T>(Index<4>{c.B, c.T, c.G, c.D}, 2)),
        v(random_tensor<T>(Index<4>{c.B, c.T, c.G, c.D}, 3)) {}
};

template <class T, class Mask, class U>
void compare(const Case& c, const Window& window, const Operands<T>& x, const Mask& mask, double scale,
             const Tensor<U, 4>& out, double tolerance) {
  compare_queries(out.view(), tolerance, [&](Index<3> at) {
    const auto score = [&](std::int64_t t) -> std::optional<double> {
      if (!window.sees(c, at[1], t)) return std::nullopt;
      return window.bent(score_of(x.q.view(), x.k.view(), scale, at, t)) + mask(at, t);
    };
    const auto value = [&](std::int64_t t, std::int64_t d) {
      return element(x.v.view(), Index<4>{at[0], t, at[2] / (c.H / c.G), d});
    };
    return attended(c.T, c.D, score, value);
  });
}

#if defined(KGEN_SIMT)  // few and small ones, for the executor's time
constexpr Case cases[] = {{2, 3, 2, 7, 11, 2}, {1, 37, 2, 8, 37, 1}, {1, 9, 2, 8, 5, 2}, {1, 4, 2, 8, 0, 2}, {1, 5, 1, 8, 90, 1}};
constexpr Window windows[] = {{3, 0, 2}, {-1, 5, 0}, {40, -1, 0}};
#else
constexpr Case cases[] = {{1, 1, 1, 1, 1, 1},    {2, 1, 4, 64, 300, 2},  {2, 3, 2, 7, 11, 2},   {1, 37, 4, 40, 37, 2},
                          {2, 20, 6, 33, 150, 3}, {1, 130, 2, 16, 260, 1}, {1, 9, 2, 8, 5, 2},  {0, 4, 2, 8, 5, 2},
                          {1, 4, 2, 8, 0, 2},    {1, 40, 1, 8, 0, 1},    {1, 300, 1, 32, 300, 1}, {1, 5, 1, 8, 290, 1}};
constexpr Window windows[] = {{-1, -1, 2}, {3, 0, 0}, {0, 0, 1.5}, {16, 2, 0}, {-1, 5, 0}, {140, -1, 30}, {1, 130, 0}};
#endif

}  // namespace

TEST_CASE_TEMPLATE("windows to either side, scores between limits, grouped heads, one query and many", T,
                   KGEN_TYPES((bf16), float, double, f16)) {
  for (const Case& c : cases) {
    const Operands<T> x(c);
    for (const Window& window : windows) {
      for (const int threads : {1, 2}) {
        INFO("S ", c.S, " T ", c.T, " left ", window.left, " right ", window.right, " cap ", window.cap);
        Tensor<compute_t<T>, 4> out(x.q.shape);
        window_attention(x.q.view(), x.k.view(), x.v.view(), 0.9, window.cap, window.left, window.right, out.view(),
                         Stream{threads});
        compare(c, window, x, no_mask, 0.9, out, sizeof(compute_t<T>) == 8 ? 1e-13 : 3e-5);
      }
    }
  }
}

TEST_CASE("a mask is added behind the limits of the scores") {
  for (const Case& c : cases) {
    const Operands<float> x(c);
    auto mask = random_tensor<float>(Index<4>{c.B, c.H, c.S, c.T}, 4);
    for (std::size_t i = 0; i < mask.elements.size(); i += 3) mask.elements[i] = -infinity;
    const auto& mask_read = mask;
    const auto masked = [&](Index<3> at, std::int64_t t) {
      return element(mask_read.view(), Index<4>{at[0], at[2], at[1], t});
    };
    for (const Window& window : windows) {
      Tensor<float, 4> out(x.q.shape);
      window_attention(x.q.view(), x.k.view(), x.v.view(), mask_read.view(), 0.9, window.cap, window.left, window.right,
                       out.view());
      compare(c, window, x, masked, 0.9, out, 3e-5);
    }
  }
}

TEST_CASE("a mask of truth values says which keys count, of one head or of all") {
  for (const Case& c : cases) {
    const Operands<float> x(c);
    const Index<4> scores{c.B, c.H, c.S, c.T};
    const auto counts = [&](std::int64_t s, std::int64_t t) { return (s * 5 + t * 3) % 4 != 0 && s % 6 != 5; };
    const auto elements = std::make_unique<bool[]>(static_cast<std::size_t>(c.S * c.T));
    for (std::int64_t i = 0; i < c.S * c.T; ++i) elements[static_cast<std::size_t>(i)] = counts(i / c.T, i % c.T);
    const View<const bool, 2> mask(elements.get(), Index<2>{c.S, c.T});
    const auto masked = [&](Index<3> at, std::int64_t t) { return counts(at[1], t) ? 0.0 : -double(infinity); };
    for (const Window& window : windows) {
      Tensor<float, 4> out(x.q.shape);
      window_attention(x.q.view(), x.k.view(), x.v.view(), mask, 0.9, window.cap, window.left, window.right,
                       out.view());
      compare(c, window, x, masked, 0.9, out, 3e-5);
      window_attention(x.q.view(), x.k.view(), x.v.view(), mask.broadcast_to(scores), 0.9, window.cap, window.left,
                       window.right, out.view());
      compare(c, window, x, masked, 0.9, out, 3e-5);
    }
    Tensor<float, 4> out(x.q.shape);
    attention(x.q.view(), x.k.view(), x.v.view(), mask, 0.9, false, out.view());
    compare(c, Window{-1, -1, 0}, x, masked, 0.9, out, 3e-5);
  }
}

TEST_CASE("keys outside of every window do not touch a result, be they NaN or infinite") {
  for (const Case& c : {Case{1, 2, 2, 7, 40, 1}, Case{1, 70, 2, 8, 200, 1}, Case{1, 8, 1, 5, 300, 1}}) {
    for (const Window& window : {Window{3, 0, 0}, Window{9, 4, 1}}) {
      for (const float wrong : {not_a_number, infinity}) {
        Operands<float> x(c);
        Tensor<float, 4> clean(x.q.shape), out(x.q.shape);
        const Operands<float>& read = x;
        window_attention(read.q.view(), read.k.view(), read.v.view(), 0.3, window.cap, window.left, window.right,
                         clean.view());
        const std::int64_t hidden = c.T / 2;  // this one alone
        for_each_position(x.k.shape, [&](Index<4> at) {
          if (at[1] != hidden) return;
          x.k.view().store(at, Vec<float, 1>(wrong));
          x.v.view().store(at, Vec<float, 1>(wrong));
        });
        window_attention(read.q.view(), read.k.view(), read.v.view(), 0.3, window.cap, window.left, window.right,
                         out.view());
        for_each_position(out.shape, [&](Index<4> at) {
          if (window.sees(c, at[1], hidden)) return;
          REQUIRE(element(out.view(), at) == element(clean.view(), at));
        });
      }
    }
  }
}

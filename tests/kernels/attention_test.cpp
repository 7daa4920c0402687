// Attention against the plain formula in double.
#include "kgen/attention.hpp"

#include "attention_reference.hpp"
#include "kgen/ops/arithmetic.hpp"
#if defined(KGEN_SIMT)
#include "shared_attention.hpp"
#endif

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Case {
  std::int64_t B, S, H, D, T, G;
};

template <class T>
struct Operands {
  Tensor<T, 4> q, k, v;
  explicit Operands(const Case& c)
      : q(random_tensor<T>(Index<4>{c.B, c.S, c.H, c.D}, 1)),
        k(random_tensor<T>(Index<4>{c.B, c.T, c.G, c.D}, 2)),
        v(random_tensor<T>(Index<4>{c.B, c.T, c.G, c.D}, 3)) {}
};

constexpr Case cases[] = {{1, 1, 1, 1, 1, 1},      {2, 1, 4, 64, 300, 2}, {1, 1, 8, 128, 129, 1},
                          {2, 3, 2, 7, 11, 2},     {1, 37, 4, 40, 37, 2}, {2, 20, 6, 33, 150, 3},
                          {1, 130, 2, 16, 260, 1}, {1, 9, 2, 8, 5, 2},    {0, 4, 2, 8, 5, 2},
                          {1, 4, 2, 8, 0, 2},      {1, 40, 1, 8, 0, 1},   {1, 300, 1, 64, 300, 1},
                          {1, 14, 2, 192, 700, 1}, {2, 13, 18, 8, 600, 9},
                          {1, 130, 6, 64, 260, 3}};  // of three heads, whose keys two threads share

struct Twice {  // a prologue of q
  View<const float, 4> x;
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

TEST_CASE_TEMPLATE("every float type, grouped heads, one query and many, causal and not", T, KGEN_TYPES((bf16), float, double, f16)) {
  for (const Case& c : cases) {
    const Operands<T> x(c);
    for (bool causal : {false, true}) {
      for (int threads : {1, 2}) {
        INFO("S ", c.S, " T ", c.T, " causal ", causal);
        Tensor<compute_t<T>, 4> out(x.q.shape);
        attention(x.q.view(), x.k.view(), x.v.view(), 0.3, causal, out.view(), Stream{threads});
        compare_attention(x.q.view(), x.k.view(), x.v.view(), no_mask, 0.3, causal, out.view(),
                          sizeof(compute_t<T>) == 8 ? 1e-13 : 2e-5);
      }
    }
  }
}

TEST_CASE("additive masks, whole and broadcast; queries that see nothing give 0") {
  for (const Case& c : cases) {
    const Operands<float> x(c);
    auto mask = random_tensor<float>(Index<4>{c.B, c.H, c.S, c.T}, 4);
    for (std::size_t i = 0; i < mask.elements.size(); ++i) {
      if (i % 3 == 0 || (i / std::max<std::size_t>(static_cast<std::size_t>(c.T), 1)) % 5 == 2)
        mask.elements[i] = -infinity;
    }
    auto line = random_tensor<bf16>(Index<2>{c.S, c.T}, 5);
    const auto& mask_read = mask;
    const auto& line_read = line;
    for (bool causal : {false, true}) {
      Tensor<float, 4> out(x.q.shape);
      attention(x.q.view(), x.k.view(), x.v.view(), mask_read.view(), 0.5, causal, out.view());
      const auto whole = [&](Index<3> at, std::int64_t t) {
        return element(mask_read.view(), Index<4>{at[0], at[2], at[1], t});
      };
      compare_attention(x.q.view(), x.k.view(), x.v.view(), whole, 0.5, causal, out.view(), 2e-5);
      attention(x.q.view(), x.k.view(), x.v.view(), line_read.view(), 0.5, causal, out.view());
      const auto repeated = [&](Index<3> at, std::int64_t t) { return element(line_read.view(), Index<2>{at[1], t}); };
      compare_attention(x.q.view(), x.k.view(), x.v.view(), repeated, 0.5, causal, out.view(), 2e-5);
    }
  }
}

TEST_CASE("scores beyond exp's range") {
  for (std::int64_t S : {1, 30}) {
    const Case c{1, S, 2, 16, 200, 2};
    const Operands<float> x(c);
    Tensor<float, 4> out(x.q.shape);
    attention(x.q.view(), x.k.view(), x.v.view(), 100.0, false, out.view());
    compare_attention(x.q.view(), x.k.view(), x.v.view(), no_mask, 100.0, false, out.view(), 2e-3);
  }
}

TEST_CASE("permuted operands, as heads-first tensors and caches give them") {
  for (std::int64_t S : {2, 50}) {
    const auto q = random_tensor<float>(Index<4>{2, 4, S, 24}, 1);  // [B, H, S, D]
    const auto cache = random_tensor<float>(Index<4>{2, 2, 90, 24}, 2);
    const View<const float, 4> q_view = q.view().permute<0, 2, 1, 3>();
    const View<const float, 4> k_view = cache.view().slice<2>(0, 60).permute<0, 2, 1, 3>();
    Tensor<float, 4> out(Index<4>{2, 4, S, 24});
    attention(q_view, k_view, k_view, 0.2, true, out.view().permute<0, 2, 1, 3>());
    compare_attention(q_view, k_view, k_view, no_mask, 0.2, true, out.view().permute<0, 2, 1, 3>(), 2e-5);
  }
}

TEST_CASE("a prologue on the queries, an epilogue on the result") {
  for (std::int64_t S : {1, 21}) {
    const Case c{2, S, 4, 36, 70, 2};
    const Operands<float> x(c);
    const auto residual = random_tensor<float>(x.q.shape, 8);
    Tensor<bf16, 4> y(x.q.shape);
    attention(Twice{x.q.view()}, x.k.view(), x.v.view(), 0.1, false, AddResidual{residual.view(), y.view()});
    Tensor<float, 4> plain(x.q.shape);
    attention(x.q.view(), x.k.view(), x.v.view(), 0.2, false, plain.view());
    for (std::size_t i = 0; i < y.elements.size(); ++i) {
      const float expected = plain.elements[i] + residual.elements[i];
      REQUIRE(std::abs(static_cast<float>(y.elements[i]) - expected) <= 0.004f * std::abs(expected) + 1e-5f);
    }
  }
}

TEST_CASE_TEMPLATE("what a causal mask hides does not touch a result, be it NaN or infinite", T, KGEN_TYPES((bf16), float, double)) {
  using Lane = compute_t<T>;
  for (const Case& c :
       {Case{1, 2, 1, 4, 2, 1}, Case{2, 3, 2, 7, 11, 2}, Case{1, 4, 4, 64, 135, 2}, Case{1, 8, 1, 5, 300, 1},
        Case{1, 37, 4, 40, 37, 2}, Case{2, 20, 6, 33, 150, 3}, Case{1, 9, 2, 8, 5, 2}, Case{1, 200, 1, 64, 200, 1},
        Case{1, 40, 1, 8, 1200, 1}}) {
    for (const std::int64_t hidden :
         {std::int64_t{0}, c.T / 2, c.T - c.S / 2, c.T - 1}) {  // this key and all behind it
      for (const float wrong : {not_a_number, infinity}) {
        INFO("S ", c.S, " T ", c.T, " keys from ", hidden, " on are ", wrong);
        Operands<T> x(c);
        const Operands<T>& read = x;
        Tensor<Lane, 4> clean(x.q.shape), out(x.q.shape);
        attention(read.q.view(), read.k.view(), read.v.view(), 0.3, true, clean.view());
        for_each_position(x.k.shape, [&](Index<4> at) {
          if (at[1] < hidden) return;
          x.k.view().store(at, Vec<float, 1>(wrong));
          x.v.view().store(at, Vec<float, 1>(wrong));
        });
        attention(read.q.view(), read.k.view(), read.v.view(), 0.3, true, out.view());
        for_each_position(out.shape, [&](Index<4> at) {
          const double before = element(clean.view(), at), after = element(out.view(), at);
          const bool sees = c.T - c.S + at[1] >= hidden;
          REQUIRE((sees ? std::isnan(after) || wrong == infinity : after == before));
        });
      }
    }
  }
}

// As NumPy has it: 0 times a NaN or an infinity is NaN.
TEST_CASE("a mask of -inf is added, and hides nothing; where no key has a weight the result is 0") {
  for (const std::int64_t S : {2, 40}) {
    const Case c{1, S, 2, 8, 70, 1};
    Operands<float> x(c);
    auto mask = random_tensor<float>(Index<4>{1, 1, S, c.T}, 4);
    for_each_position(mask.shape, [&](Index<4> at) {
      if (at[3] == 9 || at[2] == 1) mask.view().store(at, Vec<float, 1>(-infinity));
    });
    const Operands<float>& read = x;
    const Tensor<float, 4>& read_mask = mask;
    for (const float wrong : {not_a_number, infinity}) {
      x.v.view().store(Index<4>{0, 9, 0, 3}, Vec<float, 1>(wrong));
      Tensor<float, 4> out(x.q.shape);
      attention(read.q.view(), read.k.view(), read.v.view(), read_mask.view(), 0.3, false, out.view());
      for_each_position(out.shape, [&](Index<4> at) {
        const double got = element(out.view(), at);
        REQUIRE((at[1] == 1 ? got == 0 : std::isnan(got) == (at[3] == 3)));
      });
    }
  }
}

TEST_CASE_TEMPLATE("sequences of lengths of their own: what lies behind a sequence is not looked at", T,
                   KGEN_TYPES((bf16), float)) {
  using Lane = compute_t<T>;
  for (const Case& c : {Case{4, 1, 4, 64, 300, 2}, Case{3, 3, 2, 7, 11, 2}, Case{2, 40, 4, 24, 260, 2}}) {
    Operands<T> x(c);
    std::vector<std::int32_t> lengths = {static_cast<std::int32_t>(c.T), 0, static_cast<std::int32_t>(c.T / 3 + 1), -5};
    lengths[0] += 9;  // more than there are
    lengths.resize(static_cast<std::size_t>(c.B));
    const auto length = [&](std::int64_t b) {
      return std::clamp<std::int64_t>(lengths[static_cast<std::size_t>(b)], 0, c.T);
    };
    for_each_position(x.k.shape, [&](Index<4> at) {
      if (at[1] < length(at[0])) return;
      x.k.view().store(at, Vec<float, 1>(not_a_number));
      x.v.view().store(at, Vec<float, 1>(not_a_number));
    });
    const Operands<T>& read = x;
    const auto mask = random_tensor<float>(Index<2>{c.S, c.T}, 5);
    const View<const std::int32_t, 1> counts(lengths.data(), Index<1>{c.B});
    const auto masked = [&](Index<3> at, std::int64_t t) { return element(mask.view(), Index<2>{at[1], t}); };
    for (bool causal : {false, true}) {
      Tensor<Lane, 4> plain(x.q.shape), with_mask(x.q.shape);
      attention(read.q.view(), read.k.view(), read.v.view(), counts, 0.3, causal, plain.view());
      attention(read.q.view(), read.k.view(), read.v.view(), mask.view(), counts, 0.3, causal, with_mask.view());
      for (std::int64_t b = 0; b < c.B; ++b) {
        INFO("S ", c.S, " T ", c.T, " causal ", causal, " sequence ", b);
        const auto one = [&](const auto& view) { return view.template slice<0>(b, 1); };
        const auto k = one(read.k.view()).template slice<1>(0, length(b));
        const auto v = one(read.v.view()).template slice<1>(0, length(b));
        compare_attention(one(read.q.view()), k, v, no_mask, 0.3, causal, one(plain.view()), 2e-5);
        compare_attention(one(read.q.view()), k, v, masked, 0.3, causal, one(with_mask.view()), 2e-5);
      }
    }
  }
}

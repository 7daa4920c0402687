// Attention over keys in pages, against the plain formula in double.
#include "kgen/paged_attention.hpp"

#include <memory>

#include "kgen/ops/arithmetic.hpp"
#include "paged_keys.hpp"
#if defined(KGEN_SIMT)
#include "shared_attention.hpp"
#endif

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Case {
  PagedSizes sizes;
  std::vector<std::int64_t> lengths;
};

// Few queries and many, pages of all sizes, lengths of none, of less and of more than the table has.
const Case cases[] = {{{3, 1, 4, 2, 24, 16, 9}, {100, 0, 17}},
                      {{2, 1, 8, 2, 64, 1, 150}, {150, 133}},
                      {{2, 2, 4, 1, 7, 5, 30}, {-3, 1000}},
                      {{2, 13, 3, 3, 16, 3, 50}, {150, 4}},
                      {{1, 40, 2, 1, 33, 64, 5}, {301}},
                      {{1, 1, 1, 1, 8, 300, 1}, {299}},
                      {{0, 1, 2, 2, 8, 4, 4}, {}},
                      {{2, 1, 2, 2, 8, 4, 0}, {5, 0}}};

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
  View<float, 4> y;
  template <int W>
  KGEN_FN void operator()(Index<4> at, Vec<float, W> out) const {
    y.store(at, Add::apply(out, residual.load<W>(at)));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("paged attention: pages anywhere, some that are not there", T,
                   KGEN_TYPES((bf16), float, double, f16)) {
  for (const Case& c : cases) {
    for (const bool lost : {false, true}) {
      const PagedKeys<T, T> x(c.sizes, c.lengths, lost);
      for (const bool causal : {false, true}) {
        for (const int threads : {1, 2}) {
          INFO("S ", c.sizes.S, " pages of ", c.sizes.page_keys, " lost ", lost, " causal ", causal);
          Tensor<compute_t<T>, 4> out(x.q.shape);
          paged_attention(x.q.view(), x.k.view(), x.v.view(), x.table.view(), x.lengths.view(), 0.3, causal, out.view(),
                          Stream{threads});
          x.compare(out.view(), 0.3, causal, sizeof(compute_t<T>) == 8 ? 1e-13 : 2e-5);
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("paged attention: masks, windows and scores between limits", T, KGEN_TYPES((bf16), float)) {
  for (const Case& c : cases) {
    const PagedKeys<T, T> x(c.sizes, c.lengths, true);
    Tensor<float, 3> mask = random_tensor<float>(Index<3>{c.sizes.H, c.sizes.S, x.capacity()}, 5);
    const Index<4> shape{c.sizes.B, 1, c.sizes.S, x.capacity()};
    const auto elements = std::make_unique<bool[]>(static_cast<std::size_t>(element_count(shape)));
    for (std::int64_t i = 0; i < element_count(shape); ++i) elements[static_cast<std::size_t>(i)] = i % 5 != 2 && i % 7 != 3;
    const View<const bool, 4> counts(elements.get(), shape);
    for_each_position(mask.shape, [&](Index<3> at) {  // of keys that no sequence has
      const auto behind = [&](std::int64_t length) { return at[2] >= length; };
      if (std::all_of(c.lengths.begin(), c.lengths.end(), behind)) mask.view().store(at, Vec<float, 1>(not_a_number));
    });
    const Tensor<float, 3>& added = mask;
    const auto of_mask = [&](std::int64_t, std::int64_t h, std::int64_t s, std::int64_t t) {
      return element(added.view(), Index<3>{h, s, t});
    };
    const auto of_counts = [&](std::int64_t b, std::int64_t, std::int64_t s, std::int64_t t) {
      const bool is_seen = counts.template load<1>(Index<4>{b, 0, s, t}).data;
      return is_seen ? 0.0 : -std::numeric_limits<double>::infinity();
    };
    Tensor<compute_t<T>, 4> out(x.q.shape);
    const auto k = x.k.view(), v = x.v.view();
    for (const PagedRule& rule : {PagedRule{0.3}, {0.3, true}, {0.3, false, 3, 0, 1.5}, {0.3, false, -1, 9}, {0.3, false, 40, -1, 2.0}}) {
      INFO("S ", c.sizes.S, " pages of ", c.sizes.page_keys, " left ", rule.left, " right ", rule.right);
      if (rule.cap > 0 || rule.left >= 0 || rule.right >= 0) {
        paged_window_attention(x.q.view(), k, v, x.table.view(), x.lengths.view(), rule.scale, rule.cap, rule.left,
                               rule.right, out.view());
        x.compare(out.view(), rule, [](auto...) { return 0.0; }, 2e-5);
        paged_window_attention(x.q.view(), k, v, x.table.view(), x.lengths.view(), added.view(), rule.scale, rule.cap,
                               rule.left, rule.right, out.view());
        x.compare(out.view(), rule, of_mask, 2e-5);
      } else {
        paged_attention(x.q.view(), k, v, x.table.view(), x.lengths.view(), added.view(), rule.scale, rule.causal,
                        out.view());
        x.compare(out.view(), rule, of_mask, 2e-5);
        paged_attention(x.q.view(), k, v, x.table.view(), x.lengths.view(), counts, rule.scale, rule.causal, out.view());
        x.compare(out.view(), rule, of_counts, 2e-5);
      }
    }
  }
}

TEST_CASE("paged attention: keys of 8 bits, entries of 64, a prologue on the queries, an epilogue on the result") {
  for (const Case& c : cases) {
    const PagedKeys<float, f8e4m3, std::int64_t, std::int32_t> x(c.sizes, c.lengths, true);
    const auto residual = random_tensor<float>(x.q.shape, 8);
    Tensor<float, 4> y(x.q.shape);
    paged_attention(Twice{x.q.view()}, x.k.view(), x.v.view(), x.table.view(), x.lengths.view(), 0.15, true,
                    AddResidual{residual.view(), y.view()});
    for (std::size_t i = 0; i < y.elements.size(); ++i) y.elements[i] -= residual.elements[i];
    x.compare(y.view(), 0.3, true, 2e-5);
  }
}

TEST_CASE("paged attention: a pool without pages, and one whose pages lie apart in memory") {
  const PagedSizes sizes{2, 1, 4, 2, 16, 8, 5};
  const PagedKeys<float, float> x(sizes, {40, 21}, false);
  Tensor<float, 4> out(x.q.shape);
  const View<const float, 4> none(x.k.elements.data(), Index<4>{0, 8, 2, 16});
  paged_attention(x.q.view(), none, none, x.table.view(), x.lengths.view(), 0.3, true, out.view());
  for (const float element : out.elements) CHECK(element == 0);

  // Keys and values of a page side by side, as caches are often one tensor: [P, 2, R, G, D].
  Tensor<float, 5> both(Index<5>{x.k.shape[0], 2, 8, 2, 16});
  for_each_position(x.k.shape, [&](Index<4> at) {
    const auto put = [&](std::int64_t which, const Tensor<float, 4>& from) {
      both.view().store(Index<5>{at[0], which, at[1], at[2], at[3]},
                        Vec<float, 1>(static_cast<float>(element(from.view(), at))));
    };
    put(0, x.k);
    put(1, x.v);
  });
  const Tensor<float, 5>& read = both;
  paged_attention(x.q.view(), read.view().select<1>(0), read.view().select<1>(1), x.table.view(), x.lengths.view(), 0.3,
                  false, out.view());
  x.compare(out.view(), 0.3, false, 2e-5);
}

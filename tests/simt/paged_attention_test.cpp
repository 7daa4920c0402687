// Attention over keys in pages by tensor cores, as the executor does what they do, against the plain formula in double.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <string>

#include "launches.hpp"
#include "paged_keys.hpp"
#include "shared_attention.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

struct Hopper : TestDevice {
  explicit Hopper(int multiprocessors = 132) {
    simt::device().shared_bytes = 227 * 1024;
    simt::device().multiprocessors = multiprocessors;
  }
};

struct Case {
  PagedSizes sizes;
  std::vector<std::int64_t> lengths;
  std::string kernel;  // what the launches begin with
  int multiprocessors = 132;
};

template <class T, class Cached>
void check(const Case& c, double tolerance) {
  for (const bool lost : {false, true}) {
    const PagedKeys<T, Cached> x(c.sizes, c.lengths, lost, 128);
    for (const bool causal : {false, true}) {
      INFO("S ", c.sizes.S, " D ", c.sizes.D, " pages of ", c.sizes.page_keys, " lost ", lost, " causal ", causal);
      Hopper device(c.multiprocessors);
      Tensor<float, 4> out(x.q.shape);
      paged_attention(x.q.view(), x.k.view(), x.v.view(), x.table.view(), x.lengths.view(), 0.3, causal, out.view());
      CHECK(device.take().starts_with(c.kernel));
      x.compare(out.view(), 0.3, causal, tolerance);
    }
  }
}

}  // namespace

TEST_CASE(
    "paged attention on tensor cores: few queries, pages that are part of a stage, stages that are part of a page") {
  for (const Case& c : {Case{{3, 1, 4, 1, 128, 16, 20}, {317, 0, 64}, "skinny_attention x"},
                        Case{{2, 2, 4, 2, 64, 8, 50}, {400, 77}, "skinny_attention x"},
                        Case{{2, 1, 3, 1, 256, 256, 2}, {500, 130}, "skinny_attention x"},
                        Case{{1, 3, 2, 2, 40, 24, 30}, {9999}, "skinny_attention x"},
                        Case{{1, 1, 4, 1, 128, 64, 20}, {1200}, "skinny_attention x", 8},
                        Case{{1, 2, 3, 1, 8, 32, 600}, {16400}, "skinny_attention x16, merge_attention x", 64}}) {
    check<bf16, bf16>(c, 8e-3);
  }
}

TEST_CASE("paged attention on tensor cores: many queries") {
  for (const Case& c : {Case{{2, 20, 4, 2, 128, 16, 20}, {317, 12}, "warpgroup_attention x", 8},
                        Case{{1, 140, 1, 1, 64, 8, 40}, {320}, "warpgroup_attention x1", 1},
                        Case{{1, 19, 1, 1, 24, 128, 9}, {1100}, "warpgroup_attention x", 12},
                        Case{{1, 17, 1, 1, 200, 48, 4}, {170}, "warpgroup_attention x", 1},
                        Case{{2, 20, 4, 2, 128, 16, 20}, {317, 12}, "skinny_attention x48"},
                        Case{{1, 37, 3, 1, 64, 8, 30}, {230}, "skinny_attention x"}}) {
    check<f16, f16>(c, 2e-3);
  }
}

TEST_CASE("paged attention on tensor cores: keys of 8 bits, and pages that the copy engine does not take") {
  check<bf16, f8e4m3>({{2, 1, 4, 1, 128, 16, 12}, {180, 33}, "skinny_attention x"}, 8e-3);
  check<bf16, f8e4m3>({{1, 20, 2, 1, 128, 16, 12}, {180}, "elementwise x", 2}, 8e-3);
  check<bf16, f8e4m3>({{1, 20, 2, 1, 128, 16, 12}, {180}, "skinny_attention x"}, 8e-3);
  check<bf16, bf16>({{2, 1, 4, 2, 64, 1, 90}, {90, 41}, "elementwise x"}, 8e-3);
  check<bf16, bf16>({{1, 30, 2, 2, 64, 5, 30}, {150}, "elementwise x"}, 8e-3);
}

TEST_CASE("paged attention on tensor cores: masks, windows and scores between limits") {
  for (const Case& c : {Case{{3, 1, 4, 1, 128, 16, 20}, {317, 0, 64}, "skinny_attention x"},
                        Case{{1, 2, 4, 1, 256, 64, 5}, {290}, "skinny_attention x"},
                        Case{{2, 9, 4, 2, 64, 8, 20}, {130, 77}, "skinny_attention x"},
                        Case{{2, 20, 4, 2, 128, 16, 10}, {157, 12}, "warpgroup_attention x", 8},
                        Case{{2, 70, 1, 1, 64, 128, 3}, {300, 130}, "warpgroup_attention x", 1},
                        Case{{2, 20, 2, 1, 64, 5, 40}, {180, 199}, "elementwise x", 1}}) {
    const PagedKeys<bf16, bf16> x(c.sizes, c.lengths, true, 128);
    const auto mask = random_tensor<bf16>(Index<4>{c.sizes.B, c.sizes.H, c.sizes.S, x.capacity()}, 5);
    const auto of_mask = [&](std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t t) {
      return element(mask.view(), Index<4>{b, h, s, t});
    };
    for (const PagedRule& rule : {PagedRule{0.3, false, 30, 0}, {0.3, false, 150, 9, 1.5}, {0.3, false, -1, -1, 2.0}}) {
      INFO("S ", c.sizes.S, " D ", c.sizes.D, " pages of ", c.sizes.page_keys, " left ", rule.left, " cap ", rule.cap);
      Hopper device(c.multiprocessors);
      Tensor<float, 4> out(x.q.shape);
      paged_window_attention(x.q.view(), x.k.view(), x.v.view(), x.table.view(), x.lengths.view(), rule.scale, rule.cap,
                             rule.left, rule.right, out.view());
      CHECK(device.take().starts_with(c.kernel));
      x.compare(out.view(), rule, [](auto...) { return 0.0; }, 8e-3);
      paged_window_attention(x.q.view(), x.k.view(), x.v.view(), x.table.view(), x.lengths.view(), mask.view(),
                             rule.scale, rule.cap, rule.left, rule.right, out.view());
      CHECK(device.take().starts_with(c.kernel));
      x.compare(out.view(), rule, of_mask, 8e-3);
    }
    Hopper device(c.multiprocessors);
    Tensor<float, 4> out(x.q.shape);
    paged_attention(x.q.view(), x.k.view(), x.v.view(), x.table.view(), x.lengths.view(), mask.view(), 0.3, true,
                    out.view());
    CHECK(device.take().starts_with(c.kernel));
    x.compare(out.view(), PagedRule{0.3, true}, of_mask, 8e-3);
  }
}

TEST_CASE("paged attention: where a table has room for more keys than there are, they are read as they lie") {
  const PagedKeys<bf16, bf16> all({2, 1, 4, 2, 64, 5, 40}, {100, 41}, false);
  const View<const bf16, 4> k = all.k.view().slice<0>(0, 70), v = all.v.view().slice<0>(0, 70);
  PagedKeys<bf16, bf16> few = all;
  few.k = Tensor<bf16, 4>(Index<4>{70, 5, 2, 64});  // the same pages, as a reference has them
  few.v = few.k;
  std::copy_n(all.k.elements.begin(), few.k.elements.size(), few.k.elements.begin());
  std::copy_n(all.v.elements.begin(), few.v.elements.size(), few.v.elements.begin());
  Hopper device;
  Tensor<float, 4> out(all.q.shape);
  paged_attention(all.q.view(), k, v, all.table.view(), all.lengths.view(), 0.3, true, out.view());
  CHECK(device.take().starts_with("attention x"));
  few.compare(out.view(), 0.3, true, 2e-5);
}

TEST_CASE("paged attention on tensor cores: blocks in any order of the threads") {
  const PagedKeys<bf16, bf16> x({2, 1, 4, 1, 128, 16, 40}, {640, 300}, true, 128);
  for (const simt::Order order : {simt::Order::forward, simt::Order::reverse, simt::Order::shuffled}) {
    Hopper device(8);
    simt::device().order = order;
    Tensor<float, 4> out(x.q.shape);
    paged_attention(x.q.view(), x.k.view(), x.v.view(), x.table.view(), x.lengths.view(), 0.3, true, out.view());
    CHECK(device.take().starts_with("skinny_attention x"));
    x.compare(out.view(), 0.3, true, 8e-3);
  }
}

#endif

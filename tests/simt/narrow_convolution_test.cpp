// Convolution of few channels in each group by the tensor cores' products of a wave, as the executor does them, against
// the plain sum in double; and depthwise convolution by plain arithmetic.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <limits>
#include <string>

#include "convolutions.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

const auto by_rule = [](const auto& c, const auto& x, const auto& filters, const auto& out) {
  if constexpr (std::remove_cvref_t<decltype(x)>::rank == 4) {
    conv2d(x, filters, c.strides, c.pads, c.dilations, c.group, out);
  } else {
    conv3d(x, filters, c.strides, c.pads, c.dilations, c.group, out);
  }
};

// By the kernel itself, whichever the rule has for them.
const auto by_narrow = []<int A>(const Case<A>& c, const auto& x, const auto& filters, const auto& out) {
  using T = view_element_t<std::remove_cvref_t<decltype(x)>>;
  const auto sizes = kgen::detail::convolution_shape<A>(x, filters, c.strides, c.pads, c.dilations);
  const gpu::PatchOperands<T, A> operands{x, filters, sizes, c.group};
  REQUIRE(gpu::narrow_convolution(operands, out, gpu::device_limits({}), {}));
};

// Two multiprocessors, which have several tiles each.
struct SmallHopper : Hopper {
  SmallHopper() { simt::device().multiprocessors = 2; }
};

const std::string narrow = "narrow_convolution x";

// And in how many blocks.
struct NarrowCase : Case<2> {
  int blocks;
};
const NarrowCase cases[] = {
    // Groups of as many channels as a tile has columns, of fewer, and of more.
    {{{1, 14, 15, 64}, {3, 3, 8, 64}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 8}, 2},
    {{{3, 7, 7, 48}, {3, 3, 4, 48}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 12}, 3},
    {{{2, 9, 8, 96}, {3, 3, 16, 96}, {2, 1}, {1, 1}, {0, 1, 1, 2}, 6}, 2},
    {{{1, 20, 9, 48}, {3, 2, 24, 64}, {1, 1}, {1, 2}, {1, 2, 1, 0}, 2}, 3},
    {{{2, 6, 6, 96}, {3, 3, 48, 80}, {1, 1}, {2, 1}, {2, 1, 2, 1}, 2}, 2},
    {{{2, 6, 5, 15}, {2, 3, 3, 25}, {1, 1}, {1, 1}, {1, 0, 0, 3}, 5}, 2},
    {{{1, 9, 9, 5}, {3, 3, 1, 20}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 5}, 2},  // several filters of each channel
    {{{1, 6, 6, 80}, {1, 1, 40, 16}, {1, 1}, {1, 1}, {}, 2}, 1},
    // One group: a line of a filter is one stretch of depth, or each tap is.
    {{{2, 37, 35, 3}, {7, 7, 3, 64}, {2, 2}, {1, 1}, {3, 3, 3, 3}}, 4},
    {{{1, 18, 19, 3}, {3, 3, 3, 24}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, 2},
    {{{1, 17, 40, 1}, {5, 4, 1, 7}, {1, 2}, {2, 1}, {0, 3, 1, 0}}, 2},
    {{{2, 11, 12, 40}, {3, 3, 40, 120}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, 4},
    {{{1, 5, 6, 8}, {2, 2, 8, 8}, {8, 8}, {1, 1}, {6, 6, 6, 6}}, 2},  // positions that see pads alone
};
const Case<3> volumes[] = {
    {{2, 4, 5, 6, 16}, {3, 3, 3, 8, 16}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}, 2},
    {{1, 7, 6, 9, 3}, {2, 3, 3, 3, 9}, {2, 1, 2}, {1, 2, 1}, {0, 2, 1, 1, 0, 0}},
};

}  // namespace

TEST_CASE_TEMPLATE("narrow convolution: sizes, strides, pads, dilations and groups", T, KGEN_TYPES((bf16), f16)) {
  SmallHopper device;
  for (const NarrowCase& c : cases) {
    INFO("case ", &c - cases);
    const std::string launches = narrow + std::to_string(c.blocks);
    const auto x = random_tensor<T>(c.x, 1), filters = random_tensor<T>(c.filters, 2);
    check<2, T>(c, x.view(), filters.view(), launches, by_narrow);
  }
}

// Filters [columns, taps, channels], whose depth comes in pieces of 16 or 8 bytes where channels are whole ones of
// them.
TEST_CASE("narrow convolution: filters whose columns are lines, whole or not, in any order") {
  SmallHopper device;
  for (const NarrowCase& c : cases) {
    if (c.filters[2] % 4 != 0) continue;
    INFO("case ", &c - cases);
    const std::string launches = narrow + std::to_string(c.blocks);
    const auto x = random_tensor<bf16>(c.x, 5);
    const Index<4> lines{c.filters[3], c.filters[0], c.filters[1], c.filters[2]};
    const auto whole = random_tensor<bf16>(lines, 6);
    check<2, bf16>(c, x.view(), whole.view().permute<1, 2, 3, 0>().flip<3>(), launches, by_narrow);
    // Taps that are apart, lines that begin between pieces of 16 bytes, and between all.
    const auto wide = random_tensor<bf16>(Index<4>{lines[0], lines[1], lines[2], lines[3] + 8}, 7);
    for (const std::int64_t first : {8, 4, 3}) {
      const auto part = wide.view().slice<3>(first, lines[3]);
      check<2, bf16>(c, x.view(), part.permute<1, 2, 3, 0>(), launches, by_narrow);
    }
  }
}

TEST_CASE("narrow convolution: filters whose columns are apart, and NaN in one, which reaches no other") {
  SmallHopper device;
  const Case<2> c{{1, 6, 7, 8}, {3, 3, 8, 8}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const auto x = random_tensor<bf16>(c.x, 1);
  for (const std::int64_t more : {0, 8, 4, 1}) {
    INFO("elements between columns: ", more);
    auto memory = random_tensor<bf16>(Index<2>{8, 72 + more}, 2);
    const View<const bf16, 4> filters(memory.view().data(), c.filters, Index<4>{24, 8, 1, 72 + more});
    check<2, bf16>(c, x.view(), filters, narrow + "1", by_narrow);
    memory.view().store(Index<2>{5, 0}, Vec<float, 1>(std::numeric_limits<float>::quiet_NaN()));
    Tensor<float, 4> out(c.result());
    by_narrow(c, x.view(), filters, out.view());
    for_each_position(out.shape, [&](Index<4> at) {
      const bool sees = at[3] == 5 && at[1] > 0 && at[2] > 0;  // of the first tap, which is no pad
      if (at[3] != 5 || sees) REQUIRE(std::isnan(element(out.view(), at)) == sees);
    });
  }
}

TEST_CASE("narrow convolution: blocks find places all at once, and leave few of them") {
  const auto blocks = [](const Case<2>& c) {
    using Narrow = gpu::NarrowConvolution<bf16, 4, 2>;
    const Tensor<bf16, 4> x(c.x), filters(c.filters);
    const auto sizes = kgen::detail::convolution_shape<2>(x.view(), filters.view(), c.strides, c.pads, c.dilations);
    const gpu::NarrowRequest request{4, true, 16, 132, 227 * 1024};
    return gpu::narrow_shape<2>(sizes, c.group, c.filters[3], request,
                                [](const auto& shape) { return Narrow::shared(shape); })
        ->blocks();
  };
  // 16 and 6 bundles of groups, by 16 and 44 blocks each.
  CHECK(blocks({{32, 14, 14, 1024}, {3, 3, 32, 1024}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 32}) == 256);
  // Few positions: a group to a block, and the positions that a wave has.
  CHECK(blocks({{1, 14, 14, 1024}, {3, 3, 32, 1024}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 32}) == 128);
  CHECK(blocks({{64, 28, 28, 384}, {3, 3, 32, 384}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 12}) == 264);
}

TEST_CASE("narrow convolution: volumes, channels first, and elements that lie anywhere") {
  SmallHopper device;
  for (const Case<3>& c : volumes) {
    INFO("case ", &c - volumes);
    const auto x = random_tensor<f16>(c.x, 1), filters = random_tensor<f16>(c.filters, 2);
    check<3, f16>(c, x.view(), filters.view(), narrow + (c.group == 2 ? "2" : "1"), by_narrow, simt::Order::reverse);
  }
  for (const NarrowCase& c : cases) {
    INFO("case ", &c - cases);
    const std::string launches = narrow + std::to_string(c.blocks);
    const auto first = random_tensor<bf16>(Index<4>{c.x[0], c.x[3], c.x[1], c.x[2]}, 3);
    const auto torch = random_tensor<bf16>(Index<4>{c.filters[3], c.filters[2], c.filters[0], c.filters[1]}, 4);
    check<2, bf16>(c, first.view().permute<0, 2, 3, 1>(), torch.view().permute<2, 3, 1, 0>(), launches, by_narrow);
    const auto wide = random_tensor<bf16>(Index<4>{c.x[0], c.x[1], c.x[2], c.x[3] + 3}, 5);
    check<2, bf16>(c, wide.view().slice<3>(1, c.x[3]).flip<1>(), torch.view().permute<2, 3, 1, 0>().flip<3>(), launches,
                   by_narrow);
  }
}

TEST_CASE("narrow convolution: epilogues of whole vectors, of halves of them, and of single elements") {
  for (const std::int64_t each : {16, 12, 4, 5}) {
    const Case<2> c{{3, 12, 10, 24}, {3, 3, 6, 4 * each}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 4};
    const auto x = random_tensor<bf16>(c.x, 1), filters = random_tensor<bf16>(c.filters, 2);
    const auto bias = random_tensor<float>(Index<1>{4 * each}, 3);
    const auto residual = random_tensor<float>(c.result(), 4);
    SmallHopper device;
    Tensor<bf16, 4> y(c.result());
    by_rule(c, x.view(), filters.view(), BiasResidual{bias.view().broadcast_to(y.shape), residual.view(), y.view()});
    CHECK(device.take() == narrow + "3");
    for_each_position(y.shape, [&](Index<4> at) {
      const double sum = expected<2>(c, x.view(), filters.view(), at) + element(bias.view(), Index<1>{at[3]});
      const double value = std::max(0.0, sum + element(residual.view(), at));
      REQUIRE(std::abs(element(y.view(), at) - value) <= 0.004 * value + 1e-4);
    });
  }
}

TEST_CASE("convolution: few tiles of few channels share their depth where it is much, else a wave has all of it") {
  const auto launches = [](std::int64_t taps, std::int64_t channels) {
    Hopper device;
    simt::device().multiprocessors = 132;
    const std::int64_t pad = taps / 2;
    const Case<2> c{{1, 6, 7, channels}, {taps, taps, channels, 40}, {1, 1}, {1, 1}, {pad, pad, pad, pad}};
    const auto x = random_tensor<bf16>(c.x, 1);
    const auto lines = random_tensor<bf16>(Index<4>{40, taps, taps, channels}, 2);
    const auto filters = lines.view().permute<1, 2, 3, 0>();
    Tensor<float, 4> out(c.result());
    by_rule(c, x.view(), filters, out.view());
    for_each_position(out.shape, [&](Index<4> at) {
      REQUIRE(std::abs(element(out.view(), at) - expected<2>(c, x.view(), filters, at)) <= 1e-2);
    });
    return device.take();
  };
  CHECK(launches(7, 16) == "shared_convolution x8");
  CHECK(launches(3, 16).starts_with(narrow));
  CHECK(launches(7, 12).starts_with(narrow));  // lines that the engine does not take
}

TEST_CASE("narrow convolution: NaN and infinity reach the positions and groups that see them, and no others") {
  for (const std::int64_t group : {1, 4}) {
    const Case<2> c{{1, 9, 9, 12}, {3, 3, 12 / group, 16}, {1, 1}, {1, 1}, {1, 1, 1, 1}, group};
    auto x = random_tensor<bf16>(c.x, 1);
    const auto filters = random_tensor<bf16>(c.filters, 2);
    x.view().store(Index<4>{0, 4, 4, 10}, Vec<float, 1>(std::numeric_limits<float>::quiet_NaN()));
    x.view().store(Index<4>{0, 0, 8, 11}, Vec<float, 1>(std::numeric_limits<float>::infinity()));
    SmallHopper device;
    Tensor<float, 4> out(c.result());
    by_rule(c, x.view(), filters.view(), out.view());
    for_each_position(out.shape, [&](Index<4> at) {
      const auto sees = [&](int row, int column) {
        return std::abs(at[1] - row) <= 1 && std::abs(at[2] - column) <= 1 && (group == 1 || at[3] >= 12);
      };
      INFO("at ", at[1], ", ", at[2], ", ", at[3]);
      REQUIRE(std::isnan(element(out.view(), at)) == sees(4, 4));
      REQUIRE(std::isinf(element(out.view(), at)) == sees(0, 8));
    });
  }
}

TEST_CASE("convolution: images and filters of which the copy engine wants their channels last are copied") {
  const Case<2> plain[] = {
      {{2, 9, 10, 64}, {3, 3, 64, 24}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      {{1, 8, 11, 100}, {3, 2, 100, 20}, {2, 1}, {1, 1}, {1, 0, 0, 1}},  // zeros behind the channels
      {{2, 5, 5, 128}, {3, 3, 64, 96}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 2},
      {{3, 7, 5, 70}, {1, 1, 70, 9}, {1, 1}, {1, 1}, {}},
  };
  SmallHopper device;
  for (const Case<2>& c : plain) {
    INFO("case ", &c - plain);
    const auto first = random_tensor<bf16>(Index<4>{c.x[0], c.x[3], c.x[1], c.x[2]}, 1);
    const auto torch = random_tensor<bf16>(Index<4>{c.filters[3], c.filters[2], c.filters[0], c.filters[1]}, 2);
    Hopper own;
    simt::device().multiprocessors = 2;
    Tensor<float, 4> out(c.result());
    by_rule(c, first.view().permute<0, 2, 3, 1>(), torch.view().permute<2, 3, 1, 0>(), out.view());
    const std::string launches = own.take();
    CHECK(launches.starts_with("channels_last x"));
    const bool shared = launches.find(", shared_convolution x") != std::string::npos;  // the depth of few columns
    CHECK((shared || launches.find(", warpgroup_convolution x") != std::string::npos));
    for_each_position(out.shape, [&](Index<4> at) {
      const double value = expected<2>(c, first.view().permute<0, 2, 3, 1>(), torch.view().permute<2, 3, 1, 0>(), at);
      REQUIRE(std::abs(element(out.view(), at) - value) <= 1e-2);
    });
  }
  // Images alone, whose channels are neighbours but no pieces of 16 bytes.
  const Case<2> odd{{1, 6, 7, 75}, {3, 3, 75, 16}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const auto x = random_tensor<bf16>(odd.x, 1), filters = random_tensor<bf16>(odd.filters, 2);
  check<2, bf16>(odd, x.view(), filters.view(), "channels_last x2, shared_convolution x2", by_rule);
}

TEST_CASE("depthwise convolution: vectors of channels, windows that slide, and lanes along the image") {
  const Case<2> plain[] = {
      {{2, 9, 30, 24}, {3, 3, 1, 24}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 24},
      {{1, 20, 17, 72}, {5, 7, 1, 72}, {1, 1}, {1, 1}, {2, 3, 2, 3}, 72},  // more channels than a block has
      {{1, 11, 40, 8}, {3, 5, 1, 8}, {1, 1}, {2, 3}, {2, 6, 2, 6}, 8},
      {{2, 13, 21, 16}, {3, 3, 1, 16}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 16},
      {{1, 12, 19, 8}, {2, 4, 1, 8}, {1, 2}, {1, 4}, {0, 5, 1, 5}, 8},
      {{1, 5, 9, 7}, {3, 2, 1, 7}, {1, 1}, {1, 1}, {4, 4, 4, 4}, 7},
  };
  for (const Case<2>& c : plain) {
    INFO("case ", &c - plain);
    const auto compare = [&](const auto& x, const auto& filters) {
      Hopper device;
      Tensor<float, 4> out(c.result());
      depthwise_conv2d(x, filters, c.strides, c.pads, c.dilations, out.view());
      CHECK(device.take().starts_with("depthwise x"));
      for_each_position(out.shape, [&](Index<4> at) {
        REQUIRE(std::abs(element(out.view(), at) - expected<2>(c, x, filters, at)) <= 1e-4);
      });
    };
    const auto x = random_tensor<bf16>(c.x, 1), filters = random_tensor<bf16>(c.filters, 2);
    compare(x.view(), filters.view());
    const auto first = random_tensor<float>(Index<4>{c.x[0], c.x[3], c.x[1], c.x[2]}, 3);
    const auto torch = random_tensor<float>(Index<4>{c.filters[3], 1, c.filters[0], c.filters[1]}, 4);
    compare(first.view().permute<0, 2, 3, 1>(), torch.view().permute<2, 3, 1, 0>());
  }
}

#endif

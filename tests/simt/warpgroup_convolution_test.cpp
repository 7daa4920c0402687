// Convolution by tensor cores, as the executor does what they do, against the plain sum in double.
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

#include <cmath>
#include <limits>
#include <string>

#include "convolutions.hpp"

using namespace kgen;
using namespace kgen::testing;
using namespace kgen::simt_testing;

namespace {

// By this kernel, whichever the rule has for them.
template <int A>
void convolve(const Case<A>& c, const auto& x, const auto& filters, const auto& out) {
  using T = view_element_t<std::remove_cvref_t<decltype(x)>>;
  const auto sizes = kgen::detail::convolution_shape<A>(x, filters, c.strides, c.pads, c.dilations);
  const gpu::PatchOperands<T, A> operands{x, filters, sizes, c.group};
  REQUIRE(gpu::warpgroup_convolution(operands, out, gpu::device_limits({}), {}));
}
const auto by_warpgroups = [](const auto& c, const auto& x, const auto& filters, const auto& out) {
  convolve(c, x, filters, out);
};

const std::string engine = "warpgroup_convolution x", copied = "warpgroup_convolution_copied x";

// Channels are whole pieces of 16 bytes.
const Case<2> engine_cases[] = {
    {{1, 1, 1, 8}, {1, 1, 8, 8}, {1, 1}, {1, 1}, {}},
    {{2, 9, 7, 16}, {3, 3, 16, 24}, {1, 1}, {1, 1}, {1, 1, 1, 1}},    // from image to image within a tile
    {{3, 8, 11, 8}, {3, 2, 8, 16}, {2, 1}, {1, 1}, {1, 0, 0, 1}},     // pads on one side
    {{2, 13, 10, 72}, {2, 3, 72, 64}, {3, 2}, {1, 2}, {2, 3, 1, 0}},  // rest of strides, more than a line of channels
    {{1, 14, 15, 8}, {3, 3, 8, 8}, {1, 1}, {4, 3}, {4, 3, 4, 3}},
    {{2, 17, 16, 64}, {1, 1, 64, 40}, {2, 2}, {1, 1}, {}},
    {{1, 5, 6, 8}, {2, 2, 8, 8}, {8, 8}, {1, 1}, {6, 6, 6, 6}},  // positions that see pads alone
    {{1, 12, 12, 128}, {3, 3, 64, 96}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 2},
    {{1, 9, 9, 192}, {3, 1, 64, 24}, {1, 2}, {1, 1}, {1, 0, 1, 0}, 3},
};
// Any.
const Case<2> copied_cases[] = {
    {{2, 19, 18, 3}, {7, 7, 3, 16}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
    {{1, 9, 8, 5}, {3, 2, 5, 70}, {1, 2}, {1, 1}, {2, 0, 1, 3}},
    {{2, 6, 6, 32}, {3, 3, 16, 20}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 2},
    {{1, 6, 5, 9}, {2, 2, 3, 12}, {1, 1}, {1, 1}, {0, 1, 1, 0}, 3},
    {{1, 30, 8, 8}, {2, 1, 8, 8}, {9, 1}, {1, 1}, {}},             // steps that the engine does not take
    {{1, 300, 3, 8}, {2, 1, 8, 8}, {1, 1}, {256, 1}, {}},          // offsets that it does not
    {{1, 3, 3, 8}, {1, 1, 8, 8}, {8, 8}, {1, 1}, {129, 0, 0, 0}},  // nor corners
};
const Case<3> volumes[] = {
    {{2, 4, 5, 6, 8}, {3, 3, 3, 8, 64}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
    {{1, 7, 6, 9, 72}, {2, 3, 1, 72, 64}, {2, 1, 3}, {1, 2, 1}, {0, 2, 1, 1, 0, 0}},
    {{1, 5, 5, 5, 6}, {3, 2, 3, 3, 10}, {1, 2, 1}, {2, 1, 1}, {2, 0, 1, 2, 1, 1}, 2},
};

// Blocks of tiles of 64 columns, as many as there are multiprocessors.
std::string blocks(const Case<2>& c) {
  const Index<4> shape = c.result();
  const std::int64_t rows = (shape[0] * shape[1] * shape[2] + 127) / 128, each = shape[3] / c.group;
  return std::to_string(std::min<std::int64_t>(rows * c.group * ((each + 63) / 64), simt::device().multiprocessors));
}

}  // namespace

TEST_CASE_TEMPLATE("warpgroup convolution: sizes, strides, pads, dilations and groups, patches by the engine", T, bf16,
                   f16) {
  for (const Case<2>& c : engine_cases) {
    INFO("case ", &c - engine_cases);
    const std::string launches = engine + blocks(c);
    const auto x = random_tensor<T>(c.x, 1), filters = random_tensor<T>(c.filters, 2);
    check<2, T>(c, x.view(), filters.view(), launches, by_warpgroups);
    // Filters whose neighbours in memory are the channels.
    const auto turned = random_tensor<T>(Index<4>{c.filters[3], c.filters[0], c.filters[1], c.filters[2]}, 3);
    check<2, T>(c, x.view(), turned.view().template permute<1, 2, 3, 0>(), launches, by_warpgroups, simt::Order::reverse);
  }
}

TEST_CASE("warpgroup convolution: what the engine does not take is copied through registers") {
  for (const Case<2>& c : copied_cases) {
    INFO("case ", &c - copied_cases);
    const std::string launches = copied + blocks(c);
    const auto x = random_tensor<bf16>(c.x, 1), filters = random_tensor<bf16>(c.filters, 2);
    check<2, bf16>(c, x.view(), filters.view(), launches, by_warpgroups);
    // As PyTorch has both.
    const auto first = random_tensor<bf16>(Index<4>{c.x[0], c.x[3], c.x[1], c.x[2]}, 3);
    const auto torch = random_tensor<bf16>(Index<4>{c.filters[3], c.filters[2], c.filters[0], c.filters[1]}, 4);
    check<2, bf16>(c, first.view().permute<0, 2, 3, 1>(), torch.view().permute<2, 3, 1, 0>(), launches,
                   by_warpgroups, simt::Order::reverse);
    const auto channels = random_tensor<bf16>(Index<4>{c.filters[3], c.filters[0], c.filters[1], c.filters[2]}, 5);
    check<2, bf16>(c, x.view().flip<1>().flip<2>(), channels.view().permute<1, 2, 3, 0>(), launches, by_warpgroups);
  }
}

// What a program is compiled without is what it does not launch; and it stays right where filters and images are not as
// they are said to be.
TEST_CASE("known convolutions: filters that lie as they are said to, and otherwise") {
  const Case<2> c{{2, 9, 7, 64}, {3, 3, 64, 24}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  const auto by_known = [](const auto& c, const auto& x, const auto& filters, const auto& out) {
    conv2d<row_major, many_channels>(x, filters, c.strides, c.pads, c.dilations, c.group, out);
  };
  const auto x = random_tensor<bf16>(c.x, 1), filters = random_tensor<bf16>(c.filters, 2);
  const auto turned = random_tensor<bf16>(Index<4>{24, 3, 3, 64}, 3),
             wide = random_tensor<bf16>(Index<4>{2, 9, 7, 72}, 4);
  check<2, bf16>(c, x.view(), filters.view(), "warpgroup_convolution x1", by_known);
  check<2, bf16>(c, x.view(), turned.view().permute<1, 2, 3, 0>(), "matmul x2", by_known);
  check<2, bf16>(c, wide.view().slice<3>(1, 65), filters.view(), "channels_last x4, warpgroup_convolution x1",
                 by_known);
}

TEST_CASE("warpgroup convolution: volumes and lines") {
  for (const Case<3>& c : volumes) {
    INFO("case ", &c - volumes);
    const auto x = random_tensor<f16>(c.x, 1), filters = random_tensor<f16>(c.filters, 2);
    check<3, f16>(c, x.view(), filters.view(), c.group == 1 ? engine + (&c == volumes ? "2" : "1") : copied + "2",
                  by_warpgroups);
  }
  Hopper device;
  const auto x = random_tensor<bf16>(Index<3>{2, 90, 64}, 1), filters = random_tensor<bf16>(Index<3>{5, 64, 24}, 2);
  Tensor<float, 3> out(Index<3>{2, 86, 24});
  conv1d(x.view(), filters.view(), 1, {4, 0}, 2, 1, out.view());
  CHECK(device.take() == engine + "2");
  const Case<2> c{{2, 1, 90, 64}, {1, 5, 64, 24}, {1, 1}, {1, 2}, {0, 4, 0, 0}};
  for_each_position(out.shape, [&](Index<3> at) {
    const double value =
        expected<2>(c, x.view().unsqueeze<1>(), filters.view().unsqueeze<0>(), {at[0], 0, at[1], at[2]});
    REQUIRE(std::abs(element(out.view(), at) - value) <= 1e-3);
  });
}

TEST_CASE("warpgroup convolution: epilogues at positions of the result, of whole tiles and of parts") {
  for (const std::int64_t O : {64, 72, 12}) {
    const Case<2> c{{3, 12, 16, 8}, {3, 3, 8, O}, {1, 1}, {1, 1}, {1, 1, 1, 1}, O == 12 ? 4 : 1};
    const Case<2> own = O == 12 ? Case<2>{c.x, {3, 3, 2, O}, c.strides, c.dilations, c.pads, 4} : c;
    const auto x = random_tensor<bf16>(own.x, 1), filters = random_tensor<bf16>(own.filters, 2);
    const auto bias = random_tensor<float>(Index<1>{O}, 3);
    const auto residual = random_tensor<float>(own.result(), 4);
    Hopper device;
    Tensor<bf16, 4> y(own.result());
    const BiasResidual epilogue{bias.view().broadcast_to(y.shape), residual.view(), y.view()};
    convolve(own, x.view(), filters.view(), epilogue);
    CHECK(device.take() == (O == 12 ? copied + "4" : engine + "3"));
    for_each_position(y.shape, [&](Index<4> at) {
      const double sum = expected<2>(own, x.view(), filters.view(), at) + element(bias.view(), Index<1>{at[3]});
      const double value = std::max(0.0, sum + element(residual.view(), at));
      REQUIRE(std::abs(element(y.view(), at) - value) <= 0.004 * value + 1e-4);
    });
  }
}

// Filters whose neighbours are the channels come as evenly in tiles as vectors allow: 136 columns in tiles of 96 as 72
// and 64.
TEST_CASE("warpgroup convolution: tall tiles of all widths, whose columns are fewer, and groups") {
  const auto in_tiles = [](int columns) {
    return [=](const auto& c, const auto& x, const auto& filters, const auto& out) {
      simt::device().multiprocessors = 2;
      const auto sizes = kgen::detail::convolution_shape<2>(x, filters, c.strides, c.pads, c.dilations);
      const gpu::PatchOperands<bf16, 2> operands{x, filters, sizes, c.group};
      const gpu::NumberedRows<std::remove_cvref_t<decltype(out)>, 3> sink{out, operands.shape().rows};
      const std::int64_t depth = element_count(sizes.filter) * ((sizes.channels + 63) / 64 * 64);
      const gpu::WarpgroupMatmulShape<1> shape{
          sizes.positions(), depth, {c.filters[3] / c.group}, 0, gpu::whole_lanes(sink, 8), static_cast<int>(c.group)};
      const gpu::DeviceLimits limits = gpu::device_limits({});
      const bool deep = filters.stride(2) == 1;
      REQUIRE((deep ? gpu::convolve_tall<true>(operands, sink, shape, columns, limits, {})
                    : gpu::convolve_tall<false>(operands, sink, shape, columns, limits, {})));
    };
  };
  const std::string launches = engine + "2";
  const Case<2> cases[] = {{{2, 9, 17, 72}, {3, 3, 72, 96}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                           {{3, 11, 12, 64}, {3, 2, 64, 40}, {1, 1}, {1, 2}, {1, 0, 1, 2}},
                           {{2, 18, 34, 8}, {3, 3, 8, 136}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
                           {{1, 16, 17, 128}, {1, 2, 64, 48}, {1, 1}, {1, 1}, {0, 0, 0, 1}, 2}};
  for (const Case<2>& c : cases) {
    INFO("case ", &c - cases);
    const auto x = random_tensor<bf16>(c.x, 1), filters = random_tensor<bf16>(c.filters, 2);
    const auto turned = random_tensor<bf16>(Index<4>{c.filters[3], c.filters[0], c.filters[1], c.filters[2]}, 3);
    for (const int columns : {64, 96, 128}) {
      check<2, bf16>(c, x.view(), turned.view().permute<1, 2, 3, 0>(), launches, in_tiles(columns));
      if (columns == 96) continue;
      check<2, bf16>(c, x.view(), filters.view(), launches, in_tiles(columns), simt::Order::reverse);
    }
  }
}

TEST_CASE("warpgroup convolution: few tiles, whose depth blocks share, in two groups too") {
  for (const std::int64_t group : {1, 2}) {
    const Case<2> c{{1, 7, 9, 128 * group}, {3, 3, 128, 24 * group}, {1, 1}, {1, 1}, {1, 1, 1, 1}, group};
    const auto x = random_tensor<bf16>(c.x, 1), filters = random_tensor<bf16>(c.filters, 2);
    const auto turned = random_tensor<bf16>(Index<4>{c.filters[3], c.filters[0], c.filters[1], c.filters[2]}, 3);
    const auto by_clusters = [](const auto& own, const auto& image, const auto& of_image, const auto& out) {
      simt::device().multiprocessors = 132;
      convolve(own, image, of_image, out);
    };
    const std::string launches = group == 1 ? "shared_convolution x6" : "shared_convolution x12";
    check<2, bf16>(c, x.view(), filters.view(), launches, by_clusters);
    check<2, bf16>(c, x.view(), turned.view().permute<1, 2, 3, 0>(), launches, by_clusters, simt::Order::reverse);
  }
}

TEST_CASE("warpgroup convolution: what an epilogue reads row by row is asked into a cache ahead, and nothing else") {
  const Case<2> c{{3, 12, 16, 8}, {1, 1, 8, 72}, {1, 1}, {1, 1}, {}};
  const auto x = random_tensor<bf16>(c.x, 1), filters = random_tensor<bf16>(c.filters, 2);
  const auto bias = random_tensor<float>(Index<1>{72}, 3);
  const auto residual = random_tensor<float>(c.result(), 4);
  Hopper device;
  std::vector<int> asked(residual.elements.size(), 0);
  simt::device().asks = [&](const void* at, std::size_t bytes) {
    const std::ptrdiff_t place = static_cast<const float*>(at) - residual.elements.data();
    const auto count = static_cast<std::ptrdiff_t>(bytes / sizeof(float));
    REQUIRE((place >= 0 && place + count <= static_cast<std::ptrdiff_t>(asked.size())));
    for (std::ptrdiff_t i = place; i < place + count; ++i) ++asked[static_cast<std::size_t>(i)];
  };
  Tensor<bf16, 4> y(c.result());
  convolve(c, x.view(), filters.view(), BiasResidual{bias.view().broadcast_to(y.shape), residual.view(), y.view()});
  CHECK(std::all_of(asked.begin(), asked.end(), [](int times) { return times == 1; }));
}

TEST_CASE("warpgroup convolution: NaN reaches the positions and groups that see it, and no others") {
  for (const std::int64_t group : {1, 2}) {
    const Case<2> c{{1, 9, 9, 48}, {3, 3, 48 / group, 16}, {1, 1}, {1, 1}, {1, 1, 1, 1}, group};
    auto x = random_tensor<bf16>(c.x, 1);
    const auto filters = random_tensor<bf16>(c.filters, 2);
    x.view().store(Index<4>{0, 4, 4, 40}, Vec<float, 1>(std::numeric_limits<float>::quiet_NaN()));
    Hopper device;
    Tensor<float, 4> out(c.result());
    convolve(c, x.view(), filters.view(), out.view());
    CHECK(device.take() == (group == 1 ? "shared_convolution x4" : copied + "2"));
    for_each_position(out.shape, [&](Index<4> at) {
      const bool sees = std::abs(at[1] - 4) <= 1 && std::abs(at[2] - 4) <= 1 && (group == 1 || at[3] >= 8);
      INFO("at ", at[1], ", ", at[2], ", ", at[3]);
      REQUIRE(std::isnan(element(out.view(), at)) == sees);
    });
  }
}

TEST_CASE("warpgroup convolution: wide tiles, the ring's second round, and operands it leaves to the plain kernel") {
  Hopper device;
  simt::device().multiprocessors = 2;
  const Case<2> c{{1, 16, 32, 72}, {1, 1, 72, 264}, {1, 1}, {1, 1}, {}};
  const auto x = random_tensor<bf16>(c.x, 1), filters = random_tensor<bf16>(c.filters, 2);
  Tensor<float, 4> out(c.result());
  convolve(c, x.view(), filters.view(), out.view());
  CHECK(device.take() == engine + "2");
  for_each_position(out.shape, [&](Index<4> at) {
    REQUIRE(std::abs(element(out.view(), at) - expected<2>(c, x.view(), filters.view(), at)) <= 1e-3);
  });
  simt::device().shared_bytes = 48 * 1024;
  conv2d(x.view(), filters.view(), c.strides, c.pads, c.dilations, c.group, out.view());
  CHECK(device.take().starts_with("matmul x"));
}

TEST_CASE("warpgroup convolution: patches that begin outside of their box, or lie far from it, are an error") {
  const auto memory = random_tensor<bf16>(Index<4>{1, 4, 4, 64}, 1);
  const gpu::PatchedMemory<4> patches{
      memory.elements.data(), {64, 4, 4, 1}, {0, 128, 512, 2048}, {-1, -1}, {-1, -1}, {1, 1}, 64, 8};
  const auto problem = [&](int column, int offset) -> std::string {
    Hopper device;
    try {
      simt::run({.name = "test", .threads = 32, .shared_bytes = 4096}, [&] {
        gpu::SharedMemory shared;
        auto* barrier = shared.take<gpu::Mbarrier>(1);
        {
          const gpu::BlockPhase making;
          if (gpu::thread_index() == 0) {
            barrier->init(1);
            gpu::publish_mbarriers();
          }
        }
        const auto map = gpu::tensor_map<bf16>(patches);
        if (gpu::thread_index() == 0) {
          barrier->arrive_and_expect(1024);
          gpu::copy_patches(gpu::dynamic_shared() + 1024, *map, *barrier, {0, column, -1, 0}, {offset, 0});
        }
        barrier->wait(0);
      });
    } catch (const simt::Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(problem(-1, 2) == "");
  CHECK(problem(3, 0).find("patches that begin outside of their box") != std::string::npos);
  CHECK(problem(0, 256).find("an offset of too many bits") != std::string::npos);
}

#endif

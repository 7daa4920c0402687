#include <utility>

#include "guarded_cases.hpp"
#include "kgen/bincount.hpp"
#include "kgen/block_scaled_matmul.hpp"
#include "kgen/cumsum.hpp"
#include "kgen/elementwise.hpp"
#include "kgen/gpu/laid_out.hpp"
#include "kgen/lu.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/conversion.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/rows.hpp"
#include "kgen/simt/executor.hpp"
#include "kgen/suppression.hpp"
#include "kgen/top_k.hpp"
#include "shared_attention.hpp"
#include "shared_batches.hpp"
#include "shared_convolutions.hpp"
#include "shared_products.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace kgen::simt_testing {
namespace {

struct Copy {
  View<const float, 2> x;
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at) const {
    y.store(at, x.load<W>(at));
  }
};

struct Shares {
  View<const float, 2> x;
  View<float, 2> y;
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto distances = row.map(Sub{}, row.load(x), row.reduce(Max{}, row.load(x)));
    row.store(y, row.map(Div{}, distances, row.reduce(Sum{}, distances)));
  }
};

// In one block, which takes line after line.
std::vector<float> chosen(View<const float, 2> x, std::int64_t k) {
  const simt::Device before = simt::device();
  simt::device().most_blocks = 1;
  Tensor<float, 2> values(Index<2>{x.extent(0), k});
  Tensor<std::int64_t, 2> indices(values.shape);
  top_k(x, k, 1, true, values.view(), indices.view());
  simt::device().most_blocks = before.most_blocks;
  return values.elements;
}

template <std::int64_t Length = 0>
std::vector<float> shares(View<const float, 2> x) {
  Tensor<float, 2> y(x.shape());
  rows<1, Length>(x.shape(), Shares{x, y.view()});
  return y.elements;
}

// A prologue of weights of few bits.
struct Scaled {
  View<const i4, 2> q;
  View<const bf16, 2> scale;
  KGEN_FN Index<2> shape() const { return q.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Mul::apply(Cast<float>::apply(q.load<W>(at)), scale.load<W>(at));
  }
};

// Boxes that overlap their neighbours, the best one first.
struct Crowd {
  Tensor<float, 3> boxes{Index<3>{1, 300, 4}}, scores{Index<3>{1, 1, 300}};
  Tensor<std::int64_t, 3> order{scores.shape};

  Crowd() {
    for (int i = 0; i < 300; ++i) {
      const float left = static_cast<float>(i * 7 % 300);
      const float corners[] = {left, 0, left + 3, 1};
      std::copy_n(corners, 4, boxes.elements.begin() + 4 * i);
      scores.elements[static_cast<std::size_t>(i)] = 1 - static_cast<float>(i) / 512;
      order.elements[static_cast<std::size_t>(i)] = i;
    }
  }
};

}  // namespace

std::vector<Case> guarded_cases() {
  const auto matrix = random_tensor<float>(Index<2>{70, 90}, 1), other = random_tensor<float>(Index<2>{90, 80}, 2);
  const auto long_rows = random_tensor<float>(Index<2>{5, 1000}, 3);
  const auto longer = random_tensor<float>(Index<2>{1, 16384}, 4);
  const auto q = random_tensor<float>(Index<4>{1, 80, 2, 16}, 5);
  const Crowd crowd;
  return {
      [=] {
        Tensor<float, 2> y(Index<2>{90, 70});
        elementwise_across(y.shape, Copy{matrix.view().permute<1, 0>(), y.view()});
        return y.elements;
      },
      [=] { return shares(long_rows.view()); },
      [=] {
        Tensor<float, 2> y(matrix.shape);
        rows<1>(Index<2>{90, 70}, Shares{matrix.view().permute<1, 0>(), y.view().permute<1, 0>()});
        return y.elements;
      },
      [=] { return shares<16384>(longer.view()); },
      [=] {
        Tensor<float, 2> c(Index<2>{70, 80});
        matmul(matrix.view(), other.view(), c.view());
        return c.elements;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;  // as Hopper's
        const auto a = random_tensor<bf16>(Index<2>{136, 640}, 1), b = random_tensor<bf16>(Index<2>{640, 64}, 2);
        Tensor<float, 2> c(Index<2>{136, 127});
        matmul(a.view(), b.view(), c.view().slice<1>(0, 64));
        matmul(a.view(), b.view().slice<1>(1, 63), c.view().slice<1>(64, 63));  // through registers
        simt::device().shared_bytes = before.shared_bytes;
        return c.elements;
      },
      [=] {
        simt::device().shared_bytes = 48 * 1024;  // too little for warpgroups: by each wave alone
        const auto a = random_tensor<bf16>(Index<2>{72, 160}, 1), b = random_tensor<bf16>(Index<2>{160, 40}, 2);
        Tensor<float, 2> c(Index<2>{72, 40});
        matmul(a.view(), b.view(), c.view());
        return c.elements;
      },
      [=] {
        const auto a = random_tensor<float>(Index<2>{70, 20}, 1);
        const auto b = random_tensor<float>(Index<3>{3, 20, 16}, 2);
        const std::int64_t ends[] = {5, 40, 69};
        Tensor<float, 2> c(Index<2>{70, 16});
        grouped_matmul(a.view(), b.view(), View<const std::int64_t, 1>(ends, Index<1>{3}), c.view());
        return c.elements;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;  // as Hopper's
        const auto a = random_tensor<bf16>(Index<2>{21, 640}, 1);
        const auto b = random_tensor<bf16>(Index<3>{3, 640, 64}, 2);
        const std::int64_t ends[] = {5, 10, 19};
        const View<const std::int64_t, 1> groups(ends, Index<1>{3});
        Tensor<float, 2> c(Index<2>{42, 64});
        grouped_matmul(a.view(), b.view(), groups, c.view().slice<0>(0, 21));
        grouped_matmul(a.view().slice<1>(0, 64), b.view().slice<1>(0, 64), groups, c.view().slice<0>(21, 21));
        simt::device().shared_bytes = before.shared_bytes;
        return c.elements;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;  // as Hopper's
        const auto x = random_tensor<bf16>(Index<4>{1, 8, 16, 8}, 1), f = random_tensor<bf16>(Index<4>{3, 3, 8, 8}, 2);
        Tensor<float, 4> out(Index<4>{1, 8, 16, 8}), odd(Index<4>{1, 8, 16, 1});
        conv2d(x.view(), f.view(), {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, out.view());
        conv2d(x.view(), f.view().slice<3>(0, 1, 2), {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, odd.view());  // through registers
        simt::device().shared_bytes = before.shared_bytes;
        std::vector<float> all = out.elements;
        all.insert(all.end(), odd.elements.begin(), odd.elements.end());
        return all;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;  // as Hopper's
        const auto a = random_tensor<bf16>(Index<2>{36, 1280}, 1), b = random_tensor<bf16>(Index<2>{1280, 64}, 2);
        Tensor<float, 2> c(Index<2>{52, 64});
        matmul(a.view().slice<0>(0, 16), b.view(), c.view().slice<0>(0, 16));  // by the blocks of a cluster
        const auto left = a.view().slice<1>(0, 64), right = b.view().slice<0>(0, 64);
        matmul(left.slice<0>(0, 16), right, c.view().slice<0>(16, 16));
        matmul(left.slice<0>(16, 20), right, c.view().slice<0>(32, 20));  // one stage, whose place the sums take
        simt::device().shared_bytes = before.shared_bytes;
        return c.elements;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;  // as Hopper's
        simt::device().multiprocessors = 4;
        simt::device().lasts = [](const void*) { return true; };
        const auto a = random_tensor<bf16>(Index<2>{16, 136}, 1), b = random_tensor<bf16>(Index<2>{136, 648}, 2);
        Tensor<float, 2> c(Index<2>{16, 648});
        matmul(a.view(), b.view().with_lasting(true), c.view());  // a block goes from tile to tile of weights
        simt::device().shared_bytes = before.shared_bytes;
        simt::device().multiprocessors = before.multiprocessors;
        simt::device().lasts = before.lasts;
        return c.elements;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;  // as Hopper's
        const auto a = random_tensor<bf16>(Index<2>{5, 999}, 1), b = random_tensor<bf16>(Index<2>{999, 31}, 2);
        Tensor<float, 2> c(Index<2>{5, 31});
        matmul(a.view(), b.view(), c.view());  // lines begin anywhere
        simt::device().shared_bytes = before.shared_bytes;
        return c.elements;
      },
      [=] {
        std::vector<float> results;
#if defined(KGEN_WARPGROUPS)
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;
        using Operand = View<const bf16, 2>;
        const auto a = random_tensor<bf16>(Index<2>{16, 1280}, 1), b = random_tensor<bf16>(Index<2>{1280, 64}, 2);
        const Operand left = a.view(), right = b.view();
        Tensor<float, 2> c(Index<2>{64, 64});
        const gpu::DeviceLimits limits = gpu::device_limits({});
        std::int64_t first = 0;
        const auto multiply = [&]<class Matmul>() {  // in a tile, of one block and of a cluster's
          for (const int blocks : {1, 4}) {
            const View<float, 2> sink = c.view().slice<0>(first, 16);
            const gpu::detail::AskedProducts<Operand> asked(left, right, sink, 0);
            gpu::SkinnyProduct<Matmul, bf16, false, Operand, Operand, View<float, 2>> product(
                left, right, sink, asked.shape, limits, {});
            product({1, blocks, 1, 0});
            first += 16;
          }
        };
        multiply.operator()<gpu::SquareMatmul<bf16, false>>();
        multiply.operator()<gpu::WideMatmul<bf16, 64, 128, false>>();
        simt::device().shared_bytes = before.shared_bytes;
        results = c.elements;
#endif
        return results;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;
        simt::device().multiprocessors = 16;
        simt::device().small_tiles = true;  // more rows of such lines, of odd elements and of words
        const auto a = random_tensor<bf16>(Index<2>{20, 391}, 1), b = random_tensor<bf16>(Index<2>{391, 30}, 2);
        const auto even = random_tensor<bf16>(Index<2>{20, 390}, 3);
        Tensor<float, 2> c(Index<2>{40, 30});
        matmul(a.view(), b.view(), c.view().slice<0>(0, 20));
        matmul(even.view(), b.view().slice<0>(0, 390), c.view().slice<0>(20, 20));
        simt::device() = before;
        return c.elements;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;  // as Hopper's
        const auto a = random_tensor<bf16>(Index<2>{33, 1792}, 1), scale = random_tensor<bf16>(Index<2>{1, 24}, 2);
        const auto q = random_tensor<i4>(Index<2>{24, 1792}, 3);
        const View<const i4, 2> down = q.view().permute<1, 0>();
        const Scaled b{down, scale.view().broadcast_to(down.shape())};
        Tensor<float, 2> c(Index<2>{171, 24});
        matmul(a.view().slice<0>(0, 3), b, c.view().slice<0>(0, 3));
        matmul(a.view(), b, c.view().slice<0>(3, 33));                   // by warpgroups
        matmul<any_layout, any_rows, 96, 256, 13, 1>(a.view(), b, c.view().slice<0>(36, 33));  // and by codes
#if defined(KGEN_WARPGROUPS)
        const auto few = a.view().slice<0>(0, 3);
        const auto of_few = c.view().slice<0>(69, 3);
        const gpu::DeviceLimits limits = gpu::device_limits({});
        const auto shape = gpu::staged_shape<Scaled>(of_few, *gpu::streamed_shape(few, b, of_few), limits);
        gpu::staged_matmul<bf16, 0>(few, b, of_few, shape, limits, {});
        const View<const bf16, 2> all = a.view();
        const auto by_elements = c.view().slice<0>(72, 33), by_codes = c.view().slice<0>(105, 33);
        const auto of_all = gpu::staged_shape<Scaled>(by_codes, *gpu::streamed_shape(all, b, by_codes), limits);
        gpu::arranged_matmul<bf16, 0>(all, b, by_elements, of_all, limits, {});
        gpu::arranged_matmul<bf16, 1>(all, b, by_codes, of_all, limits, {});
        gpu::arranged_matmul<bf16, 2>(all, b, c.view().slice<0>(138, 33), of_all, limits, {});  // as if with an offset
#endif
        simt::device().shared_bytes = before.shared_bytes;
        return c.elements;
      },
      [=] {
        std::vector<float> results;
#if defined(KGEN_WARPGROUPS)
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;
        simt::device().multiprocessors = 1;  // a block has several tiles
        const auto a = random_tensor<bf16>(Index<2>{3, 2176}, 1), scale = random_tensor<bf16>(Index<2>{1, 40}, 2);
        const auto q = random_tensor<i4>(Index<2>{40, 2176}, 3);
        const View<const bf16, 2> left = a.view();
        const View<const i4, 2> down = q.view().permute<1, 0>();
        const Scaled b{down, scale.view().broadcast_to(down.shape())};
        Tensor<float, 2> c(Index<2>{3, 40});
        gpu::persistent_matmul<bf16, 1>(left, b, c.view(), *gpu::streamed_shape(left, b, c.view()),
                                        gpu::device_limits({}), {});
        simt::device() = before;
        results = c.elements;
#endif
        return results;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;
        const auto a = random_tensor<f8e4m3>(Index<2>{72, 1280}, 1), b = random_tensor<f8e4m3>(Index<2>{64, 1280}, 2);
        Tensor<float, 2> c(Index<2>{144, 64});
        const auto right = b.view().permute<1, 0>();
        matmul(a.view().slice<0>(0, 9), right, c.view().slice<0>(0, 9));  // by the blocks of a cluster
        const View<float, 2> alone = c.view().slice<0>(72, 72);           // and in tiles that none share
        matmul<any_layout, any_rows, 96, 256, 13, 0, 128>(a.view(), right, alone);
        simt::device().shared_bytes = before.shared_bytes;
        return c.elements;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;
        // More blocks of the depth than stages: scales find none free.
        const auto a = random_tensor<f8e4m3>(Index<2>{5, 1280}, 6), b = random_tensor<f8e4m3>(Index<2>{16, 1280}, 7);
        const auto rows = random_tensor<float>(Index<2>{5, 10}, 8), columns = random_tensor<float>(Index<2>{10, 1}, 9);
        Tensor<float, 2> c(Index<2>{5, 16});
        block_scaled_matmul(a.view(), b.view().permute<1, 0>(), rows.view(), columns.view(), 128, c.view());
        simt::device().shared_bytes = before.shared_bytes;
        return c.elements;
      },
      [=] {
        Tensor<float, 2> lines(Index<2>{90, 96});
        gpu::LaidOut<float, 1> laid_out(reinterpret_cast<unsigned char*>(lines.elements.data()), {});
        const simt::Device before = simt::device();
        simt::device().most_blocks = 1;  // which copies one tile after the other
        laid_out(matrix.view(), true);
        simt::device().most_blocks = before.most_blocks;
        return lines.elements;
      },
      [=] {
        const auto x = random_tensor<float>(Index<4>{1, 6, 9, 8}, 6),
                   filters = random_tensor<float>(Index<4>{3, 3, 1, 8}, 7);
        Tensor<float, 4> y(x.shape);
        depthwise_conv2d(x.view(), filters.view(), {1, 1}, {1, 1, 1, 1}, {1, 1}, y.view());
        return y.elements;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;
        simt::device().multiprocessors = 1;  // a block has several tiles, of which a wave has nothing
        const auto x = random_tensor<bf16>(Index<4>{6, 14, 14, 16}, 6),
                   filters = random_tensor<bf16>(Index<4>{3, 3, 8, 16}, 7);
        Tensor<float, 4> y(x.shape);
        conv2d(x.view(), filters.view(), {1, 1}, {1, 1, 1, 1}, {1, 1}, 2, y.view());
        simt::device().shared_bytes = before.shared_bytes;
        simt::device().multiprocessors = before.multiprocessors;
        return y.elements;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;
        const auto x = random_tensor<bf16>(Index<4>{1, 64, 5, 6}, 6),
                   filters = random_tensor<bf16>(Index<4>{1, 1, 64, 8}, 7);
        Tensor<float, 4> y(Index<4>{1, 5, 6, 8});
        conv2d(x.view().permute<0, 2, 3, 1>(), filters.view(), {1, 1}, {}, {1, 1}, 1, y.view());
        simt::device().shared_bytes = before.shared_bytes;
        return y.elements;
      },
      [=] {
        Tensor<float, 2> sums(long_rows.shape);
        cumsum(long_rows.view(), 1, false, false, sums.view());
        return sums.elements;
      },
      [=] {
        Tensor<std::int64_t, 1> numbers(Index<1>{300}), bins(Index<1>{20});
        for (std::size_t i = 0; i < 300; ++i) numbers.elements[i] = static_cast<std::int64_t>(i * 7 % 20);
        bincount(std::as_const(numbers).view(), bins.view());
        return std::vector<float>(bins.elements.begin(), bins.elements.end());
      },
      [=] {
        Tensor<std::int64_t, 3> kept(Index<3>{1, 1, 300});
        greedy_suppression(crowd.boxes.view(), crowd.scores.view(), crowd.order.view(), false, 0.3, 0, kept.view());
        return std::vector<float>(kept.elements.begin(), kept.elements.end());
      },
      [=] {
        const auto x = random_tensor<float>(Index<2>{20, 20}, 8);
        Tensor<float, 2> factors(x.shape);
        Tensor<std::int64_t, 1> pivots(Index<1>{20});
        lu_factor(x.view(), factors.view(), pivots.view());
        return factors.elements;
      },
      [=] { return chosen(long_rows.view(), 5); },
      [=] {
        return chosen(longer.view().reshape(Index<2>{4, 4096}), 4096);
      },
      [=] {
        Tensor<float, 4> out(q.shape);
        attention(q.view(), q.view(), q.view(), 0.5, false, out.view());
        return out.elements;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;  // as Hopper's
        simt::device().multiprocessors = 1;        // a block has several tiles of rows
        const auto x = random_tensor<bf16>(Index<4>{1, 300, 1, 8}, 6);
        auto keys = random_tensor<bf16>(Index<4>{1, 700, 1, 8}, 7);
        // From the last on they raise the maximum tile by tile, but for the first ones.
        for (std::size_t i = 0; i < keys.elements.size(); ++i) {
          const float factor = i < 1024 ? 1 : 9 - static_cast<float>(i) / 700;
          keys.elements[i] = static_cast<bf16>(static_cast<float>(keys.elements[i]) * factor);
        }
        Tensor<float, 4> out(x.shape);
        attention(x.view(), std::as_const(keys).view(), std::as_const(keys).view(), 0.5, false, out.view());
        simt::device().shared_bytes = before.shared_bytes;
        simt::device().multiprocessors = before.multiprocessors;
        return out.elements;
      },
      [=] {
        std::vector<float> results;
#if defined(KGEN_WARPGROUPS)
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;
        simt::device().multiprocessors = 2;
        const auto a = random_tensor<bf16>(Index<2>{300, 456}, 6), b = random_tensor<bf16>(Index<2>{456, 136}, 7);
        Tensor<float, 2> c(Index<2>{300, 136});
        const View<const bf16, 2> left = a.view(), right = b.view();
        const View<float, 2> sink = c.view();
        const gpu::WarpgroupMatmulShape<1> shape{300, 456, {136}, 0, gpu::Lanes::any};
        gpu::launch_by_engine<bf16, 128, false, 2>(left, right, sink, shape, gpu::device_limits({}), {});
        simt::device().shared_bytes = before.shared_bytes;
        simt::device().multiprocessors = before.multiprocessors;
        results = c.elements;
#endif
        return results;
      },
      [=] {
        std::vector<float> results;
#if defined(KGEN_WARPGROUPS)
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;
        const auto a = random_tensor<bf16>(Index<2>{1, 139}, 6), b = random_tensor<bf16>(Index<2>{139, 80}, 7);
        Tensor<float, 2> c(Index<2>{1, 80});
        const View<const bf16, 2> left = a.view(), right = b.view();
        const View<float, 2> sink = c.view();
        const gpu::WarpgroupMatmulShape<1> shape{1, 139, {80}, 0, gpu::Lanes::whole_vectors};
        using Operand = View<const bf16, 2>;
        for (const int blocks : {1, 3}) {
          gpu::VectorProduct<bf16, false, Operand, Operand, View<float, 2>> product(left, right, sink, shape,
                                                                                    gpu::device_limits({}), {});
          product({3, blocks});
          results.insert(results.end(), c.elements.begin(), c.elements.end());
        }
        simt::device().shared_bytes = before.shared_bytes;
#endif
        return results;
      },
      [=] {
        std::vector<float> results;
#if defined(KGEN_WARPGROUPS)
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;
        simt::device().multiprocessors = 1;
        const auto x = random_tensor<bf16>(Index<4>{2, 12, 15, 64}, 6);
        const auto filters = random_tensor<bf16>(Index<4>{24, 3, 3, 64}, 7);
        Tensor<float, 4> y(Index<4>{2, 12, 15, 24});
        const View<const bf16, 4> taps = filters.view().permute<1, 2, 3, 0>();
        const auto sizes = kgen::detail::convolution_shape<2>(x.view(), taps, {1, 1}, {1, 1, 1, 1}, {1, 1});
        const gpu::PatchOperands<bf16, 2> operands{x.view(), taps, sizes, 1};
        const gpu::NumberedRows<View<float, 4>, 3> sink{y.view(), operands.shape().rows};
        const gpu::WarpgroupMatmulShape<1> shape{360, 576, {24}, 0, gpu::Lanes::any};
        gpu::convolve_tall<true>(operands, sink, shape, 64, gpu::device_limits({}), {});
        simt::device().shared_bytes = before.shared_bytes;
        simt::device().multiprocessors = before.multiprocessors;
        results = y.elements;
#endif
        return results;
      },
      [=] {
        const simt::Device before = simt::device();
        simt::device().shared_bytes = 227 * 1024;
        simt::device().multiprocessors = 8;  // few queries: a cluster shares their keys
        const auto x = random_tensor<bf16>(Index<4>{1, 1, 4, 8}, 6);
        const auto keys = random_tensor<bf16>(Index<4>{1, 600, 1, 8}, 7);
        Tensor<float, 4> out(x.shape);
        attention(x.view(), keys.view(), keys.view(), 0.5, false, out.view());
        simt::device().shared_bytes = before.shared_bytes;
        simt::device().multiprocessors = before.multiprocessors;
        return out.elements;
      },
  };
}

}  // namespace kgen::simt_testing

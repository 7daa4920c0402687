// Products by weights of few bits with scales and zero points for groups of the depth, against a reference in double:
// every way that the number of rows chooses, odd columns, odd depths, and rows of codes that begin within a byte.
#include "kgen/cpu/computed_row.hpp"

#include "kgen/flattened.hpp"
#include "kgen/matmul.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/conversion.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

template <class Code, class Scale>
struct Scaled {  // (code - zero) * scale
  View<const Code, 2> codes;
  Flattened<View<const u4, 3>, 2, 1> zeros;
  Flattened<View<const Scale, 3>, 2, 1> scales;
  KGEN_FN Index<2> shape() const { return codes.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    const auto zero = Cast<float>::apply(zeros.load<W>(at));
    return Mul::apply(Sub::apply(Cast<float>::apply(codes.template load<W>(at)), zero), scales.template load<W>(at));
  }
};

// The same as one may write it: what it reads of scales is where it works out.
struct ScaledByHand {
  View<const u4, 2> codes;
  View<const float, 2> scales;  // [K / group, N]
  std::int64_t group;
  KGEN_FN Index<2> shape() const { return codes.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Mul::apply(Cast<float>::apply(codes.load<W>(at)), scales.load<W>({at[0] / group, at[1]}));
  }
};
static_assert(cpu::ReadsCodes<Scaled<u4, float>> && cpu::ReadsCodes<Scaled<std::int8_t, bf16>>);
static_assert(cpu::ReadsCodes<ScaledByHand> && !cpu::ReadsCodes<View<const u4, 2>>);

// Random codes in bytes, of which the first `skipped` are not the matrix's.
template <class Code, int R>
struct Codes {
  std::vector<std::uint8_t> bytes;
  View<const Code, R> view;

  Codes(Index<R> shape, std::int64_t row_stride, std::int64_t skipped, std::uint32_t seed)
      : bytes(static_cast<std::size_t>(bytes_of_elements<Code>(skipped + (shape[0] - 1) * row_stride + shape[R - 1]))) {
    std::mt19937 generator(seed);
    for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(generator());
    Index<R> strides = dense_strides(shape);
    strides[0] = row_stride;
    const pointer_to<const Code> first = reinterpret_cast<const Code*>(bytes.data());
    view = View<const Code, R>(first + skipped, shape, strides);
  }
};

template <class Code, class Scale>
void check(std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t group, std::int64_t pitch, std::int64_t skipped,
           int threads = 1) {
  const Codes<Code, 2> codes({K, N}, pitch, skipped, 1);
  const Codes<u4, 3> zeros({K / group, 1, N}, pitch, skipped, 2);
  const auto scales = random_tensor<Scale, 3>({K / group, 1, N}, 3, -1, 1);
  const auto a = random_tensor<float, 2>({M, K}, 4);
  const Index<3> full{K / group, group, N};
  const Scaled<Code, Scale> b{codes.view, zeros.view.broadcast_to(full), scales.view().broadcast_to(full)};
  if (bytes_of_elements<Code>(2) == 1 && K > 1) CHECK(cpu::lies_in_rows(b, 0) == (pitch % 2 == 0 && skipped % 2 == 0));
  Tensor<float, 2> c({M, N});
  Stream stream;
  stream.threads = threads;
  matmul(a.view(), b, c.view(), stream);
  for_each_position(c.shape, [&](Index<2> at) {
    double expected = 0, magnitude = 0;
    for (std::int64_t k = 0; k < K; ++k) {
      const double code = static_cast<double>(codes.view.template load<1>({k, at[1]}).data);
      const double zero = zeros.view.template load<1>({k / group, 0, at[1]}).data;
      const double weight = (code - zero) * element(scales.view(), Index<3>{k / group, 0, at[1]});
      const double product = element(a.view(), Index<2>{at[0], k}) * weight;
      expected += product;
      magnitude += std::abs(product);
    }
    INFO("M ", M, " N ", N, " K ", K, " groups of ", group, " at ", at[0], ", ", at[1]);
    REQUIRE(std::abs(element(c.view(), at) - expected) <= 1e-6 * (magnitude + 1e-30));
  });
}

}  // namespace

TEST_CASE("codes with scales and zero points: every number of rows") {
  for (std::int64_t M = 1; M <= 20; ++M) {
    check<u4, float>(M, 100, 64, 32, 100, 0);
    check<i4, bf16>(M, 64, 36, 12, 70, 2);
  }
  check<u4, float>(40, 600, 256, 128, 600, 0, 3);
  check<u4, float>(600, 100, 64, 32, 100, 0, 3);  // whose columns are computed for several tiles of rows
  check<u4, float>(1, 4100, 128, 128, 4100, 0, 2);
}

TEST_CASE("codes with scales at positions that a functor works out") {
  for (const std::int64_t M : {1, 5, 17, 600}) {
    const Codes<u4, 2> codes({48, 70}, 72, 0, 1);
    const auto scales = random_tensor<float, 2>({4, 70}, 2, -1, 1);
    const auto a = random_tensor<float, 2>({M, 48}, 3);
    const ScaledByHand b{codes.view, scales.view(), 12};
    CHECK(cpu::lies_in_rows(b, 8));
    Tensor<float, 2> c({M, 70});
    matmul(a.view(), b, c.view());
    for_each_position(c.shape, [&](Index<2> at) {
      double expected = 0, magnitude = 0;
      for (std::int64_t k = 0; k < 48; ++k) {
        const double product = element(a.view(), Index<2>{at[0], k}) * element(scales.view(), Index<2>{k / 12, at[1]}) *
                               static_cast<double>(codes.view.load<1>({k, at[1]}).data);
        expected += product;
        magnitude += std::abs(product);
      }
      REQUIRE(std::abs(element(c.view(), at) - expected) <= 1e-6 * (magnitude + 1e-30));
    });
  }
}

TEST_CASE_TEMPLATE("codes with scales and zero points: odd columns, depths and beginnings", Code, u4, std::int8_t) {
  for (const std::int64_t M : {1, 3, 9, 17}) {
    for (const std::int64_t N : {1, 2, 7, 16, 31, 33, 77}) {
      check<Code, float>(M, N, 35, 5, N, 0);
      check<Code, float>(M, N, 21, 7, 80, 1);
      check<Code, float>(M, N, 8, 1, 81, 2);
    }
  }
}

TEST_CASE("bytes become integers of 32 bits and floats") {
  std::uint8_t bytes[16];
  for (int first = 0; first < 256; ++first) {
    for (int i = 0; i < 16; ++i) bytes[i] = static_cast<std::uint8_t>(first + 17 * i);
    const auto check_width = [&]<int W>() {
      const auto lanes = load_lanes<W>(bytes);
      for (int i = 0; i < W; ++i) {
        REQUIRE(convert<std::int32_t>(lanes)[i] == bytes[i]);
        REQUIRE(convert<float>(lanes)[i] == bytes[i]);
        REQUIRE(convert<std::int32_t>(bit_cast<std::int8_t>(lanes))[i] == static_cast<std::int8_t>(bytes[i]));
        REQUIRE(convert<std::uint32_t>(bit_cast<std::int8_t>(lanes))[i] ==
                static_cast<std::uint32_t>(static_cast<std::int8_t>(bytes[i])));
      }
    };
    check_width.operator()<8>();
    check_width.operator()<16>();
  }
}

// Kernels refuse what their signatures do not take: a wrong dtype is an error that names the concept.
#include <doctest/doctest.h>

#include "kgen/attention.hpp"
#include "kgen/matmul.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/comparison.hpp"
#include "kgen/ops/conversion.hpp"
#include "kgen/ops/reductions.hpp"

using namespace kgen;

namespace {

template <class Functor, class... A>
concept Applies = requires(A... a) { Functor::apply(a...); };
template <class A, class B, class C>
concept Multiplies = requires(A a, B b, C c) { matmul(a, b, c); };
template <class A, int TileM>
concept Tiles = requires(A a, View<float, 2> c) { matmul<any_layout, any_rows, TileM>(a, a, c); };
template <class Q, class K>
concept Attends = requires(Q q, K k, View<float, 4> out) { attention(q, k, k, 1.0, false, out); };
template <class Reduction, class T>
concept Reduces = requires { Reduction::template identity<T, 1>(); };

template <class T>
using Matrix = View<T, 2>;
template <class T>
using Heads = View<T, 4>;

static_assert(Float<float> && Float<Vec<double, 4>> && Float<const bf16> && !Float<int> && !Float<bool>);
static_assert(Integer<std::uint8_t> && Integer<Vec<std::int64_t, 2>> && !Integer<bool> && !Integer<f16>);
static_assert(Signed<std::int8_t> && Signed<f8e4m3> && !Signed<std::uint32_t> && !Signed<bool>);
static_assert(Number<std::uint64_t> && Number<float> && !Number<bool> && !Number<const char*>);
static_assert(Element<bool> && Element<f8e5m2> && !Element<void*> && Boolean<Vec<bool, 8>> && !Boolean<int>);
static_assert(OneOf<Vec<float, 8>, f16> && OneOf<bf16, bf16> && !OneOf<double, f16, bf16> && !OneOf<int, float>);
static_assert(Allowed<2, 1, 2> && !Allowed<3, 1, 2>);

static_assert(Applies<Add, Vec<float, 8>, float> && Applies<Add, int, int> && !Applies<Add, bool, bool>);
static_assert(Applies<Exp, double> && !Applies<Exp, int> && !Applies<Exp, Vec<std::int32_t, 4>>);
static_assert(Applies<LogicalAnd, bool, Vec<bool, 4>> && !Applies<LogicalAnd, int, int>);
static_assert(Applies<Where, bool, float, float> && !Applies<Where, int, float, float>);
static_assert(Reduces<Mean, float> && !Reduces<Mean, int> && Reduces<All, bool> && !Reduces<All, float>);

static_assert(Multiplies<Matrix<float>, Matrix<const bf16>, Matrix<float>>);
static_assert(Multiplies<Matrix<int>, Matrix<int>, Matrix<int>> && !Multiplies<Matrix<bool>, Matrix<bool>, Matrix<bool>>);
static_assert(!Multiplies<Heads<float>, Matrix<float>, Matrix<float>>);
static_assert(!Multiplies<Matrix<float>, Matrix<float>, Matrix<const float>>);
static_assert(Tiles<Matrix<float>, 48> && !Tiles<Matrix<float>, 50>);
static_assert(Attends<Heads<float>, Heads<const f16>> && Attends<Heads<double>, Heads<double>>);
static_assert(Attends<Heads<bf16>, Heads<f8e4m3>>);
static_assert(!Attends<Heads<float>, Heads<std::int8_t>> && !Attends<Heads<float>, Matrix<float>>);

}  // namespace

TEST_CASE("a compiler reads KGEN_KERNEL as nothing") {
  struct KGEN_KERNEL(anything, "at all") Plain { int x; };
  CHECK(Plain{3}.x == 3);
}

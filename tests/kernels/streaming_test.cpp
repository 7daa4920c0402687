// Results that go past the caches: the same as those that do not, at any alignment and length.
#include "kgen/elementwise.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/rows.hpp"
#include "testing.hpp"

#if !defined(KGEN_GPU) && !defined(KGEN_SIMT)

using namespace kgen;
using namespace kgen::testing;

namespace {

template <class T>
struct AddOne {
  View<const float, 2> x;
  View<T, 2> y;

  template <int W>
  KGEN_FN void operator()(Index<2> at) const {
    y.store(at, Add::apply(x.load<W>(at), 1));
  }
  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    row.store(y, row.map(Add{}, row.load(x), 1.0f));
  }
};

// A result that begins anywhere in a line of the cache, whose lines lie apart.
template <class T>
struct Apart {
  Tensor<T, 1> memory;
  View<T, 2> view;

  Apart(Index<2> shape, std::int64_t begin, std::int64_t gap)
      : memory({begin + shape[0] * (shape[1] + gap)}),
        view(memory.elements.data() + begin, shape, Index<2>{shape[1] + gap, 1}) {}
  void check(const View<const float, 2>& x) const {
    for_each_position(view.shape(), [&](Index<2> at) {
      REQUIRE(element(view, at) == doctest::Approx(element(x, at) + 1).epsilon(0.01));
    });
    for (std::int64_t i = 0; i < view.extent(0) - 1; ++i) {  // nothing between them
      for (std::int64_t j = view.extent(1); j < view.stride(0); ++j) {
        REQUIRE(view.data()[i * view.stride(0) + j] == poison<T>());
      }
    }
  }
};

}  // namespace

TEST_CASE_TEMPLATE("streamed results", T, float, double, bf16) {
  for (const Index<2> shape : {Index<2>{1, 5000}, {37, 64}, {3, 1025}, {200, 7}}) {
    const auto x = random_tensor<float>(shape, 3);
    for (const std::int64_t begin : {0, 1, 13}) {
      Apart<T> loop(shape, begin, 3), row(shape, begin, 5);
      const AddOne<T> body{x.view(), loop.view}, program{x.view(), row.view};
      std::vector<std::byte> buffers(cpu::stretch * sizeof(T));
      cpu::compute_streamed(body, cpu::Box<2>{Index<2>{}, 0, shape[0], shape[1]}, buffers.data());
      cpu::finish_streaming();
      loop.check(x.view());
      for (std::int64_t i = 0; i < shape[0]; ++i) {
        cpu::Row<2, 1> each(shape, Index<1>{i}, Index<1>{0}, Index<1>{shape[1]}, cpu::Team{}, nullptr, true);
        program(each);
      }
      cpu::finish_streaming();
      row.check(x.view());
    }
  }
}

TEST_CASE("streamed blocks of permuted axes, whose runs in memory are whole, or lie apart") {
  for (const Index<3> shape : {Index<3>{5, 6, 7}, {40, 70, 16}, {90, 3, 130}, {200, 33, 17}}) {
    const auto x = random_tensor<float>(Index<3>{shape[2], shape[1], shape[0]}, 5);
    for (const std::int64_t gap : {0, 3}) {
      Tensor<float, 1> memory({5 + shape[0] * shape[1] * (shape[2] + gap)});
      const std::int64_t line = shape[2] + gap;
      const View<float, 3> y(memory.elements.data() + 5, shape, Index<3>{shape[1] * line, line, 1});
      const auto turned = x.view().permute<2, 1, 0>();
      const detail::Copy<3, View<const float, 3>, View<float, 3>> body{turned, y};
      const auto plan = cpu::plan_tiles(shape, body, 2, true);
      REQUIRE(plan.turns);
      cpu::compute_blocks(shape, body, plan, 2, Stream{});
      for_each_position(shape, [&](Index<3> at) { REQUIRE(element(y, at) == element(turned, at)); });
      for (std::int64_t i = 0; i < shape[0] * shape[1]; ++i) {  // nothing between the lines
        for (std::int64_t j = shape[2]; j < line; ++j) REQUIRE(y.data()[i * line + j] == poison<float>());
      }
    }
  }
}

TEST_CASE("the last-level cache is one that a processor may have") {
  CHECK(cpu::caches().last >= cpu::caches().second);
  CHECK(cpu::caches().last < std::int64_t{1} << 36);
}

TEST_CASE("threads have their share of the last-level cache, and no more than all of it") {
  const cpu::Caches found{32 << 10, 512 << 10, 32 << 20, 8};
  CHECK(found.last_of(1) == 4 << 20);
  CHECK(found.last_of(8) == 32 << 20);
  CHECK(found.last_of(64) == 32 << 20);
  CHECK(cpu::caches().sharers >= 1);
  CHECK(cpu::caches().last_of(1) > 0);
}

#endif

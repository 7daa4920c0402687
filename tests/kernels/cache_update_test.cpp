// Updates of a cache in slots that are read where they are written, against a plain loop.
#include "kgen/cache_update.hpp"

#include <cstring>
#include <utility>

#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Case {
  std::int64_t B, T, S, G, D;
};

constexpr Case cases[] = {{3, 40, 1, 2, 64}, {2, 9, 5, 3, 7}, {1, 5, 4, 1, 16}, {4, 6, 0, 2, 8}, {0, 6, 2, 2, 8}};

struct Twice {  // a prologue of the update
  View<const float, 4> x;
  KGEN_FN Index<4> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<4> at) const {
    return Mul::apply(x.load<W>(at), 2.0f);
  }
};

// Of each sequence slots of a row that begins somewhere, in front of the cache or near its end too.
template <class I>
Tensor<I, 2> slots_of(const Case& c) {
  Tensor<I, 2> slots(Index<2>{c.B, c.S});
  for_each_position(slots.shape, [&](Index<2> at) {
    const std::int64_t begin = at[0] == 1 ? -2 : at[0] == 2 ? c.T - 1 : c.T / 3;
    slots.elements[static_cast<std::size_t>(at[0] * c.S + at[1])] = static_cast<I>(begin + at[1]);
  });
  return slots;
}

template <class T, class I>
void compare(const Case& c, const View<const T, 4>& out, const View<const T, 4>& cache, const View<const T, 4>& update,
             const View<const I, 2>& slots, double factor) {
  for_each_position(cache.shape(), [&](Index<4> at) {
    double expected = element(cache, at);
    for (std::int64_t s = 0; s < c.S; ++s) {
      if (element(slots, Index<2>{at[0], s}) != static_cast<double>(at[1])) continue;
      expected = factor * element(update, Index<4>{at[0], s, at[2], at[3]});
    }
    INFO("b ", at[0], " t ", at[1], " g ", at[2], " d ", at[3]);
    REQUIRE(element(out, at) == expected);
  });
}

}  // namespace

TEST_CASE_TEMPLATE("cache_update: into the caches themselves, and into others", T,
                   KGEN_TYPES((bf16, float), f16, std::int32_t)) {
  for (const Case& c : cases) {
    const auto before = random_tensor<T>(Index<4>{c.B, c.T, c.G, c.D}, 1);
    const auto keys = random_tensor<T>(Index<4>{c.B, c.S, c.G, c.D}, 2), values = random_tensor<T>(keys.shape, 3);
    const auto slots = slots_of<std::int64_t>(c);
    const auto narrow = slots_of<std::int32_t>(c);
    Tensor<T, 4> k = before, v = before, k_other(before.shape), v_other(before.shape);
    const Tensor<T, 4>&k_read = k, &v_read = v;
    INFO("B ", c.B, " T ", c.T, " S ", c.S);
    cache_update(k_read.view(), v_read.view(), keys.view(), values.view(), slots.view(), k_other.view(),
                 v_other.view());
    CHECK(std::memcmp(k.elements.data(), before.elements.data(), before.elements.size() * sizeof(T)) == 0);
    compare<T, std::int64_t>(c, std::as_const(k_other).view(), before.view(), keys.view(), slots.view(), 1);
    compare<T, std::int64_t>(c, std::as_const(v_other).view(), before.view(), values.view(), slots.view(), 1);
    cache_update(k_read.view(), v_read.view(), keys.view(), values.view(), narrow.view(), k.view(), v.view());
    compare<T, std::int32_t>(c, k_read.view(), before.view(), keys.view(), narrow.view(), 1);
    compare<T, std::int32_t>(c, v_read.view(), before.view(), values.view(), narrow.view(), 1);
  }
}

TEST_CASE("cache_update: caches that lie apart in memory, and a prologue") {
  for (const Case& c : cases) {
    const auto keys = random_tensor<float>(Index<4>{c.B, c.S, c.G, c.D}, 2),
               values = random_tensor<float>(keys.shape, 4);
    const auto slots = slots_of<std::int64_t>(c);
    Tensor<float, 4> memory = random_tensor<float>(Index<4>{c.B, 2 * c.G, c.T + 3, c.D}, 3);
    const Tensor<float, 4> before = memory;
    const auto shown = [&](const auto& whole, std::int64_t group) {
      return whole.template slice<1>(group * c.G, c.G).template slice<2>(1, c.T).template permute<0, 2, 1, 3>();
    };
    const View<float, 4> k = shown(memory.view(), 0), v = shown(memory.view(), 1);
    cache_update(View<const float, 4>(k), View<const float, 4>(v), Twice{keys.view()}, values.view(), slots.view(), k,
                 v);
    compare<float, std::int64_t>(c, View<const float, 4>(k), shown(before.view(), 0), keys.view(), slots.view(), 2);
    compare<float, std::int64_t>(c, View<const float, 4>(v), shown(before.view(), 1), values.view(), slots.view(), 1);
    for_each_position(memory.shape, [&](Index<4> at) {  // around them
      if (at[2] >= 1 && at[2] <= c.T) return;
      REQUIRE(element(std::as_const(memory).view(), at) == element(before.view(), at));
    });
  }
}

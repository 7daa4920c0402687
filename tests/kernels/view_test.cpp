// Views: each moves indices only, and finds the elements that the plain formula finds.
#include "kgen/index_update.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// 0, 1, 2, ... in a [3, 4, 5] tensor.
Tensor<float, 3> counted() {
  Tensor<float, 3> tensor(Index<3>{3, 4, 5});
  for (std::size_t i = 0; i < tensor.elements.size(); ++i) tensor.elements[i] = static_cast<float>(i);
  return tensor;
}

float at(std::int64_t i, std::int64_t j, std::int64_t k) { return static_cast<float>((i * 4 + j) * 5 + k); }

}  // namespace

TEST_CASE("permute") {
  auto x = counted();
  const auto view = x.view().permute<2, 0, 1>();
  CHECK(view.shape() == Index<3>{5, 3, 4});
  for_each_position(view.shape(), [&](Index<3> p) { CHECK(view.load<1>(p).data == at(p[1], p[2], p[0])); });
}

TEST_CASE("slice with steps, and select") {
  auto x = counted();
  const auto view = x.view().slice<2>(1, 2, 2).select<0>(2);
  CHECK(view.shape() == Index<2>{4, 2});
  for_each_position(view.shape(), [&](Index<2> p) { CHECK(view.load<1>(p).data == at(2, p[0], 1 + 2 * p[1])); });
  CHECK(x.view().slice<1>(4, 0).shape() == Index<3>{3, 0, 5});
}

TEST_CASE("flip") {
  auto x = counted();
  const auto view = x.view().flip<1>().flip<2>();
  for_each_position(view.shape(), [&](Index<3> p) { CHECK(view.load<1>(p).data == at(p[0], 3 - p[1], 4 - p[2])); });
  const auto lanes = view.load<4>(Index<3>{0, 0, 1});
  for (int i = 0; i < 4; ++i) CHECK(lanes[i] == at(0, 3, 3 - i));
}

TEST_CASE("broadcast_to, unsqueeze and squeeze") {
  Tensor<float, 1> row(Index<1>{4});
  for (int i = 0; i < 4; ++i) row.elements[static_cast<std::size_t>(i)] = static_cast<float>(i);
  const auto wide = row.view().unsqueeze<1>().broadcast_to(Index<3>{2, 4, 6});
  for_each_position(wide.shape(), [&](Index<3> p) { CHECK(wide.load<1>(p).data == static_cast<float>(p[1])); });
  const auto splat = wide.load<4>(Index<3>{1, 3, 0});
  for (int i = 0; i < 4; ++i) CHECK(splat[i] == 3.0f);
  const auto column = row.view().unsqueeze<0>().unsqueeze<2>();
  CHECK(column.shape() == Index<3>{1, 4, 1});
  CHECK(column.squeeze<2>().squeeze<0>().shape() == Index<1>{4});
  CHECK(row.view().broadcast_to(Index<2>{0, 4}).shape() == Index<2>{0, 4});
}

TEST_CASE("merge: dense, strided, broadcast and with axes of extent 1") {
  auto x = counted();
  CHECK(x.view().merge<0, 2>().load<1>(Index<1>{37}).data == 37.0f);
  const auto strided = x.view().slice<2>(0, 3, 2).merge<0, 1>();
  CHECK(strided.shape() == Index<2>{12, 3});
  CHECK(strided.load<1>(Index<2>{7, 2}).data == at(1, 3, 4));
  const auto lines = x.view().slice<2>(3, 1).merge<1, 2>();
  CHECK(lines.shape() == Index<2>{3, 4});
  CHECK(lines.load<1>(Index<2>{2, 1}).data == at(2, 1, 3));
  const auto repeated = x.view().slice<0>(1, 1).slice<1>(2, 1).broadcast_to(Index<3>{3, 4, 5}).merge<0, 1>();
  CHECK(repeated.shape() == Index<2>{12, 5});
  CHECK(repeated.load<1>(Index<2>{11, 4}).data == at(1, 2, 4));
  CHECK(x.view().slice<0>(0, 0).merge<0, 1>().shape() == Index<2>{0, 5});
  CHECK(x.view().merge<1, 1>().shape() == x.shape);
}

TEST_CASE("reshape of dense memory") {
  auto x = counted();
  CHECK(x.view().reshape(Index<2>{6, 10}).load<1>(Index<2>{5, 9}).data == 59.0f);
  CHECK(x.view().slice<0>(1, 1).reshape(Index<2>{20, 1}).load<1>(Index<2>{3, 0}).data == 23.0f);
  CHECK(x.view().is_dense());
  CHECK_FALSE(x.view().permute<1, 0, 2>().is_dense());
  CHECK_FALSE(x.view().slice<2>(0, 2).is_dense());
}

TEST_CASE("reshape of strided memory, within axes that fit together") {
  auto x = counted();
  const auto part = x.view().slice<2>(1, 4).reshape(Index<4>{12, 1, 2, 2});  // of [3, 4, 4] inside [3, 4, 5]
  for_each_position(part.shape(),
                    [&](Index<4> p) { CHECK(part.load<1>(p).data == at(p[0] / 4, p[0] % 4, 1 + 2 * p[2] + p[3])); });
  const auto inner = x.view().slice<1>(1, 2).reshape(Index<3>{3, 1, 10});
  for_each_position(inner.shape(),
                    [&](Index<3> p) { CHECK(inner.load<1>(p).data == at(p[0], 1 + p[2] / 5, p[2] % 5)); });
  const auto turned = x.view().permute<2, 0, 1>().reshape(Index<2>{5, 12});
  for_each_position(turned.shape(), [&](Index<2> p) { CHECK(turned.load<1>(p).data == at(p[1] / 4, p[1] % 4, p[0])); });
  const auto column = x.view().slice<2>(3, 1).reshape(Index<1>{12});
  for_each_position(column.shape(), [&](Index<1> p) { CHECK(column.load<1>(p).data == at(p[0] / 4, p[0] % 4, 3)); });
}

TEST_CASE("rank 0 holds one element") {
  float value = 3;
  const View<float, 0> scalar(&value, Index<0>{});
  CHECK(scalar.load<1>(Index<0>{}).data == 3.0f);
  CHECK(scalar.load<8>(Index<0>{})[7] == 3.0f);
  CHECK(scalar.broadcast_to(Index<1>{5}).load<4>(Index<1>{1})[3] == 3.0f);
  scalar.store(Index<0>{}, Vec<float, 1>(4));
  CHECK(value == 4.0f);
  CHECK(scalar.reshape(Index<2>{1, 1}).load<1>(Index<2>{0, 0}).data == 4.0f);
}

TEST_CASE("a view that writes is a view that reads") {
  auto x = counted();
  const View<const float, 3> read = x.view();
  CHECK(read.data() == x.elements.data());
  CHECK(read.shape() == x.shape);
}

TEST_CASE_TEMPLATE("stores convert, along strided axes too, and touch nothing else", T, float, double, f16, bf16,
                   f8e4m3, f8e5m2, std::int8_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t) {
  const float values[8] = {0, 1, 2.5f, 3, 4, 5, 6.5f, 7};
  for (std::int64_t stride : {1, 3, -2}) {
    Tensor<T, 1> memory(Index<1>{60});
    const View<T, 1> view(memory.elements.data() + 20, Index<1>{8}, Index<1>{stride});
    view.store(Index<1>{0}, load_lanes<8>(values));
    const auto back = view.template load<8>(Index<1>{0});
    for (int i = 0; i < 60; ++i) {
      const std::int64_t step = (i - 20) / stride;
      const bool written = (i - 20) % stride == 0 && step >= 0 && step < 8;
      const T expected = written ? static_cast<T>(values[step]) : poison<T>();
      CHECK(static_cast<double>(memory.elements[static_cast<std::size_t>(i)]) == static_cast<double>(expected));
    }
    for (int i = 0; i < 8; ++i) CHECK(static_cast<double>(back[i]) == static_cast<double>(static_cast<T>(values[i])));
  }
}

TEST_CASE("bool is stored as 0 and 1") {
  bool memory[8] = {};
  const View<bool, 1> view(memory, Index<1>{8});
  view.store(Index<1>{0}, Vec<float, 8>(0.25f));
  for (bool element : memory) CHECK(element);
  view.store<4>(Index<1>{2}, false);
  CHECK_FALSE(memory[2]);
  CHECK(memory[6]);
  CHECK_FALSE(view.load<8>(Index<1>{0})[5]);
}

TEST_CASE("index_update is the slice that the update writes") {
  Tensor<float, 3> cache(Index<3>{2, 6, 3});
  const auto slot = index_update<1>(cache.view(), 2, 3);
  CHECK(slot.shape() == Index<3>{2, 3, 3});
  slot.store(Index<3>{1, 0, 0}, Vec<float, 1>(5));
  CHECK(cache.elements[(1 * 6 + 2) * 3] == 5.0f);
}

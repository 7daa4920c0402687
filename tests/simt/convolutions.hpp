// What tests of convolutions by tensor cores share: cases, and what is expected of them.
#pragma once

#include "launches.hpp"
#include "shared_convolutions.hpp"

namespace kgen::simt_testing {

struct Hopper : TestDevice {
  Hopper() { simt::device().shared_bytes = 227 * 1024; }
};

template <int A>
struct Case {
  Index<A + 2> x, filters;
  Index<A> strides, dilations;
  Index<2 * A> pads;
  std::int64_t group = 1;

  Index<A + 2> result() const {
    Index<A + 2> shape{x[0]};
    for (int axis = 0; axis < A; ++axis) {
      const std::int64_t padded = x[axis + 1] + pads[axis] + pads[A + axis];
      shape[axis + 1] = (padded - dilations[axis] * (filters[axis] - 1) - 1) / strides[axis] + 1;
    }
    shape[A + 1] = filters[A + 1];
    return shape;
  }
};

template <int A>
double expected(const Case<A>& c, const auto& x, const auto& filters, const Index<A + 2>& at) {
  const std::int64_t channels = c.filters[A], first = at[A + 1] / (c.filters[A + 1] / c.group) * channels;
  double sum = 0;
  for_each_position(first_axes<A + 1>(c.filters), [&](Index<A + 1> tap) {
    Index<A + 2> from{at[0]};
    for (int axis = 0; axis < A; ++axis) {
      from[axis + 1] = at[axis + 1] * c.strides[axis] + tap[axis] * c.dilations[axis] - c.pads[axis];
      if (from[axis + 1] < 0 || from[axis + 1] >= c.x[axis + 1]) return;
    }
    from[A + 1] = first + tap[A];
    sum += element(x, from) * element(filters, join(tap, Index<1>{at[A + 1]}));
  });
  return sum;
}

// By convolve(x, filters, out); `launches`: what that is to launch.
template <int A, class T>
void check(const Case<A>& c, const View<const T, A + 2>& x, const View<const T, A + 2>& filters,
           const std::string& launches, const auto& convolve, simt::Order order = simt::Order::shuffled) {
  Hopper device;
  simt::device().order = order;
  Tensor<float, A + 2> out(c.result());
  convolve(c, x, filters, out.view());
  CHECK(device.take() == launches);
  const auto depth = static_cast<double>(c.filters[A] * element_count(first_axes<A>(c.filters)));
  for_each_position(out.shape, [&](Index<A + 2> at) {
    const double value = expected(c, x, filters, at);
    INFO("at ", at[0], ", ", at[1], ", ", at[2], ", ", at[3]);
    REQUIRE(std::abs(element(out.view(), at) - value) <= 1e-5 * (1 + depth));
  });
}

}  // namespace kgen::simt_testing

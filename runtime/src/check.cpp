#include "runtime/src/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "runtime/src/text.hpp"

namespace kgen {
namespace {

// How far apart two values may be: `relative` of the reference's magnitude, of that of its terms or of the whole
// reference's root mean square, whichever is greatest (a sum that cancels is as inexact as its terms), plus `absolute`.
struct Tolerance {
  double relative;
  double absolute;
};

// Some tens of roundings for floats. Eight-bit integers are mostly quantised values, which may round the other way.
Tolerance tolerance_of(ElementType precision) {
  switch (precision) {
    case ElementType::f64:
      return {1e-11, 0};
    case ElementType::f32:
      return {1e-4, 1e-30};
    case ElementType::f16:
      return {1e-2, 1e-6};
    case ElementType::bf16:
      return {5e-2, 1e-30};
    case ElementType::f8e4m3:
    case ElementType::f8e4m3fnuz:
      return {0.25, 0.002};
    case ElementType::f8e5m2:
    case ElementType::f8e5m2fnuz:
      return {0.5, 2e-5};
    case ElementType::f8e8m0:
      return {1, 0};
    case ElementType::f4e2m1:
      return {0.5, 0.5};
    case ElementType::i4:
    case ElementType::u4:
    case ElementType::i8:
    case ElementType::u8:
      return {0, 1};
    default:
      return {0, 0};
  }
}

template <class T>
compute_t<T> element(const AnyView& view, const std::vector<std::int64_t>& index) {
  std::int64_t offset = view.first;
  for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * view.strides[axis];
  const pointer_to<const T> data = static_cast<const T*>(view.data);
  return load_elements<1>(data + offset).data;
}

// Calls visit(index) for every index, the last axis fastest.
template <class Visit>
void for_each_index(const std::vector<std::int64_t>& shape, Visit&& visit) {
  if (std::ranges::count(shape, 0) > 0) return;
  std::vector<std::int64_t> index(shape.size(), 0);
  for (;;) {
    visit(std::as_const(index));
    std::size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

template <class T>
double root_mean_square(const AnyView& view) {
  double sum = 0;
  double count = 0;
  for_each_index(view.shape, [&](const auto& index) {
    const auto value = static_cast<double>(element<T>(view, index));
    if (!std::isfinite(value)) return;
    sum += value * value;
    count += 1;
  });
  return count > 0 ? std::sqrt(sum / count) : 0;
}

// The magnitudes of all terms of one element; their last axes are those of the element.
double magnitude_of(const std::vector<AnyView>& terms, const std::vector<std::int64_t>& index) {
  double sum = 0;
  for (const AnyView& term : terms) {
    std::vector<std::int64_t> place(index.end() - static_cast<std::ptrdiff_t>(term.shape.size()), index.end());
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
      if (term.shape[axis] == 1) place[axis] = 0;
    }
    sum += with_element_type(
        term.type, [&](auto zero) { return std::abs(static_cast<double>(element<decltype(zero)>(term, place))); });
  }
  return std::isfinite(sum) ? sum : 0;
}

struct Differences {
  std::optional<std::vector<std::int64_t>> first;
  double greatest_error = 0;  // absolute, over finite elements
  std::int64_t count = 0;
};

template <class T>
Differences differences(const AnyView& actual, const AnyView& reference, const Precision& precision) {
  const Tolerance tolerance = tolerance_of(precision.type);
  const double scale = tolerance.relative > 0 ? root_mean_square<T>(reference) : 0;
  Differences result;
  for_each_index(reference.shape, [&](const auto& index) {
    const auto found = static_cast<double>(element<T>(actual, index));
    const auto expected = static_cast<double>(element<T>(reference, index));
    // 64-bit integers that differ may be equal as doubles.
    if constexpr (std::is_integral_v<compute_t<T>>) {
      if (element<T>(actual, index) == element<T>(reference, index)) return;
    } else if (found == expected || (std::isnan(found) && std::isnan(expected))) {
      return;
    }
    const double error = std::abs(found - expected);
    const auto is_allowed = [&](double magnitude) {
      return error <= tolerance.absolute + tolerance.relative * magnitude;
    };
    if (std::isfinite(error)) result.greatest_error = std::max(result.greatest_error, error);
    if (std::isfinite(expected) && tolerance.absolute + tolerance.relative > 0) {
      if (is_allowed(std::max(std::abs(expected), scale)) || is_allowed(magnitude_of(precision.terms, index))) return;
    }
    ++result.count;
    if (!result.first) result.first = index;
  });
  return result;
}

}  // namespace

bool agree(const AnyView& actual, const AnyView& reference, const Precision& precision) {
  if (actual.shape != reference.shape) return false;
  return with_element_type(actual.type,
                           [&](auto zero) { return !differences<decltype(zero)>(actual, reference, precision).first; });
}

std::string difference(const CheckedOperator& op, const AnyView& actual, const AnyView& reference,
                       const Precision& precision) {
  const std::string name =
      concat("stub '", op.stub, "' differs from its unfused reference at operator '", op.op, "' (", op.where, "): ");
  const std::span<const std::int64_t> shape(reference.shape);
  if (actual.shape != reference.shape) {
    return concat(name, "its shape is ", bracketed(std::span<const std::int64_t>(actual.shape)), ", expected ",
                  bracketed(shape));
  }
  return with_element_type(actual.type, [&](auto zero) -> std::string {
    using T = decltype(zero);
    const Differences found = differences<T>(actual, reference, precision);
    if (!found.first) return "";
    const auto print = [&](const AnyView& view) -> std::string {
      if constexpr (std::is_integral_v<compute_t<T>>) {
        return std::to_string(+element<T>(view, *found.first));
      } else {
        char digits[32];
        std::snprintf(digits, sizeof(digits), "%.9g", static_cast<double>(element<T>(view, *found.first)));
        return digits;
      }
    };
    return concat(name, "element ", bracketed(std::span<const std::int64_t>(*found.first)), " is ", print(actual),
                  ", expected ", print(reference), "; ", found.count, " of the elements of ", bracketed(shape),
                  " differ, by up to ", found.greatest_error);
  });
}

}  // namespace kgen

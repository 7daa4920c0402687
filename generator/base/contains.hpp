#pragma once

#include <algorithm>
#include <vector>

namespace kgen {

// Whether a short list holds that value; it is walked from its front.
template <class T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace kgen

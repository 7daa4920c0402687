// Integers of few bits as those of 32.
#pragma once

#include "kgen/convert.hpp"
#include "kgen/several.hpp"

namespace kgen {

template <class S>
struct Widened {
  S source;

  KGEN_FN Index<2> shape() const { return source.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return convert<std::int32_t>(source.template load<W>(at));
  }
};
template <class S>
Widened<S> widened(const S& source) {
  return {source};
}

}  // namespace kgen

// Written by kgen from beams.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/elementwise.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace graph_beams {

// power = add(in_phase_power, quadrature_power)
struct stub_power_elementwise {
  kgen::View<const float, 1> in_phase_power;    // [S, 20]
  kgen::View<const float, 1> quadrature_power;  // [S, 20]
  kgen::View<float, 1> power;                   // [S, 20]

  template <int W>
  KGEN_FN void operator()(kgen::Index<1> at) const {
    power.store(at, kgen::Add::apply(in_phase_power.load<W>(at), quadrature_power.load<W>(at)));
  }
};

void stub_power(kgen::View<float, 2> power, kgen::View<const float, 2> in_phase_power,
                kgen::View<const float, 2> quadrature_power, kgen::Stream stream) {
  const stub_power_elementwise body{in_phase_power.merge<0, 1>(), quadrature_power.merge<0, 1>(), power.merge<0, 1>()};
  kgen::elementwise(body.in_phase_power.shape(), body, stream);
}

}  // namespace graph_beams

// Written by kgen from beams.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"
#include "my_kernels/complex_matmul.hpp"

namespace graph_beams {

// in_phase, power: mul, complex_matmul, sub, neg, square, add
// windowed_real, windowed_imaginary, real and 4 intermediates never reach memory: 1568*S bytes of traffic saved.
struct stub_power_prologue_a_real {
  kgen::View<const float, 2> signal_real;  // [S, 48]
  kgen::View<const float, 2> window;       // [48] broadcast

  KGEN_FN kgen::Index<2> shape() const { return signal_real.shape(); }

  template <int W>
  KGEN_FN auto load(kgen::Index<2> at) const {
    return kgen::Mul::apply(signal_real.load<W>(at), window.load<W>(at));
  }
};

struct stub_power_prologue_a_imaginary {
  kgen::View<const float, 2> signal_imaginary;  // [S, 48]
  kgen::View<const float, 2> window;            // [48] broadcast

  KGEN_FN kgen::Index<2> shape() const { return signal_imaginary.shape(); }

  template <int W>
  KGEN_FN auto load(kgen::Index<2> at) const {
    return kgen::Mul::apply(signal_imaginary.load<W>(at), window.load<W>(at));
  }
};

struct stub_power_epilogue {
  kgen::View<const float, 2> offset;  // [20] broadcast
  kgen::View<float, 2> in_phase;      // [S, 20]
  kgen::View<float, 2> power;         // [S, 20]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> real, kgen::Vec<float, W> imaginary) const {
    const auto in_phase_value = kgen::Sub::apply(real, offset.load<W>(at));
    const auto quadrature = kgen::Neg::apply(imaginary);
    const auto in_phase_power = kgen::Square::apply(in_phase_value);
    const auto quadrature_power = kgen::Square::apply(quadrature);
    in_phase.store(at, in_phase_value);
    power.store(at, kgen::Add::apply(in_phase_power, quadrature_power));
  }
};

void stub_power(kgen::View<float, 2> in_phase, kgen::View<float, 2> power, kgen::View<const float, 2> signal_real,
                kgen::View<const float, 1> window, kgen::View<const float, 2> signal_imaginary,
                kgen::View<const float, 2> steering_real, kgen::View<const float, 2> steering_imaginary,
                kgen::View<const float, 1> offset, kgen::Stream stream) {
  const stub_power_prologue_a_real prologue_a_real{signal_real, window.broadcast_to(signal_real.shape())};
  const stub_power_prologue_a_imaginary prologue_a_imaginary{
      signal_imaginary,
      window.broadcast_to(signal_real.shape()),
  };
  const stub_power_epilogue epilogue{offset.broadcast_to(in_phase.shape()), in_phase, power};
  mine::complex_matmul(prologue_a_real, prologue_a_imaginary, steering_real, steering_imaginary, epilogue, stream);
}

}  // namespace graph_beams

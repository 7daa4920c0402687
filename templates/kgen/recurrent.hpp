// Recurrent layers over sequences. What the inputs give the gates comes from outside, for all steps in one product of
// matrices; here a kernel walks the steps, each of which multiplies the states before it by the recurrent weights.
//
//   x  [S, B, G, H]  what the inputs give each of the G gates, with the biases
//   r  [G, H, H]     r[g, k, j]: what unit k gives gate g of unit j
//   y  [S, B, H]     the states of all steps; a step reads the one before it from here
#pragma once

#include <cassert>

#include "kgen/elementwise.hpp"
#include "kgen/im2col.hpp"
#include "kgen/introspect.hpp"
#include "kgen/math.hpp"
#include "kgen/view.hpp"

namespace kgen {

// What a layer puts its sums through; alpha and beta as ONNX defines them for each.
enum class RecurrentActivation {
  sigmoid,
  tanh,
  relu,
  affine,
  leaky_relu,
  thresholded_relu,
  scaled_tanh,
  hard_sigmoid,
  elu,
  softsign,
  softplus
};

namespace detail {

struct Activation {
  RecurrentActivation kind;
  double alpha, beta;
  double clip;  // sums are held within -clip and clip before; 0: they are not

  template <class T, int W>
  KGEN_LONG_FN Vec<T, W> operator()(const Vec<T, W>& sums) const {
    using enum RecurrentActivation;
    Vec<T, W> x = sums;
    if (clip > 0) x = minimum(maximum(x, Vec<T, W>(T(-clip))), Vec<T, W>(T(clip)));
    const Vec<T, W> a(static_cast<T>(alpha)), b(static_cast<T>(beta)), zero(T(0)), one(T(1));
    switch (kind) {
      case sigmoid:
        return kgen::sigmoid(x);
      case tanh:
        return kgen::tanh(x);
      case relu:
        return maximum(x, zero);
      case affine:
        return a * x + b;
      case leaky_relu:
        return select(x < zero, a * x, x);
      case thresholded_relu:
        return select(x > a, x, select(x == x, zero, x));
      case scaled_tanh:
        return a * kgen::tanh(b * x);
      case hard_sigmoid:
        return minimum(maximum(a * x + b, zero), one);
      case elu:
        return select(x < zero, a * (exp(x) - one), x);
      case softsign:
        return x / (one + abs(x));
      case softplus:
        return maximum(x, zero) + log(one + exp(zero - abs(x)));
    }
    return x;
  }
};

// Where sequences are, and how long. Without lengths all are as long as the steps.
struct NoLengths {
  KGEN_FN std::int64_t operator[](std::int64_t) const { return INT64_MAX; }
};
template <class I>
struct Lengths {
  View<const I, 1> lengths;

  KGEN_FN std::int64_t operator[](std::int64_t sequence) const {
    return static_cast<std::int64_t>(lengths.template load<1>(Index<1>{sequence}).data);
  }
};

// Step number `step` of a batch of sequences: of each the place that comes then, from its end where they are reversed.
template <class X, class T, class L>
struct RecurrentSteps {
  X x;
  View<const T, 3> r;
  View<const T, 2> h;  // the states before the first step
  View<T, 3> y;
  L lengths;
  std::int64_t steps;
  bool reverse;

  KGEN_FN std::int64_t units() const { return r.extent(2); }
  KGEN_FN std::int64_t length(std::int64_t sequence) const {
    const std::int64_t wanted = lengths[sequence];
    return wanted < 0 ? 0 : wanted < steps ? wanted : steps;
  }
  // False for those that have ended.
  KGEN_FN bool is_in(std::int64_t sequence, std::int64_t step) const { return step < length(sequence); }
  KGEN_FN std::int64_t place(std::int64_t sequence, std::int64_t step) const {
    return reverse ? length(sequence) - 1 - step : step;
  }
  // The states that the step begins with.
  KGEN_FN View<const T, 1> states(std::int64_t sequence, std::int64_t step) const {
    if (step == 0) return h.template select<0>(sequence);
    return View<const T, 3>(y).template select<0>(place(sequence, step - 1)).template select<0>(sequence);
  }
  template <int W>
  KGEN_FN Vec<T, W> state(std::int64_t sequence, std::int64_t step, std::int64_t unit) const {
    return states(sequence, step).template load<W>(Index<1>{unit});
  }
  template <int W>
  KGEN_FN Vec<T, W> input(std::int64_t sequence, std::int64_t step, int gate, std::int64_t unit) const {
    return convert<T>(x.template load<W>(Index<4>{place(sequence, step), sequence, gate, unit}));
  }
  template <int W>
  KGEN_FN void set(std::int64_t sequence, std::int64_t place, std::int64_t unit, const Vec<T, W>& state) const {
    y.store(Index<3>{place, sequence, unit}, state);
  }

  // sums[i][g] += what the states of sequence first + i give gate First + g of W units.
  template <int First, int Count, int Rows, int W>
  KGEN_FN void add_products(const View<const T, 1> (&states)[Rows], std::int64_t unit,
                            Vec<T, W> (&sums)[Rows][Count]) const {
    for (std::int64_t k = 0; k < units(); ++k) {
      Vec<T, W> weights[Count];
      KGEN_UNROLL
      for (int g = 0; g < Count; ++g) weights[g] = r.template load<W>(Index<3>{First + g, k, unit});
      KGEN_UNROLL
      for (int i = 0; i < Rows; ++i) {
        const Vec<T, W> each(states[i].template load<1>(Index<1>{k}).data);
        KGEN_UNROLL
        for (int g = 0; g < Count; ++g) sums[i][g] = multiply_add(each, weights[g], sums[i][g]);
      }
    }
  }
};

// Sequences that one call of a cell computes together, for which it reads the weights once. On a GPU there are few
// threads as it is: each has one unit of one sequence, which behind two more axes has lanes of its own and more
// registers.
inline constexpr int sequences_together = register_bytes == 0 ? 1 : 4;
inline constexpr int step_axes = register_bytes == 0 ? 4 : 2;

// One step of a cell, for W units of a few sequences at each position [few sequences, unit, ...]: cell.template
// compute<Rows, W>(first sequence, step, unit).
template <class Cell>
struct RecurrentStep {
  Cell cell;
  std::int64_t step;
  std::int64_t sequences;

  template <int W>
  KGEN_FN void operator()(Index<step_axes> at) const {
    const std::int64_t first = at[0] * sequences_together, unit = at[1];
    bool together = first + sequences_together <= sequences;
    for (std::int64_t i = first; together && i < first + sequences_together; ++i) together = cell.steps.is_in(i, step);
    if (together) return cell.template compute<sequences_together, W>(first, step, unit);
    for (std::int64_t i = first; i < first + sequences_together && i < sequences; ++i) {
      if (cell.steps.is_in(i, step)) {
        cell.template compute<1, W>(i, step, unit);
      } else {
        cell.steps.set(i, step, unit, Vec<typename Cell::State, W>(0));
      }
    }
  }
};

template <class Cell>
void take_step(const Cell& cell, std::int64_t step, Stream stream) {
  const std::int64_t sequences = cell.steps.h.extent(0);
  Index<step_axes> shape;
  for (int axis = 2; axis < step_axes; ++axis) shape[axis] = 1;
  shape[0] = (sequences + sequences_together - 1) / sequences_together;
  shape[1] = cell.steps.units();
  elementwise(shape, RecurrentStep<Cell>{cell, step, sequences}, stream);
}
template <class Cell>
void walk(const Cell& cell, Stream stream) {
  for (std::int64_t step = 0; step < cell.steps.steps; ++step) take_step(cell, step, stream);
}

// The states that sequences end with.
template <class X, class T, class L>
struct LastStates {
  RecurrentSteps<X, T, L> steps;

  KGEN_FN Index<2> shape() const { return steps.h.shape(); }
  template <int W>
  KGEN_FN Vec<T, W> load(Index<2> at) const {
    return steps.template state<W>(at[0], steps.length(at[0]), at[1]);
  }
};

// ---- cells

template <class X, class T, class L>
struct PlainCell {
  using State = T;
  RecurrentSteps<X, T, L> steps;
  Activation activation;

  template <int Rows, int W>
  KGEN_FN void compute(std::int64_t first, std::int64_t step, std::int64_t unit) const {
    View<const T, 1> states[Rows];
    Vec<T, W> sums[Rows][1];
    KGEN_UNROLL
    for (int i = 0; i < Rows; ++i) {
      states[i] = steps.states(first + i, step);
      sums[i][0] = steps.template input<W>(first + i, step, 0, unit);
    }
    steps.template add_products<0, 1>(states, unit, sums);
    KGEN_UNROLL
    for (int i = 0; i < Rows; ++i) steps.set(first + i, steps.place(first + i, step), unit, activation(sums[i][0]));
  }
};

// Gates: input, output, forget, cell.
template <class X, class T, class L, class P>
struct LstmCell {
  using State = T;
  RecurrentSteps<X, T, L> steps;
  View<T, 2> c;  // the cells' contents, of the step before until they are of this one
  P peepholes;
  Activation gate, candidate, hidden;
  bool input_forget;

  template <int Rows, int W>
  KGEN_FN void compute(std::int64_t first, std::int64_t step, std::int64_t unit) const {
    View<const T, 1> states[Rows];
    Vec<T, W> sums[Rows][4];
    KGEN_UNROLL
    for (int i = 0; i < Rows; ++i) {
      states[i] = steps.states(first + i, step);
      KGEN_UNROLL
      for (int g = 0; g < 4; ++g) sums[i][g] = steps.template input<W>(first + i, step, g, unit);
    }
    steps.template add_products<0, 4>(states, unit, sums);
    KGEN_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const Index<2> at{first + i, unit};
      const auto before = c.template load<W>(at);
      const auto input = gate(peep(sums[i][0], 0, before, unit));
      const auto forget = input_forget ? Vec<T, W>(T(1)) - input : gate(peep(sums[i][2], 2, before, unit));
      const auto content = forget * before + input * candidate(sums[i][3]);
      const auto output = gate(peep(sums[i][1], 1, content, unit));
      c.store(at, content);
      steps.set(first + i, steps.place(first + i, step), unit, output * hidden(content));
    }
  }
  template <int W>
  KGEN_FN Vec<T, W> peep(const Vec<T, W>& sum, int which, const Vec<T, W>& content, std::int64_t unit) const {
    if constexpr (std::is_same_v<P, View<const T, 2>>) {
      return multiply_add(peepholes.template load<W>(Index<2>{which, unit}), content, sum);
    } else {
      return sum;
    }
  }
};
struct NoPeepholes {};

// Gates: update, reset, candidate. The reset gate may act on the products with the states.
template <class X, class T, class L>
struct GruCell {
  using State = T;
  RecurrentSteps<X, T, L> steps;
  View<const T, 1> bias;
  Activation gate, candidate;

  template <int Rows, int W>
  KGEN_FN void compute(std::int64_t first, std::int64_t step, std::int64_t unit) const {
    View<const T, 1> states[Rows];
    Vec<T, W> sums[Rows][3];
    KGEN_UNROLL
    for (int i = 0; i < Rows; ++i) {
      states[i] = steps.states(first + i, step);
      sums[i][0] = steps.template input<W>(first + i, step, 0, unit);
      sums[i][1] = steps.template input<W>(first + i, step, 1, unit);
      sums[i][2] = bias.template load<W>(Index<1>{unit});
    }
    steps.template add_products<0, 3>(states, unit, sums);
    KGEN_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const auto update = gate(sums[i][0]), reset = gate(sums[i][1]);
      const auto next = candidate(multiply_add(reset, sums[i][2], steps.template input<W>(first + i, step, 2, unit)));
      const auto before = states[i].template load<W>(Index<1>{unit});
      steps.set(first + i, steps.place(first + i, step), unit, (Vec<T, W>(T(1)) - update) * next + update * before);
    }
  }
};

// Or on the states, which then must be there for all units before the products begin: the states that are reset, ...
template <class X, class T, class L>
struct ResetStates {
  using State = T;
  RecurrentSteps<X, T, L> steps;
  Activation gate;
  View<T, 2> kept;  // [B, H]

  template <int Rows, int W>
  KGEN_FN void compute(std::int64_t first, std::int64_t step, std::int64_t unit) const {
    View<const T, 1> states[Rows];
    Vec<T, W> sums[Rows][1];
    KGEN_UNROLL
    for (int i = 0; i < Rows; ++i) {
      states[i] = steps.states(first + i, step);
      sums[i][0] = steps.template input<W>(first + i, step, 1, unit);
    }
    steps.template add_products<1, 1>(states, unit, sums);
    KGEN_UNROLL
    for (int i = 0; i < Rows; ++i) {
      kept.store(Index<2>{first + i, unit}, gate(sums[i][0]) * states[i].template load<W>(Index<1>{unit}));
    }
  }
};
// ... and what follows from them.
template <class X, class T, class L>
struct GruCellOfResetStates {
  using State = T;
  RecurrentSteps<X, T, L> steps;
  View<const T, 1> bias;
  Activation gate, candidate;
  View<const T, 2> kept;

  template <int Rows, int W>
  KGEN_FN void compute(std::int64_t first, std::int64_t step, std::int64_t unit) const {
    View<const T, 1> states[Rows], reset[Rows];
    Vec<T, W> updates[Rows][1], sums[Rows][1];
    KGEN_UNROLL
    for (int i = 0; i < Rows; ++i) {
      states[i] = steps.states(first + i, step);
      reset[i] = kept.template select<0>(first + i);
      updates[i][0] = steps.template input<W>(first + i, step, 0, unit);
      sums[i][0] = steps.template input<W>(first + i, step, 2, unit) + bias.template load<W>(Index<1>{unit});
    }
    steps.template add_products<0, 1>(states, unit, updates);
    steps.template add_products<2, 1>(reset, unit, sums);
    KGEN_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const auto update = gate(updates[i][0]);
      const auto before = states[i].template load<W>(Index<1>{unit});
      steps.set(first + i, steps.place(first + i, step), unit,
                (Vec<T, W>(T(1)) - update) * candidate(sums[i][0]) + update * before);
    }
  }
};

template <class X, class T, class L>
RecurrentSteps<X, T, L> recurrent_steps(const X& x, const View<const T, 3>& r, const View<const T, 2>& h,
                                        const L& lengths, bool reverse, const View<T, 3>& y) {
  const Index<4> shape = x.shape();
  assert(shape[2] == r.extent(0) && shape[3] == r.extent(1) && r.extent(1) == r.extent(2));
  assert(h.extent(0) == shape[1] && h.extent(1) == shape[3]);
  return {x, r, h, y, lengths, shape[0], reverse};
}

template <class X, class T, class L>
void rnn(const X& x, const View<const T, 2>& r, const View<const T, 2>& h, const L& lengths, bool reverse,
         const Activation& activation, const View<T, 3>& y, const View<T, 2>& last_h, Stream stream) {
  using Inputs = WithAxis<2, 3, X>;
  const auto steps = recurrent_steps(Inputs{x}, r.template unsqueeze<0>(), h, lengths, reverse, y);
  walk(PlainCell<Inputs, T, L>{steps, activation}, stream);
  copy(h.shape(), LastStates<Inputs, T, L>{steps}, last_h, stream);
}

template <class X, class T, class L>
void gru(const X& x, const View<const T, 3>& r, const View<const T, 1>& bias, const View<const T, 2>& h,
         const L& lengths, bool reverse, bool linear_before_reset, const Activation& gate, const Activation& candidate,
         const View<T, 3>& y, const View<T, 2>& last_h, Stream stream) {
  const auto steps = recurrent_steps(x, r, h, lengths, reverse, y);
  if (linear_before_reset) {
    walk(GruCell<X, T, L>{steps, bias, gate, candidate}, stream);
  } else {
    // The last states' memory holds the states that are reset, until the last states are known.
    const ResetStates<X, T, L> reset{steps, gate, last_h};
    const GruCellOfResetStates<X, T, L> cell{steps, bias, gate, candidate, last_h};
    for (std::int64_t step = 0; step < steps.steps; ++step) {
      take_step(reset, step, stream);
      take_step(cell, step, stream);
    }
  }
  copy(h.shape(), LastStates<X, T, L>{steps}, last_h, stream);
}

template <class X, class T, class L, class P>
void lstm(const X& x, const View<const T, 3>& r, const View<const T, 2>& h, const View<const T, 2>& c, const L& lengths,
          const P& peepholes, bool reverse, bool input_forget, const Activation& gate, const Activation& candidate,
          const Activation& hidden, const View<T, 3>& y, const View<T, 2>& last_h, const View<T, 2>& last_c,
          Stream stream) {
  const auto steps = recurrent_steps(x, r, h, lengths, reverse, y);
  copy(c.shape(), c, last_c, stream);
  walk(LstmCell<X, T, L, P>{steps, last_c, peepholes, gate, candidate, hidden, input_forget}, stream);
  copy(h.shape(), LastStates<X, T, L>{steps}, last_h, stream);
}

}  // namespace detail

// y[t, b] = f(x[t, b] + y[t - 1, b] r), from h on; `reverse`: from the last step to the first. last_h: the states after
// the last step that each sequence has. x: [S, B, H], with the biases; r: [H, H], r[k, j] what unit k gives unit j; h:
// [B, H]; lengths: [B], of at most S steps, behind which y is 0; without them all are whole. alpha, beta: of the
// activation. clip: sums are held within -clip and clip; 0: they are not.
template <Source<3> X, OneOf<float, double> T, OneOf<std::int32_t, std::int64_t> I>
KGEN_KERNEL(rnn)
void rnn(const X& x, const View<const T, 2>& r, const View<const T, 2>& h, const View<const I, 1>& lengths,
         RecurrentActivation activation, double alpha, double beta, double clip, bool reverse, const View<T, 3>& y,
         const View<T, 2>& last_h, Stream stream = {}) requires Float<source_lane_t<X, 3>> {
  detail::rnn(x, r, h, detail::Lengths<I>{lengths}, reverse, {activation, alpha, beta, clip}, y, last_h, stream);
}
template <Source<3> X, OneOf<float, double> T>
KGEN_KERNEL(rnn)
void rnn(const X& x, const View<const T, 2>& r, const View<const T, 2>& h, RecurrentActivation activation, double alpha,
         double beta, double clip, bool reverse, const View<T, 3>& y, const View<T, 2>& last_h,
         Stream stream = {}) requires Float<source_lane_t<X, 3>> {
  detail::rnn(x, r, h, detail::NoLengths{}, reverse, {activation, alpha, beta, clip}, y, last_h, stream);
}

// Gated recurrent units. With gates z, r and candidates n, in this order in x: [S, B, 3, H] and r: [3, H, H], and the
// states h before a step: z = f(x_z + h r_z), r = f(x_r + h r_r), n = g(x_n + (r * h) r_n + bias), or where
// linear_before_reset n = g(x_n + r * (h r_n + bias)); y = (1 - z) * n + z * h. bias: [H]; alphas, betas: of f and g;
// all else as in rnn.
template <Source<4> X, OneOf<float, double> T, OneOf<std::int32_t, std::int64_t> I>
KGEN_KERNEL(gru)
void gru(const X& x, const View<const T, 3>& r, const View<const T, 1>& bias, const View<const T, 2>& h,
         const View<const I, 1>& lengths, RecurrentActivation gate_activation, RecurrentActivation activation,
         Numbers<2> alphas, Numbers<2> betas, double clip, bool linear_before_reset, bool reverse, const View<T, 3>& y,
         const View<T, 2>& last_h, Stream stream = {}) requires Float<source_lane_t<X, 4>> {
  detail::gru(x, r, bias, h, detail::Lengths<I>{lengths}, reverse, linear_before_reset,
              {gate_activation, alphas[0], betas[0], clip}, {activation, alphas[1], betas[1], clip}, y, last_h, stream);
}
template <Source<4> X, OneOf<float, double> T>
KGEN_KERNEL(gru)
void gru(const X& x, const View<const T, 3>& r, const View<const T, 1>& bias, const View<const T, 2>& h,
         RecurrentActivation gate_activation, RecurrentActivation activation, Numbers<2> alphas, Numbers<2> betas,
         double clip, bool linear_before_reset, bool reverse, const View<T, 3>& y, const View<T, 2>& last_h,
         Stream stream = {}) requires Float<source_lane_t<X, 4>> {
  detail::gru(x, r, bias, h, detail::NoLengths{}, reverse, linear_before_reset,
              {gate_activation, alphas[0], betas[0], clip}, {activation, alphas[1], betas[1], clip}, y, last_h, stream);
}

// Long short-term memory. With gates i, o, f and candidates n, in this order in x: [S, B, 4, H] and r: [4, H, H], the
// states h and the contents c before a step: i = f(x_i + h r_i + p_i * c), f likewise, or where input_forget f = 1 - i;
// n = g(x_n + h r_n), c' = f * c + i * n, o = f(x_o + h r_o + p_o * c'), y = o * h(c'). peepholes: [3, H], p of i, o
// and f; without them 0. last_c: the contents after the last step of each sequence. alphas, betas: of f, g and h. clip:
// of all sums but c'. All else as in rnn.
template <Source<4> X, OneOf<float, double> T, OneOf<std::int32_t, std::int64_t> I>
KGEN_KERNEL(lstm)
void lstm(const X& x, const View<const T, 3>& r, const View<const T, 2>& h, const View<const T, 2>& c,
          const View<const I, 1>& lengths, const View<const T, 2>& peepholes, RecurrentActivation gate_activation,
          RecurrentActivation activation, RecurrentActivation output_activation, Numbers<3> alphas, Numbers<3> betas,
          double clip, bool input_forget, bool reverse, const View<T, 3>& y, const View<T, 2>& last_h,
          const View<T, 2>& last_c, Stream stream = {}) requires Float<source_lane_t<X, 4>> {
  detail::lstm(x, r, h, c, detail::Lengths<I>{lengths}, peepholes, reverse, input_forget,
               {gate_activation, alphas[0], betas[0], clip}, {activation, alphas[1], betas[1], clip},
               {output_activation, alphas[2], betas[2], 0}, y, last_h, last_c, stream);
}
template <Source<4> X, OneOf<float, double> T, OneOf<std::int32_t, std::int64_t> I>
KGEN_KERNEL(lstm)
void lstm(const X& x, const View<const T, 3>& r, const View<const T, 2>& h, const View<const T, 2>& c,
          const View<const I, 1>& lengths, RecurrentActivation gate_activation, RecurrentActivation activation,
          RecurrentActivation output_activation, Numbers<3> alphas, Numbers<3> betas, double clip, bool input_forget,
          bool reverse, const View<T, 3>& y, const View<T, 2>& last_h, const View<T, 2>& last_c,
          Stream stream = {}) requires Float<source_lane_t<X, 4>> {
  detail::lstm(x, r, h, c, detail::Lengths<I>{lengths}, detail::NoPeepholes{}, reverse, input_forget,
               {gate_activation, alphas[0], betas[0], clip}, {activation, alphas[1], betas[1], clip},
               {output_activation, alphas[2], betas[2], 0}, y, last_h, last_c, stream);
}
template <Source<4> X, OneOf<float, double> T>
KGEN_KERNEL(lstm)
void lstm(const X& x, const View<const T, 3>& r, const View<const T, 2>& h, const View<const T, 2>& c,
          RecurrentActivation gate_activation, RecurrentActivation activation, RecurrentActivation output_activation,
          Numbers<3> alphas, Numbers<3> betas, double clip, bool input_forget, bool reverse, const View<T, 3>& y,
          const View<T, 2>& last_h, const View<T, 2>& last_c, Stream stream = {}) requires Float<source_lane_t<X, 4>> {
  detail::lstm(x, r, h, c, detail::NoLengths{}, detail::NoPeepholes{}, reverse, input_forget,
               {gate_activation, alphas[0], betas[0], clip}, {activation, alphas[1], betas[1], clip},
               {output_activation, alphas[2], betas[2], 0}, y, last_h, last_c, stream);
}

}  // namespace kgen

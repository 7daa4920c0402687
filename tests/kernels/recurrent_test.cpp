// Recurrent layers against the formulas unit by unit, in double: both directions, lengths, every activation, clipping,
// batches and units that fill no register, strides.
#include "kgen/recurrent.hpp"

#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

using Kind = RecurrentActivation;
constexpr Kind all_kinds[] = {Kind::sigmoid,     Kind::tanh,         Kind::relu, Kind::affine,   Kind::leaky_relu, Kind::thresholded_relu,
                              Kind::scaled_tanh, Kind::hard_sigmoid, Kind::elu,  Kind::softsign, Kind::softplus};

struct Function {
  Kind kind = Kind::tanh;
  double a = 0, b = 0, clip = 0;

  double operator()(double x) const {
    if (clip > 0) x = std::clamp(x, -clip, clip);
    switch (kind) {
      case Kind::sigmoid: return 1 / (1 + std::exp(-x));
      case Kind::tanh: return std::tanh(x);
      case Kind::relu: return std::max(x, 0.0);
      case Kind::affine: return a * x + b;
      case Kind::leaky_relu: return x < 0 ? a * x : x;
      case Kind::thresholded_relu: return x > a ? x : 0;
      case Kind::scaled_tanh: return a * std::tanh(b * x);
      case Kind::hard_sigmoid: return std::clamp(a * x + b, 0.0, 1.0);
      case Kind::elu: return x < 0 ? a * std::expm1(x) : x;
      case Kind::softsign: return x / (1 + std::abs(x));
      case Kind::softplus: return std::log1p(std::exp(x));
    }
    return 0;
  }
};

using Line = std::vector<double>;

// One sequence: what a cell makes of its states at each of its places, in the order in which they come.
template <class Cell>
void walk(std::int64_t steps, std::int64_t length, bool reverse, const Cell& cell) {
  const std::int64_t whole = std::clamp<std::int64_t>(length, 0, steps);
  for (std::int64_t s = 0; s < whole; ++s) cell(reverse ? whole - 1 - s : s);
}

template <class T>
struct Layer {
  std::int64_t S, B, H;
  int gates;
  Tensor<T, 4> x;
  Tensor<T, 3> r;
  Tensor<T, 2> h, c, p;
  Tensor<T, 1> bias;
  std::vector<std::int64_t> lengths;
  bool reverse = false;

  Layer(std::int64_t steps, std::int64_t batch, std::int64_t units, int count)
      : S(steps), B(batch), H(units), gates(count), x(random_tensor<T>(Index<4>{S, B, count, H}, 1)),
        r(random_tensor<T>(Index<3>{count, H, H}, 2, -0.5, 0.5)), h(random_tensor<T>(Index<2>{B, H}, 3)),
        c(random_tensor<T>(Index<2>{B, H}, 4)), p(random_tensor<T>(Index<2>{3, H}, 5)), bias(random_tensor<T>(Index<1>{H}, 6)),
        lengths(static_cast<std::size_t>(B), S) {}

  // x[t, b, g, j] + what the states give.
  double sum(std::int64_t t, std::int64_t b, int g, std::int64_t j, const Line& states) const {
    return element(x.view(), Index<4>{t, b, g, j}) + product(g, j, states);
  }
  double product(int g, std::int64_t j, const Line& states) const {
    double total = 0;
    for (std::int64_t k = 0; k < H; ++k) total += states[static_cast<std::size_t>(k)] * element(r.view(), Index<3>{g, k, j});
    return total;
  }
  Line line(const Tensor<T, 2>& from, std::int64_t b) const {
    Line result;
    for (std::int64_t j = 0; j < H; ++j) result.push_back(element(from.view(), Index<2>{b, j}));
    return result;
  }
  View<const std::int64_t, 1> length_view() const { return {lengths.data(), {B}}; }
};

template <class T>
void check_rows(const Tensor<T, 2>& got, std::int64_t b, const Line& expected) {
  for (std::size_t j = 0; j < expected.size(); ++j) {
    REQUIRE(element(got.view(), Index<2>{b, static_cast<std::int64_t>(j)}) == doctest::Approx(expected[j]).epsilon(1e-4));
  }
}
template <class T>
void check_rows(const Tensor<T, 3>& got, std::int64_t t, std::int64_t b, const Line& expected) {
  for (std::size_t j = 0; j < expected.size(); ++j) {
    REQUIRE(element(got.view(), Index<3>{t, b, static_cast<std::int64_t>(j)}) == doctest::Approx(expected[j]).epsilon(1e-4));
  }
}
template <class T>
void check_ended(const Tensor<T, 3>& y, const Layer<T>& in, std::int64_t b) {
  for (std::int64_t t = std::max<std::int64_t>(0, in.lengths[static_cast<std::size_t>(b)]); t < in.S; ++t) {
    check_rows(y, t, b, Line(static_cast<std::size_t>(in.H), 0.0));
  }
}

template <class T>
void check_lstm(const Layer<T>& in, Function f, Function g, Function out, bool input_forget, bool peeps, bool has_lengths) {
  Tensor<T, 3> y(Index<3>{in.S, in.B, in.H});
  Tensor<T, 2> last_h(in.h.shape), last_c(in.h.shape);
  const Numbers<3> alphas{{f.a, g.a, out.a}}, betas{{f.b, g.b, out.b}};
  if (peeps) {
    lstm(in.x.view(), in.r.view(), in.h.view(), in.c.view(), in.length_view(), in.p.view(), f.kind, g.kind, out.kind, alphas, betas,
         f.clip, input_forget, in.reverse, y.view(), last_h.view(), last_c.view());
  } else if (has_lengths) {
    lstm(in.x.view(), in.r.view(), in.h.view(), in.c.view(), in.length_view(), f.kind, g.kind, out.kind, alphas, betas, f.clip,
         input_forget, in.reverse, y.view(), last_h.view(), last_c.view());
  } else {
    lstm(in.x.view(), in.r.view(), in.h.view(), in.c.view(), f.kind, g.kind, out.kind, alphas, betas, f.clip, input_forget,
         in.reverse, y.view(), last_h.view(), last_c.view());
  }
  const auto p = [&](int which, std::int64_t j) { return peeps ? element(in.p.view(), Index<2>{which, j}) : 0.0; };
  for (std::int64_t b = 0; b < in.B; ++b) {
    Line states = in.line(in.h, b), contents = in.line(in.c, b);
    walk(in.S, in.lengths[static_cast<std::size_t>(b)], in.reverse, [&](std::int64_t t) {
      Line next, kept;
      for (std::int64_t j = 0; j < in.H; ++j) {
        const double before = contents[static_cast<std::size_t>(j)];
        const double input = f(in.sum(t, b, 0, j, states) + p(0, j) * before);
        const double forget = input_forget ? 1 - input : f(in.sum(t, b, 2, j, states) + p(2, j) * before);
        const double content = forget * before + input * g(in.sum(t, b, 3, j, states));
        next.push_back(f(in.sum(t, b, 1, j, states) + p(1, j) * content) * out(content));
        kept.push_back(content);
      }
      states = next, contents = kept;
      check_rows(y, t, b, states);
    });
    check_rows(last_h, b, states);
    check_rows(last_c, b, contents);
    check_ended(y, in, b);
  }
}

template <class T>
void check_gru(const Layer<T>& in, Function f, Function g, bool linear, bool has_lengths) {
  Tensor<T, 3> y(Index<3>{in.S, in.B, in.H});
  Tensor<T, 2> last_h(in.h.shape);
  const Numbers<2> alphas{{f.a, g.a}}, betas{{f.b, g.b}};
  if (has_lengths) {
    gru(in.x.view(), in.r.view(), in.bias.view(), in.h.view(), in.length_view(), f.kind, g.kind, alphas, betas, f.clip, linear,
        in.reverse, y.view(), last_h.view());
  } else {
    gru(in.x.view(), in.r.view(), in.bias.view(), in.h.view(), f.kind, g.kind, alphas, betas, f.clip, linear, in.reverse, y.view(),
        last_h.view());
  }
  for (std::int64_t b = 0; b < in.B; ++b) {
    Line states = in.line(in.h, b);
    walk(in.S, in.lengths[static_cast<std::size_t>(b)], in.reverse, [&](std::int64_t t) {
      Line update, reset, scaled, next;
      for (std::int64_t j = 0; j < in.H; ++j) {
        update.push_back(f(in.sum(t, b, 0, j, states)));
        reset.push_back(f(in.sum(t, b, 1, j, states)));
        scaled.push_back(reset.back() * states[static_cast<std::size_t>(j)]);
      }
      for (std::int64_t j = 0; j < in.H; ++j) {
        const auto i = static_cast<std::size_t>(j);
        const double extra = element(in.bias.view(), Index<1>{j}), given = element(in.x.view(), Index<4>{t, b, 2, j});
        const double recurrent = linear ? reset[i] * (in.product(2, j, states) + extra) : in.product(2, j, scaled) + extra;
        next.push_back((1 - update[i]) * g(given + recurrent) + update[i] * states[i]);
      }
      states = next;
      check_rows(y, t, b, states);
    });
    check_rows(last_h, b, states);
    check_ended(y, in, b);
  }
}

template <class T>
void check_rnn(const Layer<T>& in, Function f, bool has_lengths) {
  Tensor<T, 3> y(Index<3>{in.S, in.B, in.H});
  Tensor<T, 2> last_h(in.h.shape);
  const View<const T, 3> x = in.x.view().template squeeze<2>();
  const View<const T, 2> r = in.r.view().template squeeze<0>();
  if (has_lengths) {
    rnn(x, r, in.h.view(), in.length_view(), f.kind, f.a, f.b, f.clip, in.reverse, y.view(), last_h.view());
  } else {
    rnn(x, r, in.h.view(), f.kind, f.a, f.b, f.clip, in.reverse, y.view(), last_h.view());
  }
  for (std::int64_t b = 0; b < in.B; ++b) {
    Line states = in.line(in.h, b);
    walk(in.S, in.lengths[static_cast<std::size_t>(b)], in.reverse, [&](std::int64_t t) {
      Line next;
      for (std::int64_t j = 0; j < in.H; ++j) next.push_back(f(in.sum(t, b, 0, j, states)));
      states = next;
      check_rows(y, t, b, states);
    });
    check_rows(last_h, b, states);
    check_ended(y, in, b);
  }
}

const Function sigmoid_of{Kind::sigmoid}, tanh_of{Kind::tanh};

}  // namespace

TEST_CASE_TEMPLATE("recurrent: sizes that fill no register, both directions", T, KGEN_TYPES((float), double)) {
  for (const Index<3> sizes : {Index<3>{1, 1, 1}, Index<3>{5, 3, 7}, Index<3>{4, 9, 34}, Index<3>{3, 1, 65}}) {
    for (const bool reverse : {false, true}) {
      Layer<T> four(sizes[0], sizes[1], sizes[2], 4), three(sizes[0], sizes[1], sizes[2], 3), one(sizes[0], sizes[1], sizes[2], 1);
      four.reverse = three.reverse = one.reverse = reverse;
      check_lstm(four, sigmoid_of, tanh_of, tanh_of, false, false, false);
      check_lstm(four, sigmoid_of, tanh_of, tanh_of, true, true, true);
      check_gru(three, sigmoid_of, tanh_of, false, false);
      check_gru(three, sigmoid_of, tanh_of, true, false);
      check_rnn(one, tanh_of, false);
    }
  }
}

TEST_CASE("recurrent: sequences of different lengths, of none and of more than there are steps") {
  for (const bool reverse : {false, true}) {
    Layer<float> four(6, 7, 18, 4), three(6, 7, 18, 3), one(6, 7, 18, 1);
    four.lengths = three.lengths = one.lengths = {6, 2, 0, 100, 1, -3, 5};
    four.reverse = three.reverse = one.reverse = reverse;
    check_lstm(four, sigmoid_of, tanh_of, tanh_of, false, false, true);
    check_lstm(four, sigmoid_of, tanh_of, tanh_of, false, true, true);
    check_gru(three, sigmoid_of, tanh_of, false, true);
    check_gru(three, sigmoid_of, tanh_of, true, true);
    check_rnn(one, tanh_of, true);
  }
}

TEST_CASE("recurrent: every activation, and sums that are clipped") {
  for (const Kind kind : all_kinds) {
    INFO(static_cast<int>(kind));
    for (const double clip : {0.0, 0.7}) {
      check_rnn(Layer<float>(3, 2, 19, 1), {kind, 0.3, 0.4, clip}, false);
      check_gru(Layer<float>(2, 2, 5, 3), {Kind::sigmoid, 0, 0, clip}, {kind, 0.3, 0.4, clip}, true, false);
      check_lstm(Layer<float>(2, 2, 5, 4), {Kind::hard_sigmoid, 0.2, 0.5, clip}, {kind, 0.3, 0.4, clip}, {kind, 0.3, 0.4}, false,
                 false, false);
    }
  }
}

TEST_CASE("recurrent: no steps leave the states as they were; no sequences, no units") {
  check_lstm(Layer<float>(0, 3, 5, 4), sigmoid_of, tanh_of, tanh_of, false, false, false);
  check_gru(Layer<float>(0, 3, 5, 3), sigmoid_of, tanh_of, false, false);
  check_rnn(Layer<float>(4, 0, 5, 1), tanh_of, false);
  check_lstm(Layer<float>(4, 2, 0, 4), sigmoid_of, tanh_of, tanh_of, false, false, false);
}

TEST_CASE("recurrent: NaN stays within its sequence") {
  Layer<float> layer(3, 5, 6, 4);
  layer.x.elements[static_cast<std::size_t>(flatten(Index<4>{1, 2, 0, 0}, layer.x.shape))] = not_a_number;
  const Layer<float>& in = layer;
  Tensor<float, 3> y(Index<3>{3, 5, 6});
  Tensor<float, 2> last_h(in.h.shape), last_c(in.h.shape);
  lstm(in.x.view(), in.r.view(), in.h.view(), in.c.view(), Kind::sigmoid, Kind::tanh, Kind::tanh, Numbers<3>{}, Numbers<3>{}, 0, false,
       false, y.view(), last_h.view(), last_c.view());
  for_each_position(y.shape, [&](Index<3> at) {
    if (at[1] != 2 || at[0] == 0) CHECK(std::isfinite(element(y.view(), at)));
    if (at[1] == 2 && at[0] == 2) CHECK(std::isnan(element(y.view(), at)));
  });
}

// Depthwise convolutions on a GPU, by plain arithmetic, at the rate of memory: a thread has the results of some
// positions along one axis, for a vector of channels, in registers. What it reads of a line it multiplies by several
// taps before it reads on. Lines above and below come from the first-level cache, the filter from shared memory.
#pragma once

#include <bit>

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/window_axes.hpp"

namespace kgen::gpu {

// Who has what: neighbouring threads have neighbouring lanes, then lines, then units of positions along the axis of the
// window, so many of each to a block as powers of 2. A line is a place along all other axes.
template <int A>
struct DepthwiseOrder {
  WindowAxes<A> axes;
  int channels, taps;
  int lane_bits, unit_bits;  // of a thread's number in its block
  int vectors, units, lines;
  int spacing;     // between a thread's positions
  bool slides;     // which is such that what a position sees by one tap, its neighbour sees by the one before
  Divider phases;  // of units whose positions alternate
  Positions<3> blocks;
  Positions<A> line, tap;
};

// What lies along an axis, to be loaded where it is inside of the image, else 0: without a branch, so that several are
// on their way together. Of memory as it is stored, which takes fewer registers.
template <int W, int Axis, class X, int R>
struct SeenLine {
  const X& x;
  Index<R> from;

  KGEN_FN SeenLine(const X& x, const Index<R>& from) : x(x), from(from) {}
  KGEN_FN auto load(int at, bool inside) const {
    Index<R> place = from;
    place[Axis] = inside ? at : 0;
    auto lanes = x.template load<W>(place);
    if (!inside) lanes = decltype(lanes)(0);
    return lanes;
  }
};
template <int W, int Axis, class T, int R>
struct SeenLine<W, Axis, NearView<T, R>, R> {
  const T* data;
  int line, step;

  KGEN_FN SeenLine(const NearView<T, R>& x, Index<R> from) : data(x.data), step(x.steps[Axis]) {
    from[Axis] = 0;
    line = x.offset(from);
  }
  KGEN_FN auto load(int at, bool inside) const {
    const int offset = line + (inside ? at * step : 0);
    Elements<T, W> elements{load_block<W * sizeof(T)>(data + offset, Access{true, true, true})};
    if (!inside) elements = {};
    return elements;
  }
};
template <class T, int W>
KGEN_FN Vec<compute_t<T>, W> as_lanes(const Elements<T, W>& elements) {
  return elements.lanes();
}
template <class T, int W>
KGEN_FN Vec<T, W> as_lanes(const Vec<T, W>& lanes) {
  return lanes;
}
// Across: lanes are neighbours along the last axis of the image, one to a thread, and the window moves along the axis
// before it; else they are channels, and it moves along the last axis.
template <int W, bool Across, class T, int A>
struct Depthwise {
  static_assert(A >= 2 && (!Across || W == 1));
  static constexpr int threads = 256, results = 7;  // images often have a multiple of it
  static constexpr int together = 5;                // of a thread's loads
  static constexpr int axis = Across ? A - 2 : A - 1;
  using Lane = Vec<T, W>;
  using Order = DepthwiseOrder<A>;

  // A block's part of the filters, as [tap][channel].
  static std::int64_t shared(const Order& order) {
    return Across ? 0 : shared_bytes<T>(std::int64_t{order.taps} * W << order.lane_bits);
  }
  template <class F>
  KGEN_FN static void stage_filters(T* to, const F& filters, const Order& order, int first_channel) {
    const int bits = order.lane_bits + std::countr_zero(static_cast<unsigned>(W));
    for (int i = thread_index(); i < order.taps << bits; i += threads) {
      const int channel = first_channel + i % (1 << bits);
      const Index<A> tap = order.tap(static_cast<std::uint32_t>(i >> bits));
      const bool inside = channel < order.channels;
      to[i] = inside ? convert<T>(filters.template load<1>(join(tap, Index<2>{0, channel}))).data : T(0);
    }
  }

  // Adds `Taps` taps to the results: load(i) is what result i sees by the first of them, and result i - k by the k-th.
  template <int Taps, class Load, class Filter>
  KGEN_FN static void add_taps(Lane (&sums)[results], const Load& load, const Filter& filter) {
    constexpr int seen = results + Taps - 1;
    Lane taps[Taps];
    KGEN_UNROLL
    for (int k = 0; k < Taps; ++k) taps[k] = filter(k);
    KGEN_UNROLL
    for (int first = 0; first < seen; first += together) {
      decltype(load(0)) window[together];
      KGEN_UNROLL
      for (int i = 0; i < together; ++i) {
        if (first + i < seen) window[i] = load(first + i);
      }
      KGEN_UNROLL
      for (int i = 0; i < together; ++i) {
        if (first + i >= seen) continue;
        const Lane lanes = as_lanes(window[i]);
        KGEN_UNROLL
        for (int k = 0; k < Taps; ++k) {
          const int result = first + i - k;
          if (result >= 0 && result < results) sums[result] = multiply_add(lanes, taps[k], sums[result]);
        }
      }
    }
  }
  // Those of a line of the filter: load(k, i) and filter(k) for its tap k.
  template <class Load, class Filter>
  KGEN_FN static void add_line(Lane (&sums)[results], const Order& order, const Load& load, const Filter& filter) {
    int k = 0;
    const auto add = [&]<int Taps>() KGEN_LAMBDA {
      KGEN_NO_UNROLL
      for (; k + Taps <= order.axes[axis].filter; k += Taps) {
        add_taps<Taps>(
            sums, [&](int i) KGEN_LAMBDA { return load(k, i); }, [&](int i) KGEN_LAMBDA { return filter(k + i); });
      }
    };
    if (order.slides) {
      add.template operator()<3>();
      add.template operator()<2>();
    }
    add.template operator()<1>();
  }

  // The results from position `at` and channel on, which follow each other along the axis. Inside: of which none sees
  // beyond its ends.
  template <bool Inside, class X, class Filter>
  KGEN_FN static void compute(Lane (&sums)[results], const X& x, const Order& order, const Index<A + 1>& at,
                              int channel, const Filter& filter) {
    const WindowAxis& own = order.axes[axis];
    const int begin = own.seen(static_cast<int>(at[axis + 1]), 0), step = order.spacing * own.stride;
    Index<A> tap{}, end;
    KGEN_UNROLL
    for (int i = 0; i < A; ++i) end[i] = i == axis ? 1 : order.axes[i].filter;
    do {
      Index<A + 2> from{at[0]};
      from[A + 1] = channel;
      bool inside = own.image > 0;
      KGEN_UNROLL
      for (int i = 0; i < A; ++i) {
        if (i == axis) continue;
        from[i + 1] = order.axes[i].seen(static_cast<int>(at[i + 1]), static_cast<int>(tap[i]));
        inside = inside && order.axes[i].has(static_cast<int>(from[i + 1]));
      }
      if (!inside) continue;
      const SeenLine<W, axis + 1, X, A + 2> line(x, from);
      const auto load = [&](int k, int i) KGEN_LAMBDA {
        const int seen = begin + k * own.dilation + i * step;
        return line.load(seen, Inside || own.has(seen));
      };
      const auto of_tap = [&](int k) KGEN_LAMBDA {
        Index<A> place = tap;
        place[axis] = k;
        return filter(place);
      };
      add_line(sums, order, load, of_tap);
    } while (advance(tap, A, Index<A>{}, end));
  }

  // Gives them to the sink, as far as results go. One that is long stands here once.
  template <class Out>
  KGEN_FN static void emit(const Lane (&sums)[results], const Out& out, const Order& order, const Index<A + 1>& at,
                           int channel) {
    const auto store = [&](int i, const Lane& sum) KGEN_LAMBDA {
      Index<A + 2> place = join(at, Index<1>{channel});
      place[axis + 1] += i * order.spacing;
      if (i == 0 || place[axis + 1] < order.axes[axis].result) store_to(out, place, sum);
    };
    if constexpr (view_count<Out> <= 4) {
      KGEN_UNROLL
      for (int i = 0; i < results; ++i) store(i, sums[i]);
    } else {
      KGEN_NO_UNROLL
      for (int i = 0; i < results; ++i) {
        T own[W];
        KGEN_UNROLL
        for (int each = 0; each < results; ++each) {
          KGEN_UNROLL
          for (int lane = 0; lane < W; ++lane) own[lane] = each == 0 || each == i ? sums[each][lane] : own[lane];
        }
        store(i, load_lanes<W>(own));
      }
    }
  }

  template <class X, class F, class Out>
  KGEN_FN static void run(const X& x, const F& filters, const Out& out, const Order& order) {
    const Index<3> block = order.blocks(static_cast<std::uint32_t>(block_index()));  // of lines, units and vectors
    const int bits = order.lane_bits + order.unit_bits, thread = thread_index();
    // A wave's units are the same where its lines suffice, and so is whether they see beyond the image.
    const int line = static_cast<int>(block[0]) * (threads >> bits) + (thread >> order.lane_bits) % (threads >> bits);
    const int unit = (static_cast<int>(block[1]) << order.unit_bits) + thread / (threads >> order.unit_bits);
    const int first_vector = static_cast<int>(block[2]) << order.lane_bits;
    const int lane = thread & ((1 << order.lane_bits) - 1), vector = first_vector + lane;
    SharedMemory memory;
    T* staged = nullptr;
    if constexpr (!Across) {
      staged = memory.template take<T>(std::int64_t{order.taps} * W << order.lane_bits);
      const BlockPhase staging;
      stage_filters(staged, filters, order, first_vector * W);
    }
    if (vector >= order.vectors || unit >= order.units || line >= order.lines) return;

    auto phase = static_cast<std::uint32_t>(unit);
    const int whole = static_cast<int>(order.phases.split(phase));
    const Index<A> place = order.line(static_cast<std::uint32_t>(line));
    Index<A + 1> at{place[0]};
    KGEN_UNROLL
    for (int i = 1; i < A; ++i) at[Across ? i - 1 : i] = place[i];  // Across: place[1] is the channel
    at[0] = place[0];
    if constexpr (Across) at[A] = vector;
    const int first = whole * results * order.spacing + static_cast<int>(phase);
    if (first >= order.axes[axis].result) return;
    at[axis + 1] = first;
    const int channel = Across ? static_cast<int>(place[1]) : vector * W;

    Lane sums[results];
    KGEN_UNROLL
    for (int i = 0; i < results; ++i) sums[i] = Lane(T(0));
    const auto filter = [&](const Index<A>& tap) KGEN_LAMBDA {
      if constexpr (Across) {
        return convert<T>(filters.template load<1>(join(tap, Index<2>{0, channel})));
      } else {
        int number = 0;
        KGEN_UNROLL
        for (int i = 0; i < A; ++i) number = number * order.axes[i].filter + static_cast<int>(tap[i]);
        const auto words = load_block<W * sizeof(T)>(staged + ((number << order.lane_bits) + lane) * W, Access{});
        T lanes[W];
        memcpy(lanes, &words, sizeof(words));
        return load_lanes<W>(lanes);
      }
    };
    const WindowAxis& own = order.axes[axis];
    if (own.has(own.seen(first, 0)) && own.has(own.seen(first + (results - 1) * order.spacing, own.filter - 1))) {
      compute<true>(sums, x, order, at, channel, filter);
    } else {
      compute<false>(sums, x, order, at, channel, filter);
    }
    emit(sums, out, order, at, channel);
  }
};

template <int W, bool Across, class T, int A, class X, class F, class Out>
KGEN_GLOBAL((Depthwise<W, Across, T, A>::threads), 2)
depthwise_kernel(X x, F filters, Out out, DepthwiseOrder<A> order) {
  take_turn(true);  // a block moves more than should_allow_next() asks for
  const auto source = [&]() KGEN_LAMBDA {
    if constexpr (W == 1 || is_near_view<X>) {
      return x;
    } else {
      return known<Lanes::vectors>(x);
    }
  };
  constexpr Lanes form = W == 1 ? Lanes::any : Lanes::whole_vectors;
  Depthwise<W, Across, T, A>::run(source(), filters, known<form>(out), order);
}

// ---- launches

// As many lanes of so many for a block, `most` at most, as leave few threads without work.
inline int depthwise_lane_bits(std::int64_t lanes, int most) {
  int best = 0;
  std::int64_t least = 0;
  for (int bits = most; bits >= 0; --bits) {
    const std::int64_t threads = (((lanes - 1) >> bits) + 1) << bits;
    if (bits == most || threads * 8 < least * 7) best = bits, least = threads;
  }
  return best;
}

template <int W, bool Across, class T, int A, class X, class F, class Out>
bool launch_depthwise(const X& x, const F& filters, const Out& out, const ConvolutionShape<A>& sizes,
                      std::int64_t channels, Stream stream) {
  using Kernel = Depthwise<W, Across, T, A>;
  constexpr int axis = Kernel::axis, unit_bits = 2;
  const std::int64_t stride = sizes.strides[axis], dilation = sizes.dilations[axis];
  DepthwiseOrder<A> order;
  order.axes = WindowAxes<A>(sizes);
  order.channels = static_cast<int>(channels);
  order.taps = static_cast<int>(element_count(sizes.filter));
  order.tap = Positions<A>(sizes.filter);
  order.slides = dilation % stride == 0;
  order.spacing = order.slides ? static_cast<int>(dilation / stride) : 1;
  order.phases = Divider(order.spacing);
  const std::int64_t of_unit = std::int64_t{Kernel::results} * order.spacing;
  const std::int64_t units = (sizes.result[axis] + of_unit - 1) / of_unit * order.spacing;
  const std::int64_t vectors = Across ? sizes.result[A - 1] : channels / W;
  Index<A> lines{sizes.images};
  for (int i = 1; i < A; ++i) lines[i] = Across ? (i == 1 ? channels : sizes.result[i - 2]) : sizes.result[i - 1];
  const std::int64_t line_count = element_count(lines);
  if (line_count >= 1 << 30 || units >= 1 << 30) return false;
  order.line = Positions<A>(lines);
  order.lane_bits = depthwise_lane_bits(vectors, W > 1 ? 3 : 5);
  while (order.lane_bits > 0 && Kernel::shared(order) > 48 * 1024) --order.lane_bits;
  order.unit_bits = units == 1 ? 0 : units == 2 ? 1 : unit_bits;
  order.vectors = static_cast<int>(vectors);
  order.units = static_cast<int>(units);
  order.lines = static_cast<int>(line_count);
  const auto blocks = [](std::int64_t count, int bits) { return ((count - 1) >> bits) + 1; };
  const int line_bits = std::countr_zero(static_cast<unsigned>(Kernel::threads)) - order.lane_bits - order.unit_bits;
  const Index<3> grid{blocks(line_count, line_bits), blocks(units, order.unit_bits), blocks(vectors, order.lane_bits)};
  const std::int64_t count = element_count(grid);
  if (Kernel::shared(order) > 48 * 1024 || count > most_blocks(Kernel::threads)) return false;
  order.blocks = Positions<3>(grid);
  launch_early(Grid{"depthwise", count, Kernel::threads, Kernel::shared(order)}, stream,
               depthwise_kernel<W, Across, T, A, X, F, Out>, x, filters, out, order);
  return true;
}

// Whether all Views that a source reads have vectors of W channels; and whether one runs along the image instead.
template <int A, class X>
bool has_channel_vectors(const X& x, int W) {
  bool all = true;
  for_each_view(x, [&]<class T, int R>(const View<T, R>& view) {
    if constexpr (R > 0) all = all && view.extent(R - 1) % W == 0 && has_vectors(view, W);
  });
  return all;
}
template <int A, class X>
bool runs_along_images(const X& x) {
  bool found = false;
  for_each_view(x, [&]<class T, int R>(const View<T, R>& view) {
    if constexpr (R == A + 2) found = found || (view.stride(A) == 1 && view.stride(A + 1) != 1);
  });
  return found;
}

// Computes all, and returns true; or false where there is more than a grid counts, or shared memory holds.
template <int A, class X, class F, class Out>
bool depthwise_convolution(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const Out& out,
                           Stream stream) {
  using T = source_lane_t<X, A + 2>;
  const std::int64_t channels = x.shape()[A + 1];
  if (sizes.positions() == 0 || channels == 0) return true;
  if (!counts_in_32_bits(sizes) || channels >= 1 << 30) return false;
  constexpr int W = vector_width<X>() < 8 ? vector_width<X>() : 8;
  const auto launch = [&](const auto& source) {
    if constexpr (W > 1) {
      const bool vectors = channels % W == 0 && has_channel_vectors<A>(x, W) && has_whole_vectors(out, W);
      if (vectors) return launch_depthwise<W, false, T>(source, filters, with_access(out, W), sizes, channels, stream);
    }
    if (runs_along_images<A>(x)) return launch_depthwise<1, true, T>(source, filters, out, sizes, channels, stream);
    return launch_depthwise<1, false, T>(source, filters, out, sizes, channels, stream);
  };
  if constexpr (is_view<X>) {
    using Near = NearView<view_element_t<X>, A + 2>;
    return Near::fits(x) && launch(Near(x));
  } else {
    return launch(x);
  }
}

}  // namespace kgen::gpu

// Elementwise on the CPU: threads over the outer axes, and over pieces of the last axis where the outer ones are few;
// registers along the last axis.
#pragma once

#include <type_traits>
#include <utility>

#include "kgen/cpu/lookups.hpp"
#include "kgen/cpu/parallel.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/cpu/streaming.hpp"
#include "kgen/fields.hpp"
#include "kgen/index.hpp"
#include "kgen/vec.hpp"

namespace kgen::cpu {

// step.operator()<W>(i) from `begin` to `end`: `Registers` together, then whole ones, quarters of one, and single
// lanes.
template <int Registers = 1, class Step>
KGEN_FN void for_each_lane(std::int64_t begin, std::int64_t end, const Step& step) {
  constexpr int width = lanes_of<float>;
  std::int64_t i = begin;
  if constexpr (Registers > 1) {
    for (; i + Registers * width <= end; i += Registers * width) step.template operator()<Registers * width>(i);
  }
  for (; i + width <= end; i += width) step.template operator()<width>(i);
  if constexpr (width >= 8) {
    for (; i + width / 4 <= end; i += width / 4) step.template operator()<width / 4>(i);
  }
  for (; i < end; ++i) step.template operator()<1>(i);
}

// A functor that takes so long to find what it reads that it does so for several registers together.
template <class Functor>
inline constexpr int registers_together = 1;
template <class Functor>
requires(Functor::seeks) inline constexpr int registers_together<Functor> = 4;

// So it is where lines are looked up: most often one index is a whole line's.
template <LooksAcross Functor>
inline constexpr int registers_together<Functor> = 4;

// A functor that takes positions of a line together, however many: line(at, count).
template <class Functor, int R>
concept TakesLines = requires(const Functor& functor, const Index<R>& at) {
  functor.line(at, std::int64_t{});
};

// Of what a functor reads at a position: it does not say.
inline constexpr std::int64_t assumed_bytes = 4;

// Positions of the loop: `lines` of them along axis `across`, from the origin on, and from there `length` along the
// last.
template <int R>
struct Box {
  Index<R> origin;
  int across;
  std::int64_t lines, length;
};

template <int R, class Functor>
KGEN_FN void compute_lines(const Functor& functor, const Box<R>& box) {
  Index<R> line = box.origin;
  for (std::int64_t i = 0; i < box.lines; ++i, ++line[box.across]) {
    if constexpr (LooksAcross<Functor>) {
      if (box.across < R - 1) fetch_looked_up(functor, line, box.across, box.length);
    }
    if constexpr (TakesLines<Functor, R>) {
      functor.line(line, box.length);
    } else {
      const auto step = [&]<int W>(std::int64_t last) KGEN_LAMBDA {
        Index<R> at = line;
        at[R - 1] = last;
        functor.template operator()<W>(at);
      };
      for_each_lane<registers_together<Functor>>(box.origin[R - 1], box.origin[R - 1] + box.length, step);
    }
  }
}

// The functor at every position of a box. Not inlined, so that a stub has it once. Of a copy where it has few Views:
// the compiler knows no store to change them (bytes are read and written in a fourth of the time). Of many it would
// work out more ahead of a line than registers hold: lines of 64 elements of a rope took twice as long.
template <int R, class Functor>
[[gnu::noinline]] void compute_box(const Functor& given, const Box<R>& box) {
  if constexpr (LooksAcross<Functor>) {
    if (looks_up_lines(given)) return compute_lines(seen_in_lines(given), box);
  }
  constexpr bool is_copied = sizeof(Functor) <= 256;
  const std::conditional_t<is_copied, Functor, const Functor&> functor = given;
  compute_lines(functor, box);
}

// body(view, buffer) for each result that is streamed; returns how many bytes the buffers take.
template <int R, class Functor, class Body>
std::int64_t for_each_streamed(Functor& functor, std::byte* buffers, const Body& body) {
  std::int64_t bytes = 0;
  for_each_own_view(functor, [&](auto& view) {
    using V = std::remove_cvref_t<decltype(view)>;
    using T = typename V::element_type;
    if constexpr (V::rank == R && !std::is_const_v<T> && !is_packed<T>) {
      if (!is_streamable<R>(view)) return;
      body(view, reinterpret_cast<T*>(buffers + bytes));
      bytes += sizeof(T) * stretch;
    }
  });
  return bytes;
}

// A box, of whose results a buffer holds each: its lines one after another, `pitch` elements apart.
template <int R, class Functor>
void compute_part_streamed(const Functor& functor, const Box<R>& part, std::int64_t pitch, std::byte* buffers) {
  Index<R> strides{};
  strides[part.across] = pitch;
  strides[R - 1] = 1;
  const std::int64_t first = element_offset(strides, part.origin);
  Functor buffered = functor;
  for_each_streamed<R>(buffered, buffers, [&]<class T>(View<T, R>& view, T* buffer) {
    view = View<T, R>(buffer - first, view.shape(), strides);
  });
  compute_box(buffered, part);
  for_each_streamed<R>(functor, buffers, [&]<class T>(const View<T, R>& view, const T* buffer) {
    T* to = view.data() + element_offset(view.strides(), part.origin);
    for (std::int64_t line = 0; line < part.lines; ++line) {
      stream_bytes(to + line * view.stride(part.across), buffer + line * pitch, sizeof(T) * part.length);
    }
  });
}

// A box whose results are streamed: in parts of a line, or of so many short lines as a buffer holds.
template <int R, class Functor>
void compute_streamed(const Functor& functor, const Box<R>& box, std::byte* buffers) {
  const std::int64_t length = std::min(stretch, box.length), lines = std::max<std::int64_t>(1, stretch / length);
  Box<R> part = box;
  for (std::int64_t line = 0; line < box.lines; line += lines) {
    part.lines = std::min(lines, box.lines - line);
    part.origin[box.across] = box.origin[box.across] + (box.across == R - 1 ? 0 : line);
    for (std::int64_t begin = 0; begin < box.length; begin += length) {
      part.origin[R - 1] = box.origin[R - 1] + begin;
      part.length = std::min(length, box.length - begin);
      compute_part_streamed(functor, part, length, buffers);
    }
  }
}

// How a loop is cut: into pieces of the last axis, so that there are some for each thread, or into whole lines.
template <int R>
struct Pieces {
  std::int64_t piece;
  Index<R> counts;

  Pieces(const Index<R>& shape, int threads) : piece(shape[R - 1]), counts(shape) {
    constexpr std::int64_t unit = 64;
    const std::int64_t inner = shape[R - 1], outer = element_count(shape) / inner;
    if (outer < 4 * threads) piece = std::max(unit, (inner / (4 * threads) + unit - 1) / unit * unit);
    counts[R - 1] = (inner + piece - 1) / piece;
  }
  // The box that begins at a place: one piece, or whole lines along the axis before the last, of which `left` are
  // wanted.
  Box<R> box(const Index<R>& shape, const Index<R>& place, std::int64_t left) const {
    Box<R> box{place, R - 1, 1, 0};
    box.origin[R - 1] *= piece;
    box.length = std::min(piece, shape[R - 1] - box.origin[R - 1]);
    if constexpr (R > 1) {
      if (counts[R - 1] == 1) {
        // Few enough for a stream's owner to hear of what has been read.
        const std::int64_t most = std::max<std::int64_t>(1, 16384 / box.length);
        box.across = R - 2;
        box.lines = std::min({left, most, shape[R - 2] - place[R - 2]});
      }
    }
    return box;
  }
};

template <int R, class Functor>
void elementwise(const Index<R>& shape, const Functor& functor, Stream stream) {
  if constexpr (R == 0) {
    functor.template operator()<1>(shape);
  } else {
    const std::int64_t total = element_count(shape);
    if (total == 0) return;
    const int threads = threads_for(stream, total);
    const Pieces<R> pieces(shape, threads);
    const bool streams = pieces.piece >= least_streamed && streams_results(functor);
    const std::int64_t buffer_bytes = for_each_streamed<R>(functor, nullptr, [](const auto&, auto*) {});

    parallel(threads, [&](Team team) {
      const Range part = team.part(element_count(pieces.counts));
      std::byte* const buffers = streams ? scratch<std::byte>(0, buffer_bytes) : nullptr;
      Reading reading(stream, team);
      for (std::int64_t i = part.begin; i < part.end;) {
        const Box<R> box = pieces.box(shape, unflatten(i, pieces.counts), part.end - i);
        streams ? compute_streamed(functor, box, buffers) : compute_box(functor, box);
        reading.add(box.lines * box.length * assumed_bytes);
        i += box.lines;
      }
      if (streams) finish_streaming();
    });
  }
}

}  // namespace kgen::cpu

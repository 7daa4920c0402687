// Elementwise on a GPU: vectors along the last axis; or tiles of two axes, where operands and results do not run along
// the same one.
#pragma once

#include "kgen/gpu/block.hpp"
#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/tiles.hpp"
#include "kgen/index.hpp"

namespace kgen::gpu {

// One vector for each thread, and a block for each piece: on an H200 faster than threads with several, and than blocks
// that stay. Where a vector is read and one is written, these are 8 KB of a block: it should allow the next kernel.
inline constexpr int elementwise_threads = 256;

// Where so many operands are read from memory, vectors of half the width are 0.2 to 0.6 % faster, measured on an H200;
// with fewer they are 0.5 to 15 % slower.
inline constexpr int reads_of_half_vectors = 3;

// Registers for 1536 threads of a multiprocessor where functors are small, else for 1024: 24 KB of each operand are on
// their way with vectors of 16 bytes, and 24 KB in all hide the latency of an H200's memory.
template <int R, class Functor>
inline constexpr int elementwise_residents = R <= 2 && element_sizes<Functor>().reads <= 3   ? 1536
                                             : R <= 3 && element_sizes<Functor>().reads <= 6 ? 1024
                                                                                             : 512;

// True where a View is the same along some axis of a shape of R.
template <int R, class View>
bool repeats(const View& view) {
  bool found = View::rank < R;
  for (int axis = 0; axis < View::rank; ++axis) found = found || (view.stride(axis) == 0 && view.extent(axis) > 1);
  return found;
}

// The bytes that are read and written for a position of a shape of R, without what the caches have from another.
template <int R, class Functor>
std::int64_t moved_bytes(const Functor& functor) {
  std::int64_t bytes = 0;
  for_each_view(functor, [&](const auto& view) {
    using View = std::remove_cvref_t<decltype(view)>;
    if (!repeats<R>(view)) bytes += sizeof(typename View::element_type);
  });
  return bytes;
}

// A box of the whole shape whose lines are whole vectors of W lanes, of which there are fewer than 2^31.
template <int R>
struct Box {
  Index<R> origin;
  std::uint32_t vectors;
  bool allows_next;
  Positions<R> positions;
};

template <int W, Lanes Form, int R, class Functor>
KGEN_FN void apply_vector(const Functor& functor, const Box<R>& box, std::uint32_t number) {
  Index<R> at = box.positions(number);
  at[R - 1] *= W;
  if constexpr (Form == Lanes::any) {  // else the box is the whole, and positions remain 32 bits to the compiler
    KGEN_UNROLL
    for (int axis = 0; axis < R; ++axis) at[axis] += box.origin[axis];
  }
  functor.template operator()<W>(at);
}

template <int W, Lanes Form, int Threads, int R, class Functor>
KGEN_GLOBAL(Threads, (elementwise_residents<R, Functor> / Threads))
elementwise_kernel(Functor given, Box<R> box) {
  take_turn(box.allows_next);
  const auto number = static_cast<std::uint32_t>(block_index() * Threads + thread_index());
  if (number >= box.vectors) return;
  const Functor functor = known<Form>(given);
  apply_vector<W, Form>(functor, box, number);
}

template <int W, Lanes Form, int Threads, int R, class Functor>
void launch_elementwise(const Box<R>& box, const Functor& functor, Stream stream) {
  const Grid grid{"elementwise", (box.vectors + std::int64_t{Threads} - 1) / Threads, Threads};
  launch_early(grid, stream, elementwise_kernel<W, Form, Threads, R, Functor>, functor, box);
}

// body(origin, extents) for boxes that make up the given one, each of at most `most` vectors of `width`.
template <int R, class Body>
void for_each_box(const Index<R>& origin, const Index<R>& extents, int width, std::int64_t most, const Body& body,
                  int axis = 0) {
  std::int64_t each = std::max<std::int64_t>(1, extents[R - 1] / width);
  for (int other = 0; other < R - 1; ++other) each *= extents[other];
  if (each <= most) return body(origin, extents);
  const std::int64_t unit = axis == R - 1 ? width : 1;
  const std::int64_t per_unit = std::max<std::int64_t>(1, each / ((extents[axis] + unit - 1) / unit));
  const std::int64_t piece = std::max<std::int64_t>(1, most / per_unit) * unit;
  for (std::int64_t begin = 0; begin < extents[axis]; begin += piece) {
    Index<R> part_origin = origin, part = extents;
    part_origin[axis] += begin;
    part[axis] = std::min(piece, extents[axis] - begin);
    for_each_box(part_origin, part, width, most, body, axis + 1);
  }
}

template <int W, Lanes Form, int Threads = elementwise_threads, int R, class Functor>
void launch_boxes(const Index<R>& origin, const Index<R>& extents, const Functor& functor, Stream stream) {
  const bool allows_next = should_allow_next(Threads * W * moved_bytes<R>(functor));
  const std::int64_t most = std::min((std::int64_t{1} << 30) - 1, most_blocks(Threads) * Threads);
  for_each_box(origin, extents, W, most, [&](const Index<R>& begin, const Index<R>& part) {
    Index<R> counts = part;
    counts[R - 1] /= W;
    const std::int64_t vectors = element_count(counts);
    if (vectors == 0) return;
    const Box<R> box{begin, static_cast<std::uint32_t>(vectors), allows_next, Positions<R>(counts)};
    if constexpr (Form != Lanes::any) {
      if (!(begin == Index<R>{})) {
        return launch_elementwise<W, Lanes::any, Threads>(box, with_access(functor, W), stream);
      }
    }
    launch_elementwise<W, Form, Threads>(box, functor, stream);
  });
}

// The whole shape: vectors of W lanes, then what is left of each line.
template <int W, Lanes Form, int Threads = elementwise_threads, int R, class Functor>
void launch_vectors(const Index<R>& shape, const Functor& functor, Stream stream) {
  Index<R> whole = shape, rest = shape, rest_origin{};
  rest_origin[R - 1] = whole[R - 1] = shape[R - 1] / W * W;
  rest[R - 1] -= whole[R - 1];
  launch_boxes<W, Form, Threads>(Index<R>{}, whole, functor, stream);
  if (rest[R - 1] > 0) launch_boxes<1, Lanes::any>(rest_origin, rest, functor, stream);
}

// What the Views of a functor have in common.
struct CommonLayout {
  bool all_vectors = true;   // every one has_vectors
  bool any_vectors = false;  // every one has_vectors or repeats along the last axis, and some do not repeat
  int whole_reads = 0;       // operands of R axes that repeat along none
};

template <int R, class Functor>
CommonLayout common_layout(const Functor& functor, int width) {
  CommonLayout layout;
  bool fit = true;
  for_each_view(functor, [&](const auto& view) {
    using View = std::remove_cvref_t<decltype(view)>;
    constexpr int rank = View::rank;
    if (std::is_const_v<typename View::element_type> && !repeats<R>(view)) ++layout.whole_reads;
    const bool vectors = has_vectors(view, width), same = rank == 0 || view.strides()[rank - 1] == 0;
    layout.all_vectors = layout.all_vectors && vectors;
    layout.any_vectors = layout.any_vectors || vectors;
    fit = fit && (vectors || same);
  });
  layout.any_vectors = layout.any_vectors && fit;
  return layout;
}

// A functor of a scalar's one position, as one of an axis of extent 1.
template <class Functor>
struct OnOneAxis {
  Functor functor;

  template <int W>
  KGEN_FN void operator()(Index<1>) const {
    functor.template operator()<1>(Index<0>{});
  }
};

template <int R, class Functor>
void elementwise(const Index<R>& shape, const Functor& functor, Stream stream) {
  if constexpr (R == 0) {
    launch_boxes<1, Lanes::any>(Index<1>{}, Index<1>{1}, OnOneAxis<Functor>{functor}, stream);
  } else {
    if (element_count(shape) == 0) return;
    constexpr int width = vector_width<Functor>(), wide = vector_width<Functor>(32, true), half = width / 2;
    if constexpr (wide > width) {
      if (common_layout<R>(functor, wide).all_vectors) {
        return launch_vectors<wide, Lanes::vectors>(shape, functor, stream);
      }
    }
    const CommonLayout layout = common_layout<R>(functor, width);
    if (width > 1 && layout.all_vectors) {
      if constexpr (half > 1 && element_sizes<Functor>().reads >= reads_of_half_vectors) {
        if (layout.whole_reads >= reads_of_half_vectors) {
          return launch_vectors<half, Lanes::vectors, 2 * elementwise_threads>(shape, functor, stream);
        }
      }
      return launch_vectors<width, Lanes::vectors>(shape, functor, stream);
    }
    const Functor adapted = with_access(functor, width);
    if (layout.any_vectors) return launch_vectors<width, Lanes::any>(shape, adapted, stream);
    launch_boxes<1, Lanes::any>(Index<R>{}, shape, adapted, stream);
  }
}

// The same in tiles, where some View lies along another axis than the last; else false, and nothing is done.
template <int R, class Functor>
bool elementwise_in_tiles(const Index<R>& shape, const Functor& functor, Stream stream) {
  if constexpr (R < 2) {
    return false;
  } else {
    const int axis = crossing_axis<R>(functor);
    return axis >= 0 && element_count(shape) != 0 && tiles(shape, axis, functor, stream);
  }
}

}  // namespace kgen::gpu

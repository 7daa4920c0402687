// Elementwise on a GPU: vectors of 16 bytes along the last axis; or tiles of two axes, where operands and results do
// not run along the same one.
#pragma once

#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/tiles.hpp"
#include "kgen/index.hpp"

namespace kgen::gpu {

// One vector for each thread, and a block for each piece: on an H200 faster than threads with several, and than blocks
// that stay.
template <class Functor>
inline constexpr int elementwise_threads = element_sizes<Functor>().reads <= 1 ? 128 : 256;

// Registers for 1536 threads of a multiprocessor where functors are small, else for 1024: 24 KB of each operand are on
// their way, and 24 KB in all hide the latency of an H200's memory.
template <int R, class Functor>
inline constexpr int elementwise_blocks = (R <= 2 && element_sizes<Functor>().reads <= 3   ? 1536
                                           : R <= 3 && element_sizes<Functor>().reads <= 6 ? 1024
                                                                                           : 512) /
                                          elementwise_threads<Functor>;

// A box of the whole shape whose lines are whole vectors of W lanes, of which there are fewer than 2^31.
template <int R>
struct Box {
  Index<R> origin;
  std::uint32_t vectors;
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

template <int W, Lanes Form, int R, class Functor>
KGEN_GLOBAL(elementwise_threads<Functor>, (elementwise_blocks<R, Functor>))
elementwise_kernel(Functor given, Box<R> box) {
  const auto number = static_cast<std::uint32_t>(block_index() * elementwise_threads<Functor> + thread_index());
  if (number >= box.vectors) return;
  const Functor functor = known<Form>(given);
  apply_vector<W, Form>(functor, box, number);
}

template <int W, Lanes Form, int R, class Functor>
void launch_elementwise(const Box<R>& box, const Functor& functor, Stream stream) {
  constexpr int threads = elementwise_threads<Functor>;
  const Grid grid{"elementwise", (box.vectors + std::int64_t{threads} - 1) / threads, threads};
  launch(grid, stream, elementwise_kernel<W, Form, R, Functor>, functor, box);
}

// body(origin, extents) for boxes that make up the given one, each of fewer than 2^30 vectors of `width`.
template <int R, class Body>
void for_each_box(const Index<R>& origin, const Index<R>& extents, int width, int axis, const Body& body) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  std::int64_t each = std::max<std::int64_t>(1, extents[R - 1] / width);
  for (int other = 0; other < R - 1; ++other) each *= extents[other];
  if (each < most) return body(origin, extents);
  const std::int64_t unit = axis == R - 1 ? width : 1;
  const std::int64_t per_unit = std::max<std::int64_t>(1, each / ((extents[axis] + unit - 1) / unit));
  const std::int64_t piece = std::max<std::int64_t>(1, (most - 1) / per_unit) * unit;
  for (std::int64_t begin = 0; begin < extents[axis]; begin += piece) {
    Index<R> part_origin = origin, part = extents;
    part_origin[axis] += begin;
    part[axis] = std::min(piece, extents[axis] - begin);
    for_each_box(part_origin, part, width, axis + 1, body);
  }
}

template <int W, Lanes Form, int R, class Functor>
void launch_boxes(const Index<R>& origin, const Index<R>& extents, const Functor& functor, Stream stream) {
  for_each_box(origin, extents, W, 0, [&](const Index<R>& begin, const Index<R>& part) {
    Index<R> counts = part;
    counts[R - 1] /= W;
    const std::int64_t vectors = element_count(counts);
    if (vectors == 0) return;
    const Box<R> box{begin, static_cast<std::uint32_t>(vectors), Positions<R>(counts)};
    if constexpr (Form != Lanes::any) {
      if (!(begin == Index<R>{})) return launch_elementwise<W, Lanes::any>(box, with_access(functor, W), stream);
    }
    launch_elementwise<W, Form>(box, functor, stream);
  });
}

// The whole shape: vectors of W lanes, then what is left of each line.
template <int W, Lanes Form, int R, class Functor>
void launch_vectors(const Index<R>& shape, const Functor& functor, Stream stream) {
  Index<R> whole = shape, rest = shape, rest_origin{};
  rest_origin[R - 1] = whole[R - 1] = shape[R - 1] / W * W;
  rest[R - 1] -= whole[R - 1];
  launch_boxes<W, Form>(Index<R>{}, whole, functor, stream);
  if (rest[R - 1] > 0) launch_boxes<1, Lanes::any>(rest_origin, rest, functor, stream);
}

// What the Views of a functor have in common.
struct CommonLayout {
  bool all_vectors = true;   // every one has_vectors
  bool any_vectors = false;  // every one has_vectors or repeats along the last axis, and some do not repeat
};

template <class Functor>
CommonLayout common_layout(const Functor& functor, int width) {
  CommonLayout layout;
  bool fit = true;
  for_each_view(functor, [&](const auto& view) {
    constexpr int rank = std::remove_cvref_t<decltype(view)>::rank;
    const bool vectors = has_vectors(view, width), repeats = rank == 0 || view.strides()[rank - 1] == 0;
    layout.all_vectors = layout.all_vectors && vectors;
    layout.any_vectors = layout.any_vectors || vectors;
    fit = fit && (vectors || repeats);
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
    constexpr int width = vector_width<Functor>();
    const CommonLayout layout = common_layout(functor, width);
    if (width > 1 && layout.all_vectors) {
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

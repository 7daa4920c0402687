// Matrix multiplication on tensor cores: which kernel does it.
#pragma once

#include "kgen/gpu/few_rows_matmul.hpp"
#include "kgen/gpu/few_tiles_matmul.hpp"
#include "kgen/gpu/laid_out.hpp"
#include "kgen/gpu/line_matmul.hpp"
#include "kgen/gpu/warpgroup_matmul.hpp"
#include "kgen/gpu/warpgroup_streamed_matmul.hpp"
#include "kgen/known_product.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

namespace detail {
template <class T, bool BDeep, class Known = KnownProduct<>, class A, class B, class C>
bool tensor_core_matmul(const A& a, const B& b, const C& c, WarpgroupMatmulShape<several_count<B>> shape,
                        const DeviceLimits& limits, Stream stream) {
  for_each_of(b, [&](const auto& each) { shape.straddles = shape.straddles || has_straddling_lines(each, BDeep); });
  if (skinny_matmul<T, BDeep, Known>(a, b, c, shape, limits, stream)) return true;
  if constexpr (Known::has_few_rows) {
    return false;
  } else {
    return warpgroup_matmul<T, BDeep>(a, b, c, shape, limits, stream);
  }
}

// Whether device and compiler allow a kernel for tensor cores that such products have anyhow, and so the others.
template <class T, bool BDeep, class Known, int Products, class C>
bool runs_tensor_cores(const DeviceLimits& limits) {
  if constexpr (Known::has_few_rows) {
    using Matmul = SkinnyMatmul<T, few_rows, 2, BDeep>;
    using Launch = SkinnyLaunch<Matmul, EngineTiles<typename Matmul::Tiles, BDeep, Products>, Products, C>;
    return limits.shared_bytes >= Launch::shared_bytes &&
           runs_warpgroups(reinterpret_cast<const void*>(Launch::kernel), Launch::threads);
  } else {
    using Loads = EngineTiles<OperandTiles<T, 128>, BDeep, Products, 1, product_dealing<T, BDeep, C>>;
    return runs_warpgroup_matmul<T, BDeep, Loads, Products, C>(limits);
  }
}

// multiply(a, b, stream) of operands that lie as the copy engine takes them: those that lie otherwise are copied ahead,
// to the stream's memory, unless runs() says that nothing is won by that, or in_place(of_right, bytes), told of how many
// bytes there would be copies, of right operands and in all, has multiplied them as they lie.
template <class T, bool BDeep, class A, class B, class Runs, class InPlace, class Multiply>
bool lay_out_and_multiply(const A& a, const B& b, Stream stream, const Runs& runs, const InPlace& in_place,
                          const Multiply& multiply) {
  const auto fits = [](const View<const T, 2>& view, bool across) {
    return matrix_in_memory(view, across, 1, 1).has_value();
  };
  using Copies = LaidOut<T, 1 + several_count<B>>;
  std::int64_t of_right = 0;
  for_each_of(b, [&](const auto& each) { of_right += fits(each, BDeep) ? 0 : Copies::bytes(each, BDeep); });
  const std::int64_t bytes = of_right + (fits(a, false) ? 0 : Copies::bytes(a, false));
  if (bytes == 0 || !runs()) return multiply(a, b, stream);
  if (in_place(of_right, bytes)) return true;
  const Workspace memory(bytes, stream);
  Copies laid_out(memory.data(), stream);
  const auto engine_takes = [&](bool across) {
    return [&, across]<class E>(const View<E, 2>& view) {
      if (fits(view, across)) return view;
      const View<const T, 2> made = laid_out(view, across);
      return View<E, 2>(const_cast<E*>(made.data()), made.shape(), made.strides());
    };
  };
  const auto left = with_each(a, engine_takes(false));
  const auto right = with_each(b, engine_takes(BDeep));
  laid_out.launch();
  return multiply(left, right, memory.stream());
}

// What a product takes whose operands lie as the copy engine takes them, in ns.
template <class T, bool BDeep, class Known, class A, class B, class C>
std::int64_t engine_time(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                         const DeviceLimits& limits, Stream stream) {
  const auto launch = [&]<int Rows, int Blocks>() {
    return SkinnyProduct<SkinnyMatmul<T, Rows, Blocks, BDeep>, T, BDeep, A, B, C>(a, b, c, shape, limits, stream);
  };
  const std::int64_t small = ShortProduct<T, BDeep, A, B, C>(a, b, c, shape, limits, stream).time();
  if (shape.M <= 16) return std::min(small, launch.template operator()<16, 2>().best().time);
  if constexpr (Known::has_few_rows) {
    return std::numeric_limits<std::int64_t>::max() / 2;
  } else {
    auto deep = launch.template operator()<64, 1>();
    if (shape.M <= 64) return std::min(small, deep.best().time);
    if constexpr (has_wide_tiles<T, A, B, C>) {
      return std::min(small, WideProduct<T, BDeep, A, B, C>(a, b, c, shape, limits, stream).time());
    } else {
      auto most = launch.template operator()<128, 1>();
      const SharedTimes<T, decltype(deep), decltype(most)> times(deep, most);
      return std::min({small, times.least(), times.alone});
    }
  }
}

// Up to 8 rows by right operands whose lines the copy engine takes (Aligned) or not, where that takes less time than
// `most`.
template <class T, bool BDeep, bool Aligned, class A, class B, class C>
bool multiply_few_lines(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                        std::int64_t most, const DeviceLimits& limits, Stream stream) {
  if (!are_few_rows<T, BDeep>(a, b)) return false;
  FewRowsProduct<T, BDeep, Aligned, 8, A, B, C> few(a, b, c, shape, limits, stream);
  if (!few.fits()) return false;
  const SharedDepth shared = few.best();
  return shared.time < most && few(shared);
}

// The best way for one row, and that way where it takes no more than `most`.
template <class T, bool BDeep, class A, class B, class C, class Shape>
VectorWay vector_way(const A& a, const B& b, const C& c, const Shape& shape, const DeviceLimits& limits,
                     Stream stream) {
  if constexpr (has_more_tiles<T, A, B, C>) {
    const VectorProduct<T, BDeep, A, B, C> product(a, b, c, shape, limits, stream);
    if (product.fits()) return product.best();
  }
  return {};
}
template <class T, bool BDeep, class A, class B, class C, class Shape>
bool multiply_vector(const A& a, const B& b, const C& c, const Shape& shape, const VectorWay& way, std::int64_t most,
                     const DeviceLimits& limits, Stream stream) {
  if constexpr (has_more_tiles<T, A, B, C>) {
    return way.blocks > 0 && way.time <= most && VectorProduct<T, BDeep, A, B, C>(a, b, c, shape, limits, stream)(way);
  } else {
    return false;
  }
}

// Multiplies operands as they lie, of which copies would have so many bytes, of right ones and in all, where that takes
// less time than copying them: one row or up to 8 straight from memory, or in tiles that waves multiply.
template <class T, bool BDeep, class Known, class A, class B, class C>
bool multiply_lines(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                    std::int64_t of_right, std::int64_t bytes, const DeviceLimits& limits, Stream stream) {
#if defined(KGEN_SIMT)
  if (!simt::device().small_tiles) return of_right > 0 && few_rows_matmul<T, BDeep>(a, b, c, shape, limits, stream);
#endif
  Stream rest = stream;
  rest.workspace = nullptr;  // where the copies are
  std::int64_t least = engine_time<T, BDeep, Known>(a, b, c, shape, limits, rest) + copied_time(bytes);
  const auto multiply = [&]<bool Words>() {
    LineProduct<T, BDeep, Words, A, B, C> lines(a, b, c, shape, limits, stream);
    const auto few = [&]<bool Aligned>() {
      return multiply_few_lines<T, BDeep, Aligned>(a, b, c, shape, least, limits, stream);
    };
    const VectorWay one_row = vector_way<T, BDeep>(a, b, c, shape, limits, stream);
    const bool pays = lines.time() < std::min(least, one_row.time);
    least = std::min({least, lines.time(), one_row.time});
    // Lines across the depth may come as whole vectors beside a left operand that lies anywhere.
    constexpr bool has_aligned = !BDeep && several_count<B> == 1;
    if constexpr (has_aligned) {
      if (of_right == 0 && few.template operator()<true>()) return true;
    }
    if ((!has_aligned || of_right > 0) && few.template operator()<false>()) return true;
    if (pays) lines();
    return pays || multiply_vector<T, BDeep>(a, b, c, shape, one_row, least, limits, stream);
  };
  if constexpr (has_line_matmul<T, A, B, C>) {
    return has_words<T, BDeep>(a, b) ? multiply.template operator()<true>() : multiply.template operator()<false>();
  } else {
    return multiply_few_lines<T, BDeep, false>(a, b, c, shape, least, limits, stream);
  }
}

// The same, of operands that lie anywhere: where the copy engine does not take one, few rows are multiplied by right
// operands as they lie, and other products as they lie, where that takes less time than copies; all else is copied to
// where it does. Brought through registers, tiles of 128 rows take longer at any size (tests/bench/MATMUL_KERNELS.md).
template <class T, bool BDeep, class Known, class A, class B, class C>
bool lay_out_and_multiply(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                          Stream stream) {
  const DeviceLimits limits = device_limits(stream);
  return lay_out_and_multiply<T, BDeep>(
      a, b, stream, [&] { return runs_tensor_cores<T, BDeep, Known, several_count<B>, C>(limits); },
      [&](std::int64_t of_right, std::int64_t bytes) {
        if constexpr (deep_only<T> || Known::is_in_vectors)
          return false;
        else
          return multiply_lines<T, BDeep, Known>(a, b, c, shape, of_right, bytes, limits, stream);
      },
      [&](const auto& left, const auto& right, Stream rest) {
        return tensor_core_matmul<T, BDeep, Known>(left, right, c, shape, limits, rest);
      });
}

// A call's products as all ways to them have them; whether places and tiles can be counted, in 32 bits; and whether the
// lines of all right operands are along the depth, or across it.
template <class B>
struct AskedProducts {
  WarpgroupMatmulShape<several_count<B>> shape;
  bool fits, deep = true, across = true;

  template <class A, class C>
  AskedProducts(const A& a, const B& b, const C& c, int columns)
      : shape{a.shape()[0], a.shape()[1], {}, 0, emitted_lanes(c)} {
    constexpr std::int64_t most = 1 << 30;
    shape.columns_asked = columns;
    fits = shape.M > 0 && shape.M < most && shape.K > 0 && shape.K < most;
    int product = 0;
    std::int64_t tiles = 0;
    for_each_of(b, [&](const auto& each) {
      const std::int64_t N = shape.N[product++] = each.extent(1);
      fits = fits && N > 0 && N < most;
      deep = deep && each.stride(0) == 1 && (N == 1 || each.stride(1) != 1);
      across = across && each.stride(1) == 1;
      tiles += (shape.M + 127) / 128 * ((N + 63) / 64);
    });
    fits = fits && tiles < most;
  }
};
}  // namespace detail

// c = a * b for each of b: false where device or compiler do not allow it.
// columns: of a tile of more than 64 rows; 0: what the sizes suggest.
template <class T, class Known = KnownProduct<>, class A, class B, class C>
bool tensor_core_matmul(const A& a, const B& b, const C& c, Stream stream, int columns = 0) {
  const detail::AskedProducts<B> asked(a, b, c, columns);
  const auto& shape = asked.shape;
  const bool deep = asked.deep;
  if (!asked.fits) return false;
  if constexpr (std::is_same_v<T, float>) {  // else right operands would be turned ahead
    if (asked.across && few_rows_matmul<T, false>(a, b, c, shape, device_limits(stream), stream)) return true;
  }
  return with_depth<T, Known>(deep, [&]<bool Deep>() {
    return detail::lay_out_and_multiply<T, Deep, Known>(a, b, c, shape, stream);
  });
}

// The same of floats whose sums keep all of their mantissa: of few rows, with right operands whose lines are across the
// depth.
template <class A, class B, class C>
inline constexpr bool has_float_matmul =
    is_memory_of<float, A>&& is_memory_of<float, B>&& most_together<C, several_count<B>> <= 2;
template <class A, class B, class C>
bool float_matmul(const A& a, const B& b, const C& c, Stream stream) {
  const detail::AskedProducts<B> asked(a, b, c, 0);
  return asked.fits && asked.across &&
         few_rows_matmul<float, false>(a, b, c, asked.shape, device_limits(stream), stream);
}

}  // namespace kgen::gpu

#endif

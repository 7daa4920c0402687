// Which kernel multiplies few rows, or results of few tiles, of operands that lie as the copy engine takes them.
#pragma once

#include <limits>

#include "kgen/gpu/few_rows_matmul.hpp"
#include "kgen/gpu/small_matmul.hpp"
#include "kgen/gpu/split_matmul.hpp"
#include "kgen/gpu/square_matmul.hpp"
#include "kgen/gpu/vector_matmul.hpp"
#include "kgen/gpu/wide_matmul.hpp"
#include "kgen/known_product.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Of which products there are squares, wide tiles, and one row and few straight from memory: sinks stand in each of
// these kernels once more, and must be short.
template <class T, class A, class B, class C>
inline constexpr bool has_more_tiles = sizeof(T) == 2 && has_small_tiles<T, A, B, C> && several_count<B> == 1;

// And those whose few tiles are wide ones, if they are not small. The executor's tests launch these themselves.
template <class T, class A, class B, class C>
#if defined(KGEN_SIMT)
inline constexpr bool has_wide_tiles = false;
#else
inline constexpr bool has_wide_tiles = has_more_tiles<T, A, B, C>;
#endif

// The kernels for what is over soon, of one call: small tiles of waves, squares whose depth clusters share or any
// number of blocks, and one row or up to 8 straight from memory.
template <class T, bool BDeep, class A, class B, class C>
class ShortProduct {
  static constexpr bool has_others = has_more_tiles<T, A, B, C>;
  using Square = SkinnyProduct<SquareMatmul<T, BDeep>, T, BDeep, A, B, C>;
  using Split = SplitProduct<SquareMatmul<T, BDeep>, T, BDeep, A, B, C>;
  using Few = FewRowsProduct<T, BDeep, true, 8, A, B, C>;
  using Vector = VectorProduct<T, BDeep, A, B, C>;
  using Shape = WarpgroupMatmulShape<several_count<B>>;

 public:
  ShortProduct(const A& a, const B& b, const C& c, const Shape& shape, const DeviceLimits& limits, Stream stream)
      : a_(a),
        b_(b),
        c_(c),
        shape_(shape),
        limits_(limits),
        stream_(stream),
        waves_(a, b, c, shape, limits, stream),
        time_(waves_.time()) {
#if defined(KGEN_SIMT)
    if (!simt::device().small_tiles) return;
#endif
    if constexpr (has_others) {
      if (shape.columns_asked != 0) return;
      consider<Square>(square_);
      if (shape.M > 64) consider<Split>(split_);  // of fewer rows it was not timed
      if (!are_few_rows<T, BDeep>(a, b) || !are_aligned()) return;
      consider<Few>(few_);
      consider<Vector>(vector_);
    }
  }

  // What it takes, in ns.
  std::int64_t time() const { return time_; }
  // False where the device does not allow it.
  bool operator()() const {
    if constexpr (has_others) {
      if (vector_.blocks > 0 && vector_.time == time_) return launch<Vector>()(vector_);
      if (few_.time == time_) return launch<Few>()(few_);
      if (square_.time == time_) return launch<Square>()(square_);
      if (split_.time == time_) return launch<Split>()(split_);
    }
    return waves_();
  }

 private:
  static constexpr SharedDepth none{0, 0, 0, std::numeric_limits<std::int64_t>::max()};

  // As all operands are here, but on devices for whose sake none was copied.
  bool are_aligned() const {
    bool aligned = matrix_in_memory(a_, false, 1, 1).has_value();
    for_each_of(b_, [&](const auto& each) { aligned = aligned && matrix_in_memory(each, BDeep, 1, 1).has_value(); });
    return aligned;
  }
  template <class Launch>
  Launch launch() const {
    return Launch(a_, b_, c_, shape_, limits_, stream_);
  }
  template <class Launch, class Way>
  void consider(Way& found) {
    const Launch way = launch<Launch>();
    if (way.fits()) found = way.best();
    time_ = std::min(time_, found.time);
  }

  const A& a_;
  const B& b_;
  const C& c_;
  const Shape& shape_;
  const DeviceLimits& limits_;
  Stream stream_;
  SmallLaunch<T, BDeep, A, B, C> waves_;
  SharedDepth square_ = none, split_ = none, few_ = none;
  VectorWay vector_;
  std::int64_t time_;
};

// A call's tiles that fill all multiprocessors, round after round, and the rest of them, whose depth blocks share in a
// launch behind: else most of the multiprocessors have nothing to do in the last round.
template <class Launch>
struct SharedTail {
  Launch rest;
  WarpgroupMatmulShape<Launch::products> whole;
  SharedDepth shared{};
  int columns = 0;  // of a tile
  std::int64_t time;

  // most: the launch of the rest. It pays where it takes less than `alone`.
  SharedTail(const Launch& most, std::int64_t alone) : rest(most), whole(most.shape), time(alone) {
    constexpr int saved = 850;  // ns, which a launch takes less behind another
    const int multiprocessors = most.limits.multiprocessors;
    for (const TileTime& each : tile_times) {
      const int tiles = whole.count_tiles(most.c, each.columns), rounds = tiles / multiprocessors;
      const int parts = each.columns / Launch::columns, left = tiles % multiprocessors;
      if (each.columns % Launch::columns != 0 || rounds == 0 || left == 0) continue;
      const double share = static_cast<double>(left) / tiles;
      const SharedDepth found = most.best(left * parts, share);
      const std::int64_t own = each.time(rounds, most.steps(), whole, 1 - share) + found.time - saved;
      if (own >= time || found.rounds > 1) continue;
      shared = found;
      columns = each.columns;
      whole.most_tiles = rest.shape.first_tile = tiles - left;
      rest.shape.parts = parts;
      time = own;
    }
  }
  template <class T, bool BDeep>
  bool launch() {
    const auto behind = [&](bool launched) { return launched && rest(shared); };
    if (columns == 256)
      return behind(launch_by_engine<T, 256, BDeep>(rest.a, rest.b, rest.c, whole, rest.limits, rest.stream));
    return behind(launch_by_engine<T, 128, BDeep>(rest.a, rest.b, rest.c, whole, rest.limits, rest.stream));
  }
};

// What a call of more than 64 rows takes by wide tiles in one round of them, whose depth blocks may share in clusters
// or through memory, or by those of SharedTail, and by tiles that no blocks share.
template <class T, bool BDeep, class A, class B, class C>
class WideProduct {
  template <class Matmul>
  using Launch = SkinnyProduct<Matmul, T, BDeep, A, B, C>;
  template <int Rows>
  using Split = SplitProduct<WideMatmul<T, Rows, 128, BDeep>, T, BDeep, A, B, C>;
  using Most = Launch<SkinnyMatmul<T, 128, 1, BDeep>>;
  using Shape = WarpgroupMatmulShape<several_count<B>>;

 public:
  WideProduct(const A& a, const B& b, const C& c, const Shape& shape, const DeviceLimits& limits, Stream stream)
      : few_rows_(a, b, c, shape, limits, stream),
        few_columns_(a, b, c, shape, limits, stream),
        square_(a, b, c, shape, limits, stream),
        split_few_rows_(a, b, c, shape, limits, stream),
        split_(a, b, c, shape, limits, stream),
        most_(a, b, c, shape, limits, stream),
        tail_(most_, best_tiles_of<T, 1>(shape, limits).time) {
    consider<1>(few_rows_);
    consider<1>(few_columns_);
    consider<1>(square_);
    consider<2>(split_few_rows_);
    consider<2>(split_);
    consider<2>(most_);  // of which sums that nobody shares would take longer to the sink
  }
  WideProduct(const WideProduct&) = delete;
  WideProduct& operator=(const WideProduct&) = delete;

  // The least of all, in ns.
  std::int64_t time() const { return std::min(best_.time, tail_.time); }
  // By these or by small tiles: false where tiles that no blocks share take less time, or the device does not allow it.
  template <class Small>
  bool multiply(const Small& small) {
    if (small.time() < time() && small()) return true;
    if (best_.time >= tail_.time) return tail_.columns != 0 && tail_.template launch<T, BDeep>();
    return launch(few_rows_) || launch(few_columns_) || launch(square_) || launch(split_few_rows_) || launch(split_) ||
           launch(most_);
  }

 private:
  template <int LeastBlocks, class Way>
  void consider(const Way& way) {
    if (!way.fits()) return;
    const SharedDepth shared = way.best();
    if (shared.rounds > 1 || shared.blocks < LeastBlocks || shared.time >= best_.time) return;
    best_ = shared;
    chosen_ = &way;
  }
  template <class Way>
  bool launch(Way& way) {
    return chosen_ == &way && way(best_);
  }

  Launch<WideMatmul<T, 64, 128, BDeep>> few_rows_;
  Launch<WideMatmul<T, 192, 128, BDeep>> few_columns_;
  Launch<WideMatmul<T, 192, 192, BDeep>> square_;
  Split<64> split_few_rows_;
  Split<128> split_;
  Most most_;
  SharedTail<Most> tail_;
  SharedDepth best_{0, 0, 0, std::numeric_limits<std::int64_t>::max()};
  const void* chosen_ = nullptr;  // the best of these
};

// What blocks that share the depth of tiles take for a product of more than 64 rows, and what tiles take that none
// share.
template <class T, class Deep, class Most>
struct SharedTimes {
  SharedDepth of_64, of_128;
  std::int64_t alone;
  SharedTail<Most> tail;

  SharedTimes(Deep& deep, Most& most)
      : of_64(deep.best()), of_128(most.best()), alone(time_alone(most)), tail(most, alone) {
    constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
    if (of_64.rounds > 1) of_64.time = never;
    // Tiles of 128 rows that nobody shares are better off where their sums go from registers to the sink.
    if (of_128.rounds > 1 || of_128.blocks == 1) of_128.time = never;
  }
  std::int64_t shared() const { return std::min(of_64.time, of_128.time); }
  std::int64_t least() const { return std::min(shared(), tail.time); }

 private:
  static std::int64_t time_alone(const Most& most) {
    constexpr int together = most_together<std::remove_cvref_t<decltype(most.c)>, Most::products>;
    return best_tiles_of<T, together>(most.shape, most.limits).time;
  }
};

// c = a * b for each of b, where a has more than 64 rows and c few tiles, in one round of them or in its last, or small
// ones: false where that takes longer than tiles that no blocks share.
template <class T, bool BDeep, class Deep, class Most, class Small>
bool few_tiles_matmul(Deep deep, Most most, const Small& small) {
  SharedTimes<T, Deep, Most> times(deep, most);
  const std::int64_t alone = times.alone, least = times.least();
  if (small.time() < std::min({times.shared() - begins_early, times.tail.time, alone}) && small()) return true;
  if (least >= alone) return false;
  if (least == times.of_64.time) return deep(times.of_64);
  if (least == times.of_128.time) return most(times.of_128);
  return times.tail.template launch<T, BDeep>();
}

// c = a * b for each of b, where a has few rows or c has few tiles for the depth: false where that is not so, or where
// device, compiler or where operands lie do not allow it.
template <class T, bool BDeep, class Known = KnownProduct<>, class A, class B, class C>
bool skinny_matmul(const A& a, const B& b, const C& c, const WarpgroupMatmulShape<several_count<B>>& shape,
                   const DeviceLimits& limits, Stream stream) {
  const auto launch = [&]<int Rows, int Blocks>() {
    return SkinnyProduct<SkinnyMatmul<T, Rows, Blocks, BDeep>, T, BDeep, A, B, C>(a, b, c, shape, limits, stream);
  };
  auto few = launch.template operator()<16, 2>();
  if (!few.fits()) return false;
  const ShortProduct<T, BDeep, A, B, C> small(a, b, c, shape, limits, stream);
  const auto shortest = [&](auto& most) {
    const SharedDepth shared = most.best();
    return (small.time() < shared.time - begins_early && small()) || most(shared);
  };
  if (shape.M <= 16) return shortest(few);
  if constexpr (Known::has_few_rows) {
    return false;
  } else {
    if (shape.M > 64 && shape.columns_asked != 0) return false;
    auto deep = launch.template operator()<64, 1>();  // of more stages
    if (!deep.fits()) return false;
    if constexpr (has_wide_tiles<T, A, B, C>) {
      if (shape.M > 64) return WideProduct<T, BDeep, A, B, C>(a, b, c, shape, limits, stream).multiply(small);
    } else {
      auto most = launch.template operator()<128, 1>();
      if (!most.fits()) return false;
      if (shape.M > 64) return few_tiles_matmul<T, BDeep>(deep, most, small);
    }
    if (deep.best().tiles <= limits.multiprocessors) return shortest(deep);
    auto wide = launch.template operator()<64, 2>();  // for more tiles than multiprocessors
    return wide(wide.best());
  }
}

}  // namespace kgen::gpu

#endif

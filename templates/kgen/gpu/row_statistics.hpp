// Row statistics (kgen/row_statistics.hpp) of a matrix that tiles are stored of: each tile leaves a number of each of
// its rows in memory, and a launch behind combines them, tile after tile, so that no order of the blocks shows.
#pragma once

#include "kgen/gpu/emit_sums.hpp"
#include "kgen/gpu/launch.hpp"
#include "kgen/gpu/team.hpp"
#include "kgen/ops/conversion.hpp"
#include "kgen/row_expression.hpp"
#include "kgen/row_statistics.hpp"

namespace kgen::gpu {

// A sink of a kernel's tiles, which makes numbers of their rows.
template <class S, class Program>
struct TileStatistics {
  S sink;
  Program program;
  float* partials;    // [tiles across, rows]
  std::int64_t rows;  // of the matrix

  template <class... Lanes>
  KGEN_FN auto operator()(const Index<2>& at, const Lanes&... lanes) const {
    return WithStatistics<const S&, const Program&>{sink, program}(at, lanes...);
  }
};

template <class C>
inline constexpr bool makes_statistics = false;
template <class S, class Program>
inline constexpr bool makes_statistics<TileStatistics<S, Program>> = true;

// A Row of a program of which only the reduction counts, of the W lanes that its `load` gives: body.template
// operator()<Reduction>(lanes).
template <int W, class Body>
class ReducedLanes {
 public:
  KGEN_FN ReducedLanes(Index<2> at, const Vec<float, W>& lanes, const Body& body)
      : at_(at), lanes_(lanes), body_(body) {}

  // As memory has them.
  template <class T>
  KGEN_FN auto load(const View<T, 2>&) const {
    return Cast<std::remove_const_t<T>>::apply(lanes_);
  }
  template <class Functor, class... A>
  KGEN_FN auto map(const Functor& functor, const A&... operands) const {
    return functor.apply(operands...);
  }
  template <class A>
  KGEN_FN A keep(const A& row) const {
    return row;
  }
  template <class Reduction, class A>
  KGEN_FN float reduce(const Reduction&, const A& row) const {
    static_assert(
        Converting<Reduction, float, W>,
        "a kernel combines parts of rows that are numbers, and this reduction's are more: forbid the graph to "
        "compute it together with the product");
    body_.template operator()<Reduction>(convert<float>(row));
    return 0;  // what is made of it is not used
  }
  template <class T, class A>
  KGEN_FN void store(const View<T, 2>& view, const A& row) const {
    view.store(at_, row);
  }
  template <class T, class A>
  KGEN_FN void store_scalar(const View<T, 2>&, const A&) const {}

 private:
  Index<2> at_;
  const Vec<float, W>& lanes_;
  const Body& body_;
};

// What a program's reduction makes of the lanes of a row, piece by piece, and of what the threads of a quad have.
template <class Program>
class PartOfRow {
 public:
  KGEN_FN explicit PartOfRow(const Program& program) : program_(program) {
    run(Vec<float, 1>(0),
        [&]<class Reduction>(const auto&) KGEN_LAMBDA { part_ = Reduction::template identity<float, 1>(); });
  }
  template <int W>
  KGEN_FN void add(Index<2> at, const Vec<float, W>& lanes) {
    const auto body = [&]<class Reduction>(const Vec<float, W>& mapped) KGEN_LAMBDA {
      part_ = Reduction::combine(part_, collapse<Reduction, W>(partial_of<Reduction>(mapped)));
    };
    run(lanes, body, at);
  }
  KGEN_FN float of_quad() {
    run(Vec<float, 1>(0), [&]<class Reduction>(const auto&) KGEN_LAMBDA {
      KGEN_UNROLL
      for (int distance = 1; distance <= 2; distance *= 2) {
        part_ = Reduction::combine(part_, shuffle_xor(part_, distance, wave_size, Where::here()));
      }
    });
    return part_.data;
  }

 private:
  template <int W, class Body>
  KGEN_FN void run(const Vec<float, W>& lanes, const Body& body, Index<2> at = {}) const {
    ReducedLanes<W, Body> row(at, lanes, body);
    program_(row);
  }

  const Program& program_;
  Vec<float, 1> part_;
};

// Gives the sink what a warpgroup has of `Count` products, whole vectors of 8 lanes at a time, and leaves what is made
// of each row. End: inside, or vectors.
template <class Layout, TileEnd End, class Sums, int Count, class S, class Program>
KGEN_FN void emit_with_statistics(const Sums (&sums)[Count], const TileStatistics<S, Program>& c, Index<2> origin,
                                  Index<2> extents) {
  using Steps = SumsInSteps<Layout, std::remove_all_extents_t<Sums>, Count>;
  static_assert(Layout::is_of_quads);
  const Steps steps{origin, extents};
  const auto whole = known<Lanes::constant_whole_vectors>(c.sink);
  const WithStatistics<const decltype(whole)&, const Program&> sink{whole, c.program};
  KGEN_UNROLL
  for (int first = 0; first < Layout::steps; first += Layout::of_row) {
    if (End != TileEnd::inside && !steps.has_rows(first)) continue;
    PartOfRow<Program> part(c.program);
    KGEN_UNROLL
    for (int step = first; step < first + Layout::of_row; ++step) {
      typename Steps::Lanes own;
      KGEN_UNROLL
      for (int product = 0; product < Count; ++product) {
        KGEN_UNROLL
        for (int lane = 0; lane < Steps::lanes; ++lane) own[product][lane] = Layout::sum(sums[product], step, lane);
      }
      Steps::gather(own);
      const Index<2> at = steps.position(step);
      if (End != TileEnd::inside && (at[0] >= extents[0] || at[1] >= extents[1])) continue;
      [&]<int... I>(std::integer_sequence<int, I...>) KGEN_LAMBDA {
        part.add(at, sink(at, load_lanes<Steps::lanes>(own[I])...));
      }
      (Steps::products);
    }
    const float of_row = part.of_quad();
    const std::int64_t row = steps.position(first)[0];
    if (thread_index() % 4 == 0 && (End == TileEnd::inside || row < extents[0])) {
      c.partials[origin[1] / Layout::columns * c.rows + row] = of_row;
    }
  }
}
template <class Layout, class Sums, int Count, class C>
KGEN_FN void emit_with_statistics(const Sums (&sums)[Count], const C& c, Index<2> origin, Index<2> extents) {
  if (origin[0] + Layout::rows <= extents[0] && origin[1] + Layout::columns <= extents[1]) {
    emit_with_statistics<Layout, TileEnd::inside>(sums, c, origin, extents);
  } else {
    emit_with_statistics<Layout, TileEnd::vectors>(sums, c, origin, extents);
  }
}

// A Row whose reduction is what the tiles left of it.
class FinishedRow {
 public:
  struct Lanes {};  // of the row, which nothing reads again

  KGEN_FN FinishedRow(const float* partials, int tiles, std::int64_t rows, std::int64_t columns, std::int64_t row)
      : partials_(partials + row), tiles_(tiles), rows_(rows), columns_(columns), at_{row, 0} {}

  template <class T>
  KGEN_FN Lanes load(const View<T, 2>&) const {
    return {};
  }
  template <class Functor, class... A>
  KGEN_FN auto map(const Functor& functor, const A&... operands) const {
    if constexpr ((std::is_same_v<A, Lanes> || ...)) {
      return Lanes{};
    } else {
      return functor.apply(operands...);
    }
  }
  template <class A>
  KGEN_FN A keep(const A& row) const {
    return row;
  }
  template <class Reduction>
  KGEN_FN auto reduce(const Reduction&, Lanes) const {
    auto total = Reduction::template identity<float, 1>();
    KGEN_UNROLL_LOADS(8)
    for (int tile = 0; tile < tiles_; ++tile) {
      total = Reduction::combine(total, Vec<float, 1>(partials_[tile * rows_]));
    }
    return Reduction::finish(total, columns_);
  }
  template <class T, class A>
  KGEN_FN void store(const View<T, 2>&, const A&) const {}
  template <class T, Scalar A>
  KGEN_FN void store_scalar(const View<T, 2>& view, A scalar) const {
    view.store(at_, Vec<A, 1>(scalar));
  }

 private:
  const float* partials_;
  int tiles_;
  std::int64_t rows_, columns_;
  Index<2> at_;
};

inline constexpr int finishing_threads = 128;  // each has a row

template <class Program>
KGEN_GLOBAL(finishing_threads, 1)
finish_statistics_kernel(Program program, const float* partials, int tiles, std::int64_t rows, std::int64_t columns) {
  take_turn();
  const std::int64_t number = block_index() * finishing_threads + thread_index();
  if (number >= rows) return;
  FinishedRow row(partials, tiles, rows, columns, number);
  program(row);
}

template <class Program>
void finish_statistics(const Program& program, const float* partials, int tiles, Stream stream) {
  const Index<2> shape = program.shape();
  const Grid grid{"finish_statistics", (shape[0] + finishing_threads - 1) / finishing_threads, finishing_threads};
  launch_early(grid, stream, finish_statistics_kernel<Program>, program, partials, tiles, shape[0], shape[1]);
}

}  // namespace kgen::gpu

// How tiles of a matrix product's operands come to shared memory, where waves read them (TileLayout): memory, whose
// lines are whole vectors, by asynchronous copies where there are such; anything else through registers, with what a
// prologue makes of it.
#pragma once

#include "kgen/batch.hpp"
#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/tile_op.hpp"
#include "kgen/several.hpp"

namespace kgen::gpu {

// An operand as the tiles of a block want it: element (line, along) where its tiles lie in such lines.
template <class S>
struct TileSource {
  const S& source;
  std::int64_t first, extent;  // of its rows or columns: where this block's begin, and how many there are
  std::int64_t K;
  bool across;               // neighbours in memory are in neighbouring lines
  Lanes lanes = Lanes::any;  // of what it reads, where a launch has looked
};

// Whether what a launch has seen of its Views may be written into a copy of it.
template <class S>
inline constexpr bool may_be_known = true;
template <int R, class S>
inline constexpr bool may_be_known<MatrixOf<R, S>> = false;

// Brings tile after tile of an operand, Layout's, to element `Place` of a stage, from `After` of the stage's depth on:
// together all Threads of a block.
template <class T, class Layout, int Place, int After, int Threads, class S>
class TileLoad {
  static constexpr int lanes = Layout::lanes, all = Layout::elements / lanes, of_thread = all / Threads;
  static_assert(all % Threads == 0);

 public:
  static constexpr bool copies = has_mma && is_memory_of<T, S>;
  KGEN_FN explicit TileLoad(const TileSource<S>& from) : from_(from) {
    if constexpr (copies) find_pieces();
  }

  // Whether all pieces of all tiles are there or not, and none in part, and load without a branch.
  static constexpr bool always_whole = copies;
  KGEN_FN bool is_whole() const {
    const Index<2> all = extents();
    return copies || (may_be_known<S> && from_.lanes == Lanes::constant_whole_vectors && all[0] > 0 && all[1] > 0 &&
                      all[1] % lanes == 0);
  }

  // Whether copies need not look where the rows or columns end.
  KGEN_FN bool ends_in_pieces() const { return Layout::deep || from_.extent % lanes == 0; }
  // The same of a depth that is all there, where all operands' tiles are copied and end in pieces.
  template <class Stage>
  KGEN_FN void copy_whole(Stage& stage, std::int64_t k) const {
    copy<true>(stage.elements + Place, k);
  }
  // Begins to bring the depth from k on; end() of the same stage puts in place what comes through registers. Whole: as
  // is_whole() says. Then nothing stands between what loads and what is multiplied meanwhile.
  template <bool Whole, class Stage>
  KGEN_FN void begin(Stage& stage, std::int64_t k) {
    k_ = k + After;
    if constexpr (copies) {
      copy<false>(stage.elements + Place, k);
    } else if constexpr (Whole && may_be_known<S>) {
      hold(known<Lanes::constant_whole_vectors>(from_.source));
    } else if (has_whole_pieces()) {
      hold(from_.source);
    } else {
      load_in_turn(stage.elements + Place);
    }
  }
  template <bool Whole, class Stage>
  KGEN_FN void end(Stage& stage) {
    if constexpr (!copies) {
      if (!Whole && !has_whole_pieces()) return;
      KGEN_UNROLL
      for (int i = 0; i < of_thread; ++i) store_shared(stage.elements + Place + place(i), held_[i]);
    }
  }

 private:
  struct Piece {
    int line, number;
  };
  // Neighbouring threads have pieces that are neighbours in memory.
  KGEN_FN Piece piece(int i) const {
    const int own = thread_index() + i * Threads;
    if (!copies && from_.across) return {own % Layout::lines, own / Layout::lines};
    constexpr int step = Threads / Layout::pieces;
    return {thread_index() / Layout::pieces + i * step, thread_index() % Layout::pieces};
  }
  KGEN_FN int place(int i) const {
    const Piece own = piece(i);
    return Layout::piece(own.line, own.number);
  }
  KGEN_FN Index<2> position(int i) const {
    const Piece own = piece(i);
    return Layout::deep ? Index<2>{from_.first + own.line, k_ + own.number * lanes}
                        : Index<2>{k_ + own.line, from_.first + own.number * lanes};
  }
  KGEN_FN Index<2> extents() const {
    return Layout::deep ? Index<2>{from_.extent, from_.K} : Index<2>{from_.K, from_.extent};
  }
  // How many of the elements from there on there are.
  KGEN_FN int count(Index<2> at) const {
    const std::int64_t left = at[0] < extents()[0] ? extents()[1] - at[1] : 0;
    return left < 0 ? 0 : left < lanes ? static_cast<int>(left) : lanes;
  }
  // Whether each piece of this tile is there or not.
  KGEN_FN bool has_whole_pieces() const {
    constexpr int width = Layout::pieces * lanes;
    const std::int64_t length = extents()[1], begin = Layout::deep ? k_ : from_.first;
    return extents()[0] > 0 && length >= lanes && (length % lanes == 0 || begin + width <= length);
  }
  // The position, or where that has no whole piece another that has one.
  KGEN_FN Index<2> nearest(Index<2> at) const {
    const std::int64_t line = extents()[0] - 1, along = extents()[1] / lanes * lanes - lanes;
    return {at[0] < line ? at[0] : line, at[1] < along ? at[1] : along};
  }

  // Where a thread's pieces of the first tile are, and which of them there are. Rows and columns that there are not
  // need no zeros, as nobody takes their sums; nor may they be others again, for which as many would ask at once.
  KGEN_FN void find_pieces() {
    KGEN_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      const Piece own = piece(i);
      const std::int64_t first = from_.first + (Layout::deep ? own.line : own.number * lanes);
      const Index<2> at = Layout::deep ? Index<2>{first, own.number * lanes} : Index<2>{own.line, first};
      pieces_[i] = from_.source.data() + at[0] * from_.source.stride(0) + at[1];
      there_[i] = first < from_.extent;
    }
  }
  // Whole: the depth of this tile is all there, and its pieces are.
  template <bool Whole>
  KGEN_FN void copy(T* tile, std::int64_t k) const {
    const std::int64_t pitch = from_.source.stride(0);
    KGEN_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      if constexpr (Whole) {
        const T* from = Layout::deep ? pieces_[i] + k + After : pieces_[i] + (k + After) * pitch;
        copy_async_where(there_[i], tile + place(i), from);
      } else {
        const Index<2> at = position(i);
        const int there = count(at);
        const auto* from = from_.source.data() + (there > 0 ? at[0] * pitch + at[1] : 0);
        copy_async(tile + place(i), from, there * static_cast<int>(sizeof(T)));
      }
    }
  }
  template <class Source>
  KGEN_FN static Block<16> load(const Source& source, Index<2> at) {
    T elements[lanes];
    store_elements(elements, source.template load<lanes>(at));
    Block<16> block;
    memcpy(&block, elements, sizeof(block));
    return block;
  }
  template <class Source>
  KGEN_FN void hold(const Source& source) {
    KGEN_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      const Index<2> at = position(i);
      const Block<16> block = load(source, nearest(at));  // no branch, so that all of them load together
      const std::uint32_t there = count(at) > 0 ? ~0u : 0u;
      KGEN_UNROLL
      for (int word = 0; word < 4; ++word) held_[i].words[word] = block.words[word] & there;
    }
  }
  // At the end of lines that are no whole pieces: there are few such tiles.
  KGEN_FN void load_in_turn(T* tile) const {
    KGEN_NO_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      Index<2> at = position(i);
      const int there = count(at);
      T* to = tile + place(i);
      if (there == lanes) {
        store_shared(to, load(from_.source, at));
        continue;
      }
      KGEN_NO_UNROLL
      for (int lane = 0; lane < lanes; ++lane, ++at[1]) {
        T element = static_cast<T>(0.0f);
        if (lane < there) store_elements(&element, from_.source.template load<1>(at));
        to[lane] = element;
      }
    }
  }

  TileSource<S> from_;
  std::int64_t k_ = 0;
  const T* pieces_[copies ? of_thread : 1];
  bool there_[copies ? of_thread : 1];
  Block<16> held_[copies ? 1 : of_thread];
};

// Several that fill a stage together.
template <class First, class... Rest>
struct TileLoads {
  First first;
  TileLoads<Rest...> rest;

  static constexpr bool always_whole = First::always_whole && TileLoads<Rest...>::always_whole;
  static constexpr bool copies = First::copies && TileLoads<Rest...>::copies;
  KGEN_FN bool is_whole() const { return first.is_whole() && rest.is_whole(); }
  KGEN_FN bool ends_in_pieces() const { return first.ends_in_pieces() && rest.ends_in_pieces(); }
  template <class Stage>
  KGEN_FN void copy_whole(Stage& stage, std::int64_t k) const {
    first.copy_whole(stage, k);
    rest.copy_whole(stage, k);
  }
  template <bool Whole, class Stage>
  KGEN_FN void begin(Stage& stage, std::int64_t k) {
    first.template begin<Whole>(stage, k);
    rest.template begin<Whole>(stage, k);
  }
  template <bool Whole, class Stage>
  KGEN_FN void end(Stage& stage) {
    first.template end<Whole>(stage);
    rest.template end<Whole>(stage);
  }
};
template <class Last>
struct TileLoads<Last> {
  Last first;

  static constexpr bool always_whole = Last::always_whole, copies = Last::copies;
  KGEN_FN bool is_whole() const { return first.is_whole(); }
  KGEN_FN bool ends_in_pieces() const { return first.ends_in_pieces(); }
  template <class Stage>
  KGEN_FN void copy_whole(Stage& stage, std::int64_t k) const {
    first.copy_whole(stage, k);
  }
  template <bool Whole, class Stage>
  KGEN_FN void begin(Stage& stage, std::int64_t k) {
    first.template begin<Whole>(stage, k);
  }
  template <bool Whole, class Stage>
  KGEN_FN void end(Stage& stage) {
    first.template end<Whole>(stage);
  }
};
template <class Last>
KGEN_FN TileLoads<Last> loads_together(const Last& last) {
  return {last};
}
template <class First, class... Rest>
KGEN_FN TileLoads<First, Rest...> loads_together(const First& first, const Rest&... rest) {
  return {first, loads_together(rest...)};
}

// The same of all parts of a stage, of so much depth: without a question for each piece where the stage is all there,
// as nothing is multiplied meanwhile.
template <int Depth, class Loads>
struct StageLoads {
  Loads loads;
  std::int64_t K;
  bool ends_in_pieces;

  static constexpr bool always_whole = Loads::always_whole, copies = Loads::copies;
  KGEN_FN bool is_whole() const { return loads.is_whole(); }
  template <bool Whole, class Stage>
  KGEN_FN void begin(Stage& stage, std::int64_t k) {
    if constexpr (copies) {
      if (ends_in_pieces && k + Depth <= K) return loads.copy_whole(stage, k);
      if (k >= K) return;  // nobody will read it
    }
    loads.template begin<Whole>(stage, k);
  }
  template <bool Whole, class Stage>
  KGEN_FN void end(Stage& stage) {
    loads.template end<Whole>(stage);
  }
};

}  // namespace kgen::gpu

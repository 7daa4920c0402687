// Matrix multiplication of one row of 16 bits, or of each of few by its group's matrix, by right operands as they lie,
// wherever their lines begin, by multiply-adds of floats: tensor cores have nothing to do where each element is used
// once. Of eight lines one behind the other each begins elsewhere within 16 bytes, but every eighth one at the same
// place. So a wave has those of a block's lines whose numbers are the same modulo eight, and reads aligned vectors of
// them that need no shifting. A group of its lanes goes along a line; lines across the depth have sums for each place,
// lines along it one for all. The blocks of a cluster share the depth, and their sums meet in shared memory
// (cluster_sums.hpp).
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "kgen/gpu/copied_matrix.hpp"
#include "kgen/gpu/skinny_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

template <class T>
struct VectorOperands {
  CopiedMatrix<T> a, b;
  int steps;       // of eight of the depth; one more where lines along it begin anywhere
  int group_bits;  // of how many lanes go along a line together
  int columns;     // of a tile
};

// Which matrix a row meets: the only one.
struct OneMatrix {
  static constexpr bool are_groups = false;
  static constexpr std::int64_t step = 0;
  template <class T>
  KGEN_FN const VectorOperands<T>& of_row(const VectorOperands<T>& operands, int) const {
    return operands;
  }
};
// That of the first group which ends behind the row (kgen/grouped.hpp), as the device knows: operands are the first
// row and the first matrix. A row behind all groups has a matrix without lines.
template <class I>
struct MatrixOfGroup {
  static constexpr bool are_groups = true;
  View<const I, 1> ends;
  std::int64_t step;          // elements from one matrix to the next
  std::uintptr_t begin, end;  // of all of them

  // All threads of a wave together.
  template <class T>
  KGEN_FN VectorOperands<T> of_row(VectorOperands<T> operands, int row) const {
    const int count = static_cast<int>(ends.extent(0));
    int group = count;
    for (int i = thread_index() % wave_size; i < count && group == count; i += wave_size) {
      if (static_cast<std::int64_t>(ends.template load<1>(Index<1>{i}).data) > row) group = i;
    }
    KGEN_UNROLL
    for (int distance = 1; distance < wave_size; distance *= 2) {
      const auto other = shuffle_xor(static_cast<std::uint32_t>(group), distance, wave_size, Where::here());
      group = static_cast<int>(other) < group ? static_cast<int>(other) : group;
    }
    operands.a.data += row * operands.a.strides[0];
    operands.b.begin = begin;
    operands.b.end = end;
    if (group < count) {
      operands.b.data += group * step;
    } else {
      operands.b.extents[0] = 0;
    }
    return operands;
  }
};

// The 32 lanes of a wave in groups that are a power of two.
struct LaneGroup {
  int bits, lane, number;

  KGEN_FN explicit LaneGroup(int bits)
      : bits(bits), lane(thread_index() % wave_size & ((1 << bits) - 1)), number(thread_index() % wave_size >> bits) {}
  KGEN_FN int size() const { return 1 << bits; }
  KGEN_FN int count_bits() const { return 5 - bits; }
  KGEN_FN int count() const { return 1 << count_bits(); }
};

// Adds up what the lanes have whose numbers differ in bits from `first` to `end`.
template <int Count>
KGEN_FN void add_lanes(float (&sums)[Count], int first, int end) {
  KGEN_NO_UNROLL
  for (int bit = first; bit < end; bit *= 2) {
    KGEN_UNROLL
    for (float& sum : sums) {
      sum += std::bit_cast<float>(shuffle_xor(std::bit_cast<std::uint32_t>(sum), bit, wave_size, Where::here()));
    }
  }
}

// The aligned blocks of 16 bytes that a thread reads of a matrix, some on their way ahead of the one that it uses. One,
// the first or the last, may be the matrix's in part: it is used behind all others.
template <class T>
class AlignedBlocks {
  static constexpr int ahead = 8;

 public:
  // `count` of them, `apart` bytes from one to the next.
  KGEN_FN AlignedBlocks(const CopiedMatrix<T>& matrix, std::uintptr_t from, std::int64_t apart, int count)
      : matrix_(matrix), coming_(from), apart_(static_cast<std::uintptr_t>(apart)), last_(count) {
    if (count <= 0) return;
    const std::uintptr_t last = from + static_cast<std::uintptr_t>(count - 1) * apart_;
    if (from < matrix.begin) {
      partial_ = first_++;
      rest_at_ = from;
      coming_ += apart_;
    } else if (last + 16 > matrix.end) {
      partial_ = --last_;
      rest_at_ = last;
    }
  }
  KGEN_FN void begin() {
    KGEN_UNROLL
    for (int i = 0; i < ahead; ++i) load(i, first_ + i);
  }
  // Waits for what it loads: behind all else that should be on its way.
  KGEN_FN void begin_partial() {
    if (partial_ >= 0) rest_ = matrix_.block_at(rest_at_);
  }
  // use(block, number) for each of them.
  template <class Use>
  KGEN_FN void for_each(const Use& use) {
    int number = first_;
    KGEN_NO_UNROLL
    while (number < last_) {
      KGEN_UNROLL
      for (int i = 0; i < ahead; ++i, ++number) {
        if (number >= last_) break;
        use(next_[i], number);
        load(i, number + ahead);
      }
    }
    if (partial_ >= 0) use(rest_, partial_);
  }

 private:
  KGEN_FN void load(int i, int number) {
    if (number < last_) next_[i] = load_block<16>(reinterpret_cast<const void*>(coming_), {false, true, true});
    coming_ += apart_;
  }

  const CopiedMatrix<T>& matrix_;
  std::uintptr_t coming_, apart_, rest_at_ = 0;
  int first_ = 0, last_, partial_ = -1;
  Block<16> next_[ahead], rest_;
};

// The left operand's elements of a part of the depth as floats, and zeros around it. Of eight places there are nine, so
// that lanes which read what is eight apart ask different banks.
template <class T, int Threads>
class SpreadRow {
  static constexpr int lanes = CopiedMatrix<T>::lanes, pitch = lanes + 1, of_thread = 8, all = of_thread * Threads;

 public:
  using Held = T[of_thread];  // of a thread, on their way to their places
  static std::int64_t shared(int steps) { return shared_bytes<float>((steps + 1) * pitch); }

  KGEN_FN SpreadRow(SharedMemory& memory, const CopiedMatrix<T>& row, ClusterDepth part)
      : row_(row.data),
        depth_(static_cast<int>(row.extents[1])),
        first_((part.first - 1) * lanes),
        places_((part.last - part.first + 1) * lanes),
        elements_(memory.take<float>((part.last - part.first + 1) * pitch)) {}

  // All threads: the first elements of each, and behind begin() all others as well.
  KGEN_FN void begin(Held& held, int from = 0) const {
    KGEN_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      if (from + i * Threads >= places_) break;
      const int k = first_ + from + i * Threads + thread_index();
      held[i] = load_run<1>(row_ + (k < 0 ? 0 : k < depth_ ? k : depth_ - 1), 0, {false, true, true})[0];
    }
  }
  KGEN_FN void fill(Held& held) const {
    put(held, 0);
    KGEN_NO_UNROLL
    for (int from = all; from < places_; from += all) {
      begin(held, from);
      put(held, from);
    }
  }
  // Where the eight of a step are.
  KGEN_FN const float* step(int number) const { return elements_ + (number - first_ / lanes) * pitch; }

 private:
  KGEN_FN void put(const Held& held, int from) const {
    KGEN_UNROLL
    for (int i = 0; i < of_thread; ++i) {
      if (from + i * Threads >= places_) break;
      const auto place = static_cast<unsigned>(from + i * Threads + thread_index());
      const int k = first_ + static_cast<int>(place);
      const float element = k >= 0 && k < depth_ ? static_cast<float>(held[i]) : 0.0f;
      if (place < static_cast<unsigned>(places_)) elements_[place + place / lanes] = element;
    }
  }

  const T* row_;
  int depth_, first_, places_;
  float* elements_;
};

template <class Element, bool BDeep>
struct VectorMatmul {
  using T = Element;
  static constexpr int rows = 1, columns = 256, waves = 8, threads = waves * wave_size, blocks = 2;
  static constexpr int lanes = CopiedMatrix<T>::lanes;  // and waves: lines of a wave are as many apart
  static_assert(waves == lanes);
  using Row = SpreadRow<T, threads>;
  using Sums = ClusterSums<rows, columns>;
  static constexpr int pitch = (lanes + 1) * wave_size;  // of a wave's sums of each place of lines
  static constexpr int partial = BDeep ? 0 : waves * pitch;
  static constexpr std::int64_t most_shared = 112 * 1024;  // of a block that has room for another beside it
  static std::int64_t shared(int steps) { return Row::shared(steps) + Sums::shared() + shared_bytes<float>(partial); }
  KGEN_FN static int wave() { return thread_index() / wave_size; }

  // This block's share of the columns from `origin` to `end`, to the sink.
  template <class C, class Shape>
  KGEN_FN static void emit(const Sums& sums, const C& c, Index<2> origin, std::int64_t end, const Shape& shape) {
    const auto emit = [&]<bool Whole>(const auto& sink) KGEN_LAMBDA {
      constexpr int own = Whole ? piece_lanes : 1;
      const auto add = [&](auto& added, int count, const auto& rows, const auto& places) KGEN_LAMBDA {
        if (shape.blocks > 1) return sums.add(added, count, rows, places, shape.blocks);
        added[0] = load_run<own>(sums.at(0, places[0]), 1, {true}).lanes();
      };
      const auto share = sums.template share<columns / piece_lanes>(1, shape.blocks);
      emit_added<Whole, columns, 1>(add, sink, origin, static_cast<int>(end),
                                    {share.first, share.end, thread_index(), threads}, std::integer_sequence<int, 0>{});
    };
    if (has_fours(shape.lanes)) {
      emit.template operator()<true>(known<Lanes::whole_vectors>(c));
    } else {
      emit.template operator()<false>(known<Lanes::any>(c));
    }
  }
};

// What a thread does with its blocks(): multiply(), put() its sums together with those of its wave, and with other
// waves in step add() those of all waves.

// Of lines across the depth, a tile's columns.
template <class T>
class AcrossLines {
  using Matmul = VectorMatmul<T, false>;
  static constexpr int lanes = Matmul::lanes;

 public:
  KGEN_FN AcrossLines(const VectorOperands<T>& operands, ClusterDepth part, int column)
      : group_(operands.group_bits),
        first_(part.first + group_.number),
        shift_(static_cast<int>(line(operands.b, Matmul::wave()) % 16 / sizeof(T))),
        blocks_(operands.b,
                line(operands.b, first_ * lanes + Matmul::wave()) / 16 * 16 + own_column(column) * sizeof(T),
                operands.b.strides[0] * (lanes * group_.count() * static_cast<int>(sizeof(T))),
                own_column(column) - shift_ < operands.b.extents[1] ? count(operands.b, part.last) : 0) {}

  KGEN_FN AlignedBlocks<T>& blocks() { return blocks_; }
  KGEN_FN void multiply(const typename Matmul::Row& row) {
    blocks_.for_each([&](const Block<16>& block, int number) KGEN_LAMBDA {
      const float left = row.step(first_ + number * group_.count())[Matmul::wave()];
      T right[lanes];
      memcpy(right, &block, sizeof(right));
      KGEN_UNROLL
      for (int i = 0; i < lanes; ++i) sums_[i] += left * static_cast<float>(right[i]);
    });
  }
  // Of the wave's lines, by a group of its lanes.
  KGEN_FN void put(float* partial, int columns) {
    add_lanes(sums_, group_.size(), wave_size);
    KGEN_UNROLL
    for (int i = 0; i < lanes; ++i) {
      const int column = group_.lane * lanes - shift_ + i;
      if (group_.number > 0 || column < 0 || column >= columns) continue;
      partial[Matmul::wave() * Matmul::pitch + column + column / lanes] = sums_[i];
    }
  }
  // Those of all waves.
  KGEN_FN void add(const typename Matmul::Sums& sums, const float* partial, int columns) const {
    for (int column = thread_index(); column < columns; column += Matmul::threads) {
      float sum = 0;
      KGEN_UNROLL
      for (int i = 0; i < Matmul::waves; ++i) sum += partial[i * Matmul::pitch + column + column / lanes];
      *sums.at(0, column) = sum;
    }
  }

 private:
  KGEN_FN static std::uintptr_t line(const CopiedMatrix<T>& b, int number) {
    return reinterpret_cast<std::uintptr_t>(b.address(number, 0));
  }
  KGEN_FN int own_column(int column) const { return column + group_.lane * lanes; }
  KGEN_FN int count(const CopiedMatrix<T>& b, int last) const {
    const int all = (static_cast<int>(b.extents[0]) - Matmul::wave() + lanes - 1) / lanes;
    return ((all < last ? all : last) - first_ + group_.count() - 1) >> group_.count_bits();
  }

  LaneGroup group_;
  int first_, shift_;
  AlignedBlocks<T> blocks_;
  float sums_[lanes] = {};
};

// Of lines along the depth, one of a tile's columns.
template <class T>
class DeepLine {
  using Matmul = VectorMatmul<T, true>;
  static constexpr int lanes = Matmul::lanes;

 public:
  KGEN_FN DeepLine(const VectorOperands<T>& operands, ClusterDepth part, int column)
      : group_(operands.group_bits),
        column_(Matmul::wave() + group_.number * lanes),
        first_(part.first + group_.lane),
        depth_(static_cast<int>(operands.b.extents[1])),
        begin_(reinterpret_cast<std::uintptr_t>(operands.b.address(column + column_, 0))),
        shift_(static_cast<int>(begin_ % 16 / sizeof(T))),
        blocks_(operands.b, begin_ / 16 * 16 + static_cast<std::uintptr_t>(first_) * 16,
                std::int64_t{16} << group_.bits, column + column_ < operands.b.extents[0] ? count(part.last) : 0) {}

  KGEN_FN AlignedBlocks<T>& blocks() { return blocks_; }
  KGEN_FN void multiply(const typename Matmul::Row& row) {
    int places[lanes];
    KGEN_UNROLL
    for (int i = 0; i < lanes; ++i) places[i] = i - shift_ - (i < shift_ ? 1 : 0);
    blocks_.for_each([&](const Block<16>& block, int number) KGEN_LAMBDA {
      const int step = first_ + (number << group_.bits), k = step * lanes - shift_;
      const float* left = row.step(step);
      T right[lanes];
      memcpy(right, &block, sizeof(right));
      if (k < 0 || k + lanes > depth_) {  // what is another line's may be NaN
        KGEN_UNROLL
        for (int i = 0; i < lanes; ++i) right[i] = k + i >= 0 && k + i < depth_ ? right[i] : static_cast<T>(0.0f);
      }
      KGEN_UNROLL
      for (int i = 0; i < lanes; ++i) sums_[i % 2] += left[places[i]] * static_cast<float>(right[i]);
    });
  }
  KGEN_FN void put(float*, int) { add_lanes(sums_, 1, group_.size()); }
  KGEN_FN void add(const typename Matmul::Sums& sums, const float*, int) const {
    if (group_.lane == 0) *sums.at(0, column_) = sums_[0] + sums_[1];
  }

 private:
  KGEN_FN int count(int last) const {
    const int all = (depth_ + shift_ + lanes - 1) / lanes;
    return ((all < last ? all : last) - first_ + group_.size() - 1) >> group_.bits;
  }

  LaneGroup group_;
  int column_, first_, depth_;
  std::uintptr_t begin_;
  int shift_;
  AlignedBlocks<T> blocks_;
  float sums_[2] = {};
};

template <class Matmul, class T, class Matrices, class C>
KGEN_GLOBAL((has_warpgroups ? Matmul::threads : 1), Matmul::blocks)
vector_matmul_kernel(const KGEN_GRID_CONSTANT VectorOperands<T> operands, Matrices matrices, C c,
                     WarpgroupMatmulShape<1> shape) {
  if constexpr (has_warpgroups) {
    constexpr bool deep = Matmul::partial == 0;
    const ClusterDepth part(operands.steps, shape.blocks);
    SharedMemory shared;
    const typename Matmul::Sums sums(shared);  // first: at the same place in all blocks of a cluster
    float* partial = shared.take<float>(Matmul::partial);
    const int number = static_cast<int>(block_index()), tile = shape.blocks == 1 ? number : number / shape.blocks;
    const auto multiply = [&]<int, int>(const auto& sink, Index<2> origin, std::int64_t end) KGEN_LAMBDA {
      if (Matrices::are_groups) take_turn(shape.allows_next);  // the kernel ahead may say where groups end
      const auto& of_row = matrices.of_row(operands, static_cast<int>(origin[0]));
      const typename Matmul::Row row(shared, of_row.a, part);
      std::conditional_t<deep, DeepLine<T>, AcrossLines<T>> own(of_row, part, static_cast<int>(origin[1]));
      if (!Matrices::are_groups) take_turn(shape.allows_next);
      {
        const BlockPhase filling;
        typename Matmul::Row::Held held;
        own.blocks().begin();
        row.begin(held);
        own.blocks().begin_partial();
        row.fill(held);
      }
      own.multiply(row);
      if constexpr (deep) {
        own.put(partial, operands.columns);
      } else {
        const BlockPhase putting;
        own.put(partial, operands.columns);
      }
      if (shape.blocks == 1) {
        const BlockPhase sharing;
        own.add(sums, partial, operands.columns);
      } else {
        const ClusterPhase sharing;
        own.add(sums, partial, operands.columns);
      }
      const std::int64_t own_end = origin[1] + operands.columns;
      Matmul::emit(sums, sink, origin, own_end < end ? own_end : end, shape);
      if (shape.blocks > 1) {
        const ClusterStay adding;
      }
    };
    at_tile<Matmul::rows>(tile, operands.columns, c, shape, multiply);
  }
}

// ---- launches

// How many lanes go along a line together, as a power of two, how many blocks share the depth, and what that takes, in
// ns.
struct VectorWay {
  int group_bits = 0, blocks = 0;
  std::int64_t time = std::numeric_limits<std::int64_t>::max();
};

// One call of VectorMatmul's kernel: of one row, or of rows that meet each its own of the matrices, of which b is the
// first.
template <class T, bool BDeep, class A, class B, class C, class Matrices = OneMatrix>
class VectorProduct {
  using Matmul = VectorMatmul<T, BDeep>;
  using Shape = WarpgroupMatmulShape<1>;
  static constexpr auto* kernel = vector_matmul_kernel<Matmul, T, Matrices, C>;
  static constexpr const char* name = Matrices::are_groups ? "vector_grouped_matmul" : "vector_matmul";

 public:
  VectorProduct(const A& a, const B& b, const C& c, const Shape& shape, const DeviceLimits& limits, Stream stream,
                const Matrices& matrices = {})
      : c_(c), shape_(shape), limits_(limits), stream_(stream), matrices_(matrices) {
    operands_.a = CopiedMatrix<T>(a, false);
    operands_.b = CopiedMatrix<T>(b, BDeep);
    const CopiedMatrix<T>& lines = operands_.b;
    aligned_ = reinterpret_cast<std::uintptr_t>(lines.data) % 16 == 0 && lines.strides[0] % Matmul::lanes == 0 &&
               matrices.step % Matmul::lanes == 0;
    const std::int64_t depth = shape.K + (BDeep && !aligned_ ? Matmul::lanes - 1 : 0);
    operands_.steps = static_cast<int>((depth + Matmul::lanes - 1) / Matmul::lanes);
    // Else more than one of a thread's blocks would be the matrix's in part.
    fits_ = (Matrices::are_groups || shape.M == 1) &&
            std::min(lines.extents[0], lines.extents[1]) >= 2 * Matmul::lanes && lines.strides[1] == 1 &&
            lines.strides[0] >= lines.extents[1] && operands_.a.strides[1] == 1 && shape.columns_asked == 0 &&
            limits.shared_bytes >= Matmul::most_shared &&
            runs_warpgroups(reinterpret_cast<const void*>(kernel), Matmul::threads);
  }

  bool fits() const { return fits_; }
  VectorWay best() const {
    VectorWay best;
    // The same for all products of this kernel, which ask once.
    const Grid two_at_once{name, 1, Matmul::threads, Matmul::most_shared};
    const ClustersAtOnce room = clusters_at_once(two_at_once, limits_, stream_, reinterpret_cast<const void*>(kernel));
    for (int bits = 1; bits <= 5; ++bits) {
      for (const int blocks : {1, 2, 3, 4, 6, 8}) {
        VectorWay way{bits, blocks};
        if (!can(way) || (blocks > 1 && tiles(way) > room[blocks])) continue;
        way.time = time(way, room[blocks]);
        if (way.time < best.time) best = way;
      }
    }
    return best;
  }
  bool can(const VectorWay& way) const {
    if (columns(way) == 0 || way.blocks > limits_.cluster_blocks) return false;
    if (way.blocks > 1 && operands_.steps < 2 * way.blocks) return false;
    return grid(way).shared_bytes <= (way.blocks > 1 ? Matmul::most_shared : limits_.shared_bytes);
  }
  bool operator()(const VectorWay& way) {
    operands_.group_bits = way.group_bits;
    operands_.columns = columns(way);
    shape_.tiles = tiles(way);
    shape_.blocks = way.blocks;
    shape_.allows_next = shape_.tiles * way.blocks * 2 <= limits_.multiprocessors * Matmul::blocks;
    launch_early(grid(way), stream_, kernel, operands_, matrices_,
                 with_each(c_, [](const auto& sink) { return with_access(sink, 8); }), shape_);
    return true;
  }

 private:
  // Of a tile: those of lines between vectors begin in a block and end in another.
  int columns(const VectorWay& way) const {
    if (BDeep) return Matmul::waves * (wave_size >> way.group_bits);
    return ((1 << way.group_bits) - (aligned_ ? 0 : 1)) * Matmul::lanes;
  }
  int tiles(const VectorWay& way) const { return shape_.template count_tiles<Matmul::rows>(c_, columns(way)); }
  int steps(const VectorWay& way) const { return (operands_.steps + way.blocks - 1) / way.blocks; }
  Grid grid(const VectorWay& way) const {
    return {name, std::int64_t{tiles(way)} * way.blocks, Matmul::threads, Matmul::shared(steps(way)), way.blocks};
  }
  // What a multiprocessor's blocks take, of which two go on together, each with its left operand; memory; and where
  // blocks meet, more of it the more of them there are. of_room: clusters of so many blocks that run at once, two
  // blocks to a multiprocessor: of half as many, each block has one for itself. Measured on an H200, and a seventh
  // longer here, which chose best: the times of the kernels that this one is chosen among are an H100's, and longer by
  // a tenth and more than they take there.
  std::int64_t time(const VectorWay& way, int of_room) const {
    constexpr int meets = BDeep ? 1000 : 1380, block = 1750, step = BDeep ? 168 : 82;
    constexpr double of_left = BDeep ? 2.9 : 8.5, each = 2.8, two = 1.4, bytes_of_ns = 3650;
    const int together = BDeep ? 1 << way.group_bits : wave_size >> way.group_bits, of_block = steps(way);
    const int all = tiles(way), room = std::max(of_room, 1), turns = (2 * all + room - 1) / room;
    const double multiplies =
        (turns / 2 * two + turns % 2) * ((of_block + together - 1) / together * step + block + of_block * of_left);
    const double bytes = static_cast<double>(shape_.M * shape_.K) * static_cast<double>(shape_.N[0]) * sizeof(T);
    const double meeting = way.blocks > 1 ? meets + each * all * way.blocks : 0;
    return static_cast<std::int64_t>(meeting + std::hypot(multiplies, bytes / bytes_of_ns));
  }

  const C& c_;
  Shape shape_;
  const DeviceLimits& limits_;
  Stream stream_;
  Matrices matrices_;
  VectorOperands<T> operands_;
  bool aligned_, fits_;
};

}  // namespace kgen::gpu

#endif

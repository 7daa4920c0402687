// How tiles of a matrix product's operands come to shared memory, where the tensor cores read them: EngineTiles and
// CopiedTiles.
#pragma once

#include <optional>

#include "kgen/gpu/copied_matrix.hpp"
#include "kgen/gpu/tile_pipeline.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// The matrix whose lines are along axis 1 of the View, or with `across` along axis 0; nothing where the copy engine
// does not take it: a line's elements are neighbours in memory, and lines begin at multiples of 16 bytes. They end
// there as well: whether the engine fills the rest of 16 bytes with zeros is said nowhere.
template <class T>
std::optional<BoxedMemory<2>> matrix_in_memory(const View<T, 2>& view, bool across, int box_columns, int box_rows) {
  const int line = across ? 0 : 1, other = 1 - line;
  const auto size = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t columns = view.extent(line), rows = view.extent(other);
  const std::int64_t pitch = rows > 1 ? view.stride(other) * size : (columns * size + 15) / 16 * 16;
  const bool fits = (columns == 1 || view.stride(line) == 1) && columns * size % 16 == 0 && pitch >= columns * size &&
                    pitch % 16 == 0 && pitch < std::int64_t{1} << 40 &&
                    reinterpret_cast<std::uintptr_t>(view.data()) % 16 == 0;
  if (!fits) return std::nullopt;
  return BoxedMemory<2>{view.data(), {columns, rows}, {0, pitch}, {box_columns, box_rows}};
}

// Whether its lines, which are along axis 1 or with `across` along axis 0, begin elsewhere than at multiples of 128
// bytes.
template <class T>
bool has_straddling_lines(const View<T, 2>& view, bool across) {
  const std::int64_t pitch = view.stride(across ? 1 : 0) * static_cast<std::int64_t>(sizeof(T));
  return pitch % swizzle_bytes != 0 || reinterpret_cast<std::uintptr_t>(view.data()) % swizzle_bytes != 0;
}

// What travels in a stage: `Rows` rows of the left operand, `Columns` columns of the right operands, 128 bytes of depth
// of each. A tile is lines of 128 bytes, swizzled: of a, its rows; of b, its columns if it is deep, else 64 columns of
// a step in depth, box after box.
template <class T, int Columns, int Rows = 128>
struct alignas(tile_alignment) OperandTiles {
  static constexpr int rows = Rows, columns = Columns, depth = swizzle_bytes / static_cast<int>(sizeof(T));
  T a[rows * depth];
  T b[columns * depth];
};

// Columns of a right operand whose lines are along the depth may come in such an order that they are dealt to the
// threads which share a row of a warpgroup's sums: of 32 columns in shared memory thread t of four has sums of 2t,
// 2t + 1, and of those 8, 16 and 24 behind them, and dealt these are 8 neighbours in memory, from 8t on. So no thread
// has to ask others for neighbours. Whether they do is known when a kernel is launched (asked), or compiled.
enum class Dealing { never, asked, always };
inline constexpr int dealt_columns = 32;

// The memory of such a matrix as the copy engine goes through it, dealt or not.
inline BoxedMemory<5> dealt_memory(const BoxedMemory<2>& matrix, bool dealt) {
  const auto [elements, columns] = matrix.extents;
  const std::int64_t pitch = matrix.pitches[1];
  const auto [depth, box] = matrix.box;
  if (!dealt)
    return {matrix.data, {elements, columns, 1, 1, 1}, {0, pitch, pitch, pitch, pitch}, {depth, box, 1, 1, 1}};
  return {matrix.data,
          {elements, 2, 4, 4, columns / dealt_columns},
          {0, pitch, 8 * pitch, 2 * pitch, dealt_columns * pitch},
          {depth, 2, 4, 4, box / dealt_columns}};
}

// What brings tiles has, for `Products` right operands:
//   name                                  of the kernel that it is part of
//   threads, registers                    that bring the tiles together, and that each of them needs
//   tile<First, Count>(row, column)       the left operand's rows from `row` on, and the columns from `column` on of
//                                         `Count` right operands, which share the stage's columns: its load(stage)
//                                         brings 128 bytes of their depth, zeros beyond what there is, and goes on to
//                                         the next. EngineTiles' have the parts of that, too
//   dealing                               how their columns come, where that is not as they lie

// By the copy engine, where lines lie in memory as it takes them. The blocks of a cluster of `Blocks` have the same
// columns: each brings rows of its own, and its share of the columns to all of them.
template <class Tiles, bool BDeep, int Products, int Blocks = 1, Dealing Deals = Dealing::never>
struct EngineTiles {
  static_assert(Deals == Dealing::never || (BDeep && Blocks == 1));
  static constexpr const char* name = "warpgroup_matmul";
  static constexpr int threads = 1, registers = 40;
  static constexpr Dealing dealing = Deals;
  TensorMap a, b[Products];
  int rows;  // of the left operand that come: of a stage, the first
  bool dealt = Deals == Dealing::always;

  KGEN_FN int bytes() const { return static_cast<int>(sizeof(Tiles)) - (Tiles::rows - rows) * swizzle_bytes; }
  // The columns, or where these are not along the lines the depth, that a box has of `Count` operands.
  template <int Count>
  static constexpr int box = BDeep ? Tiles::columns / (Count > Blocks ? Count : Blocks) : Tiles::depth;

  template <int First, int Count>
  struct Tile {
    const EngineTiles& loads;
    int row, column, k = 0;

    template <class Stage>
    KGEN_FN void load(const Stage& stage) {
      load_left(stage);
      load_right(stage);
      advance();
    }
    // Either operand's part of a stage, and on to the next one.
    template <class Stage>
    KGEN_FN void load_left(const Stage& stage) const {
      copy_tile(stage->a, loads.a, stage.arrival(), k, row);
    }
    template <class Stage>
    KGEN_FN void load_right(const Stage& stage) const {
      constexpr int columns = Tiles::columns / Count;
      KGEN_UNROLL
      for (int first = 0; first < Tiles::columns; first += Blocks * box<Count>) {
        const int n = Blocks == 1 ? first : first + cluster_rank() * box<Count>, at = column + n % columns;
        if (Tiles::columns % (Blocks * box<Count>) != 0 && n >= Tiles::columns) continue;
        loads.bring(stage->b + n * Tiles::depth, loads.b[First + n / columns], stage.arrival(), BDeep ? k : at,
                    BDeep ? at : k);
      }
    }
    KGEN_FN void advance() { k += Tiles::depth; }
  };
  // From depth k on.
  template <int First, int Count>
  KGEN_FN Tile<First, Count> tile(int row, int column, int k = 0) const {
    return {*this, row, column, k};
  }

 private:
  KGEN_FN void bring(void* to, const TensorMap& map, Mbarrier& arrival, int x, int y) const {
    if constexpr (Deals == Dealing::always) {
      copy_tile(to, map, arrival, x, 0, 0, 0, y / dealt_columns);
    } else if constexpr (Deals == Dealing::asked) {
      copy_tile(to, map, arrival, x, dealt ? 0 : y, 0, 0, dealt ? y / dealt_columns : 0);
    } else if constexpr (Blocks == 1) {
      copy_tile(to, map, arrival, x, y);
    } else {
      copy_tile_to_all<Blocks>(to, map, arrival, x, y);
    }
  }
};
// How many blocks of a cluster bring tiles for each other.
template <class Loads>
inline constexpr int sharing_blocks = 1;
template <class Tiles, bool BDeep, int Products, int Blocks, Dealing Deals>
inline constexpr int sharing_blocks<EngineTiles<Tiles, BDeep, Products, Blocks, Deals>> = Blocks;

// Whether what brings tiles deals their columns.
template <class Loads>
inline constexpr Dealing dealing_of = Dealing::never;
template <class Loads>
requires requires { Loads::dealing; }
inline constexpr Dealing dealing_of<Loads> = Loads::dealing;

// By two warpgroups' threads, from anywhere in memory.
inline constexpr int copying_threads = 2 * warpgroup_threads;

// `Lines` lines of 128 bytes of a matrix, from (line, element) on. Neighbouring threads read neighbouring pieces of 16
// bytes, of the next lines where those are the neighbours in memory.
template <int Lines, class T>
KGEN_FN void copy_lines(T* to, const CopiedMatrix<T>& matrix, std::int64_t line, std::int64_t element) {
  constexpr int pieces = swizzle_bytes / 16, each = CopiedMatrix<T>::lanes;
  const bool across = matrix.strides[0] == 1 && matrix.strides[1] != 1;
  const auto place = [&](int i) KGEN_LAMBDA {
    const int number = thread_index() + i * copying_threads;
    return across ? Index<2>{number % Lines, number / Lines} : Index<2>{number / pieces, number % pieces};
  };
  constexpr int each_thread = Lines * pieces / copying_threads, batch = each_thread < 4 ? each_thread : 4;
  KGEN_NO_UNROLL
  for (int first = 0; first < each_thread; first += batch) {
    Index<2> own[batch];
    bool neighbours = true, whole = true;  // of all, whose loads are then on their way together
    KGEN_UNROLL
    for (int i = 0; i < batch; ++i) {
      own[i] = place(first + i);
      neighbours = neighbours && matrix.has_neighbours(line + own[i][0], element + own[i][1] * each);
      whole = whole && matrix.has_all(line + own[i][0], element + own[i][1] * each);
    }
    Block<16> blocks[batch];
    if (neighbours) {
      KGEN_UNROLL
      for (int i = 0; i < batch; ++i) {
        blocks[i] = matrix.load_neighbours(line + own[i][0], element + own[i][1] * each);
      }
    } else if (whole) {
      KGEN_UNROLL
      for (int i = 0; i < batch; ++i) blocks[i] = matrix.load_all(line + own[i][0], element + own[i][1] * each);
    } else {
      KGEN_UNROLL
      for (int i = 0; i < batch; ++i) blocks[i] = matrix.load(line + own[i][0], element + own[i][1] * each);
    }
    KGEN_UNROLL
    for (int i = 0; i < batch; ++i) {
      store_shared(to + (own[i][0] * pieces + (own[i][1] ^ own[i][0] % 8)) * each, blocks[i]);
    }
  }
}

template <class T, class Tiles, bool BDeep, int Products>
struct CopiedTiles {
  static constexpr int threads = copying_threads, registers = 112;
  CopiedMatrix<T> a, b[Products];

  template <int First, int Count>
  struct Tile {
    const CopiedTiles& loads;
    int row, column, k = 0;

    template <class Stage>
    KGEN_FN void load(const Stage& stage) {
      constexpr int columns = Tiles::columns / Count, depth = Tiles::depth, box = BDeep ? columns : depth;
      copy_lines<Tiles::rows>(stage->a, loads.a, row, k);
      KGEN_UNROLL
      for (int n = 0; n < Tiles::columns; n += box) {
        const int at = column + n % columns;
        copy_lines<box>(stage->b + n * depth, loads.b[First + n / columns], BDeep ? at : k, BDeep ? k : at);
      }
      k += depth;
    }
  };
  template <int First, int Count>
  KGEN_FN Tile<First, Count> tile(int row, int column) const {
    return {*this, row, column};
  }
};

}  // namespace kgen::gpu

#endif

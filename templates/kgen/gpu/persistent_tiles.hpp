// What a wave of persistent_matmul.hpp has of its operands in shared memory: the left operand's rows as the tensor
// cores take them, and a ring of steps of two columns of weights, which each thread copies there for itself, so many
// steps ahead that no barrier stands between a copy and its reader.
#pragma once

#include <array>

#include "kgen/gpu/code_pairs.hpp"
#include "kgen/gpu/streamed_source.hpp"
#include "kgen/gpu/warpgroup_shape.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// A tile is 16 columns: of one product, or half of them of each of two. A step of it is 16 bytes of the weights of each
// column for each thread of a quad, `lanes` rows. A thread of number t in its wave has columns t / 4 and t / 4 + 8.
template <class S>
struct PersistentStep {
  using Element = streamed_element_t<S>;
  static constexpr StreamedFields fields = streamed_fields<S>();
  static constexpr int lanes = 128 / fields.bits, depth = 4 * lanes, part = 8, parts = lanes / part;
  static constexpr int columns = 16, rows = 8;  // of a tile, and of the left operand at most
  using Streamed = StreamedSource<S, lanes>;
  using Pieces = typename Streamed::Pieces;
};

// Where an operand of a prologue has what belongs to a step of a column: elements from one column to the next, and from
// one run of 1 << shift steps to the next.
struct OperandPlace {
  int column, run, shift;

  KGEN_FN std::int64_t of_step(int step) const { return std::int64_t{step >> shift} * run; }
  friend bool operator==(const OperandPlace&, const OperandPlace&) = default;
};
template <class S>
using OperandPlaces = std::array<OperandPlace, static_cast<std::size_t>(PersistentStep<S>::fields.views)>;

// Those of all operands: nothing where they do not lie as threads copy them.
template <class S>
std::optional<OperandPlaces<S>> operand_places(const S& source) {
  using Step = PersistentStep<S>;
  constexpr std::int64_t most = 1 << 30;
  OperandPlaces<S> places{};
  bool all = Step::Streamed::fits(source, source.shape()[0], Step::depth);
  std::size_t number = 0;
  for_each_view(source, [&](const auto& view) {
    using V = std::remove_cvref_t<decltype(view)>;
    OperandPlace& place = places[number];
    const bool streamed = number++ == static_cast<std::size_t>(Step::fields.streamed);
    all = all && at_byte(view.data());
    if constexpr (V::rank >= 2) {
      constexpr int lines = V::rank - 2;
      const std::int64_t length = view.extent(lines);
      const std::int64_t column = view.stride(lines + 1), run = lines == 0 ? 0 : view.stride(0);
      all = all && column >= 0 && column < most && run >= 0 && run < most;
      place.column = static_cast<int>(column);
      const bool one_line = lines == 0 || view.extent(0) == 1;
      if (streamed) {
        all = all && (one_line || view.stride(0) == length);  // a line for a column
      } else if (!one_line) {
        place.run = static_cast<int>(run);
        while (std::int64_t{Step::depth} << place.shift < length) ++place.shift;
        all = all && std::int64_t{Step::depth} << place.shift == length;
      }
    }
  });
  return all ? std::optional(places) : std::nullopt;
}

// What a launch says of a call, in few words: each of their lines comes from far away when a block begins. The right
// operands of all products lie alike.
template <class S, int Products>
struct PersistentCall {
  const void* data[Products][PersistentStep<S>::fields.views];  // where each operand of a prologue begins
  OperandPlaces<S> places;
  int rows, steps, tiles;                              // of the left operand; of a tile; of all products
  int tiles_of[Products] = {}, last_column[Products];  // of a product's sink, where that is its first
  const void* left;
  std::int64_t left_stride;
  Lanes lanes;
  bool loads_ahead;

  KGEN_FN const OperandPlace& place(int number) const { return places[static_cast<std::size_t>(number)]; }
};

// The left operand's rows: of each step a row's parts, as the threads of a quad multiply them, so that what 8 threads
// load together is in 32 banks. Paired: as pairs of elements that stand in a word of weights half a word apart, with
// the sum of each step times `scale` beside them.
template <class T, class Step, bool Paired>
class PersistentLeft {
  static constexpr int pieces = Step::depth / Step::part, batch = 4;

 public:
  static constexpr std::int64_t shared(std::int64_t rows, std::int64_t steps) {
    return shared_bytes<Block<16>>(rows * steps * pieces) + (Paired ? shared_bytes<float>(rows * steps) : 0);
  }

  KGEN_FN PersistentLeft(SharedMemory& memory, int rows, int steps)
      : blocks_(memory.take<Block<16>>(std::int64_t{rows} * steps * pieces)), rows_(rows) {
    if constexpr (Paired) totals_ = memory.take<float>(std::int64_t{rows} * steps);
    const int lane = thread_index() % wave_size, row = least(lane / 4);
    own_ = blocks_ + row * pieces + lane % 4;
    turned_ = row % 2 * 4;
    first_ = least(lane % 4 * 2);
    second_ = least(lane % 4 * 2 + 1);
  }

  // All threads of the block together put the rows there, which are `stride` elements apart.
  KGEN_FN void lay_out(const T* a, std::int64_t stride, int steps, float scale) const {
    KGEN_NO_UNROLL
    for (int i = thread_index(); i < steps * pieces; i += block_threads()) {
      KGEN_NO_UNROLL
      for (int row = 0; row < rows_; row += batch) {
        Block<16> loaded[batch];
        KGEN_UNROLL
        for (int j = 0; j < batch; ++j) {
          if (row + j < rows_) loaded[j] = load_constant<16>(a + (row + j) * stride + i * Step::part);
        }
        KGEN_UNROLL
        for (int j = 0; j < batch; ++j) {
          if (row + j < rows_) put(i / pieces * rows_ + row + j, (row + j) % 2, i % pieces, loaded[j], scale);
        }
      }
    }
  }

  // A thread's part of its row in a step.
  KGEN_FN Block<16> load(int step, int part) const {
    const int turned = part % 2 == 0 ? turned_ : -turned_;
    return load_block<16>(own_ + step * (rows_ * pieces) + turned + part * 4, Access{});
  }
  // The sums of the two rows of which a thread adds up products.
  KGEN_FN void load_totals(float (&totals)[2], int step) const {
    totals[0] = totals_[step * rows_ + first_];
    totals[1] = totals_[step * rows_ + second_];
  }

 private:
  KGEN_FN int least(int row) const { return row < rows_ ? row : rows_ - 1; }
  KGEN_FN void put(int line, int odd, int piece, Block<16> block, float scale) const {
    const int thread = piece / Step::parts, part = piece % Step::parts;
    if constexpr (Paired) {
      const float total = total_of(block);
      if (piece == 0) totals_[line] = total * scale;
      Block<16> pairs;
      pair_up<Step::part>(block.words, pairs.words);
      block = pairs;
    }
    store_shared(blocks_ + line * pieces + (part ^ odd) * 4 + thread, block);
  }
  // The sum of all pieces of a step, of the threads together that have them.
  KGEN_FN static float total_of(const Block<16>& block) {
    T elements[Step::part];
    memcpy(elements, &block, sizeof(block));
    float total = 0;
    KGEN_UNROLL
    for (const T& each : elements) total += static_cast<float>(each);
    KGEN_UNROLL
    for (int distance = 1; distance < pieces; distance *= 2) {
      const std::uint32_t word = std::bit_cast<std::uint32_t>(total);
      total += std::bit_cast<float>(shuffle_xor(word, distance, pieces, Where::here()));
    }
    return total;
  }

  Block<16>* blocks_;
  float* totals_ = nullptr;
  const Block<16>* own_;  // of step 0
  int rows_, turned_, first_, second_;
};

// A thread's columns of a tile, and of which products.
template <class Step>
struct PersistentColumns {
  int products[2] = {}, columns[2] = {};

  // Those behind the last one of a product are that one once more.
  template <int Products, class S, class C>
  KGEN_FN PersistentColumns(int tile, const PersistentCall<S, Products>& call, const C& c) {
    const int own = thread_index() % wave_size / 4;
    int rest = tile;
    for_each_sink<Products>(c, [&]<int First, int Count>(const auto&) KGEN_LAMBDA {
      constexpr int width = Step::columns / Count;
      const int last = call.last_column[First];
      if (rest >= 0 && rest < call.tiles_of[First]) {
        KGEN_UNROLL
        for (int i = 0; i < 2; ++i) {
          const int column = rest * width + own + (Count == 1 ? i * 8 : 0);
          products[i] = Count == 1 ? First : First + i;
          columns[i] = column < last ? column : last;
        }
      }
      rest -= call.tiles_of[First];
    });
  }
  // Where an operand of the prologue, seen by such a View, has column number i.
  template <int Products, class S, class V>
  KGEN_FN auto begin(const PersistentCall<S, Products>& call, const V&, int i, int operand) const {
    using Pointer = decltype(std::declval<V>().data());
    const Pointer data = static_cast<typename V::element_type*>(call.data[products[i]][operand]);
    return data + std::int64_t{columns[i]} * call.place(operand).column;
  }
};

// A wave's way through the steps of the block's tiles: every `Waves`-th one, one tile behind the other.
template <int Waves>
struct PersistentPlace {
  int steps, tiles;  // of a tile, and of all blocks
  int tile = static_cast<int>(block_index()), step = thread_index() / wave_size;

  KGEN_FN bool is_there() const { return tile < tiles; }
  // Whether another tile begins.
  KGEN_FN bool advance() {
    step += Waves;
    if (step < steps) return false;
    step -= steps;
    tile += static_cast<int>(block_count());
    return is_there();
  }
};

// What a prologue reads beside weights, of a wave's next steps: each thread of a quad loads it of one of four, for all
// of the quad, four steps ahead. Loads into registers share what they are waited for by, so that a thread's own of
// every step would be waited for together with the latest.
template <class S, int Waves, int Products, class C>
class PersistentScales {
  using Step = PersistentStep<S>;
  using Call = PersistentCall<S, Products>;
  using Pieces = typename Step::Pieces;

 public:
  static constexpr int together = 4;

  KGEN_FN PersistentScales(const Call& call, const C& c) : call_(call), c_(c), place_{call.steps, call.tiles} {
    KGEN_NO_UNROLL
    for (int i = thread_index() % together; i > 0; --i) place_.advance();
    load();
    turn();
  }

  // Those of the next step, of both columns: number `Number` of the four in turn.
  template <int Number>
  KGEN_FN void read(Pieces (&pieces)[2]) {
    if constexpr (Number == 0) load();
    const int from = thread_index() % wave_size / together * together + Number;
    KGEN_UNROLL
    for (int i = 0; i < 2; ++i) {
      for_each_scale([&]<class V>(const V&, int operand) KGEN_LAMBDA {
        constexpr int bits = element_bits<std::remove_const_t<typename V::element_type>>;
        KGEN_UNROLL
        for (int word = 0; word < (bits + 31) / 32; ++word) {
          const std::uint32_t own = now_[i].single[operand].words[word];
          pieces[i].single[operand].words[word] = shuffle_from(own, from, wave_size, Where::here());
        }
      });
    }
    if constexpr (Number == together - 1) turn();
  }

 private:
  KGEN_FN void turn() {
    KGEN_UNROLL
    for (int i = 0; i < 2; ++i) now_[i] = next_[i];
  }
  template <class Body>
  KGEN_FN static void for_each_scale(const Body& body) {
    S views{};
    int operand = 0;
    for_each_view(views, [&](const auto& view) KGEN_LAMBDA {
      if (operand != Step::fields.streamed) body(view, operand);
      ++operand;
    });
  }
  // Behind the last tile those of the first one once more.
  KGEN_FN void load() {
    const PersistentColumns<Step> at(place_.is_there() ? place_.tile : static_cast<int>(block_index()), call_, c_);
    KGEN_UNROLL
    for (int i = 0; i < 2; ++i) {
      for_each_scale([&](const auto& view, int operand) KGEN_LAMBDA {
        const std::int64_t step = call_.place(operand).of_step(place_.step);
        Step::Streamed::keep(next_[i].single[operand], at.begin(call_, view, i, operand) + step);
      });
    }
    KGEN_UNROLL
    for (int i = 0; i < together; ++i) place_.advance();
  }

  const Call& call_;
  const C& c_;
  PersistentPlace<Waves> place_;  // of this thread's next one
  Pieces now_[2], next_[2];       // but for weights
};

// A wave's weights on their way: each thread copies its own to a ring of slots in shared memory, `Slots` - 1 steps
// ahead.
template <class S, int Waves, int Slots, int Products, class C>
class PersistentWeights {
  using Step = PersistentStep<S>;
  using Call = PersistentCall<S, Products>;
  static constexpr int slot_blocks = 2 * wave_size, ring_blocks = Slots * slot_blocks, ahead = Slots - 1;
  static_assert((Slots & ahead) == 0);

 public:
  static constexpr std::int64_t shared() { return shared_bytes<Block<16>>(Waves * ring_blocks); }

  KGEN_FN PersistentWeights(SharedMemory& memory, const Call& call, const C& c)
      : call_(call), c_(c), place_{call.steps, call.tiles} {
    own_ = memory.take<Block<16>>(Waves * ring_blocks) + place_.step * ring_blocks + thread_index() % wave_size;
    begin();
    KGEN_NO_UNROLL
    for (int i = 0; i < ahead; ++i) copy();
  }

  // The next step of both columns. One behind it is asked for.
  KGEN_FN void read(typename Step::Pieces (&pieces)[2]) {
    copy();
    await_copies<ahead>();
    KGEN_UNROLL
    for (int i = 0; i < 2; ++i) pieces[i].streamed[0] = load_block<16>(slot(i), Access{});
  }

 private:
  // The slot that is free or, once that is filled, the one that was filled first.
  KGEN_FN Block<16>* slot(int column) const { return own_ + (filled_ & ahead) * slot_blocks + column * wave_size; }
  // Asks for a step, if there is one.
  KGEN_FN void copy() {
    constexpr int step_bytes = Step::depth * Step::fields.bits / 8;
    KGEN_UNROLL
    for (int i = 0; i < 2; ++i) {
      copy_async_where(place_.is_there(), slot(i), bytes_[i] + std::int64_t{place_.step} * step_bytes);
    }
    commit_copies();
    ++filled_;
    if (place_.advance()) begin();
  }
  // Goes to the first row of the tile's columns.
  KGEN_FN void begin() {
    const PersistentColumns<Step> at(place_.tile, call_, c_);
    S views{};
    int operand = 0;
    for_each_view(views, [&](const auto& view) KGEN_LAMBDA {
      if (operand++ != Step::fields.streamed) return;
      KGEN_UNROLL
      for (int i = 0; i < 2; ++i) {
        const auto first = at.begin(call_, view, i, Step::fields.streamed);
        bytes_[i] = Step::Streamed::first_byte(first) + thread_index() % 4 * 16;
      }
    });
  }

  const Call& call_;
  const C& c_;
  PersistentPlace<Waves> place_;  // of the next one
  Block<16>* own_;
  const unsigned char* bytes_[2];  // of the tile's first step
  unsigned filled_ = 0;
};

}  // namespace kgen::gpu

#endif

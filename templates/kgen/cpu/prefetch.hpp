// What comes into the second-level cache while other work goes on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kgen/cpu/parallel.hpp"
#include "kgen/fields.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// Brings a piece of a matrix in memory into the second-level cache, a few lines at a time between other work, so that
// it is there when it is packed. Packing alone has as many lines on their way as the first-level cache can wait for,
// some two dozen: from the last-level cache a line took it 8 cycles.
class Prefetch {
 public:
  Prefetch() = default;
  // The rows and columns of a view; of any other source, nothing.
  template <class S>
  Prefetch(const S& source, Range rows, Range columns) {
    if constexpr (is_view<S>) {
      if constexpr (!is_packed<view_element_t<S>>) {
        constexpr std::int64_t bytes = sizeof(view_element_t<S>);
        const bool along = source.stride(1) == 1;
        if (!along && source.stride(0) != 1) return;
        if (!along) std::swap(rows, columns);
        stride_ = source.stride(along ? 0 : 1) * bytes;
        row_bytes_ = (columns.end - columns.begin) * bytes;
        row_ = reinterpret_cast<const char*>(source.data()) + rows.begin * stride_ + columns.begin * bytes;
        rows_ = rows.end - rows.begin;
      }
    }
  }
  std::int64_t lines() const { return rows_ * ((row_bytes_ + line - 1) / line); }
  void fetch(std::int64_t count) {
    for (; count > 0 && rows_ > 0; --count) {
      __builtin_prefetch(row_ + at_, 0, 2);
      next();
    }
  }
  void fetch_to_write(std::int64_t count) {
    for (; count > 0 && rows_ > 0; --count) {
      __builtin_prefetch(row_ + at_, 1, 2);
      next();
    }
  }

 private:
  void next() {
    if ((at_ += line) >= row_bytes_) at_ = 0, row_ += stride_, --rows_;
  }

  static constexpr std::int64_t line = 64;
  const char* row_ = nullptr;
  std::int64_t stride_ = 0, row_bytes_ = 0, rows_ = 0, at_ = 0;
};

// What comes while the sums of a tile are made: what of an operand is multiplied next, the lines of the result, and
// what else its sink reads there, such as a residual. A product asks for a few lines with each step through its depth.
//
// Why: the lines of a wide result have left the caches in a model, whose weights pass in between; to store sums to them
// then waits for them. And why so few at a time: the loads of the product wait behind what a core asks memory for, so
// that all that is due between two register tiles, some hundred lines, cost more than it gained. One thread of a Zen 5,
// weights, results and residuals from memory, least of calls in microseconds, without and with: 784x128x512 609 to 524,
// 3136x64x256 672 to 649, 12544x16x64 417 to 317, 196x112x672 185 to 162; by panels that came in such bursts before:
// 49x512x2048 646 to 529, 128x768x3072 2821 to 2688, the latter with a result that stays in the caches 2722 to 2521.
// A result that is in the last-level cache anyway loses 2 to 8 %: 784x128x512 460 to 468, on two threads 229 to 248.
//
// Operands in memory (matmul.hpp), which are fetched between register tiles, gained nothing so: 1024x1024x1024 4672 to
// 4880 on two threads, 2048x2048x2048 44.8 to 47.6 ms, 512x64x4096 668 to 742.
class TilePrefetch {
 public:
  static constexpr std::int64_t stretch = 8;  // of the depth, which a step has

  TilePrefetch() = default;
  // Of the result and its sink's operands, all of them within `steps` steps.
  template <class C>
  TilePrefetch(const C& c, Range rows, Range columns, std::int64_t steps) {
    if constexpr (is_view<C>) {
      add(c, rows, columns, steps);
    } else {
      for_each_own_view(c, [&](const auto& view) { add(view, rows, columns, steps); });
    }
  }
  static std::int64_t steps(std::int64_t depth) { return (depth + stretch - 1) / stretch; }

  // The next piece of an operand.
  void begin(const Prefetch& piece, std::int64_t steps) { parts_[0] = Part(piece, steps, false); }
  KGEN_FN void step() {
    for (int i = 0; i < count_; ++i) parts_[i].step();
  }

 private:
  struct Part {
    static constexpr int fraction = 16;
    Prefetch lines;
    std::int64_t rate = 0, due = 0;  // lines a step, and not yet fetched, in 65536ths
    bool is_written = false;

    Part() = default;
    Part(const Prefetch& lines, std::int64_t steps, bool is_written)
        : lines(lines),
          rate((lines.lines() << fraction) / std::max<std::int64_t>(1, steps) + 1),
          is_written(is_written) {
      if (lines.lines() == 0) rate = 0;
    }
    KGEN_FN void step() {
      due += rate;
      const std::int64_t count = due >> fraction;
      due -= count << fraction;
      is_written ? lines.fetch_to_write(count) : lines.fetch(count);
    }
  };

  template <class V>
  void add(const V& view, Range rows, Range columns, std::int64_t steps) {
    if constexpr (V::rank == 2) {
      if (count_ == most || view.stride(1) != 1 || view.stride(0) == 0) return;
      parts_[count_++] = Part(Prefetch(view, rows, columns), steps, !std::is_const_v<typename V::element_type>);
    }
  }

  static constexpr int most = 4;
  Part parts_[most];
  int count_ = 1;
};

}  // namespace kgen::cpu

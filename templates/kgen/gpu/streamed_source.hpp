// A prologue whose operands are loaded ahead of what it makes of them: lanes along the last axis but one, along which
// one operand lies in memory, and of which the others have one element for many lanes (the scales of groups of
// weights).
#pragma once

#include <bit>
#include <optional>

#include "kgen/fields.hpp"
#include "kgen/gpu/access.hpp"
#include "kgen/gpu/warpgroup.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// What the types of a functor's fields say of it.
struct StreamedFields {
  int views = 0;     // that it reads
  int streamed = 0;  // which of them has the fewest bits an element: the first of those
  int bits = 0;      // of that one
  bool fits = true;  // it has no other fields than numbers, scalars and Views of a matrix whose columns are one axis
  int of = -1;       // that one's number among the fields
};

namespace detail {
template <class F>
struct StreamedField {
  static constexpr int bits = 0;
  static constexpr bool fits = std::is_arithmetic_v<F>;
};
template <class T, int R>
struct StreamedField<View<const T, R>> {
  static constexpr int bits = R == 0 ? 64 : element_bits<T>;  // a scalar is not what is streamed
  static constexpr bool fits = R == 0 || R == 2;
};
template <class V>
struct StreamedField<Flattened<V, 2, 1>> {
  static constexpr int bits = element_bits<std::remove_const_t<typename V::element_type>>;
  static constexpr bool fits = true;
};

template <class... Fields>
consteval StreamedFields streamed_fields_of_tuple(std::tuple<Fields&...>*) {
  StreamedFields all;
  int number = -1;
  const auto look = [&]<class Field>() {
    ++number;
    all.fits = all.fits && Field::fits;
    if (Field::bits == 0) return;
    if (all.bits == 0 || Field::bits < all.bits) {
      all.streamed = all.views;
      all.bits = Field::bits;
      all.of = number;
    }
    ++all.views;
  };
  (look.template operator()<StreamedField<std::remove_const_t<Fields>>>(), ...);
  all.fits = all.fits && all.bits >= 4 && all.bits <= 8;  // more take too many registers
  return all;
}

// What is streamed of a prologue.
template <int Number, class... Fields>
struct StreamedElement;
template <int Number, class First, class... Rest>
struct StreamedElement<Number, First, Rest...> : StreamedElement<Number - 1, Rest...> {};
template <class First, class... Rest>
struct StreamedElement<0, First, Rest...> {
  using type = std::remove_const_t<typename First::element_type>;
};
template <class... Fields, int Number>
StreamedElement<Number, Fields...> streamed_element(std::tuple<Fields&...>*, std::integral_constant<int, Number>);
}  // namespace detail

template <class S>
consteval StreamedFields streamed_fields() {
  if constexpr (!std::is_class_v<S> || is_view<S> || field_count<S>() == 0) {
    return {.fits = false};
  } else {
    return detail::streamed_fields_of_tuple(static_cast<decltype(fields_of(std::declval<const S&>()))*>(nullptr));
  }
}

template <class S>
using streamed_element_t =
    typename decltype(detail::streamed_element(static_cast<decltype(fields_of(std::declval<S&>()))*>(nullptr),
                                               std::integral_constant<int, streamed_fields<S>().of>()))::type;

// A prologue S of a matrix, W lanes down one of its columns at a time, from one step of rows to the next.
template <class S, int W>
class StreamedSource {
  static constexpr StreamedFields fields = streamed_fields<S>();
  static constexpr int bytes = W * fields.bits / 8, unit = bytes < 16 ? bytes : 16, blocks = bytes / unit;
  static_assert(fields.fits && bytes % 4 == 0 && bytes % unit == 0);

 public:
  // What it reads for W lanes.
  struct Pieces {
    Block<unit> streamed[blocks];
    Block<16> single[fields.views];  // an element each
  };

  // Whether each operand lies as a StreamedSource wants it that goes down in steps of multiples of `step` rows, on the
  // host; and each of the others, unless it has one element for a whole column, has one for a multiple of `rows`.
  static bool fits(const S& source, std::int64_t step, std::int64_t rows = W) {
    bool all = true;
    int number = 0;
    for_each_view(source, [&](const auto& view) {
      using V = std::remove_cvref_t<decltype(view)>;
      const bool streamed = number++ == fields.streamed;
      if constexpr (V::rank >= 2) {
        const int lines = V::rank - 2;
        const std::int64_t length = view.extent(lines);
        all = all && length % W == 0 && view.stride(lines) == (streamed ? 1 : 0);
        const bool one_line = V::rank == 2 || view.extent(0) == 1;
        all = all && (one_line || (step % length == 0 && (streamed || length % rows == 0)));
        for (int axis = 0; axis < V::rank && streamed; ++axis) {
          const bool one = axis == lines || view.extent(axis) == 1;
          all = all && (one || view.stride(axis) * fields.bits % (8 * unit) == 0);
        }
        if (streamed) all = all && at_byte(view.data()) && address_of(view.data()) % unit == 0;
      }
    });
    return all;
  }

  // What is streamed, for which fits() holds, as lines of bytes of which the copy engine brings 128 each of so many
  // columns: nothing where the columns are not a line each.
  static std::optional<BoxedMemory<2>> boxed(const S& source, int columns) {
    const std::int64_t rows = source.shape()[0], all_columns = source.shape()[1];
    std::optional<BoxedMemory<2>> boxed;
    int number = 0;
    for_each_view(source, [&](const auto& view) {
      using V = std::remove_cvref_t<decltype(view)>;
      if constexpr (V::rank >= 2) {
        if (number++ != fields.streamed) return;
        constexpr int lines = V::rank - 2;
        if (lines > 0 && view.extent(0) > 1 && view.stride(0) != view.extent(lines)) return;
        const std::int64_t bytes = rows * fields.bits / 8, pitch = view.stride(lines + 1) * fields.bits / 8;
        boxed = {first_byte(view.data()),
                 {bytes, all_columns},
                 {1, all_columns > 1 ? pitch : (bytes + 15) / 16 * 16},
                 {swizzle_bytes, columns}};
      } else {
        ++number;
      }
    });
    return boxed;
  }

  // From row at[0], a multiple of W, of column at[1] on, and from there in steps of `step` rows, for which fits()
  // holds.
  KGEN_FN StreamedSource(const S& source, Index<2> at, std::int64_t step) {
    int number = 0;
    for_each_operand(source, [&](const auto& operand) KGEN_LAMBDA {
      places_[number] = place_of(operand, at);
      steps_[number] = place_of(operand, Index<2>{at[0] + step, at[1]}) - places_[number];
      ++number;
    });
  }

  // Loads the next ones.
  KGEN_FN Pieces load(const S& source) {
    Pieces pieces;
    load_single(source, pieces);
    int number = 0;
    for_each_view(source, [&](const auto& view) KGEN_LAMBDA {
      if (number == fields.streamed) {
        const auto from = view.data() + places_[number];
        KGEN_UNROLL
        for (int i = 0; i < blocks; ++i) pieces.streamed[i] = load_streamed(first_byte(from) + unit * i);
        places_[number] += steps_[number];
      }
      ++number;
    });
    return pieces;
  }
  // The same but for what is streamed.
  KGEN_FN void load_single(const S& source, Pieces& pieces) {
    int number = 0;
    for_each_view(source, [&](const auto& view) KGEN_LAMBDA {
      if (number != fields.streamed) {
        keep(pieces.single[number], view.data() + places_[number]);
        places_[number] += steps_[number];
      }
      ++number;
    });
  }

  // The prologue of `Part` of these lanes, from number `first` on.
  template <int Part>
  KGEN_FN static auto lanes(const S& source, const Pieces& pieces, int first) {
    S seen = source;
    int number = 0;
    for_each_view(seen, [&](auto& view) KGEN_LAMBDA {
      using V = std::remove_cvref_t<decltype(view)>;
      Index<V::rank> strides{};
      const bool streamed = number == fields.streamed;
      if constexpr (V::rank > 0) strides[V::rank - 1] = streamed ? 1 : 0;
      const void* piece = &pieces.single[number];
      if (streamed) piece = first_byte(pieces.streamed) + first * fields.bits / 8;
      view = V(static_cast<typename V::element_type*>(piece), Index<V::rank>{}, strides).with_access({streamed});
      ++number;
    });
    return seen.template load<Part>(Index<2>{});
  }

  // The prologue of an element of that code.
  KGEN_FN static float of_code(const S& source, Pieces pieces, std::uint32_t code) {
    pieces.streamed[0].words[0] = code;
    return static_cast<float>(lanes<1>(source, pieces, 0).data);
  }

  // One element, as the first one at `to`: in a whole word, for what would put it beside other bytes would wait for it.
  template <class T>
  KGEN_FN static void keep(Block<16>& to, T* from) {
    const T element = *from;
    if constexpr (sizeof(T) == 2) {
      to.words[0] = std::bit_cast<std::uint16_t>(element);
    } else {
      memcpy(&to, &element, sizeof(element));
    }
  }
  template <class T>
  KGEN_FN static void keep(Block<16>& to, const PackedPointer<T>& from) {
    to.words[0] = static_cast<std::uint32_t>(*from.byte()) >> from.bit();
  }
  template <class T>
  KGEN_FN static const unsigned char* first_byte(T* pointer) {
    return reinterpret_cast<const unsigned char*>(pointer);
  }
  template <class T>
  KGEN_FN static const unsigned char* first_byte(const PackedPointer<T>& pointer) {
    return pointer.byte();
  }

 private:
  template <class Body>
  KGEN_FN static void for_each_operand(const S& source, const Body& body) {
    for_each_field(source, [&](const auto& field) KGEN_LAMBDA {
      using Field = std::remove_cvref_t<decltype(field)>;
      if constexpr (is_view<Field> || is_flattened<Field>) body(field);
    });
  }
  // The number of an element in its memory.
  template <class T, int R>
  KGEN_FN static std::int64_t place_of(const View<T, R>& view, Index<2> at) {
    if constexpr (R == 0) {
      return 0;
    } else {
      return at[0] * view.stride(0) + at[1] * view.stride(1);
    }
  }
  template <class V>
  KGEN_FN static std::int64_t place_of(const Flattened<V, 2, 1>& flattened, Index<2> at) {
    const V& view = flattened.view;
    const auto length = static_cast<std::uint32_t>(view.extent(1)), row = static_cast<std::uint32_t>(at[0]);
    return row / length * view.stride(0) + row % length * view.stride(1) + at[1] * view.stride(2);
  }
  KGEN_FN static Block<unit> load_streamed(const unsigned char* from) {
    if constexpr (unit == 16) {
      return load_passing<unit>(from);
    } else {
      return load_constant<unit>(from);
    }
  }

  std::int64_t places_[fields.views], steps_[fields.views];  // in elements
};

}  // namespace kgen::gpu

#endif

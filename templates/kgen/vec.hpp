// Vec<T, W>: W lanes of T, the unit of elementwise code. W is a power of two from 1 to 64, whatever the registers hold:
// one lane is a scalar, as many as fit are one vector register, and more are two halves.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kgen/platform.hpp"
#include "kgen/types.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/arithmetic.hpp"
#else
#include "kgen/cpu/registers.hpp"
#endif

namespace kgen {

// The lanes of one register, for arithmetic on elements of type T; on a GPU, those that a thread moves at a time.
template <class T>
inline constexpr int lanes_of = (register_bytes == 0 ? 16 : register_bytes) /
                                static_cast<int>(std::is_same_v<T, bool> ? 4 : sizeof(compute_t<T>));

template <class T>
concept Scalar = std::is_arithmetic_v<T>;

template <class T, int W>
struct Vec;

namespace detail {

// A lane of bool is 32 bits, all set or none, as comparisons of floats give it. A single one is a bool; on a GPU it is 32
// bits as well, since Clang passes structs of one bool through memory.
template <class T, int W>
struct Lane {
  using type = T;
};
template <int W>
requires(W > 1 || register_bytes == 0) struct Lane<bool, W> {
  using type = std::int32_t;
};

enum class Form { scalar, native, halves };
template <class T, int W>
inline constexpr Form form_of = W == 1                                                    ? Form::scalar
                                : sizeof(typename Lane<T, W>::type) * W <= register_bytes ? Form::native
                                                                                          : Form::halves;

template <class T, int W, Form = form_of<T, W>>
struct Storage {  // a scalar
  using type = typename Lane<T, W>::type;
};
template <class T, int W>
struct Storage<T, W, Form::native> {
  typedef typename Lane<T, W>::type type __attribute__((vector_size(sizeof(typename Lane<T, W>::type) * W)));
};
template <class T, int W>
struct Halves {
  Vec<T, W / 2> low, high;
};
template <class T, int W>
struct Storage<T, W, Form::halves> {
  using type = Halves<T, W>;
};

template <std::size_t Bytes>
using SignedOf = std::conditional_t<
    Bytes == 1, std::int8_t,
    std::conditional_t<Bytes == 2, std::int16_t, std::conditional_t<Bytes == 4, std::int32_t, std::int64_t>>>;
// The unsigned integer that `x op y` is done in so that overflow wraps, without promotion to int on the way.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class To, class From>
KGEN_FN constexpr To convert_scalar(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4) {
    return static_cast<To>(static_cast<std::int32_t>(value));  // as the vectors do: defined for every 32-bit value
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, std::uint32_t>) {
    return static_cast<To>(static_cast<std::int64_t>(value));
#if defined(KGEN_GPU)
  } else if constexpr (std::is_same_v<To, float> && std::is_integral_v<From> && sizeof(From) == 1 &&
                       !std::is_same_v<From, bool>) {
    // As the last bits of a float beyond 2^23: two additions instead of a conversion, the first of which the compiler
    // knows how to leave out for an integer of 4 bits (half_byte() of kgen/gpu/access.hpp).
    constexpr std::uint32_t zero = std::is_signed_v<From> ? 0x4b400008 : 0x4b400000;
    return as_float(zero + static_cast<std::uint32_t>(static_cast<std::int32_t>(value))) - as_float(zero);
#endif
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace detail

template <class T, int W>
struct Vec {
  static_assert(W >= 1 && W <= 64 && (W & (W - 1)) == 0, "the number of lanes is a power of two from 1 to 64");
  static_assert(Scalar<T>, "elements narrower than 32-bit floats are widened when they are loaded");
  static constexpr int width = W;
  static constexpr detail::Form form = detail::form_of<T, W>;
  using lane_type = T;

  typename detail::Storage<T, W>::type data;

  Vec() = default;
  // Every lane the same. A scalar takes the type of the vector that it meets.
  template <Scalar S>
  KGEN_FN constexpr Vec(S scalar) {
    static_assert(!(std::is_integral_v<T> && std::is_floating_point_v<S>), "a float meets a vector of integers");
    const T lane = static_cast<T>(scalar);
    if constexpr (form == detail::Form::scalar) {
      data = lane;
    } else if constexpr (form == detail::Form::halves) {
      data.low = Vec<T, W / 2>(lane);
      data.high = data.low;
    } else {
      using LaneType = typename detail::Lane<T, W>::type;
      if constexpr (std::is_same_v<T, bool>) {
        data = decltype(data){} - static_cast<LaneType>(lane);
      } else if constexpr (std::is_floating_point_v<T>) {
        data = lane - decltype(data){};  // not 0 + lane, which loses the sign of -0
      } else {
        data = lane + decltype(data){};
      }
    }
  }

  KGEN_FN T operator[](int lane) const {
    if constexpr (form == detail::Form::halves) {
      return lane < W / 2 ? data.low[lane] : data.high[lane - W / 2];
    } else if constexpr (form == detail::Form::native) {
      return static_cast<T>(data[lane] != 0 ? (std::is_same_v<T, bool> ? 1 : data[lane]) : data[lane]);
    } else {
      return data;
    }
  }

  friend KGEN_FN Vec operator+(Vec a, Vec b) {
    return wrap(a, b, [](auto x, auto y) KGEN_LAMBDA { return x + y; });
  }
  friend KGEN_FN Vec operator-(Vec a, Vec b) {
    return wrap(a, b, [](auto x, auto y) KGEN_LAMBDA { return x - y; });
  }
  friend KGEN_FN Vec operator*(Vec a, Vec b) {
    return wrap(a, b, [](auto x, auto y) KGEN_LAMBDA { return x * y; });
  }
  // Floats on an NVIDIA GPU: within 3 ulp, else correctly rounded. Integers truncate towards zero, and give 0 for a
  // division by 0.
  friend KGEN_FN Vec operator/(Vec a, Vec b) {
    if constexpr (std::is_integral_v<T>) {
      return by_lane(a, b, [](T x, T y) KGEN_LAMBDA {
        if (y == 0) return T(0);
        if (std::is_signed_v<T> && y == T(-1)) return static_cast<T>(0 - static_cast<detail::Wrapping<T>>(x));
        return static_cast<T>(x / y);
      });
    } else {
#if defined(KGEN_GPU)
      return lanewise(a, b, [](T x, T y) KGEN_LAMBDA { return gpu::divide(x, y); });
#else
      return lanewise(a, b, [](auto x, auto y) KGEN_LAMBDA { return x / y; });
#endif
    }
  }
  friend KGEN_FN Vec operator-(Vec a) {
    if constexpr (std::is_floating_point_v<T>) {
      return lanewise(a, a, [](auto x, auto) KGEN_LAMBDA { return -x; });
    } else {
      return Vec(0) - a;
    }
  }
  friend KGEN_FN Vec operator&(Vec a, Vec b) {
    return lanewise(a, b, [](auto x, auto y) KGEN_LAMBDA { return x & y; });
  }
  friend KGEN_FN Vec operator|(Vec a, Vec b) {
    return lanewise(a, b, [](auto x, auto y) KGEN_LAMBDA { return x | y; });
  }
  friend KGEN_FN Vec operator^(Vec a, Vec b) {
    return lanewise(a, b, [](auto x, auto y) KGEN_LAMBDA { return x ^ y; });
  }
  friend KGEN_FN Vec operator<<(Vec a, int bits) {
    return lanewise(a, a, [bits](auto x, auto) KGEN_LAMBDA { return x << bits; });
  }
  friend KGEN_FN Vec operator>>(Vec a, int bits) {
    return lanewise(a, a, [bits](auto x, auto) KGEN_LAMBDA { return x >> bits; });
  }
  friend KGEN_FN Vec operator!(Vec a) requires std::is_same_v<T, bool> { return a ^ Vec(true); }

  friend KGEN_FN Vec<bool, W> operator==(Vec a, Vec b) {
    return compare(a, b, [](auto x, auto y) KGEN_LAMBDA { return x == y; });
  }
  friend KGEN_FN Vec<bool, W> operator!=(Vec a, Vec b) {
    return compare(a, b, [](auto x, auto y) KGEN_LAMBDA { return x != y; });
  }
  friend KGEN_FN Vec<bool, W> operator<(Vec a, Vec b) {
    return compare(a, b, [](auto x, auto y) KGEN_LAMBDA { return x < y; });
  }
  friend KGEN_FN Vec<bool, W> operator<=(Vec a, Vec b) {
    return compare(a, b, [](auto x, auto y) KGEN_LAMBDA { return x <= y; });
  }
  friend KGEN_FN Vec<bool, W> operator>(Vec a, Vec b) { return b < a; }
  friend KGEN_FN Vec<bool, W> operator>=(Vec a, Vec b) { return b <= a; }
};

// ---- halves ---------------------------------------------------------------------------------------------------------

namespace detail {
template <int Begin, class T, int W, int... I>
KGEN_FN Vec<T, W / 2> half(const Vec<T, W>& v, std::integer_sequence<int, I...>) {
  Vec<T, W / 2> result;
  if constexpr (W == 2) {
    result.data = v[Begin];
  } else {
#if !defined(KGEN_GPU)  // whose vectors are never native
    result.data = __builtin_shufflevector(v.data, v.data, (Begin + I)...);
#endif
  }
  return result;
}
template <class T, int W, int... I>
KGEN_FN Vec<T, 2 * W> concatenate(const Vec<T, W>& low, const Vec<T, W>& high, std::integer_sequence<int, I...>) {
  Vec<T, 2 * W> result;
  if constexpr (Vec<T, 2 * W>::form == Form::halves) {
    result.data.low = low;
    result.data.high = high;
  } else if constexpr (W == 1) {
    const T lanes[2] = {low.data, high.data};
    if constexpr (std::is_same_v<T, bool>) {
      result.data = decltype(result.data){-lanes[0], -lanes[1]};
    } else {
      result.data = decltype(result.data){lanes[0], lanes[1]};
    }
  } else {
#if !defined(KGEN_GPU)  // whose vectors are never native
    result.data = __builtin_shufflevector(low.data, high.data, I...);
#endif
  }
  return result;
}
}  // namespace detail

// Lanes 0 to W/2 - 1.
template <class T, int W>
KGEN_FN Vec<T, W / 2> low_half(const Vec<T, W>& v) {
  if constexpr (Vec<T, W>::form == detail::Form::halves) {
    return v.data.low;
  } else {
    return detail::half<0>(v, std::make_integer_sequence<int, W / 2>{});
  }
}
// Lanes W/2 to W - 1.
template <class T, int W>
KGEN_FN Vec<T, W / 2> high_half(const Vec<T, W>& v) {
  if constexpr (Vec<T, W>::form == detail::Form::halves) {
    return v.data.high;
  } else {
    return detail::half<W / 2>(v, std::make_integer_sequence<int, W / 2>{});
  }
}
template <class T, int W>
KGEN_FN Vec<T, 2 * W> concatenate(const Vec<T, W>& low, const Vec<T, W>& high) {
  return detail::concatenate(low, high, std::make_integer_sequence<int, 2 * W>{});
}

#if !defined(KGEN_GPU)
namespace detail {
template <int By, class T, int W, int... I>
KGEN_FN Vec<T, W> turned(const Vec<T, W>& v, std::integer_sequence<int, I...>) {
  Vec<T, W> result;
  result.data = __builtin_shufflevector(v.data, v.data, (I + By) % W...);
  return result;
}
}  // namespace detail
// Lane i of the result, one register, is lane i + By, from the first on again behind the last.
template <int By, class T, int W>
KGEN_FN Vec<T, W> turned(const Vec<T, W>& v) {
  return detail::turned<By>(v, std::make_integer_sequence<int, W>{});
}

namespace detail {
template <class T, int W, int... I>
Vec<T, W> even_lanes(const Vec<T, W>& low, const Vec<T, W>& high, std::integer_sequence<int, I...>) {
  Vec<T, W> result;
  result.data = __builtin_shufflevector(low.data, high.data, 2 * I...);
  return result;
}
}  // namespace detail
// Every second lane of both, from the first on.
template <class T, int W>
Vec<T, W> even_lanes(const Vec<T, W>& low, const Vec<T, W>& high) {
  if constexpr (Vec<T, W>::form == detail::Form::halves) {
    return concatenate(even_lanes(low_half(low), high_half(low)), even_lanes(low_half(high), high_half(high)));
  } else {
    return detail::even_lanes(low, high, std::make_integer_sequence<int, W>{});
  }
}
#endif

// ---- lane by lane ---------------------------------------------------------------------------------------------------

// operation(x, y) of what the vectors are made of: scalars or vector registers.
template <class T, int W, class Operation>
KGEN_FN Vec<T, W> lanewise(const Vec<T, W>& a, const Vec<T, W>& b, Operation operation) {
  Vec<T, W> result;
  if constexpr (Vec<T, W>::form == detail::Form::halves) {
    result.data.low = lanewise(a.data.low, b.data.low, operation);
    result.data.high = lanewise(a.data.high, b.data.high, operation);
  } else if constexpr (Vec<T, W>::form == detail::Form::scalar) {
    result.data = static_cast<T>(operation(a.data, b.data));
  } else {
    result.data = operation(a.data, b.data);
  }
  return result;
}

// a * b, of floats rounded by itself also where an addition follows, which a GPU's compiler joins to a plain product.
template <class T, int W>
KGEN_FN Vec<T, W> rounded_product(const Vec<T, W>& a, const Vec<T, W>& b) {
#if defined(KGEN_GPU)
  if constexpr (std::is_floating_point_v<T>) {
    return lanewise(a, b, [](T x, T y) KGEN_LAMBDA { return gpu::multiply(x, y); });
  }
#endif
  return a * b;
}

template <class To, class From, int W>
KGEN_FN Vec<To, W> bit_cast(const Vec<From, W>& v) {
  static_assert(sizeof(To) == sizeof(From));
  Vec<To, W> result;
  if constexpr (W == 1) {
    result.data = std::bit_cast<To>(v.data);
  } else if constexpr (Vec<To, W>::form == detail::Form::halves) {
    result.data.low = bit_cast<To>(v.data.low);
    result.data.high = bit_cast<To>(v.data.high);
  } else {
    std::memcpy(&result, &v, sizeof(v));
  }
  return result;
}

// lanewise for integers and floats alike: integer overflow wraps.
template <class T, int W, class Operation>
KGEN_FN Vec<T, W> wrap(const Vec<T, W>& a, const Vec<T, W>& b, Operation operation) {
  static_assert(!std::is_same_v<T, bool>, "bool has no arithmetic");
  if constexpr (std::is_floating_point_v<T>) {
    return lanewise(a, b, operation);
  } else if constexpr (W == 1) {
    using Wide = detail::Wrapping<T>;
    return Vec<T, 1>(static_cast<T>(operation(static_cast<Wide>(a.data), static_cast<Wide>(b.data))));
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    return bit_cast<T>(lanewise(bit_cast<Unsigned>(a), bit_cast<Unsigned>(b), operation));
  }
}

// ---- conversion -----------------------------------------------------------------------------------------------------

// Lane by lane: to float and between floats to nearest, float to integer towards zero, to bool != 0.
template <class To, class From, int W>
KGEN_FN Vec<To, W> convert(const Vec<From, W>& v) {
  using detail::Form;
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (W == 1) {
    return Vec<To, 1>(detail::convert_scalar<To>(v.data));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != Vec<From, W>(0);
  } else if constexpr (std::is_same_v<From, bool> && sizeof(To) != 4) {
    return convert<To>(convert<std::int32_t>(v));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4) {
    return convert<To>(convert<std::int32_t>(v));
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, std::uint32_t>) {
    return convert<To>(convert<std::int64_t>(v));
  } else if constexpr (std::is_integral_v<From> && !std::is_same_v<From, bool> && sizeof(From) < 4 &&
                       std::is_floating_point_v<To> && Vec<From, W>::form == Form::native) {
    return convert<To>(convert<std::int32_t>(v));  // GCC 12 would convert lane by lane
#if defined(KGEN_WIDENS_BYTES)
  } else if constexpr (std::is_integral_v<From> && !std::is_same_v<From, bool> && std::is_integral_v<To> &&
                       sizeof(From) == 1 && sizeof(To) == 4 && (W == 16 || W == register_bytes / 4)) {
    Vec<To, W> result;
    cpu::widen_bytes<W, std::is_signed_v<From>>(&result, &v);
    return result;
#endif
  } else if constexpr (Vec<From, W>::form == Form::native && Vec<To, W>::form == Form::native) {
    Vec<To, W> result;
    if constexpr (std::is_same_v<From, bool>) {
      result.data = __builtin_convertvector(v.data & 1, decltype(result.data));
    } else {
      result.data = __builtin_convertvector(v.data, decltype(result.data));
    }
    return result;
  } else {
    return concatenate(convert<To>(low_half(v)), convert<To>(high_half(v)));
  }
}

// ---- comparison and choice ------------------------------------------------------------------------------------------

template <class T, int W, class Operation>
KGEN_FN Vec<bool, W> compare(const Vec<T, W>& a, const Vec<T, W>& b, Operation operation) {
  using detail::Form;
  Vec<bool, W> result;
  if constexpr (W == 1) {
    result.data = operation(a.data, b.data);
  } else if constexpr (Vec<T, W>::form == Form::native && Vec<bool, W>::form == Form::native) {
    if constexpr (sizeof(a.data[0]) == 4) {
      result.data = operation(a.data, b.data);
    } else {
      result.data = __builtin_convertvector(operation(a.data, b.data), decltype(result.data));
    }
  } else {
    result = concatenate(compare(low_half(a), low_half(b), operation), compare(high_half(a), high_half(b), operation));
  }
  return result;
}

// Lanes of `a` where the condition holds, else of `b`.
template <class T, int W>
KGEN_FN Vec<T, W> select(const Vec<bool, W>& condition, const Vec<T, W>& a, const Vec<T, W>& b) {
  using detail::Form;
  Vec<T, W> result;
  if constexpr (W == 1) {
    result.data = condition.data ? T(a.data) : T(b.data);  // of values: a choice of places would keep them in memory
  } else if constexpr (Vec<T, W>::form == Form::native && Vec<bool, W>::form == Form::native) {
    if constexpr (sizeof(a.data[0]) == 4) {
      result.data = condition.data ? a.data : b.data;
    } else {
      using Mask = typename detail::Storage<detail::SignedOf<sizeof(T)>, W>::type;
      result.data = __builtin_convertvector(condition.data, Mask) ? a.data : b.data;
    }
  } else {
    result = concatenate(select(low_half(condition), low_half(a), low_half(b)),
                         select(high_half(condition), high_half(a), high_half(b)));
  }
  return result;
}

// True where any lane is.
template <int W>
KGEN_FN bool any_of(const Vec<bool, W>& v) {
  if constexpr (W == 1) {
    return v.data;
  } else {
    return any_of(low_half(v) | high_half(v));
  }
}

// Whether all lanes of a vector of integers are equal, by their bits that differ: these are joined in whole registers,
// while comparisons give lanes of another width.
template <class T, int W>
KGEN_FN T joined_lanes(const Vec<T, W>& v) {
  if constexpr (W == 1) {
    return v.data;
  } else {
    return joined_lanes(low_half(v) | high_half(v));
  }
}
template <class T, int W>
KGEN_FN bool has_equal_lanes(const Vec<T, W>& v) {
  return joined_lanes(v ^ Vec<T, W>(v[0])) == 0;
}

// The sum of all lanes.
template <class T, int W>
KGEN_FN T sum_of(const Vec<T, W>& v) {
  if constexpr (W == 1) {
    return v.data;
  } else {
    return sum_of(low_half(v) + high_half(v));
  }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// W consecutive elements; no alignment is needed.
template <int W, Scalar T>
KGEN_FN Vec<T, W> load_lanes(const T* from) {
  if constexpr (std::is_same_v<T, bool>) {
    static_assert(sizeof(bool) == 1);
    return load_lanes<W>(reinterpret_cast<const std::uint8_t*>(from)) != Vec<std::uint8_t, W>(0);
  } else if constexpr (Vec<T, W>::form == detail::Form::halves) {
    return concatenate(load_lanes<W / 2>(from), load_lanes<W / 2>(from + W / 2));
  } else {
    Vec<T, W> result;
    if constexpr (W == 1) {
      result.data = *from;  // whose alignment a GPU's compiler knows
    } else {
      std::memcpy(&result.data, from, sizeof(T) * W);
    }
    return result;
  }
}
template <Scalar T, int W>
KGEN_FN void store_lanes(T* to, const Vec<T, W>& v) {
  if constexpr (std::is_same_v<T, bool>) {
    store_lanes(reinterpret_cast<std::uint8_t*>(to), convert<std::uint8_t>(v));
  } else if constexpr (Vec<T, W>::form == detail::Form::halves) {
    store_lanes(to, v.data.low);
    store_lanes(to + W / 2, v.data.high);
  } else if constexpr (W == 1) {
    *to = v.data;
  } else {
    std::memcpy(to, &v.data, sizeof(T) * W);
  }
}

// operation(x, y) of each pair of lanes: for what has no vector instruction.
template <class T, int W, class Operation>
KGEN_FN Vec<T, W> by_lane(const Vec<T, W>& a, const Vec<T, W>& b, Operation operation) {
  T lanes[W];
  KGEN_UNROLL
  for (int i = 0; i < W; ++i) lanes[i] = operation(a[i], b[i]);
  return load_lanes<W>(lanes);
}

// ---- the vector forms of the conversion text in types.hpp -----------------------------------------------------------

template <int W>
KGEN_FN Vec<float, W> as_float(const Vec<std::uint32_t, W>& bits) {
  return bit_cast<float>(bits);
}
template <int W>
KGEN_FN Vec<std::uint32_t, W> as_bits(const Vec<float, W>& value) {
  return bit_cast<std::uint32_t>(value);
}
template <int W>
KGEN_FN Vec<float, W> to_float(const Vec<std::uint32_t, W>& value) {
  return convert<float>(bit_cast<std::int32_t>(value));
}

// ---- functors on scalars and vectors alike --------------------------------------------------------------------------

namespace detail {
template <class... A>
struct Common {  // of scalars alone: the type C++ arithmetic would give, but narrow integers stay as they are
  static constexpr int width = 0;
  using type = std::common_type_t<A...>;
};
template <class T, int W, class... Rest>
struct Common<Vec<T, W>, Rest...> {
  static constexpr int width = W;
  using type = T;
};
template <Scalar S, class Next, class... Rest>
requires(Common<Next, Rest...>::width > 0) struct Common<S, Next, Rest...> : Common<Next, Rest...> {
};
}  // namespace detail

// The type of the lanes when these scalars and vectors meet: that of the first vector.
template <class... A>
using common_lane_t = typename detail::Common<A...>::type;
// How many lanes: those of the first vector; 0 where all are scalars.
template <class... A>
inline constexpr int common_width = detail::Common<A...>::width;

// A scalar as a vector whose lanes are all the same; a vector as it is.
template <class T, int W, Scalar S>
KGEN_FN Vec<T, W> spread(S scalar) {
  return Vec<T, W>(scalar);
}
template <class T, int W>
KGEN_FN Vec<T, W> spread(const Vec<T, W>& v) {
  return v;
}

// A vector of one lane as a scalar, where a functor was given scalars alone.
template <int Width, class T, int W>
KGEN_FN auto unspread(const Vec<T, W>& v) {
  if constexpr (Width == 0) {
    return static_cast<T>(v.data);
  } else {
    return v;
  }
}

// function(vectors...) of scalars and vectors: scalars take the type and the width of the vectors that they meet. Of
// scalars alone, the result is a scalar.
template <class Function, class... A>
KGEN_FN auto on_lanes(Function function, const A&... a) {
  constexpr int width = common_width<A...>;
  return unspread<width>(function(spread < common_lane_t<A...>, width == 0 ? 1 : width > (a)...));
}

}  // namespace kgen

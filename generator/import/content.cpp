#include "generator/import/content.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace kgen {
namespace {

struct OnnxType {
  std::string_view name;
  std::optional<DType> dtype;
};

// By TensorProto.DataType: https://github.com/onnx/onnx/blob/main/onnx/onnx.in.proto
const std::array<OnnxType, 27> types = {{
    {"undefined", {}},
    {"float", DType::f32},
    {"uint8", DType::u8},
    {"int8", DType::i8},
    {"uint16", DType::u16},
    {"int16", DType::i16},
    {"int32", DType::i32},
    {"int64", DType::i64},
    {"string", {}},
    {"bool", DType::boolean},
    {"float16", DType::f16},
    {"double", DType::f64},
    {"uint32", DType::u32},
    {"uint64", DType::u64},
    {"complex64", {}},
    {"complex128", {}},
    {"bfloat16", DType::bf16},
    {"float8e4m3fn", DType::f8e4m3},
    {"float8e4m3fnuz", DType::f8e4m3fnuz},
    {"float8e5m2", DType::f8e5m2},
    {"float8e5m2fnuz", DType::f8e5m2fnuz},
    {"uint4", DType::u4},
    {"int4", DType::i4},
    {"float4e2m1", DType::f4e2m1},
    {"float8e8m0", DType::f8e8m0},
    {"uint2", DType::u2},
    {"int2", DType::i2},
}};

// How a float of two bytes or less is encoded.
struct FloatFormat {
  int exponent_bits, fraction_bits, bias;
  enum class Special {
    infinities,  // and NaN have the greatest exponent
    all_ones,    // are NaN
    minus_zero,  // is NaN
    none
  } special;
};

double decode_float(std::uint32_t bits, const FloatFormat& format) {
  using Special = FloatFormat::Special;
  const int width = format.exponent_bits + format.fraction_bits;
  const std::uint32_t fraction = bits & ((1u << format.fraction_bits) - 1);
  const std::uint32_t greatest = (1u << format.exponent_bits) - 1;
  const std::uint32_t exponent = (bits >> format.fraction_bits) & greatest;
  const double sign = bits >> width & 1 ? -1.0 : 1.0;
  const bool all_ones = exponent == greatest && fraction == (1u << format.fraction_bits) - 1;
  if ((format.special == Special::infinities && exponent == greatest && fraction != 0) ||
      (format.special == Special::all_ones && all_ones) ||
      (format.special == Special::minus_zero && bits == 1u << width)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (format.special == Special::infinities && exponent == greatest)
    return sign * std::numeric_limits<double>::infinity();
  const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - format.bias - format.fraction_bits;
  const std::uint32_t significand = exponent == 0 ? fraction : fraction | 1u << format.fraction_bits;
  return sign * std::ldexp(static_cast<double>(significand), power);
}

double decode_power(std::uint8_t bits) {
  return bits == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

template <class T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// Elements of less than a byte stand in the lowest bits of one.
std::optional<ContentElement> decode_element(DType dtype, const char* at) {
  using Special = FloatFormat::Special;
  const auto byte = [&] { return load<std::uint8_t>(at); };
  switch (dtype) {
    case DType::f64: return load<double>(at);
    case DType::f32: return static_cast<double>(load<float>(at));
    case DType::f16:
      return decode_float(load<std::uint16_t>(at), {5, 10, 15, Special::infinities});
    case DType::bf16:
      return decode_float(load<std::uint16_t>(at), {8, 7, 127, Special::infinities});
    case DType::f8e4m3:
      return decode_float(byte(), {4, 3, 7, Special::all_ones});
    case DType::f8e5m2:
      return decode_float(byte(), {5, 2, 15, Special::infinities});
    case DType::f8e4m3fnuz:
      return decode_float(byte(), {4, 3, 8, Special::minus_zero});
    case DType::f8e5m2fnuz:
      return decode_float(byte(), {5, 2, 16, Special::minus_zero});
    case DType::f8e8m0:
      return decode_power(byte());
    case DType::f4e2m1:
      return decode_float(byte(), {2, 1, 1, Special::none});
    case DType::i2:
      return Dim((byte() ^ 2) - 2);
    case DType::i4:
      return Dim((byte() ^ 8) - 8);
    case DType::u2:
    case DType::u4:
      return Dim(byte());
    case DType::i8: return Dim(load<std::int8_t>(at));
    case DType::i16: return Dim(load<std::int16_t>(at));
    case DType::i32: return Dim(load<std::int32_t>(at));
    case DType::i64: return Dim(load<std::int64_t>(at));
    case DType::u8: return Dim(load<std::uint8_t>(at));
    case DType::u16: return Dim(load<std::uint16_t>(at));
    case DType::u32: return Dim(load<std::uint32_t>(at));
    case DType::boolean: return Dim(load<std::uint8_t>(at) != 0);
    case DType::u64: {
      const auto whole = load<std::uint64_t>(at);
      if (whole > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
      return Dim(static_cast<std::int64_t>(whole));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<DType> dtype_of_onnx(std::int32_t data_type) {
  if (data_type < 0 || data_type >= static_cast<std::int32_t>(types.size())) return std::nullopt;
  return types[static_cast<std::size_t>(data_type)].dtype;
}

std::string_view name_of_onnx_type(std::int32_t data_type) {
  if (data_type < 0 || data_type >= static_cast<std::int32_t>(types.size())) return "unknown";
  return types[static_cast<std::size_t>(data_type)].name;
}

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return -1;
  }
  return count;
}

std::int64_t bytes_of_elements(DType dtype, std::int64_t count) {
  const int bits = info(dtype).bits;
  return bits < 8 ? count / (8 / bits) + (count % (8 / bits) != 0 ? 1 : 0) : count * (bits / 8);
}

Shape to_shape(const std::vector<std::int64_t>& extents) { return {extents.begin(), extents.end()}; }

std::optional<Content> decode_content(DType dtype, const std::vector<std::int64_t>& shape, std::string_view bytes) {
  const std::int64_t count = element_count(shape);
  if (count < 0 || count > most_content || bytes.size() != static_cast<std::size_t>(bytes_of_elements(dtype, count))) {
    return std::nullopt;
  }
  Content content{dtype, shape, {}};
  const int bits = info(dtype).bits;
  for (std::int64_t i = 0; i < count; ++i) {
    const char* at = bytes.data() + i * bits / 8;
    const char code = static_cast<char>(static_cast<std::uint8_t>(*at) >> i * bits % 8 & ((1 << bits % 8) - 1));
    auto element = decode_element(dtype, is_packed(dtype) ? &code : at);
    if (!element) return std::nullopt;
    content.elements.push_back(std::move(*element));
  }
  return content;
}

std::optional<Number> number_of(const ContentElement& element) {
  if (const double* real = std::get_if<double>(&element)) return Number(*real);
  const Dim& dim = std::get<Dim>(element);
  return dim.is_constant() ? std::optional<Number>(Number(dim.constant())) : std::nullopt;
}

std::optional<Dim> dim_of(const ContentElement& element) {
  const Dim* dim = std::get_if<Dim>(&element);
  return dim ? std::optional<Dim>(*dim) : std::nullopt;
}

}  // namespace kgen

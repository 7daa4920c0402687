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
    {"undefined", {}},          {"float", DType::f32},      {"uint8", DType::u8},
    {"int8", DType::i8},        {"uint16", DType::u16},     {"int16", DType::i16},
    {"int32", DType::i32},      {"int64", DType::i64},      {"string", {}},
    {"bool", DType::boolean},   {"float16", DType::f16},    {"double", DType::f64},
    {"uint32", DType::u32},     {"uint64", DType::u64},     {"complex64", {}},
    {"complex128", {}},         {"bfloat16", DType::bf16},  {"float8e4m3fn", DType::f8e4m3},
    {"float8e4m3fnuz", {}},     {"float8e5m2", DType::f8e5m2}, {"float8e5m2fnuz", {}},
    {"uint4", {}},              {"int4", {}},               {"float4e2m1", {}},
    {"float8e8m0", {}},         {"uint2", {}},              {"int2", {}},
}};

// How a float of two bytes or one is encoded.
struct FloatFormat {
  int exponent_bits, fraction_bits;
  bool has_infinity;  // else the greatest exponent is an ordinary one, and all ones are NaN
};

double decode_float(std::uint32_t bits, const FloatFormat& format) {
  const std::uint32_t fraction = bits & ((1u << format.fraction_bits) - 1);
  const std::uint32_t greatest = (1u << format.exponent_bits) - 1;
  const std::uint32_t exponent = (bits >> format.fraction_bits) & greatest;
  const int bias = static_cast<int>(greatest >> 1);
  const double sign = bits >> (format.exponent_bits + format.fraction_bits) & 1 ? -1.0 : 1.0;
  const bool all_ones = fraction == (1u << format.fraction_bits) - 1;
  if (exponent == greatest && (format.has_infinity || all_ones)) {
    if (format.has_infinity && fraction == 0) return sign * std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - bias - format.fraction_bits;
  const std::uint32_t significand = exponent == 0 ? fraction : fraction | 1u << format.fraction_bits;
  return sign * std::ldexp(static_cast<double>(significand), power);
}

template <class T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

std::optional<ContentElement> decode_element(DType dtype, const char* at) {
  switch (dtype) {
    case DType::f64: return load<double>(at);
    case DType::f32: return static_cast<double>(load<float>(at));
    case DType::f16: return decode_float(load<std::uint16_t>(at), {5, 10, true});
    case DType::bf16: return decode_float(load<std::uint16_t>(at), {8, 7, true});
    case DType::f8e4m3: return decode_float(load<std::uint8_t>(at), {4, 3, false});
    case DType::f8e5m2: return decode_float(load<std::uint8_t>(at), {5, 2, true});
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

Shape to_shape(const std::vector<std::int64_t>& extents) { return {extents.begin(), extents.end()}; }

std::optional<Content> decode_content(DType dtype, const std::vector<std::int64_t>& shape, std::string_view bytes) {
  const std::int64_t count = element_count(shape);
  const auto size = static_cast<std::size_t>(info(dtype).bytes);
  if (count < 0 || count > most_content || bytes.size() != static_cast<std::size_t>(count) * size) return std::nullopt;
  Content content{dtype, shape, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    auto element = decode_element(dtype, bytes.data() + static_cast<std::size_t>(i) * size);
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

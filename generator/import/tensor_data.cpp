#include "generator/import/tensor_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace kgen {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_bytes = std::int64_t{1} << 46;

// The file of external data; "" after an error.
std::string find_external(const OnnxTensor::External& external, const std::string& folder, const std::string& what,
                          Diagnostics& diagnostics) {
  const fs::path location = external.location;
  const auto refuse = [&](std::string_view why) -> std::string {
    diagnostics.error({}, fmt::format("{}: its external data, '{}', {}", what, external.location, why))
        .note("only files in the model's folder, or below it, are read");
    return "";
  };
  if (location.empty()) return refuse("has no name");
  if (external.location.find('\0') != std::string::npos) return refuse("is no file's name");  // nor all that is opened
  if (location.is_absolute()) return refuse("is an absolute path");
  for (const fs::path& part : location) {
    if (part == "..") return refuse("leads out of the model's folder");
  }
  std::error_code error;
  const fs::path root = fs::canonical(folder.empty() ? fs::path(".") : fs::path(folder), error);
  const fs::path file = error ? fs::path() : fs::canonical(root / location, error);
  if (error) return refuse("does not exist");
  const auto [end, rest] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (end != root.end()) return refuse("is a link that leads out of the model's folder");
  if (!fs::is_regular_file(file, error)) return refuse("is no file");
  return file.string();
}

// Packed elements are written as the bytes that hold them, as the format has no type for most of them.
std::string safetensors_dtype(DType dtype) {
  if (is_packed(dtype)) return "U8";
  if (dtype == DType::f8e4m3) return "F8_E4M3";
  if (dtype == DType::f8e5m2) return "F8_E5M2";
  if (dtype == DType::f8e8m0) return "F8_E8M0";
  if (dtype == DType::f8e4m3fnuz) return "F8_E4M3FNUZ";
  if (dtype == DType::f8e5m2fnuz) return "F8_E5M2FNUZ";
  std::string name(info(dtype).name);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// The bytes of packed elements are counted along the last axis, if each of its lines is whole bytes.
std::vector<std::int64_t> safetensors_shape(const StoredTensor& tensor) {
  if (!is_packed(tensor.dtype)) return tensor.shape;
  const int of_byte = 8 / info(tensor.dtype).bits;
  if (tensor.shape.empty() || tensor.shape.back() % of_byte != 0) return {tensor.length};
  std::vector<std::int64_t> shape = tensor.shape;
  shape.back() /= of_byte;
  return shape;
}

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

bool copy_file_part(const StoredTensor& tensor, std::ofstream& out) {
  std::ifstream in(tensor.path, std::ios::binary);
  in.seekg(tensor.offset);
  std::vector<char> buffer(std::size_t{1} << 20);
  for (std::int64_t left = tensor.length; left > 0;) {
    const auto part = std::min<std::int64_t>(left, static_cast<std::int64_t>(buffer.size()));
    if (!in.read(buffer.data(), part) || !out.write(buffer.data(), part)) return false;
    left -= part;
  }
  return true;
}

}  // namespace

std::optional<StoredTensor> locate_tensor(const OnnxTensor& tensor, const std::string& folder, const std::string& what,
                                          Diagnostics& diagnostics) {
  const auto refuse = [&](const std::string& why) {
    diagnostics.error({}, fmt::format("{}: {}", what, why));
    return std::nullopt;
  };
  const auto dtype = dtype_of_onnx(tensor.data_type);
  if (!dtype)
    return refuse(
        fmt::format("kgen has no type like ONNX's {} ({})", name_of_onnx_type(tensor.data_type), tensor.data_type));
  const std::int64_t count = element_count(tensor.dims);
  if (count < 0 || count > most_bytes / 8)
    return refuse(fmt::format("its shape, [{}], is impossible", fmt::join(tensor.dims, ", ")));
  const std::int64_t bytes = bytes_of_elements(*dtype, count);
  StoredTensor stored{tensor.name, *dtype, tensor.dims, tensor.bytes, "", 0, bytes};
  if (!tensor.external) {
    const auto has = static_cast<std::int64_t>(tensor.bytes ? tensor.bytes->size() : 0);
    if (has == bytes) return stored;
    return refuse(fmt::format("it has {} bytes of data, and its type and shape need {}", has, bytes));
  }
  const auto& external = *tensor.external;
  if (external.offset < 0 || external.length.value_or(bytes) != bytes) {
    return refuse(fmt::format("its external data has the wrong offset or length; it needs {} bytes", bytes));
  }
  stored.path = find_external(external, folder, what, diagnostics);
  if (stored.path.empty()) return std::nullopt;
  stored.offset = external.offset;
  std::error_code error;
  const auto size = fs::file_size(stored.path, error);
  if (error || external.offset > most_bytes || static_cast<std::uintmax_t>(external.offset + bytes) > size) {
    return refuse(fmt::format("its external data, '{}', is too short", external.location));
  }
  return stored;
}

std::optional<Content> content_of(const StoredTensor& tensor) {
  if (tensor.bytes) return decode_content(tensor.dtype, tensor.shape, *tensor.bytes);
  const std::int64_t count = element_count(tensor.shape);
  if (count < 0 || count > most_content) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(tensor.length), '\0');
  std::ifstream in(tensor.path, std::ios::binary);
  in.seekg(tensor.offset);
  if (!in.read(bytes.data(), tensor.length)) return std::nullopt;
  return decode_content(tensor.dtype, tensor.shape, bytes);
}

bool write_safetensors(const std::string& path, const std::vector<const StoredTensor*>& tensors,
                       Diagnostics& diagnostics) {
  std::string header = "{";
  std::int64_t offset = 0;
  for (const StoredTensor* each : tensors) {
    header +=
        fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                    offset || header.size() > 1 ? "," : "", json_string(each->key), safetensors_dtype(each->dtype),
                    fmt::join(safetensors_shape(*each), ","), offset, offset + each->length);
    offset += each->length;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  const std::string aside = path + ".part";
  std::ofstream out(aside, std::ios::binary | std::ios::trunc);
  const auto length = static_cast<std::uint64_t>(header.size());
  char prefix[8];
  for (int i = 0; i < 8; ++i) prefix[i] = static_cast<char>(length >> (8 * i));
  out.write(prefix, 8).write(header.data(), static_cast<std::streamsize>(header.size()));
  bool good = static_cast<bool>(out);
  for (const StoredTensor* each : tensors) {
    if (!good) break;
    good = each->bytes ? static_cast<bool>(out.write(each->bytes->data(), each->length)) : copy_file_part(*each, out);
  }
  out.close();
  std::error_code error;
  if (!good || !out) error = std::error_code(errno ? errno : EIO, std::generic_category());
  if (!error) fs::rename(aside, path, error);
  if (!error) return true;
  diagnostics.error({}, fmt::format("cannot write '{}': {}", path, error.message()));
  fs::remove(aside, error);
  return false;
}

namespace {

// The part of .npy's header behind a key: "'descr': '<i8', ..." gives "<i8".
std::string_view npy_field(std::string_view header, std::string_view key) {
  const auto at = header.find(key);
  if (at == header.npos) return {};
  std::string_view rest = header.substr(at + key.size());
  const auto begin = rest.find_first_not_of(": '");
  if (begin == rest.npos) return {};
  rest = rest.substr(begin);
  return rest.substr(0, rest.find_first_of(rest[0] == '(' ? ")" : "',}"));
}

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
std::optional<Content> read_npy(const std::string& path, DType dtype, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string_view why) {
    diagnostics.error({}, fmt::format("cannot use '{}': {}", path, why));
    return std::nullopt;
  };
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > (1u << 20))
    return refuse("it is no file, or too large for a value");
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  if (!all.starts_with("\x93NUMPY") || all.size() < 12) return refuse("it is no .npy file");
  const bool first = all[6] == 1;
  const std::size_t begin = first ? 10 : 12;
  std::size_t length = 0;
  for (std::size_t i = begin; i-- > 8;) length = length << 8 | static_cast<unsigned char>(all[i]);
  if (length > all.size() - begin) return refuse("it is cut off");
  const std::string_view header = std::string_view(all).substr(begin, length);
  static const std::map<std::string_view, DType> codes = {
      {"<f8", DType::f64}, {"<f4", DType::f32}, {"<f2", DType::f16}, {"|i1", DType::i8},
      {"<i2", DType::i16}, {"<i4", DType::i32}, {"<i8", DType::i64}, {"|u1", DType::u8},
      {"<u2", DType::u16}, {"<u4", DType::u32}, {"<u8", DType::u64}, {"|b1", DType::boolean}};
  const auto code = codes.find(npy_field(header, "'descr'"));
  if (code == codes.end() || code->second != dtype)
    return refuse(fmt::format("its elements are not {}", info(dtype).name));
  if (!npy_field(header, "'fortran_order'").starts_with("False")) return refuse("it is in Fortran's order");
  std::vector<std::int64_t> shape;
  std::string_view extents = npy_field(header, "'shape'");
  for (extents.remove_prefix(std::min<std::size_t>(extents.size(), 1)); !extents.empty();) {
    std::int64_t extent = 0;
    const auto [end, status] = std::from_chars(extents.data(), extents.data() + extents.size(), extent);
    if (status != std::errc{}) break;
    shape.push_back(extent);
    extents.remove_prefix(static_cast<std::size_t>(end - extents.data()));
    const auto next = extents.find_first_not_of(", ");
    extents = next == extents.npos ? std::string_view() : extents.substr(next);
  }
  auto content = decode_content(dtype, shape, std::string_view(all).substr(begin + length));
  if (!content) return refuse("its data do not fit its shape, or are too many for a value");
  return content;
}

}  // namespace

std::optional<Content> parse_value(const std::string& text, DType dtype, Diagnostics& diagnostics) {
  if (text.ends_with(".npy")) return read_npy(text, dtype, diagnostics);
  std::string_view rest = text;
  Content content{dtype, {}, {}};
  const bool list = rest.starts_with('[') && rest.ends_with(']');
  if (list) rest = rest.substr(1, rest.size() - 2);
  const bool floating = info(dtype).floating;
  while (rest.find_first_not_of(' ') != rest.npos) {
    rest.remove_prefix(rest.find_first_not_of(' '));
    double real = 0;
    std::int64_t whole = 0;
    const char* const last = rest.data() + rest.size();
    if (rest.starts_with("true") || rest.starts_with("false")) {
      content.elements.emplace_back(Dim(rest[0] == 't'));
      rest.remove_prefix(rest[0] == 't' ? 4 : 5);
    } else {
      const auto [end, status] =
          floating ? std::from_chars(rest.data(), last, real) : std::from_chars(rest.data(), last, whole);
      if (status != std::errc{}) break;
      content.elements.push_back(floating ? ContentElement(real) : ContentElement(Dim(whole)));
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    }
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (!rest.starts_with(',')) break;
    rest.remove_prefix(1);
  }
  if (list) content.shape.push_back(static_cast<std::int64_t>(content.elements.size()));
  if (rest.find_first_not_of(' ') == rest.npos && (list || content.elements.size() == 1)) return content;
  diagnostics.error({}, fmt::format("'{}' is no value of type {}", text, info(dtype).name))
      .advise("write a number, a list such as [1, -1], or the name of a .npy or .pb file");
  return std::nullopt;
}

}  // namespace kgen

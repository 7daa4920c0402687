#include "runtime/src/safetensors.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kgen/runtime/arena.hpp"
#include "runtime/src/text.hpp"

namespace kgen {
namespace {

using Json = nlohmann::json;

constexpr std::size_t length_bytes = 8;

std::uint64_t read_little_endian(const std::byte* bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = length_bytes; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

// A list of non-negative integers that fit into 63 bits.
std::optional<std::vector<std::int64_t>> to_sizes(const Json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<std::int64_t> sizes;
  for (const Json& item : list) {
    if (!item.is_number_unsigned()) return std::nullopt;
    const auto size = item.get<std::uint64_t>();
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    sizes.push_back(static_cast<std::int64_t>(size));
  }
  return sizes;
}

std::size_t common_affixes(const std::string& left, const std::string& right) {
  const auto prefix = std::mismatch(left.begin(), left.end(), right.begin(), right.end()).first - left.begin();
  const auto suffix = std::mismatch(left.rbegin(), left.rend(), right.rbegin(), right.rend()).first - left.rbegin();
  return static_cast<std::size_t>(prefix + suffix);
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), content_(Mapping::file(path)) {
  const auto reject = [&path](const auto&... why) {
    fail(KGEN_BAD_WEIGHTS, "'", path, "' is not safetensors: ", why...);
  };
  if (content_.size() < length_bytes)
    reject("it has ", content_.size(), " bytes, fewer than the 8 of the header's length");
  const std::uint64_t header_bytes = read_little_endian(content_.data());
  if (header_bytes > content_.size() - length_bytes) {
    reject("its header would take ", header_bytes, " of the ", content_.size() - length_bytes,
           " bytes after its length");
  }
  const auto* text = reinterpret_cast<const char*>(content_.data()) + length_bytes;
  const Json header = Json::parse(text, text + header_bytes, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) reject("its header is not a JSON object");

  const std::span<const std::byte> data(content_.data() + length_bytes + header_bytes,
                                        content_.size() - length_bytes - header_bytes);
  for (const auto& [key, item] : header.items()) {
    if (key == "__metadata__") continue;
    if (!item.is_object() || !item.contains("dtype") || !item["dtype"].is_string() || !item.contains("shape") ||
        !item.contains("data_offsets")) {
      reject("tensor '", key, "' lacks dtype, shape or data_offsets");
    }
    auto shape = to_sizes(item["shape"]);
    const auto offsets = to_sizes(item["data_offsets"]);
    if (!shape) reject("the shape of tensor '", key, "' is not a list of sizes");
    if (!offsets || offsets->size() != 2) reject("data_offsets of tensor '", key, "' are not two offsets");
    const auto begin = static_cast<std::uint64_t>((*offsets)[0]);
    const auto end = static_cast<std::uint64_t>((*offsets)[1]);
    if (begin > end) {
      reject("tensor '", key, "' would begin at byte ", begin, " and end before that, at ", end,
             ": its data_offsets are wrong; write the file anew");
    }
    if (end > data.size()) {
      reject("tensor '", key, "' takes bytes ", begin, " to ", end, " of the data, and the file holds ", data.size(),
             ": it is cut off, or its header is wrong; fetch or write it anew");
    }
    entries_[key] = {item["dtype"].get<std::string>(), std::move(*shape), data.subspan(begin, end - begin)};
  }
}

std::span<const std::byte> SafetensorsFile::find(const std::string& key, ElementType type,
                                                 std::span<const std::int64_t> shape) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    fail(KGEN_MISSING_WEIGHT, "'", path_, "' has no tensor '", key, "'; ", nearest_keys(key));
  }
  const Entry& entry = found->second;
  const ElementTypeInfo& expected = element_type_info(type);
  const std::span<const std::int64_t> entry_shape(entry.shape);
  const std::int64_t bytes = checked_bytes(shape, type);
  // Packed elements may also be stored as the bytes that hold them, in any shape.
  const bool is_bytes = expected.bits < 8 && entry.dtype == "U8" && std::ssize(entry.data) == bytes;
  if (is_bytes) return entry.data;
  if (entry.dtype != expected.safetensors || !std::ranges::equal(entry.shape, shape)) {
    fail(KGEN_BAD_WEIGHTS, "'", path_, "': tensor '", key, "' is ", entry.dtype, bracketed(entry_shape), ", expected ",
         expected.safetensors, expected.bits < 8 ? (expected.safetensors.empty() ? "" : " or ") : "",
         expected.bits < 8 ? concat("U8 of ", bytes, " bytes, which hold ", expected.name) : "", bracketed(shape));
  }
  if (entry.data.size() != static_cast<std::size_t>(bytes)) {
    fail(KGEN_BAD_WEIGHTS, "'", path_, "': tensor '", key, "' holds ", entry.data.size(), " bytes, but ", entry.dtype,
         bracketed(entry_shape), " takes ", bytes);
  }
  return entry.data;
}

// Keys are dotted paths that differ in one place ("layers.3.wq"), so what counts is how much of both ends agrees.
std::string SafetensorsFile::nearest_keys(const std::string& key) const {
  if (entries_.empty()) return "it holds none";
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const auto& [name, entry] : entries_) ranked.emplace_back(common_affixes(key, name), name);
  const auto shown = ranked.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, ranked.size()));
  std::partial_sort(ranked.begin(), shown, ranked.end(), [](const auto& left, const auto& right) {
    return left.first != right.first ? left.first > right.first : left.second < right.second;
  });
  std::string text = "nearest of its " + std::to_string(entries_.size()) + ":";
  for (auto near = ranked.begin(); near != shown; ++near)
    text += (near == ranked.begin() ? " '" : ", '") + near->second + "'";
  return text;
}

}  // namespace kgen

#include "generator/write/manifest.hpp"

#include <fmt/format.h>

#include <charconv>

#include "generator/base/hash.hpp"

namespace kgen {
namespace {

constexpr std::size_t hash_digits = 16;
constexpr std::string_view separator = "  ";

}  // namespace

bool wrote(const Manifest& manifest, std::string_view path, std::string_view content) {
  const auto found = manifest.find(path);
  return found != manifest.end() && found->second.contains(content_hash(content));
}

std::string manifest_text(const Manifest& manifest) {
  std::string text =
      "# Written by kgen: the files of this folder that are its own, each with a hash of what it wrote.\n";
  for (const auto& [path, hashes] : manifest) {
    for (const std::uint64_t hash : hashes) text += fmt::format("{}{}{}\n", hash_text(hash), separator, path);
  }
  return text;
}

Manifest parse_manifest(std::string_view text) {
  Manifest manifest;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));

    if (line.size() <= hash_digits + separator.size()) continue;
    if (line.substr(hash_digits, separator.size()) != separator) continue;
    std::uint64_t hash = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + hash_digits, hash, 16);
    if (parsed.ec != std::errc() || parsed.ptr != line.data() + hash_digits) continue;
    manifest[std::string(line.substr(hash_digits + separator.size()))].insert(hash);
  }
  return manifest;
}

}  // namespace kgen

// What kgen wrote to a folder, and what it wrote in it: by this an edited file is told from one that may be replaced.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace kgen {

inline constexpr std::string_view manifest_name = ".kgen-manifest";

// Relative path -> the hashes of contents that kgen gave it. More than one only while a run is under way (or after it
// was killed): the content before, and the content to come.
using Manifest = std::map<std::string, std::set<std::uint64_t>, std::less<>>;

// True where kgen wrote this content to this path.
bool wrote(const Manifest& manifest, std::string_view path, std::string_view content);

// "c0ffee0123456789  stub_y.cpp", sorted by path. Lines that are none of these are passed over when read: a file that a
// damaged manifest does not know counts as edited, and is kept.
std::string manifest_text(const Manifest& manifest);
Manifest parse_manifest(std::string_view text);

}  // namespace kgen

// A hash by which a text is told from another; no protection against people who mean to forge one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kgen {

// FNV-1a, 64 bits.
std::uint64_t content_hash(std::string_view content);

// 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

}  // namespace kgen

// The form of kgen's own records: a thing a line, "file orphaned hash=c0ffee0123456789 path=stubs/stub_y.cpp".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/diagnostics.hpp"

namespace kgen {

struct RecordLine {
  std::string kind;                   // the first word
  std::vector<std::string> words;     // those between, but for the hash
  std::optional<std::uint64_t> hash;  // 16 hexadecimal digits
  std::string path;                   // to the end of the line; may hold spaces
  std::size_t number = 0;             // of the line, from 1, where it was read
  std::string text{};                 // the whole line as it was read
};

// Of 16 hexadecimal digits; nothing for another text.
std::optional<std::uint64_t> parse_hash(std::string_view digits);

std::string record_text(const RecordLine& line);

// Comments ("# ...") and empty lines are left out. What stands in no order that it knows is read as words.
std::vector<RecordLine> parse_record(std::string_view text);

// Whether a line of a kind that this kgen does not know may be one of a later kgen: its kind is a word.
bool may_be_later(const RecordLine& line);

// "'src/.kgen/manifest' is damaged in line 7: '<<<<<<< ours'". What to do about it is for the caller to say.
Diagnostic& report_damage(const std::filesystem::path& record, const RecordLine& line, Diagnostics& diagnostics);

}  // namespace kgen

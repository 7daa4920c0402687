// The form of kgen's own records: a thing a line, "file orphaned hash=c0ffee0123456789 path=stubs/stub_y.cpp".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kgen {

struct RecordLine {
  std::string kind;                   // the first word
  std::vector<std::string> words;     // those between, but for the hash
  std::optional<std::uint64_t> hash;  // 16 hexadecimal digits
  std::string path;                   // to the end of the line; may hold spaces
};

// Of 16 hexadecimal digits; nothing for another text.
std::optional<std::uint64_t> parse_hash(std::string_view digits);

std::string record_text(const RecordLine& line);

// Comments ("# ...") and empty lines are left out. What stands in no order that it knows is read as words, so that a
// damaged record, or one of a later kgen, says less and nothing false.
std::vector<RecordLine> parse_record(std::string_view text);

}  // namespace kgen

// Merges and differences of texts, by libgit2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kgen {

struct Merge {
  std::string text;  // where both sides changed the same lines, both stand between git's markers
  bool clean = true;
};

// What `ours` and `theirs` made of `base`; changes that touch are a conflict. Lines end as they do in `ours`, and are the
// same lines whether they end in LF or in CRLF. Nothing where libgit2 cannot merge: a text
// holds a zero byte, or more than 1 GB.
std::optional<Merge> merge_texts(std::string_view base, std::string_view ours, std::string_view theirs);

// The conflicts that a text holds: the lines, from 1, on which one begins. The second marker is looked for as well, in
// case that the first one alone was removed.
std::vector<std::uint32_t> conflict_lines(std::string_view text);

// The difference as `git diff` prints it, with three lines around each change; empty where there is none, or none but
// that lines end in CRLF. `color` adds
// ANSI escapes. Nothing where a text is too large.
std::optional<std::string> unified_diff(const std::string& path, std::string_view before, std::string_view after,
                                        bool color);

}  // namespace kgen

#include "generator/write/text_merge.hpp"

#include <fmt/format.h>
#include <git2.h>

#include <algorithm>
#include <memory>

namespace kgen {
namespace {

// To be called before anything else of the library, which takes milliseconds to start: once, and only where it is used.
void start_library() {
  static const int users = git_libgit2_init();
  static_cast<void>(users);
}

using Patch = std::unique_ptr<git_patch, void (*)(git_patch*)>;

git_merge_file_input input_of(std::string_view text) {
  git_merge_file_input input = GIT_MERGE_FILE_INPUT_INIT;
  input.ptr = text.data();
  input.size = text.size();
  return input;
}

constexpr std::uint32_t lines_around = 3;

Patch make_patch(const char* path, std::string_view before, std::string_view after) {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_FORCE_TEXT;
  options.context_lines = lines_around;
  git_patch* patch = nullptr;
  git_patch_from_buffers(&patch, before.data(), before.size(), path, after.data(), after.size(), path, &options);
  return {patch, git_patch_free};
}

// As git colours it.
std::string_view color_of(char origin) {
  switch (origin) {
    case GIT_DIFF_LINE_FILE_HDR: return "\x1b[1m";
    case GIT_DIFF_LINE_HUNK_HDR: return "\x1b[36m";
    case GIT_DIFF_LINE_ADDITION: return "\x1b[32m";
    case GIT_DIFF_LINE_DELETION: return "\x1b[31m";
    default: return "";
  }
}

struct DiffText {
  std::string text;
  bool color = false;

  void append(std::string_view line, char origin) {
    const std::string_view escape = color ? color_of(origin) : "";
    const bool ended = line.ends_with('\n');
    if (ended) line.remove_suffix(1);
    text += fmt::format("{}{}{}{}", escape, line, escape.empty() ? "" : "\x1b[m", ended ? "\n" : "");
  }
};

int append_diff_line(const git_diff_delta*, const git_diff_hunk*, const git_diff_line* line, void* payload) {
  DiffText& result = *static_cast<DiffText*>(payload);
  std::string_view content(line->content, line->content_len);
  if (line->origin == GIT_DIFF_LINE_FILE_HDR) {  // several lines at once
    while (!content.empty()) {
      const auto end = std::min(content.find('\n'), content.size() - 1) + 1;
      if (!content.starts_with("index ")) result.append(content.substr(0, end), line->origin);
      content.remove_prefix(end);
    }
    return 0;
  }
  const bool is_content = line->origin == GIT_DIFF_LINE_CONTEXT || line->origin == GIT_DIFF_LINE_ADDITION ||
                          line->origin == GIT_DIFF_LINE_DELETION;
  result.append(is_content ? fmt::format("{}{}", line->origin, content) : std::string(content), line->origin);
  return 0;
}

constexpr std::string_view line_feed = "\n", carriage_return = "\r\n";

// Whether most lines end in CRLF, as some editors write them all.
bool has_carriage_returns(std::string_view text) {
  std::size_t lines = 0, with_return = 0;
  for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) {
    ++lines;
    with_return += at > 0 && text[at - 1] == '\r';
  }
  return with_return * 2 > lines;
}

// The text with its lines ended alike.
std::string with_ends(std::string_view text, std::string_view end) {
  std::string result;
  while (!text.empty()) {
    const auto feed = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, feed);
    const bool is_ended = feed < text.size();
    if (is_ended && line.ends_with('\r')) line.remove_suffix(1);
    result.append(line).append(is_ended ? end : "");
    text.remove_prefix(std::min(feed + 1, text.size()));
  }
  return result;
}

}  // namespace

std::optional<Merge> merge_texts(std::string_view base, std::string_view ours, std::string_view theirs) {
  if (has_carriage_returns(ours)) {
    std::optional<Merge> merge =
        merge_texts(with_ends(base, line_feed), with_ends(ours, line_feed), with_ends(theirs, line_feed));
    if (merge) merge->text = with_ends(merge->text, carriage_return);
    return merge;
  }
  start_library();
  const git_merge_file_input inputs[] = {input_of(base), input_of(ours), input_of(theirs)};
  git_merge_file_options options = GIT_MERGE_FILE_OPTIONS_INIT;
  options.our_label = "yours";
  options.their_label = "kgen";
  git_merge_file_result result{};
  if (git_merge_file(&result, &inputs[0], &inputs[1], &inputs[2], &options) != 0) return std::nullopt;
  std::optional<Merge> merge;
  const bool has_text = result.automergeable != 0 || result.len > 0;  // none of a file that is no text
  if (has_text) merge = Merge{std::string(result.ptr, result.len), result.automergeable != 0};
  git_merge_file_result_free(&result);
  return merge;
}

std::vector<std::uint32_t> conflict_lines(std::string_view text) {
  constexpr std::string_view first = "<<<<<<< yours", last = ">>>>>>> kgen";
  std::vector<std::uint32_t> lines;
  bool open = false;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line == first || (line == last && !open)) lines.push_back(number);
    if (line == first || line == last) open = line == first;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<std::string> unified_diff(const std::string& path, std::string_view before, std::string_view after,
                                        bool color) {
  if (has_carriage_returns(after) && !has_carriage_returns(before)) {
    return unified_diff(path, before, with_ends(after, line_feed), color);
  }
  start_library();
  const Patch patch = make_patch(path.c_str(), before, after);
  if (!patch) return std::nullopt;
  DiffText result{{}, color};
  git_patch_print(patch.get(), append_diff_line, &result);
  return result.text;
}

}  // namespace kgen

// A text writer that indents, and closes the blocks it opened.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace kgen {

class Writer {
 public:
  explicit Writer(int indent_width = 2, int depth = 0) : depth_(depth), indent_width_(indent_width) {}

  // One line, indented. An empty line carries no indentation.
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::memory_buffer content;
    fmt::format_to(std::back_inserter(content), format, std::forward<Args>(args)...);
    raw_line({content.data(), content.size()});
  }
  void line() { text_ += '\n'; }
  // A line that is already text, so that its braces mean nothing.
  void raw_line(std::string_view content);

  // Before text of about so many bytes, if they are many: what grows step by step is held twice while it moves.
  void reserve(std::size_t bytes) { text_.reserve(text_.size() + bytes); }

  // Text that is indented already: what another writer wrote.
  void append(std::string_view text) { text_ += text; }

  // Writes `close` on its own line, one level out, when it goes out of scope.
  class [[nodiscard]] Block {
   public:
    Block(Writer& writer, std::string close) : writer_(writer), close_(std::move(close)) { ++writer_.depth_; }
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

   private:
    Writer& writer_;
    std::string close_;
  };
  // Writes `open` as a line and indents until the returned block ends.
  Block block(std::string_view open, std::string close = "}");

  // Columns that stand before the next line.
  std::size_t indentation() const { return static_cast<std::size_t>(depth_ * indent_width_); }

  // The same for an opening line that is already written.
  Block indent(std::string close = "}") { return Block(*this, std::move(close)); }

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  int depth_;
  int indent_width_;
};

}  // namespace kgen

#include "generator/emit/cpp_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace kgen {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Scanner {
 public:
  explicit Scanner(std::string_view source) : source_(source) {}

  std::vector<CppToken> scan() {
    while (skip_blank()) {
      const char c = source_[at_];
      if (c == '"' || c == '\'') {
        add(CppToken::Kind::literal, end_of_quoted(at_));
      } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
        add(CppToken::Kind::literal, end_of_number());
      } else if (is_name_character(c)) {
        add_name();
      } else {
        add(CppToken::Kind::punctuation, at_ + length_of_punctuation());
      }
    }
    find_partners();
    return std::move(tokens_);
  }

 private:
  // To the next token; false at the end.
  bool skip_blank() {
    while (at_ < source_.size()) {
      const std::string_view rest = source_.substr(at_);
      const char c = rest[0];
      if (c == '\n') line_begins_ = true;
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (rest.starts_with("//") || (c == '#' && line_begins_)) {
        at_ = end_of_line();
      } else if (rest.starts_with("/*")) {
        const std::size_t end = source_.find("*/", at_ + 2);
        at_ = end == source_.npos ? source_.size() : end + 2;
      } else {
        line_begins_ = false;
        return true;
      }
    }
    return false;
  }

  // Of the line and those that a backslash joins to it.
  std::size_t end_of_line() const {
    std::size_t end = source_.find('\n', at_);
    while (end != source_.npos && source_[end - 1] == '\\') end = source_.find('\n', end + 1);
    return std::min(end, source_.size());
  }

  std::size_t end_of_quoted(std::size_t begin) const {
    std::size_t end = begin + 1;
    while (end < source_.size() && source_[end] != source_[begin]) end += source_[end] == '\\' ? 2 : 1;
    return std::min(end + 1, source_.size());
  }

  // R"x( ... )x" from its quote.
  std::size_t end_of_raw_string(std::size_t quote) const {
    const std::size_t open = source_.find('(', quote);
    if (open == source_.npos) return source_.size();
    const std::string close = fmt::format("){}\"", source_.substr(quote + 1, open - quote - 1));
    const std::size_t end = source_.find(close, open);
    return end == source_.npos ? source_.size() : end + close.size();
  }

  // 1e-5f, 0x1p+3, 1'000: a sign belongs to it after an exponent's letter.
  std::size_t end_of_number() const {
    std::size_t end = at_;
    const auto continues = [&] {
      const char c = source_[end];
      if (is_name_character(c) || c == '.' || c == '\'') return true;
      return (c == '+' || c == '-') && std::string_view("eEpP").find(source_[end - 1]) != std::string_view::npos;
    };
    while (end < source_.size() && continues()) ++end;
    return end;
  }

  void add_name() {
    std::size_t end = at_;
    while (end < source_.size() && is_name_character(source_[end])) ++end;
    const std::string_view name = source_.substr(at_, end - at_);
    if (end < source_.size() && source_[end] == '"' && name.back() == 'R') {
      add(CppToken::Kind::literal, end_of_raw_string(end));
    } else {
      add(CppToken::Kind::name, end);
    }
  }

  std::size_t length_of_punctuation() const {
    static constexpr std::array<std::string_view, 14> pairs = {
        "::", "->", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="};
    return std::count(pairs.begin(), pairs.end(), source_.substr(at_, 2)) > 0 ? 2 : 1;
  }

  void add(CppToken::Kind kind, std::size_t end) {
    tokens_.push_back({kind, source_.substr(at_, end - at_), at_, end, tokens_.size()});
    at_ = end;
  }

  void find_partners() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const CppToken& token = tokens_[i];
      if (token.kind != CppToken::Kind::punctuation) continue;
      if (token.text == "(" || token.text == "[" || token.text == "{") open.push_back(i);
      const std::size_t closing = std::string_view(")]}").find(token.text);
      if (closing == std::string_view::npos || open.empty()) continue;
      if (tokens_[open.back()].text[0] != "([{"[closing]) continue;
      tokens_[i].partner = open.back();
      tokens_[open.back()].partner = i;
      open.pop_back();
    }
  }

  std::string_view source_;
  std::size_t at_ = 0;
  bool line_begins_ = true;
  std::vector<CppToken> tokens_;
};

}  // namespace

std::vector<CppToken> cpp_tokens(std::string_view source) { return Scanner(source).scan(); }

}  // namespace kgen

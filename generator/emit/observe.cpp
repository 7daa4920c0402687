#include "generator/emit/observe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "generator/base/languages.hpp"
#include "generator/emit/cpp_text.hpp"
#include "generator/emit/cpp_tokens.hpp"

namespace kgen {
namespace {

struct Insertion {
  std::size_t offset = 0;
  std::string text;
};

// How a functor's function is called: with a position (and a number of lanes), or with a row.
enum class Walk { none, lanes, row };

struct FunctionHead {
  Walk walk = Walk::none;
  bool loads = false;         // the function `load` of a prologue
  std::vector<std::string_view> incoming;  // what an epilogue receives beside its position
};

class Observing {
 public:
  explicit Observing(std::string_view source) : tokens_(cpp_tokens(source)) {}

  std::vector<Insertion> find() {
    visit_file();
    return std::move(insertions_);
  }

 private:
  bool is(std::size_t i, std::string_view text) const { return i < tokens_.size() && tokens_[i].text == text; }
  bool is_name(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == CppToken::Kind::name; }
  bool opens(std::size_t i) const { return tokens_[i].partner > i; }

  bool holds(std::size_t begin, std::size_t end, std::string_view name) const {
    return std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
                       tokens_.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const CppToken& token) { return token.text == name; });
  }

  void insert(std::size_t offset, std::string text) { insertions_.push_back({offset, std::move(text)}); }

  // namespace g { struct stub_y_epilogue { ... }; ... }
  void visit_file() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (is(i, "namespace") && is_name(i + 1)) {
        std::size_t last = i + 1;
        while (is(last + 1, "::") && is_name(last + 2)) last += 2;
        if (is(last + 1, "{") && !inside_namespace_) insert(tokens_[last].end, "::observed");
        inside_namespace_ = true;
      } else if (is(i, "struct") && is_name(i + 1) && is(i + 2, "{") && opens(i + 2)) {
        functor_ = tokens_[i + 1].text;
        visit_struct(i + 3, tokens_[i + 2].partner);
        i = tokens_[i + 2].partner;
      }
    }
  }

  void visit_struct(std::size_t begin, std::size_t end) {
    std::size_t head = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (is(i, "{") && opens(i)) {
        const FunctionHead function = read_head(head, i);
        if (function.walk != Walk::none) visit_body(i, tokens_[i].partner, function);
        i = tokens_[i].partner;
        head = i + 1;
      } else if (is(i, ";")) {
        head = i + 1;
      } else if (opens(i)) {
        i = tokens_[i].partner;
      }
    }
  }

  // "template <int W> KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> C) const"
  FunctionHead read_head(std::size_t begin, std::size_t end) const {
    FunctionHead head;
    if (holds(begin, end, "W") && holds(begin, end, "at")) head.walk = Walk::lanes;
    if (holds(begin, end, "Row") && holds(begin, end, "row")) head.walk = Walk::row;
    head.loads = head.walk == Walk::lanes && holds(begin, end, "load");
    std::size_t close = end;
    while (close > begin && !is(close, ")")) --close;
    if (head.walk != Walk::lanes || !is(close, ")")) return head;
    // Each parameter but the position and the numbers of the row ends with its name, before a comma or the parenthesis.
    int angles = 0;
    bool number = false;
    for (std::size_t i = tokens_[close].partner + 1; i <= close; ++i) {
      angles += (is(i, "<") ? 1 : 0) - (is(i, ">") ? 1 : 0);
      number = number || (is(i, "float") && angles == 0);
      const bool ends = i == close || (is(i, ",") && angles == 0);
      if (ends && !number && is_name(i - 1) && !is(i - 1, "at")) head.incoming.push_back(tokens_[i - 1].text);
      if (ends) number = false;
    }
    return head;
  }

  void visit_body(std::size_t open, std::size_t close, const FunctionHead& head) {
    for (const std::string_view name : head.incoming) insert(tokens_[open].end, call_of_observe(head, name));
    for (std::size_t i = open + 1; i < close;) i = visit_statement(i, close, head);
  }

  // The index after the statement that begins at `begin`.
  std::size_t visit_statement(std::size_t begin, std::size_t end, const FunctionHead& head) {
    std::vector<std::string_view> names;
    bool assigns = false;
    for (std::size_t i = begin; i < end; ++i) {
      if (is(i, ";")) {
        if (is(begin, "return") && head.loads) observe_return(begin, i);
        for (const std::string_view name : names) insert(tokens_[i].end, call_of_observe(head, name));
        return i + 1;
      }
      if (!assigns && is_assignment(i) && !is(begin, "using")) {
        assigns = true;
        names = names_before(begin, i);
      }
      const bool block = is(i, "{") && !assigns && !is(begin, "return");
      if (opens(i)) i = tokens_[i].partner;
      if (block) return i + 1;
    }
    return end;
  }

  bool is_assignment(std::size_t i) const {
    const std::string_view text = tokens_[i].text;
    if (tokens_[i].kind != CppToken::Kind::punctuation || text.back() != '=') return false;
    return text != "==" && text != "!=" && text != "<=" && text != ">=";
  }

  // "const auto sum" or "const auto [maximum, total]"; nothing for "a.b", "c[i]" and the like.
  std::vector<std::string_view> names_before(std::size_t begin, std::size_t assignment) const {
    const std::size_t last = assignment - 1;
    if (assignment == begin) return {};
    if (is_name(last)) {
      const bool member = last > begin && (is(last - 1, ".") || is(last - 1, "->") || is(last - 1, "::"));
      return member ? std::vector<std::string_view>{} : std::vector<std::string_view>{tokens_[last].text};
    }
    const std::size_t open = tokens_[last].partner;
    if (!is(last, "]") || open <= begin || !(is(open - 1, "auto") || is(open - 1, "&"))) return {};
    std::vector<std::string_view> names;
    for (std::size_t i = open + 1; i < last; ++i) {
      if (is_name(i)) names.push_back(tokens_[i].text);
    }
    return names;
  }

  void observe_return(std::size_t begin, std::size_t end) {
    if (end == begin + 1) return;
    insert(tokens_[begin + 1].begin,
           fmt::format("kgen::observed<W>(at, {}, ", cpp_string(observed_key(functor_, observed_return))));
    insert(tokens_[end].begin, ")");
  }

  std::string call_of_observe(const FunctionHead& head, std::string_view name) const {
    const char* call = head.walk == Walk::row ? "observe(row" : "observe<W>(at";
    return fmt::format(" kgen::{}, {}, {});", call, cpp_string(observed_key(functor_, name)), name);
  }

  std::vector<CppToken> tokens_;
  std::vector<Insertion> insertions_;  // in the order of their offsets
  std::string_view functor_;
  bool inside_namespace_ = false;
};

}  // namespace

std::string observed_key(std::string_view functor, std::string_view name) {
  return fmt::format("{}.{}", functor, name);
}

std::string observed_source(std::string_view source, std::string_view path) {
  std::string text = fmt::format("#include \"kgen/observe.hpp\"\n#line 1 {}\n", cpp_string(path));
  std::size_t done = 0;
  for (const Insertion& insertion : Observing(source).find()) {
    text += source.substr(done, insertion.offset - done);
    text += insertion.text;
    done = insertion.offset;
  }
  return text += source.substr(done);
}

}  // namespace kgen

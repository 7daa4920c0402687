// Errors for people: where, what, what was available, what to do.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/base/source.hpp"

namespace kgen {

enum class Severity { warning, error };

// Printed as
//   graph.yaml:12:8: error: unknown operator 'mtmul'
//      12 |   - {op: mtmul, in: [A, B], out: C}
//         |          ^
//   note: the nearest names are 'matmul', 'mul'
//   help: write one of them, or add the operator with --specs
struct Diagnostic {
  Severity severity = Severity::error;
  SourceLocation where;
  std::string message;
  std::vector<std::pair<SourceLocation, std::string>> notes;  // a note without a known location prints no line
  std::string help;                                           // empty: nothing to advise

  Diagnostic& note(std::string text) { return note({}, std::move(text)); }
  Diagnostic& note(SourceLocation where, std::string text);
  Diagnostic& advise(std::string text);
};

// Collects what passes report. The driver stops after the first pass that left an error.
class Diagnostics {
 public:
  // The reference stays valid until the next report.
  Diagnostic& error(SourceLocation where, std::string message);
  Diagnostic& warning(SourceLocation where, std::string message);

  bool has_errors() const { return errors_ > 0; }
  const std::vector<Diagnostic>& all() const { return all_; }
  // Everything reported so far, as printed to a terminal; `color` adds ANSI escapes. At most 20 errors are shown.
  std::string text(bool color) const;

 private:
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
};

// Up to `limit` of `candidates` that are near to `name` by edit distance, nearest first.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates,
                                       std::size_t limit = 3);

// "'a', 'b' and 'c'"
std::string quoted_list(const std::vector<std::string>& names);

// "the nearest name is 'a'", "the nearest names are 'a' and 'b'", of one name or more
std::string nearest_text(const std::vector<std::string>& near);

}  // namespace kgen

// Graphs in which what spells out an operator has become that operator, as text.
#pragma once

#include <string>
#include <utility>

#include "generator/pass/raise/raise.hpp"
#include "tests/unit/rewrite_fixture.hpp"

namespace kgen {

// `body`: a graph without its first line.
inline std::string raised_text(Rewrites& rewrites, const std::string& body, Raised raised = Raised::everywhere,
                               TargetKind target = TargetKind::cpu) {
  Module module = rewrites.inferred(body);
  module.main.target = target;
  module = raise(std::move(module), rewrites.ops, raised);
  check_consistent(module.main);
  return text_of(module.main);
}

inline std::string raised_text(const std::string& body, Raised raised = Raised::everywhere,
                               TargetKind target = TargetKind::cpu) {
  Rewrites rewrites;
  return raised_text(rewrites, body, raised, target);
}

}  // namespace kgen

#include "generator/introspect/clang/read_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace kgen {
namespace {

class FactReader {
 public:
  FactReader(const Registration& registration, KernelSignature& kernel, Diagnostics& diagnostics)
      : registration_(registration), kernel_(kernel), diagnostics_(diagnostics) {}

  bool run() {
    for (const DeclaredFact& fact : registration_.facts) {
      if (fact.kind == DeclaredFact::Kind::tuned) {
        read_tuned(fact);
      } else if (fact.kind == DeclaredFact::Kind::layout) {
        read_layout(fact);
      } else if (fact.kind == DeclaredFact::Kind::rows || fact.kind == DeclaredFact::Kind::statistics) {
        read_rows(fact);
      } else {
        read_operand_fact(fact);
      }
    }
    return !failed_;
  }

 private:
  Diagnostic& fail(SourceLocation where, std::string message) {
    failed_ = true;
    return diagnostics_.error(where, std::move(message))
        .note(registration_.where,
              fmt::format("'{}' is registered here as a kernel of '{}'", kernel_.name, kernel_.op));
  }

  void read_operand_fact(const DeclaredFact& fact) {
    const auto operand = std::find_if(kernel_.operands.begin(), kernel_.operands.end(),
                                      [&](const KernelOperand& each) { return each.name == fact.name; });
    const std::size_t most = fact.kind == DeclaredFact::Kind::evaluated ? 2 : 1;
    if (operand == kernel_.operands.end() || operand->accepts != Accepts::source) {
      fail(fact.where, fmt::format("'{}' is no operand of '{}' that takes a prologue", fact.name, kernel_.name))
          .advise("name one that is a Source");
    } else if (fact.texts.empty() || fact.texts.size() > most) {
      fail(fact.where, fmt::format("{} texts are said of '{}'", fact.texts.size(), fact.name))
          .advise("write it as: KGEN_EVALUATED(a, \"times\", \"condition\") or KGEN_IN_MEMORY(a, \"condition\")");
    } else if (fact.kind == DeclaredFact::Kind::in_memory && !operand->memory.text.empty()) {
      fail(fact.where, fmt::format("'{}' has such a condition already", fact.name))
          .advise("join the two conditions by ||");
    } else if (fact.kind == DeclaredFact::Kind::in_memory) {
      set_text(operand->memory, fact.texts[0]);
    } else {
      add_evaluations(operand->evaluations, fact);
    }
  }

  void read_rows(const DeclaredFact& fact) {
    const auto result = std::find_if(kernel_.results.begin(), kernel_.results.end(),
                                     [&](const KernelOperand& each) { return each.name == fact.name; });
    if (result == kernel_.results.end() || result->accepts != Accepts::sink || result->rank != 2) {
      fail(fact.where, fmt::format("'{}' is no result of '{}' whose epilogue walks rows", fact.name, kernel_.name))
          .advise("name one that is a Sink of rank 2");
    } else if (fact.kind == DeclaredFact::Kind::statistics) {
      read_statistics(*result, fact);
    } else if (fact.texts.empty() || fact.texts.size() > 2) {
      fail(fact.where, fmt::format("{} texts are said of '{}'", fact.texts.size(), fact.name))
          .advise("write it as: KGEN_ROWS(c, \"times\", \"condition\")");
    } else {
      add_evaluations(result->rows, fact);
    }
  }

  void read_statistics(KernelOperand& result, const DeclaredFact& fact) {
    if (fact.texts.size() != 1) {
      fail(fact.where, fmt::format("{} texts are said of '{}'", fact.texts.size(), fact.name))
          .advise("write it as: KGEN_STATISTICS(c, \"condition\")");
    } else if (!result.statistics.text.empty()) {
      fail(fact.where, fmt::format("'{}' has such a condition already", fact.name))
          .advise("join the two conditions by ||");
    } else {
      set_text(result.statistics, fact.texts[0]);
    }
  }

  static void add_evaluations(std::vector<Evaluations>& list, const DeclaredFact& fact) {
    Evaluations& evaluations = list.emplace_back();
    set_text(evaluations.times, fact.texts[0]);
    if (fact.texts.size() > 1) set_text(evaluations.when, fact.texts[1]);
  }

  // The compile-time parameter that a fact names; null, and said, where there is none.
  KernelParameter* parameter_of(const DeclaredFact& fact) {
    const auto parameter = std::find_if(kernel_.parameters.begin(), kernel_.parameters.end(),
                                        [&](const KernelParameter& each) { return each.name == fact.name; });
    if (parameter != kernel_.parameters.end()) return &*parameter;
    fail(fact.where, fmt::format("'{}' is no compile-time parameter of '{}'", fact.name, kernel_.name))
        .advise("name a number that it is a template of, and that is Allowed some values");
    return nullptr;
  }

  void read_layout(const DeclaredFact& fact) {
    KernelParameter* parameter = parameter_of(fact);
    if (!parameter) return;
    if (const auto problem = layout_problem(kernel_, *parameter, fact.texts[0].text)) {
      fail(fact.where, problem->text).advise(problem->help);
    } else if (!parameter->layout_of.empty()) {
      fail(fact.where, fmt::format("'{}' says already how '{}' lies", fact.name, parameter->layout_of))
          .advise("leave one out, and join their conditions by ||");
    } else if (fact.texts.size() > 2) {
      fail(fact.where, fmt::format("'{}' has more than one condition", fact.name))
          .advise("join the two conditions by ||");
    } else {
      parameter->layout_of = fact.texts[0].text;
      if (fact.texts.size() > 1) set_text(parameter->layout_when, fact.texts[1]);
    }
  }

  void read_tuned(const DeclaredFact& fact) {
    KernelParameter* parameter = parameter_of(fact);
    if (!parameter) return;
    if (parameter->tuned || fact.texts.size() > 1) {
      fail(fact.where, fmt::format("'{}' has more than one condition", fact.name))
          .advise("join the two conditions by ||");
    } else {
      parameter->tuned = true;
      if (!fact.texts.empty()) set_text(parameter->tuned_when, fact.texts[0]);
    }
  }

  static void set_text(Expression& expression, const DeclaredFact::Text& from) {
    expression.text = from.text;
    expression.where = from.where;
  }

  const Registration& registration_;
  KernelSignature& kernel_;
  Diagnostics& diagnostics_;
  bool failed_ = false;
};

}  // namespace

bool read_facts(const Registration& registration, KernelSignature& kernel, Diagnostics& diagnostics) {
  return FactReader(registration, kernel, diagnostics).run();
}

}  // namespace kgen

// Expansions and spellings of operators, as patterns that a graph is searched for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "generator/base/contains.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

inline constexpr int deepest_nesting = 8;  // of spellings within spellings

// What one spelling of an operator looks like in a graph: a node for each of its parts. Values are numbered: first the
// operator's operands, then what the parts make.
struct Pattern {
  struct Input {
    std::uint32_t value = no_id;         // no_id: a number
    const Expression* number = nullptr;  // as the specification has it: "0.5", "$epsilon"
    std::optional<Number> literal;  // where that names nothing
  };
  struct Part {
    const OpSpec* op = nullptr;
    const ExpansionNode* from = nullptr;
    std::vector<Input> inputs;
    std::uint32_t first_output = 0;
    // Operators of nodes that may stand for it: its own, and those that its spellings end in.
    const std::vector<const OpSpec*>* last_ops = nullptr;
    const std::vector<const Pattern*>* spellings = nullptr;  // of its operator
    // A view of an operand, or of one that is: it may be read elsewhere too, for it moves no data.
    bool shows_operand = false;
    // Its result is one that the spelling says may be read elsewhere, too.
    bool is_shared = false;
    // A view at the rim of the pattern that can be undone: where the graph has none, its inverse is put in.
    bool can_undo = false;
  };
  const OpSpec* op = nullptr;
  const Expansion* spelled = nullptr;
  bool is_expansion = false;  // one of the operator's expansions; else it is only read backwards
  std::vector<Part> parts;
  std::vector<std::uint32_t> maker;  // by value: the part; no_id: an operand
  std::uint32_t result = 0;          // value
  std::uint32_t core = 0;            // value: the result without the views at its end that can be undone
};

// Where the search for a pattern begins: the graph's node makes that value.
struct PatternStart {
  const Pattern* pattern = nullptr;
  std::uint32_t value = 0;
};

// The patterns of all operators of one result that have an expansion or spellings.
class PatternTable {
 public:
  explicit PatternTable(const OpSet& ops);

  // Those whose last node may be one of `op`, the largest first.
  const std::vector<PatternStart>& ending_in(const OpSpec& op) const;
  // Those that spell `op`.
  const std::vector<const Pattern*>& spelling(const OpSpec& op) const;

 private:
  void index_ends();

  std::vector<std::unique_ptr<Pattern>> patterns_;
  std::unordered_map<const OpSpec*, std::vector<const Pattern*>> by_op_;
  std::unordered_map<const OpSpec*, std::vector<const OpSpec*>> last_ops_;  // by operator: of itself and its spellings
  std::unordered_map<const OpSpec*, std::vector<PatternStart>> by_end_;
};

// Whether a node of the operator `op` may stand for the part.
inline bool may_stand_for(const OpSpec& op, const Pattern::Part& part) { return contains(*part.last_ops, &op); }

// Whether an attribute of the operator is an axis, so that negative numbers count from the last.
bool is_axis(const OpSet& ops, const OpSpec& op, std::string_view attribute);

}  // namespace kgen

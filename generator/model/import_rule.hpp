// How an operator of another format is written in kgen's operators: what specs/onnx/*.yaml holds, read.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/base/source.hpp"
#include "generator/model/expression.hpp"

namespace kgen {

// What a rule gives to an operand or an attribute: an expression, or a list of them. Where `text` is a word that names
// nothing it stands for itself ("edge").
struct ImportArgument {
  bool is_list = false;
  std::vector<Expression> items;
};

// One step of a rule. Names are bound as in a program: a step may bind anew what an earlier one made.
struct ImportStep {
  enum class Kind { op, foreign, graph, let, constant, bytes, check, branch };
  Kind kind = Kind::op;
  std::string op;                                              // op: kgen's; foreign: the other's; graph: its name
  std::vector<ImportArgument> inputs;                          // op, foreign, graph
  std::vector<std::string> outputs;                            // op, foreign, graph; let, constant, bytes: one
  std::vector<std::pair<std::string, ImportArgument>> attributes;  // op, foreign; constant, bytes: dtype, shape
  ImportArgument value;                                        // let, constant, bytes; check, branch: the condition
  Expression when;                                             // empty: always
  Expression each;                                             // how often, with `i` counting from 0; empty: once
  std::string message;                                         // check: what is not supported where it does not hold
  std::vector<ImportStep> then, otherwise;                     // branch
  SourceLocation where;
};

struct ImportInput {
  std::string name;
  bool optional = false;
  bool variadic = false;
  bool is_value = false;  // its value must be known: it says axes, sizes or the like
};

struct ImportAttribute {
  std::string name;
  ImportArgument default_value;  // no items: it is absent where a node does not give it
  bool ignored = false;          // it changes nothing that kgen computes
};

// An operator of the other format, from one version of its operator set on.
struct ImportRule {
  std::string op, domain;
  std::int64_t since = 0;  // 0: not said; then, of ONNX's own, from ImportRules::oldest on
  std::vector<ImportInput> inputs;
  std::vector<std::string> outputs;
  bool variadic_outputs = false;  // the last output is any number of them
  std::vector<ImportAttribute> attributes;
  std::vector<ImportStep> steps;
  std::string limits;       // what is not supported, for the documentation; empty: nothing
  bool evaluated = false;   // only where its inputs are known when the model is imported
  SourceLocation where;
};

struct ImportRules {
  std::int64_t oldest = 1, newest = 1;  // versions of the operator set that the rules are written for
  // By "domain:op" (ONNX's own domain is empty), from the newest to the oldest.
  std::map<std::string, std::vector<ImportRule>, std::less<>> rules;

  // The rule for an operator at a version; null where there is none.
  const ImportRule* find(std::string_view domain, std::string_view op, std::int64_t version) const;
  // The version of the operator set from which on a rule holds.
  std::int64_t first_version(const ImportRule& rule) const;
};

// The functions of the expressions in rules.
inline constexpr std::array<std::string_view, 38> import_functions = {
    "item",        "rank",    "extent",       "shape",    "dtype",      "given",     "known",       "value",
    "count",       "product", "take",         "drop",     "concat",     "range",     "repeat",      "contains",
    "index",       "axis_of", "axes_of",      "is_float", "is_integer", "is_signed", "window_pads", "least_of",
    "greatest_of", "without", "sum",          "elements", "reversed",   "bits_of",   "real",        "whole",
    "scaled",      "counted", "counted_axis", "count_of", "clamped",     "all"};

}  // namespace kgen

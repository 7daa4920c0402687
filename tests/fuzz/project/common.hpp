// What the fuzzers share: the operators and rules that kgen ships, loaded once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/model/import_rule.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen::fuzz {

const OpSet& shipped_ops();
const ImportRules& shipped_rules();

// Loads a graph and types it. Each must be done, or have said why not: else the program ends.
void read_graph(std::string text);

// Ends the program, as a finding, with what is wrong.
[[noreturn]] void report(std::string_view what, const Diagnostics& diagnostics);

}  // namespace kgen::fuzz

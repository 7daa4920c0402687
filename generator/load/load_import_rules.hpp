// Rules of import from YAML: specs/onnx/*.yaml.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/base/source.hpp"
#include "generator/model/import_rule.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// Adds the rules of one file. Errors: unknown keys, expressions that do not parse, an operator given twice for the same
// version, a step that names an operator or an attribute that `ops` does not have.
void load_import_rules(const SourceText& source, const OpSet& ops, ImportRules& rules, Diagnostics& diagnostics);

// Validates what spans files: steps that name other rules.
void link_import_rules(const ImportRules& rules, Diagnostics& diagnostics);

}  // namespace kgen

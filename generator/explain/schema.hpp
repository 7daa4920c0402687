// The JSON Schema (draft 2020-12) of graphs, for editors: completion, and a mark under what is wrong.
#pragma once

#include <string>
#include <string_view>

#include "generator/model/op_spec.hpp"

namespace kgen {

// `general` (specs/schemas/graph.schema.json: valid JSON) takes any operator; the result takes these, with their operands
// and attributes, and says what each is.
std::string graph_schema(std::string_view general, const OpSet& ops);

}  // namespace kgen

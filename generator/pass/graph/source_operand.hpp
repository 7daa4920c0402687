// What the declaration of a kernel says of fusing into one of its operands or results, at a node and for the target.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/model/graph.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {

// Whether the kernel takes a prologue on the node's operand, fast or not.
bool is_source(const Node& node, std::size_t operand);

// Why what makes the operand is better written to memory first; empty where it is not.
std::string why_in_memory(const NodeScope& at, std::size_t operand);

// How often the kernel evaluates each element of the operand, at most: for all sizes. `roots`: the nodes that one call
// computes, that of the scope among them, where these share the operand.
std::int64_t evaluations(const NodeScope& at, std::size_t operand, const std::vector<NodeId>& roots = {});

// How often the kernel makes the numbers of each row that the epilogue on a result uses; nothing where it makes none.
// `roots`: the nodes that one call computes.
std::optional<Dim> row_evaluations(const NodeScope& at, std::size_t result, const std::vector<NodeId>& roots);

// Why it makes none.
std::string why_no_rows(const NodeScope& at, std::size_t result);

}  // namespace kgen

// Views that exporters write in several steps, or that show nothing new.
#pragma once

#include <optional>
#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

// Rule: a view of the type of what it shows is that.
//
//   reshape(x, shape of x), broadcast_to(x, shape of x)   ->   x
//
// The value that stands for the node's result; nothing where the node does something.
std::optional<ValueId> shown_whole(const Graph& graph, const Node& node);

// Rule: leading axes that are joined for a transposition and taken apart behind it were only carried along, as
// PyTorch's exporters transpose the last two of many axes.
//
//   reshape(transpose(reshape(x, [B*H, T, D]), [0, 2, 1]), [B, H, D, T])   ->   transpose(x, [0, 1, 3, 2])
//
struct ShortenedView {
  ValueId operand = no_id;
  std::vector<Dim> order;  // of its axes
};
// What the node, a reshape, stands for; nothing where it is something else.
std::optional<ShortenedView> transposed_in_parts(const Graph& graph, const Node& node);

}  // namespace kgen

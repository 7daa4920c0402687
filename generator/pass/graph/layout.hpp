// Strides of every value in memory, as symbolic sizes: what a view can express without a copy, and which axes merge.
#pragma once

#include <optional>
#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

// In elements, one for each axis.
using Strides = std::vector<Dim>;

Strides dense_strides(const Shape& shape);

// Whether the axes i and i + 1 can be walked as one.
bool axes_merge(const Shape& shape, const Strides& strides, std::size_t i);
// Whether axes first..last can all be walked as one.
bool axes_merge(const Shape& shape, const Strides& strides, std::size_t first, std::size_t last);
bool is_dense(const Shape& shape, const Strides& strides);

// Strides that show `shape` elements as `result` in row-major order, or nothing where only a copy can.
std::optional<Strides> reshape_strides(const Shape& shape, const Strides& strides, const Shape& result);

// Strides of the view's result, or nothing where only a copy can show it. Not for destinations.
std::optional<Strides> view_strides(const IndexMap& view, const TensorType& base, const Strides& strides,
                                    const Shape& result);

// The view that shows the result of `view` as its operand, of shape `operand`, was; nothing where it shows only a part of
// the operand, or an element more than once.
std::optional<IndexMap> inverse_view(const IndexMap& view, const Shape& operand);

// The operands are written into the result (concat, update, and what is written through) instead of one being read.
bool is_destination(const IndexMap& view);
// The first of a node's operands that it writes into its result; their number, where it is no destination.
std::size_t first_part(const Node& node);

// The strides of an operand that the destination `node` is given in memory with the strides `whole`.
Strides part_strides(const Graph& graph, const Node& node, ValueId part, const Strides& whole);

// By ValueId. Values written into a slice of another have the strides of the whole, those written through a view those
// that its inverse shows; a state those of its greatest size;
// strides of an input that may have any are symbols of their own. A reshape that needs a copy counts as dense, for
// `materialise` gives it one.
std::vector<Strides> layouts(const Graph& graph);

}  // namespace kgen

// Arithmetic on views: what they do to shapes, and what two of them do in a row.
#pragma once

#include <optional>
#include <vector>

#include "generator/pass/simplify/rewriting.hpp"

namespace kgen {

bool is_one(const Dim& extent);

IndexMap permutation(std::vector<int> axes);
IndexMap reshaping(Shape shape);
// select, unsqueeze, squeeze, flip
IndexMap view_along(ViewRule::Form form, int axis);

// The shape of the view of one operand. Not for destinations (concat, update).
Shape viewed_shape(const IndexMap& view, const Shape& operand);

// Whether the view shows its operand as it is.
bool shows_everything(const IndexMap& view, const Shape& operand);

// One view of `operand` that shows what `outer` shows of `inner` of it; nothing where there is none, or none that is
// simpler: adding or dropping axes of extent 1 needs no dense memory, so two of those are not made a reshape.
std::optional<IndexMap> merged_views(const IndexMap& outer, const IndexMap& inner, const Shape& operand);

// A reshape of `operand` that only adds or drops one axis of extent 1, as unsqueeze or squeeze; nothing for others.
std::optional<IndexMap> reshape_as_axis(const Shape& operand, const Shape& result);

// Views of an operand of `rank` axes, in order, with which it broadcasts to what `permute` shows of a result as it did
// to that result: axes are aligned at the last.
std::vector<IndexMap> permuted_operand(const IndexMap& permute, std::size_t rank);

bool same_view(const IndexMap& a, const IndexMap& b);

// An operator that makes views of that form; null where there is none.
const OpSpec* view_op(const Rewriting& rewriting, const IndexMap& view);

// Makes `node` the view, with an operator that makes such views. False, doing nothing, where there is none.
bool set_view(const Rewriting& rewriting, Node& node, IndexMap view);

}  // namespace kgen

// The numbers by which comments of emitted files point to lines of the graph: "// :12", "// softmax.yaml:8-10". They
// change wherever a line is added to the graph, and say nothing about the code beside them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kgen {

// Line of the graph before -> line of the graph now.
using LineMoves = std::map<std::uint64_t, std::uint64_t>;

// How the references of lines that are otherwise the same in both texts moved. A number that moved to two places is
// left out.
LineMoves moved_references(std::string_view before, std::string_view after);

// The text with its references renumbered.
std::string move_references(std::string_view text, const LineMoves& moves);

}  // namespace kgen

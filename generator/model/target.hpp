// What source is planned for, and what the planner knows of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "generator/model/enum_names.hpp"

namespace kgen {

// Conditions may ask for it (spec/node_expression.hpp).
enum class TargetKind { cpu, cuda, hip };
template <>
inline constexpr auto names_of<TargetKind> = std::to_array<std::string_view>({"cpu", "cuda", "hip"});
// For which of a target's devices, where that is known: what `--arch` names. Conditions may ask for it, too.
enum class Architecture { none, sm_90a, sm_80, sm_86, sm_89, sm_100, sm_120, gfx942, gfx90a, gfx1100 };
template <>
inline constexpr auto names_of<Architecture> = std::to_array<std::string_view>(
    {"none", "sm_90a", "sm_80", "sm_86", "sm_89", "sm_100", "sm_120", "gfx942", "gfx90a", "gfx1100"});

// What things cost, in bits of memory traffic: those that a core, or the whole of a GPU, moves in that time.
struct Prices {
  std::int64_t step = 1;       // of one element, vectorised: an addition, a multiplication, a comparison,
  std::int64_t division = 16;  // a division or a square root,
  std::int64_t function = 32;  // or any other function
  std::int64_t launch = 0;     // of one more stub, however small
};
inline constexpr std::int64_t bits_of_byte = 8;

struct TargetDescription {
  Prices prices;
  // Beyond these a stub is neither readable nor kind to registers, and its compile time grows.
  std::size_t most_nodes = 64, most_reads = 24;
  // Elements of a row that several passes over it may keep: beside others they must fit in what is near a core.
  std::int64_t most_kept_elements = 65536;
  // In bytes: where slots of the arena begin, as the runtime lays them out (runtime/include/kgen/runtime/arena.hpp).
  std::int64_t slot_alignment = 64;
};
const TargetDescription& description_of(TargetKind target, Architecture architecture);

}  // namespace kgen

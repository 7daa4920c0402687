// A group as the program of its stub: members, statements, and how each parameter is shown to the loop. Groups that are
// the same but for their names share one program.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "generator/model/graph.hpp"
#include "generator/model/plan.hpp"
#include "generator/pass/fuse_facts.hpp"

namespace kgen {

// The stubs of a module, each unique program once.
class StubTable {
 public:
  // The index of a program equal to `stub` in all but names and comments; adds it, under a name of its own, if new.
  std::uint32_t intern(StubProgram stub);
  const std::vector<StubProgram>& stubs() const { return stubs_; }
  std::vector<StubProgram> take() { return std::move(stubs_); }

 private:
  std::vector<StubProgram> stubs_;
  std::unordered_map<std::string, std::uint32_t> by_program_;
  std::unordered_map<std::string, int> names_;
};

// The values that a group's stub takes, by parameter: what it writes, then what it reads.
std::vector<ValueId> stub_arguments(const Group& group);

// The values that the nodes of a group make, and where its stub holds each.
std::vector<HeldValue> held_values(const FuseFacts& facts, const OpSet& ops, const Group& group);

// Fills `stub_of`, by group: an index into `table`, or no_id for calls. Names begin with `prefix`.
std::vector<std::uint32_t> lower(const FusedGraph& fused, const OpSet& ops, const std::string& prefix, StubTable& table);

}  // namespace kgen

// A group as the program of its stub: members, statements, and how each parameter is shown to the loop. Groups that are
// the same but for names, and for extents that nothing in the text has to know, share one program.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "generator/model/graph.hpp"
#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/lower/lower_comment.hpp"
#include "generator/pass/lower/lower_names.hpp"

namespace kgen {

// The stubs of a module, each unique program once.
class StubTable {
 public:
  // The index of a program whose text is that of `stub` in all but names and comments; adds it, under a name of its own,
  // if new.
  std::uint32_t intern(StubProgram stub, StubComment comment);
  const std::vector<StubProgram>& stubs() const { return stubs_; }
  // Those with several uses have general names, and every stub says what its uses compute.
  std::vector<StubProgram> take();

 private:
  std::vector<StubProgram> stubs_;
  std::vector<std::vector<StubComment>> comments_;  // by stub, by use
  std::unordered_map<std::string, std::uint32_t> by_program_;
  std::unordered_set<std::string> names_;
};

// The values that the nodes of a group make, and where its stub holds each.
std::vector<HeldValue> held_values(const FuseFacts& facts, const OpSet& ops, const Group& group);

// Fills `stub_of`, by group: an index into `table`, or no_id for calls. Names begin with `prefix`.
std::vector<std::uint32_t> lower(const FusedGraph& fused, const OpSet& ops, const std::string& prefix, StubTable& table);

}  // namespace kgen

// A group as the program of its stub: members, statements, and how each parameter is shown to the loop. Groups that are
// the same but for names, and for extents that nothing in the text has to know, share one program.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "generator/model/graph.hpp"
#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/lower/lower_comment.hpp"
#include "generator/pass/lower/lower_names.hpp"

namespace kgen {

// Programs of stubs, of those whose text is the same in all but names and comments one, and what each use computes.
struct UniquePrograms {
  std::vector<StubProgram> stubs;
  std::vector<std::vector<StubComment>> comments;  // by stub, by use
  std::unordered_map<std::string, std::uint32_t> by_key;

  // The index of what is the same as `stub`, and whether that is new.
  std::pair<std::uint32_t, bool> add(const std::string& key, StubProgram stub, std::vector<StubComment> uses);
};

// The stubs of a module, each unique program once.
class StubTable {
 public:
  // Adds programs, those that are new under names of their own. By their index, what it is here.
  std::vector<std::uint32_t> intern(UniquePrograms programs);
  const std::vector<StubProgram>& stubs() const { return all_.stubs; }
  // Those with several uses have general names, and every stub says what its uses compute.
  std::vector<StubProgram> take();

 private:
  void name(StubProgram& stub);

  UniquePrograms all_;
  std::unordered_set<std::string> names_;
};

// The values that the nodes of a group make, and where its stub holds each.
std::vector<HeldValue> held_values(const FuseFacts& facts, const OpSet& ops, const Group& group);

// By group: an index into `table`, or no_id for calls. Names begin with `prefix`. `facts` are of the groups' graph.
std::vector<std::uint32_t> lower(const FuseFacts& facts, const std::vector<Group>& groups, const OpSet& ops,
                                 const std::string& prefix, StubTable& table);
inline std::vector<std::uint32_t> lower(const FusedGraph& fused, const OpSet& ops, const std::string& prefix,
                                        StubTable& table) {
  return lower(FuseFacts(fused.graph), fused.groups, ops, prefix, table);
}

}  // namespace kgen

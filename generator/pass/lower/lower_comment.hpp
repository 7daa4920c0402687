// The lines above a stub: what it computes, what fusing saves.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"

namespace kgen {

// What is to be said of one use of a stub.
struct StubComment {
  std::string graph;                // where that is
  std::string use;                  // "y = relu(add(C, bias))"
  std::vector<std::string> spared;  // the first of the values that never reach memory
  std::size_t others = 0;           // how many more there are
  std::vector<std::string> shared;  // what siblings read once, for all of them
  Dim bytes;                        // of traffic that this saves
};
StubComment stub_comment(const FuseFacts& facts, const Group& group);

// What each use computes, and in which graph where they are in several.
std::vector<std::string> uses_text(const std::vector<StubComment>& comments);
// "C and sum never reach memory; x is read once: 8192*M bytes of traffic saved." by all uses together; empty: nothing
// is.
std::string saved_text(const std::vector<StubComment>& comments);

}  // namespace kgen

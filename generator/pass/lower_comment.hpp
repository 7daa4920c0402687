// The lines above a stub: what it computes, what fusing saves.
#pragma once

#include <string>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse_facts.hpp"

namespace kgen {

std::vector<std::string> stub_comment(const FuseFacts& facts, const Group& group);

}  // namespace kgen

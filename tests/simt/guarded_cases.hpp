// The cases of guards_test.cpp.
#pragma once

#include <functional>
#include <vector>

namespace kgen::simt_testing {

// Runs a kernel and returns its results.
using Case = std::function<std::vector<float>()>;

// Every kernel that has guards, in each of its ways to share work among the threads of a block or a cluster.
std::vector<Case> guarded_cases();

}  // namespace kgen::simt_testing

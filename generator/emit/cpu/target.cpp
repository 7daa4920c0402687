#include "generator/emit/target.hpp"

namespace kgen {

// One stream: a stub has all threads, and returns when it is done.
const Target cpu_target = {
    .name = "cpu",
    .kind = TargetKind::cpu,
    .architectures = {},
    .language = "CXX",
    .stub_extension = ".cpp",
    .streams = 1,
    .device = "",
};

}  // namespace kgen

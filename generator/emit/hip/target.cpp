#include "generator/emit/target.hpp"

namespace kgen {

const Target hip_target = {
    .name = "hip",
    .kind = TargetKind::hip,
    .architectures = {Architecture::gfx942, Architecture::gfx90a, Architecture::gfx1100},
    .language = "HIP",
    .stub_extension = ".hip",
    .streams = 4,
    .device = "kgen::hip::device",
};

}  // namespace kgen

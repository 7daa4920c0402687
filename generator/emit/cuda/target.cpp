#include "generator/emit/target.hpp"

namespace kgen {

const Target cuda_target = {
    .name = "cuda",
    .kind = TargetKind::cuda,
    .architectures = {Architecture::sm_90a, Architecture::sm_80, Architecture::sm_86, Architecture::sm_89,
                      Architecture::sm_100, Architecture::sm_120},
    .language = "CUDA",
    .stub_extension = ".cu",
    .streams = 4,
    .device = "kgen::cuda::device",
};

}  // namespace kgen

#include "generator/emit/target.hpp"

namespace kgen {

const Target cuda_target = {
    .name = "cuda",
    .kind = TargetKind::cuda,
    .architectures = {Architecture::sm_90a},
    .language = "CUDA",
    .stub_extension = ".cu",
    .streams = 4,
    .device = "kgen::cuda::device",
};

}  // namespace kgen

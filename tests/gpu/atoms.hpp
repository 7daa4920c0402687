// What kgen/gpu/warpgroup.hpp gives on the device, and on the SIMT executor of the tests, which stands for it where
// there is no device: the same kernels (atom_kernels.hpp) of the same inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct AtomResult {
  std::string name;
  std::vector<std::uint32_t> words;
};

std::vector<AtomResult> device_atoms();
std::vector<AtomResult> software_atoms();

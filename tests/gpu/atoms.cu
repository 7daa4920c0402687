#include "tests/gpu/atom_kernels.hpp"

std::vector<AtomResult> device_atoms() { return kgen::atoms::run_all(); }

// The kernels on the SIMT executor. All of the library is compiled under another namespace's name here (the build
// defines `kgen`), so that one program has both.
#include "tests/gpu/atom_kernels.hpp"

std::vector<AtomResult> software_atoms() { return kgen::atoms::run_all(); }

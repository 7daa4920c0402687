// The one file that knows where the repository lies, so that clones share what is compiled of all others.
#include "tests/unit/repository.hpp"

std::filesystem::path kgen::repository::root() { return KGEN_SOURCE_DIRECTORY; }

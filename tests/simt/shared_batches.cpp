// What shared_batches.hpp says that is compiled once.
#define KGEN_SHARED template
#include "shared_batches.hpp"

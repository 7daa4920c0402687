// What shared_convolutions.hpp says that is compiled once.
#define KGEN_SHARED template
#include "shared_convolutions.hpp"

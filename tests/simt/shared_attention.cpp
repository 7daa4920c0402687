// What shared_attention.hpp says that is compiled once.
#define KGEN_SHARED template
#include "shared_attention.hpp"

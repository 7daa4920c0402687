// What shared_products.hpp says that is compiled once.
#define KGEN_SHARED template
#include "shared_products.hpp"

#include "runtime/src/hip/vendor.hpp"
// The table reads what the vendor defines.
#include "runtime/src/gpu/device_table.hpp"

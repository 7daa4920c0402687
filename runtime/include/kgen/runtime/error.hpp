// The runtime's exception. Nothing else leaves the C++ API, and nothing at all leaves the C ABI.
#pragma once

#include <stdexcept>
#include <string>

#include "kgen_runtime.h"

namespace kgen {

class Error : public std::runtime_error {
 public:
  Error(kgen_status status, const std::string& message) : std::runtime_error(message), status_(status) {}

  kgen_status status() const { return status_; }

 private:
  kgen_status status_;
};

}  // namespace kgen

// Errors of the runtime, on their way to Python.
#pragma once

#include <stdexcept>
#include <string>

namespace kgen::python {

// Becomes the exception that kgen._errors has for the status: "KGEN_WRONG_DTYPE" and so on.
class StatusError : public std::runtime_error {
 public:
  StatusError(std::string status, const std::string& message)
      : std::runtime_error(message), status_(std::move(status)) {}
  const std::string& status() const { return status_; }

 private:
  std::string status_;
};

}  // namespace kgen::python

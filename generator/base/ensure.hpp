// What holds if kgen is right, checked in every build.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string_view>

namespace kgen {

// A fault of kgen: main prints it and stops, before anything is written.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws InternalError: "place.cpp:12: <what> does not hold".
[[noreturn]] void internal_error(std::string_view what,
                                 const std::source_location& where = std::source_location::current());

inline void ensure(bool holds, std::string_view what,
                   const std::source_location& where = std::source_location::current()) {
  if (!holds) internal_error(what, where);
}

}  // namespace kgen

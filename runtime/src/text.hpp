// Texts of messages.
#pragma once

#include <span>
#include <sstream>
#include <string>

#include "kgen/runtime/error.hpp"

namespace kgen {

// The parts, one after another, as a stream prints them.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

template <class... Parts>
[[noreturn]] void fail(kgen_status status, const Parts&... parts) {
  throw Error(status, concat(parts...));
}

// "[M, 4096]"; the items may be numbers or texts.
template <class Item>
std::string bracketed(std::span<const Item> items) {
  std::ostringstream text;
  const char* separator = "";
  text << '[';
  for (const Item& item : items) {
    text << separator << item;
    separator = ", ";
  }
  text << ']';
  return text.str();
}

}  // namespace kgen

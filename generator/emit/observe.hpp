// Check mode looks into a stub by a copy of its source in which each value that a functor names is handed out as well.
// The copy is made from the text as it stands, so it shows what a person has edited too.
#pragma once

#include <string>
#include <string_view>

namespace kgen {

// What stands for a value of a functor in calls of kgen::observe: "stub_y_epilogue.sum".
std::string observed_key(std::string_view functor, std::string_view name);
// The name, in such a key, of what a prologue returns.
inline constexpr std::string_view observed_return = "return";

// The source of a stub with namespace `g` made `g::observed`, and after each `const auto sum = ...;` of a functor that
// is called with `at` or `row` a call of kgen::observe (templates/kgen/observe.hpp). Lines keep their numbers, and
// `path` as their file. What is not of the form that kgen emits is left as it is.
std::string observed_source(std::string_view source, std::string_view path);

}  // namespace kgen

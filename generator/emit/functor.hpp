// A functor of a stub as a C++ struct: members are views, the body one line per operator.
#pragma once

#include <string>
#include <vector>

#include "generator/base/writer.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// What the struct is called that the functor is an object of.
const std::string& struct_name(const Functor& functor);

// By member; distinct from each other and from what a body names.
std::vector<std::string> functor_member_names(const Functor& functor);

// By statement, by result: what the text calls it; empty where it stands inside another statement's text.
std::vector<std::vector<std::string>> statement_names(const Functor& functor);
// What an epilogue's text calls the values that it receives.
std::vector<std::string> incoming_names(const Functor& functor);

void write_functor(Writer& out, const Functor& functor, const StubProgram& stub);

}  // namespace kgen

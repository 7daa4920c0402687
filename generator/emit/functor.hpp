// A functor of a stub as a C++ struct: members are views, the body one line per operator.
#pragma once

#include <string>
#include <vector>

#include "generator/base/writer.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// By member; distinct from each other and from what a body names.
std::vector<std::string> functor_member_names(const Functor& functor);

void write_functor(Writer& out, const Functor& functor, const StubProgram& stub);

}  // namespace kgen

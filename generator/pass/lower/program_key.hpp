// What tells the programs of stubs apart.
#pragma once

#include <string>

#include "generator/model/plan.hpp"

namespace kgen {

// Bytes that two programs share exactly where their texts are the same but for names and comments. Extents are none of
// it, as far as memory shows them: what must stand in the text (the length of a row, a slice) is a part of the program.
std::string program_key(const StubProgram& stub);

// The same of the struct of one of its functors. Of what the members see only the types are in it.
std::string struct_key(const StubProgram& stub, const Functor& functor);

}  // namespace kgen

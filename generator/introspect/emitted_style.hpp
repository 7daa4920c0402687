// How emitted source is laid out, in the words of Clang's formatter: the repository's own style. What the emitter has put
// in order stays so: includes, and comments that name places.
#pragma once

#include <string_view>

namespace kgen {

inline constexpr std::string_view emitted_style = R"(
BasedOnStyle: Google
ColumnLimit: 120
DerivePointerAlignment: false
PointerAlignment: Left
SortIncludes: Never
ReflowComments: false
)";

}  // namespace kgen

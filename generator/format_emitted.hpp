// Lays emitted C++ out with Clang's formatter.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "generator/introspect/clang_services.hpp"
#include "generator/model/plan.hpp"
#include "generator/write/emitted_folder.hpp"
#include "generator/write/manifest.hpp"

namespace kgen {

// A file of more lines keeps the layout that the emitter gave it: formatting it would take longer than all the rest.
inline constexpr std::size_t most_formatted_lines = 2000;

// The C++ files, formatted. One whose text is that of the last emission into the folder comes out as it was then, from
// the folder's record, so that a plan that changes nothing does without Clang. `services` is called at most once; where
// it returns null the files stay as they are.
std::vector<SourceFile> format_emitted(std::vector<SourceFile> files, const EmittedFolder& folder, const Manifest& last,
                                       const std::function<const ClangServices*()>& services);

}  // namespace kgen

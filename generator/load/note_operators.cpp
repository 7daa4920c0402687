#include "generator/load/note_operators.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "generator/load/fields.hpp"

namespace kgen {

void note_operators(Diagnostic& diagnostic, std::string_view name, const OpSet& set) {
  if (const std::vector<std::string> here = set.called_elsewhere(name); !here.empty()) {
    diagnostic.note(fmt::format("what others call '{}' is {} here", name, quoted_list(here)));
  } else {
    note_candidates(diagnostic, name, set.names(), "operators");
  }
}

}  // namespace kgen

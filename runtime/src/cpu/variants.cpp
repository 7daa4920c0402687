#include "kgen/runtime/variants.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace kgen {

const kgen_graph* choose_variant(std::initializer_list<Variant> variants) {
  const char* asked = std::getenv("KGEN_CPU_ARCH");
  const Variant* newest = variants.begin();
  std::string running;
  for (const Variant& variant : variants) {
    if (!variant.runs) continue;
    newest = &variant;
    if (asked != nullptr && std::string(asked) == variant.architecture) return variant.graph();
    running += std::string(running.empty() ? "" : ", ") + variant.architecture;
  }
  if (asked != nullptr) {
    std::fprintf(stderr, "kgen: KGEN_CPU_ARCH is '%s', which is none of what this program has and this processor runs: %s\n",
                 asked, running.c_str());
  }
  return newest->graph();
}

}  // namespace kgen

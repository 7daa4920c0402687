#include "kgen/runtime/variants.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

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

bool runs_on_arm([[maybe_unused]] const char* architecture) {
#if defined(__aarch64__) && defined(__linux__)
  struct Feature {
    std::string_view name;
    int word;            // which of getauxval's two words of features,
    unsigned long bits;  // and the bits of it, from Linux' asm/hwcap.h
  };
  static constexpr Feature known[] = {
      {"armv8-a", AT_HWCAP, 0},
      {"armv8.2-a", AT_HWCAP, 1ul << 7 | 1ul << 8 | 1ul << 12},  // crc32, atomics, rounding doubling multiplies
      {"fp16", AT_HWCAP, 1ul << 9 | 1ul << 10},
      {"dotprod", AT_HWCAP, 1ul << 20},
      {"sve", AT_HWCAP, 1ul << 22},
      {"sve2", AT_HWCAP2, 1ul << 1},
      {"i8mm", AT_HWCAP2, 1ul << 13},
      {"bf16", AT_HWCAP2, 1ul << 14},
  };
  std::string_view rest = architecture;
  for (;;) {
    const std::string_view name = rest.substr(0, rest.find('+'));
    const auto* feature =
        std::find_if(std::begin(known), std::end(known), [&](const Feature& each) { return each.name == name; });
    if (feature == std::end(known)) return false;
    if ((::getauxval(static_cast<unsigned long>(feature->word)) & feature->bits) != feature->bits) return false;
    if (name.size() == rest.size()) return true;
    rest.remove_prefix(name.size() + 1);
  }
#else
  return false;
#endif
}

}  // namespace kgen

// A graph that is compiled for several processors: kgen_add_graph(... PORTABLE).
#pragma once

#include <initializer_list>

#include "kgen_runtime.h"

namespace kgen {

struct Variant {
  const char* architecture;  // as KGEN_PORTABLE_ARCHS has it: x86-64-v4+avx512vnni
  bool runs;                 // whether this machine's processor has all of it
  const kgen_graph* (*graph)(void);
};

// The last variant that runs here, of variants that go from the oldest to the newest; where none does, the first. The
// environment's KGEN_CPU_ARCH names another one that runs; where it names none, stderr says so.
const kgen_graph* choose_variant(std::initializer_list<Variant> variants);

// Whether a 64-bit Arm processor has this level and these features, written as -march= takes them: armv8.2-a+dotprod.
bool runs_on_arm(const char* architecture);

}  // namespace kgen

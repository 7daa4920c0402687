// Specifications: operators, kernels' signatures and rules of import. The first byte says which.
#include <cstddef>
#include <cstdint>
#include <string>

#include "generator/load/load_import_rules.hpp"
#include "generator/load/load_ops.hpp"
#include "tests/fuzz/project/common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const kgen::SourceText source{"spec.yaml", {reinterpret_cast<const char*>(data) + 1, size - 1}};
  kgen::Diagnostics diagnostics;
  if (data[0] == 'k') {
    kgen::OpSet set;
    kgen::load_signatures(source, set, diagnostics);
  } else if (data[0] == 'r') {
    kgen::ImportRules rules;
    kgen::load_import_rules(source, kgen::fuzz::shipped_ops(), rules, diagnostics);
    if (!diagnostics.has_errors()) kgen::link_import_rules(rules, diagnostics);
  } else {
    kgen::OpSet set;
    kgen::load_ops(source, set, diagnostics);
    if (!diagnostics.has_errors()) kgen::link_ops(set, diagnostics);
  }
  diagnostics.text(false);
  return 0;
}

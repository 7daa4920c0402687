// Mistakes in the expressions of specifications, found before any graph uses them.
#include "generator/pass/choose/check_specs.hpp"

#include <doctest/doctest.h>

#include "generator/base/source_map.hpp"
#include "generator/load/load_ops.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;

namespace {

std::string problems_of(const std::string& spec) {
  SourceMap sources;
  OpSet set;
  Diagnostics diagnostics;
  load_ops(sources.add("ops.yaml", "ops:\n" + spec), set, diagnostics);
  REQUIRE_MESSAGE(!diagnostics.has_errors(), diagnostics.text(false));
  check_specs(set, diagnostics);
  return diagnostics.text(false);
}

}  // namespace

TEST_CASE("check_specs: the built-in operators are right") {
  test::Fixture f;
  check_specs(f.ops, f.diagnostics);
  CHECK(f.diagnostics.text(false) == "");
  CHECK(f.ops.ops.size() > 50);
}

TEST_CASE("check_specs: a definition that is no expression, or of names that are not there") {
  const std::string spec =
      "- op: scale\n  kind: elementwise\n  types: {T: float}\n  operands: {x: T}\n  results: {out: T}\n  kernel: "
      "own::Scale\n"
      "  attributes: {by: {type: number}}\n  definition: ";
  CHECK(problems_of(spec + "x * by\n") == "");
  CHECK(problems_of(spec + "x * * by\n") ==
        "ops.yaml:9:15: error: the definition of 'scale': 'x * * by', column 5: unexpected '*'\n"
        "    9 |   definition: x * * by\n"
        "      |               ^\n");
  CHECK(problems_of(spec + "x * factor\n") ==
        "ops.yaml:9:15: error: the definition of 'scale': there is no 'factor'\n"
        "    9 |   definition: x * factor\n"
        "      |               ^\n"
        "note: it can use 'x' and 'by'\n");
}

TEST_CASE("check_specs: defaults, sizes and conditions of expansions") {
  const std::string spec =
      "- op: own\n  kind: composite\n  types: {T: float}\n  operands: {x: {type: T, shape: '[M, D]'}}\n  results: "
      "{out: T}\n";
  const std::string expansion = "  expansion: [{op: neg, in: x, out: out}]\n";
  CHECK(problems_of(spec + expansion + "  attributes: {scale: {type: number, default: 1 / sqrt(D)}}\n") == "");
  CHECK(problems_of(spec + expansion + "  attributes: {scale: {type: number, default: 1 / sqt(D)}}\n") ==
        "ops.yaml:8:16: error: the default of 'scale': '1 / sqt(D)', column 5: unknown function 'sqt' (near to it: "
        "'sqrt')\n"
        "    8 |   attributes: {scale: {type: number, default: 1 / sqt(D)}}\n"
        "      |                ^\n");
  CHECK(problems_of(spec + expansion + "  conditions: [{at_most: [D, E / 2 * 2], meaning: even}]\n") ==
        "ops.yaml:8:16: error: the size 'E / 2 * 2': there is no 'E'\n"
        "    8 |   conditions: [{at_most: [D, E / 2 * 2], meaning: even}]\n"
        "      |                ^\n"
        "note: it can use 'M' and 'D'\n");
  CHECK(problems_of(spec + "  expansion:\n"
                           "  - when: extent(x, -1) <=\n"
                           "    nodes: [{op: neg, in: x, out: out}]\n"
                           "  - nodes: [{op: abs, in: x, out: out}]\n") ==
        "ops.yaml:8:11: error: the condition of an expansion of 'own': 'extent(x, -1) <=', column 17: expected a "
        "number, a "
        "name or '('\n"
        "    8 |   - when: extent(x, -1) <=\n"
        "      |           ^\n");
}

TEST_CASE("check_specs: sizes that results have") {
  const std::string spec =
      "- op: own\n  kind: structured\n  types: {T: float}\n  kernel: my::own\n"
      "  operands: {x: {type: T, shape: '[M, D]'}}\n"
      "  attributes: {pads: {type: dims, count: 2, default: [0, 0]}}\n";
  CHECK(problems_of(spec + "  results: {out: {type: T, shape: '[M, E]'}}\n  sizes: {E: 'D + pads[0] + rank(x)'}\n") == "");
  CHECK(problems_of(spec + "  results: {out: {type: T, shape: '[M, E]'}}\n  sizes: {E: 'D + pad[0]'}\n") ==
        "ops.yaml:9:11: error: the size 'D + pad[0]': there is no 'pad'\n"
        "    9 |   sizes: {E: 'D + pad[0]'}\n"
        "      |           ^\n"
        "note: it can use 'M', 'D' and 'pads'\n");
  CHECK(problems_of(spec + "  results: {out: {type: T, shape: '[E, F]'}}\n  sizes: {E: D + M, F: E + G}\n") ==
        "ops.yaml:9:21: error: the size 'E + G': there is no 'G'\n"
        "    9 |   sizes: {E: D + M, F: E + G}\n"
        "      |                     ^\n"
        "note: it can use 'M', 'D', 'pads' and 'E'\n");
  CHECK(problems_of(spec + "  results: {out: {type: T, extents: 'extent(x, i) + pads[i]'}}\n") == "");
  CHECK(problems_of(spec + "  results: {out: {type: T, extents: 'extent(y, i)'}}\n") ==
        "ops.yaml:8:13: error: the size 'extent(y, i)': there is no 'y'\n"
        "    8 |   results: {out: {type: T, extents: 'extent(y, i)'}}\n"
        "      |             ^\n"
        "note: it can use 'M', 'D', 'pads' and 'i'\n");
}

TEST_CASE("check_specs: numbers and conditions of spellings") {
  const std::string spec =
      "- op: own\n  kind: composite\n  types: {T: float}\n  operands: {x: T}\n  results: {out: T}\n"
      "  attributes: {by: {type: number}}\n  expansion: [{op: mul, in: [x, $by], out: out}]\n  spellings:\n";
  const std::string nodes = "    nodes: [{op: div, in: [x, $over], out: out}]\n";
  CHECK(problems_of(spec + "  - numbers: {by: 1 / over}\n    when: rank(x) > 1\n" + nodes) == "");
  CHECK(problems_of(spec + "  - numbers: {by: over / under}\n" + nodes) ==
        "ops.yaml:2:7: error: the number 'by' of a spelling of 'own': there is no 'under'\n"
        "    2 | - op: own\n"
        "      |       ^\n"
        "note: it can use 'over'\n");
  CHECK(
      problems_of(spec + "  - numbers: {by: 1 / over}\n    when: rank(x) >\n" + nodes) ==
      "ops.yaml:11:11: error: the condition of a spelling of 'own': 'rank(x) >', column 10: expected a number, a name "
      "or '('\n"
      "   11 |     when: rank(x) >\n"
      "      |           ^\n");
}

// Mistakes in the expressions of specifications, found before any graph uses them.
#include <doctest/doctest.h>

#include "tests/unit/load_fixture.hpp"

using namespace kgen;

namespace {

std::string spec_problems(const std::string& spec) { return ops_messages("ops:\n" + spec); }

}  // namespace

TEST_CASE("expressions, bad: a definition that is no expression, or of names that are not there") {
  const std::string spec =
      "- op: scale\n  kind: elementwise\n  types: {T: float}\n  operands: {x: T}\n  results: {out: T}\n  kernel: "
      "own::Scale\n"
      "  attributes: {by: {type: number}}\n  definition: ";
  CHECK(spec_problems(spec + "x * by\n") == "");
  CHECK(spec_problems(spec + "x * * by\n") ==
        "ops.yaml:9:15: error: the definition of 'scale': 'x * * by', column 5: unexpected '*'\n"
        "    9 |   definition: x * * by\n"
        "      |               ^\n");
  CHECK(spec_problems(spec + "x * factor\n") ==
        "ops.yaml:9:15: error: the definition of 'scale': there is no 'factor'\n"
        "    9 |   definition: x * factor\n"
        "      |               ^\n"
        "note: it can use 'x' and 'by'\n");
}

TEST_CASE("expressions, bad: defaults, sizes and conditions of expansions") {
  const std::string spec =
      "- op: own\n  kind: composite\n  types: {T: float}\n  operands: {x: {type: T, shape: '[M, D]'}}\n  results: "
      "{out: T}\n";
  const std::string expansion = "  expansion: [{op: neg, in: x, out: out}]\n";
  CHECK(spec_problems(spec + expansion + "  attributes: {scale: {type: number, default: 1 / sqrt(D)}}\n") == "");
  CHECK(spec_problems(spec + expansion + "  attributes: {scale: {type: number, default: 1 / sqt(D)}}\n") ==
        "ops.yaml:8:47: error: the default of 'scale': '1 / sqt(D)', column 5: unknown function 'sqt' (near to it: "
        "'sqrt')\n"
        "    8 |   attributes: {scale: {type: number, default: 1 / sqt(D)}}\n"
        "      |                                               ^\n");
  CHECK(spec_problems(spec + expansion + "  conditions: [{at_most: [D, E / 2 * 2], meaning: even}]\n") ==
        "ops.yaml:8:30: error: the size 'E / 2 * 2': 'E' is no size, type or switch of 'own'\n"
        "    8 |   conditions: [{at_most: [D, E / 2 * 2], meaning: even}]\n"
        "      |                              ^\n"
        "note: it can use 'M' and 'D'\n");
  CHECK(spec_problems(spec + "  expansion:\n"
                             "  - when: extent(x, -1) <=\n"
                             "    nodes: [{op: neg, in: x, out: out}]\n"
                             "  - nodes: [{op: abs, in: x, out: out}]\n") ==
        "ops.yaml:8:11: error: the condition of an expansion of 'own': 'extent(x, -1) <=', column 17: expected a "
        "number, a "
        "name or '('\n"
        "    8 |   - when: extent(x, -1) <=\n"
        "      |           ^\n");
}

TEST_CASE("expressions, bad: sizes that results have") {
  const std::string spec =
      "- op: own\n  kind: structured\n  types: {T: float}\n  kernel: my::own\n"
      "  operands: {x: {type: T, shape: '[M, D]'}}\n"
      "  attributes: {pads: {type: dims, count: 2, default: [0, 0]}}\n";
  CHECK(spec_problems(spec + "  results: {out: {type: T, shape: '[M, E]'}}\n  sizes: {E: 'D + pads[0] + rank(x)'}\n") ==
        "");
  CHECK(spec_problems(spec + "  results: {out: {type: T, shape: '[M, E]'}}\n  sizes: {E: 'D + pad[0]'}\n") ==
        "ops.yaml:9:15: error: the size 'D + pad[0]': 'pad' is no attribute of type dims of 'own'\n"
        "    9 |   sizes: {E: 'D + pad[0]'}\n"
        "      |               ^\n"
        "note: it can use 'M', 'D' and 'pads'\n");
  CHECK(spec_problems(spec + "  results: {out: {type: T, shape: '[E, F]'}}\n  sizes: {E: D + M, F: E + G}\n") ==
        "ops.yaml:9:24: error: the size 'E + G': 'G' is no size, type or switch of 'own'\n"
        "    9 |   sizes: {E: D + M, F: E + G}\n"
        "      |                        ^\n"
        "note: it can use 'M', 'D', 'pads' and 'E'\n");
  CHECK(spec_problems(spec + "  results: {out: {type: T, extents: 'extent(x, i) + pads[i]'}}\n") == "");
  CHECK(spec_problems(spec + "  results: {out: {type: T, extents: 'extent(y, i)'}}\n") ==
        "ops.yaml:8:38: error: the size 'extent(y, i)': 'y' is no operand of 'own'\n"
        "    8 |   results: {out: {type: T, extents: 'extent(y, i)'}}\n"
        "      |                                      ^\n"
        "note: it can use 'M', 'D', 'pads' and 'i'\n");
}

TEST_CASE("expressions, bad: conditions of expansions mean what conditions of kernels do") {
  const auto problem = [](const std::string& when) {
    const std::string text = spec_problems(
        "- op: own\n  kind: composite\n  types: {T: float}\n  operands: {x: {type: T, shape: '[M, D]'}}\n"
        "  attributes: {fast: {type: boolean}}\n  results: {out: T}\n  expansion:\n"
        "  - {when: '" +
        when + "', nodes: [{op: neg, in: x, out: out}]}\n  - nodes: [{op: abs, in: x, out: out}]\n");
    return text.substr(0, text.find('\n'));
  };
  const std::string at = "ops.yaml:9:13: error: the condition of an expansion of 'own': ";
  CHECK(problem("fast && M <= 16 && T == f32 && extent(x, -1) == D") == "");
  CHECK(problem("N <= 16") == at + "'N' is no size, type or switch of 'own'");
  CHECK(problem("M + 1") == at + "it is no condition");
  CHECK(problem("fast == 1") ==
        at + "sizes are added, multiplied and compared, types are == or !=, and conditions are joined");
}

TEST_CASE("expressions, bad: what expansions give to attributes") {
  const auto problem = [](const std::string& begin) {
    return ops_messages(
        "ops:\n- op: cut\n  kind: view\n  view: {form: slice, axis: axis, begin: begin, end: end, step: step}\n"
        "  types: {T: any}\n  operands: {x: T}\n  results: {out: T}\n  attributes: {axis: {type: integer}, "
        "begin: {type: dim}, end: {type: dim}, step: {type: integer}}\n"
        "- op: own\n  kind: composite\n  types: {T: any}\n  operands: {x: {type: T, shape: '[M, D]'}}\n"
        "  results: {out: T}\n  attributes: {front: {type: dim}}\n  expansion:\n"
        "  - {op: cut, in: x, out: out, axis: 0, begin: " +
            begin + ", end: M, step: 1}\n",
        "kernels: []\n");
  };
  CHECK(problem("D / 2 + $front") == "");
  CHECK(problem("$front") == "");
  CHECK(problem("B / 2") ==
        "ops.yaml:16:48: error: 'B / 2': 'B' is no size, type or switch of 'own'\n"
        "   16 |   - {op: cut, in: x, out: out, axis: 0, begin: B / 2, end: M, step: 1}\n"
        "      |                                                ^\n");
  CHECK(problem("D /") ==
        "ops.yaml:16:48: error: 'D /': it is no expression\n"
        "   16 |   - {op: cut, in: x, out: out, axis: 0, begin: D /, end: M, step: 1}\n"
        "      |                                                ^\n");
}

TEST_CASE("expressions, bad: numbers and conditions of spellings") {
  const std::string spec =
      "- op: own\n  kind: composite\n  types: {T: float}\n  operands: {x: T}\n  results: {out: T}\n"
      "  attributes: {by: {type: number}}\n  expansion: [{op: mul, in: [x, $by], out: out}]\n  spellings:\n";
  const std::string nodes = "    nodes: [{op: div, in: [x, $over], out: out}]\n";
  CHECK(spec_problems(spec + "  - numbers: {by: 1 / over}\n    when: rank(x) > 1\n" + nodes) == "");
  CHECK(spec_problems(spec + "  - numbers: {by: 1 / over +}\n" + nodes) ==
        "ops.yaml:10:19: error: the number 'by' of a spelling of 'own': '1 / over +', column 11: expected a number, a "
        "name or '('\n"
        "   10 |   - numbers: {by: 1 / over +}\n"
        "      |                   ^\n");
  CHECK(spec_problems(spec + "  - numbers: {by: over / under}\n" + nodes) ==
        "ops.yaml:10:19: error: the number 'by' of a spelling of 'own': there is no 'under'\n"
        "   10 |   - numbers: {by: over / under}\n"
        "      |                   ^\n"
        "note: it can use 'over'\n");
  CHECK(
      spec_problems(spec + "  - numbers: {by: 1 / over}\n    when: rank(x) >\n" + nodes) ==
      "ops.yaml:11:11: error: the condition of a spelling of 'own': 'rank(x) >', column 10: expected a number, a name "
      "or '('\n"
      "   11 |     when: rank(x) >\n"
      "      |           ^\n");
  const std::string unknown = spec_problems(spec + "  - numbers: {by: 1 / over}\n    when: over > 1\n" + nodes);
  CHECK(unknown.starts_with(
      "ops.yaml:11:11: error: the condition of a spelling of 'own': 'over' is no size, type or switch of 'own'\n"));
}

TEST_CASE("expressions, bad: what conditions ask of the target") {
  const auto problem = [](const std::string& when) {
    const std::string text = spec_problems(
        "- op: own\n  kind: composite\n  types: {T: float}\n  operands: {x: {type: T, shape: '[M, D]'}}\n"
        "  results: {out: T}\n  expansion:\n  - {when: '" +
        when + "', nodes: [{op: neg, in: x, out: out}]}\n  - nodes: [{op: abs, in: x, out: out}]\n");
    return text.substr(0, text.find('\n'));
  };
  const std::string at = "ops.yaml:8:13: error: the condition of an expansion of 'own': ";
  CHECK(problem("target == cpu && M <= 16 || target != gpu") == "");
  CHECK(problem("cuda == target || !(target == hip)") == "");
  CHECK(problem("target == metal") ==
        at +
            "'metal' is no size, type or switch of 'own'; targets are cpu, cuda and hip, and gpu is any of the latter");
  const std::string asked = "the target is asked for by `target == cpu` (or gpu, cuda, hip), or !=";
  CHECK(problem("target == f32") == at + asked);
  CHECK(problem("target == target") == at + asked);
  CHECK(problem("cpu == cuda") == at + asked);
  CHECK(problem("target < cuda") == at + asked);
  CHECK(problem("target + 1 == 2") == at + asked);
  CHECK(problem("target") == at + "it is no condition");
  CHECK(spec_problems("- op: own\n  kind: composite\n  types: {T: float}\n  operands: {x: {type: T, shape: '[M, D]'}}\n"
                      "  results: {out: T}\n  expansion: [{op: neg, in: x, out: out}]\n"
                      "  conditions: [{at_most: [target, D], meaning: even}]\n") ==
        "ops.yaml:8:27: error: the size 'target': it is no size\n"
        "    8 |   conditions: [{at_most: [target, D], meaning: even}]\n"
        "      |                           ^\n"
        "note: it can use 'M' and 'D'\n");
}

TEST_CASE("prepared, bad: forms without a condition, of composites, of nothing that is there") {
  const std::string spec =
      "- op: own\n  kind: structured\n  kernel: my::own\n  types: {T: float}\n  operands: {x: T}\n  results: {out: T}\n"
      "  prepared:\n";
  const auto problem = [&](const std::string& form) {
    const std::string text = spec_problems(spec + form);
    return text.substr(0, text.find('\n'));
  };
  CHECK(problem("  - {when: constant(x), nodes: [{op: neg, in: x, out: out}]}\n") == "");
  CHECK(problem("  - {nodes: [{op: neg, in: x, out: out}]}\n") ==
        "ops.yaml:9:5: error: a prepared form needs the key 'when'");
  CHECK(problem("  - {when: constant(y), nodes: [{op: neg, in: x, out: out}]}\n") ==
        "ops.yaml:9:12: error: the condition of a prepared form of 'own': 'y' is no operand of 'own'");
  CHECK(problem("  - {when: constant(x), nodes: [{op: neg, in: x, out: other}]}\n") ==
        "ops.yaml:9:32: error: no node of the expansion makes 'out', a result of 'own'");
  CHECK(problem("  - {when: constant(x), nodes: [{op: neg, in: z, out: out}]}\n") ==
        "ops.yaml:9:47: error: 'z' is neither an operand of 'own' nor made by an earlier node");
  CHECK(problem("  {when: constant(x)}\n") ==
        "ops.yaml:9:3: error: 'prepared' must be a list of prepared forms, not a mapping");
  const std::string composite = spec_problems(
      "- op: own\n  kind: composite\n  types: {T: float}\n  operands: {x: T}\n  results: {out: T}\n"
      "  expansion: [{op: neg, in: x, out: out}]\n  prepared:\n"
      "  - {when: constant(x), nodes: [{op: neg, in: x, out: out}]}\n");
  CHECK(composite.starts_with("ops.yaml:9:3: error: 'own' has no kernel, so there is nothing to prepare for\n"));
  CHECK(composite.find("an operator without a kernel is expanded: give its expansion a choice with this condition") !=
        std::string::npos);

  const std::string kernels =
      "kernels:\n- {kernel: my::own, header: my/own.hpp, operator: own, kind: structured,\n"
      "   operands: [{name: x, rank: 2, types: float}], results: [{name: out, rank: 2}]}\n";
  const std::string linked = ops_messages(
      "ops:\n- op: whole\n  kind: composite\n  types: {T: float}\n  operands: {x: T}\n  results: {out: T}\n"
      "  expansion: [{op: own, in: x, out: out}]\n"
      "- op: own\n  kind: structured\n  kernel: my::own\n  types: {T: float}\n  operands: {x: T}\n  results: {out: T}\n"
      "  prepared:\n  - {when: constant(x), nodes: [{op: whole, in: x, out: out}]}\n",
      kernels);
  CHECK(linked.find("ops.yaml:15:38: error: a prepared form of 'own' uses the composite 'whole'\n") !=
        std::string::npos);
  CHECK(linked.find("write the operators that it stands for") != std::string::npos);
  CHECK(linked.find("error: the expansion of 'whole' contains 'whole' itself\n") != std::string::npos);
}

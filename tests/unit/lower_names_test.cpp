#include "generator/pass/lower/lower_names.hpp"

#include "tests/unit/plan_builder.hpp"

namespace kgen {
namespace {

// v1 = neg(v0), v2 = neg(v1), ... as one group that writes the last.
PlanBuilder chain_of_neg(const OpSpec& neg, int count) {
  PlanBuilder b;
  b.input("v0", {8});
  PlanBuilder::Names made;
  for (int i = 1; i <= count; ++i) {
    made.push_back("v" + std::to_string(i));
    b.elementwise(made.back(), {"v" + std::to_string(i - 1)});
    b.fused().graph.nodes.back().op = &neg;
  }
  b.group(GroupKind::elementwise, made, {made.back()});
  return b;
}

// Linear: what many values would be called is not looked for from the first number on for each of them.
TEST_CASE("general names: the work grows as the group does") {
  OpSpec neg;
  neg.name = "neg";
  neg.operands.push_back({.name = "x"});
  const auto tried_per_node = [&](int count) {
    PlanBuilder b = chain_of_neg(neg, count);
    const FuseFacts facts(b.fused().graph);
    const GeneralNames names(facts, b.fused().groups[0]);
    CHECK(names.of(b.id("v0")) == "x");
    CHECK(names.of(b.id("v1")) == "neg_result");
    CHECK(names.of(b.id("v2")) == "neg_result_2");
    CHECK(names.of(b.id("v" + std::to_string(count - 1))) == "neg_result_" + std::to_string(count - 1));
    CHECK(names.of(b.id("v" + std::to_string(count))) == "out");
    return static_cast<double>(names.tried()) / count;
  };
  const double small = tried_per_node(100);
  const double large = tried_per_node(10000);
  CHECK(small >= 1);
  CHECK(large < 3);
  CHECK(large < 1.1 * small);
}

}  // namespace
}  // namespace kgen

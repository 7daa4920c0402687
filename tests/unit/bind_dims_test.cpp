// Where a run finds the dims of a graph, and what of them it must check.
#include "generator/pass/place/bind_dims.hpp"

#include <doctest/doctest.h>

#include "generator/model/known_dims.hpp"
#include "generator/pass/fuse/fuse.hpp"
#include "generator/pass/place/place.hpp"
#include "generator/pass/place/schedule.hpp"
#include "generator/pass/verify/verify_dims.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// A graph that finds its dims in three ways, and has one that only the reshape knows.
constexpr const char* text =
    "graph: g\ndims: {M: 1..64, N: 1..64, K: 4..4, P: {range: 0..32, from: at}}\n"
    "inputs: {x: \"f32[2*M, K]\", z: \"f32[N, M]\", at: \"i64[]\"}\n"
    "nodes:\n  - {op: slice, in: z, out: part, axis: 0, begin: P, end: P + 2}\n"
    "  - {op: relu, in: part, out: \"y\"}\n  - {op: relu, in: x, out: w}\noutputs: [\"y\", w]\n";

Plan bound(Fixture& f) {
  Plan plan;
  Module module = f.prepare(text);
  REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
  plan.main = place(schedule(fuse(std::move(module.main), {})), {});
  return bind_dims(std::move(plan));
}

}  // namespace

TEST_CASE("bind_dims: extents, elements and numbers") {
  Fixture f;
  const Plan plan = bound(f);
  std::vector<std::string> found;
  for (const DimSource& each : plan.dim_sources) {
    const char* kind = each.kind == DimSource::Kind::fixed     ? "fixed"
                       : each.kind == DimSource::Kind::element ? "element"
                                                               : "extent";
    found.push_back(each.name + " " + kind + " " + std::to_string(each.input) + " " + std::to_string(each.axis));
  }
  // K is a number wherever it stands: a graph knows no such symbol.
  CHECK(found == std::vector<std::string>{"M extent 1 1", "N extent 1 0", "P element 2 0"});
  REQUIRE(plan.open_requirements.size() == 1);
  CHECK(plan.open_requirements[0].left.text() == "P + 2");
  CHECK(plan.open_requirements[0].right.text() == "N");
  CHECK(dim_problems(plan).empty());
}

TEST_CASE("bind_dims: the verifier sees what is bound elsewhere, or not at all") {
  Fixture f;
  Plan plan = bound(f);
  plan.dim_sources[0].axis = 0;
  CHECK(dim_problems(plan) == std::vector<std::string>{"'M' is not what a run finds for it"});
  plan.dim_sources.erase(plan.dim_sources.begin());
  CHECK(dim_problems(plan) == std::vector<std::string>{"a run needs 'M', and nothing says it"});
  plan.dim_sources.back().input = 9;
  CHECK(dim_problems(plan).size() == 2);
}

TEST_CASE("bind_dims: a dim that an extent is a multiple of, or is more by") {
  const Shape multiple = {Dim(3), Dim(32) * Dim::symbol("H"), Dim::symbol("P") + Dim::symbol("S") + Dim(1)};
  const Shape past = {Dim::symbol("P"), Dim::symbol("H") * Dim::symbol("W"), Dim::symbol("A") + Dim::symbol("B")};
  const Shape negative = {Dim(8) - Dim::symbol("C"), Dim::floor_divide(Dim::symbol("D"), Dim(2))};
  const std::vector<const Shape*> shapes = {&multiple, &past, &negative};
  std::vector<std::string> found;
  for (const SaidDim& each : dims_said_by(shapes, {}))
    found.push_back(each.dim + " = (" + std::to_string(each.shape) + "." + std::to_string(each.axis) + " - (" +
                    each.rest.text() + "))/" + std::to_string(each.step));
  // W is not: H is another dim.
  CHECK(found == std::vector<std::string>{"P = (1.0 - (0))/1", "H = (0.1 - (0))/32", "S = (0.2 - (P + 1))/1"});
  CHECK(dims_said_by(shapes, {"P", "H", "S", "A"}).size() == 1);
}

#include "generator/pipeline.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "generator/explain/explain.hpp"
#include "tests/unit/own_folder.hpp"
#include "tests/unit/repository.hpp"

namespace kgen {
namespace {

TEST_CASE("a plan that is not as the graph expects can be explained, and is refused otherwise") {
  PipelineOptions options;
  for (const std::string& path : repository::files_below("specs/ops", {".yaml"})) {
    options.spec_files.push_back((repository::root() / path).string());
  }
  options.signatures = (repository::root() / "templates" / "kgen" / "signatures.yaml").string();
  options.include_directories = {(repository::root() / "templates").string()};
  const test::OwnFolder folder;
  options.graph = folder.path + "/graph.yaml";
  std::ofstream(options.graph) << R"(graph: g
inputs: {A: "f32[8, 16]", B: "f32[16, 32]"}
nodes:
  - {op: matmul, in: [A, B], out: C}
  - {op: softmax, in: C, out: y, axis: 1}
outputs: [y]
expect_fused: [[C, y]]
)";
  for (const bool check : {false, true}) {
    options.check = check;
    options.explain = false;
    Session refused;
    CHECK_FALSE(make_plan(options, refused));
    CHECK(refused.diagnostics.has_errors());

    options.explain = true;
    Session explained;
    const auto plan = make_plan(options, explained);
    REQUIRE(plan);
    CHECK(explain(*plan).find("C -> y_shifted: apart: ") != std::string::npos);
    REQUIRE(explained.diagnostics.all().size() == 1);
    CHECK(explained.diagnostics.all()[0].message == "expect_fused: 'C' and 'y' are not computed by one stub");
  }
}

}  // namespace
}  // namespace kgen

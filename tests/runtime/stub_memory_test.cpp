// The memory that a model lends to the stubs that run.
#include <doctest/doctest.h>

#include <vector>

#include "fake_device.hpp"
#include "kgen/runtime/call.hpp"
#include "kgen/runtime/model.hpp"
#include "toy_arguments.hpp"

TEST_CASE("Stubs have memory of the model's, which stays while captured runs point into it") {
  static std::int64_t bytes = 100;
  static std::vector<void*> given;
  given.clear();
  kgen::GraphInfo graph;
  graph.name = "small";
  graph.device = &fake::device;
  graph.run = [](kgen::Call& call) {
    const kgen::Fork fork = call.fork(2);
    for (const int stream : {0, 0, 1}) {
      kgen::Launch one = call.launch("stub", {.stream = stream});
      given.push_back(kgen::Launch::workspace(&one, bytes));
    }
  };
  const auto load = [&](const kgen_load_options& options = {}) {
    kgen_model* model = nullptr;
    REQUIRE(kgen_model_load(kgen::as_c(graph), &options, &model) == KGEN_OK);
    return toy::ModelPointer(model, kgen_model_free);
  };
  const auto run_with = [&](const auto& model, std::int64_t size) {
    bytes = size;
    given.clear();
    REQUIRE(kgen_model_run(model.get(), nullptr, 0, nullptr, 0) == KGEN_OK);
    return given;
  };
  {
    const auto model = load();
    const std::vector<void*> first = run_with(model, 100);
    REQUIRE(first.size() == 3);
    CHECK(fake::is_device_memory(first[0]));
    CHECK(first[1] == first[0]);  // launches of one stream follow each other
    CHECK(first[2] != first[0]);
    CHECK(run_with(model, 100) == first);  // captured
    CHECK(run_with(model, 100).empty());   // replayed
    CHECK(fake::is_device_memory(first[0]));
  }
  {
    const auto model = load();
    run_with(model, 100);
    CHECK(run_with(model, 1000) == std::vector<void*>{nullptr, nullptr, nullptr});  // nothing is allocated in a capture
  }
  {
    const auto model = load();
    const auto run_captured = [&](std::int64_t size) {
      bytes = size;
      given.clear();
      fake::capture_by_user(fake::stream(1));
      const kgen_status status = kgen_model_run_on(model.get(), nullptr, 0, nullptr, 0, fake::stream(1));
      fake::capture_by_user(nullptr);
      CHECK(status == KGEN_OK);
      return given;
    };
    const std::vector<void*> first = run_captured(100);  // made outside of the caller's graph
    CHECK(fake::is_device_memory(first[0]));
    CHECK(run_captured(100) == first);
    CHECK(run_with(model, 1000)[0] != first[0]);
    CHECK(fake::is_device_memory(first[0]));  // as the graph points into it
  }
  {
    const auto model = load({.eager = 1});
    const std::vector<void*> first = run_with(model, 100), second = run_with(model, 1000);
    CHECK(second[0] != first[0]);
    CHECK(fake::is_device_memory(first[0]));
    CHECK(run_with(model, 10) == second);
  }
}

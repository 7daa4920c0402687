// Each guard of the kernel library is needed: without the barrier, the arrival, the wait or the fence of any one of
// them, some kernel goes wrong.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "guarded_cases.hpp"
#include "kgen/gpu/device.hpp"

using namespace kgen;
using namespace kgen::simt_testing;

namespace {

// Whether this gives other results, or the executor finds fault with it, in some order of the threads.
bool goes_wrong(const Case& run, const std::vector<float>& expected) {
  using enum simt::Order;
  for (const simt::Order order : {forward, reverse, shuffled, ahead}) {
    simt::device().order = order;
    const simt::Device device = simt::device();
    try {
      if (run() != expected) return true;
    } catch (const simt::Error&) {
      simt::device() = device;
      return true;
    }
  }
  return false;
}

// How many guards each header of the kernel library declares for this device, and how often it arrives somewhere, waits
// or fences; of these, where it says that it does so for time alone: "warpgroup_attention.hpp:61".
struct Guards {
  std::map<std::string, int> count;
  std::set<std::string> for_time;
};
Guards guards_declared() {
  const std::regex guard(gpu::most_cluster_blocks > 1
                             ? R"(^ +((const )?(BlockPhase|ClusterPhase|ClusterStay|std::conditional_t<.*Phase>) \w+;|\S+\.wait\(|wgmma_wait<\d|await_copies<\w).*)"
                               R"(|^ +(?!//).*((\.|->)(arrive(_at|_and_expect)?|expect)\(|(wgmma_fence|fence_async_proxy|publish_mbarriers)\(\);).*)"
                             : R"(^ +(const )?BlockPhase \w+;.*)");
  Guards guards;
  for (const auto& entry : std::filesystem::directory_iterator(KGEN_GPU_TEMPLATES)) {
    const std::set<std::string> of_hopper = {"block_scaled_matmul.hpp",
                                             "tile_pipeline.hpp",
                                             "skinny_attention.hpp",
                                             "skinny_matmul.hpp",
                                             "sent_attention.hpp",
                                             "sent_sums.hpp",
                                             "square_matmul.hpp",
                                             "wide_matmul.hpp",
                                             "streamed_matmul.hpp",
                                             "arranged_matmul.hpp",
                                             "staged_matmul.hpp",
                                             "persistent_matmul.hpp",
                                             "persistent_tiles.hpp",
                                             "turns.hpp",
                                             "few_rows_matmul.hpp",
                                             "line_matmul.hpp",
                                             "vector_matmul.hpp",
                                             "warpgroup_attention.hpp",
                                             "warpgroup_grouped_matmul.hpp",
                                             "warpgroup_streamed_matmul.hpp",
                                             "narrow_convolution.hpp",
                                             "channels_last.hpp"};
    const std::string file_name = entry.path().filename();
    const bool for_hopper = of_hopper.contains(file_name);
    if (gpu::most_cluster_blocks == 1 && for_hopper) continue;
    std::ifstream file(entry.path());
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      if (!std::regex_match(line, guard)) continue;
      ++guards.count[file_name];
      if (line.ends_with("// for time alone")) guards.for_time.insert(file_name + ":" + std::to_string(number));
    }
  }
  return guards;
}

}  // namespace

TEST_CASE("guards: no kernel does without any of them") {
  const simt::Device before = simt::device();
  std::map<simt::Place, bool> needed;
  for (const Case& run : guarded_cases()) {
    std::set<simt::Place> places;
    simt::device().omits = [&](const simt::Place& place) {
      places.insert(place);
      return false;
    };
    const std::vector<float> expected = run();
    CHECK_FALSE(goes_wrong(run, expected));
    for (const simt::Place& place : places) {
      simt::device().omits = [&](const simt::Place& at) { return at == place; };
      needed[place] = needed[place] || goes_wrong(run, expected);
    }
  }
  simt::device() = before;
  const Guards declared = guards_declared();
  std::string all, idle;
  std::map<std::string, int> met;
  for (const auto& [place, is_needed] : needed) {
    const std::string name = name_of(place);
    all += " " + name;
    if (!is_needed && !declared.for_time.contains(name)) idle += " " + name;
    ++met[name.substr(0, name.find(':'))];
  }
  CHECK_MESSAGE(idle.empty(), "no case goes wrong without the guards at", idle);
  CHECK_MESSAGE(met == declared.count, "the headers declare other guards than the cases come to:", all);
}

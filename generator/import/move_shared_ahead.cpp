#include "generator/import/move_shared_ahead.hpp"

#include <algorithm>
#include <cstddef>

#include "generator/import/repeated_runs.hpp"

namespace kgen {
namespace {

constexpr int most_moves = 8;           // each reads the whole graph
constexpr std::size_t most_tried = 16;  // runs, for each
constexpr std::size_t fewest_in_common = 4;

class LayerAligner {
 public:
  LayerAligner(const Graph& graph, std::vector<NodeId>& order, std::vector<std::uint64_t>& tokens)
      : graph_(graph), order_(order), tokens_(tokens) {}

  // Makes a run longer by one layer or more, if one can be; false: none.
  bool extend_a_run() {
    std::size_t tried = 0;
    for (const RepeatedRun& run : repeated_runs(tokens_, fewest_in_common, fewest_in_common)) {
      if (++tried > most_tried) break;
      if (extend(run)) return true;
    }
    return false;
  }

 private:
  // The nodes in front of the run, backwards: those that go on with it, and the others.
  bool extend(const RepeatedRun& run) {
    const std::size_t missing = run.period - (run.end - run.begin) % run.period;
    std::vector<std::size_t> alike, others;
    std::size_t passed = 0;  // others behind the last that is alike
    for (std::size_t i = run.begin; i-- > 0 && alike.size() < run.period;) {
      if (tokens_[i] == tokens_[run.begin + run.period - 1 - alike.size()]) {
        alike.push_back(i);
        passed = others.size();
      } else {
        others.push_back(i);
        if (others.size() - passed > run.period / 4 + fewest_in_common) break;
      }
    }
    others.resize(passed);
    if (alike.size() < missing || others.empty()) return false;
    std::reverse(alike.begin(), alike.end());
    std::reverse(others.begin(), others.end());
    if (reads_any(others, alike)) return false;
    move(others, alike);
    return true;
  }

  bool reads_any(const std::vector<std::size_t>& readers, const std::vector<std::size_t>& places) const {
    std::vector<NodeId> made;
    for (const std::size_t each : places) made.push_back(order_[each]);
    std::sort(made.begin(), made.end());
    return std::any_of(readers.begin(), readers.end(), [&](std::size_t reader) {
      const auto& inputs = graph_.nodes[order_[reader]].inputs;
      return std::any_of(inputs.begin(), inputs.end(), [&](ValueId each) {
        return each != no_id && std::binary_search(made.begin(), made.end(), graph_.value(each).producer);
      });
    });
  }

  void move(const std::vector<std::size_t>& others, const std::vector<std::size_t>& alike) {
    std::vector<NodeId> nodes;
    std::vector<std::uint64_t> tokens;
    for (const std::vector<std::size_t>* places : {&others, &alike}) {
      for (const std::size_t each : *places) {
        nodes.push_back(order_[each]);
        tokens.push_back(tokens_[each]);
      }
    }
    const auto begin = static_cast<std::ptrdiff_t>(std::min(others.front(), alike.front()));
    std::copy(nodes.begin(), nodes.end(), order_.begin() + begin);
    std::copy(tokens.begin(), tokens.end(), tokens_.begin() + begin);
  }

  const Graph& graph_;
  std::vector<NodeId>& order_;
  std::vector<std::uint64_t>& tokens_;
};

}  // namespace

void move_shared_ahead(const Graph& graph, std::vector<NodeId>& order, std::vector<std::uint64_t>& tokens) {
  LayerAligner aligner(graph, order, tokens);
  for (int moves = 0; moves < most_moves && aligner.extend_a_run();) ++moves;
}

}  // namespace kgen

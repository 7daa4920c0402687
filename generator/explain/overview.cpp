#include "generator/explain/overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/base/writer.hpp"
#include "generator/explain/saved_bytes.hpp"

namespace kgen {
namespace {

constexpr std::size_t most_operators = 8;  // that a stub's line names
constexpr std::size_t most_reasons = 12;

std::string times_text(std::int64_t count) { return count == 1 ? "" : fmt::format(", {} times", count); }

// A reason without the names in it, by which merges are counted: "'a' is a view" and "'b' is a view" are one.
std::string form_of(const std::string& reason) {
  std::string form;
  bool quoted = false;
  for (const char c : reason) {
    if (c == '\'') quoted = !quoted;
    if (!quoted) form += c;
  }
  return form;
}

class Overview {
 public:
  explicit Overview(const Plan& plan) : plan_(plan) {
    calls_.resize(plan.functions.size());
    count_calls(plan.main, 1);
    for (std::size_t i = plan.functions.size(); i-- > 0;) count_calls(plan.functions[i], calls_[i]);
  }

  std::string text() {
    std::size_t operators = operators_in(plan_.main);
    for (const FunctionPlan& function : plan_.functions) operators += operators_in(function);
    writer_.line("{}: {} operator{} in {} stub{}", plan_.main.fused.graph.name, operators, operators == 1 ? "" : "s",
                 plan_.stubs.size(), plan_.stubs.size() == 1 ? "" : "s");
    writer_.line();
    write_graph(plan_.main);
    for (std::size_t i = 0; i < plan_.functions.size(); ++i) {
      writer_.line("function {}{}", plan_.functions[i].fused.graph.name, times_text(calls_[i]));
      writer_.line();
      write_graph(plan_.functions[i]);
    }
    return writer_.take();
  }

 private:
  // Steps that run the same stub, or call the same function, for the same reason end where they do.
  struct Line {
    const Step* first = nullptr;
    std::int64_t count = 0;
    Dim saved;  // by all of them
  };

  void count_calls(const FunctionPlan& function, std::int64_t runs) {
    for (const Step& step : function.steps) {
      if (const Call* call = call_of(function, step)) calls_[call->function] += runs * call->repeat;
    }
  }

  static const Node& first_node(const FunctionPlan& function, const Step& step) {
    return function.fused.graph.nodes[function.fused.groups[step.group].nodes.front()];
  }
  static const Call* call_of(const FunctionPlan& function, const Step& step) {
    return std::get_if<Call>(&first_node(function, step).kind);
  }

  static std::vector<std::vector<const Decision*>> decisions_by_group(const FusedGraph& fused) {
    std::vector<std::vector<const Decision*>> decisions(fused.groups.size());
    for (const Decision& decision : fused.decisions) {
      const std::uint32_t reader = fused.group_of[decision.consumer];
      if (reader != no_id) decisions[reader].push_back(&decision);
    }
    return decisions;
  }

  static std::size_t operators_in(const FunctionPlan& function) {
    const auto& groups = function.fused.group_of;
    return static_cast<std::size_t>(
        std::count_if(groups.begin(), groups.end(), [](auto each) { return each != no_id; }));
  }

  std::string runner_of(const FunctionPlan& function, const Step& step) const {
    const Call* call = call_of(function, step);
    return call ? "function " + plan_.functions[call->function].fused.graph.name : plan_.stubs[step.stub].name;
  }

  void write_graph(const FunctionPlan& function) {
    decisions_ = decisions_by_group(function.fused);
    find_ends(function);
    said_.clear();
    runner_.assign(function.fused.groups.size(), "");
    for (const std::vector<Step>* steps : {&function.load_steps, &function.steps}) {
      for (const Step& step : *steps) runner_[step.group] = runner_of(function, step);
    }
    write_steps(function, "when the model is loaded", function.load_steps);
    write_steps(function, "in each call", function.steps);
    write_refused(function);
  }

  // By group: the first refused merge with what reads it, and how many there are.
  void find_ends(const FunctionPlan& function) {
    ends_.assign(function.fused.groups.size(), {nullptr, 0});
    for (const Decision& decision : function.fused.decisions) {
      if (decision.fused || decision.producer == no_id || decision.siblings) continue;
      const std::uint32_t group = function.fused.group_of[decision.producer];
      if (group == no_id || group == function.fused.group_of[decision.consumer]) continue;
      auto& [first, count] = ends_[group];
      if (!first) first = &decision;
      ++count;
    }
  }

  void write_steps(const FunctionPlan& function, std::string_view when, const std::vector<Step>& steps) {
    std::vector<Line> lines;
    std::map<std::pair<std::string, std::string>, std::size_t> known;
    for (const Step& step : steps) {
      const Decision* end = ends_[step.group].first;
      const auto [found, is_new] =
          known.emplace(std::pair(runner_[step.group], end ? form_of(end->reason) : ""), lines.size());
      if (is_new) lines.push_back({&step, 0, {}});
      Line& line = lines[found->second];
      const Call* call = call_of(function, step);
      line.count += call ? call->repeat : 1;
      line.saved =
          line.saved + saved_bytes(function.fused.groups[step.group], decisions_[step.group], function.fused.graph);
    }
    if (lines.empty()) return;
    writer_.line("{}", when);
    const auto block = writer_.indent("");
    for (const Line& line : lines) write_line(function, line);
  }

  void write_line(const FunctionPlan& function, const Line& line) {
    const Step& step = *line.first;
    const std::string kernel = step.stub == no_id ? "" : kernel_text(plan_.stubs[step.stub]);
    const std::string operators = call_of(function, step) ? "" : ": " + operators_text(function, step.group);
    writer_.line("{}{}{}{}{}", runner_[step.group], kernel.empty() ? "" : " with " + kernel, times_text(line.count),
                 operators, line.saved == Dim(0) ? "" : fmt::format("; saves {} bytes", line.saved.text()));
    const auto& [end, count] = ends_[step.group];
    if (!end) return;
    said_.insert(form_of(end->reason));
    writer_.line("  apart from {}: {}{}{}", runner_[function.fused.group_of[end->consumer]], end->reason,
                 end->bytes == Dim(0) ? "" : fmt::format(" (would save {} bytes)", end->bytes.text()),
                 count == 1 ? "" : fmt::format("; and {} more", count - 1));
  }

  // "matmul 3, add 3, rope": in the order of their first; of a composite the name alone.
  static std::string operators_text(const FunctionPlan& function, std::uint32_t group) {
    std::set<std::string> composites_of_roots;  // what is around a kernel's own operator is not the composite
    for (const NodeId id : roots_of(function.fused.groups[group]))
      if (id != no_id) composites_of_roots.insert(function.fused.graph.nodes[id].within);
    std::vector<std::pair<std::string, std::size_t>> counts;
    for (const NodeId id : function.fused.groups[group].nodes) {
      const Node& node = function.fused.graph.nodes[id];
      const bool is_part = !node.within.empty() && !composites_of_roots.contains(node.within);
      const std::string name = is_part ? node.within : node.op ? node.op->name : "call";
      const auto found =
          std::find_if(counts.begin(), counts.end(), [&](const auto& each) { return each.first == name; });
      if (found == counts.end()) {
        counts.emplace_back(name, is_part ? 0 : 1);
      } else {
        found->second += is_part ? 0 : 1;
      }
    }
    std::string text;
    for (std::size_t i = 0; i < counts.size() && i < most_operators; ++i) {
      const auto& [name, count] = counts[i];
      text += (i == 0 ? "" : ", ") + name + (count > 1 ? fmt::format(" {}", count) : "");
    }
    return counts.size() <= most_operators ? text : fmt::format("{} and {} more", text, counts.size() - most_operators);
  }

  // By reason: those that no line above gives.
  void write_refused(const FunctionPlan& function) {
    struct Refusal {
      const Decision* first = nullptr;
      std::size_t count = 0;
    };
    std::map<std::string, std::size_t> known;
    std::vector<Refusal> refusals;
    for (const Decision& decision : function.fused.decisions) {
      if (decision.fused || decision.producer == no_id || decision.reason.empty()) continue;
      const std::string form = form_of(decision.reason);
      if (said_.contains(form)) continue;
      const auto [found, is_new] = known.emplace(form, refusals.size());
      if (is_new) refusals.push_back({&decision, 0});
      ++refusals[found->second].count;
    }
    if (refusals.empty()) return;
    std::stable_sort(refusals.begin(), refusals.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
    writer_.line("also refused");
    const auto block = writer_.indent("");
    const auto maker = [&](NodeId node) {
      return written_name(function.fused.graph, function.fused.graph.nodes[node].outputs[0]);
    };
    for (std::size_t i = 0; i < refusals.size() && i < most_reasons; ++i) {
      const auto& [first, count] = refusals[i];
      const std::string between =
          maker(first->producer) + (first->siblings ? " and " : " -> ") + maker(first->consumer);
      writer_.line("{}{}: {}", between, count == 1 ? "" : fmt::format(" and {} more", count - 1), first->reason);
    }
    if (refusals.size() > most_reasons) writer_.line("and {} more reasons", refusals.size() - most_reasons);
  }

  const Plan& plan_;
  Writer writer_;
  std::vector<std::int64_t> calls_;  // by function, in one run of the module
  std::vector<std::vector<const Decision*>> decisions_;
  std::vector<std::pair<const Decision*, std::size_t>> ends_;
  std::vector<std::string> runner_;
  std::set<std::string> said_;  // reasons that lines of the graph have given, as form_of()
};

}  // namespace

std::string overview(const Plan& plan) { return Overview(plan).text(); }

}  // namespace kgen

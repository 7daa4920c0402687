#include "generator/pass/fuse/fuse_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/pass/graph/source_operand.hpp"

namespace kgen {
namespace {

class StatisticsJoining {
 public:
  StatisticsJoining(const FuseFacts& facts, const FuseGroups& groups, std::uint32_t rows)
      : facts_(facts), graph_(facts.graph()), groups_(groups), rows_(rows), group_(groups.group(rows)) {}

  StatisticsJoin run() {
    if (group_.reads.size() != 1) return {};
    const ValueId of = group_.reads.front();
    const std::uint32_t host = groups_.group_making(of);
    if (host == no_id || groups_.group(host).kind != GroupKind::structured) return {};
    joined_.host = host;
    joined_.statistics.of = of;
    joined_.statistics.nodes = group_.nodes;
    std::sort(joined_.statistics.nodes.begin(), joined_.statistics.nodes.end());
    for (const NodeId id : joined_.statistics.nodes) {
      const std::vector<ValueId>& inputs = graph_.nodes[id].inputs;
      if (std::find(inputs.begin(), inputs.end(), of) != inputs.end()) joined_.readers.push_back(id);
    }
    if (joined_.readers.empty() || !are_on_offer()) return {};
    joined_.refusal = why_not_taken();
    if (joined_.refusal.empty()) joined_.refusal = why_not_made();
    return std::move(joined_);
  }

 private:
  const std::string& name(ValueId value) const { return graph_.value(value).name; }
  const GrowingGroup& host() const { return groups_.group(joined_.host); }

  const Node& root() const { return graph_.nodes[host().roots.front()]; }

  // Whether the kernel can make any numbers of rows, for this target and these types.
  bool are_on_offer() const {
    const Expression& declared = root().kernel->results.front().statistics;
    return !declared.empty() && prove(facts_.scope(root()), declared) != Proof::never;
  }

  // Why the kernel takes no row program over what it stores here.
  std::string why_not_taken() const {
    const Node& root = this->root();
    const std::string& kernel = root.kernel->name;
    const std::size_t results = host().roots.size() * root.outputs.size();
    const bool is_alone = host().epilogues.empty()
                              ? results == 1
                              : host().epilogues.size() == 1 && host().epilogues.front().results.size() == results;
    if (!is_alone) return "the stub has several results that nothing takes together";
    if (!host().statistics.nodes.empty()) return "the stub makes numbers of its rows already";
    if (host().at_load != group_.at_load) return "one of them is computed once, at load, the other at each call";
    const Shape& walked = graph_.type(root.outputs.front()).shape;
    const int last = static_cast<int>(walked.size()) - 1;
    if (last < 1 || group_.row_axes != std::vector{last} || group_.loop != walked ||
        graph_.type(joined_.statistics.of).shape != walked) {
      return fmt::format("the rows of {} are not those of {}, which {} walks", to_text(group_.loop), to_text(walked),
                         kernel);
    }
    if (!axes_merge(walked, facts_.strides(joined_.statistics.of), 0, last - 1)) {
      return fmt::format("the rows of '{}' do not follow each other in memory", name(joined_.statistics.of));
    }
    return {};
  }

  // Why these are not numbers that parts of a row make each for itself, or not for these alone.
  std::string why_not_made() const {
    int reductions = 0;
    for (const NodeId id : joined_.statistics.nodes) {
      const Node& node = graph_.nodes[id];
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (line_axis(node, i) >= 0) return "it is read in lines along other axes than the kernel walks";
      }
      if (!facts_.updates_written_by(id).empty()) return "it goes into a state in the order of the state's updates";
      for (const ValueId made : node.outputs) {
        if (row_form(graph_.type(made).shape, group_.loop, group_.row_axes) == RowForm::full && leaves(made)) {
          return fmt::format("'{}' is as large as what it is made of, so its stub reads that anyway", name(made));
        }
      }
      if (!std::holds_alternative<Reduction>(node.kind)) continue;
      ++reductions;
      // What is combined of parts is then a number like those that are reduced.
      const DType from = graph_.type(node.inputs.front()).dtype;
      if (node.outputs.size() != 1 || graph_.type(node.outputs.front()).dtype != from ||
          compute_dtype(from) != DType::f32) {
        return fmt::format("'{}' is no f32 number made of such numbers", name(node.outputs.front()));
      }
    }
    if (reductions != 1) return "one number of each row is made as it comes, and these are several";
    return compute_dtype(graph_.type(joined_.statistics.of).dtype) == DType::f32 ? "" : "they are no floats";
  }

  bool leaves(ValueId value) const {
    if (facts_.kept(value)) return true;
    const auto readers = facts_.consumers(value);
    return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
      return facts_.is_view(reader) ? leaves(graph_.nodes[reader].outputs[0]) : groups_.group_of(reader) != rows_;
    });
  }

  const FuseFacts& facts_;
  const Graph& graph_;
  const FuseGroups& groups_;
  std::uint32_t rows_;
  const GrowingGroup& group_;
  StatisticsJoin joined_;
};

}  // namespace

StatisticsJoin with_statistics(const FuseFacts& facts, const FuseGroups& groups, std::uint32_t rows) {
  return StatisticsJoining(facts, groups, rows).run();
}

}  // namespace kgen

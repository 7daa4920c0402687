#include "generator/pass/fuse/fuse_row_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/pass/graph/source_operand.hpp"
#include "generator/pass/graph/work.hpp"

namespace kgen {
namespace {

const Epilogue* epilogue_with(const GrowingGroup& group, NodeId node) {
  const auto found = std::find_if(group.epilogues.begin(), group.epilogues.end(), [&](const Epilogue& each) {
    return std::find(each.nodes.begin(), each.nodes.end(), node) != each.nodes.end();
  });
  return found == group.epilogues.end() ? nullptr : &*found;
}

// Whether the value is a state, or a view of one.
bool shows_state(const Graph& graph, ValueId value) {
  while (graph.value(value).kind == ValueKind::result) {
    const Node& node = graph.nodes[graph.value(value).producer];
    if (!std::holds_alternative<IndexMap>(node.kind)) return false;
    value = node.inputs[0];
  }
  return graph.value(value).kind == ValueKind::state;
}

class Joining {
 public:
  Joining(const FuseFacts& facts, const FuseGroups& groups, std::uint32_t rows)
      : facts_(facts), graph_(facts.graph()), groups_(groups), rows_(rows), group_(groups.group(rows)) {}

  RowStateJoin run() {
    joined_.state.loop = group_.loop;
    joined_.state.nodes = group_.nodes;
    std::sort(joined_.state.nodes.begin(), joined_.state.nodes.end());
    for (const NodeId id : joined_.state.nodes) {
      for (const ValueId made : graph_.nodes[id].outputs) find_readers(made);
    }
    const auto one_per_row = [&](ValueId made) {
      return row_form(graph_.type(made).shape, group_.loop, group_.row_axes) != RowForm::full;
    };
    const std::vector<ValueId>& read = joined_.state.results;
    if (!std::all_of(read.begin(), read.end(), one_per_row)) joined_.host = no_id;
    if (joined_.host == no_id) return std::move(joined_);
    joined_.refusal = why_not();
    if (joined_.refusal.empty()) joined_.refusal = why_no_gain();
    return std::move(joined_);
  }

 private:
  const std::string& name(ValueId value) const { return graph_.value(value).name; }

  // Those of `made` that are outside the rows.
  void find_readers(ValueId made) {
    if (facts_.kept(made)) read_otherwise(made);
    find_readers_of(made, made);
  }

  void find_readers_of(ValueId shown, ValueId made) {
    for (const NodeId reader : facts_.consumers(shown)) {
      if (facts_.is_view(reader)) {
        const ValueId view = graph_.nodes[reader].outputs[0];
        if (facts_.peel(view) == made && !facts_.kept(view)) {
          find_readers_of(view, made);
        } else {
          read_otherwise(made);
        }
      } else if (const std::uint32_t group = groups_.group_of(reader); group != rows_) {
        note_reader(group, reader, shown, made);
      }
    }
  }

  void note_reader(std::uint32_t group, NodeId reader, ValueId shown, ValueId made) {
    const GrowingGroup& kernel = groups_.group(group);
    const bool takes = kernel.kind == GroupKind::structured && epilogue_with(kernel, reader);
    if (!takes || (joined_.host != no_id && joined_.host != group)) return read_otherwise(made);
    joined_.host = group;
    joined_.reads.emplace_back(reader, graph_.value(made).producer);
    shown_.push_back(shown);
    if (std::find(joined_.state.results.begin(), joined_.state.results.end(), made) == joined_.state.results.end()) {
      joined_.state.results.push_back(made);
    }
  }

  void read_otherwise(ValueId made) {
    if (elsewhere_.empty()) elsewhere_ = name(made);
  }

  std::string why_not() const {
    if (!elsewhere_.empty()) {
      return fmt::format("'{}' is read elsewhere too, so it goes through memory anyway", elsewhere_);
    }
    const GrowingGroup& host = groups_.group(joined_.host);
    if (host.at_load != group_.at_load) return "it is computed once, at load; its reader runs at each call";
    if (!host.row_state.nodes.empty()) {
      return fmt::format("the stub makes '{}' of its rows already, and a kernel goes over rows of one kind",
                         name(host.row_state.results.front()));
    }
    for (const auto& [reader, maker] : joined_.reads) {
      if (std::string why = why_no_epilogue(host, reader); !why.empty()) return why;
    }
    for (const ValueId result : joined_.state.results) {
      if (compute_dtype(graph_.type(result).dtype) != DType::f32) {
        return fmt::format("'{}' is {}, and the numbers of a row are f32", name(result),
                           info(graph_.type(result).dtype).name);
      }
    }
    return why_not_read();
  }

  // Why the epilogue that holds `reader` does not get the rows' numbers.
  std::string why_no_epilogue(const GrowingGroup& host, NodeId reader) const {
    const Epilogue& epilogue = *epilogue_with(host, reader);
    const Node& root = graph_.nodes[host.roots.front()];
    const std::size_t result = epilogue.results.front() % root.outputs.size();
    if (!row_evaluations(facts_.scope(root), result, host.roots)) return why_no_rows(facts_.scope(root), result);
    const Shape& walked = graph_.type(numbered_result(graph_, host.roots, epilogue.results.front())).shape;
    const int last = static_cast<int>(walked.size()) - 1;
    if (last < 1 || group_.row_axes != std::vector{last} || group_.loop.size() != walked.size() ||
        keep_axes(group_.loop, {last}) != keep_axes(walked, {last})) {
      return fmt::format("the rows of {} are not those of {}, which {} walks", to_text(group_.loop), to_text(walked),
                         root.kernel->name);
    }
    for (std::size_t i = 0; i < joined_.reads.size(); ++i) {
      if (joined_.reads[i].first != reader) continue;
      const Shape& seen = graph_.type(shown_[i]).shape;
      if (seen != keep_axes(walked, {last}) || graph_.type(graph_.nodes[reader].outputs[0]).shape != walked) {
        return fmt::format("'{}' is read as {}, which is not one element for each row of {}", name(shown_[i]),
                           to_text(seen), to_text(walked));
      }
    }
    return {};
  }

  // Why the kernel cannot go over the rows by two axes, along lines.
  std::string why_not_read() const {
    const auto last = static_cast<std::size_t>(group_.row_axes.front());
    bool has_loop = false;
    for (const ValueId read : group_.reads) {
      const Shape& own = graph_.type(read).shape;
      has_loop = has_loop || own == group_.loop;
      if (shows_state(graph_, read)) return fmt::format("'{}' is a state, which the stub may write", name(read));
      Strides walked(group_.loop.size(), Dim(0));
      const std::size_t lead = walked.size() - own.size();
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (own[i] == group_.loop[lead + i]) walked[lead + i] = facts_.strides(read)[i];
      }
      const bool along = walked[last] == Dim(0) || walked[last] == Dim(1);
      if (!along || !axes_merge(group_.loop, walked, 0, last - 1)) {
        return fmt::format("the rows of '{}' do not follow each other in memory as the kernel walks them", name(read));
      }
    }
    for (const NodeId id : group_.nodes) {
      for (std::size_t i = 0; i < graph_.nodes[id].inputs.size(); ++i) {
        if (line_axis(graph_.nodes[id], i) >= 0) return "it is read in lines along other axes than the kernel walks";
      }
    }
    return has_loop ? "" : fmt::format("nothing that it reads has the shape {} of its rows", to_text(group_.loop));
  }

  // Why a stub of its own takes less time; empty where that is so for some sizes at least, as the kernel may decide
  // anew when it knows them.
  std::string why_no_gain() {
    const GrowingGroup& host = groups_.group(joined_.host);
    const Prices& prices = description_of(graph_).prices;
    std::int64_t bits = 0;  // of each element of the rows
    for (const ValueId read : group_.reads) {
      const TensorType& type = graph_.type(read);
      if (!type.shape.empty() && type.shape.back() == group_.loop.back()) bits += element_bits(type);
    }
    const Dim read = element_count(group_.loop, bits);
    std::int64_t work = 0;
    for (const NodeId id : group_.nodes) {
      const bool per_row = std::holds_alternative<Elementwise>(graph_.nodes[id].kind) &&
                           graph_.type(graph_.nodes[id].outputs[0]).shape != group_.loop;
      work += per_row ? 0 : work_of(graph_.nodes[id], prices);
    }
    Dim times;
    for (const auto& [reader, maker] : joined_.reads) {
      const Epilogue& epilogue = *epilogue_with(host, reader);
      const Node& root = graph_.nodes[host.roots.front()];
      times = *row_evaluations(facts_.scope(root), epilogue.results.front() % root.outputs.size(), host.roots);
    }
    if (times == Dim(1)) return {};
    const DimRanges& ranges = facts_.ranges();
    const Dim again = element_count(group_.loop, bits + work) * times;
    if (again.range(ranges).low <= prices.launch) return {};
    joined_.pays = false;
    return fmt::format("{} would go over each row up to {} times, at least {} bytes in all, which takes longer than {}",
                       graph_.nodes[host.roots.front()].kernel->name, times.range(ranges).high,
                       (read * times).range(ranges).low / bits_of_byte,
                       prices.launch > 0 ? "one more launch" : "to go over it once");
  }

  const FuseFacts& facts_;
  const Graph& graph_;
  const FuseGroups& groups_;
  std::uint32_t rows_;
  const GrowingGroup& group_;
  RowStateJoin joined_;
  std::vector<ValueId> shown_;  // by read: through which view, if any
  std::string elsewhere_;       // what others read, too
};

}  // namespace

RowStateJoin with_row_state(const FuseFacts& facts, const FuseGroups& groups, std::uint32_t rows) {
  return Joining(facts, groups, rows).run();
}

}  // namespace kgen

#include "generator/pass/fuse/fuse_ports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "generator/pass/graph/regroup.hpp"

namespace kgen {
namespace {

bool reads_lines(const Node& node) {
  const auto* elementwise = std::get_if<Elementwise>(&node.kind);
  return elementwise && !elementwise->line_axes.empty();
}

enum class Shown {
  plain,    // along the kernel's axes, as it lies
  in_runs,  // by divisions, whole vectors at a time
  across,   // by divisions, element by element
};

// How memory of the shape `own` is shown to a loop that rides in the port.
Shown shown(const FuseFacts& facts, const Port& port, const Shape& loop, ValueId value) {
  const auto regrouping = regroup(port.shape, port.rank, loop);
  const Shape& own = facts.graph().type(value).shape;
  const auto strides = regrouping ? strides_along(*regrouping, own, facts.strides(value), loop) : std::nullopt;
  if (!strides) return Shown::across;
  if (walk_runs(*regrouping, *strides).runs.empty()) return Shown::plain;
  for (std::size_t axis = strides->size(); axis-- > 0;) {
    if (regrouping->split[axis] == Dim(1)) continue;
    return (*strides)[axis] == Dim(1) || (*strides)[axis] == Dim(0) ? Shown::in_runs : Shown::across;
  }
  return Shown::in_runs;
}

void add_shape(std::vector<const Shape*>& shapes, const Shape& shape) {
  const bool known = std::any_of(shapes.begin(), shapes.end(), [&](const Shape* each) { return *each == shape; });
  if (!known) shapes.push_back(&shape);
}

// Of what the nodes make, and of all views through which they read each other.
void add_shapes(const FuseFacts& facts, const std::vector<NodeId>& nodes, std::vector<const Shape*>& shapes) {
  const Graph& graph = facts.graph();
  for (const NodeId id : nodes) {
    add_shape(shapes, graph.type(graph.nodes[id].outputs[0]).shape);
    for (ValueId input : graph.nodes[id].inputs) {
      while (input != no_id && facts.unshaped(input) != input) {
        add_shape(shapes, graph.type(input).shape);
        input = graph.nodes[graph.value(input).producer].inputs[0];
      }
    }
  }
}

// Shapes of values that are parameters of the group's stub, whatever joins it later.
std::vector<const Shape*> parameter_shapes(const FuseFacts& facts, const GrowingGroup& group,
                                           const std::vector<ValueId>& reads, NodeId last) {
  const Graph& graph = facts.graph();
  std::vector<const Shape*> shapes;
  for (const ValueId value : reads) add_shape(shapes, graph.type(value).shape);
  for (const NodeId root : group.roots) {
    for (const ValueId result : graph.nodes[root].outputs) {
      if (!epilogue_of(group.epilogues, *result_number(graph, group.roots, result))) add_shape(shapes, graph.type(result).shape);
    }
    const std::vector<ValueId>& operands = graph.nodes[root].inputs;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const bool made = std::any_of(group.prologues.begin(), group.prologues.end(), [&](const Prologue& prologue) {
        return prologue.operand == i && (prologue.reader == no_id || prologue.reader == root);
      });
      if (operands[i] != no_id && !made) add_shape(shapes, graph.type(operands[i]).shape);
    }
  }
  for (const Epilogue& epilogue : group.epilogues) {
    for (const NodeId id : epilogue.nodes) {
      const ValueId result = graph.nodes[id].outputs[0];
      if (id == last || facts.kept(result)) add_shape(shapes, graph.type(result).shape);
    }
  }
  return shapes;
}

}  // namespace

Port epilogue_port(const Node& root, const Shape& shape, std::size_t result) {
  return {fmt::format("the epilogue of {}", root.kernel->name), root.kernel, shape, root.kernel->results[result].rank};
}

Port prologue_port(const Node& root, const Shape& shape, std::size_t operand) {
  return {fmt::format("a prologue of {}", root.kernel->name), root.kernel, shape, root.kernel->operands[operand].rank};
}

std::string why_no_loop(const FuseFacts& facts, const Port& port, const Shape& loop, const std::vector<NodeId>& nodes) {
  const bool lines =
      std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return reads_lines(facts.graph().nodes[id]); });
  const bool merges = port.rank >= 1 && static_cast<int>(loop.size()) > port.rank;
  if (lines && merges) return "the kernel walks several axes as one, and one of them is read in lines";
  if (lines && loop != port.shape) return "it is read in lines along other axes than the kernel walks";
  if (!regroup(port.shape, port.rank, loop)) {
    return fmt::format("{} walks {}, whose axes do not fall together with those of {}", port.kernel->name,
                       to_text(port.shape), to_text(loop));
  }
  return {};
}

std::string why_not_read(const FuseFacts& facts, const Port& port, const Shape& loop, ValueId value) {
  if (shown(facts, port, loop, value) != Shown::across) return {};
  return fmt::format("{} would read '{}' element by element, across its lines in memory", port.name,
                     facts.graph().value(value).name);
}

std::string why_not_written(const FuseFacts& facts, const Port& port, NodeId node) {
  const Graph& graph = facts.graph();
  for (const ValueId result : graph.nodes[node].outputs) {
    if (shown(facts, port, graph.type(result).shape, result) != Shown::across) continue;
    std::string whole = graph.value(result).name;
    for (const NodeId reader : facts.consumers(result)) {
      const auto* view = std::get_if<IndexMap>(&graph.nodes[reader].kind);
      if (view && is_destination(*view)) whole = graph.value(graph.nodes[reader].outputs[0]).name;
    }
    return fmt::format("{} would write '{}' element by element, across the lines of '{}'", port.name,
                       graph.value(result).name, whole);
  }
  return {};
}

std::string why_no_sizes(const FuseFacts& facts, const GrowingGroup& group, const std::vector<ValueId>& reads,
                         NodeId last) {
  const Graph& graph = facts.graph();
  std::vector<const Shape*> needed;
  std::deque<Shape> cut;  // loops as the kernel's axes cut them
  const auto add_loops = [&](const Port& port, const std::vector<NodeId>& nodes) {
    std::vector<const Shape*> loops;
    add_shapes(facts, nodes, loops);
    for (const Shape* loop : loops) {
      add_shape(needed, *loop);
      if (auto regrouping = regroup(port.shape, port.rank, *loop)) {
        add_shape(needed, cut.emplace_back(std::move(regrouping->split)));
      }
    }
  };
  const Node& first = graph.nodes[group.roots.front()];
  for (const NodeId root : group.roots) {
    for (const ValueId result : graph.nodes[root].outputs) add_shape(needed, graph.type(result).shape);
  }
  for (const Epilogue& epilogue : group.epilogues) {
    const ValueId result = numbered_result(graph, group.roots, epilogue.results.front());
    add_loops(epilogue_port(first, graph.type(result).shape, graph.value(result).index), epilogue.nodes);
  }
  for (const Prologue& prologue : group.prologues) {
    const NodeId reader = prologue.reader == no_id ? group.roots.front() : prologue.reader;
    const Shape& shape = graph.type(graph.nodes[reader].inputs[prologue.operand]).shape;
    add_shape(needed, shape);
    add_loops(prologue_port(first, shape, prologue.operand), prologue.nodes);
  }
  const std::vector<const Shape*> known = parameter_shapes(facts, group, reads, last);
  for (const Shape* shape : needed) {
    for (const Dim& extent : *shape) {
      const bool found = extent.is_constant() || std::any_of(known.begin(), known.end(), [&](const Shape* each) {
                           return std::find(each->begin(), each->end(), extent) != each->end();
                         });
      if (!found) {
        return fmt::format("nothing that the stub reads or writes has the extent {} of {}", extent.text(),
                           to_text(*shape));
      }
    }
  }
  return {};
}

}  // namespace kgen

#include "generator/pass/fuse/recompute_readers.hpp"

#include <algorithm>

#include "generator/base/contains.hpp"
#include "generator/pass/fuse/fuse_groups.hpp"
#include "generator/pass/fuse/fuse_ports.hpp"
#include "generator/pass/graph/source_operand.hpp"

namespace kgen {
namespace {

// Where in the group the node reads operand number `operand`.
ReaderPort port_of(const Graph& graph, const Group& group, std::uint32_t index, NodeId node, std::size_t operand) {
  ReaderPort port{.group = index, .reads = {{node, operand}}};
  if (contains(roots_of(group), node)) {
    const KernelSignature* kernel = graph.nodes[node].kernel;
    port.prologue = operand;
    if (kernel && several_operand(*kernel) == operand) port.root = node;
  }
  for (const Prologue& prologue : group.prologues) {
    if (!contains(prologue.nodes, node)) continue;
    port.prologue = prologue.operand;
    port.root = prologue.reader;
  }
  for (std::size_t i = 0; i < group.epilogues.size(); ++i) {
    if (contains(group.epilogues[i].nodes, node)) port.epilogue = i;
  }
  return port;
}

bool is_same_port(const ReaderPort& a, const ReaderPort& b) {
  return a.group == b.group && a.prologue == b.prologue && a.root == b.root && a.epilogue == b.epilogue;
}

// A value of that shape, kept in lanes, meets what the loop's node makes.
bool lines_up(const FuseFacts& facts, const Group& group, NodeId reader, const Shape& shape) {
  const Node& node = facts.graph().nodes[reader];
  if (std::holds_alternative<Reduction>(node.kind)) return shape == group.loop;
  if (!std::holds_alternative<Elementwise>(node.kind) || facts.writes_state(reader)) return false;
  const bool one_per_row = group.kind == GroupKind::rows && shape == keep_axes(group.loop, group.row_axes);
  return one_per_row || shape == facts.graph().type(node.outputs[0]).shape;
}

// The group of a kernel, once the port computes the nodes.
GrowingGroup with_taken(const Group& group, const ReaderPort& port, const RecomputedValue& again) {
  GrowingGroup joint;
  joint.kind = group.kind;
  joint.roots = roots_of(group);
  joint.prologues = group.prologues;
  joint.epilogues = group.epilogues;
  if (port.epilogue != ReaderPort::none) {
    std::vector<NodeId>& nodes = joint.epilogues[port.epilogue].nodes;
    nodes.insert(nodes.end(), again.originals.begin(), again.originals.end());
  } else {
    joint.prologues.push_back({port.prologue, again.originals, port.root});
  }
  return joint;
}

// Whether the kernel can walk the nodes' loop where it has the port, and show it all that they read.
bool kernel_takes(const FuseFacts& facts, const Group& group, const ReaderPort& port, const RecomputedValue& again) {
  const Graph& graph = facts.graph();
  const Node& root = graph.nodes[group.root];
  if (!root.kernel) return false;
  const bool prologue = port.epilogue == ReaderPort::none;
  if (prologue && (!is_source(root, port.prologue) || !why_in_memory(facts.scope(root), port.prologue).empty()))
    return false;
  const ValueId walked = prologue
                             ? graph.nodes[port.root == no_id ? group.root : port.root].inputs[port.prologue]
                             : numbered_result(graph, roots_of(group), group.epilogues[port.epilogue].results.front());
  const Shape& shape = graph.type(walked).shape;
  const Port rides =
      prologue ? prologue_port(root, shape, port.prologue) : epilogue_port(root, shape, graph.value(walked).index);
  const Shape& loop = graph.type(again.value).shape;
  if (!why_no_loop(facts, rides, loop, again.originals).empty()) return false;
  for (const ValueId read : again.reads) {
    if (!why_not_read(facts, rides, loop, read).empty()) return false;
  }
  std::vector<ValueId> parameters = group.inputs;
  std::erase(parameters, again.value);
  parameters.insert(parameters.end(), again.reads.begin(), again.reads.end());
  parameters.insert(parameters.end(), group.outputs.begin(), group.outputs.end());
  return why_no_sizes(facts, with_taken(group, port, again), parameters, no_id).empty();
}

}  // namespace

std::vector<ReaderPort> reader_ports(const FuseFacts& facts, const std::vector<Group>& groups,
                                     const std::vector<std::uint32_t>& group_of, ValueId value) {
  const Graph& graph = facts.graph();
  const std::uint32_t own = group_of[graph.value(value).producer];
  std::vector<ReaderPort> ports;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> ports_of;  // by group
  NodeId last = no_id;
  for (const NodeId reader : facts.consumers(value)) {
    if (std::exchange(last, reader) == reader) continue;  // once for each operand, one behind the other
    const std::uint32_t index = group_of[reader];
    if (index == no_id || groups[index].kind == GroupKind::call) return {};
    if (index == own) continue;
    const std::vector<ValueId>& inputs = graph.nodes[reader].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != value) continue;
      ReaderPort port = port_of(graph, groups[index], index, reader, i);
      std::vector<std::size_t>& known = ports_of[index];
      const auto same =
          std::find_if(known.begin(), known.end(), [&](std::size_t each) { return is_same_port(ports[each], port); });
      if (same == known.end()) {
        known.push_back(ports.size());
        ports.push_back(std::move(port));
      } else {
        ports[*same].reads.push_back(port.reads.front());
      }
    }
  }
  return ports;
}

bool can_take(const FuseFacts& facts, const Group& group, const ReaderPort& port, const RecomputedValue& again) {
  const Graph& graph = facts.graph();
  const Shape& shape = graph.type(again.value).shape;
  const std::size_t calls = 1 + group.siblings.size();
  const TargetDescription& target = description_of(graph);
  const bool fits = group.nodes.size() + again.nodes.size() <= calls * target.most_nodes &&
                    group.inputs.size() + again.reads.size() <= calls * target.most_reads;
  if (!fits || group.at_load) return false;
  const bool meets = std::all_of(port.reads.begin(), port.reads.end(), [&](const auto& read) {
    const auto& [reader, operand] = read;
    const bool reads_lanes = line_axis(graph.nodes[reader], operand) < 0;
    return reads_lanes && (contains(roots_of(group), reader) || lines_up(facts, group, reader, shape));
  });
  return meets && (group.root == no_id || kernel_takes(facts, group, port, again));
}

RecomputeOrders::Sets RecomputeOrders::sets_of(const std::vector<FusionDirectives::Group>& groups) {
  Sets sets;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const std::string& value : groups[i].values) sets[value].push_back(i);
  }
  return sets;
}

RecomputeOrders::RecomputeOrders(const FusionDirectives& directives)
    : forbid_(sets_of(directives.forbid)), force_(sets_of(directives.force)) {}

bool RecomputeOrders::forbids(const Graph& graph, const std::vector<NodeId>& nodes,
                              const std::vector<NodeId>& group) const {
  if (forbid_.empty()) return false;
  const auto sets = [&](NodeId id) {
    std::vector<std::size_t> found;
    for (const ValueId output : graph.nodes[id].outputs) {
      const auto named = forbid_.find(written_name(graph, output));
      if (named != forbid_.end()) found.insert(found.end(), named->second.begin(), named->second.end());
    }
    return found;
  };
  for (const NodeId id : nodes) {
    for (const std::size_t set : sets(id)) {
      for (const NodeId other : group) {
        const std::vector<std::size_t> others = sets(other);
        if (std::find(others.begin(), others.end(), set) != others.end()) return true;
      }
    }
  }
  return false;
}

bool RecomputeOrders::forces_any(const Graph& graph, const std::vector<NodeId>& nodes) const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId id) { return force_.contains(written_name(graph, graph.nodes[id].outputs[0])); });
}

}  // namespace kgen

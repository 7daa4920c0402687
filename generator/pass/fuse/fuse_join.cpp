#include "generator/pass/fuse/fuse_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "generator/pass/fuse/fuse_ports.hpp"
#include "generator/pass/fuse/recompute_price.hpp"
#include "generator/pass/graph/source_operand.hpp"
#include "generator/spec/streamed_operand.hpp"

namespace kgen {
namespace {

Joint refuse(std::string why) { return {std::nullopt, std::move(why)}; }

bool one_per_row(const Shape& shape, const GrowingGroup& rows) {
  const auto form = row_form(shape, rows.loop, rows.row_axes);
  return form && *form != RowForm::full;
}

// How many elements a row of the group's loop has.
Dim row_length(const GrowingGroup& rows) {
  Shape row;
  for (const int axis : rows.row_axes) row.push_back(rows.loop[static_cast<std::size_t>(axis)]);
  return element_count(row);
}

// Why the epilogue cannot take all of the group; empty where it can.
std::string why_no_guest(const FuseFacts& facts, const GrowingGroup& guest, const Port& epilogue) {
  if (std::string why = why_no_loop(facts, epilogue, guest.loop, guest.nodes); !why.empty()) return why;
  for (const ValueId value : guest.reads) {
    if (std::string why = why_not_read(facts, epilogue, guest.loop, value); !why.empty()) return why;
  }
  for (const NodeId id : guest.nodes) {
    if (std::string why = why_not_written(facts, epilogue, id); !why.empty()) return why;
  }
  return {};
}

// The results of a kernel's group that `node` takes lanes of, by themselves or through epilogues.
std::vector<std::size_t> results_taken(const FuseFacts& facts, const FuseGroups& groups, const Node& node,
                                       std::uint32_t kernel_group) {
  const Graph& graph = facts.graph();
  const GrowingGroup& group = groups.group(kernel_group);
  std::vector<std::size_t> taken;
  for (const ValueId input : node.inputs) {
    if (input == no_id || groups.group_behind(input) != kernel_group) continue;
    const ValueId shown = facts.unshaped(input);
    const NodeId maker = graph.value(shown).producer;
    const auto number = result_number(graph, group.roots, shown);
    if (number && !epilogue_of(group.epilogues, *number)) taken.push_back(*number);
    for (const Epilogue& epilogue : group.epilogues) {
      const bool received = number && &epilogue == epilogue_of(group.epilogues, *number);
      const bool made = std::find(epilogue.nodes.begin(), epilogue.nodes.end(), maker) != epilogue.nodes.end();
      if (!received && !made) continue;
      taken.insert(taken.end(), epilogue.results.begin(), epilogue.results.end());
    }
  }
  std::sort(taken.begin(), taken.end());
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  return taken;
}

// The results that the kernel gives at one position, if need be, of those that are taken: siblings' are these, if each
// has one; else all that the parameter of the first stands for.
std::vector<std::size_t> given_jointly(const KernelSignature& kernel, std::size_t siblings,
                                       const std::vector<std::size_t>& taken) {
  if (siblings > 1) return kernel.results.size() == 1 ? taken : std::vector<std::size_t>{};
  std::size_t first = taken.front();
  while (kernel.results[first].joint == 0) --first;
  std::vector<std::size_t> results(static_cast<std::size_t>(kernel.results[first].joint));
  std::iota(results.begin(), results.end(), first);
  return results;
}

// The results whose epilogue would take `node`, or why none would.
struct Taken {
  std::vector<std::size_t> results;
  std::string refusal;
};

Taken results_of_epilogue(const FuseFacts& facts, const FuseGroups& groups, const Node& node,
                          std::uint32_t kernel_group) {
  const std::vector<NodeId>& roots = groups.group(kernel_group).roots;
  const Node& root = facts.graph().nodes[roots.front()];
  const KernelSignature* kernel = root.kernel;
  const std::string& name = kernel ? kernel->name : root.op->name;
  std::vector<std::size_t> taken = results_taken(facts, groups, node, kernel_group);
  if (taken.empty()) taken = {0};
  const std::size_t first = taken.front() % root.outputs.size();
  if (!kernel || kernel->results[first].accepts != Accepts::sink) {
    if (root.outputs.size() == 1) return {{}, fmt::format("the result of {} takes no epilogue", name)};
    const std::string& result = root.op->results[first].name;
    return {{}, fmt::format("the result '{}' of {} takes no epilogue", result, name)};
  }
  if (taken.size() == 1) return {std::move(taken), {}};
  const std::vector<std::size_t> together = given_jointly(*kernel, roots.size(), taken);
  if (!std::includes(together.begin(), together.end(), taken.begin(), taken.end())) {
    return {{}, fmt::format("it takes {} results of {}, and each goes to an epilogue of its own", taken.size(), name)};
  }
  const auto shape = [&](std::size_t each) {
    return facts.graph().type(numbered_result(facts.graph(), roots, each)).shape;
  };
  for (const std::size_t each : together) {
    if (shape(each) != shape(together.front())) return {{}, "the loops have different shapes"};
  }
  return {together, {}};
}

// Where an epilogue on these results of the group's kernel rides; their shape is `shape`.
Port port_of(const Graph& graph, const GrowingGroup& group, const Shape& shape, const std::vector<std::size_t>& results) {
  const Node& root = graph.nodes[group.roots.front()];
  return epilogue_port(root, shape, results.front() % root.kernel->results.size());
}

// The nodes of the epilogue on these results of the group's kernel; those on a part of them become one with it.
std::vector<NodeId>& epilogue_nodes(GrowingGroup& group, const std::vector<std::size_t>& results) {
  Epilogue whole{results, {}};
  std::erase_if(group.epilogues, [&](const Epilogue& each) {
    if (!std::includes(results.begin(), results.end(), each.results.begin(), each.results.end())) return false;
    whole.nodes.insert(whole.nodes.end(), each.nodes.begin(), each.nodes.end());
    return true;
  });
  group.epilogues.push_back(std::move(whole));
  return group.epilogues.back().nodes;
}

// Of groups that become one, that of the highest rank takes in the others: a kernel rows or loops, rows loops. A call
// takes in none, and says so.
int rank_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::elementwise:
      return 0;
    case GroupKind::rows:
      return 1;
    case GroupKind::structured:
      return 2;
    case GroupKind::call:
      return 3;
  }
  return 0;
}

// What several groups become when one node needs results of all of them; `results`: of the kernel among them, those
// that it takes.
Joint unite(const FuseFacts& facts, const FuseGroups& groups, const std::vector<std::uint32_t>& ids, std::uint32_t main,
            const std::vector<std::size_t>& results) {
  GrowingGroup joint;
  const GrowingGroup& host = groups.group(main);
  joint.kind = host.kind;
  joint.roots = host.roots;
  joint.prologues = host.prologues;
  joint.epilogues = host.epilogues;
  joint.loop = host.loop;
  if (host.kind == GroupKind::structured) {
    joint.loop = facts.graph().type(numbered_result(facts.graph(), host.roots, results.front())).shape;
  }
  joint.row_axes = host.row_axes;
  joint.at_load = host.at_load;
  for (const std::uint32_t id : ids) {
    if (id == main) continue;
    const GrowingGroup& guest = groups.group(id);
    if (guest.at_load != host.at_load) return refuse("one operand is computed at load, the other at each call");
    if (guest.kind == GroupKind::rows) {
      if (host.kind == GroupKind::structured) {
        return refuse(
            fmt::format("its operands come from a kernel, whose epilogue sees tiles, and from a stub that walks "
                        "rows: each tile would go through rows of {} again",
                        row_length(guest).text()));
      }
      if (host.kind != GroupKind::rows || guest.loop != host.loop || guest.row_axes != host.row_axes) {
        return refuse("its operands come from stubs that walk different rows");
      }
    } else if (guest.kind != GroupKind::elementwise) {
      return refuse("its operands come from two structured kernels");
    } else if (host.kind != GroupKind::structured && guest.loop != joint.loop &&
               !(host.kind == GroupKind::rows && one_per_row(guest.loop, host))) {
      return refuse("its operands come from loops of different shapes");
    }
    if (host.kind != GroupKind::structured) continue;
    std::vector<NodeId>& epilogue = epilogue_nodes(joint, results);
    epilogue.insert(epilogue.end(), guest.nodes.begin(), guest.nodes.end());
    const Port port = port_of(facts.graph(), host, joint.loop, results);
    if (std::string why = why_no_guest(facts, guest, port); !why.empty()) return refuse(std::move(why));
  }
  return {std::move(joint), {}};
}

bool made_by(const FuseGroups& groups, ValueId value, const std::vector<std::uint32_t>& ids) {
  const std::uint32_t maker = groups.group_making(value);
  return maker != no_id && std::find(ids.begin(), ids.end(), maker) != ids.end();
}

Joint refuse_broadcast(const Shape& from, const Shape& to) {
  return refuse(fmt::format("it is broadcast from {} to {}: every element would be computed again for each use",
                            to_text(from), to_text(to)));
}

Joint elementwise_into_loop(const FuseFacts& facts, const FuseGroups& groups, const Node& node,
                            const std::vector<std::uint32_t>& ids, GrowingGroup joint) {
  const Graph& graph = facts.graph();
  const Shape& shape = graph.type(node.outputs[0]).shape;
  for (const ValueId input : node.inputs) {
    if (input == no_id || !made_by(groups, facts.peel(input), ids)) continue;
    if (facts.peel(input) != input) return refuse("'" + graph.value(input).name + "' is a view of it");
    if (graph.type(input).shape != shape) return refuse_broadcast(graph.type(input).shape, shape);
  }
  if (joint.loop != shape) return refuse("the loops have different shapes");
  return {std::move(joint), {}};
}

Joint elementwise_into_rows(const FuseFacts& facts, const FuseGroups& groups, const Node& node,
                            const std::vector<std::uint32_t>& ids, GrowingGroup joint) {
  const Graph& graph = facts.graph();
  const Shape& shape = graph.type(node.outputs[0]).shape;
  const auto made = row_form(shape, joint.loop, joint.row_axes);
  if (!made) {
    return refuse(fmt::format("its result {} is neither a row of {} nor one element of each", to_text(shape),
                              to_text(joint.loop)));
  }
  for (const ValueId input : node.inputs) {
    const ValueId shown = input == no_id ? no_id : facts.peel(input);
    if (shown == no_id || !made_by(groups, shown, ids)) continue;
    if (shown != input && !one_per_row(graph.type(shown).shape, joint)) {
      return refuse("'" + graph.value(input).name + "' is a view of it");
    }
    // One element per row meets rows where its axes were kept. Two of one per row always meet: an axis that NumPy's
    // rule puts in another's place has extent 1.
    const auto from = row_form(graph.type(input).shape, joint.loop, joint.row_axes);
    const bool lines_up = from && (*made == RowForm::full ? *from != RowForm::dropped : *from != RowForm::full);
    if (!lines_up) return refuse("its operand does not line up with the rows");
  }
  return {std::move(joint), {}};
}

// Rule: the epilogue takes a node if that adds no traffic. A node on its way to a reduction, which an epilogue cannot
// do, is taken only where its operands end with it: else both they and its result would go through memory.
Joint elementwise_into_epilogue(const FuseFacts& facts, const FuseGroups& groups, NodeId id,
                                const std::vector<std::uint32_t>& ids, GrowingGroup joint,
                                const std::vector<std::size_t>& results) {
  const Graph& graph = facts.graph();
  const Node& node = graph.nodes[id];
  const Shape& loop = graph.type(node.outputs[0]).shape;
  const Port port = port_of(graph, joint, joint.loop, results);
  std::string does_not_pay;
  std::vector<ValueId> reads;
  for (const ValueId input : node.inputs) {
    if (input == no_id || is_literal(graph, node, input)) continue;
    if (!groups.reads_within(id, input, ids)) {
      reads.push_back(input);
      continue;
    }
    if (graph.type(input).shape != loop) return refuse_broadcast(graph.type(input).shape, loop);
    const ValueId made = facts.unshaped(input);
    const bool read_elsewhere = facts.consumers(input).size() > 1 || facts.consumers(made).size() > 1;
    if (facts.wants_rows(id) && (read_elsewhere || facts.kept(made))) {
      does_not_pay = fmt::format("'{}' goes through memory anyway, and the rows that '{}' leads to read it from there",
                                 graph.value(made).name, graph.value(node.outputs[0]).name);
    }
  }
  if (std::string why = why_no_loop(facts, port, loop, {id}); !why.empty()) return refuse(std::move(why));
  if (std::string why = why_not_written(facts, port, id); !why.empty()) return refuse(std::move(why));
  for (const ValueId read : reads) {
    if (std::string why = why_not_read(facts, port, loop, read); !why.empty()) return refuse(std::move(why));
  }
  epilogue_nodes(joint, results).push_back(id);
  for (const std::uint32_t each : ids) {
    const std::vector<ValueId>& others = groups.group(each).reads;
    reads.insert(reads.end(), others.begin(), others.end());
  }
  if (std::string why = why_no_sizes(facts, joint, reads, id); !why.empty()) return refuse(std::move(why));
  return {std::move(joint), std::move(does_not_pay)};
}

Joint reduction_into(const FuseFacts& facts, const FuseGroups& groups, const Node& node,
                     const std::vector<std::uint32_t>& ids, GrowingGroup joint) {
  const Graph& graph = facts.graph();
  const auto& reduction = std::get<Reduction>(node.kind);
  const Shape& shape = graph.type(node.inputs[0]).shape;
  if (joint.kind == GroupKind::structured) {
    return refuse("an epilogue sees tiles, not whole rows: a reduction cannot ride in it");
  }
  if (!made_by(groups, node.inputs[0], ids))
    return refuse("'" + graph.value(node.inputs[0]).name + "' is a view of it");
  if (joint.loop != shape) return refuse("it reduces only a part of the loop");
  if (joint.kind == GroupKind::rows && joint.row_axes != reduction.axes) {
    return refuse("it reduces other axes than the rows it would join");
  }
  if (keep_axes(shape, reduction.axes) == shape) {
    return refuse("there is nothing to reduce: every row has one element");
  }
  joint.kind = GroupKind::rows;
  joint.row_axes = reduction.axes;
  return {std::move(joint), {}};
}

}  // namespace

GrowingGroup alone(const FuseFacts& facts, NodeId id) {
  const Graph& graph = facts.graph();
  const Node& node = graph.nodes[id];
  GrowingGroup group;
  group.at_load = facts.at_load(node.outputs[0]);
  group.loop = graph.type(node.outputs[0]).shape;
  if (const auto* reduction = std::get_if<Reduction>(&node.kind)) {
    group.kind = GroupKind::rows;
    group.loop = graph.type(node.inputs[0]).shape;
    group.row_axes = reduction->axes;
    if (group.loop.empty()) {  // a number is a row of one element
      group.loop = {Dim(1)};
      group.row_axes = {0};
    }
  } else if (std::holds_alternative<Call>(node.kind)) {
    group.kind = GroupKind::call;
    group.roots = {id};
  } else if (!std::holds_alternative<Elementwise>(node.kind)) {
    group.kind = GroupKind::structured;
    group.roots = {id};
  }
  return group;
}

Joint with_producers(const FuseFacts& facts, const FuseGroups& groups, NodeId id,
                     const std::vector<std::uint32_t>& ids) {
  const Node& node = facts.graph().nodes[id];
  const auto rank = [&](std::uint32_t each) { return rank_of(groups.group(each).kind); };
  const std::uint32_t main =
      *std::max_element(ids.begin(), ids.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
  Taken taken;
  if (groups.group(main).kind == GroupKind::structured) taken = results_of_epilogue(facts, groups, node, main);
  if (!taken.refusal.empty()) return refuse(std::move(taken.refusal));
  Joint united = unite(facts, groups, ids, main, taken.results);
  if (!united.group) return united;
  if (united.group->at_load != facts.at_load(node.outputs[0])) {
    return refuse("it is computed once, at load; its reader runs at each call");
  }
  if (united.group->kind == GroupKind::call) return refuse("it comes out of a function, which is emitted once");
  if (facts.writes_state(id)) return refuse("its result replaces a state, after everything else has run");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (line_axis(node, i) < 0 || !groups.reads_within(id, node.inputs[i], ids)) continue;
    return refuse(fmt::format("'{}' is read along an axis, so all of it must be there",
                              facts.graph().value(node.inputs[i]).name));
  }
  if (std::holds_alternative<Reduction>(node.kind)) {
    return reduction_into(facts, groups, node, ids, std::move(*united.group));
  }
  switch (united.group->kind) {
    case GroupKind::elementwise:
      return elementwise_into_loop(facts, groups, node, ids, std::move(*united.group));
    case GroupKind::rows:
      return elementwise_into_rows(facts, groups, node, ids, std::move(*united.group));
    default:
      return elementwise_into_epilogue(facts, groups, id, ids, std::move(*united.group), taken.results);
  }
}

Joint with_sibling(const FuseFacts& facts, const FuseGroups& groups, NodeId id, std::uint32_t sibling) {
  GrowingGroup own = alone(facts, id);
  const GrowingGroup& other = groups.group(sibling);
  const bool loops = own.kind == GroupKind::elementwise || own.kind == GroupKind::rows;
  const bool other_loops = other.kind == GroupKind::elementwise || other.kind == GroupKind::rows;
  if (!loops || !other_loops || own.loop != other.loop || own.at_load != other.at_load || facts.writes_state(id)) {
    return refuse("it walks another shape");
  }
  if (own.kind == GroupKind::rows && other.kind == GroupKind::rows && own.row_axes != other.row_axes) {
    return refuse("it reduces other axes");
  }
  for (const NodeId member : other.nodes) {
    if (facts.writes_state(member)) return refuse("its result replaces a state");
  }
  if (own.kind == GroupKind::elementwise) own.row_axes = other.row_axes;
  if (other.kind == GroupKind::rows) own.kind = GroupKind::rows;
  if (own.kind == GroupKind::rows && keep_axes(own.loop, own.row_axes) == own.loop) {
    return refuse("there is nothing to reduce: every row has one element");
  }
  return {std::move(own), {}};
}

namespace {

// Whether nothing but the group `maker` reads `value`, through views or not, but for the nodes `kernels`, each of which
// reads it once as the operand `operand`.
bool ends_in_operand(const FuseFacts& facts, const FuseGroups& groups, ValueId value, std::uint32_t maker,
                     const std::vector<NodeId>& kernels, ValueId operand) {
  if (facts.kept(value)) return false;
  const auto is_kernel = [&](NodeId reader) { return std::find(kernels.begin(), kernels.end(), reader) != kernels.end(); };
  const auto readers = facts.consumers(value);
  const bool ends_here = std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    if (is_kernel(reader)) return value == operand;
    if (!facts.is_view(reader)) return groups.group_of(reader) == maker;
    const ValueId shown = facts.graph().nodes[reader].outputs[0];
    return facts.reshapes_only(reader) && ends_in_operand(facts, groups, shown, maker, kernels, operand);
  });
  // A value may have very many readers: they are counted only where that decides.
  return ends_here &&
         static_cast<std::size_t>(std::count_if(readers.begin(), readers.end(), is_kernel)) <= kernels.size();
}

// Why the kernel, which may ask for an element of the operand several times, is slower with the group as its prologue
// than where that makes the operand once; empty where it is not.
std::string why_no_gain(const FuseFacts& facts, const GrowingGroup& group, const std::vector<NodeId>& roots,
                        std::size_t operand) {
  const Node& node = facts.graph().nodes[roots.front()];
  if (std::string why = why_in_memory(facts.scope(node), operand); !why.empty()) return why;
  const std::int64_t times = evaluations(facts.scope(node), operand, roots);
  if (times == 1) return {};
  const RecomputedValue again{.value = node.inputs[operand],
                              .nodes = group.nodes,
                              .originals = group.nodes,
                              .reads = group.reads,
                              .readers = {{group.reads, times}},
                              .spared = group.reads,
                              .spares_stub = true};
  const RecomputingPrice price = price_of(facts, again);
  if (price.pays) return {};
  return fmt::format("{} would compute '{}' up to {} times over, which takes longer than {}to write and read {} bytes",
                     node.kernel->name, facts.graph().value(again.value).name, times,
                     description_of(facts.graph()).prices.launch > 0 ? "another launch, and " : "", price.saved.text());
}

}  // namespace

Joint with_prologue(const FuseFacts& facts, const FuseGroups& groups, const std::vector<NodeId>& roots,
                    std::size_t operand) {
  const Graph& graph = facts.graph();
  const Node& node = graph.nodes[roots.front()];
  const ValueId value = node.inputs[operand];
  const std::uint32_t maker = groups.group_making(facts.unshaped(value));
  const GrowingGroup& group = groups.group(maker);
  const KernelSignature* kernel = node.kernel;
  if (!is_source(node, operand)) {
    return refuse(fmt::format("operand '{}' of {} takes no prologue", node.op->operands[operand].name,
                              kernel ? kernel->name : node.op->name));
  }
  if (group.kind == GroupKind::call) return refuse("it comes out of a function, which is emitted once");
  if (group.at_load != facts.at_load(node.outputs[0])) return refuse("it is computed once, at load");
  if (group.kind == GroupKind::structured) return refuse("another kernel's stub makes it, and a stub calls one kernel");
  // Statistics of its rows that memory holds a prologue does read, where a graph keeps the rows apart from what follows
  // them (`fusion: forbid`). No rule parts them: that saves writing the rows, but gives their last part to the kernel's
  // packing. On one thread of a CPU layer_norm in front of a product took 0.98 to 1.12 of its time with rows in memory
  // (768 x 3072, M from 1 to 2048), and 0.97 to 1.39 where the rows are a third of it (4096 x 64, M from 1 to 4096). A
  // GPU launches as often, and computes the prologue anew for each few columns. A factor of rows moves behind the
  // product instead: see commute_factors.hpp and fuse_row_state.hpp.
  if (group.kind != GroupKind::elementwise)
    return refuse(fmt::format("a prologue computes single elements, and for each it would go through a row of {} again",
                              row_length(group).text()));
  for (const NodeId member : group.nodes) {
    for (const ValueId result : graph.nodes[member].outputs) {
      if (!ends_in_operand(facts, groups, result, maker, roots, value)) {
        return refuse(
            fmt::format("'{}' is read elsewhere too, so it goes through memory anyway", graph.value(result).name));
      }
    }
  }
  const Port port = prologue_port(node, graph.type(value).shape, operand);
  if (std::string why = why_no_loop(facts, port, group.loop, group.nodes); !why.empty()) return refuse(std::move(why));
  // A GPU's kernel that reads a weight down its columns reads what there is for groups of it as it comes to them.
  const bool down_columns = graph.target != TargetKind::cpu && streamed_degree(graph, value) != Degree::none &&
                            evaluations(facts.scope(node), operand, roots) == 1;
  for (const ValueId read : group.reads) {
    if (down_columns) break;
    if (std::string why = why_not_read(facts, port, group.loop, read); !why.empty()) return refuse(std::move(why));
  }
  GrowingGroup joint = alone(facts, roots.front());
  const bool of_each = several_operand(*kernel) == operand;
  joint.prologues.push_back({operand, group.nodes, of_each ? roots.front() : no_id});
  return {std::move(joint), why_no_gain(facts, group, roots, operand)};
}

}  // namespace kgen

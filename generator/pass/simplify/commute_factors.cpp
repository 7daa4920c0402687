#include "generator/pass/simplify/commute_factors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "generator/base/diagnostics.hpp"
#include "generator/pass/graph/load_values.hpp"
#include "generator/pass/graph/readers.hpp"
#include "generator/pass/graph/source_operand.hpp"
#include "generator/pass/graph/work.hpp"
#include "generator/pass/simplify/factor_chain.hpp"
#include "generator/pass/simplify/remove_dead_nodes.hpp"
#include "generator/pass/simplify/view_algebra.hpp"

namespace kgen {
namespace {

// Factors are looked for in front of operands that so many nodes read, at most.
constexpr std::size_t most_readers = 16;
// And views of a weight that such operands meet.
constexpr std::size_t most_views = 64;

// One that reads the scaled operand.
struct Product {
  NodeId node = no_id;
  std::size_t operand = 0;
};

// Where a factor goes; `place` is nothing where it stays in front of the product.
struct Placed {
  Factor factor;
  std::optional<FactorPlace> place;
};

struct Candidate {
  FactorChain chain;
  std::vector<Placed> factors;  // the last applied first
  std::vector<Product> products;
};

// Whether the type holds numbers as great as f32 does.
bool has_range_of_f32(DType dtype) { return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16; }

class Commuting {
 public:
  explicit Commuting(Rewriting& rewriting)
      : rewriting_(rewriting),
        graph_(rewriting.graph),
        ranges_(ranges_of(graph_)),
        constants_(graph_),
        readers_(graph_) {
    for (const auto* groups : {&graph_.directives.forbid, &graph_.directives.force, &graph_.directives.pin}) {
      for (const FusionDirectives::Group& group : *groups) restricted_.insert(group.values.begin(), group.values.end());
    }
  }

  // True where anything changed.
  bool run() {
    const std::size_t count = graph_.nodes.size();
    for (NodeId id = 0; id < count; ++id) {
      if (!graph_.nodes[id].op || !graph_.nodes[id].kernel) continue;
      std::vector<std::size_t> operands;
      for (const ScaledAxis& each : graph_.nodes[id].op->algebra.scales) {
        if (std::find(operands.begin(), operands.end(), each.operand) == operands.end())
          operands.push_back(each.operand);
      }
      for (const std::size_t operand : operands) consider(id, operand);
    }
    if (changed_) put_in_order();
    return changed_;
  }

 private:
  NodeScope scope(const Node& node) const {
    return {graph_, node, ranges_, node.attributes, {}, [this](ValueId value) { return constants_.contains(value); }};
  }
  const std::string& name(ValueId value) const { return graph_.value(value).name; }

  void consider(NodeId id, std::size_t operand);
  std::optional<Candidate> candidate_at(NodeId id, std::size_t operand) const;
  bool is_for_products(ValueId value) const;
  bool would_be_written(const Candidate& candidate) const;
  std::string why_not(const Candidate& candidate) const;
  bool may_sum_nothing(const Candidate& candidate) const;
  std::string why_not_all(const Candidate& candidate) const;
  std::string why_not_left(const Candidate& candidate) const;
  bool is_in_memory(const Candidate& candidate) const;
  Dim multiplications(const Candidate& candidate) const;
  std::string why_no_gain(const Candidate& candidate) const;
  std::string what_moved(const Candidate& candidate) const;

  void commute(const Candidate& candidate);
  ValueId left_of(const Candidate& candidate, NodeId before);
  void scale_result(const Candidate& candidate, NodeId product);
  void scale_operand(const Candidate& candidate, const Product& product);
  ValueId add(std::vector<Node>& nodes, Node node, ValueId made);
  ValueId converted(std::vector<Node>& nodes, ValueId value, DType dtype, SourceLocation where, ValueId made = no_id);
  ValueId multiplied(std::vector<Node>& nodes, const Factor& factor, ValueId value, ValueId by, SourceLocation where,
                     ValueId made = no_id);
  ValueId along(std::vector<Node>& nodes, const Factor& factor, const FactorPlace& place, SourceLocation where);
  ValueId seen_as(std::vector<Node>& nodes, ValueId value, Shape shape, const char* what, SourceLocation where);
  void put_in_order();

  Rewriting& rewriting_;
  Graph& graph_;
  DimRanges ranges_;
  const Prices& prices_ = description_of(graph_).prices;
  LoadValues constants_;
  Readers readers_;
  std::unordered_set<std::string> restricted_;
  std::unordered_set<ValueId> considered_;
  std::unordered_map<NodeId, std::vector<Node>> before_, after_;  // nodes that go there, by node
  std::unordered_map<std::string, std::string> renamed_;  // results of products, by name: what the products make now
  bool changed_ = false;
};

// ---- whether --------------------------------------------------------------------------------------------------------

std::optional<Candidate> Commuting::candidate_at(NodeId id, std::size_t operand) const {
  const Node& node = graph_.nodes[id];
  if (operand >= node.inputs.size() || node.inputs[operand] == no_id || node.outputs.size() != 1) return std::nullopt;
  const ValueId value = node.inputs[operand];
  if (value >= readers_.size() || constants_.contains(value) || !producer(rewriting_, value)) return std::nullopt;
  Candidate candidate{factor_chain(rewriting_, value), {}, {{id, operand}}};
  // What stands in front of a factor that stays, stays too.
  for (const Factor& factor : candidate.chain.factors) {
    auto place = place_of_factor(*node.op, operand, factor.shape);
    const bool both_at_load = place && place->other && constants_.contains(factor.value) &&
                              node.inputs[*place->other] != no_id && constants_.contains(node.inputs[*place->other]) &&
                              is_for_products(node.inputs[*place->other]);
    if (place && place->other && !both_at_load) place.reset();
    candidate.factors.push_back({factor, place});
  }
  const bool moves = std::any_of(candidate.factors.begin(), candidate.factors.end(),
                                 [](const Placed& each) { return each.place.has_value(); });
  return moves && would_be_written(candidate) ? std::optional(std::move(candidate)) : std::nullopt;
}

// Whether nothing but products reads what the value is, or is a view of: else memory would hold it twice.
bool Commuting::is_for_products(ValueId value) const {
  if (value >= readers_.size()) return false;
  const auto is_view = [&](NodeId id) { return std::holds_alternative<IndexMap>(graph_.nodes[id].kind); };
  while (graph_.value(value).kind == ValueKind::result && is_view(graph_.value(value).producer)) {
    value = graph_.nodes[graph_.value(value).producer].inputs[0];
  }
  std::vector<ValueId> open{value};
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (i > most_views || rewriting_.observed[open[i]]) return false;
    for (const NodeId reader : readers_[open[i]]) {
      const Node& node = graph_.nodes[reader];
      if (is_view(reader)) {
        open.push_back(node.outputs[0]);
      } else if (!node.op || node.op->algebra.scales.empty()) {
        return false;
      }
    }
  }
  return true;
}

// Else the operand is a prologue, and nothing is gained.
bool Commuting::would_be_written(const Candidate& candidate) const {
  const auto& [id, operand] = candidate.products.front();
  const Node& node = graph_.nodes[id];
  if (!is_source(node, operand) || !why_in_memory(scope(node), operand).empty()) return true;
  return std::any_of(candidate.factors.begin(), candidate.factors.end(),
                     [&](const Placed& each) { return is_statistic(rewriting_, each.factor.value); });
}

// All that read the operand take the factors as the first product does, and nothing reads what lies between.
std::string Commuting::why_not_all(const Candidate& candidate) const {
  const ValueId whole = candidate.chain.whole;
  const OpSpec* op = graph_.nodes[candidate.products.front().node].op;
  for (const NodeId id : candidate.chain.nodes) {
    const ValueId value = graph_.nodes[id].outputs[0];
    if (rewriting_.observed[value]) return fmt::format("'{}' is written in any case", name(value));
    if (value != whole && readers_[value].size() > 1) return fmt::format("'{}' is read by others too", name(value));
    if (id == candidate.factors.back().factor.node) break;  // conversions of what is left may have other readers
  }
  const auto reads = [&](const Node& reader) {
    return fmt::format("'{}', which '{}' reads, is written in any case", name(whole), name(reader.outputs[0]));
  };
  for (const NodeId reader : readers_[whole]) {
    const Node& node = graph_.nodes[reader];
    if (node.op != op) return reads(node);
    if (std::count(node.inputs.begin(), node.inputs.end(), whole) != 1) return reads(node);
    if (reader != candidate.products.front().node) {
      const auto takes = candidate_at(reader, candidate.products.front().operand);
      if (!takes || takes->chain.whole != whole) return reads(node);
      for (std::size_t i = 0; i < candidate.factors.size(); ++i) {
        if (takes->factors[i].place.has_value() != candidate.factors[i].place.has_value()) return reads(node);
      }
    }
    if (restricted_.contains(name(node.outputs[0]))) return fmt::format("`fusion` names '{}'", name(node.outputs[0]));
  }
  return {};
}

// Whether what is left is written to memory by what makes it.
bool Commuting::is_in_memory(const Candidate& candidate) const {
  ValueId value = candidate.chain.base;
  if (rewriting_.observed[value]) return true;
  std::unordered_set<NodeId> inside(candidate.chain.nodes.begin(), candidate.chain.nodes.end());
  std::vector<ValueId> open;
  for (const Placed& each : candidate.factors) open.push_back(each.factor.value);
  for (std::size_t i = 0; i < open.size() && i < most_readers; ++i) {
    const Node* node = producer(rewriting_, open[i]);
    if (!node || !inside.insert(graph_.value(open[i]).producer).second) continue;
    for (const ValueId input : node->inputs) {
      if (input != no_id && input != value) open.push_back(input);
    }
  }
  const bool read_elsewhere = std::any_of(readers_[value].begin(), readers_[value].end(),
                                          [&](NodeId reader) { return !inside.contains(reader); });
  if (read_elsewhere) return true;
  // An elementwise node on the way from a kernel is in its epilogue, which writes what reductions read.
  for (std::size_t step = 0; step < most_readers; ++step) {
    if (graph_.value(value).kind != ValueKind::result) return true;
    const Node& node = graph_.nodes[graph_.value(value).producer];
    if (std::holds_alternative<Reduction>(node.kind)) return false;
    if (!std::holds_alternative<Elementwise>(node.kind) && !std::holds_alternative<IndexMap>(node.kind)) return true;
    const bool is_view = std::holds_alternative<IndexMap>(node.kind);
    const auto behind = std::find_if(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      if (input == no_id || graph_.value(input).kind != ValueKind::result) return is_view;
      return is_view || std::holds_alternative<Structured>(graph_.nodes[graph_.value(input).producer].kind);
    });
    if (behind == node.inputs.end() || *behind == no_id) return false;
    value = *behind;
  }
  return false;
}

// Where factors stay, they are a prologue on what is left.
std::string Commuting::why_not_left(const Candidate& candidate) const {
  const std::string& base = name(candidate.chain.base);
  if (!is_in_memory(candidate))
    return fmt::format("'{}' would be written in place of '{}'", base, name(candidate.chain.whole));
  const auto stays = [](const Placed& each) { return !each.place.has_value(); };
  const auto first = std::find_if(candidate.factors.begin(), candidate.factors.end(), stays);
  if (first == candidate.factors.end()) return {};
  const auto& [id, operand] = candidate.products.front();
  const Node& node = graph_.nodes[id];
  const std::string left = fmt::format("'{}' stays a factor on '{}'", name(first->factor.value), base);
  if (!is_source(node, operand))
    return fmt::format("{}, and operand '{}' of {} takes no prologue", left, node.op->operands[operand].name,
                       node.kernel->name);
  if (std::string why = why_in_memory(scope(node), operand); !why.empty()) return fmt::format("{}, and {}", left, why);
  const auto own = several_operand(*node.kernel);
  const bool shared = own && *own != operand &&
                      candidate.products.size() <= static_cast<std::size_t>(node.kernel->operands[*own].several);
  if (candidate.products.size() > 1 && !shared) return fmt::format("{}, and several calls would need it", left);
  std::int64_t work = 0, times = 0;
  for (const Placed& each : candidate.factors)
    work += stays(each) ? work_of(graph_.nodes[each.factor.node], prices_) : 0;
  for (const Product& each : candidate.products) times += evaluations(scope(graph_.nodes[each.node]), each.operand);
  if (work * (times - 1) >= element_bits(graph_.type(candidate.chain.whole)) && times > 1) {
    return fmt::format("{}, and would be multiplied up to {} times over", left, times);
  }
  return {};
}

// That the results take, beyond those that the operand took.
Dim Commuting::multiplications(const Candidate& candidate) const {
  std::int64_t factors = 0;
  for (const Placed& each : candidate.factors) factors += each.place && !each.place->other ? 1 : 0;
  Dim total;
  for (const Product& each : candidate.products) {
    total = total + element_count(graph_.type(graph_.nodes[each.node].outputs[0]).shape) * Dim(factors);
  }
  return total;
}

std::string Commuting::why_no_gain(const Candidate& candidate) const {
  const Dim saved = bytes_of(graph_.type(candidate.chain.whole));
  Dim cost = multiplications(candidate);  // each a step, by the price of work
  for (const Placed& each : candidate.factors) {
    if (!each.place || each.place->other) continue;
    const auto reads = static_cast<std::int64_t>(candidate.products.size());
    cost = cost + bytes_of(graph_.type(each.factor.value)) * Dim(bits_of_byte * (1 + reads));
  }
  if (provably_at_most(cost - saved * Dim(bits_of_byte), Dim(0), ranges_)) return {};
  return fmt::format("that saves {} bytes of memory traffic, and takes {} multiplications more", saved.text(),
                     multiplications(candidate).text());
}

// Whether an axis of the operand that the result does not have may have no elements.
bool Commuting::may_sum_nothing(const Candidate& candidate) const {
  const Product& product = candidate.products.front();
  const Shape& shape = graph_.type(candidate.chain.whole).shape;
  const auto is_of_result = [&](int axis) {
    const std::vector<ScaledAxis>& scales = graph_.nodes[product.node].op->algebra.scales;
    return std::any_of(scales.begin(), scales.end(), [&](const ScaledAxis& each) {
      return each.operand == product.operand && !each.other &&
             (each.axis == axis || (each.leading && axis < each.axis));
    });
  };
  const auto rank = static_cast<int>(shape.size());
  for (int axis = -rank; axis < 0; ++axis) {
    if (!is_of_result(axis) && shape[static_cast<std::size_t>(rank + axis)].range(ranges_).low < 1) return true;
  }
  return false;
}

std::string Commuting::why_not(const Candidate& candidate) const {
  const Node& node = graph_.nodes[candidate.products.front().node];
  const DType dtype = graph_.type(node.outputs[0]).dtype;
  if (rewriting_.numerics == Numerics::match_unfused) return "`numerics: match_unfused` keeps the order of operators";
  if (!has_range_of_f32(dtype)) {
    return fmt::format("without them the result may be too great for {}", info(dtype).name);
  }
  if (may_sum_nothing(candidate)) return "a sum of no products is 0, whatever they are multiplied by";
  if (std::string why = why_not_all(candidate); !why.empty()) return why;
  if (std::string why = why_not_left(candidate); !why.empty()) return why;
  return why_no_gain(candidate);
}

std::string Commuting::what_moved(const Candidate& candidate) const {
  std::vector<std::string> behind, aside;
  const Product& product = candidate.products.front();
  const Node& node = graph_.nodes[product.node];
  std::string other;
  for (auto each = candidate.factors.rbegin(); each != candidate.factors.rend(); ++each) {
    if (!each->place) continue;
    if (each->place->other) other = node.op->operands[*each->place->other].name;
    (each->place->other ? aside : behind).push_back(name(each->factor.value));
  }
  std::string text;
  if (!behind.empty())
    text += fmt::format("{} {} the result", quoted_list(behind), behind.size() > 1 ? "scale" : "scales");
  if (!aside.empty()) {
    text += fmt::format("{}{} {} operand '{}', at load", text.empty() ? "" : ", and ", quoted_list(aside),
                        aside.size() > 1 ? "scale" : "scales", other);
  }
  return fmt::format("{}: '{}' is not written, which saves {} bytes for {} multiplications more", text,
                     name(candidate.chain.whole), bytes_of(graph_.type(candidate.chain.whole)).text(),
                     multiplications(candidate).text());
}

void Commuting::consider(NodeId id, std::size_t operand) {
  auto candidate = candidate_at(id, operand);
  if (!candidate || !considered_.insert(candidate->chain.whole).second) return;
  const std::span<const NodeId> readers = readers_[candidate->chain.whole];
  if (readers.size() > most_readers) return;
  candidate->products.clear();
  for (const NodeId reader : readers) candidate->products.push_back({reader, operand});
  candidate->products.front() = {id, operand};
  for (std::size_t i = 1, next = 0; i < readers.size(); ++next) {
    if (readers[next] != id) candidate->products[i++] = {readers[next], operand};
  }
  std::string why = why_not(*candidate);
  const bool moved = why.empty();
  const std::string reason = moved ? what_moved(*candidate) : std::move(why);
  for (const Product& each : candidate->products) {
    const Node& node = graph_.nodes[each.node];
    graph_.moved_factors.push_back({name(node.outputs[0]), node.op, moved, reason});
  }
  if (moved) commute(*candidate);
}

// ---- how ------------------------------------------------------------------------------------------------------------

ValueId Commuting::add(std::vector<Node>& nodes, Node node, ValueId made) {
  node.outputs = {made};
  constants_.add(node);
  nodes.push_back(std::move(node));
  return made;
}

// `made`: the value that it becomes; no_id: a new one, where there is a conversion to do.
ValueId Commuting::converted(std::vector<Node>& nodes, ValueId value, DType dtype, SourceLocation where, ValueId made) {
  const TensorType type{dtype, graph_.type(value).shape};
  if (graph_.type(value).dtype == dtype) return value;
  const OpSpec* cast = rewriting_.ops.with_role(OpRole::cast);
  if (made == no_id) made = new_result(rewriting_, fmt::format("{}_{}", name(value), info(dtype).name), type, where);
  Node node{.op = cast,
            .kernel = rewriting_.ops.kernel_of(*cast),
            .kind = Elementwise{},
            .inputs = {value},
            .attributes = attributes_of_cast(*cast, dtype),
            .where = where,
            .implied = true};
  return add(nodes, std::move(node), made);
}

// `made` as above.
ValueId Commuting::multiplied(std::vector<Node>& nodes, const Factor& factor, ValueId value, ValueId by,
                              SourceLocation where, ValueId made) {
  Node node = graph_.nodes[factor.node];
  node.inputs[factor.scaled] = value;
  node.inputs[1 - factor.scaled] = by;
  node.where = where;
  node.within.clear();  // of a composite, which it has left
  node.origin = nullptr;
  if (made == no_id) made = new_result(rewriting_, name(value) + "_scaled", graph_.type(value), where);
  return add(nodes, std::move(node), made);
}

// The factor along another operand's axis.
ValueId Commuting::along(std::vector<Node>& nodes, const Factor& factor, const FactorPlace& place,
                         SourceLocation where) {
  Shape shape(static_cast<std::size_t>(-place.other_axis), Dim(1));
  shape[0] = factor.shape[factor.shape.size() - static_cast<std::size_t>(-place.axis)];
  return seen_as(nodes, factor.value, std::move(shape), "along", where);
}

// The value by other axes: itself, where it has them.
ValueId Commuting::seen_as(std::vector<Node>& nodes, ValueId value, Shape shape, const char* what,
                           SourceLocation where) {
  const TensorType seen{graph_.type(value).dtype, shape};
  if (seen == graph_.type(value)) return value;
  Node node{.inputs = {value}, .where = where};
  set_view(rewriting_, node, reshaping(std::move(shape)));
  return add(nodes, std::move(node), new_result(rewriting_, fmt::format("{}_{}", name(value), what), seen, where));
}

// What the products read then: what is left of the operand, with the factors that stay.
ValueId Commuting::left_of(const Candidate& candidate, NodeId before) {
  std::vector<Node>& nodes = before_[before];
  const SourceLocation where = graph_.nodes[before].where;
  const TensorType whole = graph_.type(candidate.chain.whole);
  ValueId value = seen_as(nodes, candidate.chain.base, whole.shape, "reshaped", where);
  const Factor* last = nullptr;
  for (auto each = candidate.factors.rbegin(); each != candidate.factors.rend(); ++each) {
    if (each->place) continue;
    last = &each->factor;
    value = converted(nodes, value, graph_.type(last->value).dtype, where);
    value = multiplied(nodes, *last, value, seen_as(nodes, last->value, last->shape, "reshaped", where), where);
  }
  return last ? converted(nodes, value, whole.dtype, where) : value;
}

void Commuting::scale_operand(const Candidate& candidate, const Product& product) {
  std::vector<Node>& nodes = before_[product.node];
  const SourceLocation where = graph_.nodes[product.node].where;
  for (auto each = candidate.factors.rbegin(); each != candidate.factors.rend(); ++each) {
    if (!each->place || !each->place->other) continue;
    const ValueId own = graph_.nodes[product.node].inputs[*each->place->other];
    const ValueId by = along(nodes, each->factor, *each->place, graph_.nodes[each->factor.node].where);
    const ValueId wide = converted(nodes, own, graph_.type(by).dtype, where);
    const ValueId scaled = multiplied(nodes, each->factor, wide, by, where);
    graph_.nodes[product.node].inputs[*each->place->other] = converted(nodes, scaled, graph_.type(own).dtype, where);
  }
}

void Commuting::scale_result(const Candidate& candidate, NodeId product) {
  std::vector<const Factor*> factors;
  for (auto each = candidate.factors.rbegin(); each != candidate.factors.rend(); ++each) {
    if (each->place && !each->place->other) factors.push_back(&each->factor);
  }
  if (factors.empty()) return;
  std::vector<Node>& nodes = after_[product];
  const ValueId result = graph_.nodes[product].outputs[0];
  const TensorType type = graph_.type(result);
  const SourceLocation where = graph_.nodes[product].where;
  const ValueId unscaled = new_result(rewriting_, name(result) + "_unscaled", type, graph_.value(result).where);
  graph_.nodes[product].outputs[0] = unscaled;
  renamed_[name(result)] = name(unscaled);
  ValueId value = unscaled;
  for (const Factor* factor : factors) {
    value = converted(nodes, value, graph_.type(factor->value).dtype, where);
    const bool is_last = factor == factors.back() && graph_.type(value).dtype == type.dtype;
    const ValueId by = seen_as(nodes, factor->value, factor->shape, "reshaped", where);
    value = multiplied(nodes, *factor, value, by, where, is_last ? result : no_id);
  }
  converted(nodes, value, type.dtype, where, result);
}

void Commuting::commute(const Candidate& candidate) {
  changed_ = true;
  NodeId first = candidate.products.front().node;
  for (const Product& each : candidate.products) first = std::min(first, each.node);
  const ValueId left = left_of(candidate, first);
  for (const Product& each : candidate.products) {
    graph_.nodes[each.node].inputs[each.operand] = left;
    scale_operand(candidate, each);
    scale_result(candidate, each.node);
  }
}

void Commuting::put_in_order() {
  std::vector<Node> nodes;
  nodes.reserve(graph_.nodes.size());
  const auto move_from = [&](auto& added, NodeId id) {
    const auto found = added.find(id);
    if (found != added.end()) std::move(found->second.begin(), found->second.end(), std::back_inserter(nodes));
  };
  for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
    move_from(before_, id);
    nodes.push_back(std::move(graph_.nodes[id]));
    move_from(after_, id);
  }
  graph_.nodes = std::move(nodes);
  number_producers(graph_);
  move_choices(graph_, renamed_);
  rewriting_.removed.assign(graph_.nodes.size(), false);
  remove_dead_nodes(rewriting_);
}

}  // namespace

Module commute_factors(Module module, const OpSet& ops) {
  const auto has_scales = [](const Node& node) { return node.op && !node.op->algebra.scales.empty(); };
  const auto rewrite = [&](Graph& graph) {
    if (std::none_of(graph.nodes.begin(), graph.nodes.end(), has_scales)) return;
    Rewriting rewriting = start_rewriting(graph, ops, module.main.numerics);
    if (!view_op(rewriting, reshaping({})) || !ops.with_role(OpRole::cast)) return;
    if (Commuting(rewriting).run()) drop_unused_values(graph);
  };
  for (Graph& function : module.functions) rewrite(function);
  rewrite(module.main);
  return module;
}

}  // namespace kgen

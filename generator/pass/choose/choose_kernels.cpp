#include "generator/pass/choose/choose_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "generator/base/contains.hpp"

namespace kgen {
namespace {

using Candidates = std::vector<const KernelSignature*>;

const Candidates& candidates_of(KernelTable& table, const OpSpec& op) {
  const auto [place, is_new] = table.candidates.try_emplace(&op);
  if (is_new) place->second = table.ops.kernels_for(op);
  return place->second;
}

// "f32 or bf16"
std::string choices_text(const std::vector<DType>& dtypes) {
  std::string text;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == dtypes.size() ? " or " : ", ", info(dtypes[i]).name);
  }
  return text;
}

// Leading axes, `...` in a pattern, that a kernel of fixed rank walks as one with an axis behind them.
struct WalkedAsOne {
  std::string with;  // that axis' name; empty: with none
  Shape leading;
  bool operator==(const WalkedAsOne&) const = default;
};

std::optional<WalkedAsOne> walked_as_one(const std::optional<std::vector<PatternAxis>>& pattern, const Shape& shape,
                                         int rank) {
  if (!pattern || pattern->empty() || !pattern->front().ellipsis) return std::nullopt;
  const std::size_t named = pattern->size() - 1;
  const auto walked = static_cast<std::size_t>(std::max(rank, 0));
  if (rank < 1 || shape.size() <= walked) return std::nullopt;
  const bool is_named = walked == named;
  return WalkedAsOne{is_named ? (*pattern)[1].name : "",
                     Shape(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(named))};
}

// Whether the kernel would walk leading axes of an operand otherwise than those of a result.
bool mixes_leading_axes(const NodeScope& at, const KernelSignature& kernel, std::size_t operand) {
  const OperandSpec& spec = at.node.op->operands[std::min(operand, at.node.op->operands.size() - 1)];
  const auto own =
      walked_as_one(spec.pattern, at.graph.type(at.node.inputs[operand]).shape, kernel.operands[operand].rank);
  if (!own) return false;
  for (std::size_t i = 0; i < std::min(kernel.results.size(), at.node.outputs.size()); ++i) {
    const auto made =
        walked_as_one(at.node.op->results[i].pattern, at.graph.type(at.node.outputs[i]).shape, kernel.results[i].rank);
    if (made && *made != *own) return true;
  }
  return false;
}

// Why the kernel cannot take an operand as it is; empty where it can.
std::string operand_refusal(const NodeScope& at, const KernelSignature& kernel) {
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
    const KernelOperand& operand = kernel.operands[i];
    const ValueId value = i < at.node.inputs.size() ? at.node.inputs[i] : no_id;
    if (value == no_id) {
      if (!operand.optional) return fmt::format("operand '{}' is left out, and it needs one", operand.name);
      continue;
    }
    const TensorType& type = at.graph.type(value);
    if (mixes_leading_axes(at, kernel, i)) {
      return fmt::format("operand '{}' has {} axes, and it takes {}", operand.name, type.shape.size(), operand.rank);
    }
    if (type.structure || operand.dtypes.empty() || contains(operand.dtypes, type.dtype)) continue;
    return fmt::format("operand '{}' is {}, and it takes {}", operand.name, info(type.dtype).name,
                       choices_text(operand.dtypes));
  }
  return "";
}

std::string attribute_refusal(const NodeScope& at, const KernelSignature& kernel) {
  for (const KernelAttribute& attribute : kernel.attributes) {
    const AttributeValue* value = find_attribute(at.node.attributes, attribute.name);
    const auto* number = value ? std::get_if<Number>(value) : nullptr;
    if (number && number->is_whole() && attribute.type == "double" && Number(number->real()) != *number) {
      return fmt::format("attribute '{}' is {}, and it takes a double, which cannot hold that", attribute.name, *number);
    }
    std::vector<Dim> sizes;
    if (const auto* size = value ? std::get_if<Dim>(value) : nullptr) sizes = {*size};
    if (const auto* list = value ? std::get_if<std::vector<Dim>>(value) : nullptr) sizes = *list;
    const auto open = std::find_if(sizes.begin(), sizes.end(), [](const Dim& each) { return !each.is_constant(); });
    if (open == sizes.end()) continue;
    return fmt::format("attribute '{}' {} {}, which only the run knows", attribute.name,
                       sizes.size() == 1 ? "is" : "holds", open->text());
  }
  return "";
}

std::string condition_refusal(const NodeScope& at, const KernelSignature& kernel) {
  if (kernel.when.empty()) return "";
  const Proof proof = prove(at, kernel.when);
  if (proof == Proof::always) return "";
  const std::string facts = facts_of(at, kernel.when);
  return fmt::format("its condition '{}' {}{}", kernel.when.text,
                     proof == Proof::never ? "does not hold" : "does not hold for all sizes",
                     facts.empty() ? "" : ": " + facts);
}

std::string refusal(const NodeScope& at, const KernelSignature& kernel) {
  std::string why = operand_refusal(at, kernel);
  if (why.empty()) why = attribute_refusal(at, kernel);
  return why.empty() ? condition_refusal(at, kernel) : why;
}

std::string reason(const NodeScope& at, const KernelSignature& kernel, bool is_last) {
  const OpSpec& op = *at.node.op;
  if (!kernel.when.empty()) {
    const std::string facts = facts_of(at, kernel.when);
    return fmt::format("its condition '{}' holds{}", kernel.when.text, facts.empty() ? "" : ": " + facts);
  }
  if (is_last && kernel.name == op.kernel) return fmt::format("it is {}'s own", op.name);
  return "it comes first";
}

bool takes_ranks(const NodeScope& at, const KernelSignature& kernel) {
  for (std::size_t i = 0; i < std::min(kernel.operands.size(), at.node.inputs.size()); ++i) {
    if (at.node.inputs[i] != no_id && mixes_leading_axes(at, kernel, i)) return false;
  }
  return true;
}

// What the ranks of the operands say is no choice: a kernel that is for others is no alternative.
KernelChoice choice_at(const NodeScope& at, const Candidates& candidates) {
  KernelChoice choice;
  choice.value = at.graph.value(at.node.outputs[0]).name;
  choice.op = at.node.op;
  for (const KernelSignature* candidate : candidates) {
    if (!candidate->when.empty() && ranks_refuse(at, candidate->when)) continue;
    if (choice.kernel) {
      if (!takes_ranks(at, *candidate)) continue;
      choice.others.push_back({candidate, fmt::format("{} comes first", choice.kernel->name)});
    } else if (std::string why = refusal(at, *candidate); !why.empty()) {
      choice.others.push_back({candidate, std::move(why)});
    } else {
      choice.kernel = candidate;
      choice.reason = reason(at, *candidate, candidate == candidates.back());
    }
  }
  return choice;
}

void set_kernel(Node& node, const KernelSignature& kernel) {
  node.kernel = &kernel;
  switch (kernel.kind) {
    case KernelKind::elementwise:
      if (std::holds_alternative<Composite>(node.kind)) node.kind.emplace<Elementwise>();
      break;
    case KernelKind::structured:
      node.kind.emplace<Structured>();
      break;
    case KernelKind::opaque:
      node.kind.emplace<Opaque>();
      break;
    case KernelKind::reduction:
      break;  // the node has its axes already
    case KernelKind::view:
      break;  // of views alone, which have no choice
  }
}

void report_no_kernel(const KernelChoice& choice, const Node& node, Diagnostics& diagnostics) {
  Diagnostic& error =
      diagnostics.error(node.where, fmt::format("no kernel of '{}' can make '{}'", node.op->name, choice.value));
  for (const KernelChoice::Refusal& other : choice.others) {
    error.note(other.kernel->where, fmt::format("{}: {}", other.kernel->name, other.reason));
  }
  error.advise("change the node, or give --kernels one that takes it");
}

bool same_dtypes_or_more(const std::vector<DType>& wide, const std::vector<DType>& narrow) {
  if (wide.empty()) return true;
  return !narrow.empty() && std::all_of(narrow.begin(), narrow.end(), [&](DType each) { return contains(wide, each); });
}

// `first` takes whatever `second` takes.
bool hides(const KernelSignature& first, const KernelSignature& second) {
  if (!first.when.empty() && first.when.text != second.when.text) return false;
  for (std::size_t i = 0; i < std::min(first.operands.size(), second.operands.size()); ++i) {
    const KernelOperand& wide = first.operands[i];
    const KernelOperand& narrow = second.operands[i];
    if (!same_dtypes_or_more(wide.dtypes, narrow.dtypes) || (narrow.optional && !wide.optional)) return false;
  }
  return first.attributes.empty();  // an attribute of unknown value may refuse
}

}  // namespace

NodeScope scope_at(const Graph& graph, const Node& node, const DimRanges& ranges, const LoadValues& constants) {
  return {graph, node, ranges, node.attributes, {}, [&](ValueId value) { return constants.contains(value); }};
}

void choose_kernel(Graph& graph, Node& node, KernelTable& table, const DimRanges& ranges, const LoadValues& constants,
                   Diagnostics& diagnostics) {
  if (!node.op || std::holds_alternative<IndexMap>(node.kind)) return;
  const Candidates& candidates = candidates_of(table, *node.op);
  if (candidates.empty()) return;  // a composite; link_ops sees to the others
  const bool is_composite = std::holds_alternative<Composite>(node.kind);
  const NodeScope at = scope_at(graph, node, ranges, constants);
  KernelChoice choice = choice_at(at, candidates);
  if (choice.kernel) {
    set_kernel(node, *choice.kernel);
  } else if (is_composite) {
    choice.reason = "no kernel takes it";
  } else {
    return report_no_kernel(choice, node, diagnostics);
  }
  const bool was_open = !choice.others.empty() || !choice.kernel || choice.kernel->name != node.op->kernel;
  if (was_open) graph.kernel_choices.push_back(std::move(choice));
}

Module choose_kernels(Module module, const OpSet& ops, Diagnostics& diagnostics) {
  const DimRanges ranges = ranges_of(module.main);
  KernelTable table{ops, {}};
  const auto choose = [&](Graph& graph) {
    const LoadValues constants(graph);
    for (Node& node : graph.nodes) choose_kernel(graph, node, table, ranges, constants, diagnostics);
  };
  for (Graph& function : module.functions) choose(function);
  choose(module.main);
  return module;
}

bool takes_node(const KernelSignature& kernel, const Graph& graph, const Node& node, const DimRanges& ranges,
                const LoadValues& constants) {
  return refusal(scope_at(graph, node, ranges, constants), kernel).empty();
}

void warn_of_hidden_kernels(const OpSet& ops, Diagnostics& diagnostics) {
  std::unordered_map<std::string, std::vector<const KernelSignature*>> loaded;  // by operator: but for its own
  for (const KernelSignature& kernel : ops.kernels) {
    const OpSpec* op = ops.find(kernel.op);
    if (!op || op->kernel == kernel.name) continue;
    std::vector<const KernelSignature*>& others = loaded[op->name];
    const auto first =
        std::find_if(others.begin(), others.end(), [&](const auto* each) { return hides(*each, kernel); });
    if (first != others.end()) {
      diagnostics
          .warning(kernel.where, fmt::format("'{}' is never chosen: '{}' takes all that it takes, and comes first",
                                             kernel.name, (*first)->name))
          .note((*first)->where, fmt::format("both implement '{}'", op->name))
          .advise("give the first a condition (`when`), or name the folders of --kernels in another order");
    }
    others.push_back(&kernel);
  }
}

}  // namespace kgen

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "generator/load/attribute.hpp"
#include "generator/load/fields.hpp"
#include "generator/load/graph_context.hpp"
#include "generator/load/note_operators.hpp"

namespace kgen {
namespace {

constexpr std::int64_t most_calls = 1'000'000;

// Calls `visit` for a word, or for each word of a list. False after an error.
template <class Visit>
bool for_each_word(Yaml value, std::string_view what, Diagnostics& diagnostics, Visit visit) {
  if (value.is_scalar()) {
    visit(value);
    return true;
  }
  if (!value.is_sequence()) {
    report_mismatch(value, what, "a name or a list of names", diagnostics);
    return false;
  }
  for (const Yaml item : value.items()) {
    if (item.is_sequence() || item.is_mapping()) {
      report_mismatch(item, fmt::format("each item of {}", what), "a name", diagnostics);
      return false;
    }
    visit(item);
  }
  return true;
}

// "2 operands (a, b)", "3 to 4 operands (q, k, v, mask)", "at least 1 operand (parts)".
std::string arity_text(const std::vector<std::string>& names, std::size_t required, bool variadic) {
  const std::size_t most = names.size();
  const std::string count = variadic           ? fmt::format("at least {}", required)
                            : required == most ? fmt::format("{}", most)
                                               : fmt::format("{} to {}", required, most);
  return fmt::format("{} operand{} ({})", count, most == 1 ? "" : "s", fmt::join(names, ", "));
}

// What an operator or a function takes.
struct Operands {
  std::vector<std::string> names;
  std::size_t required = 0;
  bool variadic = false;
};

Operands operands_of(const OpSpec& op) {
  Operands operands;
  for (const OperandSpec& each : op.operands) {
    operands.names.push_back(each.name);
    if (!each.optional) ++operands.required;
    operands.variadic = each.variadic;
  }
  return operands;
}

Operands operands_of(const Graph& function) {
  Operands operands;
  for (const GraphInput& input : function.inputs) operands.names.push_back(function.value(input.value).name);
  operands.required = operands.names.size();
  return operands;
}

class NodeReader {
 public:
  explicit NodeReader(GraphContext& context) : context_(context), diagnostics_(context.diagnostics()) {}

  // Everything but the operands.
  void declare(Yaml entry) {
    entries_.push_back(entry);
    Node& node = context_.graph.nodes.emplace_back();
    node.where = entry.where();
    const Yaml op = entry.find("op");
    const Yaml call = entry.find("call");
    if (static_cast<bool>(op) == static_cast<bool>(call)) {
      diagnostics_.error(entry.where(), "a node needs one of the keys 'op' and 'call'");
    } else {
      node.where = (op ? op : call).where();
      op ? declare_op(entry, op, node) : declare_call(entry, call, node);
    }
    define_results(entry, node);
  }

  // Once all values are defined.
  void read_operands(NodeId id) {
    Node& node = context_.graph.nodes[id];
    const Yaml in = entries_[id].find("in");
    const auto add = [&](Yaml word) { node.inputs.push_back(operand(word, node)); };
    if (in && !for_each_word(in, "'in'", diagnostics_, add)) return;
    if (node.op) {
      validate_operands(node, in, *node.op, fmt::format("'{}'", node.op->name));
      if (node.inputs.size() < node.op->operands.size()) node.inputs.resize(node.op->operands.size(), no_id);
    } else if (const Graph* function = function_of(node)) {
      validate_operands(node, in, *function, fmt::format("the function '{}'", function->name));
      validate_repeat(node, *function);
    }
  }

 private:
  void declare_op(Yaml entry, Yaml name, Node& node) {
    if (!read_text(name, "'op'", diagnostics_)) return;
    node.op = context_.module.set.find(name.text());
    if (!node.op) {
      Diagnostic& diagnostic = diagnostics_.error(name.where(), fmt::format("unknown operator '{}'", name.text()));
      note_operators(diagnostic, name.text(), context_.module.set);
      diagnostic.advise("write the name of an operator, or add this one with --specs");
      return;
    }
    for (const Yaml::Entry each : entry.entries()) {
      if (is_hopeless(diagnostics_)) return;
      if (each.name() != "op" && each.name() != "in" && each.name() != "out") read_attribute_of(node, each);
    }
    for (const AttributeSpec& spec : node.op->attributes) {
      if (!spec.required() || entry.find(spec.name)) continue;
      Diagnostic& diagnostic =
          diagnostics_.error(node.where, fmt::format("'{}' needs the attribute '{}'", node.op->name, spec.name));
      if (!spec.doc.empty()) diagnostic.note(fmt::format("{}: {}", spec.name, spec.doc));
    }
  }

  void read_attribute_of(Node& node, const Yaml::Entry& entry) {
    const AttributeSpec* spec = node.op->attribute(entry.name());
    if (!spec) {
      std::vector<std::string> names;
      for (const AttributeSpec& each : node.op->attributes) names.push_back(each.name);
      Diagnostic& diagnostic =
          diagnostics_.error(entry.key.where(), fmt::format("'{}' has no attribute '{}'", node.op->name, entry.name()));
      note_candidates(diagnostic, entry.name(), names, "attributes");
      return;
    }
    auto value =
        read_attribute(entry.value, *spec, fmt::format("'{}'", spec->name), context_.module.dims, diagnostics_);
    if (value) node.attributes.emplace_back(spec->name, std::move(*value));
  }

  void declare_call(Yaml entry, Yaml name, Node& node) {
    validate_keys(entry, {"call", "in", "out", "repeat"}, "a call", diagnostics_);
    const auto text = read_text(name, "'call'", diagnostics_);
    if (!text) return;
    const ModuleContext& module = context_.module;
    const auto found = module.functions.find(*text);
    if (found == module.functions.end()) {
      std::vector<std::string> names;
      for (const auto& [each, place] : module.functions) names.emplace_back(each);
      std::sort(names.begin(), names.end());
      Diagnostic& diagnostic = diagnostics_.error(name.where(), fmt::format("unknown function '{}'", *text));
      note_candidates(diagnostic, *text, names, "functions");
      return;
    }
    if (found->second.position >= module.finished.size()) {
      const bool itself = found->second.position == module.finished.size();
      Diagnostic& diagnostic = diagnostics_.error(
          name.where(), itself ? fmt::format("the function '{}' calls itself", *text)
                               : fmt::format("the function '{}' is called before it is written", *text));
      diagnostic.advise(itself ? "repeat: n calls a function n times in a row" : "move it above its caller");
      return;
    }
    Call call{found->second.position};
    if (const Yaml repeat = entry.find("repeat")) {
      const auto count = read_integer(repeat, "'repeat'", diagnostics_);
      if (count && (*count < 1 || *count > most_calls)) {
        diagnostics_.error(repeat.where(), fmt::format("'repeat' must be from 1 to {}, not {}", most_calls, *count));
      } else {
        call.repeat = count.value_or(1);
      }
    }
    node.kind = call;
  }

  // The function of a call; null where the node is no call that could be resolved.
  const Graph* function_of(const Node& node) const {
    const Call* call = std::get_if<Call>(&node.kind);
    return call ? &context_.module.finished[call->function] : nullptr;
  }

  void define_results(Yaml entry, Node& node) {
    const auto id = static_cast<NodeId>(context_.graph.nodes.size() - 1);
    const Yaml out = require_key(entry, "out", "a node", diagnostics_);
    if (!out) return;
    std::size_t count = 0;
    const bool good = for_each_word(out, "'out'", diagnostics_, [&](Yaml word) {
      const ValueId value = define_value(context_, word, ValueKind::result);
      if (value != no_id) {
        context_.graph.value(value).producer = id;
        context_.graph.value(value).index = static_cast<std::uint32_t>(count);
        node.outputs.push_back(value);
      }
      ++count;
    });
    const Graph* function = function_of(node);
    if (!good || (!node.op && !function)) return;
    const std::size_t expected = node.op ? node.op->results.size() : function->outputs.size();
    if (count == expected) return;
    Diagnostic& diagnostic = diagnostics_.error(
        out.where(), fmt::format("'{}' has {} result{}, not {}", node.op ? node.op->name : function->name, expected,
                                 expected == 1 ? "" : "s", count));
    diagnostic.note(fmt::format("it makes {}", quoted_list(result_names(node))));
  }

  std::vector<std::string> result_names(const Node& node) const {
    std::vector<std::string> names;
    if (node.op) {
      for (const ResultSpec& each : node.op->results) names.push_back(each.name);
    } else {
      const Graph& function = *function_of(node);
      for (const ValueId each : function.outputs) names.push_back(function.value(each).name);
    }
    return names;
  }

  // The value that a word among operands stands for: a name, a number, or `~` for an optional operand left out.
  ValueId operand(Yaml word, const Node& node) {
    const std::size_t position = node.inputs.size();
    if (word.is_empty()) {
      const bool optional = node.op && position < node.op->operands.size() && node.op->operands[position].optional;
      if (!optional) diagnostics_.error(word.where(), "only an optional operand may be left out");
      return no_id;
    }
    const auto number = word.is_plain() ? number_from_text(word.text()) : std::nullopt;
    return number ? add_constant(word, *number, node) : find_value(context_, word);
  }

  ValueId add_constant(Yaml word, const Number& number, const Node& node) {
    Graph& graph = context_.graph;
    Value value;
    do {
      value.name = fmt::format("constant_{}", context_.next_constant++);
    } while (context_.names.contains(value.name) || context_.module.dims.entries.contains(value.name));
    value.kind = ValueKind::constant;
    value.index = static_cast<std::uint32_t>(graph.constants.size());
    value.where = word.where();
    const Graph* function = function_of(node);
    if (function && node.inputs.size() < function->inputs.size()) {
      const auto& parameter = function->value(function->inputs[node.inputs.size()].value).type;
      if (parameter) value.type = TensorType{parameter->dtype, {}};
    }
    const auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back(std::move(value));
    graph.constants.push_back({{{number}, "", ""}, id});
    context_.used.push_back(true);
    return id;
  }

  // `callee` is the OpSpec or the Graph of a function.
  template <class Callee>
  void validate_operands(const Node& node, Yaml in, const Callee& callee, std::string_view name) {
    const std::size_t given = node.inputs.size();
    if (fits(given, callee)) return;
    const Operands operands = operands_of(callee);
    diagnostics_
        .error(in ? in.where() : node.where,
               fmt::format("{} takes {}, not {}", name,
                           arity_text(operands.names, operands.required, operands.variadic), given))
        .note(callee.where, "it is defined here");
  }

  static bool fits(std::size_t given, const Graph& function) { return given == function.inputs.size(); }
  static bool fits(std::size_t given, const OpSpec& op) {
    if (given == op.operands.size()) return true;
    if (given > op.operands.size()) return !op.operands.empty() && op.operands.back().variadic;
    return op.operands[given].optional;  // optional operands are the last ones
  }

  void validate_repeat(const Node& node, const Graph& function) {
    if (std::get<Call>(node.kind).repeat == 1 || function.outputs.size() <= function.inputs.size()) return;
    diagnostics_
        .error(node.where, fmt::format("'{}' cannot be repeated: it has more results ({}) than operands ({})",
                                       function.name, function.outputs.size(), function.inputs.size()))
        .note("each result becomes the operand at its place in the next call");
  }

  GraphContext& context_;
  Diagnostics& diagnostics_;
  std::vector<Yaml> entries_;  // by NodeId
};

}  // namespace

void read_nodes(Yaml section, GraphContext& context) {
  if (!section.is_sequence()) {
    report_mismatch(section, "'nodes'", "a list, such as [{op: add, in: [a, b], out: c}]", context.diagnostics());
    return;
  }
  context.graph.nodes.reserve(section.size());
  context.graph.values.reserve(context.graph.values.size() + section.size());
  context.names.reserve(context.names.size() + section.size());
  NodeReader reader(context);
  for (const Yaml entry : section.items()) {
    if (is_hopeless(context.diagnostics())) return;
    if (entry.is_mapping()) {
      reader.declare(entry);
    } else {
      report_mismatch(entry, "a node", "a mapping, such as {op: add, in: [a, b], out: c}", context.diagnostics());
    }
  }
  for (NodeId id = 0; id < context.graph.nodes.size() && !is_hopeless(context.diagnostics()); ++id) {
    reader.read_operands(id);
  }
}

void number_calls(Module& module, Diagnostics& diagnostics) {
  const std::size_t main = module.functions.size();
  const auto graph_at = [&](std::size_t i) -> Graph& { return i == main ? module.main : module.functions[i]; };

  // How often each graph runs in one run of the module. Functions are called only by those after them.
  std::vector<std::int64_t> runs(main + 1, 0);
  runs[main] = 1;
  for (std::size_t caller = main + 1; caller-- > 0;) {
    for (const Node& node : graph_at(caller).nodes) {
      const Call* call = std::get_if<Call>(&node.kind);
      if (!call) continue;
      runs[call->function] += runs[caller] * call->repeat;
      if (runs[call->function] <= most_calls) continue;
      diagnostics.error(node.where, fmt::format("the function '{}' is called more than {} times in all",
                                                module.functions[call->function].name, most_calls));
      return;
    }
  }

  std::vector<std::int64_t> numbered(main, 0);  // calls of each function that have their numbers
  for (std::size_t caller = 0; caller <= main; ++caller) {
    std::map<std::uint32_t, std::int64_t> per_run;  // calls of each function in one run of the caller
    for (Node& node : graph_at(caller).nodes) {
      Call* call = std::get_if<Call>(&node.kind);
      if (!call) continue;
      call->first_index = numbered[call->function] + per_run[call->function];
      per_run[call->function] += call->repeat;
    }
    for (Node& node : graph_at(caller).nodes) {
      if (Call* call = std::get_if<Call>(&node.kind)) call->index_stride = per_run[call->function];
    }
    for (const auto& [function, count] : per_run) numbered[function] += runs[caller] * count;
  }
}

}  // namespace kgen

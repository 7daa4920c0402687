#include "generator/import/import_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "generator/base/characters.hpp"
#include "generator/import/evaluate.hpp"
#include "generator/import/tensor_data.hpp"
#include "generator/pass/infer/infer_node.hpp"

namespace kgen {
namespace {

constexpr std::int64_t most_inline = 16;             // elements of a weight that stand in the graph's file
constexpr std::size_t most_evaluated_reals = 64;     // elements of a float tensor that are computed at import

std::string operator_name(const OnnxNode& node) { return node.domain.empty() ? node.op : node.domain + "." + node.op; }

// "node 'conv1' (Conv)", or by what it makes.
std::string describe(const OnnxNode& node) {
  if (!node.name.empty()) return fmt::format("node '{}' ({})", node.name, operator_name(node));
  for (const std::string& output : node.outputs) {
    if (!output.empty()) return fmt::format("the node of '{}' ({})", output, operator_name(node));
  }
  return fmt::format("a node without outputs ({})", operator_name(node));
}

bool is_cheap(const Content& content) {
  return !info(content.dtype).floating || content.elements.size() <= most_evaluated_reals;
}

}  // namespace

const ImportedValue* ImportScope::find(std::string_view name) const {
  if (const auto found = values.find(name); found != values.end()) return &found->second;
  return parent ? parent->find(name) : nullptr;
}

bool ImportScope::is_poisoned(std::string_view name) const {
  return poisoned.contains(name) || (parent && parent->is_poisoned(name));
}

NodeImporter::NodeImporter(const OnnxModel& model, std::string path, GraphBuilder& builder, const ImportRules& rules,
                           Diagnostics& diagnostics)
    : model_(model), path_(std::move(path)), folder_(std::filesystem::path(path_).parent_path().string()),
      builder_(builder), rules_(rules), diagnostics_(diagnostics) {
  builder_.write_sizes_with(
      [this](const ImportedValue& sizes, Diagnostics& problems) { return write_sizes(sizes, problems); });
}

void NodeImporter::error(const Place& at, const std::string& message) {
  diagnostics_.error({}, fmt::format("{}: {}: {}", path_, describe(at.node), message));
}

void NodeImporter::error(const Place& at, const Diagnostics& problems) {
  for (const Diagnostic& each : problems.all()) {
    if (each.severity != Severity::error) continue;
    Diagnostic& said = diagnostics_.error({}, fmt::format("{}: {}: {}", path_, describe(at.node), each.message));
    said.notes = each.notes;
    said.help = each.help;
    if (each.help == same_dims_advice) said.help += ": --dim NAME=OTHER says so";
    if (const std::string dim = dim_named_in(each.message); !dim.empty())
      said.note(
          fmt::format("--dim {0}=64 gives {0} that value alone, and --dim \"{0}=32*n\" makes it a multiple", dim));
  }
}

// The dim of the graph that a message speaks of last, of a quotient where there is one; "": none.
std::string NodeImporter::dim_named_in(std::string_view message) const {
  if (const auto quotient = message.rfind(")/"); quotient != message.npos) message = message.substr(0, quotient);
  std::string last;
  for (std::size_t begin = 0; begin < message.size();) {
    std::size_t end = begin;
    while (end < message.size() && (begins_name(message[end]) || is_digit(message[end]))) ++end;
    std::string word(message.substr(begin, end - begin));
    if (builder_.ranges().contains(word)) last = std::move(word);
    begin = end + 1;
  }
  return last;
}

// ---- constants ------------------------------------------------------------------------------------------------------

std::optional<ImportedValue> NodeImporter::constant_of(const OnnxTensor& tensor, const std::string& name,
                                                       const std::string& what) {
  auto stored = locate_tensor(tensor, folder_, what, diagnostics_);
  if (!stored) return std::nullopt;
  auto content = content_of(*stored);
  ImportedValue operand;
  operand.name = name;
  operand.type = {stored->dtype, to_shape(stored->shape), nullptr};
  const bool small = content && static_cast<std::int64_t>(content->elements.size()) <= most_inline;
  stored->key = name;
  if (content) operand.content = std::make_shared<const Content>(std::move(*content));
  if (small) {
    builder_.remember_tensor(operand.content, std::move(*stored));
  } else {
    operand.id = builder_.add_stored(builder_.names().claim(name), std::move(*stored)).id;
  }
  return operand;
}

// Sizes that are read as data, as a rule for steps alone says.
std::optional<ImportedValue> NodeImporter::write_sizes(const ImportedValue& sizes, Diagnostics& problems) {
  const Content& content = *sizes.content;
  RuleList shape;
  for (const std::int64_t extent : content.shape) shape.push_back({Dim(extent)});
  ForeignNode node;
  const RuleValue elements = value_of(content);
  node.attributes["elements"] = elements.as_list() ? elements : RuleValue::list({elements});
  node.attributes["shape"] = RuleValue::list(std::move(shape));
  node.attributes["type"] = {content.dtype};
  node.outputs = {sizes.name.empty() ? "sizes" : sizes.name};
  RuleSetting setting{builder_, rules_, rules_.newest, problems, {}, {}};
  auto results = apply_rule(*rules_.find("", "_Sizes", rules_.newest), node, setting);
  return results ? std::optional(std::move((*results)[0])) : std::nullopt;
}

void NodeImporter::import_initializers(const OnnxGraph& graph, ImportScope& scope) {
  for (const OnnxTensor& tensor : graph.initializers) {
    auto operand =
        constant_of(tensor, scope.prefix + tensor.name, fmt::format("{}: initializer '{}'", path_, tensor.name));
    if (operand) {
      scope.values[tensor.name] = std::move(*operand);
    } else {
      scope.poisoned.insert(tensor.name);
    }
  }
  for (const std::string& name : graph.sparse_initializers) {
    diagnostics_.error({}, fmt::format("{}: initializer '{}' is sparse, which kgen does not support", path_, name));
    scope.poisoned.insert(name);
  }
}

// Constant: its one attribute says the type. https://onnx.ai/onnx/operators/onnx__Constant.html
bool NodeImporter::import_constant(const Place& at, ImportScope& scope) {
  for (const OnnxAttribute& attribute : at.node.attributes) {
    auto value = attribute_of(attribute, scope, at);
    if (!value) return false;
    ImportedValue operand;
    if (const ImportedValue* tensor = value->as_operand()) {
      operand = *tensor;
    } else {
      const bool real = attribute.name.starts_with("value_float");
      if (!real && !attribute.name.starts_with("value_int")) continue;
      auto content = std::make_shared<Content>();
      content->dtype = real ? DType::f32 : DType::i64;
      const RuleList items = value->as_list() ? *value->as_list() : RuleList{*value};
      if (value->as_list()) content->shape.push_back(static_cast<std::int64_t>(items.size()));
      for (const RuleValue& each : items) content->elements.push_back(each.as_element().value_or(Dim(0)));
      operand.type = {content->dtype, to_shape(content->shape), nullptr};
      operand.content = std::move(content);
    }
    define(at, 0, std::move(operand), scope);
    return true;
  }
  error(at, "it has no value that kgen supports");
  return false;
}

std::optional<RuleValue> NodeImporter::attribute_of(const OnnxAttribute& attribute, const ImportScope& scope,
                                                    const Place& at) {
  const OnnxAttribute* source = &attribute;
  if (!attribute.reference.empty()) {
    const auto found = scope.arguments ? scope.arguments->find(attribute.reference)
                                       : std::map<std::string, OnnxAttribute>::const_iterator{};
    if (!scope.arguments || found == scope.arguments->end()) return RuleValue{};
    source = &found->second;
  }
  const auto list = [](const auto& items, auto make) {
    RuleList values;
    for (const auto& each : items) values.push_back({make(each)});
    return RuleValue::list(std::move(values));
  };
  switch (source->kind) {
    case OnnxAttribute::Kind::real: return RuleValue{source->real};
    case OnnxAttribute::Kind::integer: return RuleValue{Dim(source->integer)};
    case OnnxAttribute::Kind::text: return RuleValue{source->text};
    case OnnxAttribute::Kind::reals: return list(source->reals, [](double each) { return each; });
    case OnnxAttribute::Kind::integers: return list(source->integers, [](std::int64_t each) { return Dim(each); });
    case OnnxAttribute::Kind::texts: return list(source->texts, [](const std::string& each) { return each; });
    case OnnxAttribute::Kind::tensor: {
      const std::string name = at.node.outputs.empty() ? attribute.name : scope.prefix + at.node.outputs[0];
      auto operand = constant_of(source->tensor, name,
                                 fmt::format("{}: {}: attribute '{}'", path_, describe(at.node), attribute.name));
      if (!operand) return std::nullopt;
      return RuleValue{std::move(*operand)};
    }
    case OnnxAttribute::Kind::graph: return RuleValue{attribute.name};  // for a step `graph`
    default:
      error(at, fmt::format("its attribute '{}' is of a kind that kgen does not support", attribute.name));
      return std::nullopt;
  }
}

NodeImporter::Control NodeImporter::control_of(std::string_view op) {
  if (op == "If") return &NodeImporter::import_branch;
  if (op == "Loop") return &NodeImporter::import_loop;
  return op == "Scan" ? &NodeImporter::import_scan : nullptr;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

void NodeImporter::define(const Place& at, std::size_t output, ImportedValue operand, ImportScope& scope) {
  if (output >= at.node.outputs.size() || at.node.outputs[output].empty()) return;
  const std::string& name = at.node.outputs[output];
  if (operand.id == no_id) operand.name = scope.prefix + name;
  scope.values[name] = std::move(operand);
}

void NodeImporter::import_nodes(const std::vector<OnnxNode>& nodes, const std::map<std::string, std::int64_t>& opsets,
                                ImportScope& scope, int depth) {
  std::set<std::string_view> made, read;
  bool has_subgraphs = false;
  for (const OnnxNode& node : nodes) {
    made.insert(node.outputs.begin(), node.outputs.end());
    read.insert(node.inputs.begin(), node.inputs.end());
    for (const OnnxAttribute& each : node.attributes) has_subgraphs = has_subgraphs || each.graph;
  }
  for (const OnnxValueInfo& output : model_.graph.outputs) read.insert(output.name);
  if (depth > 0 || has_subgraphs) read.insert(made.begin(), made.end());
  for (const OnnxNode& node : nodes) {
    const auto opset = opsets.find(node.domain);
    const Place at{node, opsets, opset == opsets.end() ? 0 : opset->second, read};
    bool good = true, poisoned = false;
    for (const std::string& input : node.inputs) {
      if (input.empty() || scope.find(input)) continue;
      if (scope.is_poisoned(input)) {
        poisoned = true;
      } else {
        error(at,
              made.contains(input)
                  ? fmt::format(
                        "it reads '{}', which is made after it, or of it: the nodes are out of order or a cycle", input)
                  : fmt::format("it reads '{}', which nothing makes", input));
        good = false;
      }
    }
    for (const std::string& output : node.outputs) {
      if (output.empty() || (!scope.values.contains(output) && !scope.poisoned.contains(output))) continue;
      error(at, fmt::format("'{}' is made twice", output));
      good = false;
    }
    const bool is_function =
        std::any_of(model_.functions.begin(), model_.functions.end(), [&](const OnnxFunction& each) {
          return each.name == node.op && each.domain == node.domain && each.overload == node.overload;
        });
    const Control control = node.domain.empty() ? control_of(node.op) : nullptr;
    const bool constant = node.domain.empty() && node.op == "Constant";
    if (!is_function && !control && !constant && !rules_.find(node.domain, node.op, at.version)) {
      unknown_[operator_name(node)].push_back(describe(node));
      good = false;
    }
    if (good && !poisoned) {
      good = is_function ? import_call(at, scope, depth)
             : control   ? (this->*control)(at, scope, depth)
             : constant  ? import_constant(at, scope)
                         : import_operator(at, scope, depth);
    }
    for (const std::string& output : node.outputs) {
      if (!output.empty() && (!good || poisoned) && !scope.values.contains(output)) scope.poisoned.insert(output);
    }
  }
}

bool NodeImporter::import_operator(const Place& at, ImportScope& scope, int depth) {
  const OnnxNode& node = at.node;
  ForeignNode foreign;
  bool good = true;
  for (const OnnxAttribute& attribute : node.attributes) {
    auto value = attribute_of(attribute, scope, at);
    good = good && value;
    if (value && value->is_given()) foreign.attributes[attribute.name] = std::move(*value);
  }
  if (!good) return false;
  std::vector<const ImportedValue*> inputs;
  bool cheap = true;
  for (const std::string& input : node.inputs) {
    const ImportedValue* operand = input.empty() ? nullptr : scope.find(input);
    inputs.push_back(operand);
    foreign.inputs.push_back(operand ? RuleValue{*operand} : RuleValue{});
    cheap = cheap && (!operand || !operand->content || is_cheap(*operand->content));
  }
  while (!inputs.empty() && !inputs.back()) {
    inputs.pop_back();
    foreign.inputs.pop_back();
  }
  const auto evaluated = cheap && node.domain.empty() ? evaluate_node(node.op, inputs, foreign.attributes,
                                                                      node.outputs.size(), builder_.ranges())
                                                      : std::nullopt;
  if (evaluated && evaluated->size() >= node.outputs.size()) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      ImportedValue operand;
      operand.type = {(*evaluated)[i].dtype, to_shape((*evaluated)[i].shape), nullptr};
      operand.content = std::make_shared<const Content>((*evaluated)[i]);
      define(at, i, std::move(operand), scope);
    }
    return true;
  }
  for (const std::string& output : node.outputs) {
    foreign.outputs.push_back(output.empty() || !at.read.contains(output) ? "" : scope.prefix + output);
  }
  Diagnostics problems;
  RuleSetting setting{builder_, rules_, onnx_version(at), problems, {}, {}};
  bool graphs_are_good = true;
  setting.call_graph = [&](const std::string& attribute, std::vector<ImportedValue> arguments) {
    auto made = call_graph(at, attribute, std::move(arguments), scope, depth);
    graphs_are_good = graphs_are_good && made;
    return made;
  };
  const std::size_t reads_before = builder_.counted_reads();
  const auto results = apply_rule(*rules_.find(node.domain, node.op, at.version), foreign, setting);
  const bool reads = builder_.counted_reads() != reads_before;
  if (results && !reads && !validate_counted_inputs(at, inputs, *results)) return false;
  if (!results) {
    error(at, problems);
    if (!setting.demanded.empty()) {
      demand(at, setting.demanded);
    } else if (!problems.has_errors() && graphs_are_good) {
      error(at, "its shapes or attributes are not what its operator takes");
    }
    return false;
  }
  for (std::size_t i = 0; i < results->size(); ++i) {
    if (!foreign.outputs[i].empty()) define(at, i, (*results)[i], scope);
  }
  return true;
}

// What the rules of steps are looked up by: of a node of another operator set ONNX's version in the model.
std::int64_t NodeImporter::onnx_version(const Place& at) const {
  if (at.node.domain.empty()) return at.version;
  const auto own = at.opsets.find("");
  return own == at.opsets.end() ? rules_.newest : own->second;
}

// A rule that reads nothing but sizes of what is counted along an axis would take the room for the size.
bool NodeImporter::validate_counted_inputs(const Place& at, const std::vector<const ImportedValue*>& inputs,
                                           const std::vector<ImportedValue>& results) {
  const auto counted =
      std::find_if(inputs.begin(), inputs.end(), [](const ImportedValue* each) { return each && each->counted; });
  const bool carried = std::all_of(results.begin(), results.end(), [](const auto& each) { return each.counted; });
  if (counted == inputs.end() || carried) return true;
  error(at, fmt::format("it depends on how long '{}' is, which only the run knows", (*counted)->name));
  return false;
}

// What the values depend on: the inputs of the graph from which they are computed.
void NodeImporter::demand(const Place& at, const std::vector<ImportedValue>& operands) {
  for (const ImportedValue& operand : operands) {
    std::vector<ValueId> pending = {operand.id};
    std::set<ValueId> seen;
    std::vector<std::string> sources;
    while (!pending.empty()) {
      const ValueId id = pending.back();
      pending.pop_back();
      if (id == no_id || !seen.insert(id).second) continue;
      const Value& value = builder_.graph().value(id);
      if (value.kind == ValueKind::input) {
        sources.push_back(value.name);
        demanded_.insert(id);
      }
      if (value.producer == no_id) continue;
      const auto& inputs = builder_.graph().nodes[value.producer].inputs;
      pending.insert(pending.end(), inputs.begin(), inputs.end());
    }
    Diagnostic& said = diagnostics_.error(
        {}, fmt::format("{}: {}: its input '{}' says shapes, axes or the like, and is known only at run time", path_,
                        describe(at.node), operand.name));
    if (sources.empty()) {
      said.note("it is computed from weights: of more elements, or by other operators, than kgen evaluates at import");
    } else {
      said.note(fmt::format("it is computed from {}", quoted_list(sources)));
      said.advise(fmt::format("where that is always the same, say so: --bind {}=VALUE", sources[0]));
    }
  }
}

void NodeImporter::report_unknown_operators() {
  for (const auto& [name, nodes] : unknown_) {
    const auto dot = name.rfind('.');
    const std::string domain = dot == name.npos ? "" : name.substr(0, dot),
                      op = dot == name.npos ? name : name.substr(dot + 1);
    const auto versions = rules_.rules.find(fmt::format("{}:{}", domain, op));
    std::string message = versions == rules_.rules.end()
                              ? fmt::format("{}: kgen has no operator for {}, in {}", path_, name, nodes[0])
                              : fmt::format("{}: {} is supported since version {} of its operator set, in {}", path_,
                                            name, rules_.first_version(versions->second.back()), nodes[0]);
    if (nodes.size() > 1) message += fmt::format(" and {} more", nodes.size() - 1);
    Diagnostic& said = diagnostics_.error({}, std::move(message));
    if (versions == rules_.rules.end()) {
      said.advise("specs/onnx holds the rules of import: one entry adds an operator; --rules FILE reads yours");
    } else if (domain.empty()) {
      said.advise(fmt::format("convert the model: onnx.version_converter.convert_version(model, {})", rules_.newest));
    }
  }
}

}  // namespace kgen

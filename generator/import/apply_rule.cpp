#include "generator/import/apply_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/base/hash.hpp"

namespace kgen {
namespace {

constexpr std::int64_t most_rounds = 4096;  // of a step that is done several times
constexpr int deepest_rules = 16;           // that name each other
constexpr std::int64_t largest_size = std::int64_t{1} << 53;  // as of sizes in a graph's file

bool is_size(const Dim& dim) { return dim.constant() <= largest_size && dim.constant() >= -largest_size; }

// The value of an attribute of kgen's, of the type that its operator says.
std::optional<AttributeValue> attribute_value(const RuleValue& value, AttributeType type, const DimRanges& ranges) {
  switch (type) {
    case AttributeType::boolean:
      if (const auto truth = truth_of(value, ranges)) return AttributeValue(*truth);
      return std::nullopt;
    case AttributeType::integer:
      if (const auto whole = value.as_integer(); whole && is_size(*whole)) return AttributeValue(*whole);
      return std::nullopt;
    case AttributeType::number: {
      const auto element = value.as_element();
      const auto number = element ? number_of(*element) : std::nullopt;
      return number ? std::optional(AttributeValue(*number)) : std::nullopt;
    }
    case AttributeType::text:
      if (const auto* text = std::get_if<std::string>(&value.value)) return AttributeValue(*text);
      return std::nullopt;
    case AttributeType::dtype:
      if (const auto* dtype = std::get_if<DType>(&value.value)) return AttributeValue(*dtype);
      return std::nullopt;
    case AttributeType::dim:
      if (auto dim = value.as_dim(); dim && is_size(*dim)) return AttributeValue(std::move(*dim));
      return std::nullopt;
    case AttributeType::dims: {
      std::vector<Dim> dims;
      if (auto dim = value.as_dim(); dim && is_size(*dim)) dims.push_back(std::move(*dim));
      else if (!value.as_list()) return std::nullopt;
      for (const RuleValue& each : value.as_list() ? *value.as_list() : RuleList{}) {
        auto dim = each.as_dim();
        if (!dim || !is_size(*dim)) return std::nullopt;
        dims.push_back(std::move(*dim));
      }
      return AttributeValue(std::move(dims));
    }
    case AttributeType::numbers: {
      std::vector<Number> numbers;
      for (const RuleValue& each : value.as_list() ? *value.as_list() : RuleList{value}) {
        const auto element = each.as_element();
        const auto number = element ? number_of(*element) : std::nullopt;
        if (!number) return std::nullopt;
        numbers.push_back(*number);
      }
      return AttributeValue(std::move(numbers));
    }
  }
  return std::nullopt;
}

// A number that follows from a name: most names have numbers of their own.
std::int64_t number_of_name(const std::string& name) {
  return static_cast<std::int64_t>(content_hash(name) & 0x7fffffff);
}

class RuleRunner {
 public:
  RuleRunner(const ImportRule& rule, const ForeignNode& node, RuleSetting& setting, int depth)
      : rule_(rule), node_(node), setting_(setting), depth_(depth) {}

  // What its outputs stand for: tensors, and of a rule for steps alone anything.
  std::optional<std::vector<RuleValue>> run() {
    if (depth_ > deepest_rules) return fail(rule_.where, "rules name each other without end");
    bindings_["output_count"] = {Dim(static_cast<std::int64_t>(node_.outputs.size()))};
    bindings_["output_number"] = {Dim(number_of_name(node_.outputs.empty() ? std::string() : node_.outputs[0]))};
    if (!bind_attributes() || !bind_inputs() || !run_steps(rule_.steps)) return std::nullopt;
    return outputs();
  }

 private:
  const DimRanges& ranges() const { return setting_.builder.ranges(); }

  // ---- what the rule's names stand for at first -----------------------------------------------------------------

  bool bind_attributes() {
    bool good = true;
    for (const ImportAttribute& attribute : rule_.attributes) {
      RuleValue value;
      if (!attribute.default_value.items.empty()) {
        value = evaluate(attribute.default_value, bindings_, ranges()).value_or(RuleValue{});
      } else if (attribute.default_value.is_list) {
        value = RuleValue::list({});
      }
      if (!attribute.ignored) bindings_[attribute.name] = std::move(value);
    }
    for (const auto& [name, value] : node_.attributes) {
      const auto is_named = [&](const ImportAttribute& each) { return each.name == name; };
      const auto known = std::find_if(rule_.attributes.begin(), rule_.attributes.end(), is_named);
      if (known == rule_.attributes.end()) {
        error(fmt::format("its attribute '{}' is not supported", name));
        good = false;
      } else if (!known->ignored) {
        bindings_[name] = value;
      }
    }
    return good;
  }

  bool bind_inputs() {
    const auto& inputs = node_.inputs;
    const bool variadic = !rule_.inputs.empty() && rule_.inputs.back().variadic;
    if (inputs.size() > rule_.inputs.size() && !variadic) {
      error(fmt::format("it has {} inputs, and at most {} are supported", inputs.size(), rule_.inputs.size()));
      return false;
    }
    bool good = true;
    for (std::size_t i = 0; i < rule_.inputs.size(); ++i) {
      const ImportInput& input = rule_.inputs[i];
      if (input.variadic) {
        const auto from = inputs.begin() + static_cast<std::ptrdiff_t>(std::min(i, inputs.size()));
        bindings_[input.name] = RuleValue::list({from, inputs.end()});
        continue;
      }
      const RuleValue given = i < inputs.size() ? inputs[i] : RuleValue{};
      if (!given.is_given()) {
        if (!input.optional) {
          error(fmt::format("its input '{}' is missing", input.name));
          good = false;
        }
        if (!bindings_.contains(input.name)) bindings_[input.name] = {};
        continue;
      }
      bindings_[input.name] = given;
      if (input.is_value) good = bind_value(input, *given.as_operand()) && good;
    }
    return good;
  }

  bool bind_value(const ImportInput& input, const ImportedValue& operand) {
    if (!operand.content) {
      setting_.demanded.push_back(operand);
      return false;
    }
    if (operand.content->elements.empty() && operand.content->shape.empty()) return false;
    bindings_[input.name] = value_of(*operand.content);
    bindings_[input.name + "_dtype"] = {operand.type.dtype};
    return true;
  }

  // ---- steps ----------------------------------------------------------------------------------------------------

  bool run_steps(const std::vector<ImportStep>& steps) {
    return std::all_of(steps.begin(), steps.end(), [&](const ImportStep& step) { return run_repeatedly(step); });
  }

  bool run_repeatedly(const ImportStep& step) {
    if (!step.each.empty()) {
      const auto rounds = value(step.each);
      const auto count = rounds ? rounds->as_integer() : std::nullopt;
      if (!count || *count > most_rounds) return fail(step.each.where, no_value(step.each)), false;
      for (std::int64_t i = 0; i < *count; ++i) {
        bindings_["i"] = {Dim(i)};
        if (!run_conditionally(step)) return false;
      }
      return true;
    }
    return run_conditionally(step);
  }

  bool run_conditionally(const ImportStep& step) {
    if (!step.when.empty()) {
      const auto holds = condition(step.when);
      if (!holds) return false;
      if (!*holds) return true;
    }
    return run_step(step);
  }

  bool run_step(const ImportStep& step) {
    switch (step.kind) {
      case ImportStep::Kind::op: return run_op(step);
      case ImportStep::Kind::foreign: return run_foreign(step);
      case ImportStep::Kind::graph: return run_graph(step);
      case ImportStep::Kind::constant: return run_constant(step);
      case ImportStep::Kind::bytes: return run_bytes(step);
      case ImportStep::Kind::let: {
        auto result = argument(step.value, step.where);
        if (!result) return false;
        bindings_[step.outputs[0]] = std::move(*result);
        return true;
      }
      case ImportStep::Kind::check: {
        const auto holds = condition(step.value.items[0]);
        if (holds && !*holds) error(step.message);
        return holds.value_or(false);
      }
      case ImportStep::Kind::branch: {
        const auto holds = condition(step.value.items[0]);
        return holds && run_steps(*holds ? step.then : step.otherwise);
      }
    }
    return false;
  }

  bool run_op(const ImportStep& step) {
    const OpSpec& op = *setting_.builder.ops().find(step.op);
    std::vector<BuilderArgument> inputs;
    for (const ImportArgument& each : step.inputs) {
      const auto found = argument(each, step.where);
      if (!found || !add_operands(*found, inputs, each, step)) return false;
    }
    Attributes attributes;
    for (const auto& [name, given] : step.attributes) {
      const auto found = argument(given, step.where);
      if (!found) return false;
      if (!found->is_given()) continue;
      auto converted = attribute_value(*found, op.attribute(name)->type, ranges());
      if (!converted)
        return fail(step.where, fmt::format("'{}' is no value for the attribute '{}'", text_of(given), name)), false;
      attributes.emplace_back(name, std::move(*converted));
    }
    auto results =
        setting_.builder.add_node(op, std::move(inputs), std::move(attributes), names_of(step), setting_.diagnostics);
    if (!results) return false;
    bind_results(step, {results->begin(), results->end()});
    return true;
  }

  bool add_operands(const RuleValue& found, std::vector<BuilderArgument>& inputs, const ImportArgument& from,
                    const ImportStep& step) {
    if (const ImportedValue* operand = found.as_operand()) {
      inputs.emplace_back(*operand);
    } else if (const RuleList* list = found.as_list()) {
      return std::all_of(list->begin(), list->end(),
                         [&](const RuleValue& each) { return add_operands(each, inputs, from, step); });
    } else if (const auto element = found.as_element()) {
      const auto number = number_of(*element);
      if (number) {
        inputs.emplace_back(*number);
      } else {  // a size, which the run takes for an i64
        const auto content = std::make_shared<const Content>(Content{DType::i64, {}, {*element}});
        inputs.emplace_back(ImportedValue{{DType::i64, {}, nullptr}, no_id, content, names_of(step)[0] + "_size"});
      }
    } else if (!found.is_given()) {
      inputs.emplace_back(std::monostate{});
    } else {
      return fail(step.where, fmt::format("'{}' is no tensor and no number", text_of(from))), false;
    }
    return true;
  }

  bool run_foreign(const ImportStep& step) {
    const ImportRule* rule = setting_.rules.find("", step.op, setting_.version);
    if (!rule && setting_.is_foreign) rule = setting_.rules.find("", step.op, setting_.rules.newest);
    if (!rule)
      return fail(step.where, fmt::format("no rule says what '{}' is in version {}", step.op, setting_.version)), false;
    ForeignNode node;
    for (const ImportArgument& each : step.inputs) {
      auto found = argument(each, step.where);
      if (!found) return false;
      if (const RuleList* list = found->as_list()) {
        for (const RuleValue& item : *list) node.inputs.push_back(item);
      } else {
        node.inputs.push_back(std::move(*found));
      }
    }
    for (const auto& [name, given] : step.attributes) {
      auto found = argument(given, step.where);
      if (!found) return false;
      if (found->is_given()) node.attributes[name] = std::move(*found);
    }
    node.outputs = names_of(step);
    auto results = RuleRunner(*rule, node, setting_, depth_ + 1).run();
    if (!results) return false;
    bind_results(step, *results);
    return true;
  }

  bool run_graph(const ImportStep& step) {
    std::vector<ImportedValue> inputs;
    for (const ImportArgument& each : step.inputs) {
      const auto found = argument(each, step.where);
      if (!found) return false;
      if (!found->as_operand()) return fail(step.where, fmt::format("'{}' is no tensor", text_of(each))), false;
      inputs.push_back(*found->as_operand());
    }
    if (!setting_.call_graph) return fail(step.where, "there is no node whose graph it could be"), false;
    const auto results = setting_.call_graph(step.op, std::move(inputs));
    if (!results) return false;
    if (results->size() < step.outputs.size()) return error(fmt::format("its {} has too few outputs", step.op)), false;
    bind_results(step, {results->begin(), results->end()});
    return true;
  }

  // The dtype and the shape that a step says, as numbers.
  std::optional<Content> empty_content(const ImportStep& step) {
    const auto dtype_value = argument(step.attributes[0].second, step.where);
    const auto shape_value = argument(step.attributes[1].second, step.where);
    if (!dtype_value || !shape_value) return std::nullopt;
    const auto dtype = attribute_value(*dtype_value, AttributeType::dtype, ranges());
    const auto extents = attribute_value(*shape_value, AttributeType::dims, ranges());
    if (!dtype || !extents) return fail(step.where, "the dtype or the shape that it needs is not known");
    Content content;
    content.dtype = std::get<DType>(*dtype);
    for (const Dim& extent : std::get<std::vector<Dim>>(*extents)) {
      if (!extent.is_constant()) return error("a shape that it needs is known only at run time");
      content.shape.push_back(extent.constant());
    }
    return content;
  }

  bool run_bytes(const ImportStep& step) {
    const auto found = argument(step.value, step.where);
    auto wanted = empty_content(step);
    if (!found || !wanted) return false;
    const ImportedValue* operand = found->as_operand();
    auto made =
        operand ? setting_.builder.add_bytes_of(*operand, wanted->dtype, std::move(wanted->shape)) : std::nullopt;
    if (!made) {
      const std::string name = operand && !operand->name.empty() ? operand->name : text_of(step.value);
      error(fmt::format("'{}' must be a weight of the model's, of as many bytes as its attributes say", name));
      return false;
    }
    bindings_[step.outputs[0]] = {std::move(*made)};
    return true;
  }

  bool run_constant(const ImportStep& step) {
    const auto found = argument(step.value, step.where);
    auto empty = empty_content(step);
    if (!found || !empty) return false;
    auto content = std::make_shared<Content>(std::move(*empty));
    const bool floating = info(content->dtype).floating;
    const RuleList items = found->as_list() ? *found->as_list() : RuleList{*found};
    for (const RuleValue& each : items) {
      auto element = each.as_element();
      const auto number = element ? number_of(*element) : std::nullopt;
      if (!element || (!number && floating))
        return fail(step.where, fmt::format("'{}' is no number", text_of(step.value))), false;
      if (number) element = floating ? ContentElement(number->real()) : ContentElement(Dim(number->as<std::int64_t>()));
      content->elements.push_back(std::move(*element));
    }
    ImportedValue operand;
    operand.type = {content->dtype, to_shape(content->shape), nullptr};
    operand.name = names_of(step)[0];
    operand.content = std::move(content);
    bindings_[step.outputs[0]] = {std::move(operand)};
    return true;
  }

  // ---- results --------------------------------------------------------------------------------------------------

  // "y_product": the results of a step, after the output that they are for.
  std::vector<std::string> names_of(const ImportStep& step) const {
    const auto wanted =
        std::find_if(node_.outputs.begin(), node_.outputs.end(), [](const auto& each) { return !each.empty(); });
    std::vector<std::string> names;
    for (const std::string& each : step.outputs) {
      const auto output = std::find(rule_.outputs.begin(), rule_.outputs.end(), each) - rule_.outputs.begin();
      const auto place = static_cast<std::size_t>(output);
      const bool is_output =
          place < rule_.outputs.size() && place < node_.outputs.size() && !node_.outputs[place].empty();
      names.push_back(is_output                          ? node_.outputs[place]
                      : wanted == node_.outputs.end()    ? each
                                                         : fmt::format("{}_{}", *wanted, each));
    }
    return names;
  }

  void bind_results(const ImportStep& step, const std::vector<RuleValue>& results) {
    for (std::size_t i = 0; i < step.outputs.size() && i < results.size(); ++i) {
      RuleValue& binding = bindings_[step.outputs[i]];
      if (rule_.variadic_outputs && step.outputs[i] == rule_.outputs.back()) {
        RuleList list = binding.as_list() ? *binding.as_list() : RuleList{};
        list.push_back(results[i]);
        binding = RuleValue::list(std::move(list));
      } else {
        binding = results[i];
      }
    }
  }

  std::optional<std::vector<RuleValue>> outputs() {
    std::vector<RuleValue> found;
    for (const std::string& name : rule_.outputs) {
      const auto binding = bindings_.find(name);
      const RuleList* list = binding == bindings_.end() ? nullptr : binding->second.as_list();
      if (list && rule_.variadic_outputs) {
        found.insert(found.end(), list->begin(), list->end());
      } else {
        found.push_back(binding == bindings_.end() ? RuleValue{} : binding->second);
      }
    }
    found.resize(node_.outputs.size());
    for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
      const bool is_good = depth_ > 0 || node_.outputs[i].empty() || found[i].as_operand();
      if (is_good) continue;
      return error(i < rule_.outputs.size() ? fmt::format("its output '{}' is not supported", rule_.outputs[i])
                                            : fmt::format("its output {} is not supported", i + 1));
    }
    return found;
  }

  // ---- expressions ----------------------------------------------------------------------------------------------

  static std::string text_of(const ImportArgument& argument) {
    if (!argument.is_list) return argument.items.empty() ? "~" : argument.items[0].text;
    std::vector<std::string> texts;
    for (const Expression& each : argument.items) texts.push_back(each.text);
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }

  std::optional<RuleValue> value(const Expression& expression) { return evaluate(expression, bindings_, ranges()); }

  std::optional<RuleValue> argument(const ImportArgument& argument, SourceLocation where) {
    auto result = evaluate(argument, bindings_, ranges());
    if (!result) fail(where, fmt::format("'{}' has no value here", text_of(argument)));
    return result;
  }

  std::optional<bool> condition(const Expression& expression) {
    const auto result = value(expression);
    const auto truth = result ? truth_of(*result, ranges()) : std::nullopt;
    if (!truth) fail(expression.where, no_value(expression));
    return truth;
  }

  static std::string no_value(const Expression& expression) {
    return fmt::format("what '{}' is depends on sizes that are known only at run time, or on what is not there",
                       expression.text);
  }

  std::nullopt_t error(std::string message) {
    setting_.diagnostics.error({}, std::move(message));
    return std::nullopt;
  }

  std::nullopt_t fail(SourceLocation where, std::string message) {
    setting_.diagnostics.error({}, std::move(message)).note(where, "the rule says so here");
    return std::nullopt;
  }

  const ImportRule& rule_;
  const ForeignNode& node_;
  RuleSetting& setting_;
  int depth_;
  RuleBindings bindings_;
};

}  // namespace

std::optional<std::vector<ImportedValue>> apply_rule(const ImportRule& rule, const ForeignNode& node,
                                                     RuleSetting& setting) {
  setting.is_foreign = !rule.domain.empty();
  const auto found = RuleRunner(rule, node, setting, 0).run();
  if (!found) return std::nullopt;
  std::vector<ImportedValue> results;
  for (const RuleValue& each : *found) results.push_back(each.as_operand() ? *each.as_operand() : ImportedValue{});
  return results;
}

}  // namespace kgen

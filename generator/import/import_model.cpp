#include "generator/import/import_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "generator/import/graph_text.hpp"
#include "generator/import/import_nodes.hpp"
#include "generator/import/rule_value.hpp"
#include "generator/spec/expression.hpp"

namespace kgen {
namespace {

// Whether a dim is called so; some exporters write "?" for each that they know nothing of.
bool is_name(const std::string& parameter) {
  return std::any_of(parameter.begin(), parameter.end(),
                     [](unsigned char letter) { return std::isalnum(letter) || letter == '_'; });
}

class ModelImporter {
 public:
  ModelImporter(const OnnxModel& model, const ImportRules& rules, const OpSet& ops, const ImportOptions& options,
                Diagnostics& diagnostics)
      : model_(model),
        rules_(rules),
        options_(options),
        diagnostics_(diagnostics),
        builder_(ops, names_),
        nodes_(model, options.model, builder_, rules, diagnostics) {}

  ImportResult run() {
    ImportResult result;
    if (!validate_versions()) return result;
    ImportScope scope;
    claim_names();
    nodes_.import_initializers(model_.graph, scope);
    import_inputs(scope);
    nodes_.import_nodes(model_.graph.nodes, model_.opsets, scope, 0);
    nodes_.report_unknown_operators();
    import_outputs(scope);
    for (const ValueId id : nodes_.demanded()) result.demanded.push_back(input_names_.at(id));
    if (diagnostics_.has_errors()) return result;
    GraphText what{options_.graph_name, fmt::format("Imported from {}.", file_name_of(options_.model)),
                   model_.graph.doc,    options_.weights_file,
                   std::move(outputs_), value_names(scope),
                   input_names_};
    WrittenGraph written = graph_text(what, builder_);
    result.model.emplace();
    result.model->graph = std::move(written.text);
    result.model->weights = std::move(written.weights);
    return result;
  }

 private:
  static std::string file_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  template <class... Arguments>
  Diagnostic& error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    return diagnostics_.error({}, options_.model + ": " + fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  bool validate_versions() {
    const auto own = model_.opsets.find("");
    if (own == model_.opsets.end()) {
      if (!model_.opsets.empty() || model_.graph.nodes.empty()) return true;
      error("it does not say which version of ONNX's operators it uses");
      return false;
    }
    if (own->second > rules_.newest) {
      diagnostics_.warning({}, fmt::format("{}: it uses version {} of ONNX's operators, and kgen knows those up to {}; "
                                           "operators that changed since are read as they were",
                                           options_.model, own->second, rules_.newest));
    }
    return true;
  }

  // The model's own names first, so that what is made beside them gives way.
  void claim_names() {
    for (const OnnxValueInfo& each : model_.graph.inputs) claim(each.name);
    for (const OnnxValueInfo& each : model_.graph.outputs) claim(each.name);
    for (const OnnxNode& node : model_.graph.nodes) {
      for (const std::string& each : node.outputs) {
        if (!each.empty() && !identifiers_.contains(each)) names_.reserve(each);
      }
    }
  }

  const std::string& claim(const std::string& name) {
    std::string& identifier = identifiers_[name];
    if (identifier.empty()) identifier = names_.claim(name);
    return identifier;
  }

  // ---- inputs ---------------------------------------------------------------------------------------------------

  void import_inputs(ImportScope& scope) {
    collect_dims();
    for (const auto& [name, content] : options_.bound) {
      const auto is_named = [&](const OnnxValueInfo& each) { return each.name == name; };
      if (std::none_of(model_.graph.inputs.begin(), model_.graph.inputs.end(), is_named))
        error("it has no input '{}' to bind", name);
    }
    for (const OnnxValueInfo& input : model_.graph.inputs) {
      if (scope.values.contains(input.name) || scope.poisoned.contains(input.name)) continue;  // a weight
      if (!import_input(input, scope)) scope.poisoned.insert(input.name);
    }
    report_unknown_dims();
  }

  // The dims that the inputs have, by the model's names.
  void collect_dims() {
    for (const OnnxValueInfo& input : model_.graph.inputs) {
      if (!input.shape) continue;
      for (const OnnxValueInfo::Dim& dim : *input.shape) {
        if (!dim.value && is_name(dim.parameter)) parameters_.insert(dim.parameter);
      }
    }
  }

  // A range of a dim that no input has would change nothing, unseen.
  void report_unknown_dims() {
    std::set<std::string> known = parameters_;
    for (const std::string& parameter : parameters_) known.insert(ClaimedNames().claim(parameter));
    for (const auto& [parameter, symbol] : symbols_) known.insert({parameter, symbol.identifier});
    const auto validate = [&](const std::string& name) {
      if (known.contains(name)) return;
      Diagnostic& said = error("it has no dim '{}'", name);
      if (known.empty()) said.note("none of its inputs has a dim without a number");
      if (!known.empty()) said.note("its dims are " + quoted_list({known.begin(), known.end()}));
    };
    for (const auto& [name, range] : options_.dims) validate(name);
    for (const auto& [name, sum] : options_.sums) validate(name);
  }

  // What the model calls so: a symbol, or what follows from others. Exporters name some dims "past + sequence".
  Dim dim_of(const std::string& parameter) {
    auto given = options_.sums.find(parameter);
    if (given == options_.sums.end()) given = options_.sums.find(ClaimedNames().claim(parameter));
    const bool is_given = given != options_.sums.end();
    std::string text = is_given ? given->second : parameter;
    for (std::size_t at; (at = text.find("//")) != text.npos;) text.erase(at, 1);  // Python's division
    const auto sum = parse_expression(text, nullptr);
    const bool is_sum = is_given || (sum && sum->steps.size() > 1);
    const auto dim = is_sum && sum ? sum_of(*sum, parameter, is_given) : std::nullopt;
    if (is_given && !dim) {
      error("'{}' says nothing of the dim '{}'", given->second, parameter)
          .note("it should be a sum of others of its dims (" + quoted_list({parameters_.begin(), parameters_.end()}) +
                "), or of new ones, such as 32*" + parameter.substr(0, 1));
    }
    return dim ? *dim : symbol_of(parameter, {.name = {}, .range = usual_range, .from = {}});
  }

  // Nothing where it is no sum of other dims of the inputs, or new ones where these may be, or never a size.
  std::optional<Dim> sum_of(const Expression& sum, const std::string& parameter, bool may_be_new) {
    if (!sums_.insert(parameter).second) return std::nullopt;  // it would follow from itself
    RuleBindings bindings;
    bool good = sum.names.empty();
    for (const std::string& each : sum.variables) {
      good = good && each != parameter && (may_be_new || parameters_.contains(each) || is_multiple(sum, each));
      if (good) bindings[each] = {dim_of(each)};
    }
    sums_.erase(parameter);
    const auto value = good ? evaluate(sum, bindings, builder_.ranges()) : std::nullopt;
    const auto dim = value ? value->as_dim() : std::nullopt;
    return dim && dim->range(builder_.ranges()).high >= 0 ? dim : std::nullopt;
  }

  // "32*h": exporters write so of h, which may be the extent of no input by itself.
  bool is_multiple(const Expression& sum, const std::string& of) const {
    if (sum.variables.size() != 1) return false;
    const auto value = evaluate(sum, RuleBindings{{of, {Dim::symbol(of)}}}, {});
    const auto dim = value ? value->as_dim() : std::nullopt;
    if (!dim || dim->symbols() != std::vector{of}) return false;
    const std::int64_t step = dim->evaluate({{of, 1}});
    return step > 1 && *dim == Dim(step) * Dim::symbol(of);
  }

  bool import_input(const OnnxValueInfo& input, ImportScope& scope) {
    if (!input.is_tensor) {
      error("input '{}' is no tensor", input.name);
      return false;
    }
    const auto dtype = dtype_of_onnx(input.data_type);
    if (!dtype) {
      error("input '{}': kgen has no type like ONNX's {} ({})", input.name, name_of_onnx_type(input.data_type),
            input.data_type);
      return false;
    }
    if (const auto bound = options_.bound.find(input.name); bound != options_.bound.end()) {
      return bind_input(input, *dtype, bound->second, scope);
    }
    if (!input.shape) {
      error("input '{}' does not say how many axes it has", input.name);
      return false;
    }
    TensorType type{*dtype, {}, nullptr};
    for (std::size_t axis = 0; axis < input.shape->size(); ++axis) {
      const OnnxValueInfo::Dim& dim = (*input.shape)[axis];
      const bool is_open = !dim.value || *dim.value == -1;  // which some exporters write for an extent of any size
      if (dim.value && *dim.value < -1) {
        error("input '{}' has an extent of {}", input.name, *dim.value);
        return false;
      }
      if (dim.value && *dim.value > largest_extent) {
        error("input '{}' has an extent of {}, which is too large", input.name, *dim.value);
        return false;
      }
      type.shape.push_back(is_open
                               ? dim_of(is_name(dim.parameter) ? dim.parameter : fmt::format("{}_{}", input.name, axis))
                               : Dim(*dim.value));
    }
    if (type.shape.size() > most_axes) {
      error("input '{}' has {} axes, and kgen knows at most {}", input.name, type.shape.size(), most_axes);
      return false;
    }
    double elements = 1;
    for (const Dim& extent : type.shape)
      elements *= std::max(1.0, static_cast<double>(extent.range(builder_.ranges()).high));
    if (elements > most_elements) {
      error("input '{}' may have more than 2^60 elements", input.name)
          .advise("say how large its dims may be: --dim NAME=1..64");
      return false;
    }
    ImportedValue operand = builder_.add_input(claim(input.name), std::move(type));
    input_names_[operand.id] = input.name;
    if (options_.sizes.contains(input.name)) operand.content = sizes_of(input.name, operand);
    scope.values[input.name] = operand;
    return true;
  }

  // A dim for each element of the input.
  std::shared_ptr<const Content> sizes_of(const std::string& input, const ImportedValue& operand) {
    auto content = std::make_shared<Content>();
    content->dtype = operand.type.dtype;
    const bool is_scalar = operand.type.shape.empty();
    const std::int64_t count = is_scalar ? 1 : operand.type.shape[0].constant();
    if (!is_scalar) content->shape = {count};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string wish = is_scalar ? input + "_value" : fmt::format("{}_{}", input, i);
      const auto element = is_scalar ? std::nullopt : std::optional(i);
      content->elements.emplace_back(
          symbol_of(wish, {.name = {}, .range = usual_range_of_elements, .from = operand.name, .element = element}));
    }
    return content;
  }

  bool bind_input(const OnnxValueInfo& input, DType dtype, const Content& content, ImportScope& scope) {
    if (content.dtype != dtype) {
      error("input '{}' is of type {}, and is bound to {}", input.name, info(dtype).name, info(content.dtype).name);
      return false;
    }
    ImportedValue operand;
    operand.name = input.name;
    operand.type = {dtype, to_shape(content.shape), nullptr};
    operand.content = std::make_shared<const Content>(content);
    if (input.shape && input.shape->size() != content.shape.size()) {
      error("input '{}' has {} axes, and is bound to a value of {}", input.name, input.shape->size(),
            content.shape.size());
      return false;
    }
    scope.values[input.name] = std::move(operand);
    return true;
  }

  // A dim's range is found by the model's name of it, and by the identifier that stands for it in the graph.
  Dim symbol_of(const std::string& parameter, DimDeclaration dim) {
    if (const auto found = symbols_.find(parameter); found != symbols_.end()) return found->second.dim;
    dim.name = names_.claim(parameter);
    auto given = options_.dims.find(parameter);
    if (given == options_.dims.end()) given = options_.dims.find(dim.name);
    if (given != options_.dims.end()) dim.range = given->second;
    const bool is_number = dim.range.low == dim.range.high;
    const Symbol symbol{dim.name, is_number ? Dim(dim.range.low) : Dim::symbol(dim.name)};
    symbols_.emplace(parameter, symbol);
    if (!is_number) builder_.add_dim(std::move(dim));
    return symbol.dim;
  }

  // ---- outputs --------------------------------------------------------------------------------------------------

  void import_outputs(const ImportScope& scope) {
    if (model_.graph.outputs.empty()) error("it has no outputs");
    std::set<std::string_view> listed;
    std::vector<std::pair<std::size_t, CountedAxis>> counts;
    for (const OnnxValueInfo& output : model_.graph.outputs) {
      if (!listed.insert(output.name).second) {
        error("its output '{}' is listed twice", output.name);
        continue;
      }
      const ImportedValue* found = scope.find(output.name);
      if (!found) {
        if (!scope.is_poisoned(output.name)) error("its output '{}' is made by no node", output.name);
        continue;
      }
      ImportedValue operand = *found;
      Diagnostics problems;
      if (!builder_.settle(operand, problems)) {
        for (const Diagnostic& each : problems.all())
          diagnostics_.error({}, fmt::format("{}: output '{}': {}", options_.model, output.name, each.message))
              .advise(each.help);
        continue;
      }
      const bool is_made = found->id == no_id && builder_.graph().value(operand.id).kind == ValueKind::result;
      if (is_made) copies_.emplace(operand.id, claim(output.name));
      const auto counted = operand.counted;
      // What is an input too has two places in memory, and two names.
      const bool is_input = input_names_.contains(operand.id) && input_names_.at(operand.id) == output.name;
      const std::string name = is_input ? names_.claim(output.name) : claim(output.name);
      const bool added = add_output(name, output.name, std::move(operand));
      if (counted && added) counts.emplace_back(outputs_.size() - 1, *counted);
    }
    add_counts(counts);
  }

  // Behind the outputs of the model, for each that has room for more than it holds: how much of it counts.
  void add_counts(const std::vector<std::pair<std::size_t, CountedAxis>>& counts) {
    for (const auto& [output, counted] : counts) {
      const std::string name = names_.claim(outputs_[output].name + "_count");
      ImportedValue count{{DType::i64, {}, nullptr}, counted.count, nullptr, name};
      copies_.emplace(count.id, name);
      if (!add_output(name, name, std::move(count))) return;
      outputs_[output].note = fmt::format("along axis {} only the first {} count", counted.axis, name);
    }
  }

  // An input, a constant and what is an output already are copied: an output has memory of its own. False after an
  // error.
  bool add_output(const std::string& name, const std::string& known, ImportedValue operand) {
    const auto same = [&](const GraphText::Output& each) { return each.value == operand.id; };
    const bool is_result = builder_.graph().value(operand.id).kind == ValueKind::result;
    if (!is_result || std::any_of(outputs_.begin(), outputs_.end(), same)) {
      const OpSpec* copy = builder_.ops().with_role(OpRole::copy);
      const auto copied = builder_.add_node(*copy, {operand}, {}, {known}, diagnostics_);
      if (!copied) return false;
      operand = (*copied)[0];
      copies_[operand.id] = name;
    }
    outputs_.push_back({name, known, operand.id});
    return true;
  }

  // The identifier of each value of the model; where it has several names, the first that was given.
  std::map<ValueId, std::string> value_names(const ImportScope& scope) {
    std::map<ValueId, std::string> names = copies_;
    for (const OnnxNode& node : model_.graph.nodes) {
      for (const std::string& each : node.outputs) {
        const auto found = scope.values.find(each);
        if (found == scope.values.end() || found->second.id == no_id) continue;
        if (builder_.graph().value(found->second.id).kind == ValueKind::result)
          names.emplace(found->second.id, claim(each));
      }
    }
    return names;
  }

  static constexpr std::int64_t largest_extent = (std::int64_t{1} << 31) - 1;
  static constexpr std::size_t most_axes = 32;
  static constexpr double most_elements = 0x1p60;  // as of tensors in a graph's file

  const OnnxModel& model_;
  const ImportRules& rules_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  ClaimedNames names_;
  GraphBuilder builder_;
  NodeImporter nodes_;
  std::map<std::string, std::string> identifiers_;  // by the model's names
  // A dim of the model's, which one range may have made a number of.
  struct Symbol {
    std::string identifier;
    Dim dim;
  };
  std::map<std::string, Symbol> symbols_;
  std::set<std::string> parameters_;  // the dims of the inputs
  std::set<std::string> sums_;        // those that are worked out from others at the moment
  std::map<ValueId, std::string> input_names_, copies_;
  std::vector<GraphText::Output> outputs_;
};

}  // namespace

bool may_be_sizes(const OnnxValueInfo& input) {
  constexpr std::int64_t most_sizes = 64;
  const auto dtype = input.is_tensor ? dtype_of_onnx(input.data_type) : std::nullopt;
  if ((dtype != DType::i64 && dtype != DType::i32) || !input.shape || input.shape->size() > 1) return false;
  if (input.shape->empty()) return true;
  const auto& count = (*input.shape)[0].value;
  return count && *count >= 1 && *count <= most_sizes;
}

ImportResult import_model(const OnnxModel& model, const ImportRules& rules, const OpSet& ops,
                          const ImportOptions& options, Diagnostics& diagnostics) {
  return ModelImporter(model, rules, ops, options, diagnostics).run();
}

}  // namespace kgen

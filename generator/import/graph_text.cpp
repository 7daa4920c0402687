#include "generator/import/graph_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "generator/base/languages.hpp"
#include "generator/import/blocks.hpp"
#include "generator/import/numbered_names.hpp"
#include "generator/import/yaml_text.hpp"

namespace kgen {
namespace {

constexpr std::size_t widest_line = 120;

class TextWriter {
 public:
  TextWriter(const GraphText& what, GraphBuilder& builder) : what_(what), builder_(builder), graph_(builder.graph()) {}

  WrittenGraph write() {
    find_live();
    find_what_is_called();
    if (!what_.comment.empty()) text_ = fmt::format("# {}\n", comment_text(what_.comment));
    text_ += fmt::format("graph: {}\n", what_.name);
    if (!what_.doc.empty()) text_ += fmt::format("doc: {}\n", yaml_string(what_.doc));
    write_dims();
    write_inputs();
    write_constants();
    write_states();
    write_functions();
    text_ += "nodes:\n";
    write_nodes();
    write_outputs();
    return {std::move(text_), std::move(weights_)};
  }

 private:
  // A block that has a name, and the identifiers of its values: rows, as one value of an instance may stand for two of
  // another.
  struct Called {
    Block block;
    std::string name;
    std::map<Block::Row, std::string> names;
  };

  void find_live() {
    live_nodes_.assign(graph_.nodes.size(), false);
    live_values_.assign(graph_.values.size(), false);
    for (const auto& output : what_.outputs) live_values_[output.value] = true;
    for (const StateData& state : graph_.states) {
      if (state.next != no_id) live_values_[state.next] = true;
    }
    for (NodeId id = static_cast<NodeId>(graph_.nodes.size()); id-- > 0;) {
      const Node& node = graph_.nodes[id];
      live_nodes_[id] =
          std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId each) { return live_values_[each]; });
      if (!live_nodes_[id]) continue;
      for (const ValueId each : node.inputs) {
        if (each != no_id) live_values_[each] = true;
      }
    }
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (live_nodes_[id]) order_.push_back(id);
    }
  }

  void find_what_is_called() {
    equal_ = first_equal_constants(builder_);
    std::vector<ValueId> outputs;
    for (const auto& output : what_.outputs) outputs.push_back(output.value);
    for (Block& block : find_blocks(builder_, order_, outputs)) called_.push_back({std::move(block), "", {}});
    for (Called& each : called_) each.name = builder_.names().claim(wish_of(each.block));
    for (Called& each : called_) name_values(each);
    for (const StoredTensor& each : builder_.stored()) taken_keys_.insert(each.key);
  }

  // "model_layers" of weights such as model.layers.0.wq.
  std::string wish_of(const Block& block) const {
    if (!block.wish.empty()) return block.wish;
    std::vector<Block::Row> rows = block.weights;
    rows.insert(rows.end(), block.outputs.begin(), block.outputs.end());
    for (std::size_t at = 0; at < block.size; ++at) rows.push_back(results_at(block, at, 0));
    const auto says_something = [](const std::string& part) { return part.find_first_not_of("._/:") != part.npos; };
    for (const Block::Row& row : rows) {
      const auto common = numbered_name(known_names(row));
      if (common && says_something(common->before) && says_something(common->after)) return common->before;
    }
    return "layer";
  }

  // What the model calls them.
  std::vector<std::string> known_names(const Block::Row& row) const {
    std::vector<std::string> names;
    for (const ValueId each : row) {
      const StoredTensor* tensor = builder_.tensor_of(each);
      names.push_back(tensor ? tensor->key : graph_.value(each).name);
    }
    return names;
  }

  // Without what says which layer it is of.
  static std::string name_in_layer(const Called& called, const std::vector<std::string>& names) {
    if (const auto common = numbered_name(names)) {
      if (common->after.find_first_not_of("._/:") != std::string::npos) return common->after;
      return ClaimedNames().claim(common->before) == called.name ? "out" : common->before;  // the layer's own
    }
    const std::string first = ClaimedNames().claim(names[0]), start = called.name + "_";
    const auto behind = first.starts_with(start) ? first.find_first_not_of("0123456789", start.size()) : first.npos;
    return behind == first.npos || behind == start.size() ? names[0] : first.substr(behind);
  }

  // A weight that is not called after its layer, by what first reads it.
  std::string name_of_weight(const Called& called, const Block::Row& row) const {
    const std::vector<std::string> names = known_names(row);
    if (indexed_key(names)) return name_in_layer(called, names);
    for (std::size_t at = 0; at < called.block.size; ++at) {
      const std::vector<ValueId>& inputs = graph_.nodes[order_[called.block.starts[0] + at]].inputs;
      if (std::find(inputs.begin(), inputs.end(), row[0]) != inputs.end())
        return name_in_layer(called, known_names(results_at(called.block, at, 0))) + "_weight";
    }
    return name_in_layer(called, names);
  }

  Block::Row results_at(const Block& block, std::size_t at, std::size_t index) const {
    Block::Row row;
    for (const std::size_t start : block.starts) row.push_back(graph_.nodes[order_[start + at]].outputs[index]);
    return row;
  }

  void name_values(Called& called) {
    ClaimedNames names;
    for (const DimDeclaration& dim : graph_.dims) names.claim(dim.name);
    for (const Called& each : called_) names.claim(each.name);
    const Block& block = called.block;
    const auto name = [&](const Block::Row& row, const std::string& wish) {
      if (!called.names.contains(row)) called.names[row] = names.claim(wish);
    };
    const std::size_t handed_on = block.repeats ? block.outputs.size() : 0;
    for (std::size_t i = handed_on; i < block.inputs.size(); ++i)
      name(block.inputs[i], name_in_layer(called, known_names(block.inputs[i])));
    for (const Block::Row& row : block.weights) name(row, name_of_weight(called, row));
    for (const Block::Row& row : block.states) name(row, name_in_layer(called, known_names(row)));
    for (const ValueId each : block.fixed) name(of_all(block, each), graph_.value(each).name);
    for (std::size_t at = 0; at < block.size; ++at) {
      const Node& first = graph_.nodes[order_[block.starts[0] + at]];
      for (std::size_t i = 0; i < first.outputs.size() && !block.hoisted[at]; ++i) {
        const Block::Row row = results_at(block, at, i);
        name(row, name_in_layer(called, known_names(row)));
      }
    }
    for (std::size_t i = 0; i < handed_on; ++i)
      name(block.inputs[i], called.names.at(block.outputs[i]) + "_before");
  }

  static Block::Row of_all(const Block& block, ValueId value) { return Block::Row(block.starts.size(), value); }

  // What the nodes of all instances have there. What is hoisted is the first one's.
  const std::string& name_of_operand(const Called& called, std::size_t at, std::size_t operand) const {
    const auto first_equal = [&](ValueId value) {
      const auto found = equal_.find(value);
      return found == equal_.end() ? value : found->second;
    };
    Block::Row row;
    for (const std::size_t start : called.block.starts)
      row.push_back(first_equal(graph_.nodes[order_[start + at]].inputs[operand]));
    const auto found = called.names.find(row);
    return found != called.names.end() ? found->second : called.names.at(of_all(called.block, row[0]));
  }

  const std::string& name_of(ValueId value) {
    if (const auto given = what_.value_names.find(value); given != what_.value_names.end()) return given->second;
    std::string& name = names_[value];
    const Value& of = graph_.value(value);
    if (name.empty()) name = of.kind == ValueKind::result ? builder_.names().claim(of.name) : of.name;
    return name;
  }

  void write_dims() {
    if (graph_.dims.empty()) return;
    text_ += "dims:\n";
    for (const DimDeclaration& dim : graph_.dims) {
      const std::string range = fmt::format("{}..{}", dim.range.low, dim.range.high);
      text_ += dim.from.empty() ? fmt::format("  {}: {}\n", yaml_name(dim.name), range)
                                : fmt::format("  {}: {{range: {}, from: {}}}\n", yaml_name(dim.name), range,
                                              dim.element ? yaml_string(source_text(dim)) : yaml_name(dim.from));
    }
  }

  void write_inputs() {
    if (graph_.inputs.empty()) return;
    text_ += "inputs:\n";
    for (const GraphInput& input : graph_.inputs) {
      const std::string& name = name_of(input.value);
      const std::string type = to_text(graph_.type(input.value));
      const auto known = what_.input_names.find(input.value);
      if (input.strided) {
        text_ += fmt::format("  {}: {{type: \"{}\", strided: true}}\n", yaml_name(name), type);
        continue;
      }
      const bool renamed = known != what_.input_names.end() && known->second != name;
      text_ += renamed ? fmt::format("  {}: {{type: \"{}\", doc: {}}}\n", yaml_name(name), type,
                                     yaml_string(known->second + " in the model"))
                       : fmt::format("  {}: {}\n", yaml_name(name), type);
    }
  }

  void write_constants() {
    std::vector<bool> read(graph_.values.size(), false);
    const auto read_by = [&](NodeId id) {
      for (const ValueId each : graph_.nodes[id].inputs) {
        if (each != no_id) read[each] = true;
      }
    };
    std::size_t place = 0;
    for_each_call([&](const Called& called, std::size_t instance, std::size_t start) {
      for (; place < start; ++place) read_by(order_[place]);
      for (std::size_t at = 0; at < called.block.size && instance == 0; ++at) {
        if (called.block.hoisted[at]) read_by(order_[start + at]);
      }
      for (const Block::Row& row : called.block.inputs) read[row[instance]] = true;
      place = start + called.block.size;
    });
    for (; place < order_.size(); ++place) read_by(order_[place]);
    std::string section;
    for (const ConstantData& constant : graph_.constants) {
      if (!read[constant.value] || builder_.is_number(constant.value)) continue;
      section += fmt::format("  {}: {}\n", yaml_name(name_of(constant.value)), constant_text(constant));
    }
    if (!section.empty()) text_ += "constants:\n" + section;
  }

  // `state`, as those of all instances are written, which may be one. `next`: what replaces it, where something does.
  std::string state_text(const StateData& state, const std::string& next, const std::vector<std::string>& keys) const {
    const TensorType& type = graph_.type(state.value);
    const GivenElements& initial = state.initial;
    std::string text = fmt::format("{{type: \"{}\"", to_text(type));
    if (state.next != no_id) text += ", next: " + yaml_name(next);
    if (!initial.file.empty()) {
      text += fmt::format(", file: {}, key: {}", yaml_name(initial.file),
                          yaml_string(indexed_key(keys).value_or(initial.key)));
    } else if (!initial.values.empty()) {
      text += ", " + values_text(initial.values, type.dtype, text.size());
    }
    return text + "}";
  }

  const StateData& data_of(ValueId state) const { return graph_.states[graph_.value(state).index]; }

  // Those that no function has for itself.
  void write_states() {
    std::set<ValueId> within;
    for (const Called& each : called_) {
      for (const Block::Row& row : each.block.states) within.insert(row.begin(), row.end());
    }
    std::string section;
    for (const StateData& state : graph_.states) {
      if (within.contains(state.value)) continue;
      const std::string next = state.next == no_id ? "" : name_of(state.next);
      section += fmt::format("  {}: {}\n", yaml_name(name_of(state.value)), state_text(state, next, {}));
    }
    if (!section.empty()) text_ += "state:\n" + section;
  }

  // In the order of the nodes, each instance: visit(called, instance, where it begins).
  template <class Visit>
  void for_each_call(Visit visit) const {
    std::vector<std::tuple<std::size_t, const Called*, std::size_t>> calls;
    for (const Called& each : called_) {
      for (std::size_t i = 0; i < each.block.starts.size(); ++i) calls.emplace_back(each.block.starts[i], &each, i);
    }
    std::sort(calls.begin(), calls.end());
    for (const auto& [start, called, instance] : calls) visit(*called, instance, start);
  }

  std::string stored_text(const TensorType& type, const std::string& key) const {
    return fmt::format("{{type: \"{}\", file: {}, key: {}}}", to_text(type), yaml_name(what_.weights_file),
                       yaml_string(key));
  }

  void add_weight(const StoredTensor& tensor, const std::string& key) {
    if (!written_keys_.insert(key).second) return;
    weights_.push_back(tensor);
    weights_.back().key = key;
  }

  std::string constant_text(const ConstantData& constant) {
    const TensorType& type = graph_.type(constant.value);
    if (const StoredTensor* stored = builder_.stored_of(constant.value)) {
      add_weight(*stored, stored->key);
      return stored_text(type, stored->key);
    }
    if (type.shape.empty() && type.dtype == DType::f32) return yaml_number(constant.values[0], type.dtype);
    const std::string start = fmt::format("{{type: \"{}\", ", to_text(type));
    return start + values_text(constant.values, type.dtype, start.size()) + "}";
  }

  // One for all that are the same; lines are broken, the first of which has as many columns ahead.
  static std::string values_text(const std::vector<Number>& values, DType dtype, std::size_t column) {
    const bool same = !values.empty() && std::all_of(values.begin(), values.end(),
                                                     [&](const Number& each) { return same_bits(each, values[0]); });
    if (same) return "values: " + yaml_number(values[0], dtype);
    std::string text = "values: [";
    column += text.size() + 4;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string each = yaml_number(values[i], dtype) + (i + 1 < values.size() ? "," : "");
      column += each.size() + 1;
      if (column > widest_line) {
        text += "\n    ";
        column = 5 + each.size();
      } else if (i > 0) {
        text += " ";
      }
      text += each;
    }
    return text + "]";
  }

  // ---- functions --------------------------------------------------------------------------------------------------

  void write_functions() {
    if (!called_.empty()) text_ += "functions:\n";
    for (const Called& each : called_) write_function(each);
  }

  void write_function(const Called& called) {
    const Block& block = called.block;
    text_ += fmt::format("  {}:\n    doc: {}\n", yaml_name(called.name), yaml_string(doc_of(block)));
    if (!block.inputs.empty()) text_ += "    inputs:\n";
    for (const Block::Row& row : block.inputs)
      text_ += fmt::format("      {}: {}\n", yaml_name(called.names.at(row)), to_text(graph_.type(row[0])));
    if (!block.weights.empty() || !block.fixed.empty()) text_ += "    constants:\n";
    for (const Block::Row& row : block.weights) {
      text_ += fmt::format("      {}: {}\n", yaml_name(called.names.at(row)),
                           stored_text(graph_.type(row[0]), key_of(called, row)));
    }
    for (const ValueId each : block.fixed) {
      text_ += fmt::format("      {}: {}\n", yaml_name(called.names.at(of_all(block, each))),
                           constant_text(graph_.constants[graph_.value(each).index]));
    }
    if (!block.states.empty()) text_ += "    state:\n";
    for (std::size_t i = 0; i < block.states.size(); ++i) {
      std::vector<std::string> keys;
      for (const ValueId each : block.states[i]) keys.push_back(data_of(each).initial.key);
      const StateData& first = data_of(block.states[i][0]);
      const std::string next = first.next == no_id ? "" : called.names.at(block.following[i]);
      text_ += fmt::format("      {}: {}\n", yaml_name(called.names.at(block.states[i])), state_text(first, next, keys));
    }
    text_ += "    nodes:\n";
    for (std::size_t at = 0; at < block.size; ++at) {
      if (!block.hoisted[at]) write_node_of(called, at);
    }
    std::vector<std::string> outputs;
    for (const Block::Row& row : block.outputs) outputs.push_back(yaml_name(called.names.at(row)));
    text_ += fmt::format("    outputs: {}\n", yaml_list(outputs));
  }

  // Which of the model's nodes it stands for.
  std::string doc_of(const Block& block) const {
    const auto made_by = [&](std::size_t instance) { return graph_.value(block.outputs.back()[instance]).name; };
    return fmt::format("{} times in the model, to make '{}' up to '{}'.", block.starts.size(), made_by(0),
                       made_by(block.starts.size() - 1));
  }

  // The keys that the model has, where these are numbered as the calls are; others are given.
  std::string key_of(const Called& called, const Block::Row& row) {
    if (auto own = indexed_key(known_names(row))) {
      for (const ValueId each : row) add_weight(*builder_.tensor_of(each), builder_.tensor_of(each)->key);
      return *own;
    }
    std::string start = called.name + ".", end = "." + called.names.at(row);
    const auto numbered = [&](std::size_t i) { return start + std::to_string(i) + end; };
    for (std::size_t i = 0; i < row.size();) {
      if (taken_keys_.contains(numbered(i))) {
        end += "_";
        i = 0;
      } else {
        ++i;
      }
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      add_weight(*builder_.tensor_of(row[i]), numbered(i));
      taken_keys_.insert(numbered(i));
    }
    return start + "{index}" + end;
  }

  // ---- nodes ------------------------------------------------------------------------------------------------------

  void write_nodes() {
    std::size_t place = 0;
    for_each_call([&](const Called& called, std::size_t instance, std::size_t start) {
      for (; place < start; ++place) write_node(order_[place], "  ");
      for (std::size_t at = 0; at < called.block.size && instance == 0; ++at) {
        if (called.block.hoisted[at]) write_node(order_[start + at], "  ");
      }
      if (instance == 0 || !called.block.repeats) write_call(called, instance);
      place = start + called.block.size;
    });
    for (; place < order_.size(); ++place) write_node(order_[place], "  ");
  }

  static std::string one_or_list(const std::vector<std::string>& items) {
    return items.size() == 1 ? items[0] : yaml_list(items);
  }

  void write_call(const Called& called, std::size_t instance) {
    const Block& block = called.block;
    std::vector<std::string> inputs, outputs;
    for (const Block::Row& row : block.inputs) inputs.push_back(yaml_name(name_of(row[instance])));
    for (const Block::Row& row : block.outputs)
      outputs.push_back(yaml_name(name_of(block.repeats ? row.back() : row[instance])));
    text_ += fmt::format("  - {{call: {}, in: {}, out: {}", yaml_name(called.name), one_or_list(inputs),
                         one_or_list(outputs));
    text_ += block.repeats ? fmt::format(", repeat: {}}}\n", block.starts.size()) : "}\n";
  }

  void write_node(NodeId id, std::string_view indent) {
    const Node& node = graph_.nodes[id];
    write_node(
        id, indent, [&](std::size_t operand) { return name_of(node.inputs[operand]); },
        [&](std::size_t result) { return name_of(node.outputs[result]); });
  }
  void write_node_of(const Called& called, std::size_t at) {
    write_node(
        order_[called.block.starts[0] + at], "      ",
        [&](std::size_t operand) { return name_of_operand(called, at, operand); },
        [&](std::size_t result) { return called.names.at(results_at(called.block, at, result)); });
  }

  // With the names of operands and results, by their places.
  template <class OperandName, class ResultName>
  void write_node(NodeId id, std::string_view indent, OperandName operand_name, ResultName result_name) {
    const Node& node = graph_.nodes[id];
    std::vector<std::string> inputs, outputs;
    std::size_t given = node.inputs.size();
    while (given > 0 && node.inputs[given - 1] == no_id) --given;
    for (std::size_t i = 0; i < given; ++i) {
      const ValueId each = node.inputs[i];
      if (each == no_id) {
        inputs.emplace_back("~");
      } else if (builder_.is_number(each)) {
        inputs.push_back(yaml_number(graph_.constants[graph_.value(each).index].values[0], graph_.type(each).dtype));
      } else {
        inputs.push_back(yaml_name(operand_name(i)));
      }
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) outputs.push_back(yaml_name(result_name(i)));
    text_ += fmt::format("{}- {{op: {}", indent, node.op->name);
    if (!inputs.empty()) text_ += fmt::format(", in: {}", one_or_list(inputs));
    text_ += fmt::format(", out: {}", one_or_list(outputs));
    for (const auto& [name, value] : builder_.given_attributes(id))
      text_ += fmt::format(", {}: {}", name, yaml_attribute(value));
    text_ += "}\n";
  }

  void write_outputs() {
    const bool same = std::all_of(what_.outputs.begin(), what_.outputs.end(), [&](const auto& each) {
      return name_of(each.value) == each.name && each.name == each.known && each.note.empty();
    });
    std::vector<std::string> items;
    if (same) {
      for (const auto& each : what_.outputs) items.push_back(yaml_name(each.name));
      text_ += fmt::format("outputs: {}\n", yaml_list(items));
      return;
    }
    text_ += "outputs:\n";
    for (const auto& each : what_.outputs) {
      std::vector<std::string> notes;
      if (each.name != each.known) notes.push_back(comment_text(each.known) + " in the model");
      if (!each.note.empty()) notes.push_back(each.note);
      const std::string comment = notes.empty() ? "" : fmt::format("  # {}", fmt::join(notes, "; "));
      text_ += fmt::format("  {}: {}{}\n", yaml_name(each.name), yaml_name(name_of(each.value)), comment);
    }
  }

  const GraphText& what_;
  GraphBuilder& builder_;
  const Graph& graph_;
  std::string text_;
  std::vector<bool> live_nodes_, live_values_;
  std::vector<NodeId> order_;  // live nodes
  std::vector<Called> called_;
  std::map<ValueId, ValueId> equal_;  // constants in functions
  std::map<ValueId, std::string> names_;
  std::vector<StoredTensor> weights_;
  std::set<std::string> taken_keys_, written_keys_;
};

}  // namespace

WrittenGraph graph_text(const GraphText& what, GraphBuilder& builder) { return TextWriter(what, builder).write(); }

}  // namespace kgen

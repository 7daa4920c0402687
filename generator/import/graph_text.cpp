#include "generator/import/graph_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generator/base/languages.hpp"

namespace kgen {
namespace {

constexpr std::size_t widest_line = 120;

// The shortest decimal that reads back as the same element.
std::string number_text(const Number& number, DType dtype) {
  if (number.is_whole()) return to_text(number);
  const double real = number.real();
  if (std::isnan(real)) return ".nan";
  if (std::isinf(real)) return real < 0 ? "-.inf" : ".inf";
  const auto narrow = static_cast<float>(real);
  const bool fits = dtype != DType::f64 && static_cast<double>(narrow) == real;
  std::string text = fits ? fmt::format("{}", narrow) : fmt::format("{}", real);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  if (const auto exponent = text.find('e'); exponent != text.npos && text.find('.') == text.npos)
    text.insert(exponent, ".0");
  return text;
}

std::string list_text(const std::vector<std::string>& items) { return fmt::format("[{}]", fmt::join(items, ", ")); }

std::string attribute_text(const AttributeValue& value) {
  struct Writer {
    std::string operator()(bool each) const { return each ? "true" : "false"; }
    std::string operator()(std::int64_t each) const { return fmt::format("{}", each); }
    std::string operator()(const Number& each) const { return number_text(each, DType::f32); }
    std::string operator()(const std::string& each) const { return yaml_name(each); }
    std::string operator()(DType each) const { return std::string(info(each).name); }
    std::string operator()(const Dim& each) const { return each.text(); }
    std::string operator()(const std::vector<Dim>& each) const {
      std::vector<std::string> items;
      for (const Dim& dim : each) items.push_back(dim.text());
      return list_text(items);
    }
    std::string operator()(const std::vector<Number>& each) const {
      std::vector<std::string> items;
      for (const Number& number : each) items.push_back(number_text(number, DType::f32));
      return list_text(items);
    }
  };
  return std::visit(Writer{}, value);
}

class TextWriter {
 public:
  TextWriter(const GraphText& what, GraphBuilder& builder) : what_(what), builder_(builder), graph_(builder.graph()) {}

  WrittenGraph write() {
    find_live();
    text_ = fmt::format("# {}\ngraph: {}\n", comment_text(what_.comment), what_.name);
    if (!what_.doc.empty()) text_ += fmt::format("doc: {}\n", yaml_string(what_.doc));
    write_dims();
    write_inputs();
    write_constants();
    text_ += "nodes:\n";
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (live_nodes_[id]) write_node(id);
    }
    write_outputs();
    return {std::move(text_), std::move(weights_)};
  }

 private:
  void find_live() {
    live_nodes_.assign(graph_.nodes.size(), false);
    live_values_.assign(graph_.values.size(), false);
    for (const auto& output : what_.outputs) live_values_[output.value] = true;
    for (NodeId id = static_cast<NodeId>(graph_.nodes.size()); id-- > 0;) {
      const Node& node = graph_.nodes[id];
      live_nodes_[id] =
          std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId each) { return live_values_[each]; });
      if (!live_nodes_[id]) continue;
      for (const ValueId each : node.inputs) {
        if (each != no_id) live_values_[each] = true;
      }
    }
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
      text_ += fmt::format("  {}: {}..{}\n", yaml_name(dim.name), dim.range.low, dim.range.high);
    }
  }

  void write_inputs() {
    if (graph_.inputs.empty()) return;
    text_ += "inputs:\n";
    for (const GraphInput& input : graph_.inputs) {
      const std::string& name = name_of(input.value);
      const std::string type = to_text(graph_.type(input.value));
      const auto known = what_.input_names.find(input.value);
      const bool renamed = known != what_.input_names.end() && known->second != name;
      text_ += renamed ? fmt::format("  {}: {{type: \"{}\", doc: {}}}\n", yaml_name(name), type,
                                     yaml_string(known->second + " in the model"))
                       : fmt::format("  {}: {}\n", yaml_name(name), type);
    }
  }

  void write_constants() {
    std::string section;
    for (const ConstantData& constant : graph_.constants) {
      if (!live_values_[constant.value] || builder_.is_number(constant.value)) continue;
      section += fmt::format("  {}: {}\n", yaml_name(name_of(constant.value)), constant_text(constant));
    }
    if (!section.empty()) text_ += "constants:\n" + section;
  }

  std::string constant_text(const ConstantData& constant) {
    const TensorType& type = graph_.type(constant.value);
    if (const StoredTensor* stored = builder_.stored_of(constant.value)) {
      weights_.push_back(stored);
      return fmt::format("{{type: \"{}\", file: {}, key: {}}}", to_text(type), yaml_name(what_.weights_file),
                         yaml_string(stored->key));
    }
    const auto& values = constant.values;
    const bool same = !values.empty() && std::all_of(values.begin(), values.end(),
                                                     [&](const Number& each) { return same_bits(each, values[0]); });
    if (same && type.shape.empty() && type.dtype == DType::f32) return number_text(values[0], type.dtype);
    if (same) return fmt::format("{{type: \"{}\", values: {}}}", to_text(type), number_text(values[0], type.dtype));
    std::string text = fmt::format("{{type: \"{}\", values: [", to_text(type));
    std::size_t column = text.size() + 4;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string each = number_text(values[i], type.dtype) + (i + 1 < values.size() ? "," : "");
      column += each.size() + 1;
      if (column > widest_line) {
        text += "\n    ";
        column = 5 + each.size();
      } else if (i > 0) {
        text += " ";
      }
      text += each;
    }
    return text + "]}";
  }

  void write_node(NodeId id) {
    const Node& node = graph_.nodes[id];
    std::vector<std::string> inputs, outputs;
    std::size_t given = node.inputs.size();
    while (given > 0 && node.inputs[given - 1] == no_id) --given;
    for (std::size_t i = 0; i < given; ++i) {
      const ValueId each = node.inputs[i];
      if (each == no_id) {
        inputs.emplace_back("~");
      } else if (builder_.is_number(each)) {
        inputs.push_back(number_text(graph_.constants[graph_.value(each).index].values[0], graph_.type(each).dtype));
      } else {
        inputs.push_back(yaml_name(name_of(each)));
      }
    }
    for (const ValueId each : node.outputs) outputs.push_back(yaml_name(name_of(each)));
    std::string line = fmt::format("  - {{op: {}", node.op->name);
    line += fmt::format(", in: {}", inputs.size() == 1 ? inputs[0] : list_text(inputs));
    line += fmt::format(", out: {}", outputs.size() == 1 ? outputs[0] : list_text(outputs));
    for (const auto& [name, value] : builder_.given_attributes(id))
      line += fmt::format(", {}: {}", name, attribute_text(value));
    text_ += line + "}\n";
  }

  void write_outputs() {
    const bool same = std::all_of(what_.outputs.begin(), what_.outputs.end(), [&](const auto& each) {
      return name_of(each.value) == each.name && each.name == each.known && each.note.empty();
    });
    std::vector<std::string> items;
    if (same) {
      for (const auto& each : what_.outputs) items.push_back(yaml_name(each.name));
      text_ += fmt::format("outputs: {}\n", list_text(items));
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
  std::map<ValueId, std::string> names_;
  std::vector<const StoredTensor*> weights_;
};

}  // namespace

WrittenGraph graph_text(const GraphText& what, GraphBuilder& builder) { return TextWriter(what, builder).write(); }

}  // namespace kgen

#include "generator/emit/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "generator/base/languages.hpp"
#include "generator/emit/cpp_text.hpp"
#include "generator/emit/sizes.hpp"

namespace kgen {
namespace {

std::string element_type(DType dtype) {
  return dtype == DType::boolean ? "kgen::ElementType::boolean"
                                 : fmt::format("kgen::ElementType::{}", info(dtype).name);
}

std::string number_text(const Number& number) {
  const double real = number.real();
  if (std::isnan(real)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(real)) return fmt::format("{}std::numeric_limits<double>::infinity()", real < 0 ? "-" : "");
  if (real == 0 && std::signbit(real)) return "-0.0";  // -0 would be a whole number, which has no sign there
  if (number == integer_range(DType::i64).low) return "std::numeric_limits<std::int64_t>::min()";
  const bool needs_suffix = number.is_whole() && !number.as_signed();
  return fmt::format("{}{}", number, needs_suffix ? "u" : "");
}

// The extents of a buffer that holds the tensor whatever its dims are.
std::string greatest_extents(const Shape& shape, const DimRanges& ranges) {
  std::vector<std::string> extents;
  for (const Dim& extent : shape) extents.push_back(std::to_string(extent.range(ranges).high));
  return braced(extents);
}

std::string row_name(const Plan& plan, const TableRow& row, const std::string& name) {
  return row.graph == main_graph ? cpp_string(name) : cpp_string(plan.functions[row.graph].fused.graph.name + "." + name);
}

// The initialisers that every row has.
std::vector<std::string> row_items(const Plan& plan, const TableRow& row, ValueId value) {
  const Graph& graph = graph_of(plan, row.graph).fused.graph;
  const TensorType& type = graph.type(value);
  return {".name = " + row_name(plan, row, graph.value(value).name), ".type = " + element_type(type.dtype),
          ".shape = " + greatest_extents(type.shape, ranges_of(graph))};
}

void write_row(Writer& writer, std::vector<std::string> items, const TableRow& row, const CallNumbers& numbers) {
  const std::int64_t calls = row.graph == main_graph || row.shared ? 1 : numbers.calls[row.graph];
  if (calls > 1) items.push_back(fmt::format(".calls = {}", calls));
  if (row.load_only) items.push_back(".load_only = true");
  write_list(writer, "{", items, "},");
}

// Where the elements come from; nothing where none are given.
void add_given(std::vector<std::string>& items, const GivenElements& given) {
  if (!given.file.empty()) {
    items.push_back(".file = " + cpp_string(given.file));
    items.push_back(".key = " + cpp_string(given.key));
  } else if (!given.values.empty()) {
    // Each number is an item of its own, so that lines break between them.
    items.push_back(".values = {" + number_text(given.values.front()));
    for (std::size_t i = 1; i < given.values.size(); ++i) items.push_back(number_text(given.values[i]));
    items.back() += "}";
  }
}

void write_constant(Writer& writer, const Plan& plan, const TableRow& row, const CallNumbers& numbers) {
  const ConstantData& constant = graph_of(plan, row.graph).fused.graph.constants[row.index];
  std::vector<std::string> items = row_items(plan, row, constant.value);
  add_given(items, constant);
  write_row(writer, std::move(items), row, numbers);
}

void write_state(Writer& writer, const Plan& plan, const TableRow& row, const CallNumbers& numbers) {
  const StateData& state = graph_of(plan, row.graph).fused.graph.states[row.index];
  std::vector<std::string> items = row_items(plan, row, state.value);
  add_given(items, state.initial);
  write_row(writer, std::move(items), row, numbers);
}

void write_persistent(Writer& writer, const Plan& plan, const TableRow& row, const CallNumbers& numbers) {
  write_row(writer, row_items(plan, row, graph_of(plan, row.graph).persistent[row.index]), row, numbers);
}

// A section of the descriptor: write_one(writer, plan, row, numbers) for each row.
template <class WriteOne>
void write_rows(Writer& writer, const Plan& plan, std::string_view member, const std::vector<TableRow>& rows,
                const CallNumbers& numbers, WriteOne write_one) {
  if (rows.empty()) return;
  const auto block = writer.block(fmt::format(".{}{{", member), "},");
  for (const TableRow& row : rows) write_one(writer, plan, row, numbers);
}

void write_tensors(Writer& writer, const Graph& graph, std::string_view member,
                   const std::vector<Argument>& arguments) {
  if (arguments.empty()) return;
  const auto block = writer.block(fmt::format(".{}{{", member), "},");
  for (const Argument& argument : arguments) {
    const TensorType& type = graph.type(argument.value);
    std::vector<std::string> dims;
    for (const Dim& extent : type.shape) dims.push_back(cpp_string(extent.text()));
    const std::string head =
        fmt::format("{{.name = {}, .type = {}, .dims = {{", cpp_string(argument.name), element_type(type.dtype));
    std::string tail = argument.strided ? "}, .strided = true" : "}";
    if (argument.is_size) tail += ", .on_host = true";
    write_list(writer, head, dims, tail + "},");
  }
}

}  // namespace

const FunctionPlan& graph_of(const Plan& plan, GraphIndex graph) {
  return graph == main_graph ? plan.main : plan.functions[graph];
}

std::vector<bool> touched_values(const FunctionPlan& plan, const std::vector<Step>& steps) {
  std::vector<bool> touched(plan.placements.size(), false);
  for (const Step& step : steps) {
    for (ValueId value : step.arguments) {
      for (; value != no_id && !touched[value]; value = plan.placements[value].base) touched[value] = true;
    }
  }
  return touched;
}

CallNumbers number_calls(const Plan& plan) {
  const std::size_t count = plan.functions.size();
  CallNumbers numbers;
  numbers.makes.assign(count, std::vector<bool>(count, false));
  numbers.calls.assign(count, 0);
  // A call node's last call is its last repeat in the last call of the graph that holds it.
  const auto count_calls = [&](const Graph& graph, std::int64_t runs, std::vector<bool>* makes) {
    for (const Node& node : graph.nodes) {
      const auto* call = std::get_if<Call>(&node.kind);
      if (!call || runs == 0) continue;
      const std::int64_t end = call->first_index + (runs - 1) * call->index_stride + call->repeat;
      numbers.calls[call->function] = std::max(numbers.calls[call->function], end);
      if (makes) (*makes)[call->function] = true;
    }
  };
  count_calls(plan.main.fused.graph, 1, nullptr);
  // A function calls only functions before it, so from the last one on all callers of a function are done before it.
  for (std::size_t caller = count; caller-- > 0;) {
    count_calls(plan.functions[caller].fused.graph, numbers.calls[caller], &numbers.makes[caller]);
  }
  return numbers;
}

Tables make_tables(const Plan& plan, const CallNumbers& numbers) {
  Tables tables;
  const auto add = [&](GraphIndex index, Tables::Rows& rows, LoadPhase& phase) {
    const FunctionPlan& function = graph_of(plan, index);
    const Graph& graph = function.fused.graph;
    phase = load_phase(function);
    const std::vector<bool> in_load = touched_values(function, function.load_steps);
    const std::vector<bool> in_run = touched_values(function, function.steps);
    rows.constants.assign(graph.constants.size(), no_id);
    for (std::uint32_t i = 0; i < graph.constants.size(); ++i) {
      if (!in_load[graph.constants[i].value] && !in_run[graph.constants[i].value]) continue;
      rows.constants[i] = static_cast<std::uint32_t>(tables.constants.size());
      tables.constants.push_back({index, i, phase.load_only[i]});
    }
    for (std::uint32_t i = 0; i < graph.states.size(); ++i) {
      rows.states.push_back(static_cast<std::uint32_t>(tables.states.size()));
      tables.states.push_back({index, i});
    }
    for (std::uint32_t i = 0; i < function.persistent.size(); ++i) {
      rows.persistents.push_back(static_cast<std::uint32_t>(tables.persistents.size()));
      tables.persistents.push_back({index, i, false, phase.shared[i]});
    }
  };
  add(main_graph, tables.by_main, tables.phase_of_main);
  tables.by_function.resize(plan.functions.size());
  tables.phase_by_function.resize(plan.functions.size());
  for (GraphIndex i = 0; i < plan.functions.size(); ++i) {
    if (numbers.calls[i] > 0) add(i, tables.by_function[i], tables.phase_by_function[i]);
  }
  return tables;
}

std::vector<Argument> input_arguments(const Graph& graph) {
  std::vector<Argument> arguments;
  for (const GraphInput& input : graph.inputs) {
    arguments.push_back({graph.value(input.value).name, input.value, input.strided, is_size(graph, input.value)});
  }
  return arguments;
}

std::vector<Argument> output_arguments(const Graph& graph) {
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) arguments.push_back({output_name(graph, i), graph.outputs[i]});
  return arguments;
}

void write_descriptor(Writer& writer, const Plan& plan, const Tables& tables, const CallNumbers& numbers) {
  const Graph& graph = plan.main.fused.graph;
  writer.line(".name = {},", cpp_string(graph.name));
  write_tensors(writer, graph, "inputs", input_arguments(graph));
  write_tensors(writer, graph, "outputs", output_arguments(graph));
  write_rows(writer, plan, "constants", tables.constants, numbers, write_constant);
  write_rows(writer, plan, "states", tables.states, numbers, write_state);
  write_rows(writer, plan, "persistents", tables.persistents, numbers, write_persistent);
}

}  // namespace kgen

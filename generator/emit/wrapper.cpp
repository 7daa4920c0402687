#include "generator/emit/wrapper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/emit/banner.hpp"
#include "generator/emit/check.hpp"
#include "generator/emit/cpp_text.hpp"
#include "generator/emit/emitted_body.hpp"
#include "generator/emit/project.hpp"
#include "generator/emit/sizes.hpp"
#include "generator/emit/structs.hpp"

namespace kgen {
namespace {

using Kind = Placement::Kind;

// ---- memory of the model --------------------------------------------------------------------------------------------

// A constant, a state or a result of load that steps touch.
struct ModelMemory {
  ValueId value = no_id;
  Kind kind = Kind::constant;
  std::uint32_t row = 0;
  bool writable = false;
  bool shared = false;     // by all calls of a function
  bool load_only = false;  // a constant that no call reads
};

std::vector<ModelMemory> model_memory(const WrapperFacts& facts, GraphIndex index, const std::vector<Step>& steps) {
  const FunctionPlan& plan = graph_of(facts.plan, index);
  const Graph& graph = plan.fused.graph;
  const Tables::Rows& rows = facts.tables.rows(index);
  const std::vector<bool> touched = touched_values(plan, steps);
  std::vector<bool> touched_states(graph.states.size(), false);
  for (ValueId id = 0; id < touched.size(); ++id) {
    if (touched[id] && plan.placements[id].kind == Kind::state) touched_states[plan.placements[id].index] = true;
  }
  std::vector<ModelMemory> memory;
  for (std::size_t i = 0; i < graph.constants.size(); ++i) {
    const ValueId value = graph.constants[i].value;
    const bool load_only = facts.tables.phase(index).load_only[i];
    if (touched[value]) memory.push_back({value, Kind::constant, rows.constants[i], false, false, load_only});
  }
  for (std::size_t i = 0; i < graph.states.size(); ++i) {
    if (touched_states[i]) memory.push_back({graph.states[i].value, Kind::state, rows.states[i], true});
  }
  for (std::size_t i = 0; i < plan.persistent.size(); ++i) {
    const ValueId value = plan.persistent[i];
    const bool shared = facts.tables.phase(index).shared[i];
    if (touched[value]) memory.push_back({value, Kind::persistent, rows.persistents[i], false, shared});
  }
  return memory;
}

// "call.constant<float, 2>(0, index)"; `index` is empty for the memory of the main graph.
std::string memory_text(EmittedBody& emitted, const ModelMemory& memory, const std::string& index) {
  const TensorType& type = emitted.graph().type(memory.value);
  const std::string_view what = memory.kind == Kind::constant ? "constant"
                                : memory.kind == Kind::state  ? "state"
                                                              : "persistent";
  std::string text =
      fmt::format("{}.{}<{}, {}>({}", emitted.names().call, what, cpp_element(type), type.shape.size(), memory.row);
  if (memory.kind == Kind::state) text += ", " + braced(emitted.sizes(type.shape));
  return text + (index.empty() || memory.shared ? ")" : ", " + index + ")");
}

void define_memory(Writer& writer, EmittedBody& emitted, const std::vector<ModelMemory>& memory,
                   const std::string& index) {
  for (const ModelMemory& item : memory) {
    const std::string text = memory_text(emitted, item, index);
    write_list(writer, fmt::format("const auto {} = ", emitted.name_value(item.value)), {text}, ";");
  }
}

// ---- the arena ------------------------------------------------------------------------------------------------------

void define_arena(Writer& writer, EmittedBody& emitted, const std::vector<Slot>& slots,
                  const std::vector<Step>& steps) {
  if (slots.empty()) return;
  const EmittedBody::Names& names = emitted.names();
  writer.line();
  writer.line("// Arena: values that are never alive together share a slot.");
  emitted.write_slots(writer, fmt::format("const auto {} = kgen::lay_out({{", names.slot), "});", slots, steps);
  writer.line("const kgen::Arena {} = {}.arena({}.total);", names.arena, names.call, names.slot);
  emitted.write_arena_views(writer, touched_values(emitted.plan(), steps));
}

// ---- load -----------------------------------------------------------------------------------------------------------

// One step after another: in front of each the memory that it is the first to touch, and behind it the constants that
// nothing reads any more.
void write_load_steps(Writer& writer, EmittedBody& emitted, const std::vector<ModelMemory>& memory,
                      const std::vector<Step>& steps, const std::string& index) {
  const std::vector<Touched> touched = touched_by(emitted.plan(), steps);
  std::vector<std::vector<ModelMemory>> begins(steps.size()), ends(steps.size());
  for (const ModelMemory& item : memory) {
    begins[touched[item.value].first].push_back(item);
    if (item.load_only) ends[touched[item.value].last].push_back(item);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0 && !begins[i].empty()) writer.line();
    define_memory(writer, emitted, begins[i], index);
    emitted.write_steps(writer, {steps[i]});
    for (const ModelMemory& item : ends[i]) {
      writer.line("{}.release_constant({}{});  // {}", emitted.names().call, item.row,
                  index.empty() ? "" : ", " + index, emitted.graph().value(item.value).name);
    }
  }
}

// What depends on constants alone. `index` is the number of the call; empty: what all calls share, or the main graph.
void write_load_body(Writer& writer, const WrapperFacts& facts, GraphIndex graph, const std::vector<Step>& steps,
                     bool is_numbered) {
  EmittedBody emitted(facts, graph);
  const FunctionPlan& plan = emitted.plan();
  const std::vector<bool> touched = touched_values(plan, steps);
  bool any_slot = false;
  for (ValueId id = 0; id < touched.size(); ++id) any_slot |= touched[id] && plan.placements[id].kind == Kind::arena;
  Writer body(2, 1);
  if (any_slot) {
    define_arena(body, emitted, plan.load_slots, steps);
    body.line();
  }
  write_load_steps(body, emitted, model_memory(facts, graph, steps), steps, is_numbered ? emitted.names().index : "");

  const std::vector<std::string> dims = emitted.used_dims();
  write_fixed_sizes(writer, facts.plan, dims);
  std::string_view text = body.text();
  if (dims.empty() && text.starts_with('\n')) text.remove_prefix(1);
  writer.append(text);
}

// The load steps of a function that run once for all its calls, or for each.
std::vector<Step> load_steps(const WrapperFacts& facts, GraphIndex function, bool once) {
  const std::vector<Step>& all = facts.plan.functions[function].load_steps;
  std::vector<Step> steps;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (facts.tables.phase(function).once[i] == once) steps.push_back(all[i]);
  }
  return steps;
}

void write_function_load(Writer& writer, const WrapperFacts& facts, GraphIndex function) {
  const FunctionFacts& names = facts.functions[function];
  if (const auto shared = load_steps(facts, function, true); !shared.empty()) {
    writer.line();
    writer.line("// What all calls of {} share of what they compute from constants alone.", names.name);
    const auto block = writer.block(fmt::format("void {}(kgen::Call& call) {{", names.load_shared));
    write_load_body(writer, facts, function, shared, false);
  }
  if (const auto own = load_steps(facts, function, false); !own.empty()) {
    writer.line();
    writer.line("// What one call of {} computes from its constants alone.", names.name);
    const auto block = writer.block(fmt::format("void {}(kgen::Call& call, std::int64_t index) {{", names.load));
    write_load_body(writer, facts, function, own, true);
  }
}

bool has_load(const WrapperFacts& facts) {
  bool any = !facts.plan.main.load_steps.empty();
  for (std::size_t i = 0; i < facts.functions.size(); ++i) {
    any = any || (facts.numbers.calls[i] > 0 && !facts.plan.functions[i].load_steps.empty());
  }
  return any;
}

void write_load(Writer& writer, const WrapperFacts& facts) {
  if (!has_load(facts)) return;
  writer.line();
  writer.line("// What depends on constants alone: computed once, and kept.");
  const auto block = writer.block("void load(kgen::Call& call) {");
  write_load_body(writer, facts, main_graph, facts.plan.main.load_steps, false);
  for (GraphIndex i = 0; i < facts.functions.size(); ++i) {
    const std::int64_t calls = facts.numbers.calls[i];
    if (calls == 0) continue;
    if (!load_steps(facts, i, true).empty()) writer.line("{}(call);", facts.functions[i].load_shared);
    if (load_steps(facts, i, false).empty()) continue;
    writer.line("for (std::int64_t index = 0; index < {}; ++index) {}(call, index);", calls, facts.functions[i].load);
  }
}

// ---- functions ------------------------------------------------------------------------------------------------------

std::vector<std::string> dim_parameters(const std::vector<std::string>& dims) {
  std::vector<std::string> parameters;
  for (const std::string& dim : dims) parameters.push_back("std::int64_t " + dim);
  return parameters;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// The struct of a call's memory, and the function that finds it. The values stand for its members from then on.
void write_memory(Writer& writer, FunctionFacts& names, EmittedBody& function, const WrapperFacts& facts,
                  GraphIndex index) {
  const std::vector<ModelMemory> memory = model_memory(facts, index, function.plan().steps);
  names.has_memory = !memory.empty();
  if (memory.empty()) return;
  EmittedBody emitted(facts, index);
  Writer body(2, 2);
  NameTable members;
  members.reserve(names.memory);
  writer.line();
  writer.line("// What belongs to one call of {}: its constants, state and results of load.", names.name);
  {
    const auto block = writer.block(fmt::format("struct {} {{", names.memory), "};");
    for (const ModelMemory& item : memory) {
      const TensorType& type = function.graph().type(item.value);
      const std::string member = members.unique(function.graph().value(item.value).name);
      writer.line("{} {};{}", view_type(type, type.shape.size(), item.writable), member,
                  item.kind == Kind::persistent ? "  // computed by load" : "");
      body.line(".{} = {},", member, memory_text(emitted, item, emitted.names().index));
      function.set_text(item.value, function.names().memory + "." + member);
    }
  }
  names.memory_dims = emitted.used_dims();
  std::vector<std::string> parameters = {fmt::format("kgen::Call& {}", emitted.names().call),
                                         fmt::format("std::int64_t {}", emitted.names().index)};
  append(parameters, dim_parameters(names.memory_dims));
  writer.line();
  write_list(writer, fmt::format("{} {}(", names.memory, names.memory_of), parameters, ") {");
  writer.line("  return {{");
  writer.append(body.text());
  writer.line("  }};");
  writer.line("}}");
}

void write_slots_function(Writer& writer, FunctionFacts& names, const WrapperFacts& facts, GraphIndex index) {
  EmittedBody emitted(facts, index);
  const FunctionPlan& plan = emitted.plan();
  names.arena_bytes = arena_bytes(plan);
  if (plan.slots.empty()) return;
  Writer body(2, 1);
  emitted.write_slots(body, "return kgen::lay_out({", "});", plan.slots, plan.steps);
  names.slots_dims = emitted.used_dims();
  writer.line();
  writer.line("// The arena of one call of {}: values that are never alive together share a slot.", names.name);
  write_list(writer, fmt::format("kgen::Offsets<{}> {}(", plan.slots.size(), names.slots),
             dim_parameters(names.slots_dims), ") {");
  writer.append(body.text());
  writer.line("}}");
}

bool makes_numbered_calls(const WrapperFacts& facts, GraphIndex index) {
  for (std::size_t callee = 0; callee < facts.functions.size(); ++callee) {
    const FunctionFacts& other = facts.functions[callee];
    if (facts.numbers.makes[index][callee] && (other.has_memory || other.needs_index)) return true;
  }
  return false;
}

// "kgen::View<const float, 2> x"; a parameter that nothing reads has no name.
std::string parameter(EmittedBody& emitted, ValueId value, bool writable, const std::vector<bool>& touched) {
  const TensorType& type = emitted.graph().type(value);
  const std::string& name = emitted.name_value(value);
  return view_type(type, type.shape.size(), writable) + (touched[value] ? " " + name : fmt::format(" /*{}*/", name));
}

void write_function(Writer& writer, WrapperFacts& facts, GraphIndex index) {
  FunctionFacts& own = facts.functions[index];
  EmittedBody emitted(facts, index);
  const FunctionPlan& plan = emitted.plan();
  own.needs_index = makes_numbered_calls(facts, index);
  write_memory(writer, own, emitted, facts, index);
  write_slots_function(writer, own, facts, index);
  write_function_load(writer, facts, index);

  const EmittedBody::Names& names = emitted.names();
  const std::vector<bool> touched = touched_values(plan, plan.steps);
  std::vector<std::string> parameters = {"kgen::Call& " + names.call};
  if (!plan.slots.empty()) parameters.push_back("const kgen::Arena& " + names.arena);
  if (own.has_memory) parameters.push_back(fmt::format("const {}& {}", own.memory, names.memory));
  if (own.needs_index) parameters.push_back("std::int64_t " + names.index);
  for (const ValueId output : plan.fused.graph.outputs) parameters.push_back(parameter(emitted, output, true, touched));
  for (const GraphInput& input : plan.fused.graph.inputs)
    parameters.push_back(parameter(emitted, input.value, false, touched));

  Writer body(2, 1);
  if (!plan.slots.empty()) {
    emitted.use(own.slots_dims);
    body.line("const auto {} = {}({});", names.slot, own.slots, fmt::join(own.slots_dims, ", "));
    emitted.write_arena_views(body, touched);
    body.line();
  }
  emitted.write_fork(body);
  emitted.write_steps(body, plan.steps);
  own.dims = emitted.used_dims();
  append(parameters, dim_parameters(own.dims));
  writer.line();
  write_list(writer, fmt::format("void {}(", own.name), parameters, ") {");
  writer.append(body.text());
  writer.line("}}");
}

// ---- run ------------------------------------------------------------------------------------------------------------

void define_arguments(Writer& writer, EmittedBody& emitted, const std::vector<bool>& touched) {
  const Graph& graph = emitted.graph();
  const std::string& call = emitted.names().call;
  Writer lines(2, 1);
  const auto define = [&](ValueId value, const std::string& how, std::size_t index, bool needed) {
    const TensorType& type = graph.type(value);
    const std::string head = needed ? fmt::format("const auto {} = {}.{}", emitted.name_value(value), call, how)
                                    : fmt::format("{}.{}", call, how);
    write_list(lines, fmt::format("{}<{}, {}>({}, {{", head, cpp_element(type), type.shape.size(), index),
               emitted.sizes(type.shape), "});", needed ? "" : "// not read, but checked");
  };
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId value = graph.inputs[i].value;
    if (!touched[value] && is_size(graph, value)) continue;
    define(value, graph.inputs[i].strided ? "strided_input" : "input", i, touched[value]);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) define(graph.outputs[i], "output", i, true);
  if (lines.text().empty()) return;
  writer.line();
  writer.line(
      "// Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.");
  writer.append(lines.text());
}

void write_run(Writer& writer, const WrapperFacts& facts) {
  EmittedBody emitted(facts, main_graph);
  const FunctionPlan& plan = facts.plan.main;
  Writer body(2, 1);
  define_arguments(body, emitted, touched_values(plan, plan.steps));
  if (const auto memory = model_memory(facts, main_graph, plan.steps); !memory.empty()) {
    body.line();
    body.line("// Memory of the model.");
    define_memory(body, emitted, memory, "");
  }
  define_arena(body, emitted, plan.slots, plan.steps);
  body.line();
  emitted.write_fork(body);
  emitted.write_steps(body, plan.steps);

  const std::vector<DimRequirement>& requirements = facts.plan.open_requirements;
  for (const DimRequirement& requirement : requirements) {
    emitted.size(requirement.left);
    emitted.size(requirement.right);
  }
  writer.line();
  const auto block = writer.block(fmt::format("void run(kgen::Call& {}) {{", emitted.names().call));
  const bool any_sizes = write_sizes(writer, facts.plan, emitted.used_dims(), emitted.names().call);
  write_requirements(writer, requirements, emitted.names().call);
  // Without sizes the body's first section needs no blank line before it.
  std::string_view text = body.text();
  if (!any_sizes && requirements.empty() && text.starts_with('\n')) text.remove_prefix(1);
  writer.append(text);
}

// ---- the file -------------------------------------------------------------------------------------------------------

WrapperFacts gather(const Plan& plan) {
  CallNumbers numbers = number_calls(plan);
  Tables tables = make_tables(plan, numbers);
  WrapperFacts facts{plan, std::move(numbers), std::move(tables), NameTable(), {}, {}, {}};
  std::uint32_t next_event = 0;
  facts.events_of_main = number_events(plan.main, next_event);
  for (const FunctionPlan& function : plan.functions) {
    facts.events_by_function.push_back(number_events(function, next_event));
  }
  for (const StubProgram& stub : plan.stubs) facts.globals.reserve(stub.name);
  if (plan.check) {
    for (const StubUse& use : plan.check->uses) facts.globals.reserve(checked_name(use));
  }
  for (const DimDeclaration& dim : plan.main.fused.graph.dims) facts.globals.reserve(dim.name);
  for (const StructType* structure : structs_of(plan)) facts.globals.reserve_global(structure->name);
  facts.globals.reserve("load");
  facts.globals.reserve("run");
  for (const FunctionPlan& function : plan.functions) {
    FunctionFacts names;
    names.name = facts.globals.unique(function.fused.graph.name);
    names.memory = facts.globals.unique(names.name + "_memory");
    names.memory_of = facts.globals.unique(names.memory + "_of");
    names.slots = facts.globals.unique(names.name + "_slots");
    names.load = facts.globals.unique(names.name + "_load");
    names.load_shared = facts.globals.unique(names.name + "_load_shared");
    facts.functions.push_back(std::move(names));
  }
  return facts;
}

SourceFile emit_source(const Plan& plan, const EmitOptions& options) {
  WrapperFacts facts = gather(plan);
  const std::string& name = plan.main.fused.graph.name;
  const std::string space = namespace_name(name);
  Writer functions;
  for (GraphIndex i = 0; i < plan.functions.size(); ++i) {
    if (facts.numbers.calls[i] > 0) write_function(functions, facts, i);
  }
  write_load(functions, facts);
  write_run(functions, facts);
  Writer descriptor(2, 2);
  write_descriptor(descriptor, plan, facts.tables, facts.numbers);

  Writer writer;
  writer.line("#include \"{}.hpp\"", name);
  writer.line();
  writer.line("#include <cstdint>");
  if (descriptor.text().find("std::numeric_limits") != std::string::npos) writer.line("#include <limits>");
  writer.line();
  writer.line("#include \"kgen/runtime/call.hpp\"");
  writer.line("#include \"kgen/runtime/graph_info.hpp\"");
  writer.line("#include \"{}.hpp\"", plan.check ? "check" : "stubs");
  writer.line();
  writer.line("namespace {} {{", space);
  writer.line("namespace {{");
  writer.append(functions.text());
  writer.line();
  writer.line("}}  // namespace");
  writer.line("}}  // namespace {}", space);
  writer.line();
  {
    const auto function = writer.block(fmt::format("const kgen_graph* kgen_graph_{}(void) {{", name));
    {
      const auto graph = writer.block("static const kgen::GraphInfo graph = {", "};");
      writer.append(descriptor.text());
      if (has_load(facts)) writer.line(".load = {}::load,", space);
      writer.line(".run = {}::run,", space);
      if (plan.check) writer.line(".checkable = true,");
      if (!options.target->device.empty()) writer.line(".device = &{},", options.target->device);
    }
    writer.line("return kgen::as_c(graph);");
  }
  return {name + ".cpp", with_banner(options, writer.take())};
}

}  // namespace

std::vector<SourceFile> emit_wrapper(const Plan& plan, const EmitOptions& options) {
  return {emit_header(plan, options), emit_source(plan, options), emit_stub_header(plan, options),
          emit_build_file(plan, options), emit_source_list(plan, options)};
}

}  // namespace kgen

#include "generator/pass/lower/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "generator/base/ensure.hpp"
#include "generator/base/parallel.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/lower/kernel_parameters.hpp"
#include "generator/pass/lower/lower_body.hpp"
#include "generator/pass/lower/lower_views.hpp"
#include "generator/pass/lower/program_key.hpp"

namespace kgen {
namespace {

// A kernel walks a value of any rank along the axes that it has.
int walked_rank(const KernelOperand& operand, const Shape& shape) {
  return operand.rank < 0 ? static_cast<int>(shape.size()) : operand.rank;
}

void use_general_names(Functor& functor) {
  for (Functor::Incoming& each : functor.incoming) each.name = each.general;
  for (Functor::Incoming& each : functor.of_row) each.name = each.general;
  for (FunctorMember& member : functor.members) member.name = member.general;
  for (Statement& statement : functor.statements) statement.names = statement.general;
}

void use_general_names(StubProgram& stub) {
  for (StubParameter& parameter : stub.parameters) parameter.name = parameter.general;
  for (Functor& functor : stub.functors) {
    functor.name = functor.general;
    use_general_names(functor);
  }
}

// What a struct's text calls what its objects see: members of which all see the same parameter keep their names.
void name_for_all(Functor& text, const std::vector<Functor*>& objects) {
  const Functor own = text;
  use_general_names(text);
  for (std::size_t i = 0; i < text.members.size(); ++i) {
    const bool same = std::all_of(objects.begin(), objects.end(), [&](const Functor* object) {
      return object->members[i].view.parameter == own.members[i].view.parameter;
    });
    if (same) text.members[i].name = own.members[i].name;
  }
}

// Prologues of one operand of siblings that are the same but for what they see become objects of one struct: the kernel
// may treat them alike, and people read it once.
void share_structs(StubProgram& stub) {
  std::vector<std::pair<std::string, std::vector<Functor*>>> alike;
  const auto add = [&](const KernelArgument& argument) {
    if (argument.kind != KernelArgument::Kind::functor) return;
    Functor& functor = stub.functors[argument.functor];
    if (functor.role != Functor::Role::prologue) return;
    std::string key = struct_key(stub, functor);
    const auto same = std::find_if(alike.begin(), alike.end(), [&](const auto& each) { return each.first == key; });
    if (same != alike.end()) return same->second.push_back(&functor);
    alike.push_back({std::move(key), {&functor}});
  };
  const std::vector<KernelArgument>& all = stub.kernel_arguments;
  for (std::size_t i = 0; i < all.size(); i += all[i].bundled) {
    if (all[i].bundle != KernelArgument::Bundle::several) continue;
    for (std::size_t each = i; each < i + all[i].bundled; ++each) add(all[each]);
  }
  int number = 0;
  for (const auto& [key, objects] : alike) {
    if (objects.size() == 1) continue;
    const std::string name = stub.name + "_prologue" + (++number == 1 ? "" : fmt::format("_{}", number));
    for (Functor* object : objects) object->structure = name;
    name_for_all(*objects.front(), objects);
  }
}

class Lowering {
 public:
  Lowering(const FuseFacts& facts, const OpSet& ops, const Group& group, const std::string& prefix)
      : facts_(facts),
        graph_(facts.graph()),
        ops_(ops),
        group_(group),
        roots_(roots_of(group)),
        names_(facts, group),
        parameters_(stub_arguments(facts.graph(), group)) {
    stub_.name = prefix + result_name(facts, group);
  }

  std::vector<HeldValue> held() {
    hold_ = true;
    add_functors();
    return std::move(held_);
  }

  StubProgram build() {
    stub_.kind = group_.kind;
    add_parameters();
    add_functors();
    share_structs(stub_);
    add_headers();
    return std::move(stub_);
  }

 private:
  void add_functors() {
    if (group_.kind == GroupKind::structured) {
      add_structured();
    } else {
      add_loop();
    }
  }

  // The number of the functor that `request` becomes.
  std::size_t add_functor(BodyRequest request) {
    request.hold = hold_;
    LoweredBody body = lower_body(facts_, ops_, names_, request, parameters_);
    for (HeldValue& held : body.held) {
      held.functor = stub_.functors.size();
      held_.push_back(std::move(held));
    }
    stub_.functors.push_back(std::move(body.functor));
    return stub_.functors.size() - 1;
  }

  void add_parameters() {
    for (const ValueId value : parameters_) {
      const TensorType& type = graph_.type(value);
      const bool writable = stub_.parameters.size() < group_.outputs.size();
      stub_.parameters.push_back(
          {.name = graph_.value(value).name, .general = names_.of(value), .type = type, .writable = writable});
    }
  }

  void add_loop() {
    BodyRequest request;
    request.role = group_.kind == GroupKind::rows ? Functor::Role::rows : Functor::Role::elementwise;
    request.name = stub_.name + (group_.kind == GroupKind::rows ? "_rows" : "_elementwise");
    request.general = request.name;
    request.space = {group_.loop, group_.row_axes, -1};
    request.nodes = group_.nodes;
    request.stores = group_.outputs;
    // Merging leaves the outer axes' part of the rank to the rows' number of axes.
    const Functor& functor = stub_.functors[add_functor(std::move(request))];
    int row_rank = static_cast<int>(group_.row_axes.size());
    const int outer = static_cast<int>(group_.loop.size()) - row_rank;
    if (!functor.members.empty()) {
      for (const auto& [first, last] : functor.members.front().view.merges) {
        if (first >= outer) row_rank -= last - first;
      }
    }
    if (group_.kind != GroupKind::rows) return;
    stub_.row_rank = row_rank;
    stub_.row_length = 1;
    for (const int axis : group_.row_axes) {
      const Dim& extent = group_.loop[axis];
      stub_.row_length *= extent.is_constant() ? extent.constant() : 0;
    }
  }

  void add_structured() {
    const Node& root = graph_.nodes[group_.root];
    const KernelSignature* kernel = root.kernel;
    ensure(kernel != nullptr, "choose_kernels reports operators that no kernel implements");
    stub_.kernel = kernel->name;
    stub_.kernel_parameters = kernel_parameters(facts_, group_, roots_);
    for (std::size_t i = 0; i < std::min(kernel->operands.size(), root.inputs.size()); ++i) {
      // An overload of the kernel does without those that are left out.
      if (root.inputs[i] != no_id) add_kernel_operand(kernel->operands[i], i);
    }
    for (const KernelAttribute& attribute : kernel->attributes) {
      const AttributeValue* value = find_attribute(root.attributes, attribute.name);
      ensure(value != nullptr, "kernels' attributes are the operator's");
      KernelArgument argument;
      argument.attribute = {*value, attribute.type};
      argument.name = attribute.name;
      stub_.kernel_arguments.push_back(std::move(argument));
    }
    if (!group_.row_state.nodes.empty()) add_row_state();
    if (!group_.statistics.nodes.empty()) add_statistics();
    std::size_t given = 0;
    for (std::size_t i = 0; i < root.outputs.size(); i += given) {
      given = roots_.size() > 1 ? 1 : static_cast<std::size_t>(kernel->results[i].joint);
      add_kernel_results(i, given);
    }
  }

  // What makes the numbers of a row, for the epilogues that read them.
  void add_row_state() {
    BodyRequest request;
    request.role = Functor::Role::row_state;
    request.name = stub_.name + "_rows";
    request.general = request.name;
    request.space = {group_.row_state.loop, {static_cast<int>(group_.row_state.loop.size()) - 1}, -1};
    request.nodes = group_.row_state.nodes;
    request.of_row = group_.row_state.results;
    row_state_ = add_functor(std::move(request));
    for (const FunctorMember& member : stub_.functors[row_state_].members) {
      ensure(member.view.rank == 2, "fuse lets only rows that a kernel can walk into its epilogues");
    }
  }

  // What makes numbers of each row of what the group stores.
  void add_statistics() {
    const Shape& loop = graph_.type(group_.statistics.of).shape;
    BodyRequest request;
    request.role = Functor::Role::statistics;
    request.name = stub_.name + "_statistics";
    request.general = request.name;
    request.space = {loop, {static_cast<int>(loop.size()) - 1}, -1};
    request.nodes = group_.statistics.nodes;
    for (const ValueId output : group_.outputs) {
      if (std::binary_search(request.nodes.begin(), request.nodes.end(), graph_.value(output).producer)) {
        request.stores.push_back(output);
      }
    }
    statistics_ = add_functor(std::move(request));
    for (const FunctorMember& member : stub_.functors[statistics_].members) {
      ensure(member.view.rank == 2, "fuse lets a kernel make numbers only of rows that it can walk");
    }
  }

  bool reads_row_state(const Epilogue& epilogue) const {
    const std::vector<ValueId>& made = group_.row_state.results;
    return std::any_of(epilogue.nodes.begin(), epilogue.nodes.end(), [&](NodeId id) {
      const std::vector<ValueId>& inputs = graph_.nodes[id].inputs;
      return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
        return input != no_id && std::find(made.begin(), made.end(), facts_.unshaped(input)) != made.end();
      });
    });
  }

  // The argument for an operand: of each sibling its own, where they differ in it.
  void add_kernel_operand(const KernelOperand& operand, std::size_t index) {
    const bool of_each = roots_.size() > 1 && operand.several > 1;
    const std::size_t first = stub_.kernel_arguments.size();
    for (const NodeId root : roots_) {
      if (root == group_.root || of_each) add_operand_of(root, operand, index, of_each);
    }
    bundle(first, KernelArgument::Bundle::several);
  }

  void add_operand_of(NodeId root, const KernelOperand& operand, std::size_t index, bool of_each) {
    const ValueId value = graph_.nodes[root].inputs[index];
    const bool own = operand.several > 1;
    const auto prologue = std::find_if(group_.prologues.begin(), group_.prologues.end(), [&](const Prologue& each) {
      return each.operand == index && (!own || each.reader == root);
    });
    KernelArgument argument;
    if (prologue != group_.prologues.end()) {
      BodyRequest request;
      request.role = Functor::Role::prologue;
      request.name = fmt::format("{}_prologue_{}", stub_.name, operand.name);
      request.general = request.name;
      if (of_each) name_after(request, facts_.unshaped(value));
      request.space = {graph_.type(value).shape, {}, walked_rank(operand, graph_.type(value).shape)};
      request.nodes = prologue->nodes;
      request.result = value;
      argument.kind = KernelArgument::Kind::functor;
      argument.functor = add_functor(std::move(request));
    } else {
      argument.kind = KernelArgument::Kind::parameter;
      const StubRead read = stub_read(graph_, value);
      argument.view = operand_view(graph_.type(value).shape, operand.rank, parameter_of(read.parameter));
      argument.view.slices = read.slices;
    }
    stub_.kernel_arguments.push_back(std::move(argument));
  }

  // The argument for a parameter that stands for `count` results from number `index` on, of each sibling.
  void add_kernel_results(std::size_t index, std::size_t count) {
    const std::size_t first = stub_.kernel_arguments.size();
    const std::size_t of_each = graph_.nodes[group_.root].outputs.size();
    for (std::size_t root = 0; root < roots_.size(); ++root) {
      for (std::size_t i = index; i < index + count; ++i) add_kernel_result(root * of_each + i);
    }
    bundle(first, roots_.size() > 1 ? KernelArgument::Bundle::several : KernelArgument::Bundle::each);
  }

  // Makes the arguments from `first` on one, if they are several.
  void bundle(std::size_t first, KernelArgument::Bundle as) {
    std::vector<KernelArgument>& all = stub_.kernel_arguments;
    if (all.size() == first + 1) return;
    for (std::size_t i = first; i < all.size(); ++i) all[i].bundled = 0;
    all[first].bundle = as;
    all[first].bundled = all.size() - first;
  }

  void add_kernel_result(std::size_t number) {
    const ValueId value = numbered_result(graph_, roots_, number);
    const Node& root = graph_.nodes[group_.root];
    const std::size_t index = number % root.outputs.size();
    const KernelOperand& result = root.kernel->results[index];
    const Epilogue* epilogue = epilogue_of(group_.epilogues, number);
    if (epilogue && epilogue->results.front() != number) return;  // the one argument of all of them
    KernelArgument argument;
    if (!epilogue) {
      argument.kind = KernelArgument::Kind::parameter;
      argument.view = operand_view(graph_.type(value).shape, result.rank, parameter_of(value));
      argument.statistics = statistics_;
    } else {
      BodyRequest request;
      request.role = Functor::Role::epilogue;
      request.name = stub_.name + "_epilogue";
      if (group_.epilogues.size() > 1 && root.outputs.size() > 1) request.name += "_" + root.op->results[index].name;
      request.general = request.name;
      request.space = {graph_.type(value).shape, {}, walked_rank(result, graph_.type(value).shape)};
      request.nodes = epilogue->nodes;
      for (const ValueId output : group_.outputs) {
        const NodeId maker = graph_.value(output).producer;
        const bool made_here = std::binary_search(epilogue->nodes.begin(), epilogue->nodes.end(), maker);
        const auto received = result_number(graph_, roots_, output);
        if ((received && epilogue_of(group_.epilogues, *received) == epilogue) || made_here) {
          request.stores.push_back(output);
        }
      }
      for (const std::size_t each : epilogue->results) {
        request.incoming.push_back(numbered_result(graph_, roots_, each));
        if (group_.epilogues.size() > 1 && roots_.size() > 1) name_after(request, request.incoming.back());
      }
      const bool of_row = reads_row_state(*epilogue);
      if (of_row) request.of_row = group_.row_state.results;
      request.result = group_.statistics.of;
      argument.kind = KernelArgument::Kind::functor;
      argument.functor = add_functor(std::move(request));
      if (of_row) stub_.functors[argument.functor].row_state = row_state_;
      argument.takes = epilogue->results.size();
      argument.statistics = statistics_;
    }
    stub_.kernel_arguments.push_back(std::move(argument));
  }

  // Of several functors of one port.
  void name_after(BodyRequest& request, ValueId value) const {
    request.name += "_" + graph_.value(value).name;
    request.general += "_" + names_.of(value);
  }

  std::size_t parameter_of(ValueId value) const {
    const auto place = std::find(parameters_.begin(), parameters_.end(), value);
    ensure(place != parameters_.end(), "what a stub reads or writes is one of its parameters");
    return static_cast<std::size_t>(place - parameters_.begin());
  }

  void add_headers() {
    std::set<std::string> headers;
    for (const NodeId id : group_.nodes) {
      const KernelSignature* kernel = graph_.nodes[id].kernel;
      const bool passes = graph_.nodes[id].op->role != OpRole::none;
      if (kernel && !passes) headers.insert(kernel->header);
    }
    for (const StubParameter& parameter : stub_.parameters) {
      if (parameter.type.structure) headers.insert(parameter.type.structure->header);
    }
    const OpSpec* cast = ops_.with_role(OpRole::cast);
    const KernelSignature* kernel = cast ? ops_.kernel_of(*cast) : nullptr;
    for (const Functor& functor : stub_.functors) {
      for (const Statement& statement : functor.statements) {
        if (kernel && statement.functor == kernel->name) headers.insert(kernel->header);
      }
    }
    stub_.headers.assign(headers.begin(), headers.end());
  }

  const FuseFacts& facts_;
  const Graph& graph_;
  const OpSet& ops_;
  const Group& group_;
  std::vector<NodeId> roots_;
  GeneralNames names_;
  std::vector<ValueId> parameters_;
  std::size_t row_state_ = Functor::none, statistics_ = Functor::none;  // the functors that they are
  StubProgram stub_;
  bool hold_ = false;
  std::vector<HeldValue> held_;
};

// Notes which extents of `stub` are others in other uses, of which `other` stands for some.
void compare_extents(StubProgram& stub, const StubProgram& other) {
  for (std::size_t i = 0; i < stub.parameters.size(); ++i) {
    StubParameter& parameter = stub.parameters[i];
    const Shape& shape = other.parameters[i].type.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool varies = !other.parameters[i].varies.empty() && other.parameters[i].varies[axis];
      if (shape[axis] == parameter.type.shape[axis] && !varies) continue;
      parameter.varies.resize(shape.size(), false);
      parameter.varies[axis] = true;
    }
  }
}

}  // namespace

std::pair<std::uint32_t, bool> UniquePrograms::add(const std::string& key, StubProgram stub,
                                                   std::vector<StubComment> uses) {
  const auto [place, is_new] = by_key.try_emplace(key, static_cast<std::uint32_t>(stubs.size()));
  if (is_new) {
    stubs.push_back(std::move(stub));
    comments.push_back(std::move(uses));
  } else {
    compare_extents(stubs[place->second], stub);
    std::vector<StubComment>& all = comments[place->second];
    all.insert(all.end(), std::move_iterator(uses.begin()), std::move_iterator(uses.end()));
  }
  return {place->second, is_new};
}

std::vector<std::uint32_t> StubTable::intern(UniquePrograms programs) {
  std::vector<const std::string*> keys(programs.stubs.size());
  for (const auto& [key, index] : programs.by_key) keys[index] = &key;
  std::vector<std::uint32_t> here;
  here.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [index, is_new] =
        all_.add(*keys[i], std::move(programs.stubs[i]), std::move(programs.comments[i]));
    if (is_new) name(all_.stubs[index]);
    here.push_back(index);
  }
  return here;
}

// Under a name that no other stub has.
void StubTable::name(StubProgram& stub) {
  std::string unique = stub.name;
  for (int i = 2; !names_.insert(unique).second; ++i) unique = fmt::format("{}_{}", stub.name, i);
  for (Functor& functor : stub.functors) {
    functor.name.replace(0, stub.name.size(), unique);
    functor.general.replace(0, stub.name.size(), unique);
    if (!functor.structure.empty()) functor.structure.replace(0, stub.name.size(), unique);
  }
  stub.name = std::move(unique);
}

std::vector<StubProgram> StubTable::take() {
  for (std::size_t i = 0; i < all_.stubs.size(); ++i) {
    if (all_.comments[i].size() > 1) use_general_names(all_.stubs[i]);
    all_.stubs[i].uses = uses_text(all_.comments[i]);
    all_.stubs[i].saved = saved_text(all_.comments[i]);
  }
  return std::move(all_.stubs);
}

std::vector<HeldValue> held_values(const FuseFacts& facts, const OpSet& ops, const Group& group) {
  return Lowering(facts, ops, group, {}).held();
}

std::vector<std::uint32_t> lower(const FuseFacts& facts, const std::vector<Group>& groups, const OpSet& ops,
                                 const std::string& prefix, StubTable& table) {
  // Most groups of a large graph have programs that others have, too: few are kept until all are there.
  struct Lowered {
    UniquePrograms programs;
    std::vector<std::uint32_t> program_of;  // by group
  };
  const auto lower_some = [&](std::size_t begin, std::size_t end) {
    Lowered some;
    for (std::size_t i = begin; i < end; ++i) {
      if (groups[i].kind == GroupKind::call) {
        some.program_of.push_back(no_id);
        continue;
      }
      StubProgram stub = Lowering(facts, ops, groups[i], prefix).build();
      const std::string key = program_key(stub);
      some.program_of.push_back(some.programs.add(key, std::move(stub), {stub_comment(facts, groups[i])}).first);
    }
    return some;
  };
  std::vector<std::uint32_t> stub_of;
  stub_of.reserve(groups.size());
  for (Lowered& some : in_stretches(groups.size(), lower_some)) {
    const std::vector<std::uint32_t> stubs = table.intern(std::move(some.programs));
    for (const std::uint32_t program : some.program_of) stub_of.push_back(program == no_id ? no_id : stubs[program]);
  }
  return stub_of;
}

}  // namespace kgen

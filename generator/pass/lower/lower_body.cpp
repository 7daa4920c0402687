#include "generator/pass/lower/lower_body.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "generator/base/ensure.hpp"
#include "generator/spec/scalar_value.hpp"

namespace kgen {
namespace {

class Body {
 public:
  Body(const FuseFacts& facts, const OpSet& ops, const GeneralNames& names, const BodyRequest& request,
       const std::vector<ValueId>& parameters)
      : facts_(facts), graph_(facts.graph()), ops_(ops), names_(names), request_(request), parameters_(parameters) {}

  LoweredBody build() {
    loops_ = {request_.space.shape};
    functor_.role = request_.role;
    functor_.name = request_.name;
    functor_.general = request_.general;
    for (std::size_t i = 0; i < request_.incoming.size(); ++i) receive(request_.incoming[i], i);
    if (request_.role == Functor::Role::epilogue) receive_row();
    for (const NodeId id : request_.nodes) add_node(graph_.nodes[id]);
    for (const ValueId value : request_.stores) add_store(value);
    if (request_.role == Functor::Role::row_state) return_row();
    if (request_.role == Functor::Role::epilogue && request_.result != no_id) {
      functor_.state.push_back(known_.at(request_.result));
    }
    if (rows()) keep_shared_rows();
    const auto merges = in_port() ? Merges{} : common_merges(facts_, request_.space, uses_);
    add_members(merges);
    std::vector<HeldValue> held;
    if (request_.hold) held = held_values(merges);
    return {std::move(functor_), std::move(held)};
  }

 private:
  using Merges = std::vector<std::pair<int, int>>;

  // A kernel whose declaration says what its epilogues see may give other lanes than its result is computed on in.
  void receive(ValueId value, std::size_t index) {
    const Node& root = graph_.nodes[graph_.value(value).producer];
    const DType computed = compute_dtype(graph_.type(value).dtype);
    const DType given = root.kernel->results[graph_.value(value).index].element.value_or(computed);
    functor_.incoming.push_back({graph_.value(value).name, names_.of(value), compute_dtype(given)});
    Operand incoming{.kind = Operand::Kind::incoming, .result = index};
    if (compute_dtype(given) != computed) incoming = converted(std::move(incoming), value, computed, root, false);
    known_[value] = rounded(root, value, std::move(incoming), false);
  }

  // The numbers of a row are made in lanes of their dtype, as they would be in the epilogue itself.
  void receive_row() {
    for (std::size_t i = 0; i < request_.of_row.size(); ++i) {
      const ValueId value = request_.of_row[i];
      functor_.of_row.push_back({graph_.value(value).name, names_.of(value), compute_dtype(graph_.type(value).dtype)});
      known_[value] = {.kind = Operand::Kind::row, .result = i};
    }
  }
  void return_row() {
    for (const ValueId value : request_.of_row) functor_.state.push_back(known_.at(value));
  }

  bool rows() const { return walks_rows(request_.role); }
  // In a kernel's prologue or epilogue.
  bool in_port() const { return request_.space.kernel_rank >= 0; }

  // The number of the loop over these axes.
  std::size_t loop_of(const Shape& shape) {
    if (!in_port()) return 0;
    const auto found = std::find(loops_.begin(), loops_.end(), shape);
    if (found == loops_.end()) return loops_.push_back(shape), loops_.size() - 1;
    return static_cast<std::size_t>(found - loops_.begin());
  }

  std::size_t append(Statement statement) {
    functor_.statements.push_back(std::move(statement));
    return functor_.statements.size() - 1;
  }

  void name_results(Statement& statement, const std::vector<ValueId>& values) const {
    for (const ValueId value : values) {
      statement.names.push_back(written_name(graph_, value));
      statement.general.push_back(names_.of(value));
    }
  }

  std::size_t member(const LoopUse& use) {
    const auto found = std::find(uses_.begin(), uses_.end(), use);
    if (found == uses_.end()) return uses_.push_back(use), uses_.size() - 1;
    return static_cast<std::size_t>(found - uses_.begin());
  }

  std::optional<RowForm> form_of(ValueId value) const {
    return row_form(graph_.type(value).shape, request_.space.shape, request_.space.row_axes);
  }

  // Of a value that a node of this functor makes.
  RowForm made_form(ValueId value) const {
    ensure(!rows() || form_of(value).has_value(), "fuse lets only values that have a form into rows");
    return rows() ? *form_of(value) : RowForm::full;
  }

  // Memory that a node reads for a result of one element per row is such an element itself; so is memory that has one.
  RowForm read_form(ValueId value, RowForm result) const {
    const bool has_one = rows() && form_of(value) == RowForm::kept;
    return result == RowForm::full && has_one ? RowForm::kept : result;
  }

  // What a functor knows `value` by, if it makes it.
  ValueId behind(ValueId value) const { return in_port() ? facts_.unshaped(value) : facts_.peel(value); }

  // `result`: that of the node's result.
  Operand read(const Node& node, ValueId value, RowForm result) {
    if (is_literal(graph_, node, value)) {
      return {.kind = Operand::Kind::number,
              .number = *single_number(graph_, value),
              .dtype = compute_dtype(graph_.type(value).dtype)};
    }
    if (const auto found = known_.find(behind(value)); found != known_.end()) return found->second;
    const RowForm form = read_form(value, result);
    const Shape& loop = graph_.type(node.outputs[0]).shape;
    const std::size_t place = member({.value = value, .form = form, .loop = loop_of(loop)});
    if (const auto found = loads_.find(place); found != loads_.end()) {
      return {.kind = Operand::Kind::statement, .statement = found->second};
    }
    Statement load{.kind = Statement::Kind::load, .per_row = form != RowForm::full, .member = place};
    name_results(load, {value});
    const std::size_t id = append(std::move(load));
    loads_[place] = id;
    return {.kind = Operand::Kind::statement, .statement = id};
  }

  // Lines cost nothing to load: each reader has its own, so that they stand in its text.
  Operand read_lines(ValueId value, int axis, RowForm result) {
    Statement load{.kind = Statement::Kind::load, .per_row = result != RowForm::full};
    load.member = member({value, result, axis});
    name_results(load, {value});
    return {.kind = Operand::Kind::statement, .statement = append(std::move(load))};
  }

  // Whether anything sees the lanes of a value that a node of this functor makes; storing them rounds.
  bool read_in_registers(ValueId value) const {
    const auto is_it = [&](ValueId read) { return read != no_id && behind(read) == value; };
    return is_it(request_.result) || std::any_of(request_.of_row.begin(), request_.of_row.end(), is_it) ||
           std::any_of(request_.nodes.begin(), request_.nodes.end(), [&](NodeId id) {
             const std::vector<ValueId>& inputs = graph_.nodes[id].inputs;
             return std::any_of(inputs.begin(), inputs.end(), is_it);
           });
  }

  // A conversion that changes no lane is no statement: one to a type that holds every value, one that is only stored,
  // and, but for `numerics: match_unfused`, one that nobody asked for.
  bool passes_through(const Node& node) const {
    if (node.op->role == OpRole::copy) return true;
    if (node.op->role != OpRole::cast) return false;
    const DType from = graph_.type(node.inputs[0]).dtype;
    const DType to = graph_.type(node.outputs[0]).dtype;
    if (compute_dtype(from) != compute_dtype(to) || !info(to).floating) return false;
    if (holds_every_value(to, from) || !read_in_registers(node.outputs[0])) return true;
    return node.implied && graph_.numerics != Numerics::match_unfused;
  }

  void add_node(const Node& node) {
    const bool reduces = std::holds_alternative<Reduction>(node.kind);
    const RowForm form = made_form(node.outputs[0]);
    if (passes_through(node)) {
      const Operand operand = read(node, node.inputs[0], form);
      known_[node.outputs[0]] = operand;
      return;
    }
    const KernelSignature* kernel = node.kernel;
    ensure(kernel != nullptr, "choose_kernels reports operators that no kernel implements");
    Statement statement{.kind = reduces ? Statement::Kind::reduce : Statement::Kind::apply};
    statement.per_row = reduces || form != RowForm::full;
    statement.functor = kernel->name;
    for (const KernelAttribute& attribute : kernel->attributes) {
      const AttributeValue* value = find_attribute(node.attributes, attribute.name);
      ensure(value != nullptr, "link_ops checks that kernels' attributes are the operator's");
      if (attribute.type == "dtype") {
        statement.dtypes.push_back(std::get<DType>(*value));
      } else {
        statement.fields.push_back({*value, attribute.type});
      }
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == no_id) continue;
      const int axis = line_axis(node, i);
      statement.operands.push_back(axis < 0 ? read(node, node.inputs[i], reduces ? RowForm::full : form)
                                            : read_lines(node.inputs[i], axis, form));
    }
    statement.within = node.within;
    name_results(statement, node.outputs);
    const std::size_t id = append(std::move(statement));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      Operand made{.kind = Operand::Kind::statement, .statement = id, .result = i};
      known_[node.outputs[i]] = rounded(node, node.outputs[i], std::move(made), functor_.statements[id].per_row);
    }
  }

  // `numerics: match_unfused`: what an operator would have stored is rounded as storing would.
  Operand rounded(const Node& node, ValueId value, Operand made, bool per_row) {
    const DTypeInfo& type = info(graph_.type(value).dtype);
    if (graph_.numerics != Numerics::match_unfused || !type.floating || compute_dtype(type.dtype) == type.dtype) return made;
    if (node.op->role == OpRole::cast || !read_in_registers(value)) return made;
    return converted(std::move(made), value, type.dtype, node, per_row);
  }

  // The lanes of `value`, a result of `node`, as another dtype.
  Operand converted(Operand made, ValueId value, DType to, const Node& node, bool per_row) {
    const OpSpec* cast = ops_.with_role(OpRole::cast);
    const KernelSignature* kernel = cast ? ops_.kernel_of(*cast) : nullptr;
    if (!kernel) return made;
    Statement convert{.kind = Statement::Kind::apply, .per_row = per_row};
    convert.functor = kernel->name;
    convert.dtypes = {to};
    convert.operands = {std::move(made)};
    convert.within = node.within;
    name_results(convert, {value});
    return {.kind = Operand::Kind::statement, .statement = append(std::move(convert))};
  }

  void add_store(ValueId value) {
    const RowForm form = made_form(value);
    const LoopUse use{.value = value, .form = form, .loop = loop_of(graph_.type(value).shape)};
    Statement store{.kind = Statement::Kind::store, .per_row = form != RowForm::full, .member = member(use)};
    store.operands = {known_.at(value)};
    append(std::move(store));
  }

  // A row that several passes need is computed in the first and kept, unless it is too long for that.
  void keep_shared_rows() {
    Shape row;
    for (const int axis : request_.space.row_axes) row.push_back(request_.space.shape[static_cast<std::size_t>(axis)]);
    if (element_count(row).range(ranges_of(graph_)).high > description_of(graph_).most_kept_elements) return;
    std::vector<Statement>& statements = functor_.statements;
    std::vector<std::vector<std::size_t>> passes(statements.size());
    for (std::size_t i = statements.size(); i-- > 0;) {
      Statement& statement = statements[i];
      const bool is_pass = statement.kind == Statement::Kind::reduce || statement.kind == Statement::Kind::store;
      std::sort(passes[i].begin(), passes[i].end());
      passes[i].erase(std::unique(passes[i].begin(), passes[i].end()), passes[i].end());
      if (statement.kind == Statement::Kind::apply && !statement.per_row && passes[i].size() > 1) {
        statement.keep = true;
        passes[i] = {i};
      }
      for (const Operand& operand : statement.operands) {
        if (operand.kind != Operand::Kind::statement) continue;
        auto& into = passes[operand.statement];
        if (is_pass) {
          into.push_back(i);
        } else {
          into.insert(into.end(), passes[i].begin(), passes[i].end());
        }
      }
    }
  }

  void add_members(const Merges& merges) {
    bool found_shape = false;
    for (const LoopUse& use : uses_) {
      StubRead read = stub_read(graph_, use.value);
      const auto place = std::find(parameters_.begin(), parameters_.end(), read.parameter);
      ensure(place != parameters_.end(), "what a stub reads or writes is one of its parameters");
      FunctorMember made;
      made.name = graph_.value(use.value).name;
      made.general = names_.of(use.value);
      const auto parameter = static_cast<std::size_t>(place - parameters_.begin());
      if (use.line_axis < 0) {
        made.view = in_port() ? view_in_port(use) : view_in(facts_, request_.space, use, parameter, merges);
        made.view.parameter = parameter;
      } else {
        LinesView lines = lines_in(facts_, request_.space, use, parameter);
        made.view = std::move(lines.view);
        made.line_axis = lines.axis;
      }
      made.view.slices = std::move(read.slices);
      if (use.form == RowForm::full && use.line_axis < 0 && !found_shape) {
        functor_.shape_member = functor_.members.size();
        found_shape = true;
      }
      functor_.rank = made.view.runs.empty() ? made.view.rank : static_cast<int>(made.view.runs.size());
      if (!in_port() && use.form == RowForm::full && use.line_axis < 0) {
        functor_.across = functor_.across || lies_across(facts_, request_.space, use);
      }
      functor_.members.push_back(std::move(made));
    }
    if (!found_shape) show_loop_shape();
    add_loops();
  }

  MemberView view_in_port(const LoopUse& use) {
    PortView port = port_view(facts_, request_.space, loops_[use.loop], use.value, facts_.strides(use.value));
    port.view.loop = use.loop;
    if (!port.split.empty()) port.view.reshape = loop_of(port.split);
    return std::move(port.view);
  }

  // Where nothing has the loop's shape (lines are read for one index in each row), what has one element per row is
  // broadcast to it.
  void show_loop_shape() {
    std::vector<FunctorMember>& members = functor_.members;
    const auto found =
        std::find_if(members.begin(), members.end(), [](const auto& each) { return each.line_axis < 0; });
    ensure(found != members.end(), "a functor reads or writes more than lines");
    found->view.broadcast = true;
    functor_.shape_member = static_cast<std::size_t>(found - members.begin());
  }

  std::vector<HeldValue> held_values(const Merges& merges) const {
    std::vector<HeldValue> held;
    std::unordered_map<std::size_t, NodeId> makers;  // by statement: the first node whose value it gives
    for (const ValueId value : request_.incoming) held.push_back(held_value(value, merges, makers));
    for (const NodeId id : request_.nodes) {
      for (const ValueId value : graph_.nodes[id].outputs) held.push_back(held_value(value, merges, makers));
    }
    return held;
  }

  HeldValue held_value(ValueId value, const Merges& merges, std::unordered_map<std::size_t, NodeId>& makers) const {
    const NodeId producer = graph_.value(value).producer;
    HeldValue held{.value = value, .maker = producer};
    const Operand& at = known_.at(value);
    held.result = at.result;
    if (at.kind == Operand::Kind::incoming) held.maker = graph_.value(request_.incoming[at.result]).producer;
    if (at.kind == Operand::Kind::statement && functor_.statements[at.statement].kind != Statement::Kind::load) {
      held.maker = makers.emplace(at.statement, producer).first->second;
      held.statement = at.statement;
    } else if (at.kind != Operand::Kind::incoming) {
      return held;
    }
    held.view = in_port() ? view_of_held(value, held.reshaped)
                          : view_in(facts_, request_.space, {value, made_form(value)}, 0, merges);
    held.shown = held.maker == producer && !held.view.broadcast;
    return held;
  }

  // Of dense memory. `reshaped`: the shape for view.reshape.
  MemberView view_of_held(ValueId value, Shape& reshaped) const {
    const Shape& shape = graph_.type(value).shape;
    PortView port = port_view(facts_, request_.space, shape, value, dense_strides(shape));
    if (!port.split.empty()) port.view.reshape = 0;
    reshaped = std::move(port.split);
    return std::move(port.view);
  }

  void add_loops() {
    functor_.loops.resize(loops_.size());
    functor_.loops[0] = shape_of_loop(loops_[0]);
    for (const FunctorMember& member : functor_.members) {
      if (member.view.broadcast) functor_.loops[member.view.loop] = shape_of_loop(loops_[member.view.loop]);
      if (member.view.reshape) functor_.loops[*member.view.reshape] = shape_of_loop(loops_[*member.view.reshape]);
    }
  }

  Functor::Loop shape_of_loop(const Shape& shape) const {
    Functor::Loop loop;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (graph_.type(parameters_[i]).shape != shape) continue;
      loop.parameter = i;
      return loop;
    }
    for (const Dim& extent : shape) loop.extents.push_back(find_extent(extent));
    return loop;
  }

  Functor::Extent find_extent(const Dim& extent) const {
    if (extent == Dim(1)) return {Functor::none, 0, 1};
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Shape& shape = graph_.type(parameters_[i]).shape;
      const auto axis = std::find(shape.begin(), shape.end(), extent);
      if (axis != shape.end()) return {i, static_cast<int>(axis - shape.begin()), 1};
    }
    ensure(extent.is_constant(), "every other extent of a loop comes from something the stub reads or writes");
    return {Functor::none, 0, extent.constant()};
  }

  const FuseFacts& facts_;
  const Graph& graph_;
  const OpSet& ops_;
  const GeneralNames& names_;
  const BodyRequest& request_;
  const std::vector<ValueId>& parameters_;
  Functor functor_;
  std::vector<LoopUse> uses_;                        // by member
  std::vector<Shape> loops_;                         // the functor's own, and others over the same elements
  std::unordered_map<ValueId, Operand> known_;       // what values are in registers
  std::unordered_map<std::size_t, std::size_t> loads_;  // member -> statement
};

}  // namespace

LoweredBody lower_body(const FuseFacts& facts, const OpSet& ops, const GeneralNames& names, const BodyRequest& request,
                       const std::vector<ValueId>& parameters) {
  return Body(facts, ops, names, request, parameters).build();
}

}  // namespace kgen

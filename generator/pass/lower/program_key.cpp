#include "generator/pass/lower/program_key.hpp"

#include <bit>
#include <concepts>
#include <type_traits>
#include <variant>

namespace kgen {
namespace {

// A key is made for each group of a graph, so numbers go in as bytes: those below 128, which most are, as one. Each
// thing says how long it is before what it holds, so that no two lists run into each other.
class Key {
 public:
  template <class... Values>
  void add(const Values&... values) {
    (add_one(values), ...);
  }
  template <class List, class Add>
  void add_each(const List& list, const Add& add_item) {
    add_one(list.size());
    for (const auto& each : list) add_item(each);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <class T>
    requires(std::integral<T> || std::is_enum_v<T>)
  void add_one(T value) {
    auto rest = static_cast<std::uint64_t>(value);
    for (; rest >= 128; rest >>= 7) bytes_ += static_cast<char>(rest | 128);
    bytes_ += static_cast<char>(rest);
  }
  void add_one(std::string_view text) {
    add_one(text.size());
    bytes_ += text;
  }
  void add_one(const std::string& text) { add_one(std::string_view(text)); }
  void add_one(const Dim& dim) {
    if (dim.is_constant()) return add(0, dim.constant());
    add(1, dim.text());
  }
  // As what it is: 0 is not -0.
  void add_one(const Number& number) {
    if (const auto whole = number.as_signed(); whole && number.is_whole()) return add(0, *whole);
    if (const auto whole = number.as_unsigned(); whole && number.is_whole()) return add(1, *whole);
    add(2, std::bit_cast<std::uint64_t>(number.real()));
  }
  template <class T>
  void add_one(const std::vector<T>& list) {
    add_each(list, [&](const T& each) { add(each); });
  }
  void add_one(const std::pair<int, int>& range) { add(range.first, range.second); }

  std::string bytes_;
};

void add_view(Key& key, const MemberView& view) {
  key.add(view.parameter, view.broadcast, view.rank, view.unsqueeze, view.permutation, view.merges, view.loop,
          view.reshape ? *view.reshape + 1 : 0, view.runs);
  key.add_each(view.slices, [&](const ConstantSlice& s) { key.add(s.axis, s.begin, s.length, s.step); });
}

void add_attribute(Key& key, const GivenAttribute& given) {
  key.add(given.type, given.value.index());
  std::visit([&](const auto& value) { key.add(value); }, given.value);
}

void add_operand(Key& key, const Operand& operand) {
  key.add(operand.kind, operand.statement, operand.result);
  if (operand.kind != Operand::Kind::number) return;
  // Numbers that are the same float have the same text.
  const bool is_float = operand.dtype == DType::f32;
  key.add(operand.dtype, is_float ? Number(double{operand.number.as<float>()}) : operand.number);
}

void add_body(Key& key, const Functor& functor) {
  key.add(functor.role, functor.rank, functor.across, functor.shape_member);
  key.add_each(functor.incoming, [&](const Functor::Incoming& each) { key.add(each.lanes); });
  key.add_each(functor.of_row, [&](const Functor::Incoming& each) { key.add(each.lanes); });
  key.add_each(functor.state, [&](const Operand& operand) { add_operand(key, operand); });
  key.add(functor.row_state);
  key.add_each(functor.statements, [&](const Statement& s) {
    key.add(s.kind, s.per_row, s.keep, s.member, s.functor, s.dtypes);
    key.add_each(s.fields, [&](const GivenAttribute& field) { add_attribute(key, field); });
    key.add_each(s.operands, [&](const Operand& operand) { add_operand(key, operand); });
  });
}

void add_functor(Key& key, const Functor& functor) {
  add_body(key, functor);
  key.add_each(functor.loops, [&](const Functor::Loop& loop) {
    key.add(loop.parameter);
    key.add_each(loop.extents,
                 [&](const Functor::Extent& extent) { key.add(extent.parameter, extent.axis, extent.constant); });
  });
  key.add_each(functor.members, [&](const FunctorMember& member) {
    add_view(key, member.view);
    key.add(member.line_axis);
  });
}

void add_parameter(Key& key, const StubParameter& parameter) {
  key.add(cpp_element(parameter.type), parameter.type.shape.size(), parameter.writable);
}

void add_argument(Key& key, const KernelArgument& argument) {
  key.add(argument.kind, argument.functor, argument.bundle, argument.bundled, argument.takes, argument.statistics);
  add_view(key, argument.view);
  if (argument.kind == KernelArgument::Kind::attribute) add_attribute(key, argument.attribute);
}

}  // namespace

std::string program_key(const StubProgram& stub) {
  Key key;
  key.add(stub.kind, stub.kernel, stub.row_rank, stub.row_length, stub.kernel_parameters);
  key.add_each(stub.parameters, [&](const StubParameter& parameter) { add_parameter(key, parameter); });
  key.add_each(stub.functors, [&](const Functor& functor) { add_functor(key, functor); });
  key.add_each(stub.kernel_arguments, [&](const KernelArgument& argument) { add_argument(key, argument); });
  return key.take();
}

std::string struct_key(const StubProgram& stub, const Functor& functor) {
  Key key;
  add_body(key, functor);
  key.add_each(functor.members, [&](const FunctorMember& member) {
    const StubParameter& parameter = stub.parameters[member.view.parameter];
    add_parameter(key, parameter);
    key.add(member.view.rank, member.view.runs, member.line_axis, member.view.broadcast);
  });
  key.add_each(functor.statements, [&](const Statement& s) { key.add(s.within); });
  return key.take();
}

}  // namespace kgen

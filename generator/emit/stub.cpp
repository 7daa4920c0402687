#include "generator/emit/stub.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "generator/base/writer.hpp"
#include "generator/emit/banner.hpp"
#include "generator/emit/cpp_text.hpp"
#include "generator/emit/functor.hpp"
#include "generator/emit/literals.hpp"
#include "generator/emit/names.hpp"

namespace kgen {
namespace {

// The header that declares the loop a stub runs.
std::string loop_header(GroupKind kind) {
  switch (kind) {
    case GroupKind::elementwise:
      return "kgen/elementwise.hpp";
    case GroupKind::rows:
      return "kgen/rows.hpp";
    default:
      return {};
  }
}

bool walks_runs(const StubProgram& stub) {
  return std::any_of(stub.functors.begin(), stub.functors.end(), [](const Functor& functor) {
    return std::any_of(functor.members.begin(), functor.members.end(),
                       [](const FunctorMember& member) { return !member.view.runs.empty(); });
  });
}

// `text`: of the stub.
void write_includes(Writer& out, const StubProgram& stub, std::string_view text) {
  if (text.find("std::numeric_limits<") != text.npos) {
    out.line("#include <limits>");
    out.line();
  }
  std::set<std::string> headers(stub.headers.begin(), stub.headers.end());
  if (std::string header = loop_header(stub.kind); !header.empty()) headers.insert(header);
  headers.insert("kgen/view.hpp");
  if (walks_runs(stub)) headers.insert("kgen/flattened.hpp");
  for (const Functor& functor : stub.functors) {
    if (functor.role == Functor::Role::row_state) headers.insert("kgen/row_state.hpp");
    if (functor.role == Functor::Role::statistics) headers.insert("kgen/row_statistics.hpp");
  }
  for (const std::string& header : headers) out.line("#include \"{}\"", header);
}

// The name of a functor's object in the stub's body.
std::string object_name(const Functor& functor, const StubProgram& stub) {
  switch (functor.role) {
    case Functor::Role::prologue:
    case Functor::Role::epilogue:
    case Functor::Role::row_state:
    case Functor::Role::statistics:
      return functor.name.substr(stub.name.size() + 1);  // "prologue_a", "epilogue", "rows"
    default:
      return "body";
  }
}

// "epilogue_shape", and "epilogue_shape_1" for another loop of the same functor.
std::string shape_name(const std::string& object, std::size_t loop) {
  return object + "_shape" + (loop == 0 ? "" : fmt::format("_{}", loop));
}

class Body {
 public:
  Body(Writer& out, const StubProgram& stub, const std::vector<std::string>& parameters)
      : out_(out), stub_(stub), parameters_(parameters) {}

  void write() {
    for (const Functor& functor : stub_.functors) write_object(functor);
    if (stub_.kind == GroupKind::structured) {
      write_kernel_call();
    } else {
      const Functor& functor = stub_.functors.front();
      const std::string shape = functor_member_names(functor)[functor.shape_member];
      out_.line("kgen::{}(body.{}.shape(), body, stream);", loop_name(), shape);
    }
  }

 private:
  std::string loop_name() const {
    const std::string across = stub_.functors.front().across ? "_across" : "";
    if (stub_.kind != GroupKind::rows) return "elementwise" + across;
    const std::string length = stub_.row_length == 0 ? "" : fmt::format(", {}", stub_.row_length);
    return fmt::format("rows{}<{}{}>", across, stub_.row_rank, length);
  }

  // The text of the shape of loop `index`, declared first where no parameter has it.
  std::string shape_text(const Functor& functor, std::size_t index) {
    const Functor::Loop& loop = functor.loops[index];
    if (loop.parameter != Functor::none) return parameters_[loop.parameter] + ".shape()";
    const bool needed = std::any_of(functor.members.begin(), functor.members.end(), [&](const FunctorMember& member) {
      return (member.view.broadcast && member.view.loop == index) || member.view.reshape == index;
    });
    if (!needed) return {};
    std::vector<std::string> extents;
    for (const Functor::Extent& extent : loop.extents) {
      extents.push_back(extent.parameter == Functor::none
                            ? fmt::format("{}", extent.constant)
                            : fmt::format("{}.extent({})", parameters_[extent.parameter], extent.axis));
    }
    const std::string name = shape_name(object_name(functor, stub_), index);
    write_list(out_, fmt::format("const kgen::Index<{}> {}{{", extents.size(), name), extents, "};");
    return name;
  }

  void write_object(const Functor& functor) {
    std::vector<std::string> shapes;
    for (std::size_t i = 0; i < functor.loops.size(); ++i) shapes.push_back(shape_text(functor, i));
    std::vector<std::string> members;
    if (functor.row_state != Functor::none) members.push_back(object_name(stub_.functors[functor.row_state], stub_));
    for (const FunctorMember& member : functor.members) {
      members.push_back(view_text(parameters_[member.view.parameter], member.view, shapes));
    }
    const std::string head = fmt::format("const {} {}{{", struct_name(functor), object_name(functor, stub_));
    write_initializer(out_, head, members, "};");
  }

  void write_kernel_call() {
    std::vector<std::string> arguments;
    const std::vector<KernelArgument>& all = stub_.kernel_arguments;
    for (std::size_t i = 0; i < all.size(); i += all[i].bundled) {
      if (all[i].bundled == 1) {
        arguments.push_back(argument_text(all[i]));
      } else {
        arguments.push_back(bundle_text(i));
      }
    }
    arguments.push_back("stream");
    write_list(out_, kernel_text(stub_) + "(", arguments, ");");
  }

  // "kgen::several(wq, wk)", of the arguments from number `first` on.
  std::string bundle_text(std::size_t first) const {
    std::vector<std::string> together;
    for (std::size_t i = first; i < first + stub_.kernel_arguments[first].bundled; ++i) {
      const KernelArgument& each = stub_.kernel_arguments[i];
      const std::string text = argument_text(each);
      together.push_back(each.takes == 1 ? text : fmt::format("kgen::joint<{}>({})", each.takes, text));
    }
    const bool several = stub_.kernel_arguments[first].bundle == KernelArgument::Bundle::several;
    return fmt::format("kgen::{}({})", several ? "several" : "each", fmt::join(together, ", "));
  }

  std::string argument_text(const KernelArgument& argument) const {
    const std::string text = plain_text(argument);
    if (argument.statistics == Functor::none) return text;
    return fmt::format("kgen::with_statistics({}, {})", text, object_name(stub_.functors[argument.statistics], stub_));
  }

  std::string plain_text(const KernelArgument& argument) const {
    switch (argument.kind) {
      case KernelArgument::Kind::functor:
        return object_name(stub_.functors[argument.functor], stub_);
      case KernelArgument::Kind::parameter:
        return view_text(parameters_[argument.view.parameter], argument.view, {});
      default:
        return fmt::format("/*{}=*/{}", argument.name, literal_text(argument.attribute.value, argument.attribute.type));
    }
  }

  Writer& out_;
  const StubProgram& stub_;
  const std::vector<std::string>& parameters_;
};

}  // namespace

std::string view_text(std::string text, const MemberView& view, const std::vector<std::string>& shapes) {
  for (const ConstantSlice& slice : view.slices) {
    const std::string step = slice.step == 1 ? "" : fmt::format(", {}", slice.step);
    text += fmt::format(".slice<{}>({}, {}{})", slice.axis, slice.begin, slice.length, step);
  }
  for (const int axis : view.unsqueeze) text += fmt::format(".unsqueeze<{}>()", axis);
  if (view.broadcast) text += fmt::format(".broadcast_to({})", shapes[view.loop]);
  if (!view.permutation.empty()) text += fmt::format(".permute<{}>()", fmt::join(view.permutation, ", "));
  if (view.reshape) {
    int rank = view.rank;
    for (const auto& [first, last] : view.merges) rank += last - first;
    text += fmt::format(".reshape<{}>({})", rank, shapes[*view.reshape]);
  }
  for (const auto& [first, last] : view.merges) text += fmt::format(".merge<{}, {}>()", first, last);
  return text;
}

std::vector<std::string> parameter_names(const StubProgram& stub) {
  NameTable names;
  // Locals of the stub's body, and of the function that check mode puts around it.
  for (const char* local : {"stream", "body", "epilogue", "call", "scratch", "scratch_of_operator", "observer"}) {
    names.reserve(local);
  }
  names.reserve(stub.name);
  names.reserve_global(stub.kernel);
  for (const Functor& functor : stub.functors) {
    const std::string object = object_name(functor, stub);
    for (const std::string& name : {struct_name(functor), object}) names.reserve(name);
    for (std::size_t i = 0; i < functor.loops.size(); ++i) names.reserve(shape_name(object, i));
  }
  for (const StubParameter& parameter : stub.parameters) {
    if (parameter.type.structure) names.reserve_global(parameter.type.structure->name);
  }
  std::vector<std::string> out;
  for (const StubParameter& parameter : stub.parameters) out.push_back(names.unique(parameter.name));
  return out;
}

namespace {

void write_declaration(Writer& out, const StubProgram& stub, const std::vector<std::string>& names, const char* tail) {
  std::vector<std::string> parameters;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const StubParameter& p = stub.parameters[i];
    parameters.push_back(fmt::format("{} {}", view_type(p.type, p.type.shape.size(), p.writable), names[i]));
  }
  parameters.push_back("kgen::Stream stream");
  write_list(out, fmt::format("void {}(", stub.name), parameters, tail);
}

}  // namespace

void write_uses(Writer& out, const StubProgram& stub) {
  constexpr std::size_t most_uses = 16;
  const std::size_t shown = stub.uses.size() > most_uses ? most_uses - 1 : stub.uses.size();
  for (std::size_t i = 0; i < shown; ++i) write_comment(out, stub.uses[i]);
  if (shown < stub.uses.size()) out.line("// and {} more: plan.yaml has them all", stub.uses.size() - shown);
}

std::string stub_declaration(const StubProgram& stub) {
  Writer out;
  write_declaration(out, stub, parameter_names(stub), ")");
  std::string text = out.take();
  text.pop_back();
  return text;
}

SourceFile emit_stub(const StubProgram& stub, const std::string& graph, const std::string& folder,
                     const EmitOptions& options) {
  Writer out;
  out.line("namespace {} {{", namespace_name(graph));
  out.line();
  write_uses(out, stub);
  if (!stub.saved.empty()) write_comment(out, stub.saved);
  std::set<std::string> written;
  for (const Functor& functor : stub.functors) {
    if (!written.insert(struct_name(functor)).second) continue;
    write_functor(out, functor, stub);
    out.line();
  }
  const std::vector<std::string> parameters = parameter_names(stub);
  write_declaration(out, stub, parameters, ") {");
  {
    const auto block = out.indent();
    Body(out, stub, parameters).write();
  }
  out.line();
  out.line("}}  // namespace {}", namespace_name(graph));
  Writer file;
  write_includes(file, stub, out.text());
  file.line();
  file.append(out.text());
  return {fmt::format("{}/{}{}", folder, stub.name, options.target->stub_extension), with_banner(options, file.text())};
}

}  // namespace kgen

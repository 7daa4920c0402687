#include "generator/emit/functor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/emit/cpp_text.hpp"
#include "generator/emit/literals.hpp"
#include "generator/emit/names.hpp"

namespace kgen {
namespace {

// What a functor's own text names; members and locals go by other names.
NameTable names_in_functor(const Functor& functor) {
  NameTable names;
  names.reserve(struct_name(functor));
  for (const Statement& statement : functor.statements) names.reserve_global(statement.functor);
  for (const char* name : {"at", "row", "rows", "W", "Row", "shape", "load"}) names.reserve(name);
  return names;
}

// One statement of a body: a list that may be broken after its commas.
struct Line {
  std::string head;
  std::vector<std::string> items;
  std::string tail;
  std::string comment;

  std::string text() const { return fmt::format("{}{}{}", head, fmt::join(items, ", "), tail); }
};

void write_lines(Writer& out, const std::vector<Line>& lines) {
  for (const Line& line : lines) write_list(out, line.head, line.items, line.tail, line.comment);
}

class BodyWriter {
 public:
  explicit BodyWriter(const Functor& functor)
      : functor_(functor), members_(functor_member_names(functor)), names_(names_in_functor(functor)), uses_(functor.statements.size(), 0) {
    for (const std::string& member : members_) names_.reserve(member);
    for (const Functor::Incoming& each : functor.incoming) incoming_.push_back(claim(each.name, "_value"));
    for (const Functor::Incoming& each : functor.of_row) of_row_.push_back(claim(each.name, "_value"));
    row_uses_.resize(of_row_.size(), 0);
    for (const Statement& statement : functor.statements) {
      for (const Operand& operand : statement.operands) {
        if (operand.kind == Operand::Kind::statement) ++uses_[operand.statement];
        if (operand.kind == Operand::Kind::row) ++row_uses_[operand.result];
      }
    }
    for (const Operand& operand : functor.state) {
      if (operand.kind == Operand::Kind::statement) ++uses_[operand.statement];
    }
    find_inlined();
    name_results();
  }

  const std::vector<std::string>& incoming() const { return incoming_; }
  const std::vector<std::vector<std::string>>& results() const { return results_; }
  // By number of the row: what the body calls it; empty where it reads another one alone.
  std::string of_row(std::size_t number) const { return row_uses_[number] > 0 ? of_row_[number] : ""; }

  void write(Writer& out) {
    std::vector<Line> lines;
    for (std::size_t i = 0; i < functor_.statements.size(); ++i) {
      if (inlined_[i]) continue;
      lines.push_back(statement_line(i));
      lines.back().comment = comment_of(source_of(functor_.statements[i]));
    }
    if (functor_.role == Functor::Role::prologue) {
      const std::size_t last = functor_.statements.size() - 1;
      lines.push_back(value_line(last));
      lines.back().head.insert(0, "return ");
      lines.back().tail += ";";
      lines.back().comment = comment_of(functor_.statements[last]);
    }
    if (functor_.role == Functor::Role::row_state) {
      lines.push_back({"return kgen::row_state(", {}, ");", {}});
      for (const Operand& operand : functor_.state) lines.back().items.push_back(operand_text(operand));
    } else if (!functor_.state.empty()) {
      lines.push_back({"return " + operand_text(functor_.state.front()) + ";", {}, {}, {}});
    }
    write_lines(out, lines);
  }

 private:
  bool rows() const { return walks_rows(functor_.role); }

  // Loads and results that only one statement uses stand in its text, as one would write them.
  void find_inlined() {
    inlined_.assign(functor_.statements.size(), false);
    for (std::size_t i = 0; i < functor_.statements.size(); ++i) {
      const Statement& s = functor_.statements[i];
      if (s.kind == Statement::Kind::load && uses_[i] == 1) inlined_[i] = true;
      if (s.kind == Statement::Kind::apply && uses_[i] == 1 && !s.keep && stored_directly(i)) inlined_[i] = true;
    }
    if (functor_.role == Functor::Role::prologue) inlined_.back() = true;
  }

  void name_results() {
    results_.resize(functor_.statements.size());
    for (std::size_t i = 0; i < functor_.statements.size(); ++i) {
      if (inlined_[i]) continue;
      const Statement& s = functor_.statements[i];
      const char* suffix = rows() && !s.per_row ? "_row" : "_value";
      for (const std::string& name : s.names) results_[i].push_back(claim(name, suffix));
    }
  }

  bool stored_directly(std::size_t id) const {
    return std::any_of(functor_.statements.begin(), functor_.statements.end(), [&](const Statement& s) {
      return s.kind == Statement::Kind::store && s.operands[0].kind == Operand::Kind::statement &&
             s.operands[0].statement == id;
    });
  }

  // A store whose value stands in its text carries that value's comment.
  const Statement& source_of(const Statement& statement) const {
    if (statement.kind != Statement::Kind::store || statement.operands[0].kind != Operand::Kind::statement) return statement;
    return inlined_[statement.operands[0].statement] ? functor_.statements[statement.operands[0].statement] : statement;
  }

  std::string comment_of(const Statement& statement) const {
    const bool computes = statement.kind == Statement::Kind::apply || statement.kind == Statement::Kind::reduce;
    return computes && !statement.within.empty() ? "// " + statement.within : "";
  }

  std::string claim(const std::string& wish, const char* suffix) {
    return names_.unique(names_.taken(wish) ? wish + suffix : wish);
  }

  std::string operand_text(const Operand& operand) {
    switch (operand.kind) {
      case Operand::Kind::incoming:
        return incoming_[operand.result];
      case Operand::Kind::row:
        return of_row_[operand.result];
      case Operand::Kind::number:
        return literal_text(operand.number, operand.dtype);
      case Operand::Kind::statement:
        break;
    }
    if (inlined_[operand.statement]) return value_text(operand.statement);
    return results_[operand.statement][operand.result];
  }

  std::vector<std::string> operand_texts(const Statement& statement) {
    std::vector<std::string> texts;
    for (const Operand& operand : statement.operands) texts.push_back(operand_text(operand));
    return texts;
  }

  std::string value_text(std::size_t id) { return value_line(id).text(); }

  // "kgen::Cast<kgen::bf16>"
  static std::string functor_text(const Statement& statement) {
    if (statement.dtypes.empty()) return statement.functor;
    std::vector<std::string_view> types;
    for (const DType dtype : statement.dtypes) types.push_back(info(dtype).cpp);
    return fmt::format("{}<{}>", statement.functor, fmt::join(types, ", "));
  }

  // "{1e-05f}"
  static std::string fields_text(const Statement& statement) {
    std::vector<std::string> texts;
    for (const GivenAttribute& field : statement.fields) texts.push_back(literal_text(field.value, field.type));
    return fmt::format("{{{}}}", fmt::join(texts, ", "));
  }

  // What computes a statement's value.
  Line value_line(std::size_t id) {
    const Statement& s = functor_.statements[id];
    if (s.kind == Statement::Kind::load) {
      if (rows()) return {fmt::format("row.{}(", s.per_row ? "load_scalar" : "load"), {members_[s.member]}, ")", {}};
      return {members_[s.member] + ".load<W>(", {"at"}, ")", {}};
    }
    Line line{{}, operand_texts(s), ")", {}};
    const std::string functor = functor_text(s), fields = fields_text(s);
    if (!rows()) {
      line.head = s.fields.empty() ? functor + "::apply(" : functor + fields + ".apply(";
      return line;
    }
    line.items.insert(line.items.begin(), functor + fields);
    line.head = s.kind == Statement::Kind::reduce ? "row.reduce(" : s.keep ? "row.keep(row.map(" : "row.map(";
    if (s.keep) line.tail = "))";
    return line;
  }

  Line statement_line(std::size_t id) {
    const Statement& s = functor_.statements[id];
    if (s.kind == Statement::Kind::store) {
      const std::string value = operand_text(s.operands[0]);
      if (rows()) return {fmt::format("row.{}(", s.per_row ? "store_scalar" : "store"), {members_[s.member], value}, ");", {}};
      return {members_[s.member] + ".store(", {"at", value}, ");", {}};
    }
    Line line = value_line(id);
    const std::string results = fmt::format("{}", fmt::join(results_[id], ", "));
    line.head.insert(0, s.names.size() == 1 ? fmt::format("const auto {} = ", results)
                                            : fmt::format("const auto [{}] = ", results));
    line.tail += ";";
    return line;
  }

  const Functor& functor_;
  std::vector<std::string> members_;
  NameTable names_;
  std::vector<int> uses_;
  std::vector<bool> inlined_;
  std::vector<std::vector<std::string>> results_;  // the names of each statement's results
  std::vector<std::string> incoming_, of_row_;
  std::vector<int> row_uses_;
};

// What a member sees of its parameter.
StubParameter seen(const StubProgram& stub, const MemberView& view) {
  StubParameter parameter = stub.parameters[view.parameter];
  parameter.varies.resize(parameter.type.shape.size(), false);
  for (const ConstantSlice& slice : view.slices) {
    const auto axis = static_cast<std::size_t>(slice.axis);
    parameter.type.shape[axis] = Dim(slice.length);
    parameter.varies[axis] = false;
  }
  return parameter;
}

// The shape of what that member sees, in all objects of the functor's struct.
std::string member_shape(const StubProgram& stub, const Functor& functor, std::size_t member) {
  StubParameter shown = seen(stub, functor.members[member].view);
  for (const Functor& other : stub.functors) {
    if (functor.structure.empty() || other.structure != functor.structure) continue;
    const StubParameter own = seen(stub, other.members[member].view);
    for (std::size_t axis = 0; axis < own.varies.size(); ++axis) {
      if (own.varies[axis] || own.type.shape[axis] != shown.type.shape[axis]) shown.varies[axis] = true;
    }
  }
  return shape_text(shown);
}

void write_members(Writer& out, const Functor& functor, const StubProgram& stub) {
  const std::vector<std::string> names = functor_member_names(functor);
  std::vector<Line> lines;
  if (functor.row_state != Functor::none)
    lines.push_back({stub.functors[functor.row_state].name + " rows;", {}, {}, {}});
  for (std::size_t i = 0; i < names.size(); ++i) {
    const MemberView& view = functor.members[i].view;
    const StubParameter& parameter = stub.parameters[view.parameter];
    const auto rank = static_cast<std::size_t>(view.rank);
    const int axis = functor.members[i].line_axis;
    const std::string type = axis >= 0 ? lines_type(parameter.type, rank, axis)
                                       : flattened_type(view_type(parameter.type, rank, parameter.writable), view.runs);
    const std::string how = axis >= 0 ? fmt::format(" along axis {}", axis) : view.broadcast ? " broadcast" : "";
    lines.push_back({fmt::format("{} {};", type, names[i]), {}, {},
                     fmt::format("// {}{}", member_shape(stub, functor, i), how)});
  }
  write_lines(out, lines);
}

// ", kgen::Vec<float, W> real, float scale": what an epilogue receives beside its position.
std::string lanes_text(const Functor& functor, const BodyWriter& body) {
  std::string text;
  for (std::size_t i = 0; i < functor.incoming.size(); ++i) {
    text += fmt::format(", kgen::Vec<{}, W> {}", info(functor.incoming[i].lanes).cpp, body.incoming()[i]);
  }
  for (std::size_t i = 0; i < functor.of_row.size(); ++i) {
    const std::string name = body.of_row(i);
    text += fmt::format(", {}{}{}", info(functor.of_row[i].lanes).cpp, name.empty() ? "" : " ", name);
  }
  return text;
}

void write_shape(Writer& out, const Functor& functor) {
  out.line("KGEN_FN kgen::Index<{}> shape() const {{ return {}.shape(); }}", functor.rank,
           functor_member_names(functor)[functor.shape_member]);
  out.line();
}

}  // namespace

const std::string& struct_name(const Functor& functor) {
  return functor.structure.empty() ? functor.name : functor.structure;
}

std::vector<std::string> functor_member_names(const Functor& functor) {
  NameTable names = names_in_functor(functor);
  std::vector<std::string> out;
  const auto is_view_too = [&](const FunctorMember& lines) {
    return std::any_of(functor.members.begin(), functor.members.end(), [&](const FunctorMember& member) {
      return member.line_axis < 0 && member.view.parameter == lines.view.parameter;
    });
  };
  for (const FunctorMember& member : functor.members) {
    const bool needs_suffix = member.line_axis >= 0 && is_view_too(member);
    out.push_back(names.unique(needs_suffix ? member.name + "_lines" : member.name));
  }
  return out;
}

std::vector<std::vector<std::string>> statement_names(const Functor& functor) { return BodyWriter(functor).results(); }

std::vector<std::string> incoming_names(const Functor& functor) { return BodyWriter(functor).incoming(); }

void write_functor(Writer& out, const Functor& functor, const StubProgram& stub) {
  const auto structure = out.block(fmt::format("struct {} {{", struct_name(functor)), "};");
  write_members(out, functor, stub);
  out.line();
  BodyWriter body(functor);
  std::string head;
  switch (functor.role) {
    case Functor::Role::elementwise:
      out.line("template <int W>");
      head = fmt::format("KGEN_FN void operator()(kgen::Index<{}> at) const {{", functor.rank);
      break;
    case Functor::Role::rows:
      out.line("template <class Row>");
      head = "KGEN_FN void operator()(Row& row) const {";
      break;
    case Functor::Role::row_state:
      write_shape(out, functor);
      out.line("// What the epilogue uses of a row: the kernel makes it before it stores any of that.");
      out.line("template <class Row>");
      head = "KGEN_FN auto operator()(Row& row) const {";
      break;
    case Functor::Role::statistics:
      write_shape(out, functor);
      out.line("// Of each row that the kernel stores: it makes it as the row comes, or reads the row again.");
      out.line("template <class Row>");
      head = "KGEN_FN void operator()(Row& row) const {";
      break;
    case Functor::Role::prologue:
      write_shape(out, functor);
      out.line("template <int W>");
      head = fmt::format("KGEN_FN auto load(kgen::Index<{}> at) const {{", functor.rank);
      break;
    case Functor::Role::epilogue:
      out.line("template <int W>");
      head = fmt::format("KGEN_FN {} operator()(kgen::Index<{}> at{}) const {{",
                         functor.state.empty() ? "void" : "auto", functor.rank, lanes_text(functor, body));
      break;
  }
  const auto function = out.block(head);
  body.write(out);
}

}  // namespace kgen

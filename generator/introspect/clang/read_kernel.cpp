#include "generator/introspect/clang/read_kernel.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RawCommentList.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "generator/introspect/clang/constraints.hpp"
#include "generator/introspect/clang/read_facts.hpp"

namespace kgen {
namespace {

using Role = ParameterFacts::Role;

// A function or a member function, with what its template says; without a template there are no facts.
struct Callable {
  const clang::FunctionDecl* function = nullptr;
  const clang::FunctionTemplateDecl* its_template = nullptr;
  TemplateFacts facts;
  unsigned depth = 0;
};

Callable callable_of(const clang::FunctionDecl& function, Reading& reading) {
  Callable result{&function, function.getDescribedFunctionTemplate(), {}, 0};
  if (result.its_template) {
    result.facts = facts_of(*result.its_template, reading);
    result.depth = result.its_template->getTemplateParameters()->getDepth();
  }
  return result;
}

// Member functions of one name, with and without templates, in the order of the text.
std::vector<Callable> members_named(const clang::CXXRecordDecl& record, llvm::StringRef name, Reading& reading) {
  std::vector<Callable> result;
  for (const clang::Decl* each : record.decls()) {
    const clang::FunctionDecl* function = each->getAsFunction();
    if (function && function->getDeclName().isIdentifier() && function->getName() == name) {
      result.push_back(callable_of(*function, reading));
    }
  }
  return result;
}

// Without a reference, and without what is const about it.
clang::QualType plain(clang::QualType type) { return type.getNonReferenceType().getUnqualifiedType(); }

// The arguments of View<T, R>, Vec<T, W> or Line<T, W>, by the template's qualified name; none for other types.
llvm::ArrayRef<clang::TemplateArgument> arguments_of(clang::QualType type, std::string_view name) {
  const auto* specialization = type->getAs<clang::TemplateSpecializationType>();
  if (!specialization) return {};
  const clang::TemplateDecl* declaration = specialization->getTemplateName().getAsTemplateDecl();
  if (!declaration || qualified_name(*declaration) != name) return {};
  return specialization->template_arguments();
}

bool is_view(clang::QualType type) { return arguments_of(type, "kgen::View").size() == 2; }

const ParameterFacts* facts_about(clang::QualType type, const Callable& callable) {
  const auto* parameter = type->getAs<clang::TemplateTypeParmType>();
  if (!parameter || parameter->getDepth() != callable.depth) return nullptr;
  return parameter->getIndex() < callable.facts.size() ? &callable.facts[parameter->getIndex()] : nullptr;
}

// "kgen::Index<2>", "kgen::Numbers<2>"; without the length where that depends on a template.
std::string list_type(clang::QualType type, const clang::ASTContext& context) {
  for (const char* name : {"kgen::Index", "kgen::Numbers"}) {
    const auto arguments = arguments_of(type, name);
    if (arguments.size() != 1) continue;
    std::optional<std::int64_t> length;
    if (arguments[0].getKind() == clang::TemplateArgument::Expression)
      length = integer_of(*arguments[0].getAsExpr(), context);
    return length ? fmt::format("{}<{}>", name, *length) : name;
  }
  return "";
}

// What attributes may be passed as: "float", "std::int64_t"; "" for other types.
std::string attribute_type(clang::QualType type, const clang::ASTContext& context) {
  if (const auto* enumeration = type->getAs<clang::EnumType>()) return qualified_name(*enumeration->getDecl());
  const auto* builtin = type->getAs<clang::BuiltinType>();
  if (!builtin) return list_type(type, context);
  switch (builtin->getKind()) {
    case clang::BuiltinType::Bool:
      return "bool";
    case clang::BuiltinType::Int:
      return "int";
    case clang::BuiltinType::Long:
    case clang::BuiltinType::LongLong:
      return "std::int64_t";
    case clang::BuiltinType::Float:
      return "float";
    case clang::BuiltinType::Double:
      return "double";
    default:
      return "";
  }
}

// "To" -> "to", "RowsAtOnce" -> "rows_at_once": an attribute that is a template argument.
std::string snake_case(llvm::StringRef name) {
  std::string result;
  for (const char c : name) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (upper && !result.empty()) result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

std::string doc_of(const clang::NamedDecl& declaration, Reading& reading) {
  const clang::Decl* commented = &declaration;
  if (const auto* function = clang::dyn_cast<clang::FunctionDecl>(&declaration)) {
    if (const auto* its_template = function->getDescribedFunctionTemplate()) commented = its_template;
  } else if (const auto* record = clang::dyn_cast<clang::CXXRecordDecl>(&declaration)) {
    if (const auto* its_template = record->getDescribedClassTemplate()) commented = its_template;
  }
  const clang::RawComment* comment = reading.context.getRawCommentForDeclNoCache(commented);
  if (!comment) return "";
  std::string text = comment->getFormattedText(reading.context.getSourceManager(), reading.context.getDiagnostics());
  std::string joined;
  for (const char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space) joined += c;
    if (space && !joined.empty() && joined.back() != ' ') joined += ' ';
  }
  while (!joined.empty() && joined.back() == ' ') joined.pop_back();
  return joined;
}

// Reads one kernel. Every error says why the declaration has no meaning; the signature is then dropped.
class KernelReader {
 public:
  KernelReader(const Registration& registration, Reading& reading) : registration_(registration), reading_(reading) {
    const clang::NamedDecl& declaration = *registration.declaration;
    kernel_.name = qualified_name(declaration);
    kernel_.op = registration.op;
    kernel_.when.text = registration.when;
    kernel_.when.where = registration.when_where;
    kernel_.doc = doc_of(declaration, reading);
    kernel_.where = reading.at(declaration.getLocation());
  }

  std::optional<KernelSignature> read() {
    if (const auto* record = clang::dyn_cast<clang::CXXRecordDecl>(registration_.declaration)) {
      read_record(*record);
    } else {
      read_function(callable_of(*clang::cast<clang::FunctionDecl>(registration_.declaration), reading_));
    }
    if (!failed_) failed_ = !read_facts(registration_, kernel_, reading_.diagnostics);
    return failed_ ? std::nullopt : std::optional(std::move(kernel_));
  }

 private:
  Diagnostic& fail(SourceLocation where, std::string message) {
    failed_ = true;
    return reading_.diagnostics.error(where, std::move(message))
        .note(registration_.where,
              fmt::format("'{}' is registered here as a kernel of '{}'", kernel_.name, kernel_.op));
  }

  SourceLocation at(const clang::Decl& declaration) { return reading_.at(declaration.getLocation()); }

  std::string type_text(clang::QualType type) const {
    return type.getAsString(clang::PrintingPolicy(reading_.context.getLangOpts()));
  }

  // ---- structs

  void read_record(const clang::CXXRecordDecl& record) {
    const std::vector<Callable> applies = members_named(record, "apply", reading_);
    const std::vector<Callable> identities = members_named(record, "identity", reading_);
    const std::vector<Callable> finishes = members_named(record, "finish", reading_);
    if (applies.empty() && (identities.empty() || finishes.empty())) {
      fail(
          kernel_.where,
          fmt::format("'{}' is no kernel: it has neither 'apply' nor 'identity', 'combine' and 'finish'", kernel_.name))
          .advise("an elementwise kernel has a member function 'apply', a reduction the other three");
      return;
    }
    read_members(record);
    if (applies.empty()) {
      read_reduction(identities.front(), finishes.front(), members_named(record, "accumulate", reading_));
    } else {
      read_elementwise(applies);
    }
  }

  // Attributes: what the struct is a template of, then its members.
  void read_members(const clang::CXXRecordDecl& record) {
    if (const auto* its_template = record.getDescribedClassTemplate()) {
      for (const clang::NamedDecl* each : *its_template->getTemplateParameters()) {
        if (clang::isa<clang::TemplateTypeParmDecl>(each)) {
          kernel_.attributes.push_back({snake_case(each->getName()), "dtype", at(*each)});
        } else {
          fail(at(*each), fmt::format("'{}' is no type: a struct that is a kernel is a template of types alone",
                                      each->getNameAsString()));
        }
      }
    }
    for (const clang::FieldDecl* field : record.fields()) {
      const KernelAttribute attribute = attribute_of(*field);
      if (field->getAccess() != clang::AS_public) {
        fail(at(*field), fmt::format("the member '{}' is not public: attributes are passed as {}{{...}}",
                                     field->getNameAsString(), kernel_.name));
      } else if (attribute.type.empty()) {
        report_attribute(*field);
      } else {
        kernel_.attributes.push_back(attribute);
      }
    }
  }

  // The attribute that a parameter or a member is; of no type where it is none.
  KernelAttribute attribute_of(const clang::ValueDecl& declaration) {
    const clang::QualType type = plain(declaration.getType());
    KernelAttribute attribute{declaration.getNameAsString(), attribute_type(type, reading_.context), at(declaration)};
    if (const auto* enumeration = type->getAs<clang::EnumType>()) {
      for (const clang::EnumConstantDecl* each : enumeration->getDecl()->enumerators()) {
        attribute.values.push_back(each->getNameAsString());
      }
    }
    return attribute;
  }

  void report_attribute(const clang::ValueDecl& declaration) {
    fail(at(declaration), fmt::format("'{}' of type '{}' is no attribute that an operator could have",
                                      declaration.getNameAsString(), type_text(declaration.getType())))
        .advise(
            "attributes are bool, int, std::int64_t, float, double, kgen::Index<N>, kgen::Numbers<N> or an "
            "enumeration");
  }

  void read_elementwise(const std::vector<Callable>& applies) {
    kernel_.kind = KernelKind::elementwise;
    const auto operands_of = [](const Callable& each) { return each.function->getNumParams(); };
    const Callable& whole = *std::max_element(
        applies.begin(), applies.end(), [&](const auto& a, const auto& b) { return operands_of(a) < operands_of(b); });
    for (const clang::ParmVarDecl* each : whole.function->parameters()) read_lanes(*each, whole);
    for (const Callable& each : applies) {
      for (std::size_t i = operands_of(each); i < kernel_.operands.size(); ++i) kernel_.operands[i].optional = true;
    }
    if (whole.function->getNumParams() == 0) {
      fail(at(*whole.function), fmt::format("'{}' takes no operands", kernel_.name));
    }
    KernelOperand result{"out"};
    result.where = at(*whole.function);
    read_result_lanes(whole, result);
    kernel_.results.push_back(std::move(result));
  }

  // An operand of an elementwise kernel: lanes, a scalar, or lines of memory.
  void read_lanes(const clang::ParmVarDecl& parameter, const Callable& callable) {
    KernelOperand operand{parameter.getNameAsString()};
    operand.where = at(parameter);
    if (operand.name.empty()) {
      fail(operand.where, "an operand has no name");
      return;
    }
    const clang::QualType type = plain(parameter.getType());
    const auto vector = arguments_of(type, "kgen::Vec"), line = arguments_of(type, "kgen::Line");
    if (!line.empty()) operand.accepts = Accepts::line;
    const clang::QualType element = !line.empty() ? line[0].getAsType() : vector.empty() ? type : vector[0].getAsType();
    if (const ParameterFacts* facts = facts_about(element, callable)) {
      if (facts->role != Role::none) {
        fail(operand.where, fmt::format("'{}' is a {}, but an elementwise kernel takes lanes and scalars", operand.name,
                                        role_name(facts->role)))
            .advise("kgen fuses what stands before and after an elementwise kernel without being told");
      }
      operand.dtypes = facts->dtypes.value_or(std::vector<DType>{});
    } else if (const auto dtype = dtype_of(element)) {
      operand.dtypes = {*dtype};
    } else {
      fail(operand.where, fmt::format("'{}' of type '{}' is neither lanes nor a scalar, nor lines of memory",
                                      operand.name, type_text(parameter.getType())));
    }
    kernel_.operands.push_back(std::move(operand));
  }

  // Where the return type says more than that the result is of the operands' type.
  void read_result_lanes(const Callable& callable, KernelOperand& result) {
    const clang::QualType type = plain(callable.function->getReturnType());
    if (const auto* automatic = type->getContainedAutoType()) {
      result.dtypes = dtypes_of_auto(*automatic, reading_).value_or(std::vector<DType>{});
      return;
    }
    const auto vector = arguments_of(type, "kgen::Vec");
    const auto dtype = dtype_of(vector.empty() ? type : vector[0].getAsType());
    if (dtype) result.dtypes = {*dtype};
  }

  void read_reduction(const Callable& identity, const Callable& finish, const std::vector<Callable>& accumulates) {
    kernel_.kind = KernelKind::reduction;
    KernelOperand operand{"x"};
    operand.where = at(*identity.function);
    if (!accumulates.empty() && accumulates.front().function->getNumParams() >= 2) {
      const std::string name = accumulates.front().function->getParamDecl(1)->getNameAsString();
      if (!name.empty()) operand.name = name;
    }
    if (identity.facts.empty()) {
      fail(operand.where, fmt::format("'identity' of '{}' is no template of an element type and a width", kernel_.name))
          .advise("write it as: template <Number T, int W> static auto identity()");
      return;
    }
    operand.dtypes = identity.facts.front().dtypes.value_or(std::vector<DType>{});
    kernel_.operands.push_back(std::move(operand));
    const clang::CXXRecordDecl* record = record_of(finish.function->getReturnType());
    if (!record) kernel_.results.push_back({.name = "out", .where = at(*finish.function)});
    if (!record) return;
    for (const clang::FieldDecl* field : record->fields()) {
      kernel_.results.push_back({.name = field->getNameAsString(), .where = at(*field)});
    }
  }

  // The struct that a type is, or that its template is a template of.
  static const clang::CXXRecordDecl* record_of(clang::QualType type) {
    if (const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl()) return record;
    const auto* specialization = type->getAs<clang::TemplateSpecializationType>();
    const auto* declaration = specialization ? specialization->getTemplateName().getAsTemplateDecl() : nullptr;
    return declaration ? clang::dyn_cast_or_null<clang::CXXRecordDecl>(declaration->getTemplatedDecl()) : nullptr;
  }

  // ---- functions

  // Parameters come in this order.
  enum class Part { operand, attribute, result, stream };

  static std::string_view part_name(Part part) {
    constexpr std::string_view names[] = {"operand", "attribute", "result", "stream"};
    return names[static_cast<std::size_t>(part)];
  }
  static std::string_view role_name(Role role) {
    constexpr std::string_view names[] = {"", "Memory", "Source", "Sink"};
    return names[static_cast<std::size_t>(role)];
  }

  void read_function(const Callable& callable) {
    const clang::QualType returned = callable.function->getReturnType();
    const bool fuses = std::any_of(callable.facts.begin(), callable.facts.end(), [](const ParameterFacts& each) {
      return each.role == Role::source || each.role == Role::sink;
    });
    kernel_.kind = is_view(returned) ? KernelKind::view : fuses ? KernelKind::structured : KernelKind::opaque;
    const clang::ParmVarDecl* last = nullptr;
    Part last_part = Part::operand;
    for (const clang::ParmVarDecl* each : callable.function->parameters()) {
      const auto part = read_parameter(*each, callable);
      if (!part) continue;
      if (last && *part < last_part) report_order(*each, *part, *last, last_part, callable);
      last = each;
      last_part = *part;
    }
    if (callable.its_template) read_template_parameters(callable);
    if (kernel_.kind == KernelKind::view) {
      kernel_.results.push_back({.name = "out", .where = kernel_.where});
    } else if (!failed_) {
      validate_function(returned, last_part);
    }
  }

  void validate_function(clang::QualType returned, Part last_part) {
    if (!returned->isVoidType()) {
      fail(kernel_.where, fmt::format("'{}' returns '{}': a kernel gives its results to parameters", kernel_.name,
                                      type_text(returned)));
    } else if (kernel_.results.empty()) {
      fail(kernel_.where, fmt::format("'{}' has no result", kernel_.name))
          .advise("a result is a Sink<T, R>, which takes an epilogue, or a View<T, R> of elements that are not const");
    } else if (last_part != Part::stream) {
      fail(kernel_.where,
           fmt::format("the last parameter of '{}' is not the kgen::Stream that it runs on", kernel_.name));
    }
    validate_several();
  }

  // One operand may be given several times; then each result has a sink for each of them, and only then.
  void validate_several() {
    const auto several = several_operand(kernel_);
    for (std::size_t i = 0; i < kernel_.operands.size(); ++i) {
      if (!several || i == *several || kernel_.operands[i].several == 1) continue;
      fail(kernel_.operands[i].where, fmt::format("'{}' may be given several times, and '{}' too",
                                                  kernel_.operands[i].name, kernel_.operands[*several].name))
          .advise("a call takes several of one operand, and one of each other");
    }
    for (const KernelOperand& result : kernel_.results) {
      const bool of_several = std::find(of_several_.begin(), of_several_.end(), result.name) != of_several_.end();
      if (of_several == several.has_value()) continue;
      fail(result.where,
           several ? fmt::format("'{}' is one sink, but each of several '{}' has its own results", result.name,
                                 kernel_.operands[*several].name)
                   : fmt::format("'{}' takes the results of several, but no operand may be given several times",
                                 result.name))
          .advise(several ? "constrain it: SeveralSinks<T, several_count<B>, R>, where B is the type of that operand"
                          : "constrain the operand: SeveralSources<R, Most>; or the result: Sink<T, R>");
    }
  }

  void report_order(const clang::ParmVarDecl& parameter, Part part, const clang::ParmVarDecl& before, Part part_before,
                    const Callable& callable) {
    const ParameterFacts* facts = facts_about(plain(before.getType()), callable);
    const bool sink = facts && facts->role == Role::sink;
    fail(at(parameter), fmt::format("the {} '{}' stands after the {} '{}'", part_name(part),
                                    parameter.getNameAsString(), part_name(part_before), before.getNameAsString()))
        .note(at(before),
              sink ? fmt::format("'{}' is a Sink, which takes an epilogue: that has no meaning on an operand",
                                 before.getNameAsString())
                   : fmt::format("'{}' is declared here", before.getNameAsString()))
        .advise("a kernel takes its operands, its attributes, its results and the stream, in this order");
  }

  // What the parameter is; nothing after an error.
  std::optional<Part> read_parameter(const clang::ParmVarDecl& parameter, const Callable& callable) {
    const clang::QualType type = plain(parameter.getType());
    const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
    if (record && qualified_name(*record) == "kgen::Stream") return Part::stream;
    KernelOperand operand{parameter.getNameAsString()};
    operand.where = at(parameter);
    if (operand.name.empty()) {
      fail(operand.where, "a parameter has no name");
      return std::nullopt;
    }
    if (is_view(type)) return read_view(type, callable, std::move(operand));
    if (const ParameterFacts* facts = facts_about(type, callable)) {
      return read_constrained(*facts, type, std::move(operand));
    }
    KernelAttribute attribute = attribute_of(parameter);
    if (attribute.type.empty()) {
      report_attribute(parameter);
      return std::nullopt;
    }
    kernel_.attributes.push_back(std::move(attribute));
    return Part::attribute;
  }

  std::optional<Part> read_view(clang::QualType type, const Callable& callable, KernelOperand operand) {
    const auto arguments = arguments_of(type, "kgen::View");
    const clang::QualType element = arguments[0].getAsType();
    if (const ParameterFacts* facts = facts_about(element.getUnqualifiedType(), callable)) {
      operand.dtypes = facts->dtypes.value_or(std::vector<DType>{});
    } else if (const auto dtype = dtype_of(element)) {
      operand.dtypes = {*dtype};
    } else if (const clang::CXXRecordDecl* record = element->getAsCXXRecordDecl()) {
      operand.structure = qualified_name(*record);
    }
    if (arguments[1].getKind() == clang::TemplateArgument::Expression) {
      operand.rank = static_cast<int>(integer_of(*arguments[1].getAsExpr(), reading_.context).value_or(-1));
    }
    const bool read_only = element.isConstQualified() || kernel_.kind == KernelKind::view;
    (read_only ? kernel_.operands : kernel_.results).push_back(std::move(operand));
    return read_only ? Part::operand : Part::result;
  }

  std::optional<Part> read_constrained(const ParameterFacts& facts, clang::QualType type, KernelOperand operand) {
    if (facts.role == Role::none) {
      fail(operand.where,
           fmt::format("'{}' may be of any type '{}': what it takes is not known", operand.name, type_text(type)))
          .advise("constrain it: Source<R> takes a prologue, Memory<R> does not, Sink<T, R> is a result");
      return std::nullopt;
    }
    operand.rank = facts.rank;
    operand.dtypes = facts.dtypes.value_or(std::vector<DType>{});
    operand.accepts = facts.role == Role::sink     ? Accepts::sink
                      : facts.role == Role::source ? Accepts::source
                                                   : Accepts::view;
    operand.element = facts.element;
    operand.several = facts.several;
    if (facts.role != Role::sink) {
      if (operand.several < 1 || operand.several > most_siblings) {
        fail(operand.where,
             fmt::format("how many '{}' a call may take is no number from 1 to {}", operand.name, most_siblings))
            .advise("write it as: SeveralSources<R, 4>");
        return std::nullopt;
      }
      kernel_.operands.push_back(std::move(operand));
      return Part::operand;
    }
    operand.joint = facts.results;
    if (facts.of_several) of_several_.push_back(operand.name);
    add_result(kernel_, std::move(operand));
    return Part::result;
  }

  // Numbers that the function is a template of, and that do not follow from its arguments.
  void read_template_parameters(const Callable& callable) {
    std::vector<unsigned> deduced;
    for (const clang::ParmVarDecl* each : callable.function->parameters()) {
      const std::vector<unsigned> mentioned = mentioned_parameters(each->getType(), callable.depth);
      deduced.insert(deduced.end(), mentioned.begin(), mentioned.end());
    }
    const clang::TemplateParameterList& parameters = *callable.its_template->getTemplateParameters();
    for (unsigned index = 0; index < parameters.size(); ++index) {
      const clang::NamedDecl* each = parameters.getParam(index);
      if (std::find(deduced.begin(), deduced.end(), index) != deduced.end()) continue;
      const auto* number = clang::dyn_cast<clang::NonTypeTemplateParmDecl>(each);
      if (!number) {
        fail(at(*each), fmt::format("the type '{}' does not follow from the arguments", each->getNameAsString()));
      } else if (kernel_.kind == KernelKind::view) {
        kernel_.attributes.push_back({snake_case(number->getName()), "std::int64_t", at(*number)});
      } else {
        read_tuning(*number, callable.facts[index]);
      }
    }
  }

  void read_tuning(const clang::NonTypeTemplateParmDecl& number, const ParameterFacts& facts) {
    const std::vector<std::int64_t>& values = facts.values;
    KernelParameter parameter{number.getNameAsString(), values, 0, at(number)};
    parameter.names = facts.value_names;
    if (number.getIndex() != kernel_.parameters.size()) {
      fail(parameter.where, fmt::format("'{}' stands behind types that follow from the arguments", parameter.name))
          .advise("name the numbers that tuning may turn first, so that a call can give them");
      return;
    }
    if (values.empty()) {
      fail(parameter.where, fmt::format("the values that '{}' may have are not known", parameter.name))
          .advise(fmt::format("add a constraint to the function: requires Allowed<{}, 1, 2, 4>", parameter.name));
      return;
    }
    const auto chosen = number.hasDefaultArgument()
                            ? integer_of(*number.getDefaultArgument().getArgument().getAsExpr(), reading_.context)
                            : std::nullopt;
    if (!chosen || std::find(values.begin(), values.end(), *chosen) == values.end()) {
      fail(parameter.where, fmt::format("'{}' has no default that is one of its allowed values", parameter.name));
      return;
    }
    parameter.default_value = *chosen;
    kernel_.parameters.push_back(std::move(parameter));
  }

  const Registration& registration_;
  Reading& reading_;
  KernelSignature kernel_;
  std::vector<std::string> of_several_;  // the results that are SeveralSinks
  bool failed_ = false;
};

}  // namespace

std::optional<KernelSignature> read_kernel(const Registration& registration, Reading& reading) {
  return KernelReader(registration, reading).read();
}

}  // namespace kgen

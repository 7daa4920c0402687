#include "generator/introspect/clang/constraints.hpp"

#include <clang/AST/ASTConcept.h>
#include <clang/AST/ExprConcepts.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <string_view>

namespace kgen {
namespace {

using clang::TemplateArgument;
using clang::TemplateArgumentLoc;

// The arguments of the concept that is being looked into. They may themselves mention parameters of the concept, or in
// the end of the template, around it.
struct Environment {
  const Environment* outer = nullptr;
  std::vector<TemplateArgument> arguments;
};

// Collects the positions of template parameters of one depth.
class MentionFinder : public clang::RecursiveASTVisitor<MentionFinder> {
 public:
  explicit MentionFinder(unsigned depth) : depth_(depth) {}

  bool VisitTemplateTypeParmType(clang::TemplateTypeParmType* type) {
    if (type->getDepth() == depth_) positions.push_back(type->getIndex());
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* expression) {
    const auto* parameter = clang::dyn_cast<clang::NonTypeTemplateParmDecl>(expression->getDecl());
    if (parameter && parameter->getDepth() == depth_) positions.push_back(parameter->getIndex());
    return true;
  }

  std::vector<unsigned> positions;

 private:
  unsigned depth_;
};

// The dtypes of a concept that is a class of them.
std::optional<std::vector<DType>> class_of(std::string_view concept_name) {
  if (concept_name == "Boolean") return std::vector{DType::boolean};
  constexpr std::pair<std::string_view, std::string_view> classes[] = {
      {"Element", "any"}, {"Number", "number"}, {"Float", "float"}, {"Integer", "integer"}, {"Signed", "signed"}};
  for (const auto& [name, dtype_class] : classes) {
    if (name == concept_name) return dtypes_of_class(dtype_class);
  }
  return std::nullopt;
}

std::optional<ParameterFacts::Role> role_of(std::string_view concept_name) {
  using Role = ParameterFacts::Role;
  constexpr std::pair<std::string_view, Role> roles[] = {
      {"Source", Role::source},       {"SeveralSources", Role::source}, {"Sink", Role::sink},
      {"JointSink", Role::sink},      {"SeveralSinks", Role::sink},     {"Memory", Role::memory},
      {"BroadcastsTo", Role::memory}, {"SeveralMemory", Role::memory}};
  for (const auto& [name, role] : roles) {
    if (name == concept_name) return role;
  }
  return std::nullopt;
}

// Reads the constraints of a template with `count` parameters at `depth`.
class ConstraintReader {
 public:
  ConstraintReader(unsigned depth, std::size_t count, Reading& reading)
      : depth_(depth), count_(count), reading_(reading) {}

  TemplateFacts read(const clang::Expr& constraint, const Environment* environment) const {
    const clang::Expr& expression = *constraint.IgnoreParenImpCasts();
    if (const auto* binary = clang::dyn_cast<clang::BinaryOperator>(&expression)) {
      if (binary->getOpcode() == clang::BO_LAnd) {
        return both(read(*binary->getLHS(), environment), read(*binary->getRHS(), environment));
      }
      if (binary->getOpcode() == clang::BO_LOr) {
        return either(read(*binary->getLHS(), environment), read(*binary->getRHS(), environment));
      }
    }
    if (const auto* check = clang::dyn_cast<clang::ConceptSpecializationExpr>(&expression)) {
      std::vector<TemplateArgument> arguments;
      for (const TemplateArgumentLoc& each : check->getTemplateArgsAsWritten()->arguments()) {
        arguments.push_back(each.getArgument());
      }
      return of_concept(*check->getNamedConcept(), std::move(arguments), environment);
    }
    return TemplateFacts(count_);
  }

  TemplateFacts of_concept(const clang::ConceptDecl& named, std::vector<TemplateArgument> arguments,
                           const Environment* environment) const {
    TemplateFacts facts(count_);
    const bool ours = qualified_name(named) == "kgen::" + named.getNameAsString();
    const std::string name = ours ? named.getNameAsString() : "";
    if (const auto dtypes = class_of(name)) {
      if (ParameterFacts* about = parameter(facts, arguments[0], environment)) about->dtypes = dtypes;
    } else if (name == "OneOf") {
      if (ParameterFacts* about = parameter(facts, arguments[0], environment)) about->dtypes = listed_dtypes(arguments);
    } else if (name == "Allowed") {
      if (ParameterFacts* about = parameter(facts, arguments[0], environment)) {
        for (std::size_t i = 1; i < arguments.size(); ++i) {
          about->values.push_back(integer(arguments[i], environment).value_or(0));
          if (const auto name = constant_name(arguments[i])) about->value_names.push_back(*name);
        }
        if (about->value_names.size() != about->values.size()) about->value_names.clear();
      }
    } else if (const auto role = role_of(name)) {
      if (ParameterFacts* about = parameter(facts, arguments[0], environment)) {
        of_role(*about, *role, name, arguments, environment);
      }
    } else {
      const Environment inner{environment, std::move(arguments)};
      return read(*named.getConstraintExpr(), &inner);
    }
    return facts;
  }

  // What a constraint of a role says: Source<S, R>, SeveralSources<S, R, Most>, Sink<S, T, R>, JointSink<S, T, Count,
  // R>.
  void of_role(ParameterFacts& about, ParameterFacts::Role role, std::string_view name,
               const std::vector<TemplateArgument>& arguments, const Environment* environment) const {
    const auto number = [&](std::size_t index, int otherwise) {
      return static_cast<int>(integer(arguments[index], environment).value_or(otherwise));
    };
    about.role = role;
    about.rank = number(role == ParameterFacts::Role::sink ? arguments.size() - 1 : 1, -1);
    const bool has_type = role == ParameterFacts::Role::sink && arguments[1].getKind() == TemplateArgument::Type;
    if (has_type) about.element = dtype_of(arguments[1].getAsType());
    about.of_several = name == "SeveralSinks";
    if (name == "JointSink") about.results = number(2, 1);
    if (name == "SeveralSources" || name == "SeveralMemory") about.several = number(2, 0);
  }

  // What two constraints say together.
  static TemplateFacts both(TemplateFacts a, const TemplateFacts& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (b[i].role != ParameterFacts::Role::none) {
        a[i].role = b[i].role;
        a[i].rank = b[i].rank;
        a[i].results = b[i].results;
        a[i].several = b[i].several;
        a[i].of_several = b[i].of_several;
        a[i].element = b[i].element;
      }
      if (!b[i].values.empty()) {
        a[i].values = b[i].values;
        a[i].value_names = b[i].value_names;
      }
      if (!b[i].dtypes) continue;
      if (!a[i].dtypes) {
        a[i].dtypes = b[i].dtypes;
      } else {
        std::erase_if(*a[i].dtypes, [&](DType each) { return !holds(*b[i].dtypes, each); });
      }
    }
    return a;
  }

 private:
  // What an argument mentions, followed outwards to the template's own parameters: their first.
  std::optional<unsigned> position(const TemplateArgument& argument, const Environment* environment) const {
    MentionFinder finder(environment ? 0 : depth_);
    if (argument.getKind() == TemplateArgument::Type) finder.TraverseType(argument.getAsType());
    if (argument.getKind() == TemplateArgument::Expression) finder.TraverseStmt(argument.getAsExpr());
    for (const unsigned each : finder.positions) {
      if (!environment) return each;
      if (each >= environment->arguments.size()) continue;
      if (const auto found = position(environment->arguments[each], environment->outer)) return found;
    }
    return std::nullopt;
  }

  ParameterFacts* parameter(TemplateFacts& facts, const TemplateArgument& argument,
                            const Environment* environment) const {
    const auto found = position(argument, environment);
    return found && *found < facts.size() ? &facts[*found] : nullptr;
  }

  std::optional<std::int64_t> integer(const TemplateArgument& argument, const Environment* environment) const {
    if (argument.getKind() == TemplateArgument::Integral) return argument.getAsIntegral().getExtValue();
    if (argument.getKind() != TemplateArgument::Expression) return std::nullopt;
    const clang::Expr& expression = *argument.getAsExpr();
    if (const auto constant = integer_of(expression, reading_.context)) return constant;
    MentionFinder finder(0);
    finder.TraverseStmt(argument.getAsExpr());
    const bool passed_on = environment && clang::isa<clang::DeclRefExpr>(expression.IgnoreParenImpCasts()) &&
                           finder.positions.size() == 1 && finder.positions[0] < environment->arguments.size();
    return passed_on ? integer(environment->arguments[finder.positions[0]], environment->outer) : std::nullopt;
  }

  // "kgen::row_major", of a constant of a namespace, which a stub can name.
  static std::optional<std::string> constant_name(const TemplateArgument& argument) {
    if (argument.getKind() != TemplateArgument::Expression) return std::nullopt;
    const auto* named = clang::dyn_cast<clang::DeclRefExpr>(argument.getAsExpr()->IgnoreParenImpCasts());
    const auto* constant = named ? clang::dyn_cast<clang::VarDecl>(named->getDecl()) : nullptr;
    if (!constant || !constant->isFileVarDecl() || constant->isStaticDataMember()) return std::nullopt;
    const bool is_template = clang::isa<clang::VarTemplateSpecializationDecl>(constant);
    if (is_template || constant->isInAnonymousNamespace()) return std::nullopt;
    return qualified_name(*constant);
  }

  static std::vector<DType> listed_dtypes(const std::vector<TemplateArgument>& arguments) {
    std::vector<DType> dtypes;
    const auto add = [&](const TemplateArgument& argument) {
      const auto dtype = argument.getKind() == TemplateArgument::Type ? dtype_of(argument.getAsType()) : std::nullopt;
      if (dtype) dtypes.push_back(*dtype);
    };
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      if (arguments[i].getKind() == TemplateArgument::Pack) {
        std::for_each(arguments[i].pack_begin(), arguments[i].pack_end(), add);
      } else {
        add(arguments[i]);
      }
    }
    return dtypes;
  }

  // Only what both say holds: the dtypes of either.
  TemplateFacts either(const TemplateFacts& a, const TemplateFacts& b) const {
    TemplateFacts result(count_);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!a[i].dtypes || !b[i].dtypes) continue;
      result[i].dtypes = a[i].dtypes;
      for (const DType each : *b[i].dtypes) {
        if (!holds(*a[i].dtypes, each)) result[i].dtypes->push_back(each);
      }
    }
    return result;
  }

  static bool holds(const std::vector<DType>& dtypes, DType dtype) {
    return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
  }

  unsigned depth_;
  std::size_t count_;
  Reading& reading_;
};

}  // namespace

std::optional<std::int64_t> integer_of(const clang::Expr& expression, const clang::ASTContext& context) {
  if (expression.isValueDependent() || expression.isTypeDependent()) return std::nullopt;
  const auto value = expression.getIntegerConstantExpr(context);
  return value ? std::optional(value->getExtValue()) : std::nullopt;
}

std::vector<unsigned> mentioned_parameters(clang::QualType type, unsigned depth) {
  MentionFinder finder(depth);
  finder.TraverseType(type);
  return finder.positions;
}

TemplateFacts facts_of(const clang::TemplateDecl& declaration, Reading& reading) {
  const clang::TemplateParameterList& parameters = *declaration.getTemplateParameters();
  const ConstraintReader reader(parameters.getDepth(), parameters.size(), reading);
  llvm::SmallVector<const clang::Expr*, 8> constraints;
  declaration.getAssociatedConstraints(constraints);
  TemplateFacts facts(parameters.size());
  for (const clang::Expr* each : constraints)
    facts = ConstraintReader::both(std::move(facts), reader.read(*each, nullptr));
  return facts;
}

std::optional<std::vector<DType>> dtypes_of_auto(const clang::AutoType& type, Reading& reading) {
  const clang::ConceptDecl* named = type.getTypeConstraintConcept();
  if (!named) return std::nullopt;
  // The first parameter of the concept stands for the type itself.
  const auto* self = clang::cast<clang::TypeDecl>(named->getTemplateParameters()->getParam(0));
  std::vector<TemplateArgument> arguments = {TemplateArgument(reading.context.getTypeDeclType(self))};
  for (const TemplateArgument& each : type.getTypeConstraintArguments()) arguments.push_back(each);
  return ConstraintReader(0, 1, reading).of_concept(*named, std::move(arguments), nullptr)[0].dtypes;
}

}  // namespace kgen

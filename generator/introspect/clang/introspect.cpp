#include "generator/introspect/clang/introspect.hpp"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "generator/base/hash.hpp"
#include "generator/introspect/clang/read_kernel.hpp"
#include "generator/introspect/clang/translation_unit.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

constexpr const char* umbrella_name = "kgen_introspect.cpp";  // includes every header; exists in memory alone

// ---- what is registered
// -----------------------------------------------------------------------------------------------

std::string text_of(const clang::Expr& argument) {
  const auto* literal = clang::dyn_cast<clang::StringLiteral>(argument.IgnoreParenCasts());
  return literal ? literal->getString().str() : "";
}

// Every declaration that KGEN_KERNEL stands on, in the order of the text.
class RegistrationFinder {
 public:
  explicit RegistrationFinder(Reading& reading) : reading_(reading) {}

  void find(const clang::DeclContext& context) {
    const clang::SourceManager& manager = reading_.context.getSourceManager();
    for (const clang::Decl* each : context.decls()) {
      if (manager.isInSystemHeader(manager.getExpansionLoc(each->getLocation()))) continue;
      const auto* its_template = clang::dyn_cast<clang::TemplateDecl>(each);
      const clang::Decl* declaration =
          its_template && its_template->getTemplatedDecl() ? its_template->getTemplatedDecl() : each;
      add_registrations(*declaration);
      const auto* inner = clang::dyn_cast<clang::DeclContext>(declaration);
      if (inner && !inner->isFunctionOrMethod()) find(*inner);
    }
  }

  std::vector<Registration> found;

 private:
  void add_registrations(const clang::Decl& declaration) {
    std::vector<DeclaredFact> facts;
    const std::size_t known = found.size();
    for (const auto* attribute : declaration.specific_attrs<clang::AnnotateAttr>()) {
      if (attribute->isInherited()) continue;
      if (attribute->getAnnotation() == "kgen.kernel") add(declaration, *attribute);
      if (attribute->getAnnotation() == "kgen.evaluated") add_fact(facts, DeclaredFact::Kind::evaluated, *attribute);
      if (attribute->getAnnotation() == "kgen.in_memory") add_fact(facts, DeclaredFact::Kind::in_memory, *attribute);
      if (attribute->getAnnotation() == "kgen.rows") add_fact(facts, DeclaredFact::Kind::rows, *attribute);
      if (attribute->getAnnotation() == "kgen.statistics") {
        add_fact(facts, DeclaredFact::Kind::statistics, *attribute);
      }
      if (attribute->getAnnotation() == "kgen.tuned") add_fact(facts, DeclaredFact::Kind::tuned, *attribute);
      if (attribute->getAnnotation() == "kgen.layout") add_fact(facts, DeclaredFact::Kind::layout, *attribute);
    }
    if (!facts.empty() && found.size() == known) {
      reading_.diagnostics
          .error(facts.front().where, "this says something of a kernel, and no kernel is here")
          .advise("write KGEN_KERNEL(operator) in front of it");
    }
    for (std::size_t i = known; i < found.size(); ++i) found[i].facts = facts;
  }

  void add_fact(std::vector<DeclaredFact>& facts, DeclaredFact::Kind kind, const clang::AnnotateAttr& attribute) const {
    DeclaredFact fact{kind, {}, {}, reading_.at(attribute.getLocation())};
    for (const clang::Expr* each : attribute.args()) {
      fact.texts.push_back({text_of(*each), reading_.at(each->getBeginLoc())});
    }
    fact.name = fact.texts.front().text;
    fact.texts.erase(fact.texts.begin());
    facts.push_back(std::move(fact));
  }

  void add(const clang::Decl& declaration, const clang::AnnotateAttr& attribute) {
    Registration registration{clang::dyn_cast<clang::NamedDecl>(&declaration)};
    registration.where = reading_.at(attribute.getLocation());
    if (attribute.args_size() > 0) registration.op = text_of(**attribute.args_begin());
    if (attribute.args_size() > 1) {
      const clang::Expr& condition = **(attribute.args_begin() + 1);
      registration.when = text_of(condition);
      registration.when_where = reading_.at(condition.getBeginLoc());
    }
    const auto* record = clang::dyn_cast<clang::CXXRecordDecl>(&declaration);
    if (registration.op.empty()) {
      reading_.diagnostics.error(registration.where, "KGEN_KERNEL names no operator")
          .advise("write the operator that this is a kernel of: KGEN_KERNEL(add)");
    } else if (!record && !clang::isa<clang::FunctionDecl>(declaration)) {
      reading_.diagnostics.error(registration.where, "KGEN_KERNEL stands on what is neither a struct nor a function");
    } else if (record && !record->isThisDeclarationADefinition()) {
      reading_.diagnostics.error(registration.where, "KGEN_KERNEL belongs to the definition of the struct");
    } else {
      found.push_back(std::move(registration));
    }
  }

  Reading& reading_;
};

// ---- overloads and duplicates
// -----------------------------------------------------------------------------------------

bool has_operand(const KernelSignature& kernel, const std::string& name) {
  return std::any_of(kernel.operands.begin(), kernel.operands.end(),
                     [&](const auto& each) { return each.name == name; });
}

bool same_names(const auto& a, const auto& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name; });
}

// Takes in another overload of one function: the operands of the longer one that the shorter does without are optional.
// False where the two do not go together.
bool merge_overload(KernelSignature& kernel, KernelSignature overload) {
  if (kernel.kind == KernelKind::elementwise || kernel.kind == KernelKind::reduction) return false;
  if (kernel.op != overload.op || kernel.when.text != overload.when.text || kernel.kind != overload.kind) return false;
  if (!same_names(kernel.attributes, overload.attributes) || !same_names(kernel.results, overload.results))
    return false;
  if (kernel.operands.size() < overload.operands.size()) std::swap(kernel, overload);
  if (kernel.operands.size() == overload.operands.size()) return false;
  const bool all_known = std::all_of(overload.operands.begin(), overload.operands.end(),
                                     [&](const KernelOperand& each) { return has_operand(kernel, each.name); });
  if (!all_known) return false;
  for (KernelOperand& each : kernel.operands) each.optional |= !has_operand(overload, each.name);
  return true;
}

bool same_types(const KernelOperand& a, const KernelOperand& b) {
  return a.dtypes == b.dtypes && a.structure == b.structure;
}

// Whether nothing would tell which of two kernels of one operator to use.
bool are_rivals(const KernelSignature& a, const KernelSignature& b) {
  if (a.op != b.op || a.when.text != b.when.text || a.operands.size() != b.operands.size()) return false;
  return std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), same_types);
}

void add_kernel(KernelSignature kernel, std::vector<KernelSignature>& kernels, Diagnostics& diagnostics) {
  for (KernelSignature& each : kernels) {
    if (each.name == kernel.name) {
      if (merge_overload(each, kernel)) return;
      diagnostics.error(kernel.where, fmt::format("the kernel '{}' is registered twice", kernel.name))
          .note(each.where, "it is also registered here")
          .advise("overloads of one function are one kernel where one does without operands of the other");
      return;
    }
    if (are_rivals(each, kernel)) {
      diagnostics
          .error(kernel.where, fmt::format("'{}' and '{}' are both registered as the kernel of '{}'", each.name,
                                           kernel.name, kernel.op))
          .note(each.where, fmt::format("'{}' is declared here", each.name))
          .advise("let their dtypes differ, or say when to use one: KGEN_KERNEL(" + kernel.op + ", \"condition\")");
      return;
    }
  }
  kernels.push_back(std::move(kernel));
}

// ---- the translation unit
// ---------------------------------------------------------------------------------------------

// The path below the first of these folders that holds it; nothing below none.
std::optional<std::string> name_below(const std::string& path, const std::vector<std::string>& folders) {
  const fs::path whole = fs::weakly_canonical(path);
  for (const std::string& folder : folders) {
    const fs::path relative = whole.lexically_relative(fs::weakly_canonical(folder));
    if (!relative.empty() && *relative.begin() != ".." && relative != ".") return relative.generic_string();
  }
  return std::nullopt;
}

// Takes the kernels and the headers from a translation unit that was read without errors.
class KernelReader {
 public:
  KernelReader(const IntrospectRequest& request, Places& places, Diagnostics& diagnostics, KernelLibrary& library)
      : folders_(request.include_directories), places_(places), diagnostics_(diagnostics), library_(library) {
    for (const std::string& header : request.headers) {
      requested_.insert(fs::weakly_canonical(header));
      folders_.push_back(fs::absolute(header).parent_path().string());
    }
  }

  void read(clang::ASTContext& context) {
    if (diagnostics_.has_errors()) return;
    Reading reading{context, places_, diagnostics_};
    RegistrationFinder registrations(reading);
    registrations.find(*context.getTranslationUnitDecl());
    for (const Registration& each : registrations.found) {
      if (!requested_.contains(fs::weakly_canonical(each.where.text->path))) continue;
      std::optional<KernelSignature> kernel = read_kernel(each, reading);
      if (!kernel) continue;
      kernel->header = name_below(kernel->where.text->path, folders_).value_or(kernel->where.text->path);
      add_kernel(std::move(*kernel), library_.kernels, diagnostics_);
    }
    list_headers(context.getSourceManager());
  }

 private:
  void list_headers(const clang::SourceManager& manager) {
    for (unsigned i = 0; i < manager.local_sloc_entry_size(); ++i) {
      const clang::SrcMgr::SLocEntry& entry = manager.getLocalSLocEntry(i);
      if (!entry.isFile() || entry.getFile().getFileCharacteristic() != clang::SrcMgr::C_User) continue;
      const clang::SrcMgr::ContentCache& cache = entry.getFile().getContentCache();
      const auto content = cache.getBufferDataIfLoaded();
      if (!cache.OrigEntry || !content) continue;
      const auto name = name_below(cache.OrigEntry->getName().str(), folders_);
      if (name && *name != umbrella_name) library_.headers.push_back({*name, content_hash(*content)});
    }
  }

  std::vector<std::string> folders_;  // by which headers are named
  std::set<fs::path> requested_;
  Places& places_;
  Diagnostics& diagnostics_;
  KernelLibrary& library_;
};

}  // namespace

std::optional<DType> dtype_of(clang::QualType type) {
  using Builtin = clang::BuiltinType;
  static const std::map<Builtin::Kind, DType> builtins = {
      {Builtin::Bool, DType::boolean}, {Builtin::Float, DType::f32}, {Builtin::Double, DType::f64},
      {Builtin::SChar, DType::i8},     {Builtin::Short, DType::i16}, {Builtin::Int, DType::i32},
      {Builtin::Long, DType::i64},     {Builtin::UChar, DType::u8},  {Builtin::UShort, DType::u16},
      {Builtin::UInt, DType::u32},     {Builtin::ULong, DType::u64}};
  if (type->isDependentType()) return std::nullopt;
  if (const auto* builtin = type->getAs<Builtin>()) {
    const auto found = builtins.find(builtin->getKind());
    return found == builtins.end() ? std::nullopt : std::optional(found->second);
  }
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  const std::string name = record ? qualified_name(*record) : "";
  for (const DTypeInfo& each : dtype_table()) {
    if (each.cpp == name) return each.dtype;
  }
  return std::nullopt;
}

std::string qualified_name(const clang::NamedDecl& declaration) { return declaration.getQualifiedNameAsString(); }

KernelLibrary introspect(const IntrospectRequest& request, SourceMap& sources, Diagnostics& diagnostics) {
  KernelLibrary library;
  for (const std::string& header : request.headers) sources.read(header, diagnostics);  // reports what is missing
  if (diagnostics.has_errors()) return library;
  Places places(sources);
  KernelReader reader(request, places, diagnostics, library);
  const TranslationUnit unit{umbrella_name, request.headers, request.include_directories,
                             "kgen learns of kernels from their headers: each must compile as C++20 on its own"};
  parse(unit, places, diagnostics, [&](clang::ASTContext& context) { reader.read(context); });
  if (diagnostics.has_errors()) return {};
  std::stable_sort(library.kernels.begin(), library.kernels.end(), [](const auto& a, const auto& b) {
    return std::tie(a.header, a.where.line, a.where.column) < std::tie(b.header, b.where.line, b.where.column);
  });
  const auto by_name = [](const HeaderFile& a, const HeaderFile& b) { return a.name < b.name; };
  std::sort(library.headers.begin(), library.headers.end(), by_name);
  return library;
}

}  // namespace kgen

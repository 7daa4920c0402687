#include "generator/introspect/clang/introspect.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/Utils.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <tuple>

#include "generator/base/hash.hpp"
#include "generator/introspect/clang/read_kernel.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

constexpr const char* umbrella_name = "kgen_introspect.cpp";  // includes every header; exists in memory alone

// ---- what Clang reports
// -----------------------------------------------------------------------------------------------

// Clang's errors with their notes, and a help on the first that says what kgen had in mind.
class Reporter : public clang::DiagnosticConsumer {
 public:
  Reporter(Places& places, Diagnostics& diagnostics) : places_(places), diagnostics_(diagnostics) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override {
    clang::DiagnosticConsumer::HandleDiagnostic(level, info);
    llvm::SmallString<256> message;
    info.FormatDiagnostic(message);
    SourceLocation where;
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      where = places_.at(info.getLocation(), info.getSourceManager());
    }
    if (level >= clang::DiagnosticsEngine::Error) {
      const bool first = error_ == nullptr;
      error_ = &diagnostics_.error(where, std::string(message));
      if (first) error_->advise("kgen learns of kernels from their headers: each must compile as C++20 on its own");
    } else if (level == clang::DiagnosticsEngine::Note && error_) {
      error_->note(where, std::string(message));
    }
  }

 private:
  Places& places_;
  Diagnostics& diagnostics_;
  kgen::Diagnostic* error_ = nullptr;  // the latest
};

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

  void find(const clang::DeclContext& scope) {
    const clang::SourceManager& manager = reading_.context.getSourceManager();
    for (const clang::Decl* each : scope.decls()) {
      if (manager.isInSystemHeader(manager.getExpansionLoc(each->getLocation()))) continue;
      const auto* its_template = clang::dyn_cast<clang::TemplateDecl>(each);
      const clang::Decl* declaration =
          its_template && its_template->getTemplatedDecl() ? its_template->getTemplatedDecl() : each;
      for (const auto* attribute : declaration->specific_attrs<clang::AnnotateAttr>()) {
        if (attribute->getAnnotation() == "kgen.kernel" && !attribute->isInherited()) add(*declaration, *attribute);
      }
      const auto* inner = clang::dyn_cast<clang::DeclContext>(declaration);
      if (inner && !inner->isFunctionOrMethod()) find(*inner);
    }
  }

  std::vector<Registration> found;

 private:
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
  if (kernel.op != overload.op || kernel.when != overload.when || kernel.kind != overload.kind) return false;
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
  if (a.op != b.op || a.when != b.when || a.operands.size() != b.operands.size()) return false;
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

// Reads the kernels at the end of the translation unit, unless it has errors.
class KernelConsumer : public clang::ASTConsumer {
 public:
  KernelConsumer(const IntrospectRequest& request, Places& places, Diagnostics& diagnostics, KernelLibrary& library)
      : folders_(request.include_directories), places_(places), diagnostics_(diagnostics), library_(library) {
    for (const std::string& header : request.headers) {
      requested_.insert(fs::weakly_canonical(header));
      folders_.push_back(fs::absolute(header).parent_path().string());
    }
  }

  void HandleTranslationUnit(clang::ASTContext& context) override {
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

class KernelAction : public clang::ASTFrontendAction {
 public:
  explicit KernelAction(std::unique_ptr<KernelConsumer> consumer) : consumer_(std::move(consumer)) {}

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&, llvm::StringRef) override {
    return std::move(consumer_);
  }

 private:
  std::unique_ptr<KernelConsumer> consumer_;
};

// Where Clang's own headers may be, in order: where $KGEN_CLANG_RESOURCES says; where they were when kgen was built;
// where the most needed of them are installed with it.
std::vector<std::string> resource_folders() {
  if (const char* chosen = std::getenv("KGEN_CLANG_RESOURCES")) return {chosen};
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  return {KGEN_CLANG_RESOURCES, (prefix / KGEN_PLUGIN_DIRECTORY / "clang").string()};
}

std::optional<std::string> find_resources(Diagnostics& diagnostics) {
  const std::vector<std::string> folders = resource_folders();
  for (const std::string& folder : folders) {
    std::error_code error;
    if (fs::exists(fs::path(folder) / "include" / "stddef.h", error)) return folder;
  }
  diagnostics.error({}, "cannot read kernels: there is no resource folder of Clang 19")
      .note(fmt::format("its include/stddef.h was looked for in {}", quoted_list(folders)))
      .advise(
          "install libclang-common-19-dev, or let KGEN_CLANG_RESOURCES name what `clang-19 -print-resource-dir` "
          "prints");
  return std::nullopt;
}

// Runs the action on one translation unit that includes every header.
void parse(const IntrospectRequest& request, const std::string& resources, clang::DiagnosticConsumer& reporter,
           clang::FrontendAction& action) {
  std::string umbrella;
  for (const std::string& header : request.headers) umbrella += fmt::format("#include \"{}\"\n", header);
  std::vector<std::string> arguments = {"clang++",
                                        "-xc++",
                                        "-std=c++20",
                                        "-fsyntax-only",
                                        "-fparse-all-comments",
                                        "-w",
                                        "-DKGEN_INTROSPECT",
                                        "-resource-dir=" + resources};
  for (const std::string& folder : request.include_directories) arguments.push_back("-I" + folder);
  arguments.emplace_back(umbrella_name);
  std::vector<const char*> pointers;
  for (const std::string& each : arguments) pointers.push_back(each.c_str());

  clang::CompilerInstance compiler;
  compiler.createDiagnostics(&reporter, /*ShouldOwnClient=*/false);
  clang::CreateInvocationOptions options;
  options.Diags = &compiler.getDiagnostics();
  std::shared_ptr<clang::CompilerInvocation> invocation = clang::createInvocation(pointers, options);
  if (!invocation) return;
  invocation->getFrontendOpts().SkipFunctionBodies = true;
  invocation->getDiagnosticOpts().ShowCarets = false;  // and with them the count of errors on stderr
  invocation->getPreprocessorOpts().addRemappedFile(
      umbrella_name, llvm::MemoryBuffer::getMemBufferCopy(umbrella, umbrella_name).release());
  compiler.setInvocation(std::move(invocation));
  compiler.ExecuteAction(action);
}

}  // namespace

SourceLocation Places::at(clang::SourceLocation location, const clang::SourceManager& manager) {
  const auto [file, offset] = manager.getDecomposedLoc(manager.getFileLoc(location));
  const SourceText*& text = texts_[file];
  if (!text) {
    const auto entry = manager.getFileEntryRefForID(file);
    const std::string path = entry ? fs::path(entry->getName().str()).lexically_normal().string() : "<command line>";
    text = &sources_.add(path, manager.getBufferData(file).str());
  }
  const std::string_view content = text->content;
  const std::size_t begin = content.substr(0, offset).rfind('\n') + 1;  // npos + 1 is 0
  const auto is_first_byte = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  const auto before = content.substr(begin, offset - begin);
  const auto column = std::count_if(before.begin(), before.end(), is_first_byte) + 1;
  return {text, manager.getLineNumber(file, offset), static_cast<std::uint32_t>(column)};
}

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
  const auto resources = find_resources(diagnostics);
  if (diagnostics.has_errors()) return library;
  Places places(sources);
  Reporter reporter(places, diagnostics);
  KernelAction action(std::make_unique<KernelConsumer>(request, places, diagnostics, library));
  parse(request, *resources, reporter, action);
  if (diagnostics.has_errors()) return {};
  std::stable_sort(library.kernels.begin(), library.kernels.end(), [](const auto& a, const auto& b) {
    return std::tie(a.header, a.where.line, a.where.column) < std::tie(b.header, b.where.line, b.where.column);
  });
  const auto by_name = [](const HeaderFile& a, const HeaderFile& b) { return a.name < b.name; };
  std::sort(library.headers.begin(), library.headers.end(), by_name);
  return library;
}

}  // namespace kgen

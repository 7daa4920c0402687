#include "generator/introspect/clang/read_signatures.hpp"

#include <clang/AST/DeclCXX.h>

#include <array>
#include <filesystem>
#include <set>

#include "generator/introspect/clang/translation_unit.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

// What a stub for a GPU may say of a function: to who looks for signatures, nothing.
constexpr std::array gpu_words = {"__global__=", "__device__=",   "__host__=",
                                  "__shared__=", "__constant__=", "__launch_bounds__(...)="};

// Without a `const` of its own, which is no part of a function's signature.
std::string canonical_text(clang::QualType type, const clang::ASTContext& context) {
  return type.getCanonicalType().getUnqualifiedType().getAsString(context.getPrintingPolicy());
}

class SignatureReader {
 public:
  SignatureReader(const SignatureRequest& request, Places& places) : places_(places) {
    for (const std::string& file : request.files) files_.insert(fs::weakly_canonical(file));
  }

  void read(const clang::DeclContext& context) {
    for (const clang::Decl* each : context.decls()) {
      if (const auto* function = clang::dyn_cast<clang::FunctionDecl>(each)) add(*function);
      const bool is_scope = clang::isa<clang::NamespaceDecl>(each) || clang::isa<clang::LinkageSpecDecl>(each);
      if (is_scope) read(*clang::cast<clang::DeclContext>(each));
    }
  }

  std::vector<FunctionSignature> found;

 private:
  void add(const clang::FunctionDecl& function) {
    const clang::ASTContext& context = function.getASTContext();
    const clang::SourceManager& manager = context.getSourceManager();
    const auto entry = manager.getFileEntryRefForID(manager.getFileID(manager.getFileLoc(function.getLocation())));
    if (!entry || !files_.contains(fs::weakly_canonical(entry->getName().str()))) return;
    FunctionSignature signature{qualified_name(function), canonical_text(function.getReturnType(), context), {},
                                places_.at(function.getLocation(), manager)};
    for (const clang::ParmVarDecl* parameter : function.parameters()) {
      signature.parameters.push_back({parameter->getNameAsString(), canonical_text(parameter->getType(), context),
                                      places_.at(parameter->getLocation(), manager)});
    }
    found.push_back(std::move(signature));
  }

  std::set<fs::path> files_;
  Places& places_;
};

}  // namespace

std::vector<FunctionSignature> read_signatures(const SignatureRequest& request, SourceMap& sources,
                                               Diagnostics& diagnostics) {
  Places places(sources);
  SignatureReader reader(request, places);
  TranslationUnit unit{"kgen_signatures.cpp", request.files, request.include_directories, ""};
  unit.definitions.assign(gpu_words.begin(), gpu_words.end());
  parse(unit, places, diagnostics, [&](clang::ASTContext& context) { reader.read(*context.getTranslationUnitDecl()); });
  return std::move(reader.found);
}

}  // namespace kgen

#include "generator/introspect/clang/limits.hpp"

#include <clang/Lex/MacroArgs.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/PPCallbacks.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace kgen {
namespace {

// Expansions that stand within each other's arguments, the outermost first. What stands in an argument is copied as
// often as the macro uses its parameter.
class Nesting {
 public:
  // How many copies are made of what stands at a place.
  std::uint64_t copies_at(clang::SourceLocation place) {
    const auto raw = place.getRawEncoding();
    while (!open_.empty() && !(open_.back().begin <= raw && raw <= open_.back().end)) open_.pop_back();
    return open_.empty() ? 1 : open_.back().copies;
  }
  void enter(clang::SourceRange range, std::uint64_t copies) {
    open_.push_back({range.getBegin().getRawEncoding(), range.getEnd().getRawEncoding(), copies});
  }

 private:
  struct Expansion {
    clang::SourceLocation::UIntTy begin, end;
    std::uint64_t copies;
  };
  std::vector<Expansion> open_;
};

// Of one expansion, before the macros in it are expanded.
struct Growth {
  std::uint64_t tokens;
  std::uint64_t copies;  // of the argument that is used most
};

Growth growth_of(const clang::MacroInfo& macro, const clang::MacroArgs* arguments) {
  Growth growth{macro.getNumTokens(), 1};
  if (!arguments) return growth;
  std::vector<std::uint64_t> uses(arguments->getNumMacroArguments());
  for (const clang::Token& token : macro.tokens()) {
    const int parameter = token.getIdentifierInfo() ? macro.getParameterNum(token.getIdentifierInfo()) : -1;
    if (parameter >= 0 && static_cast<std::size_t>(parameter) < uses.size()) ++uses[static_cast<std::size_t>(parameter)];
  }
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const clang::Token* argument = arguments->getUnexpArgument(static_cast<unsigned>(i));
    growth.tokens += uses[i] * clang::MacroArgs::getArgLength(argument);
    growth.copies = std::max(growth.copies, uses[i]);
  }
  return growth;
}

// Counts what macros come to. A macro that doubles its argument, thirty times over, is counted as its expansions go in:
// when they come out it is too late.
class MacroLimit : public clang::PPCallbacks {
 public:
  explicit MacroLimit(clang::Preprocessor& preprocessor) : preprocessor_(preprocessor) {}

  void MacroExpands(const clang::Token&, const clang::MacroDefinition& definition, clang::SourceRange range,
                    const clang::MacroArgs* arguments) override {
    const clang::MacroInfo* macro = definition.getMacroInfo();
    if (!macro || exceeded_) return;
    const clang::SourceManager& manager = preprocessor_.getSourceManager();
    const clang::SourceLocation in_file = manager.getExpansionLoc(range.getBegin());
    const std::uint64_t outside = in_file_.copies_at(in_file);
    const bool is_in_macro = range.getBegin().isMacroID();
    Nesting& nesting = is_in_macro ? in_macro_ : in_file_;
    const std::uint64_t copies = is_in_macro ? outside * in_macro_.copies_at(range.getBegin()) : outside;
    const Growth growth = growth_of(*macro, arguments);
    total_ += copies * growth.tokens;
    if (arguments) nesting.enter(range, (is_in_macro ? copies / outside : copies) * growth.copies);
    if (total_ > most_macro_tokens) stop(in_file);
  }

 private:
  void stop(clang::SourceLocation place) {
    exceeded_ = true;
    clang::DiagnosticsEngine& diagnostics = preprocessor_.getDiagnostics();
    const unsigned message = diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Fatal,
                                                         "macros expand to more than %0 tokens: kgen reads no further");
    diagnostics.Report(place, message) << std::to_string(most_macro_tokens);
    preprocessor_.SetMacroExpansionOnlyInDirectives();
  }

  clang::Preprocessor& preprocessor_;
  Nesting in_file_, in_macro_;
  std::uint64_t total_ = 0;
  bool exceeded_ = false;
};

class RegularFiles : public llvm::vfs::ProxyFileSystem {
 public:
  using ProxyFileSystem::ProxyFileSystem;

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override {
    const llvm::ErrorOr<llvm::vfs::Status> status = getUnderlyingFS().status(path);
    if (status && !status->isRegularFile() && !status->isDirectory()) {
      return std::make_error_code(std::errc::no_such_file_or_directory);
    }
    return ProxyFileSystem::openFileForRead(path);
  }
};

}  // namespace

void limit_macros(clang::Preprocessor& preprocessor) {
  preprocessor.addPPCallbacks(std::make_unique<MacroLimit>(preprocessor));
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> regular_files() {
  return llvm::makeIntrusiveRefCnt<RegularFiles>(llvm::vfs::getRealFileSystem());
}

}  // namespace kgen

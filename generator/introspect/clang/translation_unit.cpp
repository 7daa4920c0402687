#include "generator/introspect/clang/translation_unit.hpp"

#include <clang/AST/ASTConsumer.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/Utils.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "generator/introspect/clang/limits.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

// Clang's errors with their notes.
class Reporter : public clang::DiagnosticConsumer {
 public:
  Reporter(const std::string& help, Places& places, Diagnostics& diagnostics)
      : help_(help), places_(places), diagnostics_(diagnostics) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override {
    clang::DiagnosticConsumer::HandleDiagnostic(level, info);
    llvm::SmallString<256> message;
    info.FormatDiagnostic(message);
    SourceLocation where;
    if (info.hasSourceManager() && info.getLocation().isValid() && !is_in_unit(info)) {
      where = places_.at(info.getLocation(), info.getSourceManager());
    }
    if (level >= clang::DiagnosticsEngine::Error) {
      const bool first = error_ == nullptr;
      error_ = &diagnostics_.error(where, std::string(message));
      if (first) error_->advise(help_);
    } else if (level == clang::DiagnosticsEngine::Note && error_) {
      error_->note(where, std::string(message));
    }
  }

 private:
  // In the unit itself, which nobody can look at: where its files have ended.
  static bool is_in_unit(const clang::Diagnostic& info) {
    const clang::SourceManager& manager = info.getSourceManager();
    return manager.getFileID(manager.getFileLoc(info.getLocation())) == manager.getMainFileID();
  }

  const std::string& help_;
  Places& places_;
  Diagnostics& diagnostics_;
  kgen::Diagnostic* error_ = nullptr;  // the latest
};

using Read = std::function<void(clang::ASTContext&)>;

class ReadingConsumer : public clang::ASTConsumer {
 public:
  explicit ReadingConsumer(const Read& read) : read_(read) {}
  void HandleTranslationUnit(clang::ASTContext& context) override { read_(context); }

 private:
  const Read& read_;
};

class ReadingAction : public clang::ASTFrontendAction {
 public:
  explicit ReadingAction(const Read& read) : read_(read) {}

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler, llvm::StringRef) override {
    limit_macros(compiler.getPreprocessor());
    return std::make_unique<ReadingConsumer>(read_);
  }

 private:
  const Read& read_;
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
  diagnostics.error({}, "cannot read C++: there is no resource folder of Clang 19")
      .note(fmt::format("its include/stddef.h was looked for in {}", quoted_list(folders)))
      .advise(
          "install libclang-common-19-dev, or let KGEN_CLANG_RESOURCES name what `clang-19 -print-resource-dir` "
          "prints");
  return std::nullopt;
}

}  // namespace

void parse(const TranslationUnit& unit, Places& places, Diagnostics& diagnostics, const Read& read) {
  const auto resources = find_resources(diagnostics);
  if (!resources) return;
  std::string text;
  for (const std::string& file : unit.files) text += fmt::format("#include \"{}\"\n", file);
  std::vector<std::string> arguments = {"clang++", "-xc++",           "-std=c++20",
                                        "-w",      "-fsyntax-only",   "-fparse-all-comments",
                                        "-DKGEN_INTROSPECT",          "-resource-dir=" + *resources};
  for (const std::string& definition : unit.definitions) arguments.push_back("-D" + definition);
  for (const std::string& folder : unit.include_directories) arguments.push_back("-I" + folder);
  arguments.push_back(unit.name);
  std::vector<const char*> pointers;
  for (const std::string& each : arguments) pointers.push_back(each.c_str());

  Reporter reporter(unit.help, places, diagnostics);
  clang::CompilerInstance compiler;
  compiler.createDiagnostics(&reporter, /*ShouldOwnClient=*/false);
  clang::CreateInvocationOptions options;
  options.Diags = &compiler.getDiagnostics();
  std::shared_ptr<clang::CompilerInvocation> invocation = clang::createInvocation(pointers, options);
  if (!invocation) return;
  invocation->getFrontendOpts().SkipFunctionBodies = true;
  invocation->getFrontendOpts().DisableFree = false;  // which the driver sets, as a compiler ends after one unit
  invocation->getDiagnosticOpts().ShowCarets = false;  // and with them the count of errors on stderr
  invocation->getPreprocessorOpts().addRemappedFile(
      unit.name, llvm::MemoryBuffer::getMemBufferCopy(text, unit.name).release());
  compiler.setInvocation(std::move(invocation));
  compiler.createFileManager(regular_files());
  ReadingAction action(read);
  compiler.ExecuteAction(action);
}

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

}  // namespace kgen

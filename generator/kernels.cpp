#include "generator/kernels.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "generator/base/hash.hpp"
#include "generator/introspect/clang_services.hpp"
#include "generator/load/kernel_files.hpp"
#include "generator/load/load_ops.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

// Its path in the first include directory that has it, or "".
std::string find_header(const std::string& name, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder) / name;
    std::error_code error;
    if (fs::is_regular_file(path, error)) return path.string();
  }
  return "";
}

// The headers of a library as they are now.
struct HeadersNow {
  std::vector<std::string> paths;                  // in the order of KernelLibrary::headers
  std::map<std::string, const SourceText*> texts;  // by name
  std::vector<std::string> changed;                // names
};

// After an error some are missing.
HeadersNow read_headers(const KernelLibrary& library, const SourceText& file, const PipelineOptions& options,
                        Session& session) {
  HeadersNow now;
  for (const HeaderFile& header : library.headers) {
    const std::string path = find_header(header.name, options.include_directories);
    if (path.empty()) {
      session.diagnostics.error({}, fmt::format("there is no header '{}', which {} speaks of", header.name, file.path))
          .note(fmt::format("the include directories are {}", quoted_list(options.include_directories)));
      continue;
    }
    const SourceText* text = session.sources.read(path, session.diagnostics);
    if (!text) continue;
    now.paths.push_back(path);
    now.texts[header.name] = text;
    if (content_hash(text->content) != header.hash) now.changed.push_back(header.name);
  }
  return now;
}

// Lets locations point into the headers. One that lies beyond its header's end points nowhere.
void place_in_headers(KernelLibrary& library, const HeadersNow& now) {
  for (KernelSignature& kernel : library.kernels) {
    const auto found = now.texts.find(kernel.header);
    const SourceText* text = found == now.texts.end() ? nullptr : found->second;
    const auto place = [&](SourceLocation& where) {
      if (!where.text) where.text = text;
    };
    place(kernel.where);
    if (kernel.where.text == text) kernel.when.where = kernel.where;
    for (auto* operands : {&kernel.operands, &kernel.results}) {
      for (KernelOperand& each : *operands) place(each.where);
    }
    for (KernelAttribute& each : kernel.attributes) place(each.where);
    for (KernelParameter& each : kernel.parameters) place(each.where);
  }
}

std::string change_text(const std::vector<std::string>& changed) {
  const bool one = changed.size() == 1;
  return fmt::format("read {} anew: {} changed since {} kernels were read", quoted_list(changed),
                     one ? "it has" : "they have", one ? "its" : "their");
}

// But for the kernels of the headers `replaced`, which are named as kernels name theirs.
void load_library(const SourceText& file, const PipelineOptions& options, const std::set<std::string>& replaced,
                  Session& session) {
  Diagnostics& diagnostics = session.diagnostics;
  KernelLibrary library = read_signatures(file, diagnostics);
  const HeadersNow now = read_headers(library, file, options, session);
  session.read_files.insert(session.read_files.end(), now.paths.begin(), now.paths.end());
  if (diagnostics.has_errors()) return;
  if (now.changed.empty()) {
    place_in_headers(library, now);
  } else {
    const ClangServices* clang = clang_services(change_text(now.changed), diagnostics);
    if (!clang) return;
    library = clang->introspect({now.paths, options.include_directories}, session.sources, diagnostics);
  }
  std::erase_if(library.kernels, [&](const KernelSignature& kernel) { return replaced.contains(kernel.header); });
  add_kernels(std::move(library.kernels), session.ops, diagnostics);
}

void load_signature_file(const std::string& path, const PipelineOptions& options, Session& session,
                         const std::set<std::string>& replaced = {}) {
  const SourceText* file = session.sources.read(path, session.diagnostics);
  if (!file) return;
  session.read_files.push_back(path);
  load_library(*file, options, replaced, session);
}

}  // namespace

void load_kernels(const PipelineOptions& options, Session& session) {
  KernelLibrary given;
  if (!options.headers.empty()) given = introspect_headers(options.headers, options, session);
  std::set<std::string> replaced;
  for (const KernelSignature& kernel : given.kernels) replaced.insert(kernel.header);
  if (!options.signatures.empty()) load_signature_file(options.signatures, options, session, replaced);
  add_kernels(std::move(given.kernels), session.ops, session.diagnostics);
  for (const std::string& path : options.kernels) {
    PipelineOptions own = options;
    own.include_directories.insert(own.include_directories.begin(), kernel_include_directory(path));
    const std::vector<std::string> files = kernel_files(path, session.diagnostics);
    const bool headers = !files.empty() && fs::path(files[0]).extension() != ".yaml" && fs::is_directory(path);
    if (headers) {
      session.read_files.insert(session.read_files.end(), files.begin(), files.end());
      add_kernels(introspect_headers(files, own, session).kernels, session.ops, session.diagnostics);
    } else {
      for (const std::string& file : files) load_signature_file(file, own, session);
    }
  }
}

KernelLibrary introspect_headers(const std::vector<std::string>& headers, const PipelineOptions& options,
                                 Session& session) {
  const ClangServices* clang = clang_services("read kernels from their headers", session.diagnostics);
  if (!clang) return {};
  return clang->introspect({headers, options.include_directories}, session.sources, session.diagnostics);
}

}  // namespace kgen

#include "generator/stub_signatures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "generator/emit/target.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

using Parameters = std::vector<FunctionParameter>;

constexpr std::string_view help = "give the stub the signature that is declared, or change the graph instead";

bool same_types(const Parameters& a, const Parameters& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.type == y.type; });
}

Parameters::const_iterator find_name(const Parameters& parameters, const std::string& name) {
  return std::find_if(parameters.begin(), parameters.end(), [&](const auto& each) { return each.name == name; });
}

std::string shown(const FunctionParameter& parameter) {
  return parameter.name.empty() ? fmt::format("one of type '{}'", parameter.type)
                                : fmt::format("'{}' of type '{}'", parameter.name, parameter.type);
}

// Too few or too many: the first that one side has and the other has not.
void report_count(const FunctionSignature& declared, const FunctionSignature& found, Diagnostics& diagnostics) {
  const bool fewer = found.parameters.size() < declared.parameters.size();
  const Parameters& more = fewer ? declared.parameters : found.parameters;
  const Parameters& less = fewer ? found.parameters : declared.parameters;
  auto odd = std::find_if(more.begin(), more.end(),
                          [&](const auto& each) { return find_name(less, each.name) == less.end(); });
  if (odd == more.end()) odd = more.begin() + static_cast<std::ptrdiff_t>(less.size());
  const SourceLocation declared_at = fewer ? odd->where : declared.where;
  diagnostics
      .error(fewer ? found.where : odd->where,
             fmt::format("'{}' takes {} parameters, and its wrapper passes {}: {} is {}", found.name,
                         found.parameters.size(), declared.parameters.size(), shown(*odd), fewer ? "missing" : "new"))
      .note(declared_at, "it is declared here")
      .advise(std::string(help));
}

void report_types(const FunctionSignature& declared, const FunctionSignature& found, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < declared.parameters.size(); ++i) {
    const FunctionParameter &expected = declared.parameters[i], &parameter = found.parameters[i];
    if (parameter.type == expected.type) continue;
    diagnostics
        .error(parameter.where, fmt::format("parameter {} of '{}' is {}, and its wrapper passes {}", i + 1, found.name,
                                            shown(parameter), shown(expected)))
        .note(expected.where, "it is declared here")
        .advise(std::string(help));
  }
}

// Parameters of one type that changed places: the compiler would not notice.
void validate_order(const FunctionSignature& declared, const FunctionSignature& found, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < declared.parameters.size(); ++i) {
    const FunctionParameter &expected = declared.parameters[i], &parameter = found.parameters[i];
    const auto other = find_name(declared.parameters, parameter.name);
    if (parameter.name.empty() || parameter.name == expected.name || other == declared.parameters.end()) continue;
    diagnostics
        .error(parameter.where, fmt::format("parameter {} of '{}' is called '{}', and its wrapper passes '{}' there",
                                            i + 1, found.name, parameter.name, expected.name))
        .note(other->where, fmt::format("'{}' is parameter {}", other->name, other - declared.parameters.begin() + 1))
        .advise("put the parameters in the order in which they are declared");
    return;
  }
}

// What Clang said first of a file that it could not read.
void warn_not_compared(const std::string& what, const Diagnostics& reasons, Diagnostics& diagnostics) {
  Diagnostic& warning = diagnostics.warning({}, fmt::format("{} not compared with what its wrapper calls", what));
  if (reasons.all().empty()) return;
  const Diagnostic& reason = reasons.all().front();
  warning.note(reason.where, reason.message);
  for (const auto& [where, text] : reason.notes) warning.note(where, text);
  if (!reason.help.empty()) warning.advise(reason.help);
}

// The header that declares what an emitted source defines; empty where it is none of a stub.
fs::path header_of(const fs::path& folder, const std::string& path) {
  const fs::path room = fs::path(path).parent_path();
  const auto has_extension = [&](const Target* target) { return fs::path(path).extension() == target->stub_extension; };
  if (room.empty() || std::none_of(all_targets().begin(), all_targets().end(), has_extension)) return {};
  fs::path header = folder / room;
  header += ".hpp";
  std::error_code error;
  return fs::is_regular_file(header, error) ? header : fs::path();
}

bool is_file(const SourceLocation& where, const fs::path& file) {
  return where.text && fs::path(where.text->path).filename() == file.filename();
}

// Whether it is a directive at which the reading ended, such as an include of what only the build finds.
bool is_directive(const SourceLocation& where) {
  std::string_view text = where.text->content;
  for (std::uint32_t line = 1; line < where.line; ++line) text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  const auto first = text.find_first_not_of(" \t");
  return first != text.npos && text[first] == '#';
}

// What Clang found wrong with a stub, other than that it knows too little. True where that is an error.
bool report_broken(const fs::path& stub, const FunctionSignature& declared, bool is_found, const Diagnostics& reasons,
                   Diagnostics& diagnostics) {
  for (const Diagnostic& reason : reasons.all()) {
    const bool is_open = !reason.where.known();  // the files ended within something
    const bool is_broken = !is_found && is_file(reason.where, stub) && !is_directive(reason.where);
    if (!is_open && !is_broken) continue;
    Diagnostic& error = diagnostics.error(
        reason.where, is_open ? fmt::format("'{}' ends too early: {}", stub.string(), reason.message)
                              : fmt::format("the edited stub does not define '{}', which its wrapper calls: {}",
                                            declared.name, reason.message));
    for (const auto& [where, text] : reason.notes) error.note(where, text);
    if (!is_found) error.note(declared.where, "it is declared here");
    error.advise("mend it; or remove the file, and `kgen plan` writes it again without your edits");
    return true;
  }
  return false;
}

void validate_stub(const fs::path& header, const fs::path& stub, const std::vector<std::string>& include_directories,
                   const ClangServices& clang, SourceMap& sources, Diagnostics& diagnostics) {
  Diagnostics reasons;
  const SignatureRequest request{{header.string(), stub.string()}, include_directories};
  const std::vector<FunctionSignature> functions = clang.signatures(request, sources, reasons);
  const std::string name = "::" + stub.stem().string();
  const FunctionSignature* declared = nullptr;
  std::vector<FunctionSignature> found;
  for (const FunctionSignature& function : functions) {
    if (!("::" + function.name).ends_with(name)) continue;
    if (is_file(function.where, header)) {
      declared = &function;
    } else {
      found.push_back(function);
    }
  }
  if (declared && report_broken(stub, *declared, !found.empty(), reasons, diagnostics)) return;
  if (declared && (!found.empty() || !reasons.has_errors())) {
    compare_signature(*declared, found, diagnostics);
  } else if (reasons.has_errors()) {
    warn_not_compared(fmt::format("'{}' was", stub.string()), reasons, diagnostics);
  }
}

}  // namespace

void compare_signature(const FunctionSignature& declared, const std::vector<FunctionSignature>& found,
                       Diagnostics& diagnostics) {
  const auto same_name = [&](const auto& each) { return each.name == declared.name; };
  const auto fits = [&](const auto& each) {
    return same_name(each) && same_types(each.parameters, declared.parameters) && each.result == declared.result;
  };
  const auto fitting = std::find_if(found.begin(), found.end(), fits);
  const auto named = std::find_if(found.begin(), found.end(), same_name);
  if (fitting != found.end()) {
    validate_order(declared, *fitting, diagnostics);
  } else if (named == found.end()) {
    diagnostics
        .error(declared.where,
               fmt::format("'{}' is declared here and called, but the edited stub does not define it", declared.name))
        .advise(std::string(help));
  } else if (named->parameters.size() != declared.parameters.size()) {
    report_count(declared, *named, diagnostics);
  } else if (!same_types(named->parameters, declared.parameters)) {
    report_types(declared, *named, diagnostics);
  } else {
    diagnostics
        .error(named->where, fmt::format("'{}' returns '{}', and is declared to return '{}'", named->name,
                                         named->result, declared.result))
        .note(declared.where, "it is declared here")
        .advise(std::string(help));
  }
}

void compare_stub_signatures(const fs::path& folder, const FolderStatus& status,
                             const std::vector<std::string>& include_directories, SourceMap& sources,
                             Diagnostics& diagnostics) {
  std::vector<std::string> stubs;
  for (const FileStatus& file : status.files) {
    const bool is_used = file.state == FileState::edited || file.state == FileState::pinned;
    if (is_used && file.edited && !header_of(folder, file.path).empty()) stubs.push_back(file.path);
  }
  if (stubs.empty()) return;
  Diagnostics reasons;
  const ClangServices* clang = clang_services("read the signatures of edited stubs", reasons);
  if (!clang) {
    warn_not_compared(stubs.size() == 1 ? fmt::format("the edited stub '{}' is", stubs.front())
                                     : fmt::format("{} edited stubs are", stubs.size()),
                   reasons, diagnostics);
    return;
  }
  for (const std::string& stub : stubs) {
    validate_stub(header_of(folder, stub), folder / stub, include_directories, *clang, sources, diagnostics);
  }
}

}  // namespace kgen

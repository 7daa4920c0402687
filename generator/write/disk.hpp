// Single files that the user named, read and written whole. What lies in an emitted folder is read and written by
// emitted_folder.hpp alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "generator/base/diagnostics.hpp"
#include "generator/write/emitted_folder.hpp"

namespace kgen {

// The content of a regular file of at most largest_file bytes; where there is none, nothing, and `error` says why.
std::optional<std::string> read_file(const std::filesystem::path& path, std::error_code& error);

// The same of an open file.
std::optional<std::string> read_descriptor(int descriptor, std::error_code& error);

// Writes aside, then renames: even when the process is killed, `path` holds its old content or the new. A file that
// holds `content` already keeps its time; one that is replaced, its permissions. False, with an error reported, where
// it cannot be done: so where `path` is no regular file.
bool replace_file(const std::filesystem::path& path, std::string_view content, Diagnostics& diagnostics);

// The reason not to read what is no file: "it is a link".
std::error_code refusal_of(EntryKind kind);

// What the last system call failed for.
std::error_code last_error();

// "cannot write 'src/stub_y.cpp': No space left on device"
Diagnostic& report_failure(Diagnostics& diagnostics, std::string_view what, const std::filesystem::path& path,
                           const std::error_code& error);

}  // namespace kgen

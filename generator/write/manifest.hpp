// What kgen wrote to a folder, and what it made that from. The record stands in the folder, in .kgen/, so that it goes
// where the files go:
//   .kgen/manifest     this
//   .kgen/base/PATH    the text of PATH as kgen last emitted it: what edits are told from, and merged with
//   .kgen/staging/     an update that is being prepared: of no effect
//   .kgen/pending/     an update that is complete: carried out now, or, after a run that was killed, by the next run
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/write/emitted_folder.hpp"

namespace kgen {

inline constexpr std::string_view record_name = ".kgen";
inline constexpr std::string_view old_manifest_name = ".kgen-manifest";  // of kgen before it kept bases

inline constexpr std::string_view manifest_name = ".kgen/manifest";
inline constexpr std::string_view bases_name = ".kgen/base";

// ".kgen/base/PATH"
std::string base_name(std::string_view path);

enum class Standing {
  emitted,   // part of the last emission
  pinned,    // so too, but the graph says that the user's file stays
  orphaned,  // no longer emitted; kept because the user had edited it
};

struct EmittedFile {
  std::uint64_t hash = 0;  // of the text in .kgen/base/
  Standing standing = Standing::emitted;
  std::optional<std::uint64_t> unformatted;  // see SourceFile
  bool operator==(const EmittedFile&) const = default;
};

// A file that the emission was made from, under a name that holds on every machine.
struct EmissionInput {
  std::string name;
  std::uint64_t hash = 0;  // of its content
  bool operator==(const EmissionInput&) const = default;
};

struct Manifest {
  std::string version;  // of the kgen that wrote it
  std::vector<EmissionInput> inputs;
  std::vector<std::string> include_directories;           // of own kernels, relative to the folder
  std::map<std::string, EmittedFile, std::less<>> files;  // by path, relative to the folder
  bool operator==(const Manifest&) const = default;
};

// As record.hpp has it. Words and lines that a later kgen may have added are passed over when read. An error, which
// names the manifest as `shown`, where it is not what any kgen wrote: edits could not be told from what it no longer
// says.
std::string manifest_text(const Manifest& manifest);
Manifest parse_manifest(std::string_view text, const std::filesystem::path& shown, Diagnostics& diagnostics);

// The manifest of the folder; an empty one where there is none, or after an error. One that kgen wrote before it kept
// bases, .kgen-manifest, is understood; its files have no base. Errors: it is damaged, or cannot be read; something
// that is no folder stands where the record should be.
Manifest read_manifest(const EmittedFolder& folder, Diagnostics& diagnostics);

// True for the path of a file below the folder that is none of kgen's records.
bool is_emitted_path(const std::string& path);

// The text that kgen last emitted to `path`; nothing where it is lost or is not the one of the manifest.
std::optional<std::string> read_base(const EmittedFolder& folder, const std::string& path, std::uint64_t hash);

}  // namespace kgen

// A folder to write to, and what tests ask of it.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/write/write_files.hpp"

namespace kgen {

using Names = std::vector<std::string>;

// A folder that goes away with its test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    // In memory, where that is to be had: some tests rename thousands of files, and disks are slow at that.
    std::filesystem::path parent = "/dev/shm";
    if (::access(parent.c_str(), W_OK | X_OK) != 0) parent = std::filesystem::temp_directory_path();
    std::string pattern = (parent / "kgen_write_test_XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path out() const { return path_ / "out"; }
  std::string read(const std::string& file) const {
    std::ifstream stream(out() / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  Manifest manifest() const {
    Diagnostics diagnostics;
    const Manifest manifest = parse_manifest(read(".kgen/manifest"), "manifest", diagnostics);
    CHECK(diagnostics.text(false) == "");
    return manifest;
  }
  std::string base(const std::string& file) const { return read(".kgen/base/" + file); }
  void edit(const std::string& file, const std::string& content) const {
    std::ofstream(out() / file, std::ios::binary) << content;
  }
  // Every file below the output folder, with its content.
  std::map<std::string, std::string> all_files() const {
    std::map<std::string, std::string> result;
    if (!std::filesystem::exists(out())) return result;
    for (const std::filesystem::directory_entry& entry : std::filesystem::recursive_directory_iterator(out())) {
      const std::string name = entry.path().lexically_relative(out()).string();
      if (entry.is_regular_file()) result[name] = read(name);
    }
    return result;
  }
  // The same, but for kgen's records.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> result = all_files();
    std::erase_if(result, [](const auto& file) { return file.first.starts_with(".kgen/"); });
    return result;
  }
  Names names() const {
    Names result;
    for (const auto& [name, content] : files()) result.push_back(name);
    return result;
  }
  WriteOptions options(std::set<std::string> pinned = {}) const {
    WriteOptions options;
    options.folder = out();
    options.pinned = std::move(pinned);
    options.version = "1.0";
    return options;
  }
  // As a terminal has it, with the temporary folder's name left out.
  std::string shown(const Diagnostics& diagnostics) const {
    std::string text = diagnostics.text(false);
    const std::string prefix = path_.string() + "/";
    for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix)) text.erase(at, prefix.size());
    return text;
  }
  // What it reports.
  std::string messages(const std::vector<SourceFile>& emitted, const WriteOptions& options,
                       WriteReport* report = nullptr) const {
    SourceMap sources;
    Diagnostics diagnostics;
    const WriteReport written = write_files(emitted, options, sources, diagnostics);
    if (report) *report = written;
    return shown(diagnostics);
  }
  // Expects neither an error nor a warning.
  WriteReport write(const std::vector<SourceFile>& emitted, const std::set<std::string>& pinned = {}) const {
    WriteReport report;
    CHECK(messages(emitted, options(pinned), &report) == "");
    return report;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace kgen

// A folder that a test has to itself, also where tests run beside each other.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace kgen::test {

// Removed at the end.
class OwnFolder {
 public:
  OwnFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kgen-test-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~OwnFolder() { std::filesystem::remove_all(path); }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  std::string path;
};

}  // namespace kgen::test

#include "toy_arguments.hpp"

#include <stdlib.h>

#include <fstream>

namespace toy {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "kgen_runtime_XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  folder_ = name;
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(folder_); }

void write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  REQUIRE(file.good());
}

std::string safetensors(const std::string& header, const std::string& data) {
  std::string length;
  for (std::size_t i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return length + header + data;
}

ModelPointer load_toy(bool check) {
  kgen_load_options options = {};
  options.weights_directory = weights_folder;
  options.check = check ? 1 : 0;
  kgen_model* model = nullptr;
  const kgen_status status = kgen_model_load(kgen_graph_toy(), &options, &model);
  REQUIRE_MESSAGE(status == KGEN_OK, kgen_last_error());
  return {model, kgen_model_free};
}

}  // namespace toy

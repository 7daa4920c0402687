// kgen import: from the file of a model to the files of a graph.
#pragma once

#include <string>
#include <vector>

#include "generator/import/import_model.hpp"
#include "generator/pipeline.hpp"

namespace kgen {

struct ImportFileOptions {
  std::string model;               // path
  std::string output;              // path of the graph's file; weights are written beside it, as NAME.safetensors
  std::vector<std::string> rules;  // files of rules, in order
  std::vector<std::string> bound;  // "input=value", or "input=file.npy", "input=file.pb"
  std::vector<std::string> dims;   // "name=low..high", "name=number" or "name=other + 1"
  std::string example;             // a folder with input_0.pb and so on: an input whose value must be known has that one
};

struct ImportReport {
  std::size_t nodes = 0;                   // of the model
  std::size_t weights = 0;                 // tensors in the weights' file
  std::vector<std::string> bound;          // inputs that `example` gave a value
  std::vector<std::string> sizes;          // inputs whose elements are dims
};

// The rules of import, linked with the session's operators, which must be loaded.
ImportRules load_rules(const std::vector<std::string>& files, Session& session);

// Writes the graph and its weights. Nothing after errors, which are in session.diagnostics; then nothing is written.
std::optional<ImportReport> import_file(const ImportFileOptions& options, Session& session);

}  // namespace kgen

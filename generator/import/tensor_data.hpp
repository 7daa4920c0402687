// The bytes of a model's tensors, wherever they are.
#pragma once

#include <optional>
#include <string>

#include "generator/base/diagnostics.hpp"
#include "generator/import/graph_builder.hpp"
#include "generator/import/onnx_model.hpp"

namespace kgen {

// The tensor, checked: a type that kgen has, extents that are not negative, as many bytes as they need. External data
// must lie in a file in `folder` or below it, reached through no link that leads out of it, and is not read here.
// Nothing after an error, which begins with `what`.
std::optional<StoredTensor> locate_tensor(const OnnxTensor& tensor, const std::string& folder, const std::string& what,
                                          Diagnostics& diagnostics);

// Its elements, where they are few enough to be content.
std::optional<Content> content_of(const StoredTensor& tensor);

// The tensors as a safetensors file, streamed to `path` by way of a new file beside it. False after an error.
bool write_safetensors(const std::string& path, const std::vector<const StoredTensor*>& tensors,
                       Diagnostics& diagnostics);

// A value that a user gave: "3", "[1, 2]", or the name of a .npy file. `type`: its dtype, and its shape where the value
// is no file and the shape is known.
std::optional<Content> parse_value(const std::string& text, DType dtype, Diagnostics& diagnostics);

}  // namespace kgen

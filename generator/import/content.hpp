// Tensors whose elements are known when a model is imported: shapes, axes, small constants. Whole numbers may be
// arithmetic over symbolic dims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "generator/import/onnx_model.hpp"
#include "generator/model/dim.hpp"
#include "generator/model/dtype.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

using ContentElement = std::variant<Dim, double>;  // of integers and bool (0, 1): a Dim

struct Content {
  DType dtype = DType::i64;
  std::vector<std::int64_t> shape;
  std::vector<ContentElement> elements;  // row-major
};

// Of a value that has room for more than there may be: along `axis` only the first places count, as many as `count`
// says, an i64 of no axes in the graph.
struct CountedAxis {
  std::size_t axis = 0;
  ValueId count = no_id;
};

// A value while its model is imported. Its graph's id is absent as long as only its content was needed.
struct ImportedValue {
  TensorType type;
  ValueId id = no_id;
  std::shared_ptr<const Content> content;  // null: not known
  std::string name;                        // a wish
  std::optional<CountedAxis> counted = {};
};

// The most elements that are kept as content.
inline constexpr std::int64_t most_content = 4096;

// kgen's dtype for a TensorProto.DataType; nothing where it has none.
std::optional<DType> dtype_of_onnx(std::int32_t data_type);
std::string_view name_of_onnx_type(std::int32_t data_type);

std::int64_t element_count(const std::vector<std::int64_t>& shape);
// Of so many elements, packed ones in whole bytes.
std::int64_t bytes_of_elements(DType dtype, std::int64_t count);
Shape to_shape(const std::vector<std::int64_t>& extents);

// The elements of `bytes`; nothing where there are more than most_content of them, or one that a Dim cannot hold.
std::optional<Content> decode_content(DType dtype, const std::vector<std::int64_t>& shape, std::string_view bytes);

// The number that an element is; nothing where it depends on symbolic dims.
std::optional<Number> number_of(const ContentElement& element);

// A whole number; nothing where it is none.
std::optional<Dim> dim_of(const ContentElement& element);

}  // namespace kgen

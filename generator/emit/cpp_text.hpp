// Small pieces of C++ text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/writer.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// No emitted line is longer, unless it holds one token that is.
inline constexpr std::size_t line_width = 120;

// Of a size, as an expression over std::int64_t: "2 * D + S + 1", "kgen::floor_divide(S - D, 4)".
std::string cpp_text(const Dim& dim);
// "kgen::View<const float, 2>", of that rank whatever the shape of the type.
std::string view_type(const TensorType& type, std::size_t rank, bool writable);
// "kgen::Flattened<kgen::View<float, 3>, 2, 1>": a View whose axes are walked in these runs; none: the View itself.
std::string flattened_type(const std::string& view, const std::vector<int>& runs);
// "kgen::Lines<const float, 2, 1>": read in lines along that axis.
std::string lines_type(const TensorType& type, std::size_t rank, int axis);
// "[M, 4096]"; an extent that differs between the uses of a stub is "*".
std::string shape_text(const StubParameter& parameter);
// "f32[M, 4096]", by the same rule.
std::string type_text(const StubParameter& parameter);
// "{M, 4096}"
std::string braced(const std::vector<std::string>& items);

// One statement: head + items separated by ", " + tail, indented as `writer` is, broken after commas where it is too
// long. `comment` ("// ...") stands at the end where there is room, else on its own line above.
void write_list(Writer& writer, const std::string& head, const std::vector<std::string>& items, const std::string& tail,
                const std::string& comment = {});
// The same for what stands in braces, one item a line where it does not fit in one.
void write_initializer(Writer& writer, const std::string& head, const std::vector<std::string>& items,
                       const std::string& tail);
// "// content", broken between words.
void write_comment(Writer& writer, std::string_view content);

}  // namespace kgen

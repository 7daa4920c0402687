#include "generator/load/read_updated.hpp"

#include <fmt/format.h>

#include "generator/load/fields.hpp"

namespace kgen {

std::optional<std::size_t> read_updated(Yaml value, const OpSpec& op, Diagnostics& diagnostics) {
  const auto name = read_text(value, "'updates'", diagnostics);
  const bool has_kernel = op.kind == OpKind::structured || op.kind == OpKind::opaque;
  for (std::size_t i = 0; name && has_kernel && i < op.operands.size(); ++i) {
    if (op.operands[i].name == *name && !op.operands[i].optional && !op.operands[i].variadic) return i;
  }
  if (name) diagnostics.error(value.where(), fmt::format("'{}' is no operand that each call of a kernel has", *name));
  return std::nullopt;
}

}  // namespace kgen

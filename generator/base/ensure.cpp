#include "generator/base/ensure.hpp"

#include <fmt/format.h>

namespace kgen {

void internal_error(std::string_view what, const std::source_location& where) {
  std::string_view file = where.file_name();
  file.remove_prefix(file.rfind('/') + 1);
  throw InternalError(fmt::format("{}:{}: this does not hold: {}", file, where.line(), what));
}

}  // namespace kgen

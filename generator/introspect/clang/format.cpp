#include "generator/introspect/clang/format.hpp"

#include <clang/Format/Format.h>
#include <clang/Tooling/Core/Replacement.h>


#include "generator/base/ensure.hpp"
#include "generator/introspect/emitted_style.hpp"

namespace kgen {
namespace {

clang::format::FormatStyle parsed_style() {
  clang::format::FormatStyle style = clang::format::getLLVMStyle(clang::format::FormatStyle::LK_Cpp);
  style.Language = clang::format::FormatStyle::LK_Cpp;
  const std::error_code error = clang::format::parseConfiguration(emitted_style, &style);
  ensure(!error, "the style that is embedded in kgen is one that Clang knows");
  return style;
}

}  // namespace

std::string format(std::string_view text, std::string_view path) {
  static const clang::format::FormatStyle style = parsed_style();
  const clang::tooling::Range whole(0, static_cast<unsigned>(text.size()));
  const auto replacements = clang::format::reformat(style, text, {whole}, path);
  auto formatted = clang::tooling::applyAllReplacements(text, replacements);
  if (formatted) return std::move(*formatted);
  llvm::consumeError(formatted.takeError());
  return std::string(text);
}

}  // namespace kgen

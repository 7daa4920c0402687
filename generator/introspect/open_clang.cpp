#include "generator/base/plugin.hpp"
#include "generator/introspect/clang_services.hpp"

namespace kgen {

const ClangServices* clang_services(std::string_view purpose, Diagnostics& diagnostics) {
  const Plugin plugin{.name = "Clang",
                      .file = "kgen_clang.so",
                      .variable = "KGEN_CLANG",
                      .option = "KGEN_WITH_CLANG",
                      .symbol = clang_services_symbol,
                      .directory = KGEN_PLUGIN_DIRECTORY,
                      .built = KGEN_BUILT_PLUGIN};
  const auto version_of = [](const void* table) { return static_cast<const ClangServices*>(table)->version; };
  return static_cast<const ClangServices*>(open_plugin(plugin, purpose, KGEN_VERSION, version_of, diagnostics));
}

}  // namespace kgen

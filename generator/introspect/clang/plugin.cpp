// The table of clang_services.hpp, as the plugin exports it.
#include "generator/introspect/clang/format.hpp"
#include "generator/introspect/clang/introspect.hpp"
#include "generator/introspect/clang/read_signatures.hpp"
#include "generator/introspect/clang_services.hpp"

extern "C" __attribute__((visibility("default"))) const kgen::ClangServices* kgen_clang_services() {
  static const kgen::ClangServices services{.version = KGEN_VERSION,
                                            .introspect = kgen::introspect,
                                            .format = kgen::format,
                                            .signatures = kgen::read_signatures};
  return &services;
}

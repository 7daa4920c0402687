#include "generator/emit/names.hpp"

#include <cctype>

namespace kgen {

bool is_reserved_in_cpp(std::string_view name) {
  static const std::unordered_set<std::string_view> reserved = {
      // C++20, [lex.key] and [lex.digraph]
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
      "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr", "constinit",
      "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
      "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
      "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
      "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short",
      "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
      "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual",
      "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
      // what emitted code is written with
      "kgen", "std",
      // macros
      "assert", "errno", "linux", "stderr", "stdin", "stdout", "unix", "EOF", "INFINITY", "NAN", "NULL"};
  return reserved.contains(name);
}

std::string NameTable::unique(std::string_view wish) {
  std::string name;
  if (wish.empty() || std::isdigit(static_cast<unsigned char>(wish[0])) != 0) name += 'v';
  for (const char c : wish) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  while (is_reserved_in_cpp(name) || taken(name)) name += '_';
  reserve(name);
  return name;
}

}  // namespace kgen

// Text of a person's (a name, a path, a key) as it stands in another language. Whatever kgen writes goes through one of
// these: each returns one line, out of which no text leads, whatever bytes it holds.
#pragma once

#include <string>
#include <string_view>

namespace kgen {

// A literal with its quotes, of the same bytes. What turns the direction of writing is escaped.
std::string cpp_string(std::string_view text);

// What follows "//" or "#" in C++, CMake or YAML. Characters that no reader sees are shown as \n, \x1b or \u202e.
std::string comment_text(std::string_view text);

// An argument of a command: bare where that is the same, else in quotes. What lists are parted by stays in it.
std::string cmake_argument(std::string_view text);
// The same for a path as seen from the folder of the CMake file that it stands in.
std::string cmake_path(std::string_view path);
// The name of a target: the graph's own, or "graph_<name>" where CMake makes a target of that name by itself, or a
// system's library is called so.
std::string cmake_target(std::string_view graph);

// A scalar in quotes. Bytes that are not UTF-8, which YAML cannot hold, become U+FFFD.
std::string yaml_string(std::string_view text);
// The same, bare where it is a name, a path or a type and means itself.
std::string yaml_name(std::string_view text);

// A path in a rule of make, as gcc -MD writes it. Make knows no line ends in paths: see is_make_path.
std::string make_path(std::string_view path);
bool is_make_path(std::string_view path);

// A word of bash: bare where that is the same, else in quotes.
std::string shell_word(std::string_view text);

}  // namespace kgen

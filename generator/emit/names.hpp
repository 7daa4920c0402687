// Names for emitted C++: as in the graph wherever C++ allows it.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace kgen {

// The namespace that holds all that is emitted for a graph. A graph may be called as it likes: `log`, `index`, `kgen`.
std::string namespace_name(std::string_view graph);

// A keyword, a name that emitted code always uses, or a macro of the standard headers.
bool is_reserved_in_cpp(std::string_view name);

// The names that are taken in one C++ scope, and in the one around it, which outlives it.
class NameTable {
 public:
  explicit NameTable(const NameTable* outer = nullptr) : outer_(outer) {}

  void reserve(std::string name) { taken_.insert(std::move(name)); }
  // `wish`, made an identifier and followed by as many '_' as it takes to be free; it is taken from then on.
  std::string unique(std::string_view wish);
  // The name of a kernel, a functor or a struct that the scope uses, if it is of the global namespace: what is found in
  // a namespace of its own, as "kgen::Add", is found whatever variables are called.
  void reserve_global(std::string_view used);
  bool taken(const std::string& name) const { return taken_.contains(name) || (outer_ && outer_->taken(name)); }

 private:
  const NameTable* outer_;
  std::unordered_set<std::string> taken_;
};

}  // namespace kgen

// A YAML file as a compact tree in which every key and every scalar knows its place. Only this folder knows YAML.
//
// The subset is what configuration needs: one document of mappings, sequences and scalars. Anchors, aliases and tags
// are errors. One liberty is taken: a tensor type such as f32[B, S] may stand unquoted inside {...} too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/base/source.hpp"

namespace kgen {

class YamlTree;

// One node of a tree: a handle, cheap to copy, valid while its tree lives. A default-constructed handle is no node;
// apart from the conversion to bool, its members may not be called.
class Yaml {
 public:
  // empty: nothing was written (`key:`), or `~`, or `null`.
  enum class Kind : std::uint8_t { empty, scalar, sequence, mapping };
  struct Entry;
  template <class Element>
  class Range;

  Yaml() = default;
  Yaml(const YamlTree& tree, std::uint32_t index) : tree_(&tree), index_(index) {}

  explicit operator bool() const { return tree_ != nullptr; }
  Kind kind() const;
  bool is_empty() const { return kind() == Kind::empty; }
  bool is_scalar() const { return kind() == Kind::scalar; }
  bool is_sequence() const { return kind() == Kind::sequence; }
  bool is_mapping() const { return kind() == Kind::mapping; }

  // The content of a scalar, without quotes; "" for all others.
  std::string_view text() const;
  // True for a scalar without quotes: only such a one can be a number or a boolean.
  bool is_plain() const;
  // How many items a sequence, or entries a mapping, has.
  std::size_t size() const;
  SourceLocation where() const;
  // The place of the byte `offset` of text(), or where() for a scalar that is folded over lines or holds escapes.
  SourceLocation at(std::size_t offset) const;

  // Of a sequence (any other node has none).
  Range<Yaml> items() const;
  // Of a mapping (any other node has none). Keys are scalars and differ.
  Range<Entry> entries() const;
  // The value of `key`, or no node. Takes time in proportion to the number of entries.
  Yaml find(std::string_view key) const;

 private:
  const YamlTree* tree_ = nullptr;
  std::uint32_t index_ = 0;
};

struct Yaml::Entry {
  Yaml key;
  Yaml value;
  std::string_view name() const { return key.text(); }
};

// Nodes in the order of the text: the children of a node follow it, each with its own children.
struct YamlNode {
  std::string_view text;     // of the file, or of YamlTree::folded
  std::uint32_t line = 0;    // from 1
  std::uint32_t column = 0;  // from 1, in characters
  std::uint32_t end = 0;     // index of the first node after this one and all that it holds
  std::uint32_t count = 0;   // items or entries
  Yaml::Kind kind = Yaml::Kind::empty;
  bool plain = false;
  bool folded = false;  // `text` is not the file's own
};

class YamlTree {
 public:
  explicit YamlTree(const SourceText& source) : source_(&source) {}
  Yaml root() const { return {*this, 0}; }
  const SourceText& source() const { return *source_; }

  std::vector<YamlNode> nodes;
  std::deque<std::string> folded;  // scalars whose content differs from the file's text

 private:
  const SourceText* source_;
};

// Visits the items or entries of one node.
template <class Element>
class Yaml::Range {
 public:
  class Iterator {
   public:
    Iterator(const YamlTree* tree, std::uint32_t index) : tree_(tree), index_(index) {}
    Element operator*() const {
      if constexpr (std::is_same_v<Element, Yaml>) {
        return {*tree_, index_};
      } else {
        return {{*tree_, index_}, {*tree_, index_ + 1}};
      }
    }
    Iterator& operator++() {
      const std::uint32_t last = std::is_same_v<Element, Yaml> ? index_ : index_ + 1;  // an entry: its value
      index_ = tree_->nodes[last].end;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const YamlTree* tree_;
    std::uint32_t index_;
  };

  Range(const YamlTree* tree, std::uint32_t begin, std::uint32_t end) : tree_(tree), begin_(begin), end_(end) {}
  Iterator begin() const { return {tree_, begin_}; }
  Iterator end() const { return {tree_, end_}; }

 private:
  const YamlTree* tree_;
  std::uint32_t begin_, end_;
};

// Mappings and sequences within each other, at most.
inline constexpr std::size_t deepest_nesting = 64;

// Errors that are reported at most: a fifth of them is shown, and the nearest names to each cost time.
inline constexpr std::size_t most_reported = 100;
// That many have been: there is no point in looking for more.
bool is_hopeless(const Diagnostics& diagnostics);

// The tree of a file; absent after an error that leaves nothing to read. A duplicate key is reported and dropped.
// Linear in the size of the text. Errors: too large, not text, empty, not YAML, nested too deeply, several documents,
// anchors, aliases, tags, duplicate keys.
std::optional<YamlTree> parse_yaml(const SourceText& source, Diagnostics& diagnostics);

}  // namespace kgen

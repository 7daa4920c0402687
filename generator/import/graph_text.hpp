// The file of a graph, as a person would write it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/import/graph_builder.hpp"

namespace kgen {

struct GraphText {
  std::string name;          // an identifier
  std::string comment;       // the first line
  std::string doc;           // may be empty
  std::string weights_file;  // beside the graph
  struct Output {
    std::string name;   // an identifier: callers know it by this
    std::string known;  // as the model calls it
    ValueId value = no_id;
    std::string note = {};  // for readers; may be empty
  };
  std::vector<Output> outputs;
  std::map<ValueId, std::string> value_names;  // identifiers, already claimed; others are claimed here
  std::map<ValueId, std::string> input_names;  // as the model calls its inputs
};

struct WrittenGraph {
  std::string text;
  std::vector<StoredTensor> weights;  // those that it reads, by the keys that it reads them by
};

// What no output depends on is left out, but for inputs. Nodes that repeat, alike but for their weights, are written
// once, as a function (see blocks.hpp).
WrittenGraph graph_text(const GraphText& what, GraphBuilder& builder);

}  // namespace kgen

// What an emitted wrapper says of its graph. The runtime allocates, validates and introspects from these tables, and
// calls the two functions.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "kgen/runtime/device.hpp"
#include "kgen/runtime/element_type.hpp"
#include "kgen_runtime.h"

namespace kgen {

class Call;

// Grows whenever the tables or Call change so that older emitted source would misbehave.
inline constexpr int abi_version = 5;

// An element of a constant, as the emitted source has it: whole numbers of 64 bits are exact.
using ConstantElement = std::variant<std::int64_t, std::uint64_t, double>;

struct TensorInfo {
  const char* name;
  ElementType type;
  std::vector<const char*> dims;  // as in the graph: {"M", "4096"}
  bool strided = false;           // inputs only: any strides
  bool on_host = false;           // inputs only: sizes are read from it, so it is the host's on every device; no dims in `dims`
};

// Constants, states and persistents of a function that is called N times are one row with calls = N.
struct ConstantInfo {
  const char* name;
  ElementType type;
  std::vector<std::int64_t> shape;
  std::vector<ConstantElement> values = {};  // row-major; one value fills the whole shape; empty: from the file, or no elements
  const char* file = nullptr;       // safetensors, relative to the weights directory
  const char* key = nullptr;        // may hold "{index}" or "{index+1}", the number of the call
  int calls = 1;
  bool load_only = false;  // runs do not read it: it is there while load needs it
};

struct StateInfo {
  const char* name;
  ElementType type;
  std::vector<std::int64_t> shape;  // the greatest
  // What it begins as, given as a constant's elements are; neither values nor a file: zero.
  std::vector<ConstantElement> values = {};
  const char* file = nullptr;
  const char* key = nullptr;
  int calls = 1;
};

// Computed by `load` from constants, and kept.
struct PersistentInfo {
  const char* name;
  ElementType type;
  std::vector<std::int64_t> shape;
  int calls = 1;
};

struct GraphInfo {
  int abi = abi_version;
  const char* name = "";
  std::vector<TensorInfo> inputs = {};
  std::vector<TensorInfo> outputs = {};
  std::vector<ConstantInfo> constants = {};
  std::vector<StateInfo> states = {};
  std::vector<PersistentInfo> persistents = {};
  void (*load)(Call&) = nullptr;  // null where nothing depends on constants alone
  void (*run)(Call&) = nullptr;
  bool checkable = false;  // emitted with check functions
  const DeviceApi* device = &cpu_device;
};

// A graph as C programs pass it around.
inline const kgen_graph* as_c(const GraphInfo& graph) { return reinterpret_cast<const kgen_graph*>(&graph); }

}  // namespace kgen

#include "runtime/src/loaded_model.hpp"

#include "kgen/runtime/arena.hpp"
#include "kgen/runtime/call.hpp"
#include "runtime/src/text.hpp"

namespace kgen {
namespace {

// StateInfo and PersistentInfo alike.
template <class Info>
BufferTable allocate(const std::vector<Info>& infos) {
  BufferTable table;
  std::int64_t total = 0;
  for (const Info& info : infos) {
    const std::int64_t bytes = end_of_slot(0, checked_bytes(info.shape, element_type_info(info.type).bytes));
    table.rows.push_back({total, bytes});
    const std::int64_t calls = info.calls;
    total = end_of_slot(total, checked_bytes({&calls, 1}, bytes));
  }
  table.memory = Mapping::zeroed(static_cast<std::size_t>(total));
  return table;
}

std::vector<StateElement> name_states(const GraphInfo& graph) {
  std::vector<StateElement> elements;
  for (std::size_t row = 0; row < graph.states.size(); ++row) {
    const StateInfo& state = graph.states[row];
    for (std::int64_t call = 0; call < state.calls; ++call) {
      elements.push_back({state.calls == 1 ? state.name : concat(state.name, "[", call, "]"), row, call});
    }
  }
  return elements;
}

const GraphInfo& require_loadable(const GraphInfo& graph, const LoadOptions& options) {
  if (graph.abi != abi_version) {
    fail(KGEN_ABI_MISMATCH, "the graph was emitted for version ", graph.abi,
         " of the runtime's interface, but this is version ", abi_version, "; plan it again with this kgen");
  }
  if (options.threads < 0) fail(KGEN_INVALID_ARGUMENT, "threads is ", options.threads, ", expected 0 or more");
  if (options.check && !graph.checkable) {
    fail(KGEN_NOT_CHECKABLE, "graph '", graph.name,
         "' was emitted without check functions; plan it again with --check");
  }
  return graph;
}

}  // namespace
}  // namespace kgen

kgen_model::kgen_model(const kgen::GraphInfo& graph_info, const kgen::LoadOptions& options)
    : graph(kgen::require_loadable(graph_info, options)),
      stream{options.threads},
      check(options.check),
      constants(kgen::load_constants(graph, options.weights_directory)),
      states(kgen::allocate(graph.states)),
      persistents(kgen::allocate(graph.persistents)),
      state_elements(kgen::name_states(graph)) {
  if (graph.load == nullptr) return;
  kgen::Call call(*this);
  execute(graph.load, "load", call);
}

void kgen_model::run(std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs) {
  kgen::Call call(*this, inputs, outputs);
  execute(graph.run, graph.name, call);
}

void kgen_model::execute(void (*function)(kgen::Call&), const char* name, kgen::Call& call) {
  difference.clear();
  observed.clear();
  {
    const kgen::ScratchScope scratch_of_call = call.scratch_scope();
    const kgen::Launch whole = call.launch(name);
    function(call);
  }
  if (!difference.empty()) throw kgen::Error(KGEN_CHECK_FAILED, difference);
}

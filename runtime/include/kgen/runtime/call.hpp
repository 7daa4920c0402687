// What an emitted wrapper calls: one Call is one run of a graph (or its load). Sizes and arguments are validated as
// they are asked for, so a wrapper asks for all of them before its first launch. Every error is thrown as kgen::Error.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "kgen/index.hpp"
#include "kgen/runtime/arena.hpp"
#include "kgen/runtime/device.hpp"
#include "kgen/runtime/element_type.hpp"
#include "kgen/runtime/error.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace kgen {

// Of two sizes.
constexpr std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t greater(std::int64_t a, std::int64_t b) { return a < b ? b : a; }

// Where a launch stands: on a stream, after the events that it waits for and before the one that it signals. Launches
// of one stream follow each other. Events are numbered by the wrapper; on the CPU everything is stream 0.
struct LaunchOrder {
  int stream = 0;
  std::initializer_list<int> wait = {};
  int signal = -1;  // none
};

// Where a GPU's stub asks for memory, as kgen/gpu/stream.hpp says, and where the CPU's says what it has read, as
// kgen/stream.hpp says.
struct StreamMemory {
  void* (*workspace)(void* owner, std::int64_t bytes) = nullptr;
  void (*has_read)(void* owner) = nullptr;
  void* owner = nullptr;
};
// The Stream that stubs of this target take; headers of different targets have different ones, and the runtime none.
__attribute__((always_inline)) inline Stream stream_of(StreamHandle native, int threads, const char* stub,
                                                       StreamMemory memory = {}) {
#if defined(KGEN_SIMT)
  return (void)native, (void)threads, (void)memory, Stream{.stub = stub};
#elif defined(KGEN_GPU)
  return (void)threads, Stream{native, stub, memory.workspace, memory.owner};
#else
  return (void)native, (void)stub, Stream{threads, memory.has_read, memory.owner};
#endif
}

// The statement it stands in is one launch: converts to the stub's Stream, and is timed while the model is profiled.
// Its errors are noted when it ends, and thrown by the next launch or by the end of the run.
class [[nodiscard]] Launch {
 public:
  Launch(kgen_model& model, const char* stub, const LaunchOrder& order);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  __attribute__((always_inline)) operator Stream() const {
    return stream_of(native_, threads_, stub_, StreamMemory{&Launch::workspace, has_read_, const_cast<Launch*>(this)});
  }
  // Memory of the model for what is launched on the stream of this; null where the launch is captured and there is too
  // little.
  static void* workspace(void* launch, std::int64_t bytes);
  // Of the constants that load alone reads, what is in memory need not be kept there.
  static void has_read(void* launch);

 private:
  void finish();

  kgen_model& model_;
  const char* stub_;
  int stream_;
  int signal_;
  StreamHandle native_ = nullptr;
  int threads_;
  EventHandle begin_ = nullptr;  // where the model is profiled
  void (*has_read_)(void* launch) = nullptr;  // on the CPU, while the model is loaded
};

// More streams than stream 0: they start after what stream 0 was given before, and when this leaves its C++ scope
// stream 0 goes on after them.
class [[nodiscard]] Fork {
 public:
  Fork(kgen_model& model, int streams);
  ~Fork();
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;

 private:
  kgen_model& model_;
  int streams_;
};

// Frees, when it leaves its C++ scope, what Call::scratch has given since.
class [[nodiscard]] ScratchScope {
 public:
  explicit ScratchScope(kgen_model& model);
  ~ScratchScope();
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;

 private:
  kgen_model& model_;
  std::size_t kept_;
};

// A view whose element type and rank are data.
struct AnyView {
  const void* data;
  ElementType type;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements
  std::int64_t first = 0;  // the first element, counted from where `data` begins; not 0 for packed types alone
};

// What sets how far a value may be from its reference: the coarsest element type on the way to it and, of a sum, the
// terms that were rounded in between. Where terms cancel, the sum is as inexact as they are.
struct Precision {
  Precision(ElementType coarsest, std::vector<AnyView> summed = {}) : type(coarsest), terms(std::move(summed)) {}

  ElementType type;
  std::vector<AnyView> terms;  // each broadcasts to the value
};

// An operator as check mode names it.
struct CheckedOperator {
  const char* stub;
  const char* op;
  const char* where;  // "graph.yaml:10"
};

struct Argument;   // a DLTensor beside what the graph declares of it
struct BoundDim {  // the value of a symbolic dim, as read from the arguments
  const char* name;
  std::int64_t value;
};

class Call {
 public:
  // Of the graph's load function: there are no arguments.
  explicit Call(kgen_model& model);
  // Validates all of the arguments that does not depend on dims: counts, pointers, device, dtype, rank, alignment.
  Call(kgen_model& model, std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs);
  // A question: runs the wrapper up to the last output that it asks for, and writes their shapes, as many extents to
  // shapes[i] as output i has axes. Nothing is launched.
  static void ask_shapes(kgen_model& model, std::span<const DLTensor* const> inputs,
                         std::span<std::int64_t* const> shapes);

  // ---- sizes
  std::int64_t input_extent(int input, int axis);
  // Of inputs of i64 or i32: one without axes, and an element of one with one axis.
  std::int64_t input_scalar(int input);
  std::int64_t input_element(int input, std::int64_t element);
  // Returns `value` if low <= value <= high. Messages name the extent or scalar that was asked for last as its origin.
  std::int64_t dim(const char* name, std::int64_t low, std::int64_t high, std::int64_t value);
  // left <= right, or else an error that says `meaning`.
  void require(std::int64_t left, std::int64_t right, const char* meaning) const;

  // ---- arguments
  // Dense, of the given shape.
  template <class T, int R>
  View<const T, R> input(int index, const Index<R>& shape) const {
    return View<const T, R>(static_cast<const T*>(dense_input(index, element_type<T>(), to_array(shape))), shape);
  }
  // Any strides.
  template <class T, int R>
  View<const T, R> strided_input(int index, const Index<R>& shape) const {
    std::array<std::int64_t, R> found;
    const void* data = any_input(index, element_type<T>(), to_array(shape), found);
    return View<const T, R>(static_cast<const T*>(data), shape, to_index<R>(found));
  }
  template <class T, int R>
  View<T, R> output(int index, const Index<R>& shape) const {
    return View<T, R>(static_cast<T*>(dense_output(index, element_type<T>(), to_array(shape))), shape);
  }

  // ---- memory of the model; `call` counts the calls of a function
  // The first `shape` of the buffer, whose strides are those of its greatest shape.
  template <class T, int R>
  View<T, R> state(int row, const Index<R>& shape, std::int64_t call = 0) const {
    const auto [data, greatest] = state_buffer(row, element_type<T>(), to_array(shape), call);
    return View<T, R>(static_cast<T*>(data), shape, dense_strides(to_index<R>(greatest)));
  }
  template <class T, int R>
  View<const T, R> constant(int row, std::int64_t call = 0) const {
    const auto [data, shape] = constant_buffer(row, element_type<T>(), R, call);
    return View<const T, R>(static_cast<const T*>(data), to_index<R>(shape)).with_lasting(lasts());
  }
  // While the graph is loaded, of a constant that only load reads: nothing reads it after what was launched so far.
  void release_constant(int row, std::int64_t call = 0) const;
  // Written while the graph is loaded, read while it runs.
  template <class T, int R>
  View<T, R> persistent(int row, std::int64_t call = 0) const {
    const auto [data, shape] = persistent_buffer(row, element_type<T>(), R, call);
    return View<T, R>(static_cast<T*>(data), to_index<R>(shape)).with_lasting(lasts());
  }
  Arena arena(std::int64_t bytes) const;

  // ---- launches
  Launch launch(const char* stub, const LaunchOrder& order = {}) const;
  Fork fork(int streams) const;  // streams 1 to streams - 1
  // Of stream 0, around the call of a function.
  void wait(std::initializer_list<int> events) const;
  void signal(int event) const;
  // Of an untimed launch, as check functions make.
  __attribute__((always_inline)) Stream stream() const { return stream_of(native_stream(), threads(), "reference"); }

  // ---- check mode
  bool checking() const;
  ScratchScope scratch_scope() const;
  // Memory for check mode's own values, until the innermost ScratchScope ends, or else the run.
  template <class T, int R>
  View<T, R> scratch(const Index<R>& shape) const {
    return View<T, R>(static_cast<T*>(scratch_buffer(checked_bytes_of<T>(to_array(shape)))), shape);
  }
  // Whether compare() would find a difference, as long as this run has none yet.
  template <class T, class U, int R>
  bool differs(const View<T, R>& actual, const View<U, R>& reference,
               const Precision& precision = element_type<T>()) const {
    static_assert(std::is_same_v<std::remove_const_t<T>, std::remove_const_t<U>>);
    return values_differ(any_view(actual), any_view(reference), precision);
  }
  // From here on, every operator of the stub was seen to agree with its reference, if this run has no difference yet.
  void note_observed(const char* stub) const;
  // Compares what a stub computed with its unfused reference. The first operator of a run that differs becomes the
  // error KGEN_CHECK_FAILED when the run ends.
  template <class T, class U, int R>
  void compare(const char* stub, const char* op, const char* where, const View<T, R>& actual,
               const View<U, R>& reference, const Precision& precision = element_type<T>()) const {
    static_assert(std::is_same_v<std::remove_const_t<T>, std::remove_const_t<U>>);
    compare_values({stub, op, where}, any_view(actual), any_view(reference), precision);
  }
  // For a Precision.
  template <class... Views>
  std::vector<AnyView> terms(const Views&... views) const {
    return {any_view(views)...};
  }

 private:
  using Extents = std::span<const std::int64_t>;
  struct Buffer {
    void* data;
    Extents shape;
  };
  struct ConstantBuffer {
    const void* data;
    Extents shape;
  };
  // Which outputs a wrapper that is asked for shapes has told of.
  struct Question {
    std::span<std::int64_t* const> shapes;
    std::vector<bool> known;
    std::size_t unknown;
  };
  struct AllKnown {};  // thrown where it has told of the last
  struct Origin {
    int input = -1;
    int axis = -1;              // of what has the size as an extent
    std::int64_t element = -1;  // of what lists it; neither: the scalar's value
  };

  template <int R>
  static Index<R> to_index(Extents extents) {
    Index<R> result;
    for (int axis = 0; axis < R; ++axis) result[axis] = extents[axis];
    return result;
  }
  template <class T, int R>
  static AnyView any_view(const View<T, R>& view) {
    AnyView result{nullptr, element_type<T>(), {}, {}};
    if constexpr (is_packed<T>) {
      result.data = view.data().first();
      result.first = view.data().element();
    } else {
      result.data = view.data();
    }
    for (int axis = 0; axis < R; ++axis) {
      result.shape.push_back(view.extent(axis));
      result.strides.push_back(view.stride(axis));
    }
    return result;
  }

  StreamHandle native_stream() const;
  int threads() const;
  Argument input_argument(int index) const;
  Argument output_argument(int index) const;
  void require_shape_of(const Argument& argument, ElementType type, Extents shape) const;
  const void* dense_input(int index, ElementType type, Extents shape) const;
  const void* on_device(int index, const Argument& host_input) const;
  const void* any_input(int index, ElementType type, Extents shape, std::span<std::int64_t> strides) const;
  void* dense_output(int index, ElementType type, Extents shape) const;
  void answer(const TensorInfo& info, int index, ElementType type, Extents shape) const;
  void require_no_question() const;
  Buffer state_buffer(int row, ElementType type, Extents shape, std::int64_t call) const;
  ConstantBuffer constant_buffer(int row, ElementType type, int rank, std::int64_t call) const;
  bool lasts() const;  // whether nothing writes constants and persistents any more
  Buffer persistent_buffer(int row, ElementType type, int rank, std::int64_t call) const;
  void* scratch_buffer(std::int64_t bytes) const;
  void compare_values(const CheckedOperator& op, const AnyView& actual, const AnyView& reference,
                      const Precision& precision) const;
  bool values_differ(const AnyView& actual, const AnyView& reference, const Precision& precision) const;

  kgen_model& model_;
  std::span<const DLTensor* const> inputs_;
  std::span<DLTensor* const> outputs_;
  std::vector<BoundDim> dims_;  // for messages
  Origin origin_;               // what was read last, for messages
  Question* question_ = nullptr;
};

}  // namespace kgen

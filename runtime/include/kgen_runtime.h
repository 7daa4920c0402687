/* kgen's runtime for programs: load a graph that kgen emitted, run it on DLPack tensors, read its state, time its
 * stubs, and check each stub against its unfused reference. C11; C++ programs may prefer kgen/runtime/model.hpp.
 *
 * Every function that can fail returns a kgen_status and writes nothing to its results on failure; kgen_last_error()
 * then says which argument was wrong, what was expected and what came. A model may be run by one thread at a time;
 * several models may run at once. */
#ifndef KGEN_RUNTIME_H_
#define KGEN_RUNTIME_H_

#include <dlpack/dlpack.h>
#include <stdint.h>

/* Before one declaration. */
#ifdef __cplusplus
#define KGEN_EXTERN_C extern "C"
#else
#define KGEN_EXTERN_C
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kgen_status {
  KGEN_OK = 0,
  KGEN_INVALID_ARGUMENT, /* a pointer that must not be null is null, or an index is out of its range */
  KGEN_WRONG_COUNT,      /* not as many inputs or outputs as the graph has */
  KGEN_NULL_DATA,        /* a tensor with elements has no data */
  KGEN_WRONG_DEVICE,     /* a tensor is not in memory of the model's device */
  KGEN_WRONG_DTYPE,      /* element type or lanes */
  KGEN_WRONG_RANK,
  KGEN_WRONG_EXTENT,       /* an axis whose extent the graph fixes, or a negative extent */
  KGEN_DIM_OUT_OF_RANGE,   /* a symbolic dim lies outside the range that the graph gives it */
  KGEN_DIM_INCONSISTENT,   /* an extent disagrees with the symbolic dims read from other arguments */
  KGEN_REQUIREMENT_FAILED, /* a condition on dims, such as the end of an update within its buffer */
  KGEN_WRONG_STRIDE,       /* not dense row-major where the graph needs that */
  KGEN_MISALIGNED,         /* data is not aligned to the element size */
  KGEN_OVERLAP,            /* an output shares memory with another argument, or an argument with a state */
  KGEN_TOO_LARGE,          /* a size does not fit into 63 bits */
  KGEN_OUT_OF_MEMORY,
  KGEN_FILE_ERROR,     /* a file cannot be opened, read or written */
  KGEN_BAD_WEIGHTS,    /* a file is not well-formed safetensors, or a tensor in it has another dtype or shape */
  KGEN_MISSING_WEIGHT, /* a safetensors file has no tensor under the key */
  KGEN_ABI_MISMATCH,   /* the graph was emitted for another version of this runtime */
  KGEN_NOT_CHECKABLE,  /* check mode was asked of a graph that was planned without --check */
  KGEN_CHECK_FAILED,   /* check mode found an operator that differs; the outputs have been written */
  KGEN_DEVICE_ERROR,   /* a GPU's API reported an error: the outputs and the state are undefined */
  KGEN_INTERNAL        /* a bug in kgen or in an edited wrapper */
} kgen_status;

/* "KGEN_WRONG_RANK" and so on; "unknown status" for other numbers. */
const char* kgen_status_name(kgen_status status);

/* What went wrong in the last call on this thread that failed; "" before the first. Valid until the next failure. */
const char* kgen_last_error(void);

/* ---- Graphs: what kgen_graph_<name>() of the emitted source returns ---------------------------------------------- */

typedef struct kgen_graph kgen_graph;

/* DLPack codes that <dlpack/dlpack.h> 0.6 does not name yet. Arguments of dtype bool, f8e4m3, f8e5m2, f8e4m3fnuz,
 * f8e5m2fnuz and f8e8m0 may also be given as u8, since older producers have no code for them. Elements of fewer than 8
 * bits (i4, u4, i2, u2, f4e2m1) lie several in a byte, the first in its lowest bits, with no gap between lines; shapes
 * and strides count elements, and the data begins with a byte. */
enum {
  KGEN_DL_BOOL = 6,
  KGEN_DL_FLOAT8_E4M3FN = 10,
  KGEN_DL_FLOAT8_E4M3FNUZ = 11,
  KGEN_DL_FLOAT8_E5M2 = 12,
  KGEN_DL_FLOAT8_E5M2FNUZ = 13,
  KGEN_DL_FLOAT8_E8M0FNU = 14,
  KGEN_DL_FLOAT4_E2M1FN = 17
};

typedef struct kgen_tensor_info {
  const char* name;
  DLDataType dtype;
  const char* dtype_name; /* as in graphs: "bf16" */
  int rank;
  const char* const* dims; /* `rank` texts, outermost first: a number or an expression over symbolic dims: "2*D" */
  int strided;             /* 1: any strides are taken; 0: the memory must be dense row-major */
  int on_host;             /* 1: sizes are read from it, so it is the host's on every device */
} kgen_tensor_info;

/* The texts live as long as the program. A null graph has no name, inputs or outputs. */
const char* kgen_graph_name(const kgen_graph* graph);
int kgen_graph_input_count(const kgen_graph* graph);
int kgen_graph_output_count(const kgen_graph* graph);
kgen_status kgen_graph_input(const kgen_graph* graph, int index, kgen_tensor_info* info);
kgen_status kgen_graph_output(const kgen_graph* graph, int index, kgen_tensor_info* info);

/* ---- Models: a graph with its weights, state and scratch memory -------------------------------------------------- */

typedef struct kgen_model kgen_model;

/* All zero is the default of every option. */
typedef struct kgen_load_options {
  const char* weights_directory; /* what the graph's safetensors files are relative to; NULL: the working directory */
  int threads;                   /* how many threads stubs may use; 0: as many as OpenMP would */
  int check;  /* 1: run every stub beside its unfused reference; needs a graph planned with --check */
  int device; /* which GPU, counted as its vendor does; on the CPU 0 */
  int eager;  /* GPU: 1: launch every stub in every run; 0: capture a run that comes again, and launch it as a whole */
  int synchronous; /* GPU: 1: wait after every stub, so that the error of a kernel names its stub */
} kgen_load_options;

/* Loads weights, computes what depends on constants alone, and sets the state. `options` may be NULL. `*model` is
 * freed with kgen_model_free, and must not outlive the code of `graph`. */
kgen_status kgen_model_load(const kgen_graph* graph, const kgen_load_options* options, kgen_model** model);
void kgen_model_free(kgen_model* model);
const kgen_graph* kgen_model_graph(const kgen_model* model);
/* Where the model runs, and its tensors must be. Inputs that sizes are read from are the host's on every device. */
kgen_status kgen_model_device(const kgen_model* model, DLDevice* device);

/* Computes the outputs, in memory that the caller allocated, and advances the state. Everything is validated before
 * anything is written, so after an error (except KGEN_CHECK_FAILED and KGEN_DEVICE_ERROR) outputs and state are as they
 * were. Outputs may not overlap inputs or each other. */
kgen_status kgen_model_run(kgen_model* model, const DLTensor* const* inputs, int input_count, DLTensor* const* outputs,
                           int output_count);

/* The same on a stream of the caller's (a cudaStream_t or hipStream_t of the model's device; NULL: its default stream):
 * inputs are read, and outputs written, in the order of that stream, and the call does not wait for the work to be
 * done. kgen_model_run reads inputs at once and waits. On the CPU the two are the same.
 *
 * Where the stream is being captured (cudaStreamBeginCapture, torch.cuda.graph), the run becomes part of the caller's
 * graph, with the sizes and values of inputs of the host's that it was given: what is to change from replay to replay is to be
 * read on the device. Nothing need be run before; memory that the model lacks is made outside of the graph, and waited
 * for. The model does not see the replays: they follow
 * its other runs, and those follow them, as the caller orders them, and none may come after kgen_model_free. */
kgen_status kgen_model_run_on(kgen_model* model, const DLTensor* const* inputs, int input_count,
                              DLTensor* const* outputs, int output_count, void* stream);

/* The shapes of the outputs that a run with these inputs would have: as many extents are written to shapes[i] as output
 * i has axes. The inputs are validated as a run validates them; nothing is computed and the state stays as it is. */
kgen_status kgen_model_output_shapes(kgen_model* model, const DLTensor* const* inputs, int input_count,
                                     int64_t* const* shapes, int output_count);

/* State, such as a KV cache: after load what the graph says, or zero; kept between runs. A function called N times has
 * N of each of its states, named "layer.k_cache[0]" and on. */
int kgen_model_state_count(const kgen_model* model);
kgen_status kgen_model_state_name(const kgen_model* model, int index, const char** name);
/* A view of the whole buffer (symbolic dims at their greatest), dense, on the model's device, to be read or written
 * between runs. Its memory and shape belong to the model. */
kgen_status kgen_model_state(kgen_model* model, int index, DLTensor* view);
/* Every state becomes what it was after load. */
kgen_status kgen_model_reset_state(kgen_model* model);

/* ---- Profiling: the time of every stub --------------------------------------------------------------------------- */

typedef struct kgen_profile_entry {
  const char* name; /* what a stub computes ("y", "layer.h"), or the graph of whole runs; valid until the model is freed */
  int64_t count;
  int64_t total_ns;
} kgen_profile_entry;

/* Starts to time every run and every stub in it; forgets what was recorded before. */
kgen_status kgen_model_profile_start(kgen_model* model);
/* Stops, and where `trace_path` is not NULL writes the timeline there as Chrome trace JSON (chrome://tracing,
 * Perfetto). */
kgen_status kgen_model_profile_stop(kgen_model* model, const char* trace_path);
/* What was recorded since the last start, by total time, greatest first. */
int kgen_model_profile_count(const kgen_model* model);
kgen_status kgen_model_profile_get(const kgen_model* model, int index, kgen_profile_entry* entry);

#ifdef __cplusplus
}
#endif

#endif /* KGEN_RUNTIME_H_ */

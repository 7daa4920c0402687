// A GPU that is none: memory of the host, streams and events that are numbers, and a log of what was asked. What is
// given to a stream is done at once; tests read from the log in which order a real one would be free to do it.
#pragma once

#include <string>
#include <vector>

#include "kgen/runtime/device.hpp"
#include "kgen_runtime.h"

namespace fake {

// Two devices, "fake:0" being kDLCUDA 0.
extern const kgen::DeviceApi device;

// What was asked since the last call: "record e2 s1", "wait s0 e2", "copy 48 s0". Streams and events are numbered in
// the order in which they were made.
std::vector<std::string> take_log();
// The lines that begin with one of these words.
std::vector<std::string> only(const std::vector<std::string>& log, const std::vector<std::string>& words);

// The call of this name fails, once it has been made `after` times more; `status` and the text are the error's.
void fail_at(const std::string& call, int after, kgen_status status, const std::string& text);
// What the next take_launch_error gives.
void set_launch_error(const std::string& text);

// This stream of a test's own is being captured; null: none.
void capture_by_user(kgen::StreamHandle stream);

// Allocations, streams, events and replays that have not been freed.
int live_handles();
// Whether the address lies in memory that `allocate` gave.
bool is_device_memory(const void* address);
int selected_device();
// Streams of a test's own.
kgen::StreamHandle stream(int number);

}  // namespace fake

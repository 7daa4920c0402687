// The constants of a loaded graph, or what its states begin as, by row and call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kgen/runtime/device.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "runtime/src/safetensors.hpp"

namespace kgen {

class Staging;

// On the CPU most point into the mapped files; inline ones, and those that a file holds misaligned, have memory of
// their own. A GPU has all that runs read in one allocation. What only load reads is there from the first time that
// load asks for it until load gives it up, so that no more of those than must be are there at a time.
class Constants {
 public:
  // Opens the files, and finds every constant there. Throws Error.
  Constants(std::span<const ConstantInfo> infos, const std::string& weights_directory, const DeviceApi& api,
            StreamHandle stream);
  ~Constants();
  Constants(const Constants&) = delete;
  Constants& operator=(const Constants&) = delete;

  // Null where there are no bytes. One that only load reads is brought there in the order of the stream.
  const std::byte* data(std::size_t row, std::int64_t call);
  bool loading() const { return is_loading_; }
  // Of those that only load reads, what the system holds of their files need not be in memory: it is read again where it is
  // asked for again. Threads may call it while others read.
  void give_back_read() const noexcept;
  // Of one that only load reads: its memory goes, after what the stream was given before.
  void release(std::size_t row, std::int64_t call);
  // What only load reads is not asked for from here on: what is left of it goes, and files that nothing points into.
  void finish_load();

 private:
  struct File {
    std::unique_ptr<SafetensorsFile> content;
    bool is_kept = false;  // runs read from it
  };
  // One constant of one call.
  struct Stored {
    std::span<const std::byte> in_file;
    std::size_t file = 0;
    DeviceBuffer memory;              // where it has some of its own
    const std::byte* data = nullptr;  // where it is there
  };
  using Row = std::vector<Stored>;

  void find(const ConstantInfo& constant, Row& row);
  std::size_t file_index(const char* name);
  bool same_for_all_calls(const ConstantInfo& constant) const;
  // Its bytes on the host: in the file, or in `memory`, which is made for them.
  std::span<const std::byte> on_host(const ConstantInfo& constant, const Stored& stored, DeviceBuffer& memory) const;
  void keep_on_host(std::size_t row);
  void keep_on_device();
  void bring(const ConstantInfo& constant, Stored& stored);
  void give_back_pages(const Stored& stored) const noexcept;

  const std::span<const ConstantInfo> infos_;
  const std::string directory_;
  const DeviceApi& api_;
  StreamHandle stream_;
  std::vector<File> files_;
  std::unordered_map<std::string, std::size_t> file_index_;
  std::vector<Row> rows_;
  DeviceBuffer together_;             // on a GPU: all that runs read
  std::unique_ptr<Staging> staging_;  // while the graph is loaded, from the first copy to a device on
  std::vector<const Stored*> read_in_file_;  // what only load reads, and is there
  bool is_loading_ = true;
};

}  // namespace kgen

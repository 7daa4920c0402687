#include "runtime/src/constants.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "kgen/runtime/arena.hpp"
#include "runtime/src/text.hpp"

namespace kgen {
namespace {

constexpr std::string_view index_mark = "{index";  // "{index}", or "{index+3}": the number of the call, and so much more

std::string key_of_call(std::string_view key, std::int64_t call) {
  std::string text(key);
  for (auto at = text.find(index_mark); at != std::string::npos;) {
    const auto end = text.find('}', at);
    if (end == std::string::npos) break;
    std::int64_t more = 0;
    const char* begin = text.data() + at + index_mark.size();
    if (*begin == '+') std::from_chars(begin + 1, text.data() + end, more);
    const std::string index = std::to_string(call + more);
    text.replace(at, end + 1 - at, index);
    at = text.find(index_mark, at + index.size());
  }
  return text;
}

template <class T>
T as_element(const ConstantElement& element) {
  using Through = compute_t<T>;
  return T(std::visit([](auto value) { return static_cast<Through>(value); }, element));
}

std::size_t bytes_of(const ConstantInfo& constant) {
  return static_cast<std::size_t>(checked_bytes(constant.shape, constant.type));
}

std::size_t elements_of(const ConstantInfo& constant) {
  return static_cast<std::size_t>(checked_bytes(constant.shape, 1));
}

void check_values(const ConstantInfo& constant) {
  const std::size_t count = elements_of(constant);
  if (constant.values.size() == 1 || constant.values.size() == count) return;
  fail(KGEN_INTERNAL, "constant '", constant.name, "' has ", constant.values.size(), " values, expected 1 or ", count);
}

DeviceBuffer inline_values(const ConstantInfo& constant) {
  const auto bytes = bytes_of(constant);
  DeviceBuffer memory = DeviceBuffer::zeroed(cpu_device, bytes, nullptr);
  with_element_type(constant.type, [&](auto zero) {
    using T = decltype(zero);
    const std::size_t count = elements_of(constant);
    const View<T, 1> elements(reinterpret_cast<T*>(memory.data()), {static_cast<std::int64_t>(count)});
    for (std::size_t i = 0; i < count; ++i) {
      const T element = as_element<T>(constant.values[constant.values.size() == 1 ? 0 : i]);
      const Index<1> at{static_cast<std::int64_t>(i)};
      elements.store(at, Vec<compute_t<T>, 1>(static_cast<compute_t<T>>(element)));
    }
  });
  return memory;
}

bool is_aligned(const std::byte* data, int alignment) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment) == 0;
}

}  // namespace

// Two pinned buffers, filled and sent in turn.
class Staging {
 public:
  Staging(const DeviceApi& api, StreamHandle stream) : api_(api), stream_(stream) {
    for (Buffer& buffer : buffers_) {
      buffer = {DeviceBuffer::pinned(api, staging_bytes), make_event(api, false)};
      api.record(buffer.sent.get(), stream);
    }
  }

  void send(std::byte* to, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), staging_bytes));
      const Buffer& buffer = buffers_[next_];
      api_.wait_for_event(buffer.sent.get());
      std::memcpy(buffer.memory.data(), part.data(), part.size());
      api_.copy(to, buffer.memory.data(), part.size(), stream_);
      api_.record(buffer.sent.get(), stream_);
      next_ = 1 - next_;
      to += part.size();
      bytes = bytes.subspan(part.size());
    }
  }

 private:
  // As large as makes a copy of one fast, and small beside the weights of anything that has many.
  static constexpr std::size_t staging_bytes = std::size_t{8} << 20;
  struct Buffer {
    DeviceBuffer memory;
    OwnedEvent sent;
  };
  const DeviceApi& api_;
  StreamHandle stream_;
  std::array<Buffer, 2> buffers_;
  std::size_t next_ = 0;
};

Constants::Constants(std::span<const ConstantInfo> infos, const std::string& weights_directory, const DeviceApi& api,
                     StreamHandle stream)
    : infos_(infos), directory_(weights_directory), api_(api), stream_(stream), rows_(infos.size()) {
  for (std::size_t row = 0; row < rows_.size(); ++row) find(infos[row], rows_[row]);
  if (api.is_host) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!infos[row].load_only) keep_on_host(row);
    }
  } else {
    keep_on_device();
  }
}

Constants::~Constants() = default;

bool Constants::same_for_all_calls(const ConstantInfo& constant) const {
  return constant.file == nullptr || std::string_view(constant.key).find(index_mark) == std::string_view::npos;
}

void Constants::find(const ConstantInfo& constant, Row& row) {
  row.resize(static_cast<std::size_t>(constant.calls));
  if (constant.file == nullptr) return check_values(constant);
  const std::size_t file = file_index(constant.file);
  files_[file].is_kept |= api_.is_host && !constant.load_only;
  for (std::size_t call = 0; call < row.size(); ++call) {
    const std::string key = key_of_call(constant.key, static_cast<std::int64_t>(call));
    row[call].file = file;
    row[call].in_file = call > 0 && same_for_all_calls(constant)
                            ? row[0].in_file
                            : files_[file].content->find(key, constant.type, constant.shape);
  }
}

std::size_t Constants::file_index(const char* name) {
  const auto [found, is_new] = file_index_.try_emplace(name, files_.size());
  if (is_new) {
    const std::filesystem::path path = std::filesystem::path(directory_) / name;
    files_.push_back({std::make_unique<SafetensorsFile>(path.string())});
  }
  return found->second;
}

std::span<const std::byte> Constants::on_host(const ConstantInfo& constant, const Stored& stored,
                                              DeviceBuffer& memory) const {
  if (constant.file != nullptr) return stored.in_file;
  memory = inline_values(constant);
  return {memory.data(), bytes_of(constant)};
}

void Constants::give_back_pages(const Stored& stored) const noexcept {
  if (!stored.in_file.empty()) files_[stored.file].content->give_back_pages(stored.in_file);
}

// On the CPU.
void Constants::keep_on_host(std::size_t index) {
  const ConstantInfo& constant = infos_[index];
  Row& row = rows_[index];
  for (std::size_t call = 0; call < row.size(); ++call) {
    if (call > 0 && same_for_all_calls(constant)) {
      row[call].data = row[0].data;
    } else {
      bring(constant, row[call]);
    }
  }
}

void Constants::keep_on_device() {
  struct Copy {
    const ConstantInfo* constant;
    Stored* stored;
    std::int64_t offset;
  };
  std::vector<Copy> copies;
  std::int64_t total = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const ConstantInfo& constant = infos_[row];
    if (constant.load_only || bytes_of(constant) == 0) continue;
    for (std::size_t call = 0; call < rows_[row].size(); ++call) {
      if (call > 0 && same_for_all_calls(constant)) break;
      copies.push_back({&constant, &rows_[row][call], total});
      total = end_of_slot(total, static_cast<std::int64_t>(bytes_of(constant)));
    }
  }
  together_ = DeviceBuffer::undefined(api_, static_cast<std::size_t>(total), stream_);
  if (!copies.empty()) staging_ = std::make_unique<Staging>(api_, stream_);
  for (const Copy& copy : copies) {
    DeviceBuffer memory;
    copy.stored->data = together_.data() + copy.offset;
    staging_->send(together_.data() + copy.offset, on_host(*copy.constant, *copy.stored, memory));
    give_back_pages(*copy.stored);
  }
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (Stored& stored : rows_[row]) {
      if (same_for_all_calls(infos_[row])) stored.data = rows_[row][0].data;
    }
  }
}

// To where stubs read it: in the file, where it lies aligned there.
void Constants::bring(const ConstantInfo& constant, Stored& stored) {
  const std::size_t bytes = bytes_of(constant);
  if (api_.is_host && constant.file != nullptr &&
      is_aligned(stored.in_file.data(), element_type_info(constant.type).alignment())) {
    stored.data = stored.in_file.data();
    return;
  }
  DeviceBuffer host_memory;
  const std::span<const std::byte> from = on_host(constant, stored, host_memory);
  if (api_.is_host && constant.file == nullptr) {
    stored.memory = std::move(host_memory);
  } else {
    stored.memory = DeviceBuffer::undefined(api_, bytes, stream_);
    if (!api_.is_host && bytes > 0) {
      if (!staging_) staging_ = std::make_unique<Staging>(api_, stream_);
      staging_->send(stored.memory.data(), from);
    } else if (bytes > 0) {
      std::memcpy(stored.memory.data(), from.data(), bytes);
    }
    give_back_pages(stored);
  }
  stored.data = stored.memory.data();
}

const std::byte* Constants::data(std::size_t row, std::int64_t call) {
  const ConstantInfo& constant = infos_[row];
  Stored& stored = rows_[row][static_cast<std::size_t>(call)];
  if (!constant.load_only || stored.data != nullptr) return stored.data;
  if (!is_loading_) {
    fail(KGEN_INTERNAL, "the wrapper asks for constant '", constant.name, "', which only load reads, after load");
  }
  bring(constant, stored);
  if (stored.data != nullptr && stored.data == stored.in_file.data()) read_in_file_.push_back(&stored);
  return stored.data;
}

void Constants::give_back_read() const noexcept {
  for (const Stored* stored : read_in_file_) give_back_pages(*stored);
}

void Constants::release(std::size_t row, std::int64_t call) {
  const ConstantInfo& constant = infos_[row];
  if (!constant.load_only) {
    fail(KGEN_INTERNAL, "the wrapper gives up constant '", constant.name, "', which runs read");
  }
  Stored& stored = rows_[row][static_cast<std::size_t>(call)];
  std::erase(read_in_file_, &stored);
  stored.memory.release();
  stored.data = nullptr;
  give_back_pages(stored);
}

void Constants::finish_load() {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (!infos_[row].load_only) continue;
    for (std::size_t call = 0; call < rows_[row].size(); ++call) release(row, static_cast<std::int64_t>(call));
  }
  for (File& file : files_) {
    if (!file.is_kept) file.content.reset();
  }
  if (staging_) api_.wait_for_stream(stream_);
  staging_.reset();
  is_loading_ = false;
}

}  // namespace kgen

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kgen/runtime/arena.hpp"
#include "runtime/src/loaded_model.hpp"
#include "runtime/src/text.hpp"

namespace kgen {
namespace {

constexpr std::string_view index_mark = "{index}";

std::string key_of_call(std::string_view key, std::int64_t call) {
  std::string text(key);
  const std::string index = std::to_string(call);
  for (auto at = text.find(index_mark); at != std::string::npos; at = text.find(index_mark, at + index.size())) {
    text.replace(at, index_mark.size(), index);
  }
  return text;
}

template <class T>
T as_element(const ConstantElement& element) {
  using Through = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  return T(std::visit([](auto value) { return static_cast<Through>(value); }, element));
}

DeviceBuffer inline_values(const ConstantInfo& constant) {
  const auto bytes = static_cast<std::size_t>(checked_bytes(constant.shape, element_type_info(constant.type).bytes));
  DeviceBuffer memory = DeviceBuffer::zeroed(cpu_device, bytes, nullptr);
  with_element_type(constant.type, [&](auto zero) {
    using T = decltype(zero);
    const std::size_t count = bytes / sizeof(T);
    if (constant.values.size() != 1 && constant.values.size() != count) {
      fail(KGEN_INTERNAL, "constant '", constant.name, "' has ", constant.values.size(), " values, expected 1 or ",
           count);
    }
    T* elements = reinterpret_cast<T*>(memory.data());
    for (std::size_t i = 0; i < count; ++i) {
      elements[i] = as_element<T>(constant.values[constant.values.size() == 1 ? 0 : i]);
    }
  });
  return memory;
}

bool is_aligned(const std::byte* data, int alignment) {
  return reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

// Loads the rows of one graph, each file opened once.
class Loader {
 public:
  explicit Loader(const std::string& weights_directory) : directory_(weights_directory) {}

  void load(const ConstantInfo& constant) {
    auto& calls = constants_.data.emplace_back(static_cast<std::size_t>(constant.calls), nullptr);
    if (constant.file == nullptr) {
      std::ranges::fill(calls, keep(inline_values(constant)));
    } else if (std::string_view(constant.key).find(index_mark) == std::string_view::npos) {
      std::ranges::fill(calls, from_file(constant, constant.key));
    } else {
      for (std::int64_t call = 0; call < constant.calls; ++call) {
        calls[static_cast<std::size_t>(call)] = from_file(constant, key_of_call(constant.key, call));
      }
    }
  }

  Constants take() { return std::move(constants_); }

 private:
  const std::byte* keep(DeviceBuffer memory) { return constants_.owned.emplace_back(std::move(memory)).data(); }

  const std::byte* from_file(const ConstantInfo& constant, const std::string& key) {
    const auto data = file(constant.file).find(key, constant.type, constant.shape);
    if (is_aligned(data.data(), element_type_info(constant.type).bytes)) return data.data();
    DeviceBuffer copy = DeviceBuffer::undefined(cpu_device, data.size(), nullptr);
    if (!data.empty()) std::memcpy(copy.data(), data.data(), data.size());
    return keep(std::move(copy));
  }

  const SafetensorsFile& file(const char* name) {
    const auto [found, is_new] = file_index_.try_emplace(name, constants_.files.size());
    if (is_new) constants_.files.emplace_back((directory_ / name).string());
    return constants_.files[found->second];
  }

  std::filesystem::path directory_;
  std::unordered_map<std::string, std::size_t> file_index_;
  Constants constants_;
};

// ---- to a device

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

}  // namespace

Constants load_constants(const GraphInfo& graph, const std::string& weights_directory) {
  Loader loader(weights_directory);
  for (const ConstantInfo& constant : graph.constants) loader.load(constant);
  return loader.take();
}

Constants upload(const GraphInfo& graph, const Constants& on_host, const DeviceApi& api, StreamHandle stream) {
  struct Copy {
    std::span<const std::byte> from;
    std::int64_t offset;
  };
  std::vector<Copy> copies;
  std::unordered_map<const std::byte*, std::int64_t> offset_of;  // calls that share a constant share its copy
  std::int64_t total = 0;
  for (std::size_t row = 0; row < on_host.data.size(); ++row) {
    const ConstantInfo& constant = graph.constants[row];
    const std::int64_t bytes = checked_bytes(constant.shape, element_type_info(constant.type).bytes);
    for (const std::byte* data : on_host.data[row]) {
      if (bytes == 0 || !offset_of.try_emplace(data, total).second) continue;
      copies.push_back({{data, static_cast<std::size_t>(bytes)}, total});
      total = end_of_slot(total, bytes);
    }
  }
  Constants result;
  DeviceBuffer memory = DeviceBuffer::undefined(api, static_cast<std::size_t>(total), stream);
  if (!copies.empty()) {
    Staging staging(api, stream);
    for (const Copy& copy : copies) staging.send(memory.data() + copy.offset, copy.from);
    api.wait_for_stream(stream);
  }
  for (const std::vector<const std::byte*>& calls : on_host.data) {
    auto& there = result.data.emplace_back();
    for (const std::byte* data : calls) {
      const auto found = offset_of.find(data);
      there.push_back(found == offset_of.end() ? nullptr : memory.data() + found->second);
    }
  }
  result.owned.push_back(std::move(memory));
  return result;
}

}  // namespace kgen

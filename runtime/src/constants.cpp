#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <unordered_map>

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
T from_double(double value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}

Mapping inline_values(const ConstantInfo& constant) {
  const auto bytes = static_cast<std::size_t>(checked_bytes(constant.shape, element_type_info(constant.type).bytes));
  Mapping memory = Mapping::zeroed(bytes);
  with_element_type(constant.type, [&](auto zero) {
    using T = decltype(zero);
    const std::size_t count = bytes / sizeof(T);
    if (constant.values.size() != 1 && constant.values.size() != count) {
      fail(KGEN_INTERNAL, "constant '", constant.name, "' has ", constant.values.size(), " values, expected 1 or ",
           count);
    }
    T* elements = reinterpret_cast<T*>(memory.data());
    for (std::size_t i = 0; i < count; ++i) {
      elements[i] = from_double<T>(constant.values[constant.values.size() == 1 ? 0 : i]);
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
  const std::byte* keep(Mapping memory) { return constants_.owned.emplace_back(std::move(memory)).data(); }

  const std::byte* from_file(const ConstantInfo& constant, const std::string& key) {
    const auto data = file(constant.file).find(key, constant.type, constant.shape);
    if (is_aligned(data.data(), element_type_info(constant.type).bytes)) return data.data();
    Mapping copy = Mapping::zeroed(data.size());
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

}  // namespace

Constants load_constants(const GraphInfo& graph, const std::string& weights_directory) {
  Loader loader(weights_directory);
  for (const ConstantInfo& constant : graph.constants) loader.load(constant);
  return loader.take();
}

}  // namespace kgen

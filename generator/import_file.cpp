#include "generator/import_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <utility>

#include "generator/base/cpp_names.hpp"
#include "generator/import/fold_graph.hpp"
#include "generator/import/onnx_services.hpp"
#include "generator/import/tensor_data.hpp"
#include "generator/load/load_graph.hpp"
#include "generator/load/load_import_rules.hpp"
#include "generator/spec/expression.hpp"
#include "generator/write/disk.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

// What stands on both sides of the first '='.
std::optional<std::pair<std::string, std::string>> split(const std::string& text, const char* option,
                                                         Diagnostics& diagnostics) {
  const auto equals = text.find('=');
  if (equals != text.npos && equals > 0) return std::pair(text.substr(0, equals), text.substr(equals + 1));
  diagnostics.error({}, fmt::format("{} {}: it should be NAME=VALUE", option, text));
  return std::nullopt;
}

std::optional<DimRange> range_of(std::string_view text) {
  const auto dots = text.find("..");
  const auto number = [](std::string_view part) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), value);
    return status == std::errc{} && end == part.data() + part.size() && !part.empty() ? std::optional(value)
                                                                                      : std::nullopt;
  };
  const auto low = number(text.substr(0, dots)), high = number(dots == text.npos ? text : text.substr(dots + 2));
  if (!low || !high || *low < 0 || *low > *high || *high >= (std::int64_t{1} << 31)) return std::nullopt;
  return DimRange{*low, *high};
}

std::optional<Content> read_content(const OnnxServices& onnx, const std::string& path, Diagnostics& diagnostics) {
  const auto tensor = onnx.read_tensor(path, diagnostics);
  const auto located =
      tensor ? locate_tensor(*tensor, fs::path(path).parent_path().string(), path, diagnostics) : std::nullopt;
  if (!located) return std::nullopt;
  auto content = content_of(*located);
  if (!content)
    diagnostics.error({}, fmt::format("'{}' has more than {} elements, and cannot be bound", path, most_content));
  return content;
}

class FileImporter {
 public:
  FileImporter(const ImportFileOptions& options, Session& session)
      : options_(options), diagnostics_(session.diagnostics), session_(session) {}

  std::optional<ImportReport> run() {
    const bool is_graph = options_.model.ends_with(".yaml") || options_.model.ends_with(".yml");
    return is_graph ? fold() : import_onnx();
  }

 private:
  // A graph whose layers are written out, which keeps its weights where they are.
  std::optional<ImportReport> fold() {
    if (!options_.bound.empty() || !options_.dims.empty() || !options_.example.empty()) {
      diagnostics_.error({}, "--bind, --dim and --example are for models of ONNX")
          .advise("say in the graph what is known of its inputs and dims");
      return std::nullopt;
    }
    const SourceText* text = session_.sources.read(options_.model, diagnostics_);
    const auto module = text ? load_graph(*text, session_.ops, diagnostics_) : std::nullopt;
    const auto folded = module ? fold_graph(*module, session_.ops, diagnostics_) : std::nullopt;
    if (!folded || !replace_file(options_.output, *folded, diagnostics_)) return std::nullopt;
    ImportReport report;
    report.nodes = module->main.nodes.size();
    for (const ConstantData& each : module->main.constants) report.weights += !each.file.empty();
    return report;
  }

  std::optional<ImportReport> import_onnx() {
    const ImportRules rules = load_rules(options_.rules, session_);
    const OnnxServices* onnx = diagnostics_.has_errors() ? nullptr : onnx_services(diagnostics_);
    if (!onnx) return std::nullopt;
    const auto model = onnx->read_model(options_.model, diagnostics_);
    if (!model) return std::nullopt;
    ImportOptions how;
    how.model = options_.model;
    if (!set_options(*onnx, *model, how)) return std::nullopt;
    ImportReport report;
    report.nodes = model->graph.nodes.size();
    ImportResult result;
    Diagnostics said;
    do {
      said = {};
      result = import_model(*model, rules, session_.ops, how, said);
    } while (bind_demanded(*onnx, *model, result.demanded, how, report));
    if (result.model || !import_with_sizes(*model, rules, how, result, report)) copy(said);
    if (diagnostics_.has_errors() || !result.model) return std::nullopt;
    report.weights = result.model->weights.size();
    if (!write(*result.model, how.weights_file)) return std::nullopt;
    return report;
  }

  void copy(const Diagnostics& said) {
    for (const Diagnostic& each : said.all()) {
      Diagnostic& same = each.severity == Severity::error ? diagnostics_.error(each.where, each.message)
                                                          : diagnostics_.warning(each.where, each.message);
      same.notes = each.notes;
      same.help = each.help;
    }
  }

  bool set_options(const OnnxServices& onnx, const OnnxModel& model, ImportOptions& how) {
    const fs::path output = options_.output;
    ClaimedNames names;
    how.graph_name = names.claim(output.stem().string());
    how.weights_file = output.stem().string() + ".safetensors";
    for (const std::string& each : options_.dims) {
      const auto parts = split(each, "--dim", diagnostics_);
      if (!parts) continue;
      const auto range = range_of(parts->second);
      const bool is_range = range || parts->second.find("..") != std::string::npos;
      if (range) how.dims[parts->first] = *range;
      if (!is_range && parse_expression(parts->second, nullptr)) {
        how.sums[parts->first] = parts->second;
      } else if (!range) {
        diagnostics_.error({},
                           fmt::format("--dim {}: it should be a range such as 1..512, a number, or what it follows "
                                       "from, such as past + 1 or 32*h",
                                       each));
      }
    }
    for (const std::string& each : options_.bound) {
      const auto parts = split(each, "--bind", diagnostics_);
      if (!parts) continue;
      std::int32_t type = 7;
      for (const OnnxValueInfo& input : model.graph.inputs) {
        if (input.name == parts->first) type = input.data_type;
      }
      auto content = parts->second.ends_with(".pb")
                         ? read_content(onnx, parts->second, diagnostics_)
                         : parse_value(parts->second, dtype_of_onnx(type).value_or(DType::i64), diagnostics_);
      if (content) how.bound[parts->first] = std::move(*content);
    }
    return !diagnostics_.has_errors();
  }

  // The values of inputs that had to be known, from the example. False where there is nothing new.
  bool bind_demanded(const OnnxServices& onnx, const OnnxModel& model, const std::vector<std::string>& demanded,
                     ImportOptions& how, ImportReport& report) {
    if (options_.example.empty()) return false;
    bool bound = false;
    for (const std::string& name : demanded) {
      std::size_t index = 0;
      while (index < model.graph.inputs.size() && model.graph.inputs[index].name != name) ++index;
      const std::string path = (fs::path(options_.example) / fmt::format("input_{}.pb", index)).string();
      std::error_code error;
      if (how.bound.contains(name) || !fs::exists(path, error)) continue;
      Diagnostics ignored;  // what cannot be bound stays demanded
      auto content = read_content(onnx, path, ignored);
      if (!content) continue;
      how.bound[name] = std::move(*content);
      report.bound.push_back(name);
      bound = true;
    }
    return bound;
  }

  // With the elements of inputs that have to be known, and are not, as dims. False where that does not make a graph.
  bool import_with_sizes(const OnnxModel& model, const ImportRules& rules, ImportOptions& how, ImportResult& result,
                         ImportReport& report) {
    ImportResult other = result;
    while (!other.demanded.empty()) {
      for (const std::string& name : other.demanded) {
        const auto input = std::ranges::find(model.graph.inputs, name, &OnnxValueInfo::name);
        if (input == model.graph.inputs.end() || !may_be_sizes(*input) || !how.sizes.insert(name).second) return false;
      }
      Diagnostics said;
      other = import_model(model, rules, session_.ops, how, said);
      if (!other.model) continue;
      copy(said);
      report.sizes.assign(how.sizes.begin(), how.sizes.end());
      result = std::move(other);
      return true;
    }
    return false;
  }

  bool write(const ImportedModel& imported, const std::string& weights_file) {
    std::vector<const StoredTensor*> tensors;
    for (const StoredTensor& each : imported.weights) tensors.push_back(&each);
    const fs::path folder = fs::path(options_.output).parent_path();
    std::error_code error;
    if (!folder.empty()) fs::create_directories(folder, error);
    if (error) {
      report_failure(diagnostics_, "make", folder, error);
      return false;
    }
    const std::string weights = (folder / weights_file).string();
    if (!tensors.empty() && !write_safetensors(weights, tensors, diagnostics_)) return false;
    return replace_file(options_.output, imported.graph, diagnostics_);
  }

  const ImportFileOptions& options_;
  Diagnostics& diagnostics_;
  Session& session_;
};

}  // namespace

ImportRules load_rules(const std::vector<std::string>& files, Session& session) {
  ImportRules rules;
  for (const std::string& path : files) {
    const SourceText* text = session.sources.read(path, session.diagnostics);
    if (text) load_import_rules(*text, session.ops, rules, session.diagnostics);
  }
  if (!session.diagnostics.has_errors()) link_import_rules(rules, session.diagnostics);
  return rules;
}

std::optional<ImportReport> import_file(const ImportFileOptions& options, Session& session) {
  return FileImporter(options, session).run();
}

}  // namespace kgen

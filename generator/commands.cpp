#include "generator/commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/base/languages.hpp"
#include "generator/emit/observe.hpp"
#include "generator/emit/target.hpp"
#include "generator/explain/explain.hpp"
#include "generator/explain/list_ops.hpp"
#include "generator/explain/overview.hpp"
#include "generator/explain/schema.hpp"
#include "generator/format_emitted.hpp"
#include "generator/introspect/signatures_yaml.hpp"
#include "generator/kernels.hpp"
#include "generator/library.hpp"
#include "generator/load/kernel_files.hpp"
#include "generator/pipeline.hpp"
#include "generator/stub_signatures.hpp"
#include "generator/tune_graph.hpp"
#include "generator/write/depfile.hpp"
#include "generator/write/disk.hpp"
#include "generator/write/emission_inputs.hpp"
#include "generator/write/emitted_folder.hpp"
#include "generator/write/status.hpp"
#include "generator/write/write_files.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

bool use_color(const Arguments& arguments, int stream) {
  if (arguments.color != "auto") return arguments.color == "always";
  return isatty(stream) == 1 && !std::getenv("NO_COLOR");
}

InputRoots input_roots(const std::string& folder) {
  const Library library = find_library();
  return {folder, library.operators.parent_path().parent_path(), library.headers};
}

PipelineOptions pipeline_options(const Arguments& arguments) {
  const Library library = find_library();
  PipelineOptions options;
  options.graph = arguments.graph;
  options.spec_files = yaml_files(library.operators);
  options.spec_files.insert(options.spec_files.end(), arguments.specs.begin(), arguments.specs.end());
  options.signatures = library.signatures.string();
  options.kernels = arguments.kernels;
  options.include_directories = arguments.include;
  options.include_directories.push_back(library.headers.string());
  options.dump_after = arguments.dump_after;
  options.target = find_target(arguments.target)->kind;
  options.architecture = enumerator_named<Architecture>(arguments.architecture).value_or(Architecture::none);
  options.streams = find_target(arguments.target)->streams;
  for (const std::string& rule : arguments.without) options.without.push_back(*fusion_rule_named(rule));
  options.check = arguments.check;
  options.progress = !arguments.quiet;
  options.timings = arguments.timings;
  return options;
}

int report(const Diagnostics& diagnostics, const Arguments& arguments) {
  fmt::print(stderr, "{}", diagnostics.text(use_color(arguments, STDERR_FILENO)));
  return diagnostics.has_errors() ? exit_error : 0;
}

int report(const Session& session, const Arguments& arguments) { return report(session.diagnostics, arguments); }

// As it would be typed beside the graph, so that it is the same on every machine.
std::string command_text(const Arguments& arguments) {
  const fs::path graph = arguments.graph;
  std::string more;
  const auto beside = [&](const std::string& path) { return shell_word(relative_path(path, graph.parent_path())); };
  for (const std::string& path : arguments.specs) more += " --specs " + beside(path);
  for (const std::string& rule : arguments.without) more += " --without " + rule;
  for (const std::string& path : arguments.kernels) more += " --kernels " + beside(path);
  const std::string arch = arguments.architecture.empty() ? "" : " --arch " + arguments.architecture;
  return fmt::format("kgen plan {} --target {}{}{}{}", shell_word(graph.filename().string()), arguments.target, arch,
                     more, arguments.check ? " --check" : "");
}

// What is written into `folder`.
EmitOptions emit_options(const Arguments& arguments, const std::string& folder) {
  EmitOptions options{fs::path(arguments.graph).filename().string(), command_text(arguments)};
  options.target = find_target(arguments.target);
  options.architecture = arguments.architecture;
  for (const std::string& path : arguments.kernels) {
    std::string directory = relative_path(kernel_include_directory(path), folder);
    const auto end = options.include_directories.end();
    if (std::find(options.include_directories.begin(), end, directory) == end) {
      options.include_directories.push_back(std::move(directory));
    }
  }
  return options;
}

std::set<std::string> pinned_files(const Plan& plan, const Target& target) {
  std::set<std::string> files;
  for (const auto& group : plan.main.fused.graph.directives.pin) {
    for (const std::string& stub : group.values) files.insert(fmt::format("stubs/{}{}", stub, target.stub_extension));
  }
  return files;
}

// "softmax: 1 stubs, 2 files written, 5 unchanged, 1 edited in src", then the files that hold edits and what is new.
std::string written_text(const Plan& plan, const WriteReport& written, const std::string& folder) {
  std::string text =
      fmt::format("{}, {} files written, {} unchanged", summary(plan), written.written, written.unchanged);
  if (written.edited > 0) text += fmt::format(", {} edited", written.edited);
  if (written.pinned > 0) text += fmt::format(", {} pinned", written.pinned);
  if (written.removed > 0) text += fmt::format(", {} removed", written.removed);
  text += fmt::format(" in {}\n", folder);
  for (const std::string& path : written.merged) text += fmt::format("merged with your edits: {}\n", path);
  return text;
}

// Without Clang files keep the layout that the emitter gave them. What is wrong with the record, writing will report.
std::vector<SourceFile> formatted(std::vector<SourceFile> files, const fs::path& path) {
  const EmittedFolder folder(path);
  Diagnostics ignored;
  const Manifest last = read_manifest(folder, ignored);
  return format_emitted(std::move(files), folder, last, [&] { return clang_services("format", ignored); });
}

// Of edited stubs, with what the files of the folder are compiled with.
void compare_signatures(const fs::path& folder, const FolderStatus& status, SourceMap& sources,
                        Diagnostics& diagnostics) {
  std::vector<std::string> directories = {find_library().headers.string()};
  for (const std::string& directory : status.manifest.include_directories) {
    directories.push_back((folder / directory).string());
  }
  compare_stub_signatures(folder, status, directories, sources, diagnostics);
}

// What a command works on until the process ends: to free a large graph piece by piece would take time of its own.
template <class T>
T& until_exit(T made) {
  static auto* const kept = new std::vector<std::unique_ptr<T>>;
  return *kept->emplace_back(std::make_unique<T>(std::move(made)));
}

WriteOptions write_options(const Arguments& arguments, const Session& session) {
  WriteOptions options;
  options.folder = arguments.emit;
  options.version = KGEN_VERSION;
  options.inputs = emission_inputs(session.read_files, input_roots(arguments.emit));
  options.include_directories = emit_options(arguments, arguments.emit).include_directories;
  return options;
}

void write_plan(const Plan& plan, const Arguments& arguments, Session& session) {
  WriteOptions options = write_options(arguments, session);
  options.pinned = pinned_files(plan, *find_target(arguments.target));
  const EmitOptions how = emit_options(arguments, arguments.emit);
  const std::vector<SourceFile>& files = until_exit(formatted(emit_plan(plan, how), options.folder));
  const WriteReport written = write_files(files, options, session.sources, session.diagnostics);
  const bool done = !session.diagnostics.has_errors();
  if (done && !arguments.depfile.empty()) {
    write_depfile(arguments.depfile, {(options.folder / "sources.cmake").string()}, session.read_files,
                  session.diagnostics);
  }
  if (done && !arguments.quiet) fmt::print("{}", written_text(plan, written, arguments.emit));
  if (written.edited + written.merged.size() + written.pinned > 0) {
    const FolderStatus status = folder_status(options.folder, session.diagnostics);
    compare_signatures(options.folder, status, session.sources, session.diagnostics);
  }
}

// The project, and in a folder each the source of its candidates.
std::vector<SourceFile> tuning_files(const TuningPlans& tuning, const Arguments& arguments) {
  const EmitOptions how = emit_options(arguments, arguments.emit);
  std::vector<SourceFile> files = {emit_tuning_program(tuning.project, tuning.plans.front(), how),
                                   emit_tuning_build_file(tuning.project, how)};
  for (const Plan& plan : tuning.plans) {
    const std::string& folder = plan.main.fused.graph.name;
    for (SourceFile& file : emit_plan(plan, emit_options(arguments, fs::path(arguments.emit) / folder))) {
      file.path = folder + "/" + file.path;
      files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace

int run_plan(const Arguments& arguments) {
  Session& session = until_exit(Session{});
  const auto& plan = until_exit(make_plan(pipeline_options(arguments), session));
  if (!plan) return report(session, arguments);
  if (!arguments.emit.empty()) {
    write_plan(*plan, arguments, session);
  } else if (!arguments.quiet) {
    fmt::print("{}; --emit FOLDER writes their source\n", summary(*plan));
  }
  return report(session, arguments);
}

int run_tune(const Arguments& arguments) {
  Session& session = until_exit(Session{});
  const auto& tuning = until_exit(plan_tuning(pipeline_options(arguments), session));
  if (!tuning) return report(session, arguments);
  const WriteOptions options = write_options(arguments, session);
  const auto files = formatted(tuning_files(*tuning, arguments), options.folder);
  write_files(files, options, session.sources, session.diagnostics);
  if (!session.diagnostics.has_errors() && !arguments.quiet) {
    fmt::print("{} candidates for {} calls of kernels in {}: build it with CMake, and run tune\n", tuning->plans.size(),
               tuning->project.calls.size(), arguments.emit);
  }
  return report(session, arguments);
}

// "resnet.yaml: 122 nodes, 108 weights in resnet.safetensors"
int run_import(const Arguments& arguments) {
  Session session;
  if (!load_operators(pipeline_options(arguments), session)) return report(session, arguments);
  ImportFileOptions options = arguments.import;
  std::vector<std::string> rules = yaml_files(find_library().rules);
  rules.insert(rules.end(), options.rules.begin(), options.rules.end());
  options.rules = std::move(rules);
  const auto written = import_file(options, session);
  if (written && !arguments.quiet) {
    fmt::print("{}: from {} nodes, with {} weights beside it\n", options.output, written->nodes, written->weights);
    for (const std::string& name : written->bound) fmt::print("bound to its value in the example: {}\n", name);
    for (const std::string& name : written->sizes) fmt::print("sizes that each call gives: {}\n", name);
  }
  return report(session, arguments);
}

int run_status(const Arguments& arguments) {
  Diagnostics diagnostics;
  const FolderStatus status = folder_status(arguments.folder, diagnostics);
  if (report(diagnostics, arguments) != 0) return exit_usage;
  const auto stale = stale_reasons(status.manifest, input_roots(arguments.folder), KGEN_VERSION);
  fmt::print("{}", status_text(status, stale));
  std::fflush(stdout);  // before what is said of signatures
  SourceMap sources;
  Diagnostics signatures;
  compare_signatures(arguments.folder, status, sources, signatures);
  return report(signatures, arguments) == 0 && is_settled(status, stale) ? 0 : exit_error;
}

int run_diff(const Arguments& arguments) {
  Diagnostics diagnostics;
  const FolderStatus status = folder_status(arguments.folder, diagnostics);
  if (!diagnostics.has_errors()) {
    const bool color = use_color(arguments, STDOUT_FILENO);
    fmt::print("{}", edits_text(arguments.folder, status, arguments.file, color, diagnostics));
  }
  return report(diagnostics, arguments) == 0 ? 0 : exit_usage;
}

int run_explain(const Arguments& arguments) {
  Session& session = until_exit(Session{});
  PipelineOptions options = pipeline_options(arguments);
  options.explain = true;
  const auto& plan = until_exit(make_plan(options, session));
  if (!plan) return report(session, arguments);
  if (arguments.first.empty()) {
    fmt::print("{}", arguments.explain_all ? explain(*plan) : overview(*plan));
  } else if (arguments.second.empty()) {
    fmt::print("{}", explain(*plan, arguments.first, session.diagnostics));
  } else {
    fmt::print("{}", explain(*plan, arguments.first, arguments.second, session.diagnostics));
  }
  std::fflush(stdout);  // before what is said of it
  return report(session, arguments);
}

int run_ops(const Arguments& arguments) {
  Session session;
  if (!load_operators(pipeline_options(arguments), session)) return report(session, arguments);
  fmt::print("{}", arguments.op.empty() ? list_ops(session.ops)
                                        : describe_op(session.ops, arguments.op, find_target(arguments.target)->kind,
                                                      session.diagnostics));
  return report(session, arguments);
}

// The schema of graphs with the operators that they may use.
int run_schema(const Arguments& arguments) {
  Session session;
  if (!load_operators(pipeline_options(arguments), session)) return report(session, arguments);
  const SourceText* general = session.sources.read(find_library().graph_schema.string(), session.diagnostics);
  if (general) fmt::print("{}", graph_schema(general->content, session.ops));
  return report(session, arguments);
}

// The kernels of the headers alone; with --check, whether they are what the operators ask for.
int run_introspect(const Arguments& arguments) {
  Session session;
  PipelineOptions options = pipeline_options(arguments);
  if (arguments.compare_kernels) {
    options.headers = arguments.headers;
    load_operators(options, session);
  } else {
    const KernelLibrary library = introspect_headers(arguments.headers, options, session);
    if (!session.diagnostics.has_errors()) fmt::print("{}", signatures_yaml(library));
  }
  return report(session, arguments);
}

int run_observe(const Arguments& arguments) {
  Diagnostics diagnostics;
  std::error_code error;
  const auto source = read_file(arguments.stub, error);
  if (!source) {
    diagnostics.error({}, fmt::format("cannot read '{}': {}", arguments.stub, error.message()));
  } else if (replace_file(arguments.output, observed_source(*source, arguments.stub), diagnostics)) {
    return 0;
  }
  fmt::print(stderr, "{}", diagnostics.text(use_color(arguments, STDERR_FILENO)));
  return exit_error;
}

}  // namespace kgen

// The command line: kgen plan, tune, import, explain, status, diff, observe, introspect, ops, schema.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
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
#include "generator/import_file.hpp"
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

constexpr int exit_error = 1;  // the input has errors; status: there is something to do
constexpr int exit_usage = 2;  // the command line has

struct Arguments {
  std::string graph;
  std::string emit;
  std::string target = "cpu";
  std::string architecture;
  std::string depfile;
  std::vector<std::string> specs;
  std::vector<std::string> kernels;
  std::string dump_after;
  std::vector<std::string> without;
  std::string color = "auto";
  bool check = false;
  bool quiet = false;
  bool timings = false;
  std::string first, second;  // explain
  bool explain_all = false;
  std::string op;             // ops
  std::string stub, output;   // observe
  std::string folder, file;   // status, diff
  std::vector<std::string> headers, include;  // introspect
  ImportFileOptions import;
  bool compare_kernels = false;
};

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
  for (const std::string& path : arguments.specs) more += " --specs " + shell_word(relative_path(path, graph.parent_path()));
  for (const std::string& rule : arguments.without) more += " --without " + rule;
  for (const std::string& path : arguments.kernels) more += " --kernels " + shell_word(relative_path(path, graph.parent_path()));
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

// The architecture that was asked for, or the target's first.
bool choose_architecture(Arguments& arguments) {
  const auto& known = find_target(arguments.target)->architectures;
  if (arguments.architecture.empty()) {
    if (!known.empty()) arguments.architecture = name_of(known.front());
    return true;
  }
  std::vector<std::string_view> names;
  for (const Architecture each : known) names.push_back(name_of(each));
  if (std::find(names.begin(), names.end(), arguments.architecture) != names.end()) return true;
  if (known.empty()) {
    fmt::print(stderr, "kgen: --arch {}: the target {} has no architectures: its build chooses; leave --arch out\n",
               arguments.architecture, arguments.target);
  } else {
    fmt::print(stderr, "kgen: --arch {}: the target {} has {}\n", arguments.architecture, arguments.target,
               fmt::join(names, ", "));
  }
  return false;
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

// An empty name is no place to write to: a variable of a script was not set.
CLI::Validator is_named() {
  return CLI::Validator([](const std::string& name) { return name.empty() ? "is empty: name a place, or '.'" : ""; }, "");
}

void add_color_option(CLI::App& verb, Arguments& arguments, const char* what) {
  verb.add_option("--color", arguments.color, what)
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

void add_common_options(CLI::App& verb, Arguments& arguments) {
  verb.add_option("--specs", arguments.specs, "More operator specifications (YAML), beside the built-in ones")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb.add_option("--kernels", arguments.kernels,
                  "Your own kernels: a folder of headers with their signatures (YAML), or one file of signatures. They "
                  "come before the built-in ones, the first given first")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  add_color_option(verb, arguments, "Colour in diagnostics");
}

void add_graph_options(CLI::App& verb, Arguments& arguments) {
  verb.add_option("graph", arguments.graph, "The graph to read")->required()->type_name("GRAPH.yaml");
  verb.add_option("--dump-after", arguments.dump_after, "Print what a pass made")
      ->check(CLI::IsMember(dumped_passes()))
      ->type_name("PASS");
  verb.add_option("--without", arguments.without,
                  "Fuse nothing by this rule, to see what it is worth; force and expect_fused are then not asked for")
      ->check(CLI::IsMember(fusion_rule_names()))
      ->type_name("RULE")
      ->allow_extra_args(false);
  verb.add_flag("--timings", arguments.timings, "Print the time of each pass on stderr");
}

void add_target_options(CLI::App& verb, Arguments& arguments, const char* what) {
  std::vector<std::string> targets;
  for (const Target* target : all_targets()) targets.emplace_back(target->name);
  verb.add_option("--target", arguments.target, what)->check(CLI::IsMember(targets))->capture_default_str();
  verb.add_option("--arch", arguments.architecture, "Of a GPU: sm_90a, sm_80, sm_86, sm_89, sm_100, sm_120; gfx942, gfx90a, gfx1100")->type_name("ARCH");
}

CLI::App* add_verb(CLI::App& app, const char* name, const char* what) {
  CLI::App* verb = app.add_subcommand(name, what);
  verb->footer("");  // the examples are for `kgen --help`
  return verb;
}

CLI::App* add_plan(CLI::App& app, Arguments& arguments) {
  CLI::App* plan = add_verb(app, "plan", "Plan a graph and write its source");
  add_graph_options(*plan, arguments);
  plan->add_option("--emit", arguments.emit, "The folder to write; without it the plan is only made")
      ->check(is_named())
      ->type_name("FOLDER");
  add_target_options(*plan, arguments, "What to write for");
  plan->add_flag("--check", arguments.check, "Also write an unfused reference of every stub, for the check mode");
  plan->add_option("--depfile", arguments.depfile, "Write what the source depends on, for make and ninja")
      ->check(is_named())
      ->type_name("FILE");
  plan->add_flag("-q,--quiet", arguments.quiet, "Print nothing but diagnostics");
  add_common_options(*plan, arguments);
  return plan;
}

CLI::App* add_tune(CLI::App& app, Arguments& arguments) {
  CLI::App* tune = add_verb(app, "tune", "Write a program that finds the fastest parameters of a graph's kernels");
  add_graph_options(*tune, arguments);
  tune->add_option("--emit", arguments.emit, "The folder to write")->required()->check(is_named())->type_name("FOLDER");
  add_target_options(*tune, arguments, "What to tune for");
  tune->add_flag("-q,--quiet", arguments.quiet, "Print nothing but diagnostics");
  add_common_options(*tune, arguments);
  tune->footer("Built by CMake, the program `tune` in that folder times the candidates, and writes the fastest as rules that\n"
               "`kgen plan --specs` takes.");
  return tune;
}

CLI::App* add_import(CLI::App& app, Arguments& arguments) {
  CLI::App* import =
      add_verb(app, "import", "Write an ONNX model as a graph, its weights beside it; or a graph's layers once");
  import->add_option("model", arguments.import.model, "The model, or a graph whose layers are written out: graph.yaml")
      ->required()->type_name("MODEL.onnx");
  import->add_option("-o,--output", arguments.import.output, "The graph to write; weights go to a .safetensors file beside it")
      ->required()
      ->check(is_named())
      ->type_name("GRAPH.yaml");
  import->add_option("--bind", arguments.import.bound, "The value of an input that says shapes or axes: NAME=3, NAME=[1, 2], NAME=file.npy or .pb")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  import
      ->add_option("--dim", arguments.import.dims,
                   "The range of a symbolic dim (without it 1..8192), its one value, or the dims that it follows from: "
                   "NAME=past + 1, NAME=32*h")
      ->type_name("NAME=RANGE")
      ->allow_extra_args(false);
  import->add_option("--example", arguments.import.example,
                     "Example inputs (input_0.pb, ...): inputs whose values must be known are bound to these")
      ->type_name("FOLDER");
  import->add_option("--rules", arguments.import.rules, "More rules of import, beside the built-in ones")
      ->type_name("FILE")
      ->allow_extra_args(false);
  import->add_flag("-q,--quiet", arguments.quiet, "Print nothing but diagnostics");
  add_common_options(*import, arguments);
  return import;
}

CLI::App* add_explain(CLI::App& app, Arguments& arguments) {
  CLI::App* explain = add_verb(app, "explain", "Print what each stub fuses, and why it ends where it does");
  add_graph_options(*explain, arguments);
  auto* first =
      explain->add_option("a", arguments.first, "A value of the graph: what computes it, and why?")->type_name("VALUE");
  explain->add_option("b", arguments.second, "Another: why are they, or are they not, computed together?")
      ->type_name("VALUE")
      ->needs(first);
  explain->add_flag("--all", arguments.explain_all, "Print every operator and every decision with its reason")
      ->excludes(first);
  add_target_options(*explain, arguments, "What it would be written for");
  add_common_options(*explain, arguments);
  return explain;
}

CLI::App* add_ops(CLI::App& app, Arguments& arguments) {
  CLI::App* ops = add_verb(app, "ops", "List the operators, or describe one");
  ops->add_option("operator", arguments.op, "The operator to describe")->type_name("NAME");
  add_target_options(*ops, arguments, "What to describe it for: kernels that are never used there are marked");
  add_common_options(*ops, arguments);
  return ops;
}

CLI::App* add_schema(CLI::App& app, Arguments& arguments) {
  CLI::App* schema = add_verb(app, "schema", "Print the JSON Schema of graphs, with the operators that they may use, for editors");
  add_common_options(*schema, arguments);
  return schema;
}

CLI::App* add_introspect(CLI::App& app, Arguments& arguments) {
  CLI::App* introspect = add_verb(app, "introspect", "Print what the kernels of headers say of themselves");
  introspect->add_option("headers", arguments.headers, "The headers to read")->required()->type_name("HEADER.hpp");
  introspect->add_option("--include", arguments.include, "Where headers include others from, besides kgen's own")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  introspect->add_flag("--check", arguments.compare_kernels, "Print nothing; check that the operators and these kernels agree");
  add_common_options(*introspect, arguments);
  return introspect;
}

CLI::App* add_observe(CLI::App& app, Arguments& arguments) {
  CLI::App* observe = add_verb(app, "observe", "Write a copy of a stub that hands out what it names, for the check mode");
  observe->add_option("stub", arguments.stub, "The source of a stub")->required()->type_name("STUB.cpp");
  observe->add_option("--output", arguments.output, "The file to write")->required()->check(is_named())->type_name("FILE");
  add_color_option(*observe, arguments, "Colour in diagnostics");
  return observe;
}

CLI::App* add_status(CLI::App& app, Arguments& arguments) {
  CLI::App* status = add_verb(app, "status", "List what is edited, stale, conflicting, unreadable, missing, orphaned or pinned");
  status->add_option("folder", arguments.folder, "What --emit was given")->required()->type_name("FOLDER");
  add_color_option(*status, arguments, "Colour in diagnostics");
  status->footer(
      "Exit codes: 0 nothing to do (edited and pinned files may stay so), 1 something to do, 2 no such folder.");
  return status;
}

CLI::App* add_diff(CLI::App& app, Arguments& arguments) {
  CLI::App* diff = add_verb(app, "diff", "Print your edits, as a diff from what kgen wrote");
  diff->add_option("folder", arguments.folder, "What --emit was given")->required()->type_name("FOLDER");
  diff->add_option("file", arguments.file, "One file of it; without it all that are edited")->type_name("FILE");
  add_color_option(*diff, arguments, "Colour in the diff and in diagnostics");
  diff->footer("Exit codes: 0 done, with or without edits, 2 no such folder or file.");
  return diff;
}

int run_command(int argc, char** argv) {
  CLI::App app("kgen writes the C++ that computes a graph of tensor operators: one readable stub per fused subgraph.", "kgen");
  app.set_version_flag("--version", std::string("kgen ") + KGEN_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  kgen plan softmax.yaml --emit src/      write the source of a graph\n"
      "  kgen import model.onnx -o model.yaml    write an ONNX model as a graph\n"
      "  kgen tune mlp.yaml --emit tuning/       a program that times candidates of its kernels' parameters\n"
      "  kgen explain softmax.yaml               what each stub fuses, and why it ends; --all: every decision\n"
      "  kgen explain softmax.yaml scaled p      why these two are or are not together\n"
      "  kgen ops                                the operators there are\n"
      "  kgen status src/                        what you edited in it, and what waits to be done\n"
      "  kgen diff src/                          your edits\n"
      "Exit codes: 0 done, 1 errors in the input, 2 errors in the command line.");
  Arguments arguments;
  const std::pair<const CLI::App*, int (*)(const Arguments&)> verbs[] = {
      {add_plan(app, arguments), run_plan},       {add_tune(app, arguments), run_tune},
      {add_import(app, arguments), run_import},   {add_explain(app, arguments), run_explain},
      {add_status(app, arguments), run_status},   {add_diff(app, arguments), run_diff},
      {add_observe(app, arguments), run_observe}, {add_introspect(app, arguments), run_introspect},
      {add_ops(app, arguments), run_ops},         {add_schema(app, arguments), run_schema}};

  std::vector<std::string> names;
  for (const auto& [verb, run_verb] : verbs) names.push_back(verb->get_name());
  if (argc > 1 && argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end()) {
    const std::vector<std::string> near = nearest_names(argv[1], names);
    fmt::print(stderr, "kgen: there is no command '{}'{}\n", argv[1],
               near.empty() ? "; `kgen --help` lists them" : "; did you mean " + quoted_list(near) + "?");
    return exit_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }
  if (!choose_architecture(arguments)) return exit_usage;
  const auto chosen =
      std::find_if(std::begin(verbs), std::end(verbs), [](const auto& verb) { return verb.first->parsed(); });
  return chosen->second(arguments);
}

}  // namespace
}  // namespace kgen

int main(int argc, char** argv) {
  try {
    return kgen::run_command(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "kgen: internal error: {}\n", error.what());
    return 3;
  }
}

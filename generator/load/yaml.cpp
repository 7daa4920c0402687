#include "generator/load/yaml.hpp"

#include <fmt/format.h>
#include <libfyaml.h>

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "generator/base/source_map.hpp"
#include "generator/load/plain_text.hpp"

namespace kgen {
namespace {

// libfyaml reads ahead to the end of nested flow collections before it reports the first, so that a file of nothing but
// brackets would cost seconds and gigabytes. This many are sure to be nested too deeply, whatever quotes hold.
constexpr std::ptrdiff_t most_open_brackets = 10'000;

bool validate_brackets(const SourceText& source, Diagnostics& diagnostics) {
  std::ptrdiff_t open = 0;
  for (const char c : source.content) {
    if (c == '[' || c == '{') ++open;
    if (c == ']' || c == '}') --open;
    if (open <= most_open_brackets) continue;
    diagnostics.error({&source, 0, 0}, fmt::format("nested more than {} levels deep", deepest_nesting));
    return false;
  }
  return true;
}

// At least as many as the file has scalars, mappings and sequences: each stands behind one of these.
std::size_t most_nodes(const std::string& text) {
  const auto parts = [](char c) { return c == ',' || c == ':' || c == '[' || c == '{' || c == '-' || c == '\n'; };
  return 1 + static_cast<std::size_t>(std::count_if(text.begin(), text.end(), parts));
}

struct ParserDeleter {
  void operator()(fy_parser* parser) const { fy_parser_destroy(parser); }
};
struct DiagDeleter {
  void operator()(fy_diag* diag) const { fy_diag_destroy(diag); }
};
struct EventDeleter {
  fy_parser* parser;
  void operator()(fy_event* event) const { fy_parser_event_free(parser, event); }
};
using Event = std::unique_ptr<fy_event, EventDeleter>;

// libfyaml, told to keep its errors to itself.
struct Parser {
  explicit Parser(const std::string& text) {
    fy_diag_cfg diag_config;
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = nullptr;
    diag_config.output_fn = [](fy_diag*, void* user, const char* message, std::size_t length) {
      static_cast<Parser*>(user)->unplaced.append(message, length);
    };
    diag_config.user = this;
    diag.reset(fy_diag_create(&diag_config));
    fy_diag_set_collect_errors(diag.get(), true);
    fy_parse_cfg config{};
    config.flags =
        static_cast<fy_parse_cfg_flags>(FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE);
    config.diag = diag.get();
    parser.reset(fy_parser_create(&config));
    fy_parser_set_string(parser.get(), text.data(), text.size());
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Event next() { return Event(fy_parser_parse(parser.get()), {parser.get()}); }

  std::string unplaced;  // messages without a place in the text
  std::unique_ptr<fy_diag, DiagDeleter> diag;
  std::unique_ptr<fy_parser, ParserDeleter> parser;
};

// A mapping or sequence whose end has not been seen.
struct Frame {
  static constexpr std::uint32_t most_compared = 16;  // keys; a mapping with more of them looks them up by hash

  std::uint32_t node = 0;
  bool flow = false;
  bool value_next = false;                 // mapping: its next node is a value
  std::optional<std::uint32_t> duplicate;  // mapping: the key to drop, with its value
  std::unique_ptr<std::unordered_set<std::string_view>> keys;
};

// Builds the tree from the events of one document.
class TreeBuilder {
 public:
  TreeBuilder(const SourceText& source, Diagnostics& diagnostics)
      : diagnostics_(diagnostics), tree_(source), masked_(mask_types(source.content)), parser_(masked_) {}

  std::optional<YamlTree> build() {
    tree_.nodes.reserve(most_nodes(masked_));
    while (const Event event = parser_.next()) {
      if (!take(*event) || is_hopeless(diagnostics_)) return std::nullopt;
    }
    if (fy_parser_get_stream_error(parser_.parser.get())) {
      report_syntax_error();
      return std::nullopt;
    }
    if (tree_.nodes.empty() || tree_.root().is_empty()) {
      diagnostics_.error({&tree_.source(), 0, 0}, "the file is empty");
      return std::nullopt;
    }
    return std::move(tree_);
  }

 private:
  // False where there is no point in reading on.
  bool take(fy_event& event) {
    if (!validate_features(event)) return false;
    switch (event.type) {
      case FYET_SCALAR:
        return take_scalar(event);
      case FYET_MAPPING_START:
        return open(event, Yaml::Kind::mapping);
      case FYET_SEQUENCE_START:
        return open(event, Yaml::Kind::sequence);
      case FYET_MAPPING_END:
      case FYET_SEQUENCE_END:
        close();
        return true;
      default:
        return true;
    }
  }

  bool validate_features(fy_event& event) {
    const SourceLocation where = location_of(fy_event_start_mark(&event));
    if (event.type == FYET_ALIAS) {
      diagnostics_.error(where, "YAML aliases are not supported").advise("write the value out, or quote the text");
      return false;
    }
    if (event.type == FYET_DOCUMENT_START && !tree_.nodes.empty()) {
      diagnostics_.error(where, "the file holds more than one YAML document").advise("put each into a file of its own");
      return false;
    }
    if (fy_token* anchor = fy_event_get_anchor_token(&event)) {
      diagnostics_.error(location_of(fy_token_start_mark(anchor)), "YAML anchors are not supported")
          .advise("remove the '&' and the name after it");
      return false;
    }
    if (fy_token* tag = fy_event_get_tag_token(&event)) {
      diagnostics_.error(location_of(fy_token_start_mark(tag)), "YAML tags are not supported")
          .advise("remove the '!' and the name after it");
      return false;
    }
    return true;
  }

  SourceLocation location_of(const fy_mark* mark) const {
    if (mark) {
      return {&tree_.source(), static_cast<std::uint32_t>(mark->line + 1),
              static_cast<std::uint32_t>(mark->column + 1)};
    }
    if (tree_.nodes.empty()) return {&tree_.source(), 1, 1};
    // Nothing stands after a key: the key's place.
    return {&tree_.source(), tree_.nodes.back().line, tree_.nodes.back().column};
  }

  std::uint32_t add_node(fy_event& event, Yaml::Kind kind) {
    const SourceLocation where = location_of(fy_event_start_mark(&event));
    const auto index = static_cast<std::uint32_t>(tree_.nodes.size());
    YamlNode& node = tree_.nodes.emplace_back();
    node.line = where.line;
    node.column = where.column;
    node.end = index + 1;
    node.kind = kind;
    return index;
  }

  bool take_scalar(fy_event& event) {
    YamlNode& node = tree_.nodes[add_node(event, Yaml::Kind::scalar)];
    read_text(event, node);
    if (node.plain && (node.text.empty() || node.text == "~" || node.text == "null")) node.kind = Yaml::Kind::empty;
    if (is_key()) {
      take_key();
    } else {
      complete_child();
    }
    return true;
  }

  // The text is the file's own wherever it stands there in one piece, so that offsets into it are places.
  void read_text(fy_event& event, YamlNode& node) {
    fy_token* token = event.scalar.value;
    const fy_mark* start = fy_event_start_mark(&event);
    const fy_mark* end = fy_event_end_mark(&event);
    const fy_scalar_style style = fy_token_scalar_style(token);
    node.plain = style == FYSS_PLAIN || style == FYSS_ANY;
    if (!start || !end) return;
    const std::string_view raw =
        std::string_view(tree_.source().content).substr(start->input_pos, end->input_pos - start->input_pos);
    const bool one_piece = node.plain                    ? raw.find_first_of("\r\n") == raw.npos
                           : style == FYSS_SINGLE_QUOTED ? raw.find_first_of("\r\n'") == raw.npos
                           : style == FYSS_DOUBLE_QUOTED ? raw.find_first_of("\r\n\\") == raw.npos
                                                         : false;
    if (one_piece) {
      node.text = raw;
      return;
    }
    std::size_t length = 0;
    const char* text = fy_token_get_text(token, &length);
    node.text = tree_.folded.emplace_back(unmask_types(text ? std::string_view(text, length) : std::string_view()));
    node.folded = true;
  }

  bool is_key() const {
    return !frames_.empty() && kind_of(frames_.back()) == Yaml::Kind::mapping && !frames_.back().value_next;
  }
  Yaml::Kind kind_of(const Frame& frame) const { return tree_.nodes[frame.node].kind; }

  void take_key() {
    Frame& frame = frames_.back();
    const auto key = static_cast<std::uint32_t>(tree_.nodes.size() - 1);
    tree_.nodes[key].kind = Yaml::Kind::scalar;  // a key may be `null` or empty; it is unknown soon enough
    frame.value_next = true;
    const std::optional<std::uint32_t> first = find_key(frame, tree_.nodes[key].text);
    if (!first) return;
    frame.duplicate = key;
    diagnostics_.error(Yaml(tree_, key).where(), fmt::format("duplicate key '{}'", tree_.nodes[key].text))
        .note(Yaml(tree_, *first).where(), "it was first written here")
        .advise("remove one of the two");
  }

  // An earlier key of the mapping with this text. Remembers the text.
  std::optional<std::uint32_t> find_key(Frame& frame, std::string_view text) const {
    const bool few = tree_.nodes[frame.node].count < Frame::most_compared;
    if (!few) {
      if (!frame.keys) {
        frame.keys = std::make_unique<std::unordered_set<std::string_view>>();
        for (const Yaml::Entry entry : complete_entries(frame)) frame.keys->insert(entry.name());
      }
      if (frame.keys->insert(text).second) return std::nullopt;
    }
    std::uint32_t index = frame.node + 1;
    for (const Yaml::Entry entry : complete_entries(frame)) {
      if (entry.name() == text) return index;
      index = tree_.nodes[index + 1].end;
    }
    return std::nullopt;
  }

  // The entries of a mapping that is still open, without the key that was just read.
  Yaml::Range<Yaml::Entry> complete_entries(const Frame& frame) const {
    return {&tree_, frame.node + 1, static_cast<std::uint32_t>(tree_.nodes.size() - 1)};
  }

  bool open(fy_event& event, Yaml::Kind kind) {
    const SourceLocation where = location_of(fy_event_start_mark(&event));
    if (is_key()) {
      diagnostics_.error(where, "a key must be one word, not a list or a mapping")
          .advise("if this is text that holds '[' or '{', quote it");
      return false;
    }
    if (frames_.size() == deepest_nesting) {
      diagnostics_.error(where, fmt::format("nested more than {} levels deep", deepest_nesting));
      return false;
    }
    Frame& frame = frames_.emplace_back();
    frame.node = add_node(event, kind);
    frame.flow = fy_event_get_node_style(&event) == FYNS_FLOW;
    return true;
  }

  void close() {
    tree_.nodes[frames_.back().node].end = static_cast<std::uint32_t>(tree_.nodes.size());
    frames_.pop_back();
    complete_child();
  }

  // An item of the innermost sequence, or a value of the innermost mapping, is complete.
  void complete_child() {
    if (frames_.empty()) return;
    Frame& frame = frames_.back();
    frame.value_next = false;
    if (frame.duplicate) {
      tree_.nodes.resize(*std::exchange(frame.duplicate, std::nullopt));
    } else {
      ++tree_.nodes[frame.node].count;
    }
  }

  void report_syntax_error() {
    SourceLocation where{&tree_.source(), 0, 0};
    std::string message = parser_.unplaced;
    void* iterator = nullptr;
    if (const fy_diag_error* error = fy_diag_errors_iterate(parser_.diag.get(), &iterator)) {
      where.line = static_cast<std::uint32_t>(std::max(error->line, 0));
      where.column = static_cast<std::uint32_t>(std::max(error->column, 0));
      message = error->msg ? error->msg : "";
    }
    Diagnostic& diagnostic = diagnostics_.error(where, "not valid YAML: " + readable_message(message));
    if (message.find("nested block mapping") != message.npos) {
      diagnostic.advise("quote a text that holds ': '; put keys within a key on lines below it, or in braces: dims: {M: 1..8}");
    } else if (is_indented_by_tab(where.line)) {
      diagnostic.advise("indent with spaces: in YAML a tab does not");
    }
    if (frames_.empty() || !frames_.back().flow) return;
    const bool is_list = kind_of(frames_.back()) == Yaml::Kind::sequence;
    diagnostic.note(Yaml(tree_, frames_.back().node).where(),
                    fmt::format("this '{}' has no matching '{}' so far", is_list ? '[' : '{', is_list ? ']' : '}'));
  }

  bool is_indented_by_tab(std::uint32_t number) const {
    std::string_view text = tree_.source().content;
    for (std::uint32_t line = 1; line < number; ++line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    return text.substr(0, text.find_first_not_of(" \t")).find('\t') != text.npos;
  }

  // What libfyaml prints without a place starts with a tag and ends with line ends.
  static std::string readable_message(std::string message) {
    message = unmask_types(message);
    if (message.starts_with("[ERR]: ")) message.erase(0, 7);
    message.erase(std::min(message.find('\n'), message.size()));
    return message.empty() ? "it cannot be read" : message;
  }

  Diagnostics& diagnostics_;
  YamlTree tree_;
  std::string masked_;
  Parser parser_;
  std::vector<Frame> frames_;
};

}  // namespace

Yaml::Kind Yaml::kind() const { return tree_->nodes[index_].kind; }
std::string_view Yaml::text() const { return tree_->nodes[index_].text; }
bool Yaml::is_plain() const { return tree_->nodes[index_].plain; }
std::size_t Yaml::size() const { return tree_->nodes[index_].count; }

SourceLocation Yaml::where() const {
  const YamlNode& node = tree_->nodes[index_];
  return {&tree_->source(), node.line, node.column};
}

SourceLocation Yaml::at(std::size_t offset) const {
  const YamlNode& node = tree_->nodes[index_];
  SourceLocation result = where();
  if (!node.folded) result.column += static_cast<std::uint32_t>(count_characters(node.text.substr(0, offset)));
  return result;
}

Yaml::Range<Yaml> Yaml::items() const {
  return {tree_, index_ + 1, is_sequence() ? tree_->nodes[index_].end : index_ + 1};
}

Yaml::Range<Yaml::Entry> Yaml::entries() const {
  return {tree_, index_ + 1, is_mapping() ? tree_->nodes[index_].end : index_ + 1};
}

Yaml Yaml::find(std::string_view key) const {
  for (const Entry entry : entries()) {
    if (entry.name() == key) return entry.value;
  }
  return {};
}

bool is_hopeless(const Diagnostics& diagnostics) {
  return diagnostics.has_errors() && diagnostics.all().size() >= most_reported;
}

std::optional<YamlTree> parse_yaml(const SourceText& source, Diagnostics& diagnostics) {
  if (source.content.size() > largest_file) {
    diagnostics.error({&source, 0, 0}, fmt::format("the file is too large: {} MB; at most {} MB can be read",
                                                   source.content.size() >> 20, largest_file >> 20));
    return std::nullopt;
  }
  if (!validate_plain_text(source, diagnostics) || !validate_brackets(source, diagnostics)) return std::nullopt;
  if (source.content.starts_with('%')) {
    diagnostics.error({&source, 1, 1}, "YAML directives are not supported").advise("remove the line");
    return std::nullopt;
  }
  return TreeBuilder(source, diagnostics).build();
}

}  // namespace kgen

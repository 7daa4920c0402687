// Random damage to good graphs: whatever comes of it is a module or a message, never a crash and never a wait.
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/load_fixture.hpp"

namespace kgen {
namespace {

constexpr std::array<std::string_view, 2> good_graphs = {R"yaml(graph: first
doc: |
  Text with f32[B, S] in it,
  over two lines.
dims: {B: 1..8, S: 1..512, D: 64, P: {range: 0..4095, from: position}}
inputs:
  x: f32[B, S, 2*D]
  y: {type: f32[B, S], strided: true}
  position: i64[]
constants:
  eps: 1.0e-5
  sign: {type: f32[2], values: [-1, 1]}
  w: {type: bf16[64, 64], file: "weights.safetensors", key: 'model.w'}
state:
  cache: {type: f32[B, 4096], next: all}
nodes:
  - {op: sum, in: x, out: total, axes: [-1], keepdims: true}
  - {op: add, in: [total, 0.5], out: shifted}      # a comment
  - {op: slice, in: y, out: part, axis: 1, begin: S - 1, end: (S + 1) / 2 * 2}
  - op: concat
    in: [cache, part, sign, w, eps]
    out: all
    axis: 0
  - {op: reshape, in: shifted, out: flat, shape: [B*S, -1]}
  - {op: slice, in: all, out: tail, axis: 0, begin: P}
  - {op: mean_variance, in: tail, out: [mean, variance]}
outputs: {shown: flat, mean: mean, variance: variance}
fusion: {forbid: [[total, shifted]], force: [[shifted, flat]], pin: [stub_y]}
expect_fused: [[total, shifted, flat]]
numerics: match_unfused
)yaml",
                                                         R"yaml(graph: second
dims: {B: 1..4}
inputs: {h: "f32[B, 8]", cos: f32[8]}
functions:
  inner:
    inputs: {a: "f32[B, 8]", b: "f32[8]"}
    constants: {w: {type: f32[8], file: w.safetensors, key: "layers.{index}.w"}}
    nodes: [{op: add, in: [a, b], out: c}, {op: add, in: [c, w], out: d}]
    outputs: [d]
  outer:
    inputs: {a: "f32[B, 8]", b: "f32[8]"}
    state: {s: {type: "f32[B, 8]", next: e}}
    nodes:
      - {call: inner, in: [a, b], out: d, repeat: 3}
      - {op: add, in: [d, s], out: e}
    outputs: [e]
nodes:
  - {call: outer, in: [h, cos], out: h2, repeat: 32}
  - {op: attention, in: [h2, h2], out: y, scale: 0.5, mode: causal}
  - {op: cast, in: y, out: z, to: bf16}
outputs: [z]
)yaml"};

constexpr std::string_view interesting = "[]{}:,-#&*!|>'\"%@`?~ \t\n\\0123456789.+/()$_aBexz\x80\xC3\x01";
constexpr std::array<std::string_view, 12> snippets = {
    "[[[[", "}}", ": ", "- ", "...", "\n---\n", "f32[B, ", "99999999999999999999", "*a", "&a ", "repeat: 1000000", "{"};

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (std::size_t count = 1 + below(4); count > 0; --count) mutate_once(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines{""};
    for (const char c : text) {
      lines.back() += c;
      if (c == '\n') lines.emplace_back();
    }
    return lines;
  }

  void mutate_once(std::string& text) {
    const std::size_t at = below(text.size());
    switch (below(7)) {
      case 0:
        text.insert(at, 1, interesting[below(interesting.size())]);
        break;
      case 1:
        text.erase(at, 1 + below(3));
        break;
      case 2:
        if (!text.empty()) text[at] = interesting[below(interesting.size())];
        break;
      case 3:
        text.insert(at, snippets[below(snippets.size())]);
        break;
      case 4:
        text.insert(below(text.size()), text.substr(at, below(20)));
        break;
      case 5:
        text.resize(below(8) == 0 ? at : text.size());
        break;
      default:
        mutate_lines(text);
    }
  }

  void mutate_lines(std::string& text) {
    std::vector<std::string> lines = lines_of(text);
    const std::size_t a = below(lines.size());
    const std::size_t b = below(lines.size());
    switch (below(4)) {
      case 0:
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(a));
        break;
      case 1:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(a), std::string(lines[b]));
        break;
      case 2:
        std::swap(lines[a], lines[b]);
        break;
      default:
        lines[a].insert(0, below(5), ' ');
    }
    text.clear();
    for (const std::string& line : lines) text += line;
  }

  std::mt19937 random_;
};

// The outcome of one load, which must be one of the two.
bool loads(const std::string& text) {
  const SourceText source{"graph.yaml", text};
  Diagnostics diagnostics;
  const bool loaded = load_graph(source, test_set(), diagnostics).has_value();
  CHECK_MESSAGE(loaded != diagnostics.has_errors(), text);
  if (!loaded) CHECK_FALSE(diagnostics.text(true).empty());
  return loaded;
}

}  // namespace

TEST_CASE("load: damaged graphs") {
  const auto start = std::chrono::steady_clock::now();
  Mutator mutator(20240521);
  int loaded = 0;
  for (const std::string_view graph : good_graphs) {
    CHECK(loads(std::string(graph)));
    for (int i = 0; i < 4000; ++i) loaded += loads(mutator.mutate(std::string(graph))) ? 1 : 0;
  }
  CHECK(loaded > 100);   // some damage does no harm
  CHECK(loaded < 6000);  // most does
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}

TEST_CASE("load: every prefix of a graph") {
  for (const std::string_view graph : good_graphs) {
    for (std::size_t length = 0; length < graph.size(); ++length) loads(std::string(graph.substr(0, length)));
  }
}

TEST_CASE("load: a graph of 100,000 nodes") {
  std::string text = "graph: big\ndims: {M: 1..8192}\ninputs: {v0: \"f32[M, 64]\", w: f32[64]}\nnodes:\n";
  constexpr int count = 100'000;
  for (int i = 0; i < count; ++i) {
    text += "  - {op: add, in: [v" + std::to_string(i) + ", w], out: v" + std::to_string(i + 1) + "}\n";
  }
  text += "outputs: [v" + std::to_string(count) + "]\n";
  const SourceText source{"big.yaml", text};
  Diagnostics diagnostics;
  const auto start = std::chrono::steady_clock::now();
  const auto module = load_graph(source, test_set(), diagnostics);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));  // 0.4 s, but not on every machine
  REQUIRE(module);
  CHECK_EQ(module->main.nodes.size(), count);
  CHECK_EQ(module->main.values.size(), count + 2);
}

}  // namespace kgen

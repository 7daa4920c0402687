// What introspection reads from declarations.
#include <malloc.h>

#include <cstdlib>

#include "tests/unit/introspect_fixture.hpp"

namespace kgen::test {

namespace fs = std::filesystem;

// The headers of the kernel library that may register kernels, in the order of their names.
std::vector<std::string> library_headers() {
  std::vector<std::string> headers;
  for (const std::string& path : repository::files_below("templates/kgen", {".hpp"})) {
    const std::string below = path.substr(std::string("templates/kgen/").size());
    const bool shared = below.find('/') == std::string::npos || below.starts_with("ops/");  // not of one target
    if (shared) headers.push_back((repository::root() / path).string());
  }
  std::sort(headers.begin(), headers.end());
  return headers;
}

TEST_CASE("introspect: what Clang made of headers is freed") {
  const auto bytes_in_use = [] { return static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd); };
  const std::string header = "KGEN_KERNEL(negate) inline void negate(View<const float, 1> x, View<float, 1> y);\n";
  (void)introspected(header);  // what is kept for the next one
  const double before = bytes_in_use();
  for (int i = 0; i < 4; ++i) (void)introspected(header);
  CHECK((bytes_in_use() - before) / 4 < 1e6);  // a unit takes some 30 MB
}

TEST_CASE("generated: templates/kgen/signatures.yaml is what `kgen introspect` prints") {
  PipelineOptions options;
  options.include_directories = {(repository::root() / "templates").string()};
  Session session;
  const KernelLibrary library = introspect_headers(library_headers(), options, session);
  REQUIRE_MESSAGE(!session.diagnostics.has_errors(), session.diagnostics.text(false));
  CHECK(library.kernels.size() > 50);
  const std::string text = signatures_yaml(library);
  const std::string path = "templates/kgen/signatures.yaml";
  if (std::getenv("KGEN_UPDATE")) std::ofstream(repository::root() / path, std::ios::binary) << text;
  INFO(path, ": scripts/update_generated writes it anew");
  CHECK(repository::read(path) == text);
}

TEST_CASE("introspect: lists and words as attributes, and operands of any rank") {
  const Introspected found = introspected(R"(
enum class Edge { open, closed };
template <int N, Source<N / 2> X, Sink<source_lane_t<X, N / 2>, N / 2> Out>
KGEN_KERNEL(frame)
void frame(const X& x, Index<N> pads, Index<3> corner, Edge edge, const Out& out, Stream stream) {}
template <AnySource X, SinkLike<X> Out>
KGEN_KERNEL(scan)
void scan(const X& x, bool reverse, const Out& out, Stream stream) requires Number<source_lane_t<X, source_rank<X>>> {}
)");
  CHECK(found.messages == "");
  CHECK_EQ(found.kernels, R"(
- kernel: my::frame
  header: my.hpp
  at: 8:6
  operator: frame
  kind: structured
  operands:
  - {name: x, accepts: source, at: 8:21}
  results:
  - {name: out, accepts: sink, at: 8:78}
  attributes:
  - {name: pads, type: kgen::Index, at: 8:33}
  - {name: corner, type: kgen::Index<3>, at: 8:48}
  - {name: edge, type: my::Edge, values: [open, closed], at: 8:61}
- kernel: my::scan
  header: my.hpp
  at: 11:6
  operator: scan
  kind: structured
  operands:
  - {name: x, types: number, accepts: source, at: 11:20}
  results:
  - {name: out, accepts: sink, at: 11:48}
  attributes:
  - {name: reverse, type: bool, at: 11:28}
)");
}

TEST_CASE("introspect: an elementwise kernel") {
  const Introspected found = introspected(R"(
// x, moved and
// scaled.
struct KGEN_KERNEL(shift, "bytes(x) > 1") Shift {
  double by;
  bool twice;
  int steps;
  template <Float X, Number Y>
  KGEN_FN auto apply(X x, Y y) const { return x; }
  template <Float X>
  KGEN_FN auto apply(X x) const { return x; }
};
template <Element To>
struct KGEN_KERNEL(pick) PickAs {
  template <OneOf<float, bf16> A, Boolean C>
  static KGEN_FN Boolean auto apply(A a, C condition, std::int64_t at) { return condition; }
};
struct KGEN_KERNEL(lanes) Lanes {
  template <Signed T, int W>
  static KGEN_FN Vec<T, W> apply(const Vec<T, W>& x) { return x; }
};
)");
  CHECK(found.messages == "");
  CHECK_EQ(found.kernels, R"(
- kernel: my::Shift
  header: my.hpp
  at: 7:43
  operator: shift
  when: "bytes(x) > 1"
  kind: elementwise
  operands:
  - {name: x, types: float, at: 12:24}
  - {name: "y", types: number, optional: true, at: 12:29}
  results:
  - {name: out, at: 12:16}
  attributes:
  - {name: by, type: double, at: 8:10}
  - {name: twice, type: bool, at: 9:8}
  - {name: steps, type: int, at: 10:7}
  doc: "x, moved and scaled."
- kernel: my::PickAs
  header: my.hpp
  at: 17:26
  operator: pick
  kind: elementwise
  operands:
  - {name: a, types: [f32, bf16], at: 19:39}
  - {name: condition, types: [bool], at: 19:44}
  - {name: at, types: [i64], at: 19:68}
  results:
  - {name: out, types: [bool], at: 19:31}
  attributes:
  - {name: to, type: dtype, at: 16:19}
- kernel: my::Lanes
  header: my.hpp
  at: 21:27
  operator: lanes
  kind: elementwise
  operands:
  - {name: x, types: signed, at: 23:51}
  results:
  - {name: out, at: 23:28}
)");
}

TEST_CASE("introspect: an elementwise kernel that reads an operand in lines") {
  const Introspected found = introspected(R"(
}
#include "kgen/line.hpp"
namespace my {
struct KGEN_KERNEL(sample) Sample {
  template <Float T, int W, Float P>
  static KGEN_FN auto apply(const Line<T, W>& x, P place) { return x.at(place, 0); }
};
)");
  CHECK(found.messages == "");
  CHECK_EQ(found.kernels, R"(
- kernel: my::Sample
  header: my.hpp
  at: 8:28
  operator: sample
  kind: elementwise
  operands:
  - {name: x, types: float, accepts: line, at: 10:47}
  - {name: place, types: float, at: 10:52}
  results:
  - {name: out, at: 10:23}
)");
}

TEST_CASE("introspect: a reduction") {
  const Introspected found = introspected(R"(
struct KGEN_KERNEL(extremes) Extremes {
  template <class T> struct Result { T least, greatest; };
  template <Number T, int W> static KGEN_FN auto identity() { return Vec<T, W>(0); }
  template <class T, int W> static KGEN_FN void accumulate(Vec<T, W>& state, Vec<T, W> values) {}
  template <class T, int W> static KGEN_FN Vec<T, W> combine(Vec<T, W> a, Vec<T, W> b) { return a; }
  template <class T> static KGEN_FN Result<T> finish(Vec<T, 1> state, std::int64_t) { return {}; }
};
)");
  CHECK(found.messages == "");
  CHECK_EQ(found.kernels, R"(
- kernel: my::Extremes
  header: my.hpp
  at: 5:30
  operator: extremes
  kind: reduction
  operands:
  - {name: values, types: number, at: 7:50}
  results:
  - {name: least, at: 6:40}
  - {name: greatest, at: 6:47}
)");
}

TEST_CASE("introspect: functions") {
  const Introspected found = introspected(R"(
inline constexpr int anyhow = 0, by_rows = 1, by_columns = 2;
template <int Lies = anyhow, Source<2> A, Sink<float, 2> C>
KGEN_KERNEL(turn) KGEN_LAYOUT(Lies, a, "T == f32")
void turn(const A& a, const C& c, Stream stream) requires Allowed<Lies, anyhow, by_rows, by_columns>;

template <class S, int R>
concept Half = Source<S, R> && (OneOf<source_lane_t<S, R>, f16> || OneOf<source_lane_t<S, R>, bf16>);
template <int Tile = 2, int Depth = 8, int Bits = 4, Half<3> A, Memory<1> B, Sink<float, 3> C>
KGEN_KERNEL(blend) KGEN_TUNED(Tile) KGEN_TUNED(Depth, "target == cpu")
void blend(const A& a, const B& b, View<const std::int64_t, 2> rows, float weight, bool fast, const C& c, Stream stream)
requires Integer<view_element_t<B>> && Allowed<Tile, 1, 2, 4> && Allowed<Depth, 8, 16> && Allowed<Bits, 4>;

struct Region { double x, y; };
KGEN_KERNEL(escape)
void escape(View<const Region, 0> region, View<const double, 1> start, std::int64_t most, const View<std::int32_t, 1>& steps, View<bool, 1> within,
            Stream stream);

template <int Axis, Element T, int R>
KGEN_KERNEL(window) View<T, R> window(const View<T, R>& whole, std::int64_t begin) { return whole; }
)");
  CHECK(found.messages == "");
  CHECK_EQ(found.kernels, R"(
- kernel: my::turn
  header: my.hpp
  at: 8:6
  operator: turn
  kind: structured
  operands:
  - {name: a, rank: 2, accepts: source, at: 8:20}
  results:
  - {name: c, rank: 2, accepts: sink, element: f32, at: 8:32}
  parameters:
  - {name: Lies, values: [0, 1, 2], names: [my::anyhow, my::by_rows, my::by_columns], default: 0, layout: a, known: "T == f32", at: 6:15}
- kernel: my::blend
  header: my.hpp
  at: 14:6
  operator: blend
  kind: structured
  operands:
  - {name: a, rank: 3, types: [f16, bf16], accepts: source, at: 14:21}
  - {name: b, rank: 1, types: integer, accepts: view, at: 14:33}
  - {name: rows, rank: 2, types: [i64], accepts: view, at: 14:64}
  results:
  - {name: c, rank: 3, accepts: sink, element: f32, at: 14:104}
  attributes:
  - {name: weight, type: float, at: 14:76}
  - {name: fast, type: bool, at: 14:89}
  parameters:
  - {name: Tile, values: [1, 2, 4], default: 2, tuned: always, at: 12:15}
  - {name: Depth, values: [8, 16], default: 8, tuned: "target == cpu", at: 12:29}
  - {name: Bits, values: [4], default: 4, at: 12:44}
- kernel: my::escape
  header: my.hpp
  at: 19:6
  operator: escape
  kind: opaque
  operands:
  - {name: region, rank: 0, accepts: view, struct: "my::Region", at: 19:35}
  - {name: start, rank: 1, types: [f64], accepts: view, at: 19:65}
  results:
  - {name: steps, rank: 1, types: [i32], accepts: view, at: 19:120}
  - {name: within, rank: 1, types: [bool], accepts: view, at: 19:141}
  attributes:
  - {name: most, type: std::int64_t, at: 19:85}
- kernel: my::window
  header: my.hpp
  at: 23:32
  operator: window
  kind: view
  operands:
  - {name: whole, types: any, at: 23:57}
  results:
  - {name: out, at: 23:32}
  attributes:
  - {name: begin, type: std::int64_t, at: 23:77}
  - {name: axis, type: std::int64_t, at: 22:15}
)");
}

TEST_CASE("introspect: a sink of several results") {
  const Introspected found = introspected(R"(
template <Source<2> A, JointSink<float, 3, 2> Parts, Sink<source_lane_t<A, 2>, 1> C>
KGEN_KERNEL(part)
void part(const A& a, const Parts& parts, const C& c, Stream stream) requires Float<source_lane_t<A, 2>>;
)");
  CHECK(found.messages == "");
  CHECK_MESSAGE(found.kernels.find("  results:\n"
                                   "  - {name: parts, rank: 2, accepts: sink, element: f32, joint: 3, at: 7:36}\n"
                                   "  - {name: c, rank: 1, accepts: sink, at: 7:52}\n") != std::string::npos,
                found.kernels);
}

TEST_CASE("introspect: an operand of which a call takes several") {
  const Introspected found = introspected(R"(
template <Source<2> A, SeveralSources<2, 4> B, SeveralSinks<float, several_count<B>, 2> C>
KGEN_KERNEL(product)
void product(const A& a, const B& b, const C& c, Stream stream) requires Float<source_lane_t<first_of_t<B>, 2>>;
template <Source<2> A, SeveralMemory<2, 3> B, SeveralSinks<source_lane_t<A, 2>, several_count<B>, 2> C>
KGEN_KERNEL(packed)
void packed(const A& a, const B& b, const C& c, Stream stream);
)");
  CHECK(found.messages == "");
  CHECK_MESSAGE(
      found.kernels.find("  - {name: b, rank: 2, types: float, accepts: source, several: 4, at: 7:35}\n"
                         "  results:\n"
                         "  - {name: c, rank: 2, accepts: sink, element: f32, at: 7:47}\n") != std::string::npos,
      found.kernels);
  CHECK_MESSAGE(found.kernels.find("  - {name: b, rank: 2, accepts: view, several: 3, at: 10:") != std::string::npos,
                found.kernels);
}

TEST_CASE("introspect: overloads of one function, and kernels of one operator") {
  const Introspected found = introspected(R"(
template <Source<2> A, Memory<1> B, Sink<float, 2> C>
KGEN_KERNEL(scale) void scale(const A& a, const B& b, const C& c, Stream stream);
template <Source<2> A, Sink<float, 2> C>
KGEN_KERNEL(scale) void scale(const A& a, const C& c, Stream stream);
KGEN_KERNEL(copy_rows) void copy_floats(View<const float, 2> x, View<float, 2> y, Stream stream);
KGEN_KERNEL(copy_rows) void copy_doubles(View<const double, 2> x, View<double, 2> y, Stream stream);
)");
  CHECK(found.messages == "");
  CHECK(found.kernels.find("{name: b, rank: 1, accepts: view, optional: true, ") != std::string::npos);
  CHECK(found.kernels.find("my::copy_floats") != std::string::npos);
  CHECK(found.kernels.find("my::copy_doubles") != std::string::npos);
}

TEST_CASE("introspect: headers in the order of their names, each once, with those that they include") {
  const Folder folder;
  const std::string kernel =
      "struct KGEN_KERNEL(copy) Copy { template <Element X> static auto apply(X x) { return x; } };";
  const std::string b = folder.write("b.hpp",
                                     "#pragma once\n#include \"kgen/vec.hpp\"\n#include \"kgen/introspect.hpp\"\n"
                                     "#include \"parts/c.hpp\"\nnamespace b { using namespace kgen;\n" +
                                         kernel + "}\n");
  folder.write("parts/c.hpp", "#pragma once\n");
  PipelineOptions options;
  options.include_directories = {(repository::root() / "templates").string()};
  Session session;
  const KernelLibrary library = introspect_headers({b, b}, options, session);
  CHECK(session.diagnostics.text(false) == "");
  CHECK(library.kernels.size() == 1);
  std::vector<std::string> names;
  for (const HeaderFile& each : library.headers) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"b.hpp", "kgen/cpu/registers.hpp", "kgen/introspect.hpp", "kgen/platform.hpp",
                                          "kgen/types.hpp", "kgen/vec.hpp", "parts/c.hpp"});
}

}  // namespace kgen::test

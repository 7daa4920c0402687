// Headers that say nothing sensible of kernels, each beside what is printed about it.
#include <sys/stat.h>

#include <cstdlib>

#include "generator/introspect/clang_services.hpp"
#include "tests/unit/introspect_fixture.hpp"

namespace kgen::test {

TEST_CASE("introspect: macros that grow without end are an error at once") {
  std::string chain = "#define A0 0,\n", doubling = "#define TWICE(...) __VA_ARGS__ __VA_ARGS__\nint y[] = {";
  for (int i = 1; i <= 40; ++i) chain += "#define A" + std::to_string(i) + " A" + std::to_string(i - 1) + " A" + std::to_string(i - 1) + "\n";
  for (int i = 0; i < 40; ++i) doubling += "TWICE(";
  doubling += "0," + std::string(40, ')') + "};\n";
  const std::string message = " error: macros expand to more than 4194304 tokens: kgen reads no further\n";
  CHECK(introspected(chain + "int x[] = {A40};\n").messages.starts_with("my.hpp:45:12:" + message));
  CHECK(introspected(doubling).messages.starts_with("my.hpp:5:"));
  CHECK(introspected(doubling).messages.find(message) != std::string::npos);
  CHECK(introspected("#define ONE(x) x\nint z = " + std::string("ONE(").append("ONE(ONE(ONE(ONE(1)))))") + ";\n").messages == "");
}

TEST_CASE("introspect: a pipe is not waited for, by whatever name it is included") {
  const test::Folder folder;
  const std::string pipe = (folder.path / "pipe.hpp").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& header : {pipe, folder.write("my.hpp", "#include \"pipe.hpp\"\n")}) {
    Session session;
    introspect_headers({header}, {}, session);
    const std::string said = session.diagnostics.text(false);
    const bool is_read = said.find("': it is a pipe, socket or device\n") != said.npos || said.find("'pipe.hpp' file not found") != said.npos;
    CHECK_MESSAGE(is_read, said);
  }
  Diagnostics diagnostics;
  SourceMap sources;
  CHECK(sources.read(pipe, diagnostics) == nullptr);
  CHECK(diagnostics.text(false) == "error: cannot read '" + pipe +
                                       "': it is a pipe, socket or device\n"
                                       "help: write its content to a file first, and name that\n");
}

TEST_CASE("introspect, bad: a header that does not parse") {
  CHECK_EQ(introspected(R"(
struct KGEN_KERNEL(twice) Twice {
  template <Flaot X> static auto apply(X x) { return x; }
};
)")
               .messages,
           R"text(my.hpp:6:13: error: unknown type name 'Flaot'
    6 |   template <Flaot X> static auto apply(X x) { return x; }
      |             ^
help: kgen learns of kernels from their headers: each must compile as C++20 on its own
my.hpp:6:40: error: unknown type name 'X'
    6 |   template <Flaot X> static auto apply(X x) { return x; }
      |                                        ^
)text");
}

TEST_CASE("introspect, bad: registered twice") {
  CHECK_EQ(introspected({{"a.hpp", R"(
struct KGEN_KERNEL(twice) Double { template <Number X> static auto apply(X x) { return x + x; } };
)"},
                         {"b.hpp", R"(
struct KGEN_KERNEL(twice) Twice { template <Number X> static auto apply(X x) { return x * 2; } };
KGEN_KERNEL(f) void f(View<const float, 1> x, View<float, 1> y, Stream stream);
KGEN_KERNEL(g) void f(View<const float, 1> x, View<float, 1> y, Stream stream);
)"}}).messages,
           R"text(b.hpp:5:27: error: 'my::Double' and 'my::Twice' are both registered as the kernel of 'twice'
    5 | struct KGEN_KERNEL(twice) Twice { template <Number X> static auto apply(X x) { return x * 2; } };
      |                           ^
a.hpp:5:27: note: 'my::Double' is declared here
    5 | struct KGEN_KERNEL(twice) Double { template <Number X> static auto apply(X x) { return x + x; } };
      |                           ^
help: let their dtypes differ, or say when to use one: KGEN_KERNEL(twice, "condition")
b.hpp:7:21: error: the kernel 'my::f' is registered twice
    7 | KGEN_KERNEL(g) void f(View<const float, 1> x, View<float, 1> y, Stream stream);
      |                     ^
b.hpp:6:21: note: it is also registered here
    6 | KGEN_KERNEL(f) void f(View<const float, 1> x, View<float, 1> y, Stream stream);
      |                     ^
help: overloads of one function are one kernel where one does without operands of the other
)text");
}

TEST_CASE("introspect, bad: what KGEN_KERNEL says, and what it stands on") {
  CHECK_EQ(introspected(R"(
struct KGEN_KERNEL() Nameless { template <Number X> static auto apply(X x) { return x; } };
KGEN_KERNEL(number) inline int number = 1;
struct KGEN_KERNEL(later) Later;
struct KGEN_KERNEL(neither) Neither { int x; };
)")
               .messages,
           R"text(my.hpp:5:8: error: KGEN_KERNEL names no operator
    5 | struct KGEN_KERNEL() Nameless { template <Number X> static auto apply(X x) { return x; } };
      |        ^
help: write the operator that this is a kernel of: KGEN_KERNEL(add)
my.hpp:6:1: error: KGEN_KERNEL stands on what is neither a struct nor a function
    6 | KGEN_KERNEL(number) inline int number = 1;
      | ^
my.hpp:7:8: error: KGEN_KERNEL belongs to the definition of the struct
    7 | struct KGEN_KERNEL(later) Later;
      |        ^
my.hpp:8:29: error: 'my::Neither' is no kernel: it has neither 'apply' nor 'identity', 'combine' and 'finish'
    8 | struct KGEN_KERNEL(neither) Neither { int x; };
      |                             ^
my.hpp:8:8: note: 'my::Neither' is registered here as a kernel of 'neither'
    8 | struct KGEN_KERNEL(neither) Neither { int x; };
      |        ^
help: an elementwise kernel has a member function 'apply', a reduction the other three
)text");
}

TEST_CASE("introspect, bad: elementwise kernels and reductions") {
  CHECK_EQ(introspected(R"(
struct KGEN_KERNEL(a) A {
  template <Source<2> X> static auto apply(const X& x) { return 0; }
};
struct KGEN_KERNEL(b) B {
  template <Number X> static auto apply(X) { return 0; }
};
struct KGEN_KERNEL(c) C {
  const char* name;
  template <Number X> auto apply(X x) const { return x; }
 private:
  float hidden;
};
struct KGEN_KERNEL(d) D {
  static Vec<float, 8> identity() { return {}; }
  static float finish(Vec<float, 1> x, std::int64_t) { return 0; }
};
)")
               .messages,
           R"text(my.hpp:6:53: error: 'x' is a Source, but an elementwise kernel takes lanes and scalars
    6 |   template <Source<2> X> static auto apply(const X& x) { return 0; }
      |                                                     ^
my.hpp:5:8: note: 'my::A' is registered here as a kernel of 'a'
    5 | struct KGEN_KERNEL(a) A {
      |        ^
help: kgen fuses what stands before and after an elementwise kernel without being told
my.hpp:9:42: error: an operand has no name
    9 |   template <Number X> static auto apply(X) { return 0; }
      |                                          ^
my.hpp:8:8: note: 'my::B' is registered here as a kernel of 'b'
    8 | struct KGEN_KERNEL(b) B {
      |        ^
my.hpp:12:15: error: 'name' of type 'const char *' is no attribute that an operator could have
   12 |   const char* name;
      |               ^
my.hpp:11:8: note: 'my::C' is registered here as a kernel of 'c'
   11 | struct KGEN_KERNEL(c) C {
      |        ^
help: attributes are bool, int, std::int64_t, float, double, kgen::Index<N>, kgen::Numbers<N> or an enumeration
my.hpp:15:9: error: the member 'hidden' is not public: attributes are passed as my::C{...}
   15 |   float hidden;
      |         ^
my.hpp:11:8: note: 'my::C' is registered here as a kernel of 'c'
   11 | struct KGEN_KERNEL(c) C {
      |        ^
my.hpp:18:24: error: 'identity' of 'my::D' is no template of an element type and a width
   18 |   static Vec<float, 8> identity() { return {}; }
      |                        ^
my.hpp:17:8: note: 'my::D' is registered here as a kernel of 'd'
   17 | struct KGEN_KERNEL(d) D {
      |        ^
help: write it as: template <Number T, int W> static auto identity()
)text");
}

TEST_CASE("introspect, bad: functions") {
  CHECK_EQ(introspected(R"(
template <Source<2> A, Sink<float, 2> C>
KGEN_KERNEL(a) void a(const C& c, const A& x, Stream stream);
template <Source<2> A, class B, Sink<float, 2> C>
KGEN_KERNEL(b) void b(const A& x, const B& y, const C& c, Stream stream);
template <int Tile = 4, Source<2> A, Sink<float, 2> C>
KGEN_KERNEL(c) void c(const A& x, const C& c, Stream stream);
template <int Tile = 3, Source<2> A, Sink<float, 2> C>
KGEN_KERNEL(d) void d(const A& x, const C& c, Stream stream) requires Allowed<Tile, 2, 4>;
KGEN_KERNEL(e) void e(View<const float, 1> x, Stream stream);
KGEN_KERNEL(f) int f(View<const float, 1> x, View<float, 1> y, Stream stream);
KGEN_KERNEL(g) void g(View<const float, 1> x, View<float, 1> y);
KGEN_KERNEL(h) void h(View<const float, 1> x, const char* how, View<float, 1> y, Stream stream);
)")
               .messages,
           R"text(my.hpp:6:44: error: the operand 'x' stands after the result 'c'
    6 | KGEN_KERNEL(a) void a(const C& c, const A& x, Stream stream);
      |                                            ^
my.hpp:6:1: note: 'my::a' is registered here as a kernel of 'a'
    6 | KGEN_KERNEL(a) void a(const C& c, const A& x, Stream stream);
      | ^
my.hpp:6:32: note: 'c' is a Sink, which takes an epilogue: that has no meaning on an operand
    6 | KGEN_KERNEL(a) void a(const C& c, const A& x, Stream stream);
      |                                ^
help: a kernel takes its operands, its attributes, its results and the stream, in this order
my.hpp:8:44: error: 'y' may be of any type 'B': what it takes is not known
    8 | KGEN_KERNEL(b) void b(const A& x, const B& y, const C& c, Stream stream);
      |                                            ^
my.hpp:8:1: note: 'my::b' is registered here as a kernel of 'b'
    8 | KGEN_KERNEL(b) void b(const A& x, const B& y, const C& c, Stream stream);
      | ^
help: constrain it: Source<R> takes a prologue, Memory<R> does not, Sink<T, R> is a result
my.hpp:9:15: error: the values that 'Tile' may have are not known
    9 | template <int Tile = 4, Source<2> A, Sink<float, 2> C>
      |               ^
my.hpp:10:1: note: 'my::c' is registered here as a kernel of 'c'
   10 | KGEN_KERNEL(c) void c(const A& x, const C& c, Stream stream);
      | ^
help: add a constraint to the function: requires Allowed<Tile, 1, 2, 4>
my.hpp:11:15: error: 'Tile' has no default that is one of its allowed values
   11 | template <int Tile = 3, Source<2> A, Sink<float, 2> C>
      |               ^
my.hpp:12:1: note: 'my::d' is registered here as a kernel of 'd'
   12 | KGEN_KERNEL(d) void d(const A& x, const C& c, Stream stream) requires Allowed<Tile, 2, 4>;
      | ^
my.hpp:13:21: error: 'my::e' has no result
   13 | KGEN_KERNEL(e) void e(View<const float, 1> x, Stream stream);
      |                     ^
my.hpp:13:1: note: 'my::e' is registered here as a kernel of 'e'
   13 | KGEN_KERNEL(e) void e(View<const float, 1> x, Stream stream);
      | ^
help: a result is a Sink<T, R>, which takes an epilogue, or a View<T, R> of elements that are not const
my.hpp:14:20: error: 'my::f' returns 'int': a kernel gives its results to parameters
   14 | KGEN_KERNEL(f) int f(View<const float, 1> x, View<float, 1> y, Stream stream);
      |                    ^
my.hpp:14:1: note: 'my::f' is registered here as a kernel of 'f'
   14 | KGEN_KERNEL(f) int f(View<const float, 1> x, View<float, 1> y, Stream stream);
      | ^
my.hpp:15:21: error: the last parameter of 'my::g' is not the kgen::Stream that it runs on
   15 | KGEN_KERNEL(g) void g(View<const float, 1> x, View<float, 1> y);
      |                     ^
my.hpp:15:1: note: 'my::g' is registered here as a kernel of 'g'
   15 | KGEN_KERNEL(g) void g(View<const float, 1> x, View<float, 1> y);
      | ^
my.hpp:16:59: error: 'how' of type 'const char *' is no attribute that an operator could have
   16 | KGEN_KERNEL(h) void h(View<const float, 1> x, const char* how, View<float, 1> y, Stream stream);
      |                                                           ^
my.hpp:16:1: note: 'my::h' is registered here as a kernel of 'h'
   16 | KGEN_KERNEL(h) void h(View<const float, 1> x, const char* how, View<float, 1> y, Stream stream);
      | ^
help: attributes are bool, int, std::int64_t, float, double, kgen::Index<N>, kgen::Numbers<N> or an enumeration
)text");
}

TEST_CASE("introspect, bad: a number for tuning that a call could not give") {
  CHECK_EQ(introspected(R"(
template <Source<2> A, Sink<float, 2> C, int Tile = 4>
KGEN_KERNEL(a) void a(const A& x, const C& c, Stream stream) requires Allowed<Tile, 2, 4>;
)")
               .messages,
           R"text(my.hpp:5:46: error: 'Tile' stands behind types that follow from the arguments
    5 | template <Source<2> A, Sink<float, 2> C, int Tile = 4>
      |                                              ^
my.hpp:6:1: note: 'my::a' is registered here as a kernel of 'a'
    6 | KGEN_KERNEL(a) void a(const A& x, const C& c, Stream stream) requires Allowed<Tile, 2, 4>;
      | ^
help: name the numbers that tuning may turn first, so that a call can give them
)text");
}

TEST_CASE("introspect, bad: what is tuned is no parameter, or is said twice") {
  CHECK_EQ(introspected(R"(
template <int Tile = 4, Source<2> A, Sink<float, 2> C>
KGEN_KERNEL(a) KGEN_TUNED(Title) void a(const A& x, const C& c, Stream stream) requires Allowed<Tile, 2, 4>;
template <int Tile = 4, Source<2> A, Sink<float, 2> C>
KGEN_KERNEL(b) KGEN_TUNED(Tile) KGEN_TUNED(Tile) void b(const A& x, const C& c, Stream stream) requires Allowed<Tile, 2, 4>;
)")
               .messages,
           R"text(my.hpp:6:16: error: 'Title' is no compile-time parameter of 'my::a'
    6 | KGEN_KERNEL(a) KGEN_TUNED(Title) void a(const A& x, const C& c, Stream stream) requires Allowed<Tile...
      |                ^
my.hpp:6:1: note: 'my::a' is registered here as a kernel of 'a'
    6 | KGEN_KERNEL(a) KGEN_TUNED(Title) void a(const A& x, const C& c, Stream stream) requires Allowed<Tile...
      | ^
help: name a number that it is a template of, and that is Allowed some values
my.hpp:8:33: error: 'Tile' has more than one condition
    8 | KGEN_KERNEL(b) KGEN_TUNED(Tile) KGEN_TUNED(Tile) void b(const A& x, const C& c, Stream stream) requi...
      |                                 ^
my.hpp:8:1: note: 'my::b' is registered here as a kernel of 'b'
    8 | KGEN_KERNEL(b) KGEN_TUNED(Tile) KGEN_TUNED(Tile) void b(const A& x, const C& c, Stream stream) requi...
      | ^
help: join the two conditions by ||
)text");
}

TEST_CASE("introspect, bad: what is to say how an operand lies") {
  CHECK_EQ(introspected(R"(
template <int Lies = 0, Source<2> A, Sink<float, 2> C>
KGEN_KERNEL(a) KGEN_LAYOUT(Lies, b) void a(const A& x, const C& c, Stream stream) requires Allowed<Lies, 0, 1, 2>;
template <int Lies = 0, Source<2> A, Sink<float, 2> C>
KGEN_KERNEL(b) KGEN_LAYOUT(Lies, x) void b(const A& x, const C& c, Stream stream) requires Allowed<Lies, 0, 1>;
)")
               .messages,
           R"text(my.hpp:6:16: error: 'b' is no matrix among the operands of 'my::a'
    6 | KGEN_KERNEL(a) KGEN_LAYOUT(Lies, b) void a(const A& x, const C& c, Stream stream) requires Allowed<L...
      |                ^
my.hpp:6:1: note: 'my::a' is registered here as a kernel of 'a'
    6 | KGEN_KERNEL(a) KGEN_LAYOUT(Lies, b) void a(const A& x, const C& c, Stream stream) requires Allowed<L...
      | ^
help: name an operand of two axes or more
my.hpp:8:16: error: 'Lies' cannot say how an operand lies
    8 | KGEN_KERNEL(b) KGEN_LAYOUT(Lies, x) void b(const A& x, const C& c, Stream stream) requires Allowed<L...
      |                ^
my.hpp:8:1: note: 'my::b' is registered here as a kernel of 'b'
    8 | KGEN_KERNEL(b) KGEN_LAYOUT(Lies, x) void b(const A& x, const C& c, Stream stream) requires Allowed<L...
      | ^
help: give it the values 0 (not known, its default), 1 (row-major) and 2 (column-major)
)text");
}

TEST_CASE("introspect, bad: a header, the resource folder or the plugin is missing") {
  const auto messages = [](const std::string& header) {
    Session session;
    const KernelLibrary library = introspect_headers({header}, {}, session);
    CHECK(library.kernels.empty());
    return session.diagnostics.text(false);
  };
  const Folder folder;
  const std::string header = folder.write("kernels.hpp", "#pragma once\n");
  CHECK(messages(header) == "");
  std::string missing = messages((folder.path / "kernel.hpp").string());
  replace_all(missing, folder.path.string() + "/", "");
  CHECK_EQ(missing, "error: cannot read 'kernel.hpp': there is no such file\nnote: near it there: 'kernels.hpp'\n");

  setenv("KGEN_CLANG_RESOURCES", "/nowhere", 1);
  CHECK_EQ(messages(header), R"text(error: cannot read C++: there is no resource folder of Clang 19
note: its include/stddef.h was looked for in '/nowhere'
help: install libclang-common-19-dev, or let KGEN_CLANG_RESOURCES name what `clang-19 -print-resource-dir` prints
)text");
  unsetenv("KGEN_CLANG_RESOURCES");

  setenv("KGEN_CLANG", "/nowhere/kgen_clang.so", 1);
  CHECK_EQ(messages(header), R"text(error: kgen's Clang plugin is needed to read kernels from their headers
note: there is none at '/nowhere/kgen_clang.so'
help: build kgen with -DKGEN_WITH_CLANG=ON, or let KGEN_CLANG name the plugin, kgen_clang.so
)text");
  setenv("KGEN_CLANG", header.c_str(), 1);
  CHECK(messages(header).find("file too short") != std::string::npos);
  unsetenv("KGEN_CLANG");
}

TEST_CASE("introspect, bad: several of an operand") {
  CHECK_EQ(introspected(R"(
template <SeveralSources<2, 4> A, SeveralMemory<2, 4> B, SeveralSinks<float, several_count<B>, 2> C>
KGEN_KERNEL(e) void e(const A& a, const B& b, const C& c, Stream stream);
template <Source<2> A, SeveralSources<2, 4> B, Sink<float, 2> C>
KGEN_KERNEL(f) void f(const A& a, const B& b, const C& c, Stream stream);
template <Source<2> A, SeveralSinks<float, 1, 2> C>
KGEN_KERNEL(g) void g(const A& a, const C& c, Stream stream);
template <Source<2> A, SeveralSources<2, 40> B, SeveralSinks<float, several_count<B>, 2> C>
KGEN_KERNEL(h) void h(const A& a, const B& b, const C& c, Stream stream);
)")
               .messages,
           R"text(my.hpp:6:44: error: 'b' may be given several times, and 'a' too
    6 | KGEN_KERNEL(e) void e(const A& a, const B& b, const C& c, Stream stream);
      |                                            ^
my.hpp:6:1: note: 'my::e' is registered here as a kernel of 'e'
    6 | KGEN_KERNEL(e) void e(const A& a, const B& b, const C& c, Stream stream);
      | ^
help: a call takes several of one operand, and one of each other
my.hpp:8:56: error: 'c' is one sink, but each of several 'b' has its own results
    8 | KGEN_KERNEL(f) void f(const A& a, const B& b, const C& c, Stream stream);
      |                                                        ^
my.hpp:8:1: note: 'my::f' is registered here as a kernel of 'f'
    8 | KGEN_KERNEL(f) void f(const A& a, const B& b, const C& c, Stream stream);
      | ^
help: constrain it: SeveralSinks<T, several_count<B>, R>, where B is the type of that operand
my.hpp:10:44: error: 'c' takes the results of several, but no operand may be given several times
   10 | KGEN_KERNEL(g) void g(const A& a, const C& c, Stream stream);
      |                                            ^
my.hpp:10:1: note: 'my::g' is registered here as a kernel of 'g'
   10 | KGEN_KERNEL(g) void g(const A& a, const C& c, Stream stream);
      | ^
help: constrain the operand: SeveralSources<R, Most>; or the result: Sink<T, R>
my.hpp:12:44: error: how many 'b' a call may take is no number from 1 to 16
   12 | KGEN_KERNEL(h) void h(const A& a, const B& b, const C& c, Stream stream);
      |                                            ^
my.hpp:12:1: note: 'my::h' is registered here as a kernel of 'h'
   12 | KGEN_KERNEL(h) void h(const A& a, const B& b, const C& c, Stream stream);
      | ^
help: write it as: SeveralSources<R, 4>
)text");
}

}  // namespace kgen::test

// The copies of stubs that check mode looks into: what is handed out, and that everything else stays as it is.
#include "generator/emit/observe.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using kgen::observed_source;

namespace {

// A stub whose functor has `members`, as observed, without the first lines.
std::string observed_functor(const std::string& members) {
  const std::string head = "namespace g {\nstruct stub_y {\n";
  const std::string text = observed_source(head + members + "};\n}\n", "stub_y.cpp");
  const std::string start = "namespace g::observed {\nstruct stub_y {\n";
  const std::size_t begin = text.find(start);
  REQUIRE(begin != text.npos);
  const std::size_t end = text.rfind("};\n}\n");
  REQUIRE(end != text.npos);
  return text.substr(begin + start.size(), end - begin - start.size());
}

const std::string lanes_head = "  template <int W>\n  KGEN_FN void operator()(kgen::Index<2> at) const {\n";

std::string observed_lanes(const std::string& body) {
  const std::string text = observed_functor(lanes_head + body + "  }\n");
  REQUIRE(text.starts_with(lanes_head));
  return text.substr(lanes_head.size(), text.size() - lanes_head.size() - 4);
}

}  // namespace

TEST_CASE("observe: each value that is named is handed out, on its own line") {
  CHECK(
      observed_lanes("    const auto sum = kgen::Add::apply(x.load<W>(at), 0.5f);  // :9\n"
                     "    y.store(at, kgen::Relu::apply(sum));\n") ==
      "    const auto sum = kgen::Add::apply(x.load<W>(at), 0.5f); kgen::observe<W>(at, \"stub_y.sum\", sum);  // :9\n"
      "    y.store(at, kgen::Relu::apply(sum));\n");
}

TEST_CASE("observe: an epilogue hands out what it receives, a prologue what it returns") {
  CHECK(observed_functor("  template <int W>\n"
                         "  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> C) const {\n"
                         "    y.store(at, C);\n"
                         "  }\n") ==
        "  template <int W>\n"
        "  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> C) const { kgen::observe<W>(at, "
        "\"stub_y.C\", C);\n"
        "    y.store(at, C);\n"
        "  }\n");
  CHECK(observed_functor("  KGEN_FN kgen::Index<2> shape() const { return x.shape(); }\n"
                         "  template <int W>\n"
                         "  KGEN_FN auto load(kgen::Index<2> at) const {\n"
                         "    return kgen::Relu::apply(x.load<W>(at));  // :9\n"
                         "  }\n") ==
        "  KGEN_FN kgen::Index<2> shape() const { return x.shape(); }\n"
        "  template <int W>\n"
        "  KGEN_FN auto load(kgen::Index<2> at) const {\n"
        "    return kgen::observed<W>(at, \"stub_y.return\", kgen::Relu::apply(x.load<W>(at)));  // :9\n"
        "  }\n");
}

TEST_CASE("observe: row programs") {
  const std::string head = "  template <class Row>\n  KGEN_FN void operator()(Row& row) const {\n";
  CHECK(observed_functor(head + "    const auto e = row.keep(row.map(kgen::Exp{}, row.load(x)));\n"
                                "    const auto [m, t] = row.reduce(kgen::SoftmaxStatistics{}, e);\n"
                                "    row.store(y, e);\n"
                                "  }\n") ==
        head +
            "    const auto e = row.keep(row.map(kgen::Exp{}, row.load(x))); kgen::observe(row, \"stub_y.e\", e);\n"
            "    const auto [m, t] = row.reduce(kgen::SoftmaxStatistics{}, e); kgen::observe(row, \"stub_y.m\", m);"
            " kgen::observe(row, \"stub_y.t\", t);\n"
            "    row.store(y, e);\n"
            "  }\n");
}

TEST_CASE("observe: what a person writes") {
  SUBCASE("over several lines, with another type") {
    CHECK(observed_lanes("    kgen::Vec<float, W> sum =\n        x.load<W>(at) +\n        kgen::Vec<float, W>(1);\n") ==
          "    kgen::Vec<float, W> sum =\n        x.load<W>(at) +\n        kgen::Vec<float, W>(1);"
          " kgen::observe<W>(at, \"stub_y.sum\", sum);\n");
  }
  SUBCASE("assignments hand out the new value") {
    CHECK(observed_lanes("    sum = sum * sum;\n    sum += sum;\n") ==
          "    sum = sum * sum; kgen::observe<W>(at, \"stub_y.sum\", sum);\n"
          "    sum += sum; kgen::observe<W>(at, \"stub_y.sum\", sum);\n");
  }
  SUBCASE("a lambda is one value") {
    CHECK(observed_lanes("    const auto twice = [&](auto v) { const auto t = v; return t + t; };\n") ==
          "    const auto twice = [&](auto v) { const auto t = v; return t + t; };"
          " kgen::observe<W>(at, \"stub_y.twice\", twice);\n");
  }
  SUBCASE("blocks, members, elements, names of types and comparisons are left alone") {
    const std::string body =
        "    for (int i = 0; i < W; ++i) { a[i] = 1; }\n"
        "    if (a == b) { sum = b; }\n"
        "    a.b = c;\n"
        "    a[1] = c;\n"
        "    using T = float;\n"
        "    // const auto sum = 1;\n"
        "    log(\"const auto sum = 1;\", ';', R\"(a = \"1\";)\");\n"
        "    ;\n";
    CHECK(observed_lanes(body) == body);
  }
  SUBCASE("functions that are called with something else") {
    const std::string text = "  int helper(int n) const {\n    const int m = n;\n    return m;\n  }\n";
    CHECK(observed_functor(text) == text);
    const std::string renamed =
        "  template <int N>\n  KGEN_FN void operator()(kgen::Index<2> i) const {\n    const auto a = 1;\n  }\n";
    CHECK(observed_functor(renamed) == renamed);
  }
}

TEST_CASE("observe: lines keep their numbers, under the stub's own path") {
  const std::string source =
      "// a comment with a { in it\n#include <limits>\n#define OPEN {\nnamespace g {\nstruct S { int n = 1'000; "
      "};\nvoid stub_y();\n}  // namespace g\n";
  const std::string expected =
      "#include \"kgen/observe.hpp\"\n#line 1 \"a \\\"b\\\"/stub_y.cpp\"\n"
      "// a comment with a { in it\n#include <limits>\n#define OPEN {\nnamespace g::observed {\nstruct S { int n = "
      "1'000; };\nvoid stub_y();\n}  // namespace g\n";
  CHECK(observed_source(source, "a \"b\"/stub_y.cpp") == expected);
}

TEST_CASE("observe: any text will do, and keeps all that it holds") {
  const std::string whole =
      "namespace g {\nstruct s {\n" + lanes_head + "    const auto a = f(\"x\", 'y', R\"z(})z\", {1});\n  }\n};\n}\n";
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const std::string source = whole.substr(0, length);
    const std::string text = observed_source(source, "s.cpp");
    // Nothing is lost: the source is what is left when some of the text is left out.
    std::size_t found = 0;
    for (const char c : text) found += found < source.size() && c == source[found] ? 1 : 0;
    CHECK(found == source.size());
  }
  for (const char* odd : {"}", ")({", "namespace", "struct a {", "struct a {};", "\"", "'\\", "/*", "R\"(", "R\"",
                          "= ;", "namespace g {}}"}) {
    CHECK(observed_source(odd, "s.cpp").find(std::string(odd).substr(0, 1)) != std::string::npos);
  }
}

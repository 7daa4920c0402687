// Random graphs give the same results before and after simplify, by an interpreter that knows nothing of it.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>

#include "generator/spec/expression.hpp"
#include "tests/unit/rewrite_fixture.hpp"

namespace kgen {
namespace {

// ---- the interpreter ------------------------------------------------------------------------------------------------

using Extents = std::vector<std::int64_t>;

struct Tensor {
  Extents extents;
  std::vector<double> elements;  // row-major

  explicit Tensor(Extents shape) : extents(std::move(shape)) {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    elements.resize(static_cast<std::size_t>(count));
  }
  // The element at the last axes of `at`; axes of extent 1 repeat.
  double& at(const Extents& at) {
    const std::size_t lead = at.size() - extents.size();
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < extents.size(); ++i) flat = flat * extents[i] + (extents[i] == 1 ? 0 : at[lead + i]);
    return elements[static_cast<std::size_t>(flat)];
  }
  // Calls `visit` with every position.
  template <class Visit>
  void each(Visit visit) {
    Extents at(extents.size(), 0);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      visit(at);
      for (std::size_t axis = extents.size(); axis-- > 0;) {
        if (++at[axis] < extents[axis]) break;
        at[axis] = 0;
      }
    }
  }
};

class Interpreter {
 public:
  Interpreter(const Graph& graph, const DimBindings& dims)
      : graph_(graph), dims_(dims), tensors_(graph.values.size(), Tensor({})) {
    std::mt19937 random(7);
    const std::vector<double> special = {0.0, -0.0, std::nan(""), std::numeric_limits<double>::infinity(), -1e300};
    for (const GraphInput& input : graph.inputs) {
      Tensor tensor(extents_of(graph.type(input.value)));
      for (double& element : tensor.elements) {
        element =
            random() % 8 == 0 ? special[random() % special.size()] : static_cast<double>(random() % 4001) / 100 - 20;
      }
      tensors_[input.value] = tensor;
    }
    for (const ConstantData& constant : graph.constants) {
      Tensor tensor(extents_of(graph.type(constant.value)));
      for (std::size_t i = 0; i < tensor.elements.size(); ++i) {
        tensor.elements[i] = constant.values[constant.values.size() == 1 ? 0 : i].real();
      }
      tensors_[constant.value] = tensor;
    }
    for (const Node& node : graph.nodes) run(node);
  }

  const Tensor& tensor(ValueId id) const { return tensors_[id]; }

 private:
  Extents extents_of(const TensorType& type) const {
    Extents extents;
    for (const Dim& extent : type.shape) extents.push_back(extent.evaluate(dims_));
    return extents;
  }

  void run(const Node& node) {
    Tensor result(extents_of(graph_.type(node.outputs[0])));
    if (std::holds_alternative<Elementwise>(node.kind)) {
      run_elementwise(node, result);
    } else if (const auto* reduction = std::get_if<Reduction>(&node.kind)) {
      run_reduction(node, *reduction, result);
    } else {
      run_view(node, std::get<IndexMap>(node.kind), result);
    }
    if (graph_.type(node.outputs[0]).dtype == DType::f32) {
      for (double& element : result.elements) element = static_cast<double>(static_cast<float>(element));
    }
    tensors_[node.outputs[0]] = result;
  }

  void run_elementwise(const Node& node, Tensor& result) {
    REQUIRE_FALSE(node.op->definition.empty());
    result.each([&](const Extents& at) {
      result.at(at) = evaluate(node.op->definition, [&](std::string_view name) {
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
          if (node.op->operands[i].name == name) return tensors_[node.inputs[i]].at(at);
        }
        return std::get<Number>(*find_attribute(node.attributes, name)).real();
      });
    });
  }

  // The sum, for every reduction: which one it is does not matter here.
  void run_reduction(const Node& node, const Reduction& reduction, Tensor& result) {
    Tensor& operand = tensors_[node.inputs[0]];
    operand.each([&](const Extents& at) {
      Extents kept;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const bool reduced = std::count(reduction.axes.begin(), reduction.axes.end(), static_cast<int>(i)) > 0;
        if (!reduced || reduction.keepdims) kept.push_back(reduced ? 0 : at[i]);
      }
      result.at(kept) += operand.at(at);
    });
  }

  void run_view(const Node& node, const IndexMap& view, Tensor& result) {
    using Form = ViewRule::Form;
    Tensor& operand = tensors_[node.inputs[0]];
    const auto axis = static_cast<std::size_t>(view.axis);
    if (view.form == Form::reshape) {
      result.elements = operand.elements;
      return;
    }
    if (view.form == Form::concat || view.form == Form::update) {
      std::int64_t begin = view.form == Form::update ? view.begin.evaluate(dims_) : 0;
      if (view.form == Form::update) result.elements = operand.elements;
      for (std::size_t part = view.form == Form::update ? 1 : 0; part < node.inputs.size(); ++part) {
        Tensor& tensor = tensors_[node.inputs[part]];
        tensor.each([&](Extents at) {
          const double element = tensor.at(at);
          at[axis] += begin;
          result.at(at) = element;
        });
        begin += tensor.extents[axis];
      }
      return;
    }
    result.each([&](Extents at) {
      const Extents to = at;
      switch (view.form) {
        case Form::permute:
          for (std::size_t i = 0; i < to.size(); ++i) at[static_cast<std::size_t>(view.axes[i])] = to[i];
          break;
        case Form::slice:
          at[axis] = view.begin.evaluate(dims_) + view.step * to[axis];
          break;
        case Form::select:
          at.insert(at.begin() + view.axis, view.begin.evaluate(dims_));
          break;
        case Form::unsqueeze:
          at.erase(at.begin() + view.axis);
          break;
        case Form::squeeze:
          at.insert(at.begin() + view.axis, 0);
          break;
        case Form::flip:
          at[axis] = operand.extents[axis] - 1 - to[axis];
          break;
        default:
          break;
      }
      result.at(to) = operand.at(at);
    });
  }

  const Graph& graph_;
  const DimBindings& dims_;
  std::vector<Tensor> tensors_;
};

// ---- random graphs --------------------------------------------------------------------------------------------------

struct Random {
  std::mt19937 engine;
  std::size_t below(std::size_t end) { return engine() % end; }
  template <class T>
  const T& one_of(const std::vector<T>& from) {
    return from[below(from.size())];
  }
};

// Text of a graph over M, and the shapes of its values so far.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed, bool exact) : random_{std::mt19937(seed)} {
    values_ = {{"x", {Dim::symbol("M"), 4, 6}}, {"z", {Dim::symbol("M"), 4, 6}}, {"b", {6}}, {"c", {4, 1}}, {"s", {}}};
    text_ = "dims: {M: 0..64}\n";
    text_ += exact ? "numerics: match_unfused\n" : "";
    text_ += "inputs:\n";
    for (const auto& [name, shape] : values_) text_ += "  " + name + ": \"f64" + to_text(shape) + "\"\n";
    text_ +=
        "constants:\n  k: {type: \"f64[6]\", values: [0, 1, -2.5, 3, .inf, -0.0]}\n  ones: {type: \"f64[4, 6]\", "
        "values: [";
    for (int i = 0; i < 24; ++i) text_ += i == 0 ? "1" : ", 1";
    text_ += "]}\nnodes:\n";
    values_.push_back({"k", {6}});
    values_.push_back({"ones", {4, 6}});
    const std::size_t count = 4 + random_.below(24);
    for (std::size_t i = 0; i < count; ++i) add_node();
    text_ += "outputs: [" + values_.back().first;
    const std::size_t inputs = 7;
    for (std::size_t i = inputs; i + 1 < values_.size(); ++i) {
      if (random_.below(6) == 0) text_ += ", " + values_[i].first;
    }
    text_ += "]\n";
  }
  const std::string& text() const { return text_; }

 private:
  using Named = std::pair<std::string, Shape>;

  void add(const std::string& op, const std::string& in, Shape shape, const std::string& attributes = "") {
    const std::string name = "v" + std::to_string(next_++);
    text_ += "- {op: " + op + ", in: " + in + ", out: " + name + attributes + "}\n";
    values_.push_back({name, std::move(shape)});
  }

  // Recent values more often, so that chains arise.
  Named pick() {
    const std::size_t recent = std::min<std::size_t>(values_.size(), 4);
    return random_.below(2) ? values_[values_.size() - 1 - random_.below(recent)] : random_.one_of(values_);
  }

  void add_node() {
    switch (random_.below(8)) {
      case 0:
      case 1:
        return add_unary();
      case 2:
      case 3:
      case 4:
        return add_binary();
      case 5:
        return random_.below(4) == 0 ? add_reduction() : add_unary();
      default:
        return add_view();
    }
  }

  void add_unary() {
    const auto [name, shape] = pick();
    switch (random_.below(4)) {
      case 0:
        return add("clamp", name, shape, ", minimum: -2, maximum: " + std::to_string(random_.below(2) + 3));
      case 1: {
        add("cast", name, shape, ", to: f32");
        const std::string narrow = values_.back().first;
        values_.pop_back();
        return add("cast", narrow, shape, ", to: f64");
      }
      default:
        return add(random_.one_of<std::string>({"neg", "abs", "relu", "floor", "square"}), name, shape);
    }
  }

  void add_binary() {
    const auto [name, shape] = pick();
    const std::string op = random_.one_of<std::string>({"add", "sub", "mul", "maximum", "div"});
    if (random_.below(3) == 0) {
      const std::string number = random_.one_of<std::string>({"0.0", "1", "-0.0", "2", ".nan"});
      return add(op, random_.below(2) ? "[" + name + ", " + number + "]" : "[" + number + ", " + name + "]", shape);
    }
    const auto [other, other_shape] = pick();
    const auto joined = broadcast(shape, other_shape);
    if (joined) add(op, "[" + name + ", " + other + "]", *joined);
  }

  static std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
    const Shape& longer = a.size() >= b.size() ? a : b;
    const Shape& shorter = a.size() >= b.size() ? b : a;
    Shape result = longer;
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      Dim& extent = result[longer.size() - 1 - i];
      const Dim& other = shorter[shorter.size() - 1 - i];
      if (extent == other || other == Dim(1)) continue;
      if (extent != Dim(1)) return std::nullopt;
      extent = other;
    }
    return result;
  }

  void add_reduction() {
    const auto [name, shape] = pick();
    if (shape.empty()) return;
    const std::size_t axis = random_.below(shape.size());
    Shape result = shape;
    const bool keep = random_.below(2) == 0;
    if (keep) {
      result[axis] = 1;
    } else {
      result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
    }
    add("sum", name, result, ", axes: [" + std::to_string(axis) + "], keepdims: " + (keep ? "true" : "false"));
  }

  void add_view() {
    const auto [name, shape] = pick();
    const std::size_t rank = shape.size();
    if (rank < 4 && random_.below(5) == 0) {
      const std::size_t at = random_.below(rank + 1);
      Shape result = shape;
      result.insert(result.begin() + static_cast<std::ptrdiff_t>(at), Dim(1));
      return add("unsqueeze", name, result, ", axis: " + std::to_string(at));
    }
    if (rank == 0) return;
    const std::size_t axis = random_.below(rank);
    const std::string of_axis = ", axis: " + std::to_string(axis);
    Shape result = shape;
    const auto here = result.begin() + static_cast<std::ptrdiff_t>(axis);
    switch (random_.below(8)) {
      case 0:
        return add("flip", name, shape, of_axis);
      case 1: {
        result.insert(result.begin(), Dim(2));
        return add("broadcast_to", name, result, ", shape: " + to_text(result));
      }
      case 2:
        if (rank > 3) return;
        *here = shape[axis] + shape[axis];
        return add("concat", "[" + name + ", " + name + "]", result, of_axis);
      case 3: {
        Dim flat = 1;
        for (const Dim& extent : shape) flat = flat * extent;
        return add("reshape", name, {flat}, ", shape: [" + flat.text() + "]");
      }
      case 4:
        if (shape[axis] == Dim(1)) {
          result.erase(here);
          return add("squeeze", name, result, of_axis);
        }
        if (!shape[axis].is_constant()) return;
        result.erase(here);
        return add("select", name, result, of_axis + ", index: " + std::to_string(shape[axis].constant() - 1));
      case 5: {
        if (!shape[axis].is_constant() || shape[axis].constant() < 3) return add("slice", name, shape, of_axis);
        const std::int64_t step = 1 + static_cast<std::int64_t>(random_.below(2));
        const std::int64_t length = (shape[axis].constant() - 1 + step - 1) / step;
        *here = length;
        return add("slice", name, result, of_axis + ", begin: 1, step: " + std::to_string(step));
      }
      default: {
        std::vector<std::size_t> axes(rank);
        for (std::size_t i = 0; i < rank; ++i) axes[i] = i;
        std::shuffle(axes.begin(), axes.end(), random_.engine);
        for (std::size_t i = 0; i < rank; ++i) result[i] = shape[axes[i]];
        return add("transpose", name, result, fmt::format(", perm: [{}]", fmt::join(axes, ", ")));
      }
    }
  }

  Random random_;
  std::vector<Named> values_;
  std::string text_;
  int next_ = 0;
};

bool same_number(double a, double b, bool exact) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && (!exact || std::signbit(a) == std::signbit(b));
}

// Outputs of both graphs by name, type and elements.
void check_same_results(const Graph& before, const Graph& after, std::int64_t extent, bool exact) {
  const DimBindings dims = {{"M", extent}};
  const Interpreter expected(before, dims);
  const Interpreter actual(after, dims);
  REQUIRE(after.outputs.size() == before.outputs.size());
  for (std::size_t i = 0; i < before.outputs.size(); ++i) {
    const ValueId old_id = before.outputs[i];
    const ValueId new_id = after.outputs[i];
    CHECK(after.value(new_id).name == before.value(old_id).name);
    CHECK(to_text(after.type(new_id)) == to_text(before.type(old_id)));
    const auto& want = expected.tensor(old_id).elements;
    const auto& got = actual.tensor(new_id).elements;
    REQUIRE(got.size() == want.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
      if (same_number(want[k], got[k], exact)) continue;
      FAIL_CHECK(fmt::format("{}[{}] is {}, not {}", before.value(old_id).name, k, got[k], want[k]));
      return;
    }
  }
}

}  // namespace

TEST_CASE("simplify: random graphs keep their results") {
  Rewrites rewrites;
  std::size_t nodes_before = 0;
  std::size_t nodes_after = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    // A 0 that becomes a -0 shows behind a division, so that is looked at with exact numerics only.
    const RandomGraph random(seed, true);
    CAPTURE(seed);
    CAPTURE(random.text());
    const Module before = rewrites.inferred(random.text());
    const Module after = simplify(before, rewrites.ops, rewrites.diagnostics);
    CAPTURE(text_of(after.main, true));
    check_consistent(after.main);
    check_same_results(before.main, after.main, 3, true);
    check_same_results(before.main, after.main, 0, true);
    const Module again = simplify(after, rewrites.ops, rewrites.diagnostics);
    CHECK(text_of(again.main) == text_of(after.main));
    nodes_before += before.main.nodes.size();
    nodes_after += after.main.nodes.size();
  }
  CHECK(nodes_after < nodes_before);
}

}  // namespace kgen

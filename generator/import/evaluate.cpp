#include "generator/import/evaluate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "generator/import/dim_arithmetic.hpp"
#include "generator/import/evaluate_data.hpp"
#include "generator/spec/scalar_value.hpp"

namespace kgen {
namespace {

using Operation = Expression::Operation;
using Result = std::optional<std::vector<Content>>;

// A node to evaluate.
struct Job {
  std::span<const ImportedValue* const> inputs;
  const RuleBindings& attributes;
  std::size_t outputs;
  const DimRanges& ranges;

  const Content* content(std::size_t i) const {
    return i < inputs.size() && inputs[i] ? inputs[i]->content.get() : nullptr;
  }
  std::optional<std::int64_t> integer(std::string_view name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? std::nullopt : found->second.as_integer();
  }
  bool has(std::string_view name) const { return attributes.contains(name); }
  // A list of whole numbers that is an input, or in older versions an attribute.
  std::optional<std::vector<std::int64_t>> integers(std::size_t input, std::string_view name) const {
    RuleValue value;
    if (const Content* given = content(input)) {
      value = value_of(*given);
    } else if (const auto found = attributes.find(name); found != attributes.end()) {
      value = found->second;
    }
    if (const auto one = value.as_integer()) return std::vector{*one};
    if (!value.as_list()) return std::nullopt;
    std::vector<std::int64_t> numbers;
    for (const RuleValue& each : *value.as_list()) {
      if (!each.as_integer()) return std::nullopt;
      numbers.push_back(*each.as_integer());
    }
    return numbers;
  }
};

Result one(std::optional<Content> content) {
  if (!content) return std::nullopt;
  return std::vector<Content>{std::move(*content)};
}

Content line_of(const Shape& shape, DType dtype = DType::i64) {
  Content content{dtype, {static_cast<std::int64_t>(shape.size())}, {}};
  for (const Dim& extent : shape) content.elements.emplace_back(extent);
  return content;
}

// ---- elements
// --------------------------------------------------------------------------------------------------------

bool is_symbolic(const ContentElement& element) {
  const Dim* dim = std::get_if<Dim>(&element);
  return dim && !dim->is_constant();
}

// As the dtype holds it; nothing where it does not. A size is kept as a float where the dtype holds all that it may
// be.
std::optional<ContentElement> stored(ContentElement element, DType dtype, const DimRanges& ranges) {
  if (dtype == DType::boolean || !info(dtype).floating) {
    const Dim* dim = std::get_if<Dim>(&element);
    if (!dim) return std::nullopt;
    if (dim->is_constant() && !integer_holds(dtype, Number(dim->constant()))) return std::nullopt;
    return element;
  }
  if (is_symbolic(element)) {
    const std::int64_t most = std::int64_t{1} << (dtype == DType::f64 ? 53 : dtype == DType::f32 ? 24 : 0);
    const DimRange range = std::get<Dim>(element).range(ranges);
    return range.low >= -most && range.high <= most ? std::optional(element) : std::nullopt;
  }
  const auto number = number_of(element);
  const auto rounded = number ? round_to_dtype(number->real(), dtype) : std::nullopt;
  return rounded ? std::optional<ContentElement>(*rounded) : std::nullopt;
}

// Beside a size, floats that are whole numbers are such. False: another float is among them.
bool make_whole(std::vector<ContentElement>& elements) {
  if (std::none_of(elements.begin(), elements.end(), is_symbolic)) return true;
  for (ContentElement& each : elements) {
    const double* real = std::get_if<double>(&each);
    if (!real) continue;
    if (!(std::abs(*real) < 0x1p53) || *real != std::trunc(*real)) return false;
    each = Dim(static_cast<std::int64_t>(*real));
  }
  return true;
}

using ElementFunction = std::function<std::optional<ContentElement>(std::span<const ContentElement>)>;

Result elementwise(const Job& job, std::optional<DType> result, const ElementFunction& function) {
  std::vector<const Content*> operands;
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    if (!job.content(i)) return std::nullopt;
    operands.push_back(job.content(i));
    auto common = broadcast(shape, operands.back()->shape);
    if (!common) return std::nullopt;
    shape = std::move(*common);
  }
  const std::int64_t count = element_count(shape);
  if (operands.empty() || count < 0 || count > most_content) return std::nullopt;
  Content content{result.value_or(operands.back()->dtype), shape, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<ContentElement> elements;
    for (const Content* each : operands) elements.push_back(each->elements[broadcast_index(i, shape, each->shape)]);
    if (!make_whole(elements)) return std::nullopt;
    auto element = function(elements);
    if (element) element = stored(std::move(*element), content.dtype, job.ranges);
    if (!element) return std::nullopt;
    content.elements.push_back(std::move(*element));
  }
  return one(std::move(content));
}

// The operation, from the left where there are more than two.
Result folded(const Job& job, Operation operation, std::optional<DType> result = {}) {
  return elementwise(job, result, [&](std::span<const ContentElement> x) -> std::optional<ContentElement> {
    if (x.size() == 1 && (operation == Operation::min || operation == Operation::max)) return x[0];
    if (x.size() == 1) return apply(operation, x, job.ranges);
    std::optional<ContentElement> left = x[0];
    for (std::size_t i = 1; left && i < x.size(); ++i) left = apply(operation, std::array{*left, x[i]}, job.ranges);
    return left;
  });
}

template <Operation operation>
Result arithmetic(const Job& job) { return folded(job, operation); }
template <Operation operation>
Result comparison(const Job& job) { return folded(job, operation, DType::boolean); }

// Of whole numbers C's division, which rounds towards zero. Of sizes that are floats one that comes out even.
Result divide(const Job& job) {
  if (job.inputs.size() != 2) return std::nullopt;
  const bool is_real = job.content(0) && info(job.content(0)->dtype).floating;
  return elementwise(job, {}, [&](std::span<const ContentElement> x) -> std::optional<ContentElement> {
    const auto a = dim_of(x[0]), b = dim_of(x[1]);
    if (a && b && a->is_constant() && b->is_constant()) {
      if (b->constant() == 0 || (b->constant() == -1 && a->constant() < -most_content)) return std::nullopt;
      return ContentElement(Dim(a->constant() / b->constant()));
    }
    if (a && a->range(job.ranges).low < 0) return std::nullopt;
    auto quotient = apply(Operation::divide, x, job.ranges);
    const auto rounded = is_real && quotient && a && b ? dim_of(*quotient) : std::nullopt;
    if (rounded && *rounded * *b != *a) return std::nullopt;
    return quotient;
  });
}

Result relu(const Job& job) {
  return elementwise(job, {}, [&](std::span<const ContentElement> x) {
    return apply(Operation::max, std::array{x[0], ContentElement(Dim(0))}, job.ranges);
  });
}

// Limits are inputs, or in older versions attributes.
Result clip(const Job& job) {
  if (job.inputs.empty() || !job.content(0)) return std::nullopt;
  std::optional<ContentElement> limits[2];
  for (std::size_t i = 0; i < 2; ++i) {
    if (i + 1 < job.inputs.size() && job.inputs[i + 1]) {
      const Content* given = job.content(i + 1);
      if (!given || given->elements.size() != 1) return std::nullopt;
      limits[i] = given->elements[0];
    } else if (const auto found = job.attributes.find(i == 0 ? "min" : "max"); found != job.attributes.end()) {
      limits[i] = found->second.as_element();
    }
  }
  Job first = job;
  first.inputs = job.inputs.first(1);
  return elementwise(first, {}, [&](std::span<const ContentElement> x) {
    std::optional<ContentElement> kept = x[0];
    if (limits[0]) kept = apply(Operation::max, std::array{*kept, *limits[0]}, job.ranges);
    if (kept && limits[1]) kept = apply(Operation::min, std::array{*kept, *limits[1]}, job.ranges);
    return kept;
  });
}

Result modulo(const Job& job) {
  if (job.inputs.size() != 2 || job.integer("fmod").value_or(0) != 0) return std::nullopt;
  return elementwise(job, {}, [&](std::span<const ContentElement> x) -> std::optional<ContentElement> {
    const auto quotient = apply(Operation::divide, x, job.ranges);
    const auto whole = quotient ? apply(Operation::multiply, std::array{*quotient, x[1]}, job.ranges) : std::nullopt;
    if (!whole || !dim_of(*whole)) return std::nullopt;
    return apply(Operation::subtract, std::array{x[0], *whole}, job.ranges);
  });
}

Result select(const Job& job) {
  const Content* first = job.content(1);
  if (!first || job.inputs.size() != 3) return std::nullopt;
  return elementwise(job, first->dtype,
                     [&](std::span<const ContentElement> x) { return apply(Operation::choose, x, job.ranges); });
}

Result cast_to(const Job& job, DType dtype) {
  Job first = job;
  first.inputs = job.inputs.first(std::min<std::size_t>(job.inputs.size(), 1));
  return elementwise(first, dtype, [&](std::span<const ContentElement> x) -> std::optional<ContentElement> {
    if (dtype == DType::boolean) {
      const auto truth = truth_of(x[0], job.ranges);
      return truth ? std::optional<ContentElement>(Dim(*truth)) : std::nullopt;
    }
    if (info(dtype).floating) {
      if (is_symbolic(x[0])) return x[0];
      const auto number = number_of(x[0]);
      return number ? std::optional<ContentElement>(number->real()) : std::nullopt;
    }
    if (dim_of(x[0])) return x[0];
    const double real = std::get<double>(x[0]);
    if (!(std::abs(real) < 0x1p53)) return std::nullopt;
    return ContentElement(Dim(static_cast<std::int64_t>(std::trunc(real))));
  });
}

Result cast(const Job& job) {
  const auto to = job.integer("to");
  const auto dtype = to ? dtype_of_onnx(static_cast<std::int32_t>(*to)) : std::nullopt;
  return dtype ? cast_to(job, *dtype) : std::nullopt;
}

Result cast_like(const Job& job) {
  return job.inputs.size() == 2 && job.inputs[1] ? cast_to(job, job.inputs[1]->type.dtype) : std::nullopt;
}

// ---- shapes
// ----------------------------------------------------------------------------------------------------------

Result shape_of(const Job& job) {
  if (job.inputs.size() != 1 || !job.inputs[0] || job.inputs[0]->counted) return std::nullopt;
  const Shape& shape = job.inputs[0]->type.shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto place = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t begin = place(job.integer("start").value_or(0)), end = place(job.integer("end").value_or(rank));
  return one(line_of(begin < end ? Shape(shape.begin() + begin, shape.begin() + end) : Shape{}));
}

Result size_of(const Job& job) {
  if (job.inputs.size() != 1 || !job.inputs[0] || job.inputs[0]->counted) return std::nullopt;
  if (has_too_many_products(job.inputs[0]->type.shape)) return std::nullopt;
  return one(Content{DType::i64, {}, {element_count(job.inputs[0]->type.shape)}});
}

Result identity(const Job& job) {
  return job.content(0) ? one(*job.content(0)) : std::nullopt;
}

Result constant_of_shape(const Job& job) {
  const auto extents = job.integers(0, "");
  const auto value = job.attributes.find("value");
  const Content* element =
      value != job.attributes.end() && value->second.as_operand() ? value->second.as_operand()->content.get() : nullptr;
  if (!extents || (value != job.attributes.end() && (!element || element->elements.size() != 1))) return std::nullopt;
  const std::int64_t count = element_count(*extents);
  if (count < 0 || count > 256) return std::nullopt;  // larger ones are broadcast at run time
  const ContentElement fill = element ? element->elements[0] : ContentElement(0.0);
  return one(Content{element ? element->dtype : DType::f32, *extents,
                     std::vector<ContentElement>(static_cast<std::size_t>(count), fill)});
}

Result range(const Job& job) {
  const Content *start = job.content(0), *limit = job.content(1), *delta = job.content(2);
  if (!start || !limit || !delta || start->elements.size() != 1 || limit->elements.size() != 1 ||
      delta->elements.size() != 1)
    return std::nullopt;
  const auto a = number_of(start->elements[0]), b = number_of(limit->elements[0]), d = number_of(delta->elements[0]);
  if (!a || !b || !d || d->real() == 0) return std::nullopt;
  const double count = std::max(0.0, std::ceil((b->real() - a->real()) / d->real()));
  if (!(count <= static_cast<double>(most_content))) return std::nullopt;
  Content content{start->dtype, {static_cast<std::int64_t>(count)}, {}};
  const bool floating = info(start->dtype).floating;
  for (std::int64_t i = 0; i < content.shape[0]; ++i) {
    const double value = a->real() + static_cast<double>(i) * d->real();
    auto element = stored(floating ? ContentElement(value) : ContentElement(Dim(static_cast<std::int64_t>(value))),
                          start->dtype, job.ranges);
    if (!element) return std::nullopt;
    content.elements.push_back(std::move(*element));
  }
  return one(std::move(content));
}

// ---- data
// ------------------------------------------------------------------------------------------------------------

Result concatenate(const Job& job) {
  std::vector<const Content*> parts;
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    if (!job.content(i)) return std::nullopt;
    parts.push_back(job.content(i));
  }
  return one(concat_contents(parts, job.integer("axis").value_or(0)));
}

Result gather(const Job& job) {
  const Content *data = job.content(0), *indices = job.content(1);
  if (!data || !indices) return std::nullopt;
  return one(gather_content(*data, *indices, job.integer("axis").value_or(0)));
}

Result reshape(const Job& job) {
  const Content *data = job.content(0), *shape = job.content(1);
  if (!data || !shape) return std::nullopt;
  const auto extents = job.integers(1, "shape");
  return extents ? one(reshape_content(*data, *extents, job.integer("allowzero").value_or(0) != 0)) : std::nullopt;
}

Result squeeze(const Job& job) {
  const Content* data = job.content(0);
  if (!data || (job.inputs.size() > 1 && job.inputs[1] && !job.content(1))) return std::nullopt;
  const auto axes = job.integers(1, "axes");
  return one(axes ? squeeze_content(*data, *axes) : squeeze_content(*data));
}

Result unsqueeze(const Job& job) {
  const Content* data = job.content(0);
  const auto axes = job.integers(1, "axes");
  return data && axes ? one(unsqueeze_content(*data, *axes)) : std::nullopt;
}

Result transpose(const Job& job) {
  const Content* data = job.content(0);
  if (!data) return std::nullopt;
  auto order = job.integers(job.inputs.size(), "perm");
  if (!order) {
    order.emplace();
    for (auto axis = static_cast<std::int64_t>(data->shape.size()); axis-- > 0;) order->push_back(axis);
  }
  return one(transpose_content(*data, *order));
}

Result expand(const Job& job) {
  const Content* data = job.content(0);
  const auto extents = job.integers(1, "");
  return data && extents ? one(expand_content(*data, *extents)) : std::nullopt;
}

Result slice(const Job& job) {
  const Content* data = job.content(0);
  const auto starts = job.integers(1, "starts"), ends = job.integers(2, "ends");
  if (!data || !starts || !ends || starts->size() != ends->size()) return std::nullopt;
  for (std::size_t i = 3; i < job.inputs.size(); ++i) {
    if (job.inputs[i] && !job.content(i)) return std::nullopt;
  }
  auto axes = job.integers(3, "axes");
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  const auto steps = job.integers(4, "").value_or(std::vector<std::int64_t>(starts->size(), 1));
  if (axes->size() != starts->size() || steps.size() != starts->size()) return std::nullopt;
  std::optional<Content> result = *data;
  for (std::size_t i = 0; result && i < axes->size(); ++i) {
    result = slice_content(*result, (*axes)[i], (*starts)[i], (*ends)[i], steps[i]);
  }
  return one(std::move(result));
}

// Into the lengths that are given, or else as equal as can be, the last the shortest.
Result split(const Job& job) {
  const Content* data = job.content(0);
  if (!data || data->shape.empty() || job.outputs == 0 || (job.inputs.size() > 1 && job.inputs[1] && !job.content(1)))
    return std::nullopt;
  const auto rank = static_cast<std::int64_t>(data->shape.size()), given = job.integer("axis").value_or(0);
  const std::int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) return std::nullopt;
  const std::int64_t extent = data->shape[static_cast<std::size_t>(axis)],
                     count = static_cast<std::int64_t>(job.outputs);
  const auto lengths =
      job.integers(1, "split").value_or(std::vector<std::int64_t>(job.outputs, (extent + count - 1) / count));
  if (lengths.size() != job.outputs) return std::nullopt;
  std::vector<Content> parts;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    auto part = slice_content(*data, axis, begin, std::min(begin + length, extent), 1);
    if (!part || length < 0) return std::nullopt;
    parts.push_back(std::move(*part));
    begin += length;
  }
  return begin < extent ? std::nullopt : Result(std::move(parts));
}

// Over all elements of a line or a scalar.
template <Operation operation>
Result reduce(const Job& job) {
  const Content* data = job.content(0);
  if (!data || data->shape.size() > 1 || data->elements.empty()) return std::nullopt;
  std::optional<ContentElement> result = data->elements[0];
  for (std::size_t i = 1; result && i < data->elements.size(); ++i) {
    result = apply(operation, std::array{*result, data->elements[i]}, job.ranges);
  }
  if (result) result = stored(std::move(*result), data->dtype, job.ranges);
  if (!result) return std::nullopt;
  const bool keeps = job.integer("keepdims").value_or(1) != 0 && data->shape.size() == 1;
  return one(Content{data->dtype, std::vector<std::int64_t>(keeps ? 1 : 0, 1), {std::move(*result)}});
}

// The positions of what is not zero, one column for each. https://onnx.ai/onnx/operators/onnx__NonZero.html
Result nonzero(const Job& job) {
  const Content* data = job.content(0);
  if (!data) return std::nullopt;
  const std::size_t rank = data->shape.size();
  std::vector<std::vector<ContentElement>> lines(rank);
  std::int64_t found = 0;
  for (std::size_t i = 0; i < data->elements.size(); ++i) {
    const auto number = number_of(data->elements[i]);
    if (!number) return std::nullopt;
    if (number->real() == 0) continue;
    ++found;
    auto place = static_cast<std::int64_t>(i);
    for (std::size_t axis = rank; axis-- > 0; place /= data->shape[axis]) {
      lines[axis].emplace_back(Dim(place % data->shape[axis]));
    }
  }
  Content content{DType::i64, {static_cast<std::int64_t>(rank), found}, {}};
  for (auto& line : lines) content.elements.insert(content.elements.end(), line.begin(), line.end());
  return one(std::move(content));
}

using Evaluator = Result (*)(const Job& job);
const std::map<std::string, Evaluator, std::less<>> evaluators = {
    {"Abs", arithmetic<Operation::abs>},
    {"Add", arithmetic<Operation::add>},
    {"And", comparison<Operation::logical_and>},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Ceil", arithmetic<Operation::ceil>},
    {"Clip", clip},
    {"Concat", concatenate},
    {"ConstantOfShape", constant_of_shape},
    {"Div", divide},
    {"Equal", comparison<Operation::equal>},
    {"Expand", expand},
    {"Floor", arithmetic<Operation::floor>},
    {"Gather", gather},
    {"Greater", comparison<Operation::greater>},
    {"GreaterOrEqual", comparison<Operation::greater_equal>},
    {"Identity", identity},
    {"Less", comparison<Operation::less>},
    {"LessOrEqual", comparison<Operation::less_equal>},
    {"Max", arithmetic<Operation::max>},
    {"Min", arithmetic<Operation::min>},
    {"Mod", modulo},
    {"Mul", arithmetic<Operation::multiply>},
    {"Neg", arithmetic<Operation::negate>},
    {"NonZero", nonzero},
    {"Not", comparison<Operation::logical_not>},
    {"Or", comparison<Operation::logical_or>},
    {"Pow", arithmetic<Operation::pow>},
    {"Range", range},
    {"ReduceMax", reduce<Operation::max>},
    {"ReduceMin", reduce<Operation::min>},
    {"ReduceProd", reduce<Operation::multiply>},
    {"ReduceSum", reduce<Operation::add>},
    {"Relu", relu},
    {"Reshape", reshape},
    {"Round", arithmetic<Operation::round>},
    {"Shape", shape_of},
    {"Size", size_of},
    {"Slice", slice},
    {"Split", split},
    {"Sqrt", arithmetic<Operation::sqrt>},
    {"Squeeze", squeeze},
    {"Sub", arithmetic<Operation::subtract>},
    {"Sum", arithmetic<Operation::add>},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
    {"Where", select},
};

}  // namespace

std::vector<std::string> evaluated_operators() {
  std::vector<std::string> names;
  for (const auto& [name, evaluator] : evaluators) names.push_back(name);
  return names;
}

Result evaluate_node(std::string_view op, std::span<const ImportedValue* const> inputs, const RuleBindings& attributes,
                     std::size_t outputs, const DimRanges& ranges) {
  const auto found = evaluators.find(op);
  return found == evaluators.end() ? std::nullopt : found->second({inputs, attributes, outputs, ranges});
}

}  // namespace kgen

#include "generator/import/rule_functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "generator/base/ensure.hpp"
#include "generator/import/dim_arithmetic.hpp"

namespace kgen {
namespace {

using Arguments = std::span<const RuleValue>;
using Operation = Expression::Operation;

constexpr std::int64_t most_items = 65536;  // of a list

RuleValue truth(bool holds) { return {Dim(holds)}; }

RuleValue list_of(const Shape& shape) {
  RuleList list;
  for (const Dim& extent : shape) list.push_back({extent});
  return RuleValue::list(std::move(list));
}

const TensorType* type_of(const RuleValue& value) {
  const ImportedValue* operand = value.as_operand();
  return operand ? &operand->type : nullptr;
}

std::optional<DType> dtype_of(const RuleValue& value) {
  if (const TensorType* type = type_of(value)) return type->dtype;
  if (const DType* dtype = std::get_if<DType>(&value.value)) return *dtype;
  if (const auto code = value.as_integer()) return dtype_of_onnx(static_cast<std::int32_t>(*code));
  return std::nullopt;
}

std::size_t rank_of(const RuleValue& value) {
  if (const TensorType* type = type_of(value)) return type->shape.size();
  return value.as_list() ? 1 : 0;
}

// The index of an axis or an item, negative ones counted from the end.
std::optional<std::size_t> place_of(const RuleValue& index, std::size_t count) {
  const auto place = index.as_integer();
  if (!place) return std::nullopt;
  const std::int64_t from_start = *place < 0 ? *place + static_cast<std::int64_t>(count) : *place;
  if (from_start < 0 || from_start >= static_cast<std::int64_t>(count)) return std::nullopt;
  return static_cast<std::size_t>(from_start);
}

RuleValue item(Arguments a, const DimRanges&) {
  const RuleList* list = a[0].as_list();
  const auto place = list ? place_of(a[1], list->size()) : std::nullopt;
  return place ? (*list)[*place] : RuleValue{};
}

RuleValue rank(Arguments a, const DimRanges&) { return {Dim(static_cast<std::int64_t>(rank_of(a[0])))}; }

RuleValue shape(Arguments a, const DimRanges&) { return type_of(a[0]) ? list_of(type_of(a[0])->shape) : RuleValue{}; }

RuleValue extent(Arguments a, const DimRanges&) {
  const TensorType* type = type_of(a[0]);
  const auto place = type ? place_of(a[1], type->shape.size()) : std::nullopt;
  return place ? RuleValue{type->shape[*place]} : RuleValue{};
}

RuleValue elements(Arguments a, const DimRanges&) {
  const TensorType* type = type_of(a[0]);
  return type && !has_too_many_products(type->shape) ? RuleValue{element_count(type->shape)} : RuleValue{};
}

RuleValue dtype(Arguments a, const DimRanges&) {
  const auto found = dtype_of(a[0]);
  return found ? RuleValue{*found} : RuleValue{};
}

// The largest n of which a scale of a symbolic size may be a part.
constexpr int finest_part = 16;

// How many elements an axis has that grows by a scale: rounded down, the product to f32 before.
RuleValue scaled(Arguments a, const DimRanges& ranges) {
  const auto size = a[0].as_dim();
  const auto scale = a[1].as_element() ? number_of(*a[1].as_element()) : std::nullopt;
  if (!size || !scale || !(scale->real() > 0)) return {};
  if (size->is_constant()) {
    const double product = std::floor(static_cast<float>(static_cast<double>(size->constant()) * scale->real()));
    return product < 0x1p53 ? RuleValue{Dim(static_cast<std::int64_t>(product))} : RuleValue{};
  }
  for (int parts = 1; parts <= finest_part; ++parts) {
    const double times = std::round(scale->real() * parts);
    if (times < 1 || times > 65536 || std::abs(times / parts - scale->real()) > 1e-7 * scale->real()) continue;
    const auto product =
        apply(Operation::multiply, std::array<ContentElement, 2>{*size, Dim(static_cast<std::int64_t>(times))}, ranges);
    const auto part =
        product ? apply(Operation::divide, std::array<ContentElement, 2>{*product, Dim(parts)}, ranges) : std::nullopt;
    const Dim* result = part ? std::get_if<Dim>(&*part) : nullptr;
    return result ? RuleValue{*result} : RuleValue{};
  }
  return {};
}

// clamped(size, least, most): where only the run knows on which side the size is, the size itself, which the run
// checks.
RuleValue clamped(Arguments a, const DimRanges& ranges) {
  std::optional<ContentElement> size = a[0].as_element();
  for (const auto& [operation, limit] :
       {std::pair(Operation::less, a[1].as_element()), {Operation::greater, a[2].as_element()}}) {
    if (!size || !limit) return {};
    const auto beyond = apply(operation, std::array{*size, *limit}, ranges);
    if (beyond && truth_of(*beyond, ranges).value_or(false)) size = limit;
  }
  const Dim* dim = std::get_if<Dim>(&*size);
  return dim ? RuleValue{*dim} : RuleValue{};
}

RuleValue given(Arguments a, const DimRanges&) { return truth(a[0].is_given()); }

// Of a tensor that is known: a number, or a list.
RuleValue value(Arguments a, const DimRanges&) {
  const ImportedValue* operand = a[0].as_operand();
  const bool has_elements = operand && operand->content && !operand->content->elements.empty();
  return has_elements ? value_of(*operand->content) : RuleValue{};
}

RuleValue known(Arguments a, const DimRanges&) {
  if (const ImportedValue* operand = a[0].as_operand()) return truth(operand->content != nullptr);
  if (const auto* size = std::get_if<Dim>(&a[0].value)) return truth(size->is_constant());
  return truth(a[0].is_given());
}

RuleValue count(Arguments a, const DimRanges&) {
  const RuleList* list = a[0].as_list();
  return list ? RuleValue{Dim(static_cast<std::int64_t>(list->size()))} : RuleValue{};
}

RuleValue fold(const RuleValue& value, Operation operation, std::int64_t first, const DimRanges& ranges) {
  const RuleList* list = value.as_list();
  if (!list) return {};
  ContentElement result = Dim(first);
  for (const RuleValue& each : *list) {
    const auto element = each.as_element();
    const auto next = element ? apply(operation, std::array{result, *element}, ranges) : std::nullopt;
    if (!next) return {};
    result = *next;
  }
  if (const Dim* dim = std::get_if<Dim>(&result)) return {*dim};
  return {std::get<double>(result)};
}

RuleValue product(Arguments a, const DimRanges& ranges) { return fold(a[0], Operation::multiply, 1, ranges); }
RuleValue sum(Arguments a, const DimRanges& ranges) { return fold(a[0], Operation::add, 0, ranges); }

// How many items `take` takes and `drop` leaves out: of a negative number, all but that many.
std::optional<std::ptrdiff_t> how_many(const RuleValue& number, std::size_t count) {
  const auto wanted = number.as_integer();
  if (!wanted) return std::nullopt;
  const auto size = static_cast<std::int64_t>(count);
  return static_cast<std::ptrdiff_t>(std::clamp<std::int64_t>(*wanted < 0 ? size + *wanted : *wanted, 0, size));
}

RuleValue take(Arguments a, const DimRanges&) {
  const RuleList* list = a[0].as_list();
  const auto number = list ? how_many(a[1], list->size()) : std::nullopt;
  return number ? RuleValue::list({list->begin(), list->begin() + *number}) : RuleValue{};
}

RuleValue drop(Arguments a, const DimRanges&) {
  const RuleList* list = a[0].as_list();
  const auto number = list ? how_many(a[1], list->size()) : std::nullopt;
  return number ? RuleValue::list({list->begin() + *number, list->end()}) : RuleValue{};
}

RuleValue concat(Arguments a, const DimRanges&) {
  RuleList items;
  for (const RuleValue& each : a) {
    if (!each.is_given()) return {};
    if (const RuleList* list = each.as_list()) {
      items.insert(items.end(), list->begin(), list->end());
    } else {
      items.push_back(each);
    }
  }
  return RuleValue::list(std::move(items));
}

RuleValue range(Arguments a, const DimRanges&) {
  const auto from = a[0].as_integer(), to = a[1].as_integer();
  if (!from || !to || *to > most_items || *from < -most_items) return {};
  RuleList items;
  for (std::int64_t i = *from; i < *to; ++i) items.push_back({Dim(i)});
  return RuleValue::list(std::move(items));
}

RuleValue repeat(Arguments a, const DimRanges&) {
  const auto times = a[1].as_integer();
  if (!times || *times > most_items) return {};
  return RuleValue::list(RuleList(static_cast<std::size_t>(std::max<std::int64_t>(*times, 0)), a[0]));
}

// Sizes, or words.
std::optional<std::int64_t> find(const RuleValue& list, const RuleValue& wanted) {
  const auto size = wanted.as_dim();
  const auto* word = std::get_if<std::string>(&wanted.value);
  if (!list.as_list() || (!size && !word)) return std::nullopt;
  for (std::size_t i = 0; i < list.as_list()->size(); ++i) {
    const RuleValue& each = (*list.as_list())[i];
    const auto* text = std::get_if<std::string>(&each.value);
    if (word ? text && *text == *word : each.as_dim() == size) return static_cast<std::int64_t>(i);
  }
  return -1;
}

RuleValue contains(Arguments a, const DimRanges&) {
  const auto place = find(a[0], a[1]);
  return place ? truth(*place >= 0) : RuleValue{};
}

RuleValue index(Arguments a, const DimRanges&) {
  const auto place = find(a[0], a[1]);
  return place ? RuleValue{Dim(*place)} : RuleValue{};
}

// Numbers, with a fraction or not.
RuleValue all(Arguments a, const DimRanges&) {
  const auto wanted = a[1].as_element();
  const RuleList* list = a[0].as_list();
  const auto number = wanted ? number_of(*wanted) : std::nullopt;
  if (!list || !number) return {};
  return truth(std::all_of(list->begin(), list->end(), [&](const RuleValue& each) {
    const auto element = each.as_element();
    const auto own = element ? number_of(*element) : std::nullopt;
    return own && own->real() == number->real();
  }));
}

// Of a tensor, or of as many axes as a number says.
std::optional<std::int64_t> axis_count(const RuleValue& value) {
  if (const auto number = value.as_integer()) return number;
  return static_cast<std::int64_t>(rank_of(value));
}

RuleValue axis_of(Arguments a, const DimRanges&) {
  const auto place = place_of(a[0], static_cast<std::size_t>(*axis_count(a[1])));
  return place ? RuleValue{Dim(static_cast<std::int64_t>(*place))} : RuleValue{};
}

RuleValue axes_of(Arguments a, const DimRanges&) {
  const RuleList* list = a[0].as_list();
  if (!list) return {};
  std::vector<std::int64_t> axes;
  for (const RuleValue& each : *list) {
    const auto place = place_of(each, static_cast<std::size_t>(*axis_count(a[1])));
    if (!place) return {};
    axes.push_back(static_cast<std::int64_t>(*place));
  }
  std::sort(axes.begin(), axes.end());
  RuleList sorted;
  for (const std::int64_t axis : axes) sorted.push_back({Dim(axis)});
  return RuleValue::list(std::move(sorted));
}

RuleValue without(Arguments a, const DimRanges&) {
  const RuleList* list = a[0].as_list();
  if (!list) return {};
  RuleList left;
  for (const RuleValue& each : *list) {
    const bool gone = a[1].as_list() ? find(a[1], each).value_or(-1) >= 0 : each.as_dim() == a[1].as_dim();
    if (!gone) left.push_back(each);
  }
  return RuleValue::list(std::move(left));
}

RuleValue reversed(Arguments a, const DimRanges&) {
  const RuleList* list = a[0].as_list();
  return list ? RuleValue::list({list->rbegin(), list->rend()}) : RuleValue{};
}

RuleValue is_float(Arguments a, const DimRanges&) {
  const auto type = dtype_of(a[0]);
  return type ? truth(info(*type).floating) : RuleValue{};
}

RuleValue is_integer(Arguments a, const DimRanges&) {
  const auto type = dtype_of(a[0]);
  return type ? truth(!info(*type).floating && *type != DType::boolean) : RuleValue{};
}

RuleValue is_signed(Arguments a, const DimRanges&) {
  const auto type = dtype_of(a[0]);
  return type ? truth(info(*type).floating || info(*type).name[0] == 'i') : RuleValue{};
}

RuleValue bits_of(Arguments a, const DimRanges&) {
  const auto type = dtype_of(a[0]);
  return type ? RuleValue{Dim(info(*type).bits)} : RuleValue{};
}

RuleValue real(Arguments a, const DimRanges&) {
  const auto element = a[0].as_element();
  const auto number = element ? number_of(*element) : std::nullopt;
  return number ? RuleValue{number->real()} : RuleValue{};
}

// Rounded towards zero, as ONNX converts sizes that are written as floats.
RuleValue whole(Arguments a, const DimRanges&) {
  if (a[0].as_dim()) return a[0];
  const auto element = a[0].as_element();
  const auto number = element ? number_of(*element) : std::nullopt;
  const auto rounded = number ? number->as_signed() : std::nullopt;
  if (rounded) return {Dim(*rounded)};
  if (!number || !(std::abs(number->real()) < 0x1p53)) return {};
  return {Dim(static_cast<std::int64_t>(number->real()))};
}

RuleValue limit_of(const RuleValue& value, bool greatest) {
  const auto type = dtype_of(value);
  if (!type) return {};
  if (info(*type).floating) {
    const double infinity = std::numeric_limits<double>::infinity();
    return {greatest ? infinity : -infinity};
  }
  const auto limits = integer_range(*type);
  const auto limit = (greatest ? limits.high : limits.low).as_signed();
  return limit ? RuleValue{Dim(*limit)} : RuleValue{};
}

RuleValue least_of(Arguments a, const DimRanges&) { return limit_of(a[0], false); }
RuleValue greatest_of(Arguments a, const DimRanges&) { return limit_of(a[0], true); }

// counted(x, axis, count): x, of which only so many places along the axis count.
RuleValue counted(Arguments a, const DimRanges&) {
  const ImportedValue *operand = a[0].as_operand(), *count = a[2].as_operand();
  const auto place = operand ? place_of(a[1], operand->type.shape.size()) : std::nullopt;
  if (!place || !count || count->id == no_id || !count->type.shape.empty()) return {};
  ImportedValue result = *operand;
  result.counted = CountedAxis{*place, count->id};
  return {std::move(result)};
}

RuleValue counted_axis(Arguments a, const DimRanges&) {
  const ImportedValue* operand = a[0].as_operand();
  return operand && operand->counted ? RuleValue{Dim(static_cast<std::int64_t>(operand->counted->axis))} : RuleValue{};
}

RuleValue count_of(Arguments a, const DimRanges&) {
  const ImportedValue* operand = a[0].as_operand();
  if (!operand || !operand->counted) return {};
  return {ImportedValue{{DType::i64, {}, nullptr}, operand->counted->count, nullptr, operand->name + "_count"}};
}

// window_pads(auto_pad, pads, extents, kernel, strides, dilations): what is added in front of each spatial axis, then
// behind each. SAME_UPPER and SAME_LOWER make as many positions as the stride goes into the extent.
// https://onnx.ai/onnx/operators/onnx__Conv.html
RuleValue window_pads(Arguments a, const DimRanges& ranges) {
  const auto* mode = std::get_if<std::string>(&a[0].value);
  const RuleList* extents = a[2].as_list();
  const RuleList* kernel = a[3].as_list();
  if (!mode || !extents || !kernel || kernel->size() != extents->size()) return {};
  const std::size_t axes = extents->size();
  const auto or_repeated = [&](const RuleValue& value, std::int64_t number, std::size_t size) {
    return value.as_list() ? *value.as_list() : RuleList(size, RuleValue{Dim(number)});
  };
  if (*mode == "NOTSET") return RuleValue::list(or_repeated(a[1], 0, 2 * axes));
  if (*mode == "VALID") return RuleValue::list(or_repeated({}, 0, 2 * axes));
  if (*mode != "SAME_UPPER" && *mode != "SAME_LOWER") return {};
  const RuleList strides = or_repeated(a[4], 1, axes), dilations = or_repeated(a[5], 1, axes);
  RuleList front, back;
  for (std::size_t i = 0; i < axes; ++i) {
    const auto size = (*extents)[i].as_dim();
    const auto taps = (*kernel)[i].as_integer();
    const auto stride = i < strides.size() ? strides[i].as_integer() : std::nullopt;
    const auto dilation = i < dilations.size() ? dilations[i].as_integer() : std::nullopt;
    if (!size || !taps || !stride || !dilation || *stride < 1 || *taps > most_items || *dilation > most_items)
      return {};
    const Dim positions = Dim::floor_divide(*size + Dim(*stride - 1), Dim(*stride));
    const Dim missing = (positions - Dim(1)) * Dim(*stride) + Dim((*taps - 1) * *dilation + 1) - *size;
    const auto total = apply(Operation::max, std::array<ContentElement, 2>{missing, Dim(0)}, ranges);
    if (!total) return {};
    const Dim half = Dim::floor_divide(std::get<Dim>(*total), Dim(2));
    const Dim rest = std::get<Dim>(*total) - half;
    front.push_back({*mode == "SAME_UPPER" ? half : rest});
    back.push_back({*mode == "SAME_UPPER" ? rest : half});
  }
  front.insert(front.end(), back.begin(), back.end());
  return RuleValue::list(std::move(front));
}

struct Function {
  std::string_view name;
  std::size_t least, most;  // arguments
  RuleValue (*call)(Arguments arguments, const DimRanges& ranges);
};
constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();
constexpr std::array<Function, import_functions.size()> functions = {{
    {"item", 2, 2, item},
    {"rank", 1, 1, rank},
    {"extent", 2, 2, extent},
    {"shape", 1, 1, shape},
    {"dtype", 1, 1, dtype},
    {"given", 1, 1, given},
    {"known", 1, 1, known},
    {"value", 1, 1, value},
    {"count", 1, 1, count},
    {"product", 1, 1, product},
    {"take", 2, 2, take},
    {"drop", 2, 2, drop},
    {"concat", 0, any_number, concat},
    {"range", 2, 2, range},
    {"repeat", 2, 2, repeat},
    {"contains", 2, 2, contains},
    {"index", 2, 2, index},
    {"axis_of", 2, 2, axis_of},
    {"axes_of", 2, 2, axes_of},
    {"is_float", 1, 1, is_float},
    {"is_integer", 1, 1, is_integer},
    {"is_signed", 1, 1, is_signed},
    {"window_pads", 6, 6, window_pads},
    {"least_of", 1, 1, least_of},
    {"greatest_of", 1, 1, greatest_of},
    {"without", 2, 2, without},
    {"sum", 1, 1, sum},
    {"elements", 1, 1, elements},
    {"reversed", 1, 1, reversed},
    {"bits_of", 1, 1, bits_of},
    {"real", 1, 1, real},
    {"whole", 1, 1, whole},
    {"scaled", 2, 2, scaled},
    {"counted", 3, 3, counted},
    {"counted_axis", 1, 1, counted_axis},
    {"count_of", 1, 1, count_of},
    {"clamped", 3, 3, clamped},
    {"all", 2, 2, all},
}};
static_assert([] {
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].name != import_functions[i]) return false;
  }
  return true;
}());

}  // namespace

std::optional<RuleValue> call_function(std::string_view name, Arguments arguments, const DimRanges& ranges) {
  const auto found =
      std::find_if(functions.begin(), functions.end(), [&](const Function& each) { return each.name == name; });
  ensure(found != functions.end(), "the parser knows the functions of rules");
  if (arguments.size() < found->least || arguments.size() > found->most) return std::nullopt;
  return found->call(arguments, ranges);
}

}  // namespace kgen

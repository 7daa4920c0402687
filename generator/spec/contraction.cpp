#include "generator/spec/contraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "generator/base/ensure.hpp"

namespace kgen {
namespace {

using Labels = std::vector<int>;
using Part = ContractionRule::Part;

bool holds(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
bool is_letter(int label) { return label < Equation::most_letters; }

// ---- equations ------------------------------------------------------------------------------------------------------

bool is_label(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A term in which "..." stands for `more` axes; nothing where it is none.
std::optional<Labels> read_term(std::string_view text, std::size_t more, std::string& problem) {
  Labels labels;
  bool has_ellipsis = false;
  while (!text.empty()) {
    if (text.starts_with("...") && !has_ellipsis) {
      for (std::size_t i = more; i-- > 0;) labels.push_back(Equation::most_letters + static_cast<int>(i));
      has_ellipsis = true;
      text.remove_prefix(3);
      continue;
    }
    if (!is_label(text.front())) {
      problem = text.starts_with("...") ? "'...' stands twice in a term"
                                        : fmt::format("'{}' is no label: labels are letters", text.front());
      return std::nullopt;
    }
    labels.push_back(static_cast<unsigned char>(text.front()));
    text.remove_prefix(1);
  }
  return labels;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> terms;
  for (;;) {
    const auto comma = text.find(',');
    terms.push_back(text.substr(0, comma));
    if (comma == text.npos) return terms;
    text.remove_prefix(comma + 1);
  }
}

std::optional<Labels> operand_of(std::string_view term, std::size_t number, std::size_t rank, std::string& problem) {
  const bool has_ellipsis = term.find("...") != term.npos;
  const std::size_t letters = term.size() - (has_ellipsis ? 3 : 0);
  const std::size_t more = has_ellipsis && letters <= rank ? rank - letters : 0;
  auto labels = read_term(term, more, problem);
  if (!labels || labels->size() == rank) return labels;
  problem = fmt::format("term {} names {}{} axes, and the operand has {}", number + 1, has_ellipsis ? "at least " : "",
                        letters, rank);
  return std::nullopt;
}

// Those of "...", then the letters that stand once.
Labels implied_result(const std::vector<Labels>& operands, std::size_t most) {
  std::map<int, int> counts;
  for (const Labels& labels : operands) {
    for (const int label : labels) ++counts[label];
  }
  Labels result;
  for (std::size_t i = most; i-- > 0;) result.push_back(Equation::most_letters + static_cast<int>(i));
  for (const auto& [label, count] : counts) {
    if (is_letter(label) && count == 1) result.push_back(label);
  }
  return result;
}

// ---- steps ----------------------------------------------------------------------------------------------------------

// A value, and what its axes are.
struct LabelledValue {
  std::size_t value = 0;
  Labels labels;
  Shape shape;
};

class Steps {
 public:
  Steps(const Equation& equation, const std::vector<Shape>& operands, bool has_product)
      : result_(equation.result), has_product_(has_product), next_(operands.size()) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      for (std::size_t axis = 0; axis < operands[i].size(); ++axis) {
        Dim& extent = extents_.try_emplace(equation.operands[i][axis], 1).first->second;
        if (operands[i][axis] != 1) extent = operands[i][axis];
      }
      terms_.push_back({i, equation.operands[i], operands[i]});
    }
  }

  std::vector<ContractionStep> contract() {
    for (LabelledValue& term : terms_) {
      drop_broadcast(term);
      take_diagonals(term);
    }
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const std::size_t others[] = {i};
      sum_unneeded(terms_[i], needed_beside(others));
    }
    while (terms_.size() > 1) contract_pair();
    permute(terms_[0], result_);
    if (steps_.empty()) reshape(terms_[0], terms_[0].labels);
    return std::move(steps_);
  }

 private:
  Shape shape_of_labels(const Labels& labels) const {
    Shape shape;
    for (const int label : labels) shape.push_back(extents_.at(label));
    return shape;
  }
  Dim product_of(const Labels& labels) const {
    Dim product = 1;
    for (const int label : labels) product = product * extents_.at(label);
    return product;
  }

  // Labels of the result and of all terms but these.
  template <class Numbers>
  Labels needed_beside(const Numbers& numbers) const {
    Labels needed = result_;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      if (std::find(std::begin(numbers), std::end(numbers), i) != std::end(numbers)) continue;
      needed.insert(needed.end(), terms_[i].labels.begin(), terms_[i].labels.end());
    }
    return needed;
  }

  std::size_t add(ContractionStep step) {
    steps_.push_back(std::move(step));
    return next_++;
  }

  // The term's axes in the order of `labels`, which are its own.
  void permute(LabelledValue& term, const Labels& labels) {
    if (term.labels == labels) return;
    std::vector<int> axes;
    for (const int label : labels) {
      axes.push_back(static_cast<int>(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin()));
    }
    permute_axes(term, axes);
  }
  void permute_axes(LabelledValue& term, const std::vector<int>& axes) {
    Labels labels;
    Shape shape;
    for (const int axis : axes) {
      labels.push_back(term.labels[static_cast<std::size_t>(axis)]);
      shape.push_back(term.shape[static_cast<std::size_t>(axis)]);
    }
    if (!std::is_sorted(axes.begin(), axes.end())) {
      term.value = add({.part = Part::permute, .inputs = {term.value}, .axes = axes, .shape = {}});
    }
    term.labels = std::move(labels);
    term.shape = std::move(shape);
  }
  // The same elements under other axes; `labels` say which, as far as they are labels.
  void reshape(LabelledValue& term, const Labels& labels) {
    reshape_to(term, shape_of_labels(labels), true);
    term.labels = labels;
  }
  void reshape_to(LabelledValue& term, Shape shape, bool always = false) {
    if (!always && shape == term.shape) return;
    term.value = add({.part = Part::reshape, .inputs = {term.value}, .axes = {}, .shape = shape});
    term.shape = std::move(shape);
  }

  // An axis of extent 1 whose label is longer elsewhere is as if it were not there.
  void drop_broadcast(LabelledValue& term) {
    Labels kept;
    Shape shape;
    for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
      if (term.shape[axis] == 1 && extents_.at(term.labels[axis]) != 1) continue;
      kept.push_back(term.labels[axis]);
      shape.push_back(term.shape[axis]);
    }
    if (kept.size() == term.labels.size()) return;
    reshape_to(term, shape);
    term.labels = std::move(kept);
  }

  void take_diagonals(LabelledValue& term) {
    for (std::size_t first = 0; first < term.labels.size(); ++first) {
      const auto again = std::find(term.labels.begin() + static_cast<std::ptrdiff_t>(first) + 1, term.labels.end(),
                                   term.labels[first]);
      if (again == term.labels.end()) continue;
      const auto second = static_cast<std::size_t>(again - term.labels.begin());
      std::vector<int> axes;
      for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
        if (axis != first && axis != second) axes.push_back(static_cast<int>(axis));
      }
      axes.push_back(static_cast<int>(first));
      axes.push_back(static_cast<int>(second));
      permute_axes(term, axes);
      take_diagonal(term);
      first = static_cast<std::size_t>(-1);  // the axes stand elsewhere now
    }
  }
  // Of the last two axes.
  void take_diagonal(LabelledValue& term) {
    const Dim extent = term.shape.back();
    term.labels.pop_back();
    Shape shape(term.shape.begin(), term.shape.end() - 1);
    if (extent.is_constant()) {
      Shape flat(shape.begin(), shape.end() - 1);
      flat.push_back(extent * extent);
      reshape_to(term, flat);
      term.value =
          add({.part = Part::slice, .inputs = {term.value}, .axes = {}, .shape = {}, .extent = extent.constant()});
    } else {
      term.value = add({.part = Part::diagonal, .inputs = {term.value}, .axes = {}, .shape = {}});
    }
    term.shape = std::move(shape);
  }

  void sum_unneeded(LabelledValue& term, const Labels& needed) {
    std::vector<int> axes;
    Labels labels;
    for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
      if (holds(needed, term.labels[axis])) {
        labels.push_back(term.labels[axis]);
      } else {
        axes.push_back(static_cast<int>(axis));
      }
    }
    if (axes.empty()) return;
    term.value = add({.part = Part::sum, .inputs = {term.value}, .axes = axes, .shape = {}});
    term.shape = shape_of_labels(labels);
    term.labels = std::move(labels);
  }

  // The pair that is contracted next: the first one that shares a label which is summed, or else any label.
  std::pair<std::size_t, std::size_t> next_pair() const {
    for (const bool summed : {true, false}) {
      for (std::size_t i = 0; i < terms_.size(); ++i) {
        for (std::size_t j = i + 1; j < terms_.size(); ++j) {
          const std::size_t pair[] = {i, j};
          const Labels needed = needed_beside(pair);
          for (const int label : terms_[i].labels) {
            if (holds(terms_[j].labels, label) && (!summed || !holds(needed, label))) return {i, j};
          }
        }
      }
    }
    return {0, 1};
  }

  // Labels of a pair by what becomes of them.
  struct Groups {
    Labels kept, summed, left, right;  // of both: kept, and not; of one alone
  };
  Groups groups_of(const LabelledValue& a, const LabelledValue& b, const Labels& needed) const {
    Groups groups;
    for (const int label : a.labels) {
      if (!holds(b.labels, label)) {
        groups.left.push_back(label);
      } else {
        (holds(needed, label) ? groups.kept : groups.summed).push_back(label);
      }
    }
    for (const int label : b.labels) {
      if (!holds(a.labels, label)) groups.right.push_back(label);
    }
    return groups;
  }

  // Whether the first of the result's labels that one alone has is b's.
  bool comes_first(const LabelledValue& a, const LabelledValue& b) const {
    const auto found = std::find_if(result_.begin(), result_.end(),
                                    [&](int label) { return holds(a.labels, label) != holds(b.labels, label); });
    return found != result_.end() && holds(b.labels, *found);
  }

  void contract_pair() {
    const auto [i, j] = next_pair();
    const std::size_t pair[] = {i, j};
    const Labels needed = needed_beside(pair);
    LabelledValue a = terms_[i], b = terms_[j];
    terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(j));
    if (comes_first(a, b)) std::swap(a, b);
    Groups groups = groups_of(a, b, needed);
    if (terms_.size() == 1) {  // in the order of the result, as leading axes may be
      std::stable_sort(groups.kept.begin(), groups.kept.end(), [&](int left, int right) {
        return std::find(result_.begin(), result_.end(), left) < std::find(result_.begin(), result_.end(), right);
      });
    }
    const bool is_product = has_product_ && !groups.summed.empty() && !groups.left.empty() && !groups.right.empty();
    terms_[i] =
        is_product ? product(std::move(a), std::move(b), groups) : multiplied(std::move(a), std::move(b), groups);
    sum_unneeded(terms_[i], needed);
  }

  static Labels joined(const Labels& first, const Labels& second, const Labels& third = {}) {
    Labels all = first;
    all.insert(all.end(), second.begin(), second.end());
    all.insert(all.end(), third.begin(), third.end());
    return all;
  }

  // [kept..., left, summed] times [kept..., summed, right], each of these groups one axis.
  LabelledValue product(LabelledValue a, LabelledValue b, const Groups& groups) {
    permute(a, joined(groups.kept, groups.left, groups.summed));
    permute(b, joined(groups.kept, groups.summed, groups.right));
    const Shape kept = shape_of_labels(groups.kept);
    const auto matrices = [&](const Dim& rows, const Dim& columns) {
      Shape shape = kept;
      shape.push_back(rows);
      shape.push_back(columns);
      return shape;
    };
    const Dim rows = product_of(groups.left), inner = product_of(groups.summed), columns = product_of(groups.right);
    reshape_to(a, matrices(rows, inner));
    reshape_to(b, matrices(inner, columns));
    LabelledValue result{add({.part = Part::product, .inputs = {a.value, b.value}, .axes = {}, .shape = {}}),
                         joined(groups.kept, groups.left, groups.right), matrices(rows, columns)};
    reshape_to(result, shape_of_labels(result.labels));
    return result;
  }

  // Element by element over all labels: those that are summed last, or in the result's order where none is.
  LabelledValue multiplied(LabelledValue a, LabelledValue b, const Groups& groups) {
    Labels order = joined(joined(groups.kept, groups.left, groups.right), groups.summed);
    if (terms_.size() == 1 && groups.summed.empty()) {
      order = result_;
      std::erase_if(order, [&](int label) { return !holds(a.labels, label) && !holds(b.labels, label); });
    }
    for (LabelledValue* term : {&a, &b}) {
      Labels own;
      Shape shape;
      for (const int label : order) {
        const bool has = holds(term->labels, label);
        if (has) own.push_back(label);
        if (has || !shape.empty()) shape.push_back(has ? extents_.at(label) : Dim(1));
      }
      permute(*term, own);
      reshape_to(*term, shape);
    }
    return {add({.part = Part::multiply, .inputs = {a.value, b.value}, .axes = {}, .shape = {}}), order,
            shape_of_labels(order)};
  }

  Labels result_;
  bool has_product_;
  std::size_t next_;
  std::map<int, Dim> extents_;
  std::vector<LabelledValue> terms_;
  std::vector<ContractionStep> steps_;
};

}  // namespace

std::optional<Equation> read_equation(std::string_view text, const std::vector<std::size_t>& ranks,
                                      std::string& problem) {
  std::string plain(text);
  std::erase(plain, ' ');
  const auto arrow = plain.find("->");
  const std::vector<std::string_view> terms = split(std::string_view(plain).substr(0, arrow));
  if (terms.size() != ranks.size()) {
    problem = fmt::format("it has {} term{}, and there {} {} operand{}", terms.size(), terms.size() == 1 ? "" : "s",
                          ranks.size() == 1 ? "is" : "are", ranks.size(), ranks.size() == 1 ? "" : "s");
    return std::nullopt;
  }
  Equation equation;
  std::size_t most = 0;  // axes that "..." stands for
  for (std::size_t i = 0; i < terms.size(); ++i) {
    auto labels = operand_of(terms[i], i, ranks[i], problem);
    if (!labels) return std::nullopt;
    const auto unnamed = std::count_if(labels->begin(), labels->end(), [](int each) { return !is_letter(each); });
    most = std::max(most, static_cast<std::size_t>(unnamed));
    equation.operands.push_back(std::move(*labels));
  }
  if (arrow == plain.npos) {
    equation.result = implied_result(equation.operands, most);
    return equation;
  }
  auto result = read_term(std::string_view(plain).substr(arrow + 2), most, problem);
  if (!result) return std::nullopt;
  for (std::size_t i = 0; i < result->size(); ++i) {
    const int label = (*result)[i];
    if (!is_letter(label)) continue;
    const bool again = std::count(result->begin(), result->end(), label) > 1;
    const bool known = std::any_of(equation.operands.begin(), equation.operands.end(),
                                   [&](const Labels& each) { return holds(each, label); });
    if (!again && known) continue;
    const std::string name(1, static_cast<char>(label));
    problem =
        again ? fmt::format("the result has '{}' twice", name) : fmt::format("no operand has the result's '{}'", name);
    return std::nullopt;
  }
  equation.result = std::move(*result);
  return equation;
}

std::optional<Shape> shape_of(const Equation& equation, const std::vector<Shape>& operands, std::string& problem) {
  std::map<int, Dim> extents;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t axis = 0; axis < operands[i].size(); ++axis) {
      const int label = equation.operands[i][axis];
      Dim& extent = extents.try_emplace(label, 1).first->second;
      const Dim& own = operands[i][axis];
      if (own == 1 || own == extent) continue;
      if (extent != 1) {
        problem = fmt::format("{} is {} and {}",
                              is_letter(label) ? fmt::format("'{}'", static_cast<char>(label)) : "an axis of '...'",
                              extent.text(), own.text());
        return std::nullopt;
      }
      extent = own;
    }
  }
  Shape shape;
  for (const int label : equation.result) shape.push_back(extents.at(label));
  return shape;
}

std::vector<ContractionStep> contraction_steps(const Equation& equation, const std::vector<Shape>& operands,
                                               bool has_product) {
  ensure(equation.operands.size() == operands.size() && !operands.empty(), "an equation has its operands' axes");
  return Steps(equation, operands, has_product).contract();
}

}  // namespace kgen

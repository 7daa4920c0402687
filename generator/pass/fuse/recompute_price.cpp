#include "generator/pass/fuse/recompute_price.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/base/diagnostics.hpp"
#include "generator/pass/graph/work.hpp"

namespace kgen {
namespace {

// What of `value` is read where it is read once for each element of a loop: of a broadcast view, what it shows.
ValueId behind_broadcasts(const Graph& graph, ValueId value) {
  ValueId shown = value;
  for (ValueId at = value; graph.value(at).kind == ValueKind::result;) {
    const Node& node = graph.nodes[graph.value(at).producer];
    const auto* view = std::get_if<IndexMap>(&node.kind);
    using Form = ViewRule::Form;
    const bool whole =
        view && (view->form == Form::permute || view->form == Form::reshape || view->form == Form::unsqueeze ||
                 view->form == Form::squeeze || view->form == Form::flip || view->form == Form::broadcast);
    if (!whole) break;
    at = node.inputs[0];
    if (view->form == Form::broadcast) shown = at;
  }
  return shown;
}

class Pricing {
 public:
  Pricing(const FuseFacts& facts, const RecomputedValue& again)
      : graph_(facts.graph()), ranges_(facts.ranges()), again_(again), shape_(graph_.type(again.value).shape) {
    // Where there are no elements nothing is moved at all.
    for (const Dim& extent : shape_) {
      const auto symbol = extent.as_symbol();
      const auto range = symbol ? ranges_.find(*symbol) : ranges_.end();
      if (range != ranges_.end()) range->second.low = std::max<std::int64_t>(range->second.low, 1);
    }
  }

  RecomputingPrice price() {
    count_reads();
    const std::int64_t width = element_bits(graph_.type(again_.value));
    const auto readers = static_cast<std::int64_t>(again_.readers.size());
    const std::int64_t traffic = width * (1 + readers) - full_width_;
    RecomputingPrice price;
    price.saved = before_ - after_;
    price.reason = reason();
    const std::int64_t repeated = repeated_work() + repeated_traffic(width);
    if (traffic <= 0 || !pays_for_small_reads(traffic)) {
      price.reason += traffic > 0 ? ", which is not less for all sizes" : "";
    } else if (traffic <= repeated && is_less_than_a_launch(repeated - traffic)) {
      price.pays = true;
      price.reason += fmt::format(
          ", and would compute it up to {} times over, which takes less time than one more launch: at most that of {} "
          "bytes",
          evaluations(), prices_.launch / bits_of_byte);
    } else if (traffic <= repeated_work()) {
      price.reason += fmt::format(", but would compute it up to {} times over", evaluations());
    } else if (traffic <= repeated) {
      price.reason += ", but a kernel reads its operands several times, and these are wider";
    } else {
      price.pays = true;
    }
    return price;
  }

 private:
  struct SmallRead {
    ValueId value = no_id;
    std::int64_t times = 0;  // that it is read more
  };

  Dim bytes_read(ValueId value) const { return bytes_of(graph_.type(behind_broadcasts(graph_, value))); }
  bool is_full(ValueId value) const {
    return element_count(graph_.type(behind_broadcasts(graph_, value)).shape) == element_count(shape_);
  }

  // `times`: 1 for what is read more, -1 for what is read no more.
  void add_read(ValueId value, std::int64_t times) {
    Dim& total = times > 0 ? after_ : before_;
    total = total + bytes_read(value);
    if (times > 0 && std::find(named_.begin(), named_.end(), value) == named_.end()) named_.push_back(value);
    if (is_full(value)) {
      full_width_ += times * element_bits(graph_.type(value));
      return;
    }
    const auto known =
        std::find_if(small_.begin(), small_.end(), [&](const SmallRead& read) { return read.value == value; });
    if (known == small_.end()) {
      small_.push_back({value, times});
    } else {
      known->times += times;
    }
  }

  void count_reads() {
    before_ = bytes_of(graph_.type(again_.value)) * Dim(1 + static_cast<std::int64_t>(again_.readers.size()));
    for (const ValueId value : again_.spared) add_read(value, -1);
    for (const RecomputingReader& reader : again_.readers) {
      for (const ValueId value : reader.new_reads) add_read(value, 1);
    }
  }

  std::int64_t evaluations() const {
    std::int64_t count = again_.stays ? 1 : 0;
    for (const RecomputingReader& reader : again_.readers) count += reader.evaluations;
    return count;
  }

  std::int64_t repeated_work() const {
    std::int64_t work = 0;
    for (const NodeId id : again_.originals) work += work_of(graph_.nodes[id], prices_);
    return work * (evaluations() - 1);
  }

  // In bits for each element: what kernels read more of operands than they would of the value, after the
  // first time.
  std::int64_t repeated_traffic(std::int64_t width) const {
    std::int64_t read = 0, times = 0;
    for (const ValueId value : again_.reads) read += is_full(value) ? element_bits(graph_.type(value)) : 0;
    for (const RecomputingReader& reader : again_.readers) times += reader.evaluations - 1;
    return times * std::max<std::int64_t>(read - width, 0);
  }

  // Whether the time of `loss` bits for each element is, for all sizes, within that of the launch that is spared.
  bool is_less_than_a_launch(std::int64_t loss) const {
    if (!again_.spares_stub) return false;
    return provably_at_most(element_count(shape_) * Dim(loss), Dim(prices_.launch), ranges_);
  }

  // Whether `gain` bits for each element are at least what the small operands that are read for them take.
  // Each of these is compared with its share of the gain.
  bool pays_for_small_reads(std::int64_t gain) const {
    const auto shares = static_cast<std::int64_t>(small_.size());
    return std::all_of(small_.begin(), small_.end(), [&](const SmallRead& read) {
      const Dim cost = bytes_read(read.value) * Dim(bits_of_byte * read.times * shares);
      return read.times <= 0 || is_never_negative(element_count(shape_) * Dim(gain) - cost);
    });
  }

  // Extents that all terms have in common say nothing.
  bool is_never_negative(Dim difference) const {
    for (const Dim& extent : shape_) {
      if (extent.is_constant()) continue;
      const Dim quotient = Dim::floor_divide(difference, extent);
      if (quotient * extent == difference) difference = quotient;
    }
    return difference.range(ranges_).low >= 0;
  }

  std::string reason() const {
    std::vector<std::string> names;
    for (const ValueId value : named_) names.push_back(written_name(graph_, value));
    const std::string instead = fmt::format("instead of {} to {}write it and read it there", before_.text(),
                                            again_.spared.empty() ? "" : "make it once, ");
    if (names.empty()) return "they read no more for it than they do anyway, " + instead;
    return fmt::format("they read {} bytes of {} for it, {}", after_.text(), quoted_list(names), instead);
  }

  const Graph& graph_;
  const Prices& prices_ = description_of(graph_).prices;
  DimRanges ranges_;
  const RecomputedValue& again_;
  const Shape& shape_;
  Dim before_, after_;            // bytes that are moved
  std::int64_t full_width_ = 0;   // bits for each element of the value that are read more
  std::vector<SmallRead> small_;  // and those of other shapes
  std::vector<ValueId> named_;
};

}  // namespace

RecomputingPrice price_of(const FuseFacts& facts, const RecomputedValue& again) {
  return Pricing(facts, again).price();
}

}  // namespace kgen

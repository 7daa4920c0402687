#include "generator/import/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "generator/import/move_shared_ahead.hpp"
#include "generator/import/move_to_readers.hpp"
#include "generator/import/numbered_names.hpp"
#include "generator/import/repeated_runs.hpp"
#include "generator/import/yaml_text.hpp"

namespace kgen {
namespace {

constexpr std::size_t fewest_nodes = 3;  // of what is called
constexpr std::size_t fewest_saved = 2;  // operators that others are fused into and that need not be written again
constexpr std::size_t most_copies = 32;  // one for so many nodes
constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

class BlockFinder {
 public:
  BlockFinder(const GraphBuilder& builder, const std::vector<NodeId>& order, const std::vector<ValueId>& outputs)
      : builder_(builder),
        graph_(builder.graph()),
        order_(order),
        place_(graph_.nodes.size(), nowhere),
        is_output_(graph_.values.size(), false),
        state_before_(graph_.values.size(), no_id),
        readers_(graph_.values.size()),
        taken_(order.size(), false),
        first_equal_(first_equal_constants(builder)) {
    for (const ValueId each : outputs) is_output_[each] = true;
    for (const StateData& state : graph_.states) {
      if (state.next != no_id) state_before_[state.next] = state.value;
    }
    move_to_readers(graph_, is_output_, order_);
    for (std::size_t i = 0; i < order.size(); ++i) tokens_.push_back(token(i));
    move_shared_ahead(graph_, order_, tokens_);
    for (std::size_t i = 0; i < order.size(); ++i) place_[order_[i]] = i;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const ValueId each : node(i).inputs) {
        if (each != no_id && (readers_[each].empty() || readers_[each].back() != i)) readers_[each].push_back(i);
      }
    }
  }

  std::vector<Block> find() {
    find_functions();
    for (const RepeatedRun& run : repeated_runs(tokens_, fewest_nodes)) find_in(run);
    std::sort(found_.begin(), found_.end(), [](const Block& a, const Block& b) { return a.starts[0] < b.starts[0]; });
    return std::move(found_);
  }

  const std::vector<NodeId>& order() const { return order_; }

 private:
  const Node& node(std::size_t place) const { return graph_.nodes[order_[place]]; }

  // Where a value is made; nowhere: by no node.
  std::size_t maker(ValueId value) const {
    const NodeId producer = value == no_id ? no_id : graph_.value(value).producer;
    return producer == no_id ? nowhere : place_[producer];
  }

  // Nodes that differ in it are not alike.
  std::uint64_t token(std::size_t place) const {
    const NodeId id = order_[place];
    std::string text = node(place).op->name;
    for (const auto& [name, value] : builder_.given_attributes(id))
      text += fmt::format(";{}={}", name, yaml_attribute(value));
    for (const ValueId each : node(place).inputs) {
      if (each == no_id) {
        text += ";~";
      } else {
        text += builder_.is_number(each) ? ";=" + graph_.value(each).name : ";" + to_text(graph_.type(each));
      }
    }
    for (const ValueId each : node(place).outputs) text += ">" + to_text(graph_.type(each));
    return std::hash<std::string>{}(text);
  }

  // Whether others are fused into it, or into what it is composed of.
  bool takes_others(const OpSpec& op) const {
    if (op.kind != OpKind::composite) return op.kind == OpKind::structured;
    const auto [known, is_new] = takes_others_.emplace(&op, false);
    if (!is_new) return known->second;
    for (const Expansion& expansion : op.expansions) {
      for (const ExpansionNode& part : expansion.nodes) {
        const OpSpec* spec = builder_.ops().find(part.op);
        known->second = known->second || (spec && takes_others(*spec));
      }
    }
    return known->second;
  }

  bool is_worth_calling(std::size_t begin, std::size_t size, std::size_t count) const {
    std::size_t saved = 0;
    for (std::size_t i = begin; i < begin + size; ++i) saved += takes_others(*node(i).op) ? count - 1 : 0;
    return size >= fewest_nodes && saved >= fewest_saved;
  }

  // ---- where instances begin --------------------------------------------------------------------------------------

  // Where the call of a function of the model stands among the nodes that are written.
  struct Instance {
    std::size_t begin = 0, size = 0;
    std::pair<std::string, std::uint64_t> form;  // the function, and what became of it
  };

  std::vector<Instance> function_calls() const {
    std::vector<Instance> calls;
    for (const GraphBuilder::Inlined& each : builder_.inlined()) {
      std::size_t begin = nowhere, end = 0, count = 0;
      for (NodeId id = each.begin; id < each.end; ++id) {
        if (place_[id] == nowhere) continue;
        begin = std::min(begin, place_[id]);
        end = std::max(end, place_[id] + 1);
        ++count;
      }
      if (count > 0 && end - begin == count) calls.push_back({begin, end - begin, {each.function, wiring(begin, end - begin)}});
    }
    return calls;
  }

  // Calls within calls stand behind those.
  void find_functions() {
    const std::vector<Instance> calls = function_calls();
    std::map<std::pair<std::string, std::uint64_t>, std::size_t> counts;
    for (const Instance& each : calls) ++counts[each.form];
    std::map<std::pair<std::string, std::uint64_t>, Block> blocks;
    std::vector<bool> inside(order_.size(), false);
    for (const Instance& each : calls) {
      if (inside[each.begin] || !is_worth_calling(each.begin, each.size, counts[each.form])) continue;
      Block& block = blocks[each.form];
      block.wish = each.form.first;
      block.size = each.size;
      block.starts.push_back(each.begin);
      std::fill_n(inside.begin() + static_cast<std::ptrdiff_t>(each.begin), each.size, true);
    }
    for (auto& [form, block] : blocks) {
      if (block.starts.size() > 1) take(std::move(block));
    }
  }

  // The longest part of the run of which nothing stands in a block already.
  RepeatedRun free_part(const RepeatedRun& run) const {
    RepeatedRun longest{run.begin, run.begin, run.period};
    for (std::size_t begin = run.begin; begin < run.end;) {
      std::size_t end = begin;
      while (end < run.end && !taken_[end]) ++end;
      if (end - begin > longest.end - longest.begin) longest = {begin, end, run.period};
      begin = end + 1;
    }
    return longest;
  }

  void find_in(const RepeatedRun& whole) {
    const RepeatedRun run = free_part(whole);
    if (run.end - run.begin < 2 * run.period) return;
    const std::size_t begin = best_begin(run), size = run.period;
    std::vector<std::uint64_t> wirings;
    for (std::size_t i = begin; i + size <= run.end; i += size) wirings.push_back(wiring(i, size));
    std::size_t first = 0, count = 0;  // the longest stretch of equal ones
    for (std::size_t i = 0; i < wirings.size();) {
      std::size_t end = i;
      while (end < wirings.size() && wirings[end] == wirings[i]) ++end;
      if (end - i > count) std::tie(first, count) = std::pair(i, end - i);
      i = end;
    }
    if (count < 2 || !is_worth_calling(begin + first * size, size, count)) return;
    Block block;
    block.size = size;
    for (std::size_t i = 0; i < count; ++i) block.starts.push_back(begin + (first + i) * size);
    if (is_chain(block)) take(std::move(block));
  }

  // Whether each instance reads what the one before it made: others may be better computed together.
  bool is_chain(const Block& block) const {
    for (std::size_t i = 1; i < block.starts.size(); ++i) {
      bool reads = false;
      for (std::size_t at = 0; at < block.size && !reads; ++at) {
        const auto& inputs = node(block.starts[i] + at).inputs;
        reads = std::any_of(inputs.begin(), inputs.end(),
                            [&](ValueId each) { return is_inside(block, i - 1, maker(each)); });
      }
      if (!reads) return false;
    }
    return true;
  }

  // What its nodes are, and which of them read which.
  std::uint64_t wiring(std::size_t begin, std::size_t size) const {
    std::uint64_t hash = size;
    const auto add = [&](std::uint64_t each) { hash = (hash ^ each) * 0x9e3779b97f4a7c15u + (hash >> 31); };
    for (std::size_t i = begin; i < begin + size; ++i) {
      add(tokens_[i]);
      for (const ValueId each : node(i).inputs) {
        const std::size_t from = maker(each);
        const bool is_inside = from != nowhere && from >= begin && from < begin + size;
        add(is_inside ? (i - from) * 16 + graph_.value(each).index + 1 : 0);
      }
    }
    return hash;
  }

  // Rule: of the places where the run may be cut, one that the fewest values pass; of these, one where they have the
  // fewest bits; then one whose values are read by the most nodes behind it, as they are in memory anyway; then one in
  // front of what others are fused into.
  std::size_t best_begin(const RepeatedRun& run) const {
    const std::size_t period = run.period, first = run.begin + period, last = std::min(run.end, first + 2 * period);
    std::vector<std::ptrdiff_t> passing(2 * period + 1, 0), bits(2 * period + 1, 0), reads(2 * period + 1, 0);
    for (std::size_t i = run.begin; i < last; ++i) {
      for (const ValueId value : node(i).outputs) {
        const auto end = std::upper_bound(readers_[value].begin(), readers_[value].end(), i + 2 * period);
        const std::ptrdiff_t count = end - readers_[value].begin();
        if (count == 0) continue;
        // A cut in front of place c, for c in (i, last reader].
        const std::size_t from = std::max(i + 1, first), to = std::min(*(end - 1) + 1, first + 2 * period);
        if (from >= to) continue;
        const std::ptrdiff_t cost =
            node(i).op->kind == OpKind::view ? 2 : 1;  // a view would be written to memory for it
        passing[from - first] += cost, passing[to - first] -= cost;
        const auto width = static_cast<std::ptrdiff_t>(info(graph_.type(value).dtype).bits);
        bits[from - first] += width, bits[to - first] -= width;
        reads[from - first] += count, reads[to - first] -= count;
      }
    }
    std::size_t best = run.begin;
    std::optional<std::tuple<std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, bool, std::ptrdiff_t>> least;
    std::ptrdiff_t values = 0, width = 0, read = 0;
    for (std::size_t i = 0; i < period; ++i) {
      values += passing[i];
      width += bits[i];
      read += reads[i];
      const auto count = static_cast<std::ptrdiff_t>((run.end - run.begin - i) / period);
      if (count < 2) break;
      const bool plain = !takes_others(*node(first + i).op);
      const std::tuple key(values, width, -read, plain, -count);
      if (!least || key < *least) std::tie(least, best) = std::pair(std::optional(key), run.begin + i);
    }
    return best;
  }

  // ---- what instances read and make -------------------------------------------------------------------------------

  // Of small constants of the same elements, the first.
  ValueId first_equal(ValueId value) const {
    const auto found = first_equal_.find(value);
    return found == first_equal_.end() ? value : found->second;
  }

  // The same operand of each instance.
  Block::Row row_of(const Block& block, std::size_t at, std::size_t operand) const {
    Block::Row row;
    for (const std::size_t start : block.starts) row.push_back(first_equal(node(start + at).inputs[operand]));
    return row;
  }

  static bool is_same(const Block::Row& row) {
    return std::all_of(row.begin(), row.end(), [&](ValueId each) { return each == row[0]; });
  }

  bool is_inside(const Block& block, std::size_t instance, std::size_t place) const {
    return place != nowhere && place >= block.starts[instance] && place < block.starts[instance] + block.size;
  }

  bool is_read_outside(const Block& block, std::size_t instance, ValueId value) const {
    return is_given(block, value) || std::any_of(readers_[value].begin(), readers_[value].end(),
                                                 [&](std::size_t each) { return !is_inside(block, instance, each); });
  }

  // To the graph's callers, or to its next run.
  bool is_given(const Block& block, ValueId value) const {
    const auto holds = [&](const Block::Row& row) { return std::find(row.begin(), row.end(), value) != row.end(); };
    const bool is_kept_inside = std::any_of(block.following.begin(), block.following.end(), holds);
    return is_output_[value] || (state_before_[value] != no_id && !is_kept_inside);
  }

  // Nodes that read nothing of the instance's own. A view stays where it is read: it is no memory.
  void hoist(Block& block) const {
    block.hoisted.assign(block.size, false);
    if (block.starts.size() < 2) return;
    std::vector<bool> same(block.size, false);
    const std::size_t start = block.starts[0];
    for (std::size_t at = 0; at < block.size; ++at) {
      const auto& inputs = node(start + at).inputs;
      same[at] = !inputs.empty();
      for (std::size_t operand = 0; operand < inputs.size() && same[at]; ++operand) {
        const std::size_t from = maker(inputs[operand]);
        if (inputs[operand] == no_id || builder_.is_number(inputs[operand])) continue;
        if (is_inside(block, 0, from)) {
          same[at] = same[from - start];
        } else {
          same[at] = is_same(row_of(block, at, operand));
        }
      }
      for (std::size_t i = 0; i < block.starts.size() && same[at]; ++i) {
        for (const ValueId each : node(block.starts[i] + at).outputs)
          same[at] = same[at] && !is_read_outside(block, i, each);
      }
    }
    const auto is_hoisted = [&](std::size_t place) { return block.hoisted[place - start]; };
    for (std::size_t at = block.size; at-- > 0;) {
      if (!same[at]) continue;
      const auto& made = node(start + at).outputs;
      block.hoisted[at] =
          node(start + at).op->kind != OpKind::view || std::any_of(made.begin(), made.end(), [&](ValueId each) {
            return std::any_of(readers_[each].begin(), readers_[each].end(), is_hoisted);
          });
    }
  }

  void take(Block block) {
    hoist(block);
    find_inputs(block);
    find_outputs(block);
    const auto has_no_key = [&](const Block::Row& row) { return !indexed_key(keys_of(row)); };
    if (builder_.keeps_keys() && std::any_of(block.weights.begin(), block.weights.end(), has_no_key)) return;
    const bool is_left = std::find(block.hoisted.begin(), block.hoisted.end(), false) != block.hoisted.end();
    if (!is_left || block.outputs.empty() || copies_of(block) * most_copies > block.starts.size() * block.size) return;
    for (const std::size_t start : block.starts) {
      const auto begin = taken_.begin() + static_cast<std::ptrdiff_t>(start);
      std::fill(begin, begin + static_cast<std::ptrdiff_t>(block.size), true);
    }
    found_.push_back(std::move(block));
  }

  std::vector<std::string> keys_of(const Block::Row& row) const {
    std::vector<std::string> keys;
    for (const ValueId each : row) keys.push_back(builder_.tensor_of(each)->key);
    return keys;
  }

  // Views that are written to memory only to be handed over: a function reads dense memory.
  std::size_t copies_of(const Block& block) const {
    const auto is_copied = [&](ValueId value) {
      const std::size_t from = maker(value);
      if (from == nowhere || node(from).op->kind != OpKind::view) return false;
      const ViewRule::Form form = node(from).op->view->form;
      return form != ViewRule::Form::reshape && form != ViewRule::Form::unsqueeze && form != ViewRule::Form::squeeze;
    };
    std::size_t copies = 0;
    for (const Block::Row& row : block.inputs)
      copies +=
          static_cast<std::size_t>(std::count_if(row.begin(), is_same(row) ? row.begin() + 1 : row.end(), is_copied));
    return copies;
  }

  void find_inputs(Block& block) const {
    std::map<Block::Row, bool> seen;
    const std::size_t start = block.starts[0];
    for (std::size_t at = 0; at < block.size; ++at) {
      if (block.hoisted[at]) continue;
      for (std::size_t operand = 0; operand < node(start + at).inputs.size(); ++operand) {
        const ValueId value = node(start + at).inputs[operand];
        const std::size_t from = maker(value);
        if (value == no_id || builder_.is_number(value)) continue;
        if (is_inside(block, 0, from)) {
          if (block.hoisted[from - start] && seen.emplace(Block::Row{value}, true).second)
            block.inputs.emplace_back(block.starts.size(), value);
          continue;
        }
        Block::Row row = row_of(block, at, operand);
        if (seen.emplace(row, true).second) add_input(block, std::move(row));
      }
    }
  }

  void add_input(Block& block, Block::Row row) const {
    const bool same = is_same(row);
    const auto is_stored = [&](ValueId each) { return builder_.tensor_of(each) != nullptr; };
    const bool small = graph_.value(row[0]).kind == ValueKind::constant && !builder_.stored_of(row[0]);
    if (auto following = following_of(block, row)) {
      block.states.push_back(std::move(row));
      block.following.push_back(std::move(*following));
    } else if (same && small) {
      block.fixed.push_back(row[0]);
    } else if (std::all_of(row.begin(), row.end(), is_stored) && (!same || row.size() == 1)) {
      block.weights.push_back(std::move(row));
    } else {
      block.inputs.push_back(std::move(row));
    }
  }

  // Of state that each instance has for itself: what it makes of it. Nothing: the row is something else.
  std::optional<Block::Row> following_of(const Block& block, const Block::Row& row) const {
    Block::Row following;
    std::optional<std::pair<std::size_t, std::uint32_t>> place;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (graph_.value(row[i]).kind != ValueKind::state || is_output_[row[i]]) return std::nullopt;
      const ValueId next = graph_.states[graph_.value(row[i]).index].next;
      const std::size_t from = maker(next);
      if (!is_inside(block, i, from)) return std::nullopt;
      const std::pair here(from - block.starts[i], graph_.value(next).index);
      if (place && *place != here) return std::nullopt;
      place = here;
      const auto is_inside_it = [&](std::size_t each) { return is_inside(block, i, each); };
      if (!std::all_of(readers_[row[i]].begin(), readers_[row[i]].end(), is_inside_it)) return std::nullopt;
      following.push_back(next);
    }
    return begin_alike(row) ? std::optional(following) : std::nullopt;
  }

  // Whether one text says what all states of a row begin as: a key that is numbered as they are, or the same.
  bool begin_alike(const Block::Row& row) const {
    const auto same = [](const Number& one, const Number& other) { return same_bits(one, other); };
    std::vector<std::string> keys;
    const GivenElements& first = graph_.states[graph_.value(row[0]).index].initial;
    for (const ValueId each : row) {
      const GivenElements& initial = graph_.states[graph_.value(each).index].initial;
      if (initial.file != first.file || !std::ranges::equal(initial.values, first.values, same)) return false;
      keys.push_back(initial.key);
    }
    return indexed_key(keys) || std::ranges::all_of(keys, [&](const std::string& each) { return each == keys[0]; });
  }

  // The result of the first instance of which the later ones' is the row's; nothing: it is handed on by none.
  std::optional<std::pair<std::size_t, std::uint32_t>> handed_on(const Block& block, const Block::Row& row) const {
    std::optional<std::pair<std::size_t, std::uint32_t>> result;
    for (std::size_t i = 1; i < row.size(); ++i) {
      const std::size_t from = maker(row[i]);
      if (!is_inside(block, i - 1, from)) return std::nullopt;
      const std::pair here(from - block.starts[i - 1], graph_.value(row[i]).index);
      if (result && *result != here) return std::nullopt;
      result = here;
    }
    return result;
  }

  Block::Row results_at(const Block& block, std::size_t at, std::size_t index) const {
    Block::Row row;
    for (const std::size_t start : block.starts) row.push_back(node(start + at).outputs[index]);
    return row;
  }

  void find_outputs(Block& block) const {
    for (std::size_t at = 0; at < block.size; ++at) {
      for (std::size_t index = 0; index < node(block.starts[0] + at).outputs.size() && !block.hoisted[at]; ++index) {
        Block::Row row = results_at(block, at, index);
        bool is_read = false;
        for (std::size_t i = 0; i < row.size(); ++i) is_read = is_read || is_read_outside(block, i, row[i]);
        if (is_read) block.outputs.push_back(std::move(row));
      }
    }
    order_for_repeat(block);
  }

  // Rule: instances that read one another's results, what all read, and nothing else, are one call.
  void order_for_repeat(Block& block) const {
    std::vector<Block::Row> handed_in, handed_out, shared;
    for (const Block::Row& row : block.inputs) {
      if (is_same(row)) {
        shared.push_back(row);
      } else if (const auto from = handed_on(block, row)) {
        Block::Row out = results_at(block, from->first, from->second);
        if (std::find(handed_out.begin(), handed_out.end(), out) != handed_out.end()) return;
        handed_in.push_back(row);
        handed_out.push_back(std::move(out));
      } else {
        return;
      }
    }
    if (handed_out.empty() || handed_out.size() != block.outputs.size()) return;
    for (const Block::Row& row : handed_out) {
      for (std::size_t i = 0; i + 1 < row.size(); ++i) {
        const auto is_far = [&](std::size_t each) {
          return !is_inside(block, i, each) && !is_inside(block, i + 1, each);
        };
        if (is_given(block, row[i]) || std::any_of(readers_[row[i]].begin(), readers_[row[i]].end(), is_far)) return;
      }
    }
    block.inputs = std::move(handed_in);
    block.inputs.insert(block.inputs.end(), shared.begin(), shared.end());
    block.outputs = std::move(handed_out);
    block.repeats = true;
  }

  const GraphBuilder& builder_;
  const Graph& graph_;
  std::vector<NodeId> order_;
  std::vector<std::size_t> place_;  // by node: where it stands; nowhere: it is not written
  std::vector<bool> is_output_;
  std::vector<ValueId> state_before_;  // by value: the state that it replaces; no_id: none
  std::vector<std::vector<std::size_t>> readers_;  // by value: places, ascending
  std::vector<std::uint64_t> tokens_;
  std::vector<bool> taken_;
  std::map<ValueId, ValueId> first_equal_;
  mutable std::map<const OpSpec*, bool> takes_others_;  // of composites
  std::vector<Block> found_;
};

}  // namespace

std::map<ValueId, ValueId> first_equal_constants(const GraphBuilder& builder) {
  std::map<ValueId, ValueId> equal;
  std::map<std::string, ValueId> first;
  for (const ConstantData& each : builder.graph().constants) {
    if (each.values.empty() || builder.is_number(each.value)) continue;
    const TensorType& type = builder.graph().type(each.value);
    std::string text = to_text(type);
    for (const Number& number : each.values) text += " " + yaml_number(number, type.dtype);
    equal[each.value] = first.emplace(std::move(text), each.value).first->second;
  }
  return equal;
}

std::vector<Block> find_blocks(const GraphBuilder& builder, std::vector<NodeId>& order,
                               const std::vector<ValueId>& outputs) {
  BlockFinder finder(builder, order, outputs);
  std::vector<Block> blocks = finder.find();
  if (!blocks.empty()) order = finder.order();
  return blocks;
}

}  // namespace kgen

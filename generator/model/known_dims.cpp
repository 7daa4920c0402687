#include "generator/model/known_dims.hpp"

#include <map>
#include <optional>
#include <utility>

namespace kgen {
namespace {

struct Place {
  std::size_t shape = 0, axis = 0;
};

struct Linear {
  Dim rest;
  std::int64_t step = 0;
};

// extent = step * symbol + rest, where step > 0 and `rest` is without the symbol.
std::optional<Linear> linear_in(const Dim& extent, const std::string& symbol) {
  DimBindings values;
  for (const std::string& each : extent.symbols()) values[each] = 0;
  const std::int64_t at_0 = extent.evaluate(values);
  values[symbol] = 1;
  const std::int64_t step = extent.evaluate(values) - at_0;
  const Dim rest = extent - Dim(step) * Dim::symbol(symbol);
  for (const std::string& each : rest.symbols()) {
    if (each == symbol) return std::nullopt;
  }
  return step > 0 ? std::optional<Linear>({rest, step}) : std::nullopt;
}

class Said {
 public:
  Said(std::span<const Shape* const> shapes, std::set<std::string, std::less<>> known)
      : shapes_(shapes), known_(std::move(known)) {}

  std::vector<SaidDim> all() && {
    std::vector<Place> others;
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
      for (std::size_t axis = 0; axis < shapes_[shape]->size(); ++axis) {
        const Dim& extent = (*shapes_[shape])[axis];
        if (const auto symbol = extent.as_symbol()) {
          add({*symbol, shape, axis});
        } else if (!extent.is_constant()) {
          others.push_back({shape, axis});
          for (const std::string& each : extent.symbols()) readers_[each].push_back(others.back());
        }
      }
    }
    news_.clear();
    for (const Place& place : others) ask(place);
    while (!news_.empty()) {
      const std::string dim = std::move(news_.back());
      news_.pop_back();
      for (const Place& place : readers_[dim]) ask(place);
    }
    return std::move(said_);
  }

 private:
  void add(SaidDim dim) {
    if (!known_.insert(dim.dim).second) return;
    news_.push_back(dim.dim);
    said_.push_back(std::move(dim));
  }

  // Takes what the extent says, if it says one dim.
  void ask(const Place& place) {
    const Dim& extent = (*shapes_[place.shape])[place.axis];
    std::vector<std::string> unknown;
    for (std::string& each : extent.symbols()) {
      if (!known_.contains(each)) unknown.push_back(std::move(each));
    }
    if (unknown.size() != 1) return;
    if (auto linear = linear_in(extent, unknown[0]))
      add({unknown[0], place.shape, place.axis, std::move(linear->rest), linear->step});
  }

  std::span<const Shape* const> shapes_;
  std::set<std::string, std::less<>> known_;
  std::map<std::string, std::vector<Place>> readers_;  // the extents that are more than a dim
  std::vector<std::string> news_;                      // dims that became known, and whose readers were not asked yet
  std::vector<SaidDim> said_;
};

}  // namespace

std::vector<SaidDim> dims_said_by(std::span<const Shape* const> shapes, std::set<std::string, std::less<>> known) {
  return Said(shapes, std::move(known)).all();
}

}  // namespace kgen

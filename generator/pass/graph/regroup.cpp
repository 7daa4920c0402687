#include "generator/pass/graph/regroup.hpp"

#include <algorithm>

namespace kgen {
namespace {

// Cuts both shapes, from their last axes on, into stretches of as many elements, of which one axis of the one is as
// long as some axes of the other.
class Cut {
 public:
  Cut(const Shape& kernel, const Shape& loop) : kernel_(kernel), loop_(loop) {}

  std::optional<Regrouping> run() {
    std::size_t axis = kernel_.size(), at = loop_.size();
    while (axis > 0) {
      if (!stretch(axis, at)) return std::nullopt;
    }
    // What is left over can only be axes of extent 1.
    for (; at > 0; --at) {
      if (loop_[at - 1] != Dim(1)) return std::nullopt;
      if (result_.runs.empty()) return std::nullopt;  // a kernel without axes
      result_.split.push_back(Dim(1));
      ++result_.runs.back();
    }
    std::reverse(result_.split.begin(), result_.split.end());
    std::reverse(result_.runs.begin(), result_.runs.end());
    return std::move(result_);
  }

 private:
  // The number of axes before `end` that have as many elements as `extent` says; 0: none have.
  static std::size_t spanning(const Shape& shape, std::size_t end, const Dim& extent) {
    Dim covered(1);
    for (std::size_t axis = end; axis > 0; --axis) {
      covered = covered * shape[axis - 1];
      if (covered == extent) return end - axis + 1;
    }
    return 0;
  }

  bool stretch(std::size_t& axis, std::size_t& at) {
    const Dim& extent = kernel_[axis - 1];
    if (extent == Dim(1) && (at == 0 || loop_[at - 1] != Dim(1))) {
      result_.split.push_back(extent);
      result_.runs.push_back(1);
      --axis;
      return true;
    }
    if (at == 0) return false;
    if (const std::size_t run = spanning(loop_, at, extent); run > 0) {
      for (std::size_t i = 0; i < run; ++i) result_.split.push_back(loop_[--at]);
      result_.runs.push_back(static_cast<int>(run));
      --axis;
      return true;
    }
    const std::size_t spanned = spanning(kernel_, axis, loop_[at - 1]);
    for (std::size_t i = 0; i < spanned; ++i) {
      result_.split.push_back(kernel_[--axis]);
      result_.runs.push_back(1);
    }
    --at;
    return spanned > 0;
  }

  const Shape& kernel_;
  const Shape& loop_;
  Regrouping result_;
};

}  // namespace

std::optional<Regrouping> regroup(const Shape& walked, int rank, const Shape& loop) {
  const std::size_t axes = rank < 0 ? walked.size() : static_cast<std::size_t>(rank);
  if (axes == 0 || walked.size() < axes) {
    if (walked != loop) return std::nullopt;
    return Regrouping{loop, std::vector<int>(loop.size(), 1)};
  }
  const std::size_t leading = walked.size() - axes + 1;
  if (walked == loop) {
    Regrouping same{loop, std::vector<int>(axes, 1)};
    same.runs[0] = static_cast<int>(leading);
    return same;
  }
  const Shape lead(walked.begin(), walked.begin() + static_cast<std::ptrdiff_t>(leading));
  Shape merged{element_count(lead)};
  merged.insert(merged.end(), walked.begin() + static_cast<std::ptrdiff_t>(leading), walked.end());
  if (auto found = Cut(merged, loop).run()) return found;
  // An axis of the loop may span some of those that the kernel walks as one.
  auto found = leading == 1 ? std::nullopt : Cut(walked, loop).run();
  if (!found) return std::nullopt;
  for (std::size_t i = 1; i < leading; ++i) {
    found->runs[1] += found->runs[0];
    found->runs.erase(found->runs.begin());
  }
  return found;
}

RunWalk walk_runs(const Regrouping& regrouping, const Strides& strides) {
  RunWalk walk;
  auto end = static_cast<int>(regrouping.split.size());
  bool whole = true;
  for (auto run = regrouping.runs.rbegin(); run != regrouping.runs.rend(); ++run) {
    const int begin = end - *run;
    int left = 0;
    for (int last = end - 1; last >= begin;) {
      int first = last;
      while (first > begin && axes_merge(regrouping.split, strides, static_cast<std::size_t>(first - 1),
                                         static_cast<std::size_t>(last))) {
        --first;
      }
      if (first < last) walk.merges.emplace_back(first, last);
      last = first - 1;
      ++left;
    }
    walk.runs.insert(walk.runs.begin(), left);
    whole = whole && left == 1;
    end = begin;
  }
  if (whole) walk.runs.clear();
  return walk;
}

std::optional<Strides> strides_along(const Regrouping& regrouping, const Shape& own, const Strides& strides,
                                     const Shape& loop) {
  if (own.size() > loop.size()) return std::nullopt;
  Strides along(loop.size(), Dim(0));
  const std::size_t lead = loop.size() - own.size();
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i] == loop[lead + i]) along[lead + i] = strides[i];
  }
  if (regrouping.split == loop) return along;
  return reshape_strides(loop, along, regrouping.split);
}

}  // namespace kgen

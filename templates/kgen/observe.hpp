// What the copies of stubs that check mode makes call: every value that a functor names is written down, where somebody
// watches for it, and goes on as it is.
//
//   const auto sum = kgen::Add::apply(C, bias.load<W>(at));  kgen::observe<W>(at, "stub_y_epilogue.sum", sum);
//
// A functor has no member that could lead to the memory, and its copy must stay the same in all else; so the values
// that are watched are known to the whole program, and one run at a time can watch.
#pragma once

#include <any>
#include <atomic>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

#include "kgen/index.hpp"
#include "kgen/types.hpp"
#include "kgen/vec.hpp"
#include "kgen/view.hpp"

namespace kgen {

// Memory for the values that are watched, by name. Each has the shape of the loop that its functor is called in; in a
// row program, what is one element per row has 1 for the row's extents.
class ObservedValues {
 public:
  template <class T, int R>
  void watch(std::string name, const View<T, R>& memory) {
    Watched& watched = watched_[std::move(name)];
    watched.memory = memory;
    watched.data = reinterpret_cast<const void*>(address_of(memory.data()));
  }
  // Whether anything was written to the memory that begins at `data`.
  bool seen(const void* data) const {
    for (const auto& [name, watched] : watched_) {
      if (watched.data == data && watched.seen.load(std::memory_order_relaxed)) return true;
    }
    return false;
  }
  // The memory, which is about to be written; null where nobody watches, or for elements of another type.
  template <class T, int R>
  const View<T, R>* find(std::string_view name) {
    const auto found = watched_.find(name);
    if (found == watched_.end()) return nullptr;
    const auto* memory = std::any_cast<View<T, R>>(&found->second.memory);
    if (memory != nullptr) found->second.seen.store(true, std::memory_order_relaxed);
    return memory;
  }

 private:
  struct Watched {
    std::any memory;  // a View<T, R>
    const void* data = nullptr;
    std::atomic<bool> seen = false;
  };
  std::map<std::string, Watched, std::less<>> watched_;
};

// Of the run that is watched now; null: none is.
inline ObservedValues* observed_values = nullptr;

namespace detail {

// Calls store(memory) for the memory of `name`, whose elements are computed in lanes of type Lane.
template <class Lane, int R, class Store>
void store_observed(const char* name, const Store& store) {
  if (observed_values == nullptr) return;
  const auto store_as = [&]<class... T>() {
    const auto store_if_found = [&](const auto* memory) {
      if (memory != nullptr) store(*memory);
    };
    (store_if_found(observed_values->find<T, R>(name)), ...);
  };
  if constexpr (std::is_same_v<Lane, float>) {
    store_as.template operator()<float, f16, bf16, f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e8m0, f4e2m1>();
  } else if constexpr (std::is_same_v<Lane, std::int8_t>) {
    store_as.template operator()<Lane, i4, i2>();
  } else if constexpr (std::is_same_v<Lane, std::uint8_t>) {
    store_as.template operator()<Lane, u4, u2>();
  } else {
    store_as.template operator()<Lane>();
  }
}

template <class Row, class A>
concept RowValue = requires {
  typename Row::template lane_type<A>;
};

}  // namespace detail

// In a functor that is called with a position: W lanes from `at` on. What is neither lanes nor a number is passed over.
template <int W, int R, class A>
void observe(const Index<R>& at, const char* name, const A& value) {
  if constexpr (Scalar<A>) {
    detail::store_observed<A, R>(name, [&](const auto& memory) { memory.template store<W>(at, value); });
  } else if constexpr (requires { typename A::lane_type; }) {
    if constexpr (std::is_same_v<A, Vec<typename A::lane_type, W>>) {
      detail::store_observed<typename A::lane_type, R>(name, [&](const auto& memory) { memory.store(at, value); });
    }
  }
}

// The value that a prologue returns.
template <int W, int R, class A>
A observed(const Index<R>& at, const char* name, const A& value) {
  observe<W>(at, name, value);
  return value;
}

// In a row program: the whole row, or the one element that a row has.
template <class Row, class A>
void observe(Row& row, const char* name, const A& value) {
  if constexpr (Scalar<A>) {
    detail::store_observed<A, Row::rank>(name, [&](const auto& memory) {
      if (memory.shape() == row.shape()) {
        row.store(memory, value);
      } else {
        row.store_scalar(memory, value);
      }
    });
  } else if constexpr (detail::RowValue<Row, A>) {
    detail::store_observed<typename Row::template lane_type<A>, Row::rank>(name, [&](const auto& memory) {
      if (memory.shape() == row.shape()) row.store(memory, value);
    });
  }
}

}  // namespace kgen

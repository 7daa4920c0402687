// Check mode, once a stub is known to differ from its reference: what the stub computes on the way, operator by
// operator.
#pragma once

#include <algorithm>
#include <mutex>

#include "kgen/observe.hpp"
#include "kgen/runtime/call.hpp"

namespace kgen {

// Watches the values that the copy of a stub made by `kgen observe` hands out, from its construction on. Others wait
// for their turn meanwhile.
class Observer {
 public:
  Observer(const Call& call, const char* stub);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // `memory`: of one value, shown as the functor's loop sees it.
  template <class T, int R>
  void watch(const char* name, const View<T, R>& memory) {
    values_.watch(name, memory);
  }

  // Compares what was observed of an operator with what its reference makes of the values before it, as Call::compare
  // does. What was not observed (the stub, as it was edited, names no such value) takes the reference's place, for the
  // operators after it; both are dense.
  template <class T, int R>
  void compare(const char* op, const char* where, const View<T, R>& found, const View<T, R>& reference,
               const Precision& precision = element_type<T>()) const {
    if (values_.seen(found.data())) {
      call_.compare(stub_, op, where, found, reference, precision);
    } else {
      std::copy_n(reference.data(), element_count(reference.shape()), found.data());
    }
  }

 private:
  const Call& call_;
  const char* stub_;
  ObservedValues values_;
  std::unique_lock<std::mutex> turn_;
};

}  // namespace kgen

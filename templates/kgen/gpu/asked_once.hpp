// What the vendor's library says of a device or a kernel and stays as it is: asked for once, as asking takes longer
// than a launch has.
#pragma once

#include <compare>
#include <map>
#include <mutex>
#include <utility>

namespace kgen::gpu {

// A kernel on a device; null: the device alone.
struct AskedOf {
  int device;
  const void* kernel = nullptr;
  friend auto operator<=>(const AskedOf&, const AskedOf&) = default;
};

// Of a kernel on a device, or of anything else that has an order. Threads may ask at the same time.
template <class Answer, class Of = AskedOf>
class AskedOnce {
 public:
  // The answer that is known, where is_enough(answer); else what ask() returns, from now on. Where that throws, nothing
  // is known from it.
  template <class IsEnough, class Ask>
  Answer operator()(const Of& what, const IsEnough& is_enough, const Ask& ask) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(what);
    if (found != known_.end() && is_enough(found->second)) return found->second;
    const Answer answer = ask();
    known_.insert_or_assign(what, answer);
    return answer;
  }
  template <class Ask>
  Answer operator()(const Of& what, const Ask& ask) {
    const auto is_enough = [](const Answer&) { return true; };
    return (*this)(what, is_enough, ask);
  }

 private:
  std::mutex mutex_;
  std::map<Of, Answer> known_;
};

}  // namespace kgen::gpu

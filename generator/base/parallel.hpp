// Work that several threads do at once. What comes out does not depend on how many there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <iterator>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace kgen {

// Of fewer things a thread is not worth its start.
inline constexpr std::size_t least_things_of_thread = 1024;

// For std::async: whether what works on so many things begins beside its caller, or waits until it is asked for.
inline std::launch beside_if_many(std::size_t things) {
  return things < least_things_of_thread ? std::launch::deferred : std::launch::async;
}

// make(begin, end) for stretches that cover the numbers from 0 to `count`: what each made, in their order.
template <class Make>
auto in_stretches(std::size_t count, const Make& make) {
  using Made = std::invoke_result_t<const Make&, std::size_t, std::size_t>;
  constexpr std::size_t most_threads = 8;
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most_threads);
  const std::size_t stretches = std::clamp<std::size_t>(count / least_things_of_thread, 1, threads);
  const auto begin_of = [&](std::size_t stretch) { return count * stretch / stretches; };
  std::vector<std::future<Made>> later;
  for (std::size_t i = 1; i < stretches; ++i) {
    const auto make_one = [&make, &begin_of, i] { return make(begin_of(i), begin_of(i + 1)); };
    later.push_back(std::async(std::launch::async, make_one));
  }
  std::vector<Made> made;
  made.push_back(make(0, begin_of(1)));
  for (std::future<Made>& each : later) made.push_back(each.get());
  return made;
}

// What all of them hold, in their order.
template <class T>
std::vector<T> concatenated(std::vector<std::vector<T>> lists) {
  std::vector<T> all = std::move(lists.front());
  std::size_t count = all.size();
  for (std::size_t i = 1; i < lists.size(); ++i) count += lists[i].size();
  all.reserve(count);
  for (std::size_t i = 1; i < lists.size(); ++i) {
    all.insert(all.end(), std::move_iterator(lists[i].begin()), std::move_iterator(lists[i].end()));
  }
  return all;
}

}  // namespace kgen

// The threads that help the one which calls kernels. A job is a number of parts, each done once, by whoever comes
// first: a helper whose core is busy with other work costs the parts that it has begun, and nobody waits for one that
// has not come yet. So a call is never slower than its caller alone, unless parts wait for each other (Barrier).
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace kgen::cpu {

// Looks for about as long as waking a thread takes, then sleeps until `word` changes. Whoever changes it calls
// wake_all. Sleeping frees the core for whoever else wants it, as that may be the very thread that is waited for.
inline constexpr std::int64_t spin_ns = 100000;

inline std::int64_t now_ns() {
  std::timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1000000000} + time.tv_nsec;
}
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// futex(2)'s operations, of one process. Its header is left out for its many macros.
inline constexpr int futex_wait = 128, futex_wake = 129;

class Word {
 public:
  std::uint32_t load() const { return value_.load(std::memory_order_acquire); }
  // Nobody waits for a reset.
  void reset(std::uint32_t value) { value_.store(value, std::memory_order_relaxed); }
  std::uint32_t add(std::uint32_t count) {  // returns what it was
    return value_.fetch_add(count, std::memory_order_seq_cst);
  }
  void wake_all() {
    if (sleepers_.load(std::memory_order_seq_cst) != 0)
      ::syscall(SYS_futex, &value_, futex_wake, INT_MAX, 0, 0, 0);
  }
  // Returns once done(value).
  template <class Done>
  void wait(const Done& done, bool spin) {
    if (spin) {
      for (const std::int64_t begin = now_ns(); now_ns() - begin < spin_ns;) {
        for (int i = 0; i < 16; ++i, relax()) {
          if (done(load())) return;
        }
      }
    }
    for (std::uint32_t value; !done(value = load());) {
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      ::syscall(SYS_futex, &value_, futex_wait, value, 0, 0, 0);
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
    }
  }

 private:
  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

// Where the parts of a job meet, each as often as the others: all of them run at the same time then.
class Barrier {
 public:
  void wait(std::uint32_t parts, bool spin) {
    const std::uint32_t meeting = met_.load();
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parts) {
      arrived_.store(0, std::memory_order_relaxed);
      met_.add(1);
      met_.wake_all();
    } else {
      met_.wait([&](std::uint32_t now) { return now != meeting; }, spin);
    }
  }

 private:
  std::atomic<std::uint32_t> arrived_{0};
  Word met_;
};

// The helpers of one thread, which start when they are first needed.
class Pool {
 public:
  using Work = void (*)(const void* body, int part, Pool&);

  // This thread's. A child that was forked has no helpers of its parent's: it starts its own.
  static Pool& mine() {
    thread_local Owner owner;
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] { forks().fetch_add(1); });
    (void)registered;
    if (owner.pool == nullptr || owner.forks != forks().load(std::memory_order_relaxed)) {
      owner.forks = forks().load(std::memory_order_relaxed);
      owner.pool = new Pool;
    }
    return *owner.pool;
  }
  // Whether this thread is in a job's part. It takes no helpers then.
  static bool& busy() {
    thread_local bool busy = false;
    return busy;
  }

  // How many threads there are for a job that would like so many, of which this is one.
  int threads(int wanted) {
    for (; started_ < wanted - 1 && started_ < most_helpers; ++started_) {
      Helper* helper = new Helper{this, started_};
      if (::pthread_create(&threads_[started_], nullptr, &help, helper) != 0) {
        delete helper;
        break;
      }
      leave_processor_of_caller(threads_[started_]);
    }
    return std::min(wanted, started_ + 1);
  }
  // work(body, part) for each of `parts`, on `threads` threads; returns when all are done.
  void run(int threads, int parts, Work work, const void* body) {
    const std::uint32_t job = jobs_.load() + 1;
    next_.store(std::uint64_t{job} << 32 | UINT32_MAX, std::memory_order_relaxed);  // no part can be had meanwhile
    std::atomic_thread_fence(std::memory_order_release);
    work_.store(work, std::memory_order_relaxed);
    body_.store(body, std::memory_order_relaxed);
    parts_.store(static_cast<std::uint32_t>(parts), std::memory_order_relaxed);
    helpers_.store(threads - 1, std::memory_order_relaxed);
    spin_.store(threads <= processors(), std::memory_order_relaxed);
    left_.reset(static_cast<std::uint32_t>(parts));
    next_.store(std::uint64_t{job} << 32, std::memory_order_release);
    jobs_.add(1);
    jobs_.wake_all();
    busy() = true;
    take_parts(job);
    busy() = false;
    left_.wait([](std::uint32_t left) { return left == 0; }, spin());
  }
  Barrier& barrier() { return barrier_; }
  // Not where threads wait for a core that another of them holds.
  bool spin() const { return spin_.load(std::memory_order_relaxed); }

  static int processors() {
    static const int count = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    return count;
  }

 private:
  static constexpr int most_helpers = 1023;

  struct Owner {
    Pool* pool = nullptr;
    int forks = 0;
    ~Owner() {
      if (pool != nullptr && forks == Pool::forks().load()) pool->stop(), delete pool;
    }
  };
  struct Helper {
    Pool* pool;
    int index;
  };

  // A helper that wakes where its caller runs waits until that one has done all the work: beside a core that was busy,
  // the scheduler left it there for good, and two threads took as long as one. So it stays off the processor of the
  // caller, who is free to move away from one that a helper has.
  void leave_processor_of_caller(pthread_t helper) const {
    cpu_set_t processors;
    const int own = ::sched_getcpu();
    if (own < 0 || ::sched_getaffinity(0, sizeof(processors), &processors) != 0 ||
        CPU_COUNT(&processors) < started_ + 2)
      return;
    CPU_CLR(own, &processors);
    ::pthread_setaffinity_np(helper, sizeof(processors), &processors);
  }

  static std::atomic<int>& forks() {
    static std::atomic<int> count{0};
    return count;
  }

  void stop() {
    stopping_.store(true);
    jobs_.add(1);
    jobs_.wake_all();
    for (int i = 0; i < started_; ++i) ::pthread_join(threads_[i], nullptr);
  }

  static void* help(void* argument) {
    const Helper self = *static_cast<Helper*>(argument);
    delete static_cast<Helper*>(argument);
    busy() = true;
    Pool& pool = *self.pool;
    for (std::uint32_t seen = 0; !pool.stopping_.load();) {
      pool.take_parts(seen, self.index);
      const std::uint32_t last = seen;
      pool.jobs_.wait([&](std::uint32_t now) { return (seen = now) != last; }, pool.spin());
    }
    return nullptr;
  }
  void take_parts(std::uint32_t job, int helper = -1) {
    for (std::uint64_t next = next_.load(std::memory_order_acquire);;) {
      const Work work = work_.load(std::memory_order_relaxed);
      const void* body = body_.load(std::memory_order_relaxed);
      const std::uint32_t parts = parts_.load(std::memory_order_relaxed);
      if (helper >= helpers_.load(std::memory_order_relaxed)) return;
      if (static_cast<std::uint32_t>(next >> 32) != job || static_cast<std::uint32_t>(next) >= parts) return;
      // That `next` has not changed says that what was read is this job's, which does not end before this part does.
      std::atomic_thread_fence(std::memory_order_acquire);
      if (!next_.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel)) continue;
      work(body, static_cast<int>(static_cast<std::uint32_t>(next)), *this);
      if (left_.add(~std::uint32_t{0}) == 1) left_.wake_all();
      next = next_.load(std::memory_order_acquire);
    }
  }

  // The job. `next_` holds its number and that of the part that nobody has begun.
  std::atomic<Work> work_{nullptr};
  std::atomic<const void*> body_{nullptr};
  std::atomic<std::uint32_t> parts_{0};
  std::atomic<int> helpers_{0};
  std::atomic<bool> spin_{true}, stopping_{false};
  alignas(64) std::atomic<std::uint64_t> next_{0};
  alignas(64) Word jobs_;  // how many there were
  alignas(64) Word left_;  // parts that are not done
  alignas(64) Barrier barrier_;
  int started_ = 0;
  pthread_t threads_[most_helpers];
};

}  // namespace kgen::cpu

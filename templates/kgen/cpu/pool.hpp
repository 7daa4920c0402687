// The threads that help the one which calls kernels. A job is a number of parts, each done once, by whoever comes
// first: nobody waits for a helper that has not come yet. Where other work takes a helper's core away within a part,
// its caller, once nothing else is left to do, lends it its own: a slice of the scheduler is as long as many kernels.
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
#include <utility>

namespace kgen::cpu {

// Those who wait look for about as long as waking a thread takes, then sleep, which frees the core for whoever else
// wants it.
inline constexpr std::int64_t spin_ns = 100000;
// How often a caller that waits looks whether its helpers run: while it spins, and while it sleeps.
inline constexpr std::int64_t glance_ns = 20000, nap_ns = 200000;

inline std::int64_t in_ns(const std::timespec& time) { return time.tv_sec * std::int64_t{1000000000} + time.tv_nsec; }
inline std::int64_t now_ns() {
  std::timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return in_ns(time);
}
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // waits some ten cycles; yield, most take for nothing
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// futex(2)'s operations, of one process: to wait, until a time of CLOCK_MONOTONIC, and to wake, by bits that name some
// of those who wait. Its header is left out for its many macros.
inline constexpr int futex_wait = 128 | 9, futex_wake = 128 | 10;
inline constexpr std::uint32_t everybody = ~std::uint32_t{0};

class Word {
 public:
  std::uint32_t load() const { return value_.load(std::memory_order_acquire); }
  // Nobody waits for a reset.
  void reset(std::uint32_t value) { value_.store(value, std::memory_order_relaxed); }
  std::uint32_t add(std::uint32_t count) {  // returns what it was
    return value_.fetch_add(count, std::memory_order_seq_cst);
  }
  // Those who sleep under one of these bits.
  void wake(std::uint32_t bits = everybody) {
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    ::syscall(SYS_futex, &value_, futex_wake, INT_MAX, nullptr, nullptr, bits);
  }
  // Returns once done(value). Whoever changes the value calls wake.
  template <class Done>
  void wait(const Done& done, bool spin, std::uint32_t bits = everybody) {
    if (spin && look(done, spin_ns)) return;
    for (std::uint32_t value; !done(value = load());) sleep(value, nullptr, bits);
  }
  // Whether done(value), after `ns` at most.
  template <class Done>
  bool look(const Done& done, std::int64_t ns) const {
    for (const std::int64_t begin = now_ns(); now_ns() - begin < ns;) {
      for (int i = 0; i < 16; ++i, relax()) {
        if (done(load())) return true;
      }
    }
    return false;
  }
  // The same, asleep until the value changes.
  template <class Done>
  bool doze(const Done& done, std::int64_t ns) {
    constexpr std::int64_t second = 1000000000;
    const std::uint32_t value = load();
    const std::int64_t end = now_ns() + ns;
    const std::timespec time{static_cast<std::time_t>(end / second), static_cast<long>(end % second)};
    if (!done(value)) sleep(value, &time, everybody);
    return done(load());
  }

 private:
  void sleep(std::uint32_t value, const std::timespec* end, std::uint32_t bits) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    ::syscall(SYS_futex, &value_, futex_wait, value, end, nullptr, bits);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
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
    if (started_ == 0 && ::sched_getaffinity(0, sizeof(allowed_), &allowed_) != 0) CPU_ZERO(&allowed_);
    for (; started_ < wanted - 1 && started_ < most_helpers; ++started_) {
      Helper* helper = new Helper{this, started_};
      if (::pthread_create(&helper->thread, nullptr, &help, helper) != 0) {
        delete helper;
        break;
      }
      ::pthread_getcpuclockid(helper->thread, &helper->clock);
      helpers_[started_] = helper;
      processor_ = -1;
    }
    return std::min(wanted, started_ + 1);
  }
  // work(body, part) for each of `parts`, on `threads` threads; returns when all are done.
  void run(int threads, int parts, Work work, const void* body) {
    const std::uint32_t job = jobs_.load() + 1;
    keep_processor();
    next_.store(std::uint64_t{job} << 32 | UINT32_MAX, std::memory_order_relaxed);  // no part can be had meanwhile
    std::atomic_thread_fence(std::memory_order_release);
    work_.store(work, std::memory_order_relaxed);
    body_.store(body, std::memory_order_relaxed);
    parts_.store(static_cast<std::uint32_t>(parts), std::memory_order_relaxed);
    wanted_.store(threads - 1, std::memory_order_relaxed);
    spin_.store(threads <= processors(), std::memory_order_relaxed);
    left_.reset(static_cast<std::uint32_t>(parts));
    next_.store(std::uint64_t{job} << 32, std::memory_order_release);
    jobs_.add(1);
    jobs_.wake(bits_of_first(threads - 1));
    busy() = true;
    take_parts(job, caller_);
    busy() = false;
    wait_for_helpers(left_, [](std::uint32_t left) { return left == 0; });
  }
  // Where the `parts` of a job meet, each as often as the others: all of them run at the same time then.
  void meet(std::uint32_t parts) {
    const std::uint32_t meeting = met_.load();
    const auto done = [meeting](std::uint32_t now) { return now != meeting; };
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parts) {
      arrived_.store(0, std::memory_order_relaxed);
      met_.add(1);
      met_.wake();
    } else if (::pthread_equal(::pthread_self(), owner_)) {
      wait_for_helpers(met_, done);
    } else {
      met_.wait(done, spin());
    }
  }
  // How many helpers say that they do a part of a job, or are about to.
  int helpers_at_work() const {
    return static_cast<int>(
        std::count_if(helpers_, helpers_ + started_, [](const Helper* each) { return each->job.load() != 0; }));
  }
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
  // One of the threads of a job, in a cache line of its own.
  struct alignas(64) Helper {
    Pool* pool = nullptr;
    int index = -1;  // the caller's
    pthread_t thread{};
    clockid_t clock{};                  // runs while the thread does
    std::int64_t ran = 0;               // its time when the caller last looked
    std::atomic<std::uint32_t> job{0};  // of which it does a part
    std::atomic<int> processor{-1};     // where it began its last part
    std::atomic<bool> lent{false};      // it has the caller's processor
  };

  // Puts a helper where its caller is, who is about to sleep, or anywhere else. A helper that wakes where its caller
  // runs waits until that one has done all the work: beside a core that was busy, the scheduler left it there for good,
  // and two threads took as long as one.
  void place(Helper& helper, bool here) {
    cpu_set_t processors = allowed_;
    const int own = ::sched_getcpu();
    if (own < 0 || CPU_COUNT(&processors) == 0) return;
    if (here) {
      CPU_ZERO(&processors);
      CPU_SET(own, &processors);
    } else if (CPU_COUNT(&processors) > started_) {
      CPU_CLR(own, &processors);
    }
    helper.lent.store(here, std::memory_order_relaxed);
    helper.processor.store(-1, std::memory_order_relaxed);
    ::pthread_setaffinity_np(helper.thread, sizeof(processors), &processors);
  }
  // The caller may come to where a helper is, which then has to leave.
  void keep_processor() {
    const int own = ::sched_getcpu();
    if (own == processor_) return;
    processor_ = own;
    for (int i = 0; i < started_; ++i) {
      const int processor = helpers_[i]->processor.load(std::memory_order_relaxed);
      if (processor == own || processor < 0) place(*helpers_[i], false);
    }
  }

  // As the caller, until done(word). A helper whose clock stands still has lost its processor to other work, for some
  // milliseconds, and is on its way at once where its caller sleeps. Two threads of a Zen 5, one core of which another
  // process kept busy, medians: ResNet-50 44.9 to 28.3 ms, BERT 115 to 85, MiniLM 17.3 to 11.9. Where both cores are
  // busy it makes no difference.
  template <class Done>
  void wait_for_helpers(Word& word, const Done& done) {
    bool lent = false;
    for (std::int64_t waited = 0;; waited += glance_ns) {
      const bool spins = !lent && spin() && waited < spin_ns;
      if (spins ? word.look(done, glance_ns) : word.doze(done, nap_ns)) break;
      lent = lend_processor(waited > 0) || lent;
    }
    for (int i = 0; lent && i < started_; ++i) {
      if (helpers_[i]->lent.load(std::memory_order_relaxed)) place(*helpers_[i], false);
    }
  }
  bool lend_processor(bool looked) {
    bool lent = false;
    const std::uint32_t job = jobs_.load();
    const int count = std::min(started_, wanted_.load(std::memory_order_relaxed));
    // If all parts have been begun, those who do one are waited for; else, where parts meet, those who have yet to
    // come.
    const bool begun = static_cast<std::uint32_t>(next_.load()) >= parts_.load(std::memory_order_relaxed);
    for (int i = 0; i < count; ++i) {
      Helper& helper = *helpers_[i];
      if (helper.lent.load(std::memory_order_relaxed)) continue;
      if (begun && helper.job.load(std::memory_order_relaxed) != job) continue;
      std::timespec time{};
      if (::clock_gettime(helper.clock, &time) != 0) continue;
      const std::int64_t ran = in_ns(time), before = std::exchange(helper.ran, ran);
      if (!looked || ran != before) continue;
      place(helper, true);
      lent = true;
    }
    return lent;
  }

  static std::atomic<int>& forks() {
    static std::atomic<int> count{0};
    return count;
  }

  void stop() {
    stopping_.store(true);
    jobs_.add(1);
    jobs_.wake();
    for (int i = 0; i < started_; ++i) ::pthread_join(helpers_[i]->thread, nullptr), delete helpers_[i];
  }

  static void* help(void* argument) {
    Helper& self = *static_cast<Helper*>(argument);
    busy() = true;
    Pool& pool = *self.pool;
    for (std::uint32_t seen = 0; !pool.stopping_.load();) {
      pool.take_parts(seen, self);
      const std::uint32_t last = seen;
      const bool spin = pool.spin() && !self.lent.load(std::memory_order_relaxed);
      // Jobs that are for fewer threads go by.
      const auto called = [&](std::uint32_t now) {
        seen = now;
        return now != last && (self.index < pool.wanted_.load(std::memory_order_relaxed) || pool.stopping_.load());
      };
      pool.jobs_.wait(called, spin, bit_of(self.index));
    }
    return nullptr;
  }
  // By which helpers are woken; the last bit is that of all whose number is greater.
  static constexpr int last_bit = 31;
  static std::uint32_t bit_of(int helper) { return std::uint32_t{1} << std::min(helper, last_bit); }
  static std::uint32_t bits_of_first(int helpers) { return helpers > last_bit ? everybody : bit_of(helpers) - 1; }
  void take_parts(std::uint32_t job, Helper& self) {
    for (std::uint64_t next = next_.load(std::memory_order_acquire);;) {
      const Work work = work_.load(std::memory_order_relaxed);
      const void* body = body_.load(std::memory_order_relaxed);
      const std::uint32_t parts = parts_.load(std::memory_order_relaxed);
      if (self.index >= wanted_.load(std::memory_order_relaxed)) return;
      if (static_cast<std::uint32_t>(next >> 32) != job || static_cast<std::uint32_t>(next) >= parts) return;
      // That `next` has not changed says that what was read is this job's, which does not end before this part does.
      std::atomic_thread_fence(std::memory_order_acquire);
      self.processor.store(::sched_getcpu(), std::memory_order_relaxed);
      self.job.store(job, std::memory_order_relaxed);
      if (!next_.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel)) {
        // Another thread has the part. A helper that kept the job's number would be lent a processor for nothing.
        self.job.store(0, std::memory_order_relaxed);
        continue;
      }
      work(body, static_cast<int>(static_cast<std::uint32_t>(next)), *this);
      self.job.store(0, std::memory_order_relaxed);
      if (left_.add(~std::uint32_t{0}) == 1) left_.wake();
      next = next_.load(std::memory_order_acquire);
    }
  }

  // The job. `next_` holds its number and that of the part that nobody has begun.
  std::atomic<Work> work_{nullptr};
  std::atomic<const void*> body_{nullptr};
  std::atomic<std::uint32_t> parts_{0};
  std::atomic<int> wanted_{0};  // helpers
  std::atomic<bool> spin_{true}, stopping_{false};
  alignas(64) std::atomic<std::uint64_t> next_{0};
  alignas(64) Word jobs_;  // how many there were
  alignas(64) Word left_;  // parts that are not done
  alignas(64) Word met_;   // how often the parts did
  std::atomic<std::uint32_t> arrived_{0};
  // The caller's own.
  const pthread_t owner_ = ::pthread_self();
  Helper caller_;
  int processor_ = -1;   // where it ran last
  cpu_set_t allowed_{};  // where helpers may run
  int started_ = 0;
  Helper* helpers_[most_helpers];
};

}  // namespace kgen::cpu

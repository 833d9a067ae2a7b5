// Threads that wait for work from call to call: starting one, or waking one that sleeps, takes as
// long as the work on several sentences.
//
// A thread that has finished its work looks for more for as long as that work took, a millisecond
// at most, and then sleeps.  So it spends at most half of its time looking.  The thread that handed
// out the work does its own part, and then waits for the others in the same way.
//
// Idle threads are ended before a fork and at the end of the process.  Threads at work when the
// process forks do not exist in the child, which must not wait for them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sched.h>
#include <sys/resource.h>
#endif

namespace arborand {

// On which processors a thread may run, and how much it gives way to others.  A new thread has both
// from its maker.  On Linux they are a thread's own, so its maker's may change later.
class Standing {
  public:
    static Standing of_this_thread() {
        Standing standing;
#if defined(__linux__)
        if (sched_getaffinity(0, sizeof standing.processors_, &standing.processors_) != 0) {
            CPU_ZERO(&standing.processors_);  // more processors than fit: then they do not count
        }
        standing.niceness_ = getpriority(PRIO_PROCESS, 0);
#endif
        return standing;
    }

    bool operator==(const Standing& other) const {
#if defined(__linux__)
        return CPU_EQUAL(&processors_, &other.processors_) && niceness_ == other.niceness_;
#else
        static_cast<void>(other);
        return true;
#endif
    }

#if defined(__linux__)
  private:
    cpu_set_t processors_;
    int niceness_;
#endif
};

// Call body(), which throws nothing but may end this thread (pthread_exit).  If it does, the thread
// waits for the end of the process instead: others may use its stack, and what is on it must not be
// destroyed without the GIL.
template <class Body>
void outlive(const Body& body) {
#if defined(_WIN32)
    body();
#else
    // glibc unwinds the stack of a thread that ends.  musl and macOS only call these handlers.
    pthread_cleanup_push(
        [](void*) {
            for (;;) pause();
        },
        nullptr);
    body();
    pthread_cleanup_pop(0);
#endif
}

class PooledThread {
  public:
    using Clock = std::chrono::steady_clock;
    using Work = void (*)(const void* context);

    explicit PooledThread(const Standing& makers) : standing(makers), thread_([this] { live(); }) {}
    ~PooledThread() {
        give(nullptr, nullptr);
        thread_.join();
    }
    PooledThread(const PooledThread&) = delete;
    PooledThread& operator=(const PooledThread&) = delete;

    const Standing standing;

    void give(Work work, const void* context) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            work_ = work;
            context_ = context;
            has_work_ = true;
            given_ = Clock::now();
        }
        changed_.notify_one();
    }

    // Wait a little for the work to be done, without falling asleep: waking up often takes longer.
    bool is_done_soon() const {
        const Clock::time_point start = Clock::now();
        const Clock::duration patience = patience_after(start - given_);
        while (has_work_ && Clock::now() - start < patience) std::this_thread::yield();
        return !has_work_;
    }

    // Sleep until the work is done, or the time is up; tell whether it is done.
    bool is_done_within(std::chrono::milliseconds time) {
        std::unique_lock<std::mutex> lock(mutex_);
        return changed_.wait_for(lock, time, [this] { return !has_work_; });
    }

  private:
    void live() noexcept {
        std::fesetenv(FE_DFL_ENV);  // not that of its maker
        leave_signals_to_others();
        Clock::duration patience{0};
        for (;;) {
            wait_for_work(patience);
            if (work_ == nullptr) return;
            const Clock::time_point start = Clock::now();
            work_(context_);
            patience = patience_after(Clock::now() - start);
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                has_work_ = false;
            }
            changed_.notify_one();
        }
    }

    static Clock::duration patience_after(Clock::duration work) {
        return std::min<Clock::duration>(work, std::chrono::milliseconds(1));
    }

    // Or Ctrl-C might not wake the thread of Python that sleeps; its own faults reach any thread.
    static void leave_signals_to_others() {
#if !defined(_WIN32)
        sigset_t signals;
        sigfillset(&signals);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP})
            sigdelset(&signals, fault);
        pthread_sigmask(SIG_SETMASK, &signals, nullptr);
#endif
    }

    void wait_for_work(Clock::duration patience) {
        const Clock::time_point start = Clock::now();
        while (!has_work_) {
            if (Clock::now() - start < patience) {
                std::this_thread::yield();
            } else {
                std::unique_lock<std::mutex> lock(mutex_);
                changed_.wait(lock, [this] { return has_work_.load(); });
            }
        }
    }

    std::mutex mutex_;
    // Either this thread waits for it or the one that gave it work, never both.
    std::condition_variable changed_;
    std::atomic<bool> has_work_{false};
    Work work_ = nullptr;
    const void* context_ = nullptr;
    Clock::time_point given_;
    std::thread thread_;  // last: it uses all the others
};

// The idle threads of the process.
class ThreadPool {
  public:
    using Threads = std::vector<std::unique_ptr<PooledThread>>;

    static ThreadPool& of_process() {
        static ThreadPool* const pool =
            new ThreadPool;  // never destroyed: threads may outlive main()
        return *pool;
    }

    // At most `count` threads, fewer if no more can be made; all with the standing of the caller.
    Threads take(std::size_t count) {
        const Standing standing = Standing::of_this_thread();
        Threads taken;
        taken.reserve(count);
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            while (taken.size() < count && !idle_.empty()) {
                if (idle_.back()->standing == standing) taken.push_back(std::move(idle_.back()));
                idle_.pop_back();
            }
        }
        try {
            while (taken.size() < count) taken.push_back(std::make_unique<PooledThread>(standing));
        } catch (...) {
            // No more threads, or no memory for one: those that are there do the work.
        }
        return taken;
    }

    // No more are kept than there are processors: the newest end.
    void give_back(Threads threads) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (std::unique_ptr<PooledThread>& thread : threads) {
            if (idle_.size() < most_idle_) idle_.push_back(std::move(thread));
        }
    }

    // How often this process was forked from its parent, since the library was loaded there.
    unsigned num_forks() const { return num_forks_; }

  private:
    ThreadPool() : most_idle_(std::max(1U, std::thread::hardware_concurrency())) {
        idle_.reserve(most_idle_);
#if !defined(_WIN32)
        pthread_atfork([] { of_process().end_idle_and_lock(); }, [] { of_process().unlock(); },
                       [] {
                           ++of_process().num_forks_;
                           of_process().unlock();
                       });
        std::atexit([] {
            of_process().end_idle_and_lock();
            of_process().unlock();
        });
#endif
    }

    void end_idle_and_lock() {
        mutex_.lock();
        idle_.clear();
    }
    void unlock() { mutex_.unlock(); }

    std::mutex mutex_;
    Threads idle_;
    std::atomic<unsigned> num_forks_{0};
    const std::size_t most_idle_;
};

// Made when the library is loaded: a fork while another thread makes it would leave the child with
// half a pool.
inline ThreadPool& pool_of_process = ThreadPool::of_process();

}  // namespace arborand

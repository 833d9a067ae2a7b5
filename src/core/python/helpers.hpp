// Threads that wait for work from call to call: starting one, or waking one that sleeps, takes as
// long as the work on several sentences.
//
// A thread that has worked looks for new work as long as the work took, but not for longer than a
// millisecond, and sleeps then.  So no more than half of its time is spent looking.
//
// Those that wait are ended before a fork and at the end of the process: none survives into a fork.
#pragma once

#include <algorithm>
#include <atomic>
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
#endif

namespace arborand {

class Helper {
  public:
    using Work = void (*)(const void* context);

    Helper() : thread_([this] { live(); }) {}
    ~Helper() {
        give(nullptr, nullptr);
        thread_.join();
    }
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;

    void give(Work work, const void* context) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            work_ = work;
            context_ = context;
            has_work_ = true;
        }
        changed_.notify_one();
    }

    // Wait until the work is done, for so long at most; tell whether it is.
    bool is_done_within(std::chrono::milliseconds time) {
        // It often is sooner than one can fall asleep and wake up.
        for (int i = 0; i < 200 && has_work_; ++i) std::this_thread::yield();
        if (!has_work_) return true;
        std::unique_lock<std::mutex> lock(mutex_);
        return changed_.wait_for(lock, time, [this] { return !has_work_; });
    }

  private:
    using Clock = std::chrono::steady_clock;

    void live() noexcept {
        leave_signals_to_others();
        Clock::duration patience{0};
        for (;;) {
            wait_for_work(patience);
            if (work_ == nullptr) return;
            const Clock::time_point start = Clock::now();
            work_(context_);
            patience =
                std::min<Clock::duration>(Clock::now() - start, std::chrono::milliseconds(1));
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                has_work_ = false;
            }
            changed_.notify_one();
        }
    }

    // Or Ctrl-C might not wake the thread of Python that sleeps; its own faults reach any thread.
    static void leave_signals_to_others() {
#if !defined(_WIN32)
        sigset_t signals;
        sigfillset(&signals);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&signals, fault);
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
    // Either the helper waits for it, or who gave it work: never both.
    std::condition_variable changed_;
    std::atomic<bool> has_work_{false};
    Work work_ = nullptr;
    const void* context_ = nullptr;
    std::thread thread_;  // last: it uses all the others
};

// Those of the process that have nothing to do.
class Helpers {
  public:
    using Some = std::vector<std::unique_ptr<Helper>>;

    static Helpers& of_process() {
        static Helpers* const helpers = new Helpers;  // never destroyed: threads may outlive main()
        return *helpers;
    }

    // As many as can be had, at most `count`.
    Some take(std::size_t count) {
        Some taken;
        taken.reserve(count);
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            while (taken.size() < count && !idle_.empty()) {
                taken.push_back(std::move(idle_.back()));
                idle_.pop_back();
            }
        }
        try {
            while (taken.size() < count) taken.push_back(std::make_unique<Helper>());
        } catch (...) {
            // No more threads, or no memory for one: those that are there do the work.
        }
        return taken;
    }

    // More than there are processors are not kept: the newest end.
    void give_back(Some some) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (std::unique_ptr<Helper>& helper : some) {
            if (idle_.size() < most_idle_) idle_.push_back(std::move(helper));
        }
    }

  private:
    Helpers() : most_idle_(std::max(1U, std::thread::hardware_concurrency())) {
        idle_.reserve(most_idle_);
#if !defined(_WIN32)
        pthread_atfork([] { of_process().end_idle_and_lock(); }, [] { of_process().unlock(); },
                       [] { of_process().unlock(); });
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
    Some idle_;
    const std::size_t most_idle_;
};

}  // namespace arborand

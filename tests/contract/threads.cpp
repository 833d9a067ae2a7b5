// What src/core/python/parallel.hpp does with its threads, most of all when things go wrong: a
// program that makes them go wrong.
//
// test_threads.py compiles it and runs it once per case: threads CASE [NUMBER].  It prints one word
// for how the call ended.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "python/parallel.hpp"

using namespace arborand;

namespace {

// Which allocation of memory fails, counted from when it is set, of those in threads that count.
std::atomic<long> failing{0};
thread_local bool counts = false;

constexpr Index num_pieces = 64;
constexpr int num_workers = 4;

// A failure is a word, not a hang: nothing here takes seconds unless it is broken.
template <class Condition>
bool wait_for(const Condition& condition) {
    for (int i = 0; i < 20000; ++i) {
        if (condition()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

bool never(void*) { return false; }

template <class Body>
const char* outcome_of(int workers, bool (*poll)(void*), void* context, const Body& body) {
    try {
        switch (for_each(num_pieces, workers, poll, context, body)) {
            case Status::ok:
                return "ok";
            case Status::interrupted:
                return "interrupted";
            default:
                return "failed";
        }
    } catch (const std::bad_alloc&) {
        return "bad_alloc";
    } catch (const std::runtime_error& error) {
        return std::strcmp(error.what(), "a piece failed") == 0 ? "runtime_error" : "another error";
    }
}

// The n-th allocation fails: of the call itself, threads included, or of the pieces of work.
const char* without_memory(long n, bool in_pieces) {
    std::atomic<int> done{0};
    const auto body = [&](Index, Workspace&, const Interrupt&) {
        const bool outside = counts;
        counts = in_pieces;
        int* volatile kept = new int(1);  // volatile: or the compiler leaves it out
        delete kept;
        counts = outside;
        ++done;
        return Status::ok;
    };
    failing = n;
    counts = !in_pieces;
    const char* outcome = outcome_of(num_workers, never, nullptr, body);
    counts = false;
    if (std::strcmp(outcome, "ok") != 0) return outcome;
    if (done != num_pieces) return "some pieces were left out";
    return failing > 0 ? "ok, and no allocation failed" : "ok, although an allocation failed";
}

// A piece throws in a thread that is not the caller's, or in the caller's.
const char* throws_in(bool callers_thread) {
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> thrown{false};
    const auto body = [&](Index, Workspace&, const Interrupt&) -> Status {
        if ((std::this_thread::get_id() == caller) == callers_thread) {
            thrown = true;
            throw std::runtime_error("a piece failed");
        }
        return wait_for([&] { return thrown.load(); }) ? Status::ok : Status::no_tree;
    };
    return outcome_of(num_workers, never, nullptr, body);
}

// A piece fails in a thread that is not the caller's; all others go on until they hear of it.
const char* failure_is_heard(bool throws) {
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> has_failed{false};
    std::atomic<bool> all_hear{true};
    const auto body = [&](Index, Workspace&, const Interrupt& interrupt) -> Status {
        if (std::this_thread::get_id() != caller && !has_failed.exchange(true)) {
            if (throws) throw std::runtime_error("a piece failed");
            return Status::no_tree;
        }
        if (!wait_for([&] { return interrupt.requested(); })) all_hear = false;
        return Status::interrupted;
    };
    try {
        const Status status = for_each(num_pieces, num_workers, never, nullptr, body);
        if (status != Status::no_tree) return "not told";
    } catch (const std::runtime_error&) {
        if (!throws) return "another error";
    }
    return all_hear ? "ok" : "some went on";
}

// The caller has nothing left to do when the signal comes: the others hear of it only through it.
const char* interrupted_while_others_finish() {
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> others_at_work{0};
    Index left = num_pieces - (num_workers - 1);  // to the caller, when each of the others has one
    // The question asked after its last piece is still part of its work.
    int questions_before_signal = -1;
    const auto poll = [](void* context) {
        int& questions = *static_cast<int*>(context);
        return questions >= 0 && questions-- == 0;
    };
    const auto body = [&](Index, Workspace&, const Interrupt& interrupt) {
        if (std::this_thread::get_id() != caller) {
            ++others_at_work;
            const bool heard = wait_for([&] { return interrupt.requested(); });
            return heard ? Status::interrupted : Status::no_tree;
        }
        if (!wait_for([&] { return others_at_work == num_workers - 1; })) return Status::no_tree;
        if (--left == 0) questions_before_signal = 1;
        return Status::ok;
    };
    return outcome_of(num_workers, poll, &questions_before_signal, body);
}

// ---- threads that wait for the next call

// Share work among threads that are all seen at it, and look around in each.
template <class Look>
std::set<std::thread::id> threads_of_a_call(const Look& look) {
    std::mutex mutex;
    std::set<std::thread::id> seen;
    const auto num_seen = [&] {
        const std::lock_guard<std::mutex> lock(mutex);
        return seen.size();
    };
    const auto body = [&](Index, Workspace&, const Interrupt&) {
        look();
        {
            const std::lock_guard<std::mutex> lock(mutex);
            seen.insert(std::this_thread::get_id());
        }
        return wait_for([&] { return num_seen() == num_workers; }) ? Status::ok : Status::no_tree;
    };
    if (std::strcmp(outcome_of(num_workers, never, nullptr, body), "ok") != 0) seen.clear();
    return seen;
}

std::set<std::thread::id> threads_of_a_call() {
    return threads_of_a_call([] {});
}

// By their numbers, which are not used again soon.
std::set<std::string> threads_there() {
    std::set<std::string> found;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        found.insert(task.path().filename());
    }
    return found;
}

// How a child ended that does some work; in the child there is no thread but the one that forked.
const char* outcome_of_child() {
    const pid_t child = fork();
    if (child == 0) _exit(threads_of_a_call().size() == num_workers ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? "ok" : "the child failed";
}

const char* two_calls() {
    const std::size_t num_processors = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t expected = 1 + std::min<std::size_t>(num_workers - 1, num_processors);
    // A thread that has ended is listed for a moment longer.
    const auto are_as_expected = [&] { return threads_there().size() == expected; };
    if (threads_of_a_call().size() != num_workers) return "some did not work";
    if (!wait_for(are_as_expected)) return "more or fewer are kept";
    const std::set<std::string> first = threads_there();
    if (threads_of_a_call().size() != num_workers) return "some did not work again";
    return wait_for([&] { return threads_there() == first; }) ? "ok" : "others";
}

const char* a_fork_after_a_call() {
    threads_of_a_call();
    if (threads_there().size() < 2) return "none is kept";
    const char* outcome = outcome_of_child();
    if (!wait_for([] { return threads_there().size() == 1; })) return "some outlive the fork";
    return threads_of_a_call().size() == num_workers ? outcome : "no work after the fork";
}

const char* a_fork_during_a_call() {
    std::atomic<bool> is_begun{false}, may_end{false};
    const char* outcome_of_call = nullptr;
    std::thread other([&] {
        outcome_of_call =
            outcome_of(num_workers, never, nullptr, [&](Index, Workspace&, const Interrupt&) {
                is_begun = true;
                const auto ends = [&] { return may_end.load(); };
                return wait_for(ends) ? Status::ok : Status::no_tree;
            });
    });
    const char* outcome = "not begun";
    if (wait_for([&] { return is_begun.load(); })) outcome = outcome_of_child();
    may_end = true;
    other.join();
    return std::strcmp(outcome, "ok") == 0 ? outcome_of_call : outcome;
}

// A handler forks in the middle of a call, and lets the child go on with it or raises an error.
const char* a_fork_by_a_handler(bool raises) {
    struct Fork {
        const bool raises;
        const pid_t parent = getpid();
        pid_t child = -1;
        std::atomic<int> others_at_work{0};
    } fork_once{raises};
    const auto poll = [](void* context) {
        Fork& once = *static_cast<Fork*>(context);
        if (once.child < 0 && once.others_at_work == num_workers - 1) {
            once.child = fork();
            if (once.child == 0) alarm(60);  // a child that waits for ever is ended, and has failed
        }
        return once.raises && getpid() != once.parent;
    };
    const std::thread::id caller = std::this_thread::get_id();
    const auto body = [&](Index, Workspace&, const Interrupt& interrupt) {
        if (std::this_thread::get_id() != caller) {
            ++fork_once.others_at_work;
            return wait_for([&] { return fork_once.child > 0; }) ? Status::ok : Status::no_tree;
        }
        const auto is_forked = [&] { return interrupt.requested() || fork_once.child >= 0; };
        return wait_for(is_forked) ? Status::ok : Status::no_tree;
    };
    const char* outcome = outcome_of(num_workers, poll, &fork_once, body);
    if (getpid() != fork_once.parent) {
        _exit(std::strcmp(outcome, raises ? "interrupted" : "another error"));
    }
    int status = 0;
    waitpid(fork_once.child, &status, 0);
    return status == 0 ? outcome : "the child failed";
}

// The thread of a call is ended while it asks for signals, as Python does at its end.  Others still
// work, with what is on its stack.
const char* the_caller_is_ended() {
    static std::atomic<bool> is_gone{false}, is_asked{false}, may_end{false};
    static std::atomic<int> others_at_work{0};
    struct Farewell {
        ~Farewell() { is_gone = true; }
    };
    std::thread([] {
        static thread_local Farewell farewell;  // destroyed with the thread, on every system
        static_cast<void>(farewell);
        const std::thread::id caller = std::this_thread::get_id();
        const auto poll = [](void*) {
            if (others_at_work < num_workers - 1) return false;
            is_asked = true;
            outlive([] { pthread_exit(nullptr); });
            return false;
        };
        outcome_of(num_workers, poll, nullptr, [&](Index, Workspace&, const Interrupt& interrupt) {
            if (std::this_thread::get_id() != caller) ++others_at_work;
            return wait_for([&] { return interrupt.requested() || may_end; }) ? Status::ok
                                                                              : Status::no_tree;
        });
    }).detach();
    if (!wait_for([] { return is_asked.load(); })) return "it does not ask";
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    may_end = true;
    return is_gone ? "it is gone" : "ok";
}

// Threads that have nothing to do take no processor's time, but for a moment, however long the work
// before took.
const char* rest_after_a_call() {
    std::atomic<int> num_looks{0};
    threads_of_a_call([&] {
        if (num_looks++ < num_workers) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    });
    const std::clock_t before = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    // A millisecond each is all right.
    return std::clock() - before < CLOCKS_PER_SEC / 50 ? "ok" : "they do not sleep";
}

#if defined(__linux__)
// Threads that were made before their caller was bound to one processor, and gave way to others.
const char* standing() {
    const auto of_one = [] {
        cpu_set_t processors;
        return sched_getaffinity(0, sizeof processors, &processors) == 0 &&
               CPU_COUNT(&processors) == 1 && getpriority(PRIO_PROCESS, 0) == 7;
    };
    threads_of_a_call();
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(sched_getcpu(), &first);
    if (sched_setaffinity(0, sizeof first, &first) != 0) return "it cannot be bound";
    if (setpriority(PRIO_PROCESS, 0, 7) != 0) return "it cannot give way";
    std::atomic<bool> is_right{true};
    threads_of_a_call([&] {
        if (!of_one()) is_right = false;
    });
    return is_right ? "ok" : "some run elsewhere";
}
#endif

const char* calls_at_once() {
    std::vector<std::thread> callers;
    std::atomic<int> num_right{0};
    for (int i = 0; i < 8; ++i) {
        callers.emplace_back([&] {
            for (int j = 0; j < 25; ++j) num_right += threads_of_a_call().size() == num_workers;
        });
    }
    for (std::thread& caller : callers) caller.join();
    return num_right == 200 ? "ok" : "some went wrong";
}

// Threads that were made while their caller rounded upward, when it no longer does.
const char* environment() {
    std::fesetround(FE_UPWARD);
    threads_of_a_call();
    std::fesetround(FE_TONEAREST);
    std::atomic<bool> is_right{true};
    threads_of_a_call([&] {
        if (std::fegetround() != FE_TONEAREST) is_right = false;
    });
    return is_right ? "ok" : "some still round upward";
}

const char* signals() {
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> is_right{true};
    threads_of_a_call([&] {
        sigset_t blocked;
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        const bool helps = std::this_thread::get_id() != caller;
        if (sigismember(&blocked, SIGINT) != helps || sigismember(&blocked, SIGSEGV)) {
            is_right = false;
        }
    });
    return is_right ? "ok" : "some take them, or not even faults";
}

}  // namespace

// Not inline: or the compiler finds that memory from `new` is given to `free`.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
    if (counts && failing > 0 && --failing == 0) throw std::bad_alloc();
    void* memory = std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

int main(int, char** arguments) {
    const std::string what = arguments[1];
    const char* outcome = "no such case";
    if (what == "without_memory") outcome = without_memory(std::atol(arguments[2]), false);
    if (what == "without_memory_in_pieces") outcome = without_memory(std::atol(arguments[2]), true);
    if (what == "throws_in_a_thread") outcome = throws_in(false);
    if (what == "throws_in_the_caller") outcome = throws_in(true);
    if (what == "status_in_a_thread") outcome = failure_is_heard(false);
    if (what == "error_in_a_thread") outcome = failure_is_heard(true);
    if (what == "interrupted_while_others_finish") outcome = interrupted_while_others_finish();
    if (what == "two_calls") outcome = two_calls();
    if (what == "a_fork_after_a_call") outcome = a_fork_after_a_call();
    if (what == "a_fork_during_a_call") outcome = a_fork_during_a_call();
    if (what == "a_handler_forks") outcome = a_fork_by_a_handler(false);
    if (what == "a_handler_forks_and_raises") outcome = a_fork_by_a_handler(true);
    if (what == "the_caller_is_ended") outcome = the_caller_is_ended();
#if defined(__linux__)
    if (what == "standing") outcome = standing();
#endif
    if (what == "rest_after_a_call") outcome = rest_after_a_call();
    if (what == "calls_at_once") outcome = calls_at_once();
    if (what == "environment") outcome = environment();
    if (what == "signals") outcome = signals();
    std::puts(outcome);
}

// Independent pieces of work on several threads, one of which is the caller's.
//
// The results never depend on which thread does which piece.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <vector>

#include "python/thread_pool.hpp"
#include "types/scratch.hpp"
#include "types/status.hpp"

namespace arborand {

// The memory of one thread, kept from piece to piece.
struct Workspace {
    Prepared prepared;  // what a piece prepares for itself
    Scratch scratch;
    Scratch scores;   // copies of scores as they come
    Scratch answers;  // those not yet in the precision or the layout that the caller asked for
};

// for_each for one thread, without a single allocation: the work on one graph may take less time.
template <class Body>
Status for_each_alone(Index count, bool (*poll)(void*), void* context, const Body& body) {
    std::atomic<bool> stop{false};
    Workspace workspace;
    const Interrupt interrupt{&stop, poll, context};
    for (Index index = 0; index < count; ++index) {
        if (index > 0 && interrupt.requested()) return Status::interrupted;
        const Status status = body(index, workspace, interrupt);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

// Call body(index, workspace, interrupt) for index = 0 .. count - 1, until one does not end well.
// `poll` is called by the caller's thread only, now and then; once it returns true all threads
// stop.  What a body throws is thrown again here, when all threads have stopped.
template <class Body>
Status for_each(Index count, int workers, bool (*poll)(void*), void* context, const Body& body) {
    if (workers > count) workers = static_cast<int>(count);
    if (workers <= 1) return for_each_alone(count, poll, context, body);
    std::atomic<bool> stop{false};
    std::atomic<Index> next{0};
    std::vector<Status> statuses(static_cast<std::size_t>(workers), Status::ok);
    std::vector<std::exception_ptr> exceptions(static_cast<std::size_t>(workers));

    const auto work = [&](int worker) noexcept {
        const std::size_t place = static_cast<std::size_t>(worker);
        try {
            Workspace workspace;
            const bool calling = worker == 0;
            Interrupt interrupt{&stop, calling ? poll : nullptr, calling ? context : nullptr};
            while (!interrupt.requested()) {
                const Index index = next.fetch_add(1, std::memory_order_relaxed);
                if (index >= count) break;
                const Status status = body(index, workspace, interrupt);
                if (status != Status::ok) {
                    statuses[place] = status;
                    stop.store(true, std::memory_order_relaxed);
                    break;
                }
            }
        } catch (...) {
            exceptions[place] = std::current_exception();
            stop.store(true, std::memory_order_relaxed);
        }
    };

    const unsigned num_forks = ThreadPool::of_process().num_forks();
    std::atomic<int> num_working{1};
    const auto help = [&] { work(num_working.fetch_add(1)); };
    ThreadPool::Threads threads =
        ThreadPool::of_process().take(static_cast<std::size_t>(workers - 1));
    for (const std::unique_ptr<PooledThread>& thread : threads) {
        thread->give([](const void* self) { (*static_cast<decltype(&help)>(self))(); }, &help);
    }
    work(0);
    // The caller's thread goes on listening while others finish what they have begun.
    const Interrupt listening{&stop, poll, context};
    const auto is_child = [&] { return ThreadPool::of_process().num_forks() != num_forks; };
    for (const std::unique_ptr<PooledThread>& thread : threads) {
        if (thread->is_done_soon()) continue;
        while (!is_child() && !thread->is_done_within(std::chrono::milliseconds(20))) {
            listening.requested();
        }
    }
    if (!is_child()) {
        ThreadPool::of_process().give_back(std::move(threads));
    } else {  // `poll` has forked: here the threads are gone, and so is what they had begun
        for (std::unique_ptr<PooledThread>& thread : threads) static_cast<void>(thread.release());
        if (!stop.load()) {
            throw std::runtime_error(
                "a signal handler forked the process during a call with several workers, and the "
                "child cannot finish it: end the child in the handler");
        }
    }

    for (const std::exception_ptr& exception : exceptions) {
        if (exception) std::rethrow_exception(exception);
    }
    for (const Status status : statuses) {
        if (status != Status::ok && status != Status::interrupted) return status;
    }
    return stop.load() ? Status::interrupted : Status::ok;
}

}  // namespace arborand

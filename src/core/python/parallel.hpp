// Independent pieces of work on several threads, one of which is the caller's.
//
// Threads are made for the call and gone after it: nothing survives into a fork, and there is no
// pool to configure.  Which thread does which piece never shows in the results.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "types/interrupt.hpp"
#include "types/scratch.hpp"
#include "types/status.hpp"

namespace arborand {

// The memory of one thread, kept from piece to piece.
struct Workspace {
    Scratch prepared;  // what a piece prepares for itself
    Scratch scratch;

    Workspace() = default;
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    ~Workspace() {
        std::free(prepared.memory);
        std::free(scratch.memory);
    }
};

// Where and how the work ended: the first piece (by index) that did not end well.
struct Outcome {
    Status status = Status::ok;
    Index index = 0;
};

// Call body(index, workspace, interrupt) for index = 0 .. count - 1.  `poll` is called by the
// caller's thread only, now and then; once it returns true all threads stop.
template <class Body>
Outcome for_each(Index count, int workers, bool (*poll)(void*), void* context, const Body& body) {
    std::atomic<bool> stop{false};
    std::atomic<Index> next{0};
    std::vector<Status> statuses(static_cast<std::size_t>(workers), Status::ok);
    std::vector<Index> indices(static_cast<std::size_t>(workers), count);

    const auto work = [&](int worker) {
        Workspace workspace;
        const bool calling = worker == 0;
        Interrupt interrupt{&stop, calling ? poll : nullptr, calling ? context : nullptr};
        while (!interrupt.requested()) {
            const Index index = next.fetch_add(1, std::memory_order_relaxed);
            if (index >= count) break;
            const Status status = body(index, workspace, interrupt);
            if (status != Status::ok) {
                statuses[static_cast<std::size_t>(worker)] = status;
                indices[static_cast<std::size_t>(worker)] = index;
                stop.store(true, std::memory_order_relaxed);
                break;
            }
        }
    };

    std::mutex mutex;
    std::condition_variable finished;
    int running = 0;
    const auto work_and_report = [&](int worker) {
        work(worker);
        const std::lock_guard<std::mutex> lock(mutex);
        --running;
        finished.notify_one();
    };

    std::vector<std::thread> threads;
    if (workers > count) workers = static_cast<int>(count);
    for (int worker = 1; worker < workers; ++worker) {
        try {
            const std::lock_guard<std::mutex> lock(mutex);
            threads.emplace_back(work_and_report, worker);
            ++running;
        } catch (const std::system_error&) {
            break;  // the system has no more threads to give: the others do the work
        }
    }
    work(0);
    // The caller's thread goes on listening while others finish what they have begun.
    const Interrupt listening{&stop, poll, context};
    for (std::unique_lock<std::mutex> lock(mutex); running > 0;) {
        finished.wait_for(lock, std::chrono::milliseconds(20));
        lock.unlock();
        listening.requested();
        lock.lock();
    }
    for (std::thread& thread : threads) thread.join();

    Outcome outcome;
    if (stop.load()) outcome = {Status::interrupted, 0};
    Index first = count;
    for (std::size_t worker = 0; worker < statuses.size(); ++worker) {
        const bool real = statuses[worker] != Status::ok && statuses[worker] != Status::interrupted;
        if (real && indices[worker] < first) {
            first = indices[worker];
            outcome = {statuses[worker], first};
        }
    }
    return outcome;
}

}  // namespace arborand

// What src/core/python/parallel.hpp does when things go wrong: a program that makes them go wrong.
//
// test_threads.py compiles it and runs it once per case: threads CASE [NUMBER].  It prints one word
// for how the call ended.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

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
        switch (for_each(num_pieces, workers, poll, context, body).status) {
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

}  // namespace

void* operator new(std::size_t bytes) {
    if (counts && failing > 0 && --failing == 0) throw std::bad_alloc();
    void* memory = std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main(int, char** arguments) {
    const std::string what = arguments[1];
    const char* outcome = "no such case";
    if (what == "without_memory") outcome = without_memory(std::atol(arguments[2]), false);
    if (what == "without_memory_in_pieces") outcome = without_memory(std::atol(arguments[2]), true);
    if (what == "throws_in_a_thread") outcome = throws_in(false);
    if (what == "throws_in_the_caller") outcome = throws_in(true);
    if (what == "interrupted_while_others_finish") outcome = interrupted_while_others_finish();
    std::puts(outcome);
}

// How Python calls into the core: arrays, threads without the GIL, Ctrl-C, and what went wrong.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cfenv>
#include <chrono>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "python/parallel.hpp"

namespace arborand {

namespace nb = nanobind;

template <class Number, int Dimensions>
using Array = nb::ndarray<Number, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
// Of any shape.
template <class Number>
using Contiguous = nb::ndarray<Number, nb::c_contig, nb::device::cpu>;

// Wait for the GIL, by what `take` calls.  When the interpreter ends, a thread that waits for it is
// ended, before Python 3.14, by unwinding its stack: threads that help still use what is there.
// Such a thread waits for the end of the process instead.
template <class Take>
auto wait_for_gil(const Take& take) {
    try {
        return take();
    } catch (...) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

// For its lifetime other threads of Python may run.
class GilReleased {
  public:
    GilReleased() : state_(PyEval_SaveThread()) {}
    ~GilReleased() {
        wait_for_gil([this] { PyEval_RestoreThread(state_); });
    }
    GilReleased(const GilReleased&) = delete;
    GilReleased& operator=(const GilReleased&) = delete;

  private:
    PyThreadState* state_;
};

// Looks for Ctrl-C at most twenty times a second, because that needs the GIL.
class SignalPoll {
  public:
    static bool poll(void* self) { return static_cast<SignalPoll*>(self)->check(); }
    bool raised() const { return raised_; }

  private:
    using Clock = std::chrono::steady_clock;

    bool check() {
        const Clock::time_point now = Clock::now();
        if (now - last_ < std::chrono::milliseconds(50)) return false;
        last_ = now;
        const PyGILState_STATE state = wait_for_gil([] { return PyGILState_Ensure(); });
        // Handlers are Python code, which may do anything to the environment that the work relies
        // on.
        std::fenv_t environment;
        std::fegetenv(&environment);
        raised_ = raised_ || PyErr_CheckSignals() != 0;
        std::fesetenv(&environment);
        PyGILState_Release(state);
        return raised_;
    }

    Clock::time_point last_ = Clock::now();
    bool raised_ = false;
};

// Run body(index, workspace, interrupt) for all pieces without the GIL; raise what went wrong.
template <class Body>
void run(Index count, int workers, const Body& body) {
    SignalPoll signals;
    Outcome outcome;
    {
        const GilReleased released;
        outcome = for_each(count, workers, &SignalPoll::poll, &signals, body);
    }
    if (signals.raised()) throw nb::python_error();
    if (outcome.status == Status::no_memory) throw std::bad_alloc();
    if (outcome.status != Status::ok) {
        throw std::runtime_error("the core could not solve a graph (status " +
                                 std::to_string(static_cast<int>(outcome.status)) +
                                 "); this is a bug in arborand");
    }
}

}  // namespace arborand

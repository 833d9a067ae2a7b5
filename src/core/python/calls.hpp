// How Python calls into the core: arrays, threads without the GIL, Ctrl-C, and errors.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cfenv>
#include <chrono>
#include <new>
#include <stdexcept>
#include <string>

#include "python/parallel.hpp"

namespace arborand {

namespace nb = nanobind;

template <class Number, int Dimensions>
using Array = nb::ndarray<Number, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
// Of any shape.
template <class Number>
using Contiguous = nb::ndarray<Number, nb::c_contig, nb::device::cpu>;

// For its lifetime other threads of Python may run.
class GilReleased {
  public:
    GilReleased() : state_(PyEval_SaveThread()) {}
    ~GilReleased() { take(); }
    GilReleased(const GilReleased&) = delete;
    GilReleased& operator=(const GilReleased&) = delete;

    // Call body() with the GIL, taken with the state that releasing it gave.  PyGILState_Ensure
    // would look for a state, and crash where it finds none: when the interpreter is gone.
    template <class Body>
    void interrupted_by(const Body& body) {
        take();
        body();
        state_ = PyEval_SaveThread();
    }

  private:
    // When the interpreter ends, a thread that asks for the GIL is ended (hangs, from Python 3.14).
    void take() {
        outlive([this] { PyEval_RestoreThread(state_); });
    }

    PyThreadState* state_;
};

// Looks for Ctrl-C at most twenty times a second, because that needs the GIL.
class SignalPoll {
  public:
    explicit SignalPoll(GilReleased& released) : released_(released) {}
    static bool poll(void* self) { return static_cast<SignalPoll*>(self)->check(); }
    bool raised() const { return raised_; }

  private:
    using Clock = std::chrono::steady_clock;

    bool check() {
        const Clock::time_point now = Clock::now();
        if (now - last_ < std::chrono::milliseconds(50)) return false;
        last_ = now;
        released_.interrupted_by([this] {
            // Handlers are Python code, which may do anything to the environment that the work
            // relies on.
            std::fenv_t environment;
            std::fegetenv(&environment);
            raised_ = raised_ || PyErr_CheckSignals() != 0;
            std::fesetenv(&environment);
        });
        return raised_;
    }

    GilReleased& released_;
    Clock::time_point last_ = Clock::now();
    bool raised_ = false;
};

// Who calls.  Python holds the GIL, which is released meanwhile, and wants to hear of Ctrl-C.  XLA
// (xla.cpp) calls from threads that know nothing of Python.
enum class Caller { python, xla };

// Run body(index, workspace, interrupt) for all pieces without the GIL; raise what went wrong.
template <class Body>
void run(Index count, int workers, const Body& body, Caller caller = Caller::python) {
    Status status = Status::ok;
    bool raised = false;
    if (caller == Caller::xla) {
        status = for_each(count, workers, nullptr, nullptr, body);
    } else {
        GilReleased released;
        SignalPoll signals(released);
        status = for_each(count, workers, &SignalPoll::poll, &signals, body);
        raised = signals.raised();
    }
    if (raised) throw nb::python_error();
    if (status == Status::no_memory) throw std::bad_alloc();
    if (status != Status::ok) {
        throw std::runtime_error("the core could not solve a graph (status " +
                                 std::to_string(static_cast<int>(status)) +
                                 "); this is a bug in arborand");
    }
}

}  // namespace arborand

// The processor's floating-point environment: the modes that all work relies on, and its flags.
//
// Other libraries may have set a rounding mode, or flush-to-zero; results must not depend on it. So
// every function of the dispatch table (dispatch/kernels.cpp) works behind a guard, which sets the
// environment of IEEE 754 and restores the caller's, flags included.
//
// The flags tell whether a computation in double left the range of double.  An operation whose
// result is too small raises a sticky underflow flag, one whose result is too large an overflow
// flag.  Reading the flags after the fact costs nothing in the loops and misses nothing: if none is
// raised, every operation had its full relative accuracy.  The converse does not hold (a product
// may underflow and be added to something large), and need not: the work is then repeated with
// UnboundedDouble.
//
// On a complete graph whose scores differ by less than 230 within a column no flag can go up:
// entries only grow when nodes are censored, so all stay above e^-230, and no operation multiplies
// more than three of them.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace arborand {
namespace ARBORAND_ISA {

namespace floating_point_detail {

// The compiler may not move across this what is read from memory or written to it.  It knows
// nothing of the environment: arithmetic whose operands and results stay in registers it may move.
inline void barrier() { __asm__ volatile("" ::: "memory"); }

#if defined(__x86_64__)

// The C library's functions also save and restore the x87 unit, which takes longer than the work on
// a small graph; doubles live in the SSE unit alone.
struct Environment {
    unsigned control_and_status;
};

constexpr Environment standard{0x1f80};  // round to nearest, all exceptions masked, no flags

inline Environment current() { return {_mm_getcsr()}; }
inline void set(Environment environment) { _mm_setcsr(environment.control_and_status); }

inline bool flags_are_up(bool with_underflow) {
    constexpr unsigned invalid = 0x01, division = 0x04, overflow = 0x08, underflow = 0x10;
    const unsigned asked = invalid | division | overflow | (with_underflow ? underflow : 0);
    return (_mm_getcsr() & asked) != 0;
}

#elif defined(__aarch64__)

struct Environment {
    std::uint64_t control, status;
};

constexpr Environment standard{0, 0};  // round to nearest, no traps, no flags

inline Environment current() {
    Environment environment;
    __asm__ volatile("mrs %0, fpcr" : "=r"(environment.control)::"memory");
    __asm__ volatile("mrs %0, fpsr" : "=r"(environment.status)::"memory");
    return environment;
}

inline void set(Environment environment) {
    __asm__ volatile("msr fpcr, %0" ::"r"(environment.control) : "memory");
    __asm__ volatile("msr fpsr, %0" ::"r"(environment.status) : "memory");
}

inline bool flags_are_up(bool with_underflow) {
    constexpr std::uint64_t invalid = 0x1, division = 0x2, overflow = 0x4, underflow = 0x8;
    const std::uint64_t asked = invalid | division | overflow | (with_underflow ? underflow : 0);
    return (current().status & asked) != 0;
}

#else

struct Environment {
    std::fenv_t state;
};

struct Standard {};
constexpr Standard standard;

inline Environment current() {
    Environment environment;
    std::fegetenv(&environment.state);
    return environment;
}

inline void set(const Environment& environment) { std::fesetenv(&environment.state); }
inline void set(Standard) { std::fesetenv(FE_DFL_ENV); }

#if defined(FE_INVALID) && defined(FE_DIVBYZERO) && defined(FE_OVERFLOW) && defined(FE_UNDERFLOW)

inline bool any_flag(bool with_underflow = true) {
    const int others = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
    return std::fetestexcept(with_underflow ? others | FE_UNDERFLOW : others) != 0;
}

// Some C libraries have flags in name only.  Where an underflow or an overflow goes unnoticed, all
// work counts as having left the range: slow, and right.
inline bool flags_are_up(bool with_underflow) {
    static const bool work = [] {
        volatile double small = 1e-300, large = 1e300, result;
        const Environment saved = current();
        set(standard);
        const bool none = !any_flag();
        result = small * small;
        const bool underflow = any_flag();
        set(standard);
        result = large * large;
        const bool overflow = any_flag();
        set(saved);
        (void)result;
        return none && underflow && overflow;
    }();
    return !work || any_flag(with_underflow);
}

#else

inline bool flags_are_up(bool) { return true; }

#endif
#endif

}  // namespace floating_point_detail

// For its lifetime the environment is that of IEEE 754.  Results must be written to memory before
// it ends: see `barrier`.
class FloatingPointGuard {
  public:
    FloatingPointGuard() : saved_(floating_point_detail::current()) {
        floating_point_detail::set(floating_point_detail::standard);
        floating_point_detail::barrier();
    }
    ~FloatingPointGuard() {
        floating_point_detail::barrier();
        floating_point_detail::set(saved_);
    }
    FloatingPointGuard(const FloatingPointGuard&) = delete;
    FloatingPointGuard& operator=(const FloatingPointGuard&) = delete;

  private:
    floating_point_detail::Environment saved_;
};

// Lower all flags.  Only behind a guard.
inline void watch_range() {
    floating_point_detail::set(floating_point_detail::standard);
    floating_point_detail::barrier();
}

// Has any operation since then left the range of double?  `results` is where they were written.
inline bool left_range(const void* results) {
    __asm__ volatile("" ::"r"(results) : "memory");
    return floating_point_detail::flags_are_up(true);
}

// The same, but results that were too small do not count.
inline bool overflowed(const void* results) {
    __asm__ volatile("" ::"r"(results) : "memory");
    return floating_point_detail::flags_are_up(false);
}

// The flags at one time, to go back to.  Only behind a guard.
class RangeFlags {
  public:
    RangeFlags() : saved_((floating_point_detail::barrier(), floating_point_detail::current())) {}
    void restore() const {
        floating_point_detail::barrier();
        floating_point_detail::set(saved_);
        floating_point_detail::barrier();
    }

  private:
    floating_point_detail::Environment saved_;
};

// In place of RangeFlags where the flags are not asked for.
struct NoRangeFlags {
    static void restore() {}
};

}  // namespace ARBORAND_ISA
}  // namespace arborand

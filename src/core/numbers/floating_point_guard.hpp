// Did a computation in double leave the range of double?
//
// The processor knows: an operation whose result is too small raises a sticky underflow flag, one
// whose result is too large an overflow flag.  Reading the flags after the fact costs nothing in
// the loops and misses nothing: if none is raised, every operation had its full relative accuracy.
// The converse does not hold (a product may underflow and be added to something large), and need
// not: the caller then repeats the work with UnboundedDouble.
//
// On a complete graph whose scores differ by less than 230 within a column no flag can go up:
// entries only grow when nodes are censored, so all stay above e^-230, and no operation multiplies
// more than three of them.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace arborand {
namespace ARBORAND_ISA {

// Also undoes, for its lifetime, what other libraries may have set: flush-to-zero, a rounding mode.
class FloatingPointGuard {
  public:
    FloatingPointGuard(const FloatingPointGuard&) = delete;
    FloatingPointGuard& operator=(const FloatingPointGuard&) = delete;

#if defined(__x86_64__)
    // The C library's functions also save and restore the x87 unit, which takes longer than the
    // work on a small graph; doubles live in the SSE unit alone.
    FloatingPointGuard() : saved_(_mm_getcsr()) { watch(); }
    ~FloatingPointGuard() { _mm_setcsr(saved_); }

    void watch() {
        _mm_setcsr(default_state);
        barrier();
    }
    bool left_range() const {
        barrier();
        return (_mm_getcsr() & (invalid | division | overflow | underflow)) != 0;
    }

  private:
    static constexpr unsigned default_state = 0x1f80;  // round to nearest, all exceptions masked
    static constexpr unsigned invalid = 0x01, division = 0x04, overflow = 0x08, underflow = 0x10;
    unsigned saved_;

    // The compiler may not move what is written to memory across this.
    static void barrier() { __asm__ volatile("" ::: "memory"); }
#else
    FloatingPointGuard() {
        std::fegetenv(&saved_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~FloatingPointGuard() { std::fesetenv(&saved_); }

    void watch() { std::feclearexcept(FE_ALL_EXCEPT); }
    bool left_range() const {
        return std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW) != 0;
    }

  private:
    std::fenv_t saved_;
#endif
};

}  // namespace ARBORAND_ISA
}  // namespace arborand

// Four doubles side by side, in the vector extension of GCC and Clang.
//
// With AVX they are one register.  Elsewhere registers hold two doubles (SSE2, NEON), and GCC keeps
// a vector that does not fit into one of them in memory; so there they are two halves.  The results
// are the same bits either way.
#pragma once

#include <cstdint>

#include "types/index.hpp"

namespace arborand {
namespace ARBORAND_ISA {

constexpr Index vector_length = 4;

inline Index padded(Index count) {
    return (count + vector_length - 1) / vector_length * vector_length;
}

// How many of them a matrix product keeps in registers, beside those that it reads.
#if defined(__AVX__) || defined(__aarch64__)
constexpr int running_sums = 8;
#else
constexpr int running_sums = 4;
#endif

#if defined(__AVX__)

typedef double FourDoubles __attribute__((vector_size(32)));
typedef std::int64_t FourIntegers __attribute__((vector_size(32)));
typedef std::uint64_t FourUnsigned __attribute__((vector_size(32)));
typedef double UnalignedFourDoubles __attribute__((vector_size(32), aligned(8), may_alias));

inline FourDoubles load(const double* from) {
    return *reinterpret_cast<const UnalignedFourDoubles*>(from);
}
inline void store(double* to, FourDoubles x) { *reinterpret_cast<UnalignedFourDoubles*>(to) = x; }

// Where the mask is set, x; elsewhere y.
template <class Four>
inline Four select(FourIntegers mask, Four x, Four y) {
    return mask ? x : y;
}

// Four of the eight entries of x and y, by their places.
template <int a, int b, int c, int d>
inline FourDoubles shuffle(FourDoubles x, FourDoubles y) {
    return __builtin_shufflevector(x, y, a, b, c, d);
}

inline FourUnsigned bits_of(FourDoubles x) { return reinterpret_cast<FourUnsigned>(x); }
inline FourDoubles double_of(FourUnsigned bits) { return reinterpret_cast<FourDoubles>(bits); }

#else

typedef double TwoDoubles __attribute__((vector_size(16)));
typedef std::int64_t TwoIntegers __attribute__((vector_size(16)));
typedef std::uint64_t TwoUnsigned __attribute__((vector_size(16)));
typedef double UnalignedTwoDoubles __attribute__((vector_size(16), aligned(8), may_alias));

// What a vector of four offers, on two halves.
template <class Number, class Half>
struct TwoHalves {
    Half low, high;

    TwoHalves() = default;  // not set, as with vectors
    ARBORAND_INLINE TwoHalves(Half low, Half high) : low(low), high(high) {}
    ARBORAND_INLINE TwoHalves(Number x) : low{x, x}, high{x, x} {}
    ARBORAND_INLINE TwoHalves(Number a, Number b, Number c, Number d) : low{a, b}, high{c, d} {}

    ARBORAND_INLINE Number operator[](Index i) const { return i < 2 ? low[i] : high[i - 2]; }

    using Four = TwoHalves;
    using Mask = TwoHalves<std::int64_t, TwoIntegers>;
    friend ARBORAND_INLINE Four operator+(Four x, Four y) {
        return {x.low + y.low, x.high + y.high};
    }
    friend ARBORAND_INLINE Four operator-(Four x, Four y) {
        return {x.low - y.low, x.high - y.high};
    }
    friend ARBORAND_INLINE Four operator*(Four x, Four y) {
        return {x.low * y.low, x.high * y.high};
    }
    friend ARBORAND_INLINE Four operator/(Four x, Four y) {
        return {x.low / y.low, x.high / y.high};
    }
    friend ARBORAND_INLINE Four operator&(Four x, Four y) {
        return {x.low & y.low, x.high & y.high};
    }
    friend ARBORAND_INLINE Four operator|(Four x, Four y) {
        return {x.low | y.low, x.high | y.high};
    }
    friend ARBORAND_INLINE Four operator-(Four x) { return {-x.low, -x.high}; }
    friend ARBORAND_INLINE Four operator~(Four x) { return {~x.low, ~x.high}; }
    friend ARBORAND_INLINE Four operator<<(Four x, int n) { return {x.low << n, x.high << n}; }
    friend ARBORAND_INLINE Four operator>>(Four x, int n) { return {x.low >> n, x.high >> n}; }
    friend ARBORAND_INLINE Mask operator==(Four x, Four y) {
        return {x.low == y.low, x.high == y.high};
    }
    friend ARBORAND_INLINE Mask operator<(Four x, Four y) {
        return {x.low < y.low, x.high < y.high};
    }
    friend ARBORAND_INLINE Mask operator>(Four x, Four y) {
        return {x.low > y.low, x.high > y.high};
    }
    friend ARBORAND_INLINE Mask operator<=(Four x, Four y) {
        return {x.low <= y.low, x.high <= y.high};
    }
    friend ARBORAND_INLINE Mask operator>=(Four x, Four y) {
        return {x.low >= y.low, x.high >= y.high};
    }
    friend ARBORAND_INLINE Four& operator+=(Four& x, Four y) { return x = x + y; }
    friend ARBORAND_INLINE Four& operator-=(Four& x, Four y) { return x = x - y; }
    friend ARBORAND_INLINE Four& operator*=(Four& x, Four y) { return x = x * y; }
    friend ARBORAND_INLINE Four& operator&=(Four& x, Four y) { return x = x & y; }
    friend ARBORAND_INLINE Four& operator|=(Four& x, Four y) { return x = x | y; }
};

using FourDoubles = TwoHalves<double, TwoDoubles>;
using FourIntegers = TwoHalves<std::int64_t, TwoIntegers>;
using FourUnsigned = TwoHalves<std::uint64_t, TwoUnsigned>;

inline FourDoubles load(const double* from) {
    return {*reinterpret_cast<const UnalignedTwoDoubles*>(from),
            *reinterpret_cast<const UnalignedTwoDoubles*>(from + 2)};
}
inline void store(double* to, FourDoubles x) {
    *reinterpret_cast<UnalignedTwoDoubles*>(to) = x.low;
    *reinterpret_cast<UnalignedTwoDoubles*>(to + 2) = x.high;
}

// Where the mask is set, x; elsewhere y.
template <class Four>
ARBORAND_INLINE Four select(FourIntegers mask, Four x, Four y) {
    return {mask.low ? x.low : y.low, mask.high ? x.high : y.high};
}

// Four of the eight entries of x and y, by their places.
template <int a, int b, int c, int d>
ARBORAND_INLINE FourDoubles shuffle(FourDoubles x, FourDoubles y) {
    const TwoDoubles halves[] = {x.low, x.high, y.low, y.high};
    return {__builtin_shufflevector(halves[a / 2], halves[b / 2], a % 2, 2 + b % 2),
            __builtin_shufflevector(halves[c / 2], halves[d / 2], c % 2, 2 + d % 2)};
}

ARBORAND_INLINE FourUnsigned bits_of(FourDoubles x) {
    return {reinterpret_cast<TwoUnsigned>(x.low), reinterpret_cast<TwoUnsigned>(x.high)};
}
ARBORAND_INLINE FourDoubles double_of(FourUnsigned bits) {
    return {reinterpret_cast<TwoDoubles>(bits.low), reinterpret_cast<TwoDoubles>(bits.high)};
}

#endif

inline FourDoubles broadcast(double x) { return FourDoubles{x, x, x, x}; }
// In place of `load` where there are no four.
inline FourDoubles load_one(const double* from) { return broadcast(*from); }

inline bool all(FourIntegers mask) { return (mask[0] & mask[1] & mask[2] & mask[3]) != 0; }
inline bool any(FourIntegers mask) { return (mask[0] | mask[1] | mask[2] | mask[3]) != 0; }

inline double higher(double x, double y) { return x > y ? x : y; }
inline double highest_of(FourDoubles x) { return higher(higher(x[0], x[1]), higher(x[2], x[3])); }

}  // namespace ARBORAND_ISA
}  // namespace arborand

// Arcs that no result in float64 can depend on.
//
// Entries of the rows are at most 1, and there are (n + 1)^(n - 1) spanning trees.  So all trees
// that use an arc whose entry is below e^-t have together at most the weight (n + 1)^(n - 1) e^-t.
// Where that is less than e^-800 times Z of the rows without these arcs, the trees that use one of
// them have together a probability below e^-800: 2^-80 times the smallest positive double.
// docs/mathematics.md shows for each result that it is then the same without them.
#pragma once

#include <cmath>
#include <cstdint>

#include "numbers/logarithm.hpp"
#include "numbers/unbounded_double.hpp"
#include "types/index.hpp"

namespace arborand {
namespace ARBORAND_ISA {

constexpr double negligible_log_probability = -800.0;

// Whether arcs whose shifted scores are at most `highest_lost` may be missing from the rows of a
// walk; `partition` is Z of these rows, 0 if it is not known.
inline bool is_negligible(double highest_lost, UnboundedDouble partition, Index num_words) {
    if (!is_positive(partition)) return false;
    const double n = static_cast<double>(num_words);
    // Shifted scores and logarithms are right to a few 2^-53 of themselves.
    constexpr double rounding = 1.0 / (std::int64_t{1} << 48);
    const double log_partition = log_of(partition);
    const double allowed = log_partition + negligible_log_probability - (n - 1.0) * log_of(n + 1.0);
    return highest_lost * (1.0 - rounding) <
           allowed - rounding * (n * n + std::fabs(log_partition));
}

}  // namespace ARBORAND_ISA
}  // namespace arborand

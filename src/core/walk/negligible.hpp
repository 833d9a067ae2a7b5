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

#include "numbers/exponential.hpp"
#include "numbers/logarithm.hpp"
#include "numbers/sums.hpp"
#include "numbers/unbounded_double.hpp"
#include "types/index.hpp"
#include "walk/rows.hpp"

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

// The logarithm of the product of all column sums, each at least 1, of the walk in `rows`.
inline double log_of_sums(const double* rows, Index num_words) {
    UnboundedDouble product(1.0, 0.0);
    for (Index j = 0; j < num_words; ++j) {
        const double total = sum(rows + j * walk_stride(num_words), num_words + 1);
        if (total > 1) product = product * UnboundedDouble(total);
    }
    return log_of(product);
}

// Numbers too small for double, be they arcs or results of the elimination, act as arcs whose
// weights are off by less than 2^-1021, and a tree has at most the weight of the product of the
// other columns' sums beside such an arc.  There are less than (n + 1)^5 of them, all that follows
// from one counted.  So if their sum is less than 2^-64 of Z, then Z, and the law of a draw, are
// wrong by no more: as much as alias tables round.  This is that bound minus log Z; for entries of
// small probability it says nothing.
inline double log_lost_share(double log_sums, UnboundedDouble partition, Index num_words) {
    if (!is_positive(partition)) return HUGE_VAL;
    constexpr double lost = -1021 * ln2_high, tolerated = -64 * ln2_high;
    const double count = 5.0 * log_of(static_cast<double>(num_words) + 1.0);
    return log_sums + lost + count + 1.0 - tolerated - log_of(partition);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand

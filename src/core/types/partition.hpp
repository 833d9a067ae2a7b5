// log Z, and what the log-probability of a tree needs besides.
#pragma once

namespace arborand {

// log Z = (the sum of column_shift) + root_shift + reduced + reduced_error; walk/shift.hpp says
// what the shifts are.
struct PartitionOutput {
    double log_partition;
    double reduced;
    double reduced_error;  // what rounding took from `reduced` and from `root_shift`
    double root_shift;
    double* column_shift;  // num_words + 1 entries
};

}  // namespace arborand

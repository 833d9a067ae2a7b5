// The parts of the core, one by one, for the tests in this folder: plain functions that ctypes can
// call.  Compiled once per instruction set, with the options of the kernels, into a library of its
// own that no wheel contains.
#include <cstdint>
#include <new>
#include <vector>

#include "elimination/censoring.hpp"
#include "elimination/small_sets.hpp"
#include "inference/covariances.hpp"
#include "inference/cumulants.hpp"
#include "inference/entropy_gradient.hpp"
#include "inference/log_partition.hpp"
#include "numbers/exact_arithmetic.hpp"
#include "numbers/exactly_scaled.hpp"
#include "numbers/exponential.hpp"
#include "numbers/fixed_point.hpp"
#include "numbers/logarithm.hpp"
#include "numbers/matrix_product.hpp"
#include "numbers/row_copies.hpp"
#include "numbers/sums.hpp"
#include "numbers/unbounded_double.hpp"
#include "python/groups.hpp"
#include "randomness/alias_table.hpp"
#include "randomness/exact_choice.hpp"
#include "randomness/philox.hpp"
#include "randomness/sum_tree.hpp"
#include "walk/negligible.hpp"
#include "walk/shift.hpp"

using namespace arborand;
using namespace arborand::ARBORAND_ISA;

namespace {

// Numbers of 128 bits are passed as (high, low).
UInt128 joined(const std::uint64_t* halves) {
    return static_cast<UInt128>(halves[0]) << 64 | halves[1];
}

void split(UInt128 number, std::uint64_t* halves) {
    halves[0] = high_half(number);
    halves[1] = low_half(number);
}

// A mantissa and an exponent cross it as two doubles.
UnboundedDouble unbounded(const double* parts) {
    UnboundedDouble number;
    number.mantissa = parts[0];
    number.exponent = parts[1];
    return number;
}

void store_parts(UnboundedDouble number, double* parts) {
    parts[0] = number.mantissa;
    parts[1] = number.exponent;
}

void store_output(const PartitionOutput& output, double* numbers) {
    numbers[0] = output.log_partition;
    numbers[1] = output.reduced;
    numbers[2] = output.reduced_error;
    numbers[3] = output.root_shift;
}

}  // namespace

extern "C" {

// ---- randomness

void stream_numbers(const std::uint64_t* key, std::uint64_t graph, std::uint64_t draw,
                    std::uint64_t purpose, Index count, std::uint64_t* numbers) {
    Stream stream(StreamKey{{key[0], key[1]}}, graph, draw, purpose);
    for (Index i = 0; i < count; ++i) numbers[i] = stream.next();
}

void alias_table(const double* weights, Index count, std::uint64_t* thresholds,
                 std::uint32_t* aliases) {
    const std::size_t size = static_cast<std::size_t>(count);
    std::vector<Slot> table(size);
    std::vector<UInt128> scaled(size);
    std::vector<std::uint32_t> stack(size);
    build_alias(weights, count, table.data(), {scaled.data(), stack.data()});
    for (std::size_t i = 0; i < size; ++i) {
        thresholds[i] = table[i].threshold;
        aliases[i] = table[i].alias;
    }
}

void alias_outcomes(const std::uint64_t* thresholds, const std::uint32_t* aliases, Index count,
                    const std::uint64_t* numbers, Index num_numbers, std::uint32_t* outcomes) {
    std::vector<Slot> table;
    for (Index i = 0; i < count; ++i) table.push_back({thresholds[i], aliases[i]});
    for (Index i = 0; i < num_numbers; ++i) {
        outcomes[i] = draw_alias(table.data(), static_cast<std::uint64_t>(count), numbers[i]);
    }
}

void fixed_point_of(double x, std::uint64_t* halves) { split(fixed_point(x), halves); }

void high_product_of(const std::uint64_t* x, const std::uint64_t* y, std::uint64_t* halves) {
    split(high_product(joined(x), joined(y)), halves);
}

Index exact_choice(const double* chances, Index count, const std::uint64_t* number) {
    return chosen_index(chances, count, joined(number));
}

// ---- sum trees

void* new_sum_tree() { return new (std::nothrow) SumTree<UnboundedDouble>; }
void free_sum_tree(void* tree) { delete static_cast<SumTree<UnboundedDouble>*>(tree); }
bool sum_tree_reserve(void* tree, Index count) {
    return static_cast<SumTree<UnboundedDouble>*>(tree)->reserve(count);
}
void sum_tree_set(void* tree, Index i, const double* mass) {
    static_cast<SumTree<UnboundedDouble>*>(tree)->set(i, unbounded(mass));
}
void sum_tree_total(void* tree, double* total) {
    store_parts(static_cast<SumTree<UnboundedDouble>*>(tree)->total(), total);
}
// Draws 0 .. count - 1, each from its own stream.
void sum_tree_draws(void* tree, const std::uint64_t* key, Index count, Index* drawn) {
    for (Index i = 0; i < count; ++i) {
        Stream stream(StreamKey{{key[0], key[1]}}, 0, static_cast<std::uint64_t>(i));
        drawn[i] = static_cast<SumTree<UnboundedDouble>*>(tree)->draw(stream);
    }
}

// ---- numbers

void unbounded_from_double(double x, double* result) { store_parts(UnboundedDouble(x), result); }
double unbounded_to_double(const double* x) { return to_double(unbounded(x)); }
void unbounded_add(const double* x, const double* y, double* result) {
    store_parts(unbounded(x) + unbounded(y), result);
}
void unbounded_multiply(const double* x, const double* y, double* result) {
    store_parts(unbounded(x) * unbounded(y), result);
}
void unbounded_divide(const double* x, const double* y, double* result) {
    store_parts(unbounded(x) / unbounded(y), result);
}
void unbounded_log(const double* x, double* high_and_low) {
    const Logarithm log = log_parts(unbounded(x));
    high_and_low[0] = log.high;
    high_and_low[1] = log.low;
}

void exact_differences(const double* x, const double* y, Index count, double* high, double* low) {
    for (Index i = 0; i < count; ++i) {
        const Difference d = exact_difference(x[i], y[i]);
        high[i] = d.high;
        low[i] = d.low;
    }
}

void exponentials(const double* high, const double* low, Index count, double* results) {
    for (Index i = 0; i < count; ++i) results[i] = exp_in_range(Difference{high[i], low[i]});
}

// The same by vectors; `count` is a multiple of four.
void exponentials_by_four(const double* high, const double* low, Index count, double* results) {
    for (Index i = 0; i < count; i += vector_length) {
        store(results + i, exp_in_range(DifferenceOf<FourDoubles>{load(high + i), load(low + i)}));
    }
}

void unbounded_exponential(double high, double low, double* result) {
    store_parts(unbounded_exp(Difference{high, low}), result);
}

double exponential(double x) { return exp_of(x); }
double logarithm(double x) { return log_of(x); }
double logarithm_of_1_plus(double x) { return log1p_of(x); }
void logarithms(double* x, Index count) { take_logarithms(x, count); }
bool logarithms_of_weights(const double* weights, double* results, Index count) {
    return take_logarithms_of_weights(weights, results, count);
}
void logarithm_row(Index row, double* inverse_and_log) {
    inverse_and_log[0] = logarithm_table::rows[row].inverse;
    inverse_and_log[1] = logarithm_table::rows[row].log;
}

void exact_products(const double* x, const double* y, Index count, double* high, double* low) {
    for (Index i = 0; i < count; ++i) {
        const ProductOf<double> product = exact_product(x[i], y[i]);
        high[i] = product.high;
        low[i] = product.low;
    }
}

void copied_row(const double* from, Index count, double* to) { copy_row(to, from, count); }

void transposed(const double* from, Index rows, Index columns, double* to) {
    copy_transposed(to, rows, from, columns, rows, columns);
}

double ordered_sum(const double* x, Index count) { return sum(x, count); }

double compensated_sum(const double* x, Index count) {
    CompensatedSum sum;
    for (Index i = 0; i < count; ++i) sum.add(x[i]);
    return sum.value();
}

// A sum, some of whose terms are subtracted, without rounding; then in two parts.
void exact_sum(const double* x, const bool* is_subtracted, Index count, double* high_and_low) {
    ExactSum sum;
    for (Index i = 0; i < count; ++i) {
        if (is_subtracted[i]) {
            sum -= ExactSum(x[i]);
        } else {
            sum += ExactSum(x[i]);
        }
    }
    const Difference d = sum.rounded();
    high_and_low[0] = d.high;
    high_and_low[1] = d.low;
}

// log(sum over i of e^(sum over k of scores[i, k])), relative to the first term.
double exactly_scaled_log_ratio(const double* scores, Index num_terms, Index num_factors) {
    ExactlyScaled total, first;
    for (Index i = 0; i < num_terms; ++i) {
        ExactlyScaled term(1.0);
        for (Index k = 0; k < num_factors; ++k) {
            term = term * ExactlyScaled::exp_of(scores[i * num_factors + k]);
        }
        if (i == 0) first = term;
        total += term;
    }
    return log_of(total / first);
}

double exponential_minus_1(double x) { return expm1_of(x); }

void matrix_product(double* c, const double* d, const double* a, const double* b, Index rows,
                    Index depth, Index columns, bool transposed) {
    const Strided<double> left =
        transposed ? Strided<double>{a, 1, rows} : Strided<double>{a, depth, 1};
    set_to_product(c, columns, {d, columns}, left, b, columns, rows, depth, columns);
}

// ---- the walk

// The shifts of a dependency tree's graph: (root, root_rest), and one per column.
void shift_of(const double* log_weights, Index num_words, bool single_root, double* columns,
              double* root_and_rest) {
    const Graph graph{log_weights, num_words + 1, num_words, static_cast<TreeKind>(single_root)};
    Shift shift{columns};
    compute_shift(graph, shift);
    root_and_rest[0] = shift.root;
    root_and_rest[1] = shift.root_rest;
}

// Whether arcs of at most such a score may be left out beside Z, and by how much what double may
// lose is above what is tolerated.
bool negligible(double highest_lost, const double* partition, Index num_words) {
    return is_negligible(highest_lost, unbounded(partition), num_words);
}

double lost_share(double log_sums, const double* partition, Index num_words) {
    return log_lost_share(log_sums, unbounded(partition), num_words);
}

// ---- elimination

// rows[size, size + 2]: the weights of the nodes, a, b.  Every node survives in turn: chances[node,
// other], escapes[node], orders[node].  False: a dead end.
bool survivors(const double* rows, Index size, bool by_four, double* chances, double* escapes,
               Index* orders) {
    const double* row[largest_small_set];
    for (Index j = 0; j < size; ++j) row[j] = rows + j * (size + num_root_columns);
    Pivots<double> pivots;
    double chance[vector_length][largest_small_set];
    Survivor<double> survivor[vector_length];
    const Index at_once = by_four ? vector_length : 1;
    for (Index first = 0; first < size; first += at_once) {
        for (Index r = 0; r < at_once; ++r) survivor[r].node = first + r < size ? first + r : first;
        if (by_four) {
            censor_all_but_one<FourDoubles>(row, size, survivor, chance, pivots);
        } else {
            censor_all_but_one<double>(row, size, survivor, chance, pivots);
        }
        for (Index r = 0; r < at_once && first + r < size; ++r) {
            const Index node = first + r;
            escapes[node] = survivor[r].escape;
            orders[node] = order_of(survivor[r].at_once);
            for (Index i = 0; i < size; ++i) chances[node * size + i] = chance[r][i];
        }
    }
    return !pivots.dead_end;
}

// Censor the first `count` of the nodes of rows[count, columns], laid out as `Rows` says; the
// product of the pivots.
void absorb_rows(double* rows, Index count, Index others, Index end, Index stride, double* product,
                 Index* first_order, bool* dead_end) {
    Pivots<double> pivots;
    absorb(Rows<double>{rows, count, others, end, stride}, pivots, Interrupt{});
    store_parts(pivots.product, product);
    *first_order = pivots.first_order;
    *dead_end = pivots.dead_end;
}

// ---- four graphs at once

// What is asked of one graph or of four: tests/core/parts.py has the same list.
enum class Question {
    log_partition,
    marginals,
    covariances,
    cumulants,
    root_marginals,
    entropy,
    entropy_gradient
};

// Of scores[count, m, m], without anything where there are no arcs, and of directions of the same
// shape: numbers[count, 4 + m], log Z and what it is made of, or the entropy, or the steps of a
// walk; and matrices[count, m, m].  Of four graphs at once, false says that they have to be solved
// one by one.
bool answer(Question question, const double* scores, const double* directions, Index count,
            Index num_words, bool single_root, double* numbers, double* matrices) {
    const Index size = num_words + 1, area = size * size;
    Graph graphs[graphs_at_once];
    PartitionOutput outputs[graphs_at_once] = {};
    const double *of_directions[graphs_at_once], *of_scores[graphs_at_once];
    double* of_matrices[graphs_at_once];
    double entropies[graphs_at_once] = {};
    for (Index g = 0; g < count; ++g) {
        graphs[g] = {scores + g * area, size, num_words, static_cast<TreeKind>(single_root)};
        outputs[g].column_shift = numbers + g * (4 + size) + 4;
        of_directions[g] = directions + g * area;
        of_scores[g] = graphs[g].log_weights;
        of_matrices[g] = matrices + g * area;
    }
    const FloatingPointGuard guard;
    const Interrupt interrupt;
    Scratch scratch;
    Arena arena(scratch);
    const bool at_once = count == graphs_at_once;
    const auto solved = [&](auto work) {
        return at_once ? attempt_four(graphs, work, arena, interrupt)
                       : solve(graphs[0], work, arena, interrupt);
    };
    Status status = Status::ok;
    if (question == Question::log_partition) {
        LogPartition work{outputs};
        status = at_once ? attempt_four_as_a_whole(graphs, work, arena, interrupt)
                         : solve_as_a_whole(graphs[0], work, arena, interrupt);
    } else if (question == Question::marginals) {
        status = solved(LogPartitionAndMarginals{{outputs}, {of_matrices, size}});
    } else if (question == Question::covariances) {
        status = solved(ArcCovariances{of_directions, size, of_matrices, size});
    } else if (question == Question::cumulants) {
        status = solved(ArcCumulants{of_directions, of_scores, of_matrices, size});
    } else if (question == Question::root_marginals && single_root) {
        status = solved(DependencyRootMarginals{of_matrices});
    } else if (question == Question::root_marginals) {
        status = solved(SpanningRootMarginals{of_matrices, entropies});
    } else if (question == Question::entropy && at_once) {
        EntropiesFromPartitions work{entropies};
        status = attempt_four(graphs, work, arena, interrupt);
        if (status == Status::ok) status = work.find_others(graphs, count, arena, interrupt);
    } else if (question == Question::entropy) {
        status = find_entropy(graphs[0], entropies[0], arena, interrupt);
    } else if (at_once) {
        CovariancesWithScores work{{of_scores, size, of_matrices, size, -1.0}, {entropies}};
        status = attempt_four(graphs, work, arena, interrupt);
        if (status == Status::ok) {
            status = work.entropies.find_others(graphs, count, arena, interrupt);
        }
    } else {
        status = find_entropy_gradients(graphs, 1, of_matrices, size, entropies, arena, interrupt);
    }
    for (Index g = 0; g < count; ++g) {
        const bool is_number = question >= Question::root_marginals;
        if (is_number) outputs[g].log_partition = entropies[g];
        store_output(outputs[g], numbers + g * (4 + size));
    }
    return status == Status::ok;
}

// The graphs of each group one after the other, and where groups end; the number of groups.
Index groups_of(const Index* lengths, Index count, Index workers, Index* graphs, Index* ends) {
    const Groups groups(count, static_cast<int>(workers), [=](Index g) { return lengths[g]; });
    Index end = 0;
    for (Index i = 0; i < groups.count(); ++i) {
        const Group group = groups[i];
        for (Index k = 0; k < group.count; ++k) graphs[end++] = group.graphs[k];
        ends[i] = end;
    }
    return groups.count();
}

}  // extern "C"

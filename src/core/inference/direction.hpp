// A direction of the scores: a number for every arc, made ready to be carried by an elimination.
#pragma once

#include <cmath>

#include "numbers/bits.hpp"
#include "numbers/of_four_graphs.hpp"
#include "numbers/row_copies.hpp"
#include "types/graph.hpp"
#include "types/index.hpp"
#include "walk/problem_of_four_graphs.hpp"

namespace arborand {
namespace ARBORAND_ISA {

namespace direction_detail {

// Directions are divided by a power of two, so that neither huge nor tiny ones leave the range.
inline int exponent_of(const Graph& graph, const double* values, Index stride) {
    FourDoubles largest = broadcast(0.0);
    const auto note = [&](FourDoubles score, FourDoubles value) {
        // Where there is no arc, it may be anything, and to compare it may raise a flag.
        const FourDoubles zero = broadcast(0.0);
        const FourDoubles of_arc = select(score > broadcast(-HUGE_VAL), value, zero);
        const FourDoubles size = select(of_arc > zero, of_arc, -of_arc);
        largest = select(size > largest, size, largest);
    };
    for (Index i = 0; i <= graph.num_words; ++i) {
        const double* scores = graph.log_weights + i * graph.stride + 1;
        const double* of_head = values + i * stride + 1;
        in_vectors(
            graph.num_words, [&](Index j) { note(load(scores + j), load(of_head + j)); },
            [&](Index j) { note(broadcast(scores[j]), broadcast(of_head[j])); });
    }
    const double size = highest_of(largest);
    const int exponent = size > 0 ? std::ilogb(size) : 0;
    return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}

// All trees have one arc into a node, so that a constant may be subtracted from a column.  That of
// the heaviest arc makes the tangents of a nearly certain tree vanish.  gauge[dependent - 1].
inline void find_gauge(const Graph& graph, const double* values, Index stride, double* gauge) {
    const auto heaviest = [&](const auto& at, Index j) {
        FourDoubles highest = at(graph.log_weights + j + 1), value = at(values + j + 1);
        for (Index i = 1; i <= graph.num_words; ++i) {
            const FourDoubles score = at(graph.log_weights + i * graph.stride + j + 1);
            const FourIntegers is_higher = score > highest;
            highest = select(is_higher, score, highest);
            value = select(is_higher, at(values + i * stride + j + 1), value);
        }
        return value;
    };
    in_vectors(
        graph.num_words, [&](Index j) { store(gauge + j, heaviest(load, j)); },
        [&](Index j) { gauge[j] = heaviest(load_one, j)[0]; });
}

}  // namespace direction_detail

template <class Real>  // double or OfFourGraphs
struct Direction {
    const double* const* values;  // [head * stride + dependent] of each graph, finite on every arc
    Index stride;
    Real* gauge;  // n + 1
    Real scale;   // covariances are in proportion to this
    Real unscale;

    static std::size_t workspace(Index n) {
        return Arena::rounded<Real>(n + 1) + Arena::rounded<double>(n);
    }

    template <class Scalar>
    Direction(Problem<Scalar>& problem, const double* const* values, Index stride)
        : values(values), stride(stride) {
        using namespace direction_detail;
        const Index n = problem.graph.num_words;
        gauge = problem.arena.template take<Real>(n + 1);
        double* of_heaviest = problem.arena.template take<double>(n);
        for (Index g = 0; g < num_graphs<Real>; ++g) {
            const Graph& graph = of_graph(problem, g).graph;
            const int exponent = exponent_of(graph, values[g], stride);
            of_graph(scale, g) = power_of_two(exponent);
            of_graph(unscale, g) = power_of_two(-exponent);
            find_gauge(graph, values[g], stride, of_heaviest);
            for (Index j = 0; j < n; ++j) {
                of_graph(gauge[j + 1], g) = of_heaviest[j] * power_of_two(-exponent);
            }
        }
    }

    // Of an arc; 0 in graphs in which its weight is 0.
    template <class Scalar>
    Real operator()(const Scalar& weight, Index head, Index dependent) const {
        const Real value = entry_of<Real>(values, head * stride + dependent);
        const auto is_arc = are_positive(weight);
        const Real zero(0.0);
        return choose(is_arc, value, zero) * unscale - choose(is_arc, gauge[dependent], zero);
    }
};

// Make numbers that carry something of a walk (walk/rows.hpp): make(weight, head, dependent) for
// every arc, 0 elsewhere.
template <class Scalar, class Number, class Make>
void fill_carrying(const Scalar* walk, Index n, Index width, Number* to, const Make& make) {
    for (Index j = 0; j < n; ++j, walk += width, to += width) {
        for (Index i = 0; i < width; ++i) {
            const Index head = i < n ? i + 1 : 0;
            const bool is_arc = head != j + 1 && !is_zero(walk[i]);
            to[i] = is_arc ? make(walk[i], head, j + 1) : Number();
        }
    }
}

}  // namespace ARBORAND_ISA
}  // namespace arborand

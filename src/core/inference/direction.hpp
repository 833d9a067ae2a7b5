// A direction of the scores: a number for every arc, made ready to be carried by an elimination.
#pragma once

#include <cmath>

#include "numbers/bits.hpp"
#include "types/graph.hpp"
#include "types/index.hpp"

namespace arborand {
namespace ARBORAND_ISA {

struct Direction {
    const double* values;  // [head * stride + dependent], finite on every arc
    Index stride;
    double* gauge = nullptr;  // n + 1
    int exponent = 0;

    // With room for n + 1 numbers.
    void prepare(const Graph& graph, double* room) {
        gauge = room;
        find_exponent(graph);
        find_gauge(graph);
    }

    // Covariances are in proportion to this.
    double scale() const { return power_of_two(exponent); }

    double operator()(Index head, Index dependent) const {
        const double unscale = power_of_two(-exponent);
        return at(head, dependent) * unscale - gauge[dependent] * unscale;
    }

  private:
    double at(Index head, Index dependent) const { return values[head * stride + dependent]; }

    // Directions are divided by a power of two, so that neither huge nor tiny ones leave the range.
    void find_exponent(const Graph& graph) {
        double largest = 0.0;
        for (Index i = 0; i <= graph.num_words; ++i) {
            for (Index j = 1; j <= graph.num_words; ++j) {
                if (graph.score(i, j) == -HUGE_VAL) continue;
                const double x = std::fabs(at(i, j));
                largest = x > largest ? x : largest;
            }
        }
        exponent = largest > 0 ? std::ilogb(largest) : 0;
        exponent = exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
    }

    // All trees have one arc into a node, so that a constant may be subtracted from a column.  That
    // of the heaviest arc makes the tangents of a nearly certain tree vanish.
    void find_gauge(const Graph& graph) {
        for (Index j = 1; j <= graph.num_words; ++j) {
            Index heaviest = 0;
            for (Index i = 1; i <= graph.num_words; ++i) {
                if (graph.score(i, j) > graph.score(heaviest, j)) heaviest = i;
            }
            gauge[j] = at(heaviest, j);
        }
    }
};

// Make numbers that carry something of a walk (walk/rows.hpp): make(weight, head, dependent) for
// every arc, 0 elsewhere.
template <class Scalar, class Number, class Make>
void fill_carrying(const Scalar* walk, Index n, Index width, Number* to, const Make& make) {
    for (Index j = 0; j < n; ++j, walk += width, to += width) {
        for (Index i = 0; i < width; ++i) {
            const Index head = i < n ? i + 1 : 0;
            const bool is_arc = head != j + 1 && is_positive(walk[i]);
            to[i] = is_arc ? make(walk[i], head, j + 1) : Number();
        }
    }
}

}  // namespace ARBORAND_ISA
}  // namespace arborand

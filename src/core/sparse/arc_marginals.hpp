// The probability of an arc, and the entropy of all trees, from entries of the inverse Laplacian.
//
// With G = inverse of the Laplacian, the head of j is h with probability
//
//     P(j -> h) = w(j -> h) (G(j, j) - G(h, j)),      P(j -> root) = w(j -> root) G(j, j),
//
// and all these entries belong to pairs of nodes next to each other (docs/mathematics.md).  The
// difference is the one subtraction here: `rounding` is the size of what was subtracted, in units
// of the result, and tells how many digits are left.
//
// The entropy is log Z minus the mean log-weight of a tree.  Both are taken relative to the largest
// weight of each row, which every tree contains once: then the size of the weights does not matter.
#pragma once

#include <algorithm>
#include <cmath>

#include "numbers/sums.hpp"
#include "sparse/elimination.hpp"
#include "sparse/selected_inverse.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

// A number, and the size of the numbers whose rounding errors it bears.
struct Rounded {
    double value = 0.0, rounding = 0.0;
};

template <class Scalar>
class ArcMarginals {
  public:
    ArcMarginals(const CompressedRows& rows, Node root, const EliminationStructure& structure,
                 const Factors<Scalar>& factors, const SelectedInverse<Scalar>& inverse)
        : rows_(rows), root_(root), structure_(structure), factors_(factors), inverse_(inverse) {}

    // Of an edge with this log-weight from a head to a dependent, which may be part of an arc.
    Rounded marginal(Node dependent, Node head, double log_weight) const {
        if (dependent == root_) return {};
        const Node x = structure_.place[dependent];
        Scalar weight;
        relative_to(log_weight, factors_.largest[x], weight);
        const double alone = to_double(weight * inverse_.diagonal[x]);
        if (head == root_) return {std::min(alone, 1.0), 0.0};
        const Node y = structure_.place[head];
        const std::uint64_t e = structure_.entry(std::min(x, y), std::max(x, y));
        const double both = to_double(weight * (x < y ? inverse_.down[e] : inverse_.up[e]));
        return {std::min(std::max(alone - both, 0.0), 1.0), alone};
    }

    Rounded entropy() const {
        CompensatedSum sum;
        Rounded answer;
        for (std::size_t p = 0; p < structure_.order.size(); ++p) {
            const Logarithm log = log_parts(to_unbounded(factors_.pivot[p]));
            sum.add(log.high);
            sum.add(log.low);
            answer.rounding += 1.0 + std::fabs(log.high);
            const Node node = structure_.order[p];
            for (Index a = rows_.begin(node); a < rows_.end(node); ++a) {
                const Rounded arc = marginal(node, rows_.head(a), rows_.log_weight(a));
                const double below = factors_.largest[p] - rows_.log_weight(a);
                // What is never drawn counts for nothing, even if its logarithm is beyond all.
                if (arc.value > 0) sum.add(arc.value * below);
                answer.rounding += (arc.rounding + arc.value) * std::min(below, 1e300);
            }
        }
        answer.value = std::max(sum.value(), 0.0);
        return answer;
    }

  private:
    const CompressedRows& rows_;
    Node root_;
    const EliminationStructure& structure_;
    const Factors<Scalar>& factors_;
    const SelectedInverse<Scalar>& inverse_;
};

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand

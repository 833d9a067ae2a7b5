// Entries of the inverse Laplacian where elimination had entries, without subtraction.
//
// G = inverse of the (scaled) Laplacian, that is G(i, j) = the expected visits to j of the walk
// from i, divided by the sum of row j.  Backwards through the elimination (Takahashi, Fagan and
// Chin 1973), with T(p, i) = out / s and U(j, p) = in / s:
//
//     G(p, j) = sum_i T(p, i) G(i, j),    G(j, p) = sum_i G(j, i) U(i, p),
//     G(p, p) = 1 / s + sum_i T(p, i) G(i, p),
//
// where all the entries on the right belong to pairs of nodes next to p, and so are there.  These
// are sums of products of non-negative numbers: each keeps a small relative error.
//
// Cost: about twice that of the elimination.
#pragma once

#include <vector>

#include "sparse/elimination.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

template <class Scalar>
struct SelectedInverse {
    std::vector<Scalar> diagonal;  // G(p, p)
    std::vector<Scalar> up, down;  // G(p, j) and G(j, p) by entry (p, j), j after p

    Status compute(const EliminationStructure& structure, const Factors<Scalar>& factors,
                   const Interrupt& interrupt) {
        const std::uint64_t* const begin = structure.begin.data();
        const Node* const next = structure.next.data();
        diagonal.assign(structure.order.size(), Scalar(0.0));
        up.assign(structure.next.size(), Scalar(0.0));
        down.assign(structure.next.size(), Scalar(0.0));
        std::uint64_t since_question = 0;
        for (Index p = structure.size() - 1; p >= 0; --p) {
            const std::uint64_t first = begin[p], last = begin[p + 1];
            since_question += 64 + (last - first) * (last - first);
            if (since_question > 1 << 20) {
                since_question = 0;
                if (interrupt.requested()) return Status::interrupted;
            }
            for (std::uint64_t x = first; x < last; ++x) {
                up[x] += factors.steps[x].out * diagonal[next[x]];
                down[x] += diagonal[next[x]] * factors.steps[x].in;
                std::uint64_t at = begin[next[x]];
                for (std::uint64_t y = x + 1; y < last; ++y, ++at) {
                    while (next[at] != next[y]) ++at;
                    up[x] += factors.steps[y].out * down[at];
                    up[y] += factors.steps[x].out * up[at];
                    down[x] += up[at] * factors.steps[y].in;
                    down[y] += down[at] * factors.steps[x].in;
                }
            }
            const Scalar s = factors.pivot[static_cast<std::size_t>(p)];
            Scalar sum = Scalar(1.0);
            for (std::uint64_t x = first; x < last; ++x) {
                up[x] = up[x] / s;
                down[x] = down[x] / s;
                sum += factors.steps[x].out * down[x];
            }
            diagonal[static_cast<std::size_t>(p)] = sum / s;
        }
        return Status::ok;
    }
};

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand

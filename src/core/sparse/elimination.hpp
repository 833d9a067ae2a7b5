// Elimination without subtraction in a sparse order: log Z, and the factors for everything else.
//
// The censoring of elimination/censoring.hpp, node by node: taking node p out of the walk passes
// its steps on to those that led to it,
//
//     w(j -> i) += w(j -> p) w(p -> i) / s(p),      a(j) += w(j -> p) a(p) / s(p),
//
// with a(.) the weight of stepping to the root and the pivot s(p) the sum of all steps that leave
// p.  Only neighbours of p are touched, in either direction, so the structure is that of a Cholesky
// factorisation of the symmetric graph.  Rows are scaled by their largest weight first.
//
// What is kept of p, at the moment it is taken out: the steps from it (`out`) and to it (`in`) for
// each node next to it, a(p) and s(p).
//
// Cost: see EliminationPlan; memory 20 bytes per entry of the fill.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "numbers/logarithm.hpp"
#include "numbers/residue.hpp"
#include "numbers/sums.hpp"
#include "numbers/unbounded_double.hpp"
#include "sparse/compressed_rows.hpp"
#include "types/status.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

// Who is next to whom when taken out.  Nodes are named by their place in the order.
struct EliminationStructure {
    std::vector<Node> order;           // place -> node
    std::vector<Node> place;           // node -> place; the root has none
    std::vector<std::uint64_t> begin;  // of each place's entries, and one past the last
    std::vector<Node> next;            // the places next to it that come later, ascending

    Index size() const { return static_cast<Index>(order.size()); }

    EliminationStructure(const CompressedRows& rows, Node root, std::vector<Node> given)
        : order(std::move(given)), place(static_cast<std::size_t>(rows.num_nodes()), ~Node{0}) {
        const std::size_t n = order.size();
        for (std::size_t p = 0; p < n; ++p) place[order[p]] = static_cast<Node>(p);
        // Arcs by the end that goes first.
        std::vector<Node> first_begin(n + 1, 0), later;
        const auto for_each_pair = [&](const auto& visit) {
            for (std::size_t p = 0; p < n; ++p) {
                const Index node = order[p];
                for (Index a = rows.begin(node); a < rows.end(node); ++a) {
                    if (rows.head(a) == root) continue;
                    const Node x = static_cast<Node>(p), y = place[rows.head(a)];
                    visit(std::min(x, y), std::max(x, y));
                }
            }
        };
        for_each_pair([&](Node x, Node) { ++first_begin[x + 1]; });
        for (std::size_t p = 0; p < n; ++p) first_begin[p + 1] += first_begin[p];
        later.resize(first_begin[n]);
        std::vector<Node> fill(first_begin.begin(), first_begin.end() - 1);
        for_each_pair([&](Node x, Node y) { later[fill[x]++] = y; });

        // Those next to p: its own, and those next to its children in the tree of elimination.
        std::vector<Node> child(n, ~Node{0}), sibling(n, ~Node{0}), seen(n, ~Node{0});
        begin.assign(n + 1, 0);
        for (std::size_t p = 0; p < n; ++p) {
            seen[p] = static_cast<Node>(p);
            const auto add = [&](Node y) {
                if (seen[y] == p) return;
                seen[y] = static_cast<Node>(p);
                next.push_back(y);
            };
            for (Node k = first_begin[p]; k < first_begin[p + 1]; ++k) add(later[k]);
            for (Node c = child[p]; c != ~Node{0}; c = sibling[c]) {
                for (std::uint64_t e = begin[c]; e < begin[c + 1]; ++e) {
                    const Node y = next[e];
                    add(y);
                }
            }
            std::sort(next.begin() + static_cast<std::ptrdiff_t>(begin[p]), next.end());
            begin[p + 1] = next.size();
            if (begin[p + 1] > begin[p]) {
                const Node parent = next[begin[p]];
                sibling[p] = child[parent];
                child[parent] = static_cast<Node>(p);
            }
        }
    }

    // Where the entry of (x, y) is, x < y; it must be there.
    std::uint64_t entry(Node x, Node y) const {
        const auto first = next.begin() + static_cast<std::ptrdiff_t>(begin[x]);
        const auto last = next.begin() + static_cast<std::ptrdiff_t>(begin[x + 1]);
        return static_cast<std::uint64_t>(std::lower_bound(first, last, y) - next.begin());
    }
};

// A row's weight relative to its largest, in either number type; false: it does not fit.
inline bool relative_to(double log_weight, double largest, double& weight) {
    weight = relative_weight(log_weight, largest);
    return weight > 0;
}

inline bool relative_to(double log_weight, double largest, UnboundedDouble& weight) {
    Difference d = exact_difference(log_weight, largest);
    if (std::isnan(d.low)) d.low = 0.0;
    weight = unbounded_exp(d);
    return true;
}

// The steps between a node and one next to it, from it and to it, when it is taken out.
template <class Scalar>
struct Steps {
    Scalar out, in;
};

// The product of all pivots, Z: its logarithm, or its residue.
template <class Scalar>
struct PivotProduct {
    CompensatedSum logarithm;

    void multiply(Scalar pivot, double log_scale) {
        const Logarithm log = log_parts(to_unbounded(pivot));
        logarithm.add(log.high);
        logarithm.add(log.low);
        logarithm.add(log_scale);
    }
};

template <std::uint64_t prime>
struct PivotProduct<Residue<prime>> {
    Residue<prime> residue{1.0};

    void multiply(Residue<prime> pivot, double) { residue = residue * pivot; }
};

template <class Scalar>
struct Factors {
    std::vector<Steps<Scalar>> steps;     // by entry of the structure
    std::vector<Scalar> absorbed, pivot;  // by place
    std::vector<double> largest;          // log of what each row was divided by
    PivotProduct<Scalar> product;

    // left_range: a weight does not fit a Scalar.  The caller looks at the processor's flags.
    Status compute(const CompressedRows& rows, Node root, const EliminationStructure& structure,
                   const Interrupt& interrupt) {
        largest.resize(structure.order.size());
        for (std::size_t p = 0; p < largest.size(); ++p) {
            largest[p] = rows.largest(structure.order[p]);
        }
        return compute(rows, root, structure, interrupt, [&](Index arc, Node p, Scalar& weight) {
            return relative_to(rows.log_weight(arc), largest[p], weight);
        });
    }

    // With weights of the caller's: read_weight(arc, place, weight), false if it does not fit.
    template <class ReadWeight>
    Status compute(const CompressedRows& rows, Node root, const EliminationStructure& structure,
                   const Interrupt& interrupt, const ReadWeight& read_weight) {
        const std::size_t n = structure.order.size();
        steps.assign(structure.next.size(), {Scalar(0.0), Scalar(0.0)});
        absorbed.assign(n, Scalar(0.0));
        pivot.assign(n, Scalar(0.0));
        largest.resize(n, 0.0);
        for (std::size_t p = 0; p < n; ++p) {
            const Index node = structure.order[p];
            for (Index a = rows.begin(node); a < rows.end(node); ++a) {
                const Node x = static_cast<Node>(p);
                Scalar weight;
                if (!read_weight(a, x, weight)) return Status::left_range;
                if (rows.head(a) == root) {
                    absorbed[p] = weight;
                    continue;
                }
                const Node y = structure.place[rows.head(a)];
                if (x < y) {
                    steps[structure.entry(x, y)].out = weight;
                } else {
                    steps[structure.entry(y, x)].in = weight;
                }
            }
        }
        return eliminate(structure, interrupt);
    }

  private:
    Status eliminate(const EliminationStructure& structure, const Interrupt& interrupt) {
        const std::uint64_t* const begin = structure.begin.data();
        const Node* const next = structure.next.data();
        const Index n = structure.size();
        product = {};
        std::uint64_t since_question = 0;
        for (Index p = 0; p < n; ++p) {
            const std::uint64_t first = begin[p], last = begin[p + 1];
            since_question += 64 + (last - first) * (last - first);
            if (since_question > 1 << 20) {
                since_question = 0;
                if (interrupt.requested()) return Status::interrupted;
            }
            Scalar s = absorbed[static_cast<std::size_t>(p)];
            for (std::uint64_t e = first; e < last; ++e) s += steps[e].out;
            if (!is_positive(s)) return Status::no_tree;
            pivot[static_cast<std::size_t>(p)] = s;
            product.multiply(s, largest[static_cast<std::size_t>(p)]);
            for (std::uint64_t x = first; x < last; ++x) {
                const Node j = next[x];
                const Scalar from = steps[x].in / s, to = steps[x].out / s;
                absorbed[j] += from * absorbed[static_cast<std::size_t>(p)];
                // Those next to p and after j are next to j.
                std::uint64_t at = begin[j];
                for (std::uint64_t y = x + 1; y < last; ++y, ++at) {
                    while (next[at] != next[y]) ++at;
                    steps[at].out += from * steps[y].out;
                    steps[at].in += to * steps[y].in;
                }
            }
        }
        return Status::ok;
    }
};

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand

#include "sparse_answers.hpp"

#include <utility>

#include "numbers/floating_point_guard.hpp"
#include "sparse/ancestral.hpp"
#include "sparse/arc_marginals.hpp"
#include "sparse/best_arborescence.hpp"
#include "sparse/compressed_rows.hpp"
#include "sparse/elimination.hpp"
#include "sparse/maximum_spanning_tree.hpp"
#include "sparse/minimum_degree.hpp"
#include "sparse/pair_jumping.hpp"
#include "sparse/selected_inverse.hpp"
#include "sparse/step_tables.hpp"
#include "sparse/walk_target.hpp"
#include "sparse/wilson.hpp"

namespace arborand {
namespace {

using namespace ARBORAND_ISA;
using namespace ARBORAND_ISA::sparse;

constexpr StreamKey key{{0x0123456789abcdefu, 0xfedcba9876543210u}};

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

class SparseInterview {
  public:
    SparseInterview(const OwnedEdges& edges, const Interrupt& interrupt, Index num_draws)
        : interrupt_(interrupt),
          num_draws_(num_draws),
          rows_({edges.heads.data(), edges.dependents.data(),
                 edges.log_weights.empty() ? nullptr : edges.log_weights.data(),
                 static_cast<Index>(edges.heads.size()), edges.directed},
                edges.num_nodes, edges.log_killing.empty() ? nullptr : edges.log_killing.data()),
          num_inside_(edges.num_nodes),
          is_directed_(edges.directed) {
        if (rows_.has_outside()) {
            root_ = static_cast<Node>(edges.num_nodes);
        } else {
            root_ = edges.directed ? static_cast<Node>(edges.root) : choose_walk_target(rows_);
        }
        for (const auto* logarithms : {&edges.log_weights, &edges.log_killing}) {
            for (const double x : *logarithms) {
                keeps_digits_ &= x == -HUGE_VAL || std::fabs(x) <= 1e13;
            }
        }
        for (Index i = 0; i < num_draws; ++i) draws_.push_back(static_cast<std::uint64_t>(i + 5));
    }

    Answers run() {
        ask_rows();
        const LongArray<Step> steps = make_steps(rows_);
        const StepTables tables{rows_.begins(), rows_.heads(),
                                steps.empty() ? nullptr : steps.data(), true};
        for (const std::int64_t budget : {0, 7, 3000}) {
            const std::vector<std::int32_t> one = walk(tables, budget, 1);
            const std::vector<std::int32_t> several = walk(tables, budget, 3);
            expect(one.empty() || several.empty() || one == several,
                   "sparse draws side by side are others than one after the other");
        }
        for (const std::int64_t budget : {0, 5, 1000}) ask_jumps(budget);
        ask_best_trees();
        ask_elimination();
        return answers_;
    }

  private:
    void record(const char* question, Status status, const Digest& digest) {
        expect(
            status == Status::ok || (status == Status::interrupted && interrupt_.stop != nullptr),
            "a sparse graph that has trees was not solved");
        answers_.answers.push_back({question, status, digest.value()});
    }
    void expect(bool holds, const char* what) { answers_.complaints.expect(holds, what); }

    void ask_rows() {
        Digest digest;
        for (Index j = 0; j < rows_.num_nodes(); ++j) {
            digest.add(static_cast<std::int64_t>(rows_.begin(j)));
            for (Index a = rows_.begin(j); a < rows_.end(j); ++a) {
                digest.add(static_cast<std::uint64_t>(rows_.head(a)));
                digest.add(rows_.log_weight(a));
                expect(a == rows_.begin(j) || rows_.head(a - 1) < rows_.head(a),
                       "a sparse row is not sorted, or has an arc twice");
            }
        }
        std::vector<std::uint8_t> unreachable(at(num_inside_));
        expect(rows_.find_unreachable(root_, unreachable.data()) == 0,
               "a sparse graph that has trees has nodes out of reach");
        record("sparse rows", Status::ok, digest);
    }

    // A tree of arcs that exist; the root has no head.
    bool is_tree(const std::int32_t* heads) const {
        const Index n = rows_.num_nodes();
        for (Index j = 0; j < num_inside_; ++j) {
            if (static_cast<Node>(j) == root_) continue;
            if (heads[j] < 0 || heads[j] >= n) return false;
            if (rows_.find(j, static_cast<Node>(heads[j])) < 0) return false;
            Node node = static_cast<Node>(j);
            for (Index steps = 0; node != root_; ++steps) {
                if (steps > n) return false;
                node = static_cast<Node>(heads[node]);
            }
        }
        return true;
    }

    // Check trees and the edges behind their arcs, where a walk has ended.
    void add_tree(const std::int32_t* heads, std::uint64_t draw, Digest& digest) {
        expect(is_tree(heads), "a sparse draw is not a tree");
        Stream stream(key, 0, draw, 18);
        std::vector<double> chances;
        for (Index j = 0; j < num_inside_; ++j) {
            if (static_cast<Node>(j) == root_) continue;
            digest.add(static_cast<std::int64_t>(heads[j]));
            const Index arc = rows_.find(j, static_cast<Node>(heads[j]));
            if (arc < 0) continue;
            digest.add(static_cast<std::uint64_t>(rows_.draw_edge(arc, stream, chances)));
        }
    }

    // The trees, and where the walks were given up; nothing if interrupted.
    std::vector<std::int32_t> walk(const StepTables& tables, std::int64_t budget, Index lanes) {
        const Index stride = num_inside_;
        std::vector<std::int32_t> heads(at(num_draws_ * stride), -9), caught(at(num_draws_), -9);
        std::int64_t steps = 0;
        const SparseDraws asked{key,          0,      draws_.data(), num_draws_,
                                heads.data(), stride, budget,        caught.data()};
        const Status status =
            tables.steps == nullptr
                ? walk_all<true>(tables, root_, rows_.num_nodes(), asked, lanes, steps, interrupt_)
                : walk_all<false>(tables, root_, rows_.num_nodes(), asked, lanes, steps,
                                  interrupt_);
        Digest digest;
        std::vector<std::int32_t> known;
        if (status == Status::ok) {
            digest.add(steps);
            digest.add(caught);
            known = caught;
            for (Index i = 0; i < num_draws_; ++i) {
                if (caught[at(i)] >= 0) continue;
                const std::int32_t* tree = heads.data() + i * stride;
                add_tree(tree, draws_[at(i)], digest);
                known.insert(known.end(), tree, tree + stride);
            }
        }
        record("sparse walks", status, digest);
        return known;
    }

    void ask_jumps(std::int64_t budget) {
        const PairTables tables(rows_, root_);
        PairWalk walk(tables, root_, rows_.num_nodes());
        std::vector<std::int32_t> heads(at(num_inside_), -9);
        Digest digest;
        Status status = Status::ok;
        for (const std::uint64_t draw : draws_) {
            std::int32_t caught = -9;
            std::int64_t steps = 0;
            status = walk.draw(Stream(key, 0, draw, 16), heads.data(), budget, caught, steps,
                               interrupt_);
            if (status != Status::ok) break;
            digest.add(static_cast<std::int64_t>(caught));
            digest.add(steps);
            if (caught < 0) add_tree(heads.data(), draw, digest);
        }
        record("sparse walks with jumps", status, digest);
    }

    void ask_best_trees() {
        std::vector<std::int32_t> heads(at(rows_.num_nodes()), -9);
        for (const bool single_root : {false, true}) {
            const Status status =
                find_best_arborescence(rows_, root_, single_root, heads.data(), interrupt_);
            if (single_root && status == Status::no_tree) continue;
            Digest digest;
            if (status == Status::ok) {
                expect(is_tree(heads.data()), "a best arborescence is not a tree");
                digest.add(heads);
            }
            record("best arborescence", status, digest);
        }
        if (is_directed_) return;
        Digest digest;
        const Status status = find_maximum_spanning_tree(rows_, root_, heads.data());
        expect(is_tree(heads.data()), "a maximum spanning tree is not a tree");
        digest.add(heads);
        record("maximum spanning tree", status, digest);
    }

    void ask_elimination() {
        EliminationPlan plan;
        MinimumDegree ordering(rows_, root_);
        if (!ordering.run(1e9, interrupt_, plan)) {
            return record("sparse elimination", Status::interrupted, Digest());
        }
        if (!keeps_digits_) return;  // as the library refuses it
        std::vector<bool> seen(at(rows_.num_nodes()), false);
        for (const Node node : plan.order) {
            expect(node != root_ && !seen[node], "an order of elimination has a node twice");
            seen[node] = true;
        }
        expect(static_cast<Index>(plan.order.size()) == rows_.num_nodes() - 1,
               "an order of elimination leaves a node out");
        const EliminationStructure structure(rows_, root_, plan.order);
        Digest digest;
        digest.add(plan.work);
        Status status = by_numbers<double>(structure, digest);
        if (status == Status::left_range) status = by_numbers<UnboundedDouble>(structure, digest);
        record("sparse elimination", status, digest);
    }

    template <class Scalar>
    Status by_numbers(const EliminationStructure& structure, Digest& digest) {
        Factors<Scalar> factors;
        SelectedInverse<Scalar> inverse;
        const ArcMarginals<Scalar> arcs(rows_, root_, structure, factors, inverse);
        std::vector<double> marginals;
        Rounded entropy;
        Status status;
        {
            FloatingPointGuard guard;
            watch_range();
            status = factors.compute(rows_, root_, structure, interrupt_);
            if (status == Status::ok) status = inverse.compute(structure, factors, interrupt_);
            if (status == Status::ok) {
                for (const Node node : structure.order) {
                    for (Index a = rows_.begin(node); a < rows_.end(node); ++a) {
                        const Rounded arc = arcs.marginal(node, rows_.head(a), rows_.log_weight(a));
                        if (arc.rounding < 1e6) marginals.push_back(arc.value);
                    }
                }
                entropy = arcs.entropy();
            }
            if (std::is_same_v<Scalar, double> && status != Status::interrupted &&
                left_range(&inverse)) {
                status = Status::left_range;
            }
        }
        if (status != Status::ok) return status;
        const CompensatedSum& log_partition = factors.product.logarithm;
        expect(!std::isnan(log_partition.value()), "log Z of a sparse graph is not a number");
        digest.add(log_partition.value());
        digest.add(log_partition.rest());
        for (const double marginal : marginals) {
            expect(marginal >= 0 && marginal <= 1, "an arc of a sparse graph has no probability");
            digest.add(marginal);
        }
        if (entropy.rounding < 1e6) digest.add(entropy.value);
        Factors<Residue<(std::uint64_t{1} << 61) - 1>> residues;
        if (residues.compute(rows_, root_, structure, interrupt_,
                             [&](Index arc, Node, auto& weight) {
                                 weight = std::decay_t<decltype(weight)>(
                                     std::fabs(std::round(rows_.log_weight(arc))) + 1);
                                 return true;
                             }) == Status::ok) {
            digest.add(residues.product.residue.value());
        }
        for (std::size_t p = 0; p < structure.order.size(); ++p) {
            // The walk from a node visits it at least once.
            const double visits = to_double(inverse.diagonal[p] * factors.pivot[p]);
            expect(visits >= 1 - 0x1p-40, "a node of a sparse graph is not visited from itself");
            digest.add(visits);
        }
        const EarlierEntries earlier(structure);
        AncestralDraw<Scalar> ancestral(rows_, root_, structure, factors, earlier);
        std::vector<std::int32_t> heads(at(num_inside_), -9);
        for (const std::uint64_t draw : draws_) {
            status = ancestral.draw(Stream(key, 0, draw, 17), heads.data(), interrupt_);
            if (status != Status::ok) return status;
            add_tree(heads.data(), draw, digest);
        }
        return Status::ok;
    }

    const Interrupt& interrupt_;
    Index num_draws_;
    CompressedRows rows_;
    Index num_inside_;
    bool is_directed_;
    Node root_ = 0;
    std::vector<std::uint64_t> draws_;
    bool keeps_digits_ = true;  // whether elimination is possible with these weights
    Answers answers_;
};

}  // namespace

OwnedEdges random_edges(Random& random, Scores scores, Index num_nodes) {
    OwnedEdges edges{{}, {}, {}, {}, num_nodes, random.one_in(2), 0};
    const auto add = [&](Index head, Index dependent, double log_weight) {
        edges.heads.push_back(static_cast<std::int32_t>(head));
        edges.dependents.push_back(static_cast<std::int32_t>(dependent));
        edges.log_weights.push_back(log_weight);
    };
    std::vector<Index> name;  // node 0 of the tree that is always there may be any node
    for (Index j = 0; j < num_nodes; ++j) {
        name.push_back(j);
        std::swap(name[at(random.below(j + 1))], name.back());
    }
    edges.root = static_cast<std::int32_t>(name[0]);
    for (Index j = 1; j < num_nodes; ++j) {
        const Index head = random.one_in(3) ? j - 1 : random.below(j);
        add(name[at(head)], name[at(j)], random_score(random, scores));
    }
    for (Index count = random.below(3 * num_nodes); count > 0; --count) {
        // One after the other: the order of arguments is the compiler's.
        const Index head = random.below(num_nodes);
        const Index dependent = random.below(num_nodes);
        const double log_weight = random_score(random, scores);
        add(head, dependent, random.one_in(10) ? -HUGE_VAL : log_weight);
    }
    if (scores == Scores::bound_pairs) {
        const double bond = static_cast<double>(random.below(800));
        for (Index j = 1; j < num_nodes; j += 2) {
            add(j - 1, j, bond);
            add(j, j - 1, bond);
        }
    }
    if (random.one_in(4)) edges.log_weights.clear();
    if (random.one_in(4)) {
        edges.log_killing.assign(at(num_nodes), -HUGE_VAL);
        edges.log_killing[at(name[0])] = random_score(random, scores);
        for (Index j = 0; j < num_nodes; ++j) {
            if (random.one_in(4)) edges.log_killing[at(j)] = random_score(random, scores);
        }
    }
    return edges;
}

Answers sparse_answers(const OwnedEdges& edges, const Interrupt& interrupt, Index num_draws) {
    return SparseInterview(edges, interrupt, num_draws).run();
}

}  // namespace arborand

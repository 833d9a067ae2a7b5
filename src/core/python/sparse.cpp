// Sparse graphs between Python and the core: two objects, a graph and its elimination.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <variant>

#include "numbers/floating_point_guard.hpp"
#include "python/calls.hpp"
#include "python/instruction_set.hpp"
#include "python/registration.hpp"
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

using namespace ARBORAND_ISA;  // compiled once: see CMakeLists.txt
using namespace ARBORAND_ISA::sparse;

using Nodes = Array<const std::int32_t, 1>;
using Numbers = Array<const double, 1>;

// What the draws of one call read; see SparseDraws.
struct Request {
    StreamKey key;
    Array<const std::uint64_t, 1> draws;
    Array<std::int32_t, 2> heads;

    Index count() const { return static_cast<Index>(draws.shape(0)); }
    Index num_nodes() const { return static_cast<Index>(heads.shape(1)); }
};

// Which of the independent streams of a draw is read: a walk that is given up is followed by
// another one from fresh numbers.
enum Purpose : std::uint64_t { walking = 0, jumping = 16, putting_back = 17, choosing_edges = 18 };

// Run body(first, count, interrupt) -> Status for pieces of the draws.
template <class Body>
void run_pieces(Index count, int workers, Index most, const Body& body) {
    const Index fair = (count + workers - 1) / workers;
    const Index size = std::max<Index>(1, std::min(fair, most));
    run((count + size - 1) / size, workers,
        [&](Index piece, Workspace&, const Interrupt& interrupt) {
            const Index first = piece * size;
            return body(first, std::min(size, count - first), interrupt);
        });
}

// Run body(interrupt) -> Status once, without the GIL.
template <class Body>
void run_once(const Body& body) {
    run_pieces(1, 1, 1, [&](Index, Index, const Interrupt& interrupt) { return body(interrupt); });
}

class SparseGraph {
  public:
    SparseGraph(Nodes heads, Nodes dependents, std::optional<Numbers> log_weights, Index num_nodes,
                bool directed, std::optional<Numbers> log_killing)
        : heads_(heads), dependents_(dependents), log_weights_(log_weights) {
        run_once([&](const Interrupt&) {
            rows_ = std::make_unique<CompressedRows>(
                EdgeList{heads.data(), dependents.data(),
                         log_weights ? log_weights->data() : nullptr,
                         static_cast<Index>(heads.shape(0)), directed},
                num_nodes, log_killing ? log_killing->data() : nullptr);
            return Status::ok;
        });
    }

    const CompressedRows& rows() const { return *rows_; }
    Index num_nodes() const { return rows_->num_nodes(); }
    Index num_arcs() const { return rows_->num_arcs(); }
    Index choose_walk_target() const {
        Index target = 0;
        run_once([&](const Interrupt&) {
            target = sparse::choose_walk_target(*rows_);
            return Status::ok;
        });
        return target;
    }

    Index find_unreachable(Index root, Array<std::uint8_t, 1> unreachable) const {
        Index count = 0;
        run_once([&](const Interrupt&) {
            count = rows_->find_unreachable(static_cast<Node>(root), unreachable.data());
            return Status::ok;
        });
        return count;
    }

    // Walk; the steps taken.  caught[i] is where the walk of draw i was given up, -1 if it ended.
    // lanes: how many draws go side by side; 0 leaves that open.
    std::int64_t walk(Index root, int workers, std::uint64_t key0, std::uint64_t key1,
                      Array<const std::uint64_t, 1> draws, std::int64_t budget, Index lanes,
                      Array<std::int32_t, 2> heads, Array<std::int32_t, 1> caught) {
        const StepTables tables = prepare();
        if (lanes == 0) lanes = tables.near ? 1 : 16;
        const Request request{{{key0, key1}}, draws, heads};
        std::atomic<std::int64_t> total{0};
        run_pieces(request.count(), workers, 64,
                   [&](Index first, Index count, const Interrupt& interrupt) {
                       const SparseDraws piece = {request.key,
                                                  walking,
                                                  draws.data() + first,
                                                  count,
                                                  heads.data() + first * request.num_nodes(),
                                                  request.num_nodes(),
                                                  budget,
                                                  caught.data() + first};
                       std::int64_t steps = 0;
                       const Status status =
                           steps_.empty()
                               ? walk_all<true>(tables, static_cast<Node>(root), num_nodes(), piece,
                                                lanes, steps, interrupt)
                               : walk_all<false>(tables, static_cast<Node>(root), num_nodes(),
                                                 piece, lanes, steps, interrupt);
                       total += steps;
                       return status;
                   });
        return total;
    }

    // The same with jumps over pairs.
    std::int64_t walk_pairs(Index root, int workers, std::uint64_t key0, std::uint64_t key1,
                            Array<const std::uint64_t, 1> draws, std::int64_t budget,
                            Array<std::int32_t, 2> heads, Array<std::int32_t, 1> caught) {
        const Request request{{{key0, key1}}, draws, heads};
        std::unique_ptr<PairTables> tables;
        run_once([&](const Interrupt&) {
            tables = std::make_unique<PairTables>(*rows_, static_cast<Node>(root));
            return Status::ok;
        });
        std::atomic<std::int64_t> total{0};
        run_pieces(request.count(), workers, 16,
                   [&](Index first, Index count, const Interrupt& interrupt) {
                       PairWalk walk(*tables, static_cast<Node>(root), num_nodes());
                       std::int64_t steps = 0;
                       Status status = Status::ok;
                       for (Index i = first; i < first + count && status == Status::ok; ++i) {
                           status = walk.draw(Stream(request.key, 0, draws.data()[i], jumping),
                                              heads.data() + i * request.num_nodes(), budget,
                                              caught.data()[i], steps, interrupt);
                       }
                       total += steps;
                       return status;
                   });
        return total;
    }

    // How often a walk from `start` visits each node in so many steps.
    void count_visits(Index start, Index root, std::int64_t num_steps,
                      Array<std::int64_t, 1> visits) {
        const StepTables tables = prepare();
        Stream stream(StreamKey{{0, 0}}, 0, 0, walking);
        Node node = static_cast<Node>(start);
        for (std::int64_t i = 0; i < num_steps && node != static_cast<Node>(root); ++i) {
            ++visits.data()[node];
            node = steps_.empty() ? tables.step<true>(node, stream.next())
                                  : tables.step<false>(node, stream.next());
        }
    }

    // The input edge from each node to its head, -1 where there is none.
    void edges_of(Array<const std::int32_t, 2> heads, std::uint64_t key0, std::uint64_t key1,
                  Array<const std::uint64_t, 1> draws, Array<std::int32_t, 2> edges) const {
        const Index num_draws = static_cast<Index>(heads.shape(0));
        const Index n = static_cast<Index>(heads.shape(1));
        run_pieces(num_draws, 1, 16, [&](Index first, Index count, const Interrupt&) {
            std::vector<double> chances;
            for (Index i = first; i < first + count; ++i) {
                Stream stream(StreamKey{{key0, key1}}, 0, draws.data()[i], choosing_edges);
                for (Index j = 0; j < n; ++j) {
                    const std::int32_t head = heads.data()[i * n + j];
                    const Index arc = head < 0 ? -1 : rows_->find(j, static_cast<Node>(head));
                    edges.data()[i * n + j] =
                        arc < 0 ? -1
                                : static_cast<std::int32_t>(rows_->draw_edge(arc, stream, chances));
                }
            }
            return Status::ok;
        });
    }

    // Sum the log-weights of the arcs of trees, compensated; -inf if one is absent.  Where a node's
    // head is -1 and there is an outside node, that is its head.  Returns (tree, node, what) of the
    // first that is no tree: 1 a head out of range, 2 a root where none may be, 3 a cycle.
    std::tuple<Index, Index, int> tree_log_weights(Array<const std::int32_t, 2> heads, Index root,
                                                   Array<double, 2> sums) const {
        const Index num_trees = static_cast<Index>(heads.shape(0));
        const Index n = static_cast<Index>(heads.shape(1));
        std::vector<Index> reached(static_cast<std::size_t>(n), -1);
        for (Index t = 0; t < num_trees; ++t) {
            const std::int32_t* tree = heads.data() + t * n;
            Index num_roots = 0;
            for (Index j = 0; j < n; ++j) {
                if (tree[j] < -1 || tree[j] >= n || tree[j] == j) return {t, j, 1};
                num_roots += tree[j] < 0;
                const bool is_outside = rows_->has_outside();
                if (tree[j] < 0 && !is_outside && (root >= 0 ? j != root : num_roots > 1)) {
                    return {t, j, 2};
                }
            }
            if (num_roots == 0 || (root >= 0 && !rows_->has_outside() && tree[root] >= 0)) {
                return {t, root >= 0 ? root : 0, num_roots == 0 ? 3 : 2};
            }
            for (Index j = 0; j < n; ++j) {
                // 2 t: on the path from j; 2 t + 1: known to lead to a root.
                Index x = j;
                while (x >= 0 && reached[at(x)] < 2 * t) {
                    reached[at(x)] = 2 * t;
                    x = tree[x];
                }
                if (x >= 0 && reached[at(x)] == 2 * t) return {t, x, 3};
                for (x = j; x >= 0 && reached[at(x)] == 2 * t; x = tree[x]) {
                    reached[at(x)] = 2 * t + 1;
                }
            }
            CompensatedSum sum;
            bool absent = false;
            for (Index j = 0; j < n; ++j) {
                const std::int32_t head =
                    tree[j] < 0 && rows_->has_outside() ? static_cast<std::int32_t>(n) : tree[j];
                if (head < 0) continue;
                const Index arc = rows_->find(j, static_cast<Node>(head));
                absent |= arc < 0;
                if (arc >= 0) sum.add(rows_->log_weight(arc));
            }
            sums.data()[2 * t] = absent ? -HUGE_VAL : sum.value();
            sums.data()[2 * t + 1] = absent ? 0.0 : sum.rest();
        }
        return {-1, -1, 0};
    }

    // (work, most work, fill, within the limit) of elimination, and the order into `order`.
    std::tuple<double, double, double, bool> plan(Index root, double work_limit,
                                                  Array<std::int32_t, 1> order) const {
        EliminationPlan plan;
        run_once([&](const Interrupt& interrupt) {
            MinimumDegree ordering(*rows_, static_cast<Node>(root));
            return ordering.run(work_limit, interrupt, plan) ? Status::ok : Status::interrupted;
        });
        std::copy(plan.order.begin(), plan.order.end(), order.data());
        return {plan.work, plan.most_work, plan.fill, plan.within_limit};
    }

    // All arcs, parallel edges as one.
    void arcs(Array<std::int32_t, 1> heads, Array<std::int32_t, 1> dependents,
              Array<double, 1> log_weights) const {
        for (Index j = 0; j < num_nodes(); ++j) {
            for (Index a = rows_->begin(j); a < rows_->end(j); ++a) {
                heads.data()[a] = static_cast<std::int32_t>(rows_->head(a));
                dependents.data()[a] = static_cast<std::int32_t>(j);
                log_weights.data()[a] = rows_->log_weight(a);
            }
        }
    }

    // The heads of the best tree; false: there is none with a single root arc.
    bool best_arborescence(Index root, bool single_root, Array<std::int32_t, 1> heads) const {
        bool found = true;
        run_once([&](const Interrupt& interrupt) {
            const Status status = find_best_arborescence(*rows_, static_cast<Node>(root),
                                                         single_root, heads.data(), interrupt);
            found = status != Status::no_tree;
            return found ? status : Status::ok;
        });
        return found;
    }

    void maximum_spanning_tree(Index root, Array<std::int32_t, 1> heads) const {
        run_once([&](const Interrupt&) {
            return find_maximum_spanning_tree(*rows_, static_cast<Node>(root), heads.data());
        });
    }

  private:
    static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

    // Make the steps of the walk, by whoever comes first.  Others wait, without the GIL.
    StepTables prepare() {
        const GilReleased released;
        std::call_once(prepared_, [&] {
            steps_ = make_steps(*rows_);
            near_ = !waits_for_memory(*rows_, !steps_.empty());
        });
        return {rows_->begins(), rows_->heads(), steps_.empty() ? nullptr : steps_.data(), near_};
    }

    Nodes heads_, dependents_;  // keep the arrays alive
    std::optional<Numbers> log_weights_;
    std::unique_ptr<CompressedRows> rows_;
    LongArray<Step> steps_;
    bool near_ = true;
    std::once_flag prepared_;
};

// Move an undirected tree's root: turn the path from the new root to the old one round.
void reroot(Array<std::int32_t, 2> heads, Index root) {
    const Index num_trees = static_cast<Index>(heads.shape(0));
    const Index n = static_cast<Index>(heads.shape(1));
    for (Index t = 0; t < num_trees; ++t) {
        std::int32_t* tree = heads.data() + t * n;
        std::int32_t node = static_cast<std::int32_t>(root), below = -1;
        while (node >= 0) {
            const std::int32_t head = tree[node];
            tree[node] = below;
            below = node;
            node = head;
        }
    }
}

// The share of each part in a whole, both given as logarithms: in place of the parts.
void shares(Array<double, 1> log_parts, Numbers log_wholes) {
    for (Index i = 0; i < static_cast<Index>(log_parts.shape(0)); ++i) {
        log_parts.data()[i] = relative_weight(log_parts.data()[i], log_wholes.data()[i]);
    }
}

// The factors in double where that is enough, else with unbounded exponents.
class Elimination {
  public:
    Elimination(const SparseGraph& graph, Index root, Array<const std::int32_t, 1> order)
        : rows_(graph.rows()), root_(static_cast<Node>(root)) {
        run_once([&](const Interrupt& interrupt) {
            structure_ = std::make_unique<EliminationStructure>(
                rows_, root_, std::vector<Node>(order.data(), order.data() + order.shape(0)));
            return with_range([&](auto scalar) {
                auto& factors = factors_.emplace<Factors<decltype(scalar)>>();
                return factors.compute(rows_, root_, *structure_, interrupt);
            });
        });
    }

    double log_partition() const {
        return std::visit([](const auto& factors) { return factors.product.logarithm.value(); },
                          factors_);
    }
    double log_partition_rest() const {
        return std::visit([](const auto& factors) { return factors.product.logarithm.rest(); },
                          factors_);
    }

    // Draw trees by putting the nodes back.
    void draw(int workers, std::uint64_t key0, std::uint64_t key1,
              Array<const std::uint64_t, 1> draws, Array<std::int32_t, 2> heads) {
        const Request request{{{key0, key1}}, draws, heads};
        {
            const GilReleased released;
            std::call_once(listed_,
                           [&] { earlier_ = std::make_unique<EarlierEntries>(*structure_); });
        }
        std::visit(
            [&](const auto& factors) {
                using Scalar = typename std::decay_t<decltype(factors.pivot)>::value_type;
                run_pieces(
                    request.count(), workers, 16,
                    [&](Index first, Index count, const Interrupt& interrupt) {
                        AncestralDraw<Scalar> draw(rows_, root_, *structure_, factors, *earlier_);
                        Status status = Status::ok;
                        for (Index i = first; i < first + count && status == Status::ok; ++i) {
                            status =
                                draw.draw(Stream(request.key, 0, draws.data()[i], putting_back),
                                          heads.data() + i * request.num_nodes(), interrupt);
                        }
                        return status;
                    });
            },
            factors_);
    }

    // By node: visits[j], the expected visits to j of the walk from j; and root_arcs[j], the
    // probability of the arc from the root to j.  `resistance[j]`: between j and the root.
    void diagonal(Array<double, 1> visits, Array<double, 1> root_arcs,
                  Array<double, 1> resistance) {
        with_inverse([&](const auto& factors, const auto& inverse) {
            using Scalar = typename std::decay_t<decltype(factors.pivot)>::value_type;
            for (std::size_t p = 0; p < structure_->order.size(); ++p) {
                const Index node = structure_->order[p];
                Scalar total(0.0), from_root(0.0);
                for (Index a = rows_.begin(node); a < rows_.end(node); ++a) {
                    Scalar weight;
                    relative_to(rows_.log_weight(a), factors.largest[p], weight);
                    total += weight;
                    if (rows_.head(a) == root_) from_root = weight;
                }
                visits.data()[node] = to_double(total * inverse.diagonal[p]);
                root_arcs.data()[node] = to_double(from_root * inverse.diagonal[p]);
                resistance.data()[node] =
                    to_double(inverse.diagonal[p] * scale<Scalar>(factors.largest[p]));
            }
        });
    }

    // The probability of each edge, and the size of the numbers that were subtracted to get it.
    // A directed edge leads from its head to its dependent; others count in both directions.
    void edge_marginals(Nodes heads, Nodes dependents, Numbers log_weights, bool directed,
                        Array<double, 1> marginals, Array<double, 1> rounding) {
        with_marginals([&](const auto& arcs) {
            for (Index e = 0; e < static_cast<Index>(heads.shape(0)); ++e) {
                const Node head = static_cast<Node>(heads.data()[e]);
                const Node dependent = static_cast<Node>(dependents.data()[e]);
                Rounded edge = arcs.marginal(dependent, head, log_weights.data()[e]);
                if (!directed) {
                    const Rounded back = arcs.marginal(head, dependent, log_weights.data()[e]);
                    edge = {edge.value + back.value, edge.rounding + back.rounding};
                }
                marginals.data()[e] = std::min(edge.value, 1.0);
                rounding.data()[e] = edge.rounding;
            }
        });
    }

    // (entropy, the size of the numbers that it is a sum of)
    std::tuple<double, double> entropy() {
        Rounded answer;
        with_marginals([&](const auto& arcs) { answer = arcs.entropy(); });
        return {answer.value, answer.rounding};
    }

    // Z modulo a prime, for weights that are whole numbers (null: 1); nothing if a pivot is 0
    // modulo it, which other primes are for.
    std::optional<std::uint64_t> residue(int prime, std::optional<Numbers> weights) {
        switch (prime) {
            case 0:
                return residue<(std::uint64_t{1} << 61) - 1>(weights);
            case 1:
                return residue<(std::uint64_t{1} << 61) - 31>(weights);
            default:
                return residue<(std::uint64_t{1} << 61) - 45>(weights);
        }
    }

    // x = G b, for b >= 0 by node; the root's entries are not read.
    void solve(Numbers b, Array<double, 1> x) {
        std::visit(
            [&](const auto& factors) {
                using Scalar = typename std::decay_t<decltype(factors.pivot)>::value_type;
                const std::size_t n = structure_->order.size();
                std::vector<Scalar> y(n);
                for (std::size_t p = 0; p < n; ++p) {
                    y[p] =
                        Scalar(b.data()[structure_->order[p]]) * scale<Scalar>(factors.largest[p]);
                }
                for (std::size_t p = 0; p < n; ++p) {
                    y[p] = y[p] / factors.pivot[p];
                    for (std::uint64_t e = structure_->begin[p]; e < structure_->begin[p + 1];
                         ++e) {
                        y[structure_->next[e]] += factors.steps[e].in * y[p];
                    }
                }
                for (std::size_t p = n; p-- > 0;) {
                    for (std::uint64_t e = structure_->begin[p]; e < structure_->begin[p + 1];
                         ++e) {
                        y[p] += factors.steps[e].out / factors.pivot[p] * y[structure_->next[e]];
                    }
                    x.data()[structure_->order[p]] = to_double(y[p]);
                }
            },
            factors_);
    }

  private:
    // 1 / the largest weight of a row: what its scaling put into the inverse.
    template <class Scalar>
    static Scalar scale(double largest) {
        if constexpr (std::is_same_v<Scalar, double>) {
            return to_double(scale<UnboundedDouble>(largest));
        } else {
            const double shift = largest < 0 ? largest : -largest;
            const UnboundedDouble e = unbounded_exp({shift, 0.0});
            return largest < 0 ? UnboundedDouble(1.0) / e : e;
        }
    }

    template <class Work>
    Status with_range(const Work& work) {
        FloatingPointGuard guard;
        watch_range();
        Status status = work(double());
        if (status != Status::interrupted && left_range(this)) status = Status::left_range;
        if (status != Status::left_range) return status;
        return work(UnboundedDouble());
    }

    template <class Work>
    void with_inverse(const Work& work) {
        run_once([&](const Interrupt& interrupt) {
            return with_range([&](auto scalar) {
                using Scalar = decltype(scalar);
                const Factors<Scalar>* factors = std::get_if<Factors<Scalar>>(&factors_);
                std::unique_ptr<Factors<Scalar>> again;
                if (factors == nullptr) {
                    if (std::is_same_v<Scalar, double>) return Status::left_range;
                    again = std::make_unique<Factors<Scalar>>();
                    const Status status = again->compute(rows_, root_, *structure_, interrupt);
                    if (status != Status::ok) return status;
                    factors = again.get();
                }
                SelectedInverse<Scalar> inverse;
                const Status status = inverse.compute(*structure_, *factors, interrupt);
                if (status == Status::ok) work(*factors, inverse);
                return status;
            });
        });
    }

    template <class Work>
    void with_marginals(const Work& work) {
        with_inverse([&](const auto& factors, const auto& inverse) {
            work(ArcMarginals(rows_, root_, *structure_, factors, inverse));
        });
    }

    template <std::uint64_t prime>
    std::optional<std::uint64_t> residue(const std::optional<Numbers>& weights) {
        std::optional<std::uint64_t> answer;
        run_once([&](const Interrupt& interrupt) {
            Factors<Residue<prime>> factors;
            const Status status = factors.compute(
                rows_, root_, *structure_, interrupt, [&](Index arc, Node, Residue<prime>& weight) {
                    weight = Residue<prime>(0.0);
                    rows_.for_each_edge(arc, [&](Node edge) {
                        weight += Residue<prime>(weights ? weights->data()[edge] : 1.0);
                    });
                    return true;
                });
            if (status == Status::ok) answer = factors.product.residue.value();
            return status == Status::no_tree ? Status::ok : status;
        });
        return answer;
    }

    const CompressedRows& rows_;
    Node root_;
    std::unique_ptr<EliminationStructure> structure_;
    std::variant<Factors<double>, Factors<UnboundedDouble>> factors_;
    std::unique_ptr<EarlierEntries> earlier_;
    std::once_flag listed_;
};

// Every entry becomes its logarithm.
void logarithms(Array<double, 1> numbers) {
    constexpr Index at_once = 1 << 16;
    const Index count = static_cast<Index>(numbers.shape(0));
    run((count + at_once - 1) / at_once, 1, [&](Index piece, Workspace&, const Interrupt&) {
        const Index first = piece * at_once;
        const Index left = count - first;
        arborand::kernels->logarithms(numbers.data() + first, left < at_once ? left : at_once);
        return Status::ok;
    });
}

}  // namespace

void register_sparse(nb::module_& m) {
    m.def("logarithms", &logarithms, nb::arg("numbers"));
    // A graph that lives until the interpreter ends, in a notebook or a test, is no leak.
    nb::set_leak_warnings(false);
    nb::class_<SparseGraph>(m, "SparseGraph", "A sparse graph in compressed rows.")
        .def(nb::init<Nodes, Nodes, std::optional<Numbers>, Index, bool, std::optional<Numbers>>(),
             nb::arg("heads"), nb::arg("dependents"), nb::arg("log_weights").none(),
             nb::arg("num_nodes"), nb::arg("directed"), nb::arg("log_killing").none())
        .def_prop_ro("num_nodes", &SparseGraph::num_nodes)
        .def_prop_ro("num_arcs", &SparseGraph::num_arcs)
        .def("choose_walk_target", &SparseGraph::choose_walk_target)
        .def("find_unreachable", &SparseGraph::find_unreachable, nb::arg("root"),
             nb::arg("unreachable"))
        .def("walk", &SparseGraph::walk, nb::arg("root"), nb::arg("workers"), nb::arg("key0"),
             nb::arg("key1"), nb::arg("draws"), nb::arg("budget"), nb::arg("lanes"),
             nb::arg("heads"), nb::arg("caught"))
        .def("walk_pairs", &SparseGraph::walk_pairs, nb::arg("root"), nb::arg("workers"),
             nb::arg("key0"), nb::arg("key1"), nb::arg("draws"), nb::arg("budget"),
             nb::arg("heads"), nb::arg("caught"))
        .def("count_visits", &SparseGraph::count_visits, nb::arg("start"), nb::arg("root"),
             nb::arg("num_steps"), nb::arg("visits"))
        .def("edges_of", &SparseGraph::edges_of, nb::arg("heads"), nb::arg("key0"), nb::arg("key1"),
             nb::arg("draws"), nb::arg("edges"))
        .def("tree_log_weights", &SparseGraph::tree_log_weights, nb::arg("heads"), nb::arg("root"),
             nb::arg("sums"))
        .def("arcs", &SparseGraph::arcs, nb::arg("heads"), nb::arg("dependents"),
             nb::arg("log_weights"))
        .def("best_arborescence", &SparseGraph::best_arborescence, nb::arg("root"),
             nb::arg("single_root"), nb::arg("heads"))
        .def("maximum_spanning_tree", &SparseGraph::maximum_spanning_tree, nb::arg("root"),
             nb::arg("heads"))
        .def("plan", &SparseGraph::plan, nb::arg("root"), nb::arg("work_limit"), nb::arg("order"));
    nb::class_<Elimination>(m, "Elimination", "A sparse graph with all its nodes eliminated.")
        .def(nb::init<const SparseGraph&, Index, Array<const std::int32_t, 1>>(), nb::arg("graph"),
             nb::arg("root"), nb::arg("order"), nb::keep_alive<1, 2>())
        .def_prop_ro("log_partition", &Elimination::log_partition)
        .def_prop_ro("log_partition_rest", &Elimination::log_partition_rest)
        .def("draw", &Elimination::draw, nb::arg("workers"), nb::arg("key0"), nb::arg("key1"),
             nb::arg("draws"), nb::arg("heads"))
        .def("diagonal", &Elimination::diagonal, nb::arg("visits"), nb::arg("root_arcs"),
             nb::arg("resistance"))
        .def("edge_marginals", &Elimination::edge_marginals, nb::arg("heads"),
             nb::arg("dependents"), nb::arg("log_weights"), nb::arg("directed"),
             nb::arg("marginals"), nb::arg("rounding"))
        .def("entropy", &Elimination::entropy)
        .def("residue", nb::overload_cast<int, std::optional<Numbers>>(&Elimination::residue),
             nb::arg("prime"), nb::arg("weights").none())
        .def("solve", &Elimination::solve, nb::arg("b"), nb::arg("x"));
    m.def("shares", &shares, nb::arg("log_parts"), nb::arg("log_wholes"));
    m.def("reroot", &reroot, nb::arg("heads"), nb::arg("root"));
}

}  // namespace arborand

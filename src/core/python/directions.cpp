// Derivatives in directions of the scores.
#include <algorithm>
#include <cmath>
#include <vector>

#include "python/inference.hpp"
#include "python/registration.hpp"

namespace arborand {
namespace {

// Write 0 where a graph has no arc; false if another number is not finite.
bool clean_direction(const Graph& graph, double* direction, Index stride) {
    bool is_finite = true;
    for (Index i = 0; i <= graph.num_words; ++i) {
        for (Index j = 0; j <= graph.num_words; ++j) {
            double& value = direction[i * stride + j];
            if (graph.score(i, j) > -HUGE_VAL) {
                is_finite &= std::isfinite(value);
            } else {
                value = 0.0;
            }
        }
    }
    return is_finite;
}

// kernel(graphs, count, scratch, interrupt, lists of directions.., answers, the length of rows) for
// every group.
template <class Kernel>
void solve_in_directions(const Batch& batch, const Groups& groups, int workers,
                         Directions directions, const Answers& answers, const Kernel& kernel) {
    for_each_group(
        batch, groups, workers,
        [&](const Group& group, const Graph* graphs, Workspace& workspace,
            const Interrupt& interrupt) {
            const ArcAnswers arcs(answers, batch, group, workspace.answers);
            const Index nodes = graphs->num_words + 1, stride = arcs.stride(),
                        area = nodes * stride;
            const Index count = group.count * static_cast<Index>(directions.size());
            Scratch& memory = workspace.prepared.tables;
            if (!memory.reserve(static_cast<std::size_t>(count * area) * sizeof(double))) {
                return Status::no_memory;
            }
            double* next = reinterpret_cast<double*>(memory.memory());
            const double* lists[2][graphs_at_once];
            for (std::size_t d = 0; d < directions.size(); ++d) {
                for (Index k = 0; k < group.count; ++k, next += area) {
                    const Index g = group.graphs[k];
                    Matrices direction = directions.begin()[d];
                    direction.row_stride = batch.width(g);
                    direction.copy(batch.first_entry(g), nodes, next, stride);
                    if (!clean_direction(graphs[k], next, stride)) throw RefusedScores();
                    lists[d][k] = next;
                }
            }
            const Status status = kernel(graphs, group.count, workspace.scratch, interrupt, lists,
                                         arcs.matrices(), stride);
            if (status == Status::ok) arcs.write();
            return status;
        });
}

// How many words a graph may have at most for its pairs of arcs to be kept: 40 MB.
constexpr Index most_words_of_pairs = 46;

// An entry of a direction that is not 0: its place among all numbers.
struct Entry {
    Index place;
    double value;
};

// List the entries that are not 0, up to one more than `most`.
template <class Number>
std::vector<Entry> find_entries(const Number* numbers, Index count, Index most) {
    std::vector<Entry> entries;
    constexpr Index at_once = 16;  // most of them are 0: look at several without a branch
    for (Index begin = 0; begin < count; begin += at_once) {
        const Index end = std::min(begin + at_once, count);
        bool are_zero = true;
        for (Index i = begin; i < end; ++i) are_zero &= numbers[i] == 0;
        for (Index i = begin; i < end && !are_zero; ++i) {
            if (numbers[i] != 0) entries.push_back({i, static_cast<double>(numbers[i])});
        }
        if (static_cast<Index>(entries.size()) > most) break;
    }
    return entries;
}

// The entries of directions, if each graph has as many as a Hessian has, or nearly, with an arc or
// two each: then they share the work on their graph.  None otherwise.
std::vector<Entry> find_sparse_directions(const Batch& batch, const Matrices& direction) {
    const Index n = batch.size() - 1, count = batch.num_entries(), most = 2 * batch.count();
    if (batch.repeats() * 2 < n * n || n > most_words_of_pairs) return {};
    const ARBORAND_ISA::FloatingPointGuard guard;  // it may take small numbers for 0
    std::vector<Entry> entries =
        direction.is_float32
            ? find_entries(static_cast<const float*>(direction.data), count, most)
            : find_entries(static_cast<const double*>(direction.data), count, most);
    if (static_cast<Index>(entries.size()) > most) entries.clear();
    return entries;
}

// The covariances of all pairs of arcs of a graph, P(e) (P(f | e) - P(f)).
class Covariances {
  public:
    // `pairs`: the probability of every two arcs, the marginals among them.
    Covariances(const Graph& graph, const double* pairs)
        : pairs_(pairs),
          nodes_(graph.num_words + 1),
          marginals_(nodes_ * nodes_),
          others_(nodes_),
          best_(nodes_) {
        const Index area = nodes_ * nodes_;
        for (Index e = 0; e < area; ++e) {
            marginals_[e] = pairs[e * area + e];
        }
        for (Index j = 1; j < nodes_; ++j) {
            for (Index i = 1; i < nodes_; ++i) {
                if (marginal(i, j) > marginal(best(j), j)) best_[j] = i;
            }
        }
    }

    // Add value times the covariances with an arc to `out`, but for those of each word's most
    // probable head.  The arc of such a head counts as minus all others of its word: those are
    // improbable where a tree is nearly certain, and so nothing cancels.
    void add(Index head, Index dependent, double value, double* out) const {
        if (head != best(dependent)) return add_plain(head, dependent, value, out);
        for (Index i = 0; i < nodes_; ++i) {
            if (i != head) add_plain(i, dependent, -value, out);
        }
    }

    // The covariances with each word's most probable head: with all heads together they are 0.
    void complete(double* out) {
        std::fill(others_.begin(), others_.end(), 0.0);
        for (Index j = 1; j < nodes_; ++j) out[best(j) * nodes_ + j] = 0.0;
        for (Index i = 0; i < nodes_; ++i) {
            for (Index j = 1; j < nodes_; ++j) others_[j] += out[i * nodes_ + j];
        }
        for (Index j = 1; j < nodes_; ++j) out[best(j) * nodes_ + j] = 0.0 - others_[j];
    }

  private:
    double marginal(Index i, Index j) const { return marginals_[i * nodes_ + j]; }
    Index best(Index j) const { return best_[j]; }

    void add_plain(Index head, Index dependent, double value, double* out) const {
        const double chance = marginal(head, dependent);
        if (chance == 0.0) return;
        const Index area = nodes_ * nodes_;
        const double* pair = pairs_ + (head * nodes_ + dependent) * area;
        for (Index e = 0; e < area; ++e) {
            out[e] += value * (pair[e] - chance * marginals_[e]);
        }
    }

    const double* pairs_;
    Index nodes_;
    std::vector<double> marginals_, others_;
    std::vector<Index> best_;
};

// The covariances in all directions of each graph, from the probabilities of its pairs of arcs: for
// a Hessian O(n^4) in all, where every direction by itself would take O(n^3).
void share_graphs(const Batch& batch, int workers, const std::vector<Entry>& entries,
                  const Answers& answers) {
    const Index width = batch.size(), room = width * width;
    const auto solve = [&](Index i, Workspace& workspace, const Interrupt& interrupt) {
        const Index first = i * batch.repeats();
        const Graph graph = batch.load(first, workspace.scores);
        const Index nodes = graph.num_words + 1, area = nodes * nodes;
        Scratch& memory = workspace.prepared.tables;
        if (!memory.reserve(static_cast<std::size_t>((area + 1) * area) * sizeof(double))) {
            return Status::no_memory;
        }
        double* pairs = reinterpret_cast<double*>(memory.memory());
        double* found = pairs + area * area;
        std::fill_n(pairs, area * area, 0.0);
        const Status status =
            kernels->joint_marginals(graph, workspace.scratch, interrupt, pairs, nodes);
        if (status != Status::ok) return status;
        Covariances covariances(graph, pairs);
        const ARBORAND_ISA::FloatingPointGuard guard;
        auto entry = std::lower_bound(entries.begin(), entries.end(), first * room,
                                      [](const Entry& e, Index place) { return e.place < place; });
        for (Index g = first; g < first + batch.repeats(); ++g) {
            std::fill_n(found, area, 0.0);
            for (; entry != entries.end() && entry->place < (g + 1) * room; ++entry) {
                const Index head = (entry->place - g * room) / width;
                const Index dependent = (entry->place - g * room) % width;
                if (head >= nodes || dependent >= nodes) continue;
                if (graph.score(head, dependent) == -HUGE_VAL) continue;
                if (!std::isfinite(entry->value)) throw RefusedScores();
                covariances.add(head, dependent, entry->value, found);
            }
            covariances.complete(found);
            if (nodes == width) {
                answers.write(g * room, found, area);
                continue;
            }
            answers.fill_with_zeros(g * room, room);
            for (Index row = 0; row < nodes; ++row) {
                answers.write(g * room + row * width, found + row * nodes, nodes);
            }
        }
        return Status::ok;
    };
    run(batch.count() / batch.repeats(), workers, solve, batch.caller());
}

}  // namespace

void arc_covariances(const Batch& batch, int workers, Directions directions,
                     const Answers& answers) {
    if (batch.repeats() > 1 && !batch.is_projective()) {
        const auto entries = find_sparse_directions(batch, *directions.begin());
        if (!entries.empty()) return share_graphs(batch, workers, entries, answers);
    }
    solve_in_directions(
        batch, batch.groups(workers), workers, directions, answers,
        [](const Graph* graphs, Index count, Scratch& scratch, const Interrupt& interrupt,
           const auto& lists, double* const* covariances, Index stride) {
            return kernels->arc_covariances(graphs, count, scratch, interrupt, lists[0],
                                            covariances, stride);
        });
}

void arc_cumulants(const Batch& batch, int workers, Directions directions, const Answers& answers) {
    solve_in_directions(
        batch, batch.groups(workers), workers, directions, answers,
        [](const Graph* graphs, Index count, Scratch& scratch, const Interrupt& interrupt,
           const auto& lists, double* const* cumulants, Index stride) {
            return kernels->arc_cumulants(graphs, count, scratch, interrupt, lists[0], lists[1],
                                          cumulants, stride);
        });
}

void entropy_gradient_tangents(const Batch& batch, int workers, Directions directions,
                               const Answers& answers) {
    solve_in_directions(batch, Groups(batch.count()), workers, directions, answers,
                        [](const Graph* graphs, Index, Scratch& scratch, const Interrupt& interrupt,
                           const auto& lists, double* const* tangents, Index stride) {
                            return kernels->entropy_gradient_tangents(
                                graphs[0], scratch, interrupt, lists[0][0], tangents[0], stride);
                        });
}

namespace {

// A direction of an array that is laid out as the answers are.
Matrices direction_of(const Batch& batch, const Contiguous<const double>& array) {
    expect_size(array, batch.num_entries());
    return {array.data(), false, 0, 1};
}

}  // namespace

void register_directions(nb::module_& m) {
    m.def(
        "arc_covariances",
        [](const Batch& batch, int workers, Contiguous<const double> direction, AnyNumbers out) {
            arc_covariances(batch, workers, {direction_of(batch, direction)},
                            answers(out, batch.num_entries()));
        },
        nb::arg("batch"), nb::arg("workers"), nb::arg("direction"), nb::arg("out"));
    m.def(
        "arc_cumulants",
        [](const Batch& batch, int workers, Contiguous<const double> direction,
           Contiguous<const double> other, AnyNumbers out) {
            arc_cumulants(batch, workers,
                          {direction_of(batch, direction), direction_of(batch, other)},
                          answers(out, batch.num_entries()));
        },
        nb::arg("batch"), nb::arg("workers"), nb::arg("direction"), nb::arg("other"),
        nb::arg("out"));
    m.def(
        "entropy_gradient_tangents",
        [](const Batch& batch, int workers, Contiguous<const double> direction, AnyNumbers out) {
            entropy_gradient_tangents(batch, workers, {direction_of(batch, direction)},
                                      answers(out, batch.num_entries()));
        },
        nb::arg("batch"), nb::arg("workers"), nb::arg("direction"), nb::arg("out"));
}

}  // namespace arborand

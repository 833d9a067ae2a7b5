// Everything the core can say about one graph, through its table of kernels, as one digest per
// question.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "dispatch/kernels.hpp"
#include "graphs.hpp"
#include "python/parallel.hpp"
#include "types/graph.hpp"

namespace arborand {

// FNV-1a over the bits of numbers, least significant byte first whatever the machine's own order.
class Digest {
  public:
    void add(std::uint64_t number) {
        for (int i = 0; i < 8; ++i) {
            value_ = (value_ ^ (number >> (8 * i) & 0xff)) * 0x100000001b3u;
        }
    }
    void add(std::int64_t number) { add(static_cast<std::uint64_t>(number)); }
    void add(double number) {
        std::uint64_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        add(bits);
    }
    void add(const std::vector<double>& numbers) {
        for (const double number : numbers) add(number);
    }
    void add(const std::vector<std::int32_t>& numbers) {
        for (const std::int32_t number : numbers) add(static_cast<std::int64_t>(number));
    }
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325u;
};

// What is wrong with an answer, if anything; found here, so that a crash is not all a driver sees.
class Complaints {
  public:
    void expect(bool holds, const char* what) {
        if (!holds) found_.insert(what);
    }
    const std::set<std::string>& found() const { return found_; }

  private:
    std::set<std::string> found_;
};

// One answer per question that can be asked of a graph; a call that was interrupted leaves out what
// it could not finish.
struct Answers {
    struct Answer {
        std::string question;
        Status status;
        std::uint64_t digest;
    };
    std::vector<Answer> answers;
    Complaints complaints;
};

// Does an arc begin inside another, and end outside?
inline bool has_crossing_arcs(const std::int32_t* heads, Index n) {
    for (Index j = 1; j <= n; ++j) {
        for (Index k = 1; k <= n; ++k) {
            const Index first = std::min<Index>(heads[j], j), last = std::max<Index>(heads[j], j);
            const Index begin = std::min<Index>(heads[k], k), end = std::max<Index>(heads[k], k);
            if (first < begin && begin < last && last < end) return true;
        }
    }
    return false;
}

// Is `heads` a tree of its kind that uses no forbidden arc?
inline bool is_tree(const Graph& graph, const std::int32_t* heads) {
    const Index n = graph.num_words;
    if (heads[0] != -1) return false;
    Index num_root_arcs = 0;
    for (Index j = 1; j <= n; ++j) {
        if (heads[j] < 0 || heads[j] > n || heads[j] == j) return false;
        if (graph.score(heads[j], j) == -HUGE_VAL) return false;
        num_root_arcs += heads[j] == 0;
        Index node = j, steps = 0;
        while (node != 0 && steps <= n) {
            node = heads[node];
            ++steps;
        }
        if (node != 0) return false;
    }
    if (graph.has_single_root() && num_root_arcs != 1) return false;
    return !graph.is_projective() || !has_crossing_arcs(heads, n);
}

// Asks a graph everything through one table of kernels.
class Interview {
  public:
    Interview(const Kernels& kernels, const Graph& graph, const Interrupt& interrupt,
              Workspace& workspace, Index num_draws)
        : kernels_(kernels),
          graph_(graph),
          interrupt_(interrupt),
          workspace_(workspace),
          num_draws_(num_draws),
          size_(static_cast<std::size_t>(graph.num_words + 1)) {}

    Answers run() {
        ask_logarithms();
        ask_partition();
        ask_marginals();
        ask_four_at_once();
        ask_numbers();
        ask_best();
        const Method methods[] = {Method::wilson, Method::colbourn, Method::wilson_reject,
                                  Method::wilson_rc};
        const char* const names[] = {"wilson", "colbourn", "wilson_reject", "wilson_rc"};
        const int num_methods = graph_.is_projective() ? 0 : graph_.has_single_root() ? 4 : 2;
        if (graph_.is_projective()) {
            const Method any = Method::wilson;
            ask_draws(any, DrawRule{}, "draws");
            ask_draws(any, DrawRule{0}, "draws from the chart");
            ask_draws(any, DrawRule{0, Pops::never, false}, "draws from the chart, beyond double");
        }
        for (int m = 0; m < num_methods; ++m) {
            const std::string draws = std::string("draws by ") + names[m];
            ask_draws(methods[m], DrawRule{}, draws);
            ask_draws(methods[m], DrawRule{graph_.num_words}, draws + ", small budget");
            ask_draws(methods[m], DrawRule{graph_.num_words, Pops::always}, draws + ", by popping");
        }
        ask_distinct({0.5, -1, -1}, "distinct trees");
        ask_distinct({0.05, 2, -1}, "distinct trees, subspaces after two");
        ask_distinct({1.0, 0, -1}, "distinct trees, subspaces at once");
        return answers_;
    }

  private:
    void record(const std::string& question, Status status, const Digest& digest) {
        answers_.complaints.expect(
            status == Status::ok || (status == Status::interrupted && interrupt_.stop != nullptr),
            "a graph that has trees was not solved");
        answers_.answers.push_back({question, status, digest.value()});
    }
    void expect(bool holds, const char* what) { answers_.complaints.expect(holds, what); }
    static bool is_chance(double x) { return x >= 0 && x <= 1; }

    // Any numbers will do: the magnitudes of the scores.
    void ask_logarithms() {
        std::vector<double> numbers;
        for (Index i = 0; i <= graph_.num_words; ++i) {
            for (Index j = 0; j <= graph_.num_words; ++j) {
                const double score = std::fabs(graph_.score(i, j));
                numbers.push_back(score < HUGE_VAL ? score : 1.0);
            }
        }
        kernels_.logarithms(numbers.data(), static_cast<Index>(numbers.size()));
        Digest digest;
        digest.add(numbers);
        record("logarithms", Status::ok, digest);
    }

    void ask_partition() {
        column_shift_.assign(size_, 0.0);
        partition_ = {0, 0, 0, 0, column_shift_.data()};
        const Status status = kernels_.log_partition(&graph_, 1, workspace_.scratch, interrupt_,
                                                     &partition_, nullptr, 0);
        has_partition_ = status == Status::ok;
        Digest digest;
        if (has_partition_) {
            expect(!std::isnan(partition_.log_partition), "log Z is not a number");
            digest.add(partition_.log_partition);
            digest.add(partition_.reduced);
            digest.add(partition_.reduced_error);
            digest.add(partition_.root_shift);
            digest.add(column_shift_);
        }
        record("log Z", status, digest);
    }

    void ask_marginals() {
        const Index stride = graph_.stride;
        std::vector<double> marginals(static_cast<std::size_t>(stride * stride), 0.0);
        double* const of_graph = marginals.data();
        Status status =
            kernels_.arc_marginals(&graph_, 1, workspace_.scratch, interrupt_, &of_graph, stride);
        Digest arcs;
        if (status == Status::ok) {
            for (Index j = 1; j <= graph_.num_words; ++j) {
                double total = 0.0;
                for (Index i = 0; i <= graph_.num_words; ++i) {
                    const double chance = marginals[static_cast<std::size_t>(i * stride + j)];
                    expect(is_chance(chance), "a marginal is not a probability");
                    expect(chance == 0 || graph_.score(i, j) > -HUGE_VAL,
                           "a forbidden arc has a marginal");
                    total += chance;
                }
                // n + 1 quotients and their sum are rounded.
                expect(std::fabs(total - 1) <= static_cast<double>(size_) * 0x1p-51,
                       "marginals of the heads of a word do not sum to 1");
            }
            arcs.add(marginals);
        }
        record("arc marginals", status, arcs);

        std::vector<double> of_root(size_, 0.0);
        double* const root_row = of_root.data();
        double steps = 0.0;
        status =
            kernels_.root_marginals(&graph_, 1, workspace_.scratch, interrupt_, &root_row, &steps);
        Digest root;
        if (status == Status::ok) {
            for (const double chance : of_root) {
                expect(is_chance(chance), "a root marginal is not a probability");
            }
            expect(!std::isnan(steps), "the expected number of steps is not a number");
            root.add(of_root);
            root.add(steps);
        }
        record("root marginals", status, root);
    }

    // This graph beside others of its size that have the same trees: each is answered what it is
    // answered alone.
    void ask_four_at_once() {
        const Index n = graph_.num_words, stride = graph_.stride;
        if (n < fewest_words_at_once || n > most_words_at_once) return;
        std::vector<double> scores[graphs_at_once];
        Graph graphs[graphs_at_once];
        for (std::size_t g = 0; g < graphs_at_once; ++g) {
            for (Index i = 0; i <= n; ++i) {
                for (Index j = 0; j < stride; ++j) {
                    scores[g].push_back(graph_.score(i, j) / static_cast<double>(1 + g));
                }
            }
            graphs[g] = {scores[g].data(), stride, n, graph_.kind};
        }
        // From graph g on: a row of numbers and a matrix of each.
        using Numbers = std::vector<double>;
        const auto ask = [&](const std::string& question, const auto& answer) {
            const std::size_t area = scores[0].size();
            Numbers together(graphs_at_once * area, 0.0), of_all(graphs_at_once * size_, 0.0);
            Status status = answer(0, graphs_at_once, of_all.data(), together.data());
            Digest digest;
            for (std::size_t g = 0; g < graphs_at_once && status == Status::ok; ++g) {
                Numbers alone(area, 0.0), of_one(size_, 0.0);
                status = answer(static_cast<Index>(g), 1, of_one.data(), alone.data());
                if (status != Status::ok) break;
                digest.add(of_one);
                digest.add(alone);
                expect(std::equal(alone.begin(), alone.end(), &together[g * area]) &&
                           std::equal(of_one.begin(), of_one.end(), &of_all[g * size_]),
                       "four graphs at once do not have the answers of one");
            }
            record("four graphs at once: " + question, status, digest);
        };
        struct Matrices {
            double* of[graphs_at_once];
        };
        const auto matrices = [&](double* all) {
            Matrices begin;
            for (std::size_t g = 0; g < graphs_at_once; ++g)
                begin.of[g] = all + g * scores[0].size();
            return begin;
        };
        const double* directions[graphs_at_once];
        for (std::size_t g = 0; g < graphs_at_once; ++g) directions[g] = scores[3 - g].data();
        Scratch& scratch = workspace_.scratch;
        ask("log Z", [&](Index g, Index count, double* numbers, double*) {
            PartitionOutput outputs[graphs_at_once] = {};
            for (Index k = 0; k < count; ++k) {
                outputs[k].column_shift = numbers + k * static_cast<Index>(size_);
            }
            const Status status =
                kernels_.log_partition(graphs + g, count, scratch, interrupt_, outputs, nullptr, 0);
            // There is no shift of the root.
            for (Index k = 0; k < count; ++k) outputs[k].column_shift[0] = outputs[k].log_partition;
            return status;
        });
        ask("marginals", [&](Index g, Index count, double*, double* all) {
            return kernels_.arc_marginals(graphs + g, count, scratch, interrupt_, matrices(all).of,
                                          stride);
        });
        ask("covariances", [&](Index g, Index count, double*, double* all) {
            return kernels_.arc_covariances(graphs + g, count, scratch, interrupt_, directions + g,
                                            matrices(all).of, stride);
        });
        ask("cumulants", [&](Index g, Index count, double*, double* all) {
            return kernels_.arc_cumulants(graphs + g, count, scratch, interrupt_, directions + g,
                                          directions + g, matrices(all).of, stride);
        });
        ask("root marginals", [&](Index g, Index count, double* numbers, double* all) {
            double steps[graphs_at_once] = {};
            const Status status = kernels_.root_marginals(graphs + g, count, scratch, interrupt_,
                                                          matrices(all).of, steps);
            for (Index k = 0; k < count; ++k) numbers[k * static_cast<Index>(size_)] = steps[k];
            return status;
        });
        ask("entropy", [&](Index g, Index count, double* numbers, double*) {
            double entropies[graphs_at_once] = {};
            const Status status =
                kernels_.entropy(graphs + g, count, scratch, interrupt_, entropies);
            for (Index k = 0; k < count; ++k) numbers[k * static_cast<Index>(size_)] = entropies[k];
            return status;
        });
        ask("entropy gradient", [&](Index g, Index count, double* numbers, double* all) {
            double entropies[graphs_at_once] = {};
            const Status status = kernels_.entropy_gradient(graphs + g, count, scratch, interrupt_,
                                                            matrices(all).of, stride, entropies);
            for (Index k = 0; k < count; ++k) numbers[k * static_cast<Index>(size_)] = entropies[k];
            return status;
        });
    }

    void ask_numbers() {
        double entropy = 0.0, mean = 0.0;
        Status status = kernels_.entropy(&graph_, 1, workspace_.scratch, interrupt_, &entropy);
        Digest digest;
        if (status == Status::ok) {
            expect(entropy >= 0, "the entropy is negative or not a number");
            digest.add(entropy);
        }
        record("entropy", status, digest);
        if (!graph_.has_single_root() || graph_.is_projective()) return;
        status = kernels_.mean_hitting_time(graph_, workspace_.scratch, interrupt_, &mean);
        Digest times;
        if (status == Status::ok) {
            expect(mean >= 0, "the mean hitting time is negative or not a number");
            times.add(mean);
        }
        record("mean hitting time", status, times);
    }

    // The best tree, and the first ones in order.
    void ask_best() {
        Digest digest;
        BestCounts counts;
        std::vector<std::int32_t> heads(size_, -9);
        Status status =
            kernels_.best_tree(graph_, workspace_.scratch, interrupt_, 1.0, heads.data(), counts);
        if (status == Status::ok) {
            expect(is_tree(graph_, heads.data()), "the best tree is not a tree");
            digest.add(heads);
        }
        record("best tree", status, digest);
        void* const sequence = kernels_.make_best_trees(graph_, 1.0);
        if (sequence == nullptr) return record("best trees", Status::no_memory, Digest());
        Digest in_order;
        std::set<std::vector<std::int32_t>> seen;
        for (Index i = 0; i < num_draws_; ++i) {
            const std::int32_t* tree = nullptr;
            status = kernels_.next_best_tree(sequence, interrupt_, tree, counts);
            if (status != Status::ok || tree == nullptr) break;
            const std::vector<std::int32_t> found(tree, tree + size_);
            expect(is_tree(graph_, tree), "one of the best trees is not a tree");
            expect(seen.insert(found).second, "a best tree came twice");
            expect(i > 0 || digest.value() == Digest().value() || found == heads,
                   "the best tree is not the first of the best trees");
            in_order.add(found);
        }
        kernels_.free_best_trees(sequence);
        record("best trees", status, in_order);
    }

    void ask_draws(Method method, const DrawRule& rule, const std::string& question) {
        Digest digest;
        SampleCounts counts;
        std::vector<std::int32_t> heads(size_ * static_cast<std::size_t>(num_draws_), -9);
        Status status = kernels_.prepare(graph_, method, rule, workspace_.prepared,
                                         workspace_.scratch, interrupt_);
        if (status == Status::ok) {
            status =
                kernels_.draw(workspace_.prepared, key, DrawRange{3, 5, num_draws_}, heads.data(),
                              static_cast<Index>(size_), workspace_.scratch, interrupt_, counts);
        }
        if (status == Status::ok) {
            digest.add(heads);
            digest.add(counts.steps);
            digest.add(counts.walks);
            digest.add(counts.ancestral);
            for (Index i = 0; i < num_draws_; ++i) {
                const std::int32_t* tree = heads.data() + i * static_cast<Index>(size_);
                expect(is_tree(graph_, tree), "a draw is not a tree");
                if (!has_partition_) continue;
                double log_prob = 0.0;
                Index num_trees = 0;
                // Rows of heads are as long as those of the graph, with -1 for padding.
                std::vector<std::int32_t> row(static_cast<std::size_t>(graph_.stride), -1);
                std::copy(tree, tree + size_, row.begin());
                kernels_.log_prob(graph_, partition_, workspace_.scratch, row.data(), graph_.stride,
                                  1, &log_prob, 1, num_trees);
                expect(num_trees == 1, "log_prob takes a draw for no tree");
                expect(log_prob <= 0, "a log-probability is positive or not a number");
                digest.add(log_prob);
            }
        }
        record(question, status, digest);
    }

    void ask_distinct(const SwitchRule& rule, const std::string& question) {
        void* const sequence = kernels_.make_distinct(graph_, key, 3, rule);
        if (sequence == nullptr) return record(question, Status::no_memory, Digest());
        Digest digest;
        std::set<std::vector<std::int32_t>> seen;
        double perturbed = HUGE_VAL;
        Status status = Status::ok;
        for (Index i = 0; i < num_draws_; ++i) {
            DistinctTree tree;
            status = kernels_.next_distinct(sequence, interrupt_, tree);
            if (status != Status::ok || tree.exhausted) break;
            const std::vector<std::int32_t> heads(tree.heads, tree.heads + size_);
            expect(is_tree(graph_, tree.heads), "a distinct draw is not a tree");
            expect(seen.insert(heads).second, "a tree was drawn twice");
            expect(tree.log_prob <= 0 && tree.log_remaining <= 0,
                   "a log-probability of a distinct draw is positive or not a number");
            expect(tree.perturbed_log_prob <= perturbed, "perturbed log-probabilities ascend");
            perturbed = tree.perturbed_log_prob;
            digest.add(heads);
            digest.add(tree.log_prob);
            digest.add(tree.log_remaining);
            digest.add(tree.perturbed_log_prob);
        }
        kernels_.free_distinct(sequence);
        record(question, status, digest);
    }

    static constexpr StreamKey key{{0x0123456789abcdefu, 0xfedcba9876543210u}};
    const Kernels& kernels_;
    const Graph& graph_;
    const Interrupt& interrupt_;
    Workspace& workspace_;
    Index num_draws_;
    std::size_t size_;
    std::vector<double> column_shift_;
    PartitionOutput partition_{};
    bool has_partition_ = false;
    Answers answers_;
};

inline std::vector<const Kernels*> all_kernels() {
    std::vector<const Kernels*> tables{&baseline::kernels()};
#ifdef ARBORAND_HAS_AVX2
    if (__builtin_cpu_supports("avx2")) tables.push_back(&avx2::kernels());
#endif
    return tables;
}

}  // namespace arborand

// Asks the core everything about random graphs until the time is up: `fuzz SECONDS [SEED]`.
//
// Built with sanitizers by `make sanitize`.  Every round takes a random graph, ordinary or hostile,
// and compares: the instruction sets with each other, several threads with one, and a sequence of
// calls of which some were interrupted with one that was left alone.  All must give the same bits,
// and none an answer that is impossible (answers.hpp).  A seed repeats a run, round by round.
#include <atomic>
#include <chrono>
#include <cinttypes>

#include "sparse_answers.hpp"

using namespace arborand;

namespace {

// Gives up at the call of this number, as a user who presses Ctrl-C would.
struct CountedPoll {
    std::int64_t left;

    static bool poll(void* self) { return static_cast<CountedPoll*>(self)->left-- <= 0; }
};

Index random_size(Random& random) {
    if (random.one_in(100)) return 128 + random.below(40);  // asks for interrupts in the middle
    if (random.one_in(8)) return 14 + random.below(40);
    return 1 + random.below(14);
}

OwnedGraph any_graph(Random& random) {
    const Scores scores = static_cast<Scores>(random.below(num_scores));
    const Index sparsity = random.below(4);
    return random_graph(random, scores, random_size(random), static_cast<TreeKind>(random.below(4)),
                        sparsity);
}

class Fuzzer {
  public:
    explicit Fuzzer(std::uint64_t seed) : seed_(seed) {}

    // One round is a function of the seed and its number alone.
    bool round(std::uint64_t number) {
        Random random(seed_ ^ number * 0xD1342543DE82EF95u);
        std::vector<OwnedGraph> graphs;
        for (Index count = 1 + random.below(4); count > 0; --count) {
            graphs.push_back(any_graph(random));
        }
        const std::vector<Answers> expected = serially(graphs, baseline::kernels());
        for (const Kernels* kernels : all_kernels()) {
            const int workers = 1 + static_cast<int>(random.below(4));
            compare(expected, in_threads(graphs, *kernels, workers, nullptr), kernels->name);
            CountedPoll poll{random.below(200)};
            compare(expected, in_threads(graphs, *kernels, workers, &poll), "interrupted");
        }
        ask_sparse(random);
        for (const std::string& problem : problems_) {
            std::printf("seed %" PRIu64 ", round %" PRIu64 ": %s\n", seed_, number,
                        problem.c_str());
        }
        return problems_.empty();
    }

  private:
    static constexpr Index num_draws = 5;

    std::vector<Answers> serially(const std::vector<OwnedGraph>& graphs, const Kernels& kernels) {
        Workspace workspace;
        std::vector<Answers> answers;
        for (const OwnedGraph& graph : graphs) {
            const Graph view = graph.view();
            answers.push_back(Interview(kernels, view, Interrupt{}, workspace, num_draws).run());
            note(answers.back());
        }
        return answers;
    }

    std::vector<Answers> in_threads(const std::vector<OwnedGraph>& graphs, const Kernels& kernels,
                                    int workers, CountedPoll* poll) {
        std::vector<Answers> answers(graphs.size());
        for_each(static_cast<Index>(graphs.size()), workers,
                 poll == nullptr ? nullptr : &CountedPoll::poll, poll,
                 [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
                     const Graph view = graphs[static_cast<std::size_t>(g)].view();
                     answers[static_cast<std::size_t>(g)] =
                         Interview(kernels, view, interrupt, workspace, num_draws).run();
                     return Status::ok;
                 });
        for (const Answers& answer : answers) note(answer);
        return answers;
    }

    // Sparse graphs: there is one instruction set for them.
    void ask_sparse(Random& random) {
        std::vector<OwnedEdges> graphs;
        for (Index count = 1 + random.below(3); count > 0; --count) {
            const Scores scores = static_cast<Scores>(random.below(num_scores));
            const Index num_nodes =
                random.one_in(30) ? 200 + random.below(300) : 1 + random.below(40);
            graphs.push_back(random_edges(random, scores, num_nodes));
        }
        std::vector<Answers> expected;
        for (const OwnedEdges& graph : graphs) {
            expected.push_back(sparse_answers(graph, Interrupt{}, num_draws));
            note(expected.back());
        }
        CountedPoll poll{random.below(60)};
        for (CountedPoll* asked : {static_cast<CountedPoll*>(nullptr), &poll}) {
            std::vector<Answers> found(graphs.size());
            for_each(static_cast<Index>(graphs.size()), 3,
                     asked == nullptr ? nullptr : &CountedPoll::poll, asked,
                     [&](Index g, Workspace&, const Interrupt& interrupt) {
                         found[static_cast<std::size_t>(g)] = sparse_answers(
                             graphs[static_cast<std::size_t>(g)], interrupt, num_draws);
                         return Status::ok;
                     });
            for (const Answers& answer : found) note(answer);
            compare(expected, found, asked == nullptr ? "in threads" : "interrupted");
        }
    }

    void note(const Answers& answers) {
        for (const std::string& complaint : answers.complaints.found()) {
            problems_.insert(complaint);
        }
    }

    // What was answered at all must be the same.
    void compare(const std::vector<Answers>& expected, const std::vector<Answers>& found,
                 const char* what) {
        for (std::size_t g = 0; g < expected.size(); ++g) {
            for (std::size_t i = 0; i < found[g].answers.size(); ++i) {
                const Answers::Answer& one = expected[g].answers[i];
                const Answers::Answer& other = found[g].answers[i];
                if (other.status == Status::ok && one.digest != other.digest) {
                    problems_.insert(one.question + " differs: " + what);
                }
            }
        }
    }

    std::uint64_t seed_;
    std::set<std::string> problems_;
};

}  // namespace

int main(int count, char** arguments) {
    using Clock = std::chrono::steady_clock;
    const double seconds = count > 1 ? std::atof(arguments[1]) : 10.0;
    const std::uint64_t seed =
        count > 2 ? std::strtoull(arguments[2], nullptr, 10)
                  : static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
    const std::uint64_t first = count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 0;
    std::printf("fuzzing for %g s with seed %" PRIu64 "\n", seconds, seed);
    std::fflush(stdout);
    const Clock::time_point start = Clock::now();
    std::uint64_t number = first;
    bool clean = true;
    for (; std::chrono::duration<double>(Clock::now() - start).count() < seconds; ++number) {
        clean &= Fuzzer(seed).round(number);
        std::fflush(stdout);
    }
    std::printf("%" PRIu64 " rounds, %s\n", number - first, clean ? "clean" : "NOT CLEAN");
    return clean ? 0 : 1;
}

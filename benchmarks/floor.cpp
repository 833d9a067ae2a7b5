// What a random walk cannot do without, next to what the walks of the core take, in one program.
//
// benchmarks/sampling.py compiles this file against ../src/core with the options of CMakeLists.txt
// and runs it.  For every number of words it times, in turns:
//
//   floor   a bare loop of "next Philox number, one table look-up that depends on the one before";
//           the table has 4 bytes a slot, the least that says where to go
//   slots   the same loop over slots of 16 bytes, the size of an alias table's
//   step    a step of the core's walk: draws so long that nothing but their steps counts
//   <graph> whole draws of spanning trees from that graph, and the steps they took
//   <graph> steps   the steps of these very draws and nothing else: the starts and lengths of all
//           walks are known beforehand, so that no node is asked whether it is in the tree, no path
//           joins it, and no start is looked for
//
// and prints one line of JSON for each: {"n": .., "what": .., "ns": .., "steps": ..}, where `ns` is
// the time of one round of the loop, of one step, of one draw, or of the steps of one draw.
#define ARBORAND_ISA bench

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sampling/with_replacement.hpp"

namespace {

using namespace arborand;
using namespace arborand::bench;

// Processor time: what other programs take on a busy machine does not count.
double nanoseconds() { return 1e9 / CLOCKS_PER_SEC * static_cast<double>(std::clock()); }

// Keeps the compiler from leaving out what nobody reads.
volatile std::uint64_t sink;

// Not inlined, so that the loop is compiled the same way whatever stands around it.
template <class Entry>
__attribute__((noinline)) double time_look_ups(const std::vector<Entry>& table, Index num_nodes,
                                               std::int64_t rounds, std::uint64_t seed) {
    const std::uint64_t count = static_cast<std::uint64_t>(num_nodes);
    Stream stream(StreamKey{{seed, 0}}, 0, 0);
    std::uint64_t node = 0;
    const double begin = nanoseconds();
    for (std::int64_t round = 0; round < rounds; ++round) {
        const std::uint64_t slot = high_half(static_cast<UInt128>(stream.next()) * count);
        node = table[node * count + slot].next;
    }
    const double end = nanoseconds();
    sink = node;
    return (end - begin) / static_cast<double>(rounds);
}

struct Narrow {
    std::uint32_t next;
};

struct Wider {
    std::uint64_t unused;
    std::uint32_t next;
};

template <class Entry>
std::vector<Entry> random_table(Index num_nodes, std::mt19937_64& random) {
    std::vector<Entry> table(static_cast<std::size_t>(num_nodes * num_nodes));
    for (Entry& entry : table) {
        entry = Entry{};
        entry.next = static_cast<std::uint32_t>(random() % static_cast<std::uint64_t>(num_nodes));
    }
    return table;
}

// A graph of n words, ready for drawing.
class Draws {
  public:
    Draws(const char* name, std::vector<double> log_weights, Index n)
        : name(name), log_weights_(std::move(log_weights)), n_(n) {
        const Graph graph{log_weights_.data(), n + 1, n, TreeKind::spanning};
        constexpr DrawRule always_walk{std::int64_t{1} << 40, Pops::never};
        if (Sampler::prepare(graph, Method::wilson, always_walk, prepared_, work_, Interrupt{}) !=
            Status::ok) {
            std::exit(1);
        }
    }

    // The time of one draw; `steps` of it.
    double time(Index count, double& steps) {
        heads_.resize(static_cast<std::size_t>(count * (n_ + 1)));
        SampleCounts counts;
        const double begin = nanoseconds();
        draw_trees(Sampler::in(prepared_), key, DrawRange{0, first_, count}, heads_.data(), n_ + 1,
                   work_, Interrupt{}, counts);
        const double end = nanoseconds();
        first_ += static_cast<std::uint64_t>(count);
        sink = static_cast<std::uint64_t>(heads_.back());
        steps = static_cast<double>(counts.steps) / static_cast<double>(count);
        return (end - begin) / static_cast<double>(count);
    }

    // The time of the steps of one of the last `count` draws.
    double time_steps(Index count) {
        const std::uint64_t first = first_ - static_cast<std::uint64_t>(count);
        record(first, count);
        std::vector<std::int32_t> heads(heads_.size(), -1);
        const double begin = nanoseconds();
        replay(first, count, heads.data());
        const double end = nanoseconds();
        if (heads != heads_) std::exit(2);
        return (end - begin) / static_cast<double>(count);
    }

    const char* const name;

  private:
    struct Walk {
        std::uint32_t start, length;
    };

    WalkTables tables() const { return {Sampler::in(prepared_).slots, n_ + 1}; }

    std::uint32_t step(Index node, Stream& stream) const {
        return draw_alias(tables().of(node), static_cast<std::uint64_t>(n_ + 1), stream.next());
    }

    // Find out where the walks of these draws start and how long they are.
    void record(std::uint64_t first, Index count) {
        walks_.clear();
        num_walks_.clear();
        std::vector<std::uint32_t> heads(static_cast<std::size_t>(n_ + 1));
        for (Index i = 0; i < count; ++i) {
            const std::size_t before = walks_.size();
            Stream stream(key, 0, first + static_cast<std::uint64_t>(i));
            std::vector<bool> in_tree(heads.size(), false);
            in_tree[0] = true;
            for (std::uint32_t start = 1; start < heads.size(); ++start) {
                if (in_tree[start]) continue;
                std::uint32_t length = 0;
                for (std::uint32_t node = start; !in_tree[node]; node = heads[node]) {
                    heads[node] = step(node, stream);
                    ++length;
                }
                for (std::uint32_t node = start; !in_tree[node]; node = heads[node]) {
                    in_tree[node] = true;
                }
                walks_.push_back({start, length});
            }
            num_walks_.push_back(static_cast<std::uint32_t>(walks_.size() - before));
        }
    }

    __attribute__((noinline)) void replay(std::uint64_t first, Index count, std::int32_t* heads) {
        const Walk* walk = walks_.data();
        for (Index i = 0; i < count; ++i, heads += n_ + 1) {
            Stream stream(key, 0, first + static_cast<std::uint64_t>(i));
            const Walk* const end = walk + num_walks_[static_cast<std::size_t>(i)];
            for (; walk != end; ++walk) {
                Index node = walk->start;
                for (std::uint32_t left = walk->length; left > 0; --left) {
                    const std::uint32_t head = step(node, stream);
                    heads[node] = static_cast<std::int32_t>(head);
                    node = head;
                }
            }
        }
    }

    static constexpr StreamKey key{{7, 0}};
    std::vector<Walk> walks_;
    std::vector<std::uint32_t> num_walks_;  // of each draw
    std::vector<double> log_weights_;
    Index n_;
    std::uint64_t first_ = 0;
    Prepared prepared_;
    Scratch work_;
    std::vector<std::int32_t> heads_;
};

// Normal scores of the given spread; root arcs lowered by `root`.
std::vector<double> scores(Index n, double spread, double root, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    std::vector<double> result(static_cast<std::size_t>((n + 1) * (n + 1)));
    for (double& score : result) score = spread * normal(random);
    for (Index j = 0; j <= n; ++j) {
        result[static_cast<std::size_t>(j)] -= root;
        result[static_cast<std::size_t>(j * (n + 2))] = -HUGE_VAL;
        result[static_cast<std::size_t>(j * (n + 1))] = -HUGE_VAL;
    }
    return result;
}

void print(Index n, const char* what, double ns, double steps) {
    std::printf("{\"n\": %td, \"what\": \"%s\", \"ns\": %.6g, \"steps\": %.6g}\n", n, what, ns,
                steps);
}

void measure(Index n, int repetitions, double milliseconds) {
    std::mt19937_64 random(static_cast<std::uint64_t>(n));
    const Index num_nodes = n + 1;
    const std::vector<Narrow> narrow = random_table<Narrow>(num_nodes, random);
    const std::vector<Wider> wider = random_table<Wider>(num_nodes, random);
    // With the root this far away a draw takes some 10^5 steps.
    Draws distant("step", scores(n, 1.0, std::log(4000.0), random), n);
    std::unique_ptr<Draws> graphs[] = {
        std::make_unique<Draws>("flat", scores(n, 0.0, 0.0, random), n),
        std::make_unique<Draws>("random", scores(n, 1.0, 0.0, random), n),
        std::make_unique<Draws>("peaked", scores(n, 4.0, 0.0, random), n),
    };

    const auto rounds_for = [milliseconds](double ns) {
        return std::max<std::int64_t>(1, static_cast<std::int64_t>(milliseconds * 1e6 / ns));
    };
    // The first repetition warms up and tells how many rounds fill the time.
    std::int64_t look_ups = 100000, long_draws = 2;
    std::int64_t draws[] = {100, 100, 100};
    for (int repetition = -1; repetition < repetitions; ++repetition) {
        const bool counts = repetition >= 0;
        const std::uint64_t seed = static_cast<std::uint64_t>(repetition + 2);
        const double floor_ns = time_look_ups(narrow, num_nodes, look_ups, seed);
        const double slots_ns = time_look_ups(wider, num_nodes, look_ups, seed);
        double steps;
        const double long_ns = distant.time(long_draws, steps);
        if (counts) {
            print(n, "floor", floor_ns, 1.0);
            print(n, "slots", slots_ns, 1.0);
            print(n, "step", long_ns / steps, steps);
        } else {
            look_ups = rounds_for(floor_ns);
            long_draws = rounds_for(long_ns);
        }
        for (int g = 0; g < 3; ++g) {
            const double ns = graphs[g]->time(draws[g], steps);
            const double steps_ns = graphs[g]->time_steps(draws[g]);
            if (counts) {
                print(n, graphs[g]->name, ns, steps);
                const std::string name = graphs[g]->name;
                print(n, (name + " steps").c_str(), steps_ns, steps);
            } else {
                draws[g] = rounds_for(ns);
            }
        }
    }
}

}  // namespace

int main(int num_arguments, char** arguments) {
    const int repetitions = num_arguments > 1 ? std::atoi(arguments[1]) : 20;
    const double milliseconds = num_arguments > 2 ? std::atof(arguments[2]) : 5.0;
    for (const Index n : {20, 50, 100}) measure(n, repetitions, milliseconds);
    return 0;
}

// Asks one question of 64 random graphs again and again: `speed KERNELS QUESTION WORDS TIMES`.
//
// It prints the processor time of an answer in microseconds, and a digest of the answers, so that
// whoever compares times sees that they are of the same work.
#include <cinttypes>
#include <ctime>

#include "answers.hpp"

using namespace arborand;

namespace {

constexpr Index num_graphs = 64, num_draws = 10;

struct Asked {
    const Kernels& kernels;
    std::vector<Graph> graphs;
    Index size;
    Workspace workspace;
    Digest digest;

    void log_partition() {
        std::vector<double> shifts(static_cast<std::size_t>(size * graphs_at_once));
        for (Index g = 0; g < num_graphs; g += graphs_at_once) {
            PartitionOutput outputs[graphs_at_once] = {};
            for (Index k = 0; k < graphs_at_once; ++k) {
                outputs[k].column_shift = shifts.data() + k * size;
            }
            kernels.log_partition(&graphs[static_cast<std::size_t>(g)], graphs_at_once,
                                  workspace.scratch, {}, outputs, nullptr, 0);
            for (const PartitionOutput& output : outputs) digest.add(output.log_partition);
        }
    }

    void marginals() {
        std::vector<double> answers(static_cast<std::size_t>(size * size * graphs_at_once));
        double* of_graph[graphs_at_once];
        for (Index k = 0; k < graphs_at_once; ++k) of_graph[k] = answers.data() + k * size * size;
        for (Index g = 0; g < num_graphs; g += graphs_at_once) {
            kernels.arc_marginals(&graphs[static_cast<std::size_t>(g)], graphs_at_once,
                                  workspace.scratch, {}, of_graph, size);
            digest.add(answers[static_cast<std::size_t>(size + 2)]);
        }
    }

    void sample() {
        std::vector<std::int32_t> heads(static_cast<std::size_t>(num_draws * size));
        for (Index g = 0; g < num_graphs; ++g) {
            const Graph& graph = graphs[static_cast<std::size_t>(g)];
            SampleCounts counts;
            kernels.prepare(graph, Method::wilson, DrawRule{}, workspace.prepared,
                            workspace.scratch, {});
            kernels.draw(workspace.prepared, StreamKey{{1, 2}}, DrawRange{0, 0, num_draws},
                         heads.data(), size, workspace.scratch, {}, counts);
            digest.add(heads);
        }
    }
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 5) return 2;
    const std::string wanted = arguments[1], question = arguments[2];
    const Index num_words = std::atoi(arguments[3]), times = std::atoi(arguments[4]);
    for (const Kernels* kernels : all_kernels()) {
        if (wanted != kernels->name) continue;
        Random random(1);
        std::vector<OwnedGraph> owned;
        Asked asked{*kernels, {}, num_words + 1, {}, {}};
        for (Index g = 0; g < num_graphs; ++g) {
            owned.push_back(
                random_graph(random, Scores::ordinary, num_words, TreeKind::dependency, 0));
        }
        for (const OwnedGraph& graph : owned) asked.graphs.push_back(graph.view());
        const std::clock_t begin = std::clock();
        for (Index i = 0; i < times; ++i) {
            if (question == "log_partition") asked.log_partition();
            if (question == "marginals") asked.marginals();
            if (question == "sample") asked.sample();
        }
        const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        std::printf("%.3f %016" PRIx64 "\n",
                    seconds * 1e6 / static_cast<double>(times > 0 ? times * num_graphs : 1),
                    asked.digest.value());
        return 0;
    }
    std::fprintf(stderr, "this machine has no kernels called %s\n", wanted.c_str());
    return 2;
}

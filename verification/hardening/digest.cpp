// Prints a digest of every answer of the core on a fixed list of graphs: `digest baseline`.
//
// Run where it was compiled for, and compared line by line: machines that print the same lines draw
// the same trees and compute the same bits.
#include <cinttypes>

#include "sparse_answers.hpp"

using namespace arborand;

int main(int count, char** arguments) {
    const std::string wanted = count > 1 ? arguments[1] : "baseline";
    const Kernels* kernels = nullptr;
    for (const Kernels* table : all_kernels()) {
        if (wanted == table->name) kernels = table;
    }
    if (kernels == nullptr) {
        std::fprintf(stderr, "this machine has no kernels called %s\n", wanted.c_str());
        return 2;
    }
    const Index sizes[] = {1, 2, 3, 5, 8, 13, 33};
    bool clean = true;
    const auto print = [&](const Answers& answers, const std::string& graph) {
        for (const Answers::Answer& answer : answers.answers) {
            std::printf("%016" PRIx64 " %s: %s\n", answer.digest, graph.c_str(),
                        answer.question.c_str());
        }
        for (const std::string& complaint : answers.complaints.found()) {
            std::printf("COMPLAINT %s: %s\n", graph.c_str(), complaint.c_str());
            clean = false;
        }
    };
    Workspace workspace;
    Random random(1);
    for (Index scores = 0; scores < num_scores; ++scores) {
        for (const Index num_words : sizes) {
            for (int kind = 0; kind < 8; ++kind) {  // dense, and sparse
                const OwnedGraph owned =
                    random_graph(random, static_cast<Scores>(scores), num_words,
                                 static_cast<TreeKind>(kind % 4), kind < 4 ? 0 : 3);
                const Graph graph = owned.view();
                const std::string name = "scores " + std::to_string(scores) + ", " +
                                         std::to_string(num_words) + " words, kind " +
                                         std::to_string(kind);
                print(Interview(*kernels, graph, Interrupt{}, workspace, 8).run(), name);
            }
        }
    }
    for (Index scores = 0; scores < num_scores; ++scores) {
        for (const Index num_nodes : sizes) {
            for (int i = 0; i < 4; ++i) {
                const OwnedEdges edges =
                    random_edges(random, static_cast<Scores>(scores), num_nodes);
                const std::string name = "scores " + std::to_string(scores) + ", " +
                                         std::to_string(num_nodes) + " nodes, edges " +
                                         std::to_string(i);
                print(sparse_answers(edges, Interrupt{}, 8), name);
            }
        }
    }
    return clean ? 0 : 1;
}

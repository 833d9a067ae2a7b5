// Wilson's walk on graphs with near-closed cycles: all laps round such a cycle are taken at once.
//
// Follow the heaviest step out of every node.  The cycles that this closes are disjoint.  The plain
// walk goes round such a cycle C until it happens to leave it, which may take e^60 laps.  Where the
// walk is at v in C, and all other nodes of C are *fresh* (neither on the path nor in the tree), a
// lap pops C and nothing else, and leaves the walk where it was.  So the laps may be left out: the
// walk leaves C at its k-th node from v with a chance in proportion to
//
//     p_0 p_1 .. p_(k-1) q_k,
//
// where p is the chance of the step along C and q that of all others together.
//
// The budget counts the entries of popped cycles other than these C.  That is a function of the
// popped cycles alone, so that the law stays exact (docs/mathematics.md).  Counting steps would not
// do: some laps are walked, and which ones depends on where the walk came in.
#pragma once

#include "sampling/wilson.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The cycles of one graph, and the tables of their nodes.
struct Laps {
    Index num_cycles = 0;
    std::int32_t* cycle = nullptr;   // [node]: its cycle; num_cycles if it is on none
    std::int32_t* next = nullptr;    // [node]: the step along its cycle
    std::int32_t* length = nullptr;  // [cycle]
    const Slot** exits = nullptr;    // [node]: after how many steps along the cycle to leave it
    const Slot** others = nullptr;   // [node]: the steps that leave the cycle
};

// What a walk that jumps keeps of each node, and of each cycle.
class LapMarks {
  public:
    enum State : char { fresh, on_path, in_tree };

    static std::size_t room(Index num_nodes) {
        return static_cast<std::size_t>(num_nodes + 1) * (sizeof(std::int32_t) + sizeof(char));
    }

    // All nodes but the root are fresh.
    LapMarks(char* memory, Index num_nodes, const Laps& laps)
        : laps_(laps),
          num_taken_(reinterpret_cast<std::int32_t*>(memory)),
          state_(memory + static_cast<std::size_t>(num_nodes + 1) * sizeof(std::int32_t)) {
        for (Index c = 0; c <= laps.num_cycles; ++c) num_taken_[c] = 0;
        for (Index i = 0; i < num_nodes; ++i) state_[i] = fresh;
        state_[0] = in_tree;
    }

    State state(Index node) const { return static_cast<State>(state_[node]); }
    void put_into_tree(Index node) { state_[node] = in_tree; }  // from the path
    void take(Index node, State state) {                        // a fresh node
        state_[node] = state;
        ++num_taken_[laps_.cycle[node]];
    }
    void give_back(Index node) {
        state_[node] = fresh;
        --num_taken_[laps_.cycle[node]];
    }

    // Whether a node on the path is on a cycle, and alone there.
    bool may_jump(Index node) const {
        const std::int32_t cycle = laps_.cycle[node];
        return cycle < laps_.num_cycles && num_taken_[cycle] == 1;
    }

  private:
    const Laps& laps_;
    std::int32_t* num_taken_;  // [cycle]: its nodes that are not fresh
    char* state_;              // [node]
};

// Erase the loop that the heads make from a node on the path, but for this node.  The number of its
// entries that count: none if it is a lap.
inline std::int64_t erase_loop(Index node, const std::int32_t* heads, const Laps& laps,
                               LapMarks& marks) {
    const std::int32_t cycle = laps.cycle[node];
    bool is_lap = cycle < laps.num_cycles && heads[node] == laps.next[node];
    std::int64_t length = 1;
    for (Index i = heads[node]; i != node; i = heads[i]) {
        marks.give_back(i);
        is_lap &= laps.cycle[i] == cycle && heads[i] == laps.next[i];
        ++length;
    }
    return is_lap ? 0 : length;
}

// Complete heads to a tree.  `child`, if there is one, hangs from the root.  What is left of
// `budget` is written back; steps are added up.
inline WalkEnd walk_with_jumps(const WalkTables& tables, const Laps& laps, Stream& stream,
                               std::int32_t* heads, char* room, Index child, std::int64_t& budget,
                               std::int64_t& steps) {
    const std::uint64_t count = static_cast<std::uint64_t>(tables.num_nodes);
    LapMarks marks(room, tables.num_nodes, laps);
    if (child > 0) {
        marks.take(child, LapMarks::in_tree);
        heads[child] = 0;
    }
    for (Index start = 1; start < tables.num_nodes; ++start) {
        if (marks.state(start) != LapMarks::fresh) continue;
        Index node = start;
        marks.take(node, LapMarks::on_path);
        for (;;) {
            ++steps;
            const Slot* table = tables.of(node);
            if (marks.may_jump(node)) {
                const std::uint64_t length =
                    static_cast<std::uint64_t>(laps.length[laps.cycle[node]]);
                std::uint32_t along = draw_alias(laps.exits[node], length, stream.next());
                steps += along;
                for (; along > 0; --along) {
                    heads[node] = laps.next[node];
                    node = laps.next[node];
                    marks.take(node, LapMarks::on_path);
                }
                table = laps.others[node];
            }
            const Index head = draw_alias(table, count, stream.next());
            heads[node] = static_cast<std::int32_t>(head);
            node = head;
            if (marks.state(head) == LapMarks::fresh) {
                marks.take(head, LapMarks::on_path);
                continue;
            }
            if (marks.state(head) == LapMarks::in_tree) break;
            budget -= erase_loop(head, heads, laps, marks);
            if (budget < 0) {
                budget = 0;
                return WalkEnd::budget_spent;
            }
        }
        for (Index i = start; marks.state(i) == LapMarks::on_path; i = heads[i]) {
            marks.put_into_tree(i);
        }
    }
    return WalkEnd::tree;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand

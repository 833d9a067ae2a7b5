// Is an array of heads a tree?
//
// Follow the heads of all words at once, four times as far each time, until all have arrived at the
// root or the longest possible path is covered.  Words do not wait for each other and there is no
// branch for the processor to guess, which makes this several times as fast as walking from word to
// word.
//
// Cost: O(n log d) for a tree of depth d, O(n log n) for heads that are not a tree.
#pragma once

#include <cstdint>

#include "memory/arena.hpp"
#include "types/graph.hpp"

namespace arborand {
namespace ARBORAND_ISA {

class TreeCheck {
  public:
    // `stride` nodes: those of the graph, and padding.
    TreeCheck(const Graph& graph, Arena& arena)
        : num_words_(graph.num_words),
          stride_(graph.stride),
          heads_(arena.take<std::int32_t>(static_cast<std::size_t>(graph.num_words + 1))),
          near_(arena.take<std::int32_t>(static_cast<std::size_t>(graph.num_words + 1))),
          far_(arena.take<std::int32_t>(static_cast<std::size_t>(graph.num_words + 1))) {}

    static std::size_t workspace(const Graph& graph) {
        return 3 * Arena::rounded<std::int32_t>(static_cast<std::size_t>(graph.num_words + 1));
    }

    // Take a tree; false if the heads are not one.
    bool take(const std::int32_t* given) {
        const std::int32_t n = static_cast<std::int32_t>(num_words_);
        int bad = given[0] != -1;
        std::int32_t num_root_arcs = 0, any = 0;
        for (std::int32_t j = 1; j <= n; ++j) {
            const std::int32_t head = given[j];
            bad |= static_cast<std::uint32_t>(head) > static_cast<std::uint32_t>(n);
            num_root_arcs += head == 0;
            any |= head;
            heads_[j] = head;
        }
        num_root_arcs_ = num_root_arcs;
        for (Index j = num_words_ + 1; j < stride_; ++j) bad |= given[j] != -1;
        return !bad && (any == 0 || leads_to_root());
    }

    // What was taken: a copy, since another thread may write to what was given.
    const std::int32_t* heads() const { return heads_; }
    std::int32_t num_root_arcs() const { return num_root_arcs_; }

  private:
    bool leads_to_root() {
        const std::int32_t n = static_cast<std::int32_t>(num_words_);
        heads_[0] = near_[0] = far_[0] = 0;
        const std::int32_t* from = heads_;
        std::int32_t* to = near_;
        for (std::int64_t reach = 1; reach < n; reach *= 4) {  // `from` is that many arcs away
            std::int32_t any = 0;
            for (std::int32_t j = 1; j <= n; ++j) {
                const std::int32_t ancestor = from[from[from[from[j]]]];
                to[j] = ancestor;
                any |= ancestor;
            }
            if (any == 0) return true;
            from = to;
            to = to == near_ ? far_ : near_;
        }
        return false;
    }

    Index num_words_, stride_;
    std::int32_t* heads_;
    std::int32_t *near_, *far_;
    std::int32_t num_root_arcs_ = 0;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand

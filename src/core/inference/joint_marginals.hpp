// The probability of every pair of arcs, without a single subtraction, in O(n^4).
//
// Fix a word j.  For another word l, let the walk from x stop at the first of {root, j, l}, with
// the chances alpha, beta and gamma.  In the trees that contain i -> j, the walk continues from j
// to i; it reaches the root before l with the probability
//
//     e(i) = alpha_i / (alpha_i + gamma_i)        from i and so from j  (e(root) = 1, e(l) = 0),
//     e(x) = alpha_x + beta_x e(i)                from any other x,
//
// and P(k -> l | i -> j) is proportional to the weight of k -> l times e(k), as for the marginals.
//
// All l > j of one j come from one recursion, and those before it from their own: censor the words
// before j, halve the others, censor one half, recurse on the other, with j as a place where walks
// end.  Rows of censored words are kept and updated like the others, so that they say where their
// walk first lands.
#pragma once

#include "inference/marginals.hpp"
#include "memory/arena.hpp"
#include "numbers/leading_term.hpp"
#include "walk/problem.hpp"
#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Number>
class PairRecursion {
  public:
    // A matrix of rows for all words; columns: the words still there, then j, then the root.
    PairRecursion(const Number* walk, Index n, Index j, const double* marginals, double* joint,
                  Index size, Arena& arena)
        : walk_(walk),
          n_(n),
          j_(j),
          marginals_(marginals),
          joint_(joint),
          size_(size),
          arena_(arena) {}

    static std::size_t workspace(Index n) {
        std::size_t bytes = 2 * Arena::rounded<Index>(n) + Arena::rounded<Number>(n + 1);
        bytes += 2 * Arena::rounded<Number>(n * (n + 1));
        for (Index count = n - 1; count > 1; count -= count / 2) {
            // The widest copy on each level, and room for the words it still has.
            bytes += Arena::rounded<Number>(n * (count + 2)) + Arena::rounded<Index>(count);
        }
        return bytes;
    }

    bool run() {
        Index* words = arena_.take<Index>(n_);
        Index count = 0;
        for (Index l = 0; l < n_; ++l) {
            if (l != j_) words[count++] = l;
        }
        chance_ = arena_.take<Number>(n_ + 1);
        Number* rows = arena_.take<Number>(n_ * (n_ + 1));
        for (Index x = 0; x < n_; ++x) {  // the row of j itself is there, but never read
            Number* row = rows + x * (count + 2);
            for (Index c = 0; c < count; ++c) row[c] = step(x, words[c]);
            row[count] = step(x, j_);
            row[count + 1] = step(x, n_);
        }
        return j_ == count || censor_and_descend(words, count, rows, j_, count);
    }

  private:
    const Number& step(Index from, Index to) const { return walk_[from * (n_ + 1) + to]; }

    // `rows` are those of all words but j, count + 2 numbers each.
    bool descend(const Index* words, Index count, Number* rows) {
        if (count == 0) return true;
        if (count == 1) {
            visit(words[0], rows);
            return true;
        }
        const Index left = count / 2;
        return censor_and_descend(words, count, rows, 0, left) &&
               censor_and_descend(words, count, rows, left, count);
    }

    // Keep the words [begin, end) of the current ones.
    bool censor_and_descend(const Index* words, Index count, const Number* rows, Index begin,
                            Index end) {
        const std::size_t mark = arena_.mark();
        const Index width = count + 2;
        Number* work = arena_.take<Number>(n_ * width);
        for (Index i = 0; i < n_ * width; ++i) work[i] = rows[i];
        Index* kept = arena_.take<Index>(end - begin);
        for (Index c = begin; c < end; ++c) kept[c - begin] = words[c];
        for (Index c = 0; c < count; ++c) {
            if (c >= begin && c < end) continue;
            if (!censor(words[c], c, work, width)) return false;
        }
        // Close the gaps that the censored columns leave.
        const Index new_width = end - begin + 2;
        for (Index x = 0; x < n_; ++x) {
            const Number* from = work + x * width;
            Number* to = work + x * new_width;
            for (Index c = begin; c < end; ++c) to[c - begin] = from[c];
            to[end - begin] = from[count];
            to[end - begin + 1] = from[count + 1];
        }
        const bool finished = descend(kept, end - begin, work);
        arena_.release(mark);
        return finished;
    }

    // Take the word of column c out of all other rows; its own then says where its walk goes.
    bool censor(Index word, Index c, Number* rows, Index width) const {
        Number* row = rows + word * width;
        row[c] = Number();
        Number pivot = row[0];
        for (Index i = 1; i < width; ++i) pivot += row[i];
        if (!is_positive(pivot)) return false;
        for (Index i = 0; i < width; ++i) row[i] = row[i] / pivot;
        for (Index x = 0; x < n_; ++x) {
            Number* other = rows + x * width;
            if (x == j_ || x == word || !is_positive(other[c])) continue;
            const Number factor = other[c];
            other[c] = Number();
            for (Index i = 0; i < width; ++i) other[i] += factor * row[i];
        }
        return true;
    }

    // The columns that are left: gamma, beta and alpha.
    static constexpr Index to_l = 0, to_j = 1, to_root = 2;

    void visit(Index l, const Number* rows) {
        for (Index i = -1; i < n_; ++i) {  // the head of j; -1 is the root
            const double given = marginals_[j_ * (n_ + 1) + i + 1];
            if (i == j_ || !(given > 0)) continue;
            const Number returns = root_chance(i, l, rows);
            chance_[0] = step(l, n_);
            for (Index k = 0; k < n_; ++k) {
                const Number* ends = rows + 3 * k;
                const Number e = k == j_ ? returns : ends[to_root] + ends[to_j] * returns;
                chance_[k + 1] = k == l ? Number() : step(l, k) * e;
            }
            write(i, l, given);
        }
    }

    // The chance to reach the root before l, from the head i of j.
    Number root_chance(Index i, Index l, const Number* rows) const {
        if (i < 0) return Number(1.0);
        if (i == l) return Number();
        const Number alpha = rows[3 * i + to_root];
        const Number total = alpha + rows[3 * i + to_l];
        // A walk that only ever returns to j: no tree has this head.
        return is_positive(total) ? alpha / total : Number();
    }

    void write(Index i, Index l, double given) {
        Number total = chance_[0];
        for (Index k = 1; k <= n_; ++k) total += chance_[k];
        if (!is_positive(total)) return;
        for (Index k = 0; k <= n_; ++k) {
            const double conditional = share_of(chance_[k], total);
            const Index first = (i + 1) * size_ + j_ + 1, second = k * size_ + l + 1;
            joint_[first * size_ * size_ + second] = given * conditional;
            joint_[second * size_ * size_ + first] = given * conditional;
        }
    }

    const Number* walk_;  // n rows of n + 1 steps, the last to the root
    Index n_, j_;
    const double* marginals_;  // row j: the heads of word j, the root first
    double* joint_;            // [i, j, k, l], each axis `size_` long
    Index size_;
    Arena& arena_;
    Number* chance_ = nullptr;
};

struct JointMarginals {
    double* joint;  // [i, j, k, l], each axis `size` long; entries that are not written must be 0
    Index size;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        using Number = LeadingTerm<Scalar>;
        return Arena::rounded<double>(n * (n + 1)) + Arena::rounded<Number>(n * (n + 1)) +
               Arena::rounded<Scalar>(n + 1) +
               Recursion<Scalar, MarginalLeaf<Scalar>>::workspace(n) +
               PairRecursion<Number>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        using Number = LeadingTerm<Scalar>;
        const Index n = problem.graph.num_words;
        double* marginals = problem.arena.template take<double>(n * (n + 1));
        Number* walk = problem.arena.template take<Number>(n * (n + 1));
        const std::size_t mark = problem.arena.mark();
        if (!marginals_by_dependent(problem, marginals)) return false;
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i <= n; ++i) {
                walk[j * (n + 1) + i] = leading_term(problem.walk, n, j, i);
            }
        }
        for (Index j = 0; j < n; ++j) {
            if (problem.interrupt.requested()) return false;
            for (Index i = 0; i <= n; ++i) {
                joint[((i * size + j + 1) * size + i) * size + j + 1] = marginals[j * (n + 1) + i];
            }
            problem.arena.release(mark);
            PairRecursion<Number> pairs(walk, n, j, marginals, joint, size, problem.arena);
            if (!pairs.run()) return false;
        }
        return true;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand

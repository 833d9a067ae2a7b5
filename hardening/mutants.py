"""Small errors that somebody could make, each with the tests that must notice it.

A mutant is one text of one file, replaced by another. What only repeats another one, or changes
nothing that can be observed, is not listed.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """A named error: where it is, what it replaces by what, and who notices."""

    name: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]  # arguments of pytest


CHOICES = ("tests/core/test_choices.py",)
NUMBERS = ("tests/core/test_numbers.py",)
SUM_TREE = ("tests/core/test_sum_tree.py",)
ELIMINATION = ("tests/core/test_elimination.py",)
TWIN = ("tests/reference/test_twin.py",)
GOLDEN = ("tests/contract/test_golden.py",)
ENVIRONMENT = ("tests/contract/test_floating_point_environment.py",)
THREADS = ("tests/contract/test_threads.py",)
BEST = ("tests/oracle/test_best_trees.py", "-x", "-k")
CERTIFICATE = ("tests/negative/test_best_mutants.py", "-k", "certificate")
SECOND_ORDER = ("tests/oracle/test_second_order.py",)
MASKS = ("tests/oracle/test_masks.py",)
SHARP = ("tests/contract/test_sharp_draws.py",)
LAPS = ("tests/reference/test_twin.py",)
CONLLU = ("tests/contract/test_conllu_out.py",)
SPARSE_TWIN = ("tests/reference/test_twin_sparse.py",)
SPARSE_NUMBERS = ("tests/oracle/test_sparse_graphs.py",)
SPARSE_DRAWS = (
    "tests/contract/test_sparse_graphs.py",
    "-k",
    "nothing_but_their_number or the_same_step",
)

JOBS = ("tests/contract/test_corpus_jobs.py", "-k")

PACKAGE = (
    Mutant(
        "sentences of every shard are numbered from 0",
        "src/arborand/corpus/reading.py",
        "replace(run, first=before + run.first, sent_ids=ids)",
        "replace(run, first=run.first, sent_ids=ids)",
        (*JOBS, "shards_give"),
    ),
    Mutant(
        "parts of one file overlap",
        "src/arborand/corpus/reading.py",
        "run.part(0, stop - run.first)",
        "run.part(0, stop - run.first + 1)",
        (*JOBS, "shards_give"),
    ),
    Mutant(
        "a marker of another job counts",
        "src/arborand/corpus/state.py",
        'if marker["job"] == digest and marker["bytes"] == sizes.get(name):',
        'if marker["bytes"] == sizes.get(name):',
        (*JOBS, "no_marker"),
    ),
    Mutant(
        "a marker counts without its part",
        "src/arborand/corpus/state.py",
        'if marker["job"] == digest and marker["bytes"] == sizes.get(name):',
        'if marker["job"] == digest:',
        (*JOBS, "makes_only_what_is_missing"),
    ),
    Mutant(
        "ranks share what is left, not the whole list",
        "src/arborand/corpus/running.py",
        "    left = [part for part in mine if part.name not in status.done]\n",
        "    left = [part for part in parts if part.name not in status.done]\n"
        "    left = left[place::count] if engine == 'array' else left\n",
        (*JOBS, "ranks_share"),
    ),
    Mutant(
        "errors in sentences are tried again",
        "src/arborand/corpus/task.py",
        "if left and isinstance(error, OSError):",
        "if left:",
        (*JOBS, "never_tried_again"),
    ),
    Mutant(
        "what killed workers were writing stays",
        "src/arborand/corpus/state.py",
        "    folder = open_folder(status.output)\n    folder.remove_orphans()\n",
        "    folder = open_folder(status.output)\n",
        ("tests/contract/test_corpus_faults.py", "-k", "workers_that_are_killed"),
    ),
    Mutant(
        "a part gets its name before it is written",
        "src/arborand/formats/creating.py",
        "    try:\n        yield file\n        file.flush()\n",
        "    try:\n        os.link(new, path)\n        yield file\n        file.flush()\n",
        ("tests/contract/test_corpus_faults.py", "-k", "30_random"),
    ),
    Mutant(
        "a digest of the first MiB only",
        "src/arborand/formats/inputs.py",
        "                digest.update(chunk)\n                chunk = file.read(CHUNK)\n",
        "                digest.update(chunk)\n                chunk = b''\n",
        ("tests/contract/test_formats.py", "-k", "digests"),
    ),
    Mutant(
        "large seeds are cut off",
        "src/arborand/randomness.py",
        "return _key_of_integer(int(rng))",
        "return _key_of_integer(int(rng) % 2**64)",
        ("tests/contract/test_sampling.py", "-k", "seeds"),
    ),
    Mutant(
        "the first draw is always draw 0",
        "src/arborand/sampling.py",
        "        first_draw,\n        -1 if",
        "        0,\n        -1 if",
        ("tests/contract/test_sampling.py", "-k", "continues_a_shorter"),
    ),
    Mutant(
        "the first graph is always graph 0",
        "src/arborand/sampling.py",
        "        first_graph,\n        first_draw,\n        -1 if",
        "        0,\n        first_draw,\n        -1 if",
        ("tests/contract/test_sampling.py", "-k", "batch_can_be_split"),
    ),
    Mutant(
        "graphs are not frozen",
        "src/arborand/validation.py",
        '            object.__setattr__(self, "log_weights", _core.frozen(self.log_weights))\n',
        "            pass\n",
        ("tests/contract/test_gate.py", "-k", "frozen"),
    ),
    Mutant(
        "graphs can be thawed",
        "src/arborand/validation.py",
        '            object.__setattr__(self, "log_weights", _core.frozen(self.log_weights))\n',
        "            self.log_weights.flags.writeable = False\n",
        ("tests/contract/test_gate.py", "-k", "thawed"),
    ),
    Mutant(
        "scores that are turned are named as if they were not",
        "src/arborand/validation.py",
        "arc = (dependent, head) if self.orientation == DEPENDENT_HEAD else (head, dependent)",
        "arc = (head, dependent)",
        ("tests/contract/test_messages.py",),
    ),
    Mutant(
        "heads beyond the core's integers wrap around",
        "src/arborand/inference.py",
        "        narrow[narrow != wide] = -2\n",
        "        pass\n",
        ("tests/contract/test_log_prob.py",),
    ),
    Mutant(
        "an interrupted iterator has no more trees",
        "src/arborand/distinct.py",
        "            self._failure = failure\n",
        "",
        ("tests/contract/test_without_replacement.py", "-k", "interrupt"),
    ),
    Mutant(
        "the caller's array is used as it is",
        "src/arborand/validation.py",
        'order="C", copy=True)',
        'order="C", copy=None)',
        ("tests/contract/test_gate.py", "-k", "callers_arrays"),
    ),
    Mutant(
        "the relation root may stand beside any head",
        "src/arborand/formats/conllu.py",
        'return "_" if is_root else _column(relation)',
        "return _column(relation)",
        CONLLU,
    ),
    Mutant(
        "an enhanced graph outlives its tree",
        "src/arborand/formats/conllu.py",
        "body = self._body_with_graph if heads == self._heads else self._body",
        "body = self._body_with_graph",
        CONLLU,
    ),
    Mutant(
        "a sentence may have the name of another one's second tree",
        "src/arborand/formats/conllu.py",
        "return sent_id if number == 1 and not _NUMBERED.search(sent_id) else",
        "return sent_id if number == 1 else",
        CONLLU,
    ),
    Mutant(
        "gold with two roots has a probability",
        "src/arborand/evaluation.py",
        "        is_part &= (heads == 0).sum(axis=1) <= 1\n",
        "        pass\n",
        ("tests/oracle/test_evaluation.py",),
    ),
    Mutant(
        "sums of evaluations depend on the batches",
        "src/arborand/evaluation.py",
        "return np.cumsum(np.concatenate([np.asarray(total)[None], values]), axis=0)[-1]",
        "return total + values.sum(axis=0)",
        ("tests/oracle/test_evaluation.py",),
    ),
    Mutant(
        "of parallel edges the last of the best is used",
        "src/arborand/networkx_backend.py",
        "if u != v and score > scores[arc]:",
        "if u != v and score >= scores[arc]:",
        ("tests/contract/test_networkx_backend.py",),
    ),
    Mutant(
        "a length may be 0",
        "src/arborand/validation.py",
        "bad = (array < 1) | (array > size - 1)",
        "bad = (array < 0) | (array > size - 1)",
        ("tests/contract/test_gate.py", "-k", "lengths"),
    ),
    Mutant(
        "dependency trees may have two root arcs",
        "src/arborand/trees.py",
        "answer &= num_root_arcs(array) == 1",
        "answer &= num_root_arcs(array) >= 1",
        ("tests/unit/test_trees.py",),
    ),
    Mutant(
        "trees that were not drawn look like drawn ones",
        "src/arborand/distinct.py",
        "    rows[np.arange(most) >= num_found[:, None]] = -1\n",
        "",
        ("tests/contract/test_without_replacement.py", "-k", "exhausted or batch"),
    ),
    Mutant(
        "one tree too few is expected",
        "src/arborand/distinct.py",
        "    return min(k, math.ceil(math.exp(log_count + 1e-6)) + 1)",
        "    return min(k, math.ceil(math.exp(log_count - 1e-6)) - 1)",
        ("tests/contract/test_without_replacement.py", "-k", "enormous_k"),
    ),
    Mutant(
        "the threshold tree is evaluated",
        "src/arborand/estimators.py",
        "_threshold_weights(log_prob, draws.perturbed_log_prob[num_draws])",
        "_threshold_weights(log_prob, draws.perturbed_log_prob[num_draws - 1])",
        ("tests/oracle/test_estimators.py", "-k", "unbiased"),
    ),
    Mutant(
        "the sum over drawn trees starts one late",
        "src/arborand/estimators.py",
        "    rest[1:] += terms[num_distinct:-1].cumsum(axis=0)",
        "    rest[1:] += terms[num_distinct + 1 :].cumsum(axis=0)",
        ("tests/oracle/test_estimators.py", "-k", "unbiased"),
    ),
)

DENSE = (
    Mutant(
        "one root arc by a penalty",
        "src/core/best_trees/certified_rows.hpp",
        "if (root_last) values[0] = -HUGE_VAL;",
        "if (root_last) values[0] -= 8.0;",
        (*BEST, "found_in_the_exact_order or beside_masks"),
    ),
    Mutant(
        "ties are not broken by heads",
        "src/core/best_trees/exact_rows.hpp",
        "        if (sign != 0) return sign > 0;\n",
        "        if (sign <= 0) return sign > 0;\n",
        (*BEST, "found_in_the_exact_order"),
    ),
    Mutant(
        "the word that a choice enters is not certified",
        "src/core/best_trees/certified_rows.hpp",
        "            if (!(best - next > grid_.bound)) return false;\n",
        "",
        CERTIFICATE,
    ),
    Mutant(
        "a certificate with a bound of 0",
        "src/core/best_trees/certified_rows.hpp",
        "caution * (2.0 *",
        "0.0 * (2.0 *",
        CERTIFICATE,
    ),
    Mutant(
        "the second best tree hangs a word below itself",
        "src/core/best_trees/second_best.hpp",
        "return place[node] >= place[word] && place[node] < end[word];",
        "return node == word;",
        (*BEST, "found_in_the_exact_order"),
    ),
    Mutant(
        "half of a subspace forgets what was excluded before",
        "src/core/best_trees/best_trees.hpp",
        "decisions_[index] = {previous, head, word, is_in};",
        "decisions_[index] = {is_in ? previous : -1, head, word, is_in};",
        (*BEST, "found_in_the_exact_order"),
    ),
    Mutant(
        "candidates are compared in double",
        "src/core/best_trees/best_trees.hpp",
        " * 0x1p-52;",
        " * 0.0;",
        (*BEST, "found_in_the_exact_order"),
    ),
    Mutant(
        "the owner of a word is the word",
        "src/core/best_trees/forest.hpp",
        "owner[target[node]] = node;",
        "owner[target[node]] = target[node];",
        (*BEST, "found_in_the_exact_order"),
    ),
    Mutant(
        "the floating-point environment is not restored",
        "src/core/numbers/floating_point_guard.hpp",
        "        floating_point_detail::barrier();\n        floating_point_detail::set(saved_);\n"
        "    }\n    FloatingPointGuard",
        "        floating_point_detail::barrier();\n    }\n    FloatingPointGuard",
        (*ENVIRONMENT, "-k", "given_back"),
    ),
    Mutant(
        "log-probabilities without the guard",
        "src/core/border/kernels.cpp",
        "    const FloatingPointGuard guard;\n"
        "    Arena arena(scratch);\n    if (!arena.reserve(TreeCheck",
        "    Arena arena(scratch);\n    if (!arena.reserve(TreeCheck",
        (*ENVIRONMENT, "-k", "depend"),
    ),
    Mutant(
        "two root arcs have a probability",
        "src/core/border/kernels.cpp",
        "tree.num_root_arcs() == 1",
        "tree.num_root_arcs() >= 1",
        ("tests/contract/test_log_prob.py",),
    ),
    Mutant(
        "deep trees are none",
        "src/core/inference/tree_check.hpp",
        "reach < n; reach *= 4",
        "reach < n; reach *= 16",
        ("tests/contract/test_log_prob.py",),
    ),
    Mutant(
        "the root may have a head",
        "src/core/inference/tree_check.hpp",
        "int bad = given[0] != -1;",
        "int bad = 0;",
        ("tests/contract/test_log_prob.py",),
    ),
    Mutant(
        "padding may have a head",
        "src/core/inference/tree_check.hpp",
        "        for (Index j = num_words_ + 1; j < stride_; ++j) bad |= given[j] != -1;\n",
        "",
        ("tests/contract/test_log_prob.py",),
    ),
    Mutant(
        "heads may be beyond the last word",
        "src/core/inference/tree_check.hpp",
        "static_cast<std::uint32_t>(head) > static_cast<std::uint32_t>(n);",
        "static_cast<std::uint32_t>(head) > static_cast<std::uint32_t>(n + 1);",
        ("tests/contract/test_log_prob.py",),
    ),
    Mutant(
        "rejection never gives up",
        "src/core/sampling/without_replacement.hpp",
        "if (repeats_ == most_repeats(rule_)) return Status::ok;",
        "if (repeats_ == (1 << 20)) return Status::ok;",
        ("tests/contract/test_without_replacement.py", "-k", "in_vain"),
    ),
    Mutant(
        "the smallest negative weight is none",
        "src/core/python/inspection.hpp",
        "(bits != minus_zero);",
        "(bits > minus_zero + 1);",
        ("tests/contract/test_gate.py", "-k", "negative"),
    ),
    Mutant(
        "draws without the guard",
        "src/core/border/kernels.cpp",
        "    const FloatingPointGuard guard;\n    return draw_trees(",
        "    return draw_trees(",
        (*ENVIRONMENT, "-k", "given_back"),
    ),
    Mutant(
        "the caller does not listen while others finish",
        "src/core/python/parallel.hpp",
        "        listening.requested();\n",
        "",
        (*THREADS, "-k", "listens"),
    ),
    Mutant(
        "memory that a thread does not get ends the process",
        "src/core/python/parallel.hpp",
        "            exceptions[place] = std::current_exception();\n",
        "            throw;\n",
        (*THREADS, "-k", "throws"),
    ),
    Mutant(
        "the global interpreter lock is kept",
        "src/core/python/calls.hpp",
        "        nb::gil_scoped_release release;\n",
        "",
        (*THREADS, "-k", "other_threads"),
    ),
    Mutant(
        "work that left the range of doubles is not repeated",
        "src/core/walk/problem.hpp",
        "std::is_same<Scalar, double>::value && left_range(&work)",
        "false",
        ("tests/oracle/test_extreme_scores.py", "-k", "all_digits_are_right"),
    ),
    Mutant(
        "the root's child is drawn anew when the budget is spent",
        "src/core/sampling/with_replacement.hpp",
        "    if (child > 0) heads[child] = 0;\n",
        "",
        (*TWIN, "-k", "same_trees"),
    ),
    Mutant(
        "twice the budget of steps",
        "src/core/sampling/sampler.hpp",
        "return 4 * n * n + 256;",
        "return 8 * n * n + 512;",
        ("tests/contract/test_sampling.py", "-k", "ends_on_every_graph"),
    ),
    Mutant(
        "a subspace keeps the mass of the tree drawn in it",
        "src/core/sampling/without_replacement.hpp",
        "masses_.set(current, chance * draw.passed[j]);",
        "masses_.set(current, chance * (draw.passed[j] + draw.kept[j]));",
        (*TWIN, "-k", "same_sequence"),
    ),
    Mutant(
        "a perturbation waits for all mass, not for what is left",
        "src/core/sampling/without_replacement.hpp",
        "log_of(-log_of(uniform)) - output.log_remaining;",
        "log_of(-log_of(uniform));",
        (*TWIN, "-k", "same_sequence"),
    ),
    Mutant(
        "rejection may go on one tree too long",
        "src/core/sampling/without_replacement.hpp",
        "num_trees_ >= rule_.after",
        "num_trees_ > rule_.after",
        (*TWIN, "-k", "same_sequence"),
    ),
    Mutant(
        "log-probabilities forget the shift of the root",
        "src/core/inference/log_partition.hpp",
        "sum.add(-partition.root_shift);",
        "sum.add(0.0);",
        GOLDEN,
    ),
    Mutant(
        "a word that leads nowhere counts as connected",
        "src/core/python/inspection.hpp",
        "if (graph_.score(node, other) > -HUGE_VAL) push(other);",
        "push(other);",
        ("tests/contract/test_gate.py", "-k", "unreachable"),
    ),
    Mutant(
        "the diagonal is read",
        "src/core/python/inspection.hpp",
        "        row[i] = nothing;\n",
        "",
        ("tests/contract/test_gate.py", "-k", "ignored"),
    ),
    Mutant(
        "arcs are left out whatever the trees without them weigh",
        "src/core/walk/negligible.hpp",
        "    const double log_partition = log_of(partition);\n",
        "    const double log_partition = 0.0;\n",
        (*MASKS, "-k", "as_improbable"),
    ),
    Mutant(
        "arcs are left out where no other tree is left",
        "src/core/elimination/recursion.hpp",
        "visited_first_ && pivots_.first_order <= 1",
        "visited_first_",
        (*MASKS, "-k", "every_tree_needs"),
    ),
    Mutant(
        "arcs are left out that a subnormal number could tell",
        "src/core/walk/negligible.hpp",
        "negligible_log_probability = -800.0;",
        "negligible_log_probability = -690.0;",
        (*MASKS, "-k", "below_the_normal_doubles"),
    ),
    Mutant(
        "no arc is ever left out",
        "src/core/walk/negligible.hpp",
        "    if (!is_positive(partition)) return false;\n",
        "    return false;\n",
        (*MASKS, "-k", "without_the_masked_arcs"),
    ),
    Mutant(
        "draws without replacement never come back to masked arcs",
        "src/core/sampling/without_replacement.hpp",
        "        if (lacks_arcs_ && is_nearly_exhausted()) {\n",
        "        if (lacks_arcs_ && !is_positive(masses_.total()) && num_trees_ < 0) {\n",
        (*MASKS, "-k", "last_tree"),
    ),
    Mutant(
        "double is trusted whatever was lost",
        "src/core/walk/negligible.hpp",
        "    return log_sums + lost + count + 1.0 - tolerated - log_of(partition);\n",
        "    return log_sums < 0 ? lost + count - tolerated : -1.0;\n",
        (*MASKS, "-k", "too_small_for_double"),
    ),
    Mutant(
        "prefixes are remembered without the root's child",
        "src/core/sampling/with_replacement.hpp",
        "memory.first_word(child, type)",
        "memory.first_word(0, type)",
        (*SHARP, "-k", "remembered"),
    ),
    Mutant(
        "prefixes are remembered without their graph",
        "src/core/sampling/prefix_memory.hpp",
        "remembered.owner == owner",
        "remembered.owner > 0",
        (*SHARP, "-k", "neighbours"),
    ),
    Mutant(
        "jumps forget that others are in the way",
        "src/core/sampling/laps.hpp",
        "num_taken_[cycle] == 1",
        "num_taken_[cycle] >= 1",
        (*LAPS, "-k", "with_jumps"),
    ),
    Mutant(
        "the budget counts laps",
        "src/core/sampling/laps.hpp",
        "    return is_lap ? 0 : length;\n",
        "    return is_lap ? length : length;\n",
        (*LAPS, "-k", "side_doors"),
    ),
    Mutant(
        "cycles are left one step late",
        "src/core/sampling/near_closed_cycles.hpp",
        "            Index at = j;\n",
        "            Index at = next_[j];\n",
        (*LAPS, "-k", "with_jumps"),
    ),
    Mutant(
        "hitting times leave arcs out",
        "src/core/inference/hitting_times.hpp",
        "        Scalar total(0.0);\n",
        "        problem.partition = UnboundedDouble(1.0);\n        Scalar total(0.0);\n",
        (*MASKS, "-k", "hitting_times"),
    ),
    Mutant(
        "the entropy of a nearly certain tree is taken from Z",
        "src/core/inference/entropy.hpp",
        "    return magnitude <= 64.0 * entropy;\n",
        "    return entropy > 0;\n",
        ("tests/oracle/test_extreme_scores.py", "-k", "entropy"),
    ),
    Mutant(
        "log Z beside marginals forgets the shift of the columns",
        "src/core/inference/log_partition.hpp",
        "        output.log_partition = log_partition_of(output, n);\n    }\n\n    // Scores",
        "        output.log_partition = output.reduced;\n    }\n\n    // Scores",
        ("tests/oracle/test_extreme_scores.py", "-x"),
    ),
    Mutant(
        "the smaller part's rate counts fully",
        "src/core/numbers/with_tangent.hpp",
        "y.rate + share_x * (x.rate - y.rate)",
        "y.rate + (x.rate - y.rate)",
        SECOND_ORDER,
    ),
    Mutant(
        "a tangent of a quotient forgets the divisor",
        "src/core/numbers/with_tangent.hpp",
        "(x.tangent - quotient * y.tangent) / y.value",
        "x.tangent / y.value",
        SECOND_ORDER,
    ),
    Mutant(
        "divergences trust what is carried, whatever cancels",
        "src/arborand/divergence.py",
        "        if terms <= magnitude[graph]:",
        "        if terms < 0:",
        (*SECOND_ORDER, "-k", "masks_that_p_respects"),
    ),
    Mutant(
        "a column is not measured from its heaviest arc",
        "src/core/inference/direction.hpp",
        "gauge[j] = at(heaviest, j);",
        "gauge[j] = 0.0;",
        (*SECOND_ORDER, "-k", "variances"),
    ),
    Mutant(
        "the gradient of the entropy forgets the surprise",
        "src/core/inference/entropy_gradient.hpp",
        "weight[i].entropy - log_of(share)",
        "weight[i].entropy",
        SECOND_ORDER,
    ),
    Mutant(
        "entropies are taken from scores whatever the masks",
        "src/core/inference/entropy.hpp",
        "return magnitude <= 64.0 * entropy || magnitude <= 2.0 * unit;",
        "return unit >= 0;",
        SECOND_ORDER,
    ),
    Mutant(
        "a divergence takes a vanishing share for all of it",
        "src/core/inference/divergence.hpp",
        "        return log_of(x.value / q.value);\n",
        "        return x.order == q.order ? log_of(x.value / q.value) : 0.0;\n",
        SECOND_ORDER,
    ),
    Mutant(
        "close shares are compared by their logarithms",
        "src/core/inference/divergence.hpp",
        "std::fabs(t) <= 0.125 * b",
        "false",
        SECOND_ORDER,
    ),
    Mutant(
        "pairs of arcs forget walks that return",
        "src/core/inference/joint_marginals.hpp",
        "ends[to_root] + ends[to_j] * returns",
        "ends[to_root]",
        SECOND_ORDER,
    ),
    Mutant(
        "scores that are far apart stay in unbounded doubles",
        "src/core/walk/rows.hpp",
        "constexpr double largest_unbounded_score = 1e13;",
        "constexpr double largest_unbounded_score = 1e300;",
        SECOND_ORDER,
    ),
    Mutant(
        "exactly scaled numbers drop what still matters",
        "src/core/numbers/exactly_scaled.hpp",
        "static constexpr double negligible = 1.2e6;",
        "static constexpr double negligible = 5.0;",
        SECOND_ORDER,
    ),
)

SPARSE = (
    Mutant(
        "pairs are jumped over although the partner is on the path",
        "src/core/sparse/pair_jumping.hpp",
        "if (states_[partner] != fresh) {",
        "if (states_[partner] == in_tree) {",
        SPARSE_TWIN,
    ),
    Mutant(
        "pairs are jumped over although the partner is in the tree",
        "src/core/sparse/pair_jumping.hpp",
        "if (states_[partner] != fresh) {",
        "if (states_[partner] == on_path) {",
        SPARSE_TWIN,
    ),
    Mutant(
        "arcs between partners count against the budget of jumps",
        "src/core/sparse/pair_jumping.hpp",
        "popped += head != tables_.partner(x);",
        "++popped;",
        SPARSE_TWIN,
    ),
    Mutant(
        "parallel arcs weigh as much as the heaviest of them",
        "src/core/sparse/compressed_rows.hpp",
        "log_weight_.push_back(same == a + 1 ? largest : largest + log_of(total));",
        "log_weight_.push_back(largest);",
        SPARSE_NUMBERS,
    ),
    Mutant(
        "of parallel edges the first is always used",
        "src/core/sparse/compressed_rows.hpp",
        "return edge[draw_index(chances.data(), count, stream)];",
        "return edge[0];",
        GOLDEN,
    ),
    Mutant(
        "the alias of a sparse step is off by one",
        "src/core/sparse/step_tables.hpp",
        "heads[table_[i].alias]});",
        "heads[(table_[i].alias + 1) % size]});",
        SPARSE_TWIN,
    ),
    Mutant(
        "walks side by side read one stream",
        "src/core/sparse/wilson.hpp",
        "walker.stream = Stream(draws_.key, 0, draws_.draws[i], draws_.purpose);",
        "walker.stream = Stream(draws_.key, 0, draws_.draws[0], draws_.purpose);",
        SPARSE_DRAWS,
    ),
    Mutant(
        "walks side by side may take one step more",
        "src/core/sparse/wilson.hpp",
        "} else if (walker.left == 0) {",
        "} else if (walker.left < 0) {",
        SPARSE_DRAWS,
    ),
    Mutant(
        "elimination forgets walks to the root through nodes taken out",
        "src/core/sparse/elimination.hpp",
        "absorbed[j] += from * absorbed[static_cast<std::size_t>(p)];",
        "",
        SPARSE_NUMBERS,
    ),
    Mutant(
        "a node that is put back may close a cycle",
        "src/core/sparse/ancestral.hpp",
        "if (!some_led_here || leads_to_root(head)) {",
        "if (!some_led_here || head != undecided) {",
        SPARSE_TWIN,
    ),
)

PARTS = (
    Mutant(
        "the shift of the root ignores the low part",
        "src/core/walk/shift.hpp",
        "d.high > shift.root || (d.high == shift.root && d.low > shift.root_rest)",
        "d.high > shift.root",
        ELIMINATION,
    ),
    Mutant(
        "an alias table is off by one number at each threshold",
        "src/core/randomness/alias_table.hpp",
        "low_half(product) < entry.threshold",
        "low_half(product) <= entry.threshold",
        CHOICES,
    ),
    Mutant(
        "thresholds lose their last four bits",
        "src/core/randomness/alias_table.hpp",
        "table[under] = {low_half(room.scaled[under]), over};",
        "table[under] = {low_half(room.scaled[under]) & ~std::uint64_t{15}, over};",
        CHOICES,
    ),
    Mutant(
        "what rounding leaves goes to the first outcome",
        "src/core/randomness/alias_table.hpp",
        "if (weights[i] > weights[largest]) largest = i;",
        "",
        CHOICES,
    ),
    Mutant(
        "small chances are lost",
        "src/core/randomness/exact_choice.hpp",
        "if (shift <= -53) return 0;",
        "if (shift <= -1) return 0;",
        CHOICES,
    ),
    Mutant(
        "an exact choice is off by one number",
        "src/core/randomness/exact_choice.hpp",
        "if (target < share) break;",
        "if (target <= share) break;",
        CHOICES,
    ),
    Mutant(
        "a product of 128 bits loses a carry",
        "src/core/numbers/integer_128.hpp",
        "return x1 * y1 + high_half(middle) + high_half(other);",
        "return x1 * y1 + high_half(middle);",
        CHOICES,
    ),
    Mutant(
        "a constant of the generator is wrong in its last bit",
        "src/core/randomness/philox.hpp",
        "0xBB67AE8584CAA73Bu",
        "0xBB67AE8584CAA73Au",
        CHOICES,
    ),
    Mutant(
        "sums of neighbouring exponents drop the smaller one",
        "src/core/numbers/unbounded_double.hpp",
        "if (small.exponent + 1 < large.exponent) return large;",
        "if (small.exponent < large.exponent) return large;",
        NUMBERS,
    ),
    Mutant(
        "small results become zero too early",
        "src/core/numbers/unbounded_double.hpp",
        "if (!(x.exponent > -3)) return 0.0;",
        "if (!(x.exponent > -2)) return 0.0;",
        NUMBERS,
    ),
    Mutant(
        "exponentials ignore the low part of a difference",
        "src/core/numbers/exponential.hpp",
        "const Real r = ((d.high - k * ln2_high) - k * ln2_low) + d.low;",
        "const Real r = (d.high - k * ln2_high) - k * ln2_low;",
        NUMBERS,
    ),
    Mutant(
        "beside a mask the low part of a difference is ignored",
        "src/core/numbers/exponential.hpp",
        "return d.low != 0 && d.high > -HUGE_VAL ? high * huge_exp(d.low) : high;",
        "return high;",
        NUMBERS,
    ),
    Mutant(
        "a logarithm forgets what a division left",
        "src/core/numbers/logarithm.hpp",
        "(k * ln2_low + s_rest * 2.0)",
        "(k * ln2_low)",
        NUMBERS,
    ),
    Mutant(
        "log(1 + x) loses the digits of a small x",
        "src/core/numbers/logarithm.hpp",
        "(log.low + sum.low / sum.high)",
        "log.low",
        NUMBERS,
    ),
    Mutant(
        "logarithms of large exponents lose their low part",
        "src/core/numbers/logarithm.hpp",
        "(whole.low + x.exponent * step_error)",
        "whole.low",
        NUMBERS,
    ),
    Mutant(
        "differences are rounded",
        "src/core/numbers/exact_difference.hpp",
        "return {high, (x - (high - back)) - (y + back)};",
        "return {high, (x - high) - y};",
        NUMBERS,
    ),
    Mutant(
        "a compensated sum assumes that numbers get smaller",
        "src/core/numbers/sums.hpp",
        "(high_ - (sum - back)) + (x - back)",
        "x - back",
        NUMBERS,
    ),
    Mutant(
        "sums are added in another order",
        "src/core/numbers/sums.hpp",
        "(both[0] + both[2]) + (both[1] + both[3])",
        "(both[0] + both[1]) + (both[2] + both[3])",
        NUMBERS,
    ),
    Mutant(
        "the last columns of a product are forgotten",
        "src/core/numbers/matrix_product.hpp",
        "    if (j < columns) {\n        strip<1>(",
        "    if (j < 0) {\n        strip<1>(",
        NUMBERS,
    ),
    Mutant(
        "the last columns of a shallow product are forgotten",
        "src/core/numbers/matrix_product.hpp",
        "    last_strip<widest - 1>(",
        "    last_strip<widest - 2>(",
        NUMBERS,
    ),
    Mutant(
        "the last entries of a row are copied from the wrong place",
        "src/core/numbers/moves.hpp",
        "return move(count - vector_length);",
        "return move(i - vector_length);",
        ELIMINATION,
    ),
    Mutant(
        "a sum tree that grows loses its last mass",
        "src/core/randomness/sum_tree.hpp",
        "i < old ? sums_[old + i]",
        "i + 1 < old ? sums_[old + i]",
        SUM_TREE,
    ),
    Mutant(
        "a sum tree compares masses as doubles",
        "src/core/randomness/sum_tree.hpp",
        "to_double(sums_[2 * i] / total)",
        "to_double(sums_[2 * i])",
        SUM_TREE,
    ),
    Mutant(
        "a pivot of a small set leaves out the root",
        "src/core/elimination/small_sets.hpp",
        "for (Index i = k + 2; i <= a; ++i) pivot += step[k][i];",
        "for (Index i = k + 2; i < a; ++i) pivot += step[k][i];",
        ELIMINATION,
    ),
    Mutant(
        "a vanishing pivot in a vector leads nowhere",
        "src/core/elimination/small_sets.hpp",
        "at_once = select(positive, at_once, one);",
        "at_once = select(positive, at_once, zero);",
        ELIMINATION,
    ),
    Mutant(
        "a pivot counts the vanishing weights",
        "src/core/elimination/censoring.hpp",
        "Scalar pivot = sum(from, count - 1);",
        "Scalar pivot = sum(from, count);",
        ELIMINATION,
    ),
    Mutant(
        "one entry of a row is not followed",
        "src/core/elimination/censoring.hpp",
        "for (; k < k_end; ++k) add_multiple(j, k, k + 1, k_end);",
        "for (; k < k_end; ++k) add_multiple(j, k, k + 2, k_end);",
        ELIMINATION,
    ),
)

# In an order in which what was built for one group is never wrong for the next.
MODULE = (*DENSE, *SPARSE)
MUTANTS = (*PACKAGE, *MODULE, *PARTS)

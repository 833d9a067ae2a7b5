"""Small errors that somebody could make, each with the tests that must notice it.

A mutant is one text of one file, replaced by another. Listed are errors in arithmetic, samplers,
random streams and the promises of jobs, which nobody would notice in the results. What only repeats
another one, or changes nothing that can be observed, is not listed.
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
LOSSES = ("tests/core/test_losses.py",)
NUMBERS = ("tests/core/test_numbers.py",)
SUM_TREE = ("tests/core/test_sum_tree.py",)
ELIMINATION = ("tests/core/test_elimination.py",)
FOUR_GRAPHS = ("tests/core/test_four_graphs.py",)
TWIN = ("tests/reference/test_twin.py",)
GOLDEN = ("tests/contract/test_golden.py",)
ENVIRONMENT = ("tests/contract/test_floating_point_environment.py",)
SECOND_ORDER = ("tests/oracle/test_second_order.py",)
SMALL_DIVERGENCES = ("tests/oracle/test_small_divergences.py",)
MASKS = ("tests/oracle/test_masks.py",)
EXTREME_SCORES = ("tests/oracle/test_extreme_scores.py",)
SHARP = ("tests/contract/test_sharp_draws.py",)
NUMBER_TYPES = ("tests/oracle/test_number_types.py",)
SPARSE_TWIN = ("tests/reference/test_twin_sparse.py",)
SPARSE_NUMBERS = ("tests/oracle/test_sparse_graphs.py",)
SPARSE_DRAWS = (
    "tests/contract/test_sparse_graphs.py",
    "-k",
    "nothing_but_their_number or the_same_step",
)
PROJECTIVE = ("tests/contract/test_projective.py", "-k")
PROJECTIVE_TWIN = ("tests/reference/test_projective_twin.py",)
PROJECTIVE_ORACLE = ("tests/oracle/test_projective.py", "-m", "not slow", "-k")
JOBS = ("tests/contract/test_corpus_jobs.py", "-k")
FAULTS = ("tests/contract/test_corpus_faults.py", "-k")


PACKAGE = (
    Mutant(
        "the path between two distributions is taken whatever it rounds",
        "src/arborand/divergence.py",
        "if not rounded < magnitude[graph]:",
        "if not rounded < math.inf:",
        (*SMALL_DIVERGENCES, "-k", "more_arcs"),
    ),
    Mutant(
        "arcs without any probability move the path between two distributions",
        "src/arborand/divergence.py",
        "np.where(matters, _rounded",
        "np.where(self.graphs.has_arc, _rounded",
        (*SMALL_DIVERGENCES, "-k", "mask_costs"),
    ),
    Mutant(
        "one point integrates the variance between very close distributions",
        "src/arborand/divergence.py",
        "points = max(2, ",
        "points = max(1, ",
        (*SMALL_DIVERGENCES, "-k", "barely"),
    ),
    Mutant(
        "sentences of every shard are numbered from 0",
        "src/arborand/corpus/stream.py",
        "replace(run, first=before + run.first, sent_ids=ids)",
        "replace(run, first=run.first, sent_ids=ids)",
        (*JOBS, "shards_give"),
    ),
    Mutant(
        "parts of one file overlap",
        "src/arborand/corpus/stream.py",
        "part.stop - run.first))",
        "part.stop - run.first + 1))",
        (*JOBS, "shards_give"),
    ),
    Mutant(
        "a marker of another job counts",
        "src/arborand/corpus/job.py",
        'if marker["job"] == job and is_whole else',
        "if is_whole else",
        (*JOBS, "not_a_marker"),
    ),
    Mutant(
        "a marker counts without its part",
        "src/arborand/corpus/job.py",
        'marker["bytes"] == there and marker["input"]',
        'marker["input"]',
        (*JOBS, "makes_only_what_is_missing"),
    ),
    Mutant(
        "ranks share what is left, not the whole list",
        "src/arborand/corpus/execution.py",
        "    left = [part for part in mine if part.name not in status.done]\n",
        "    left = [part for part in parts if part.name not in status.done]\n"
        "    left = left[place::count] if engine == 'array' else left\n",
        (*JOBS, "ranks_share"),
    ),
    Mutant(
        "errors in sentences are tried again",
        "src/arborand/corpus/job.py",
        "if left and isinstance(error, OSError):",
        "if left:",
        (*JOBS, "never_tried_again"),
    ),
    Mutant(
        "what killed workers were writing stays",
        "src/arborand/corpus/job.py",
        "    folder = open_folder(status.output)\n    folder.remove_orphans()\n",
        "    folder = open_folder(status.output)\n",
        (*FAULTS, "workers_that_are_killed"),
    ),
    Mutant(
        "a part gets its name before it is written",
        "src/arborand/corpus/storage.py",
        "yield file\n                file.flush()\n",
        "os.link(new, path)\n                yield file\n                file.flush()\n",
        (*FAULTS, "30_random"),
    ),
    Mutant(
        "a shard that was written again is taken for the old one",
        "src/arborand/corpus/job.py",
        'if found[p.shard] != made_of[p.name]["sha256"]',
        "if not found[p.shard]",
        (*FAULTS, "footer_stays"),
    ),
    Mutant(
        "a shard may change while it is read",
        "src/arborand/corpus/shards.py",
        "        if folder.stamp(shard.name) != stamp:\n            raise changed\n",
        "",
        (*FAULTS, "while_its_parts"),
    ),
    Mutant(
        "what a discarded job was writing stays",
        "src/arborand/corpus/job.py",
        "    for name in temporaries:\n        folder.remove(name)\n",
        "",
        (*FAULTS, "discards_what"),
    ),
    Mutant(
        "a run does not see that its job was discarded",
        "src/arborand/corpus/job.py",
        "in file.read(_BEGINNING):",
        "in file.read(_BEGINNING) or digest:",
        (*FAULTS, "never_appears"),
    ),
    Mutant(
        "a job is complete that has lost a part",
        "src/arborand/corpus/job.py",
        "SUCCESS in sizes and len(answer.done) == len(parts)",
        "SUCCESS in sizes",
        (*FAULTS, "lost_makes"),
    ),
    Mutant(
        "a digest of the first MiB only",
        "src/arborand/formats/inputs.py",
        'hashlib.file_digest(file, "sha256")',
        "hashlib.sha256(start)",
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
)

DENSE = (
    Mutant(
        "the floating-point environment is not restored",
        "src/core/numbers/floating_point_guard.hpp",
        "        floating_point_detail::barrier();\n        floating_point_detail::set(saved_);\n"
        "    }\n    FloatingPointGuard",
        "        floating_point_detail::barrier();\n    }\n    FloatingPointGuard",
        (*ENVIRONMENT, "-k", "given_back"),
    ),
    Mutant(
        "rejection never gives up",
        "src/core/sampling/without_replacement.hpp",
        "if (repeats_ == most_repeats(rule_)) return Status::ok;",
        "if (repeats_ == (1 << 20)) return Status::ok;",
        ("tests/contract/test_without_replacement.py", "-k", "in_vain"),
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
        "masses_.set(current, chance * path.passed[j]);",
        "masses_.set(current, chance * (path.passed[j] + path.kept[j]));",
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
        "numbers too small on the way to a word are forgotten",
        "src/core/sampling/ancestral.hpp",
        " || !left_range(chance);",
        " || true;",
        NUMBER_TYPES,
    ),
    Mutant(
        "the root's child is taken for certain",
        "src/core/sampling/with_replacement.hpp",
        "stream, sampler.known_chance_of_child(child),",
        "stream, 1.0,",
        NUMBER_TYPES,
    ),
    Mutant(
        "prefixes too improbable for rows that lack arcs are drawn from them",
        "src/core/sampling/sampler.hpp",
        "is_complete_beside_all() ? 0.0 : least_chances.after_losses;",
        "0.0;",
        NUMBER_TYPES,
    ),
    Mutant(
        "masks send long sentences beyond double",
        "src/core/sampling/sampler.hpp",
        "is_complete_beside_all() ? 0.0 :",
        "highest_lost == none_lost ? 0.0 : is_complete_beside_all() ? 1e-260 :",
        NUMBER_TYPES,
    ),
    Mutant(
        "what counts for nothing beside all trees counts for nothing below any child",
        "src/core/sampling/sampler.hpp",
        "highest_lost > none_lost && known_chance_of_child(child) == 0",
        "false",
        NUMBER_TYPES,
    ),
    Mutant(
        "words that hang on the root are followed to the wrong order",
        "src/core/elimination/recursion.hpp",
        "place[k] = node == root ? split.num_kept :",
        "place[k] = node == root ? split.num_kept + 1 :",
        (*TWIN, "-k", "colbourn"),
    ),
    Mutant(
        "a segment has one deviation at most",
        "src/core/randomness/rare_events.hpp",
        "target = before + high_half(beyond);",
        "target = (begins ? 0 : by_[stop - 1]) + high_half(beyond);",
        (*TWIN, "-k", "popping"),
    ),
    Mutant(
        "chances of deviations add up as if others had not deviated before",
        "src/core/randomness/rare_events.hpp",
        "static_cast<UInt128>(one - before) * chance",
        "static_cast<UInt128>(one) * chance",
        (*TWIN, "-k", "popping"),
    ),
    Mutant(
        "what was popped is not followed again",
        "src/core/sampling/popping.hpp",
        "        mark_[node] = unseen;\n        will_follow(node);\n",
        "        mark_[node] = unseen;\n",
        (*TWIN, "-k", "popping"),
    ),
    Mutant(
        "the likeliest child takes its heaviest step when another is the child",
        "src/core/sampling/popping.hpp",
        "            heads_[likeliest] = step_again(likeliest);\n",
        "",
        (*TWIN, "-k", "popping"),
    ),
    Mutant(
        "cycles are popped although many close in every draw",
        "src/core/sampling/sampler.hpp",
        "heaviest_steps.num_cycles <= 1 + num_nodes / 16",
        "heaviest_steps.num_cycles <= num_nodes",
        (*SHARP, "-k", "many_cycles"),
    ),
    Mutant(
        "cycles of heaviest steps count against the budget",
        "src/core/sampling/popping.hpp",
        "            if (!pop_to_the_end(node)) pop(node);\n",
        "            if (pop_to_the_end(node)) --left_; else pop(node);\n",
        (*TWIN, "-k", "popping"),
    ),
    Mutant(
        "the smaller part's rate counts fully",
        "src/core/numbers/dual.hpp",
        "y.rate + share_x * (x.rate - y.rate)",
        "y.rate + (x.rate - y.rate)",
        SECOND_ORDER,
    ),
    Mutant(
        "a tangent of a quotient forgets the divisor",
        "src/core/numbers/dual.hpp",
        "(x.tangent - quotient * y.tangent) / y.value",
        "x.tangent / y.value",
        SECOND_ORDER,
    ),
    Mutant(
        "scores that are far apart stay in unbounded doubles",
        "src/core/walk/rows.hpp",
        "constexpr double largest_unbounded_score = 1e13;",
        "constexpr double largest_unbounded_score = 1e300;",
        EXTREME_SCORES,
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
        "return log_weights.back() + log_of(total);",
        "return log_weights.back();",
        SPARSE_NUMBERS,
    ),
    Mutant(
        "marginals of directed arcs read the inverse the wrong way round",
        "src/core/sparse/arc_marginals.hpp",
        "(x < y ? inverse_.down[e] : inverse_.up[e])",
        "(x < y ? inverse_.up[e] : inverse_.down[e])",
        SPARSE_NUMBERS,
    ),
    Mutant(
        "a contracted cycle forgets what its choices were worth",
        "src/core/sparse/best_arborescence.hpp",
        "lower(heap, value);",
        "",
        SPARSE_NUMBERS,
    ),
    Mutant(
        "the next arc of a row forgets the cycles around it",
        "src/core/sparse/best_arborescence.hpp",
        "runs_[best].value = runs_[best].value + (value_of(after) - value_of(before));",
        "runs_[best].value = value_of(after);",
        SPARSE_NUMBERS,
    ),
    Mutant(
        "a root arc that should come last is compared by its value",
        "src/core/sparse/best_arborescence.hpp",
        "if (comes_last(a) != comes_last(b)) return comes_last(b);\n        const int sign",
        "const int sign",
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
        "a walk on its own may take one step more",
        "src/core/sparse/wilson.hpp",
        ": later_(budget), interrupt_(interrupt) {",
        ": later_(budget + 1), interrupt_(interrupt) {",
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
        "arcs are left out that are only just too small for a double",
        "src/core/walk/negligible.hpp",
        "negligible_log_probability = -800.0;",
        "negligible_log_probability = -745.0;",
        LOSSES,
    ),
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
        "src/core/numbers/bits.hpp",
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
        "a logarithm forgets what a product left",
        "src/core/numbers/logarithm.hpp",
        "+ row.log) + r_high) + r_low;",
        "+ row.log) + r_high);",
        NUMBERS,
    ),
    Mutant(
        "a logarithm forgets what a sum left",
        "src/core/numbers/logarithm.hpp",
        "(k * ln2_low + first_rest)",
        "(k * ln2_low)",
        NUMBERS,
    ),
    Mutant(
        "vectors take subnormal weights for 0",
        "src/core/numbers/logarithm.hpp",
        "(small & reinterpret_cast<FourIntegers>(x)) | ~finite;",
        "~finite;",
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
        "src/core/numbers/exact_arithmetic.hpp",
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
        "(x[0] + x[2]) + (x[1] + x[3])",
        "(x[0] + x[1]) + (x[2] + x[3])",
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
        "src/core/numbers/row_copies.hpp",
        "return move(count - vector_length);",
        "return move(i - vector_length);",
        NUMBERS,
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
        "add(select(columns_in(0, b, last), follow(last), zero));",
        "add(follow(last));",
        ELIMINATION,
    ),
    Mutant(
        "one entry of a row is not followed",
        "src/core/elimination/censoring.hpp",
        "for (Index k = 0; k < Count; ++k) steps +=",
        "for (Index k = 1; k < Count; ++k) steps +=",
        ELIMINATION,
    ),
    Mutant(
        "the last rows of a transposed matrix are left out",
        "src/core/numbers/row_copies.hpp",
        "        block(last_row, column);\n",
        "",
        NUMBERS,
    ),
    Mutant(
        "numbers of four graphs are summed in another order",
        "src/core/numbers/of_four_graphs.hpp",
        "(total[0] + total[2]) + (total[1] + total[3])",
        "(total[0] + total[1]) + (total[2] + total[3])",
        FOUR_GRAPHS,
    ),
    Mutant(
        "a pivot that vanishes in one of four graphs is divided by",
        "src/core/elimination/censoring.hpp",
        "        pivot += where_positive(pivot, Scalar(0.0), Scalar(1.0));\n",
        "",
        FOUR_GRAPHS,
    ),
    Mutant(
        "tangents of four graphs are added in another order",
        "src/core/numbers/dual.hpp",
        "                tangent[i][j] += factor.value.values * row[j].tangent.values;\n"
        "                tangent[i][j] += factor.tangent.values * row[j].value.values;\n",
        "                tangent[i][j] += factor.tangent.values * row[j].value.values;\n"
        "                tangent[i][j] += factor.value.values * row[j].tangent.values;\n",
        FOUR_GRAPHS,
    ),
    Mutant(
        "of equal results of four graphs the last is the highest",
        "src/core/numbers/of_four_graphs.hpp",
        "const FourIntegers is_higher = x[i].values > highest;",
        "const FourIntegers is_higher = x[i].values >= highest;",
        FOUR_GRAPHS,
    ),
    Mutant(
        "graphs that differ in the leading order go straight to the root alike",
        "src/core/elimination/recursion.hpp",
        "if (is_zero(at_once)) return of_root + landing_stride_;",
        "if (!is_positive(at_once)) return of_root + landing_stride_;",
        FOUR_GRAPHS,
    ),
)

PROJECTIVE_TREES = (
    Mutant(
        "flags that weights raise count against double",
        "src/core/walk/problem.hpp",
        "Work& work, const LogSums& log_sums) {\n    watch_range();\n",
        "Work& work, const LogSums& log_sums) {\n",
        (*PROJECTIVE, "stay_in_double"),
    ),
    Mutant(
        "more may hang from the root of a projective dependency tree",
        "src/core/projective/chart.hpp",
        "if (!is_only_root(0)) update_rows(k + 1, n + 1, of_gap);",
        "update_rows(k + 1, n + 1, of_gap);",
        (*PROJECTIVE_ORACLE, "as_many_trees"),
    ),
    Mutant(
        "the root's arcs are found as if others could hang beside them",
        "src/core/projective/chart.hpp",
        "if (!chart.is_only_root(0)) update_rows_back(",
        "update_rows_back(",
        (*PROJECTIVE_ORACLE, "marginals"),
    ),
    Mutant(
        "a split is taken for the farthest dependent",
        "src/core/projective/derivation.hpp",
        "first_from(j, i)) - 1 - i;",
        "first_from(j, i)) - i;",
        (*PROJECTIVE_ORACLE, "distinct or diverge"),
    ),
    Mutant(
        "shares of distinct projective trees are doubles",
        "src/core/sampling/projective_subspaces.hpp",
        "kept_[place] = Mass(values[chosen]) / total;",
        "kept_[place] = Mass(to_double(Mass(values[chosen]) / total));",
        (*PROJECTIVE_ORACLE, "distinct"),
    ),
    Mutant(
        "equal projective trees come in any order",
        "src/core/best_trees/projective_numbers.hpp",
        "Fixed<num_limbs>::of(score, lowest - n * field) + tie)",
        "Fixed<num_limbs>::of(score, lowest - n * field))",
        (*PROJECTIVE_ORACLE, "best"),
    ),
    Mutant(
        "close choices of the best projective tree are trusted",
        "src/core/best_trees/projective_best_trees.hpp",
        "terms[k].value > limit || caution == 0;",
        "terms[k].value >= terms[chosen].value;",
        (*PROJECTIVE_ORACLE, "the_best_tree"),
    ),
    Mutant(
        "what is below a choice that deviates is looked at again",
        "src/core/projective/deviations.hpp",
        "deviations_.next(place + num_choices(choice.span), end, stream)",
        "deviations_.next(place + 1, end, stream)",
        PROJECTIVE_TWIN,
    ),
    Mutant(
        "the likeliest choice is among those of a deviation",
        "src/core/projective/choices.hpp",
        "if (k == without) continue;",
        "",
        PROJECTIVE_TWIN,
    ),
)

# In an order in which what was built for one group is never wrong for the next.
MODULE = (*DENSE, *PROJECTIVE_TREES, *SPARSE)
MUTANTS = (*PACKAGE, *MODULE, *PARTS)

"""What jobs compute for a run, a batch of consecutive sentences.

Every number depends on its own sentence alone, to the last bit: sums run over a sentence's own
words, never over padding, and random streams are numbered by the sentence's place in the corpus.
"""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.arguments import check_choice, check_count
from arborand.distributions import TreeDistribution
from arborand.errors import (
    ArborandError,
    BiasedSamplerWarning,
    NoTreeError,
    SuspiciousWeightsWarning,
)
from arborand.formats.decisions import read_decisions
from arborand.formats.inputs import visible
from arborand.formats.records import (
    BEST_TREES,
    ENTROPY,
    FINDINGS,
    LOG_PARTITION,
    MARGINALS,
    TREES,
    Rows,
    real_arcs,
)
from arborand.kinds import TreeKind
from arborand.labelled import LabelledTrees
from arborand.methods import (
    DEFAULT_METHOD,
    DEFAULT_WITHOUT_REPLACEMENT,
    WITH_REPLACEMENT,
    WITHOUT_REPLACEMENT,
    check_method,
)
from arborand.projective import CLASSES
from arborand.randomness import stream_key
from arborand.sampling import sample_ragged
from arborand.validation import HEAD_DEPENDENT, ORIENTATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from arborand.corpus.selection import Selection
    from arborand.formats.decisions import Decisions
    from arborand.formats.records import Layout, Sentences

    Computation = Callable[[Sentences], Iterator[Rows]]

# How many heads of one sentence are drawn at a time.
DRAW_VALUES = 1 << 19
# How much larger a run may be if its matrices are not padded.
_UNPADDED = 8


@dataclass(frozen=True)
class Setting:
    """What the scores of a corpus mean, and how many threads may work on them."""

    trees: str  # "dependency" or "spanning"
    weights: bool
    workers: int
    keep_heads: bool = False
    orientation: str = HEAD_DEPENDENT
    projective: bool = False
    decisions: Decisions | None = None

    @property
    def kind(self) -> TreeKind:
        """The kind of tree that the options select."""
        kind = TreeKind[self.trees.upper()]
        return kind.projective if self.projective else kind

    def by(self, method: str | None) -> dict[str, str]:
        """Return the method as a keyword argument, if this kind of tree takes one."""
        return {} if self.projective or method is None else {"method": method}

    @property
    def takes_scores(self) -> bool:
        """Whether the core can read the scores unchanged: log-weights, without a condition."""
        is_plain = self.orientation == HEAD_DEPENDENT
        return is_plain and not (self.weights or self.keep_heads or self.decisions)

    @property
    def described(self) -> dict[str, Any]:
        """The options that select it, for the provenance of an output."""
        options: dict[str, Any] = {
            "keep-heads": self.keep_heads,
            "trees": self.trees,
            "weights": self.weights,
        }
        if self.projective:
            options["projective"] = True
        if self.orientation != HEAD_DEPENDENT:
            options["orientation"] = self.orientation
        if self.decisions is not None:
            options |= {"decisions": self.decisions.name, "decisions-sha256": self.decisions.digest}
        return options

    def distribution(
        self, run: Sentences, label_scores: NDArray[Any] | None = None
    ) -> TreeDistribution:
        """Make the distribution of a run, as a batch; decisions also change the label scores."""
        maker = CLASSES[self.kind]
        make = maker.from_weights if self.weights else maker
        padded = run.padded(0.0 if self.weights else -np.inf)
        heads = given_heads(run, padded.shape[-1]) if self.keep_heads else None

        def made(which: Any) -> TreeDistribution:
            with _naming_sentences(run):
                distribution = make(
                    padded[which], lengths=run.lengths[which], orientation=self.orientation
                )
            return distribution if heads is None else distribution.condition(heads=heads[which])

        try:
            whole = made(slice(None))
            if self.decisions is None:
                return whole
            return self.decisions.apply(whole, run, label_scores)
        except ArborandError:
            if len(run) == 1:  # repeat the error for the sentence's own matrix, not for a batch
                try:
                    made(0)
                except NoTreeError as error:
                    raise _with_words(error, run.tokens[0]) from error
            raise

    def labelled(self, run: Sentences) -> LabelledTrees | None:
        """Make the distribution of a run with its labels; None if the file has no labels."""
        scores = self.label_scores(run)
        if scores is None:
            return None
        trees = self.distribution(run, scores)
        return LabelledTrees.from_trees(trees, scores, labels=run.label_names)

    def label_scores(self, run: Sentences) -> NDArray[Any] | None:
        """Put the label scores of a run into one array; None if the file has no labels.

        If labels are scored, arcs from the root keep only `root` and its subtypes, and other arcs
        only the other labels, unless this would leave an arc without a label.
        """
        scores = run.padded_labels()
        if run.labels is None or scores is None:
            return None
        if self.orientation != HEAD_DEPENDENT:
            scores = scores.swapaxes(1, 2)
        is_root = np.array([name.partition(":")[0] == "root" for name in run.label_names])
        if run.labels.ndim == 1 or not is_root.any():
            return scores
        allowed = np.broadcast_to(~is_root, scores.shape).copy()
        allowed[:, 0] = is_root
        left = np.where(allowed, scores, -np.inf)
        return np.where((left > -np.inf).any(axis=-1, keepdims=True), left, scores)


@contextmanager
def _naming_sentences(run: Sentences) -> Iterator[None]:
    """Make warnings about a batch name the sentence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SuspiciousWeightsWarning)
        yield
    for warning in caught:
        odd = warning.message
        if isinstance(odd, SuspiciousWeightsWarning):
            place = odd.batch_index[0] if odd.batch_index else 0
            name = f"sentence {run.sent_ids[place]!r} (number {run.first + place + 1})"
            odd = SuspiciousWeightsWarning(f"{name} {odd.finding}", odd.finding, odd.batch_index)
        warnings.warn(odd, stacklevel=1)


def given_heads(run: Sentences, size: int) -> NDArray[np.int32]:
    """Read the heads that a CoNLL-U file gives; -1 for words without one."""
    heads = np.full((len(run), size), -1, dtype=np.int32)
    for i, annotation in enumerate(run.annotations):
        if annotation is not None:
            given = annotation.given_heads
            heads[i, 1 : len(given) + 1] = given
    return heads


def _with_words(error: NoTreeError, tokens: list[str] | None) -> NoTreeError:
    """Name the words that the numbers in an error stand for."""
    numbers = [word for word in error.unreachable if isinstance(word, int)]
    if tokens is None or not numbers:
        return error
    words = ", ".join(f"{word}: {visible(tokens[word - 1])}" for word in numbers)
    return NoTreeError(f"{error} ({words})", error.unreachable, error.batch_index)


@dataclass(frozen=True)
class Sampling:
    """Draws with replacement, each with its log-probability."""

    setting: Setting
    num_trees: int
    method: str
    seed: int

    @property
    def run_scale(self) -> int:
        """How much larger a run may be than a padded one."""
        return _UNPADDED if self.setting.takes_scores else 1

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Draw trees for a run."""
        is_plain = self.setting.takes_scores and run.labels is None
        if len(run) >= 2 * self.setting.workers and is_plain:
            drawn = sample_ragged(
                run.scores,
                run.lengths,
                self.num_trees,
                kind=self.setting.kind,
                key=stream_key(self.seed),
                method=self.method,
                workers=self.setting.workers,
                first_graph=run.first,
            )
            if drawn is not None:
                heads, log_prob = drawn
                yield replace(
                    sentence_rows(run, {"log_prob": log_prob}, heads),
                    num_rows=np.full(len(run), self.num_trees, dtype=np.int64),
                )
                return
        yield from self._padded(run)

    def _padded(self, run: Sentences) -> Iterator[Rows]:
        """Draw from padded, checked graphs; from a single sentence, in portions."""
        labelled = self.setting.labelled(run)
        distribution = self.setting.distribution(run) if labelled is None else labelled.trees
        first_draw, portion = 0, self.num_trees
        if len(run) == 1:
            portion = min(portion, max(1, DRAW_VALUES // distribution.log_weights.shape[-1]))
        while first_draw < self.num_trees:
            count = min(portion, self.num_trees - first_draw)
            drawing: dict[str, Any] = {
                **self.setting.by(self.method),
                "rng": self.seed,
                "workers": self.setting.workers,
                "first_graph": run.first,
                "first_draw": first_draw,
            }
            labels = None
            with warnings.catch_warnings():
                # The command itself has already given this warning.
                warnings.simplefilter("ignore", BiasedSamplerWarning)
                if labelled is None:
                    heads, log_prob = distribution.sample_and_log_prob(count, **drawing)
                else:
                    heads, labels = labelled.sample(count, **drawing)
                    log_prob = labelled.log_prob(heads, labels)
            counts = np.full(len(run), count, dtype=np.int64)
            rows = _tree_rows(run, heads, log_prob, counts, labels)
            yield replace(rows, first_sample=first_draw)
            first_draw += count


@dataclass(frozen=True)
class SamplingWithoutReplacement:
    """Distinct trees, each with its log-probability."""

    setting: Setting
    num_trees: int
    method: str | None
    seed: int

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Draw trees for a run."""
        labelled = self.setting.labelled(run)
        drawing: dict[str, Any] = {
            **self.setting.by(self.method),
            "rng": self.seed,
            "first_graph": run.first,
        }
        if labelled is None:
            draws = self.setting.distribution(run).sample_without_replacement(
                self.num_trees, workers=self.setting.workers, **drawing
            )
        else:
            draws = labelled.sample_without_replacement(self.num_trees, **drawing)
        yield _tree_rows(run, draws.heads, draws.log_prob, draws.num_drawn, draws.labels)


@dataclass(frozen=True)
class BestTrees:
    """The best trees, or the minimum Bayes risk tree, each with its log-probability."""

    setting: Setting
    num_trees: int
    minimum_risk: bool

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Find the trees of a run."""
        labelled, workers = self.setting.labelled(run), self.setting.workers
        ones = np.ones(len(run), dtype=np.int64)
        if labelled is None:
            distribution = self.setting.distribution(run)
            if self.minimum_risk:
                heads = distribution.minimum_risk_tree(workers=workers)[np.newaxis]
                yield _tree_rows(run, heads, distribution.log_prob(heads), ones)
                return
            best = distribution.best_trees(self.num_trees, workers=workers)
        elif self.minimum_risk:
            heads, labels = (tree[np.newaxis] for tree in labelled.minimum_risk_tree())
            yield _tree_rows(run, heads, labelled.log_prob(heads, labels), ones, labels)
            return
        else:
            best = labelled.best_trees(self.num_trees)
        yield _tree_rows(run, best.heads, best.log_prob, best.num_found, best.labels)


def _tree_rows(
    run: Sentences,
    heads: NDArray[np.int32],
    log_prob: NDArray[np.float64],
    num_trees: NDArray[np.int64],
    labels: NDArray[np.int32] | None = None,
) -> Rows:
    """Make rows from the trees of a run; `num_trees` is their number per sentence."""
    found = list(enumerate(zip(num_trees.tolist(), run.lengths.tolist(), strict=True)))

    def flat(trees: NDArray[np.int32]) -> NDArray[np.int32]:
        parts = [trees[:count, i, 1 : n + 1].reshape(-1) for i, (count, n) in found]
        return np.concatenate(parts)

    return Rows(
        run.sent_ids,
        run.lengths,
        num_trees,
        {"log_prob": np.concatenate([log_prob[:count, i] for i, (count, _) in found])},
        flat(heads),
        0,
        run.tokens,
        run.annotations,
        None if labels is None else flat(labels),
        run.label_names,
    )


def sentence_rows(
    run: Sentences,
    columns: dict[str, NDArray[np.float64]],
    values: NDArray[Any] | None = None,
    labels: NDArray[Any] | None = None,
) -> Rows:
    """Make one row per sentence of a run."""
    ones = np.ones(len(run), dtype=np.int64)
    lists = np.empty(0) if values is None else values
    notes = (run.tokens, run.annotations)
    return Rows(run.sent_ids, run.lengths, ones, columns, lists, 0, *notes, labels, run.label_names)


@dataclass(frozen=True)
class Marginals:
    """The probability of every arc."""

    setting: Setting

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Compute the marginals of a run."""
        labelled, workers = self.setting.labelled(run), self.setting.workers
        of_labels = None
        if labelled is None:
            marginals = self.setting.distribution(run).arc_marginals(workers=workers)
        else:
            of_labels = labelled.label_marginals(workers=workers)
            marginals = labelled.arc_marginals(workers=workers)
        is_real = real_arcs(run.lengths, marginals.shape[-1])
        labels = None if of_labels is None else of_labels[is_real]
        yield sentence_rows(run, {}, marginals[is_real], labels)


@dataclass(frozen=True)
class LogPartition:
    """log Z."""

    setting: Setting

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Compute log Z of a run."""
        log_partition = self.setting.distribution(run).log_partition(workers=self.setting.workers)
        yield sentence_rows(run, {"log_partition": log_partition})


@dataclass(frozen=True)
class Entropy:
    """log Z, entropy, the probability of the best tree, and the share of single-root trees."""

    setting: Setting

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Compute the measures of a run."""
        workers = self.setting.workers
        distribution = self.setting.distribution(run)
        log_partition = distribution.log_partition(workers=workers)
        if self.setting.kind.has_single_root:
            log_dependency = log_partition
            spanning = replace(self.setting, trees="spanning").distribution(run)
            log_spanning = spanning.log_partition(workers=workers)
        else:
            log_dependency, log_spanning = self._log_dependency(run), log_partition
        labelled = self.setting.labelled(run)
        if labelled is None:
            entropy = distribution.entropy(workers=workers)
            best_log_prob = distribution.log_prob(distribution.best_tree(workers=workers))
        else:
            entropy = labelled.entropy(workers=workers)
            best_log_prob = labelled.log_prob(*labelled.best_tree(workers=workers))
        columns = {
            "log_partition": log_partition,
            "entropy": entropy,
            "best_log_prob": best_log_prob,
            "single_root_share": np.exp(np.minimum(log_dependency - log_spanning, 0.0)),
        }
        yield sentence_rows(run, columns)

    def _log_dependency(self, run: Sentences) -> NDArray[np.float64]:
        """Compute log Z of the dependency trees: -inf if there is none."""
        answer = np.full(len(run), -np.inf)
        setting = replace(self.setting, trees="dependency")
        for i, one in enumerate(run.one_by_one()):
            try:
                answer[i] = setting.distribution(one).log_partition()[0]
            except NoTreeError:
                continue
        return answer


@dataclass(frozen=True)
class Gate:
    """Only the check that every distribution begins with."""

    setting: Setting

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Check a run."""
        if self.setting.labelled(run) is None:
            self.setting.distribution(run)
        yield sentence_rows(run, {})


class Check(Gate):
    """The same check; only sentences that cannot be used become rows."""

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Check a run."""
        list(super().__call__(run))
        return iter(())

    def finding(self, sentence: Sentences, reason: str) -> Rows:
        """Say why a sentence cannot be used."""
        return sentence_rows(sentence, {"reason": np.array([reason], dtype=object)})


@dataclass(frozen=True)
class Copy:
    """The scores, unchanged."""

    dtype: str

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Copy the scores of a run."""
        with np.errstate(invalid="ignore"):  # merely copying some NaNs raises a warning
            values = run.scores.astype(self.dtype, copy=False)
        yield sentence_rows(run, {}, values, run.labels)


# ---- commands


_SCORES = {"trees", "projective", "weights", "orientation", "keep_heads"}
# The options of each command.
OPTIONS = {
    "sample": _SCORES | {"num_trees", "without_replacement", "method", "seed", "relations"},
    "best": _SCORES | {"relations", "num_trees", "minimum_risk", "decisions"},
    **dict.fromkeys(("marginals", "logz", "entropy", "check"), _SCORES),
    "convert": {"relations"},
}


@dataclass(frozen=True)
class Work:
    """A command with its options.

    Attributes
    ----------
    command : str
    compute : Computation or None
        None if trees are converted, or if it is not known yet what is converted.
    layout : Layout or None
        What is written; None for ``convert`` until its inputs are known.
    options : dict
        The options that influence the output, in the order of the provenance.
    num_trees : int
        Per sentence; 0 if no trees are written.
    seed, method
        None if nothing is drawn.
    selection : Selection or None
        Which sentences to work on; None for all.
    """

    command: str
    compute: Computation | None
    layout: Layout | None
    options: dict[str, Any]
    num_trees: int = 0
    seed: int | None = None
    method: str | None = None
    selection: Selection | None = None

    @property
    def threads(self) -> int:
        """How many threads work on a run."""
        return int(getattr(getattr(self.compute, "setting", None), "workers", 1))

    @property
    def run_scale(self) -> int:
        """How much larger than usual a run may be."""
        # More threads than processors need no more memory.
        threads = min(self.threads, os.cpu_count() or 1)
        return threads * int(getattr(self.compute, "run_scale", 1))

    def with_threads(self, count: int) -> Work:
        """Use `count` threads for each run."""
        setting = getattr(self.compute, "setting", None)
        if setting is None or not is_dataclass(self.compute):  # it accumulates: do not copy it
            return self
        setting = replace(setting, workers=count)
        return replace(self, compute=replace(self.compute, setting=setting))

    def for_inputs(self, layout: Layout) -> Work:
        """Tell a conversion what its inputs contain."""
        if self.layout is not None:
            return self
        compute = None if layout.name == "trees" else Copy(layout.dtype)
        return replace(self, compute=compute, layout=layout)

    def selecting(self, selection: Selection | None) -> Work:
        """Work on some sentences only; on all of them, if nothing is selected."""
        if selection is None:
            return self
        return replace(self, selection=selection, options={**self.options, **selection.options})

    def with_seed(self, seed: int) -> Work:
        """Draw from this seed."""
        return replace(
            self,
            compute=replace(self.compute, seed=seed),  # type: ignore[type-var]
            options={**self.options, "seed": seed},
            seed=seed,
        )


def make_work(
    command: str,
    *,
    trees: str = "dependency",
    projective: bool = False,
    weights: bool = False,
    orientation: str = HEAD_DEPENDENT,
    keep_heads: bool = False,
    num_trees: int = 1,
    without_replacement: bool = False,
    method: str | None = None,
    seed: int | None = None,
    minimum_risk: bool = False,
    decisions: str | os.PathLike[str] | None = None,
    relations: str | None = None,
) -> Work:
    """Make the work of a command.

    A sample whose `seed` is None needs one (``with_seed``) before it can be drawn.
    """
    check_choice(trees, "trees", ("dependency", "spanning"))
    check_choice(orientation, "orientation", ORIENTATIONS)
    check_count(num_trees, "num_trees", 0)
    if command not in OPTIONS:
        raise ArborandError(f"there is no command {command!r}: use {', '.join(OPTIONS)}")
    if minimum_risk and num_trees > 1:
        raise ValueError(
            f"there is only one minimum-risk tree, but {num_trees} trees were requested"
        )
    if relations is not None:
        check_choice(relations, "relations", ("keep",))
    kept = {} if relations is None else {"relations": relations}
    if command == "convert":
        return Work(command, None, None, kept)
    if command == "sample":
        seed = None if seed is None else check_count(seed, "seed", 0)
        methods = WITHOUT_REPLACEMENT if without_replacement else WITH_REPLACEMENT
        if projective and method is not None:
            raise ValueError(
                f"method {method!r}: projective trees have only one method; leave it out"
            )
        check_method(method, methods, kind=TreeKind[trees.upper()])
    decided = None if decisions is None else read_decisions(decisions)
    setting = Setting(trees, weights, 1, keep_heads, orientation, projective, decided)
    common = setting.described
    if command == "sample":
        described = {
            "num-trees": num_trees,
            "without-replacement": without_replacement,
            "method": method,
            "seed": seed,
            **kept,
            **common,
        }
        trees_layout = replace(TREES, keeps_relations=bool(kept))
        compute: Computation
        if without_replacement:
            compute = SamplingWithoutReplacement(setting, num_trees, method, seed or 0)
            method = method or DEFAULT_WITHOUT_REPLACEMENT
        else:
            method = method or DEFAULT_METHOD
            compute = Sampling(setting, num_trees, method, seed or 0)
        return Work(command, compute, trees_layout, described, num_trees, seed, method)
    if command == "best":
        described = {"num-trees": num_trees, "minimum-risk": minimum_risk, **kept, **common}
        compute = BestTrees(setting, num_trees, minimum_risk)
        best_layout = replace(BEST_TREES, keeps_relations=bool(kept))
        return Work(command, compute, best_layout, described, num_trees)
    makers: dict[str, tuple[Callable[..., Computation], Layout]] = {
        "marginals": (Marginals, MARGINALS),
        "logz": (LogPartition, LOG_PARTITION),
        "entropy": (Entropy, ENTROPY),
        "check": (Check, FINDINGS),
    }
    make, layout = makers[command]
    return Work(command, make(setting), layout, common)

"""The data that the scripts of a page need about a sentence, and about its corpus."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.pictures.layout import MOST_LABELLED, slots
from arborand.pictures.markup import UNPRINTABLE, brief_percent, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from arborand.pictures.picture import Picture
    from arborand.pictures.section import Sentence

# With more words, a reader's choice would take half a second or more to compute.
MOST_WORDS_EXPLORED = 200
# trees.js is tested with scores that are at most this far apart, and with masks this far below.
_FARTHEST_APART = 1e6
_MASKS = (1e8, 1e10)
_LEAST_LABEL = 655  # of 65535: one percent
# For rarer arcs, the page contains only the likeliest label; for the rarest ones, none.
_RARE_ARC, _RAREST_ARC = 1e-3, 1e-5
# A corpus that is larger than this, compressed, is not included as a whole.
_LARGEST_CORPUS = 3_000_000


def as_json(data: Mapping[str, Any]) -> str:
    """Write JSON that cannot end the element that contains it.

    Halves of surrogate pairs are replaced: addresses cannot contain them, and no file does.
    """

    def escaped(found: re.Match[str]) -> str:
        is_half = "\ud800" <= found[0] <= "\udfff"
        return "\ufffd" if is_half else f"\\u{ord(found[0]):04x}"

    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return UNPRINTABLE.sub(escaped, text).replace("<", "\\u003c")


def sentence_data(sentence: Sentence, *, explore: bool) -> dict[str, Any]:
    """Gather what the scripts need."""
    picture, marginals = sentence.picture, sentence.marginals
    data: dict[str, Any] = {
        # Files of decisions name a sentence by these, so they are as they were read.
        "id": picture.sent_id,
        "tokens": list(picture.tokens),
        "slots": [round(slot) for slot in slots(picture.tokens, _with_room(sentence))],
        "rtl": sentence.right_to_left,
        "best": sentence.best.tolist(),
        "entropy": sentence.entropy,
        "entropies": [round(float(entropy), 4) for entropy in sentence.entropies],
        "trees": [
            [
                float(f"{probability:.6g}"),
                [[j, int(heads[j])] for j in np.flatnonzero(heads != sentence.best).tolist()],
            ]
            for heads, probability in zip(sentence.trees, sentence.probabilities, strict=True)
        ],
    }
    if picture.text is not None:
        data["text"] = printable(picture.text)
    for name, column in (("upos", picture.parts_of_speech), ("deprel", picture.relations)):
        if column is not None:
            data[name] = [printable(word) for word in column]
    if sentence.gold is not None:
        data["gold"] = sentence.gold.tolist()
        data["goldProbability"] = sentence.gold_probability
    scores = picture.distribution.log_weights[: sentence.size, : sentence.size]
    reason = _why_not(scores, explore=explore)
    if reason:
        heads, dependents = np.nonzero(marginals >= 0.01)
        data["reason"] = reason
        data["arcs"] = [
            [head, dependent, round(float(marginals[head, dependent]), 4)]
            for head, dependent in zip(heads.tolist(), dependents.tolist(), strict=True)
        ]
    else:
        with np.errstate(over="ignore"):
            single = scores.astype("<f4")
        is_exact = np.array_equal(single.astype(np.float64), scores)
        stored = single if is_exact else scores.astype("<f8")
        kind = picture.distribution._kind
        data["single"], data["projective"] = kind.has_single_root, kind.is_projective
        data["bytes"] = stored.itemsize
        if sentence.labels is not None:
            data["labels"] = _label_data(sentence.labels, marginals, picture.label_names or ())
            logs = np.log(np.where(sentence.labels > 0, sentence.labels, 1.0))
            of_labels = -(marginals[..., None] * sentence.labels * logs).sum(axis=(0, 2))
            data["values"] = np.round(sentence.entropies + of_labels, 4).tolist()
            data["labelEntropy"] = float(of_labels.sum())
        data["scores"] = base64.b64encode(stored.tobytes()).decode()
    return data


def _why_not(scores: NDArray[np.float64], *, explore: bool) -> str | None:
    """Return why a sentence cannot be explored, or None if it can."""
    if not explore:
        return "this page was made without the scores."
    num_words = len(scores) - 1
    if num_words > MOST_WORDS_EXPLORED:
        return f"this sentence has {num_words} words, and the limit is {MOST_WORDS_EXPLORED}."
    real = np.isfinite(scores)
    real[:, 0] = False
    np.fill_diagonal(real, False)
    below = scores[real].max() - scores[real]
    is_far = (below > _FARTHEST_APART) & ((below < _MASKS[0]) | (below > _MASKS[1]))
    if is_far.any():
        return f"its scores are more than {_FARTHEST_APART:,.0f} apart."
    return None


def relation(name: str, probability: float) -> str:
    """Write a label with its probability, if it is not nearly certain."""
    return name if probability >= MOST_LABELLED else f"{name} {brief_percent(probability)}"


def _with_room(sentence: Sentence) -> list[list[str]]:
    """Return the rows below the words, with space for the probability of each label."""
    room = [relation(name.split()[0] if name else "", 0.5) for name in sentence.relations or ()]
    return [room if row is sentence.relations else row for row in sentence.below]


def _label_data(
    labels: NDArray[np.float64], marginals: NDArray[np.float64], names: Sequence[str]
) -> dict[str, Any]:
    """Write the labels of each arc: how many, their numbers, and their probabilities.

    A number takes one byte, or two if there are more than 255 labels; a probability takes two, in
    which 65535 stands for 1.  Labels below 1 % given their arc are left out: what is missing from 1
    is theirs.  Arcs that hardly any tree has get one label, or none.
    """
    chances = np.rint(65535 * labels).astype("<u2")
    order = np.argsort(-labels, axis=-1, kind="stable")
    counts = (chances >= _LEAST_LABEL).sum(axis=-1)
    counts = np.where(marginals >= _RARE_ARC, counts, np.minimum(counts, 1))
    counts[marginals < _RAREST_ARC] = 0
    used = np.unique(order[np.arange(len(names)) < counts[:, :, None]])
    kind = np.dtype("<u2") if len(used) > 255 else np.dtype("u1")
    written = bytearray()
    for head, row in enumerate(counts.tolist()):
        for dependent, count in enumerate(row[1:], start=1):
            listed = order[head, dependent, :count]
            numbers = np.searchsorted(used, listed)
            written += np.array([count, *numbers], kind).tobytes()
            written += chances[head, dependent, listed].tobytes()
    table = base64.b64encode(written).decode()
    return {"names": [printable(names[label]) for label in used.tolist()], "table": table}


class OriginalCorpus:
    """The CoNLL-U file that readers save with their decisions.

    It is the file itself, if it is not too large, followed by the sentences that are not in it.
    """

    def __init__(self, conllu: bytes | None, file_name: str) -> None:
        self._conllu = conllu or b""
        self._name = file_name
        self._is_whole = (
            len(self._conllu) <= _LARGEST_CORPUS
            or len(zlib.compress(self._conllu, 9)) <= _LARGEST_CORPUS
        )
        self._written = bytearray(self._conllu if self._is_whole else b"")
        self._places: list[tuple[int, int]] = []

    def add(self, picture: Picture) -> None:
        """Add the sentence of the next picture."""
        start, stop = picture.place or (0, 0)
        found = self._conllu[start:stop]
        if not found or not self._is_whole:
            block = found or _block(picture)
            start, stop = len(self._written), len(self._written) + len(block)
            self._written += block + b"\n"
        self._places.append((start, stop))

    @property
    def data(self) -> dict[str, Any]:
        """The same data, for scripts."""
        return {
            "name": printable(self._name),
            "places": self._places,
            "is_whole": self._is_whole,
            "deflated": base64.b64encode(zlib.compress(bytes(self._written), 9)).decode(),
        }


def _block(picture: Picture) -> bytes:
    """Write the lines of a sentence that is in no file; HEAD only if just one is possible."""

    def column(text: str) -> str:
        return " ".join(printable(text).split()) or "_"

    sent_id = column(picture.sent_id)
    lines = [f"# sent_id = {sent_id}"]
    if sent_id != picture.sent_id:
        lines.append(f"# arborand_sent_id = {json.dumps(picture.sent_id)}")
    lines.append(f"# text = {column(picture.text or ' '.join(picture.tokens))}")
    size = len(picture.tokens) + 1
    is_arc = picture.distribution.log_weights[:size, :size] > -np.inf
    np.fill_diagonal(is_arc, False)
    for word, token in enumerate(picture.tokens, start=1):
        heads = np.flatnonzero(is_arc[:, word])
        head = str(heads[0]) if len(heads) == 1 else "_"
        tag = column(picture.parts_of_speech[word - 1]) if picture.parts_of_speech else "_"
        relation = "root" if head == "0" else "_"
        fields = (str(word), column(token), "_", tag, "_", "_", head, relation, "_", "_")
        lines.append("\t".join(fields))
    return ("\n".join(lines) + "\n").encode()

"""Scores from stanza's graph parsers.

stanza scores every arc and every label with a biaffine model, takes the best tree with one root
arc, and then, unless told otherwise, repairs heads that their labels do not allow
(``resolve_head_constraints``).  This adapter takes the scores that stanza decodes before that
repair: the arc scores, normalised over the heads of each word, which changes no tree's probability,
and the label scores of all arcs.  Tags come from the file; if it has none, and the model is a
language, stanza's models tag it.
"""

from __future__ import annotations

import itertools
import logging
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.errors import ArborandError, UntestedVersionWarning
from arborand.formats.inputs import required
from arborand.parsers.protocol import Scored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arborand.parsers.protocol import Unparsed

# The versions with which our best trees were compared with stanza's own.
TESTED = ("1.15",)
# How many sentences are read at a time, and how many words are scored at a time.
_SENTENCES, _WORDS = 500, 3000
# Longer sentences are scored alone, as stanza's own pipeline does.
_LONG = 150


def scores(
    sentences: Iterator[Unparsed],
    model: str | None,
    *,
    pretrain: str | None = None,
    forward_charlm: str | None = None,
    backward_charlm: str | None = None,
    device: str | None = None,
    batch_words: str | int = _WORDS,
) -> Iterator[Scored]:
    """Score sentences with a stanza model.

    Parameters
    ----------
    sentences : iterator of Unparsed
    model : str
        A file written by stanza's training, or a language such as ``en`` whose models were
        downloaded with ``stanza.download``.
    pretrain, forward_charlm, backward_charlm : str, optional
        The word vectors and character models that a file was trained with, if any.
    device : str, optional
        Such as ``cpu`` or ``cuda``.
    batch_words : int
        How many words are scored at a time.
    """
    parser = _Parser(model, pretrain, forward_charlm, backward_charlm, device, int(batch_words))
    while chunk := list(itertools.islice(sentences, _SENTENCES)):
        yield from parser.scored(chunk)


class _Parser:
    def __init__(
        self,
        model: str | None,
        pretrain: str | None,
        forward_charlm: str | None,
        backward_charlm: str | None,
        device: str | None,
        batch_words: int,
    ) -> None:
        stanza = _stanza()
        if model is None:
            raise ArborandError(
                "stanza needs a model: --model names a file, or a language whose models were "
                "downloaded, such as en"
            )
        self._batch_words = batch_words
        self._tagger: Any = None
        if os.path.exists(model):
            from stanza.models.common.pretrain import Pretrain
            from stanza.models.depparse.trainer import Trainer

            args = {
                "charlm_forward_file": forward_charlm,
                "charlm_backward_file": backward_charlm,
            }
            given = {name: value for name, value in args.items() if value is not None}
            self._pretrain = None if pretrain is None else Pretrain(pretrain)
            self._trainer = Trainer.load(
                model, pretrain=self._pretrain, args=given or None, device=_device(device)
            )
        else:
            try:
                pipeline = stanza.Pipeline(
                    model,
                    processors="tokenize,pos,lemma,depparse",
                    tokenize_pretokenized=True,
                    download_method=None,
                    device=device,
                )
            except Exception as error:
                raise ArborandError(
                    f"--model {model} is neither a file nor a language for which stanza has models "
                    f'({error}): download them with python -c "import stanza; '
                    f"stanza.download('{model}')\""
                ) from error
            depparse = pipeline.processors["depparse"]
            self._trainer, self._pretrain = depparse.trainer, depparse.pretrain
            self._tagger = [pipeline.processors[name] for name in ("pos", "lemma")]
        if not hasattr(self._trainer.model, "models"):
            _check_is_graph_parser(self._trainer.model)
        vocabulary = self._trainer.vocab["deprel"]
        from stanza.models.common.vocab import VOCAB_PREFIX

        self.label_names = tuple(
            vocabulary.id2unit(i) for i in range(len(VOCAB_PREFIX), len(vocabulary))
        )

    def scored(self, chunk: list[Unparsed]) -> list[Scored]:
        """Score some sentences, in their order."""
        import torch
        from stanza.models.common.utils import unsort
        from stanza.models.depparse.data import DataLoader
        from stanza.models.depparse.model import GraphParser
        from stanza.models.depparse.trainer import unpack_batch
        from stanza.utils.conll import CoNLL

        trainer = self._trainer
        document = CoNLL.conll2doc(input_str="".join(sentence.conllu for sentence in chunk))
        self._tag(document, chunk)
        batches = DataLoader(
            document,
            self._batch_words,
            trainer.args,
            self._pretrain,
            vocab=trainer.vocab,
            evaluation=True,
            sort_during_eval=True,
            min_length_to_batch_separately=_LONG,
        )
        found: list[Scored] = []
        network = trainer.model.eval()
        with torch.no_grad():
            for batch in batches:
                inputs, order, word_order, sizes, word_sizes, text = unpack_batch(
                    batch, network.get_device()
                )
                _, predicted = network(*inputs, word_order, sizes, word_sizes, text)
                own, repaired = (
                    GraphParser.decode_graph_predictions(
                        trainer.vocab["deprel"],
                        len(sizes),
                        predicted,
                        sizes,
                        resolve_head_constraints=is_repaired,
                    )
                    for is_repaired in (False, True)
                )
                arcs, _, labels = predicted  # [dependent, head], padded; sizes count the root
                scored = [
                    self._one(arcs[i, :n, :n], labels[i, :n, :n], own[i], repaired[i])
                    for i, n in enumerate(sizes)
                ]
                found += unsort(scored, order)
        return list(unsort(found, batches.data_orig_idx))

    def _one(self, arcs: Any, labels: Any, own: Any, repaired: Any) -> Scored:
        heads = [int(head) for head, _ in own]
        arcs, labels = arcs.T, labels.swapaxes(0, 1)
        is_repaired = heads != [int(head) for head, _ in repaired]
        if self._trainer.args.get("reversed", False):  # a model that reads from right to left
            n = len(heads)
            place = np.array([0, *range(n, 0, -1)])
            arcs, labels = arcs[place][:, place], labels[place][:, place]
            heads = [0 if head == 0 else n + 1 - head for head in heads[::-1]]
        return Scored(np.ascontiguousarray(arcs), labels, self.label_names, heads, is_repaired)

    def _tag(self, document: Any, chunk: list[Unparsed]) -> None:
        """Tag the sentences of a document that have neither UPOS nor XPOS tags."""
        from stanza.utils.conll import CoNLL

        bare = [
            i
            for i, (parsed, _) in enumerate(zip(document.sentences, chunk, strict=True))
            if all(word.upos is None and word.xpos is None for word in parsed.words)
        ]
        if not bare:
            return
        if self._tagger is None:
            raise ArborandError(
                f"sentence {chunk[bare[0]].sent_id!r} has no tags (UPOS, XPOS), which the parser "
                "needs: tag the file first, or name a language (--model en), whose models tag it"
            )
        # Alone: taggers replace the tags of all sentences that they are given.
        tagged = CoNLL.conll2doc(input_str="".join(chunk[i].conllu for i in bare))
        for processor in self._tagger:
            processor.process(tagged)
        for i, sentence in zip(bare, tagged.sentences, strict=True):
            document.sentences[i] = sentence


def _stanza() -> Any:
    stanza: Any = required("stanza", "--parser stanza", "stanza")
    logging.getLogger("stanza").setLevel(logging.WARNING)
    if not stanza.__version__.startswith(tuple(f"{version}." for version in TESTED)):
        warnings.warn(
            f"arborand was tested with stanza {', '.join(TESTED)}, not with {stanza.__version__}: "
            "scores that contradict the parser's own trees are refused, but check the results",
            UntestedVersionWarning,
            stacklevel=3,
        )
    return stanza


def _check_is_graph_parser(model: Any) -> None:
    from stanza.models.depparse.model import GraphParser

    if not isinstance(model, GraphParser):
        raise ArborandError(
            f"the model is a {type(model).__name__}, which does not score every arc: use one of "
            "stanza's graph parsers"
        )


def _device(name: str | None) -> str:
    if name is not None:
        return name
    from stanza.models.common.utils import default_device

    return str(default_device())

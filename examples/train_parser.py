"""Train a small dependency parser with arborand.torch: ``python examples/train_parser.py``.

A biaffine parser over a bidirectional LSTM learns to score arcs from any CoNLL-U file.  Each
objective is one line of code (see `loss_of`):

    likelihood   minus the log-probability of the annotated tree
    entropy      the same, minus a reward for staying uncertain
    risk         the expected number of wrong heads, exactly, or from distinct draws (--num-draws)
    partial      minus the log-probability of the known heads; some heads are hidden

With --labels, it also learns to score relations, and the objectives are those of labelled trees.

Some sentences are held out for testing.  --save writes the scores of all, for ``arborand show``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from arborand.formats import write_scores
from arborand.torch import DependencyTrees, LabelledTrees, arc_indicators
from arborand.torch.estimators import expectation_without_replacement
from arborand.trees import is_tree

CORPUS = Path(__file__).parent / "corpus" / "sentences.conllu"
UNKNOWN = 0  # the number of every word that was not seen in training; also padding


class Sentence(NamedTuple):
    """What the parser reads of a sentence, and the annotated heads: -1 for the root and unknown."""

    sent_id: str  # empty if the file gives none
    words: list[str]
    tags: list[str]
    heads: list[int]
    relations: list[str]


class Batch(NamedTuple):
    """Padded sentences; node 0 is the root."""

    words: Tensor  # (sentences, m)
    tags: Tensor  # (sentences, m)
    heads: Tensor  # (sentences, m), -1 for the root and in the padding
    lengths: Tensor  # (sentences,)
    labels: Tensor  # (sentences, m), -1 where there is no head


def read_conllu(path: Path) -> list[Sentence]:
    """Read a CoNLL-U file; multiword tokens and empty nodes are left out."""
    sentences = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.splitlines()
        ids = [line.removeprefix("# sent_id = ") for line in lines if "# sent_id = " in line]
        rows = [line.split("\t") for line in lines if line.split("\t")[0].isdigit()]
        words, tags = [row[1].lower() for row in rows], [row[3] for row in rows]
        heads = [-1, *(-1 if row[6] == "_" else int(row[6]) for row in rows)]
        relations = [row[7] for row in rows]
        sentences.append(Sentence(ids[0] if ids else "", words, tags, heads, relations))
    return sentences


class Vocabulary:
    """Numbers for words; 1 is the root."""

    def __init__(self, words: Iterable[str]) -> None:
        self.number = {word: i for i, word in enumerate(sorted(set(words)), start=2)}

    def __len__(self) -> int:
        return len(self.number) + 2

    def encode(self, words: Sequence[str]) -> list[int]:
        """Give the numbers of a sentence's nodes, root included."""
        return [1, *(self.number.get(word, UNKNOWN) for word in words)]


def padded(rows: Sequence[Sequence[int]], padding: int) -> Tensor:
    """Make one tensor of rows of different lengths."""
    tensors = [torch.tensor(row) for row in rows]
    return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=padding)


class Parser(nn.Module):
    """Scores of all arcs: a bidirectional LSTM, and a biaffine form of heads and dependents."""

    def __init__(
        self, words: Vocabulary, tags: Vocabulary, relations: Sequence[str], width: int = 64
    ) -> None:
        super().__init__()
        self.words, self.tags, self.relations = words, tags, list(relations)
        self.embed_word = nn.Embedding(len(words), width)
        self.embed_tag = nn.Embedding(len(tags), width)
        self.encode = nn.LSTM(width, width, bidirectional=True, batch_first=True)
        self.as_head = nn.Linear(2 * width, width)
        self.as_dependent = nn.Linear(2 * width, width)
        self.agreement = nn.Parameter(torch.eye(width) / width**0.5)
        self.head_score = nn.Linear(width, 1)
        self.label_agreement = nn.Parameter(torch.zeros(len(relations), width, width))
        self.label_score = nn.Parameter(torch.zeros(len(relations)))

    def batch(self, sentences: Sequence[Sentence]) -> Batch:
        """Turn sentences into tensors."""
        return Batch(
            padded([self.words.encode(sentence.words) for sentence in sentences], UNKNOWN),
            padded([self.tags.encode(sentence.tags) for sentence in sentences], UNKNOWN),
            padded([sentence.heads for sentence in sentences], -1),
            torch.tensor([len(sentence.words) for sentence in sentences]),
            padded([self.labels_of(sentence) for sentence in sentences], -1),
        )

    def labels_of(self, sentence: Sentence) -> list[int]:
        """Give the numbers of a sentence's relations; the first for those that are unknown."""
        number = {relation: i for i, relation in enumerate(self.relations)}
        known = [number.get(relation, 0) for relation in sentence.relations]
        words = zip(sentence.heads[1:], known, strict=True)
        return [-1, *(label if head >= 0 else -1 for head, label in words)]

    def forward(self, batch: Batch) -> LabelledTrees:
        """Give the distribution over the labelled trees of each sentence."""
        states, _ = self.encode(self.embed_word(batch.words) + self.embed_tag(batch.tags))
        heads, dependents = self.as_head(states).relu(), self.as_dependent(states).relu()
        scores = heads @ self.agreement @ dependents.mT + self.head_score(heads)
        trees = DependencyTrees(scores, lengths=batch.lengths)
        labels = torch.einsum("bhi,lij,bdj->bhdl", heads, self.label_agreement, dependents)
        return LabelledTrees.from_trees(trees, labels + self.label_score, labels=self.relations)


def labelled_loss(
    trees: LabelledTrees, batch: Batch, objective: str, options: argparse.Namespace
) -> Tensor:
    """Compute what is minimised for each sentence, of labelled trees."""
    if objective in ("likelihood", "entropy"):
        reward = options.strength * trees.entropy() if objective == "entropy" else 0.0
        loss: Tensor = -trees.log_prob(batch.heads, batch.labels) - reward
        return loss
    if objective == "risk":
        is_label = nn.functional.one_hot(batch.labels.clamp(min=0), trees.num_labels)
        right = arc_indicators(batch.heads)[..., None] * is_label[:, None]
        expected: Tensor = trees.expectation(right)
        return batch.lengths - expected
    evidence: Tensor = trees.log_evidence(heads=batch.heads, labels=batch.labels)
    return -evidence


def loss_of(
    labelled: LabelledTrees, batch: Batch, objective: str, options: argparse.Namespace
) -> Tensor:
    """Compute what is minimised, for each sentence."""
    if options.labels:
        return labelled_loss(labelled, batch, objective, options)
    trees: DependencyTrees = labelled.trees
    if objective == "likelihood":
        return -trees.log_prob(batch.heads)
    if objective == "entropy":
        reward: Tensor = options.strength * trees.entropy()
        return -trees.log_prob(batch.heads) - reward
    if objective == "risk":
        if options.num_draws:
            return estimated_risk(trees, batch.heads, options)
        return batch.lengths - trees.expectation(arc_indicators(batch.heads))
    return -trees.log_evidence(heads=batch.heads)


def estimated_risk(trees: DependencyTrees, heads: Tensor, options: argparse.Namespace) -> Tensor:
    """Estimate the expected number of wrong heads; any other function would do as well."""
    return expectation_without_replacement(
        trees, lambda drawn: (drawn != heads).sum(-1).float(), options.num_draws
    )


def hide_heads(sentences: Sequence[Sentence], share: float) -> list[Sentence]:
    """Forget a share of the annotated heads."""
    hidden = []
    for sentence in sentences:
        forget = torch.rand(len(sentence.heads)) < share
        heads = [-1 if f else head for head, f in zip(sentence.heads, forget, strict=True)]
        hidden.append(sentence._replace(heads=heads))
    return hidden


def attachment_scores(parser: Parser, sentences: Sequence[Sentence]) -> list[tuple[float, float]]:
    """Compute the shares of right heads (UAS), and of right heads with right relations (LAS).

    First of the best trees, then of those of least risk.
    """
    with torch.inference_mode():
        batch = parser.batch(sentences)
        labelled = parser(batch)
        is_word, names = batch.heads >= 0, [*parser.relations, ""]
        gold = [
            name
            for sentence in sentences
            for head, name in zip(sentence.heads[1:], sentence.relations, strict=True)
            if head >= 0
        ]
        scores = []
        for heads, labels in (labelled.best_tree(), labelled.minimum_risk_tree()):
            is_right = (heads == batch.heads)[is_word]
            found = [names[label] for label in labels[is_word].tolist()]
            same = torch.tensor([a == b for a, b in zip(found, gold, strict=True)])
            scores.append((float(is_right.float().mean()), float((is_right & same).float().mean())))
    return scores


def train(
    parser: Parser, sentences: Sequence[Sentence], options: argparse.Namespace
) -> list[float]:
    """Train, tell how it goes, and return the mean loss of each epoch."""
    optimiser = torch.optim.Adam(parser.parameters(), lr=options.learning_rate)
    losses = []
    for epoch in range(1, options.epochs + 1):
        # Risk is flat where a parser is sure and wrong: it has to start from something sensible.
        warming_up = options.objective == "risk" and epoch <= options.warm_up
        objective = "likelihood" if warming_up else options.objective
        order = torch.randperm(len(sentences)).tolist()
        total = 0.0
        for begin in range(0, len(order), options.batch_size):
            batch = parser.batch([sentences[i] for i in order[begin : begin + options.batch_size]])
            loss = loss_of(parser(batch), batch, objective, options)
            optimiser.zero_grad()
            loss.mean().backward()
            nn.utils.clip_grad_norm_(parser.parameters(), 5.0)
            optimiser.step()
            total += float(loss.detach().sum())
        losses.append(total / len(sentences))
        if epoch % max(1, options.epochs // 10) == 0:
            print(f"epoch {epoch:4d}   loss {losses[-1]:9.4f}", flush=True)
    return losses


def save_scores(parser: Parser, sentences: Sequence[Sentence], path: Path, *, labels: bool) -> None:
    """Write scores as the command line reads them."""
    with torch.inference_mode():
        found = [parser(parser.batch([sentence])) for sentence in sentences]
    has_ids = all(sentence.sent_id for sentence in sentences)  # or they are matched in order
    write_scores(
        path,
        [one.trees.log_weights[0].numpy() for one in found],
        sent_ids=[sentence.sent_id for sentence in sentences] if has_ids else None,
        label_scores=[one.label_log_prob()[0].numpy() for one in found] if labels else None,
        label_names=parser.relations if labels else None,
    )


def main(arguments: Sequence[str] | None = None) -> list[float]:
    """Read, train, compare, save."""
    command = argparse.ArgumentParser(description="Train a small dependency parser.")
    command.add_argument("corpus", type=Path, nargs="?", default=CORPUS, help="a CoNLL-U file")
    objectives = ("likelihood", "entropy", "risk", "partial")
    command.add_argument("--objective", choices=objectives, default=objectives[0])
    command.add_argument("--strength", type=float, default=0.1, help="of the entropy's reward")
    command.add_argument("--num-draws", type=int, default=0, help="distinct trees; 0: exact risk")
    command.add_argument("--warm-up", type=int, default=15, help="epochs of likelihood before risk")
    command.add_argument("--hidden", type=float, default=0.5, help="share of hidden heads: partial")
    command.add_argument("--held-out", type=float, default=0.2, help="share of the sentences")
    command.add_argument("--epochs", type=int, default=50)
    command.add_argument("--batch-size", type=int, default=16)
    command.add_argument("--learning-rate", type=float, default=5e-3)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--labels", action="store_true", help="learn relations, too")
    command.add_argument("--save", help="an .npz file for the scores of all sentences")
    options = command.parse_args(arguments)
    torch.manual_seed(options.seed)

    sentences = read_conllu(options.corpus)
    odd = [i for i, one in enumerate(sentences, 1) if not is_tree(one.heads, single_root=True)]
    if odd and options.objective != "partial":
        command.error(f"{len(odd)} sentences are no trees with one root: number {odd[0]} and so on")
    num_training = len(sentences) - int(len(sentences) * options.held_out)
    training, held_out = sentences[:num_training], sentences[num_training:]
    parser = Parser(
        Vocabulary(word for sentence in training for word in sentence.words),
        Vocabulary(tag for sentence in training for tag in sentence.tags),
        sorted({relation for sentence in training for relation in sentence.relations}),
    )
    print(f"{len(training)} sentences to train on, {len(held_out)} held out; {options.objective}")
    shown = hide_heads(training, options.hidden) if options.objective == "partial" else training
    losses = train(parser, shown, options)
    for name, part in (("training", training), ("held out", held_out)):
        if part:
            (best, best_las), (safe, safe_las) = attachment_scores(parser, part)
            print(f"{name}   UAS {best:6.1%} by best tree   {safe:6.1%} by minimum risk")
            if options.labels:
                print(
                    f"{name}   LAS {best_las:6.1%} by best tree   {safe_las:6.1%} by minimum risk"
                )
    if options.save:
        path = Path(options.save.removesuffix(".npz") + ".npz")
        save_scores(parser, sentences, path, labels=options.labels)
        print(f"scores in {path}; to look at them:")
        print(f"arborand show {path} --conllu {options.corpus} -o page.html")
    return losses


if __name__ == "__main__":
    main()

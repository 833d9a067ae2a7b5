"""A small treebank, made by a grammar: enough to train a parser on within half a minute.

Attachment is ambiguous on purpose: a prepositional phrase hangs from the verb or from a noun,
depending on the preposition, and some sentences have a multiword token or an empty node.
"""

from __future__ import annotations

import random
from pathlib import Path

DETERMINERS = ("the", "a", "this", "every")
ADJECTIVES = ("old", "small", "green", "quiet", "strange")
NOUNS = ("boat", "harbour", "brush", "painter", "bakery", "window", "garden", "letter")
VERBS = ("painted", "closed", "wrote", "opened", "sold", "found")
OF_NOUNS, OF_VERBS = ("of", "from"), ("with", "in")


class _Sentence:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.words: list[list[str]] = []  # form, upos, head, relation

    def add(self, form: str, upos: str) -> int:
        self.words.append([form, upos, "_", "_"])
        return len(self.words)

    def attach(self, word: int, head: int, relation: str) -> None:
        self.words[word - 1][2:] = [str(head), relation]

    def noun_phrase(self, depth: int = 0) -> int:
        choose = self.rng.choice
        before = [(self.add(choose(DETERMINERS), "DET"), "det")]
        if self.rng.random() < 0.4:
            before.append((self.add(choose(ADJECTIVES), "ADJ"), "amod"))
        noun = self.add(choose(NOUNS), "NOUN")
        for word, relation in before:
            self.attach(word, noun, relation)
        if depth < 2 and self.rng.random() < 0.35:
            case = self.add(choose(OF_NOUNS), "ADP")
            other = self.noun_phrase(depth + 1)
            self.attach(case, other, "case")
            self.attach(other, noun, "nmod")
        return noun

    def clause(self) -> None:
        subject = self.noun_phrase()
        verb = self.add(self.rng.choice(VERBS), "VERB")
        self.attach(verb, 0, "root")
        self.attach(subject, verb, "nsubj")
        if self.rng.random() < 0.8:
            self.attach(self.noun_phrase(), verb, "obj")
        while self.rng.random() < 0.4 and len(self.words) < 18:
            case = self.add(self.rng.choice(OF_VERBS), "ADP")
            place = self.noun_phrase(2)
            self.attach(case, place, "case")
            self.attach(place, verb, "obl")
        self.attach(self.add(".", "PUNCT"), verb, "punct")


def write_treebank(path: Path, num_sentences: int, *, seed: int, annotated: bool = True) -> Path:
    """Write sentences as CoNLL-U; without annotation, only the words and their tags."""
    rng = random.Random(seed)
    blocks = []
    for number in range(1, num_sentences + 1):
        sentence = _Sentence(rng)
        sentence.clause()
        lines = [f"# sent_id = toy-{seed}-{number}"]
        lines.append(f"# text = {' '.join(form for form, *_ in sentence.words)}")
        for i, (form, upos, head, relation) in enumerate(sentence.words, 1):
            if i == 1 and number % 7 == 0:
                lines.append("1-2\tboth\t_\t_\t_\t_\t_\t_\t_\t_")
            given = (head, relation) if annotated else ("_", "_")
            lines.append("\t".join((str(i), form, form, upos, upos, "_", *given, "_", "_")))
        blocks.append("\n".join(lines) + "\n\n")
    path.write_text("".join(blocks), encoding="utf-8")
    return path

"""The rules of Universal Dependencies for CoNLL-U files: format (level 1) and trees (level 2).

Written from the description of the format, and independent of what reads and writes it here.  Left
out are the rules about tags, names of relations and running text: those are the annotator's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# A word, a multiword token, an empty node.
_ID = re.compile(r"[1-9][0-9]*|[1-9][0-9]*-[1-9][0-9]*|[0-9]+\.[1-9][0-9]*")
_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_WITH_SPACES = ("FORM", "LEMMA", "MISC")


def violations(text: str, *, single_root: bool = True) -> list[str]:
    """List what is wrong in the text of a CoNLL-U file."""
    found = []
    if "\r" in text:
        found.append("a line does not end with a line feed alone")
    if not text.endswith("\n\n") or text.startswith("\n") or "\n\n\n" in text:
        found.append("one empty line must follow every sentence")
    known: set[str] = set()
    for number, block in enumerate(text.strip("\n").split("\n\n"), 1):
        found += [f"sentence {number}: {what}" for what in _in_block(block, known, single_root)]
    return found


def _in_block(block: str, known: set[str], single_root: bool) -> Iterator[str]:
    lines = block.split("\n")
    num_comments = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    ids = [line for line in lines[:num_comments] if re.match(r"# ?sent_id\b", line)]
    match = re.fullmatch(r"# sent_id = (\S+)", ids[0]) if len(ids) == 1 else None
    if match is None:
        yield f"it needs exactly one '# sent_id = x', but has {ids}"
    else:
        if match[1] in known:
            yield f"the sent_id {match[1]} is not unique"
        known.add(match[1])
    rows = [line.split("\t") for line in lines[num_comments:]]
    if not rows or any(len(row) != len(_COLUMNS) for row in rows):
        yield f"a line does not have ten columns, or there is no line: {rows}"
        return
    for row in rows:
        yield from _in_columns(row)
    if any(_ID.fullmatch(row[0]) is None for row in rows):
        return
    wrong = list(_in_ids([row[0] for row in rows]))
    yield from wrong
    if wrong:
        return
    yield from _in_tree([row for row in rows if row[0].isdigit()], single_root)
    yield from _in_graph([row for row in rows if "-" not in row[0]])


def _in_columns(row: list[str]) -> Iterator[str]:
    columns = dict(zip(_COLUMNS, row, strict=True))
    if _ID.fullmatch(row[0]) is None:
        yield f"{row[0]!r} is not an ID"
    for name, value in columns.items():
        if not value or value != value.strip() or re.search(r"\s\s", value):
            yield f"{name} {value!r} is empty, or has spaces at its ends or twice"
        if name not in _WITH_SPACES and re.search(r"\s", value):
            yield f"{name} {value!r} has a space"
    if not row[0].isdigit():
        names = ("HEAD", "DEPREL") if "." in row[0] else ("LEMMA", "UPOS", "HEAD", "DEPREL", "DEPS")
        for name in names:
            if columns[name] != "_":
                yield f"{name} of {row[0]} is {columns[name]!r}, and should be empty"


def _in_ids(ids: list[str]) -> Iterator[str]:
    words = [int(name) for name in ids if name.isdigit()]
    if words != list(range(1, len(words) + 1)):
        yield f"the words are numbered {words}"
    word = empty = covered = 0
    for name in ids:
        if name.isdigit():
            word, empty = int(name), 0
        elif "." in name:
            empty += 1
            if name != f"{word}.{empty}":
                yield f"the empty node {name} is not in its place"
        else:
            first, last = map(int, name.split("-"))
            if not (first == word + 1 and covered < first < last <= len(words)):
                yield f"the multiword token {name} is not in its place"
            covered, empty = last, 0


def _in_tree(words: list[list[str]], single_root: bool) -> Iterator[str]:
    heads: dict[int, int] = {}
    for row in words:
        word, head, relation = int(row[0]), row[6], row[7].split(":")[0]
        if not re.fullmatch("0|[1-9][0-9]*", head) or int(head) > len(words) or int(head) == word:
            yield f"the HEAD of word {word} is {head!r}"
            return
        heads[word] = int(head)
        if (head == "0") != (relation == "root"):
            yield f"word {word} has HEAD {head} and DEPREL {row[7]}"
    roots = [word for word, head in heads.items() if head == 0]
    if single_root and len(roots) != 1:
        yield f"{len(roots)} words are roots"
    for word in heads:
        node, steps = word, 0
        while node and steps <= len(words):
            node, steps = heads[node], steps + 1
        if node:
            yield f"word {word} does not lead to the root"
            return


def _in_graph(nodes: list[list[str]]) -> Iterator[str]:
    """Check the enhanced graph: all of it is there, or nothing."""
    if all(row[8] == "_" and "." not in row[0] for row in nodes):
        return
    names = {row[0] for row in nodes}
    arcs: list[tuple[str, str]] = []
    for row in nodes:
        deps = [dep.split(":", 1) for dep in row[8].split("|") if row[8] != "_"]
        if any(len(dep) != 2 or dep[0] not in names | {"0"} or dep[0] == row[0] for dep in deps):
            yield f"DEPS of {row[0]} is {row[8]!r}"
            return
        if deps != sorted(deps, key=lambda dep: (float(dep[0]), dep[1])):
            yield f"DEPS of {row[0]} is not sorted: {row[8]!r}"
        if any((dep[0] == "0") != (dep[1].split(":")[0] == "root") for dep in deps):
            yield f"DEPS of {row[0]} has a head 0 that is not a root, or the reverse: {row[8]!r}"
        arcs += [(dep[0], row[0]) for dep in deps]
    reached, before = {"0"}, 0
    while len(reached) > before:
        before = len(reached)
        reached |= {dependent for head, dependent in arcs if head in reached}
    if names - reached:
        yield f"the enhanced graph does not reach {sorted(names - reached)}"

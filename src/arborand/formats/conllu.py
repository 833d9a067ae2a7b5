"""CoNLL-U: the words and columns of sentences, found by ``sent_id``, and trees written back.

Columns are preserved exactly, except for white space at the ends of a line.  The output differs
from the input in HEAD and DEPREL, and in what these invalidate: the enhanced graph of the sentence
(DEPS and empty nodes).
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING

from arborand.errors import FormatError
from arborand.formats.inputs import CHARACTERS, open_input, parse_json

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from arborand.formats.inputs import InputFile

_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_HEAD, _DEPREL = _COLUMNS.index("HEAD"), _COLUMNS.index("DEPREL")
# How comments begin; the first one may follow a byte order mark.
_COMMENT = (b"#", b"\xef\xbb\xbf#")
# A word, a multiword token or an empty node.
_ID = re.compile(r"[0-9]+([-.][0-9]+)?")
# The exact sent_id as JSON, if a comment cannot contain it unchanged (it may have a line break).
_EXACT_ID = "arborand_sent_id"
# The sent_id of the sentence, if the block of a tree has its own, because a sent_id must be unique.
_SOURCE_ID = "source_sent_id"
# Comments that are written anew for each block, and those kept only in a sentence's first block.
_OWN = ("sent_id", _EXACT_ID, "sample", "rank", "log_prob", "arborand")
_ONCE = ("newdoc", "newpar")
# The ending of the sent_id of a tree, if it differs from that of its sentence.
_NUMBERED = re.compile(r"#[0-9]+\Z")


@dataclass(frozen=True, slots=True)
class Annotation:
    """One sentence of a CoNLL-U file.

    Attributes
    ----------
    sent_id : str or None
        None if the file has none.
    comments : list of str
        The comment lines.
    lines : list of list of str
        The ten columns of each line: words, multiword tokens and empty nodes.
    place : pair of int or None
        Where its lines begin and end in the file, in bytes, if it was looked up in one.
    """

    sent_id: str | None
    comments: list[str]
    lines: list[list[str]]
    place: tuple[int, int] | None = None

    @property
    def words(self) -> list[list[str]]:
        """The lines of the words, without multiword tokens and empty nodes."""
        return [line for line in self.lines if _is_number(line[0])]

    def column(self, name: str) -> list[str]:
        """Read a column of the words, such as ``UPOS``."""
        return [line[_COLUMNS.index(name)] for line in self.words]

    @property
    def tokens(self) -> list[str]:
        """The word forms."""
        return self.column("FORM")

    @property
    def heads(self) -> list[int]:
        """The HEAD column, which must be complete."""
        heads = self.given_heads
        if -1 in heads:
            raise _wrong_head(heads.index(-1) + 1, "_", len(heads))
        return heads

    @property
    def given_heads(self) -> list[int]:
        """The HEAD column, -1 for ``_``; any other head must be 0 or another word."""
        column = self.column("HEAD")
        heads = [_head(text) for text in column]
        for word, (head, text) in enumerate(zip(heads, column, strict=True), 1):
            if text != "_" and (not 0 <= head <= len(heads) or head == word):
                raise _wrong_head(word, text, len(heads))
        return heads

    def sentence_of(self, sent_id: str, number: int) -> str:
        """Return the sent_id of the sentence whose tree `number` this block is.

        It is the block's own sent_id, unless the block names another one as its source.
        """
        return _sentence_of(sent_id, number, self.comment(_SOURCE_ID))

    def comment(self, key: str) -> str | None:
        """Look up a comment ``# key = value``."""
        return _comment(self.comments, key)


@contextmanager
def open_annotations(
    source: str | os.PathLike[str] | InputFile, *, by_sent_id: bool
) -> Iterator[AnnotationFile]:
    """Open a CoNLL-U file in which to look up sentences.

    Parameters
    ----------
    source : path, or ``-`` for standard input
    by_sent_id : bool
        Find sentences by their ``sent_id``; otherwise by their place in the file.
    """
    with open_input(source) as file, file.path.open("rb") as handle:
        if file.kind not in ("conllu", "unknown"):
            raise FormatError(f"{file.name} is not a CoNLL-U file: it is {file.kind}")
        yield AnnotationFile(file, handle, by_sent_id=by_sent_id)


class AnnotationFile:
    """A CoNLL-U file in which sentences are looked up.

    It is read sequentially, and only as far as needed.  If its order is that of the scores, only
    the current sentence is in memory; otherwise, the places of skipped sentences are stored.
    """

    def __init__(self, file: InputFile, handle: IO[bytes], *, by_sent_id: bool) -> None:
        self.file = file
        self._handle = handle
        self._by_sent_id = by_sent_id
        self._skipped: dict[str | None, int] = {}
        self._offset = 0
        self._index = 0
        self._has_ids = False

    def find(self, sent_id: str, index: int, num_words: int) -> Annotation:
        """Find a sentence of `num_words` words by its id, or by place if scores have no ids."""
        block, start = self._block(sent_id, index)
        place = (start, start + sum(map(len, block)))
        annotation = replace(parse_block(block, self.file.name), place=place)
        found = len(annotation.words)
        if found != num_words:
            words = f"{found} word{'s' if found != 1 else ''}"
            raise FormatError(
                f"it has {words} in {self.file.name}, but its scores are for {num_words}"
            )
        return annotation

    def _block(self, sent_id: str, index: int) -> tuple[list[bytes], int]:
        """Find the lines of a sentence, and where they begin."""
        if sent_id in self._skipped:
            start = self._handle.seek(self._skipped.pop(sent_id))
            block, before = _next_block(self._handle)
            return block, start + before
        self._handle.seek(self._offset)
        while True:
            block, before = _next_block(self._handle)
            if not block:
                break
            start = self._offset + before
            self._offset = self._handle.tell()
            self._index += 1
            if self._by_sent_id:
                comments = [line for line in block if line.startswith(_COMMENT)]
                found = _sent_id([line.decode("utf-8-sig", "replace") for line in comments])
                self._has_ids = self._has_ids or found is not None
                if found == sent_id:
                    return block, start
                self._skipped.setdefault(found, start)
            elif self._index > index:
                return block, start
        if not self._by_sent_id:
            reason = f"only {self._index} sentence{'s' if self._index != 1 else ''}"
        elif self._index and not self._has_ids:
            reason = "no sent_ids, but the scores do: add them, or save scores without ids"
        else:
            reason = "no sentence with this sent_id (each of its sentences is used once)"
        raise FormatError(f"{self.file.name} has {reason}")


def read_annotations(handle: IO[bytes], name: str) -> Iterator[Annotation]:
    """Read all sentences of a CoNLL-U file, one after another."""
    while block := _next_block(handle)[0]:
        yield parse_block(block, name)


def _next_block(handle: IO[bytes]) -> tuple[list[bytes], int]:
    """Read the lines of the next block that has words, and how many bytes come before them.

    At the end of the file, there are no lines.
    """
    lines: list[bytes] = []
    has_words = False
    before = 0
    for line in iter(handle.readline, b""):
        if line.strip():
            lines.append(line)
            has_words = has_words or not line.startswith(_COMMENT)
        elif has_words:
            return lines, before
        else:  # comments that belong to no sentence
            before += sum(map(len, lines)) + len(line)
            lines = []
    return (lines if has_words else []), before


def _comment(lines: list[str], key: str) -> str | None:
    for line in lines:
        name, equals, value = line[1:].partition("=")
        if equals and name.strip() == key:
            return value.strip()
    return None


def _sent_id(comments: list[str]) -> str | None:
    """Look up a block's sent_id: the exact one, if a comment could not contain it.

    The block of a sentence's first tree is found by the id of the sentence, whatever its own id.
    """
    answer = _comment(comments, "sent_id")
    with suppress(ValueError):
        exact = parse_json(_comment(comments, _EXACT_ID) or "null")
        answer = exact if isinstance(exact, str) else answer
    return None if answer is None else _sentence_of(answer, 1, _comment(comments, _SOURCE_ID))


def _sentence_of(sent_id: str, number: int, source: str | None) -> str:
    """Undo `tree_id`, if the comment about the source says that it was applied."""
    sentence = sent_id.removesuffix(f"#{number}")
    if source is None or _on_one_line(sentence).strip() != source:
        return sent_id  # not ours: other programs use this comment, too
    return sentence if tree_id(sentence, number) == sent_id else sent_id


def parse_block(block: list[bytes], name: str) -> Annotation:
    """Read the lines of one sentence."""
    first = block[0].decode("utf-8", "replace").strip()
    where = f"{name}: the block that begins with {first!r:.60}"
    try:
        lines = [line.decode("utf-8-sig").rstrip("\r\n") for line in block]
    except UnicodeDecodeError as error:
        raise FormatError(f"{where} is not in UTF-8 ({error}): convert the file") from error
    columns = [line.strip(" \t").split("\t") for line in lines if not line.startswith("#")]
    for row in columns:
        found = None
        if not 2 <= len(row) <= len(_COLUMNS):
            found = f"has {len(row)} column{'s' if len(row) > 1 else ''}"
        elif not _ID.fullmatch(row[0]):
            found = f"has {row[0]!r:.30} in its first column"
        if found is not None:
            line = "\t".join(row)
            raise FormatError(
                f"{where} is not CoNLL-U: the line {line!r:.60} {found}: expected a number and up "
                f"to {len(_COLUMNS) - 1} other columns, separated by tabs"
            )
    comments = [line.rstrip() for line in lines if line.startswith("#")]
    answer = Annotation(
        _sent_id(comments),
        comments,
        [row + ["_"] * (len(_COLUMNS) - len(row)) for row in columns],
    )
    ids = [line[0] for line in answer.words]
    if ids != [str(i + 1) for i in range(len(ids))]:
        raise FormatError(
            f"{name}: the words of sentence {answer.sent_id!r} are numbered {', '.join(ids[:8])}: "
            "expected 1, 2, 3, ..."
        )
    longest = max([len(answer.sent_id or ""), *map(len, answer.tokens)])
    if longest > CHARACTERS.most:
        raise FormatError(f"{where} has a string {CHARACTERS.exceeded_by(longest)}")
    return answer


def _wrong_head(word: int, head: str, num_words: int) -> FormatError:
    return FormatError(
        f"word {word} has the HEAD {head!r:.60}: expected 0 for the root, or another word from 1 "
        f"to {num_words}"
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def tree_id(sent_id: str, number: int) -> str:
    """Make a name for tree `number` of a sentence that no other tree has.

    The first tree has the name of its sentence, so that it can be looked up, unless this looks like
    the name of a later tree.

    Examples
    --------
    >>> [tree_id("en-1", 1), tree_id("en-1", 2), tree_id("en-1#2", 1)]
    ['en-1', 'en-1#2', 'en-1#2#1']
    """
    return sent_id if number == 1 and not _NUMBERED.search(sent_id) else f"{sent_id}#{number}"


class BlockTemplate:
    """The CoNLL-U block of one sentence, to be filled with trees."""

    def __init__(
        self,
        sent_id: str,
        num_words: int,
        tokens: list[str] | None,
        annotation: Annotation | None,
        numbering: str,
        *,
        keeps_relations: bool,
    ) -> None:
        if annotation is None:
            # CoNLL-U allows no leading, trailing or repeated white space in a column.
            forms = [" ".join(token.split()) or "_" for token in tokens or ["_"] * num_words]
            lines = [[str(i), form, *"________"] for i, form in enumerate(forms, 1)]
            text = [] if tokens is None else [f"# text = {' '.join(forms)}"]
            annotation = Annotation(sent_id, text, lines)
        self._sent_id = sent_id
        self._numbering = numbering
        self._once: list[str] = []
        self._source: list[str] = []
        self._comments: list[str] = []
        self._sort_comments(annotation)
        heads = [_head(text) for text in annotation.column("HEAD")]
        self._kept = tuple(map(_cell, heads, annotation.column("DEPREL")))
        self._heads = heads if keeps_relations else [-1] * num_words
        self._new = ["0\troot", *(f"{head}\t_" for head in range(1, num_words + 1))]
        self._body_with_graph = _body(annotation.lines, with_graph=True)
        self._body = _body(annotation.lines, with_graph=False)

    def _sort_comments(self, annotation: Annotation) -> None:
        for comment in map(_on_one_line, annotation.comments):
            key = comment[1:].split("=")[0].split()[:1]
            if key and key[0] in _ONCE:
                self._once.append(comment)
            elif key == [_SOURCE_ID]:
                if annotation.comment(_SOURCE_ID) != _on_one_line(self._sent_id).strip():
                    self._source.append(comment)
            elif not key or key[0] not in _OWN:
                self._comments.append(comment)

    def fill(
        self, number: int, log_prob: str, heads: list[int], relations: list[str] | None
    ) -> str:
        """Write one tree: `number` counts from 1."""
        sent_id = tree_id(self._sent_id, number)
        comments = [f"# sent_id = {_on_one_line(sent_id)}"]
        if _sent_id(comments) != sent_id:
            comments.append(f"# {_EXACT_ID} = {json.dumps(sent_id)}")
        if sent_id == self._sent_id:
            comments += self._source
        else:
            comments.append(f"# {_SOURCE_ID} = {_on_one_line(self._sent_id)}")
        comments += [f"# {self._numbering} = {number}", f"# log_prob = {log_prob}"]
        once = self._once if number == 1 else []
        if relations is not None:
            cells = tuple(map(_cell, heads, relations))
        else:
            cells = tuple(
                kept if head == before else self._new[head]
                for head, before, kept in zip(heads, self._heads, self._kept, strict=True)
            )
        body = self._body_with_graph if cells == self._kept else self._body
        return "\n".join([*once, *comments, *self._comments, body % cells]) + "\n\n"


def _head(column: str) -> int:
    """Read a HEAD, which may be any text: -1 if it is not a number."""
    return int(column) if _is_number(column) and len(column) <= 9 else -1


def _cell(head: int, relation: str) -> str:
    """Write HEAD and DEPREL, such that the relation is root if and only if the head is the root."""
    if (relation.partition(":")[0] == "root") != (head == 0):
        relation = "root" if head == 0 else "_"
    return f"{head}\t{_column(relation)}"


def _body(lines: list[list[str]], *, with_graph: bool) -> str:
    """Write the lines of a sentence, each with a placeholder for HEAD and DEPREL of its word.

    Empty nodes are dropped with the enhanced graph, of which they are a part.
    """
    body = []
    for line in lines:
        columns = [_column(column).replace("%", "%%") for column in line]
        if _is_number(line[0]):
            columns[_HEAD : _DEPREL + 1] = ["%s"]
            columns[-2] = columns[-2] if with_graph else "_"
        elif "." in line[0] and not with_graph:
            continue
        body.append("\t".join(columns))
    return "\n".join(body)


def _column(text: str) -> str:
    return _on_one_line(text) or "_"


def _on_one_line(text: str) -> str:
    """Replace the characters that would end a line or a column."""
    for character in "\t\n\r":
        text = text.replace(character, " ")
    return text

"""Runs commands over a corpus, with output to a folder of parts, a file or a writer."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arborand import __version__
from arborand.arguments import check_choice, check_count, check_workers
from arborand.corpus.computations import OPTIONS, make_work
from arborand.corpus.engines import (
    ENGINES,
    Engine,
    Progress,
    rank_and_world,
    run_here,
    run_in_processes,
    run_on_ray,
)
from arborand.corpus.job import (
    SKIP_HINT,
    Done,
    Failed,
    Job,
    begin,
    check_owner,
    described,
    finish,
    job_digest,
    recorded_seed,
)
from arborand.corpus.selection import Selection, parse_condition
from arborand.corpus.shards import listing_digest, make_parts, open_inputs, shard_sha256
from arborand.corpus.storage import (
    check_output,
    is_remote,
    is_stream,
    open_folder,
    open_output,
)
from arborand.corpus.stream import Tally, open_corpus, write_rows
from arborand.errors import ArborandError, SentenceError
from arborand.formats.outputs import open_writer, output_format

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arborand.corpus.computations import Work
    from arborand.corpus.job import Status
    from arborand.corpus.shards import Inputs, Part
    from arborand.formats.records import Layout, Writer

# A single file is divided into parts of this many sentences.
PART_SENTENCES = 10_000


@dataclass(frozen=True)
class Execution:
    """How a job is divided into parts, and which engine makes them; see :func:`run`."""

    restart: bool = False
    part_sentences: int = PART_SENTENCES
    workers: int = 1
    engine: Engine = "local"
    rank: int | None = None
    world: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        for name, engine in (("rank", "array"), ("world", "array"), ("address", "ray")):
            if getattr(self, name) is not None and self.engine != engine:
                raise ValueError(f"{name} needs engine {engine}, not {self.engine}")
        if self.restart and self.engine == "array":
            raise ValueError(
                "restart cannot be combined with engine array: each process would discard what the "
                "others have made. Remove the output folder, then start the array"
            )


class StoppedError(ArborandError):
    """A job that ended early: the reason, and what to do about it."""


def run(
    command: str,
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 (the name of the option)
    conllu: str | None = None,
    filter: Sequence[str] = (),  # noqa: A002
    on_error: str = "stop",
    engine: Engine = "local",
    workers: int = 1,
    rank: int | None = None,
    world: int | None = None,
    address: str | None = None,
    part_sentences: int = PART_SENTENCES,
    restart: bool = False,
    tell: Callable[[Progress | Done | Failed], object] = lambda event: None,
    **options: Any,
) -> Status:
    """Run a command over a corpus; the output is a folder with one part for each input file.

    Calling it again with the same arguments resumes the job: finished parts are not made again.
    The output depends neither on the engine nor on the number of workers.

    Parameters
    ----------
    command : str
        ``sample``, ``best``, ``marginals``, ``logz``, ``entropy``, ``convert`` or ``check``, which
        writes a row for each sentence that cannot be used.
    inputs : path, or sequence of paths
        Files, folders and patterns, on this machine or at a URL such as ``s3://bucket/scores/``.
    output : path
        A folder.
    format : str, optional
        The format of the parts; ``parquet`` by default.
    conllu : str, optional
        A file with the words and other columns of the sentences.
    filter : sequence of str
        Use only sentences that meet all these conditions, such as ``"length <= 40"``.
    on_error : {"stop", "skip"}
        What to do with a sentence that cannot be used.
    engine : {"local", "array", "ray"}
    workers : int
        The number of processes on this machine.
    rank, world : int, optional
        With ``array``: the rank of this process, and the number of processes.  By default, they are
        taken from SLURM, OpenMPI or PMI.
    address : str, optional
        With ``ray``: the address of a cluster.
    part_sentences : int
        A single file with more sentences than this is divided into parts of this size.
    restart : bool
        Discard what an earlier job wrote to the folder.  Not with ``array``.
    tell : function
        Called with each event: progress on a part, a finished part, or a failed one.
    **options
        The options of the command: `trees`, `projective`, `weights`, `orientation`, `keep_heads`,
        `num_trees`, `seed`, `method`, `without_replacement`, `minimum_risk`, `decisions`,
        `relations`.  An option that the command does not have is refused.

    Returns
    -------
    Status
        The status of the job.

    Raises
    ------
    StoppedError
        If a part cannot be made; the others are kept.
    OutputError
        If the folder belongs to another job, or is taken over by one.
    FormatError
        If the input cannot be read.

    Examples
    --------
    >>> import tempfile, numpy
    >>> from arborand import corpus
    >>> folder = tempfile.mkdtemp()
    >>> numpy.save(f"{folder}/scores.npy", numpy.zeros((3, 5, 5)))
    >>> status = corpus.run("sample", f"{folder}/scores.npy", f"{folder}/trees", seed=1)
    >>> status.num_sentences, status.num_rows
    (3, 3)
    """
    listed = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
    names = [os.fspath(name) for name in listed]
    if not names:
        raise ValueError("inputs is empty: name at least one file, folder or pattern")
    check_choice(on_error, "on_error", ("stop", "skip"))
    check_workers(workers)
    check_count(part_sentences, "part_sentences", 1)
    unknown = options.keys() - OPTIONS.get(command, options.keys())
    if unknown:
        raise TypeError(f"{command} has no option {', '.join(map(repr, sorted(unknown)))}")
    if options.get("keep_heads") and conllu is None:
        raise ValueError("keep_heads: there are no heads to keep; name their file with conllu")
    if options.get("relations") and conllu is None:
        raise ValueError("relations: there are no relations to keep; name their file with conllu")
    work = make_work(command, **options)
    if filter:
        selection = Selection(conditions=tuple(map(parse_condition, filter)))
        if selection.needs_gold and conllu is None:
            raise ValueError("filter: disagreement needs gold heads; name their file with conllu")
        work = work.selecting(selection)
    execution = Execution(restart, part_sentences, workers, engine, rank, world, address)
    where = os.fspath(output)
    check_output(where, names)
    with open_inputs(names, conllu, where, trees=command == "convert") as found:
        skip = on_error == "skip"
        return run_job(work, found, where, execution, format_=format, skip=skip, tell=tell)


def run_job(
    work: Work,
    inputs: Inputs,
    output: str,
    execution: Execution,
    *,
    format_: str | None = None,
    skip: bool = False,
    tell: Callable[[Progress | Done | Failed], object] = lambda event: None,
    began: Callable[[Status], object] = lambda status: None,
    advance: Callable[[int], object] = lambda count: None,
) -> Status:
    """Run a job that writes to a folder; see :func:`run`.

    `began` is called with the status at the start, `advance` with the number of sentences so far.
    """
    engine = execution.engine
    if engine not in ENGINES:
        raise ArborandError(f"there is no engine {engine!r}: use {', '.join(ENGINES)}")
    work = work.for_inputs(inputs.layout)
    chosen = output_format(output, format_ or "parquet", work.layout or inputs.layout)
    parts = make_parts(inputs.shards, chosen, execution.part_sentences)
    is_divided = len(parts) > len(inputs.shards)
    mine: Sequence[Part] = parts
    if engine == "array":
        place, count = rank_and_world(execution.rank, execution.world)
        # Divide the whole list, not what is left of it: other processes may see fewer parts done.
        mine = parts[place::count]
    if work.command == "sample" and work.seed is None:
        seed = None if execution.restart else recorded_seed(output)
        if seed is None and engine == "array":
            raise ArborandError("the processes of an array must share one seed: give --seed")
        work = work.with_seed(secrets.randbits(63) if seed is None else seed)
    identity = _identity(work, inputs, chosen)
    if is_divided:
        identity["part-sentences"] = execution.part_sentences
    status = begin(output, identity, parts, restart=execution.restart)
    left = [part for part in mine if part.name not in status.done]
    if left and is_divided:
        # A divided file is read once for its digest, not once per part.
        sha256 = shard_sha256(inputs.shards[0])
        left = [replace(p, shard=replace(p.shard, sha256=sha256)) for p in left]
    began(status)
    passed: dict[str, int] = {}
    total = status.num_sentences_done
    advance(total)
    failures: list[Failed] = []

    def listen(event: Progress | Done | Failed) -> None:
        nonlocal total
        if isinstance(event, Failed):
            failures.append(event)
        if isinstance(event, Done):
            status.done[event.part] = event.marker
        total += event.num_sentences - passed.get(event.part, 0)
        passed[event.part] = event.num_sentences
        advance(total)
        tell(event)

    if left:
        num_processes = min(execution.workers, len(left))
        job = Job(
            work.with_threads(execution.workers // num_processes),
            chosen,
            output,
            inputs.conllu,
            skip,
            job_digest(identity),
        )
        if engine == "ray":
            run_on_ray(job, left, listen, execution.address)
        elif num_processes == 1:
            run_here(job, left, listen)
        else:
            run_in_processes(job, left, listen, num_processes)
    if failures:
        with suppress(OSError):  # if the job was discarded, this raises: nothing was kept
            check_owner(open_folder(output), job_digest(identity))
        hints = ["finished parts are kept: rerun the same command to resume"]
        hints = [failures[0].hint, *hints] if failures[0].hint else hints
        raise StoppedError(f"{failures[0].reason}\n({'; '.join(hints)})")
    return finish(status, alone=engine != "array")


def _identity(work: Work, inputs: Inputs, chosen: str) -> dict[str, Any]:
    """List what must be the same to resume a job; folders, workers and engine may differ."""
    identity: dict[str, Any] = {
        "version": __version__,
        "command": work.command,
        **{name: value for name, value in work.options.items() if value not in (None, False)},
        "format": chosen,
        "inputs": {
            "files": len(inputs.shards),
            "sentences": inputs.num_sentences,
            "sha256": listing_digest(inputs.shards),
        },
    }
    if work.method is not None:
        identity["method"] = work.method
    if inputs.conllu is not None:
        identity["conllu"] = inputs.conllu.sha256
    return identity


def run_to_writer(
    work: Work,
    inputs: Inputs,
    begin_writing: Callable[[Layout, dict[str, Any]], Writer],
    *,
    skip: bool = False,
    workers: int = 1,
    advance: Callable[[int], object] = lambda count: None,
) -> Tally:
    """Run a command over a corpus, in order, with one writer; return what was processed.

    Raises
    ------
    StoppedError
        If a sentence, a file or the disk caused an error.
    """
    if work.command == "sample" and work.seed is None:
        work = work.with_seed(secrets.randbits(63))
    work = work.for_inputs(inputs.layout).with_threads(workers)
    tally = Tally()
    try:
        with open_corpus(inputs.parts, inputs.conllu) as corpus:
            write_rows(work, corpus, begin_writing, tally, skip=skip, advance=advance)
            skipped = tally.skipped
            if skipped and len(skipped) == tally.num_sentences and work.command != "check":
                others = "other sentence" if work.selection is None else "other selected sentence"
                reason = f"{skipped[0].reason} (and no {others} can be used)"
                raise SentenceError(skipped[0].sent_id, skipped[0].number - 1, reason)
    except (ArborandError, OSError, MemoryError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        message = described(error)
        if isinstance(error, SentenceError):
            message += "" if skip else f"\n({SKIP_HINT})"
        elif tally.last:
            message = f"{message} ({tally.last})"
        raise StoppedError(message) from error
    return tally


def run_to_file(work: Work, inputs: Inputs, output: str, chosen: str, **others: Any) -> Tally:
    """Run a command over a corpus; the output is a pipe, or a file that appears when complete.

    Parameters
    ----------
    work, inputs
    output : str
        ``-`` is standard output.
    chosen : str
        The format.
    **others
        See :func:`run_to_writer`.
    """
    is_local_file = not is_stream(output) and not is_remote(output)
    spool = Path(output).parent if is_local_file else None
    with open_output(output) as target:

        def begin_writing(layout: Layout, record: dict[str, Any]) -> Writer:
            return open_writer(target, chosen, layout, record, spool=spool)

        return run_to_writer(work, inputs, begin_writing, **others)

"""Jobs over shards: the trees of one file, the same bytes however made, and who goes on."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pandas
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest

from arborand import corpus
from arborand.corpus import execution, storage
from arborand.corpus.engines import rank_and_world
from arborand.corpus.storage import atomic_write
from arborand.errors import ArborandError, BiasedSamplerWarning
from arborand.formats import FormatError, OutputError, read_trees
from tests import faults
from tests.command_line import Corpus, call, conllu_of, random_corpus, without_times

KINDS = ("npz", "parquet", "safetensors", "npy")


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return partial(call, monkeypatch, capsysbinary)


@pytest.fixture
def whole(tmp_path):
    """Make a corpus in one file, and the same in seven shards, of a few sentences each."""
    corpus = random_corpus(40, seed=1, longest=8)
    corpus.save(tmp_path / "whole.npz")
    (tmp_path / "words.conllu").write_text(conllu_of(corpus))
    (tmp_path / "shards" / "more").mkdir(parents=True)
    for number, (start, stop) in enumerate(bounds()):
        part = Corpus(corpus.sent_ids[start:stop], corpus.matrices[start:stop])
        folder = "shards/more" if number > 4 else "shards"
        part.save(tmp_path / folder / f"part-{number}.npz")
    # In the order of their names, "more/" comes first.
    order = [*range(30, 40), *range(30)]
    return Corpus([corpus.sent_ids[i] for i in order], [corpus.matrices[i] for i in order])


def bounds() -> list[tuple[int, int]]:
    cuts = [0, 1, 8, 8, 20, 30, 33, 40]
    return list(itertools.pairwise(cuts))


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def lines_of(path):
    return path.read_text().splitlines()[1:]


# ---- the same trees, the same bytes

COMMANDS = [
    ("sample", "-k", 3, "--seed", 1),
    ("sample", "-k", 3, "--seed", 1, "--without-replacement"),
    ("best", "-k", 2),
    ("marginals",),
    ("logz",),
    ("entropy",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(map(str, words)))
def test_shards_give_what_one_file_gives(command, arborand, whole, tmp_path):
    name, *options = command
    whole.save(tmp_path / "ordered.npz")
    assert (
        arborand(name, tmp_path / "ordered.npz", *options, "-o", tmp_path / "a.jsonl").status == 0
    )
    expected = lines_of(tmp_path / "a.jsonl")
    shards, out = tmp_path / "shards", tmp_path / "out"
    result = arborand(name, shards, *options, "--format", "jsonl", "-o", f"{out}/")
    assert (result.status, result.err) == (0, "")
    assert result.out.decode() == f"written: {out}/ (7 parts)\n"
    parts = sorted(path.relative_to(out).as_posix() for path in out.rglob("*.jsonl"))
    assert [line for part in parts for line in lines_of(out / part)] == expected
    # Many files into one, and one file into parts.
    assert arborand(name, shards, *options, "-o", tmp_path / "b.jsonl").status == 0
    assert lines_of(tmp_path / "b.jsonl") == expected
    options += ["--part-sentences", 7, "--format", "jsonl"]
    assert arborand(name, tmp_path / "ordered.npz", *options, "-o", f"{tmp_path}/cut/").status == 0
    cut = sorted((tmp_path / "cut").glob("*.jsonl"))
    assert [path.name for path in cut] == [f"ordered-{i:05}.jsonl" for i in range(6)]
    assert [line for path in cut for line in lines_of(path)] == expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "jsonl", "conllu", "npz"])
def test_bytes_do_not_depend_on_engines_or_workers(kind, arborand, whole, tmp_path):
    words = ("--conllu", tmp_path / "words.conllu") if kind == "conllu" else ()
    options = ("-k", 2, "--seed", 1, "--format", kind, *words)
    found = []
    for name, more in [
        ("one", ()),
        ("two", ("--workers", 2)),
        ("many", ("--workers", 3)),
        ("array", ("--engine", "array", "--rank", 0, "--world", 1)),
    ]:
        out = tmp_path / name
        result = arborand("sample", tmp_path / "shards", *options, *more, "-o", f"{out}/")
        assert (result.status, result.err) == (0, "")
        found.append(content(out))
    assert found[0] == found[1] == found[2] == found[3]
    assert len(found[0]) == 7 + 7 + 2


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_have_their_numbers_in_every_format(kind, arborand, tmp_path):
    stack = np.random.default_rng(0).normal(size=(9, 4, 4))
    np.save(tmp_path / "whole.npy", stack)
    (tmp_path / "shards").mkdir()
    for i in range(3):
        part, name = stack[3 * i : 3 * i + 3], tmp_path / "shards" / f"{i}.{kind}"
        if kind == "npy":
            np.save(name, part)
        elif kind == "npz":
            np.savez(name, log_weights=part, lengths=[3, 3, 3])
        elif kind == "parquet":
            table = pyarrow.table({"log_weights": list(part.reshape(3, 16))})
            pyarrow.parquet.write_table(table, name)
        else:
            from safetensors.numpy import save_file

            save_file({"log_weights": part.copy()}, name)
    for source, out in (("whole.npy", "a"), ("shards", "b")):
        options = ("--seed", 3, "-k", 4, "--format", "jsonl", "-o", f"{tmp_path / out}/")
        assert arborand("sample", tmp_path / source, *options).status == 0
    [one] = (tmp_path / "a").glob("*.jsonl")
    many = sorted((tmp_path / "b").glob("*.jsonl"))
    assert lines_of(one) == [line for path in many for line in lines_of(path)]
    assert [json.loads(line)["sent_id"] for line in lines_of(one)[::4]] == list("123456789")


def test_words_without_ids_are_found_by_the_place_in_the_corpus(arborand, tmp_path):
    corpus = random_corpus(9, seed=3)
    (tmp_path / "shards").mkdir()
    (tmp_path / "words.conllu").write_text(conllu_of(corpus))
    for i in range(3):
        part = Corpus([], corpus.matrices[3 * i : 3 * i + 3])
        np.savez(tmp_path / "shards" / f"{i}.npz", lengths=part.lengths, scores=part.flat)
    options = ("--conllu", tmp_path / "words.conllu", "--format", "conllu")
    result = arborand("best", tmp_path / "shards", *options, "-o", f"{tmp_path}/out/")
    assert (result.status, result.err) == (0, "")
    ids = [t.sent_id for i in range(3) for t in read_trees(tmp_path / "out" / f"{i}.conllu")]
    assert ids == corpus.sent_ids


def test_scores_and_trees_are_converted_in_parts(arborand, whole, tmp_path):
    shards = tmp_path / "shards"
    assert arborand("convert", shards, f"{tmp_path}/p/", "--workers", 2).status == 0
    again = ("sample", "-k", 2, "--seed", 5)
    for source, out in ((shards, "a"), (tmp_path / "p", "b")):
        assert arborand(again[0], source, *again[1:], "-o", f"{tmp_path / out}/").status == 0
    assert arborand("convert", f"{tmp_path}/a/", f"{tmp_path}/c/", "--format", "jsonl").status == 0
    assert arborand("convert", f"{tmp_path}/b/", tmp_path / "c.jsonl").status == 0
    parts = sorted((tmp_path / "c").rglob("*.jsonl"), key=lambda path: str(path))
    assert [line for path in parts for line in lines_of(path)] == lines_of(tmp_path / "c.jsonl")
    assert len(lines_of(tmp_path / "c.jsonl")) == 80
    # Trees do not say which sentences of the corpus they are of.
    for folder, is_known in (("p", True), ("c", False)):
        paths = (tmp_path / folder / "_arborand").rglob("*.done")
        markers = [json.loads(path.read_text()) for path in paths]
        found = ["first_sentence" in marker for marker in markers if marker["sentences"]]
        assert found
        assert set(found) == {is_known}


@pytest.mark.parametrize("source", ["npz", "parquet", "safetensors", "npy"])
def test_scores_of_two_types_become_parts_of_the_wider_type(source, arborand, tmp_path):
    (tmp_path / "shards").mkdir()
    matrix = np.full((1, 3, 3), 0.1)
    for name, dtype in (("a", np.float32), ("b", np.float64), ("c", np.float16)):
        np.save(tmp_path / "stack.npy", matrix.astype(dtype))
        target = tmp_path / "shards" / f"{name}.{source}"
        if source == "npy":
            shutil.copy(tmp_path / "stack.npy", target)
        elif source == "npz" and name == "a":
            np.savez(target, log_weights=matrix.astype(dtype))
        else:
            assert arborand("convert", tmp_path / "stack.npy", target).status == 0
    for kind in ("parquet", "npz"):
        result = arborand("convert", tmp_path / "shards", f"{tmp_path}/{kind}/", "--format", kind)
        assert (result.status, result.err) == (0, "")
    for name in "abc":
        assert np.load(tmp_path / "npz" / f"{name}.npz")["scores"].dtype == np.float64
    table = pyarrow.dataset.dataset(tmp_path / "parquet").to_table()
    assert table["log_weights"].to_pylist()[1] == [0.1] * 9
    # Alone, the narrow ones stay narrow.
    narrow = [tmp_path / "shards" / f"{name}.{source}" for name in "ac"]
    assert arborand("convert", *narrow, tmp_path / "narrow.npz").status == 0
    assert np.load(tmp_path / "narrow.npz")["scores"].dtype == np.float32


@pytest.mark.parametrize("kind", ["parquet", "npz", "jsonl", "conllu"])
def test_a_file_of_trees_becomes_one_part_however_many_trees_it_holds(
    kind, arborand, whole, tmp_path
):
    shards, trees = tmp_path / "shards", tmp_path / f"trees.{kind}"
    arborand("sample", shards, "-k", 3, "--seed", 1, "-o", trees)
    result = arborand("convert", trees, f"{tmp_path}/out/", "--part-sentences", 10)
    assert (result.status, result.err) == (0, "")
    assert [t.sent_id for t in read_trees(tmp_path / "out" / "trees.parquet")] == whole.sent_ids
    status = corpus.read_status(f"{tmp_path}/out")
    assert (status.num_parts, status.num_sentences_done, status.num_rows) == (1, 40, 120)
    assert " sentences  40 of 40 " in arborand("status", tmp_path / "out").out.decode()


def test_check_looks_at_all_shards(arborand, whole, tmp_path):
    shards = tmp_path / "shards"
    result = arborand("check", shards)
    assert result.status == 0
    assert "files               7, the first of them" in result.out.decode()
    assert "sentences           40" in result.out.decode()
    shutil.copy(shards / "part-4.npz", shards / "part-9.npz")
    result = arborand("check", shards)
    assert result.status == 1
    assert "10 sent_ids are shared by several sentences:" in result.out.decode()
    assert "  s-20: sentences number 31, 41\n" in result.out.decode()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv", "tsv"])
def test_check_writes_what_is_wrong_and_continues(kind, arborand, whole, tmp_path):
    shards, out = tmp_path / "shards", tmp_path / "report"
    command = ("check", shards, "--format", kind, "-o", f"{out}/")
    assert arborand(*command).status == 0
    shutil.rmtree(out)
    broken(tmp_path)
    result = arborand(*command, "--workers", 2)
    assert (result.status, result.err) == (1, "")
    assert "1 of 49 sentences cannot be used:\n  s-4: log_weights[0, 1]" in result.out.decode()
    # After a kill: the same bytes, and no part is made twice.
    before = content(out)
    (out / f"part-7.{kind}").unlink()
    result = arborand(*command)
    assert (result.status, result.err) == (1, "arborand: 7 of 8 parts already exist\n")
    assert content(out) == before
    status = arborand("status", out).out.decode()
    assert "\n1 sentence cannot be used:\n  s-4 (number 45): log_weights[0, 1] is nan" in status
    if kind == "parquet":
        [row] = pyarrow.dataset.dataset(out).to_table().to_pylist()
        assert (row["sent_id"], list(row)) == ("s-4", ["sent_id", "length", "reason"])
        reason = row["reason"]
    else:
        reason = lines_of(out / f"part-7.{kind}")[0]
        assert "s-4" in reason
    assert "log_weights[0, 1] is nan, on the arc 0 -> 1" in reason
    # In Python, and into one file.
    again = corpus.run("check", shards, tmp_path / "again", format=kind)
    assert [sent_id for sent_id, _, _ in again.skipped] == ["s-4"]
    assert content(tmp_path / "again") == before
    assert arborand("check", shards, "-o", tmp_path / f"one.{kind}").status == 1


def test_check_reports_a_folder_in_which_nothing_is_right(arborand, tmp_path):
    np.save(tmp_path / "nan.npy", np.full((2, 3, 3), np.nan))
    for output in ("report/", "report.jsonl"):
        result = arborand("check", tmp_path / "nan.npy", "-o", f"{tmp_path}/{output}")
        assert result.status == 1
        assert "2 of 2 sentences cannot be used" in result.out.decode()
    assert len(lines_of(tmp_path / "report.jsonl")) == 2


# ---- readers


def test_ordinary_readers_take_the_folder_as_it_is(arborand, whole, tmp_path):
    out = tmp_path / "out"
    arborand("sample", tmp_path / "shards", "-k", 3, "--seed", 1, "-o", f"{out}/")
    table = pyarrow.dataset.dataset(out, format="parquet").to_table()
    frame = pandas.read_parquet(out)
    assert len(table) == len(frame) == 120
    assert table["sent_id"].to_pylist()[::3] == frame["sent_id"].tolist()[::3] == whole.sent_ids
    for ours, theirs in zip(table["heads"].to_pylist(), frame["heads"], strict=True):
        assert ours == theirs.tolist()


# ---- going on, and refusing to


def test_the_same_command_again_makes_only_what_is_missing(whole, tmp_path):
    out, made = tmp_path / "out", []
    again = partial(
        corpus.run, "sample", tmp_path / "shards", out, num_trees=2, seed=1, tell=made.append
    )
    status = again()
    assert (status.is_complete, status.num_parts, status.num_rows) == (True, 7, 80)
    expected = content(out)
    made.clear()
    assert again().is_complete
    assert made == []
    (out / "_arborand" / "part-2.parquet.done").unlink()
    (out / "part-3.parquet").write_bytes(b"PAR1")
    (out / "part-4.parquet").unlink()
    assert again().is_complete
    done = [event.part for event in made if hasattr(event, "marker")]
    assert done == ["part-2.parquet", "part-3.parquet", "part-4.parquet"]
    assert content(out) == expected


def test_a_part_that_another_run_finishes_meanwhile_is_not_made_again(whole, tmp_path):
    run = partial(corpus.run, "sample", tmp_path / "shards", num_trees=2, seed=1)
    run(tmp_path / "theirs")
    out, theirs = tmp_path / "out", "part-3.parquet"

    def tell(event):
        if getattr(event, "marker", None) and event.part == "part-0.parquet":
            for name in (theirs, f"_arborand/{theirs}.done"):
                shutil.copy(tmp_path / "theirs" / name, out / name)
            os.utime(out / theirs, (1, 1))

    assert run(out, tell=tell).is_complete
    assert (out / theirs).stat().st_mtime == 1
    assert content(out) == content(tmp_path / "theirs")


def test_another_run_at_work_is_mentioned_and_one_that_was_killed_is_not(arborand, whole, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with atomic_write(out / "theirs"):
        done = arborand("logz", tmp_path / "shards", "-o", f"{out}/")
        assert done.status == 0
        assert "another run is writing" in done.err
        (out / "_SUCCESS").unlink()
        assert b"a run is writing to it" in arborand("status", out).out
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    with subprocess.Popen([sys.executable, "-c", ""]) as unmourned:
        ended = [dead.pid]
        if os.path.exists("/proc/self/stat"):
            os.waitid(os.P_PID, unmourned.pid, os.WEXITED | os.WNOWAIT)  # it has ended, unasked
            ended.append(unmourned.pid)
        # In a container, the next process often has the number of the one that was killed.
        for pid in (*ended, os.getpid()):
            (out / "_arborand" / "part-0.parquet.done").unlink()
            name = f".arborand-{storage._machine()}-{pid}-{'0' * 16}"
            (out / name).touch()
            done = arborand("logz", tmp_path / "shards", "-o", f"{out}/")
            assert done.status == 0
            assert "another run" not in done.err
            assert not (out / name).exists()


def test_another_job_is_refused_with_the_differences(arborand, whole, tmp_path):
    out, shards = f"{tmp_path}/out/", tmp_path / "shards"
    assert arborand("sample", shards, "-k", 2, "--seed", 1, "-o", out).status == 0
    before = content(tmp_path / "out")
    for command, message in [
        (("sample", "-k", 2, "--seed", 2), "seed was 1 and is 2"),
        (("sample", "-k", 3, "--seed", 1), "num-trees was 2 and is 3"),
        (("sample", "-k", 2, "--seed", 1, "--format", "jsonl"), "format was 'parquet' and is"),
        (("sample", "-k", 2, "--seed", 1, "--trees", "spanning"), "trees was 'dependency' and is"),
        (("marginals",), "command was 'sample' and is 'marginals'"),
    ]:
        result = arborand(command[0], shards, *command[1:], "-o", out)
        assert (result.status, content(tmp_path / "out") == before) == (1, True)
        assert "belongs to another job" in result.err
        assert message in result.err
        assert "the input of" not in result.err
        assert "--restart" in result.err
    result = arborand("sample", shards, "-k", 3, "--seed", 1, "--format", "jsonl", "--restart",
                      "-o", out)  # fmt: skip
    assert result.status == 0
    assert not list((tmp_path / "out").rglob("*.parquet*"))
    assert len(list((tmp_path / "out").rglob("*.jsonl"))) == 7


def test_another_version_does_not_continue(whole, tmp_path, monkeypatch):
    corpus.run("logz", tmp_path / "shards", tmp_path / "out")
    monkeypatch.setattr(execution, "__version__", "99.0")
    with pytest.raises(OutputError, match=r"version was .* and is '99\.0'"):
        corpus.run("logz", tmp_path / "shards", tmp_path / "out")


def test_a_drawn_seed_is_kept_for_the_next_run(arborand, whole, tmp_path):
    out = tmp_path / "out"
    assert arborand("sample", tmp_path / "shards", "-o", f"{out}/").status == 0
    expected = content(out)
    (out / "part-1.parquet").unlink()
    assert arborand("sample", tmp_path / "shards", "-o", f"{out}/").status == 0
    assert content(out) == expected
    again = tmp_path / "again"
    seed = json.loads(expected["_arborand/job.json"])["identity"]["seed"]
    assert arborand("sample", tmp_path / "shards", "--seed", seed, "-o", f"{again}/").status == 0
    assert content(again) == expected
    assert arborand("sample", tmp_path / "shards", "-o", f"{out}/", "--restart").status == 0
    assert content(out) != expected


def test_a_folder_with_other_things_is_left_alone(arborand, whole, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("precious")
    for options in ((), ("--restart",)):
        result = arborand("logz", tmp_path / "shards", *options, "-o", tmp_path / "photos")
        assert result.status == 1
        assert "contains other files ('cat.jpg'): write to a new folder" in result.err
    result = arborand("logz", tmp_path / "shards", "-o", f"{tmp_path}/shards/out/")
    assert (result.status, "is inside the input folder" in result.err) == (1, True)
    result = arborand("logz", tmp_path / "shards" / "part-0.npz", "-o", f"{tmp_path}/shards/")
    assert (result.status, "choose another folder" in result.err) == (1, True)
    result = arborand("logz", tmp_path / "whole.npz", "-o", f"{tmp_path}/no/where/")
    assert (result.status, "does not exist" in result.err) == (1, True)


@pytest.mark.parametrize("content", ["[]", "{}", '{"identity": 1}', "{", "null"])
def test_a_damaged_manifest_is_named(content, whole, tmp_path):
    corpus.run("logz", tmp_path / "shards", tmp_path / "out")
    (tmp_path / "out" / "_arborand" / "job.json").write_text(content)
    with pytest.raises(OutputError, match=r"job\.json is damaged"):
        corpus.run("logz", tmp_path / "shards", tmp_path / "out")


@pytest.mark.parametrize("content", ["[]", "{}", '{"job": 1}', "{", "null"])
def test_a_damaged_marker_is_not_a_marker(content, whole, tmp_path):
    corpus.run("logz", tmp_path / "shards", tmp_path / "out")
    marker = tmp_path / "out" / "_arborand" / "part-1.parquet.done"
    good = marker.read_text()
    marker.write_text(content)
    assert corpus.run("logz", tmp_path / "shards", tmp_path / "out").is_complete
    assert marker.read_text() == good


def test_a_marker_of_another_job_is_not_a_marker(whole, tmp_path):
    corpus.run("logz", tmp_path / "shards", tmp_path / "out")
    marker = tmp_path / "out" / "_arborand" / "part-1.parquet.done"
    good = marker.read_text()
    marker.write_text(good.replace(json.loads(good)["job"], "0" * 16))
    assert len(corpus.read_status(str(tmp_path / "out")).done) == 6
    corpus.run("logz", tmp_path / "shards", tmp_path / "out")
    assert marker.read_text() == good


def test_names_that_would_collide_are_refused(whole, tmp_path):
    np.save(tmp_path / "shards" / "part-1.npy", np.zeros((3, 3)))
    with pytest.raises(OutputError, match=r"part-1\.npy and part-1\.npz would both become"):
        corpus.run("logz", tmp_path / "shards", tmp_path / "out")


# ---- inputs


def test_files_folders_and_patterns_are_inputs(arborand, whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # As a job leaves them, and others.
    (tmp_path / "shards" / "more" / "_arborand").mkdir()
    for name in ("_SUCCESS", "_arborand/part-5.npz.done", ".part-5.npz"):
        (tmp_path / "shards" / "more" / name).write_text("{}")
    os.mkfifo(tmp_path / "shards" / "more" / "pipe.npz")  # which nobody writes to
    for inputs, parts in [
        (["shards/part-0.npz", "shards/part-3.npz"], ["part-0.parquet", "part-3.parquet"]),
        (["shards/part-[0-1].npz"], ["part-0.parquet", "part-1.parquet"]),
        (["shards/more", "shards/part-0.npz"], [f"more/part-{i}.parquet" for i in (5, 6)]
         + ["part-0.parquet"]),
        (["shards/*/*.npz"], ["more/part-5.parquet", "more/part-6.parquet"]),
        (["shards/more/"], ["part-5.parquet", "part-6.parquet"]),
        (["shards/more/*"], ["part-5.parquet", "part-6.parquet"]),
        (["shards/more/**"], ["part-5.parquet", "part-6.parquet"]),
    ]:  # fmt: skip
        result = arborand("logz", *inputs, "-o", "out/")
        assert (result.status, result.err) == (0, "")
        found = sorted(name for name in content(tmp_path / "out") if not name.startswith("_"))
        assert found == parts
        shutil.rmtree("out")
    for inputs, message in [
        (["nothing/*.npz"], "no file matches nothing/*.npz"),
        (["words.conllu", "missing.npz"], "missing.npz cannot be read"),
        (["empty"], "empty contains no files that end in .parquet"),
    ]:
        (tmp_path / "empty").mkdir(exist_ok=True)
        result = arborand("logz", *inputs, "-o", "out/")
        assert (result.status, message in result.err) == (1, True), result.err


@pytest.mark.parametrize("pattern", ["linked", "linked/", "linked/**/*.npz"])
def test_links_are_followed_whatever_the_spelling(pattern, arborand, whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shards, linked = tmp_path / "shards", tmp_path / "linked"
    (linked / "own").mkdir(parents=True)
    (linked / "own" / "a.npz").symlink_to(shards / "part-0.npz")
    (linked / "sub").symlink_to(shards / "more")
    (linked / "twice").symlink_to(shards / "more")
    result = arborand("logz", pattern, "-o", "out/")
    assert (result.status, result.err) == (0, "")
    parts = ["own/a", *(f"{name}/part-{i}" for name in ("sub", "twice") for i in (5, 6))]
    found = sorted(name for name in content(tmp_path / "out") if not name.startswith("_"))
    assert found == [f"{part}.parquet" for part in parts]
    # A link that leads nowhere is a shard that is lost; other names are nobody's business.
    (linked / "notes.txt").symlink_to("nowhere")
    shutil.rmtree("out")
    assert arborand("logz", pattern, "-o", "out/").status == 0
    (linked / "c.npz").symlink_to("nowhere")
    result = arborand("logz", pattern, "-o", "out/")
    assert result.status == 1
    assert "c.npz cannot be read: No such file" in result.err


@pytest.mark.parametrize("pattern", ["shards", "shards/**/*.npz"])
@pytest.mark.parametrize("output", ["results/out/", "results/out.npz"])
def test_what_a_job_writes_is_not_an_input_though_a_link_leads_there(
    pattern, output, arborand, whole, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "shards" / "link").symlink_to(tmp_path / "results")
    written = []
    for _ in range(2):
        result = arborand("convert", pattern, output, "--format", "npz")
        assert result.status == 0, result.err
        written.append(content(tmp_path / "results"))
    assert written[0] == written[1]


def test_links_that_lead_in_circles_end(whole, tmp_path):
    shards = tmp_path / "shards"
    (shards / "self").symlink_to(".")
    (shards / "more" / "up").symlink_to(shards)
    (tmp_path / "elsewhere").mkdir()
    (shards / "away").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(shards)
    assert corpus.run("logz", shards, tmp_path / "out").num_parts == 7


def test_a_folder_that_cannot_be_listed_is_named(arborand, whole, tmp_path, monkeypatch):
    list_folder, locked = os.scandir, str(tmp_path / "shards" / "more")

    def refuse(path):
        if os.fspath(path) == locked:
            raise PermissionError(13, os.strerror(13), path)
        return list_folder(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = arborand("logz", tmp_path / "shards", "-o", f"{tmp_path}/out/")
    assert (result.status, f"{locked}: Permission denied" in result.err) == (1, True)


@pytest.mark.parametrize(
    ("scores", "out", "message"),
    [
        ("shards", "shards/out/", "is inside the input folder"),
        ("shards/part-0.npz", "shards/", "choose another folder"),
        ("memory://scores/", "memory://scores/out/", "is inside the input folder"),
        ("memory://scores/part-0.npz", "memory://scores/", "choose another folder"),
    ],
)
def test_an_output_that_would_be_read_is_refused_at_once(
    scores, out, message, whole, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    before = content(tmp_path)
    with pytest.raises(OutputError, match=message):
        corpus.run("logz", scores, out)
    assert content(tmp_path) == before


def test_an_output_without_a_name_is_refused(arborand, whole, tmp_path):
    for command in ("logz", tmp_path / "shards", "-o", ""), ("convert", tmp_path / "shards", ""):
        result = arborand(*command)
        assert result.status == 1
        assert result.err.startswith("arborand: the name of the output is empty: name a file, or")
    with pytest.raises(OutputError, match="the name of the output is empty"):
        corpus.run("logz", tmp_path / "shards", "")


@pytest.mark.parametrize("pattern", ["shards/**/*.npz", "shards/*/*.npz"])
def test_what_a_job_writes_is_not_an_input_though_its_pattern_matches(
    pattern, arborand, whole, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for output in ("shards/out/", "shards/more/whole.npz"):
        written = []
        for _ in range(2):
            result = arborand("convert", pattern, output, "--format", "npz")
            assert result.status == 0, result.err
            written.append(content(tmp_path / "shards"))
        assert written[0] == written[1]
        shutil.rmtree("shards/out", ignore_errors=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on_error": "ignore"}, "on_error is 'ignore'"),
        ({"workers": 0}, "workers is 0"),
        ({"part_sentences": -3}, "part_sentences is -3"),
        ({"trees": "projective"}, "trees is 'projective'"),
        ({"num_trees": -1}, "num_trees is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"inputs": []}, "inputs is empty"),
        ({"keep_heads": True}, "keep_heads: there are no heads to keep"),
        ({"relations": "keep"}, "relations: there are no relations to keep"),
        ({"rank": 0, "world": 2}, "rank needs engine array, not local"),
        ({"address": "x:1"}, "address needs engine ray, not local"),
        ({"engine": "array", "rank": 0, "world": 2, "restart": True}, "would discard what the oth"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arguments_that_make_no_sense_are_refused(arguments, message, whole, tmp_path):
    chosen = {"inputs": tmp_path / "shards", "seed": 1, **arguments}
    with pytest.raises(ValueError, match=message):
        corpus.run("sample", output=tmp_path / "out", **chosen)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("logz", {"seed": 1}),
        ("best", {"without_replacement": True}),
        ("sample", {"minimum_risk": True}),
        ("convert", {"weights": True}),
        ("check", {"num_trees": 3}),
        ("entropy", {"method": "wilson", "ordered": True}),
    ],
)
def test_options_that_a_command_does_not_have_are_refused(command, options, whole, tmp_path):
    with pytest.raises(TypeError, match=f"{command} has no option '{min(options)}'"):
        corpus.run(command, tmp_path / "shards", tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_there_is_one_tree_of_least_risk(whole, tmp_path):
    with pytest.raises(ValueError, match="one minimum-risk tree, but 2 trees were"):
        corpus.run("best", tmp_path / "shards", tmp_path / "out", minimum_risk=True, num_trees=2)


def test_an_unfinished_folder_is_not_an_input(arborand, whole, tmp_path):
    arborand("sample", tmp_path / "shards", "-o", f"{tmp_path}/out/")
    (tmp_path / "out" / "_SUCCESS").unlink()
    result = arborand("convert", tmp_path / "out", tmp_path / "t.jsonl")
    assert result.status == 1
    assert "is the output of a job that is not finished" in result.err


# ---- errors are data


def broken(folder):
    corpus = random_corpus(9, seed=5)
    corpus.matrices[4][0, 1] = np.nan
    return corpus.save(folder / "shards" / "part-7.npz")


def test_a_bad_sentence_is_named_with_its_shard_and_number(arborand, whole, tmp_path):
    broken(tmp_path)
    out = f"{tmp_path}/out/"
    for workers in (1, 3):
        result = arborand("sample", tmp_path / "shards", "--seed", 1, "--workers", workers,
                          "-o", out)  # fmt: skip
        assert result.status == 1
        assert "part-7.npz: sentence 's-4' (number 45): log_weights[0, 1] is nan" in result.err
        assert "--on-error skip leaves such sentences out" in result.err
        assert "finished parts are kept" in result.err
    shown = arborand("status", out)
    assert shown.status == 1
    text = shown.out.decode()
    assert "7 of 8" in text
    assert "40 of 49" in text
    assert "failed: part-7.parquet: part-7.npz: sentence 's-4' (number 45)" in text
    # Going on without the sentence equals never having stopped.
    options = ("--seed", 1, "--on-error", "skip")
    for target in (out, f"{tmp_path}/whole/"):
        result = arborand("sample", tmp_path / "shards", *options, "-o", target)
        assert result.status == 0
        assert "1 sentence skipped:\n  s-4: log_weights[0, 1] is nan" in result.err
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    marker = json.loads(content(tmp_path / "out")["_arborand/part-7.parquet.done"])
    assert marker["skipped"][0][:2] == ["s-4", 45]
    shown = arborand("status", out)
    assert (shown.status, "complete" in shown.out.decode()) == (0, True)
    assert "  s-4 (number 45): log_weights[0, 1] is nan" in shown.out.decode()


def test_a_bad_sentence_is_never_tried_again(whole, tmp_path, monkeypatch):
    from arborand.corpus import job

    broken(tmp_path)
    tried = []
    made = job._made
    monkeypatch.setattr(job, "_made", lambda *words: (tried.append(words[1].name), made(*words))[1])
    with pytest.raises(corpus.StoppedError):
        corpus.run("sample", tmp_path / "shards", tmp_path / "out", seed=1)
    assert tried.count("part-7.parquet") == 1


def test_files_are_tried_three_times(whole, tmp_path, monkeypatch):
    from arborand.corpus import job

    tried = []

    def lost(job, part, advance):
        tried.append(part.name)
        raise ConnectionResetError(104, "Connection reset by peer", "s3")

    monkeypatch.setattr(job, "_made", lost)
    with pytest.raises(corpus.StoppedError, match="s3: Connection reset by peer"):
        corpus.run("sample", tmp_path / "shards", tmp_path / "out", seed=1)
    assert len(tried) == 3


def test_a_biased_method_warns_in_python_too(whole, tmp_path):
    with pytest.warns(BiasedSamplerWarning, match="'wilson_rc' is biased"):
        corpus.run("sample", tmp_path / "shards", tmp_path / "out", seed=1, method="wilson_rc")


def test_there_is_no_status_where_there_is_no_job(arborand, tmp_path):
    result = arborand("status", tmp_path)
    assert (result.status, "is not the output folder of a job" in result.err) == (1, True)


# ---- arrays


@pytest.mark.slow
def test_an_array_of_three_of_which_one_is_killed_is_one_job(whole, tmp_path):
    corpus.run("sample", tmp_path / "shards", tmp_path / "whole", num_trees=2, seed=1)
    command = [sys.executable, "-m", "arborand", "sample", tmp_path / "shards", "-k", "2"]
    command += ["--seed", "1", "--engine", "array", "-o", f"{tmp_path}/out/", "--world", "3"]
    ranks = [subprocess.Popen([*command, "--rank", str(rank)]) for rank in (0, 2)]
    argv = [str(word) for word in [*command[3:], "--rank", "1"]]
    killed = subprocess.run(
        [sys.executable, faults.__file__],
        input=json.dumps({"argv": argv, "fault": ["killed", 1]}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert json.loads(killed.stdout)[0] == -signal.SIGKILL
    assert [rank.wait() for rank in ranks] == [0, 0]
    status = corpus.read_status(str(tmp_path / "out"))
    assert not status.is_complete
    assert len(status.done) >= 5
    subprocess.run([*command, "--rank", "1"], check=True)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_ranks_share_the_whole_list(whole, tmp_path):
    made = [[], [], []]
    for rank in (2, 0, 1):
        status = corpus.run(
            "logz",
            tmp_path / "shards",
            tmp_path / "out",
            engine="array",
            rank=rank,
            world=3,
            tell=lambda event, rank=rank: made[rank].append(event.part),
        )
    assert [len(set(parts)) for parts in made] == [3, 2, 2]
    assert len({part for parts in made for part in parts}) == 7
    assert status.is_complete


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "4"}, (3, 4)),
        (
            {
                "SLURM_ARRAY_TASK_ID": "3",
                "SLURM_ARRAY_TASK_MIN": "1",
                "SLURM_ARRAY_TASK_COUNT": "4",
                "SLURM_PROCID": "0",
                "SLURM_NTASKS": "1",
            },
            (2, 4),
        ),
        (
            {
                "SLURM_ARRAY_TASK_ID": "5",
                "SLURM_ARRAY_TASK_MIN": "1",
                "SLURM_ARRAY_TASK_STEP": "2",
                "SLURM_ARRAY_TASK_COUNT": "4",
            },
            (2, 4),
        ),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2)),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 2)),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "6"}, (5, 6)),
    ],
)
def test_the_rank_is_known_from_what_started_the_process(environment, expected):
    assert rank_and_world(None, None, environment) == expected
    assert rank_and_world(7, 9, environment) == (7, 9)


def test_a_rank_that_makes_no_sense_is_refused(whole, tmp_path):
    with pytest.raises(
        ArborandError, match=r"the rank of this process in the array .* SLURM_ARRAY_TASK_ID"
    ):
        rank_and_world(None, None, {})
    with pytest.raises(ArborandError, match="rank 3 of 3: expected a rank from 0 to 2"):
        rank_and_world(3, 3, {})
    with pytest.raises(ArborandError, match="must share one seed: give --seed"):
        corpus.run("sample", tmp_path / "shards", tmp_path / "out", engine="array", rank=0, world=2)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"SLURM_ARRAY_TASK_ID": "x", "SLURM_ARRAY_TASK_COUNT": "2"},
         "SLURM_ARRAY_TASK_ID=x, SLURM_ARRAY_TASK_COUNT=2.*invalid literal"),
        ({"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_ARRAY_TASK_STEP": "0"},
         "SLURM_ARRAY_TASK_STEP=0.*zero"),
        # --array=0,7: only some processes of an earlier array.
        ({"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_ARRAY_TASK_MIN": "0"},
         "SLURM_ARRAY_TASK_ID=7, SLURM_ARRAY_TASK_COUNT=2, .*without gaps"),
        ({"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "1",
          "SLURM_ARRAY_TASK_STEP": "2"}, "SLURM_ARRAY_TASK_ID=2.*without gaps"),
        ({"PMI_RANK": "2", "PMI_SIZE": "2"}, "PMI_RANK=2, PMI_SIZE=2 does not give"),
        ({"OMPI_COMM_WORLD_RANK": "", "OMPI_COMM_WORLD_SIZE": "2"}, "OMPI_COMM_WORLD_RANK=, "),
    ],
)  # fmt: skip
def test_variables_that_tell_no_rank_are_named(environment, message):
    with pytest.raises(ArborandError, match=message) as caught:
        rank_and_world(None, None, environment)
    assert "give --rank and --world" in str(caught.value)
    assert rank_and_world(7, 9, environment) == (7, 9)


# ---- other file systems


def test_any_file_system_of_fsspec_will_do(whole, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    corpus.run("sample", tmp_path / "shards", tmp_path / "whole", num_trees=2, seed=1)
    memory = fsspec.filesystem("memory")
    memory.put(f"{tmp_path}/shards/", "/scores/", recursive=True)
    status = corpus.run("sample", "memory://scores/", "memory://out/", num_trees=2, seed=1)
    assert status.is_complete
    expected = content(tmp_path / "whole")
    found = {name.removeprefix("/out/"): memory.cat(name) for name in memory.find("/out")}
    assert without_times(found) == without_times(expected)
    memory.rm("/out/part-2.parquet")
    corpus.run("sample", "memory://scores/*.npz", "memory://more/", num_trees=2, seed=1)
    assert corpus.run(
        "sample", "memory://scores/", "memory://out/", num_trees=2, seed=1
    ).is_complete
    assert memory.cat("/out/part-2.parquet") == expected["part-2.parquet"]
    for pattern, count in (("*", 5), ("*/*", 2), ("**/*.npz", 7), ("**", 7)):
        status = corpus.run("logz", f"memory://scores/{pattern}", "memory://z/", restart=True)
        assert status.num_parts == count


def test_pages_and_summaries_are_written_to_any_file_system(arborand, whole, tmp_path, monkeypatch):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    monkeypatch.chdir(tmp_path)
    words = ("--conllu", "words.conllu")
    for command, name in [
        (("evaluate", "whole.npz", *words), "e.json"),
        (("evaluate", "whole.npz", *words), "e.html"),
        (("evaluate", "whole.npz", *words), "e.csv"),
        (("show", "whole.npz", *words), "s.html"),
    ]:
        result = arborand(*command, "-o", f"memory://pages/{name}")
        assert (result.status, result.err) == (0, "")
        assert arborand(*command, "-o", name).status == 0
        assert memory.cat(f"/pages/{name}") == (tmp_path / name).read_bytes()
    plot = ("--plot", "memory://pages/c.svg")
    assert arborand("evaluate", "whole.npz", *words, *plot).status == 0
    assert b"<svg" in memory.cat("/pages/c.svg")
    result = arborand("illustrate", "whole.npz", "-o", "memory://pages")
    assert (result.status, "name a folder on this machine" in result.err) == (1, True)
    assert not (tmp_path / "memory:").exists()


def test_a_file_system_that_nobody_knows_is_named(tmp_path):
    with pytest.raises(FormatError, match=r"nowhere://scores cannot be opened"):
        corpus.run("logz", "nowhere://scores/", tmp_path / "out")


# ---- rows of tables


def test_rows_of_any_table_get_the_trees_of_their_place(whole, tmp_path):
    corpus.run("sample", tmp_path / "whole.npz", tmp_path / "out", num_trees=3, seed=1)
    expected = pyarrow.dataset.dataset(tmp_path / "out", format="parquet").to_table()
    expected = {
        (row["sent_id"], row["sample"]): (row["heads"], row["log_prob"])
        for row in expected.to_pylist()
    }
    order = np.random.default_rng(0).permutation(40)
    order[5:9] = sorted(order[5:9])
    weights = {int(name[2:]): m.ravel() for name, m in zip(*whole, strict=True)}
    rows = {
        "sent_id": [f"s-{i}" for i in order],
        "index": [int(i) for i in order],
        "log_weights": [weights[i].tolist() for i in order],
    }
    sample = corpus.SampleTrees(3, seed=1)
    table = pyarrow.table(rows)
    bare = {name: column for name, column in rows.items() if name != "index"}
    for drawn in (
        sample(table).to_pylist(),
        sample(pyarrow.concat_tables([table.slice(0, 7), table.slice(7)])).to_pylist(),
        sample(table.to_pandas()).to_dict("records"),
        pyarrow.table(sample(rows)).to_pylist(),
        pyarrow.table(sample(bare, rows["index"])).to_pylist(),
        [row for i in range(40) for row in sample(table.slice(i, 1)).to_pylist()],
    ):
        assert [row["sent_id"] for row in drawn[::3]] == rows["sent_id"]
        assert [row["index"] for row in drawn[::3]] == rows["index"]
        for row in drawn:
            heads, log_prob = expected[row["sent_id"], row["sample"]]
            assert (list(row["heads"]), row["log_prob"]) == (heads, log_prob)
    assert sample(table.slice(0, 0)).num_rows == 0


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"scores": [[0.0] * 4]}, "no column 'log_weights'; its columns are"),
        ({"log_weights": [[0.0] * 4]}, "no column 'index' with the place"),
        ({"log_weights": [[0.0] * 4, [0.0] * 5], "index": [7, 8]}, r"sentence '9' \(number 9\)"),
        (
            {"log_weights": [[0.0] * 4, [np.nan] * 4], "index": [7, 8], "sent_id": ["a", "b"]},
            r"sentence 'b' \(number 9\): log_weights\[0, 1\] is nan",
        ),
        (  # each a run of its own
            {"log_weights": [[0.0] * 4, [np.nan] * 4], "index": [5, 9], "sent_id": ["x", "y"]},
            r"sentence 'y' \(number 10\): log_weights\[0, 1\] is nan",
        ),
        ({"log_weights": ["a", "b"], "index": [0, 1]}, "log_weights has the type string: expected"),
        ({"log_weights": [[0.0] * 4, 3], "index": [0, 1]}, "the column log_weights: "),
        ({"log_weights": [None], "index": [0]}, "log_weights has the type null: expected flat"),
        ({"log_weights": [[0.0] * 4], "index": [None]}, "index has the type null: expected integ"),
        ({"log_weights": [[0.0] * 4] * 2, "index": [0, None]}, "the column index lacks 1 places"),
        ({"log_weights": [[0.0] * 4], "index": [1.5]}, "index has the type double: expected integ"),
        ({"log_weights": [[0.0] * 4], "index": ["7"]}, "index has the type string: expected integ"),
        ({"log_weights": [[0.0] * 4], "index": [0, 1]}, "the batch: .*length"),
        (
            {"log_weights": [[0.0] * 4], "index": [7], "sent_id": [1.5]},
            "sent_id has the type double: expected strings",
        ),
        (
            {"log_weights": [[0.0] * 4] * 2, "index": [6, 7], "sent_id": ["a", None]},
            "the sent_id of sentence number 8 is None: expected a string",
        ),
    ],
)
def test_rows_that_cannot_be_used_are_named(batch, message):
    with pytest.raises(ArborandError, match=message):
        corpus.SampleTrees(2, seed=1)(batch)


def test_places_are_counted_from_0():
    sample = corpus.SampleTrees(2, seed=1)
    for kind, place in (("i4", -1), ("u8", 2**63)):
        with pytest.raises(ValueError, match=f"the column index is {place}: it must be between"):
            sample({"log_weights": [[0.0] * 4], "index": np.array([place], kind)})
    with pytest.raises(FormatError, match=r"the column index: .* too large"):
        sample({"log_weights": [[0.0] * 4], "index": [2**70]})
    with pytest.raises(FormatError, match="index has the type double: expected integers"):
        sample({"log_weights": [[0.0] * 4]}, [1.5])


def test_a_batch_of_no_rows_has_no_trees():
    sample = corpus.SampleTrees(2, seed=1)
    assert sample({"log_weights": [], "index": []}) == {
        "index": [], "sample": [], "log_prob": [], "heads": []
    }  # fmt: skip
    empty = pandas.DataFrame({"log_weights": [], "sent_id": [], "index": []})
    assert list(sample(empty).columns) == ["sent_id", "index", "sample", "log_prob", "heads"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"seed": None}, TypeError, "seed must be an integer, not NoneType"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"seed": 1.0}, TypeError, "seed must be an integer"),
        ({"seed": 1, "keep_heads": True}, TypeError, "SampleTrees has no option 'keep_heads'"),
        ({"seed": 1, "num_threes": 3}, TypeError, "SampleTrees has no option 'num_threes'"),
    ],
)
def test_a_sampler_of_rows_refuses_what_makes_no_sense(options, error, message):
    with pytest.raises(error, match=message):
        corpus.SampleTrees(2, **options)


def test_what_looks_odd_to_a_worker_is_said_once(arborand, tmp_path):
    (tmp_path / "shards").mkdir()
    for i in range(4):
        stack = np.random.default_rng(i).normal(size=(5, 6, 6))
        stack[:, :, 4:] = -1e9  # padding whose lengths were forgotten
        np.save(tmp_path / "shards" / f"{i}.npy", stack)
    told = []
    for workers in (1, 2):
        options = ("--seed", 1, "--workers", workers, "-o", f"{tmp_path}/{workers}/")
        result = arborand("sample", tmp_path / "shards", *options)
        assert result.status == 0
        told.append(result.err)
    assert told[0].count("other sentences may look odd as well") == 1
    assert told[1].count("other sentences may look odd as well") == 1
    assert "SuspiciousWeightsWarning" not in told[1]

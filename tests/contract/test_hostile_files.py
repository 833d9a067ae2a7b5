"""Files that are damaged, mislead or attack: each ends in one sentence, within bounded memory."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from safetensors.numpy import save_file

from arborand import corpus
from arborand.corpus import storage
from arborand.corpus.storage import atomic_write, write_output
from arborand.formats import FormatError, OutputError, SentenceError, read_scores, read_trees
from arborand.formats.inputs import visible
from arborand.formats.outputs import FORMATS
from arborand.formats.records import ENTROPY, LOG_PARTITION, TREES, Rows, scores_layout
from tests import fuzz_files
from tests.command_line import CORPUS, call, conllu_of, random_corpus, save_rows
from tests.processes import run_script

SCORES = CORPUS / "sentences.npz"
KINDS = fuzz_files.kinds()
ESCAPE = "\x1b[31mred\x07\x9b2J\u202e"


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return partial(call, monkeypatch, capsysbinary)


# ---- mutants


@pytest.mark.parametrize("name", KINDS)
def test_mutants_end_in_a_message(name, tmp_path):
    kind = KINDS[name]
    for number in range(50):
        data = fuzz_files.mutant(name, kind, number)
        assert fuzz_files.examine(kind, data, tmp_path / "mutant") == "", f"mutant {number}"


@pytest.mark.parametrize("name", KINDS)
def test_what_is_mutated_was_good_and_most_mutants_are_not(name, tmp_path):
    kind = KINDS[name]
    (tmp_path / "good").write_bytes(kind.good)
    kind.command(tmp_path / "good")
    different = sum(fuzz_files.mutant(name, kind, number) != kind.good for number in range(50))
    assert different > 40


def test_the_fuzzer_reports_what_is_not_a_message(tmp_path):
    def command(path):
        raise OverflowError("int too large to convert")

    kind = fuzz_files.Kind(b"1", fuzz_files.damaged_bytes, command)
    assert "OverflowError: int too large" in fuzz_files.examine(kind, b"1", tmp_path / "mutant")


# ---- numbers that mislead


def tree_line(**changes):
    return json.dumps({"sent_id": "a", "sample": 1, "log_prob": -1.0, "heads": [2, 0], **changes})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (tree_line(heads=[4294967296, 1]), "head of word 1 is 4294967296: expected 0"),
        (tree_line(heads=[99999999999, 1]), "head of word 1 is 99999999999: expected 0"),
        (tree_line(heads=[2.7, 0]), "head of word 1 is 2.7: expected an integer"),
        (tree_line(heads="20"), "heads is '20': expected a list of integers"),
        (tree_line(heads=[2, True]), "head of word 2 is True: expected an integer"),
        (tree_line(heads=[2, None]), "head of word 2 is None: expected an integer"),
        (tree_line(heads=[float("inf"), 0]), "head of word 1 is inf: expected an integer"),
        (tree_line(sample=1.5), "sample is 1.5: expected an integer"),
        (tree_line(log_prob="-1"), "log_prob is '-1': expected a number"),
        (tree_line(log_prob=10**400), "log_prob is beyond the range"),
        (tree_line(sent_id=None), "the sent_id of line 1 is None: expected a string"),
        (tree_line(sent_id=["a"]), r"the sent_id of line 1 is \['a'\]: expected a string"),
        (tree_line(sent_id="\ud800"), "the sent_id of line 1 .* not valid Unicode"),
        (tree_line(sent_id="x" * 1001), "of 1001 characters.*ARBORAND_MAX_CHARACTERS"),
        (tree_line(x=0).replace("0}", "[" * 5000 + "]" * 5000 + "}"), "nested too deeply"),
    ],
)
def test_json_that_is_not_a_tree_is_refused(line, message, tmp_path):
    (tmp_path / "t.jsonl").write_text(f'{{"arborand": "trees"}}\n{line}\n')
    with pytest.raises(FormatError, match=message.replace("line 1", "line 2")):
        list(read_trees(tmp_path / "t.jsonl"))


@pytest.mark.parametrize(
    "head", ["99999999999", "4294967296", "9" * 5000, "²", "-1", "1.0", "_", "1"]
)
def test_a_head_in_conllu_is_0_or_a_word(head, tmp_path):
    columns = f"1\tx\t_\t_\t_\t_\t{head}\troot\t_\t_\n\n"
    (tmp_path / "t.conllu").write_text("# sent_id = a\n" + columns)
    with pytest.raises(SentenceError, match=r"sentence 'a' \(number 1\): word 1 has the HEAD"):
        list(read_trees(tmp_path / "t.conllu"))


GOOD = {
    "sent_ids": np.array(["a", "b"]),
    "lengths": np.array([2, 1]),
    "num_trees": np.array([1, 2]),
    "log_prob": np.zeros(3),
    "heads": np.array([2, 0, 0, 0]),
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heads": np.array([4294967298, 0, 0, 0])}, "head of word 1 is 4294967298"),
        ({"heads": np.array([2.5, 0, 0, 0])}, "heads must be a list of integers, but is float64"),
        ({"heads": np.array(["2", "0", "0", "0"])}, "heads must be a list of integers"),
        ({"lengths": np.array([2.0, 1.0])}, "lengths must be a list of integers"),
        ({"num_trees": np.array([-1, 2])}, r"num_trees\[0\] is -1, which is not a number of trees"),
        ({"num_trees": np.array([1, 10**12])}, "log_prob has 3 entries.* require 10000"),
        ({"lengths": np.array([10**9, 1])}, "1000000000 words.*ARBORAND_MAX_WORDS"),
        ({"heads": np.array([2, 0, 0])}, "heads has 3 entries.* require 4"),
        ({"log_prob": np.zeros((3, 1))}, r"log_prob must be a list .* of shape \(3, 1\)"),
        ({"sent_ids": np.array("a")}, r"sent_ids must be a list .* of shape \(\)"),
        (
            {"sent_ids": np.array([b"\xff", b"b"])},
            "sent_id of sentence number 1 is not valid Unicode",
        ),
        ({"provenance": np.array(7)}, "provenance must be one string"),
        ({"provenance": np.array("[1]")}, "provenance is a list, not an object"),
    ],
)
def test_arrays_that_are_not_trees_are_refused(changes, message, tmp_path):
    np.savez(tmp_path / "good.npz", **GOOD)
    assert [len(trees.heads) for trees in read_trees(tmp_path / "good.npz")] == [1, 2]
    np.savez(tmp_path / "t.npz", **{**GOOD, **changes})
    with pytest.raises((FormatError, SentenceError), match=message):
        list(read_trees(tmp_path / "t.npz"))


@pytest.mark.parametrize("code", [0xD800, 0x110000, 0xFFFFFFFF])
@pytest.mark.parametrize("order", ["<", ">"])
def test_ids_that_are_not_unicode_are_refused(code, order, tmp_path):
    ids = np.array([ord("a"), code], dtype=f"{order}u4").view(f"{order}U1")
    np.savez(tmp_path / "s.npz", lengths=[1, 1], scores=np.zeros(8), sent_ids=ids)
    with pytest.raises(FormatError, match=r"sent_id of sentence number 2 .*not valid Unicode"):
        list(read_scores(tmp_path / "s.npz"))


# ---- archives and headers


def repacked(path, change):
    """Pack an archive again with members changed by `change`, a function from list to list."""
    with zipfile.ZipFile(path) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in change(members):
            archive.writestr(name, content)


def test_members_without_their_ending_are_found(tmp_path):
    path = random_corpus(3).save(tmp_path / "s.npz")
    before = [sentence.log_weights.tolist() for sentence in read_scores(path)]
    repacked(path, lambda members: [(name.removesuffix(".npy"), c) for name, c in members])
    assert [sentence.log_weights.tolist() for sentence in read_scores(path)] == before


def test_archives_that_numpy_would_not_write_are_refused(tmp_path):
    path = random_corpus(3).save(tmp_path / "s.npz")
    good = path.read_bytes()
    with pytest.warns(UserWarning, match="Duplicate name"):
        repacked(path, lambda members: [*members, members[0]])
    with pytest.raises(FormatError, match="holds 'lengths' twice"):
        list(read_scores(path))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("scores.npy", b"x")
    with pytest.raises(FormatError, match=r"compressed by method 12: save it with numpy\.savez"):
        list(read_scores(path))
    place = good.index(b"PK\x01\x02") + 6  # the version needed to unpack
    path.write_bytes(good[:place] + b"\xff" + good[place + 1 :])
    with pytest.raises(FormatError, match=r"s\.npz is truncated .*: zip file version 25\.5"):
        list(read_scores(path))


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 2)}",
        "{'descr': '<f8', 'fortran_order': False}",
        "[" * 900,
        "{'descr': ('<f8', 'fortran_order': False, 'shape': (2, 2)}",
        "\0\0\0",
    ],
)
def test_a_header_that_is_cut_open_is_named(header, tmp_path):
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    (tmp_path / "s.npy").write_bytes(content + bytes(32))
    with pytest.raises(FormatError, match=r"s\.npy has no readable NumPy header"):
        list(read_scores(tmp_path / "s.npy"))


def test_a_header_may_not_promise_more_than_there_is(tmp_path):
    def header(shape):
        file = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": shape}
        )
        return file.getvalue()

    (tmp_path / "s.npy").write_bytes(header((10**9, 4, 4)) + bytes(128))
    with pytest.raises(FormatError, match="truncated or damaged: it ends too early"):
        list(read_scores(tmp_path / "s.npy"))
    content = b"\x93NUMPY\x02\x00" + (1 << 31).to_bytes(4, "little")
    (tmp_path / "s.npy").write_bytes(content + bytes(128))
    with pytest.raises(FormatError, match="no readable NumPy header: it begins with"):
        list(read_scores(tmp_path / "s.npy"))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ('"ab"', "must be a JSON list: it is not a list of 2 ids"),
        ('{"a": 1}', "must be a JSON list: it is not a list of 2 ids"),
        ("[1, null]", "sent_id of sentence number 2 is None"),
        ("[1, 2.5]", "sent_id of sentence number 2 is 2.5"),
        ('["a"]', "it is not a list of 2 ids"),
        ("[" * 5000, "nested too deeply"),
        ("[1, 2", "must be a JSON list"),
    ],
)
def test_ids_in_the_metadata_are_a_list_of_strings(ids, message, tmp_path):
    arrays = {"lengths": np.array([1, 1]), "scores": np.zeros(8)}
    save_file(arrays, tmp_path / "s.safetensors", {"sent_ids": ids})
    with pytest.raises(FormatError, match=message):
        list(read_scores(tmp_path / "s.safetensors"))


# ---- Parquet


def parquet(path, columns, **options):
    pyarrow.parquet.write_table(pyarrow.table(columns), path, **options)
    return path


ROWS = {"sent_id": ["a"], "length": [1], "log_weights": [np.zeros(4)], "tokens": [["x"]]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": [1.5]}, "the column length has the type double: expected integers"),
        ({"length": ["1"]}, "the column length has the type string: expected integers"),
        ({"sent_id": [1.5]}, "the column sent_id has the type double: expected strings"),
        ({"sent_id": [None]}, "the column sent_id has the type null: expected strings"),
        ({"log_weights": [["a"]]}, "the column log_weights .*: expected flat lists of numbers"),
        ({"log_weights": [0.0]}, "the column log_weights .*: expected flat lists of numbers"),
        ({"tokens": ["x"]}, "the column tokens has the type string: expected lists of strings"),
        ({"tokens": [[1]]}, "the column tokens .*: expected lists of strings"),
    ],
)
def test_columns_of_the_wrong_type_are_named(changes, message, tmp_path):
    assert len(list(read_scores(parquet(tmp_path / "good.parquet", ROWS)))) == 1
    with pytest.raises(FormatError, match=message):
        list(read_scores(parquet(tmp_path / "s.parquet", {**ROWS, **changes})))


def test_columns_of_trees_are_checked_too(tmp_path):
    rows = {"sent_id": ["a"], "sample": [1], "heads": [[0]]}
    assert len(list(read_trees(parquet(tmp_path / "good.parquet", rows)))) == 1
    for changes, message in [
        ({"heads": [[0.5]]}, "the column heads .*: expected flat lists of integers"),
        ({"heads": ["0"]}, "the column heads .*: expected flat lists of integers"),
        ({"sample": [1.5]}, "the column sample has the type double: expected integers"),
        ({"log_prob": ["x"]}, "the column log_prob has the type string: expected numbers"),
        ({"heads": [[4294967296]]}, "row 1 is not a tree: the head of word 1 is 4294967296"),
    ]:
        with pytest.raises(FormatError, match=message):
            list(read_trees(parquet(tmp_path / "t.parquet", {**rows, **changes})))


def test_a_doubled_column_is_named(tmp_path):
    arrays = [pyarrow.array([np.zeros(4)])] * 2
    table = pyarrow.Table.from_arrays(arrays, names=["log_weights"] * 2)
    pyarrow.parquet.write_table(table, tmp_path / "s.parquet")
    with pytest.raises(FormatError, match="has 2 columns 'log_weights': keep one"):
        list(read_scores(tmp_path / "s.parquet"))


def test_a_flipped_bit_in_a_page_that_we_wrote_is_noticed(arborand, tmp_path):
    out = tmp_path / "s.parquet"
    assert arborand("convert", SCORES, out).status == 0
    good = out.read_bytes()
    column = pyarrow.parquet.ParquetFile(out).metadata.row_group(0).column(2)
    assert column.path_in_schema.startswith("log_weights")
    for place in range(100, column.total_compressed_size - 1, 997):
        damaged = bytearray(good)
        damaged[column.data_page_offset + place] ^= 4
        out.write_bytes(damaged)
        with pytest.raises(FormatError, match="truncated or damaged"):
            list(read_scores(out))


# What Arrow does with each of these files if nothing is checked before; see the comments.
PARQUET = Path(__file__).parents[1] / "parquet"
MISLEADING = {
    # Ends the process when the footer is asked for the sizes of columns.
    "statistics_that_end_the_process": "is truncated or damaged: ",
    # Takes 2 GB for the header of a page, in a file of 607 bytes.
    "page_of_two_gigabytes": "a page of log_weights.list.element declares 2147483647 bytes",
    # Takes 2 GB for a file of 637 bytes.
    "sentence_of_12000_words": "packs 1152192008 bytes .* raise ARBORAND_MAX_WORDS",
    # Takes 440 MB for a file of 5 kB, whose footer says 100 bytes.
    "footer_that_hides_150_million_characters": "a page of sent_id declares 150000010",
}


@pytest.mark.parametrize("name", MISLEADING)
def test_parquet_that_misleads_arrow_is_refused_in_little_memory(name):
    message, growth = run_script(
        f"""
        import json
        import pyarrow.compute, pyarrow.parquet
        from arborand.formats import FormatError, read_scores
        from tests.processes import peak_memory
        before = peak_memory()
        try:
            message = f"{{len(list(read_scores({str(PARQUET / name)!r} + '.parquet')))}} sentences"
        except FormatError as error:
            message = str(error)
        print(json.dumps([message, peak_memory() - before]))
        """
    )
    assert re.search(MISLEADING[name], message), message
    assert growth < 60_000  # kilobytes


@pytest.mark.parametrize("shape", [b"[" * 3000, b"[Infinity, 3, 3]", b"7", b"[]", b"[null]"])
def test_a_header_of_safetensors_may_hold_anything(shape, arborand, tmp_path):
    header = b'{"log_weights":{"dtype":"F64","data_offsets":[0,72],"shape":' + shape + b"}}"
    path = tmp_path / "s.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(72))
    result = arborand("check", path)
    assert (result.status, result.out) == (1, b"")
    assert "s.safetensors" in result.err


@pytest.mark.parametrize("byte", [0x19, 0x1C], ids=["lists", "structs"])
def test_a_footer_of_parquet_may_be_nested_deeply(byte, arborand, tmp_path):
    footer = bytes([byte]) * 5000
    path = tmp_path / "s.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    result = arborand("check", path)
    assert (result.status, result.out) == (1, b"")
    assert result.err.startswith("arborand: s.parquet is truncated or damaged: ")


# ---- memory


def bombs(folder):
    """Make small files that declare much."""
    many = ["a" * 60_000] * 1500
    np.savez_compressed(
        folder / "ids.npz", lengths=np.ones(1500, int), scores=np.zeros(6000), sent_ids=many
    )
    np.savez_compressed(
        folder / "long.npz", lengths=[12_000], scores=np.zeros(12_001**2, dtype=np.int8)
    )
    np.savez_compressed(folder / "padded.npz", log_weights=np.zeros((12_001, 12_001), np.int8))
    parquet(folder / "long.parquet", {"log_weights": [np.zeros(12_001**2, dtype=np.int8)]})
    small = [np.zeros(4)] * 1000
    parquet(folder / "ids.parquet", {"log_weights": small, "sent_id": ["a" * 1_000_000] * 1000})
    parquet(
        folder / "plain.parquet",
        {"log_weights": small, "sent_id": ["a" * 1_000_000] * 1000},
        use_dictionary=False,
        compression="zstd",
    )
    parquet(folder / "tokens.parquet", {"log_weights": small, "tokens": [["a" * 1_000_000]] * 1000})
    parquet(  # below what a long sentence may take
        folder / "one_id.parquet",
        {"log_weights": small[:1], "sent_id": ["a" * 150_000_000]},
        use_dictionary=False,
        compression="zstd",
    )
    # A page that is said to have two gigabytes, which the library would take.
    plain = parquet(folder / "page.parquet", {"log_weights": small}, use_dictionary=False)
    data = bytearray(plain.read_bytes())
    assert (data[4:6], data[6]) == (b"\x15\x00", 0x15)  # a data page; then comes its size
    end = next(i for i in range(7, 12) if data[i] < 128) + 1
    data[7:end] = b"\xfe\xff\xff\xff\x0f"
    plain.write_bytes(data)
    return sorted(folder.iterdir())


@pytest.mark.slow
def test_small_files_do_not_take_much_memory(tmp_path):
    paths = bombs(tmp_path)
    assert max(path.stat().st_size for path in paths) < 2_000_000
    messages, growth = run_script(
        f"""
        import json
        from arborand.formats import FormatError, read_scores
        from tests.processes import peak_memory
        import pyarrow.parquet, pyarrow.compute
        before = peak_memory()
        messages = []
        for path in {[str(path) for path in paths]!r}:
            try:
                for sentence in read_scores(path):
                    pass
                messages.append("read")
            except FormatError as error:
                messages.append(str(error))
        print(json.dumps([messages, peak_memory() - before]))
        """
    )
    for path, message in zip(paths, messages, strict=True):
        assert "ARBORAND_MAX_" in message or "declares" in message, (path.name, message)
    assert growth < 200_000  # kilobytes


def test_the_limits_can_be_raised(tmp_path, monkeypatch):
    np.savez(tmp_path / "s.npz", lengths=[3], scores=np.zeros(16), sent_ids=["abcde"])
    monkeypatch.setenv("ARBORAND_MAX_WORDS", "2")
    with pytest.raises(FormatError, match="it has 3 words, and sentences of more than 2 are"):
        list(read_scores(tmp_path / "s.npz"))
    monkeypatch.setenv("ARBORAND_MAX_WORDS", "3")
    monkeypatch.setenv("ARBORAND_MAX_CHARACTERS", "4")
    with pytest.raises(FormatError, match="strings of 5 characters, and strings of more than 4"):
        list(read_scores(tmp_path / "s.npz"))
    monkeypatch.setenv("ARBORAND_MAX_CHARACTERS", "5")
    assert len(list(read_scores(tmp_path / "s.npz"))) == 1
    monkeypatch.setenv("ARBORAND_MAX_WORDS", "many")
    with pytest.raises(FormatError, match="ARBORAND_MAX_WORDS is 'many': expected a number"):
        list(read_scores(tmp_path / "s.npz"))


# ---- escape sequences


def test_what_is_visible_changes_nothing_else():
    assert visible(ESCAPE) == r"\x1b[31mred\x07\x9b2J\u202e"
    for text in ("plain", "naïve 日本語", "a\u200db", "\u0627\u200c\u0628", "a\u00a0b"):
        assert visible(text) == text
    assert visible("a\nb", keep="\n") == "a\nb"
    assert visible("a\nb") == r"a\nb"


def test_no_escape_sequence_reaches_the_terminal(arborand, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = f"{ESCAPE}\n.parquet"
    bad = np.zeros(9)
    bad[1] = np.nan
    rows = {
        "sent_id": [ESCAPE, f"{ESCAPE}\n", ESCAPE],
        "log_weights": [np.zeros(9), np.zeros(9), bad],
        "tokens": [[ESCAPE, "a\rb"]] * 3,
    }
    parquet(tmp_path / name, rows)
    (tmp_path / f"not{name}").write_bytes(b"?")
    for arguments, status in [
        (("check", name), 1),
        (("check", f"not{name}"), 1),
        (("check", f"missing{name}"), 1),
        (("sample", name), 1),
        (("sample", name, "--on-error", "skip"), 0),
        (("sample", name, "--on-error", "skip", "-o", f"{ESCAPE}.jsonl"), 0),
        (("sample", name, "-o", f"{ESCAPE}/x.jsonl"), 1),
        (("sample", name, "-o", ESCAPE), 2),
        (("marginals", name, "--on-error", "skip"), 0),
        (("entropy", name, "--on-error", "skip"), 0),
        (("logz", name, "--on-error", "skip"), 0),
        (("show", name, "--sent-id", ESCAPE + "?", "-o", "x.html"), 1),
        (("convert", name, f"{ESCAPE}.npz"), 0),
        (("check", name, ESCAPE), 1),
        (("check", f"--{ESCAPE}"), 2),
        (("sample", name, "--seed", ESCAPE), 2),
        ((ESCAPE,), 2),
    ]:
        result = arborand(*arguments)
        assert result.status == status, arguments
        shown = result.out.decode() + result.err
        assert "red" in shown or "sample" in shown or "sentence" in shown
        unsafe = {c for c in shown if visible(c) != c} - {"\n"}
        assert not unsafe, arguments


@pytest.mark.slow
def test_names_that_are_not_utf_8_are_shown_and_recorded(tmp_path):
    name = os.fsdecode(b"sc\xffores.npz")
    random_corpus(2).save(tmp_path / "scores.npz")
    (tmp_path / "scores.npz").rename(tmp_path / name)
    for encoding in ("utf-8", "ascii"):
        done = subprocess.run(
            [sys.executable, "-m", "arborand", "sample", name, "-o", os.fsdecode(b"\xff.conllu")],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == rb"written: \udcff.conllu" + b"\n"
    text = (tmp_path / os.fsdecode(b"\xff.conllu")).read_text()
    assert json.loads(text.splitlines()[0].partition("=")[2])["input"]["name"] == r"sc\xffores.npz"
    done = subprocess.run(
        [sys.executable, "-m", "arborand", "check", os.fsdecode(b"no\xff")],
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(rb"arborand: no\xff cannot be read")


# ---- links


@pytest.mark.parametrize("ending", ["html", "svg"])
def test_a_page_is_not_written_through_a_link(ending, arborand, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f"x.{ending}.partial").symlink_to(victim)
    result = arborand("show", SCORES, "--sent-id", "en-1", "-o", tmp_path / f"x.{ending}")
    assert result.status == 0
    assert victim.read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 3


def test_names_beside_a_file_cannot_be_foreseen(tmp_path, monkeypatch):
    seen = []

    def parts():
        seen.append({path.name for path in tmp_path.iterdir()})
        yield b"x"

    write_output(tmp_path / "out", parts())
    write_output(tmp_path / "out", parts())
    first, second = seen[0], seen[1] - {"out"}
    assert len(first) == len(second) == 1
    assert first != second
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o666 & ~_umask()


@pytest.mark.parametrize("can_link", [True, False])
def test_of_several_writers_the_first_one_wins(can_link, tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError(1, "Operation not permitted")

    if not can_link:
        monkeypatch.setattr(os, "link", refuse)
    with atomic_write(tmp_path / "out", replace=False) as file:
        file.write(b"first")
    with (
        pytest.raises(FileExistsError),
        atomic_write(tmp_path / "out", replace=False) as file,
    ):
        file.write(b"second")
    assert (tmp_path / "out").read_bytes() == b"first"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("replace", [True, False])
def test_files_are_written_where_systems_lack_what_linux_has(replace, tmp_path, monkeypatch):
    """As on Windows: no O_NOFOLLOW, no links, no fsync of folders, no signal 0."""
    open_file = os.open

    def open_no_folder(path, flags, mode=0o777):
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", str(path))
        return open_file(path, flags, mode)

    for name in ("O_NOFOLLOW", "O_CLOEXEC", "link", "kill"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(os, "open", open_no_folder)
    with atomic_write(tmp_path / "out", replace=replace) as file:
        file.write(b"first")
    if not replace:
        with (
            pytest.raises(FileExistsError),
            atomic_write(tmp_path / "out", replace=False) as file,
        ):
            file.write(b"second")
    assert (tmp_path / "out").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    # Nobody can tell whether another process is alive: what it writes is left alone.
    name = f".arborand-{storage._machine()}-{2**22 + 1}-{'0' * 16}"
    (tmp_path / name).touch()
    assert storage.is_being_written(name)
    storage.remove_orphans(tmp_path)
    assert (tmp_path / name).exists()


def test_a_folder_that_cannot_be_synced_is_no_error_unless_the_disk_fails(tmp_path, monkeypatch):
    sync = os.fsync

    def fail(number):
        def refuse(descriptor):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(number, os.strerror(number))
            sync(descriptor)

        return refuse

    monkeypatch.setattr(os, "fsync", fail(errno.EINVAL))
    write_output(tmp_path / "out", [b"x"])
    assert (tmp_path / "out").read_bytes() == b"x"
    monkeypatch.setattr(os, "fsync", fail(errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        write_output(tmp_path / "out", [b"x"])


def test_a_job_runs_where_systems_lack_what_linux_has(tmp_path, monkeypatch):
    random_corpus(5).save(tmp_path / "scores.npz")
    expected = corpus.run("sample", tmp_path / "scores.npz", tmp_path / "a", seed=1)
    for name in ("O_NOFOLLOW", "O_CLOEXEC", "link", "kill"):
        monkeypatch.delattr(os, name)
    status = corpus.run("sample", tmp_path / "scores.npz", tmp_path / "b", seed=1)
    assert status.is_complete
    digests = [{p: m["sha256"] for p, m in one.done.items()} for one in (status, expected)]
    assert digests[0] == digests[1]
    again = corpus.run("sample", tmp_path / "scores.npz", tmp_path / "b", seed=1, restart=True)
    assert again.is_complete


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("ending", ["parquet", "npz", "safetensors", "jsonl"])
def test_nothing_is_written_through_a_link(ending, arborand, tmp_path):
    victim, out = tmp_path / "victim", tmp_path / f"x.{ending}"
    victim.write_text("precious")
    for suffix in ("", ".partial", ".partial.new", ".partial.journal"):
        (tmp_path / (out.name + suffix)).symlink_to(victim)
    command = ("convert", SCORES, out) if ending != "jsonl" else ("logz", SCORES, "-o", out)
    assert arborand(*command).status == 0
    assert victim.read_text() == "precious"
    assert not out.is_symlink()


# ---- ids that are unusual


IDS = ["", " ", "a\nb", "tab\there", " lead", "%d", '"q"', "\x1f", "\x1b[0m", "é\u2028", "\0x", "="]


@pytest.mark.parametrize("kind", ["conllu", "jsonl", "parquet", "npz"])
def test_unusual_ids_of_trees_come_back(kind, arborand, tmp_path):
    count = len(IDS)
    rows = Rows(
        IDS,
        np.full(count, 2, dtype=np.int32),
        np.full(count, 2),
        {"log_prob": np.zeros(2 * count)},
        np.tile([2, 0], 2 * count).astype(np.int32),
        tokens=[["a", "b"]] * count,
    )
    save_rows(tmp_path / "t", kind, TREES, {}, rows)
    assert [trees.sent_id for trees in read_trees(tmp_path / "t")] == IDS
    for other in ("conllu", "jsonl", "parquet", "npz"):
        target = tmp_path / f"again.{other}"
        assert arborand("convert", tmp_path / "t", target).status == 0
        assert [trees.sent_id for trees in read_trees(target)] == IDS


@pytest.mark.parametrize("kind", ["npz", "parquet", "safetensors"])
def test_unusual_ids_of_scores_come_back(kind, tmp_path):
    count = len(IDS)
    rows = Rows(
        IDS, np.ones(count, dtype=np.int32), np.ones(count, dtype=int), {}, np.zeros(4 * count)
    )
    save_rows(tmp_path / "s", kind, scores_layout(np.dtype("f8")), {}, rows)
    assert [sentence.sent_id for sentence in read_scores(tmp_path / "s")] == IDS


def test_unusual_ids_are_found_in_the_conllu_that_was_written(arborand, tmp_path):
    count = len(IDS)
    np.savez(
        tmp_path / "s.npz", lengths=np.ones(count, int), scores=np.zeros(4 * count), sent_ids=IDS
    )
    assert arborand("sample", tmp_path / "s.npz", "-o", tmp_path / "t.conllu").status == 0
    result = arborand("check", tmp_path / "s.npz", "--conllu", tmp_path / "t.conllu")
    assert result.status == 0, result.out.decode()


def test_an_id_that_numpy_would_change_is_refused(tmp_path):
    rows = Rows(
        ["a\0"], np.ones(1, dtype=np.int32), np.ones(1, dtype=int), {"log_partition": np.zeros(1)}
    )
    with pytest.raises(OutputError, match=r"sent_id 'a\\x00' ends with a NUL"):
        save_rows(tmp_path / "t.npz", "npz", LOG_PARTITION, {}, rows)


# ---- the command line


def test_numbers_go_into_spreadsheets(arborand, tmp_path):
    import csv

    expected = arborand("entropy", SCORES, "-o", "-", "--format", "jsonl").out.splitlines()[1:]
    for ending, separator in (("csv", ","), ("tsv", "\t")):
        out = tmp_path / f"e.{ending}"
        result = arborand("entropy", SCORES, "-o", out)
        assert (result.status, result.out.decode()) == (0, f"written: {out}\n")
        with out.open(newline="") as file:
            lines = list(csv.DictReader(file, delimiter=separator))
        assert list(lines[0]) == ["sent_id", "length", *ENTROPY.columns]
        for line, text in zip(lines, expected, strict=True):
            record = json.loads(text)
            assert line["sent_id"] == record["sent_id"]
            for name in ("length", *ENTROPY.columns):
                assert float(line[name]) == record[name]
    assert "csv" in FORMATS
    result = arborand("sample", SCORES, "-o", tmp_path / "t.csv")
    assert result.status == 2
    assert "cannot be written as csv" in " ".join(result.err.replace("│", " ").split())


def test_ids_with_separators_are_quoted(tmp_path):
    import csv

    rows = Rows(
        ['a,"b"\n', "c\td", "e\r"],
        np.ones(3, dtype=np.int32),
        np.ones(3, dtype=int),
        {"log_partition": np.array([0.5, -np.inf, 1.0])},
    )
    for kind, separator in (("csv", ","), ("tsv", "\t")):
        save_rows(tmp_path / kind, kind, LOG_PARTITION, {}, rows)
        with (tmp_path / kind).open(newline="") as file:
            _, *lines = csv.reader(file, delimiter=separator)
        assert lines == [['a,"b"\n', "1", "0.5"], ["c\td", "1", "-inf"], ["e\r", "1", "1.0"]]
        assert (tmp_path / kind).read_bytes().count(b"\r") == 1  # lines end with \n alone


def test_entropy_takes_words_and_says_its_unit(arborand):
    result = arborand("entropy", SCORES, "--conllu", CORPUS / "sentences.conllu")
    text = result.out.decode()
    assert "entropy (nats)" in text
    assert "She painted the boat in the harbour" in text
    assert "text" not in arborand("entropy", SCORES).out.decode()


@pytest.mark.parametrize(
    "command",
    [("sample", SCORES, "-o"), ("show", SCORES, "-o"), ("convert", SCORES), ("logz", SCORES, "-o")],
)
def test_a_folder_that_does_not_exist_is_named(command, arborand, tmp_path):
    ending = "html" if command[0] == "show" else "npz"
    result = arborand(*command, tmp_path / "missing" / f"x.{ending}")
    assert result.status == 1
    assert f"the folder {tmp_path / 'missing'} does not exist" in result.err


def test_every_command_that_writes_says_what_it_wrote(arborand, tmp_path):
    for command, name in (
        (("sample", SCORES, "-o"), "t.conllu"),
        (("marginals", SCORES, "-o"), "m.npz"),
        (("logz", SCORES, "-o"), "z.tsv"),
        (("entropy", SCORES, "-o"), "e.parquet"),
        (("convert", SCORES), "s.safetensors"),
        (("show", SCORES, "--max-sentences", 1, "-o"), "p.html"),
    ):
        result = arborand(*command, tmp_path / name)
        assert (result.status, result.out.decode()) == (0, f"written: {tmp_path / name}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sample", SCORES, "-k", 10**30), "less than or equal to 2147483647"),
        (("sample", SCORES, "--workers", 10**30), "less than or equal to 1024"),
        (("show", SCORES, "--num-draws", 10**30, "-o", "x.html"), "less than or equal to"),
    ],
)
def test_impossible_numbers_are_refused(arguments, message, arborand):
    result = arborand(*arguments)
    assert result.status == 2
    assert message in " ".join(result.err.replace("│", " ").split())


def test_a_number_of_trees_beyond_memory_is_named(arborand, tmp_path, monkeypatch):
    from arborand.corpus import computations

    def full(self, run):
        raise MemoryError

    monkeypatch.setattr(computations.SamplingWithoutReplacement, "__call__", full)
    result = arborand("sample", SCORES, "-k", 10**9, "--without-replacement", "-o", "-", "--format",
                      "jsonl")  # fmt: skip
    assert result.status == 1
    assert "not enough memory for 12 words and 1000000000 trees of them" in result.err


@pytest.mark.slow
def test_closed_streams_are_one_sentence(tmp_path):
    command = f"{sys.executable} -m arborand"
    for arguments, message in [
        (f"check {SCORES} >&-", "standard output is closed"),
        (f"sample {SCORES} -o - --format jsonl >&-", "standard output is closed"),
        ("--help >&-", "standard output is closed"),
        ("check - <&-", "standard input is closed"),
        (f"check {SCORES} >/dev/full", "No space left on device"),
    ]:
        done = subprocess.run(
            ["bash", "-c", f"{command} {arguments}"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert done.stderr.startswith("arborand: ")
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = subprocess.run(
        ["bash", "-c", f"{command} check nothing 2>&-"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("kind", ["npz", "parquet", "safetensors"])
def test_check_finds_ids_that_several_sentences_share(kind, arborand, tmp_path):
    corpus = random_corpus(9)
    for i in (2, 3, 4, 5, 6, 7, 8):
        corpus.sent_ids[i] = "twice" if i in (3, 8) else "often"
    corpus.save(tmp_path / "s.npz")
    arborand("convert", tmp_path / "s.npz", tmp_path / f"t.{kind}")
    result = arborand("check", tmp_path / f"t.{kind}")
    text = result.out.decode()
    assert result.status == 1
    assert "all sentences have dependency trees" in text
    assert "2 sent_ids are shared by several sentences:" in text
    assert "  twice: sentences number 4, 9\n" in text
    assert "  often: sentences number 3, 5, 6, 7, 8\n" in text
    assert "s-0" not in text


def test_check_finds_shared_ids_of_sentences_that_cannot_be_used(arborand, tmp_path):
    lengths, ids = [1, 0, 1, 0, 1, 1], ["a", "b", "c", "c", "d", "b"]
    sizes = sum((length + 1) ** 2 for length in lengths)
    np.savez(tmp_path / "s.npz", lengths=lengths, scores=np.zeros(sizes), sent_ids=ids)
    result = arborand("check", tmp_path / "s.npz")
    assert result.status == 1
    text = result.out.decode()
    assert "2 of 6 sentences cannot be used:" in text
    assert "2 sent_ids are shared by several sentences:" in text
    assert "  b: sentences number 2, 6\n" in text
    assert "  c: sentences number 3, 4\n" in text


def test_check_knows_no_shared_ids_where_there_are_none(arborand, tmp_path):
    corpus = random_corpus(4)
    np.savez(tmp_path / "s.npz", lengths=corpus.lengths, scores=corpus.flat)
    assert arborand("check", tmp_path / "s.npz").status == 0
    (tmp_path / "c.conllu").write_text(conllu_of(corpus))
    assert arborand("check", tmp_path / "s.npz", "--conllu", tmp_path / "c.conllu").status == 0

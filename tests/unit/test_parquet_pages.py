"""Arrow reads the Parquet files that are laid out here, and finds in them what was written."""

import io

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arborand.errors import OutputError
from arborand.formats import parquet_pages
from arborand.formats.parquet_pages import Column, ParquetFile, Values
from arborand.formats.parquet_sizes import check_pages, read_row_groups


def compress(data, codec):
    return pyarrow.compress(data, codec, asbytes=True)


def written(columns, groups):
    """Write row groups, each a list of pages, each a list of some rows: how many, and columns."""
    file = io.BytesIO()
    parquet = ParquetFile(file.write, compress, columns)
    for pages in groups:
        for pieces in pages:
            for num_rows, values in pieces:
                parquet.add_rows(num_rows, values)
            parquet.end_page()
        parquet.end_group()
    parquet.close({"key": "value"})
    return file


def read(file):
    for group in read_row_groups(file):  # with which readers of hostile files begin
        for chunk in group.chunks:
            check_pages(file, chunk, 1 << 30)
    found = pyarrow.parquet.ParquetFile(file, page_checksum_verification=True)
    assert found.metadata.metadata == {b"key": b"value"}
    return found


pages_of_lists = st.lists(
    st.lists(st.lists(st.integers(0, 300), max_size=20), min_size=1, max_size=9),
    min_size=1,
    max_size=4,
)


def pieces_of(lists, dtype):
    """Divide the lists of a page into two pieces, integers as bytes if all of a piece fit."""
    pieces = []
    for part in filter(None, (lists[:2], lists[2:])):
        flat = np.array([number for one in part for number in one], dtype=dtype)
        if dtype == "i4" and flat.max(initial=0) < 256:
            flat = flat.astype(np.uint8)
        sizes = np.array([len(one) for one in part])
        pieces.append((len(part), [Values(flat, np.ones_like(sizes), sizes)]))
    return pieces


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
@settings(derandomize=True, max_examples=60, deadline=None)
@given(groups=st.lists(pages_of_lists, min_size=1, max_size=3))
def test_lists_of_numbers_come_back(dtype, groups):
    content = [[pieces_of(lists, dtype) for lists in pages] for pages in groups]
    file = read(written([Column("numbers", dtype, is_list=True)], content))
    assert file.num_row_groups == len(groups)
    found = file.read()["numbers"].to_pylist()
    assert found == [one for pages in groups for lists in pages for one in lists]


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.none() | st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4),
        min_size=1,
        max_size=20,
    )
)
def test_lists_of_strings_may_be_empty_or_missing(rows):
    words = [word.encode() for row in rows for word in row or ()]
    sizes = np.array([-1 if row is None else len(row) for row in rows])
    column = Column("tokens", "text", is_list=True, is_optional=True)
    file = read(written([column], [[[(len(rows), [Values(words, np.ones_like(sizes), sizes)])]]]))
    assert file.read()["tokens"].to_pylist() == rows


def test_packed_numbers_fill_their_last_group():
    """Arrow does not mind, but others may read groups of eight whole."""
    levels = parquet_pages._list_levels(np.array([-1, 0, 2]), np.ones(3, int), is_optional=True)
    # Lengths of four bytes; one group of 0, 0, 0, 1; runs of 0, of 1, and of 2 and 2.
    assert levels == (bytes.fromhex("02000000 03 08 06000000 0200 0201 0402"), 4)
    codes = parquet_pages._bytes_as_codes([np.array([7]), np.array([8])])
    assert b"".join(codes) == bytes.fromhex("08 03 0708000000000000")


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    pages=st.lists(
        st.lists(st.tuples(st.integers(0, 400), st.integers(1, 200)), min_size=1, max_size=30),
        min_size=1,
        max_size=4,
    )
)
def test_repeated_strings_come_back_from_a_dictionary_that_grows(pages):
    content, expected = [], []
    for runs in pages:
        names = [f"sentence {number}" for number, _ in runs]
        repeats = np.array([count for _, count in runs])
        values = Values([name.encode() for name in names], repeats)
        content.append([(int(repeats.sum()), [values])])
        expected += [name for name, count in zip(names, repeats, strict=True) for _ in range(count)]
    file = read(written([Column("sent_id", "text")], [content]))
    assert file.read()["sent_id"].to_pylist() == expected
    bounds = file.metadata.row_group(0).column(0).statistics
    assert (bounds.min, bounds.max, bounds.null_count) == (min(expected), max(expected), 0)


def test_a_file_of_many_columns_and_groups():
    columns = [Column(f"column {i}", "f8") for i in range(20)]  # lists of over 14 are told apart
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(30, 20, 5))
    numbers[3] = 0.5  # what compresses well
    groups = [[[(5, [Values(column) for column in group])]] for group in numbers]
    file = read(written(columns, groups))
    assert file.num_row_groups == 30
    found = np.array([file.read()[column.name].to_pylist() for column in columns])
    np.testing.assert_array_equal(found, numbers.swapaxes(0, 1).reshape(20, -1))


def test_a_file_without_rows():
    file = read(written([Column("sent_id", "text"), Column("heads", "i4", is_list=True)], []))
    assert file.read().num_rows == 0
    assert str(file.schema_arrow.field("heads").type) == "list<element: int32 not null>"


def test_a_damaged_page_is_noticed():
    whole = written([Column("x", "f8")], [[[(1000, [Values(np.arange(1000.0))])]]]).getvalue()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    with pytest.raises(OSError, match="CRC"):
        read(io.BytesIO(damaged)).read()


TOO_LARGE = "{} takes {} bytes in one page, too many for Parquet"


def test_a_row_that_is_too_large_for_a_page_is_refused(monkeypatch):
    monkeypatch.setattr(parquet_pages, "_MAX_PAGE", 1000)
    with pytest.raises(OutputError, match=TOO_LARGE.format("x", 1608)):
        written([Column("x", "f8")], [[[(201, [Values(np.zeros(201))])]]])


def test_a_dictionary_that_is_too_large_for_a_page_is_refused(monkeypatch):
    monkeypatch.setattr(parquet_pages, "_MAX_PAGE", 1000)
    ids = Values([bytes([i]) * 96 for i in range(11)], repeats=np.ones(11, dtype=int))
    with pytest.raises(OutputError, match=TOO_LARGE.format("sent_id", 1100)):
        written([Column("sent_id", "text")], [[[(11, [ids])]]])


def test_a_page_that_compression_makes_too_large_is_refused(monkeypatch):
    noise = np.random.default_rng(0).random(125)
    size = len(compress(noise.tobytes(), "snappy"))
    assert size > noise.nbytes
    monkeypatch.setattr(parquet_pages, "_MAX_PAGE", noise.nbytes)
    with pytest.raises(OutputError, match=TOO_LARGE.format("x", size)):
        written([Column("x", "f8")], [[[(125, [Values(noise)])]]])

"""Hugging Face datasets and Ray Data draw the trees of `arborand sample`, however rows go round."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from arborand import corpus
from tests.command_line import random_corpus
from tests.fronts.corpus.shards import patiently

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def rows(tmp_path):
    scores = random_corpus(60, seed=2, longest=8)
    table = pyarrow.table(
        {
            "sent_id": scores.sent_ids,
            "index": np.arange(60),
            "log_weights": [matrix.ravel() for matrix in scores.matrices],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "scores.parquet", row_group_size=13)
    corpus.run("sample", tmp_path / "scores.parquet", tmp_path / "trees", num_trees=3, seed=1)
    expected = pyarrow.parquet.read_table(tmp_path / "trees" / "scores.parquet").to_pylist()
    return table, {(row["sent_id"], row["sample"]): row["heads"] for row in expected}


def found(drawn):
    return {(row["sent_id"], row["sample"]): list(row["heads"]) for row in drawn}


def test_datasets_map(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    import datasets

    datasets.disable_progress_bars()
    table, expected = rows
    sample = corpus.SampleTrees(3, seed=1)
    plain = datasets.Dataset(table.drop_columns(["index"]))
    options = {"batched": True, "batch_size": 7, "remove_columns": plain.column_names}
    assert found(plain.map(sample, with_indices=True, **options)) == expected
    arrow = plain.with_format("arrow").map(sample, with_indices=True, **options)
    assert found(arrow.with_format(None)) == expected
    shuffled = datasets.Dataset(table).shuffle(seed=3)
    options["remove_columns"] = shuffled.column_names
    assert found(shuffled.map(sample, **options)) == expected


@pytest.mark.parametrize("form", ["pyarrow", "numpy", "pandas"])
def test_ray_data_map_batches(form, rows, tmp_path_factory):
    import ray

    table, expected = rows
    start = partial(
        ray.init,
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        _node_ip_address="127.0.0.2",  # see test_ray.py
        _temp_dir=str(tmp_path_factory.mktemp("r")),
    )
    patiently(start)
    try:
        dataset = ray.data.from_arrow(table).random_shuffle(seed=5)
        sample = corpus.SampleTrees(3, seed=1)
        drawn = dataset.map_batches(sample, batch_format=form, batch_size=7).take_all()
    finally:
        ray.shutdown()
    assert found(drawn) == expected

"""The example that trains a parser, end to end on the bundled corpus."""

import json
import shlex
import subprocess
import sys

import pytest

from examples import train_parser


@pytest.mark.parametrize(
    ("options", "least_uas"),
    [
        (["--objective", "likelihood"], 0.95),
        (["--objective", "entropy"], 0.95),
        (["--objective", "risk"], 0.9),
        (["--objective", "risk", "--num-draws", "4"], 0.7),
        (["--objective", "partial"], 0.55),  # half of the heads were hidden
    ],
    ids=lambda value: " ".join(value[1:]) if isinstance(value, list) else "",
)
def test_the_parser_learns_its_sentences(options, least_uas, capsys):
    losses = train_parser.main([*options, "--epochs", "25", "--seed", "1"])
    # Risk has another unit than the likelihood it starts from: look at its own epochs.
    assert losses[-1] < 0.9 * (losses[15] if "risk" in options else 0.5 * losses[0])
    lines = capsys.readouterr().out.splitlines()
    training = next(line for line in lines if line.startswith("training"))
    assert float(training.split("UAS")[1].split("%")[0]) / 100 >= least_uas
    assert any(line.startswith("held out") for line in lines)
    assert "minimum risk" in training


def test_the_command_line_reads_the_scores_it_saves(tmp_path, capsys):
    path = tmp_path / "scores.npz"
    train_parser.main(["--epochs", "1", "--save", str(path)])
    arborand = [sys.executable, "-m", "arborand"]
    # What it says at the end can be done.
    name, *words = shlex.split(capsys.readouterr().out.splitlines()[-1])
    assert (name, words[0]) == ("arborand", "show")
    shown = subprocess.run(
        [*arborand, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    assert "painted" in (tmp_path / "page.html").read_text(encoding="utf-8")
    sampled = subprocess.run(
        [*arborand, "sample", str(path), "--seed", "1", "-o", "-", "--format", "jsonl"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert len([json.loads(line) for line in sampled.stdout.splitlines()]) >= 12

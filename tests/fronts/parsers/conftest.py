"""A parser of stanza, trained for half a minute on a treebank made by a grammar."""

import subprocess
import sys

import pytest

from tests.fronts.parsers.treebank import write_treebank

SMALL = {
    "hidden_dim": 48,
    "char_hidden_dim": 16,
    "deep_biaff_hidden_dim": 48,
    "word_emb_dim": 24,
    "char_emb_dim": 12,
    "tag_emb_dim": 24,
    "transformed_dim": 24,
    "num_layers": 1,
    "optim": "adam",
    "lr": 0.003,
    "weight_decay": 0,
    "max_steps": 60,
    "eval_interval": 30,
    "batch_size": 600,
    "word_cutoff": 0,
}


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    """Make a folder with ``parser.pt`` and ``test.conllu``, 80 sentences it has not seen."""
    folder = tmp_path_factory.mktemp("stanza")
    train = write_treebank(folder / "train.conllu", 200, seed=1)
    dev = write_treebank(folder / "dev.conllu", 20, seed=2)
    write_treebank(folder / "test.conllu", 80, seed=3)
    options = [word for name, value in SMALL.items() for word in (f"--{name}", str(value))]
    command = [
        *(sys.executable, "-m", "stanza.models.parser", "--mode", "train", "--cpu"),
        *("--lang", "en", "--shorthand", "en_toy", "--no_pretrain", "--seed", "1"),
        *("--train_file", train, "--eval_file", dev, "--save_dir", folder),
        *("--save_name", "parser.pt", "--no_checkpoint", "--no_second_optim", "--no_plateau"),
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder

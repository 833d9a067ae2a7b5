"""Train a small parser of supar: ``python train_supar.py TRAIN DEV MODEL``."""

import os
import sys
import warnings

os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # supar reloads its best model
warnings.simplefilter("ignore")

from supar import BiaffineDependencyParser  # noqa: E402

train, dev, model = sys.argv[1:]
options = {
    "train": train,
    "dev": dev,
    "test": dev,
    "embed": None,
    "unk": "unk",
    "feat": ["tag"],
    "build": True,
    "checkpoint": False,
    "encoder": "lstm",
    "device": "cpu",
    "verbose": False,
    "n_embed": 32,
    "n_pretrained": 0,
    "n_feat_embed": 16,
    "n_lstm_hidden": 48,
    "n_lstm_layers": 1,
    "n_arc_mlp": 48,
    "n_rel_mlp": 24,
    "punct": True,
    "partial": False,
    "proj": False,
    "tree": True,
    "amp": False,
    "seed": 1,
    "lr": 5e-3,
    "mu": 0.9,
    "nu": 0.9,
    "eps": 1e-12,
    "weight_decay": 0,
    "decay": 0.75,
    "decay_steps": 5000,
}
parser = BiaffineDependencyParser.build(model, min_freq=1, **options)
parser.train(buckets=8, batch_size=600, epochs=6, patience=100, **options)

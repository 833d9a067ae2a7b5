"""The example that trains a parser with JAX, end to end on the bundled corpus."""

import pytest

from examples import train_parser_jax


@pytest.mark.parametrize(
    ("objective", "least_uas"), [("likelihood", 0.95), ("entropy", 0.95), ("risk", 0.9)]
)
def test_the_parser_learns_its_sentences(objective, least_uas, capsys):
    losses = train_parser_jax.main(["--objective", objective, "--steps", "60", "--seed", "1"])
    # Risk has another unit than the likelihood it starts from: look at its own steps.
    first = losses[20] if objective == "risk" else losses[0]
    assert losses[-1] < 0.5 * first
    lines = capsys.readouterr().out.splitlines()
    training = next(line for line in lines if line.startswith("training"))
    assert float(training.split("UAS")[1].strip().removesuffix("%")) / 100 >= least_uas
    assert any(line.startswith("held out") for line in lines)

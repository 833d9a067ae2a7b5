"""The five commands of the page, run with a parser that was trained here."""

import re
import shlex
from functools import partial
from pathlib import Path

import pytest

from tests.command_line import call

PAGE = Path(__file__).parents[3] / "docs" / "from_a_parser.md"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_five_commands_lead_to_the_page(toy, monkeypatch, capsysbinary, tmp_path):
    block = re.search(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[1]
    lines = block.splitlines()
    assert len(lines) == 5
    commands = [shlex.split(line) for line in lines if line.startswith("arborand ")]
    assert [words[1] for words in commands] == ["score", "entropy", "show"]
    (tmp_path / "corpus.conllu").write_bytes((toy / "test.conllu").read_bytes())
    monkeypatch.chdir(tmp_path)
    arborand = partial(call, monkeypatch, capsysbinary)
    for words in commands:
        # Models of languages cannot be had without the network.
        arguments = [str(toy / "parser.pt") if word == "en" else word for word in words[1:]]
        result = arborand(*arguments)
        assert result.status == 0, result.err
        if words[1] == "entropy":
            assert "10 of 80 sentences, the most uncertain first" in result.err
    page = (tmp_path / "unsure.html").read_text(encoding="utf-8")
    assert "20 of 80 sentences, the most uncertain first" in page
    assert len(re.findall(r"<h2.*?><bdi>toy-3-\d+</bdi>", page)) == 20

"""Help: one screen per command at 80 columns, and nothing in it that the command does not take."""

import re
import shlex

import pytest
import typer

from arborand.cli.app import app
from arborand.formats.outputs import FORMATS, formats_of
from arborand.formats.records import (
    BEST_TREES,
    ENTROPY,
    EVALUATION,
    FINDINGS,
    LOG_PARTITION,
    MARGINALS,
    TREES,
)
from tests.command_line import call

COMMANDS = typer.main.get_command(app).commands
LINES = 66  # of a terminal that is as high as a screen of today
FORMATS_OF = {
    "sample": TREES,
    "best": BEST_TREES,
    "marginals": MARGINALS,
    "logz": LOG_PARTITION,
    "entropy": ENTROPY,
    "evaluate": EVALUATION,
    "check": FINDINGS,
}


@pytest.fixture
def help_of(monkeypatch, capsysbinary):
    def text(*command, width=80):
        monkeypatch.setenv("COLUMNS", str(width))
        result = call(monkeypatch, capsysbinary, *command, "--help")
        assert result.status == 0, result.err
        return result.out.decode()

    return text


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=str)
def test_help_is_a_screen(help_of, command, width):
    text = help_of(*command, width=width)
    lines = text.splitlines()
    assert lines[0].startswith(f"Usage: arborand {' '.join(command)}".rstrip())
    assert all(len(line) <= min(width, 100) for line in lines)
    assert len(lines) <= LINES
    for word in ("<bool>", "<int", "<list", "<str>", "{", "[bold]", "[cyan]", "[required]"):
        assert word not in text
    assert not any(line.strip() in ("and", "or", "of", "\\") for line in lines)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_listed_once_and_flags_take_nothing(help_of, name):
    text = help_of(name).partition("\nExamples:")[0]
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option":
            option = max(parameter.opts, key=len)
            found = re.findall(rf"^  (?:-\w, )?{option}(?: / --\S+)?(?: (\S+))?", text, re.M)
            assert len(found) == 1, parameter.opts
            if not parameter.is_flag:
                assert found == [parameter.metavar]
        assert parameter.help


@pytest.mark.parametrize("name", FORMATS_OF)
def test_the_formats_are_those_that_the_command_accepts(help_of, name):
    text = " ".join(help_of(name).split())
    listed = re.search(r"--format NAME If the ending does not say: ([a-z, ]+)\.", text)[1]
    assert tuple(listed.split(", ")) == formats_of(FORMATS_OF[name])
    assert set(listed.split(", ")) <= set(FORMATS)


def test_options_of_jobs_are_where_jobs_are(help_of):
    for name in COMMANDS:
        is_job = "--engine" in help_of(name)
        assert is_job == ("Jobs that write a folder" in help_of(name))
        assert is_job == (
            name in ("sample", "best", "marginals", "logz", "entropy", "convert", "check")
        )


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_can_be_pasted(help_of, name):
    text = help_of(name).partition("\nExamples:\n")[2].replace("\\\n", " ")
    examples = [line.strip() for line in text.splitlines() if not line.strip().startswith("#")]
    assert examples
    for example in examples:
        words = shlex.split(example)
        assert words[:2] == ["arborand", name]
        # Parsed as the shell would pass it: an unknown option or a missing argument raises.
        context = COMMANDS[name].make_context(name, list(words[2:]))
        assert context.params


def test_the_pages_of_all_commands_are_listed(help_of):
    text = help_of()
    for name in COMMANDS:
        assert re.search(rf"^  {name}  ", text, re.M)
    for example in re.findall(r"^  (arborand .*)", text, re.M):
        assert shlex.split(example)[1] in COMMANDS

"""The text of ``--help``: one screen per command, in sections, with examples to paste.

The docstring of a command is its description.  Its paragraphs are broken to the width of the
terminal; its examples are printed as they are, last, where they are seen first.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from arborand.cli.options import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

# The widest line, and how far the texts of options are indented.
_WIDEST, _INDENT = 100, 27
_EXAMPLES = "Examples\n--------\n"
_OTHERS = "Other options"


class Command(TyperCommand):
    """A command whose help is written here."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the command."""
        formatter.write(_help(self, ctx, formatter.width))


class Commands(TyperGroup):
    """All commands, whose help is written here."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of all commands."""
        formatter.write(_help(self, ctx, formatter.width))


def _help(command: Any, context: Any, width: int) -> str:
    width = min(width + 1, _WIDEST)  # up to the last column
    usage = command.get_usage(context)
    lines = [usage.replace("{", "").replace("}", ""), ""]
    description, _, examples = inspect.cleandoc(command.help or "").partition(_EXAMPLES)
    for paragraph in description.strip().split("\n\n"):
        lines += [*textwrap.wrap(" ".join(paragraph.split()), width), ""]
    for title, entries in _sections(command, context).items():
        lines += [_title(title), *_listed(entries, width), ""]
    if examples:
        lines += [
            _title("Examples"),
            *textwrap.indent(inspect.cleandoc(examples), "  ").split("\n"),
        ]
        lines.append("")
    lines += textwrap.wrap(command.epilog or "", width)
    return "\n".join(lines).rstrip() + "\n"


def _title(text: str) -> str:
    return typer.style(f"{text}:", bold=True)


def _sections(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Sort arguments, options and commands into sections: names, and what they are."""
    found: dict[str, list[tuple[str, str]]] = {}
    is_group = isinstance(command, TyperGroup)
    for parameter in command.get_params(context):
        if getattr(parameter, "hidden", False) or (parameter.name == "help" and not is_group):
            continue
        if parameter.param_type_name == "argument":
            section, names = "Arguments", parameter.metavar
        else:
            section = getattr(parameter, "rich_help_panel", None) or _OTHERS
            names = ", ".join(sorted(parameter.opts, key=len))
            names += "".join(f" / {name}" for name in parameter.secondary_opts)
            names += "" if parameter.is_flag else f" {parameter.metavar}"
        text, default = parameter.help or "", parameter.default
        is_worth_it = default is not None and not isinstance(default, bool)
        if is_worth_it and parameter.show_default and parameter.param_type_name != "argument":
            text += f" [{default}]"
        found.setdefault(section, []).append((names, text))
    if is_group:
        for name in command.list_commands(context):
            summary = command.get_command(context, name).help.partition("\n\n")[0]
            found.setdefault("Commands", []).append((name, " ".join(summary.split())))
    order = [title for title in found if title not in (*SECTIONS, _OTHERS)]
    return {title: found[title] for title in (*order, *SECTIONS, _OTHERS) if title in found}


def _listed(entries: list[tuple[str, str]], width: int) -> Iterator[str]:
    """Write names with their texts beside them, or below names that are too long."""
    indent = min(_INDENT, max(len(names) for names, _ in entries) + 4)
    for names, text in entries:
        first, *rest = textwrap.wrap(text, width - indent) or [""]
        if len(names) + 4 > indent:
            yield f"  {names}"
            yield " " * indent + first
        else:
            yield f"  {names}".ljust(indent) + first
        yield from (" " * indent + line for line in rest)

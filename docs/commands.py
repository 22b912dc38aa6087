"""The page of all commands, made from the commands: `python docs/commands.py` writes docs/commands.md."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any

import typer
from rich.text import Text

PAGE = Path(__file__).parent / "commands.md"
HEAD = """# Commands

Every command of `inbounds` with what it takes, made from the commands themselves (`python docs/commands.py`). The same
words are printed by `inbounds COMMAND --help`. The command `inbounds studies` comes with the package `inbounds-studies`
([The five papers](studies/index.md)).
"""


def page() -> str:
    """The whole page as Markdown."""
    from inbounds.cli import app

    group = typer.main.get_command(app)
    return "\n".join([HEAD, *_of_group(group, "inbounds", 2)])


def _of_group(group: Any, path: str, level: int) -> Iterator[str]:
    for name, command in group.commands.items():
        if not command.hidden:
            yield from _of_command(command, f"{path} {name}", level)


def _of_command(command: Any, path: str, level: int) -> Iterator[str]:
    about, *examples = (_plain(part) for part in (command.help or "").split("Example:"))
    yield f"{'#' * level} `{path}`\n\n{about}\n"
    if hasattr(command, "commands"):
        yield from _of_group(command, path, level + 1)
        return
    context = command.make_context(path, [], resilient_parsing=True)
    shown = [part for part in command.get_params(context) if not getattr(part, "hidden", False) and part.name != "help"]
    yield "\n".join(
        ["```sh", *_folded(_usage(path, shown)), *(line for one in examples for line in _folded(one)), "```\n"]
    )
    if shown:
        yield "\n".join(["| | |", "|---|---|", *(_row(part, context) for part in shown)]) + "\n"


def _usage(path: str, parts: list[Any]) -> str:
    arguments = [_argument(part) for part in parts if part.param_type_name == "argument"]
    return " ".join([path, *arguments, "[OPTIONS]"])


def _argument(part: Any) -> str:
    name = (part.metavar or part.name).upper()
    return name if part.required else f"[{name}]"


def _folded(command: str) -> list[str]:
    """A command over several lines of a page, as a shell reads it."""
    lines = wrap(command, 80, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def _row(part: Any, context: Any) -> str:
    if part.param_type_name == "argument":
        name, words = _argument(part), part.help or ""
    else:
        name, words = part.get_help_record(context) or ("", "")
    return f"| `{name.strip()}` | {_cell(words)} |"


def _cell(words: str) -> str:
    return escape(_plain(words), quote=False).replace("|", "\\|")


def _plain(words: str | None) -> str:
    """Words of a help text without the marks of a terminal."""
    return " ".join(Text.from_markup(words or "").plain.replace("\b", "").split())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

"""What all commands share: the Typer app, the consoles, the style of options and the handling of errors."""

import os
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, TypeVar
from unicodedata import category

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text
from typer.core import TyperCommand, TyperGroup, TyperOption

from inbounds import __version__
from inbounds.cli.plugins import PluginCommand, find_plugins
from inbounds.errors import InboundsError

F = TypeVar("F", bound=Callable[..., Any])


class _OptionWords:
    """A mixin that shows in --help what to type after an option: FILE or NUMBER, and nothing after a flag."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for option in params:
            if isinstance(option, TyperOption) and option.metavar is None:
                shown = option.display_type(ctx)
                option.metavar = next((word for kind, word in WORDS.items() if kind in shown), "TEXT")
        return params


WORDS = {"bool": "", "int": "NUMBER", "float": "NUMBER", "path": "FILE", "file": "FILE", "Path": "FILE"}


class Command(_OptionWords, TyperCommand):
    """A command with this tool's style of help."""


class _Group(_OptionWords, TyperGroup):
    pass


class _Root(_Group):
    """The top-level group: our commands, then those of other packages, which are imported when they are called."""

    @cached_property
    def plugins(self) -> Mapping[str, PluginCommand]:
        return find_plugins()

    def list_commands(self, ctx: Any) -> list[str]:
        return list({**self.commands, **self.plugins})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self.commands.get(cmd_name) or self.plugins.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, PluginCommand):
            try:
                command = command.load()
            except ImportError:
                if not ctx.resilient_parsing:  # shell completion offers nothing
                    raise
        return name, command, rest


class Commands(typer.Typer):
    """A group of commands with this tool's style of help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"cls": _Group, "no_args_is_help": True, "rich_markup_mode": "rich", **settings})

    def command(self, name: str | None = None, **settings: Any) -> Callable[[F], F]:
        return super().command(name, **{"cls": Command, **settings})


app = Commands(
    cls=_Root,
    help="""Differentially private answers that stay in bounds: optimal by design, private by proof.

    Example: [bold]inbounds design count --size 20 --epsilon 0.5 --out m.json[/]""",
    epilog="Exit codes: 0 done, 1 refused (not private, changed, infeasible, too large), 2 misuse.",
    pretty_exceptions_enable=False,
)


class _Terminal(Console):
    """A console that prints text literally: control characters and emoji names have no effect.

    A reader that closes the pipe early, such as head, is not an error.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        return super().render_str(escape_controls(text, keep="\n\t"), **settings)

    def on_broken_pipe(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0)


def escape_controls(text: str, keep: str = "") -> str:
    r"""Return a text in which every character that a terminal would obey or hide is written as its escape code.

    >>> escape_controls("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    hidden = {letter for letter in text if letter not in keep and category(letter) in OBEYED}
    return text.translate({ord(letter): repr(letter)[1:-1] for letter in hidden})


OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories of control and format characters, including those that change the writing direction."""

out = _Terminal()
err = _Terminal(stderr=True)

TABLES, MECHANISMS, MORE = "Private tables", "Mechanisms", "Local privacy, repeated answers"
"""The headings of the first page."""

NUMBER = "NUMBER"
"""The metavar of a value that is read exactly, not as a float."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text.")]
Epsilon = Annotated[str, typer.Option(help="Privacy parameter, e.g. 0.5 or 1/2.", metavar=NUMBER)]


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    if version:
        typer.echo(f"inbounds {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; errors are one sentence unless --debug, wherever it stands, asks for the traceback."""
    try:
        app([word for word in sys.argv[1:] if word != "--debug"], prog_name="inbounds")
    except (InboundsError, ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        if "--debug" in sys.argv:
            raise
        err.print(f"[bold red]inbounds:[/] {escape(_sentence(error))}")
        raise SystemExit(1 if isinstance(error, InboundsError | MemoryError) else 2) from None


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.strerror}: {error.filename}"
    if isinstance(error, MemoryError):
        return "this needs more memory than there is; use coarser answers, a smaller range or smaller groups"
    return str(error)

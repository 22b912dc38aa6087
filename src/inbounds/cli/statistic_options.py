"""One option for every statistic, the same in every command: made from the declarations in `statistics`."""

import inspect
from collections.abc import Callable
from copy import copy
from functools import cached_property, wraps
from typing import Annotated, Any, get_args

import typer
from typer.main import get_command

from inbounds.cli.app import Command
from inbounds.optional import import_optional

Action = Callable[..., None]
BY_NAME = inspect.Parameter.KEYWORD_ONLY
STATISTICS = "statistics"
"""The name of the keywords `**statistics` that a command takes."""


class StatisticCommand(Command):
    """A command that takes `**statistics` and has one option for each of them.

    The options are made when the command is called, completed or explained. `inbounds --help` does not need them and
    does not import the statistics.
    """

    def __init__(self, *values: Any, params: list[Any], **settings: Any) -> None:
        super().__init__(*values, params=[param for param in params if param.name != STATISTICS], **settings)

    @cached_property
    def _complete(self) -> Any:
        """Return the same command with an option for every statistic. Raises ImportError if an extra is missing."""
        single = typer.Typer(add_completion=False)
        single.command()(with_statistic_options(inspect.unwrap(self.callback)))  # type: ignore[arg-type]
        return get_command(single)

    def get_params(self, ctx: Any) -> list[Any]:
        try:
            self.params, self.callback = self._complete.params, self._complete.callback
        except ImportError:
            if not ctx.resilient_parsing:  # shell completion offers the other options
                raise
        return super().get_params(ctx)


def with_statistic_options(command: Action) -> Action:
    """Give a command, which takes `**statistics`, an option for each kind instead; they come after its arguments.

    The annotation of `**statistics` holds for each option: its type, and a `typer.Option` with its heading.
    """
    import_optional("pydantic", "tables")
    registry = import_optional("inbounds.statistics", "tables").STATISTICS

    *parameters, statistics = inspect.signature(command).parameters.values()
    value_type, settings = get_args(statistics.annotation)
    options = []
    for kind, statistic in registry.items():
        option = copy(settings)
        option.help, option.metavar = statistic.summary(), statistic.metavar
        options.append(
            statistics.replace(name=kind, kind=BY_NAME, default=None, annotation=Annotated[value_type, option])
        )
    arguments = [parameter for parameter in parameters if _is_argument(parameter)]
    rest = [parameter for parameter in parameters if not _is_argument(parameter)]

    @wraps(command)
    def run(**values: Any) -> None:
        command(**values)

    by_name = [parameter.replace(kind=BY_NAME) for parameter in (*arguments, *options, *rest)]
    run.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in by_name}
    return run


def _is_argument(parameter: inspect.Parameter) -> bool:
    return any(isinstance(mark, typer.models.ArgumentInfo) for mark in get_args(parameter.annotation)[1:])

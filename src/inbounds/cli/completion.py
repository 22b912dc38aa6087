"""Shell completion of half-typed names. A file that cannot be read offers nothing."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import typer

from inbounds.files import RELEASE


def complete_prefix(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that begin with what was typed."""
    return [name for name in names if name.startswith(incomplete)]


def complete_list(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a completion of the last of several names separated by commas."""

    def completed(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in complete_prefix(names, last)]

    return completed


def statistics(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the statistics of the release record named earlier on the line."""
    return complete_prefix(
        _in_record(ctx, lambda record: (one["name"] for one in record["plan"]["statistics"])), incomplete
    )


def sizes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the group sizes in the record."""
    return complete_prefix(_in_record(ctx, lambda record: {use["size"]: 0 for use in record["mechanisms"]}), incomplete)


def _in_record(ctx: typer.Context, names: Callable[[Any], Iterable[Any]]) -> list[str]:
    """Return names from a record, which is not checked here."""
    try:
        # an option without its value ends the parsing before arguments have their names
        content = json.loads(Path(ctx.args[0]).read_text("utf-8"))
        return [str(name) for name in names(content["content"])] if content["format"] == RELEASE else []
    except (IndexError, KeyError, OSError, TypeError, ValueError):
        return []


def mechanisms(incomplete: str) -> list[str]:
    """Complete "optimal" and the named mechanisms that need only a query and an epsilon."""
    from inbounds.catalog.registry import families

    return complete_prefix(("optimal", *families()), incomplete)


def methods(incomplete: str) -> list[str]:
    """Complete the methods of reconstruction."""
    from inbounds.local.reconstruct.methods import Method

    return complete_prefix(get_args(Method), incomplete)


def every(incomplete: str) -> list[str]:
    """Complete the periods after which a budget renews."""
    from inbounds.ledger.population import PERIODS

    return complete_prefix(PERIODS, incomplete)


def rules(incomplete: str) -> list[str]:
    """Complete the rules by which charges add up."""
    from inbounds.ledger.units import RULES

    return complete_prefix(RULES, incomplete)

"""`interpret` and `report`: what a published value means, and a page for analysts and auditors."""

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from inbounds.cli.adjust import print_adjusted
from inbounds.cli.app import MECHANISMS, AsJson, app, out
from inbounds.cli.design import PriorFile, read_weights_or_none, with_spinner
from inbounds.cli.inputs import (
    GroupSize,
    Passports,
    StatisticName,
    is_adjusted_record,
    load_input_mechanism,
    print_page,
)
from inbounds.cli.outputs import PAGE, Overwrite, check_target, out_option
from inbounds.evaluate.compare import default_losses
from inbounds.files import RELEASE, LoadedFile, write_text
from inbounds.mechanism import Channel
from inbounds.mechanism.bayes import Interpretation
from inbounds.report import wording
from inbounds.report.templates import pick_evenly

LEVEL = 0.9
FEW = 15
"""Published values shown without --all; of more, an even selection."""

FINEST = 400
"""Decimals of a typed number that matter; floats end before."""

Level = Annotated[float, typer.Option(help="Probability that the stated range holds the truth.")]
Adjust = Annotated[
    bool, typer.Option("--adjust", help="Of a release: compute the numbers that add up again from its draws.")
]
MechanismOrRecord = Annotated[Path, typer.Argument(help="A mechanism passport, or a release record.")]


@app.command(rich_help_panel=MECHANISMS)
def interpret(
    file: MechanismOrRecord,
    output: Annotated[str | None, typer.Argument(help="A published value; without it, all of them.")] = None,
    statistic: StatisticName = None,
    size: GroupSize = None,
    passports: Passports = None,
    level: Level = LEVEL,
    prior: PriorFile = None,
    adjust: Adjust = False,
    every: Annotated[bool, typer.Option("--all", help="Every published value, not an even selection.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a published value means for the true answer.

    Example: [bold]inbounds interpret m.json 3[/]

    Example: [bold]inbounds interpret released.csv.release.json 3 --statistic count --size 25[/]

    Example: [bold]inbounds interpret released.csv.release.json --adjust[/]
    """
    if adjust:
        print_adjusted(file, as_json)
        return
    loaded = LoadedFile.load(file)
    statistic = _statistic(loaded, statistic)
    mechanism = with_spinner("designing", lambda: load_input_mechanism(loaded, statistic, size, passports))
    channel = mechanism.channel(read_weights_or_none(prior))
    readings = _interpret_outputs(channel, output, level)
    rows = [row for row in readings if row.chance > 0]
    if output is not None:
        published = _parse_output(output, [row.output for row in rows], channel)
        rows = [row for row in rows if row.output == published]
    if as_json:
        typer.echo(json.dumps([vars(row) for row in rows]))
        return
    if is_adjusted_record(loaded, statistic):
        out.print("[yellow]these cells were made to add up after the draw; this is about cells as they were drawn[/]")
    belief = wording.describe_belief(channel, prior is not None)
    out.print(f"[dim]{belief}; best guess; and what the range still holds if a tenth of that belief is wrong[/]")
    listed = rows if every else [rows[k] for k in pick_evenly(len(rows), FEW)]
    for row in listed:
        out.print(f"{row}; best guess {row.best_guess}; at least {100 * row.at_least:.0f} %")
    if len(listed) < len(rows):
        out.print(f"[dim]{len(listed)} of {len(rows)} published values; --all shows them all[/]")


@app.command(rich_help_panel=MECHANISMS)
def report(
    file: MechanismOrRecord,
    to: Annotated[Path, out_option("The HTML file to write.")] = Path("report.html"),
    overwrite: Overwrite = False,
    level: Level = LEVEL,
    prior: PriorFile = None,
    as_json: AsJson = False,
) -> None:
    """Write a self-contained HTML report of a mechanism or of a released table, for the analyst and the auditor.

    Example: [bold]inbounds report m.json --out report.html[/]

    Example: [bold]inbounds report released.csv.release.json --out release.html[/]
    """
    check_target(to, PAGE, overwrite=overwrite, reads=[file, prior])
    loaded = LoadedFile.load(file)
    if loaded.format == RELEASE:
        from inbounds.releases.verify import record_page

        if prior is not None or level != LEVEL:
            raise ValueError("--prior and --level are for mechanisms; a release has the intervals of its plan")
        write_text(to, record_page(loaded))
    else:
        from inbounds.report.html import save_page

        mechanism, weights = load_input_mechanism(loaded, None, None, None), read_weights_or_none(prior)
        save_page(mechanism, to, weights, level)
    print_page(to, as_json)


def _interpret_outputs(channel: Channel, output: str | None, level: float) -> tuple[Interpretation, ...]:
    """Interpret all published values, or only the given one on a map too large for a matrix."""
    loss = default_losses(channel.query)[0]
    if output is not None and channel.query.places is not None and channel.is_too_large:
        return (channel.interpret(output, level, loss=loss),)
    return channel.interpretations(level, loss=loss)


def _statistic(file: LoadedFile, name: str | None) -> str | None:
    """Return the statistic whose name or column was typed: "answer: yes" is a cell of the histogram answer."""
    if name is None or file.format != RELEASE:
        return name
    from inbounds.releases.verify import find_statistic, load_record

    return find_statistic(load_record(file), name)


def _parse_output(text: str, values: list[Any], channel: Channel) -> Any:
    """Return the output that was typed, possibly with fewer decimals, as tables show it."""
    if channel.query.labels is not None and channel.has_face_value:
        if text not in values:
            raise ValueError("output must be one of the mechanism's outputs")
        return text
    typed = _number(text)
    nearest = sorted(values, key=lambda value: abs(_exactly(value) - typed))
    half = Decimal(1).scaleb(max(int(typed.as_tuple().exponent), -FINEST)) / 2
    matches = [value for value in nearest if abs(_exactly(value) - typed) <= half]
    if len(matches) == 1 or (matches and _is_near(_exactly(matches[0]), typed)):
        return matches[0]
    near = " and ".join(str(value) for value in nearest[:2])
    raise ValueError(f"output must be one of the mechanism's outputs, got {text}; the nearest are {near}")


def _number(text: str) -> Decimal:
    try:
        if math.isfinite(float(text)):
            return Decimal(text)
    except (ValueError, ArithmeticError):
        pass
    raise ValueError(f"output must be a number, got {text!r}")


def _exactly(value: Any) -> Decimal:
    return Decimal(float(value))


def _is_near(value: Decimal, typed: Decimal) -> bool:
    return abs(value - typed) <= Decimal("1e-9") * max(Decimal(1), abs(value))

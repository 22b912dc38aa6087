"""read and report: what a published value means, and a page for the analyst and the auditor."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from inbounds.cli.app import MECHANISMS, AsJson, app, out
from inbounds.cli.design import PriorFile, patiently, weights_if
from inbounds.cli.records import (
    RELEASE,
    GroupSize,
    Passports,
    StatisticName,
    check_page,
    format_of,
    mechanism_in,
    moved_after_the_draw,
    tell_page,
)
from inbounds.files import load
from inbounds.mechanism import Mechanism
from inbounds.report import html

LEVEL = 0.9
Level = Annotated[float, typer.Option(help="Probability that the stated range holds the truth.")]
MechanismOrRecord = Annotated[Path, typer.Argument(help="A mechanism passport, or a release record.")]


@app.command(rich_help_panel=MECHANISMS)
def read(
    file: MechanismOrRecord,
    output: Annotated[str | None, typer.Argument(help="A published value; without it, all of them.")] = None,
    statistic: StatisticName = None,
    size: GroupSize = None,
    mechanisms: Passports = None,
    level: Level = LEVEL,
    prior: PriorFile = None,
    as_json: AsJson = False,
) -> None:
    """Say what a published value means for the true answer.

    Example: [bold]inbounds read m.json 3[/]

    Example: [bold]inbounds read released.csv.release.json 3 --statistic count --size 25[/]
    """
    mechanism = patiently("designing", lambda: mechanism_in(file, statistic, size, mechanisms))
    loss = "absolute" if mechanism.query.ordered else "zero-one"
    rows = [row for row in mechanism.readings(level, weights_if(prior), loss) if row.chance > 0]
    if output is not None:
        rows = [row for row in rows if _same(output, row.output, mechanism)]
        if not rows:
            raise ValueError("output must be one of the values the mechanism reports")
    if as_json:
        typer.echo(json.dumps([vars(row) for row in rows]))
        return
    if moved_after_the_draw(file, statistic):
        out.print("[yellow]these cells were made to add up after the draw; this is about cells as they were drawn[/]")
    before = "the given prior" if prior else "every true answer equally likely beforehand"
    out.print(f"[dim]{before}; best guess; and what the range still holds if a tenth of that belief is wrong[/]")
    for row in rows:
        out.print(f"{row}; best guess {row.best_guess}; at least {100 * row.at_least:.0f} %")


@app.command(rich_help_panel=MECHANISMS)
def report(
    file: MechanismOrRecord,
    to: Annotated[Path, typer.Option("--out", "--to", "-o", help="The HTML file to write.")] = Path("report.html"),
    level: Level = LEVEL,
    prior: PriorFile = None,
    as_json: AsJson = False,
) -> None:
    """Write a self-contained HTML report of a mechanism or of a released table, for the analyst and the auditor.

    Example: [bold]inbounds report m.json --out report.html[/]

    Example: [bold]inbounds report released.csv.release.json --out release.html[/]
    """
    check_page(to, [file, *([prior] if prior else ())])
    if format_of(file) == RELEASE:
        from inbounds.release.reopen import page_of

        if prior is not None or level != LEVEL:
            raise ValueError("--prior and --level are for mechanisms; a release has the intervals of its plan")
        to.write_text(page_of(file), "utf-8")
    else:
        html.save(load(file), to, weights_if(prior), level)
    tell_page(to, as_json)


def _same(given: str, value: Any, mechanism: Mechanism) -> bool:
    if mechanism.query.labels is not None:
        return bool(given == value)
    try:
        published = float(given)
    except ValueError:
        raise ValueError(f"output must be a number, got {given!r}") from None
    return abs(published - float(value)) <= 1e-9 * max(1.0, abs(float(value)))

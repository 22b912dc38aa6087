"""`compare`, `recommend`, `calibrate`: choose a mechanism and an epsilon."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from inbounds.cli import completion
from inbounds.cli.app import MECHANISMS, NUMBER, AsJson, Epsilon, app, out
from inbounds.cli.design import Aim, PriorFile, Properties, print_saved, read_weights_or_none, with_spinner
from inbounds.cli.inputs import load_input_mechanism
from inbounds.cli.losses import LossName, read_loss
from inbounds.cli.outputs import (
    COMPARISON_TABLE,
    LATEX,
    PAGE,
    PASSPORT,
    Overwrite,
    PassportOut,
    check_target,
    out_option,
)
from inbounds.cli.query_options import with_query_options
from inbounds.evaluate import goals
from inbounds.evaluate.compare import Comparison
from inbounds.evaluate.compare import compare as compare_mechanisms
from inbounds.evaluate.goals import AccuracyGoal, GoalResult
from inbounds.evaluate.recommend import recommend as recommend_mechanism
from inbounds.exact import format_decimal
from inbounds.files import LoadedFile
from inbounds.losses import Loss
from inbounds.query import RangeQuery
from inbounds.report import terminal, wording

Files = Annotated[list[Path] | None, typer.Option("--file", help="A mechanism passport; give several.")]
Losses = Annotated[
    list[str] | None,
    typer.Option("--loss", help="A loss to compare by: a name or a file COST.csv; the first sorts. Repeat it."),
]
SortBy = Annotated[str | None, typer.Option("--sort", help="Sort by this column, the best first.")]


@app.command(rich_help_panel=MECHANISMS)
@with_query_options
def compare(
    query: RangeQuery | None = None,
    epsilon: Annotated[str | None, typer.Option(help="Privacy parameter, e.g. 0.5 or 1/2.", metavar=NUMBER)] = None,
    file: Files = None,
    loss: Losses = None,
    sort: SortBy = None,
    prior: PriorFile = None,
    to: Annotated[Path | None, out_option("Write it here: a self-contained page, or .csv, or .tex.")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Put all mechanisms that fit a query side by side, with your own from files, or the mechanisms of several files.

    Example: [bold]inbounds compare count --size 20 --epsilon 0.5[/]

    Example: [bold]inbounds compare count --size 20 --epsilon 0.5 --file mine.json[/]

    Example: [bold]inbounds compare --file a.json --file b.json --out comparison.html[/]
    """
    weights = read_weights_or_none(prior)
    if to is not None:
        check_target(
            to, WRITTEN.get(to.suffix.lower(), COMPARISON_PAGE), overwrite=overwrite, reads=[*(file or ()), prior]
        )
    mechanisms = _load_mechanisms(file or [])
    queries = [query] if query is not None else [one.query.as_range_query for one in mechanisms.values()]
    losses = [read_loss(name, queries[0]) for name in loss] if loss and queries else None
    if query is not None:
        comparison = with_spinner(
            "comparing", lambda: compare_mechanisms(query, epsilon, losses=losses, prior=weights, also=mechanisms)
        )
    elif file:
        comparison = with_spinner("comparing", lambda: compare_mechanisms(mechanisms, losses=losses, prior=weights))
    else:
        raise ValueError("compare needs a query such as: count --size 20 --epsilon 0.5, or --file twice")
    comparison = comparison.sort_by(sort) if sort is not None else comparison
    if to is not None:
        _write(comparison, to)
    _print_comparison(comparison, to, as_json)


def _load_mechanisms(files: list[Path]) -> dict[str, Any]:
    """Load mechanisms by the names of their files, with folders if the names are not unique."""
    short = len({path.stem for path in files}) == len(files)
    return {
        path.stem if short else str(path): load_input_mechanism(LoadedFile.load(path), None, None, None)
        for path in files
    }


WRITTEN = {".csv": COMPARISON_TABLE, ".tex": LATEX}
"""What a comparison is written as, by the ending of the file; a page otherwise."""

COMPARISON_PAGE = replace(PAGE, endings=(*PAGE.endings, *WRITTEN))


def _write(comparison: Comparison, to: Path) -> None:
    match to.suffix.lower():
        case ".csv":
            to.write_text(comparison.to_csv(), encoding="utf-8")
        case ".tex":
            to.write_text(comparison.to_latex() + "\n", encoding="utf-8")
        case _:
            from inbounds.report.html import save_page

            save_page(comparison, to)


def _print_comparison(comparison: Comparison, report: Path | None, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(comparison.to_json()))
        return
    from inbounds.report.html import describe_constant

    query = comparison.rows[0].mechanism.query
    epsilons = sorted({row.mechanism.epsilon for row in comparison.rows})
    out.print(f"[bold]{query.describe()}[/], epsilon {', '.join(map(format_decimal, epsilons))}\n")
    out.print(terminal.comparison(comparison, out.width))
    out.print(f"[dim]* best of the column. bayes: after the best guess for every output. {wording.LEGEND}[/]")
    if comparison.constant:
        out.print(f"[dim]{describe_constant(comparison)}[/]")
    if comparison.left_out:
        out.print(f"[dim]left out: {', '.join(comparison.left_out)} (the reasons: --json or --out)[/]")
    if report is not None:
        out.print(f"report: [bold]{report}[/]")


@app.command(rich_help_panel=MECHANISMS)
@with_query_options
def recommend(
    query: RangeQuery,
    epsilon: Epsilon,
    properties: Properties = "",
    loss: LossName = "",
    aim: Aim = "average",
    prior: PriorFile = None,
    to: PassportOut = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Name the mechanism to take, and say why in two sentences.

    Example: [bold]inbounds recommend count --size 20 --epsilon 0.5 --property fair[/]
    """
    if to is not None:
        check_target(to, PASSPORT, overwrite=overwrite, reads=[prior])
    needs = [name for name in properties.replace(" ", "").split(",") if name]
    chosen = read_loss(loss, query) if loss else None
    weights = read_weights_or_none(prior)
    recommendation = with_spinner(
        "comparing",
        lambda: recommend_mechanism(query, epsilon, needs, loss=chosen, prior=weights, aim=aim),  # type: ignore[arg-type]
    )
    if to is not None:
        recommendation.mechanism.save(to)
    if as_json:
        typer.echo(json.dumps({**recommendation.to_json(), "saved": to and str(to)}))
        return
    out.print(recommendation.reason)
    print_saved(to)


@app.command(rich_help_panel=MECHANISMS)
@with_query_options
def calibrate(
    query: RangeQuery,
    mean_error: Annotated[
        str | None, typer.Option(help="Promise: the mean error is at most this.", metavar=NUMBER)
    ] = None,
    worst_error: Annotated[
        str | None, typer.Option(help="Promise: no true answer's error is above this.", metavar=NUMBER)
    ] = None,
    within: Annotated[
        str | None, typer.Option(help="Accuracy: outputs are within this distance …", metavar=NUMBER)
    ] = None,
    probability: Annotated[
        str, typer.Option(help="… with this probability, for every true answer.", metavar=NUMBER)
    ] = "0.9",
    at: Annotated[
        str | None, typer.Option(help="The reverse: show the best promises at this epsilon.", metavar=NUMBER)
    ] = None,
    family: Annotated[
        str,
        typer.Option(
            help="optimal, or a mechanism's name such as truncated_geometric.", autocompletion=completion.mechanisms
        ),
    ] = "optimal",
    loss: LossName = "absolute",
    to: PassportOut = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Find the smallest epsilon that keeps a promise about the error, or the best promises at an epsilon.

    Example: [bold]inbounds calibrate count --size 20 --within 2 --probability 0.9[/]

    Example: [bold]inbounds calibrate count --size 20 --mean-error 1 --family truncated_geometric[/]

    Example: [bold]inbounds calibrate count --size 20 --at 0.5[/]
    """
    if at is not None:
        menu = with_spinner("searching", lambda: goals.best_of_each_kind(query, at, family, probability))
        _print_menu(menu, as_json)
        return
    if to is not None:
        check_target(to, PASSPORT, overwrite=overwrite)
    promise = _build_goal(mean_error, worst_error, within, probability, read_loss(loss, query))
    result = with_spinner("searching", lambda: goals.calibrate_epsilon(query, promise, family))
    if to is not None:
        result.mechanism.save(to)
    _print_goal(result, query, to, as_json)


def _build_goal(mean: str | None, worst: str | None, within: str | None, probability: str, loss: Loss) -> AccuracyGoal:
    bounds = [text for text in (mean, worst, within) if text is not None]
    if len(bounds) != 1:
        raise ValueError(
            "calibrate needs one promise: --mean-error, --worst-error or --within; or --at for the reverse"
        )
    if within is not None:
        return goals.within(within, probability)
    make = goals.average if mean is not None else goals.worst
    return make(loss, bounds[0])


def _print_goal(result: GoalResult, query: RangeQuery, saved: Path | None, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**result.to_json(), "saved": saved and str(saved)}))
        return
    out.print(f"[bold]epsilon {float(result.epsilon):.10g}[/] is the smallest that keeps the promise:")
    out.print(f"  {result.promise}")
    out.print(f"  {query.describe()}, by {result.mechanism.origin}")
    out.print(
        f"  certified; the mechanism gives {result.value:.6g} where {float(result.promise.at_most):.6g} is promised"
    )
    print_saved(saved)


def _print_menu(menu: list[GoalResult], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([result.to_json() for result in menu]))
        return
    out.print(f"At [bold]epsilon {float(menu[0].epsilon):.10g}[/] one can promise one of:")
    for result in menu:
        out.print(f"  • {result.promise} [dim](by {result.mechanism.origin.name})[/]")

"""compare, recommend, epsilon: which mechanism, and which epsilon."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from inbounds.cli.app import MECHANISMS, NUMBER, AsJson, Epsilon, app, out
from inbounds.cli.asking import asking
from inbounds.cli.design import Aim, LossName, PriorFile, Require, Save, patiently, weights_if
from inbounds.cli.records import check_page
from inbounds.files import load
from inbounds.loss import loss_named
from inbounds.numbers import decimal
from inbounds.query import Query
from inbounds.read import promise as promises
from inbounds.read.compare import Comparison
from inbounds.read.compare import compare as compared
from inbounds.read.promise import Kept, Promise
from inbounds.read.recommend import recommend as recommended
from inbounds.report import html, terminal, words

Files = Annotated[list[Path] | None, typer.Option("--file", help="A mechanism passport; give several.")]
Losses = Annotated[
    list[str] | None, typer.Option("--loss", help="A loss to judge by; the first one sorts. Give several.")
]
SortBy = Annotated[str | None, typer.Option("--sort", help="Sort by this column, the best first.")]


@app.command(rich_help_panel=MECHANISMS)
@asking
def compare(
    query: Query | None = None,
    epsilon: Annotated[str | None, typer.Option(help="Privacy parameter, e.g. 0.5 or 1/2.", metavar=NUMBER)] = None,
    file: Files = None,
    loss: Losses = None,
    sort: SortBy = None,
    prior: PriorFile = None,
    report: Annotated[
        Path | None, typer.Option("--report", "--html", help="Write a self-contained HTML report here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put all mechanisms that fit a query side by side, or the mechanisms of several files.

    Example: [bold]inbounds compare count --size 20 --epsilon 0.5[/]

    Example: [bold]inbounds compare --file a.json --file b.json --report comparison.html[/]
    """
    losses, weights = [loss_named(name) for name in loss] if loss else None, weights_if(prior)
    if report is not None:
        check_page(report, [*(file or ()), *([prior] if prior else ())])
    if file:
        mechanisms = {path.stem if len({p.stem for p in file}) == len(file) else str(path): load(path) for path in file}
        found = patiently("comparing", lambda: compared(mechanisms, losses=losses, prior=weights))
    elif query is None:
        raise ValueError("compare needs a query such as: count --size 20 --epsilon 0.5, or --file twice")
    else:
        found = patiently("comparing", lambda: compared(query, epsilon, losses=losses, prior=weights))
    found = found.sorted(sort) if sort is not None else found
    if report is not None:
        html.save(found, report)
    _show_comparison(found, report, as_json)


def _show_comparison(found: Comparison, report: Path | None, as_json: bool) -> None:
    if as_json:
        best = {column: found.best(column) for column in found.columns}
        typer.echo(json.dumps({"mechanisms": found.records(), "best": best, "left_out": dict(found.left_out)}))
        return
    query = found.rows[0].mechanism.query
    epsilons = sorted({row.mechanism.epsilon for row in found.rows})
    out.print(f"[bold]{words.subject(query)}[/], epsilon {', '.join(map(decimal, epsilons))}\n")
    out.print(terminal.comparison(found, out.width))
    out.print(f"[dim]* best of the column. bayes: after the best guess for every report. {words.LEGEND}[/]")
    if found.left_out:
        out.print(f"[dim]left out: {', '.join(found.left_out)} (the reasons: --json or --html)[/]")
    if report is not None:
        out.print(f"report: [bold]{report}[/]")


@app.command(rich_help_panel=MECHANISMS)
@asking
def recommend(
    query: Query,
    epsilon: Epsilon,
    require: Require = "",
    loss: LossName = "",
    aim: Aim = "average",
    prior: PriorFile = None,
    save: Save = None,
    as_json: AsJson = False,
) -> None:
    """Name the mechanism to take, and say why in two sentences.

    Example: [bold]inbounds recommend count --size 20 --epsilon 0.5 --require fair[/]
    """
    needs = [name for name in require.replace(" ", "").split(",") if name]
    chosen = loss_named(loss) if loss else None
    weights = weights_if(prior)
    found = patiently(
        "comparing",
        lambda: recommended(query, epsilon, needs, loss=chosen, prior=weights, aim=aim),  # type: ignore[arg-type]
    )
    if save is not None:
        found.mechanism.save(save)
    if as_json:
        typer.echo(json.dumps({"mechanism": found.name, "reason": found.reason, "saved": save and str(save)}))
        return
    out.print(found.reason)
    if save is not None:
        out.print(f"saved to [bold]{save}[/]; check it with: inbounds verify {save}")


@app.command("epsilon", rich_help_panel=MECHANISMS)
@asking
def choose_epsilon(
    query: Query,
    mean_error: Annotated[
        str | None, typer.Option(help="Promise: the mean error is at most this.", metavar=NUMBER)
    ] = None,
    worst_error: Annotated[
        str | None, typer.Option(help="Promise: no true answer's error is above this.", metavar=NUMBER)
    ] = None,
    within: Annotated[
        str | None, typer.Option(help="Promise: reports are within this distance …", metavar=NUMBER)
    ] = None,
    probability: Annotated[
        str, typer.Option(help="… with this probability, for every true answer.", metavar=NUMBER)
    ] = "0.9",
    at: Annotated[
        str | None, typer.Option(help="The reverse: show the best promises at this epsilon.", metavar=NUMBER)
    ] = None,
    family: Annotated[
        str, typer.Option(help="optimal, or a mechanism's name such as truncated_geometric.")
    ] = "optimal",
    loss: LossName = "absolute",
    save: Save = None,
    as_json: AsJson = False,
) -> None:
    """Find the smallest epsilon that keeps a promise about the error, or the best promises at an epsilon.

    Example: [bold]inbounds epsilon count --size 20 --within 2 --probability 0.9[/]

    Example: [bold]inbounds epsilon count --size 20 --mean-error 1 --family truncated_geometric[/]

    Example: [bold]inbounds epsilon count --size 20 --at 0.5[/]
    """
    if at is not None:
        menu = patiently("searching", lambda: promises.best_of_each_kind(query, at, family, probability))
        _show_menu(menu, as_json)
        return
    promise = _promise(mean_error, worst_error, within, probability, loss)
    kept = patiently("searching", lambda: promises.epsilon_for(query, promise, family))
    if save is not None:
        kept.mechanism.save(save)
    _show_kept(kept, query, save, as_json)


def _promise(mean: str | None, worst: str | None, within: str | None, probability: str, loss: str) -> Promise:
    given = [text for text in (mean, worst, within) if text is not None]
    if len(given) != 1:
        raise ValueError("epsilon needs one promise: --mean-error, --worst-error or --within; or --at for the reverse")
    if within is not None:
        return promises.within(within, probability)
    make = promises.average if mean is not None else promises.worst
    return make(loss_named(loss), given[0])


def _show_kept(kept: Kept, query: Query, save: Path | None, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**_kept_json(kept), "saved": save and str(save)}))
        return
    out.print(f"[bold]epsilon {float(kept.epsilon):.10g}[/] is the smallest that keeps the promise:")
    out.print(f"  {kept.promise}")
    out.print(f"  {words.subject(query)}, by {kept.mechanism.origin}")
    out.print(f"  certified; the mechanism gives {kept.value:.6g} where {float(kept.promise.at_most):.6g} is promised")
    if save is not None:
        out.print(f"saved to [bold]{save}[/]; check it with: inbounds verify {save}")


def _show_menu(menu: list[Kept], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([_kept_json(kept) for kept in menu]))
        return
    out.print(f"At [bold]epsilon {float(menu[0].epsilon):.10g}[/] one can promise one of:")
    for kept in menu:
        out.print(f"  • {kept.promise} [dim](by {kept.mechanism.origin.name})[/]")


def _kept_json(kept: Kept) -> dict[str, Any]:
    return {
        "epsilon": str(kept.epsilon),
        "promise": str(kept.promise),
        "at_most": float(kept.promise.at_most),
        "value": kept.value,
        "mechanism": str(kept.mechanism.origin),
    }

"""`design`: the optimal mechanism for a query."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import typer
from rich.markup import escape

from inbounds.cli.app import MECHANISMS, AsJson, Epsilon, app, err, out
from inbounds.cli.completion import complete_list
from inbounds.cli.losses import LossName, read_loss
from inbounds.cli.outputs import PASSPORT, Overwrite, PassportOut, check_target
from inbounds.cli.query_options import with_query_options
from inbounds.errors import TooLarge
from inbounds.exact import format_decimal
from inbounds.losses import LOSS_NAMES, parse_limit, parse_loss
from inbounds.mechanism import AnyMechanism, Mechanism, Optimality
from inbounds.mechanism.origin import NO_GAP
from inbounds.mechanism.passport import passport_summary, recompute_objective
from inbounds.properties import NAMES as PROPERTY_NAMES
from inbounds.query import RangeQuery
from inbounds.report import terminal, wording

T = TypeVar("T")
PATIENCE = 2.0
"""Seconds before a spinner is shown."""

Properties = Annotated[
    str,
    typer.Option(
        "--property",
        help="Properties, separated by commas: fair,column_monotone,…",
        autocompletion=complete_list(PROPERTY_NAMES),
    ),
]
Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit", help="Another loss and its limit: off-by-more-than-2=0.05, 'average squared=4'. Repeat it."
    ),
]
ThenMinimize = Annotated[
    str,
    typer.Option(
        help="Losses to minimize next among the best, separated by commas.", autocompletion=complete_list(LOSS_NAMES)
    ),
]
Aim = Annotated[
    str, typer.Option(help="average (over the prior) or worst (answer).", autocompletion=lambda: ("average", "worst"))
]
PriorFile = Annotated[Path | None, typer.Option("--prior", help="A file with one weight per answer, one per line.")]
Seconds = Annotated[float, typer.Option("--max-seconds", help="Stop then with the best found and its gap.")]


@app.command(rich_help_panel=MECHANISMS)
@with_query_options
def design(
    query: RangeQuery,
    epsilon: Epsilon,
    loss: LossName = "absolute",
    properties: Properties = "",
    aim: Aim = "average",
    prior: PriorFile = None,
    limit: Limits = None,
    then_minimize: ThenMinimize = "",
    to: PassportOut = None,
    overwrite: Overwrite = False,
    max_seconds: Seconds = 60.0,
    as_json: AsJson = False,
) -> None:
    """Find the optimal mechanism, certify it, and show what it does.

    Example: [bold]inbounds design count --size 20 --epsilon 0.5 --property fair,column_monotone --out m.json[/]
    """
    from inbounds.design.designer import optimal

    if to is not None:
        check_target(to, PASSPORT, overwrite=overwrite, reads=[prior])
    required = [name for name in properties.replace(" ", "").split(",") if name]
    weights = read_weights(prior) if prior is not None else None
    limits = [parse_limit(text) for text in limit or ()]
    judged = read_loss(loss, query)
    next_losses = [parse_loss(name) for name in then_minimize.replace(" ", "").split(",") if name]
    mechanism = with_spinner(
        "designing",
        lambda: optimal(
            query, epsilon, judged, weights, required, aim,  # type: ignore[arg-type]
            subject_to=limits, then=next_losses, max_seconds=max_seconds,
        ),
    )  # fmt: skip
    if to is not None:
        mechanism.save(to)
    if as_json:
        typer.echo(json.dumps(passport_summary(mechanism)))
        return
    out.print(f"[bold]{query.describe()}[/], epsilon {format_decimal(mechanism.epsilon)}\n")
    out.print(terminal.heatmap(mechanism))
    out.print(f"\n{wording.format_guarantee(mechanism)}")
    print_mechanism(mechanism, bound="proved")
    print_saved(to)


def print_saved(passport: Path | None) -> None:
    if passport is not None:
        out.print(f"saved to [bold]{passport}[/]; check it with: inbounds verify {passport}")


def print_mechanism(mechanism: AnyMechanism, bound: Literal["proved", "claimed"], solved: float | None = None) -> None:
    """Print origin, tight epsilon, losses, properties, optimality and digest.

    bound: whether the bound of the optimality was proved here, or is claimed by the file that was read. solved: a bound
    that `verify` proved for such a file.
    """
    claimed = ", as claimed" if bound == "claimed" else ""
    out.print(
        f"\n[bold]Origin[/]{claimed}: {escape(str(mechanism.origin))}  [dim]{escape(mechanism.origin.reference)}[/]"
    )
    out.print(f"[bold]Law[/] {mechanism.law.kind}, {wording.describe_checkers(mechanism)}")
    summary = passport_summary(mechanism)
    if mechanism.law.has_claims:
        stated = "" if mechanism.law.states_tight_epsilon else "; the passport states what it was made for"
        out.print(f"[bold]Tight epsilon[/] {mechanism.tight_epsilon():.9g}, rounded up{stated}")
        losses = "  ".join(f"{name} {value}" for name, value in summary["claims"]["losses"].items())
        out.print(f"[bold]Expected loss[/], every true answer equally likely: {losses}")
    if mechanism.optimality is not None:
        words = optimality_words(mechanism, solved) if bound == "claimed" else _proved_words(mechanism.optimality)
        out.print(f"[bold]Optimality[/] {escape(words)}")
    if mechanism.law.has_claims:
        try:
            out.print("[bold]Properties[/]", terminal.properties(mechanism), sep="\n")
        except TooLarge:
            out.print("[dim]properties are not computed at this size[/]")
    out.print(f"[bold]sha256[/] {summary['sha256']}")


def _proved_words(best: Optimality) -> str:
    """Describe what the designer has just proved about other mechanisms."""
    left = f"; {best.remaining}" if best.remaining else ""
    return (
        f"{best.objective}: {best.value:.9g}; proved: no mechanism is below {best.bound:.9g} (gap {best.gap:.2g}){left}"
    )


def optimality_words(mechanism: Mechanism, solved: float | None = None) -> str:
    """Describe what a passport claims about other mechanisms, and what of that was recomputed. solved: a bound that was
    proved.
    """
    best = mechanism.optimality
    assert best is not None
    how = "claimed, not checked" if recompute_objective(mechanism) is None else "recomputed"
    left = f"; {best.remaining}" if best.remaining else ""
    sentences = [f"{best.objective}: {best.value:.9g} ({how})"]
    if solved is not None:
        sentences.append(f"proved by solving: no private mechanism is below {solved:.9g}")
    if solved is None or solved < best.bound - NO_GAP * abs(best.bound):
        sentences.append(f"claimed, not checked: no mechanism is below {best.bound:.9g} (gap {best.gap:.2g}){left}")
    return "; ".join(sentences)


def read_weights(path: Path) -> list[float]:
    """Read the weights in a file, separated by white space."""
    try:
        return [float(weight) for weight in path.read_text().split()]
    except ValueError:  # also a file that is not text
        raise ValueError(f"--prior must name a file with one number per line, got {path}") from None


def read_weights_or_none(prior: Path | None) -> list[float] | None:
    return None if prior is None else read_weights(prior)


def with_spinner(doing: str, work: Callable[[], T]) -> T:
    """Run `work`; when it takes more than PATIENCE seconds on a terminal, show a spinner with the time spent."""
    if not err.is_terminal:
        return work()
    finished = threading.Event()

    def show() -> None:
        if finished.wait(PATIENCE):
            return
        with err.status(f"{doing} …") as status:
            waited = int(PATIENCE)
            while not finished.wait(1.0):
                waited += 1
                status.update(f"{doing} … {waited} s")

    watcher = threading.Thread(target=show, daemon=True)
    watcher.start()
    try:
        return work()
    finally:
        finished.set()
        watcher.join()

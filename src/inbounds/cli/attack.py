"""`attack`: what repeated answers to one question reveal."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from inbounds.cli.app import MORE, AsJson, app, out
from inbounds.cli.design import PriorFile, read_weights, with_spinner
from inbounds.cli.inputs import load_answer_mechanism
from inbounds.cli.losses import LossName, read_loss
from inbounds.cli.outputs import PAGE, Overwrite, check_target, out_option, picture_or_page
from inbounds.exact import format_decimal, to_int
from inbounds.files import write_text
from inbounds.mechanism import Mechanism
from inbounds.report import terminal

if TYPE_CHECKING:
    from inbounds.attack.asymptotics import Limit
    from inbounds.attack.collusion import Estimator
    from inbounds.attack.repeated import CollusionResult

ROWS = 14
"""Rows a table shows; --json has all."""

MechanismFile = Annotated[Path, typer.Argument(help="A mechanism passport, written by Mechanism.save.")]
Repeat = Annotated[str, typer.Option(help="How many answers are pooled: 1..100, or 1,2,5,10.")]
Picture = Annotated[Path | None, out_option("Draw it here: an .html, .png, .svg or .pdf file.")]
Figure = Annotated[Path | None, typer.Option(help="Draw the tight epsilon here as well: .html, .png, .svg or .pdf.")]
Runs = Annotated[int, typer.Option(help="Simulated runs for each true answer, if exact values take too long.")]
Seed = Annotated[int, typer.Option(help="Seed of the simulation.")]


@app.command(rich_help_panel=MORE)
def attack(
    file: MechanismFile,
    repeat: Repeat = "1..100",
    loss: LossName = "absolute",
    prior: PriorFile = None,
    runs: Runs = 1000,
    seed: Seed = 0,
    to: Picture = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Show what colluding or patient questioners learn from several answers to the same question.

    Example: [bold]inbounds attack m.json --repeat 1..100 --out attack.png[/]
    """
    from inbounds.attack import asymptotics, repeated

    if to is not None:
        check_target(to, picture_or_page(to), overwrite=overwrite, reads=[file, prior])
    mechanism, answers = load_answer_mechanism(file), _counts(repeat)
    weights = read_weights(prior) if prior is not None else None
    judged, rng = read_loss(loss, mechanism.query), np.random.default_rng(seed)
    rows = with_spinner(
        "asking", lambda: repeated.simulate_collusion(mechanism, answers, judged, weights, runs=runs, rng=rng)
    )
    end = asymptotics.loss_limit(mechanism, judged, weights)
    closed = (
        {row.answers: asymptotics.approximation_for(mechanism, row.answers) for row in rows}
        if loss == "absolute"
        else {}
    )
    approximated = {k: value for k, value in closed.items() if value is not None}
    if to is not None:
        title = f"{mechanism.origin.name}, epsilon {format_decimal(mechanism.epsilon)} an answer"
        _draw(rows, to, title, end.floor["guess"], approximated)
    if as_json:
        typer.echo(json.dumps(_learned_json(mechanism, rows, end, approximated)))
        return
    _print_learned(mechanism, rows, end, approximated, loss)
    if to is not None:
        out.print(f"drawn in [bold]{to}[/]")


def _draw(rows: "list[CollusionResult]", to: Path, title: str, floor: float, approximated: dict[int, float]) -> None:
    if picture_or_page(to) is PAGE:
        from inbounds.report.result_pages import attack_page

        write_text(to, attack_page(rows, title, floor=floor, approximated=approximated))
        return
    from inbounds.report.answer_figures import loss_against_answers

    loss_against_answers(rows, floor=floor, approximated=approximated, title=title).savefig(to, dpi=150)


# --- arguments --------------------------------------------------------------------------------------------


def _counts(text: str) -> list[int]:
    """Parse numbers of answers: 1..100, 1,2,5 or 7."""
    first, dots, last = text.partition("..")
    if dots:
        start, stop = to_int(first, "repeat", 1), to_int(last, "repeat", 1)
        if stop < start:
            raise ValueError(f"repeat must go upwards such as 1..100, got {text!r}")
        return list(range(start, stop + 1))
    return [to_int(part, "repeat", 1) for part in text.split(",")]


def spread(values: Sequence[int]) -> list[int]:
    """Return all values if they are few; otherwise about ROWS of them, spread evenly on a logarithmic scale, ends
    included.
    """
    if len(values) <= ROWS:
        return list(values)
    targets = np.geomspace(values[0], values[-1], ROWS)
    return sorted({min(values, key=lambda v: abs(v - w)) for w in targets})


# --- what is printed --------------------------------------------------------------------------------------


def _print_learned(
    mechanism: Mechanism,
    rows: "list[CollusionResult]",
    end: "Limit",
    approximated: dict[int, float],
    loss: str,
) -> None:
    names: dict[Estimator, str] = {
        "guess": "best",
        "likelihood": "likeliest",
        "median": "median",
        "mean": "mean",
    }
    shown = {measure: name for measure, name in names.items() if measure in rows[0].loss}
    by_count = {row.answers: row for row in rows}
    lines = []
    for k in spread([row.answers for row in rows]):
        row = by_count[k]
        error = max(row.error.values())
        cells = [f"{row.loss[measure]:.4g}" for measure in shown]
        extra = [f"{approximated[k]:.4g}"] if approximated else []
        lines.append([str(k), f"{float(k * mechanism.epsilon):.4g}", *cells, f"{error:.1g}" if error else "", *extra])
    heads = ["answers", "epsilon", *shown.values(), "±", *(["closed"] if approximated else [])]
    title = f"expected {loss} loss of k answers to the same question: {mechanism.query.describe()}"
    out.print(terminal.columns(title, heads, lines, right=0))
    out.print(
        f"± is one standard error where simulated; the median and all else are "
        f"exact.{_format_approximation(approximated)}"
    )
    out.print(f"[bold]Unlimited answers[/] {_end(end)}")


def _format_approximation(approximated: dict[int, float]) -> str:
    return " Closed: the approximation for the median of unbounded noise." if approximated else ""


def _end(end: "Limit") -> str:
    floor = end.floor["guess"]
    left = "leave no loss" if floor < 1e-9 else f"leave a loss of {floor:.4g}"
    if not np.isfinite(end.rate):
        return f"{left}: every true answer has the same outputs."
    fall = f"what is above that falls like exp(-{end.rate:.3g}·k), a tenth every {np.log(10) / end.rate:.0f} answers"
    median = end.floor.get("median", floor)
    caution = f" The median keeps a loss of {median:.4g}." if median > floor + 1e-9 else ""
    return f"{left}; {fall}.{caution}"


def _learned_json(
    mechanism: Mechanism, rows: "list[CollusionResult]", end: "Limit", approximated: dict[int, float]
) -> dict[str, Any]:
    return {
        "mechanism": mechanism.sha256,
        "epsilon": str(mechanism.epsilon),
        "rows": [
            {
                **row.to_json(),
                "epsilon": str(row.answers * mechanism.epsilon),
                "approximation": approximated.get(row.answers),
            }
            for row in rows
        ],
        **end.to_json(),
    }

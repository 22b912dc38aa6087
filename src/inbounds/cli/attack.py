"""attack and compose: what repeated answers tell, and what they promise together."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from inbounds.attack import limits, repeated
from inbounds.attack.collude import Estimator
from inbounds.attack.compose import Composition, answers_allowed, as_delta
from inbounds.attack.record import FORMAT, Record, up
from inbounds.cli.app import MORE, NUMBER, AsJson, app, out
from inbounds.cli.design import LossName, PriorFile, loss_named, patiently, weights_in
from inbounds.cli.records import add_up
from inbounds.cli.writing import PICTURE, Overwrite, check_target, of_format, out_option
from inbounds.files import format_of, load
from inbounds.mechanism import Mechanism
from inbounds.numbers import decimal, exact, whole
from inbounds.report import terminal, words
from inbounds.verdicts import RELEASE

ROWS = 14
"""Rows a table shows; --json has all."""

MechanismFile = Annotated[Path, typer.Argument(help="A mechanism passport, written by Mechanism.save.")]
MechanismFiles = Annotated[list[Path], typer.Argument(help="Mechanism passports, or release records.")]
Repeat = Annotated[str, typer.Option(help="How many answers are pooled: 1..100, or 1,2,5,10.")]
Picture = Annotated[Path | None, out_option("Draw it here: a .png, .svg or .pdf file.")]
Figure = Annotated[Path | None, typer.Option(help="Draw the tight epsilon here as well: a .png, .svg or .pdf file.")]
Runs = Annotated[int, typer.Option(help="Simulated runs for each true answer, where nothing exact is affordable.")]
Seed = Annotated[int, typer.Option(help="Seed of the simulation.")]
Times = Annotated[str, typer.Option(help="Answers of each mechanism: one number for all, or 10,3,….")]
Delta = Annotated[str, typer.Option(help="The delta of (epsilon, delta)-privacy, above 0 and below 1.", metavar=NUMBER)]
SameQuestion = Annotated[
    bool,
    typer.Option("--same-question", help="All answers are about one true value; tighter. Default: any questions."),
]
Budget = Annotated[
    str | None, typer.Option(help="How many answers does this epsilon allow (one mechanism)?", metavar=NUMBER)
]
RecordOut = Annotated[Path | None, out_option("Write the record of all answers here: composition.json.")]
RECORD = of_format("record of several answers", FORMAT)


@app.command(rich_help_panel=MORE, former={"--figure": "--out"})
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
    if to is not None:
        check_target(to, PICTURE, overwrite=overwrite, reads=[file, prior])
    mechanism, answers = load(file), _counts(repeat)
    weights = weights_in(prior) if prior is not None else None
    judged, rng = loss_named(loss), np.random.default_rng(seed)
    rows = patiently("asking", lambda: repeated.learned(mechanism, answers, judged, weights, runs=runs, rng=rng))
    end = limits.limit(mechanism, judged, weights)
    closed = (
        {row.answers: limits.approximation_for(mechanism, row.answers) for row in rows} if loss == "absolute" else {}
    )
    approximated = {k: value for k, value in closed.items() if value is not None}
    if to is not None:
        from inbounds.attack.figures import loss_against_answers

        title = f"{mechanism.origin.name}, epsilon {decimal(mechanism.epsilon)} an answer"
        picture = loss_against_answers(rows, floor=end.floor["guess"], approximated=approximated, title=title)
        picture.savefig(to, dpi=150)
    if as_json:
        typer.echo(json.dumps(_learned_json(mechanism, rows, end, approximated)))
        return
    _print_learned(mechanism, rows, end, approximated, loss)
    if to is not None:
        out.print(f"drawn in [bold]{to}[/]")


@app.command(rich_help_panel=MORE, former={"--save": "--out"})
def compose(
    files: MechanismFiles,
    times: Times = "1",
    delta: Delta = "1e-6",
    same_question: SameQuestion = False,
    budget: Budget = None,
    to: RecordOut = None,
    figure: Figure = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Say what several answers about the same people promise together: the sum, and the tight epsilon at delta.

    Records of released tables are added up: the epsilons of all releases about the same people.

    Example: [bold]inbounds compose m1.json m2.json --times 10 --delta 1e-6 --out composition.json[/]

    Example: [bold]inbounds compose 2025.csv.release.json 2026.csv.release.json[/]
    """
    if any(format_of(file) == RELEASE for file in files):
        options = {"--same-question": same_question, "--budget": budget, "--out": to, "--figure": figure}
        add_up(files, {"--times": times != "1", **options}, as_json)
        return
    for path, kind, option in ((to, RECORD, "--out"), (figure, PICTURE, "--figure")):
        if path is not None:
            check_target(path, kind, overwrite=overwrite, reads=files, option=option)
    mechanisms = tuple(load(file) for file in files)
    if budget is not None and len(mechanisms) > 1:
        raise ValueError("--budget must be asked of one mechanism; several can share a budget in many ways")
    as_delta(delta)
    counts = _each(times, len(mechanisms))
    whole_release = Composition(mechanisms, counts, same_question)
    rounds = _rounds(whole_release)
    record = patiently("composing", lambda: _computed(whole_release, rounds, delta))
    allowed = _allowed(mechanisms[0], budget, delta, same_question) if budget is not None else None
    if to is not None:
        record.save(to)
    if figure is not None:
        from inbounds.attack.figures import epsilon_against_answers

        epsilon_against_answers(rounds, float(exact(delta, "delta"))).savefig(figure, dpi=150)
    if as_json:
        typer.echo(json.dumps(_composed_json(record, rounds, delta, allowed)))
        return
    _print_composed(record, rounds, delta, allowed, budget)
    for path, what in ((to, "the release's record, to be published with it"), (figure, "drawn")):
        if path is not None:
            out.print(f"[bold]{path}[/]: {what}")


# --- arguments --------------------------------------------------------------------------------------------


def _counts(text: str) -> list[int]:
    """1..100, 1,2,5 or 7."""
    first, dots, last = text.partition("..")
    if dots:
        start, stop = whole(first, "repeat", 1), whole(last, "repeat", 1)
        if stop < start:
            raise ValueError(f"repeat must go upwards such as 1..100, got {text!r}")
        return list(range(start, stop + 1))
    return [whole(part, "repeat", 1) for part in text.split(",")]


def _each(text: str, count: int) -> tuple[int, ...]:
    given = [whole(part, "times", 1) for part in text.split(",")]
    if len(given) not in (1, count):
        raise ValueError(f"times must be one number, or one for each of the {count} mechanisms, got {text!r}")
    return tuple(given * count if len(given) == 1 else given)


def _spread(values: Sequence[int]) -> list[int]:
    """All of a few; of many about ROWS, evenly spread on a logarithmic scale, ends included."""
    if len(values) <= ROWS:
        return list(values)
    wanted = np.geomspace(values[0], values[-1], ROWS)
    return sorted({min(values, key=lambda v: abs(v - w)) for w in wanted})


# --- what is printed --------------------------------------------------------------------------------------


def _print_learned(
    mechanism: Mechanism,
    rows: list[repeated.Learned],
    end: limits.Limit,
    approximated: dict[int, float],
    loss: str,
) -> None:
    names: dict[Estimator, str] = {
        "guess": "best",
        "likelihood": "likeliest",
        "median": "median",
        "mean": "mean",
    }
    shown = {by: name for by, name in names.items() if by in rows[0].loss}
    by_count = {row.answers: row for row in rows}
    lines = []
    for k in _spread([row.answers for row in rows]):
        row = by_count[k]
        error = max(row.error.values())
        cells = [f"{row.loss[by]:.4g}" for by in shown]
        extra = [f"{approximated[k]:.4g}"] if approximated else []
        lines.append([str(k), f"{float(k * mechanism.epsilon):.4g}", *cells, f"{error:.1g}" if error else "", *extra])
    heads = ["answers", "epsilon", *shown.values(), "±", *(["closed"] if approximated else [])]
    title = f"expected {loss} loss of k answers to the same question: {words.subject(mechanism.query)}"
    out.print(terminal.columns(title, heads, lines, right=0))
    out.print(f"± is one standard error where simulated; the median and all else are exact.{_of_closed(approximated)}")
    out.print(f"[bold]Unlimited answers[/] {_end(end)}")


def _of_closed(approximated: dict[int, float]) -> str:
    return " Closed: the approximation for the median of unbounded noise." if approximated else ""


def _end(end: limits.Limit) -> str:
    floor = end.floor["guess"]
    left = "leave no loss" if floor < 1e-9 else f"leave a loss of {floor:.4g}"
    if not np.isfinite(end.rate):
        return f"{left}: every true answer has the same reports."
    fall = f"what is above that falls like exp(-{end.rate:.3g}·k), a tenth every {np.log(10) / end.rate:.0f} answers"
    median = end.floor.get("median", floor)
    caution = f" The median keeps a loss of {median:.4g}." if median > floor + 1e-9 else ""
    return f"{left}; {fall}.{caution}"


def _learned_json(
    mechanism: Mechanism, rows: list[repeated.Learned], end: limits.Limit, approximated: dict[int, float]
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


def _rounds(total: Composition) -> list[Composition]:
    """The release as it grows: after r rounds each mechanism has answered min(r, its times)."""
    return [
        Composition(total.mechanisms, tuple(min(r, t) for t in total.times), total.same_question)
        for r in _spread(range(1, max(total.times) + 1))
    ]


def _computed(total: Composition, rounds: list[Composition], delta: str) -> Record:
    for part in rounds:
        part.epsilon(delta)  # fills what the table and the figure read
    return Record.of(total, delta)


def _allowed(mechanism: Mechanism, budget: str, delta: str, same_question: bool) -> dict[str, int]:
    by_sum = answers_allowed(mechanism, budget)
    tight = answers_allowed(mechanism, budget, delta, same_question=same_question)
    return {"basic": by_sum, "tight": tight}


def _print_composed(
    record: Record, rounds: list[Composition], delta: str, allowed: dict[str, int] | None, budget: str | None
) -> None:
    lines = [[str(c.answers), up(float(c.basic)), up(c.epsilon(delta))] for c in rounds]
    out.print(
        terminal.columns("", ["answers", "sum of epsilons (delta 0)", f"tight epsilon (delta {delta})"], lines, 0)
    )
    out.print(f"[bold]{record}[/].")
    others = ", ".join(f"{up(rounds[-1].epsilon(d))} at {d}" for d in ("1e-3", "1e-5", "1e-8"))
    out.print(f"Tight epsilon at other deltas: {others}.")
    if not record.composition.same_question:
        out.print("This holds for any questions to these mechanisms about the same people, also chosen one by one.")
    if allowed is not None:
        out.print(
            f"[bold]Epsilon {budget}[/] allows {allowed['basic']} answers by the sum, "
            f"{allowed['tight']} at delta {delta}."
        )


def _composed_json(
    record: Record, rounds: list[Composition], delta: str, allowed: dict[str, int] | None
) -> dict[str, Any]:
    epsilons, deltas = rounds[-1].curve(50)
    content = {key: value for key, value in record.content().items() if key not in ("members", "sha256")}
    return {
        **content,
        "members": [{"sha256": d, "times": t} for d, t in zip(record.digests, record.composition.times, strict=True)],
        "rounds": [{"answers": c.answers, "basic": str(c.basic), "epsilon": c.epsilon(delta)} for c in rounds],
        "curve": {"epsilon": epsilons.tolist(), "delta": deltas.tolist()},
        "answers_allowed": allowed,
    }

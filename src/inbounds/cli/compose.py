"""`compose`: the privacy guarantee of several answers about the same people."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inbounds.cli import ledger
from inbounds.cli.app import MORE, NUMBER, AsJson, app, out
from inbounds.cli.attack import Figure, spread
from inbounds.cli.design import with_spinner
from inbounds.cli.inputs import load_answer_mechanism, print_composition
from inbounds.cli.outputs import PAGE, Overwrite, check_target, json_output, out_option, picture_or_page
from inbounds.exact import to_fraction, to_int
from inbounds.files import COMPOSITION, RELEASE, LoadedFile, write_text
from inbounds.mechanism import Mechanism
from inbounds.report import terminal

if TYPE_CHECKING:
    from inbounds.accounting.compose import Composition
    from inbounds.accounting.composition_record import CompositionRecord

DELTAS = ("1e-3", "1e-6", "1e-10", "1e-15")
"""Deltas that are shown beside the given one."""

MechanismFiles = Annotated[list[Path], typer.Argument(help="Mechanism passports, or release records.")]
Times = Annotated[str, typer.Option(help="Answers of each mechanism: one number for all, or 10,3,….")]
Delta = Annotated[
    str | None,
    typer.Option(help="The delta of (epsilon, delta)-privacy, above 0 and below 1; 1e-6 unless given.", metavar=NUMBER),
]
USUAL_DELTA = "1e-6"
SameQuestion = Annotated[
    bool,
    typer.Option("--same-question", help="All answers are about one true value; tighter. Default: any questions."),
]
Budget = Annotated[
    str | None, typer.Option(help="How many answers does this epsilon allow (one mechanism)?", metavar=NUMBER)
]
RecordOut = Annotated[Path | None, out_option("Write the record of all answers here: composition.json.")]


@app.command(rich_help_panel=MORE)
def compose(
    files: MechanismFiles,
    times: Times = "1",
    delta: Delta = None,
    same_question: SameQuestion = False,
    budget: Budget = None,
    to: RecordOut = None,
    figure: Figure = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Say what several answers about the same people promise together: the sum, and the tight epsilon at delta.

    Records of released tables are added up: the epsilons of all releases about the same people. Entries of a ledger
    add up by its own rule only.

    Example: [bold]inbounds compose m1.json m2.json --times 10 --delta 1e-6 --out composition.json[/]

    Example: [bold]inbounds compose 2025.csv.release.json 2026.csv.release.json[/]
    """
    from inbounds.accounting.compose import Composition, to_delta
    from inbounds.ledger.sqlite import is_ledger

    options = {"--same-question": same_question, "--budget": budget, "--out": to, "--figure": figure}
    if len(files) == 1 and is_ledger(files[0]):
        ledger.totals(files[0], {"--times": times != "1", "--delta": delta is not None, **options}, as_json)
        return
    loaded = [LoadedFile.load(file) for file in files]
    if any(file.format == RELEASE for file in loaded):
        print_composition(loaded, {"--times": times != "1", "--delta": delta is not None, **options}, as_json)
        return
    kind_of_record = json_output("record of several answers", COMPOSITION)
    for path, kind, option in ((to, kind_of_record, "--out"), (figure, None, "--figure")):
        if path is not None:
            check_target(path, kind or picture_or_page(path), overwrite=overwrite, reads=files, option=option)
    delta = USUAL_DELTA if delta is None else delta
    mechanisms = tuple(load_answer_mechanism(file) for file in loaded)
    if budget is not None and len(mechanisms) > 1:
        raise ValueError("--budget needs one mechanism, got several, which can share a budget in many ways")
    to_delta(delta)
    counts = _parse_times(times, len(mechanisms))
    whole_release = Composition(mechanisms, counts, same_question)
    rounds = _rounds(whole_release)
    record = with_spinner("composing", lambda: _build_record(whole_release, rounds, delta))
    allowed = _count_max_answers(mechanisms[0], budget, delta, same_question) if budget is not None else None
    if to is not None:
        record.save(to)
    if figure is not None:
        _draw(rounds, _list_deltas(delta), figure)
    if as_json:
        typer.echo(json.dumps(_composed_json(record, rounds, delta, allowed)))
        return
    _print_composed(record, rounds, delta, allowed, budget)
    for path, what in ((to, "the release's record, to be published with it"), (figure, "drawn")):
        if path is not None:
            out.print(f"[bold]{path}[/]: {what}")


def _draw(rounds: "list[Composition]", deltas: list[str], to: Path) -> None:
    if picture_or_page(to) is PAGE:
        from inbounds.report.result_pages import composition_page

        write_text(to, composition_page(rounds, deltas, f"{rounds[-1].answers} answers together"))
        return
    from inbounds.report.answer_figures import epsilon_against_answers

    epsilon_against_answers(rounds, deltas).savefig(to, dpi=150)


def _parse_times(text: str, count: int) -> tuple[int, ...]:
    counts = [to_int(part, "times", 1) for part in text.split(",")]
    if len(counts) not in (1, count):
        raise ValueError(f"times must be one number, or one for each of the {count} mechanisms, got {text!r}")
    return tuple(counts * count if len(counts) == 1 else counts)


def _rounds(total: "Composition") -> "list[Composition]":
    """Return the release as it grows: after r rounds each mechanism has answered min(r, its times)."""
    return [replace(total, times=tuple(min(r, t) for t in total.times)) for r in spread(range(1, max(total.times) + 1))]


def _build_record(total: "Composition", rounds: "list[Composition]", delta: str) -> "CompositionRecord":
    from inbounds.accounting.composition_record import CompositionRecord

    for part in rounds:
        part.epsilon(delta)  # fills what the table and the figure read
    return CompositionRecord.from_composition(total, delta)


def _list_deltas(delta: str) -> list[str]:
    """Return the given delta, and the usual ones that differ from it."""
    return [delta, *(d for d in DELTAS if to_fraction(d, "delta") != to_fraction(delta, "delta"))]


def _count_max_answers(mechanism: Mechanism, budget: str, delta: str, same_question: bool) -> dict[str, int]:
    from inbounds.accounting.compose import max_answers

    by_sum = max_answers(mechanism, budget)
    tight = max_answers(mechanism, budget, delta, same_question=same_question)
    return {"basic": by_sum, "tight": tight}


def _print_composed(
    record: "CompositionRecord",
    rounds: "list[Composition]",
    delta: str,
    allowed: dict[str, int] | None,
    budget: str | None,
) -> None:
    from inbounds.accounting.composition_record import format_upper_bound

    lines = [[str(c.answers), format_upper_bound(float(c.basic)), format_upper_bound(c.epsilon(delta))] for c in rounds]
    out.print(
        terminal.columns("", ["answers", "sum of epsilons (delta 0)", f"tight epsilon (delta {delta})"], lines, 0)
    )
    out.print(f"[bold]{record}[/].")
    others = ", ".join(f"{format_upper_bound(rounds[-1].epsilon(d))} at {d}" for d in _list_deltas(delta)[1:])
    out.print(f"Tight epsilon at other deltas: {others}.")
    if not record.composition.same_question:
        out.print("This holds for any questions to these mechanisms about the same people, also chosen one by one.")
    if allowed is not None:
        out.print(
            f"[bold]Epsilon {budget}[/] allows {allowed['basic']} answers by the sum, "
            f"{allowed['tight']} at delta {delta}."
        )


def _composed_json(
    record: "CompositionRecord", rounds: "list[Composition]", delta: str, allowed: dict[str, int] | None
) -> dict[str, Any]:
    epsilons, deltas = rounds[-1].curve(50)
    content = {key: value for key, value in record.to_document().content.items() if key != "members"}
    return {
        **content,
        "members": [{"sha256": d, "times": t} for d, t in zip(record.digests, record.composition.times, strict=True)],
        "rounds": [{"answers": c.answers, "basic": str(c.basic), "epsilon": c.epsilon(delta)} for c in rounds],
        "curve": {"epsilon": epsilons.tolist(), "delta": deltas.tolist()},
        "answers_allowed": allowed,
    }

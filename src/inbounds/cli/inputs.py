"""Inputs that several commands share: a mechanism passport, or a release record in its place."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from inbounds.cli import completion
from inbounds.cli.app import out
from inbounds.errors import PassportError
from inbounds.files import RELEASE, LoadedFile
from inbounds.mechanism import AnyMechanism, Mechanism
from inbounds.mechanism.laws import AnswerLaw
from inbounds.mechanism.load import load
from inbounds.report import terminal

StatisticName = Annotated[
    str | None,
    typer.Option(help="Of a release record: the statistic that is read.", autocompletion=completion.statistics),
]
GroupSize = Annotated[
    int | None,
    typer.Option("--size", help="Of a release record: the size of the group.", autocompletion=completion.sizes),
]
Passports = Annotated[
    Path | None,
    typer.Option(
        "--passports",
        help="Of a release record: the folder of its passports; without it they are designed again.",
        metavar="FOLDER",
    ),
]


def find_record(path: Path) -> Path:
    """Return the record beside a released table, or the path itself if it is no such table."""
    record = Path(f"{path}.release.json")
    return record if record.is_file() else path


def load_input_mechanism(
    file: LoadedFile, statistic: str | None, size: int | None, folder: Path | None
) -> AnyMechanism:
    """Return the mechanism of a passport, or that of a statistic and size of a release record."""
    if file.format != RELEASE:
        if statistic is not None or size is not None or folder is not None:
            raise ValueError("--statistic, --size and --passports are for release records; this is no release record")
        from inbounds.verdict import load_passport_of

        return load_passport_of(file)
    from inbounds.releases.pipeline import find_mechanism

    try:
        return find_mechanism(file, statistic, size, folder)
    except ValueError as reason:
        raise ValueError(
            f"{file.path.name} is the record of a whole table; give --statistic and --size: {reason}"
        ) from None


def load_answer_mechanism(file: "Path | LoadedFile") -> Mechanism:
    """Load the mechanism of a passport whose outputs depend on one true answer."""
    mechanism = load(file)
    if not isinstance(mechanism.law, AnswerLaw):
        raise PassportError(
            "this is the passport of a quantile of a group's records; the command needs one for a single true answer"
        )
    return mechanism


def is_adjusted_record(file: LoadedFile, statistic: str | None) -> bool:
    """Whether the cells of a release record's histogram are no longer as they were drawn."""
    if file.format != RELEASE:
        return False
    from inbounds.releases.verify import load_record, was_adjusted

    return was_adjusted(load_record(file), statistic)


def print_page(target: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"report": str(target)}))
    else:
        out.print(f"report: [bold]{target}[/]")


def print_composition(files: Sequence[LoadedFile], options: Mapping[str, Any], as_json: bool) -> None:
    """compose, of released tables: the sum of their epsilons, in words."""
    from inbounds.releases.verify import compose_releases, load_record

    options_given = [name for name, value in options.items() if value]
    if options_given:
        raise ValueError(f"releases are added up as they are; leave out {', '.join(options_given)}")
    if any(file.format != RELEASE for file in files):
        raise ValueError("compose takes mechanism passports or release records, not both; add up what each says")
    total = compose_releases({str(file.path): load_record(file) for file in files})
    if as_json:
        typer.echo(json.dumps(total.to_json()))
        return
    members = zip(total.names, map(str, total.epsilons), strict=True)
    out.print(terminal.columns("", ["release", "epsilon"], [[escape(name), epsilon] for name, epsilon in members]))
    out.print(f"{total}.", markup=False)

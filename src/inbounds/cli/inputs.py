"""Inputs that several commands share: a mechanism passport, or a release record in its place."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from inbounds.cli import completion
from inbounds.cli.app import out
from inbounds.files import RELEASE, detect_format
from inbounds.mechanism import Mechanism
from inbounds.mechanism.passport import QUANTILE_PASSPORT
from inbounds.report import terminal

if TYPE_CHECKING:
    from inbounds.mechanism.quantiles import QuantileMechanism

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


def load_input_mechanism(
    file: Path, statistic: str | None, size: int | None, folder: Path | None
) -> "Mechanism | QuantileMechanism":
    """Load the mechanism of a passport, or of a statistic and group size of a release record."""
    if detect_format(file) != RELEASE:
        if statistic is not None or size is not None or folder is not None:
            raise ValueError("--statistic, --size and --passports are for release records; this is no release record")
        if detect_format(file) != QUANTILE_PASSPORT.format:
            from inbounds.verdict import load_passport_of

            return load_passport_of(file)
        from inbounds.mechanism.quantiles.load import load_quantile

        return load_quantile(file)
    from inbounds.releases.pipeline import find_mechanism

    try:
        return find_mechanism(file, statistic, size, folder)
    except ValueError as reason:
        raise ValueError(f"{file.name} is the record of a whole table; give --statistic and --size: {reason}") from None


def is_adjusted_record(file: Path, statistic: str | None) -> bool:
    """Return whether the cells of a release record's histogram were adjusted after the draw."""
    if detect_format(file) != RELEASE:
        return False
    from inbounds.releases.verify import load_record, was_adjusted

    return was_adjusted(load_record(file), statistic)


def print_page(target: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"report": str(target)}))
    else:
        out.print(f"report: [bold]{target}[/]")


def print_composition(files: Sequence[Path], options: Mapping[str, Any], as_json: bool) -> None:
    """Print the sum of the epsilons of released tables; `compose` for release records."""
    from inbounds.releases.verify import compose_releases, load_record

    options_given = [name for name, value in options.items() if value]
    if options_given:
        raise ValueError(f"releases are added up as they are; leave out {', '.join(options_given)}")
    if any(detect_format(file) != RELEASE for file in files):
        raise ValueError("compose takes mechanism passports or release records, not both; add up what each says")
    total = compose_releases({str(file): load_record(file) for file in files})
    if as_json:
        typer.echo(json.dumps(total.to_json()))
        return
    members = zip(total.names, map(str, total.epsilons), strict=True)
    out.print(terminal.columns("", ["release", "epsilon"], [[escape(name), epsilon] for name, epsilon in members]))
    out.print(f"{total}.", markup=False)

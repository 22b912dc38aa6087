"""ask: put a question to a curator."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from inbounds.cli.app import NUMBER, TABLES, AsJson, app, err, out
from inbounds.cli.outputs import OutputKind, Overwrite, check_target, out_option
from inbounds.cli.statistic_options import StatisticCommand
from inbounds.files.open_files import read_start
from inbounds.report.progress import show_counts

STARTS = {".xlsx": b"PK", ".json": b"{"}
"""What files of a stored answer begin with; a CSV file begins with its columns of keys."""

Statistics = Annotated[str | None, typer.Option(rich_help_panel="What is asked: one of these")]


@app.command(rich_help_panel=TABLES, cls=StatisticCommand)
def ask(
    url: Annotated[str, typer.Argument(help="Where the curator answers: https://….")],
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="Whom to ask about. Without it, datasets are listed; without a statistic, it is described."
        ),
    ] = None,
    token: Annotated[
        str, typer.Option(envvar="INBOUNDS_TOKEN", help="The account's token; safer in INBOUNDS_TOKEN.")
    ] = "",
    by: Annotated[str | None, typer.Option(help="Columns of groups: A,B; without them, all people.")] = None,
    where: Annotated[str | None, typer.Option(help="Only records that meet it count.", metavar="CONDITION")] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Privacy parameter; smaller is more private.", metavar=NUMBER)
    ] = None,
    key: Annotated[str | None, typer.Option(help="Of this request: asked again with it, it is charged once.")] = None,
    redraw: Annotated[
        bool,
        typer.Option("--redraw", help="Draw it although a stored sum, or an answer at a larger epsilon, would do."),
    ] = False,
    allow_useless: Annotated[
        bool, typer.Option("--allow-useless", help="Ask although it is no better than a constant.")
    ] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Only say the cost and the expected error; free.")] = False,
    target: Annotated[Path | None, out_option("Write the answer here as well: .csv, .xlsx or .json.")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    **statistics: Statistics,
) -> None:
    """Ask a curator a question, or list and describe what may be asked.

    Example: [bold]inbounds ask http://127.0.0.1:8400[/]

    Example: [bold]inbounds ask http://127.0.0.1:8400 adult[/]

    Example: [bold]inbounds ask http://127.0.0.1:8400 adult --mean age --by sex --epsilon 0.5[/]
    """
    from inbounds.curator.answer_tables import FORMS
    from inbounds.curator.client import connect
    from inbounds.curator.description import describe_dataset
    from inbounds.statistics import STATISTICS

    if not token:
        raise ValueError("token must be given: set the environment variable INBOUNDS_TOKEN, or --token")
    question: dict[str, Any] = {}
    for kind, text in statistics.items():
        question |= {} if text is None else STATISTICS[kind].from_option(text)
    columns = None if by is None else [name.strip() for name in by.split(",")]
    if target is not None:  # before anything is charged
        start = STARTS.get(target.suffix.lower(), ",".join(columns or []).encode())
        output = OutputKind(
            "answer to this question", lambda path: read_start(path, 200).startswith(start), tuple(FORMS)
        )
        check_target(target, output, overwrite=overwrite)
    options = {
        "by": columns, "where": where, "epsilon": epsilon,
        "redraw": redraw or None, "allow_useless": allow_useless or None,
    }  # fmt: skip
    question |= {name: value for name, value in options.items() if value is not None}
    with connect(url, token) as curator:
        if dataset is None:
            result: Any = [curator.describe(name) for name in curator.datasets()]
            text = "\n".join(f"{one['name']}: {one['title']}" for one in result)
        elif not question and not preview:
            result = curator.describe(dataset)
            text = describe_dataset(result, curator.account(), curator.url)
        elif preview:
            previewed = curator.preview(dataset, **question)
            result, text = previewed.to_json(), str(previewed)
        else:
            with show_counts(err) as progress:
                progress("asking", 0, 1)
                answer = curator.ask(dataset, key=key, **question)
                progress("asking", 1, 1)
            result, text = answer.to_json(), str(answer)
            if target is not None:
                answer.save(target, overwrite=overwrite)
    if as_json:
        typer.echo(json.dumps(result))
    else:
        out.print(text, markup=False, highlight=False, soft_wrap=True)

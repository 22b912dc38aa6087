"""ask: put a question to a curator."""

import json
from typing import Annotated, Any

import typer

from inbounds.cli.app import NUMBER, TABLES, AsJson, app, out

COLUMN = "COLUMN"


@app.command(rich_help_panel=TABLES)
def ask(
    url: Annotated[str, typer.Argument(help="Where the curator answers: https://….")],
    dataset: Annotated[
        str | None, typer.Argument(help="Whom to ask about; without it, the datasets are listed.")
    ] = None,
    token: Annotated[
        str, typer.Option(envvar="INBOUNDS_TOKEN", help="The account's token; better in the environment.")
    ] = "",
    count: Annotated[
        str | None, typer.Option(help="How many meet a condition: 'age > 50'.", metavar="CONDITION")
    ] = None,
    mean: Annotated[str | None, typer.Option(help="The mean of a column.", metavar=COLUMN)] = None,
    sum_: Annotated[str | None, typer.Option("--sum", help="The sum of a column.", metavar=COLUMN)] = None,
    median: Annotated[str | None, typer.Option(help="The median of a column.", metavar=COLUMN)] = None,
    min_: Annotated[str | None, typer.Option("--min", help="The least value of a column.", metavar=COLUMN)] = None,
    max_: Annotated[str | None, typer.Option("--max", help="The largest value of a column.", metavar=COLUMN)] = None,
    mode: Annotated[str | None, typer.Option(help="The most frequent label of a column.", metavar=COLUMN)] = None,
    histogram: Annotated[str | None, typer.Option(help="How many have each label.", metavar=COLUMN)] = None,
    crosstab: Annotated[str | None, typer.Option(help="How many have each pair of labels: A,B.", metavar="A,B")] = None,
    quantile: Annotated[str | None, typer.Option(help="A quantile: COLUMN@0.9.", metavar="COLUMN@SHARE")] = None,
    by: Annotated[str | None, typer.Option(help="Columns of groups: A,B; without them, all people.")] = None,
    where: Annotated[str | None, typer.Option(help="Only records that meet it count.", metavar="CONDITION")] = None,
    epsilon: Annotated[str | None, typer.Option(help="How private: smaller is more.", metavar=NUMBER)] = None,
    key: Annotated[str | None, typer.Option(help="Of this request: asked again with it, it is charged once.")] = None,
    redraw: Annotated[
        bool,
        typer.Option("--redraw", help="Draw it although a stored sum, or an answer at a larger epsilon, would do."),
    ] = False,
    allow_useless: Annotated[
        bool, typer.Option("--allow-useless", help="Ask although it is no better than a constant.")
    ] = False,
    preview: Annotated[bool, typer.Option("--preview", help="What it would cost and be worth; free.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a curator a question, or list what may be asked.

    Example: [bold]inbounds ask http://127.0.0.1:8400 adult --mean age --by sex --epsilon 0.5[/]
    """
    from inbounds.curator.client import connect

    if not token:
        raise ValueError("token must be given: set the environment variable INBOUNDS_TOKEN, or --token")
    columns = {"mean": mean, "sum": sum_, "median": median, "min": min_, "max": max_, "mode": mode}
    parts = {"crosstab": _split_list(crosstab), "quantile": _quantile(quantile), "by": _split_list(by)}
    values = {**columns, **parts, "count": count, "histogram": histogram, "where": where, "epsilon": epsilon}
    flags = {name: True for name, flag in (("redraw", redraw), ("allow_useless", allow_useless)) if flag}
    question = {name: value for name, value in values.items() if value is not None} | flags
    with connect(url, token) as curator:
        if dataset is None:
            result: Any = [curator.describe(name) for name in curator.datasets()]
            text = "\n".join(f"{one['name']}: {one['title']}" for one in result)
        elif preview:
            previewed = curator.preview(dataset, **question)
            result, text = previewed.to_json(), str(previewed)
        else:
            answer = curator.ask(dataset, key=key, **question)
            result, text = answer.to_json(), str(answer)
    if as_json:
        typer.echo(json.dumps(result))
    else:
        out.print(text, markup=False, highlight=False, soft_wrap=True)


def _split_list(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _quantile(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    column, at, share = text.rpartition("@")
    if not at:
        raise ValueError(f"quantile must be a column and a share, such as age@0.9, got {text!r}")
    return {"of": column, "at": share}

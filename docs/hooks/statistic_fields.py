"""For the site: the page of statistics, made from their declarations."""

from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from inbounds.plan.write import format_value
from inbounds.statistics import STATISTICS, Statistic
from inbounds.statistics.designs import DesignOptions
from inbounds.statistics.entries import entry_fields

PAGE = "statistics.md"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The fields of every statistic, on the page about them."""
    return "\n".join([markdown, *describe_statistics()]) if page.file.src_uri == PAGE else markdown


def describe_statistics() -> Iterator[str]:
    """The lines of the page: each kind, then the fields that all of them have."""
    for kind, statistic in STATISTICS.items():
        yield from _describe_kind(kind, statistic)
    common = {name: Statistic.model_fields[name] for name in entry_fields(Statistic)}
    yield from ["\n## Fields of all statistics\n", *_table(common)]
    yield "\nHow a mechanism is designed: for all statistics under `[design]`, or for one beside it.\n"
    yield from _table(DesignOptions.model_fields)


def _describe_kind(kind: str, statistic: type[Statistic]) -> Iterator[str]:
    own = [name for name in entry_fields(statistic) if name not in Statistic.model_fields]
    fields = {kind: statistic.model_fields[statistic.subject]} | {name: statistic.model_fields[name] for name in own}
    needed = [f"{name} = {_example(field)}" for name, field in fields.items() if field.is_required()]
    yield f"\n## `{kind}`\n\n{statistic.summary()}\n"
    yield from ["```toml", "[[statistics]]", *needed, "```\n"]
    yield from _table(fields)
    if statistic.needed_options:
        yield f"\nIts columns need {' and '.join(f'`{option}`' for option in statistic.needed_options)}."


def _table(fields: dict[str, FieldInfo]) -> list[str]:
    rows = [f"| `{name}` | {field.description} | {_code(_example(field))} |" for name, field in fields.items()]
    return ["| field | meaning | example |", "|---|---|---|", *rows]


def _example(field: FieldInfo) -> str:
    return format_value(field.examples[0]) if field.examples else "true" if field.default is False else ""


def _code(text: str) -> str:
    return f"`{text}`" if text else ""

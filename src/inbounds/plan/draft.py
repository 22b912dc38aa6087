"""A first plan from a schema, for `inbounds init`.

Names and types are filled in from the schema. Public facts such as bounds, keys and sizes are left to the author.
"""

import re
from pathlib import Path
from typing import Any

from inbounds.plan.write import format_value, quote, quote_key
from inbounds.schema.errors import SourceError
from inbounds.sources.open import Source, open_table, silence_engine
from inbounds.statistics import STATISTICS, Statistic

HEAD = """\
# A release plan for {name}, drafted from its columns. Everything in this file is public: take no bound, key or
# label from the data itself. Lines that begin with # are choices; remove the # to make one.
{first}#
#   inbounds release {plan} --dry-run     what would be released, and how well
#   inbounds release {plan}               release it

[source]
{source}

[groups]
by = [{by}]
keys = []            # every group to answer: a list, or a public file such as "groups.txt" or "groups.csv";
                     # of several columns all combinations: keys = {{ sex = ["f", "m"], year = ["1", "2"] }}
size = 25            # records in each group, if public; if not, write instead: max_size = 25
                     # and, if it is known without the data, about how many: typical = 15, or typical = [10, 20]
# missing_key = "not stated"        # one of the keys: the group of records without a value
# period = {{ visited = "month" }}    # dates or times of a column of by as day, month, quarter or year

[people]
# id = {person}        # whose a record is, if one person may have several; then write max_size above, not size
# max_records = 1    # records of one person that count in one group
# max_groups = 1     # groups in which one person counts

[privacy]
epsilon = 1          # shared by all statistics: equally, or as each says with budget_share = 0.5 or epsilon = 0.5

# Statistics, one block each, such as:
{statistics}
# A column and its low, high or labels are declared below. count = "true" counts all records.
# Conditions: =, !=, <, <=, >, >=, in (…), between … and …, is null, and, or, not.
[[statistics]]
{statistic}

[output]
path = "{output}"
# credible_level = 0.9   # adds the ends of a credible interval to every answer

# [design]
# properties = ["fair", "column_monotone"]
# prior = {{ binomial = 0.3 }}
"""

FIRST_LINE = """\
# Columns have the names in the first line of the file. If that is a record and no header line, delete this plan.
"""

NUMBER = """
[columns.{name}]
type = "number"
# low = {low}            # with both bounds it can be averaged, summed …; values outside are moved to the nearer bound
# high = {high}
# step = 1           # rounded to low, low + step, … high
# missing = {missing}        # what a record without a value counts as: best the middle of the range; low if not said
"""

TEXT = """
[columns.{name}]
type = "text"
# labels = ["…", "…", "no answer"]   # with labels it can be a histogram
# other = "no answer"   # the label of any other value and of none, best one of its own; without it: in no cell
"""

BOOLEAN = """
[columns.{name}]
type = "boolean"
"""

COMMA = """
# decimal = ","      # are its numbers written 4,5? without this line 4,5 is no number and counts as missing"""

UNREAD = """
# {name} holds times, or something else that no statistic reads; a column of dates or numbers made of it can be declared
"""

ANYTHING = """
# {name}: a CSV file does not say what its columns hold; keep one of the two blocks
[columns.{name}]
type = "text"           # or "boolean": true and false, yes and no, 1 and 0
# labels = ["…", "…", "no answer"]   # with labels it can be a histogram
# other = "no answer"   # the label of any other value and of none, best one of its own; without it: in no cell
""" + NUMBER.replace("\n[", "\n# [").replace("\ntype", "\n# type")

ANSWERS = {"yes", "no", "true", "false", "na", "n/a", "nan", "null", "none", "ja", "nein"}
"""Texts that occur in records, never in header lines."""

_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


def draft_plan(source: Source, plan: Path) -> str:
    """Write the text of a commented plan for a source. plan: the file that the text is meant for."""
    types = read_schema(source)
    group_column, id_column = guess_group_column(types), guess_id_column(types)
    others = {name: kind for name, kind in types.items() if name not in (group_column, id_column)}
    head = HEAD.format(
        name=Path(source.path).name or source.name,
        plan=plan.name,
        source=_source(source, plan.parent),
        by=quote(group_column) if group_column else "",
        statistics=describe_statistics(),
        statistic=_example(others),
        output=f"{plan.stem}.released.csv",
        first=FIRST_LINE if source.kind == "csv" else "",
        person=quote(id_column or "person"),
    )
    blocks = {"number": NUMBER, "text": TEXT, "boolean": BOOLEAN, "anything": ANYTHING, "unread": UNREAD}
    return head + "".join(
        blocks[kind].format(name=quote_key(name), **guess_bounds(name)) for name, kind in others.items()
    )


def describe_statistics() -> str:
    """Write a comment with every kind of statistic: an example, what it is, and the fields it may have."""
    forms = {kind: _form(kind, statistic) for kind, statistic in STATISTICS.items()}
    width = max(map(len, forms.values()))
    lines = []
    for kind, statistic in STATISTICS.items():
        needs = f" Needs {' and '.join(statistic.needed_options)}." if statistic.needed_options else ""
        lines.append(f"#   {forms[kind]:{width}}   {statistic.summary()}{needs}")
        for name, field in _own_fields(statistic).items():
            if not field.is_required():
                lines.append(f"#   {f'  with {name} = …':{width}}   {field.description}")
    return "\n".join(lines)


def _form(kind: str, statistic: type[Statistic]) -> str:
    """Write an example from the declared ones: the kind with its subject, and the fields that it must have."""
    example = f"{kind} = {format_value(_example_value(statistic.model_fields[statistic.subject]))}"
    must = {name: field for name, field in _own_fields(statistic).items() if field.is_required()}
    return " and ".join([example, *(f"{name} = {_example_value(field)}" for name, field in must.items())])


def _example_value(field: Any) -> Any:
    return field.examples[0] if field.examples else "…"


def _own_fields(statistic: type[Statistic]) -> dict[str, Any]:
    """Return the fields that not every statistic has."""
    shared = (*Statistic.model_fields, statistic.subject)
    return {name: field for name, field in statistic.model_fields.items() if name not in shared}


# --- guesses from column names, for the author to confirm --------------------------------------------------

GROUPING = (
    "school", "class", "region", "district", "county", "state", "country", "city", "town", "department", "ward",
    "hospital", "clinic", "site", "unit", "team", "branch", "group", "area", "zone", "sex", "gender", "year", "month",
)  # fmt: skip
"""Words in names of columns that name groups, the likelier first."""

IDENTITY = ("id", "uuid", "person", "pupil", "patient", "user", "client", "customer", "respondent", "employee")
"""Words in names of columns that identify a person."""

NAMING = ("name", "email", "mail", "phone", "address", "comment", "note", "notes", "text", "remark", "remarks")
"""Words in names of columns that describe one person, which is no group to publish."""

USUAL = {
    "age": (0, 100), "likert": (1, 5), "score": (0, 100), "percent": (0, 100), "grade": (1, 6), "household": (1, 10),
    "children": (0, 10), "hours": (0, 60), "income": (0, 200000), "wage": (0, 100), "salary": (0, 200000),
    "height": (50, 220), "weight": (0, 200), "temperature": (30, 45),
}  # fmt: skip
"""First bounds by common knowledge about such numbers, never from the data."""


def _split_words(name: str) -> set[str]:
    """Split a name into words: studentId, student_id and Student ID have the words student and id."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return set(re.findall(r"[^\W_]+", apart.lower()))


def guess_group_column(types: dict[str, str]) -> str:
    """Guess the column that names groups: by its name, else the first text that names no person."""
    usable = [name for name, kind in types.items() if kind in ("text", "anything")]
    usable = [name for name in usable if not _split_words(name) & {*IDENTITY, *NAMING}]
    ranked = [(GROUPING.index(word), name) for name in usable for word in _split_words(name) & {*GROUPING}]
    return min(ranked)[1] if ranked else next(iter(usable), "")


def guess_id_column(types: dict[str, str]) -> str:
    """Guess the column that identifies persons; empty if no name suggests one."""
    candidates = [name for name, kind in types.items() if kind != "boolean" and _split_words(name) & {*IDENTITY}]
    return next((name for name in candidates if _split_words(name) & {"id", "uuid"}), next(iter(candidates), ""))


def guess_bounds(name: str) -> dict[str, int]:
    """Guess bounds, and the middle for records without a value, from the column's name alone."""
    low, high = next((bounds for word, bounds in USUAL.items() if word in _split_words(name)), (0, 10))
    return {"low": low, "high": high, "missing": (low + high) // 2}


def read_schema(source: Source) -> dict[str, str]:
    """Return each column's kind: number, text, boolean or unread; anything for a CSV file, which has no types."""
    table = open_table(source)
    with silence_engine():
        if source.kind != "csv":
            return {name: _type(kind) for name, kind in table.schema().items()}
        names = list(table.schema())
    _check_header(names)
    return dict.fromkeys(names, "anything")


def _check_header(names: list[str]) -> None:
    """Raise SourceError for a file without a header line: a draft would publish its first record."""
    if any(map(_looks_like_value, names)):
        raise SourceError(
            "must begin with a header line of column names, but something in its first line looks like a value (a "
            "number, a date, an answer such as yes); does the file begin with a header line? if it does, use words "
            "for names, or write the plan by hand",
            ("source", "path"),
        )


def _looks_like_value(name: str) -> bool:
    """Return whether a name looks like a value of a record."""
    plain = name.strip().casefold()
    wordless = not any(letter.isalpha() for letter in plain)
    return plain in ANSWERS or "@" in plain or wordless or bool(_DATE.search(plain))


def _type(kind: Any) -> str:
    """Return the kind of an Ibis type."""
    if kind.is_boolean():
        return "boolean"
    if kind.is_numeric():
        return "number"
    return "text" if kind.is_string() or kind.is_date() else "unread"


def _example(columns: dict[str, str]) -> str:
    """Write a first statistic, about the first column that is no key and names no person."""
    for name, kind in columns.items():
        if kind == "unread" or _split_words(name) & {*NAMING}:
            continue
        operand = name if name.isidentifier() else f'"{name}"'
        test = {"number": f"{operand} > 0", "boolean": operand}.get(kind, f"{operand} = '…'")
        return f'count = {quote(test)}\nname = "count"'
    return 'count = "true"\nname = "count"'


def _source(source: Source, folder: Path) -> str:
    """Write the [source] of the plan."""
    if source.url:
        return f"url = {quote(source.name)}\ntable = {quote(source.table)}"
    path = Path(source.path).resolve()
    near = path.relative_to(folder.resolve()) if path.is_relative_to(folder.resolve()) else path
    table = f"\ntable = {quote(source.table)}" if source.table else ""
    delimiter = f"\ndelimiter = {quote(source.delimiter)}" if source.delimiter else ""
    decimal = f"\ndecimal = {quote(source.decimal)}" if source.decimal else ""
    if source.delimiter == ";" and not source.decimal:
        decimal = COMMA
    return f"path = {quote(str(near))}{table}{delimiter}{decimal}"

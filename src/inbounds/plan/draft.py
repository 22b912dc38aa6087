"""A first plan from a schema, for `inbounds init`.

Names and types are filled in from the schema. Public facts such as bounds, keys and sizes are left to the author.
"""

import re
from pathlib import Path
from typing import Any

from inbounds.plan.write import format_value, quote, quote_key
from inbounds.schema.errors import SourceError
from inbounds.schema.names import names_persons, split_words
from inbounds.sources import survey_files
from inbounds.sources.open import Source, open_table, silence_engine
from inbounds.statistics import STATISTICS, Statistic

HEAD = """\
# A release plan for {name}, drafted from its columns. Everything in this file is public: take no bound, key or
# label from the data itself. Lines that begin with # are choices; remove the # to make one.
{first}{warning}#
#   inbounds release {plan} --dry-run     what would be released, and how well
#   inbounds release {plan}               release it

draft = true         # delete this line when everything below is right: until then the plan can only be tried

[source]
{source}

# [about]            # for readers, on the page for the public
# title = "…"
# author = "…"
# contact = "…"
# notes = "…"

[groups]
{why_by}by = [{by}]
keys = []            # every group to answer: a list, or a public file such as "groups.txt" or "groups.csv";
                     # of several columns all combinations: keys = {{ sex = ["f", "m"], year = ["1", "2"] }}
{size}
# missing_key = "not stated"        # one of the keys: the group of records without a value
# period = {{ visited = "month" }}    # dates or times of a column of by as day, month, quarter or year

# [hierarchy]        # totals that add up: the columns of by from the largest groups to the smallest, below "all"
# levels = [{levels}]

[people]
# name = "…"         # who the data is about, such as "pupils": plans with one name add up what they spend
{people}
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

SIZE = """\
size = 25            # records in each group, if public; if not, write instead: max_size = 25
                     # and, if it is known without the data, about how many: typical = 15, or typical = [10, 20]"""

MAX_SIZE = """\
max_size = 500       # the largest number of records that a group can have; with an id it is never public
                     # and, if it is known without the data, about how many: typical = 300, or typical = [100, 400]"""

NO_PERSON = """\
# id = {person}        # whose a record is, if one person may have several; then write max_size above, not size
# max_records = 1    # records of one person that count in one group
# max_groups = 1     # groups in which one person counts
"""

A_PERSON = """\
id = {person}        # its name says that it tells whose a record is; if every person has one record, write instead
                     # one_record_each = [{person}], and size above if it is public
max_records = 1      # records of one person that count in one group
max_groups = 1       # groups in which one person counts
"""

COPIED = """\
# Labels and missing codes are copied from the file. Software often makes such lists from the data: a label that only
# one record has would then tell about that record. Keep those that the questionnaire or codebook defines.
"""

SAME = """\
# ignore_case = true    # Yes and YES are the same
# trim = true           # and so are "Yes" and " Yes "
"""

FIRST_LINE = """\
# Columns have the names in the first line of the file. If that is a record and no header line, delete this plan.
"""

NUMBER = """
[columns.{name}]{why}
type = "number"
# low = {low}            # with both bounds it can be averaged, summed …; values outside are moved to the nearer bound
# high = {high}
# step = 1           # rounded to low, low + step, … high
# missing = {missing}        # what a record without a value counts as: best the middle of the range; low if not said
"""

TEXT = """
[columns.{name}]{why}
type = "text"
# labels = ["…", "…", "no answer"]   # with labels it can be a histogram
# other = "no answer"   # the label of any other value and of none, best one of its own; without it: in no cell
{same}"""

BOOLEAN = """
[columns.{name}]{why}
type = "boolean"
"""

COMMA = """
# decimal = ","      # how are its numbers written? this line for 4,5, decimal = "." for 4.5"""

THOUSANDS = """
# thousands = "."    # are its numbers written 1.234,5? without this line such a text counts as missing"""

ENCODING = """
# encoding = "windows-1252"   # did a spreadsheet save it as "CSV" and not as "CSV UTF-8"? without this line, records
                     # with letters such as é or ß would be left out, unless the file is in UTF-8"""

UNREAD = """
# {name} holds times, or something else that no statistic reads; a column of dates or numbers made of it can be declared
"""

ANYTHING = """
# {name}: the file does not say what its columns hold; keep one of the two blocks
[columns.{name}]{why}
type = "text"           # or "boolean": true and false, yes and no, 1 and 0
# labels = ["…", "…", "no answer"]   # with labels it can be a histogram
# other = "no answer"   # the label of any other value and of none, best one of its own; without it: in no cell
{same}""" + NUMBER.replace("{{why}}", "").replace("{why}", "").replace("\n[", "\n# [").replace("\ntype", "\n# type")

BLOCKS = {"number": NUMBER, "text": TEXT, "boolean": BOOLEAN, "anything": ANYTHING, "unread": UNREAD}

SURVEYS = ("spss", "stata", "sas")
"""Kinds of files that describe their columns."""

ANSWERS = {"yes", "no", "true", "false", "na", "n/a", "nan", "null", "none", "ja", "nein"}
"""Texts that occur in records, never in header lines."""

_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


def draft_plan(source: Source, plan: Path) -> str:
    """Write the text of a commented plan for a source. plan: the file that the text is meant for."""
    types = read_schema(source)
    _check_title(source, types)
    described = {c.name: c for c in survey_files.describe_columns(source)} if source.kind in SURVEYS else {}
    group_column, id_column = guess_group_column(types), guess_id_column(types)
    nested = guess_levels(types, group_column)
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
        warning=COPIED if any(column.labels or column.missing for column in described.values()) else "",
        why_by=_explain_groups(group_column, nested),
        levels=", ".join(map(quote, ["all", *(nested or [group_column or "region"])])),
        size=MAX_SIZE if names_persons(id_column) else SIZE,
        people=(A_PERSON if names_persons(id_column) else NO_PERSON).format(person=quote(id_column or "person")),
    )
    if group_column in described and described[group_column].labels:
        head += _survey_block(described[group_column])
    return head + "".join(
        _survey_block(described[name]) if name in described else _block(name, kind) for name, kind in others.items()
    )


def _block(name: str, kind: str) -> str:
    """Write the declaration of a column whose source says at most its type."""
    if kind == "anything" and (guess := guess_type(name)):
        kind, why = guess
        return BLOCKS[kind].format(name=quote_key(name), why=f"  # {why}", same=SAME, **guess_bounds(name))
    return BLOCKS[kind].format(name=quote_key(name), why="", same=SAME, **guess_bounds(name))


def _survey_block(column: "survey_files.SurveyColumn") -> str:
    """Write the declaration of a column with the labels and missing codes that its file declares."""
    title = f"  # {' '.join(column.title.split())}" if column.title else ""
    absent = [code if isinstance(code, str) else f"{code[0]} to {code[1]}" for code in column.missing]
    codes = f"missing_codes = {format_value(absent)}\n" if absent else ""
    singles = {code for code in absent if " to " not in code}
    labels = {code: label for code, label in column.labels.items() if code not in singles}
    if len(labels) >= 2 and not _is_scale(labels):
        pairs = ", ".join(f"{quote(code)} = {quote(label)}" for code, label in labels.items())
        block = f"\n[columns.{quote_key(column.name)}]{title}\nlabels = {{ {pairs} }}\n"
        return block + "".join(f"missing_codes = {format_value([*singles])}\n" if singles else "")
    kind = "number" if column.is_number and not column.seconds else "text"
    block = BLOCKS[kind].format(name=quote_key(column.name), why=title, same="", **guess_bounds(column.name))
    return block + codes


def _is_scale(labels: dict[str, str]) -> bool:
    """Return whether labels only say what a few special numbers mean, such as 0 = none."""
    return len(labels) < 3 and not {"0", "1", "2"} >= set(labels)


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

PLACES = (
    "country", "state", "province", "region", "area", "zone", "county", "district", "municipality", "city", "town",
    "sector", "industry", "school", "hospital", "clinic",
    "site", "department", "branch", "unit", "ward", "team", "class",
)  # fmt: skip
"""Words in names of columns that name places and units, the larger first."""

GROUPING = (
    "school", "class", "region", "district", "county", "state", "country", "city", "town", "department", "ward",
    "hospital", "clinic", "site", "unit", "team", "branch", "sector", "industry", "province", "municipality", "group",
    "area", "zone", "sex", "gender", "year", "month",
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


def _is_question(name: str) -> bool:
    """Return whether a name is a question or a statement and not a word for a thing: "Q1: I feel safe at school"."""
    return len(name.split()) > 3 or any(mark in name for mark in "?:") or bool(re.match(r"[Qq]\d", name))


def guess_group_column(types: dict[str, str]) -> str:
    """Guess the column that names groups: by its name, else the first text that names no person."""
    usable = [name for name, kind in types.items() if kind in ("text", "anything") and _may_name_groups(name)]
    ranked = [(GROUPING.index(word), name) for name in usable for word in split_words(name) & {*GROUPING}]
    return min(ranked)[1] if ranked else next(iter(usable), "")


def _may_name_groups(name: str) -> bool:
    """Return whether a name may be that of groups: neither of a person nor a question; "school name" is a place."""
    words = split_words(name)
    if words & {*PLACES} and words <= {*PLACES, "name"}:
        return True
    return not words & {*IDENTITY, *NAMING} and not _is_question(name)


def guess_levels(types: dict[str, str], group_column: str) -> list[str]:
    """Guess the columns that nest around the groups, the largest first; empty unless there are several."""
    found = {
        name: PLACES.index(word)
        for name, kind in types.items()
        if kind in ("text", "anything") and _may_name_groups(name)
        for word in split_words(name) & {*PLACES}
    }
    return sorted(found, key=found.__getitem__) if group_column in found and len(found) > 1 else []


def _explain_groups(group_column: str, nested: list[str]) -> str:
    """Explain the guessed groups in comments, and how to have all levels if there are several columns that may nest."""
    if not group_column:
        return ""
    lines = [explain_group_column(group_column)]
    if nested:
        names = ", ".join(map(quote, nested))
        lines.append(f"these may nest: by = [{names}] answers each combination; see [hierarchy] below for all levels")
    return "".join(f"# {line}\n" for line in lines)


def guess_id_column(types: dict[str, str]) -> str:
    """Guess the column that identifies persons; empty if no name suggests one."""
    candidates = [name for name, kind in types.items() if kind != "boolean" and split_words(name) & {*IDENTITY}]
    return next((name for name in candidates if split_words(name) & {"id", "uuid"}), next(iter(candidates), ""))


def explain_group_column(name: str) -> str:
    """Explain in a comment why a column was taken for that of the groups."""
    words = [word for word in GROUPING if word in split_words(name)]
    return (
        f"the name says {words[0]}, so it may name groups"
        if words
        else "the first column of text; is it that of the groups?"
    )


TYPE_WORDS = {
    "number": (
        *USUAL, "amount", "number", "count", "duration", "days", "minutes", "cost", "price", "pay",
        "gross", "net", "eur", "euro", "euros", "usd", "dollars", "gbp", "chf", "rent", "fee",
        "stay", "rating",
    ),
    "text": (
        "date", "day", "answer", "status", "type", "category", "code", "reason", "degree", "education", "occupation",
        "gender", "sex", "diagnosis", "ward", "submitted", "admitted", "discharged",
    ),
}  # fmt: skip
"""Words in names of columns that tell what they hold, where the file does not."""


def guess_type(name: str) -> tuple[str, str] | None:
    """Guess from a name whether a column holds numbers or texts, and explain it; None if the name does not tell."""
    if _stated_range(name):
        return "number", "the name says its range, so it may hold numbers"
    if _is_question(name):
        return "text", "the name is a question, so it may hold answers"
    found = [(kind, word) for kind, words in TYPE_WORDS.items() for word in words if word in split_words(name)]
    kinds = {kind for kind, _ in found}
    return (found[0][0], f"the name says {found[0][1]}, so it may hold {found[0][0]}s") if len(kinds) == 1 else None


def _stated_range(name: str) -> tuple[int, int] | None:
    """Return the bounds that a name states, as in "Teachers listen to me (1-5)"."""
    found = re.search(r"[(\[](\d{1,4}) ?(?:-|–|\.\.|to) ?(\d{1,4})[)\]]", name)
    return (int(found[1]), int(found[2])) if found and int(found[1]) < int(found[2]) else None


def guess_bounds(name: str) -> dict[str, int]:
    """Guess bounds, and the middle for records without a value, from the column's name alone."""
    usual = next((bounds for word, bounds in USUAL.items() if word in split_words(name)), (0, 10))
    low, high = _stated_range(name) or usual
    return {"low": low, "high": high, "missing": (low + high) // 2}


def read_schema(source: Source) -> dict[str, str]:
    """Return each column's kind: number, text, boolean or unread; anything for a CSV file, which has no types."""
    table = open_table(source)
    with silence_engine():
        if not source.textual:
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


def _check_title(source: Source, types: dict[str, str]) -> None:
    """Raise SourceError for a sheet whose first row has one name: most often the title of the sheet."""
    if source.kind == "xlsx" and source.header_row == 1 and len(types) == 1:
        raise SourceError(
            f"has one column name only in row 1, {next(iter(types))!r}; if that is a title, give --header-row with the "
            "number of the row that has the column names (header_row under [source] of a plan); if the sheet has only "
            "one column, write the plan by hand",
            ("source", "header_row"),
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
    for name, kind in sorted(columns.items(), key=lambda column: not _is_question(column[0])):
        if kind == "unread" or split_words(name) & {*NAMING}:
            continue
        if kind == "anything" and (guess := guess_type(name)):
            kind, _ = guess
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
    encoding = f"\nencoding = {quote(source.encoding)}" if source.encoding else ENCODING if source.kind == "csv" else ""
    row = f"\nheader_row = {source.header_row}" if source.header_row > 1 else ""
    delimiter = f"\ndelimiter = {quote(source.delimiter)}" if source.delimiter else ""
    decimal = f"\ndecimal = {quote(source.decimal)}" if source.decimal else ""
    if source.delimiter == ";" and not source.decimal:
        decimal = COMMA
    if source.thousands:
        decimal += f"\nthousands = {quote(source.thousands)}"
    elif source.decimal == ",":
        decimal += THOUSANDS
    return f"path = {quote(str(near))}{table}{row}{delimiter}{decimal}{encoding}"

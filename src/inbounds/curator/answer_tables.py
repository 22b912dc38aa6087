"""Answers in other forms: a figure, one table of several answers, and files for spreadsheets and scripts."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds.files.atomic import with_file_name, write_atomically
from inbounds.optional import import_optional, to_pandas_frame, to_polars_frame
from inbounds.releases.write import escape_formula
from inbounds.report.notebook import text_table
from inbounds.report.plots import MOST_ROWS, Interval

if TYPE_CHECKING:
    from inbounds.curator.answer import Answer

FORMS = {
    ".csv": "text/csv; charset=utf-8",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".json": "application/json",
}
"""The forms that an answer can be written in, by the ending of the file, and their media types."""

MOST_PANELS = 4
"""Most columns that are drawn beside each other in a figure."""


def encode_answer(answer: "Answer", form: str) -> bytes:
    """Return an answer as the bytes of a file. form: the ending of its name, one of `FORMS`.

    A .csv file holds the table, an .xlsx file a second sheet with the question, its epsilon and the promise, a .json
    file the answer as the curator sends it. Texts that a spreadsheet would take for formulas are written as texts.
    """
    if form not in FORMS:
        raise ValueError(f"an answer must be written to a file that ends in {', '.join(FORMS)}, got {form!r}")
    if form == ".json":
        return (json.dumps(answer.to_json(), indent=1, ensure_ascii=False) + "\n").encode()
    head, rows = list(answer.table), list(zip(*answer.table.values(), strict=True))
    if form == ".xlsx":
        return _write_workbook(head, rows, _facts(answer))
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([map(escape_formula, row) for row in (head, *rows)])
    return text.getvalue().encode()


def _facts(answer: "Answer") -> list[tuple[str, str]]:
    question = {name: value for name, value in answer.question.items() if value not in (None, [], "")}
    return [
        ("dataset", answer.dataset),
        ("edition", answer.edition),
        *((name, value if isinstance(value, str) else json.dumps(value)) for name, value in question.items()),
        ("epsilon of the answer", answer.epsilon),
        ("given", answer.time),
        ("id", answer.id),
        *(("how to read it", sentence) for sentence in answer.values),
        ("promise", answer.statement),
    ]


def _write_workbook(head: Sequence[str], rows: Sequence[Sequence[Any]], facts: Sequence[Sequence[str]]) -> bytes:
    openpyxl = import_optional("openpyxl", "sheets")
    book = openpyxl.Workbook()
    table, about = book.active, book.create_sheet("about")
    table.title = "answer"
    table.freeze_panes = "A2"
    for sheet, lines in ((table, [head, *rows]), (about, facts)):
        for i, line in enumerate(lines, 1):
            for j, value in enumerate(line, 1):
                cell = sheet.cell(i, j, value)
                if isinstance(value, str):
                    cell.data_type = "s"  # never a formula
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def save_answer(answer: "Answer", path: Path, *, overwrite: bool = False) -> Path:
    """Write an answer to a file whose ending says the form; return its path."""
    content = encode_answer(answer, path.suffix.lower())
    if path.exists() and not overwrite:
        raise ValueError(f"path must not exist yet, got {path}; give another name, or overwrite=True to replace it")
    with with_file_name(path):
        write_atomically(path, content)
    return path


def number_panels(table: Mapping[str, Sequence[Any]], by: Sequence[str]) -> Iterator[tuple[str, list[Interval], str]]:
    """Yield each column of published numbers as intervals with a name for each row, and what the intervals mean."""
    keys = [" · ".join(map(str, row)) for row in zip(*(table[name] for name in by), strict=True)]
    for name, column in table.items():
        values = [(k, value) for k, value in enumerate(column[:MOST_ROWS]) if isinstance(value, int | float)]
        if f"{name}_low" in table and f"{name}_high" in table:
            ends = [(table[f"{name}_low"][k], table[f"{name}_high"][k]) for k, _ in values]
            meaning = "The line is the credible interval."
        elif f"{name}_error" in table:
            errors = [table[f"{name}_error"][k] for k, _ in values]
            ends = [(value - error, value + error) for (_, value), error in zip(values, errors, strict=True)]
            meaning = "The line is the expected error to each side."
        else:
            continue
        names = [keys[k] if keys else "all" for k, _ in values]
        rows = zip(names, values, ends, strict=True)
        if values:
            yield name, [Interval(row, low, value, high) for row, (_, value), (low, high) in rows], meaning


@dataclass(frozen=True)
class JoinedAnswers:
    """Several answers about the same groups in one table: a row for each key.

    by: the columns of keys. table: the keys, then the columns of each answer; a name that an earlier answer has too
    ends in the number of its answer, such as `count_2`.
    """

    by: tuple[str, ...]
    table: Mapping[str, list[Any]]

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        return to_pandas_frame(dict(self.table))

    def to_polars(self) -> Any:
        """Return the table as a Polars frame."""
        return to_polars_frame(dict(self.table))

    def __str__(self) -> str:
        return text_table(list(self.table), zip(*self.table.values(), strict=True))


def join_answers(answers: "Sequence[Answer]") -> JoinedAnswers:
    """Join answers by their keys, in the order in which keys first appear; a key that an answer lacks gets None."""
    by = tuple(answers[0].question.get("by") or ())
    for answer in answers[1:]:
        other = tuple(answer.question.get("by") or ())
        if sorted(other) != sorted(by):
            raise ValueError(
                f"answers must be by the same columns to be joined, got {', '.join(by) or 'none'} and "
                f"{', '.join(other) or 'none'}"
            )
    rows_of = [
        {key: k for k, key in enumerate(zip(*(one.table[name] for name in by), strict=True))} if by else {(): 0}
        for one in answers
    ]
    keys = list(dict.fromkeys(key for rows in rows_of for key in rows))
    table: dict[str, list[Any]] = {name: [key[k] for key in keys] for k, name in enumerate(by)}
    for number, (one, rows) in enumerate(zip(answers, rows_of, strict=True), 1):
        places = [rows.get(key) for key in keys]
        for name, column in one.table.items():
            if name not in by:
                own = f"{name}_{number}" if name in table else name
                table[own] = [None if place is None else column[place] for place in places]
    return JoinedAnswers(by, table)

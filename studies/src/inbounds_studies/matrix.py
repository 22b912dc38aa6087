"""What the matrix studies share: a mechanism's probabilities as tidy rows."""

from collections.abc import Iterable, Mapping
from typing import Any

from inbounds.exact import Floats
from inbounds.mechanism import Mechanism
from inbounds_studies.table import Table

COLUMNS = ("mechanism", "output", "answer", "probability")


def entries(mechanisms: Mapping[str, Mechanism]) -> Table:
    """P[output, answer] of each mechanism, one entry a row."""
    rows = [row for name, m in mechanisms.items() for row in entry_rows(name, m)]
    return Table.of(COLUMNS, rows)


def entry_rows(name: str, mechanism: Mechanism) -> Iterable[tuple[Any, ...]]:
    query = mechanism.query
    return matrix_rows(name, mechanism.matrix, query.output_values.tolist(), query.answers.numbers().tolist())


def matrix_rows(name: str, matrix: Floats, outputs: list[Any], answers: list[Any]) -> Iterable[tuple[Any, ...]]:
    return (
        (name, output, answer, matrix[i, j]) for i, output in enumerate(outputs) for j, answer in enumerate(answers)
    )

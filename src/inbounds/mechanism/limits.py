"""The largest matrix that is written out, and the error for larger ones."""

from inbounds.errors import TooLarge
from inbounds.query import RangeQuery

MATRIX_LIMIT = 1 << 24
"""Entries of the largest matrix that is written out (4096 × 4096)."""


def is_too_large(query: RangeQuery, rows: int = 0) -> bool:
    """Return whether the query's matrix, or one with `rows` rows, would have more than MATRIX_LIMIT entries."""
    outputs, answers = query.shape
    return max(outputs, rows) * answers > MATRIX_LIMIT


def refuse_beyond_limit(query: RangeQuery, rows: int = 0) -> None:
    """Raise `TooLarge` if the query's matrix, or one with `rows` rows, would have more than MATRIX_LIMIT entries."""
    outputs, answers = query.shape
    refuse_large_matrix(max(outputs, rows), answers)


def refuse_large_matrix(outputs: int, answers: int) -> None:
    """Raise `TooLarge` for a matrix of more than MATRIX_LIMIT entries."""
    if outputs * answers > MATRIX_LIMIT:
        raise TooLarge(
            f"a matrix of {outputs} × {answers} is over the limit of {MATRIX_LIMIT} entries; "
            "use a construction with a noise table (truncated_geometric), randomized_response, or coarser answers"
        )

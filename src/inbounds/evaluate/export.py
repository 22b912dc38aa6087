r"""Export of result tables as text: CSV with every digit, and plain LaTeX that needs no package.

>>> print(latex_table(["mechanism", "loss"], [["explicit_fair", "0.5"]]))
\begin{tabular}{lr}
\hline
mechanism & loss \\
\hline
explicit\_fair & 0.5 \\
\hline
\end{tabular}
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "α": r"$\alpha$",
    "ε": r"$\varepsilon$",
}


def csv_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return CSV: a line of column names, those of the first row, and a line for each row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def latex_table(head: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Return a LaTeX tabular of texts; the first columns are left-aligned, the others right-aligned."""
    lines = [" & ".join(map(escape_latex, row)) + r" \\" for row in rows]
    places = "l" * text_columns + "r" * (len(head) - text_columns)
    top = " & ".join(map(escape_latex, head)) + r" \\"
    return "\n".join(
        [rf"\begin{{tabular}}{{{places}}}", r"\hline", top, r"\hline", *lines, r"\hline", r"\end{tabular}"]
    )


def escape_latex(text: str) -> str:
    """Escape the text for LaTeX."""
    return "".join(_SPECIAL.get(sign, sign) for sign in text)

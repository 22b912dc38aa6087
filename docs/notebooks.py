"""The notebooks of the gallery: run, and what they show written into them. `python docs/notebooks.py [NAME …]`

A cell's last line, if it is an expression, is shown as a notebook shows it: figures as PNG, frames as tables, the rest
as text. A cell that draws with operating-system entropy, and whose output so differs from run to run, is tagged
`drawn`. Nothing but the package and what it is used with is needed: no kernel, no server.
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parent / "gallery"


def names() -> list[str]:
    """The notebooks there are, without their ending."""
    return sorted(path.stem for path in GALLERY.glob("*.ipynb"))


def read(name: str) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads((GALLERY / f"{name}.ipynb").read_text("utf-8"))
    return notebook


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def drawn(cell: dict[str, Any]) -> bool:
    """Whether what the cell shows differs from run to run."""
    return "drawn" in cell["metadata"].get("tags", [])


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def executed(notebook: dict[str, Any], name: str) -> Iterator[list[dict[str, Any]]]:
    """What every code cell shows, in turn, in one namespace; files are written to the current folder."""
    scope: dict[str, Any] = {"__name__": name}
    for number, cell in enumerate(code_cells(notebook), 1):
        yield _shown(source(cell), f"{name}, cell {number}", scope)


def _shown(code: str, place: str, scope: dict[str, Any]) -> list[dict[str, Any]]:
    body = ast.parse(code, place).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) and not code.rstrip().endswith(";") else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), place, "exec"), scope)  # noqa: S102 - the notebooks are ours
        value = None if last is None else eval(compile(ast.Expression(last.value), place, "eval"), scope)  # noqa: S307
    text = printed.getvalue()
    stream = [{"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}] if text else []
    return stream + ([] if value is None else [_result(value)])


def _result(value: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {}, "data": _forms(value)}


def _forms(value: Any) -> dict[str, Any]:
    if hasattr(value, "savefig"):
        file = io.BytesIO()
        value.savefig(file, dpi=100, metadata={"Software": None})
        return {"image/png": base64.b64encode(file.getvalue()).decode("ascii")}
    text = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "to_html") and hasattr(value, "columns"):
        return {"text/html": value.to_html(border=0).splitlines(keepends=True), **text}
    return text


def write(name: str) -> None:
    """Run a notebook in an empty folder and keep what it shows."""
    notebook = read(name)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shown = list(executed(notebook, name))
    for number, (cell, outputs) in enumerate(zip(code_cells(notebook), shown, strict=True), 1):
        cell |= {"execution_count": number, "outputs": outputs}
    (GALLERY / f"{name}.ipynb").write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "agg"
    for chosen in sys.argv[1:] or names():
        write(chosen)

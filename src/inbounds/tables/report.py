"""The release as one HTML page for an auditor: promise, account, mechanisms, the table, and what to check."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from inbounds.report.layout import document, table
from inbounds.tables.booking import standing
from inbounds.tables.formulas import neutral

SHOWN_ROWS = 200
"""Rows of the released table on the page; the file holds all of them."""

SHOWN_SIZES = 20
"""Sizes whose expected errors are listed, the same for every statistic; of more, an even selection is shown."""


def thinned(count: int, shown: int) -> list[int]:
    """All of 0..count-1, or `shown` of them: the first, the last, and others evenly between."""
    if count <= shown:
        return list(range(count))
    return sorted({round(k * (count - 1) / (shown - 1)) for k in range(shown)})


def page(record: Mapping[str, Any], released: Any = None) -> str:
    """A self-contained page: no script, no other file, nothing that is not in the record or the released table."""
    return document(_title(record), _parts(record, released))


def _title(record: Mapping[str, Any]) -> str:
    return f"Private release of {record['plan']['source']['name']}"


def _parts(record: Mapping[str, Any], released: Any) -> Iterator[str]:
    plan, epsilon = record["plan"], record["epsilon"]
    groups = f"{plan['groups']} groups by {', '.join(plan['by'])}" if plan["by"] else "the whole table"
    when = record["time"].replace("T", " ").replace("+00:00", " UTC")
    yield f"<h1>{escape(_title(record))}</h1>"
    yield f'<p class="sub">{escape(groups)} · epsilon {epsilon["spent"]} of {epsilon["total"]} · {escape(when)}</p>'
    yield f"<h2>What is promised</h2><p>{escape(record['statement'])}</p>"
    for line in record.get("values", ()):
        yield f"<p>{escape(line)}.</p>"
    yield "<h2>What was spent</h2>"
    names = ["statistic", "epsilon", "each number drawn at", "why"]
    yield table(names, [_cells(a["statistic"], a["spent"], a["drawn_at"], a["reason"]) for a in record["account"]])
    yield f"<p>{escape(record['composition'][-1])}.</p>"
    if "ledger" in record:
        yield f"<p>{escape(standing(record))}.</p>"
    yield "<h2>How wrong will it be?</h2>"
    yield from _errors(record["mechanisms"])
    yield "<h2>The table</h2>"
    yield from _rows(released, [f"{line['statistic']}_error" for line in record["account"]])
    yield "<h2>To check</h2>"
    yield _digests(record)


def _cells(*values: Any) -> list[str]:
    return [escape(f"{value:.6g}" if isinstance(value, float) else str(neutral(value))) for value in values]


def _errors(mechanisms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Expected errors against the group size: a line for each statistic, and the numbers."""
    yield (
        "<p>Mean absolute error of each answer, for groups of each size: from the noise alone, all true answers "
        "equally likely (or under the plan's prior), before cells are made to add up. Not from clamping or missing "
        "values.</p>"
    )
    for name, points in _series(mechanisms).items():
        yield f"<figure>{_chart(name, points)}</figure>"
    names = ["statistic", "group size", "groups", "expected error", "answers", "mechanism"]
    keys = ("statistic", "size", "groups", "expected_error", "answers", "origin")
    sizes = sorted({m["size"] for m in mechanisms if isinstance(m["size"], int)})
    picked = {sizes[k] for k in thinned(len(sizes), SHOWN_SIZES)}
    told = [m for m in mechanisms if not isinstance(m["size"], int) or m["size"] in picked]
    yield table(names, [_cells(*(m[key] for key in keys)) for m in told])
    if len(picked) < len(sizes):
        yield f'<p class="sub">{len(picked)} of {len(sizes)} sizes shown; all are in the record.</p>'


def _series(mechanisms: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """Statistics whose mechanism depends on the size, with at least three sizes to draw."""
    found: dict[str, list[tuple[float, float]]] = {}
    for m in mechanisms:
        if isinstance(m["size"], int):
            found.setdefault(m["statistic"], []).append((m["size"], m["expected_error"]))
    return {name: points for name, points in found.items() if len(points) >= 3}


def _chart(name: str, points: list[tuple[float, float]]) -> str:
    """Expected error against group size, from zero, as inline SVG."""
    width, left, base = 480.0, 48.0, 120.0
    xs, ys = zip(*points, strict=True)
    span, top = max(xs) - min(xs) or 1.0, max(ys) or 1.0
    places = [(left + (x - min(xs)) / span * (width - left - 10), base - y / top * (base - 30)) for x, y in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return (
        f'<svg viewBox="0 0 {width:.0f} 142" role="img" aria-label="expected error against group size" font-size="12">'
        f'<text x="{left}" y="14">{escape(name)}: expected error against group size</text>'
        f'<line x1="{left}" x2="{width - 10}" y1="{base}" y2="{base}" stroke="#888"/>'
        f'<polyline points="{path}" fill="none" stroke="#105ba4" stroke-width="2"/>'
        f'<text x="{left - 6}" y="36" text-anchor="end">{top:.3g}</text>'
        f'<text x="{left - 6}" y="{base}" text-anchor="end">0</text>'
        f'<text x="{left}" y="{base + 16}">{min(xs):g}</text>'
        f'<text x="{width - 10}" y="{base + 16}" text-anchor="end">{max(xs):g}</text></svg>'
    )


def _rows(released: Any, errors: Sequence[str]) -> Iterator[str]:
    if released is None:
        yield "<p>A dry run: nothing was read but the schema, and nothing was released.</p>"
        return
    same = {name: released[name][0].as_py() for name in errors if _constant(released, name)}
    for name, value in same.items():
        yield f"<p>{escape(name)} is {value:.6g} in every row.</p>"
    names = [name for name in released.column_names if name not in same]
    columns = [released[name].slice(0, SHOWN_ROWS).to_pylist() for name in names]
    shown = [neutral(name) for name in names]
    yield _boxed(_unstuttered(table(shown, [_cells(*row) for row in zip(*columns, strict=True)]), shown[0], columns[0]))
    if released.num_rows > SHOWN_ROWS:
        yield f'<p class="sub">The first {SHOWN_ROWS} of {released.num_rows} rows; the file holds all of them.</p>'


def _constant(released: Any, name: str) -> bool:
    return released.num_rows > 1 and len(released[name].unique()) == 1


def _boxed(wide: str) -> str:
    """A table wider than the page scrolls in a box of its own."""
    return f'<div style="overflow-x:auto">{wide}</div>'


def _unstuttered(html: str, name: str, keys: Sequence[Any]) -> str:
    """Keys that begin with their column's name stand without it on a narrow screen: group 1, not group group 1."""
    repeated = all(str(key).lower().startswith(name.lower()) for key in keys)
    return html.replace(f'<th data-label="{escape(name)}">', '<th data-label="">') if repeated else html


def _digests(record: Mapping[str, Any]) -> str:
    """Digests of the plan and the table; those of the mechanisms and the versions that made them, folded away."""
    first, made = [("plan", record["plan_sha256"])], record["mechanisms"]
    if "table" in record:
        first.append((f"table {record['table']['file']}", record["table"]["sha256"]))
    rest = [(f"{m['statistic']}, size {m['size']}", m["sha256"]) for m in made[:SHOWN_ROWS]]
    more = f'<p class="sub">The first {SHOWN_ROWS}; all are in the record.</p>' if len(made) > SHOWN_ROWS else ""
    versions = ", ".join(f"{name} {value}" for name, value in record["versions"].items())
    summary = f"Digests of {len(made)} mechanisms" if len(made) > 1 else "Digest of the mechanism"
    return (
        f"{_checking(record)}{_sums(first)}"
        f"<details><summary>{summary}</summary>{_sums(rest)}{more}</details>"
        f"<details><summary>Versions</summary><p>{escape(versions)}</p></details>"
    )


def _checking(record: Mapping[str, Any]) -> str:
    if "table" not in record:
        return ""
    command = f"inbounds verify {record['table']['file']}.release.json"
    return f"<p><code>{escape(command)}</code> checks the record, the table and the account again.</p>"


def _sums(lines: Sequence[tuple[str, str]]) -> str:
    return table(
        ["", "sha256"], [[escape(neutral(name)), f"<code>{escape(sum_)}</code>"] for name, sum_ in lines], plain=True
    )

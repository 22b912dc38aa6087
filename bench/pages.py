"""docs/benchmarks: a page for each part from results.json, the summary, and how every page is published."""

import json
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from harness import OURS, Row
from parts import PARTS, Part

NUMBERS = ("best", "times ours", "runs", "spread")
WIDE = "---\nhide: [toc]\n---"  # no contents at the side: the tables need the room
Result = dict[str, Any]  # of one part: "rows", "skipped" and "machine"
MOST_ROWS = 16
"""A longer table is published as JSON, and the page says where."""
TABLE = re.compile(r"(?:^\|.*\n)+", re.M)
HEADING = re.compile(r"^#+ +(.+)$", re.M)
MACHINE = re.compile(r"^\*(Measured [^;\n]+); ([^\n]+)\.\*$", re.M)
"""What `machine_line` writes: the day and the processor, then threads and versions, which a page leaves to its data."""


def publish(path: Path, text: str) -> None:
    """Write a page; long tables and versions go to a file beside it, `NAME.tables.json`, and the page says where."""
    tables: list[dict[str, Any]] = []
    machines = [f"{where}; {versions}" for where, versions in MACHINE.findall(text)]

    def shorten(found: re.Match[str]) -> str:
        columns, _, *rows = [split_row(line) for line in found[0].splitlines()]
        if len(rows) <= MOST_ROWS:
            return found[0]
        title = HEADING.findall(text[: found.start()])[-1]
        tables.append({"title": title, "columns": columns, "rows": rows})
        return f"All {len(rows)} rows are in [{target.name}]({target.name}), table {len(tables)}.\n"

    target = path.with_suffix(".tables.json")
    short = leave_out_versions(TABLE.sub(shorten, text), target.name)
    path.write_text(short, "utf-8")
    if tables or machines:
        data = {"tables": tables, "machines": machines}
        target.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", "utf-8")


def leave_out_versions(text: str, data: str) -> str:
    """Shorten the lines of `machine_line` to the day and the processor; `data` has the rest."""
    return MACHINE.sub(rf"*\1; versions are in [{data}]({data}).*", text)


def split_row(line: str) -> list[str]:
    """The cells of a row of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def page(name: str, part: Part, result: Result) -> str:
    """What is measured, the figure, the table, what the numbers do not say, and where they are from."""
    parts = [WIDE, f"# {part.title}", part.about]
    parts += [f"![{part.caption.partition('.')[0]}]({part.figure}.png)", f"*{part.caption}*"] if part.figure else []
    parts += [headline_table(name, part, rows_of(result))]
    parts += [f"Skipped: {'; '.join(result['skipped'])}."] if result["skipped"] else []
    parts += [
        "*Best* is the fastest run, *spread* the slowest over the fastest (– for a single run), *times ours* a peer's "
        "best over ours in the same run of the benchmark: below 1, the peer is faster.",
        f"**What this does not say.** {part.limits}",
        f"**Repeat it:** `make bench ONLY={name}`.",
        machine_line(result["machine"]),
    ]
    return leave_out_versions("\n\n".join(parts) + "\n", "results.json")


def headline_table(name: str, part: Part, rows: list[Row]) -> str:
    """All rows of a part where they are few, otherwise those of the headline tasks."""
    if len(rows) <= MOST_ROWS or not part.headlines:
        return table(rows)
    shown = [row for row in rows if row.task in part.headlines]
    return f"{table(shown)}\n\nAll {len(rows)} rows are in [results.json](results.json), under `{name}`."


def table(rows: list[Row]) -> str:
    """Rows of one task together, ours first, its name once. Columns that say nothing are left out."""
    ours = {row.task: row for row in rows if row.who == OURS}
    columns: dict[str, Callable[[Row], str]] = {
        "task": lambda row: row.task,
        "who": lambda row: whole(row.who),
        "best": lambda row: whole(best(row)),
        "times ours": lambda row: whole(ratio(row, ours.get(row.task))),
        "runs": runs,
        "spread": spread,
        "privacy": lambda row: row.privacy,
        "note": lambda row: row.note,
    }
    empty = {"times ours"} if len(rows) == len(ours) else set()
    empty |= {name for name in ("privacy", "note") if not any(map(columns[name], rows))}
    shown = {name: cell for name, cell in columns.items() if name not in empty}
    lines = [list(shown), ["---:" if name in NUMBERS else "---" for name in shown]]
    for task in dict.fromkeys(row.task for row in rows):
        same = sorted((row for row in rows if row.task == task), key=lambda row: (row.who != OURS, not own(row)))
        group = [[cell(row) for cell in shown.values()] for row in same]
        lines += [group[0], *(["", *cells[1:]] for cells in group[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(results: dict[str, Result]) -> str:
    """The headline ratios of all parts: the fastest peer, whatever its privacy, which stands beside it."""
    head = ["part", "task", "ours", "our privacy", "fastest peer", "its time", "times ours", "its privacy"]
    lines = [head, ["---", "---", "---:", "---", "---", "---:", "---:", "---"]]
    for name, ours, peers in headlines(results):
        peer = min((row for row in peers if not row.outcome), key=lambda row: row.each, default=peers[0])
        names = peer.who if not peer.outcome else ", ".join(row.who for row in peers)
        link = f"[{PARTS[name].title}]({name}.md)"
        times = [whole(text) for text in (best(ours), best(peer), ratio(peer, ours))]
        cells = [link, ours.task, times[0], ours.privacy, names, *times[1:], peer.privacy]
        lines.append([cell or "–" for cell in cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def index(results: dict[str, Result]) -> str:
    skipped = [f"{reason} ({name})" for name, result in results.items() for reason in result["skipped"]]
    caption = (
        "The time of each peer as a multiple of ours, on a log scale: left of the line it is faster. The words give "
        "the privacy of its result."
    )
    parts = [
        WIDE,
        "# Benchmarks",
        "The privacy of each result stands beside its time. Every ratio "
        "is between two measurements of one run of that part, on one machine; what is timed has a core to itself, and "
        "pages about errors are worked out on the other.",
        summary(results),
        "![Times of the peers as multiples of the time of inbounds](summary.png)",
        f"*{caption}*",
        "All peers, all sizes and the spread of repeated runs are on the pages of the parts:",
        "\n".join(f"- [{title}]({name}.md)" for name, title in titles(results).items()),
        *([f"Skipped: {'; '.join(skipped)}."] if skipped else []),
        "**What this does not say.** How these ratios look on other machines; and short times vary, as the spread "
        "on each page shows. The tasks are those that `inbounds` is made for: answers in a known finite range. "
        "[How it compares](../coming-from.md) names what the peers do and it does not.",
        "**Repeat it:** `make bench` for everything, `make bench ONLY=designing` for one part. `PATIENCE` is the time "
        "a peer gets for one design, in seconds (60). A peer that cannot be installed is skipped by name. All rows are "
        "in [results.json](results.json); `python bench/run.py --pages` writes these pages from them again. Each page "
        "names its machine and date, and where the versions are.",
    ]
    return "\n\n".join(parts) + "\n"


def titles(results: dict[str, Result]) -> dict[str, str]:
    """Of every page, by its name: those of the parts, and those that scripts write themselves."""
    return {name: PARTS[name].title for name in results} | OWN_TITLES


OWN_TITLES = {
    "sweep": "Even speed",
    "graphs": "Graphs",
    "local": "Labels under local privacy",
    "coverage": "Intervals under local privacy",
    "sizes": "Intervals by the size of a group",
    "adding": "Tables that add up",
    "stated": "Stated errors of tables that add up",
    "repeated-noise": "Noise for many answers",
    "quantiles": "Quantiles",
    "several-quantiles": "Several quantiles",
    "solvers": "Solvers",
    "maps": "Maps",
}


def headlines(results: dict[str, Result]) -> Iterable[tuple[str, Row, list[Row]]]:
    """(part, our row, the peers' rows) of every headline task that has both."""
    for name, result in results.items():
        rows = rows_of(result)
        for task in PARTS[name].headlines:
            ours = [row for row in rows if row.task == task and row.who == OURS]
            beside = [row for row in rows if row.task == task and not own(row)]
            peers = [row for row in beside if not row.privacy.startswith("none")] or beside  # a floor if nobody else
            if ours and peers:
                yield name, ours[0], peers


def rows_of(result: Result) -> list[Row]:
    return [Row(**row) for row in result["rows"]]


def whole(text: str) -> str:
    """Kept on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def own(row: Row) -> bool:
    """Ours, or another way of our own."""
    return row.who.startswith(OURS)


def best(row: Row) -> str:
    if row.outcome == "stopped":
        return f"> {quantity(row.times[0])} s"
    if row.outcome == "no solution":
        return f"no solution ({seconds(row.each)})"
    if row.outcome:
        return row.outcome
    if row.per == "value":
        return f"{quantity(1e-6 / row.each)} M values/s"
    return f"{seconds(row.each)} per {row.per}" if row.per else seconds(row.each)


def ratio(row: Row, ours: Row | None) -> str:
    if ours is None or row.outcome not in ("", "stopped"):
        return "–"
    if row is ours or row == ours:
        return "1"
    return f"{'> ' * bool(row.outcome)}{quantity(row.each / ours.each)}×"


def runs(row: Row) -> str:
    return str(len(row.times)) if row.times else "–"


def spread(row: Row) -> str:
    return f"{row.spread:.2f}" if len(row.times) > 1 else "–"


def seconds(value: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if value >= size:
            return f"{quantity(value / size)} {unit}"
    return f"{quantity(value / 1e-6)} µs"


def quantity(value: float) -> str:
    """Three digits, or all before the point, with commas."""
    if value >= 100:
        return f"{value:,.0f}"
    digits = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:.{max(0, digits)}f}".rstrip("0").rstrip(".") if digits > 0 else f"{value:.0f}"


def machine_line(machine: dict[str, str]) -> str:
    where = f"Measured {machine['date']} on {machine['processor']}"
    return f"*{where}; {machine['threads']}; {machine['versions']}.*"

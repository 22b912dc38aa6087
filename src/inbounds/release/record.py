"""The release record: what an auditor needs to know about a released table, and no true value."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from inbounds import __version__
from inbounds.release.answer import Designed
from inbounds.release.designs import Design
from inbounds.release.words import composition, statement

FORMAT, VERSION = "inbounds release", 1
"""Fields may be added, never redefined."""

TOLD = ("ibis-framework", "duckdb", "psycopg", "pyspark", "pyarrow", "numpy", "scipy", "highspy")


def record(designed: Designed) -> dict[str, Any]:
    """Everything but the table's own digest, which `write` adds. Built from the plan and the mechanisms alone."""
    asked, plan = designed.asked, designed.asked.plan
    return {
        "format": FORMAT,
        "version": VERSION,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "plan_sha256": plan.digest,
        "plan": plan.summary(),
        "statement": statement(plan),
        "epsilon": {"total": str(plan.epsilon), "spent": str(plan.spent)},
        "account": [
            {
                "statistic": entry.statistic.name,
                "spent": str(entry.spent),
                "drawn_at": str(entry.drawn_at),
                "reason": entry.reason,
            }
            for entry in asked.entries
        ],
        "composition": composition(plan, asked.entries),
        "mechanisms": mechanisms(designed),
        "versions": versions(),
    }


def mechanisms(designed: Designed) -> list[dict[str, Any]]:
    """One line per statistic and size: the mechanism's digest, construction, epsilon and range."""
    lines, asked = [], designed.asked
    for statistic, designs, errors in zip(asked.plan.statistics, designed.designs, designed.errors, strict=True):
        for size, members, design, error in zip(asked.sizes, asked.members, designs, errors, strict=True):
            lines.append(
                {
                    "statistic": statistic.name,
                    "size": size,
                    "groups": len(members),
                    **_line(design),
                    "expected_error": error,
                }
            )
    return _merged(lines)


def _line(design: Design) -> dict[str, Any]:
    made = design.mechanism
    return {
        "sha256": design.sha256,
        "epsilon": str(made.epsilon),
        "answers": f"{made.query.answers[0]}..{made.query.answers[-1]}, {len(made.query.answers)} values",
        "neighbours": str(made.query.neighbours),
        "origin": str(made.origin),
    }


def _merged(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sizes that share a mechanism (min, max, median do not depend on the size) on one line."""
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines:
        first = merged.setdefault((line["statistic"], line["sha256"]), {**line, "groups": 0, "sizes": []})
        first["groups"] += line["groups"]
        first["sizes"].append(line["size"])
    found = []
    for line in merged.values():
        sizes = line.pop("sizes")
        line["size"] = sizes[0] if len(sizes) == 1 else f"{sizes[0]}..{sizes[-1]}"
        found.append(line)
    return found


def versions() -> dict[str, str]:
    found = {"inbounds": __version__, "python": platform.python_version()}
    for name in TOLD:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found

"""make bench: every comparison in one run, printed and written to docs/benchmarks.

What fills the machine (`ALONE`) comes first. Then times are measured on one core, and errors, whose pages say no
time but a processor's, are worked out on another (`BESIDE`). More than an hour on two cores.

`run.py designing` measures one part, `run.py --pages` only writes pages and figures from results.json anew.
PATIENCE is the time a peer gets for one design, in seconds.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import figures
from harness import Row, machine, measured, one_thread
from pages import Result, index, page, rows_of, table
from parts import PARTS

TARGET = Path(__file__).parents[1] / "docs" / "benchmarks"
RESULTS = TARGET / "results.json"
ALONE = ("releasing", "ledger", "curator")
"""Parts that take more than one core, or wait for the disk."""

BESIDE = ("local", "quantiles", "several_quantiles", "adding", "covering")
"""Scripts about errors, which nothing that runs beside them changes."""

OWN_PAGES = {"sweep": ("ours", "peers", "page"), **dict.fromkeys(("graphs", *BESIDE), ("",))}
"""Scripts that write their pages themselves, and the words that each is run with, one run after the other.

They go on where they stopped; a run of the benchmark begins anew."""


def measure(name: str) -> Result:
    rows: list[Row] = []
    skipped = []
    for words in PARTS[name].jobs:
        found, reason = measured(f"{name}.py", words)
        rows += found
        skipped += [reason] if reason else []
        print(".", end="", file=sys.stderr, flush=True)
    once = list(dict.fromkeys(skipped))  # a peer that is missing is missing in every case
    return {"machine": machine(), "skipped": once, "rows": [asdict(row) for row in rows]}


def write_pages(results: dict[str, Result]) -> None:
    for name, result in results.items():
        (TARGET / f"{name}.md").write_text(page(name, PARTS[name], result), "utf-8")
        if PARTS[name].figure:
            figures.FIGURES[name](rows_of(result)).savefig(TARGET / f"{PARTS[name].figure}.png", dpi=figures.DPI)
    (TARGET / "index.md").write_text(index(results), "utf-8")
    figures.summary(results).savefig(TARGET / "summary.png", dpi=figures.DPI)


def measure_parts(names: Iterable[str], results: dict[str, Result]) -> None:
    """Measure, print and keep one part after the other."""
    for name in names:
        start = time.perf_counter()
        results[name] = measure(name)
        listed = "".join(f"\nskipped: {reason}" for reason in results[name]["skipped"])
        spent = time.perf_counter() - start
        print(f"\n{PARTS[name].title}, {spent:.0f} s\n\n{table(rows_of(results[name]))}{listed}\n", flush=True)
        in_order = {part: results[part] for part in PARTS if part in results}
        RESULTS.write_text(json.dumps(in_order, indent=1) + "\n", "utf-8")


def run_scripts(names: Iterable[str]) -> None:
    for name in names:
        (TARGET / f"{name}.json").unlink(missing_ok=True)
        for stage in OWN_PAGES[name]:
            subprocess.run([sys.executable, str(Path(__file__).with_name(f"{name}.py")), *stage.split()], check=True)


def main(words: list[str]) -> None:
    TARGET.mkdir(exist_ok=True)
    one_thread()
    results: dict[str, Result] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    named = () if words == ["--pages"] else words or (*PARTS, *OWN_PAGES)
    measure_parts((name for name in named if name in ALONE), results)
    with ThreadPoolExecutor(1) as other_core:
        errors = other_core.submit(run_scripts, [name for name in named if name in BESIDE])
        measure_parts((name for name in named if name in PARTS and name not in ALONE), results)
        write_pages({part: results[part] for part in PARTS if part in results})
        run_scripts(name for name in named if name in OWN_PAGES and name not in BESIDE)
        errors.result()


if __name__ == "__main__":
    main(sys.argv[1:])
